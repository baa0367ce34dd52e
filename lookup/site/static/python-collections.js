// Python's collections: what is equal, what comes first, dictionaries and sets of any keys, ranges.

import { fail } from "./python-errors.js";
import { number, place, places } from "./python-numbers.js";
import { characterAt, characters, repr, sliceOf } from "./python-text.js";

export const isNumber = (value) => ["number", "bigint", "boolean"].includes(typeof value);
const isNumeric = (value) => isNumber(value) || isNumber(value?.valueOf?.());

// Tuples are arrays with a mark, which their copies do not have.
export const tupleOf = (values) => {
  values.$isTuple = true;
  return values;
};
export const isTuple = (value) => value?.$isTuple === true || value?.$isNamedTuple === true;
// Something of the same kind as a list or a tuple.
const alike = (owner, values) => (owner.$isTuple ? tupleOf(values) : values);

// --- comparing --------------------------------------------------------------------------------------

export function eq(left, right) {
  if (left === right) {
    return true;
  }
  if (isNumeric(left) && isNumeric(right)) {
    return number(left) == number(right); // a number and a BigInt may be the same, which === denies
  }
  if (isSequence(left) && isSequence(right)) {
    const [a, b] = [[...left], [...right]];
    return isTuple(left) === isTuple(right) && a.length === b.length && a.every((one, at) => eq(one, b[at]));
  }
  if (left instanceof PySet && right instanceof PySet) {
    return left.size === right.size && [...left].every((one) => right.has(one));
  }
  if (left instanceof Dict && right instanceof Dict) {
    return left.size === right.size && [...left].every((key) => right.has(key) && eq(left.get(key), right.get(key)));
  }
  return left instanceof Range && right instanceof Range && eq([...left], [...right]);
}

const isSequence = (value) => Array.isArray(value) || value?.$isNamedTuple === true;

export function lt(left, right) {
  if (isSequence(left) && isSequence(right)) {
    const [a, b] = [[...left], [...right]];
    const at = a.findIndex((one, where) => where >= b.length || !eq(one, b[where]));
    return at < 0 ? a.length < b.length : at < b.length && lt(a[at], b[at]);
  }
  if (typeof left === "string" && typeof right === "string") {
    return left < right;
  }
  if (left instanceof PySet && right instanceof PySet) {
    return left.size < right.size && left.issubset(right);
  }
  return number(left) < number(right);
}

// Of sets neither may be part of the other, so that "not greater" is not enough.
export const le = (left, right) =>
  left instanceof PySet && right instanceof PySet ? left.issubset(right) : !lt(right, left);

export function truth(value) {
  const found = typeof value === "object" ? value?.valueOf() : value;
  if (Array.isArray(found) || found instanceof Range) {
    return found.length > 0;
  }
  if (found instanceof Keyed) {
    return found.size > 0;
  }
  return typeof found?.__len__ === "function" ? found.__len__() > 0 : Boolean(found);
}

// --- dictionaries and sets --------------------------------------------------------------------------

const ids = new WeakMap();
let objects = 0;

// What equal keys have in common: 1 and True, tuples and sets of the same.
function keyOf(value) {
  if (isSequence(value)) {
    return `(${keysOf(value).join("")})`;
  }
  if (value instanceof PySet) {
    return `{${keysOf(value).sort().join("")}}`;
  }
  if (isNumeric(value)) {
    const found = number(value);
    return typeof found === "bigint" ? `${found}n` : found;
  }
  if (typeof value === "string" || !(value instanceof Object)) {
    return typeof value === "string" ? `'${value}` : value;
  }
  if (!ids.has(value)) {
    ids.set(value, `#${(objects += 1)}`);
  }
  return ids.get(value);
}

const keysOf = (values) =>
  [...values].map((one) => {
    const key = String(keyOf(one));
    return `${key.length}:${key}`;
  });

class Keyed {
  constructor() {
    this.entries = new Map();
  }

  get size() {
    return this.entries.size;
  }

  has(key) {
    return this.entries.has(keyOf(key));
  }

  clear() {
    this.entries.clear();
  }

  *[Symbol.iterator]() {
    for (const entry of this.entries.values()) {
      yield entry[0];
    }
  }
}

