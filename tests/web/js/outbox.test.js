/** Decisions on their way to the server, and back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, cell, settle, Tab } from "./tab.js";

const BROKEN = new TypeError("the connection broke");
const ACCEPT = { photos: [1], tags: [7], state: 1, origin: "human" };
const REJECT = { photos: [2], tags: [7], state: 0, origin: "human" };

/** A server that does each named decision once, as tagloom does; `lose` breaks the connection after or before that. */
function deciding() {
  const done = new Map();
  const server = {
    done,
    lose: null,
    refuse: null,
    "/api/v1/decide": (body) => {
      if (server.refuse) return answer({ error: "not now" }, server.refuse);
      if (server.lose === "request") return BROKEN;
      if (!done.has(body.key)) done.set(body.key, { ...body, batch: done.size + 1 });
      if (server.lose === "answer") return BROKEN;
      return { batch: done.get(body.key).batch, n: 1, version: done.size };
    },
    "/api/v1/undo": ({ key }) => {
      if (server.lose) return BROKEN;
      const found = done.get(key);
      done.delete(key);
      return { batch: found?.batch ?? null, label: found ? "label 1 photo" : "", version: 9 };
    },
    "/api/v1/cells": (_, query) => ({
      version: 0,
      cells: query.get("ids").split(",").map((id) => cell({ id: Number(id) })),
    }),
  };
  return server;
}

async function opened(server = deciding()) {
  const tab = new Tab(server);
  return { tab, server: tab.server, ...(await tab.begin()) };
}

test("a decision is sent at once, under a name, and for this project", async () => {
  const { tab, outbox, store } = await opened();
  outbox.push({ ...ACCEPT });
  await settle();
  const [{ body, headers }] = tab.sent("/api/v1/decide");
  assert.deepEqual({ ...body, key: null }, { ...ACCEPT, key: null });
  assert.match(body.key, /^[0-9a-f-]{36}$/);
  assert.equal(headers["X-Tagloom-Project"], "p");
  assert.equal(outbox.size, 0);
  assert.equal(store.version, 1);
});

test("decisions are sent one after the other, in order", async () => {
  const { tab, server, outbox } = await opened();
  let go;
  const slow = server["/api/v1/decide"];
  server["/api/v1/decide"] = async (body) => (await new Promise((resolve) => (go = resolve)), slow(body));
  outbox.push({ ...ACCEPT });
  outbox.push({ ...REJECT });
  await settle();
  assert.equal(tab.sent("/api/v1/decide").length, 1);
  go();
  await settle();
  go();
  await settle();
  assert.deepEqual(tab.sent("/api/v1/decide").map(({ body }) => body.photos), [[1], [2]]);
});

test("what may have arrived is sent again under the same name, and another decision never has that", async () => {
  const { tab, server, outbox } = await opened();
  server.lose = "answer";
  outbox.push({ ...ACCEPT });
  await settle();
  assert.equal(outbox.size, 1);
  assert.equal(outbox.trouble, "The server does not answer.");
  server.lose = null;
  await tab.pass();
  outbox.push({ ...ACCEPT });
  await settle();
  const names = tab.sent("/api/v1/decide").map(({ body }) => body.key);
  assert.equal(names.length, 3);
  assert.equal(names[0], names[1]);
  assert.notEqual(names[1], names[2]);
  assert.equal(server.done.size, 2);
  assert.equal(outbox.trouble, null);
});

test("it waits longer after each failure, and from the start again after a success", async () => {
  const { tab, server, outbox } = await opened();
  const wait = async () => (await tab.pass()).filter((ms) => ms >= 500)[0];
  server.lose = "request";
  outbox.push({ ...ACCEPT });
  await settle();
  const waits = [];
  for (let turn = 0; turn < 7; turn += 1) waits.push(await wait());
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
  server.lose = null;
  await wait();
  assert.equal(outbox.size, 0);
  server.lose = "request";
  outbox.push({ ...ACCEPT });
  await settle();
  assert.equal(await wait(), 500);
});

for (const status of [401, 403, 503, 507]) {
  test(`a decision that is answered with ${status} is kept and sent again`, async () => {
    const { tab, server, outbox, store } = await opened();
    server.refuse = status;
    outbox.push({ ...ACCEPT });
    await settle();
    assert.equal(outbox.size, 1);
    assert.equal(outbox.cannotStore, status >= 500);
    assert.equal(store.onItsWay(1, 7), 1);
    server.refuse = null;
    await tab.pass();
    assert.equal(outbox.size, 0);
    assert.equal(outbox.cannotStore, false);
    assert.equal(server.done.size, 1);
  });
}

