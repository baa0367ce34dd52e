// Python's classes, attributes and calls.

import { Dict, each, eq, isNumber, isTuple, LIST_METHODS, PySet, tupleOf } from "./python-collections.js";
import { Exception, fail } from "./python-errors.js";
import { bitLength, number } from "./python-numbers.js";
import { METHODS, NAMED_METHODS, repr } from "./python-text.js";

// --- what a class says of its members ---------------------------------------------------------------

export const plain = (names, isRemembered) => ({ names, isRemembered });
export const property = () => ({});
export const cached_property = () => ({ cached: true });
export const staticmethod = (names, isRemembered) => ({ names, shared: true, isRemembered });
export const classmethod = (names, isRemembered) => ({ names, shared: true, isRemembered });
export const constant = (find) => ({ find });
export const field = (kind, find) => ({ kind, find });

// More about a field of a game: its bounds. They are for those who build tables.
export const parameter = Object.assign((said = {}) => ({ isParameter: true, ...said }), { $takesNames: true });

const define = (owner, name, value) =>
  Object.defineProperty(owner, name, { value, writable: true, configurable: true });

export const setAttribute = (owner, name, value) => {
  define(owner, name, value);
};

// --- classes ----------------------------------------------------------------------------------------

export class Object_ {
  constructor(...given) {
    if (this.__init__) {
      this.__init__(...given);
      return;
    }
    const { $fields: fields } = this.constructor;
    for (const [at, { name, value, isRequired }] of fields.entries()) {
      if (given[at] === undefined && isRequired) {
        fail("TypeError", `${this.constructor.name} needs '${name}'`);
      }
      if (this.$isNamedTuple) {
        this[name] = given[at] === undefined ? value : given[at];
      } else {
        define(this, name, given[at] === undefined ? value : given[at]); // it may be a getter elsewhere
      }
    }
    this.__post_init__?.();
  }

  static $fields = [];
}

export function class_(kind, describe) {
  kind.$isClass = true;
  if (!(kind.prototype instanceof Exception)) {
    kind.$fields = [...(kind.$fields ?? [])];
  }
  for (const [name, member] of Object.entries(describe(kind))) {
    if (member.kind !== undefined) {
      addField(kind, name, member);
    } else if (member.find) {
      addConstant(kind, name, member.find());
    } else {
      addMethod(kind, name, member);
    }
  }
  addConstant(kind, "_parameters", (kind.$fields ?? []).map(described));
  return kind;
}

// The types that fields may have; python.js knows them.
export const TYPES = {};

const described = ({ name, type, value, said }) => ({
  name,
  type: TYPES[type] ?? TYPES.int,
  default: value ?? null,
  least: said?.least ?? 0,
  most: said?.most ?? 1000,
  is_bounded: said?.bounded ?? true,
  expected: `a whole number from ${said?.least ?? 0} to ${said?.most ?? 1000}`,
});

function addField(kind, name, { kind: type, find }) {
  const said = find?.();
  const value = said?.isParameter ? said.default : said;
  const about = { name, type, value, said: said?.isParameter ? said : null, isRequired: value === undefined };
  const known = kind.$fields.findIndex((one) => one.name === name);
  kind.$fields.splice(known < 0 ? kind.$fields.length : known, known < 0 ? 0 : 1, about);
}

function addConstant(kind, name, value) {
  if (value?.$isFunction) {
    const method = function (...given) {
      return value(this, ...given); // as of any function that a class has
    };
    define(kind.prototype, name, Object.assign(method, { names: value.names.slice(1) }));
    return;
  }
  define(kind.prototype, name, value);
  if (typeof value !== "function" || value.$isClass) {
    define(kind, name, value);
  }
}

function addMethod(kind, name, { names, cached, shared, isRemembered }) {
  const known = Object.getOwnPropertyDescriptor(kind.prototype, name);
  if (cached) {
    const get = function () {
      const value = known.get.call(this);
      define(this, name, value);
      return value;
    };
    Object.defineProperty(kind.prototype, name, { get, configurable: true });
  }
  if (known.value) {
    const method = isRemembered ? remembered(known.value) : known.value;
    method.names = names;
    define(kind.prototype, name, method);
    if (shared) {
      define(kind, name, method);
    }
  }
}

