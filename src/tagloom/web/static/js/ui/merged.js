/** Addresses that name a tag which has become another one, on whatever page: they lead to that one. */

import { go } from "./router.js";
import { store } from "../net/state.js";
import { toast } from "./toast.js";

/**
 * Go on to the tag that the one of a place has become, and say so.
 * @param {import("./router.js").Place} place
 * @returns {boolean} whether there was one
 */
export function goOnAfterMerge({ page, id, query }) {
  const merged = store.merged.get(page === "lens" ? id : Number(query.tag));
  if (!merged) return false;
  toast(`“${merged.text}” was merged into “${store.tagText(merged.into)}”.`);
  if (page === "lens") go(`/tag/${merged.into}`, { query, replace: true });
  else go(location.pathname, { query: { ...query, tag: merged.into }, replace: true });
  return true;
}
