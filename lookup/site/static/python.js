// What translated programs ask for wherever JavaScript differs from Python. They are written by
// lookup/site/translate.py, and everything they may use is exported here under Python's own names.

import { attribute, call, function_, Object_, remembered, TYPES } from "./python-classes.js";
import { Dict, each, eq, isNumber, isTuple, iterator, le, lt, PySet, Range, range, sorted, truth, tupleOf } from "./python-collections.js";
import * as errors from "./python-errors.js";
import * as numbers from "./python-numbers.js";
import { characters, format, re, repr, str } from "./python-text.js";

export * from "./python-classes.js";
export * from "./python-collections.js";
export * from "./python-errors.js";
export { floordiv, invert, lshift, mod, rshift } from "./python-numbers.js";
export { format, re, repr, str };
export { function_ as function, iterator as iter, Object_ as Object };

// --- operators --------------------------------------------------------------------------------------

export function add(left, right) {
  if (typeof left === "string" && typeof right === "string") {
    return left + right;
  }
  if (isSequence(left) && isSequence(right)) {
    return like(left, [...left, ...right]);
  }
  return numbers.plus(left, right);
}

const isSequence = (value) => Array.isArray(value) || isTuple(value);
const like = (owner, values) => (isTuple(owner) ? tupleOf(values) : values);

export function mul(left, right) {
  const [many, times] = typeof left === "string" || Array.isArray(left) ? [left, right] : [right, left];
  if (typeof many === "string") {
    return many.repeat(Math.max(0, Number(numbers.number(times))));
  }
  if (Array.isArray(many)) {
    return like(many, Array.from({ length: Math.max(0, Number(numbers.number(times))) }, () => many).flat());
  }
  return numbers.times(left, right);
}

const ofSets = (name, otherwise) => (left, right) =>
  left instanceof PySet ? left[name](right) : otherwise(left, right);

export const sub = ofSets("difference", numbers.minus);
export const and = ofSets("intersection", numbers.and);
export const xor = ofSets("symmetric_difference", numbers.xor);
const unite = ofSets("union", (left, right) =>
  left instanceof Dict ? new Dict([...left.items(), ...right.items()]) : numbers.bitOr(left, right),
);
export { unite as or };

// `+=` and the like change a list or a set where it is.
const isList = (value) => Array.isArray(value) && !isTuple(value);

export function iadd(left, right) {
  if (isList(left)) {
    [...each(right)].forEach((one) => left.push(one));
    return left;
  }
  return add(left, right);
}

export function imul(left, right) {
  if (isList(left)) {
    left.splice(0, left.length, ...mul(left, right));
    return left;
  }
  return mul(left, right);
}

const inPlace = (otherwise) => (left, right) =>
  left instanceof PySet ? left.become(otherwise(left, right)) : otherwise(left, right);

export const isub = inPlace(sub);
export const iand = inPlace(and);
export const ixor = inPlace(xor);

export function ior(left, right) {
  if (left instanceof PySet || left instanceof Dict) {
    left.update(right);
    return left;
  }
  return unite(left, right);
}

export const neg = (value) => (value?.__neg__ ? value.__neg__() : numbers.negative(value));
export const pos = numbers.number;
export const pow = (left, right, modulus = null) =>
  modulus === null ? numbers.power(left, right) : numbers.mod(numbers.power(left, right), modulus);
export const both = (value, other) => (truth(value) ? other() : value);
export const either = (value, other) => (truth(value) ? value : other());

// --- functions --------------------------------------------------------------------------------------

const takesNames = (body) => Object.assign(body, { $takesNames: true });

// Its last argument, if that holds what was given by name.
const parted = (given) => {
  const last = given.at(-1);
  const isOfNames = last instanceof Object && Object.getPrototypeOf(last) === Object.prototype;
  return isOfNames ? [given.slice(0, -1), last] : [given, {}];
};