export function namedTuple(kind, describe) {
  class_(kind, describe);
  const names = kind.$fields.map(({ name }) => name);
  define(kind, "_fields", tupleOf(names));
  define(kind.prototype, "$isNamedTuple", true);
  define(kind.prototype, Symbol.iterator, function* () {
    yield* names.map((name) => this[name]);
  });
  define(kind.prototype, "__repr__", kind.prototype.__repr__ ?? function () {
    return `${kind.name}(${names.map((name) => `${name}=${repr(this[name])}`).join(", ")})`;
  });
  define(kind.prototype, "_asdict", function () {
    return new Dict(names.map((name) => [name, this[name]]));
  });
  const replace = function (changed) {
    return new kind(...names.map((name) => (Object.hasOwn(changed, name) ? changed[name] : this[name])));
  };
  define(kind.prototype, "_replace", Object.assign(replace, { $takesNames: true }));
  return kind;
}

export function intEnum(kind, describe) {
  kind.$isClass = true;
  const members = [];
  for (const [name, member] of Object.entries(describe(kind))) {
    if (member.find) {
      const one = Object.create(kind.prototype);
      const value = member.find();
      Object.assign(one, { name, value, valueOf: () => value });
      define(kind, name, one);
      members.push(one);
    }
  }
  define(kind.prototype, "__repr__", kind.prototype.__repr__ ?? function () {
    return `<${kind.name}.${this.name}: ${this.value}>`;
  });
  define(kind.prototype, "__str__", kind.prototype.__str__ ?? function () {
    return String(this.value);
  });
  define(kind, Symbol.iterator, () => members[Symbol.iterator]());
  define(kind, "$of", (value) => members.find((one) => eq(one, value)) ?? fail("ValueError", `no ${value}`));
  return kind;
}

// Classes of games, each with the name it has in `games`: Python makes one of the class's, if need be.
// Those of a module that failed are left out.
export function named(games) {
  const found = Object.fromEntries(Object.entries(games).filter(([, kind]) => kind));
  for (const [name, kind] of Object.entries(found)) {
    define(kind, "name", name);
    define(kind.prototype, "name", name);
  }
  return found;
}

// What a module defines. One that fails must not take the others with it: it may be a user's.
export function module(name, define) {
  try {
    return define();
  } catch (error) {
    console.error(`${name} cannot be used here: ${error.message}`);
    return {};
  }
}

// --- functions --------------------------------------------------------------------------------------

export const function_ = (names, body) => Object.assign(body, { names, $isFunction: true });

const MOST_REMEMBERED = 1 << 16;

// For each object, or class, by itself if it is a method.
export function remembered(body) {
  const known = new Dict();
  const remembering = function (...given) {
    const key = [this ?? null, ...given];
    if (!known.has(key)) {
      if (known.size >= MOST_REMEMBERED) {
        known.clear();
      }
      known.set(key, body.apply(this, given));
    }
    return known.get(key);
  };
  return Object.assign(remembering, { names: body.names, $isFunction: body.$isFunction });
}

export const generate = (body, source) => body(source);

// --- attributes and calls ---------------------------------------------------------------------------

function found(owner, name) {
  for (let at = owner; at; at = Object.getPrototypeOf(at)) {
    const known = Object.getOwnPropertyDescriptor(at, name);
    if (known) {
      return known;
    }
  }
  return undefined;
}

const isClass = (value) => typeof value === "function" && value.$isClass === true;

export function attribute(owner, name) {
  if (isClass(owner)) {
    return ofClass(owner, name);
  }
  if (owner === null || typeof owner !== "object") {
    return bound(owner, name);
  }
  const value = owner[name];
  if (value === undefined) {
    return fail("AttributeError", `there is no ${repr(name)} here`);
  }
  const isMethod = typeof value === "function" && !isClass(value) && !Object.hasOwn(owner, name);
  if (isMethod && found(owner, name).value === value) {
    return Object.assign(value.bind(owner), { names: value.names });
  }
  return value;
}

