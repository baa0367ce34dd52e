// Sticks: a row of them, each a button. Choose some, then take them.

import { element } from "./dom.js";
import { BEST } from "./settings.js";
import { LETTERS, valueWords } from "./values.js";

const LONG = 60; // from here on sticks stand closer

export const sticks = {
  how:
    "Press the sticks you want, then Take; sticks that no move could take together with those already " +
    "chosen cannot be pressed. By keyboard: the arrow keys go along the row, Enter or Space chooses, T " +
    "takes, Escape lets go.",
  reads: (text) => /^[|.]*$/.test(text),
  draw,
  edit,
};

// The numbers of the sticks that a move such as 1-2,4 names.
function numbersOf(move) {
  return move.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

// And back again: 1, 2, 4 is 1-2,4.
export function moveText(numbers) {
  const runs = [];
  for (const one of [...numbers].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] === one - 1) {
      runs.at(-1)[1] = one;
    } else {
      runs.push([one, one]);
    }
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

// What can be chosen. Of sticks-any the service lists one move for each number of sticks: any sticks
// will do, and only how many counts. Otherwise the sticks have to be those of a move.
//
//   value(chosen)      the move that takes just these, or null
//   more(chosen)       the sticks of which each could be chosen, too
//   completed(chosen)  what is meant by choosing these
function choices(info, position, moves) {
  return info.game === "sticks-any" ? byNumber(position, moves) : bySet(moves);
}

function byNumber(position, moves) {
  const byCount = new Map(moves.map((move) => [numbersOf(move.move).length, move]));
  const most = Math.max(0, ...byCount.keys());
  const all = new Set([...position].flatMap((mark, at) => (mark === "|" ? [at + 1] : [])));
  return {
    value: (chosen) => byCount.get(chosen.size) ?? null,
    more: (chosen) => (chosen.size < most ? all : new Set()),
    completed: (chosen) => chosen,
  };
}

function bySet(moves) {
  const sets = moves.map((move) => new Set(numbersOf(move.move)));
  const byText = new Map(moves.map((move) => [move.move, move]));
  const around = (chosen) => sets.filter((numbers) => [...chosen].every((one) => numbers.has(one)));
  return {
    value: (chosen) => byText.get(moveText(chosen)) ?? null,
    more: (chosen) => new Set(around(chosen).flatMap((numbers) => [...numbers])),
    // Two ends of a run mean the run: if one smallest move holds all that is chosen, it is that.
    completed: (chosen) => {
      if (byText.has(moveText(chosen))) {
        return chosen;
      }
      const found = around(chosen).sort((one, other) => one.size - other.size);
      const alone = found.length === 1 || found[0].size < found[1].size;
      return alone ? new Set(found[0]) : chosen;
    },
  };
}

function stick(number, attributes) {
  const bar = element("span", { class: "bar" });
  const label = element("span", { class: "label" }, String(number));
  return element("button", { type: "button", "data-cell": number, ...attributes }, bar, label);
}

const row = (length, ...parts) =>
  element("div", { class: `row sticks${length > LONG ? " long" : ""}` }, ...parts);

function draw(view) {
  const { position, level } = view;
  const moves = view.playable ? view.moves : [];
  const can = choices(view.info, position, moves);
  const best = new Set(level >= BEST && view.moves.length ? numbersOf(view.moves[0].move) : []);
  const last = new Set(view.last ? numbersOf(view.last) : []);
  const marked = view.info.game !== "sticks-any"; // there all sticks are worth the same
  let chosen = new Set();

  const buttons = [...position].map((_, at) => stick(at + 1, { click: () => press(at + 1) }));
  const take = element("button", { type: "button", id: "take", class: "main", click: act });
  const clear = element("button", { type: "button", click: () => choose(new Set()) }, "Let go");
  const worth = element("span", { class: "value" });

  function choose(next) {
    chosen = next;
    refresh();
    view.tell(chosen.size ? `Chosen: ${moveText(chosen)}.` : null);
  }

  function press(number) {
    const next = new Set(chosen);
    if (next.delete(number)) {
      choose(next);
    } else if (can.more(chosen).has(number)) {
      choose(can.completed(next.add(number)));
    }
  }

  function act() {
    if (can.value(chosen)) {
      view.act(moveText(chosen));
    }
  }

  function refresh() {
    const more = can.more(chosen);
    buttons.forEach((button, at) => {
      const number = at + 1;
      const there = position[at] === "|";
      const picked = chosen.has(number);
      const then = marked && !picked && more.has(number) ? can.value(new Set(chosen).add(number)) : null;
      const words = then ? valueWords(then, level) : "";
      const notes = [number, there ? "stick" : "taken", ...(picked ? ["chosen"] : [])];
      if (best.has(number) && there) {
        notes.push("in the best move");
      }
      button.className = `stick${there ? "" : " gone"}${picked ? " picked" : ""}`;
      button.classList.toggle("can", picked || more.has(number));
      button.classList.toggle("best", best.has(number) && there);
      button.classList.toggle("last", last.has(number));
      button.setAttribute("aria-label", notes.join(", ") + (words ? `: ${words}` : ""));
      button.setAttribute("aria-pressed", String(picked));
      button.setAttribute("aria-disabled", String(!picked && !more.has(number)));
      button.querySelector(".badge")?.remove();
      if (words) {
        button.prepend(element("span", { class: `badge ${then.outcome}` }, LETTERS[then.outcome]));
      }
    });
    const value = chosen.size ? can.value(chosen) : null;
    take.textContent = chosen.size ? `Take ${moveText(chosen)}` : "Take";
    take.disabled = !value;
    clear.disabled = !chosen.size;
    worth.textContent = value ? valueWords(value, level) : "";
    worth.className = `value ${value && level ? value.outcome : ""}`;
  }

  const made = element(
    "div",
    { class: "holder" },
    row(position.length, ...buttons),
    element("p", { class: "board-actions" }, take, clear, worth),
  );
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen.size) {
      choose(new Set());
    } else if (event.key.toLowerCase() === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      act();
    }
  });
  refresh();
  return made;
}

function edit(text, change) {
  const buttons = [...text].map((mark, at) => {
    const there = mark === "|";
    return stick(at + 1, {
      class: `stick can${there ? "" : " gone"}`,
      "aria-label": `${at + 1}, ${there ? "stick" : "taken"}`,
      click: () => change(text.slice(0, at) + (there ? "." : "|") + text.slice(at + 1)),
    });
  });
  const length = element("input", { id: "row-length", type: "number", min: 1, max: 500, value: text.length });
  length.addEventListener("change", () => {
    const wanted = Math.min(500, Math.max(1, Math.round(Number(length.value)) || 1));
    change(text.slice(0, wanted).padEnd(wanted, "|"));
  });
  const label = element("label", { for: "row-length" }, "Length of the row");
  return element(
    "div",
    { class: "holder" },
    row(text.length, ...buttons),
    element("p", { class: "board-actions" }, label, length),
  );
}