const extreme = (isBetter) =>
  takesNames((...all) => {
    const [given, { key: by, default: otherwise }] = parted(all);
    const key = by ?? ((one) => one);
    const values = given.length === 1 ? [...each(given[0])] : given;
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
export const list = (values = []) => [...each(values)];
export const tuple = (values = []) => tupleOf([...each(values)]);
export const set = (values = []) => new PySet(each(values));
export const frozenset = set;
export const dict = Object.assign(
  takesNames((...all) => {
    const [[values = []], named] = parted(all);
    return new Dict([...(values instanceof Dict ? values.items() : each(values)), ...Object.entries(named)]);
  }),
  { fromkeys: (keys, value = null) => new Dict([...each(keys)].map((key) => [key, value])) },
);
export const object = Object.assign(() => new Object_(), {
  __setattr__: (owner, name, value) => Object.defineProperty(owner, name, { value, configurable: true }),
});
str.maketrans = (from, to, without = "") => {
  const codes = (keys) => keys.map(([one, by]) => [typeof one === "string" ? one.codePointAt(0) : one, by]);
  const pairs = from instanceof Dict ? from.items() : [...from].map((one, at) => [one, [...to][at]]);
  return new Dict(codes([...pairs, ...[...without].map((one) => [one, null])]));
};
export const items = (values) => values.items();

export const abs = (value) => (lt(value, 0) ? numbers.negative(value) : numbers.number(value));
export function any(values) {
  for (const one of each(values)) {
    if (truth(one)) {
      return true;
    }
  }
  return false;
}
export const all = (values) => !any(map((one) => !truth(one), values));
export const bin = (value) => `${lt(value, 0) ? "-" : ""}0b${abs(value).toString(2)}`;
export const chr = (code) => String.fromCodePoint(code);
export const ord = (text) => text.codePointAt(0);
export const divmod = (left, right) => tupleOf([numbers.floordiv(left, right), numbers.mod(left, right)]);
export const sum = (values, start = 0) => [...each(values)].reduce((total, one) => add(total, one), start);
export const reversed = (values) => iterator([...each(values)].reverse());
export const hasattr = (owner, name) => getattr(owner, name, hasattr) !== hasattr;
export function getattr(owner, name, otherwise) {
  try {
    return attribute(owner, name);
  } catch (error) {
    if (otherwise !== undefined && error instanceof errors.AttributeError) {
      return otherwise;
    }
    throw error;
  }
}

const generator = (body) => (...given) => body(...given);
export const enumerate = takesNames(function* (values, first = 0) {
  let at = typeof first === "object" ? first.start : first;
  for (const one of each(values)) {
    yield tupleOf([at++, one]);
  }
});
export const zip = takesNames(function* (...all) {
  const [given, { strict = false }] = parted(all);
  const sources = given.map(iterator);
  while (sources.length) {
    const found = [];
    for (const source of sources) {
      const { value, done } = source.next();
      if (done) {
        if (strict && (found.length || sources.slice(1).some((one) => !one.next().done))) {
          errors.fail("ValueError", "zip() was given more of one than of another");
        }
        return;
      }
      found.push(value);
    }
    yield tupleOf(found);
  }
});
export const map = generator(function* (body, ...sources) {
  for (const given of zip(...sources)) {
    yield call(body, given);
  }
});
export const filter = generator(function* (test, values) {
  for (const one of each(values)) {
    if (truth(test === null ? one : call(test, [one]))) {
      yield one;
    }
  }
});
export function next(source, otherwise) {
  const { value, done } = source.next();
  return done ? (otherwise === undefined ? errors.fail("StopIteration", "") : otherwise) : value;
}

const KINDS = new Map([
  [int, (value) => isNumber(value) || isNumber(value?.valueOf?.())],
  [bool, (value) => typeof value === "boolean"],
  [str, (value) => typeof value === "string"],
  [list, isList],
  [tuple, isTuple],
  [dict, (value) => value instanceof Dict],
  [set, (value) => value instanceof PySet],
  [range, (value) => value instanceof Range],
  [object, () => true],
]);

export function isinstance(value, kind) {
  if (isTuple(kind)) {
    return kind.some((one) => isinstance(value, one));
  }
  return KINDS.get(kind)?.(value) ?? value instanceof kind;
}

export function type(value) {
  if (typeof value === "boolean") {
    return bool;
  }
  for (const [kind, fits] of KINDS) {
    if (kind !== object && !(value instanceof Object_) && fits(value)) {
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
  first.length ? [...each(values)].reduce((one, other) => body(one, other), first[0]) : [...each(values)].reduce((one, other) => body(one, other));

export function* islice(values, ...given) {
  const [start, stop, step] = given.length === 1 ? [0, given[0]] : given;
  let at = 0;
  if (stop === 0) {
    return;
  }
  for (const one of each(values)) {
    const past = at++ - (start ?? 0);
    if (past >= 0 && past % (step ?? 1) === 0) {
      yield one;
    }
    if (stop !== null && at >= stop) {
      return;
    }
  }
}
export function* pairwise(values) {
  let [before, isFirst] = [null, true];
  for (const one of each(values)) {
    if (!isFirst) {
      yield tupleOf([before, one]);
    }
    [before, isFirst] = [one, false];
  }
}
export function* combinations(values, count, from = 0) {
  const pool = [...each(values)];
  if (count === 0) {
    yield tupleOf([]);
    return;
  }
  for (let at = from; at <= pool.length - count; at += 1) {
    for (const rest of combinations(pool, count - 1, at + 1)) {
      yield tupleOf([pool[at], ...rest]);
    }
  }
}
export function* permutations(values, count = null) {
  const pool = [...each(values)];
  const size = count ?? pool.length;
  if (size === 0) {
    yield tupleOf([]);
    return;
  }
  for (const [at, one] of pool.entries()) {
    for (const rest of permutations(pool.toSpliced(at, 1), size - 1)) {
      yield tupleOf([one, ...rest]);
    }
  }
}
export const product = takesNames(function* (...all) {
  const [given, { repeat: times = 1 }] = parted(all);
  const pools = Array.from({ length: times }, () => given.map((one) => [...each(one)])).flat();
  if (!pools.length) {
    yield tupleOf([]);
    return;
  }
  for (const first of pools[0]) {
    for (const rest of product(...pools.slice(1))) {
      yield tupleOf([first, ...rest]);
    }
  }
});
export function* chain(...sources) {
  for (const source of sources) {
    yield* each(source);
  }
}
chain.from_iterable = function* (sources) {
  for (const source of each(sources)) {
    yield* each(source);
  }
};
export function* accumulate(values, body = add) {
  let [total, isFirst] = [null, true];
  for (const one of each(values)) {
    total = isFirst ? one : body(total, one);
    isFirst = false;
    yield total;
  }
}
export function* repeat(value, times = Infinity) {
  for (let at = 0; at < times; at += 1) {
    yield value;
  }
}

export const prod = (values) => [...each(values)].reduce((one, other) => numbers.times(one, other), 1);
export const gcd = (left = 0, right = 0, ...others) => {
  const found = eq(right, 0) ? abs(left) : gcd(right, numbers.mod(left, right));
  return others.length ? gcd(found, ...others) : found;
};
export const comb = (from, count) =>
  lt(from, count) ? 0 : numbers.floordiv(prod(range(numbers.plus(numbers.minus(from, count), 1), numbers.plus(from, 1))), prod(range(1, numbers.plus(count, 1))));
export const isqrt = (value) => {
  let root = numbers.lshift(1, numbers.rshift(numbers.plus(numbers.bitLength(value), 1), 1)); // above it
  for (;;) {
    const next = numbers.rshift(numbers.plus(root, eq(root, 0) ? 0 : numbers.floordiv(value, root)), 1);
    if (le(root, next)) {
      return root;
    }
    root = next;
  }
};

export const functools = { cache, lru_cache, reduce };
export const itertools = { accumulate, chain, combinations, islice, pairwise, permutations, product, repeat };
export const math = { comb, gcd, isqrt, prod };
export const inspect = { cleandoc: (text) => text.trim() };
export const ABC = Object_;
export { characters };
