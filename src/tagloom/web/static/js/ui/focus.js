/** Where the focus goes when what had it is gone. */

/** Put the focus on the photo under the cursor, or on the page where it has no grid. */
export function focusPage() {
  const main = document.getElementById("main");
  const grid = [...main.querySelectorAll("tl-grid")].find((node) => node.clientHeight > 0 && node.ids.length);
  if (grid) grid.takeFocus();
  else main.focus({ preventScroll: true });
}

/** After something was removed: the focus must not be left on the document, where arrow keys do nothing. */
export function mendFocus() {
  if (document.activeElement === null || document.activeElement === document.body) focusPage();
}