function ofClass(owner, name) {
  if (name === "__doc__" || name === "__name__") {
    return name === "__doc__" ? null : owner.name;
  }
  const known = owner.$fields?.some((one) => one.name === name) ? undefined : found(owner.prototype, name);
  return known?.get ?? known?.value ?? owner[name] ?? fail("AttributeError", `there is no ${repr(name)} here`);
}

// A method of a string, a list, a number; or, of a function such as `str`, of what it is called with.
function bound(owner, name) {
  if (typeof owner === "function") {
    return owner[name] ?? ((first, ...given) => method(first, name, given));
  }
  return (...given) => method(owner, name, given);
}

const DICT_METHODS = new Set(["get", "items", "keys", "values", "setdefault", "update", "pop", "popitem", "copy", "clear"]);
const SET_METHODS = new Set([
  ...["add", "clear", "copy", "difference", "discard", "intersection", "isdisjoint", "issubset", "issuperset"],
  ...["remove", "symmetric_difference", "union", "update"],
]);

// Whether a class itself has it, and not only its objects.
function isShared(owner, name) {
  for (let at = owner; at && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) {
      return true;
    }
  }
  return false;
}

const NUMBER_METHODS = {
  bit_length: bitLength,
  bit_count: (value) => [...number(value).toString(2)].filter((bit) => bit === "1").length,
};
const TUPLE_METHODS = { count: LIST_METHODS.count, index: LIST_METHODS.index };

function methodsOf(owner) {
  if (typeof owner === "string") {
    return METHODS;
  }
  if (Array.isArray(owner)) {
    return isTuple(owner) ? TUPLE_METHODS : LIST_METHODS;
  }
  return isNumber(owner) ? NUMBER_METHODS : null;
}

function builtIn(methods, owner, name, given, named) {
  if (named && methods === METHODS) {
    return NAMED_METHODS[name]?.(owner, given, named) ?? fail("TypeError", `${repr(name)} takes no such names`);
  }
  const body = Object.hasOwn(methods, name) ? methods[name] : fail("AttributeError", `there is no ${repr(name)} here`);
  return body(owner, ...given, ...(named ? [named] : [])) ?? null;
}

export function method(owner, name, given, named) {
  const methods = methodsOf(owner);
  if (methods) {
    return builtIn(methods, owner, name, given, named);
  }
  const isOf = owner instanceof Dict ? DICT_METHODS : owner instanceof PySet ? SET_METHODS : null;
  if (isOf && !isOf.has(name)) {
    fail("AttributeError", `there is no ${repr(name)} here`);
  }
  if (isClass(owner) && !isShared(owner, name)) {
    const [self, ...rest] = given; // `Class.method(self, ...)`
    const body = ofClass(owner, name);
    return body.apply(self, arguments_(body, rest, named));
  }
  const body = owner?.[name] ?? (typeof owner === "function" ? bound(owner, name) : undefined);
  if (typeof body !== "function") {
    fail("AttributeError", `there is no ${repr(name)} here`);
  }
  return isClass(body) ? call(body, given, named) : body.apply(owner, arguments_(body, given, named));
}

export function call(body, given, named) {
  if (isClass(body)) {
    return body.$of ? body.$of(...given) : new body(...arguments_(body, given, named));
  }
  return body(...arguments_(body, given, named));
}

// Arguments by name at the places of their parameters.
function arguments_(body, given, named) {
  if (!named) {
    return given;
  }
  if (body.$takesNames) {
    return [...given, named];
  }
  const names = isClass(body) && !body.prototype.__init__ ? body.$fields.map(({ name }) => name) : namesOf(body);
  const all = [...given];
  for (const [name, value] of Object.entries(named)) {
    const at = names.indexOf(name);
    all[at < 0 ? fail("TypeError", `there is no parameter ${repr(name)}`) : at] = value;
  }
  return all;
}

const namesOf = (body) => (isClass(body) ? body.prototype.__init__.names : body.names) ?? [];

export const words = (dict) => Object.fromEntries(dict.items());

export const raised = (error) => (isClass(error) || error.prototype instanceof Exception ? new error() : error);

export { PySet };
