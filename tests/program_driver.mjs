// Calls every function of a translated program that takes no arguments, and prints what they return.
//
//   node program_driver.mjs FOLDER < names > answers

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const program = await import(new URL("program.js", folder));
const $ = await import(new URL("python.js", folder));

const plain = (value) => {
  if (typeof value === "bigint") {
    return { big: String(value) };
  }
  if (Array.isArray(value) || value?.$isNamedTuple) {
    return [...value].map(plain);
  }
  return value instanceof Object ? $.str(value) : (value ?? null);
};

for (const name of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  console.log(JSON.stringify(plain(program.default[name]())));
}
