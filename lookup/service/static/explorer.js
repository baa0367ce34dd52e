// The page: one game under way, shown from what the service says. It knows no rules of any game.
//
//   shown      what is on the page: the table, the path played so far, and the answers about its last
//              position; replaced as a whole, and only when every answer is there
//   show       asks the service about a place and then shows it; the latest call wins
//   render     writes what is shown; all text goes in as text, never as HTML
//
// The address names table and position, as in #rota=x.o/.x./..o%20x, so that a link can be shared.

"use strict";

const $ = (id) => document.getElementById(id);

const OPPOSITE = { win: "loss", draw: "draw", loss: "win" };

let shown = null;
let asked = 0;

// --- the service ------------------------------------------------------------------------------------

async function ask(path) {
  let response, answer;
  try {
    response = await fetch(`api/${path}`);
    answer = await response.json();
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
  if (!response.ok) {
    throw new Error(answer.error.message);
  }
  return answer;
}

const tablePath = (table) => `tables/${encodeURIComponent(table)}`;

const askAbout = (table, what, position) =>
  ask(`${tablePath(table)}/${what}?position=${encodeURIComponent(position)}`);

// --- what is shown ----------------------------------------------------------------------------------

// A path is a list of {move, position}; its first has no move, the others those of the service. `at` is
// the place in it. Without a path the table's start is shown.
async function show(table, path, at = 0) {
  const number = ++asked;
  try {
    const next = await answers(table, path, at);
    if (number === asked) {
      shown = next;
      render();
    }
  } catch (error) {
    if (number === asked) {
      throw error;
    }
  }
}

async function answers(table, path, at) {
  const info = shown?.info.table === table ? shown.info : await ask(tablePath(table));
  path ??= [{ move: null, position: info.start ?? "0" }]; // without rules, positions are indices
  const { move, position } = path[at];
  const both = move?.remoteness === 0 ? ended(info, move) : asPosition(table, position);
  return { info, path, at, ...(await both) };
}

async function asPosition(table, position) {
  const asking = [askAbout(table, "probe", position), askAbout(table, "board", position)];
  const [probe, board] = await Promise.all(asking);
  return { probe, board, link: address(table, position) };
}

// A move that ends the game may leave what is no position of the table, as no letters at all: then
// there is no picture of it and no link to it, but what the move was worth says how the game ended.
async function ended(info, move) {
  const outcome = info.players === 1 ? move.outcome : OPPOSITE[move.outcome];
  const probe = { ...move, outcome, moves: [] };
  try {
    const board = await askAbout(info.table, "board", move.position);
    return { probe, board, link: address(info.table, move.position) };
  } catch {
    return { probe, board: { board: move.position, over: true }, link: null };
  }
}

const goTo = (at) => show(shown.info.table, shown.path, at);

function play(move) {
  const path = shown.path.slice(0, shown.at + 1);
  path.push({ move, position: move.position });
  return show(shown.info.table, path, path.length - 1);
}

const setUp = (table, position) => show(table, [{ move: null, position }]);

// --- the address ------------------------------------------------------------------------------------

function address(table, position) {
  return `#${table}=${encodeURIComponent(position).replaceAll("%2F", "/")}`;
}

async function fromAddress() {
  const [table, ...position] = decoded(location.hash.slice(1)).split("=");
  if (!table) {
    return show($("table").value);
  }
  return position.length ? setUp(table, position.join("=")) : show(table);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // as it was typed; the service says what is wrong with it
  }
}

// --- words ------------------------------------------------------------------------------------------

// The words of str(Value) in lookup/values.py.
function valueWords(value) {
  const distance = value.remoteness === null ? "" : ` in ${value.remoteness}`;
  const grundy = value.grundy === null ? "" : ` (grundy ${value.grundy})`;
  return value.outcome + distance + grundy;
}

// Who moves first in the path is player A: most positions do not say who is to move.
const player = (at) => (at % 2 === 0 ? "Player A" : "Player B");

function statusWords() {
  const { info, at, probe, board } = shown;
  const alone = info.players === 1;
  if (!board.over) {
    return alone ? "Your move" : `${player(at)} to move`;
  }
  if (probe.outcome === "draw") {
    return "The game is over: a draw";
  }
  const won = probe.outcome === "win";
  if (alone) {
    return won ? "The game is over: you have won" : "The game is over: you have lost";
  }
  return `The game is over: ${player(won ? at : at + 1)} wins`;
}

// --- writing the page -------------------------------------------------------------------------------

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function say(id, message) {
  $(id).textContent = message ?? "";
  $(id).hidden = !message;
}

