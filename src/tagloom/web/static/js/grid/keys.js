/** Where a movement key leads in a grid of rows. */

/**
 * @param {string} key the event's key
 * @param {number} active where the cursor is
 * @param {number} count how many items there are
 * @param {number} columns
 * @param {number} page items on a screen
 * @returns {number | null} the item to go to; null if this is no movement key
 */
export function targetOf(key, active, count, columns, page) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -page, PageDown: page };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  if (step === undefined) return null;
  const target = active + step;
  if (target >= 0 && target < count) return target;
  const stays =
    key === "ArrowUp" || (key === "ArrowDown" && Math.floor(active / columns) === Math.floor((count - 1) / columns));
  return stays ? active : Math.min(count - 1, Math.max(0, target));
}
