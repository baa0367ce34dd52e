// What translated programs ask for wherever JavaScript differs from Python. They are written by
// lookup/site/translate.py, and everything they may use is exported here under Python's own names.

import { call, function_, Object_, remembered, TYPES } from "./python-classes.js";
import { Dict, eq, isNumber, iter, len, lt, PySet, Range, range, sorted, truth } from "./python-collections.js";
import * as errors from "./python-errors.js";
import * as numbers from "./python-numbers.js";
import { characters, format, re, repr, str } from "./python-text.js";

export * from "./python-classes.js";
export * from "./python-collections.js";
export * from "./python-errors.js";
export { floordiv, invert, lshift, mod, pow, rshift } from "./python-numbers.js";
export { format, re, repr, str };
export { function_ as function, Object_ as Object };

// --- operators --------------------------------------------------------------------------------------

export function add(left, right) {
  if (typeof left === "string" && typeof right === "string") {
    return left + right;
  }
  return Array.isArray(left) && Array.isArray(right) ? [...left, ...right] : numbers.plus(left, right);
}

export function mul(left, right) {
  const [many, times] = typeof left === "string" || Array.isArray(left) ? [left, right] : [right, left];
  if (typeof many === "string") {
    return many.repeat(Math.max(0, Number(numbers.number(times))));
  }
  return Array.isArray(many) ? Array.from({ length: Math.max(0, times) }, () => many).flat() : numbers.times(left, right);
}

const ofSets = (name, otherwise) => (left, right) =>
  left instanceof PySet ? left[name](right) : otherwise(left, right);

export const sub = ofSets("difference", numbers.minus);
export const and = ofSets("intersection", numbers.and);
export const xor = ofSets("symmetric", numbers.xor);
const unite = ofSets("union", (left, right) =>
  left instanceof Dict ? new Dict([...left.items(), ...right.items()]) : numbers.bitOr(left, right),
);
export { unite as or };

// `+=` and `|=` change a list or a set where it is.
export function iadd(left, right) {
  if (Array.isArray(left)) {
    for (const one of iter(right)) {
      left.push(one);
    }
    return left;
  }
  return add(left, right);
}

export function ior(left, right) {
  if (left instanceof PySet || left instanceof Dict) {
    left.update(right);
    return left;
  }
  return unite(left, right);
}

export const neg = (value) => (value?.__neg__ ? value.__neg__() : numbers.negative(value));
export const pos = numbers.number;
export const both = (value, other) => (truth(value) ? other() : value);
export const either = (value, other) => (truth(value) ? value : other());

// --- functions --------------------------------------------------------------------------------------

const takesNames = (body) => Object.assign(body, { takesNames: true });

// Its last argument, if that holds what was given by name.
const parted = (given) =>
  Object.getPrototypeOf(given.at(-1) ?? null) === Object.prototype ? [given.slice(0, -1), given.at(-1)] : [given, {}];

const extreme = (isBetter) =>
  takesNames((...all) => {
    const [given, { key = (one) => one, default: otherwise }] = parted(all);
    const values = given.length === 1 ? [...iter(given[0])] : given;
    if (!values.length) {
      return otherwise === undefined ? errors.fail("ValueError", "there is nothing to choose from") : otherwise;
    }
    let [best, rank] = [values[0], key(values[0])];
    for (const one of values.slice(1)) {
      const found = key(one);
      if (isBetter(found, rank)) {
        [best, rank] = [one, found];
      }
    }
    return best;
  });

export const min = extreme(lt);
export const max = extreme((one, other) => lt(other, one));

const sorting = takesNames((values, options) => sorted(values, options));
export { sorting as sorted };

export const int = (value = 0, base = 10) =>
  typeof value === "string" ? numbers.parsed(value, base) : numbers.number(value);
export const bool = (value = false) => truth(value);
Object.assign(TYPES, { int, bool });
export const list = (values = []) => [...iter(values)];
export const tuple = list;
export const set = (values = []) => new PySet(iter(values));
export const frozenset = set;
export const dict = Object.assign(
  takesNames((...all) => {
    const [[values = []], named] = parted(all);
    return new Dict([...(values instanceof Dict ? values.items() : values), ...Object.entries(named)]);
  }),
  { fromkeys: (keys, value = null) => new Dict([...iter(keys)].map((key) => [key, value])) },
);
export const object = Object.assign(() => new Object_(), {
  __setattr__: (owner, name, value) => Object.defineProperty(owner, name, { value, configurable: true }),
});
str.maketrans = (from, to) => new Dict([...from].map((one, at) => [one.codePointAt(0), [...to][at]]));
export const items = (values) => values.items();

export const abs = (value) => (lt(value, 0) ? numbers.negative(value) : numbers.number(value));
export const all = (values) => [...iter(values)].every(truth);
export function any(values) {
  for (const one of iter(values)) {
    if (truth(one)) {
      return true;
    }
  }
  return false;
}
export const bin = (value) => `${lt(value, 0) ? "-" : ""}0b${abs(value).toString(2)}`;
export const chr = (code) => String.fromCodePoint(code);
export const ord = (text) => text.codePointAt(0);
export const divmod = (left, right) => [numbers.floordiv(left, right), numbers.mod(left, right)];
export const round = (value) => Math.round(value);
export const print = (...values) => console.log(...values.map((one) => str(one)));
export const sum = (values, start = 0) => [...iter(values)].reduce((total, one) => add(total, one), start);
export const reversed = (values) => [...iter(values)].reverse();
export const hasattr = (owner, name) => owner?.[name] !== undefined;
export const getattr = (owner, name, otherwise) => owner[name] ?? otherwise ?? null;

