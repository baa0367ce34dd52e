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
    const all = value.map(repr).join(", ");
    return value.$isTuple ? `(${all}${value.length === 1 ? "," : ""})` : `[${all}]`;
  }
  if (typeof value.__repr__ === "function") {
    return value.__repr__();
  }
  const written = value.valueOf();
  return written instanceof Object ? fail("TypeError", "this cannot be written") : String(written);
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
  const [, fill, align, sign, prefix, zero, width, comma, precision, type] = SPEC.exec(spec) ?? unknown(spec);
  if (typeof value === "string") {
    const text = precision ? sliceOf(value, 0, Number(precision), null) : value;
    return padded(text, fill ?? (zero || " "), align ?? "<", width);
  }
  if (precision || (zero && comma)) {
    unknown(spec);
  }
  const digits = written(number(value), sign, prefix, comma, type);
  return padded(digits, fill ?? (zero || " "), align ?? (zero ? "=" : ">"), width);
}

const unknown = (spec) => fail("ValueError", `the format '${spec}' is not known here`);

function written(value, sign, prefix, comma, type) {
  if (!["", "d", ...Object.keys(BASES)].includes(type)) {
    unknown(type);
  }
  const digits = (value < 0 ? -value : value).toString(BASES[type] ?? 10);
  const groups = BASES[type] ? /\B(?=(\w{4})+$)/g : /\B(?=(\d{3})+$)/g;
  const size = (prefix && BASES[type] ? `0${type.toLowerCase()}` : "") + (comma ? digits.replace(groups, comma) : digits);
  return (value < 0 ? "-" : sign.replace("-", "")) + (type === "X" ? size.toUpperCase() : size);
}

function padded(text, fill, align, width) {
  const missing = Math.max(0, Number(width) - characters(text).length);
  if (align === "=") {
    const [, sign, rest] = /^([+ -]?(?:0[box])?)(.*)$/i.exec(text);
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

// What counts as space: not quite what JavaScript's \s does.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const SPACES = new RegExp(`${SPACE.source}+`);
const LINE_END = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/;

const blank = (text, which = null, where = "both") => {
  const isBlank = (one) => (which === null ? SPACE.test(one) : which.includes(one));
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
    const words = blank(text).split(SPACES).filter(Boolean);
    return most < 0 || words.length <= most + 1 ? words : fail("ValueError", "cannot split so often by spaces here");
  }
  if (by === "") {
    fail("ValueError", "empty separator");
  }
  const parts = text.split(by);
  return most < 0 || parts.length <= most + 1
    ? parts
    : [...parts.slice(0, most), parts.slice(most).join(by)];
}

function rsplit(text, by = null, most = -1) {
  const parts = split(text, by);
  const first = parts.length - 1 - most;
  return most < 0 || first <= 0 || by === null ? parts : [parts.slice(0, first + 1).join(by), ...parts.slice(first + 1)];
}

// Where a part begins, in characters, between two places; -1 if nowhere.
const at = (text, part, start = null, stop = null, way = "indexOf") => {
  const inside = sliceOf(text, start, stop, null);
  const found = inside[way](part);
  const before = start === null ? 0 : characters(sliceOf(text, 0, start, null)).length;
  return found < 0 ? -1 : before + characters(inside.slice(0, found)).length;
};

const existing = (found) => (found < 0 ? fail("ValueError", "substring not found") : found);

// Some test of what lies between two places of a text.
const within = (test) => (text, part, start = null, stop = null) =>
  test(start === null ? text : sliceOf(text, start, stop, null), part);

function partition(text, by, from) {
  const found = from < 0 ? text.lastIndexOf(by) : text.indexOf(by);
  if (found < 0) {
    return tuple(from < 0 ? ["", "", text] : [text, "", ""]);
  }
  return tuple([text.slice(0, found), by, text.slice(found + by.length)]);
}

const tuple = (values) => Object.assign(values, { $isTuple: true });

const starts = (text, part) => [part].flat().some((one) => text.startsWith(one));
const ends = (text, part) => [part].flat().some((one) => text.endsWith(one));

// `"{} and {name}".format(...)`
function filled(text, given, named) {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{(\w*)(!r|!s)?(?::([^{}]*))?\}|[{}]/g, (all, key, shown, spec) => {
    if (key === undefined) {
      return all.length === 2 ? all[0] : unknown(text);
    }
    const value = key === "" ? given[next++] : /^\d+$/.test(key) ? given[key] : named[key];
    return format(shown === "!r" ? repr(value) : value, spec ?? "");
  });
}

