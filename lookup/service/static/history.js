// The moves made so far, with what was wrong with them, and the value after each as a chart.

import { valueChart } from "./charts.js";
import { $, element } from "./dom.js";
import { VALUE, hintLevel } from "./settings.js";
import { mistakeAt } from "./values.js";
import { valueForFirst } from "./words.js";

export function renderHistory(state, go) {
  const { path, at } = state;
  const list = $("history");
  const inside = list.contains(document.activeElement);
  const level = hintLevel();
  const items = path.map((place, number) => {
    const flaw = number > 0 ? mistakeAt(path, number, level) : null;
    const words = number === 0 ? "Beginning" : `${number}. ${place.move.move}`;
    return element(
      "li",
      {},
      element(
        "button",
        {
          type: "button",
          class: number > at ? "undone" : "",
          title: place.position,
          "data-at": number,
          "aria-current": number === at ? "step" : null,
          click: () => go(number),
        },
        words,
        flaw ? element("span", { class: `flaw${flaw.grave ? " grave" : ""}` }, ` ${flaw.words}`) : null,
      ),
    );
  });
  list.replaceChildren(...items);
  const current = items[at];
  list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  if (inside) {
    current.firstChild.focus();
  }
  renderChart(state, level);
}

function renderChart(state, level) {
  const { path, info } = state;
  if (level < VALUE) {
    const words = "Mistakes and the chart of values are not shown while hints are off.";
    $("chart").replaceChildren(element("p", { class: "quiet" }, words));
    return;
  }
  const values = path.map((_, at) => valueForFirst(state, at));
  $("chart").replaceChildren(valueChart(values, state.at, info.players === 1, level));
}
