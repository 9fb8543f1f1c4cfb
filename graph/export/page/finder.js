// ── finder: search over every name and alias, and the filter ─────────────────────────────────────
const search = find("search"), results = find("results");
const MOST_RESULTS = 12;
const fold = (string) => string.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
let keys = null, active = -1, asked = 0;

function searchKeys() {
  const { tables } = state;
  keys ??= tables.names.map((name, row) => fold(tables.aliases[row] ? `${name}\n${tables.aliases[row]}` : name));
  return keys;
}
function matches(query) {
  const wanted = fold(query.trim());
  if (!wanted) return [];
  const scored = [];
  searchKeys().forEach((key, row) => {
    if (!key.includes(wanted)) return;
    const lines = `\n${key}\n`;
    const rank = lines.includes(`\n${wanted}\n`) ? 0 : lines.includes(`\n${wanted}`) ? 1 : key.includes(` ${wanted}`) ? 2 : 3;
    scored.push([rank, row]);
  });
  return scored.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, MOST_RESULTS).map(([, row]) => row);
}
// Names that share most pairs of letters with the query: for slips of the pen.
function alike(query) {
  const pairs = (string) => new Set(Array.from({ length: Math.max(0, string.length - 1) }, (_, at) => string.slice(at, at + 2)));
  const wanted = pairs(fold(query.trim()));
  if (wanted.size < 3) return [];
  const scored = [];
  searchKeys().forEach((key, row) => {
    for (const name of key.split("\n")) {
      if (Math.abs(name.length - 1 - wanted.size) > wanted.size) continue;
      const own = pairs(name);
      let shared = 0;
      for (const pair of own) if (wanted.has(pair)) shared += 1;
      const likeness = 2 * shared / (own.size + wanted.size);
      if (likeness >= 0.55) { scored.push([likeness, row]); break; }
    }
  });
  return scored.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 5).map(([, row]) => row);
}
async function listResults() {
  const turn = asked += 1;
  await state.ready;
  if (turn !== asked) return;
  const query = search.value, exact = matches(query), found = exact.length ? exact : alike(query);
  active = exact.length ? 0 : -1;
  const { tables } = state, wanted = fold(query.trim());
  results.replaceChildren(...found.map((row, at) => {
    const alias = fold(tables.names[row]).includes(wanted) ? "" : tables.aliases[row].split("\n").find((one) => fold(one).includes(wanted)) ?? "";
    return make("li", {
      id: `result-${at}`, role: "option", onclick: () => choose(row), onmousedown: (event) => event.preventDefault(),
    }, dot(tables.colourOf(row)), make("span", { className: "name", dir: "auto", textContent: tables.names[row] }),
    alias ? make("span", { className: "meta", dir: "auto", textContent: alias }) : null,
    make("span", { className: "meta kind", textContent: kindName(tables.types[tables.type[row]]) }));
  }));
  results.childNodes.forEach((item, at) => { item.entity = found[at]; });
  if (!exact.length) results.prepend(make("li", { className: "none", textContent: found.length ? t("Nothing of that name; near it:") : t("Nothing of that name.") }));
  results.hidden = !query.trim();
  if (!results.hidden) say(exact.length ? t("{some} found", { some: exact.length }) : t("nothing found"));
  markActive();
}
const options = () => [...results.querySelectorAll("[role=option]")];
function markActive() {
  options().forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
  search.setAttribute("aria-expanded", String(!results.hidden));
  if (active >= 0) search.setAttribute("aria-activedescendant", `result-${active}`);
  else search.removeAttribute("aria-activedescendant");
}
function closeResults() {
  asked += 1;
  results.hidden = true;
  search.setAttribute("aria-expanded", "false");
}
function choose(row) {
  closeResults();
  search.value = state.tables.names[row];
  goEntity(row);
}
search.addEventListener("input", listResults);
search.addEventListener("blur", closeResults);
search.addEventListener("focus", () => search.select());
search.addEventListener("keydown", (event) => {
  const all = options();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!all.length) return;
    active = (active + (event.key === "ArrowDown" ? 1 : all.length - 1) + all.length) % all.length;
    all[active].scrollIntoView({ block: "nearest" });
    markActive();
  } else if (event.key === "Enter" && !results.hidden && all[active]) choose(all[active].entity);
});

