// Python's integers: numbers as long as they are exact, and BigInt beyond 2^53.

import { fail } from "./python-errors.js";

const isExact = Number.isSafeInteger;

const shortest = (big) => {
  const number = Number(big);
  return isExact(number) ? number : big;
};

// What counts as a number where one is wanted: truth values and members of enumerations do, too.
export function number(value) {
  const found = typeof value === "object" ? value?.valueOf() : value;
  if (typeof found === "number" || typeof found === "bigint") {
    return found;
  }
  return typeof found === "boolean" ? Number(found) : fail("TypeError", `expected a number, not ${typeof value}`);
}

function arithmetic(quick, exact) {
  return (left, right) => {
    const [a, b] = [number(left), number(right)];
    if (typeof a === "number" && typeof b === "number") {
      const found = quick(a, b);
      if (isExact(found) || !Number.isInteger(a) || !Number.isInteger(b)) {
        return found; // with a fraction, as those of times, nothing is exact
      }
    }
    return shortest(exact(BigInt(a), BigInt(b)));
  };
}

export const plus = arithmetic((a, b) => a + b, (a, b) => a + b);
export const minus = arithmetic((a, b) => a - b, (a, b) => a - b);
export const times = arithmetic((a, b) => a * b, (a, b) => a * b);

const remainder = (a, b, zero) => {
  const rest = a % b;
  return rest !== zero && rest < zero !== b < zero ? rest + b : rest;
};
const divisor = (b) => (b === 0 || b === 0n ? fail("ZeroDivisionError", "division by zero") : b);

// The rest first: divided without it, nothing is rounded.
export const floordiv = arithmetic(
  (a, b) => (a - remainder(a, divisor(b), 0)) / b,
  (a, b) => (a - remainder(a, divisor(b), 0n)) / b,
);
export const mod = arithmetic(
  (a, b) => remainder(a, divisor(b), 0),
  (a, b) => remainder(a, divisor(b), 0n),
);
export const power = arithmetic(() => NaN, (a, b) => (b < 0n ? fail("ValueError", "a negative exponent") : a ** b));

// JavaScript's own operators know 32 bits.
const isShort = (a) => a >= -0x80000000 && a <= 0x7fffffff;
const bitwise = (quick, exact) => arithmetic((a, b) => (isShort(a) && isShort(b) ? quick(a, b) : NaN), exact);

export const and = bitwise((a, b) => a & b, (a, b) => a & b);
export const bitOr = bitwise((a, b) => a | b, (a, b) => a | b);
export const xor = bitwise((a, b) => a ^ b, (a, b) => a ^ b);
export const lshift = arithmetic((a, b) => (b < 53 ? a * 2 ** b : NaN), (a, b) => a << b);
export const rshift = arithmetic((a, b) => (a >= 0 && b < 53 ? Math.floor(a / 2 ** b) : NaN), (a, b) => a >> b);
export const invert = (value) => minus(-1, value);
export const negative = (value) => minus(0, value);

export const bitLength = (value) => {
  const size = number(value);
  const digits = (size < 0 ? negative(size) : size).toString(2);
  return digits === "0" ? 0 : digits.length;
};

// The number that a text says, as int() reads it; it knows no other digits than these.
export function parsed(text, base = 10) {
  const [, sign, digits] = /^\s*([+-]?)([0-9a-z]+(?:_[0-9a-z]+)*)\s*$/i.exec(text) ?? [];
  let found = 0;
  for (const one of digits?.replaceAll("_", "") ?? "") {
    const digit = parseInt(one, 36);
    if (digit >= base) {
      return wrong(text, base);
    }
    found = plus(times(found, base), digit);
  }
  return digits ? (sign === "-" ? negative(found) : found) : wrong(text, base);
}

const wrong = (text, base) => fail("ValueError", `'${text}' is no number in base ${base}`);

// The place that an index means in something of a length; negative ones count from the end.
export function place(index, length) {
  const at = Number(number(index));
  const found = at < 0 ? at + length : at;
  return found >= 0 && found < length ? found : fail("IndexError", "index out of range");
}

// The places that a slice takes.
export function* places(length, start, stop, step) {
  const by = step === null ? 1 : Number(number(step));
  const [least, most] = by > 0 ? [0, length] : [-1, length - 1];
  const end = (given, otherwise) => {
    if (given === null) {
      return otherwise;
    }
    const at = Number(number(given));
    return Math.min(Math.max(at < 0 ? at + length : at, least), most);
  };
  const last = end(stop, by > 0 ? length : -1);
  for (let at = end(start, by > 0 ? 0 : length - 1); by > 0 ? at < last : at > last; at += by) {
    yield at;
  }
}
