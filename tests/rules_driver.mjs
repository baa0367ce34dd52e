// Asks translated rules what tests/test_site_rules.py asks the Python ones: a line of JSON for each.
//
//   node rules_driver.mjs FOLDER < questions > answers

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const { games } = await import(new URL("rules.js", folder));
const $ = await import(new URL("python.js", folder));

const plain = (value) => {
  if (typeof value === "bigint") {
    return String(value);
  }
  if (value instanceof $.Dict) {
    return Object.fromEntries(value.items().map(([key, one]) => [key, plain(one)]));
  }
  if (Array.isArray(value) || value?.$isNamedTuple) {
    return [...value].map(plain);
  }
  return value instanceof Object ? $.str(value) : value;
};

function asked(find) {
  try {
    return plain(find());
  } catch (error) {
    if (!(error instanceof $.Exception)) {
      throw error;
    }
    return `${error.constructor.name}: ${error.message}`;
  }
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { game, parameters, texts, moves, names } = JSON.parse(line);
  const one = new games[game](...parameters);
  const formula = one.closed_form;
  const answer = {
    table: one.table_name,
    size: plain(one.size),
    start: asked(() => one.format(one.start)),
    texts: texts.map((text, at) => ({
      components: asked(() => one.components(text)),
      moves: asked(() => one.moves(text)),
      board: asked(() => one.board(text)),
      played: moves.filter((_, number) => number % 3 === at % 3).map((move) => asked(() => one.play(text, move))),
      best: formula ? asked(() => formula.moves(text)) : null,
      value: formula ? asked(() => formula.probe(text)) : null,
    })),
    names: names.map((name) => asked(() => games[game].from_table_name(name)?.table_name ?? null)),
  };
  console.log(JSON.stringify(answer));
}
