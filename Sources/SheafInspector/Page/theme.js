// Light and dark: as the system, unless the reader has chosen.

const KEY = "sheaf-inspector-theme";
const THEMES = ["auto", "light", "dark"];

/** Applies the chosen theme and returns its name. */
export function restoreTheme() {
  const stored = localStorage.getItem(KEY);
  const theme = THEMES.includes(stored) ? stored : "auto";
  document.documentElement.dataset.theme = theme;
  return theme;
}

/** Chooses the next theme. */
export function nextTheme() {
  const next = THEMES[(THEMES.indexOf(restoreTheme()) + 1) % THEMES.length];
  localStorage.setItem(KEY, next);
  restoreTheme();
}
