// The dialog of a new game: which game, and what it is played with.

import { $, element, say } from "./dom.js";
import { shown } from "./game.js";
import {
  STICKS_MODES,
  clockTable,
  described,
  grouped,
  lettersTable,
  sticksMode,
  sticksTable,
} from "./names.js";

const MOST_STICKS = 300;
const MOST_LETTERS = 500;
const MOST_DIGITS = 30;

let names = [];
let start = null;

// `begin` is called with a table and a position, null for the table's own start.
export function prepare(tables, begin) {
  names = tables;
  start = begin;
}

export function listen() {
  $("new-game").addEventListener("click", open);
  $("new-game-cancel").addEventListener("click", () => $("new-game-dialog").close());
  $("new-game-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { table, position } = chosen();
      await start(table, position);
      $("new-game-dialog").close();
    } catch (error) {
      say("new-game-error", error.message);
    }
  });
}

let chosen = null; // reads the fields: {table, position}, or throws the sentence of what is wrong

function open() {
  const family = described(shown.info.table).family;
  const listed = grouped(names).map(([one]) => one);
  const families = [...new Set([...listed, ...Object.keys(FIELDS), family])];
  const fields = element("div", { class: "fields" });
  const choice = select("new-family", families, family);
  const fill = () => {
    say("new-game-error", null);
    const [parts, read] = (FIELDS[choice.value] ?? tableFields)(choice.value);
    fields.replaceChildren(...parts);
    chosen = read;
  };
  choice.addEventListener("change", fill);
  $("new-game-fields").replaceChildren(field("Game", choice), fields);
  fill();
  $("new-game-dialog").showModal();
}

const FIELDS = { Sticks: sticksFields, Clock: clockFields, "Winners and Losers": lettersFields };

function field(words, control, note = null) {
  return element("div", { class: "field" }, element("label", { for: control.id }, words), control, note);
}

function select(id, values, value, words = (one) => String(one)) {
  const option = (one) => element("option", { value: one, selected: one === value }, words(one));
  return element("select", { id }, ...values.map(option));
}

const numeric = (id, value, min, max) =>
  element("input", { id, type: "number", min, max, value, required: true });

function whole(control, what) {
  const { min, max, value } = control;
  const number = Number(value);
  if (value.trim() === "" || !Number.isInteger(number) || number < Number(min) || number > Number(max)) {
    throw new Error(`${what} cannot be ${JSON.stringify(value)}: expected a number from ${min} to ${max}`);
  }
  return number;
}

function tableFields(family) {
  const all = grouped([...new Set([...names, shown.info.table])]);
  const [, members] = all.find(([one]) => one === family);
  const table = select("new-table", members, shown.info.table, (name) => described(name).title);
  return [[field("Table", table)], () => ({ table: table.value, position: null })];
}

function sticksFields() {
  const now = sticksMode(shown.info.table) ?? { mode: 3, a: 1, b: 2 };
  const modes = STICKS_MODES.map((one) => one.mode);
  const mode = select("new-mode", modes, now.mode, (one) => STICKS_MODES[one - 1].words);
  const present = shown.info.game.startsWith("sticks") ? shown.path[0].position.length : 20;
  const length = numeric("new-length", Math.max(1, present), 1, MOST_STICKS);
  const from = numeric("new-from", now.mode === 2 || now.mode === 4 ? now.a : 2, 1, MOST_STICKS);
  const to = numeric("new-to", now.b, 1, MOST_STICKS);
  const [fromField, toField] = [field("a, fewest to take", from), field("b, most to take", to)];
  const adapt = () => {
    const kind = STICKS_MODES[mode.value - 1];
    fromField.hidden = !kind.from;
    toField.hidden = !kind.to;
    from.disabled = !kind.from;
    to.disabled = !kind.to;
  };
  mode.addEventListener("change", adapt);
  adapt();
  const read = () => {
    const kind = STICKS_MODES[mode.value - 1];
    const sticks = whole(length, "the number of sticks");
    const a = kind.from ? whole(from, "a") : 1;
    const b = kind.to ? whole(to, "b") : 3;
    return { table: sticksTable(Number(mode.value), sticks, a, b, names), position: "|".repeat(sticks) };
  };
  return [[field("Mode", mode), field("n, sticks in the row", length), fromField, toField], read];
}

function clockFields() {
  const { n = 4, k = 2 } = shown.info.game === "clock" ? shown.info.parameters : {};
  const digits = numeric("new-digits", n, 1, MOST_DIGITS);
  const largest = numeric("new-largest", k, 1, 1000);
  const read = () => ({ table: clockTable(whole(digits, "n"), whole(largest, "k")), position: null });
  return [[field("n, digits round the clock", digits), field("k, largest digit", largest)], read];
}

function lettersFields() {
  const present = shown.info.game === "winners-losers" ? shown.path[0].position : "WLWLL";
  const letters = element("input", {
    id: "new-letters",
    autocomplete: "off",
    autocapitalize: "characters",
    spellcheck: "false",
    value: present,
  });
  const length = numeric("new-letters-length", Math.max(5, present.length), 1, MOST_LETTERS);
  const draw = () => {
    try {
      letters.value = random(whole(length, "the length"));
      say("new-game-error", null);
    } catch (error) {
      say("new-game-error", error.message);
    }
  };
  const button = element("button", { type: "button", id: "new-random", click: draw }, "Random letters");
  const read = () => {
    const text = letters.value.trim().toUpperCase();
    if (!/^[WL]+$/.test(text)) {
      throw new Error(`the letters cannot be ${JSON.stringify(letters.value)}: expected one W or L at least`);
    }
    return { table: lettersTable(text.length, names), position: text };
  };
  return [[field("Letters, W and L", letters), field("Or so many at random", length, button)], read];
}

const random = (length) => Array.from({ length }, () => (Math.random() < 0.5 ? "W" : "L")).join("");
