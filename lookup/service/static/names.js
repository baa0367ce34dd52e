// How tables are named, and what a person would call them.

const FAMILIES = [
  [/^tactics-(\d+)x(\d+)(?:-run(\d+))?(-normal)?$/, "Tactics", tactics],
  [/^rota(-diameters)?$/, "ROTA", ([, diameters]) => (diameters ? "ROTA, diameters only" : "ROTA")],
  [/^sticks-any-(\d+)-(\d+)$/, "Sticks", ([, a, b]) => `Sticks, any ${span(a, b)}`],
  [/^sticks-run-(\d+)-(\d+)$/, "Sticks", run],
  [/^sticks-special-(\d+)$/, "Sticks", ([, n]) => `Sticks, special, up to ${n}`],
  [/^clock-(\d+)-(\d+)$/, "Clock", ([, n, k]) => `Clock, ${n} digits 0–${k}`],
  [/^winners-losers-(\d+)$/, "Winners and Losers", ([, n]) => `Winners and Losers, up to ${n}`],
];

const KNOWN_RUNS = { "1-2": "Kayles", "2-2": "Dawson’s Kayles" };

// {family, title} of a table by its name; other people's games are called what they are called.
export function described(name) {
  for (const [pattern, family, title] of FAMILIES) {
    const found = pattern.exec(name);
    if (found) {
      return { family, title: title(found) };
    }
  }
  return { family: "Other games", title: name };
}

function tactics([, rows, cols, longest, normal]) {
  const most = longest ? `, runs up to ${longest}` : "";
  return `Tactics ${rows}×${cols}${most}${normal ? ", last cell wins" : ""}`;
}

function run([, a, b]) {
  const known = KNOWN_RUNS[`${a}-${b}`];
  return known ? `${known} (sticks, run ${span(a, b)})` : `Sticks, run ${span(a, b)}`;
}

const span = (a, b) => (a === b ? a : `${a}–${b}`);

// Names by family, in the order of the list above.
export function grouped(names) {
  const groups = new Map([...FAMILIES.map(([, family]) => [family, []]), ["Other games", []]]);
  for (const name of names) {
    groups.get(described(name).family).push(name);
  }
  return [...groups].filter(([, members]) => members.length);
}

export const STICKS_MODES = [
  { mode: 1, words: "1: any 1 to b", kind: "any", from: false, to: true },
  { mode: 2, words: "2: any a to b", kind: "any", from: true, to: true },
  { mode: 3, words: "3: side by side, 1 to b", kind: "run", from: false, to: true },
  { mode: 4, words: "4: side by side, a to b", kind: "run", from: true, to: true },
  { mode: 5, words: "5: any 1 or 2, or 3 side by side", kind: "special", from: false, to: false },
];

// The mode of a table of sticks with its bounds, or null.
export function sticksMode(name) {
  const [, kind, a, b] = /^sticks-(any|run|special)-(\d+)(?:-(\d+))?$/.exec(name) ?? [];
  if (!kind) {
    return null;
  }
  if (kind === "special") {
    return { mode: 5, a: 1, b: 3 };
  }
  const first = kind === "any" ? 1 : 3;
  return { mode: a === "1" ? first : first + 1, a: Number(a), b: Number(b) };
}

export function sticksTable(mode, length, a, b, names) {
  const { kind, from } = STICKS_MODES[mode - 1];
  return kind === "special"
    ? longEnough("sticks-special", length, names)
    : `sticks-${kind}-${from ? a : 1}-${b}`;
}

export const clockTable = (digits, largest) => `clock-${digits}-${largest}`;

export const lettersTable = (length, names) => longEnough("winners-losers", length, names);

// The smallest table there is that goes up to so many; else the one that would be just long enough.
function longEnough(prefix, length, names) {
  const lengths = names
    .filter((name) => name.startsWith(`${prefix}-`))
    .map((name) => Number(name.slice(prefix.length + 1)))
    .filter((most) => most >= length);
  return `${prefix}-${lengths.length ? Math.min(...lengths) : length}`;
}
