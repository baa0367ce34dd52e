// What the page asks, answered without a server: by table files and by formulas. The rules, the order of
// moves and the words are those of rules.js, which is translated from Endtable's own.

import { json } from "./bytes.js";
import * as $ from "./python.js";
import * as rules from "./rules.js";
import { TableFile } from "./table-file.js";

const LINE_SECONDS = 2;
const MOST_BITS = 1000; // games of more than 2^1000 positions would take seconds for a move

class Refused extends Error {
  refused = true; // asked for what is not there: the page itself is well
}

// A chunk is needed before it can be said how to go on.
class Awaited extends Error {}

// --- what answers for a name ------------------------------------------------------------------------

const known = new Map();
let site = null;

export async function siteInfo() {
  site ??= json("site.json").catch((error) => {
    site = null;
    throw error;
  });
  return site;
}

export async function answering(name) {
  if (!known.has(name)) {
    known.set(name, found(name));
    known.get(name).catch(() => known.delete(name));
  }
  return known.get(name);
}

async function found(name) {
  const { tables } = await siteInfo();
  return tables.includes(name) ? opened(name) : formula(name);
}

async function opened(name) {
  const url = `tables/${encodeURIComponent(name)}`;
  const about = await json(`${url}.json`);
  const file = new TableFile(url, about.file);
  await file.check();
  const game = gameOf(about);
  compare(about, game);
  return { info: about.info, file, answers: stored(about, game, file) };
}

// Translated rules must give the moves that Python gave when the site was written.
function compare({ info, samples }, game) {
  for (const [position, expected] of samples) {
    const moves = game.moves(position);
    const same = moves.length === expected.length && moves.every((one, at) => isSame(one, expected[at]));
    if (!same) {
      throw new Error(`the rules of ${info.game} do not work here: '${position}' has other moves`);
    }
  }
}

const isSame = ({ text, position }, [move, after]) => text === move && position === after;

function gameOf({ info, start, has_rules: hasRules }) {
  if (hasRules && !rules.games[info.game]) {
    throw new Error(`the rules of ${info.game} do not work here`);
  }
  if (hasRules) {
    return rules.games[info.game].from_parameters(new $.Dict(Object.entries(info.parameters)));
  }
  return new rules.UnknownGame({ ...info, name: info.table, start });
}

function stored({ info, file: { columns } }, game, file) {
  const item = (column, index) => (columns[column] ? file.item(column, index) : null);
  const numbers = {
    __getitem__: (index) => {
      const record = columns.classes ? file.item("classes", index) : index;
      return [item("outcome", record), item("remoteness", record), item("grundy", record)];
    },
  };
  const palette = {
    __getitem__: ([outcome, remoteness, grundy]) => {
      const code = columns.outcome.bits === 1 ? (outcome ? 3 : 1) : outcome;
      if (file.isMissingSome) {
        return new rules.Value(rules.Outcome.LOSS, 0, 0); // found again once the chunk is there
      }
      return code ? new rules.Value($.call(rules.Outcome, [code]), code === 2 ? null : remoteness, grundy) : null;
    },
  };
  class Stored extends rules.StoredAnswers {
    get game() {
      return game;
    }

    get name() {
      return info.table;
    }

    // All chunks that one position needs are asked for together, and no step is taken without them.
    _steps(position) {
      if (file.isMissingSome) {
        throw new Awaited();
      }
      return super._steps(position);
    }
  }
  const { period } = info;
  const repeats = period && new rules.Period(period.preperiod, period.period, period.checked, period.plies);
  return new Stored(numbers, palette, info.size, repeats);
}

function formula(name) {
  for (const game of Object.values(rules.games)) {
    const one = told(() => game.from_table_name(name));
    const answers = one?.closed_form;
    if (answers) {
      if (one.size.toString(2).length > MOST_BITS) {
        throw new Refused(`'${name}' is too large to be played here: expected at most 2^${MOST_BITS} positions`);
      }
      return { info: plain(rules._formula_fields(name, one)), file: null, answers };
    }
  }
  throw new Refused(`no table '${name}' on this site: expected one of its tables, or a game with a formula`);
}

// --- answers ----------------------------------------------------------------------------------------

export const probe = (name, position) => asked(name, (table) => rules.probe_fields(table, position));

export const board = (name, position) => asked(name, (table) => rules.board_fields(table, position));

export const move = (name, position, text) =>
  asked(name, (table) => rules.single_move_fields(table, position, text));

export const line = (name, position, limit) =>
  asked(name, (table) => rules.line_fields(table, position, limit, LINE_SECONDS));

// Tried again until no chunk is missing: what is asked in the meantime is whatever comes up.
async function asked(name, ask) {
  const { file, answers } = await answering(name);
  for (;;) {
    let answer = null;
    let error = null;
    try {
      answer = plain(told(() => ask(answers)));
    } catch (thrown) {
      error = thrown;
    }
    if (file?.isMissingSome) {
      await fetchMissing(name, file);
    } else if (error) {
      throw error;
    } else {
      return answer;
    }
  }
}

// What is not as expected may have been replaced: the table is opened anew when it is asked again.
async function fetchMissing(name, file) {
  try {
    await file.fetchMissing();
  } catch (error) {
    known.delete(name);
    throw error;
  }
}

function told(find) {
  try {
    return find();
  } catch (error) {
    throw error instanceof rules.CallerError ? new Refused(error.message) : error;
  }
}

// What JSON would make of it.
function plain(value) {
  if (value instanceof $.Dict) {
    return Object.fromEntries(value.items().map(([key, one]) => [key, plain(one)]));
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  return typeof value === "bigint" ? Number(value) : value;
}
