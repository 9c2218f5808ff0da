/** Addresses and pages. Filters live after the # so that a reload keeps them and the server never sees them. */

const ROUTES = [
  [/^\/$/, "grid"],
  [/^\/photo\/(\d+)$/, "photo"],
  [/^\/tag\/(\d+)$/, "lens"],
  [/^\/lens$/, "lens"],
  [/^\/teach$/, "teach"],
  [/^\/history$/, "history"],
  [/^\/write$/, "write"],
];

/** Of an entry of the browser's history: the one before it is a page of this program, too. */
const INSIDE = { isInside: true };

let listener = () => {};
/** Until the browser has gone back. @type {Promise<void> | null} */
let goingBack = null;

/** @typedef {{page: string, id: number | null, query: Record<string, string>}} Place */

/** @returns {Place} where the address says we are; unknown paths are the grid */
export function place() {
  const query = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  for (const [pattern, page] of ROUTES) {
    const match = pattern.exec(location.pathname);
    if (match) return { page, id: match[1] ? Number(match[1]) : null, query };
  }
  return { page: "grid", id: null, query };
}

/**
 * Go to a page of this program.
 * @param {string} path
 * @param {{query?: Record<string, any>, replace?: boolean}} [options]
 */
export function go(path, options = {}) {
  if (goingBack) return goingBack.then(() => go(path, options));
  const address = path + hash(options.query ?? {});
  if (options.replace) history.replaceState(history.state, "", address);
  else history.pushState(INSIDE, "", address);
  listener(place());
}

/**
 * Close a page: back to the one that it was opened from, so that the browser's Back does not open it again.
 * @param {string} path where to go if it was opened by its address
 */
export function close(path) {
  if (goingBack) return;
  if (!history.state?.isInside) return go(path, { replace: true });
  goingBack = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  goingBack.then(() => (goingBack = null));
  history.back();
}

/** @returns {boolean} whether a page is being closed: keys are no longer meant for it */
export function isClosing() {
  return goingBack !== null;
}

/**
 * Change the filters in the address without leaving the page or its place in the history.
 * @param {Record<string, any>} query
 */
export function setQuery(query) {
  history.replaceState(history.state, "", location.pathname + hash(query));
}

function hash(query) {
  const parameters = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

/**
 * Call `onPlace` now and whenever the address changes; links with data-link stay inside the page.
 * @param {(place: Place) => void} onPlace
 */
export function start(onPlace) {
  listener = onPlace;
  addEventListener("popstate", () => listener(place()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-link]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  listener(place());
}