// ── filter ─────────────────────────────────────────────────────────────────────────────────────
const filters = find("filters"), least = find("filter-weight");
const filterIs = { types: null, document: "", least: 0 };

function fillFilters() {
  const { tables } = state;
  find("types").replaceChildren(...Object.entries(first.types).sort((a, b) => b[1] - a[1]).map(([name, held]) => make("label", {},
    make("input", { type: "checkbox", checked: true, defaultChecked: true, value: name }), make("span", { textContent: ` ${kindName(name)} ` }),
    make("span", { className: "meta", textContent: figure(held) }))));
  find("documents").replaceChildren(...[...new Set(tables.documents.title)].slice(0, 500).map((title) => make("option", { value: title })));
  const select = find("filter-community");
  const add = (id, depth) => {
    select.append(make("option", { value: String(id), textContent: `${"\u2003".repeat(depth)}${plain(tables.communities.title[id]).slice(0, 60)}` }));
    if (select.options.length < 300) for (const child of tables.children[id]) add(child, depth + 1);
  };
  for (const id of tables.roots.slice(0, 150)) add(id, 0);
}
// The slider goes by shares of the entities: half way leaves the heavier half.
function leastWeight() {
  const { tables } = state, share = Number(least.value) / 100;
  return share && tables.size ? tables.weight[Math.min(tables.size - 1, Math.floor((1 - share) * (tables.size - 1)))] : 0;
}
function matchingRows() {
  const { tables } = state, { types, document: wanted } = filterIs;
  if (!types && !wanted && !filterIs.least) return null;
  const folded = fold(wanted), isKind = tables.types.map((name) => !types || types.has(name));
  const isDocument = tables.documents.title.map((title, at) => fold(title).includes(folded) || fold(tables.documents.id[at]).includes(folded));
  const matching = new Uint8Array(tables.size);
  for (let row = 0; row < tables.size; row += 1) {
    matching[row] = isKind[tables.type[row]] && tables.weight[row] >= filterIs.least
      && (!wanted || tables.documentsOf(row).some((at) => isDocument[at])) ? 1 : 0;
  }
  return matching;
}
async function applyFilters() {
  await state.ready;
  const boxes = [...find("types").querySelectorAll("input")];
  filterIs.types = boxes.every((box) => box.checked) ? null : new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  filterIs.document = find("filter-document").value.trim();
  filterIs.least = leastWeight();
  find("filter-least").textContent = filterIs.least ? filterIs.least.toFixed(1) : "0";
  state.matching = matchingRows();
  const held = state.matching ? state.matching.reduce((sum, one) => sum + one, 0) : state.tables.size;
  find("filter-mark").hidden = !state.matching;
  find("filter-mark").textContent = figure(held);
  find("filter-result").textContent = t("{some} of {entities} match", { some: figure(held), entities: entityCount(state.tables.size) });
  go(state.trail.at(-1), { keeping: true });
}
filters.addEventListener("input", (event) => { if (event.target.id !== "filter-community") applyFilters(); });
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("reset", () => setTimeout(applyFilters));
find("filter-community").addEventListener("change", (event) => {
  go(event.target.value === "" ? { kind: "all" } : { kind: "community", id: Number(event.target.value) });
});
function toggleFilters(open) {
  filters.hidden = !open;
  find("filter-button").setAttribute("aria-expanded", String(open));
  if (open) filters.querySelector("input")?.focus();
  else if (filters.contains(document.activeElement) || document.activeElement === document.body) find("filter-button").focus();
}
find("filter-button").onclick = () => toggleFilters(filters.hidden);
find("filter-close").onclick = () => { toggleFilters(false); find("filter-button").focus(); };
