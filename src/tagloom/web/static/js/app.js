/** The program: pages by address, keys, events. */

import { GridPage } from "./grid/page.js";
import { listen } from "./net/events.js";
import { keptOfOthers, outbox } from "./net/outbox.js";
import { store } from "./net/state.js";
import { Bar, lensPath } from "./ui/bar.js";
import { redo, undo } from "./ui/decide.js";
import { dialogIsOpen } from "./ui/dialog.js";
import { focusPage, isTyping } from "./ui/dom.js";
import { plural } from "./ui/format.js";
import { TroublePage } from "./ui/notice.js";
import { go, isClosing, place, start } from "./ui/router.js";
import { openHelp, startShortcuts } from "./ui/shortcuts.js";
import { toggleTheme } from "./ui/theme.js";
import { complain, toast } from "./ui/toast.js";

const LOADERS = {
  grid: async () => new GridPage(),
  lens: async () => new (await import("./grid/lens.js")).LensPage(),
  photo: async () => new (await import("./photo/page.js")).PhotoPage(),
  teach: async () => new (await import("./teach/page.js")).TeachPage(),
  history: async () => new (await import("./ui/history.js")).HistoryPage(),
  write: async () => new (await import("./ui/write.js")).WritePage(),
};
const PRELOAD_MS = 1500;

const main = document.getElementById("main");
const bar = new Bar(document.getElementById("bar"), document.getElementById("banner"));
const pages = new Map();
let current = null;
let wanted = 0;

window.tagloomReady = false;

/** A page of the program; one that could not be read while the server was away is read again the next time. */
function pageOf(name) {
  if (!pages.has(name)) {
    const page = LOADERS[name]();
    page.catch(() => pages.delete(name));
    pages.set(name, page);
  }
  return pages.get(name);
}

async function show(where) {
  if (goOnAfterMerge(where)) return;
  const turn = (wanted += 1);
  const page = await pageOf(where.page).catch(() => new TroublePage(() => show(where).catch(complain)));
  if (turn !== wanted) return;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  if (current !== page) {
    current?.leave?.();
    current = page;
    main.replaceChildren(page.element);
  }
  bar.show(where);
  await page.enter(where);
  document.title = `${page.title} – ${store.project.name || "tagloom"}`;
}

/**
 * Go on to the tag that the one of a place has become, and say so.
 * @param {import("./ui/router.js").Place} place
 * @returns {boolean} whether there was one
 */
function goOnAfterMerge({ page, id, query }) {
  const merged = store.merged.get(page === "lens" ? id : Number(query.tag));
  if (!merged) return false;
  toast(`“${merged.text}” was merged into “${store.tagText(merged.into)}”.`);
  if (page === "lens") go(`/tag/${merged.into}`, { query, replace: true });
  else go(location.pathname, { query: { ...query, tag: merged.into }, replace: true });
  return true;
}

const everywhere = {
  undo,
  redo,
  help: openHelp,
  theme: toggleTheme,
  search: () => {
    bar.search.focus();
    bar.search.select();
  },
  goGrid: () => go("/"),
  goLens: () => go(lensPath()),
  goTeach: () => go("/teach"),
  goHistory: () => go("/history"),
  goWrite: () => go("/write"),
};

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || dialogIsOpen() || isTyping(event.target)) return;
    // With these held, keys belong to the browser: Alt ← is its way back.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!isClosing() && current?.key?.(event)) event.preventDefault();
  });
  startShortcuts((name) => (isClosing() ? undefined : current?.actions[name]) ?? everywhere[name], focusPage);
  // The address holds the filters after its #: the link must not change them.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    focusPage();
  });
}

function preload() {
  setTimeout(() => {
    for (const name of Object.keys(LOADERS)) pageOf(name);
  }, PRELOAD_MS);
}

async function begin() {
  outbox.addEventListener("failed", ({ detail: { decision, message } }) =>
    toast(`${decision.isRevoked ? "Not undone" : "Not saved"}: ${message}`, { bad: true }),
  );
  outbox.addEventListener("revoked", ({ detail: { label } }) =>
    toast(label === null ? "It was never saved, so there is nothing to undo." : `Undone: ${label}`),
  );
  addEventListener("beforeunload", (event) => outbox.size && event.preventDefault());
  store.addEventListener("project", () => goOnAfterMerge(place()));
  store.addEventListener("reset", () => current instanceof TroublePage && show(place()).catch(complain));
  startKeys();
  const project = store.loadProject();
  // The first order does not need the project: both are asked for at once, and cells are drawn again with their words.
  if (location.pathname !== "/") await project.catch(() => {});
  start((where) => show(where).catch(complain));
  // Each page says by itself what it could not read, and reads it again when the server is back.
  await project.catch(complain);
  outbox.flush();
  listen();
  for (const { name, n } of keptOfOthers())
    toast(
      `${plural(n, "decision")} of “${name}” ${n === 1 ? "is" : "are"} kept in this tab, ` +
        "and sent when that project is reviewed at this address again.",
    );
  bar.jobs.load();
  preload();
}

begin();
