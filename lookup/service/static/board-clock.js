// The clock: digits that stay where they are, and a hand that goes round. A position reads clockwise
// from the hand and does not say where on the face the hand is: that is followed along the path.

import { calm, element, svg } from "./dom.js";
import { BEST } from "./settings.js";
import { valueWords } from "./values.js";

const MIDDLE = 180;
const FACE = 168;
const RADIUS = 136;
const COMMANDS = { 0: "set to zero", X: "leave it" };

export const clock = {
  how:
    "Press 0 to set the digit under the hand to zero, or X to leave it; the keys 0 and X do the same. " +
    "Then the machine moves, and the hand stops where it is your turn again.",
  reads: (text) => /^(\d+|\d+(,\d+)+)$/.test(text),
  draw,
  edit,
};

let drawnLast = null; // the place that was drawn last: only from there does the hand move in sight

const digitsOf = (position) => (position.includes(",") ? position.split(",") : [...position]).map(Number);

const textOf = (digits, largest) => digits.join(largest >= 10 ? "," : "");

const angleOf = (place, count) => (2 * Math.PI * place) / count;

function spot(place, count, radius) {
  const angle = angleOf(place, count);
  return { x: MIDDLE + radius * Math.sin(angle), y: MIDDLE - radius * Math.cos(angle) };
}

// Where the hand is at a place of the path, counted in digits from the top; kept with each place.
function handAt(path, at) {
  let known = at;
  while (known > 0 && path[known].hand === undefined) {
    known -= 1;
  }
  path[known].hand ??= 0;
  for (let place = known + 1; place <= at; place += 1) {
    const { move, position } = path[place];
    path[place].hand = path[place - 1].hand + steps(path[place - 1].position, move.move, position);
  }
  return path[at].hand;
}

// How far the hand went: as few digits as explain what is seen. Digits that it did not pass are as they
// were, and those that it passed are not smaller than the command left them.
function steps(before, command, after) {
  const [old, seen] = [digitsOf(before), digitsOf(after)];
  const count = old.length;
  if (command === "0") {
    old[0] = 0;
  }
  for (let far = 1; far < 2 * count; far += 1) {
    const now = (digit) => seen[(digit - far + 2 * count) % count];
    const passed = (digit) => (digit > 0 && digit < far) || digit < far - count; // the first when all round
    if (old.every((was, digit) => (passed(digit) ? now(digit) >= was : now(digit) === was))) {
      return far;
    }
  }
  return 1;
}

function face(digits, hand, parts) {
  const count = digits.length;
  const size = 2 * MIDDLE;
  const ticks = digits.map((_, place) => {
    const [outer, inner] = [spot(place, count, FACE), spot(place, count, FACE - 7)];
    return svg("line", { class: "tick", x1: outer.x, y1: outer.y, x2: inner.x, y2: inner.y });
  });
  return svg(
    "svg",
    { class: "clock", viewBox: `0 0 ${size} ${size}`, role: "presentation" },
    svg("circle", { class: "face", cx: MIDDLE, cy: MIDDLE, r: FACE }),
    ...ticks,
    hand,
    svg("circle", { class: "axle", cx: MIDDLE, cy: MIDDLE, r: 7 }),
    ...parts,
  );
}

// As large as the room between neighbours allows.
function sizes(digits) {
  const room = Math.min(64, 2 * RADIUS * Math.sin(Math.PI / Math.max(3, digits.length)));
  const wide = Math.max(...digits.map((digit) => String(digit).length));
  return { room, font: Math.max(9, Math.min(30, room * 0.8, (room * 1.5) / wide)) };
}

// Drawn about its own axle, so that turning it needs no more than an angle.
function pointer(hand, count) {
  const degrees = (hand * 360) / count;
  const turning = svg(
    "g",
    { class: "hand", transform: `rotate(${degrees.toFixed(2)})` },
    svg("path", { d: "M0 22L0 -86" }),
    svg("path", { d: "M-8 -78L0 -96L8 -78" }),
  );
  return { turning, placed: svg("g", { transform: `translate(${MIDDLE} ${MIDDLE})` }, turning) };
}

function digit(value, place, count, { font, room }, under, attributes = {}) {
  const { x, y } = spot(place, count, RADIUS);
  return svg(
    "g",
    {
      class: `digit${under ? " under" : ""}`,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      ...attributes,
    },
    svg("circle", { class: "ground", r: (Math.min(room, 52) / 2 - 1).toFixed(1) }),
    svg("text", { "font-size": font.toFixed(1) }, String(value)),
  );
}

function draw(view) {
  const digits = digitsOf(view.position);
  const count = digits.length;
  const hand = handAt(view.path, view.at);
  const size = sizes(digits);
  const placed = digits.map((value, away) => digit(value, (hand + away) % count, count, size, away === 0));
  const arrow = pointer(hand, count);
  const drawn = face(digits, arrow.placed, placed);
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `The clock, from the hand clockwise: ${digits.join(" ")}`);
  const before = view.path[view.at - 1];
  if (before && before === drawnLast && !calm()) {
    sweep(arrow.turning, before.hand, hand, count);
  }
  drawnLast = view.path[view.at];
  const actions = element("p", { class: "board-actions commands" }, ...commands(view));
  return element("div", { class: "holder" }, drawn, actions);
}

function sweep(arrow, from, to, count) {
  const turned = (hand) => ({ transform: `rotate(${(hand * 360) / count}deg)` });
  arrow.animate?.([turned(from), turned(to)], { duration: 280, easing: "ease-out" });
}

function commands(view) {
  const best = view.level >= BEST ? view.moves[0]?.move : null;
  return Object.entries(COMMANDS).map(([command, words]) => {
    const move = view.playable ? view.moves.find((one) => one.move === command) : null;
    const value = move ? valueWords(move, view.level) : "";
    const notes = [words, ...(value ? [value] : []), ...(command === best ? ["★ best"] : [])];
    return element(
      "button",
      {
        type: "button",
        "data-cell": command,
        class: `command${command === best ? " best" : ""}`,
        "aria-disabled": String(!move),
        click: () => move && view.act(command),
      },
      element("strong", {}, command),
      " ",
      element("span", {}, notes.join(", ")),
    );
  });
}

function edit(text, change, info) {
  const digits = digitsOf(text);
  const count = digits.length;
  const largest = info.parameters.k ?? Math.max(9, ...digits);
  const raised = (place, by) => {
    const next = [...digits];
    next[place] = (next[place] + by + largest + 1) % (largest + 1);
    return textOf(next, largest);
  };
  const size = sizes(digits);
  const placed = digits.map((value, place) =>
    digit(value, place, count, size, place === 0, {
      role: "button",
      "data-cell": place + 1,
      "aria-label": `digit ${place + 1}: ${value}${place === 0 ? ", under the hand" : ""}`,
      click: (event) => change(raised(place, event.shiftKey ? -1 : 1)),
    }),
  );
  const turn = () => change(textOf([...digits.slice(1), digits[0]], largest));
  return element(
    "div",
    { class: "holder editing" },
    face(digits, pointer(0, count).placed, placed),
    element(
      "p",
      { class: "board-actions" },
      element("button", { type: "button", click: turn }, "Move the hand on"),
      element("span", { class: "quiet" }, "A press raises a digit; after the largest comes 0."),
    ),
  );
}
