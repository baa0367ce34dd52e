// Setting up a position: on the board itself where it can be drawn, and always as text. Whether it is a
// position the service says, when it is to be played from.

import { boardFor } from "./boards.js";
import { $, say } from "./dom.js";
import { shown } from "./game.js";

let drawn = null; // the text on the board, which may lag behind the text that is being typed
let page = null; // {redraw, playFrom}

export const isOpen = () => drawn !== null;

export function begin(given) {
  page = given;
  $("position").addEventListener("input", () => {
    if (boardFor(shown.info).reads($("position").value)) {
      drawn = $("position").value;
      page.redraw();
    }
  });
  $("setup").addEventListener("submit", (event) => {
    event.preventDefault();
    page.playFrom($("position").value);
  });
  $("setup-cancel").addEventListener("click", cancel);
  $("play").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOpen()) {
      cancel();
    }
  });
}

export function open() {
  const { position } = shown.path[shown.at];
  drawn = position;
  $("position").value = position;
  fail(null);
  $("setup").hidden = false;
  $("set-up").setAttribute("aria-expanded", "true");
  page.redraw();
  $("setup-heading").focus();
}

export function close() {
  drawn = null;
  $("setup").hidden = true;
  $("set-up").setAttribute("aria-expanded", "false");
}

export function cancel() {
  close();
  page.redraw();
  $("set-up").focus();
}

export function fail(message) {
  say("setup-error", message);
  $("position").setAttribute("aria-invalid", String(Boolean(message)));
}

export function board() {
  return boardFor(shown.info).edit(drawn, change, shown.info);
}

export const text = () => drawn;

function change(text) {
  drawn = text;
  $("position").value = text;
  fail(null);
  page.redraw();
}
