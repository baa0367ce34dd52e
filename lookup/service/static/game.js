// The game under way. `shown` is what the page shows: replaced as a whole, and only when every answer
// about it is there.
//
//   info     what the table says of itself
//   path     places, each {move, position, probe, board}: the first has no move, the others those of the
//            service; answers are kept with the place, so that going back asks for nothing
//   at       the place in the path that is shown
//   probe, board, over    the answers about it
//   link     its address

import { address } from "./address.js";
import { busy } from "./dom.js";
import * as source from "./source.js";
import { opposite } from "./values.js";

export let shown = null;

const listeners = [];
let asked = 0;

export const onChange = (listener) => listeners.push(listener);

// Asks, and shows what was asked for. The latest call wins: an earlier one that is answered later
// neither shows anything nor fails.
async function latest(asking, enter = false) {
  const number = ++asked;
  busy("game", true);
  try {
    const next = await asking();
    if (number === asked) {
      shown = next;
      listeners.forEach((listener) => listener({ enter }));
    }
    return number === asked;
  } catch (error) {
    if (number === asked) {
      throw error;
    }
    return false;
  } finally {
    if (number === asked) {
      busy("game", false);
    }
  }
}

// `enter` says whether it is another place to be in, to which a browser can go back.
export const open = (table, position, move, enter) =>
  latest(async () => {
    const info = await infoOf(table);
    const first = { move: null, position: position ?? info.start ?? "0" }; // without rules: indices
    if (move === null) {
      return placed(info, [first], 0);
    }
    await answer(info, [first], 0);
    const made = await moveOf(info, first, move);
    return placed(info, [first, { move: made, position: made.position }], 1);
  }, enter);

export const goTo = (at) => latest(() => placed(shown.info, shown.path, at));

export const play = (text) => {
  const { info, path, at } = shown;
  return latest(async () => {
    const move = await moveOf(info, path[at], text);
    return placed(info, [...path.slice(0, at + 1), { move, position: move.position }], at + 1);
  });
};

// Goes on after some moves that are already known, as those of a line.
export const playAll = (moves) => {
  const { info, path, at } = shown;
  const more = moves.map((move) => ({ move, position: move.position }));
  return latest(() => placed(info, [...path.slice(0, at + 1), ...more], at + more.length));
};

const infoOf = async (table) => (shown?.info.table === table ? shown.info : source.info(table));

// Of several sets of sticks that come to the same, `probe` may list but one: others are asked for.
const moveOf = async (info, place, text) =>
  place.probe.moves?.find((move) => move.move === text) ??
  source.move(info.table, place.position, text);

async function placed(info, path, at) {
  await answer(info, path, at);
  const { probe, board, move, position, nowhere } = path[at];
  const link = nowhere
    ? address(info.table, path[at - 1].position, move.move)
    : address(info.table, position);
  return { info, path, at, probe, board, link, over: board.over };
}

async function answer(info, path, at) {
  const place = path[at];
  if (!place.probe) {
    const found = place.move?.remoteness === 0 ? ended(info, place) : about(info, place);
    Object.assign(place, await found);
  }
}

async function about({ table }, { position }) {
  const asking = [source.probe(table, position), source.board(table, position)];
  const [probe, board] = await Promise.all(asking);
  return { probe, board };
}

// A move that ends the game may leave what is no position of the table, as no letters at all: then
// there is no picture of it, but what the move was worth says how the game ended.
async function ended(info, { move }) {
  const outcome = info.players === 1 ? move.outcome : opposite(move.outcome);
  const probe = { ...move, outcome, moves: [] };
  const nothing = { probe, board: { board: "(nothing is left)", over: true }, nowhere: true };
  if (move.position === "") {
    return nothing; // known without asking, which would put an error on the console
  }
  try {
    return { probe, board: await source.board(info.table, move.position) };
  } catch (error) {
    if (!error.refused) {
      throw error;
    }
    return nothing;
  }
}
