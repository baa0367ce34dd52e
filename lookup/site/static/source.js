// Everything that is asked goes through here: in this site, answered from files without a server.

import * as answers from "./answers.js";

export const tables = async () => (await answers.siteInfo()).tables;

export const info = async (table) => (await answers.answering(table)).info;

export const { probe, board, move } = answers;

export const line = (table, position, limit = 1000) => answers.line(table, position, limit);

// Where the same can be had without this page; there is no service to describe.
export const links = (table) => ({
  file: `tables/${encodeURIComponent(table)}.h5`,
  json: `tables/${encodeURIComponent(table)}.json`,
  docs: null,
});
