// Values in words, and moves compared by them.

import { DISTANCE, VALUE } from "./settings.js";

export const LETTERS = { win: "W", draw: "D", loss: "L" };
export const SIGNS = { win: "+", draw: "=", loss: "−" }; // where W and L are letters of the game itself

const OPPOSITE = { win: "loss", draw: "draw", loss: "win" };
const RANK = { loss: 0, draw: 1, win: 2 };

export const opposite = (outcome) => OPPOSITE[outcome];

export const number = (value) => value.toLocaleString("en");

export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

// As much of a value as the hints tell; with all of it the words are those of lookup/values.py.
export function valueWords(value, level) {
  if (level < VALUE) {
    return "";
  }
  if (level < DISTANCE) {
    return value.outcome;
  }
  const distance = value.remoteness === null ? "" : ` in ${number(value.remoteness)}`;
  const grundy = value.grundy === null ? "" : ` (grundy ${value.grundy})`;
  return value.outcome + distance + grundy;
}

// What was wrong with the move that led to a place, if anything: null while that is not known either.
export function mistakeAt(path, at, level) {
  const move = path[at].move;
  const best = path[at - 1].probe?.moves?.[0];
  if (!best || level < VALUE) {
    return null;
  }
  if (RANK[move.outcome] < RANK[best.outcome]) {
    return { grave: true, words: `mistake: ${best.outcome} → ${move.outcome}` };
  }
  if (level < DISTANCE || move.remoteness === null || best.remoteness === null) {
    return null;
  }
  const late = move.remoteness - best.remoteness;
  return late === 0
    ? null
    : { grave: false, words: late > 0 ? `slower by ${late}` : `lost sooner by ${-late}` };
}
