// The choices at the top and at the side: table, theme, players, hints, and the pausing of machines.

import { $, element, enable } from "./dom.js";
import { described, grouped } from "./names.js";
import { applyTheme, choose, settings } from "./settings.js";
import { isMachines, isWatching, paused } from "./turns.js";

export function fillTables(names) {
  const groups = grouped(names).map(([family, members]) =>
    element("optgroup", { label: family }, ...members.map(option)),
  );
  $("table").replaceChildren(...groups);
}

function option(name) {
  const { title } = described(name);
  return element("option", { value: name }, title === name ? name : `${title} — ${name}`);
}

// A table that is not listed is one that a formula answers for: it stands in the list while it is shown.
export function selectTable(name) {
  const list = $("table");
  list.querySelector("[data-unlisted]")?.remove();
  list.value = name;
  if (list.value !== name) {
    list.prepend(element("optgroup", { label: "By formula", "data-unlisted": "" }, option(name)));
    list.value = name;
  }
}

// `changed` is called with the name of the choice.
export function listen(changed) {
  for (const name of ["hints", "first", "second", "theme"]) {
    $(name).value = settings[name];
    $(name).addEventListener("change", () => {
      choose(name, $(name).value);
      applyTheme();
      changed(name);
    });
  }
  applyTheme();
}

export function renderControls(state) {
  const { info, at, path } = state;
  const alone = info.players === 1;
  selectTable(info.table);
  $("first-label").textContent = alone ? "Player" : "First player";
  $("second-part").hidden = alone;
  const random = $("first").querySelector("[value=random]");
  random.hidden = random.disabled = alone;
  $("first").value = alone && settings.first === "random" ? "you" : settings.first;
  enable($("undo"), at > 0);
  enable($("redo"), at < path.length - 1);
  const waits = paused && isMachines(state);
  // Against a person a machine moves at once and Undo stops it: buttons that come and go would only flicker.
  $("watch").hidden = !waits && !(isWatching(state) && !state.over);
  $("pause").textContent = waits ? "Resume" : "Pause";
  enable($("step"), waits);
  if ($("watch").hidden && $("watch").contains(document.activeElement)) {
    $("undo").focus();
  }
}
