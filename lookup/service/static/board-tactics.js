// Tactics: a grid of cells. A move is made by its two ends: press one, then the other, or drag across.

import { element } from "./dom.js";
import { BEST } from "./settings.js";
import { LETTERS, valueWords } from "./values.js";

export const tactics = {
  how:
    "Press the cell where the run begins, then the cell where it ends; press the same cell twice to " +
    "fill it alone, or drag across the run. By keyboard: the arrow keys go from cell to cell, Enter or " +
    "Space presses, Escape takes the first press back.",
  reads: (text) => /^[.X]+(\/[.X]+)*$/.test(text) && hasEvenRows(text.split("/")),
  draw,
  edit,
};

const hasEvenRows = (rows) => rows.every((row) => row.length === rows[0].length);
const column = (number) => (number < 26 ? letter(number) : `a${letter(number - 26)}`);
const letter = (number) => String.fromCharCode(97 + number);
const nameOf = (row, col) => `${column(col)}${row + 1}`;

// All cells of a position: {name, row, col, filled}.
function cellsOf(position) {
  return position
    .split("/")
    .flatMap((cells, row) =>
      [...cells].map((cell, col) => ({ name: nameOf(row, col), row, col, filled: cell === "X" })),
    );
}

function grid(cells, buttons) {
  const cols = Math.max(...cells.map(({ col }) => col)) + 1;
  const label = (text) => element("span", { class: "label", "aria-hidden": "true" }, text);
  const parts = [label("")];
  for (let col = 0; col < cols; col += 1) {
    parts.push(label(column(col)));
  }
  cells.forEach(({ row, col }, at) => {
    if (col === 0) {
      parts.push(label(String(row + 1)));
    }
    parts.push(buttons[at]);
  });
  const made = element("div", { class: "grid" }, ...parts);
  made.style.setProperty("--columns", cols);
  return made;
}

function between(cells, move) {
  const [first, last = first] = move.split("-");
  const [one, other] = [first, last].map((name) => cells.find((cell) => cell.name === name));
  const inside = (value, a, b) => Math.min(a, b) <= value && value <= Math.max(a, b);
  return new Set(
    cells
      .filter((cell) => inside(cell.row, one.row, other.row) && inside(cell.col, one.col, other.col))
      .map((cell) => cell.name),
  );
}

// For each cell that a run can begin or end with, the other ends and the moves they make.
function endsOf(moves) {
  const ends = new Map();
  const join = (from, to, move) => {
    ends.set(from, (ends.get(from) ?? new Map()).set(to, move));
  };
  for (const move of moves) {
    const [first, last = first] = move.move.split("-");
    join(first, last, move);
    join(last, first, move);
  }
  return ends;
}

function draw(view) {
  const cells = cellsOf(view.position);
  const ends = endsOf(view.playable ? view.moves : []);
  const best = view.level >= BEST && view.moves.length ? between(cells, view.moves[0].move) : new Set();
  const last = view.last ? between(cells, view.last) : new Set();
  const buttons = cells.map(({ name }) => element("button", { type: "button", "data-cell": name }));
  let anchor = null;

  function refresh(preview = null) {
    const run = preview ? between(cells, preview.move) : new Set();
    cells.forEach(({ name, filled }, at) => {
      const move = anchor === null ? null : ends.get(anchor).get(name);
      const can = anchor === null ? ends.has(name) : Boolean(move);
      const value = move ? valueWords(move, view.level) : "";
      const state = [name, filled ? "filled" : "empty"];
      state.push(...(best.has(name) ? ["in the best move"] : []), ...(name === anchor ? ["chosen"] : []));
      const button = buttons[at];
      button.className = "cell";
      button.classList.toggle("filled", filled);
      button.classList.toggle("can", can);
      button.classList.toggle("last", last.has(name));
      button.classList.toggle("best", best.has(name));
      button.classList.toggle("anchor", name === anchor);
      button.classList.toggle("run", run.has(name));
      button.setAttribute("aria-label", state.join(", ") + (value ? `: ${value}` : ""));
      button.setAttribute("aria-disabled", String(!can));
      button.replaceChildren();
      if (value) {
        button.append(element("span", { class: `badge ${move.outcome}` }, LETTERS[move.outcome]));
      }
    });
  }

  function begin(name) {
    anchor = name;
    refresh();
    view.tell(name ? `From ${name}: press the other end of the run, or ${name} again. Escape cancels.` : null);
  }

  function press(name) {
    const move = anchor === null ? null : ends.get(anchor).get(name);
    if (move) {
      view.act(move.move);
    } else {
      begin(anchor === null && ends.has(name) ? name : null);
    }
  }

  const made = grid(cells, buttons);
  listenToPointer(made, { press, begin, refresh, ends });
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && anchor !== null) {
      begin(null);
    }
  });
  refresh();
  return made;
}

// Presses and drags. A drag is a press that ends on another cell; the click that may follow it is none.
function listenToPointer(made, { press, begin, refresh, ends }) {
  let start = null;
  let dragged = false;
  const nameAt = (event) =>
    document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]")?.dataset.cell;

  made.addEventListener("pointerdown", (event) => {
    start = event.isPrimary ? (nameAt(event) ?? null) : null;
    dragged = false;
  });
  made.addEventListener("pointermove", (event) => {
    const over = nameAt(event);
    if (start !== null && event.buttons && over !== start && ends.has(start)) {
      if (!dragged) {
        begin(start);
        dragged = true;
      }
      refresh(over && ends.get(start).get(over));
    }
  });
  made.addEventListener("pointerup", (event) => {
    const over = nameAt(event);
    if (dragged && over !== start) {
      press(over);
    }
    start = null;
  });
  made.addEventListener("pointercancel", () => {
    start = null;
    begin(null);
  });
  made.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell && !(dragged && event.detail > 0)) {
      press(cell.dataset.cell);
    }
    dragged = false;
  });
}

function edit(text, change) {
  const cells = cellsOf(text);
  const cols = text.indexOf("/") < 0 ? text.length : text.indexOf("/");
  const buttons = cells.map(({ name, row, col, filled }) =>
    element("button", {
      type: "button",
      class: `cell can${filled ? " filled" : ""}`,
      "data-cell": name,
      "aria-label": `${name}, ${filled ? "filled" : "empty"}`,
      "aria-pressed": String(filled),
      click: () => {
        const at = row * (cols + 1) + col;
        change(text.slice(0, at) + (filled ? "." : "X") + text.slice(at + 1));
      },
    }),
  );
  return grid(cells, buttons);
}
