// Python's texts: how values are written, the methods of strings, and regular expressions.

import { fail } from "./python-errors.js";
import { number, place, places } from "./python-numbers.js";

// --- how values are written -------------------------------------------------------------------------

export function str(value = "") {
  if (typeof value === "string") {
    return value;
  }
  return typeof value?.__str__ === "function" ? value.__str__() : repr(value);
}

export function repr(value) {
  if (value === null || value === undefined) {
    return "None";
  }
  if (typeof value === "boolean") {
    return value ? "True" : "False";
  }
  if (typeof value === "string") {
    return quoted(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(repr).join(", ")}]`;
  }
  return typeof value.__repr__ === "function" ? value.__repr__() : String(value.valueOf());
}

const ESCAPES = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  // What is not printable, but for the space, as its number.
  const shown = text.replace(/[\\\n\r\t]|[\p{C}\p{Z}]/gu, (one) => ESCAPES[one] ?? (one === " " ? one : code(one)));
  return quote + shown.replaceAll(quote, `\\${quote}`) + quote;
}

function code(one) {
  const hex = one.codePointAt(0).toString(16);
  const [mark, width] = hex.length <= 2 ? ["x", 2] : hex.length <= 4 ? ["u", 4] : ["U", 8];
  return `\\${mark}${hex.padStart(width, "0")}`;
}

const SPEC = /^(?:(.)?([<>^=]))?([+ -]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/u;
const BASES = { b: 2, o: 8, x: 16, X: 16 };

// A value by a format specification: `>5`, `,`, `08b`. Fractions have none.
export function format(value, spec = "") {
  if (typeof value?.__format__ === "function") {
    return value.__format__(spec);
  }
  if (spec === "") {
    return str(value);
  }
  const [, fill, align, sign, , zero, width, comma, precision, type] = SPEC.exec(spec) ?? unknown(spec);
  if (typeof value === "string") {
    const text = precision ? value.slice(0, precision) : value;
    return padded(text, fill ?? " ", align ?? "<", width);
  }
  const digits = written(number(value), sign, comma, type);
  return padded(digits, fill ?? (zero || " "), align ?? (zero ? "=" : ">"), width);
}

const unknown = (spec) => fail("ValueError", `the format '${spec}' is not known here`);

function written(value, sign, comma, type) {
  if (!["", "d", ...Object.keys(BASES)].includes(type)) {
    unknown(type);
  }
  const digits = (value < 0 ? -value : value).toString(BASES[type] ?? 10);
  const size = comma ? digits.replace(/\B(?=(\d{3})+$)/g, comma) : digits;
  return (value < 0 ? "-" : sign.replace("-", "")) + (type === "X" ? size.toUpperCase() : size);
}

function padded(text, fill, align, width) {
  const missing = Math.max(0, Number(width) - characters(text).length);
  if (align === "=") {
    const [, sign, rest] = /^([+ -]?)(.*)$/.exec(text);
    return sign + fill.repeat(missing) + rest;
  }
  const before = { "<": 0, ">": missing, "^": missing >> 1 }[align];
  return fill.repeat(before) + text + fill.repeat(missing - before);
}

// --- strings ----------------------------------------------------------------------------------------

// A string by its characters, which in JavaScript may take two places.
export const characters = (text) => (/[\ud800-\udfff]/.test(text) ? [...text] : text);

export const characterAt = (text, index) => {
  const all = characters(text);
  return all[place(index, all.length)];
};

export const sliceOf = (text, start, stop, step) => {
  const all = characters(text);
  let found = "";
  for (const at of places(all.length, start, stop, step)) {
    found += all[at];
  }
  return found;
};

const blank = (text, which = null, where = "both") => {
  const isBlank = (one) => (which === null ? /\s/.test(one) : which.includes(one));
  let [low, high] = [0, text.length];
  while (where !== "right" && low < high && isBlank(text[low])) {
    low += 1;
  }
  while (where !== "left" && high > low && isBlank(text[high - 1])) {
    high -= 1;
  }
  return text.slice(low, high);
};

function split(text, by = null, most = -1) {
  if (by === null) {
    return blank(text).split(/\s+/).filter(Boolean);
  }
  const parts = text.split(by);
  return most < 0 || parts.length <= most + 1
    ? parts
    : [...parts.slice(0, most), parts.slice(most).join(by)];
}

const at = (text, part, from = 0) => text.indexOf(part, from);

function partition(text, by, from) {
  const found = from < 0 ? text.lastIndexOf(by) : text.indexOf(by);
  if (found < 0) {
    return from < 0 ? ["", "", text] : [text, "", ""];
  }
  return [text.slice(0, found), by, text.slice(found + by.length)];
}

const starts = (text, part) => [part].flat().some((one) => text.startsWith(one));
const ends = (text, part) => [part].flat().some((one) => text.endsWith(one));

// `"{} and {name}".format(...)`
function filled(text, given, named) {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{(\w*)(?::([^}]*))?\}/g, (all, key, spec) => {
    if (key === undefined) {
      return all[0];
    }
    const value = key === "" ? given[next++] : /^\d+$/.test(key) ? given[key] : named[key];
    return format(value, spec ?? "");
  });
}

export const METHODS = {
  count: (text, part) => text.split(part).length - 1,
  endswith: ends,
  find: at,
  format: (text, ...given) => filled(text, given, {}),
  index: (text, part, from) => {
    const found = at(text, part, from);
    return found < 0 ? fail("ValueError", "substring not found") : found;
  },
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isascii: (text) => /^[\0-\x7f]*$/.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isdigit: (text) => /^\p{Nd}+$/u.test(text),
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
  join: (text, parts) => [...parts].join(text),
  ljust: (text, width, fill = " ") => padded(text, fill, "<", width),
  lower: (text) => text.toLowerCase(),
  lstrip: (text, which) => blank(text, which, "left"),
  partition: (text, by) => partition(text, by, 0),
  removeprefix: (text, part) => (text.startsWith(part) ? text.slice(part.length) : text),
  removesuffix: (text, part) => (part && text.endsWith(part) ? text.slice(0, -part.length) : text),
  replace: (text, old, by, most = -1) =>
    most < 0 ? text.replaceAll(old, () => by) : split(text, old, most).join(by),
  rfind: (text, part) => text.lastIndexOf(part),
  rjust: (text, width, fill = " ") => padded(text, fill, ">", width),
  rpartition: (text, by) => partition(text, by, -1),
  rstrip: (text, which) => blank(text, which, "right"),
  split,
  splitlines: (text) => text.replace(/\r?\n$/, "").split(/\r?\n/),
  startswith: starts,
  strip: (text, which) => blank(text, which),
  translate: (text, table) => [...text].map((one) => table.get(one.codePointAt(0), one)).join(""),
  upper: (text) => text.toUpperCase(),
  zfill: (text, width) => padded(text, "0", "=", width),
};

// Those that take arguments by name.
export const NAMED_METHODS = { format: filled };

// --- regular expressions ----------------------------------------------------------------------------

class Match {
  constructor(found) {
    this.found = found;
  }

  group(...which) {
    const all = (which.length ? which : [0]).map((one) => this.__getitem__(one));
    return all.length === 1 ? all[0] : all;
  }

  groups() {
    return [...this.found].slice(1).map((one) => one ?? null);
  }

  __getitem__(which) {
    return (typeof which === "string" ? this.found.groups[which] : this.found[which]) ?? null;
  }
}

class Pattern {
  constructor(source) {
    this.pattern = source;
    this.source = source.replace(/\(\?P</g, "(?<").replace(/\(\?P=(\w+)\)/g, "\\k<$1>");
  }

  exec(before, text, after) {
    const found = new RegExp(`${before}(?:${this.source})${after}`).exec(text);
    return found && new Match(found);
  }

  fullmatch(text) {
    return this.exec("^", text, "$");
  }

  match(text) {
    return this.exec("^", text, "");
  }

  search(text) {
    return this.exec("", text, "");
  }

  sub(by, text) {
    return text.replace(new RegExp(this.source, "g"), by.replace(/\$/g, "$$$$").replace(/\\(\d)/g, "$$$1"));
  }

  findall(text) {
    return [...text.matchAll(new RegExp(this.source, "g"))].map((found) => found[1] ?? found[0]);
  }
}

const compile = (pattern) => (pattern instanceof Pattern ? pattern : new Pattern(pattern));

export const re = {
  compile,
  escape: (text) => text.replace(/[^\w]/g, "\\$&"),
  findall: (pattern, text) => compile(pattern).findall(text),
  fullmatch: (pattern, text) => compile(pattern).fullmatch(text),
  match: (pattern, text) => compile(pattern).match(text),
  search: (pattern, text) => compile(pattern).search(text),
  sub: (pattern, by, text) => compile(pattern).sub(by, text),
};
