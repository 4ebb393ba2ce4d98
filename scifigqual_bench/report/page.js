"use strict";
// Sort, filter and enlarge. The page reads without this script: everything it needs is in the document already.
// Text is only ever compared or set as text, never parsed as HTML.
(() => {
  const byId = (id) => document.getElementById(id);
  const form = byId("controls");
  const list = byId("figures");
  const nothing = byId("nothing");
  const filters = byId("filters");

  const fold = (text) => text.normalize("NFKC").toLowerCase();
  const entries = JSON.parse(byId("index").textContent).map((entry, position) => {
    const card = byId(`figure-${position + 1}`);
    const text = fold([...card.querySelectorAll(".search")].map((element) => element.textContent).join("\n"));
    return { ...entry, position, card, text };
  });
  const natural = new Intl.Collator("en", { numeric: true }).compare;

  // --- filter -------------------------------------------------------------------------------------------------------

  const only = {
    low: (entry) => entry.low,
    marked: (entry) => entry.marked,
    either: (entry) => entry.low || entry.marked,
  };

  function matcher(state) {
    const words = fold(state.q).split(/\s+/).filter(Boolean);
    const [min, max] = [state.min, state.max].map((text) => (text === "" ? null : Number(text)));
    const hasGold = (entry) => Object.values(entry.gold).some((value) => value !== null);
    const inRange = (value) => value !== null && (min === null || value >= min) && (max === null || value <= max);
    const tests = [
      words.length && ((entry) => words.every((word) => entry.text.includes(word))),
      state.paper && ((entry) => entry.paper === state.paper),
      state.status && ((entry) => entry.status === state.status),
      state.curation && ((entry) => entry.curation === state.curation),
      state.gold && ((entry) => hasGold(entry) === (state.gold === "yes")),
      state.only && only[state.only],
      (min !== null || max !== null) && ((entry) => inRange(entry.judge[state.dimension])),
    ].filter(Boolean);
    return (entry) => tests.every((test) => test(entry));
  }

  // --- sort ---------------------------------------------------------------------------------------------------------

  const byPaper = (a, b) => natural(a.paper, b.paper) || a.number - b.number || a.position - b.position;

  function value(entry, who, key) {
    if (who !== "error") return entry[who][key];
    const [judge, gold] = [entry.judge[key], entry.gold[key]];
    return judge === null || gold === null ? null : Math.abs(judge - gold);
  }

  // A figure without the value stands at the end in both directions: it is neither low nor high.
  function comparer(state) {
    const sign = state.order === "down" ? -1 : 1;
    if (state.sort === "") return (a, b) => sign * (a.position - b.position);
    if (state.sort === "paper") return (a, b) => sign * byPaper(a, b);
    if (state.sort === "status") return (a, b) => sign * natural(a.status, b.status) || byPaper(a, b);
    const [who, key] = state.sort.split(":");
    return (a, b) => {
      const [x, y] = [value(a, who, key), value(b, who, key)];
      if (x === null || y === null) return (x === null) - (y === null) || byPaper(a, b);
      return sign * (x - y) || byPaper(a, b);
    };
  }

  // --- state: the form is the truth, the fragment its copy ------------------------------------------------------------

  const fields = [...form.elements].filter((field) => field.name);
  const initial = (field) =>
    field.options ? [...field.options].find((option) => option.defaultSelected).value : field.defaultValue;
  const state = () => Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const refining = ["paper", "status", "gold", "curation", "only", "min", "max"];

  function readFragment() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = given.get(field.name) ?? initial(field);
      if (field.options && field.selectedIndex < 0) field.value = initial(field);
    }
  }

  function writeFragment() {
    const changed = fields.filter((field) => field.value !== initial(field)).map((field) => [field.name, field.value]);
    history.replaceState(null, "", `#${new URLSearchParams(changed)}`);
  }

  let order = entries;
  function apply() {
    const now = state();
    const matches = matcher(now);
    let shown = 0;
    for (const entry of entries) {
      const match = matches(entry);
      entry.card.hidden = !match;
      shown += match;
    }
    const sorted = [...entries].sort(comparer(now));
    if (sorted.some((entry, position) => entry !== order[position])) {
      nothing.before(...sorted.map((entry) => entry.card));
      order = sorted;
    }
    const active = refining.filter((name) => now[name] !== "").length;
    byId("filter-count").textContent = active ? ` (${active})` : "";
    byId("shown").textContent = `Figures shown: ${shown} of ${entries.length}`;
    nothing.hidden = shown > 0 || entries.length === 0;
    return active;
  }

  let waiting = 0;
  form.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      apply();
      writeFragment();
    });
  });
  form.addEventListener("reset", () => {
    setTimeout(() => {
      apply();
      writeFragment();
    });
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  // A fragment without "=" is a link to a figure, not a state.
  const isState = () => location.hash === "" || location.hash.includes("=");
  function load() {
    if (isState()) readFragment();
    if (apply()) filters.open = true;
  }
  window.addEventListener("hashchange", () => isState() && load());

  // --- enlarge --------------------------------------------------------------------------------------------------------

  const viewer = byId("viewer");
  const stage = byId("viewer-stage");
  const size = byId("viewer-size");

  function fullSize(on) {
    stage.classList.toggle("full", on);
    size.setAttribute("aria-pressed", String(on));
  }
  function enlarge(button) {
    const image = button.querySelector("img").cloneNode();
    image.loading = "eager";
    stage.replaceChildren(image);
    byId("viewer-name").textContent = button.closest(".card").querySelector("h2").textContent;
    fullSize(false);
    viewer.showModal();
    byId("viewer-close").focus();
  }
  for (const button of list.querySelectorAll(".zoom")) button.disabled = false;
  list.addEventListener("click", (event) => {
    const button = event.target.closest(".zoom");
    if (button) enlarge(button);
  });
  size.addEventListener("click", () => fullSize(!stage.classList.contains("full")));
  stage.addEventListener("click", () => fullSize(!stage.classList.contains("full")));
  byId("viewer-close").addEventListener("click", () => viewer.close());
  viewer.addEventListener("click", (event) => event.target === viewer && viewer.close());
  viewer.addEventListener("close", () => stage.replaceChildren());

  form.hidden = false;
  load();
})();
