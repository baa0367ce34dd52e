// Asks a site what its page would ask, without a browser: a line of JSON for each question.
//
//   node site_driver.mjs FOLDER [ranges|short] < questions > answers
//
// With "ranges", files are had in parts, as from most web servers; without, whole. With "short", the first
// answer about each table file ends too early. Last comes a line with the number of bytes that were fetched.

import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ranges] = process.argv.slice(2);
const cut = new Set();
let fetched = 0;

const reply = (status, bytes) => ({
  ok: status < 400,
  status,
  arrayBuffer: async () => Uint8Array.from(bytes).buffer,
});

function part(path, first, last) {
  const bytes = Buffer.alloc(last - first + 1);
  const file = openSync(path);
  const size = readSync(file, bytes, 0, bytes.length, first);
  closeSync(file);
  return bytes.subarray(0, size);
}

globalThis.fetch = async (url, { headers = {} } = {}) => {
  const path = `${folder}/${decodeURIComponent(url.split("?")[0])}`;
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
  try {
    let bytes = ranges && first ? part(path, Number(first), Number(last)) : readFileSync(path);
    if (ranges === "short" && /\.(h5|chunks)$/.test(path) && !cut.has(path)) {
      cut.add(path);
      bytes = bytes.subarray(1);
    }
    fetched += bytes.length;
    return reply(ranges && first ? 206 : 200, bytes);
  } catch {
    return reply(404, []);
  }
};

const source = await import(new URL("static/source.js", pathToFileURL(`${folder}/`)));

// What is asked in a line, or all of several questions at once.
async function answered([what, ...words]) {
  try {
    return what === "all" ? await Promise.all(words.map(answered)) : await source[what](...words);
  } catch (error) {
    return { error: error.message, refused: error.refused ?? false };
  }
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  console.log(JSON.stringify(await answered(JSON.parse(line))));
}
console.log(fetched);
