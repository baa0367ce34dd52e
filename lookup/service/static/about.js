// How to play, and what the table says of itself.

import { boardFor } from "./boards.js";
import { countsBar, folded, histogram } from "./charts.js";
import { $, element } from "./dom.js";
import { described } from "./names.js";
import { links } from "./source.js";
import { counted, number } from "./values.js";

let written = null;

export function renderAbout(info) {
  if (info === written) {
    return;
  }
  written = info;
  $("play-heading").textContent = described(info.table).title;
  $("table-name").textContent = info.table;
  document.title = `${info.table} – Endtable`;
  $("rules").textContent = info.rules;
  $("how-to-move").textContent = boardFor(info).how;
  $("notation").textContent = info.notation;
  $("notation-part").hidden = !info.notation;
  $("facts").replaceChildren(...facts(info));
  const { file, json, docs } = links(info.table);
  $("file").href = file;
  $("file").hidden = info.form !== "file"; // a formula has none, and a folder of parts has many
  $("info").href = json;
  $("docs").href = docs ?? "";
  $("docs").hidden = docs === null;
}

const byFormula = (info) => info.answered_by === "closed form";

function facts(info) {
  if (byFormula(info)) {
    return [element("p", {}, "Answered by a formula; no table is needed.")];
  }
  const parts = [element("p", {}, summary(info))];
  if (info.counts) {
    parts.push(countsBar(info.counts));
  }
  if (info.histogram) {
    parts.push(histogram(info.histogram, info.histogram_width));
  }
  if (info.grundy) {
    const rows = info.grundy.map((count, value) => [String(value), number(count)]);
    parts.push(folded(`Grundy values 0 to ${rows.length - 1}`, ["Grundy value", "Positions"], rows));
  }
  return parts;
}

function summary({ positions, longest_remoteness: longest, period, players }) {
  const [seer, unit] = players === 1 ? ["the player", "command"] : ["the player to move", "move"];
  const sentences = [`${counted(positions, "position")}, counted for ${seer}.`];
  if (longest !== null) {
    sentences.push(`The longest takes ${counted(longest, unit)}.`);
  }
  if (period) {
    const when = `with period ${period.period} after the first ${period.preperiod}`;
    sentences.push(`Values repeat ${when}, so that rows of any length are answered.`);
  }
  return sentences.join(" ");
}
