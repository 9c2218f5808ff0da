/** What the tab knows of photos, whatever the order in which answers, decisions and news come. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, cell, news, settle, Tab } from "./tab.js";

const ACCEPT = { photos: [1], tags: [7], state: 1, origin: "suggested" };

/** A server whose answers about cells are held back until they are let through. */
async function opened(cells = { 1: cell({ suggested: [[7, 0.9], [8, 0.4]] }) }) {
  const held = [];
  const tab = new Tab({
    "/api/v1/cells": (_, query) => {
      const ids = query.get("ids").split(",").map(Number);
      return new Promise((resolve) =>
        held.push((version, changes = {}) => {
          resolve({ version, cells: ids.map((id) => ({ ...(cells[id] ?? cell({ id })), ...changes })) });
          return settle();
        }),
      );
    },
  });
  const { store } = await tab.begin();
  const want = async (...ids) => (store.want(ids), await tab.pass(0));
  return { tab, store, held, want };
}

test("cells that are wanted at once are asked for together, each once", async () => {
  const { tab, store, held, want } = await opened();
  store.want([1, 2]);
  await want(2, 3);
  await want(1);
  assert.deepEqual(tab.sent("/api/v1/cells").map(({ path }) => path), ["/api/v1/cells?ids=1,2,3"]);
  await held[0](0);
  await want(1, 2, 3);
  assert.equal(tab.sent("/api/v1/cells").length, 1);
});

test("a decision is shown at once, and a late answer does not take it back", async () => {
  const { store, held, want } = await opened();
  await want(1);
  await held[0](1);
  store.invalidate([1]);
  await want(1);
  const decision = { ...ACCEPT };
  store.overlay(decision);
  assert.deepEqual(store.cells.get(1).yes, [7]);
  assert.deepEqual(store.cells.get(1).suggested, [[8, 0.4]]);
  store.confirm(decision, { version: 5, batch: 3 });
  await held[1](4); // as the server knew it before the decision
  assert.deepEqual(store.cells.get(1).yes, [7]);
  assert.equal(store.isFresh(1), false);
  await want(1);
  await held[2](5, { yes: [7], suggested: [[8, 0.6]] });
  assert.deepEqual(store.cells.get(1).suggested, [[8, 0.6]]);
  assert.equal(store.isFresh(1), true);
  assert.equal(store.batchOf(decision), 3);
});

test("an answer that comes before the confirmation is shown with the decision in it", async () => {
  const { store, held, want } = await opened();
  await want(1);
  const decision = { ...ACCEPT };
  store.overlay(decision);
  await held[0](1);
  assert.deepEqual(store.cells.get(1).yes, [7]);
  store.withdraw(decision);
  assert.deepEqual(store.cells.get(1).yes, []);
  assert.deepEqual(store.cells.get(1).suggested, [[7, 0.9], [8, 0.4]]);
});

test("of two decisions about a tag the later one counts, and shows when it is taken back", async () => {
  const { store, held, want } = await opened();
  await want(1);
  await held[0](1);
  const first = { ...ACCEPT };
  const second = { ...ACCEPT, state: 0 };
  store.overlay(first);
  store.overlay(second);
  assert.deepEqual([store.cells.get(1).yes, store.cells.get(1).no], [[], [7]]);
  assert.equal(store.onItsWay(1, 7), 0);
  store.withdraw(second);
  assert.deepEqual([store.cells.get(1).yes, store.cells.get(1).no], [[7], []]);
  assert.equal(store.onItsWay(1, 7), 1);
});

test("tags that stand side by side with photos are each about one of them", async () => {
  const { store, held, want } = await opened();
  await want(1, 2);
  await held[0](1);
  store.overlay({ photos: [1, 2], tags: [7, 8], state: 1, origin: "suggested", paired: true });
  assert.deepEqual([store.cells.get(1).yes, store.cells.get(2).yes], [[7], [8]]);
  assert.deepEqual(store.pending(2), [{ tags: [8], state: 1, origin: "suggested" }]);
});

