// ── stage: the page's drawing, and what of the page lies over it ──────────────────────────────────
const canvasBox = find("mynetwork");
const drawing = new Drawing(canvasBox, find("tip"), {
  tipOf: (item) => `${item.title} · ${item.kind === "entity" && state.tables
    ? kindName(state.tables.types[state.tables.type[item.id]]) : entityCount(item.held ?? 1)}`,
  inset: () => ({ head: state.trail.length > 1 ? 40 : 0, foot: find("type-key").hidden ? 0 : 30 }),
  onPress: (at, territory) => press(at, territory),
  onOpen: (at, territory) => openAt(at, territory),
  onStep: (at) => stepTo(at),
  onDrawn: ({ scene }) => {
    if (document.documentElement.dataset.drawn) return;
    document.documentElement.dataset.drawn = String(scene.items.length);
    performance.mark("graph-drawn");
  },
});

// ── going from place to place, keys, and the beginning ───────────────────────────────────────────
const TINY = 6;
function say(text) { find("live").textContent = text; }

function trailOf(place) {
  const { tables } = state, all = { kind: "all" };
  if (place.kind === "all") return [all];
  if (place.kind === "community") return [all, ...tables.way(place.id).map((id) => ({ kind: "community", id }))];
  if (place.kind === "near") return [...state.trail.filter((one) => one.kind !== "near"), place];
  return [all, place];
}
const isSame = (one, other) => one.kind === other.kind && one.id === other.id;
function nameOf(place) {
  if (place.kind === "community") return state.tables.communities.title[place.id];
  if (place.kind === "near") return t("Around {name}", { name: state.tables.names[place.id] });
  return place.kind === "alone" ? t("In no community") : aboutWords(first.about) || t("All communities");
}
async function go(place, { pin = -1, keeping = false } = {}) {
  await state.ready;
  const begun = performance.now();
  state.turn += 1;
  if (!keeping) state.trail = trailOf(place);
  const scene = compose(state.tables, place, { matching: state.matching, pin });
  drawing.put(scene);
  state.opened = performance.now() - begun;
  drawTrail();
  drawNote(scene);
  find("filter-community").value = place.kind === "community" ? String(place.id) : "";
  say(`${nameOf(place)}: ${describe(scene)}`);
  await placePanel(place, scene);
  if (drawing.scene === scene) document.documentElement.dataset.open = `${place.kind} ${place.id ?? ""}`.trim();
}
function describe(scene) {
  const bubbles = scene.items.filter((item) => item.kind === "bubble").length, dots = scene.items.filter((item) => item.kind === "entity").length;
  return [bubbles ? count(bubbles, "community", "communities") : "", dots ? entityCount(dots) : ""].filter(Boolean).join(` ${t("and")} `) || t("nothing matches");
}
async function placePanel(place, scene) {
  if (place.kind === "community") await communityPanel(place.id, { isOpen: true, scene });
  else if (place.kind === "near") select(drawing.find("entity", place.id));
  else if (place.kind === "alone") alonePanel(scene);
  else overviewPanel(scene);
}
async function select(at) {
  if (at < 0) return;
  await state.ready;
  state.turn += 1;
  drawing.choose(at);
  const item = drawing.scene.items[at];
  if (item.kind === "entity") await entityPanel(item.id);
  else if (item.kind === "bubble") await communityPanel(item.id, { isOpen: false });
  else alonePanel({ rows: state.tables.alone });
}
function unselect() {
  const item = drawing.scene.items[drawing.chosen], here = state.trail.at(-1);
  if (!item || (here.kind === "near" && item.id === here.id)) return false;
  state.turn += 1;
  drawing.choose(-1);
  placePanel(here, drawing.scene);
  return true;
}
function openItem(at) {
  const item = drawing.scene.items[at];
  if (!item) return;
  if (item.kind === "bubble") go({ kind: "community", id: item.id });
  else if (item.kind === "alone") go({ kind: "alone" });
  else if (state.tables.relationsOf(item.id).length) go({ kind: "near", id: item.id });
}
// To an entity, wherever it is: where it is drawn already, else in its own community.
async function goEntity(row) {
  await state.ready;
  const drawn = () => drawing.find("entity", row);
  if (drawn() < 0) {
    await go(homePlace(row), { pin: row });
  }
  const at = drawn();
  await select(at);
  say(`${state.tables.names[row]}: ${count(state.tables.relationsOf(row).length, "relation", "relations")}`);
  drawing.reveal(at);
}
// Where an entity is best seen: in its community, or among what it is linked with if that is tiny.
function homePlace(row) {
  const { tables } = state, home = tables.home[row];
  if (home >= 0 && tables.communities.size[home] >= TINY) return { kind: "community", id: home };
  if (tables.relationsOf(row).length > 1) return { kind: "near", id: row };
  return home < 0 ? { kind: "alone" } : { kind: "community", id: home };
}
function up() {
  if (unselect()) return;
  if (state.trail.length > 1) go(state.trail.at(-2), {});
}
function drawTrail() {
  find("trail").hidden = state.trail.length < 2;
  find("trail").querySelector("ol").replaceChildren(...state.trail.map((place, at) => make("li", {},
    at === state.trail.length - 1
      ? make("span", { dir: "auto", "aria-current": "page", textContent: nameOf(place) })
      : make("button", { type: "button", dir: "auto", textContent: nameOf(place), onclick: () => go(place) }))));
}
function drawNote(scene) {
  const parts = [], { totals } = first;
  if (scene.left > 0) parts.push(t("{some} lighter ones are not drawn: search and list have them all.", { some: figure(scene.left) }));
  if (scene.weaker > 0) parts.push(t("{links} not drawn.", { links: count(scene.weaker, "weaker link is", "weaker links are") }));
  if (totals.held < totals.entities) parts.push(t("This page holds the {held} heaviest of {entities}.", { held: figure(totals.held), entities: entityCount(totals.entities) }));
  find("note").hidden = !parts.length;
  find("note").textContent = parts.join(" ");
}