function render() {
  const { info, path, at, probe, board, link } = shown;
  const inMoves = $("moves").contains(document.activeElement);
  const inHistory = $("history").contains(document.activeElement);
  say("error", null);
  say("setup-error", null);
  $("position").removeAttribute("aria-invalid");
  $("game").hidden = false;
  $("table").value = info.table;
  $("position").value = probe.position;
  $("board").textContent = board.board || "(nothing is left)";
  $("undo").disabled = at === 0;
  $("redo").disabled = at === path.length - 1;
  document.title = `${info.table} – Endtable`;
  if (link !== null) {
    history.replaceState(null, "", link);
  }
  renderValues();
  renderHistory();
  renderInfo();
  keepFocus(inMoves, inHistory);
}

// What hints change: without them the moves stand in an order that tells nothing.
function renderValues() {
  const { probe, board } = shown;
  const hints = $("hints").checked;
  const status = [statusWords()];
  if (hints && !board.over) {
    status.push(": ", element("span", { className: `value ${probe.outcome}` }, valueWords(probe)));
  }
  $("status").replaceChildren(...status);
  const known = probe.moves ?? []; // null where the server does not have the rules
  const moves = hints ? known : [...known].sort(byName);
  $("moves").replaceChildren(...moves.map((move) => element("li", {}, moveButton(move, hints))));
  if (!moves.length) {
    const why = probe.moves ? "None: the game is over." : "Not known here: lookup serve --game FILE.py names the rules.";
    $("moves").append(element("li", {}, why));
  }
}

function byName(one, other) {
  return one.move.localeCompare(other.move, "en", { numeric: true });
}

function moveButton(move, hints) {
  const name = element("span", { className: "move" }, move.move);
  const button = element("button", { type: "button" }, name);
  if (hints) {
    button.className = move.outcome;
    button.append(" ", element("span", { className: "value" }, valueWords(move)));
  }
  button.addEventListener("click", () => attempt(play(move)));
  return button;
}

function renderHistory() {
  const { path, at } = shown;
  const items = path.map(({ move, position }, number) => {
    const words = number === 0 ? "Beginning" : `${number}. ${move.move}`;
    const button = element("button", { type: "button", title: position }, words);
    button.classList.toggle("undone", number > at);
    if (number === at) {
      button.setAttribute("aria-current", "step");
    }
    button.addEventListener("click", () => attempt(goTo(number)));
    return element("li", {}, button);
  });
  $("history").replaceChildren(...items);
  const list = $("history");
  const current = items[at];
  list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
}

function renderInfo() {
  const { info } = shown;
  const number = (value) => value.toLocaleString("en");
  const facts = [
    ["Game", info.game],
    ["Positions", number(info.positions)],
    ["Won", number(info.counts.win)],
    ["Drawn", number(info.counts.draw)],
    ["Lost", number(info.counts.loss)],
  ];
  if (info.longest_remoteness !== null) {
    facts.push(["Longest", `${number(info.longest_remoteness)} moves`]);
  }
  $("rules").textContent = info.rules;
  $("notation").textContent = info.notation;
  $("notation-part").hidden = !info.notation;
  $("facts").replaceChildren(
    ...facts.flatMap(([name, fact]) => [element("dt", {}, name), element("dd", {}, fact)]),
  );
  $("info").href = `api/${tablePath(info.table)}`;
  $("file").href = `api/${tablePath(info.table)}/file`;
}

// What had the focus may be gone or disabled now: whoever plays by keyboard goes on where they were.
function keepFocus(inMoves, inHistory) {
  if (inMoves) {
    ($("moves").querySelector("button") ?? $("undo")).focus();
  } else if (inHistory) {
    $("history").querySelector("[aria-current]").focus();
  } else if (document.activeElement.disabled) {
    ($("undo").disabled ? $("redo") : $("undo")).focus();
  }
}

// --- what a person does -----------------------------------------------------------------------------

async function attempt(action, where = "error") {
  try {
    await action;
  } catch (error) {
    say(where, error.message);
    if (shown) {
      $("table").value = shown.info.table;
    }
  }
}

async function begin() {
  const { tables } = await ask("tables");
  $("table").replaceChildren(...tables.map((name) => element("option", { value: name }, name)));
  if (!tables.length) {
    throw new Error("there are no tables here: build-tables makes them");
  }
  try {
    await fromAddress();
  } catch (error) {
    await show($("table").value); // something to go on from, below the error
    throw error;
  }
}

$("table").addEventListener("change", () => attempt(show($("table").value)));
$("hints").addEventListener("change", () => shown && renderValues());
$("undo").addEventListener("click", () => attempt(goTo(shown.at - 1)));
$("redo").addEventListener("click", () => attempt(goTo(shown.at + 1)));
$("restart").addEventListener("click", () => attempt(show(shown.info.table)));
$("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  $("position").setAttribute("aria-invalid", "true"); // until it has been shown
  attempt(setUp(shown.info.table, $("position").value), "setup-error");
});
window.addEventListener("hashchange", () => attempt(fromAddress()));

attempt(begin());
