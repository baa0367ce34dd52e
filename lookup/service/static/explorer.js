// The page: one game under way, shown from what the service says. It knows no rules of any game.
//
//   source.js                  asks the service, or in a site the files; the only one that does
//   game.js                    the game under way: the path of places and the answers about them
//   turns.js                   whose turn it is, and the moves of machines
//   boards.js, board-*.js      the boards: drawing, acting, setting up; board-focus.js: by keyboard
//   status.js, moves.js, history.js, charts.js, about.js, controls.js     the other parts of the page
//   line.js, setup.js, new-game.js     the best line, setting up, a new game
//   names.js, words.js, values.js, address.js, settings.js, dom.js     what they have in common
//
// Names that tests and other scripts may rely on:
//   body[data-busy]            while an answer or a machine's move is awaited
//   #table #hints (none value distance best) #first #second (you perfect random) #theme     choices
//   #undo #redo #new-game #best-line #set-up #copy-link #pause (Pause, Resume) #step        buttons
//   #status #error #setup-error #new-game-error     what happened, and sentences of errors
//   #board[data-position]      its buttons have data-cell (b2; nw; 3; left, right; 0, X) and aria-disabled
//   #take                      of sticks: takes what is chosen
//   #moves button[data-move], #all-moves       #history button[data-at], one with aria-current=step
//   #line: #line-first #line-back #line-play #line-forward #line-last #line-step #line-length #line-text
//          #line-moves button[data-step] #line-copy #line-play-on #line-close
//   #setup: #position, buttons "Play from here" and "Cancel"; the board is edited in place, its cells
//          then are numbered from 1 where they have no name of their own; #mover, #row-length
//   #new-game-dialog: #new-family, then #new-table; #new-mode #new-length #new-from #new-to;
//          #new-digits #new-largest; #new-letters #new-letters-length #new-random; #start

import { renderAbout } from "./about.js";
import { placeOf } from "./address.js";
import * as focus from "./board-focus.js";
import { boardFor } from "./boards.js";
import * as controls from "./controls.js";
import { $, copy, isEnabled, say } from "./dom.js";
import * as game from "./game.js";
import { renderHistory } from "./history.js";
import * as line from "./line.js";
import { renderMoves } from "./moves.js";
import * as newGame from "./new-game.js";
import { hintLevel } from "./settings.js";
import * as setup from "./setup.js";
import * as source from "./source.js";
import { renderStatus } from "./status.js";
import * as turns from "./turns.js";

// --- writing the page -------------------------------------------------------------------------------

game.onChange(({ enter }) => {
  line.close();
  setup.close();
  say("error", null);
  $("game").hidden = false;
  // What is entered anew can be gone back from; moves of a game replace each other.
  nameInAddress(enter);
  render();
});

function nameInAddress(enter) {
  if (game.shown.link !== location.hash) {
    history[enter ? "pushState" : "replaceState"](null, "", game.shown.link);
  }
}

function render() {
  const state = game.shown;
  if (!state) {
    return;
  }
  considerMachine();
  renderAbout(state.info);
  renderBoard();
  renderStatus(state, lookedAt());
  controls.renderControls(state);
  renderMoves(view(), state.probe.moves !== null);
  renderHistory(state, (at) => attempt(goTo(at)));
}

// What the board shows instead of the game, or null.
function lookedAt() {
  if (setup.isOpen()) {
    return "Setting up a position";
  }
  return line.isOpen() ? "Looking at the best line" : null;
}

function considerMachine() {
  if (lookedAt()) {
    turns.stop();
  } else {
    turns.consider(game.shown, (move) => attempt(game.play(move)));
  }
}

// What the board and the list of moves are drawn from.
function view() {
  const { info, path, at, probe, board, over } = game.shown;
  return {
    info,
    position: path[at].position,
    path,
    at,
    text: board.board,
    moves: probe.moves ?? [],
    last: path[at].move?.move ?? null,
    level: hintLevel(),
    playable: !over && !lookedAt() && turns.playerAt(game.shown, at) === "you",
    act: (move) => attempt(play(move)),
    tell: (words) => {
      $("prompt").textContent = words ?? "";
    },
  };
}

