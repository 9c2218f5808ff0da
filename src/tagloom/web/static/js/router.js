/** Addresses and pages. Filters live after the # so that a reload keeps them and the server never sees them. */

const ROUTES = [
  [/^\/$/, "grid"],
  [/^\/photo\/(\d+)$/, "photo"],
  [/^\/tag\/(\d+)$/, "lens"],
  [/^\/teach$/, "teach"],
  [/^\/history$/, "history"],
  [/^\/write$/, "write"],
];

let listener = () => {};

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
  const address = path + hash(options.query ?? {});
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  listener(place());
}

/**
 * Change the filters in the address without leaving the page or its place in the history.
 * @param {Record<string, any>} query
 */
export function setQuery(query) {
  history.replaceState(null, "", location.pathname + hash(query));
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