export class Dict extends Keyed {
  constructor(pairs = []) {
    super();
    for (const [key, value] of pairs) {
      this.set(key, value);
    }
  }

  set(key, value) {
    const known = this.entries.get(keyOf(key));
    if (known) {
      known[1] = value;
    } else {
      this.entries.set(keyOf(key), [key, value]);
    }
  }

  get(key, otherwise = null) {
    const found = this.entries.get(keyOf(key));
    return found ? found[1] : otherwise;
  }

  __getitem__(key) {
    const found = this.entries.get(keyOf(key));
    return found ? found[1] : fail("KeyError", repr(key));
  }

  items() {
    return [...this.entries.values()].map(([key, value]) => tupleOf([key, value]));
  }

  keys() {
    return [...this];
  }

  values() {
    return [...this.entries.values()].map((entry) => entry[1]);
  }

  setdefault(key, value = null) {
    if (!this.has(key)) {
      this.set(key, value);
    }
    return this.get(key);
  }

  update(others) {
    for (const [key, value] of others instanceof Dict ? others.items() : others) {
      this.set(key, value);
    }
  }

  pop(key, otherwise) {
    const found = this.entries.get(keyOf(key));
    this.entries.delete(keyOf(key));
    return found ? found[1] : otherwise === undefined ? fail("KeyError", repr(key)) : otherwise;
  }

  popitem() {
    const last = this.items().at(-1) ?? fail("KeyError", "the dictionary is empty");
    this.entries.delete(keyOf(last[0]));
    return last;
  }

  copy() {
    return new Dict(this.items());
  }

  __repr__() {
    return `{${this.items().map(([key, value]) => `${repr(key)}: ${repr(value)}`).join(", ")}}`;
  }
}

export class PySet extends Keyed {
  constructor(members = []) {
    super();
    this.update(members);
  }

  add(member) {
    if (!this.has(member)) {
      this.entries.set(keyOf(member), [member]);
    }
  }

  update(members) {
    for (const member of members) {
      this.add(member);
    }
  }

  discard(member) {
    this.entries.delete(keyOf(member));
  }

  remove(member) {
    return this.has(member) ? this.discard(member) : fail("KeyError", repr(member));
  }

  kept(test) {
    return new PySet([...this].filter(test));
  }

  union(...others) {
    return new PySet([this, ...others].flatMap((one) => [...one]));
  }

  intersection(...others) {
    const sets = others.map((one) => new PySet(one));
    return this.kept((one) => sets.every((other) => other.has(one)));
  }

  difference(...others) {
    const sets = others.map((one) => new PySet(one));
    return this.kept((one) => !sets.some((other) => other.has(one)));
  }

  symmetric_difference(other) {
    return this.difference(other).union(new PySet(other).difference(this));
  }

  // What becomes of `&=` and the like: the same set with other members.
  become(members) {
    const all = [...members];
    this.clear();
    this.update(all);
    return this;
  }

  copy() {
    return new PySet(this);
  }

  issubset(other) {
    return this.difference(other).size === 0;
  }

  issuperset(other) {
    return new PySet(other).issubset(this);
  }

  isdisjoint(other) {
    return this.intersection(other).size === 0;
  }
}

// --- sequences --------------------------------------------------------------------------------------

