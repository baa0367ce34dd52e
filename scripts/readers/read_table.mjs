// Ask an Endtable file about positions, in the browser or in Node, with h5wasm and its Zstandard plugin.
//
//     npm install h5wasm@0.8 h5wasm-plugins@0.2
//     node read_table.mjs TABLE.h5 < positions.txt
//
// prints a line for each position: the text, outcome, remoteness and Grundy value, separated by tabs, "-"
// where there is none. A text that is no position is an error line; the others are answered, and the exit
// code is 2. It is 1 if the file cannot be used. In a page, with an import map for the two packages:
//
//     import { openTable, readBytes } from "./read_table.mjs";
//     const table = await openTable(await readBytes("tactics-4x4.h5"));
//     table.probe("XXXX/..X./..X./....");  // { outcome: "win", remoteness: 8, grundy: null }
//
// tables/FORMAT.md explains everything that is done here. Pages need https or localhost: elsewhere browsers
// have no crypto.subtle, and nothing could be checked.

import h5wasm from "h5wasm";
import { base_url as plugins } from "h5wasm-plugins";

const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 hides it
const PLUGIN = "libH5Zzstd.so";
const OUTCOMES = [null, "loss", "draw", "win"];
let opened = 0;

/** The bytes at an address; of a file too, which `fetch` of Node does not read. */
export async function readBytes(address) {
  const url = new URL(address, globalThis.location?.href);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return new Uint8Array(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** A table from the bytes of its file; every chunk of it is checked. Throws an Error if it cannot be used. */
export async function openTable(bytes) {
  const hdf5 = await h5wasm.ready;
  await installPlugin(hdf5);
  const name = `${opened++}.h5`;
  hdf5.FS.writeFile(name, bytes); // in memory
  try {
    const file = new h5wasm.File(name, "r");
    if (file.file_id < 0) throw new Error("it is not an HDF5 file");
    try {
      return new Table(...(await contents(file)));
    } finally {
      file.close();
    }
  } finally {
    hdf5.FS.unlink(name);
  }
}

async function installPlugin(hdf5) {
  const [folder] = hdf5.get_plugin_search_paths();
  hdf5.FS.mkdirTree(folder);
  if (hdf5.FS.readdir(folder).includes(PLUGIN)) return;
  try {
    hdf5.FS.writeFile(`${folder}/${PLUGIN}`, await readBytes(`${plugins}/plugins/${PLUGIN}`));
  } catch (error) {
    throw new Error(`HDF5's Zstandard plugin (${PLUGIN} of h5wasm-plugins) is missing: ${error.message}`);
  }
}

/** What a file says of itself, and its columns, checked against all digests. */
async function contents(file) {
  const { digest, ...info } = attributes(file);
  if (info.format !== "endtable" || info.format_version !== 1) throw new Error("it is no table of format 1");
  const columns = {};
  const described = {};
  const digests = [];
  for (const name of file.keys().filter((key) => key !== "sha256").sort()) {
    const dataset = file.get(name);
    const stored = file.get(`sha256/${name}`).value;
    described[name] = attributes(dataset);
    digests.push(stored);
    columns[name] = { bits: described[name].bits, bytes: await checked(name, dataset, stored) };
  }
  const metadata = new TextEncoder().encode(canonical({ table: info, columns: described }));
  if (hex(await sha256(joined([metadata, ...digests]))) !== digest) {
    throw new Error("its metadata does not match its digest");
  }
  return [info, columns];
}

/** The bytes of a column. Without the plugin h5wasm gives whatever was in memory: the digests tell. */
async function checked(name, dataset, digests) {
  const elements = dataset.value;
  const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  const size = dataset.metadata.chunks[0] * dataset.metadata.size;
  for (let at = 0; at * size < bytes.length; at++) {
    const chunk = new Uint8Array(size); // the last one is padded with zeros
    chunk.set(bytes.subarray(at * size, (at + 1) * size));
    if (hex(await sha256(chunk)) !== hex(digests.subarray(32 * at, 32 * at + 32))) {
      throw new Error(
        `chunk ${at} of ${name} does not match its digest: it is damaged, or HDF5's Zstandard plugin ` +
          `(${PLUGIN} of h5wasm-plugins) did not decode it`,
      );
    }
  }
  return bytes;
}

function attributes(item) {
  return Object.fromEntries(Object.entries(item.attrs).map(([name, { json_value }]) => [name, json_value]));
}

/** The one JSON text of a value: sorted keys, no spaces, ASCII. */
function canonical(value) {
  const sorted = (_, part) =>
    typeof part === "object" ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, sorted).replace(/[\x7f-\uffff]/g, escaped);
}

async function sha256(bytes) {
  return new Uint8Array(await subtle.digest("SHA-256", bytes));
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Table {
  constructor(info, columns) {
    this.info = info;
    this.columns = columns;
    this.parameters = JSON.parse(info.parameters);
    this.period = info.period ? JSON.parse(info.period) : null;
    this.parser = PARSERS[info.game];
    if (!this.parser) throw new Error(`this reader does not know the game '${info.game}'`);
  }

  /** { outcome, remoteness, grundy }, null for what is not stored; or null if the text is no position. */
  probe(text) {
    const values = this.parser(text, this.parameters)?.map((index) => this.value(index));
    if (!values || values.includes(null)) return null;
    if (values.length === 1) return values[0];
    // Segments of a row are independent games: nim-values add up by exclusive or.
    const grundy = values.reduce((sum, value) => sum ^ value.grundy, 0);
    return { outcome: grundy ? "win" : "loss", remoteness: null, grundy };
  }

  /** The same for an index; null if it is beyond the table, or a hole. */
  value(index) {
    const { classes, outcome, remoteness, grundy } = this.columns;
    let plies = 0;
    if (index >= this.info.size) {
      if (!this.period) return null;
      const beyond = index - this.period.preperiod;
      plies = Math.floor(beyond / this.period.period) * this.period.plies;
      index = this.period.preperiod + (beyond % this.period.period);
    }
    // With `classes`, a record is one symmetry class, and 0 stands for what is not a position.
    const record = classes ? item(classes, index) : index;
    const code = outcome.bits === 1 ? 1 + 2 * item(outcome, record) : item(outcome, record);
    if (code === 0) return null;
    return {
      outcome: OUTCOMES[code],
      remoteness: remoteness && code !== 2 ? item(remoteness, record) + plies : null,
      grundy: grundy ? item(grundy, record) : null,
    };
  }
}

/** One number of a column; several share a byte if they are narrow, the first in the lowest bits. */
function item({ bits, bytes }, number) {
  if (bits < 8) {
    const share = 8 / bits;
    return (bytes[Math.floor(number / share)] >> ((number % share) * bits)) & ((1 << bits) - 1);
  }
  let whole = 0;
  for (let byte = bits / 8 - 1; byte >= 0; byte--) whole = whole * 256 + bytes[(number * bits) / 8 + byte];
  return whole;
}

/** For each game, text to index: in a list, which is longer where a position is a sum. Null if it is none. */
const PARSERS = {
  tactics(text, { rows, cols }) {
    if (!new RegExp(`^[.X]{${cols}}(/[.X]{${cols}}){${rows - 1}}$`).test(text)) return null;
    return [number(Array.from(text.replaceAll("/", ""), (cell) => Number(cell === "X")), 2)];
  },

  rota(text) {
    if (!/^[.xo]{3}\/[.xo]{3}\/[.xo]{3} [xo]$/.test(text)) return null;
    const cells = [...text.replaceAll("/", "").slice(0, 9)];
    const mover = text.at(-1);
    const [x, o] = ["x", "o"].map((piece) => cells.filter((cell) => cell === piece).length);
    // Until all six pieces are there their numbers say who moves. The table knows the other holes.
    if (x - o !== Number(mover === "o") && !(x === 3 && o === 3)) return null;
    return [number(cells.map((cell) => (cell === "." ? 0 : cell === mover ? 1 : 2)), 3)];
  },

  "sticks-any": (text) => segments(text) && [text.replaceAll(".", "").length],

  "sticks-run": (text) => segments(text),

  // A segment of s sticks is a part s + 1 of a partition of N + 1, filled up with ones. Its index is its
  // rank among all of them in lexicographic order.
  "sticks-special"(text, { length }) {
    let [rank, rest] = [0, length + 1];
    const counts = partitions(rest);
    const parts = segments(text)?.sort((a, b) => b - a);
    for (const sticks of parts ?? []) {
      if (sticks + 1 > rest) return null;
      rank += counts[sticks][rest];
      rest -= sticks + 1;
    }
    return parts && [rank];
  },

  clock(text, { n, k }) {
    const digits = k >= 10 ? text.split(",") : [...text];
    const fits = digits.every((digit) => /^(0|[1-9][0-9]{0,9})$/.test(digit) && Number(digit) <= k);
    return fits && digits.length === n ? [number(digits.map(Number).reverse(), k + 1)] : null;
  },

  "winners-losers"(text, { length }) {
    if (!/^[WL]+$/.test(text) || text.length > length) return null;
    return [2 ** text.length - 2 + number(Array.from(text, (letter) => Number(letter === "W")), 2)];
  },
};

/** The number with these digits, the first least significant. */
function number(digits, base) {
  return digits.reduceRight((sum, digit) => sum * base + digit, 0);
}

/** The lengths of the stretches of a row without a gap; null if it is no row. */
function segments(text) {
  return /^[|.]+$/.test(text) ? text.split(".").filter(Boolean).map((segment) => segment.length) : null;
}

/** At [most][total], in how many ways a total is a sum of parts of at most so many. */
function partitions(largest) {
  const counts = [Array.from({ length: largest + 1 }, (_, total) => Number(total === 0))];
  for (let most = 1; most <= largest; most++) {
    counts.push([...counts[most - 1]]);
    for (let total = most; total <= largest; total++) counts[most][total] += counts[most][total - most];
  }
  return counts;
}

/** The command line: its exit code. */
async function main(names, toUrl, readInput) {
  if (names.length !== 1) {
    console.error("usage: node read_table.mjs TABLE.h5 < positions.txt");
    return 2;
  }
  let table;
  try {
    table = await openTable(await readBytes(toUrl(names[0])));
  } catch (error) {
    console.error(`error: '${names[0]}' cannot be used: ${error.message}`);
    return 1;
  }
  const { name, notation } = table.info;
  const lines = readInput().split("\n");
  if (lines.at(-1) === "") lines.pop(); // behind the last line there is none
  let code = 0;
  for (const text of lines) {
    const value = table.probe(text);
    if (value) {
      console.log([text, value.outcome, value.remoteness ?? "-", value.grundy ?? "-"].join("\t"));
    } else {
      console.error(`error: '${text}' is not a position of ${name}: ${notation}`);
      code = 2;
    }
  }
  return code;
}

if (globalThis.process?.argv) {
  const { readFileSync, realpathSync } = await import("node:fs");
  const { pathToFileURL } = await import("node:url");
  const [, started, ...names] = process.argv;
  if (started && import.meta.url === pathToFileURL(realpathSync(started)).href) {
    process.exitCode = await main(names, pathToFileURL, () => readFileSync(0, "utf8"));
  }
}
