// Going about a board by keyboard: one of its cells is reached by Tab, the arrow keys go from there to
// the nearest cell that way, wherever it is drawn. A board that is drawn anew keeps the place.

let place = null; // the data-cell that was reached last

const cellsOf = (board) => [...board.querySelectorAll("[data-cell]")];

export function listen(board) {
  board.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell) {
      place = cell.dataset.cell;
      mark(board, cell);
    }
  });
  board.addEventListener("keydown", (event) => {
    const from = event.target.closest("[data-cell]");
    if (!from || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    if (isDrawn(from) && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      from.dispatchEvent(new MouseEvent("click", { bubbles: true })); // drawings have no click by key
      return;
    }
    const to = next(board, from, event.key);
    if (to) {
      event.preventDefault();
      to.focus();
    }
  });
}

const isDrawn = (cell) => !(cell instanceof HTMLElement);

// After the board was drawn anew; `focused` if the focus was on it before.
export function settle(board, focused) {
  const cells = cellsOf(board);
  const cell = cells.find((one) => one.dataset.cell === place) ?? cells[0];
  if (cell) {
    mark(board, cell);
  }
  if (focused) {
    (cell ?? board.querySelector("[tabindex]"))?.focus();
  }
}

function mark(board, reached) {
  for (const cell of cellsOf(board)) {
    cell.setAttribute("tabindex", cell === reached ? "0" : "-1");
  }
}

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function next(board, from, key) {
  const cells = cellsOf(board);
  if (key === "Home" || key === "End") {
    return cells.at(key === "Home" ? 0 : -1);
  }
  const way = WAYS[key];
  if (!way) {
    return null;
  }
  const nearest = nearestThatWay(cells, from, way);
  return nearest ?? cells[cells.indexOf(from) + way[0]] ?? null; // a row that is broken goes on below
}

function nearestThatWay(cells, from, [right, down]) {
  const here = middle(from);
  let best = null;
  for (const cell of cells) {
    const there = middle(cell);
    const [x, y] = [there.x - here.x, there.y - here.y];
    const along = x * right + y * down;
    const aside = Math.abs(x * down) + Math.abs(y * right);
    // Nearest along the way counts, and what lies aside counts double: of a ring, the neighbour.
    if (along > 1 && aside <= 1.5 * along && (!best || along + 2 * aside < best.far)) {
      best = { cell, far: along + 2 * aside };
    }
  }
  return best?.cell ?? null;
}

function middle(cell) {
  const { left, top, width, height } = cell.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}