export class Range {
  constructor(start, stop, step) {
    Object.assign(this, { start, stop, step });
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(index) {
    return this.start + place(index, this.length) * this.step;
  }

  includes(value) {
    const by = (value - this.start) / this.step;
    return Number.isInteger(by) && by >= 0 && by < this.length;
  }

  __repr__() {
    return `range(${this.start}, ${this.stop}${this.step === 1 ? "" : `, ${this.step}`})`;
  }

  *[Symbol.iterator]() {
    for (let at = 0, value = this.start; at < this.length; at += 1, value += this.step) {
      yield value;
    }
  }
}

export function range(...given) {
  const [first, second, step = 1] = given.map((one) => Number(number(one)));
  if (step === 0 || ![first, second ?? 0, step].every(Number.isSafeInteger)) {
    fail("ValueError", "expected a range of numbers below 2^53, and a step");
  }
  return second === undefined ? new Range(0, first, 1) : new Range(first, second, step);
}

export function item(owner, index) {
  if (Array.isArray(owner)) {
    return owner[place(index, owner.length)];
  }
  if (typeof owner === "string") {
    return characterAt(owner, index);
  }
  if (owner instanceof Range) {
    return owner.at(index);
  }
  if (owner?.$isNamedTuple) {
    return item([...owner], index);
  }
  return owner.__getitem__(index);
}

export function setItem(owner, index, value) {
  if (Array.isArray(owner)) {
    owner[place(index, owner.length)] = value;
  } else if (owner instanceof Dict) {
    owner.set(index, value);
  } else {
    owner.__setitem__(index, value);
  }
}

export function deleteItem(owner, index) {
  if (Array.isArray(owner)) {
    owner.splice(place(index, owner.length), 1);
  } else {
    owner.pop(index);
  }
}

export function slice(owner, start, stop, step) {
  if (typeof owner === "string") {
    return sliceOf(owner, start, stop, step);
  }
  const all = Array.isArray(owner) ? owner : [...owner];
  return alike(owner.$isNamedTuple ? tupleOf([]) : owner, [...places(all.length, start, stop, step)].map((at) => all[at]));
}

// What a loop goes through. One that is left early does not end an iterator, as it would in JavaScript:
// whoever goes on with it gets the rest.
export function each(value) {
  const found = value?.[Symbol.iterator] ? value : value?.__iter__?.();
  if (typeof found?.next === "function") {
    return { next: () => found.next(), [Symbol.iterator]() { return this; } };
  }
  return found ?? fail("TypeError", "this is nothing to go through");
}

export const iterator = (value) => {
  const found = each(value);
  return typeof found.next === "function" ? found : each(found[Symbol.iterator]());
};

export function unpacked(value, count) {
  const parts = [...each(value)];
  return parts.length === count ? parts : fail("ValueError", `expected ${count} values, not ${parts.length}`);
}

export function contains(owner, value) {
  if (typeof owner === "string") {
    return owner.includes(value);
  }
  if (owner instanceof Keyed) {
    return owner.has(value);
  }
  if (owner instanceof Range) {
    return isNumeric(value) && owner.includes(Number(number(value)));
  }
  for (const one of each(owner)) {
    if (eq(one, value)) {
      return true;
    }
  }
  return false;
}

export function len(value) {
  if (typeof value === "string") {
    return characters(value).length;
  }
  if (value instanceof Keyed) {
    return value.size;
  }
  if (typeof value.__len__ === "function") {
    return value.__len__();
  }
  return Array.isArray(value) || value instanceof Range ? value.length : [...value].length;
}

// In the order of Python's `sorted`; `key` as there.
export function sorted(values, { key = null, reverse = false } = {}) {
  const ranked = [...each(values)].map((one) => [key ? key(one) : one, one]);
  const order = (a, b) => (lt(a[0], b[0]) ? -1 : lt(b[0], a[0]) ? 1 : 0);
  ranked.sort(truth(reverse) ? (a, b) => order(b, a) : order);
  return ranked.map(([, one]) => one);
}

export const LIST_METHODS = {
  append: (list, value) => void list.push(value),
  clear: (list) => void list.splice(0),
  copy: (list) => [...list],
  count: (list, value) => list.filter((one) => eq(one, value)).length,
  extend: (list, values) => void [...each(values)].forEach((one) => list.push(one)),
  index: (list, value, start = 0) => {
    const from = [...places(list.length, start, null, null)][0] ?? list.length;
    const at = list.findIndex((one, where) => where >= from && eq(one, value));
    return at < 0 ? fail("ValueError", `${repr(value)} is not in the list`) : at;
  },
  insert: (list, at, value) => void list.splice(Number(number(at)), 0, value),
  pop: (list, at = -1) => list.splice(place(at, list.length), 1)[0],
  remove: (list, value) => void list.splice(LIST_METHODS.index(list, value), 1),
  reverse: (list) => void list.reverse(),
  sort: (list, options) => void list.splice(0, list.length, ...sorted(list, options)),
};