test("a decision that is wrong is taken back with the server's sentence, and the next one is sent", async () => {
  const { server, outbox, store } = await opened();
  const failed = [];
  outbox.addEventListener("failed", ({ detail }) => failed.push(detail.message));
  server["/api/v1/decide"] = ({ photos }) =>
    photos[0] === 1 ? answer({ error: "no such photo" }, 404) : { batch: 1, n: 1, version: 1 };
  outbox.push({ ...ACCEPT });
  outbox.push({ ...REJECT });
  await settle();
  assert.deepEqual(failed, ["no such photo"]);
  assert.equal(store.onItsWay(1, 7), undefined);
  assert.equal(outbox.size, 0);
});

test("what never left is taken back at once, and the server hears nothing of it", async () => {
  const { tab, server, outbox, store } = await opened();
  server.lose = "request";
  outbox.push({ ...ACCEPT });
  await settle();
  const second = { ...REJECT };
  outbox.push(second);
  assert.equal(outbox.latest, second);
  assert.equal(outbox.takeBack(second), "unsent");
  assert.equal(store.onItsWay(2, 7), undefined);
  await settle();
  server.lose = null;
  await tab.pass();
  assert.deepEqual([...server.done.values()].map(({ photos }) => photos), [[1]]);
});

for (const [lost, label] of [["answer", "label 1 photo"], ["request", null]]) {
  test(`what may have arrived is undone by its name (lost: the ${lost})`, async () => {
    const { tab, server, outbox, store } = await opened();
    const revoked = [];
    outbox.addEventListener("revoked", ({ detail }) => revoked.push(detail.label));
    server.lose = lost;
    const decision = { ...ACCEPT };
    outbox.push(decision);
    await settle();
    assert.equal(outbox.takeBack(decision), "revoked");
    assert.equal(outbox.takeBack(decision), null);
    assert.equal(outbox.nRevoked, 1);
    assert.equal(outbox.latest, undefined);
    assert.equal(store.onItsWay(1, 7), undefined);
    server.lose = null;
    await tab.pass();
    assert.deepEqual(revoked, [label]);
    assert.equal(tab.sent("/api/v1/undo")[0].body.key, decision.key);
    assert.equal(server.done.size, 0);
    assert.equal(outbox.size, 0);
  });
}

test("what waits outlives a reload, under its name, before what is decided next", async () => {
  const { tab, server, outbox } = await opened();
  server.lose = "answer";
  outbox.push({ ...ACCEPT });
  await settle();
  server.lose = null;
  tab.open();
  const { store } = await tab.import("net/state.js");
  const { outbox: next } = await tab.import("net/outbox.js");
  next.push({ ...REJECT });
  await settle();
  assert.equal(tab.sent("/api/v1/decide").length, 1); // whose project this is is not known yet
  await store.loadProject();
  await settle();
  const sent = tab.sent("/api/v1/decide").map(({ body }) => body);
  assert.deepEqual(sent.map(({ photos }) => photos), [[1], [1], [2]]);
  assert.equal(sent[0].key, sent[1].key);
  assert.equal(server.done.size, 2);
  assert.deepEqual(Object.keys(tab.storage), []);
});

test("what was kept of one project is not sent to another, and told of", async () => {
  const { tab, server, outbox } = await opened();
  server.lose = "request";
  outbox.push({ ...ACCEPT });
  await settle();
  server.lose = null;
  tab.server["/api/v1/project"] = () => ({ id: "q", name: "other", tags: [], merged: [], version: 0 });
  tab.open();
  const next = await tab.begin();
  const { keptOfOthers } = await tab.import("net/outbox.js");
  assert.equal(next.outbox.size, 0);
  assert.equal(tab.sent("/api/v1/decide").length, 1);
  assert.deepEqual(keptOfOthers(), [{ name: "album", n: 1 }]);
});

test("while another project is reviewed at this address, decisions wait", async () => {
  const { server, outbox } = await opened();
  server.refuse = 412;
  outbox.push({ ...ACCEPT });
  await settle();
  assert.equal(outbox.size, 1);
  assert.equal(outbox.isForeign, true);
});
