// One table file on a web server, read chunk by chunk: nobody has to download a table to ask it.
//
// Beside tables/NAME.h5, which is the table as it ships, stand two files that spare the page the reading
// of HDF5: NAME.json, what the table says of itself and of its columns, and NAME.chunks, 44 bytes for each
// chunk: its offset (8 bytes) and size (4 bytes) in the .h5 file and the SHA-256 of what it decodes to.
// Chunks are checked against these digests, and the digests against that of the table: all that is asked
// for, except that of a table of more than CHECKED_AT_ONCE chunks the list itself is believed.

import { Remembered, RemoteFile } from "./bytes.js";
import { hex, sha256 } from "./sha256.js";
import { decompress } from "./vendor/fzstd.js";

const PLACE = 44; // bytes that say where a chunk is
const PLACES_AT_ONCE = 1024;
const CHECKED_AT_ONCE = 1 << 18; // chunks, of 16 GiB; the places of more are not all fetched beforehand
const CHECKSUM = 4; // bytes after a chunk, of a filter for other readers
const MOST_ITEMS = 1 << 20; // numbers that are remembered after their chunk was dropped

export class Damaged extends Error {}

export class TableFile {
  #chunks = new Remembered();
  #places = new Remembered();
  #missing = new Map();
  #coming = new Map();
  #items = new Map();

  constructor(url, about) {
    const { bytes, chunks, digest } = about;
    const version = digest.slice(0, 16);
    this.about = about;
    this.name = `${url}.h5`;
    this.file = new RemoteFile(this.name, bytes, version);
    this.map = new RemoteFile(`${url}.chunks`, chunks * PLACE, version);
  }

  // Whether what is said of the table, and the digests of its chunks, are those that its digest names.
  async check() {
    const { chunks, metadata, digest } = this.about;
    if (chunks > CHECKED_AT_ONCE) {
      return;
    }
    const places = await this.map.read(0, chunks * PLACE);
    const said = new TextEncoder().encode(metadata);
    const all = new Uint8Array(said.length + 32 * chunks);
    all.set(said);
    for (let at = 0; at < chunks; at += 1) {
      all.set(places.subarray(at * PLACE + 12, (at + 1) * PLACE), said.length + 32 * at);
    }
    if (places.length !== chunks * PLACE || hex(sha256(all)) !== digest) {
      throw new Damaged(`${this.name} is damaged: what is said of it does not match its digest`);
    }
  }

  // The number that a column holds at an index; some number if its chunk is not there yet: then it is
  // missing, and whatever was found must be found again after `fetchMissing`.
  item(name, index) {
    const key = `${name} ${index}`;
    const known = this.#items.get(key);
    if (known !== undefined) {
      return known;
    }
    const found = this.#item(this.about.columns[name], index);
    if (found === null) {
      return 0;
    }
    if (this.#items.size >= MOST_ITEMS) {
      this.#items.clear();
    }
    this.#items.set(key, found);
    return found;
  }

  #item(column, index) {
    if (!(index < column.items)) {
      throw new Damaged(`${this.name} is damaged: it names record ${index} of ${column.items}`);
    }
    const share = (column.chunk_bytes * 8) / column.bits;
    const number = column.first + Math.floor(index / share);
    const chunk = this.#chunks.get(number);
    if (!chunk) {
      this.#missing.set(number, column);
      return null;
    }
    const at = index % share;
    if (column.bits >= 8) {
      const size = column.bits / 8;
      const bytes = chunk.subarray(at * size, (at + 1) * size);
      return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
    }
    const bit = at * column.bits;
    return (chunk[bit >> 3] >> (bit & 7)) & ((1 << column.bits) - 1);
  }

  get isMissingSome() {
    return this.#missing.size > 0;
  }

  async fetchMissing() {
    const wanted = [...this.#missing];
    this.#missing.clear();
    await Promise.all(wanted.map(([number, column]) => this.#fetch(number, column)));
  }

  // Several questions may be under way; a chunk comes once for all of them.
  #fetch(number, column) {
    if (!this.#coming.has(number)) {
      const coming = this.#read(number, column)
        .then((chunk) => this.#chunks.set(number, chunk))
        .finally(() => this.#coming.delete(number));
      this.#coming.set(number, coming);
    }
    return this.#coming.get(number);
  }

  async #read(number, column) {
    const place = await this.#place(number);
    const offset = Number(place.getBigUint64(0, true));
    const raw = await this.file.read(offset, place.getUint32(8, true));
    let chunk = new Uint8Array(0);
    try {
      chunk = decompress(raw.subarray(0, raw.length - CHECKSUM), new Uint8Array(column.chunk_bytes));
    } catch {
      // what is no Zstandard is not what the digest names either
    }
    const wanted = new Uint8Array(place.buffer, place.byteOffset + 12, 32);
    if (hex(sha256(chunk)) !== hex(wanted)) {
      throw new Damaged(`${this.name} is damaged: chunk ${number - column.first} is not the one its digest names`);
    }
    return chunk;
  }

  async #place(number) {
    const first = number - (number % PLACES_AT_ONCE);
    let places = this.#places.get(first);
    if (!places) {
      const count = Math.min(PLACES_AT_ONCE, this.about.chunks - first);
      places = await this.map.read(first * PLACE, count * PLACE);
      this.#places.set(first, places);
    }
    const at = (number - first) * PLACE;
    return new DataView(places.buffer, places.byteOffset + at, PLACE);
  }
}
