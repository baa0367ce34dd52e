// Small charts, drawn, and told in words beside.

import { element, svg } from "./dom.js";
import { DISTANCE } from "./settings.js";
import { counted, number } from "./values.js";

const WIDE = 400;
const HIGH = 96;
const LEFT = 58;
const TALL = 90;
const HEIGHTS = { win: 16, draw: 44, loss: 72 };
const MOST_TOLD = 40;

// The values after each move as the first player sees them, or the commands that were still needed.
export function valueChart(values, at, alone, level) {
  if (values.length < 2) {
    return element("p", { class: "quiet" }, "No move has been made yet.");
  }
  if (alone && level < DISTANCE) {
    return element("p", { class: "quiet" }, "The hint Distance shows how many commands are still needed.");
  }
  const known = values.flatMap((value, place) => (value ? [{ ...value, place }] : []));
  if (!known.length || (alone && known.every(({ remoteness }) => remoteness === null))) {
    return element("p", { class: "quiet" }, "");
  }
  const title = alone ? "Commands still needed" : "Value for the first player";
  const words = `${title}: ${told(known, alone)}.`;
  const most = Math.max(1, ...known.map(({ remoteness }) => remoteness ?? 0));
  const x = (place) => LEFT + 8 + (place * (WIDE - LEFT - 16)) / Math.max(1, values.length - 1);
  const y = ({ outcome, remoteness }) =>
    alone ? HEIGHTS.loss - ((remoteness ?? 0) * (HEIGHTS.loss - HEIGHTS.win)) / most : HEIGHTS[outcome];
  const points = known.map((value) => `${x(value.place).toFixed(1)},${y(value).toFixed(1)}`);
  const axis = alone
    ? [label(most, HEIGHTS.win), label(0, HEIGHTS.loss)]
    : [label("wins +", HEIGHTS.win), label("draw =", HEIGHTS.draw), label("loses −", HEIGHTS.loss)];
  const dense = values.length > 80;
  const dots = known.map((value) =>
    svg("circle", {
      class: `chart-dot ${alone ? "" : value.outcome}${value.place === at ? " now" : ""}`,
      cx: x(value.place).toFixed(1),
      cy: y(value).toFixed(1),
      r: value.place === at ? 5.5 : dense ? 1.5 : 3.5,
    }),
  );
  return element(
    "figure",
    {},
    element("figcaption", {}, title),
    svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words },
      ...axis,
      svg("polyline", { class: "chart-line", points: points.join(" ") }),
      ...dots,
      svg("text", { class: "chart-label", x: LEFT + 8, y: HIGH - 3 }, "0"),
      svg("text", { class: "chart-label end", x: WIDE - 8, y: HIGH - 3 }, counted(values.length - 1, "move")),
    ),
  );
}

function label(text, y) {
  return svg(
    "g",
    {},
    svg("line", { class: "chart-grid", x1: LEFT, x2: WIDE, y1: y, y2: y }),
    svg("text", { class: "chart-label end", x: LEFT - 6, y: y + 4 }, String(text)),
  );
}

function told(known, alone) {
  const shown = known.slice(-MOST_TOLD);
  const words = shown.map(({ place, outcome, remoteness }) => {
    const when = place === 0 ? "at the beginning" : `after move ${place}`;
    return `${when} ${alone ? (remoteness ?? "unknown") : outcome}`;
  });
  return words.join(", ");
}

// How many positions are won, drawn and lost: a bar, and the numbers below it.
export function countsBar(counts) {
  const total = counts.win + counts.draw + counts.loss;
  const parts = [
    ["win", "Won", "W"],
    ["draw", "Drawn", "D"],
    ["loss", "Lost", "L"],
  ];
  let from = 0;
  const bars = parts.map(([outcome]) => {
    const wide = total ? (counts[outcome] * 100) / total : 0;
    const bar = svg("rect", { class: `fill ${outcome}`, x: from, y: 0, width: wide, height: 10 });
    from += wide;
    return bar;
  });
  const facts = parts.map(([outcome, words, sign]) => {
    const share = total ? ` (${((counts[outcome] * 100) / total).toFixed(1)}%)` : "";
    return element(
      "div",
      {},
      element("dt", {}, element("span", { class: `key ${outcome}`, "aria-hidden": "true" }, sign), words),
      element("dd", {}, number(counts[outcome]) + share),
    );
  });
  return element(
    "div",
    { class: "counts" },
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars),
    element("dl", {}, ...facts),
  );
}

// Wins above the axis and losses below it, by how many moves they take.
export function histogram({ win, loss }, width) {
  const steps = Math.max(win.length, loss.length);
  const each = (WIDE - 4) / steps;
  const [won, lost] = [Math.max(0, ...win), Math.max(0, ...loss)];
  const scale = TALL / Math.max(1, won, lost);
  const axis = 16 + won * scale;
  const below = axis + lost * scale;
  const bar = (outcome, step, count) => {
    const high = count && Math.max(1, count * scale);
    return svg("rect", {
      class: `fill ${outcome}`,
      x: (2 + step * each).toFixed(2),
      y: (outcome === "win" ? axis - high : axis).toFixed(2),
      width: Math.max(0.5, each - (each > 4 ? 1 : 0)).toFixed(2),
      height: high.toFixed(2),
    });
  };
  const every = niceStep(steps);
  const ticks = [...Array(Math.ceil(steps / every)).keys()].map((at) => {
    const x = (2 + (at * every + 0.5) * each).toFixed(1);
    return svg("text", { class: "chart-label middle", x, y: below + 14 }, String(at * every * width));
  });
  const peak = (counts, most) =>
    most ? `most often in ${counts.indexOf(most) * width} (${counted(most, "position")})` : "none";
  const ends = `Wins: ${peak(win, won)}. Losses: ${peak(loss, lost)}.`;
  const words = `Moves to the end, 0 to ${(steps - 1) * width}. ${ends}`;
  return element(
    "figure",
    {},
    element("figcaption", {}, "Positions by moves to the end: wins (W) above, losses (L) below"),
    svg(
      "svg",
      { class: "histogram", viewBox: `0 0 ${WIDE} ${Math.ceil(below + 20)}`, role: "img", "aria-label": words },
      svg("text", { class: "chart-label", x: 2, y: 10 }, `highest: ${number(Math.max(won, lost))}`),
      ...win.map((count, step) => bar("win", step, count)),
      ...loss.map((count, step) => bar("loss", step, count)),
      svg("line", { class: "chart-axis", x1: 0, x2: WIDE, y1: axis, y2: axis }),
      ...ticks,
    ),
    numbers(win, loss, width),
  );
}

const niceStep = (steps) => [1, 2, 5, 10, 20, 50, 100, 200].find((every) => steps / every <= 16) ?? 500;

function numbers(win, loss, width) {
  const rows = win.map((won, step) => [step * width, won, loss[step] ?? 0]);
  const some = rows.filter(([, won, lost]) => won || lost).map((row) => row.map(number));
  return folded("The numbers", ["Moves", "Wins", "Losses"], some);
}

// A table of texts that scrolls by itself, folded away below its title.
export function folded(title, heads, rows) {
  const line = (tag, texts) => element("tr", {}, ...texts.map((text) => element(tag, {}, text)));
  const table = element(
    "table",
    {},
    element("thead", {}, line("th", heads)),
    element("tbody", {}, ...rows.map((texts) => line("td", texts))),
  );
  const scrolled = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title }, table);
  return element("details", {}, element("summary", {}, title), scrolled);
}
