// The page of the API, written from openapi.json: routes with parameters, examples to send, answers.

const $ = (id) => document.getElementById(id);

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// `code` in a description becomes an element; all else stays text.
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

const json = (value) => JSON.stringify(value, null, 2);

// --- what a type is, in words -----------------------------------------------------------------------

function typeWords(schema) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return [element("a", { href: `#${name}` }, name)];
  }
  if (schema.const !== undefined) {
    return [JSON.stringify(schema.const)];
  }
  if (schema.enum) {
    return [schema.enum.map((one) => JSON.stringify(one)).join(" or ")];
  }
  const several = schema.anyOf ?? schema.oneOf;
  if (several) {
    return several.flatMap((one, at) => [...(at ? [" or "] : []), ...typeWords(one)]);
  }
  if (schema.type === "array") {
    return ["list of ", ...typeWords(schema.items)];
  }
  return [[schema.type].flat().join(" or ")];
}

function limits(schema) {
  const words = [];
  if (schema.maxLength !== undefined) words.push(`at most ${schema.maxLength.toLocaleString("en")} characters`);
  if (schema.maxItems !== undefined) words.push(`at most ${schema.maxItems.toLocaleString("en")}`);
  if (schema.maximum !== undefined) words.push(`at most ${schema.maximum.toLocaleString("en")}`);
  if (schema.default !== undefined) words.push(`${schema.default} unless given`);
  if (schema.pattern !== undefined) words.push(`as ${schema.pattern}`);
  return words.join(", ");
}

const notes = (schema) => (schema.anyOf ?? [schema]).map((one) => one.description).find(Boolean) ?? "";

function table(caption, heads, rows) {
  const head = element("tr", {}, ...heads.map((one) => element("th", { scope: "col" }, one)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cells) => element("td", {}, ...[cells].flat()))));
  return element(
    "div",
    { className: "scrolled", tabIndex: 0 },
    element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body)),
  );
}

// --- routes -----------------------------------------------------------------------------------------

function address(path, parameters) {
  const of = (where) => parameters.filter((one) => one.in === where && (one.required || where === "path"));
  const filled = of("path").reduce((text, one) => text.replace(`{${one.name}}`, encodeURIComponent(one.example)), path);
  const query = of("query").map((one) => `${one.name}=${encodeURIComponent(one.example).replaceAll("%2F", "/")}`);
  return filled.slice(1) + (query.length ? `?${query.join("&")}` : "");
}

function bodies(route) {
  const examples = route.requestBody?.content["application/json"].examples;
  return examples ? Object.values(examples).map((one) => one.value) : [undefined];
}

function command(url, body) {
  const sent = body === undefined ? "" : ` -d '${JSON.stringify(body)}'`;
  return `curl '${new URL(url, document.baseURI)}'${sent}`;
}

// An example that can be changed and sent, and what came of it.
function trial(method, path, route, body, number) {
  const id = `${method}${path}${number}`.replace(/\W+/g, "-");
  const url = element("input", { id, value: address(path, route.parameters ?? []), spellcheck: false });
  const shown = element("pre", { className: "command", tabIndex: 0 }, command(url.value, body));
  const answer = element("pre", { className: "answer", tabIndex: 0, hidden: true });
  const status = element("p", { role: "status" });
  const text = element("textarea", { value: body ? json(body) : "", rows: 3, spellcheck: false, id: `${id}-body` });
  const send = element("button", { type: "submit" }, "Send");
  const form = element("form", {}, element("label", { htmlFor: id }, "Address"), url);
  if (body !== undefined) {
    form.append(element("label", { htmlFor: text.id }, "Body"), text);
  }
  form.append(send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const options = body === undefined ? {} : { method: "POST", body: text.value };
      const response = await fetch(url.value, options);
      const type = response.headers.get("content-type") ?? "";
      status.textContent = `${response.status} ${response.statusText}, ${type}`;
      answer.textContent = type.includes("json") ? json(await response.json()) : `${(await response.blob()).size} bytes`;
      answer.hidden = false;
    } catch {
      status.textContent = "the server does not answer: is it still running?";
    }
  });
  return element("div", { className: "trial" }, shown, form, status, answer);
}

function routeSection(path, method, route) {
  const id = `${method}-${path}`;
  const heading = element("h2", { id }, element("span", { className: "method" }, method.toUpperCase()), ` ${path}`);
  const section = element("section", {}, heading, element("p", { className: "summary" }, route.summary));
  section.setAttribute("aria-labelledby", id);
  if (route.description) {
    section.append(element("p", {}, ...prose(route.description)));
  }
  if (route.parameters) {
    const rows = route.parameters.map((one) => [
      element("code", {}, one.name),
      one.required ? "needed" : "",
      [...prose(one.description ?? ""), " ", element("small", {}, limits(one.schema))],
    ]);
    section.append(table("Parameters", ["name", "", "meaning"], rows));
  }
  const rows = Object.entries(route.responses).map(([status, response]) => {
    const schema = Object.values(response.content ?? {})[0]?.schema;
    return [status, prose(response.description), schema ? typeWords(schema) : ""];
  });
  section.append(table("Answers", ["status", "meaning", "content"], rows));
  section.append(element("h3", {}, "Try it"), ...bodies(route).map((body, at) => trial(method, path, route, body, at)));
  return section;
}

function schemaSection(name, schema) {
  const parts = schema.oneOf ?? [schema];
  const made = element("section", {}, element("h3", { id: name }, name));
  for (const part of parts) {
    made.append(element("p", {}, ...prose(part.description ?? "")));
    const rows = Object.entries(part.properties ?? {}).map(([key, value]) => [
      element("code", {}, key),
      typeWords(value),
      [notes(value), " ", element("small", {}, limits(value))],
    ]);
    made.append(table(`Fields of ${name}`, ["field", "type", ""], rows));
  }
  return made;
}

function write(api) {
  $("about").append(...prose(`${api.info.description} Version ${api.info.version}.`));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, route] of Object.entries(methods)) {
      const link = element("a", { href: `#${method}-${path}` }, `${method.toUpperCase()} ${path}`);
      $("contents").append(element("li", {}, link, `: ${route.summary}`));
      $("routes").append(routeSection(path, method, route));
    }
  }
  const schemas = Object.entries(api.components.schemas);
  $("schemas").append(...schemas.map(([name, schema]) => schemaSection(name, schema)));
}

try {
  write(await (await fetch("openapi.json")).json());
} catch {
  $("error").textContent = "the server does not answer: is it still running?";
  $("error").hidden = false;
}