export const METHODS = {
  capitalize: (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(),
  center: (text, width, fill = " ") => {
    const missing = Math.max(0, width - characters(text).length);
    const before = (missing >> 1) + (missing & width & 1);
    return fill.repeat(before) + text + fill.repeat(missing - before);
  },
  count: within((text, part) => (part === "" ? characters(text).length + 1 : text.split(part).length - 1)),
  endswith: within(ends),
  find: (text, part, start, stop) => at(text, part, start, stop),
  format: (text, ...given) => filled(text, given, {}),
  index: (text, part, start, stop) => existing(at(text, part, start, stop)),
  isalnum: (text) => /^[\p{L}\p{N}]+$/u.test(text),
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isascii: (text) => /^[\0-\x7f]*$/.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isdigit: (text) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]+$/u.test(text),
  isspace: (text) => text !== "" && [...text].every((one) => SPACE.test(one)),
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
  join: (text, parts) => [...(parts?.__iter__?.() ?? parts)].join(text),
  ljust: (text, width, fill = " ") => padded(text, fill, "<", width),
  lower: (text) => text.toLowerCase(),
  lstrip: (text, which) => blank(text, which, "left"),
  partition: (text, by) => partition(text, by, 0),
  removeprefix: (text, part) => (text.startsWith(part) ? text.slice(part.length) : text),
  removesuffix: (text, part) => (part && text.endsWith(part) ? text.slice(0, -part.length) : text),
  replace: (text, old, by, most = -1) =>
    most < 0 ? text.replaceAll(old, () => by) : split(text, old, most).join(by),
  rfind: (text, part, start, stop) => at(text, part, start, stop, "lastIndexOf"),
  rindex: (text, part, start, stop) => existing(at(text, part, start, stop, "lastIndexOf")),
  rjust: (text, width, fill = " ") => padded(text, fill, ">", width),
  rpartition: (text, by) => partition(text, by, -1),
  rstrip: (text, which) => blank(text, which, "right"),
  rsplit,
  split,
  splitlines: (text) => {
    const lines = text.split(LINE_END);
    return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  },
  startswith: within(starts),
  strip: (text, which) => blank(text, which),
  swapcase: (text) => [...text].map((one) => (one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase())).join(""),
  translate: (text, table) => {
    const changed = (one) => table.get(one.codePointAt(0), one);
    return [...text].map((one) => (typeof changed(one) === "number" ? String.fromCodePoint(changed(one)) : changed(one))).join("");
  },
  upper: (text) => text.toUpperCase(),
  zfill: (text, width) => padded(text, "0", /^[+-]/.test(text) ? "=" : ">", width),
};

// Those that take arguments by name.
const splitting = (way) => (text, given, named) => {
  const { sep = null, maxsplit = -1, ...others } = named;
  return Object.keys(others).length ? undefined : way(text, given.length ? given[0] : sep, maxsplit);
};

export const NAMED_METHODS = { format: filled, rsplit: splitting(rsplit), split: splitting(split) };

// --- regular expressions ----------------------------------------------------------------------------

class Match {
  constructor(found) {
    this.found = found;
  }

  group(...which) {
    const all = (which.length ? which : [0]).map((one) => this.__getitem__(one));
    return all.length === 1 ? all[0] : tuple(all);
  }

  groups() {
    return tuple([...this.found].slice(1).map((one) => one ?? null));
  }

  __getitem__(which) {
    return (typeof which === "string" ? this.found.groups[which] : this.found[which]) ?? null;
  }
}

class Pattern {
  constructor(source) {
    this.pattern = source;
    const names = source.replace(/\(\?P</g, "(?<").replace(/\(\?P=(\w+)\)/g, "\\k<$1>");
    this.source = names.replace(/\\A/g, "^").replace(/\\Z/g, "$").replace(/\{,(\d+)\}/g, "{0,$1}");
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
    return [...text.matchAll(new RegExp(this.source, "g"))].map(([all, ...groups]) => {
      const parts = groups.map((one) => one ?? "");
      return parts.length > 1 ? tuple(parts) : (parts[0] ?? all);
    });
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
