// Everything that is asked goes through here: the answers of the service, as JSON. Nothing else on the
// page knows where answers come from: in a site, lookup/site/static/source.js stands in its place.

async function ask(path) {
  let response, answer;
  try {
    // Asked again each time, which costs little if nothing changed: tables and servers are replaced.
    response = await fetch(`api/${path}`, { cache: "no-cache" });
    answer = await response.json();
  } catch {
    throw new Error("the server does not answer: is it still running?");
  }
  if (!response.ok) {
    const error = new Error(answer.error?.message ?? `the server answers with status ${response.status}`);
    error.refused = response.status < 500; // asked for what is not there: the server itself is well
    throw error;
  }
  return answer;
}

const pathOf = (table) => `tables/${encodeURIComponent(table)}`;

const about = (table, what, query) => ask(`${pathOf(table)}/${what}?${asText(query)}`);

const asText = (query) =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");

export const tables = async () => (await ask("tables")).tables;

export const info = (table) => ask(pathOf(table));

export const probe = (table, position) => about(table, "probe", { position });

export const board = (table, position) => about(table, "board", { position });

export const move = (table, position, move) => about(table, "move", { position, move });

export const line = (table, position, limit = 1000) => about(table, "line", { position, limit });

// Where the same can be had without this page.
export const links = (table) => ({
  file: `api/${pathOf(table)}/file`,
  json: `api/${pathOf(table)}`,
  docs: "docs",
});