const generator = (body) => (...given) => body(...given);
export const enumerate = takesNames(function* (values, first = 0) {
  let at = typeof first === "object" ? first.start : first;
  for (const one of iter(values)) {
    yield [at++, one];
  }
});
export const zip = takesNames(function* (...all) {
  const [given] = parted(all); // `strict` is for those who write programs
  const sources = given.map((one) => iter(one)[Symbol.iterator]());
  while (sources.length) {
    const next = sources.map((one) => one.next());
    if (next.some((one) => one.done)) {
      return;
    }
    yield next.map((one) => one.value);
  }
});
export const map = generator(function* (body, ...sources) {
  for (const given of zip(...sources)) {
    yield call(body, given);
  }
});
export const filter = generator(function* (test, values) {
  for (const one of iter(values)) {
    if (truth(test === null ? one : test(one))) {
      yield one;
    }
  }
});
export function next(source, otherwise) {
  const { value, done } = source[Symbol.iterator]().next();
  return done ? (otherwise === undefined ? errors.fail("StopIteration", "") : otherwise) : value;
}

const KINDS = new Map([
  [int, (value) => isNumber(value) || isNumber(value?.valueOf?.())],
  [bool, (value) => typeof value === "boolean"],
  [str, (value) => typeof value === "string"],
  [list, Array.isArray],
  [dict, (value) => value instanceof Dict],
  [set, (value) => value instanceof PySet],
  [range, (value) => value instanceof Range],
  [object, () => true],
]);

export function isinstance(value, kind) {
  if (Array.isArray(kind)) {
    return kind.some((one) => isinstance(value, one));
  }
  return KINDS.get(kind)?.(value) ?? value instanceof kind;
}

export function type(value) {
  if (typeof value === "boolean") {
    return bool;
  }
  for (const [kind, fits] of KINDS) {
    if (kind !== object && fits(value)) {
      return kind;
    }
  }
  return value.constructor;
}

// --- the standard library ---------------------------------------------------------------------------

export const Lock = () => ({});
export const monotonic = () => performance.now() / 1000;
export const cache = remembered;
export const lru_cache = () => remembered;
export const reduce = (body, values, ...first) =>
  first.length ? [...iter(values)].reduce((one, other) => body(one, other), first[0]) : [...iter(values)].reduce((one, other) => body(one, other));

export function* islice(values, ...given) {
  const [start, stop] = given.length === 1 ? [0, given[0]] : given;
  let at = 0;
  if (stop === 0) {
    return;
  }
  for (const one of iter(values)) {
    if (at++ >= (start ?? 0)) {
      yield one;
    }
    if (stop !== null && at >= stop) {
      return;
    }
  }
}
export function* pairwise(values) {
  let [before, isFirst] = [null, true];
  for (const one of iter(values)) {
    if (!isFirst) {
      yield [before, one];
    }
    [before, isFirst] = [one, false];
  }
}
export function* combinations(values, count, from = 0) {
  const pool = [...iter(values)];
  if (count === 0) {
    yield [];
    return;
  }
  for (let at = from; at <= pool.length - count; at += 1) {
    for (const rest of combinations(pool, count - 1, at + 1)) {
      yield [pool[at], ...rest];
    }
  }
}
export function* permutations(values, count = len(values)) {
  const pool = [...iter(values)];
  if (count === 0) {
    yield [];
    return;
  }
  for (const [at, one] of pool.entries()) {
    for (const rest of permutations(pool.toSpliced(at, 1), count - 1)) {
      yield [one, ...rest];
    }
  }
}
export const product = takesNames(function* (...all) {
  const [given, { repeat: times = 1 }] = parted(all);
  const pools = Array.from({ length: times }, () => given.map((one) => [...iter(one)])).flat();
  if (!pools.length) {
    yield [];
    return;
  }
  for (const first of pools[0]) {
    for (const rest of product(...pools.slice(1))) {
      yield [first, ...rest];
    }
  }
});
export function* chain(...sources) {
  for (const source of sources) {
    yield* iter(source);
  }
}
export function* accumulate(values, body = add) {
  let [total, isFirst] = [null, true];
  for (const one of iter(values)) {
    total = isFirst ? one : body(total, one);
    isFirst = false;
    yield total;
  }
}
export function* repeat(value, times) {
  for (let at = 0; at < times; at += 1) {
    yield value;
  }
}

export const prod = (values) => [...iter(values)].reduce((one, other) => numbers.times(one, other), 1);
export const gcd = (left, right) => (eq(right, 0) ? abs(left) : gcd(right, numbers.mod(left, right)));
export const comb = (from, count) =>
  lt(from, count) ? 0 : numbers.floordiv(prod(range(numbers.plus(numbers.minus(from, count), 1), numbers.plus(from, 1))), prod(range(1, numbers.plus(count, 1))));
export const isqrt = (value) => {
  let root = Math.floor(Math.sqrt(Number(value)));
  while (lt(value, numbers.times(root, root))) {
    root -= 1;
  }
  return root;
};

export const functools = { cache, lru_cache, reduce };
export const itertools = { accumulate, chain, combinations, islice, pairwise, permutations, product, repeat };
export const math = { comb, gcd, isqrt, prod };
export const inspect = { cleandoc: (text) => text.trim() };
export const ABC = Object_;
export { characters };
