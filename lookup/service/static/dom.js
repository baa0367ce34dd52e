// Making and finding parts of the page. Text enters only as text nodes and attributes, never as HTML.

export const $ = (id) => document.getElementById(id);

// The page's own drawing says what the namespace of drawings is.
const SVG = document.querySelector("svg").namespaceURI;

export const element = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

// Attributes that are null or false are left out; functions listen to the event they are named after.
function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A button that does nothing just now. It is not `disabled`: that would take the focus from whoever
// pressed it last, and the next press would go elsewhere.
export const enable = (button, on) => button.setAttribute("aria-disabled", String(!on));

export const isEnabled = (button) => button.getAttribute("aria-disabled") !== "true";

// The sentence of an error, in its place, or none.
export function say(id, message) {
  $(id).textContent = message ?? "";
  $(id).hidden = !message;
}

// What is under way, by name; body[data-busy] is there while anything is.
const underWay = new Set();

export function busy(what, on) {
  underWay[on ? "add" : "delete"](what);
  document.body.toggleAttribute("data-busy", underWay.size > 0);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// A page that came over plain http may not write to the clipboard: then the old way is tried.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    const before = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before?.focus();
    return done;
  }
}
