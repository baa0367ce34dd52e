// Players and turns in words.

import { isWatching, playerAt, sideAt } from "./turns.js";
import { opposite } from "./values.js";

// Who plays at a place of the path, as the subject of a sentence.
export function nameAt(state, at) {
  const player = playerAt(state, at);
  if (state.info.players === 1) {
    return player === "you" ? "You" : "Perfect play";
  }
  const order = sideAt(state, at) === 0 ? "First player" : "Second player";
  const alike = isWatching(state) || playerAt(state, at) === playerAt(state, at + 1);
  if (alike) {
    return player === "you" ? order : `${order} (${player})`;
  }
  return { you: "You", perfect: "Perfect", random: "Random" }[player];
}

const plays = (name, move) => `${name} ${name === "You" ? "play" : "plays"} ${move}.`;

// What has just happened, and who is to move: "You play b2-b4. Perfect plays a1. Your move."
export function statusWords(state) {
  return [...happened(state), ...turn(state)].join(" ");
}

function happened(state) {
  const { path, at } = state;
  const since = at > 1 && playerAt(state, at - 1) !== "you" && playerAt(state, at - 2) === "you" ? 2 : 1;
  const made = [];
  for (let place = Math.max(1, at - since + 1); place <= at; place += 1) {
    made.push(plays(nameAt(state, place - 1), path[place].move.move));
  }
  return made;
}

function turn(state) {
  if (state.over) {
    return ["The game is over:", `${endWords(state)}.`];
  }
  const name = nameAt(state, state.at);
  return [name === "You" ? "Your move." : `${name} to move.`];
}

function endWords(state) {
  const { info, at, probe } = state;
  if (probe.outcome === "draw") {
    return "a draw";
  }
  const won = probe.outcome === "win";
  const name = nameAt(state, info.players === 1 || won ? at : at + 1);
  if (info.players === 1 && !won) {
    return `${name.toLowerCase()} ${name === "You" ? "have" : "has"} lost`;
  }
  return name === "You" ? "you win" : `${name} wins`;
}

// The value of a place of the path as the first player sees it, or null where it is not known.
export function valueForFirst(state, at) {
  const { move, probe } = state.path[at];
  if (!move && !probe) {
    return null;
  }
  const outcome = move ? move.outcome : probe.outcome;
  const remoteness = move ? move.remoteness : probe.remoteness;
  if (state.info.players === 1) {
    return { outcome, remoteness };
  }
  const seer = move ? sideAt(state, at - 1) : sideAt(state, at);
  return { outcome: seer === 0 ? outcome : opposite(outcome), remoteness };
}
