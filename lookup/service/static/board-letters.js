// Winners and Losers: a row of letters, of which the two at the ends can be taken.

import { element } from "./dom.js";
import { BEST } from "./settings.js";
import { SIGNS, valueWords } from "./values.js";

const LONG = 60;

export const letters = {
  how:
    "Press the first or the last letter to take it. By keyboard: the left and right arrow keys go to " +
    "the two ends, Enter or Space takes the letter; with Shift the arrow keys take it at once.",
  reads: (text) => /^[WL]*$/.test(text),
  draw,
  edit,
};

const row = (length, ...tiles) =>
  element("div", { class: `row letters${length > LONG ? " long" : ""}` }, ...tiles);

const NAMES = { left: "first letter", right: "last letter" };

function draw(view) {
  const { position, level } = view;
  const best = level >= BEST ? view.moves[0]?.move : null;
  const tiles = [...position].map((letter, at) => {
    const ends = [at === 0 ? "left" : null, at === position.length - 1 ? "right" : null].filter(Boolean);
    return ends.length ? end(letter, ends) : element("span", { class: `tile ${letter}` }, letter);
  });

  // A single letter is both ends: taking it is one move, by either name.
  function end(letter, ends) {
    const move = view.playable ? view.moves.find((one) => ends.includes(one.move)) : null;
    const isBest = ends.includes(best);
    const words = move ? valueWords(move, level) : "";
    const name = [ends.length > 1 ? "only letter" : NAMES[ends[0]], letter, ...(isBest ? ["best"] : [])];
    return element(
      "button",
      {
        type: "button",
        class: `tile ${letter} end${move ? " can" : ""}${isBest ? " best" : ""}`,
        "data-cell": ends[0],
        "aria-label": name.join(", ") + (words ? `: ${words}` : ""),
        "aria-disabled": String(!move),
        click: () => move && view.act(move.move),
      },
      letter,
      words ? element("span", { class: `badge ${move.outcome}` }, SIGNS[move.outcome]) : null,
    );
  }

  const none = element("span", { class: "quiet" }, "No letter is left.");
  const drawn = row(position.length, ...(tiles.length ? tiles : [none]));
  drawn.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: "left", ArrowRight: "right" }[event.key];
    if (way && event.shiftKey && view.playable && view.moves.some((move) => move.move === way)) {
      event.preventDefault();
      view.act(way);
    }
  });
  return drawn;
}

const OTHER = { W: "L", L: "W" };

function edit(text, change) {
  const tiles = [...text].map((letter, at) =>
    element(
      "button",
      {
        type: "button",
        class: `tile ${letter} can`,
        "data-cell": at + 1,
        "aria-label": `letter ${at + 1}: ${letter}`,
        click: () => change(text.slice(0, at) + OTHER[letter] + text.slice(at + 1)),
      },
      letter,
    ),
  );
  const button = (words, next) => element("button", { type: "button", click: () => change(next) }, words);
  return element(
    "div",
    { class: "holder" },
    row(text.length, ...tiles),
    element(
      "p",
      { class: "board-actions" },
      button("Add W", `${text}W`),
      button("Add L", `${text}L`),
      button("Remove last", text.slice(0, -1)),
    ),
  );
}
