// Python's exceptions, as far as translated programs raise and catch them.

export class Exception extends Error {
  static $isClass = true;

  constructor(...given) {
    super();
    this.__init__(...given);
  }

  __init__(...given) {
    this.args = given;
    this.message = given.length ? String(given[0]) : "";
  }

  __str__() {
    return this.message;
  }
}

const kind = (name, base) => ({ [name]: class extends base {} })[name];

export const LookupError = kind("LookupError", Exception);
export const IndexError = kind("IndexError", LookupError);
export const KeyError = kind("KeyError", LookupError);
export const ValueError = kind("ValueError", Exception);
export const TypeError = kind("TypeError", Exception);
export const AttributeError = kind("AttributeError", Exception);
export const RuntimeError = kind("RuntimeError", Exception);
export const NotImplementedError = kind("NotImplementedError", RuntimeError);
export const ArithmeticError = kind("ArithmeticError", Exception);
export const ZeroDivisionError = kind("ZeroDivisionError", ArithmeticError);
export const AssertionError = kind("AssertionError", Exception);
export const StopIteration = kind("StopIteration", Exception);

const KINDS = { AssertionError, AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError, ZeroDivisionError };

export function fail(name, message) {
  throw new KINDS[name](message);
}
