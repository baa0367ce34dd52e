// Whose turn it is, and the moves of those who are no persons: after a short pause, one at a time, and
// never while the game is paused.

import { boardFor } from "./boards.js";
import { busy, calm } from "./dom.js";
import { settings } from "./settings.js";

const PAUSE = 400;
const SHORT_PAUSE = 120;

export let paused = false;
export let repeated = false; // whether it was a position that had been before that paused the game

let timer = null;
let patience = 0; // how many repeats more a person has allowed

// 0 for the first player, 1 for the second. Where a position says who is to move, that counts; else
// whoever moves at the beginning of the path is the first.
export function sideAt({ info, path }, at) {
  if (info.players === 1) {
    return 0;
  }
  const beginning = boardFor(info).mover?.(path[0].position) ?? 0;
  return (beginning + at) % 2;
}

export function playerAt(state, at) {
  const player = sideAt(state, at) === 0 ? settings.first : settings.second;
  return state.info.players === 1 && player === "random" ? "you" : player; // it would never end
}

export const isWatching = (state) =>
  playerAt(state, 0) !== "you" && (state.info.players === 1 || playerAt(state, 1) !== "you");

export const isMachines = (state) =>
  !state.over && Boolean(state.probe.moves?.length) && playerAt(state, state.at) !== "you";

export function setPaused(on) {
  paused = on;
  repeated = false;
}

export function resume() {
  patience += repeated ? 1 : 0;
  setPaused(false);
}

export function beginAfresh() {
  patience = 0;
  setPaused(false);
}

// After every change: lets the machine move if it is its turn. `move` is called with what it plays.
export function consider(state, move) {
  stop();
  if (!state || !isMachines(state)) {
    return;
  }
  if (!paused && isWatching(state) && isEndless(state)) {
    paused = repeated = true;
  }
  if (!paused) {
    busy("machine", true);
    timer = setTimeout(() => {
      stop();
      move(chosen(state));
    }, calm() ? SHORT_PAUSE : PAUSE);
  }
}

export function stop() {
  clearTimeout(timer);
  busy("machine", false);
}

export function chosen(state) {
  const { moves } = state.probe;
  const random = playerAt(state, state.at) === "random";
  return moves[random ? Math.floor(Math.random() * moves.length) : 0].move;
}

// Perfect players that come to a position again go round for ever; chance may find a way out.
function isEndless({ path, at, info }) {
  const { position } = path[at];
  const before = path.slice(0, at).filter((place) => place.position === position).length;
  const byChance = settings.first === "random" || (info.players === 2 && settings.second === "random");
  return before > patience + (byChance ? 1 : 0);
}

// Where undo (-1) and redo (1) lead: to the nearest turn of a person, or as far as the path goes.
export function turnOfPerson(state, way) {
  const last = state.path.length - 1;
  const end = way < 0 ? 0 : last;
  if (isWatching(state)) {
    return Math.min(last, Math.max(0, state.at + way));
  }
  for (let at = state.at + way; at > 0 && at < last; at += way) {
    if (playerAt(state, at) === "you") {
      return at;
    }
  }
  return end;
}
