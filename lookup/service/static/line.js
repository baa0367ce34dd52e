// The whole line of best play from the position shown: looked at step by step on the board, while the
// game itself stays where it is until a person plays on from there.

import { boardFor } from "./boards.js";
import { $, busy, copy, element, enable } from "./dom.js";
import { shown } from "./game.js";
import * as source from "./source.js";
import { counted } from "./values.js";
import { nameAt } from "./words.js";

const PAUSE = 600;
const NO_LINE = { line: [], complete: true, repeats: false };

let line = null; // {moves, step, path, from, pictures}; path goes on from that of the game
let page = null; // {redraw, attempt, playOn}
let timer = null;
let asked = 0;

export const isOpen = () => line !== null;

export function begin(given) {
  page = given;
  $("line-first").onclick = () => page.attempt(go(0));
  $("line-back").onclick = () => page.attempt(go(line.step - 1));
  $("line-forward").onclick = () => page.attempt(go(line.step + 1));
  $("line-last").onclick = () => page.attempt(go(line.moves.length));
  $("line-play").onclick = () => (timer === null ? run() : halt());
  $("line-copy").onclick = copyLine;
  $("line-close").onclick = () => {
    close();
    page.redraw();
    $("best-line").focus();
  };
  $("line-play-on").onclick = () => page.playOn(line.moves.slice(0, line.step));
}

export async function open() {
  const { info, path, at, probe } = shown;
  const number = ++asked;
  busy("line", true);
  try {
    const answer = shown.over ? NO_LINE : await source.line(info.table, probe.position);
    if (number !== asked || shown.path !== path || shown.at !== at) {
      return; // the game has gone on: nobody waits for this any more
    }
    const moves = answer.line;
    const after = moves.map((move) => ({ move, position: move.position }));
    line = { moves, step: 0, from: at, path: [...path.slice(0, at + 1), ...after], pictures: new Map() };
    write(answer);
    page.redraw();
    $("line-heading").focus();
  } finally {
    busy("line", false);
  }
}

export function close() {
  halt();
  line = null;
  $("line").hidden = true;
  $("best-line").setAttribute("aria-expanded", "false");
}

// What the board is drawn from instead of the game's place.
export function place() {
  const at = line.from + line.step;
  const { position, move } = line.path[at];
  const text = line.pictures.get(position) ?? shown.board.board;
  return { position, path: line.path, at, last: move?.move ?? null, text };
}

function write({ complete, repeats }) {
  const { moves } = line;
  const alone = shown.info.players === 1;
  const length = counted(moves.length, alone ? "command" : "move");
  let end = repeats ? "; then it repeats: a draw" : ` to the end${winner(moves, alone)}`;
  if (!complete) {
    end = "; there would be more";
  }
  $("line-length").textContent = moves.length ? `${length}${end}.` : "The game is over: there is no line.";
  const text = moves.map((move) => move.move).join(alone ? "" : " ");
  $("line-text").value = text;
  const buttons = moves.map((move, at) =>
    element(
      "button",
      { type: "button", "data-step": at + 1, click: () => page.attempt(go(at + 1)) },
      `${at + 1}. ${move.move}`,
    ),
  );
  $("line-moves").replaceChildren(...buttons.map((button) => element("li", {}, button)));
  $("line").hidden = false;
  $("best-line").setAttribute("aria-expanded", "true");
  page.attempt(go(0));
}

function winner(moves, alone) {
  const last = moves.at(-1);
  if (!last || alone) {
    return "";
  }
  if (last.outcome === "draw") {
    return ": a draw";
  }
  const at = line.from + moves.length - (last.outcome === "win" ? 1 : 0);
  const name = nameAt({ ...shown, path: line.path }, at);
  return `: ${name === "You" ? "you win" : `${name} wins`}`;
}

async function go(step) {
  line.step = Math.min(line.moves.length, Math.max(0, step));
  const now = line.step;
  const last = line.moves.length;
  $("line-step").textContent =
    now === 0 ? "The position as it is." : `Step ${now} of ${last}: ${line.moves[now - 1].move}.`;
  enable($("line-first"), now > 0);
  enable($("line-back"), now > 0);
  enable($("line-play"), now < last);
  enable($("line-forward"), now < last);
  enable($("line-last"), now < last);
  $("line-play-on").disabled = now === 0;
  if (now === last) {
    halt();
  }
  for (const button of $("line-moves").querySelectorAll("button")) {
    const here = Number(button.dataset.step) === now;
    button.setAttribute("aria-current", here ? "step" : "false");
  }
  const current = $("line-moves").querySelector("[aria-current=step]");
  if (current) {
    const list = $("line-moves");
    list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
  page.redraw();
  await picture(line);
}

// Only boards that show the service's picture need it.
async function picture(of) {
  const { position } = of.path[of.from + of.step];
  if (boardFor(shown.info).needsPicture && !of.pictures.has(position)) {
    busy("picture", true);
    try {
      of.pictures.set(position, (await source.board(shown.info.table, position)).board);
    } finally {
      busy("picture", false);
    }
    if (of === line) {
      page.redraw();
    }
  }
}

function run() {
  if (line.step === line.moves.length) {
    return;
  }
  $("line-play").textContent = "Stop";
  timer = setInterval(() => page.attempt(go(line.step + 1)), PAUSE);
}

function halt() {
  clearInterval(timer);
  timer = null;
  $("line-play").textContent = "Play through";
}

async function copyLine() {
  const done = await copy($("line-text").value);
  const words = done ? "The line is copied." : "It could not be copied: mark the text and copy it by hand.";
  $("line-step").textContent = words;
}
