/** Numbers, thresholds, orders and positions: what the page works out by itself. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, Tab } from "./tab.js";

const tab = new Tab();
const format = await tab.import("ui/format.js");
const { expectation, nearestStep } = await tab.import("grid/threshold.js");
const { ScrollMap, targetOf } = await tab.import("grid/movement.js");
const { Selection } = await tab.import("grid/selection.js");
const { withSaid, withoutSaid } = await tab.import("photo/tags.js");
const { largeUrl } = await tab.import("net/state.js");
const { ranking } = await tab.import("net/api.js");

test("a probability is never shown as certain", () => {
  const { percent } = format;
  assert.deepEqual([0, 0.004, 0.5, 0.996, 1].map(percent), ["1 %", "1 %", "50 %", "99 %", "99 %"].map((t) => t.replace(" ", "\u00a0")));
  assert.equal(percent(NaN), "–");
  assert.equal(format.strength(1.234, "score"), "1.23");
  assert.equal(format.strength(0.3, "probability"), "30\u00a0%");
});

test("numbers have a separator and their noun", () => {
  assert.equal(format.count(1234567.4), "1,234,567");
  assert.equal(format.plural(1, "photo"), "1 photo");
  assert.equal(format.plural(1200, "photo"), "1,200 photos");
  assert.equal(format.plural(2, "person", "people"), "2 people");
});

test("amounts have the digits that the largest one needs, and no powers of ten", () => {
  assert.equal(format.signed(0.5, 2), "+0.50");
  assert.equal(format.signed(-0.5, 2), "−0.50");
  assert.equal(format.signed(0.00123, 0.002), "+0.0012");
  assert.equal(format.signed(1e-9, 0.5), "0");
  assert.equal(format.signed(3e-9, 1e-12), "0");
});

test("durations grow from seconds to hours", () => {
  assert.deepEqual([0, 59, 60, 5000, 9000].map(format.duration), ["1 s", "59 s", "1 min", "83 min", "2.5 h"]);
});

test("a moment that is none is shown as it came", () => {
  assert.equal(format.moment(null), "");
  assert.equal(format.moment("yesterday"), "yesterday");
});

test("a name from right to left changes nothing around it", () => {
  assert.equal(format.isolated("cat.png"), "cat.png");
  assert.equal(format.isolated("gnp.\u202etac"), "\u2068gnp.\\u202etac\u2069");
  assert.equal(format.isolated("שלום"), "\u2068שלום\u2069");
});

test("a threshold says how many suggestions it leaves and how many of them should be right", () => {
  assert.equal(expectation({ threshold: null, n: 1, right: 0.9 }), "1 suggestion, about 90\u00a0% correct");
  assert.equal(expectation({ threshold: 0.05, n: 2345, right: null }), "2,345 suggestions above 5\u00a0%");
});

test("the slider stands at the threshold, or where as much is suggested as the model's own thresholds do", () => {
  const steps = [[0.1, 90], [0.2, 50], [0.3, 20], [0.4, 0]].map(([threshold, n]) => ({ threshold, n }));
  assert.equal(nearestStep({ threshold: 0.31, n: 0, steps }), 2);
  assert.equal(nearestStep({ threshold: null, n: 55, steps }), 1);
  assert.equal(nearestStep({ threshold: null, n: 5, steps: [] }), 0);
});

test("movement keys stay in the grid", () => {
  const from = (key, active) => targetOf(key, active, 10, 4, 8); // rows of 4, 4 and 2
  assert.equal(from("ArrowRight", 3), 4);
  assert.equal(from("ArrowLeft", 0), 0);
  assert.equal(from("ArrowRight", 9), 9);
  assert.equal(from("ArrowUp", 2), 2);
  assert.equal(from("ArrowDown", 3), 7);
  assert.equal(from("ArrowDown", 7), 9); // the last row is shorter
  assert.equal(from("ArrowDown", 8), 8);
  assert.equal(from("PageDown", 1), 9);
  assert.equal(from("PageUp", 9), 1);
  assert.equal(from("Home", 5), 0);
  assert.equal(from("End", 5), 9);
  assert.equal(from("x", 5), null);
});

test("a list taller than an element can be is reached as a whole", () => {
  const map = new ScrollMap();
  map.resize(1000, 100);
  map.moved(250);
  assert.deepEqual([map.isScaled, map.top, map.offset], [false, 250, 0]);
  map.resize(80_000_000, 1000);
  assert.equal(map.isScaled, true);
  map.moved(8_000_000 - 1000);
  assert.equal(map.top, map.most);
  map.moved(8_000_000 - 1100); // a short move counts one to one
  assert.equal(map.top, map.most - 100);
  map.moved(0);
  assert.equal(map.top, 0);
  const position = map.position(40_000_000);
  map.settled(40_000_000, position);
  assert.equal(map.top, 40_000_000);
  assert.ok(Math.abs(position - 4_000_000) < 1000);
});

test("a range follows the cursor, and photos that are not shown are not selected", () => {
  const ids = Int32Array.from([5, 4, 3, 2, 1]);
  const selection = new Selection();
  selection.extend(ids, 1, 3);
  assert.deepEqual(selection.list(ids), [4, 3, 2]);
  selection.extend(ids, 3, 0);
  assert.deepEqual(selection.list(ids), [5, 4]);
  selection.toggle(1);
  selection.toggle(5);
  assert.deepEqual(selection.list(ids), [4, 1]);
  selection.retain(Int32Array.from([3, 2, 1]));
  assert.equal(selection.size, 1);
  assert.equal(selection.has(4), false);
});

test("a photo's suggestions lose what is said of it, and have it again when that is taken back", () => {
  const answer = {
    tags: [{ id: 7, text: "sea", p: 0.9, state: null }, { id: 8, text: "sky", p: 0.2, state: null }],
    suggested: [[7, 0.9]],
    unsure: [[8, 0.2]],
  };
  const said = withSaid(withSaid(answer, [7], { state: 1, origin: "human" }), [8], { state: 0, origin: "human" });
  assert.deepEqual(said.tags.map(({ id, state }) => [id, state]), [[7, 1], [8, 0]]);
  assert.deepEqual([said.suggested, said.unsure], [[], []]);
  const back = withoutSaid(said, answer, [7]);
  assert.deepEqual([back.suggested, back.unsure], [[[7, 0.9]], []]);
  assert.deepEqual(back.tags.map(({ id, state }) => [id, state]), [[8, 0], [7, null]]);
});

test("an order is read as the server writes it", async () => {
  const head = Buffer.from(JSON.stringify({ n: 2, sort: "score", version: 3, has_values: true }));
  const filled = Buffer.concat([head, Buffer.alloc((4 - (head.length % 4)) % 4, " ")]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(filled.length);
  const parts = [length, filled, Buffer.from(Int32Array.from([9, 4]).buffer), Buffer.from(Float32Array.from([0.5, NaN]).buffer)];
  tab.server["/api/v1/ranking"] = () => new Response(Buffer.concat(parts));
  const found = await ranking({ sort: "score", tag: 3, q: "", folder: null });
  assert.equal(tab.requests.at(-1).path, "/api/v1/ranking?sort=score&tag=3");
  assert.deepEqual([found.n, found.version, [...found.ids], [...found.values]], [2, 3, [9, 4], [0.5, NaN]]);
});

test("the large picture has the content hash of the small one", () => {
  assert.equal(largeUrl(cell({ id: 3, thumb: "/api/v1/photo/3/thumb?v=abc" })), "/api/v1/photo/3/large?v=abc");
});
