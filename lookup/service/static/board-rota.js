// ROTA: the wheel, eight points on a ring and the hub. Place a piece, or pick one and then its target.

import { element, svg } from "./dom.js";
import { BEST } from "./settings.js";
import { LETTERS, valueWords } from "./values.js";

const POINTS = ["nw", "n", "ne", "w", "c", "e", "sw", "s", "se"]; // as the text has them
const RING = ["n", "ne", "e", "se", "s", "sw", "w", "nw"];
const MIDDLE = 180;
const RADIUS = 134;
const LAYOUT = /^[.xo]{3}\/[.xo]{3}\/[.xo]{3} [xo]$/;

export const rota = {
  how:
    "While pieces are placed, press an empty point. Later press one of your pieces, then the point it " +
    "slides to. By keyboard: the arrow keys go from point to point, Enter or Space presses, Escape lets " +
    "the piece go.",
  reads: (text) => LAYOUT.test(text),
  mover: (position) => (position.endsWith("o") ? 1 : 0),
  draw,
  edit,
};

function spot(name) {
  if (name === "c") {
    return { x: MIDDLE, y: MIDDLE };
  }
  const angle = (RING.indexOf(name) * Math.PI) / 4;
  return { x: MIDDLE + RADIUS * Math.sin(angle), y: MIDDLE - RADIUS * Math.cos(angle) };
}

const cellsOf = (position) => [...position.split(" ")[0].replaceAll("/", "")];

const NAMES = { ".": "empty", x: "x", o: "o" };

function wheel(...points) {
  const spokes = RING.slice(0, 4).map((name, at) => {
    const [one, other] = [spot(name), spot(RING[at + 4])];
    return svg("line", { class: "track", x1: one.x, y1: one.y, x2: other.x, y2: other.y });
  });
  const ring = svg("circle", { class: "track", cx: MIDDLE, cy: MIDDLE, r: RADIUS });
  const size = 2 * MIDDLE;
  // A picture would hide the buttons in it from who listens to the page.
  const attributes = { class: "wheel", viewBox: `0 0 ${size} ${size}`, role: "presentation" };
  return svg("svg", attributes, ring, ...spokes, ...points);
}

// Two shapes as well as two colours.
function piece(kind) {
  if (kind === "x") {
    return svg("path", { class: "piece x", d: "M-13 -13L13 13M13 -13L-13 13" });
  }
  return kind === "o" ? svg("circle", { class: "piece o", r: 15 }) : svg("circle", { class: "dot", r: 7 });
}

function point(name, kind, { classes = [], value = null, can, notes = [], click }) {
  const { x, y } = spot(name);
  const words = [name, NAMES[kind], ...notes].join(", ") + (value ? `: ${value.words}` : "");
  const parts = [svg("circle", { class: "ground", r: 30 }), piece(kind)];
  if (classes.includes("best")) {
    parts.push(svg("circle", { class: "mark", r: 35 }));
  }
  if (value) {
    parts.push(...badge(value.outcome, kind === "." ? 0 : 23));
  }
  return svg(
    "g",
    {
      role: "button",
      class: ["point", can ? "can" : "", ...classes].join(" "),
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      "data-cell": name,
      "aria-label": words,
      "aria-disabled": String(!can),
      click,
    },
    ...parts,
  );
}

function badge(outcome, away) {
  return [
    svg("circle", { class: `badge ${outcome}`, cx: away, cy: -away, r: away ? 11 : 15 }),
    svg("text", { class: `badge-text ${outcome}`, x: away, y: -away }, LETTERS[outcome]),
  ];
}

function draw(view) {
  const cells = cellsOf(view.position);
  const moves = view.playable ? view.moves : [];
  const best = view.level >= BEST && view.moves.length ? view.moves[0].move.split("-") : [];
  const last = view.last?.split("-") ?? [];
  const holder = element("div", { class: "holder" });
  let picked = null;

  const from = (name) => moves.filter((move) => move.move.startsWith(`${name}-`));
  const to = (name) => moves.find((move) => move.move === (picked === null ? name : `${picked}-${name}`));

  function press(name) {
    const move = to(name);
    if (move) {
      view.act(move.move);
      return;
    }
    picked = name !== picked && from(name).length ? name : null;
    view.tell(picked ? `${picked} is picked up: press the point it slides to. Escape cancels.` : null);
    refresh();
  }

  function refresh() {
    const focused = document.activeElement?.dataset?.cell;
    const inside = holder.contains(document.activeElement);
    const points = POINTS.map((name, at) => {
      const move = to(name);
      const words = move ? valueWords(move, view.level) : "";
      const classes = [];
      const notes = [];
      if (name === picked) {
        classes.push("picked");
        notes.push("picked up");
      }
      if (last.includes(name)) {
        classes.push("last");
      }
      if (best.includes(name)) {
        classes.push("best");
        notes.push("in the best move");
      }
      return point(name, cells[at], {
        classes,
        can: Boolean(move) || from(name).length > 0,
        value: words ? { words, outcome: move.outcome } : null,
        notes,
        click: () => press(name),
      });
    });
    holder.replaceChildren(wheel(...points));
    const reached = points[Math.max(0, POINTS.indexOf(focused))];
    if (inside) {
      points.forEach((one) => one.setAttribute("tabindex", one === reached ? "0" : "-1"));
      reached.focus();
    } else {
      points.forEach((one, at) => one.setAttribute("tabindex", at === 0 ? "0" : "-1"));
    }
  }

  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && picked !== null) {
      press(picked);
    }
  });
  refresh();
  return holder;
}

const AFTER = { ".": "x", x: "o", o: "." };

function edit(text, change) {
  const [board, mover] = text.split(" ");
  const points = POINTS.map((name, at) => {
    const place = at + Math.floor(at / 3); // the text has a stroke after each row
    const kind = board[place];
    const click = () => change(`${board.slice(0, place)}${AFTER[kind]}${board.slice(place + 1)} ${mover}`);
    return point(name, kind, { can: true, click });
  });
  const choice = element(
    "select",
    { id: "mover", change: () => change(`${board} ${choice.value}`) },
    ...["x", "o"].map((one) => element("option", { value: one, selected: one === mover }, one)),
  );
  return element(
    "div",
    { class: "holder" },
    wheel(...points),
    element("p", { class: "board-actions" }, element("label", { for: "mover" }, "To move"), choice),
  );
}
