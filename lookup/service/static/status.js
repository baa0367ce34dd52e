// What has just happened, who is to move, and what the position is worth.

import { $, element } from "./dom.js";
import { VALUE, hintLevel } from "./settings.js";
import { isMachines, paused, repeated } from "./turns.js";
import { valueWords } from "./values.js";
import { statusWords } from "./words.js";

// `instead` is what the board shows if it is not the game.
export function renderStatus(state, instead) {
  const { probe, over } = state;
  const words = [instead ? `${instead}; the game waits.` : statusWords(state)];
  if (paused && isMachines(state) && !instead) {
    words.push(repeated ? " This position has been before: it would go on for ever." : "", " Paused.");
  }
  if (hintLevel() >= VALUE && !over && !instead) {
    const value = element("span", { class: `value ${probe.outcome}` }, valueWords(probe, hintLevel()));
    words.push(" ", value);
  }
  const next = element("p", {}, ...words);
  // What is the same is not written again: it would be read out again.
  if (next.textContent !== $("status").textContent) {
    $("status").replaceChildren(...next.childNodes);
  }
}