function renderBoard() {
  const board = $("board");
  const focused = board.contains(document.activeElement);
  const { info } = game.shown;
  const seen = line.isOpen() ? { ...view(), ...line.place(), moves: [], level: 0 } : view();
  const scrolled = board.querySelector(".long")?.scrollTop ?? 0;
  $("prompt").textContent = "";
  board.dataset.position = setup.isOpen() ? setup.text() : seen.position;
  board.replaceChildren(setup.isOpen() ? setup.board() : boardFor(info).draw(seen));
  board.querySelector(".long")?.scrollTo(0, scrolled); // drawn anew, yet where one was
  focus.settle(board, focused);
}

// --- what a person does -----------------------------------------------------------------------------

async function attempt(action) {
  try {
    await action;
  } catch (error) {
    say("error", error.message);
    turns.stop();
    if (game.shown) {
      controls.selectTable(game.shown.info.table); // what was shown stays, and so does its address
      nameInAddress(false);
    }
  }
}

function play(move) {
  turns.setPaused(false);
  return game.play(move);
}

// To another place of the path. A machine whose turn it is there waits, lest it plays over what follows.
function goTo(at) {
  const { path } = game.shown;
  if (at === game.shown.at && !lookedAt()) {
    return null;
  }
  turns.stop();
  turns.setPaused(turns.isWatching(game.shown) || at < path.length - 1);
  return game.goTo(at);
}

function open(table, position = null, move = null, enter = true) {
  turns.stop();
  turns.beginAfresh();
  return game.open(table, position, move, enter);
}

function toggleLine() {
  if (line.isOpen()) {
    line.close();
    render();
    return;
  }
  setup.close();
  attempt(line.open());
}

function toggleSetup() {
  if (setup.isOpen()) {
    setup.cancel();
    return;
  }
  line.close();
  setup.open();
}

async function playFrom(position) {
  try {
    await open(game.shown.info.table, position);
  } catch (error) {
    setup.fail(error.message);
  }
}

async function copyLink() {
  const address = new URL(game.shown.link, location.href).href;
  const done = await copy(address);
  $("prompt").textContent = done ? "The link is copied." : `It could not be copied; the link is ${address}`;
}

function pauseOrResume() {
  if (turns.paused) {
    turns.resume();
  } else {
    turns.setPaused(true);
  }
  render();
}

function settingChanged(name) {
  if (name === "first" || name === "second") {
    turns.beginAfresh();
  }
  render();
}

// Commands of one player that are single keys, as 0 and X of the clock; not while something is typed.
function key(event) {
  const typing = event.target.closest?.("input, select, textarea, dialog");
  const elsewhere = event.target !== document.body && !$("play").contains(event.target);
  const combined = event.ctrlKey || event.metaKey || event.altKey;
  if (typing || elsewhere || combined || game.shown?.info.players !== 1) {
    return;
  }
  const { moves, playable, act } = view();
  const move = moves.find((one) => one.move.toLowerCase() === event.key.toLowerCase());
  if (playable && move) {
    event.preventDefault();
    act(move.move);
  }
}

// --- from the beginning -----------------------------------------------------------------------------

function fromAddress(otherwise) {
  const { table, position, move } = placeOf(location.hash);
  return open(table ?? otherwise, position, move, false);
}

async function begin() {
  const tables = await source.tables();
  newGame.prepare(tables, open);
  controls.fillTables(tables);
  if (!tables.length) {
    throw new Error("there are no tables here: build-tables makes them");
  }
  try {
    await fromAddress($("table").value);
  } catch (error) {
    await open($("table").value, null, null, false); // something to go on from, below the error
    throw error;
  }
}

focus.listen($("board"));
newGame.listen();
controls.listen(settingChanged);
line.begin({ redraw: render, attempt, playOn: (moves) => attempt(game.playAll(moves)) });
setup.begin({ redraw: render, playFrom });
$("table").addEventListener("change", () => attempt(open($("table").value)));
$("undo").addEventListener("click", () => attempt(goTo(turns.turnOfPerson(game.shown, -1))));
$("redo").addEventListener("click", () => attempt(goTo(turns.turnOfPerson(game.shown, 1))));
$("best-line").addEventListener("click", toggleLine);
$("set-up").addEventListener("click", toggleSetup);
$("copy-link").addEventListener("click", copyLink);
$("pause").addEventListener("click", pauseOrResume);
$("step").addEventListener("click", () => {
  if (isEnabled($("step"))) {
    attempt(game.play(turns.chosen(game.shown)));
  }
});
document.addEventListener("keydown", key);
window.addEventListener("hashchange", () => {
  if (location.hash !== game.shown?.link) {
    attempt(fromAddress(game.shown?.info.table ?? $("table").value));
  }
});
attempt(begin());