// ── events ─────────────────────────────────────────────────────────────────────────────────────
async function showTerritory(territory) {
  state.turn += 1;
  await communityPanel(territory.id, { isOpen: false });
}
function press(at, territory) {
  closeResults();
  if (at >= 0) select(at);
  else if (!unselect() && territory) showTerritory(territory);
}
function openAt(at, territory) {
  if (at >= 0) openItem(at);
  else if (territory) go({ kind: "community", id: territory.id });
}
function stepTo(at) {
  const item = drawing.scene.items[at];
  select(at);
  say(`${item.title}${item.held ? `, ${entityCount(item.held)}` : ""}`);
}
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") {
    if (!results.hidden) closeResults();
    else if (!filters.hidden) toggleFilters(false);
    else { if (event.target === search) { search.value = ""; canvasBox.focus(); } up(); }
  } else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "/") { search.focus(); event.preventDefault(); }
  else if (event.key === "Backspace") up();
  else if (event.target !== canvasBox) drawing.zoomByKey(event);
});
find("zoom-in").onclick = () => drawing.zoomBy(1.4);
find("zoom-out").onclick = () => drawing.zoomBy(1 / 1.4);
find("zoom-fit").onclick = () => drawing.fit(true);
find("theme").onclick = () => {
  document.documentElement.dataset.theme = drawing.dark ? "light" : "dark";
  drawing.retheme();
  say(drawing.dark ? t("dark") : t("light"));
};
matchMedia("print").addEventListener("change", () => drawing.retheme());
// Paper has a size of its own, and no script runs once it is laid out: the drawing is made ready before.
function forPaper(isPaper) {
  document.documentElement.classList.toggle("paper", isPaper);
  drawing.retheme();
  drawing.network.setSize("100%", "100%");
  drawing.network.redraw();
  drawing.fit(false);
}
addEventListener("beforeprint", () => forPaper(true));
addEventListener("afterprint", () => forPaper(false));

// graph.html#Name opens on the entity of that name or alias, when it is opened and when it changes.
function askedFor() {
  try {
    const name = fold(decodeURIComponent(location.hash.slice(1)));
    if (!name || name === "panel") return -1;
    const named = state.tables.names.findIndex((one) => fold(one) === name);
    return named >= 0 ? named : searchKeys().findIndex((key) => key.split("\n").includes(name));
  } catch {
    return -1; // not a name but broken escapes
  }
}

addEventListener("hashchange", async () => {
  await state.ready;
  const named = askedFor();
  if (named >= 0) await goEntity(named);
});

// The switch: entities in the colours of their communities, or of their types.
function drawColouring() {
  const isByType = drawing.colouring === "type";
  find("colouring").textContent = isByType ? t("Colours: types") : t("Colours: communities");
  find("colouring").setAttribute("aria-pressed", String(isByType));
  const held = new Set(state.tables ? state.tables.types : []);
  find("type-key").hidden = !isByType;
  find("type-key").replaceChildren(...TYPES.filter((type) => held.has(type)).concat("NAME").map((type) => (
    make("li", {}, dot(typeColour(type)), ` ${kindName(type)}`))));
}
find("colouring").onclick = async () => {
  await state.ready;
  drawing.colourBy(drawing.colouring === "type" ? "community" : "type");
  drawColouring();
  drawing.fit(false);
  if (drawing.chosen >= 0) await select(drawing.chosen);
  else await placePanel(state.trail.at(-1), drawing.scene);
};

// ── begin: bubbles at once, everything else when the page has been read ──────────────────────────
find("counts").textContent = [
  entityCount(first.totals.entities), count(first.totals.relations, "relation", "relations"),
  count(first.totals.communities, "community", "communities"), count(first.totals.documents, "document", "documents"),
].join(" · ");
if (!first.is_flat) {
  drawing.put({
    items: first.bubbles.map((bubble) => ({ ...bubble, kind: "bubble", id: bubble.community, held: bubble.size })),
    links: first.links, territories: [],
  });
}
state.ready = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve, { once: true });
  else resolve();
}).then(() => unpacked("columns")).then((columns) => { state.tables = new Tables(columns); });
state.ready.then(async () => {
  fillFilters();
  drawColouring();
  find("filter-result").textContent = `${entityCount(state.tables.size)}`;
  await go({ kind: "all" });
  const named = askedFor();
  if (named >= 0) await goEntity(named);
  else if (first.centre >= 0 && !first.question) await goEntity(first.centre);
  document.documentElement.dataset.ready = "true";
  performance.mark("graph-ready");
}).catch((error) => {
  show(heading(t("This page cannot be opened here")), make("p", {
    textContent: t("Its data could not be unpacked ({reason}). A browser of 2023 or later can do it; if this one is newer, the file is damaged.", { reason: error.message }),
  }));
});
// What is drawn, for tests and for whoever scripts the page: names, and places in window pixels.
window.graphPage = Object.freeze({
  items: () => drawing.places(),
  lineNames: () => drawing.named,
  openMilliseconds: () => state.opened,
});
