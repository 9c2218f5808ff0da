/** Dark and light: the system's choice until a person makes one. */

const KEPT = "tagloom-theme";

/** Change to the other theme and remember it. @returns {"dark" | "light"} */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember(KEPT, root.dataset.theme);
  return root.dataset.theme;
}

/** Keep a setting of this browser where storage is allowed. @param {string} key @param {string} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Private windows may forbid it; the setting then lasts as long as the page.
  }
}

/** @param {string} key @param {string} otherwise @returns {string} */
export function recall(key, otherwise) {
  try {
    return localStorage.getItem(key) ?? otherwise;
  } catch {
    return otherwise;
  }
}