test("a tag that is open again, and a photo that never came, are asked for", async () => {
  const { store, held, want } = await opened();
  await want(1);
  await held[0](1, { yes: [7] });
  const stale = [];
  store.addEventListener("stale", ({ detail }) => stale.push(detail));
  const clear = { ...ACCEPT, state: -1 };
  store.overlay(clear);
  assert.deepEqual(store.cells.get(1).yes, []);
  store.confirm(clear, { version: 2, batch: 1 });
  const unseen = { ...ACCEPT, photos: [9] };
  store.overlay(unseen);
  store.confirm(unseen, { version: 3, batch: 2 });
  assert.deepEqual(stale, [[1], [9]]);
});

test("what changes while an answer is on its way is asked for again", async () => {
  const { store, held, want } = await opened();
  await want(1);
  await held[0](1);
  for (const [change, event] of [[() => store.invalidate([1]), "stale"], [() => store.age(), "aged"]]) {
    const n = held.length;
    change();
    await want(1);
    const again = [];
    store.addEventListener(event, () => again.push(event));
    change();
    await want(1); // not while it is on its way
    assert.equal(held.length, n + 1);
    await held[n](1);
    assert.deepEqual(again, [event, event]);
    await want(1);
    assert.equal(held.length, n + 2);
    await held[n + 1](1);
  }
});

test("numbers that have aged can be decided on; what was said elsewhere is read first", async () => {
  const { tab, store, held, want } = await opened();
  await want(1);
  await held[0](1);
  store.age();
  await want(1);
  assert.equal(store.isFresh(1), true);
  await held[1](1);
  store.invalidate([1]);
  assert.equal(store.isFresh(1), false);
  const read = store.cellsOf([1]);
  await settle();
  await held[2](1, { suggested: [] });
  assert.deepEqual((await read).get(1).suggested, []);
  assert.equal(tab.sent("/api/v1/cells").length, 3);
});

test("a photo that is gone hides no others, and a refusal of all is not asked for one by one", async () => {
  const { tab, store, want } = await opened();
  tab.server["/api/v1/cells"] = (_, query) =>
    query.get("ids").split(",").includes("3")
      ? answer({ error: "no photo has the id 3" }, 404)
      : { version: 0, cells: query.get("ids").split(",").map((id) => cell({ id: Number(id) })) };
  await want(1, 2, 3, 4);
  assert.deepEqual([...store.cells.keys()].sort(), [1, 2, 4]);
  const n = tab.sent("/api/v1/cells").length;
  tab.server["/api/v1/cells"] = () => answer({ error: "refused" }, 412);
  await want(5, 6, 7, 8);
  assert.equal(tab.sent("/api/v1/cells").length, n + 1);
});

test("news of a decision of this tab are none, and those of others are, even if told after a later one", async () => {
  const { tab, store, held, want } = await opened();
  delete globalThis.SharedWorker;
  const { listen } = await tab.import("net/events.js");
  listen();
  news("alive", {});
  await want(1, 2);
  await held[0](1);
  const decision = { ...ACCEPT };
  store.overlay(decision);
  store.confirm(decision, { version: 5, batch: 3 });
  news("decided", { version: 5, photos: [1] });
  assert.equal(store.isFresh(1), true);
  news("decided", { version: 4, photos: [2] });
  assert.equal(store.isFresh(2), false);
  news("decided", { version: 6, photos: null });
  assert.equal(store.isFresh(1), false);
  assert.equal(store.isOld(1, 5), true);
});

test("versions of a server before do not bind the one that answers now", async () => {
  const { store, held, want } = await opened();
  store.invalidate(null, 90);
  await want(1);
  await held[0](2);
  assert.equal(store.isFresh(1), false);
  store.forgetVersions();
  await want(1);
  await held[1](2);
  assert.equal(store.isFresh(1), true);
});
