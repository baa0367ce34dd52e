// What a person has chosen, kept from visit to visit where the browser allows it.

const KEY = "endtable";

const CHOICES = {
  hints: ["distance", "none", "value", "best"],
  first: ["you", "perfect", "random"],
  second: ["you", "perfect", "random"],
  theme: ["system", "light", "dark"],
};

// The first of each is what a new visitor gets.
export const settings = Object.fromEntries(
  Object.entries(CHOICES).map(([name, values]) => {
    const kept = stored()[name];
    return [name, values.includes(kept) ? kept : values[0]];
  }),
);

export function choose(name, value) {
  settings[name] = value;
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Not kept: it holds for this visit.
  }
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export const NOTHING = 0;
export const VALUE = 1;
export const DISTANCE = 2;
export const BEST = 3;

// How much is told: each step tells all that the one before it does.
export const hintLevel = () => ["none", "value", "distance", "best"].indexOf(settings.hints);

export function applyTheme() {
  document.documentElement.dataset.theme = settings.theme;
}
