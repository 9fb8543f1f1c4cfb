/**
 * A small graph, drawn by the component of the graph page (`/static/drawing/`): names as dots that
 * are pressed to go on from them, relations as lines. One stop of the Tab key; arrow keys go from
 * name to name, Enter goes on from one.
 */

import { button, el, fill } from "./dom.js";
import { number } from "./format.js";
import { t, typeName } from "./i18n.js";
import { isLoose } from "./relations.js";

const ASPECT = 1.4;
const GAP = 24;
let colouring = "type";
let current = null; // one view shows one drawing

/** `{nodes, edges}` drawn around `focus`; `onOpen(id)` is told which name was pressed. */
export function drawing({ nodes, edges, focus }, onOpen) {
  const tip = el("div", { class: "drawing-tip", hidden: true });
  const live = el("p", { class: "unseen", role: "status" });
  const label = t("graph.drawing", {
    names: t("count.entities", { n: nodes.length }),
    relations: t("count.relations", { n: edges.length }),
  });
  const box = el("div", { class: "drawing", role: "application", tabindex: "0", "aria-label": label });
  const key = el("ul", { class: "legend" });
  const foot = el("div", { class: "drawn-foot" }, key);
  const whole = el("div", { class: "drawn" }, box, tip, live, foot);
  begin(whole, { nodes, edges, focus, box, tip, live, key, foot, onOpen }).catch(() => {
    component = null; // the next one tries again
    fill(box, el("p", { class: "soft", role: "alert" }, t("graph.notDrawn")));
  });
  return whole;
}

async function begin(whole, { nodes, edges, focus, box, tip, live, key, foot, onOpen }) {
  const parts = await loaded();
  await new Promise((resolve) => requestAnimationFrame(resolve));
  if (!whole.isConnected) return;
  current?.end();
  const said = (item) =>
    `${item.title} · ${typeName(item.type)} · ${t("count.mentions", { n: item.mentions })}`;
  const view = new parts.Drawing(box, tip, {
    tipOf: said,
    onPress: (at) => at >= 0 && onOpen(view.scene.items[at].id),
    onOpen: (at) => at >= 0 && onOpen(view.scene.items[at].id),
    onStep: (at) => {
      view.choose(at);
      live.textContent = said(view.scene.items[at]);
    },
  });
  current = view;
  view.colouring = colouring;
  view.put(sceneOf(parts, { nodes, edges }, parts.aspectOf(box, ASPECT)));
  const at = view.find("entity", focus);
  if (at >= 0) view.choose(at);
  const hasCommunities = nodes.some((node) => node.community);
  if (!hasCommunities) view.colourBy("type");
  drawKey(key, nodes, view, parts);
  if (hasCommunities) foot.append(colourSwitch(view, () => drawKey(key, nodes, view, parts)));
  foot.append(zoomButtons(view));
  whole.dataset.drawn = String(nodes.length);
  // What is drawn, for tests and for whoever scripts the page.
  window.graphDrawing = {
    items: () => view.places(),
    lineNames: () => view.named,
    chosen: () => view.scene.items[view.chosen]?.title,
  };
}

/** The component, fetched when a graph is first drawn. */
let component = null;
function loaded() {
  component ??= (async () => {
    await import("/static/drawing/vis-network.js"); // it names itself `vis`
    const [drawing, pack, palette] = await Promise.all([
      import("/static/drawing/drawing.js"),
      import("/static/drawing/pack.js"),
      import("/static/drawing/palette.js"),
    ]);
    return { ...drawing, ...pack, ...palette };
  })();
  return component;
}

function sceneOf({ entitiesPacked, entityRadius, typeColour, PALETTE, ALONE }, graph, aspect) {
  const most = Math.max(...graph.nodes.map((node) => node.mention_count ?? 0), 1);
  const strong = [...graph.nodes].sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0)).slice(0, 8);
  const items = graph.nodes.map((node) => ({
    kind: "entity",
    id: node.id,
    title: node.name,
    type: node.type,
    mentions: node.mention_count ?? 0,
    radius: entityRadius(node.mention_count ?? 0, most),
    typeColour: typeColour(node.type),
    isStrong: strong.includes(node),
  }));
  const { titles, groups } = grouped(graph.nodes);
  return {
    ...entitiesPacked(items, groups, linksOf(graph), {
      aspect,
      gap: GAP,
      titleOf: (group) => titles[group],
      colourOf: (group) => (group < 0 ? ALONE : PALETTE[group % PALETTE.length]),
    }),
    lineName: lineNames(graph),
  };
}

/** The community that each name is in, by number (-1: none), and their titles. */
function grouped(nodes) {
  const known = new Map();
  for (const { community } of nodes)
    if (community && !known.has(community.id)) known.set(community.id, community.title);
  const ids = [...known.keys()];
  const groups = nodes.map(({ community }) => (community ? ids.indexOf(community.id) : -1));
  return { titles: [...known.values()], groups };
}

/** Relations between the same two names as one link, the strongest first. */
function linksOf({ nodes, edges }) {
  const at = new Map(nodes.map((node, index) => [node.id, index]));
  const sums = new Map();
  for (const { source, target, weight } of edges) {
    const [a, b] = [at.get(source), at.get(target)].sort((one, other) => one - other);
    if (a === undefined || b === undefined || a === b) continue;
    sums.set(`${a} ${b}`, (sums.get(`${a} ${b}`) ?? 0) + (weight ?? 1));
  }
  return [...sums]
    .map(([pair, sum]) => [...pair.split(" ").map(Number), sum])
    .sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
}

function lineNames({ edges }) {
  const stated = new Map();
  for (const { source, target, predicate } of edges) {
    const key = [source, target].sort().join("\n");
    if (predicate && !isLoose(predicate) && !stated.has(key))
      stated.set(key, { text: predicate, from: source });
  }
  return (one, other) => stated.get([one, other].sort().join("\n")) ?? null;
}

function drawKey(key, nodes, view, { typeColour, TYPES }) {
  key.hidden = view.colouring !== "type";
  const of = (node) => (TYPES.includes(node.type) ? node.type : "NAME");
  const present = [...new Set(nodes.map(of))].sort();
  fill(
    key,
    present.map((type) => {
      const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = typeColour(type);
      const held = nodes.filter((node) => of(node) === type).length;
      return el("li", {}, swatch, typeName(type), " ", el("span", { class: "soft" }, number(held)));
    }),
  );
}

function colourSwitch(view, onChange) {
  const words = () => t(view.colouring === "type" ? "graph.byType" : "graph.byCommunity");
  const one = button(words(), { class: "text colouring" }, () => {
    colouring = view.colouring === "type" ? "community" : "type";
    view.colourBy(colouring);
    one.textContent = words();
    onChange();
  });
  return one;
}

/** Buttons that do what the wheel does. */
function zoomButtons(view) {
  const one = (sign, label, act) =>
    button(sign, { class: "icon text", "aria-label": label, title: label }, act);
  return el(
    "div",
    { class: "zoom", role: "group", "aria-label": t("graph.zoom") },
    one("+", t("graph.zoomIn"), () => view.zoomBy(1.4)),
    one("−", t("graph.zoomOut"), () => view.zoomBy(1 / 1.4)),
    one("⤢", t("graph.zoomAll"), () => view.fit(true)),
  );
}
