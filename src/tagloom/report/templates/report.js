
"use strict";
(() => {
  const CHUNK = 60;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("report-data").textContent);
  const [grid, more, status, search, tagChoice, show, order] =
    ["grid", "more", "status", "search", "tag", "show", "order"].map(byId);
  const photos = data.photos.map(([name, image, labeled, given, suggested, video], row) => ({
    row, name, image, labeled, given, suggested, video,
    text: [name, ...given.map((t) => data.tags[t]), ...suggested.map(([t]) => data.tags[t])].join("\n").toLowerCase(),
    best: suggested.length ? Math.max(...suggested.map(([, score]) => Number(score))) : null,
  }));
  let matching = photos;
  let shown = 0;
  let chosen = null;

  const element = (kind, className, text) => {
    const node = document.createElement(kind);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  const preview = (photo) => {
    if (!photo.image) return element("div", "blank", "No preview");
    const image = element("img");
    image.alt = `Preview of ${photo.name}`;
    image.loading = "lazy";
    image.decoding = "async";
    image.src = photo.image;
    return image;
  };

  const givenTags = (photo) => {
    const list = element("ul", "chips");
    list.setAttribute("aria-label", "Your tags");
    for (const tag of photo.given) list.append(element("li", "chip", data.tags[tag]));
    return list;
  };

  const suggestedTags = (photo) => {
    const list = element("ul", "suggestions");
    list.setAttribute("aria-label", "Suggested");
    for (const [tag, score, level] of photo.suggested) {
      const item = element("li");
      const track = element("span", "track");
      track.setAttribute("aria-hidden", "true");
      track.append(element("span", `bar b${level}`));
      item.append(element("span", tag === chosen ? "tag match" : "tag", data.tags[tag]), element("span", "score", score), track);
      list.append(item);
    }
    return list;
  };

  const card = (photo) => {
    const node = element("li", "card");
    const body = element("div", "body");
    const name = element("p", "name");
    if (photo.video) name.append(element("span", "kind", "Video"), " ");
    name.append(photo.name);
    body.append(name);
    if (photo.given.length) body.append(givenTags(photo));
    if (photo.suggested.length) body.append(suggestedTags(photo));
    if (!photo.given.length && !photo.suggested.length) {
      body.append(element("p", "none", photo.labeled ? "Labelled, without tags" : "Nothing suggested"));
    }
    node.append(preview(photo), body);
    return node;
  };

  const extend = () => {
    const next = matching.slice(shown, shown + CHUNK);
    grid.append(...next.map(card));
    shown += next.length;
    more.hidden = shown >= matching.length;
  };

  const wanted = (photo) => {
    const kind = show.value;
    return (
      (chosen === null || photo.given.includes(chosen) || photo.suggested.some(([tag]) => tag === chosen)) &&
      (kind === "all" || (kind === "labeled" && photo.labeled) ||
        (kind === "suggested" && photo.suggested.length > 0) || (kind === "none" && photo.suggested.length === 0)) &&
      photo.text.includes(search.value.trim().toLowerCase())
    );
  };

  const certainty = (photo) => {
    if (chosen === null) return photo.best;
    const found = photo.suggested.find(([tag]) => tag === chosen);
    return found ? Number(found[1]) : null;
  };

  const sorted = (list) => {
    if (order.value === "folder") return list;
    const sign = order.value === "sure" ? -1 : 1;
    const keyed = list.map((photo) => [certainty(photo), photo]);
    keyed.sort(([a, p], [b, q]) =>
      a === null || b === null ? (a === null) - (b === null) || p.row - q.row : sign * (a - b) || p.row - q.row);
    return keyed.map(([, photo]) => photo);
  };

  const refresh = () => {
    chosen = tagChoice.value === "" ? null : Number(tagChoice.value);
    matching = sorted(photos.filter(wanted));
    shown = 0;
    grid.replaceChildren();
    extend();
    if (!matching.length) grid.append(element("li", "empty", photos.length ? "No photos match." : "No photos."));
    const isCut = matching.length !== photos.length;
    const [some, all] = [matching, photos].map((list) => list.length.toLocaleString("en"));
    status.textContent = isCut ? `${some} of ${all} photos` : "";
    byId("reset").hidden = !isCut;
    for (const row of table.tBodies[0].rows) row.classList.toggle("chosen", Number(row.dataset.tag) === chosen);
  };

  const table = byId("tag-table");
  const sortBy = (column) => {
    const heads = [...table.tHead.rows[0].cells];
    const head = heads[column];
    const numeric = head.dataset.kind === "number";
    const before = head.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : numeric;
    heads.forEach((cell) => cell.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => (numeric ? Number(row.cells[column].dataset.value) : row.cells[column].textContent);
    const compare = numeric ? (a, b) => a - b : new Intl.Collator().compare;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (descending ? -1 : 1) * compare(value(a), value(b)));
    table.tBodies[0].append(...rows);
  };

  const wrap = (cell, action, label) => {
    const button = element("button", "", cell.textContent);
    button.type = "button";
    if (label) button.title = label;
    button.addEventListener("click", action);
    cell.replaceChildren(button);
  };

  [...table.tHead.rows[0].cells].forEach((cell, column) => wrap(cell, () => sortBy(column)));
  for (const row of table.tBodies[0].rows) {
    wrap(row.cells[0], () => {
      tagChoice.value = tagChoice.value === row.dataset.tag ? "" : row.dataset.tag;
      refresh();
      byId("photos").scrollIntoView({ block: "start" });
    }, "Show the photos with this tag");
  }
  const names = data.tags.map((name, tag) => [name, tag]).sort(([a], [b]) => new Intl.Collator().compare(a, b));
  for (const [name, tag] of names) tagChoice.append(new Option(name, tag));

  for (const control of [tagChoice, show, order]) control.addEventListener("change", refresh);
  search.addEventListener("input", refresh);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => { byId("controls").reset(); refresh(); search.focus(); });
  more.addEventListener("click", extend);
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) extend();
  }, { rootMargin: "1200px" }).observe(more);
  byId("controls").hidden = false;
  refresh();
})();
