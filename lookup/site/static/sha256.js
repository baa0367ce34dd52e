// SHA-256 (FIPS 180-4). Browsers have it too, but only for pages that came over https.

const fraction = (root) => ((root - Math.floor(root)) * 0x100000000) | 0;
const primes = [];
for (let number = 2; primes.length < 64; number += 1) {
  if (primes.every((prime) => number % prime)) {
    primes.push(number);
  }
}
const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime)));
const START = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

const turned = (word, by) => (word >>> by) | (word << (32 - by));

// The digest of bytes, as bytes.
export function sha256(bytes) {
  const words = padded(bytes);
  const state = Int32Array.from(START);
  const schedule = new Int32Array(64);
  for (let block = 0; block < words.length; block += 16) {
    for (let at = 0; at < 64; at += 1) {
      schedule[at] = at < 16 ? words[block + at] : extended(schedule, at);
    }
    mix(state, schedule);
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, at) => digest.setInt32(4 * at, word));
  return new Uint8Array(digest.buffer);
}

// The bytes, a 1, zeros, and their number of bits: as words, most significant byte first.
function padded(bytes) {
  const length = 64 * Math.ceil((bytes.length + 9) / 64);
  const view = new DataView(new ArrayBuffer(length));
  const whole = new Uint8Array(view.buffer);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  view.setBigUint64(length - 8, 8n * BigInt(bytes.length));
  return Int32Array.from({ length: length / 4 }, (_, at) => view.getInt32(4 * at));
}

function extended(words, at) {
  const [early, late] = [words[at - 15], words[at - 2]];
  const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
  const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
  return (words[at - 16] + first + words[at - 7] + second) | 0;
}

function mix(state, schedule) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let at = 0; at < 64; at += 1) {
    const upper = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const first = (h + upper + ((e & f) ^ (~e & g)) + ROUNDS[at] + schedule[at]) | 0;
    const lower = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const second = (lower + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, at) => {
    state[at] += word;
  });
}

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
