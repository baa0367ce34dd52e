// The list of all moves, as buttons. Without hints their order tells nothing.

import { $, element } from "./dom.js";
import { BEST, VALUE } from "./settings.js";
import { counted, valueWords } from "./values.js";

const FEW = 60;

let all = false; // whether a person has asked to see all moves of the position
let about = null;

// `view` is what the board is drawn from (boards.js); `known` is false where the rules are not.
export function renderMoves(view, known) {
  const inside = $("moves").contains(document.activeElement);
  if (about !== view.position) {
    about = view.position;
    all = false;
  }
  const moves = view.level >= VALUE ? view.moves : [...view.moves].sort(byName);
  const few = all ? moves : moves.slice(0, FEW);
  $("moves").replaceChildren(...few.map((move) => element("li", {}, button(move, view))));
  $("all-moves").hidden = few.length === moves.length;
  $("all-moves").textContent = `Show all ${counted(moves.length, "move")}`;
  $("all-moves").onclick = () => {
    all = true;
    renderMoves(view, known);
    $("moves").children[FEW].firstChild.focus();
  };
  note(view, known);
  if (inside) {
    ($("moves").querySelector("button") ?? $("undo")).focus();
  }
}

function note(view, known) {
  let words = "";
  if (!known) {
    words = "Not known here: --game FILE.py names the rules.";
  } else if (!view.moves.length) {
    words = "None: the game is over.";
  } else if (view.info.game === "sticks-any") {
    words = "One for each number of sticks; on the board you take whichever you like.";
  }
  $("moves-note").textContent = words;
  $("moves-note").hidden = !words;
}

const byName = (one, other) => one.move.localeCompare(other.move, "en", { numeric: true });

function button(move, { level, moves, playable, act }) {
  const best = level >= BEST && move === moves[0];
  const value = valueWords(move, level);
  return element(
    "button",
    {
      type: "button",
      class: [value ? move.outcome : "", best ? "best" : ""].join(" "),
      "data-move": move.move,
      "aria-disabled": String(!playable),
      click: () => playable && act(move.move),
    },
    element("span", { class: "move" }, move.move),
    value ? " " : null,
    value ? element("span", { class: "worth" }, value) : null,
    best ? element("span", { class: "star" }, " ★ best") : null,
  );
}
