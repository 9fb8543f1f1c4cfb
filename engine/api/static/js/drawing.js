/**
 * A small graph drawn in SVG: names as dots that are pressed to go on from them, relations as lines.
 * One stop of the Tab key; arrow keys go from name to name.
 */

import { el, fill, svg } from "./dom.js";
import { number } from "./format.js";
import { t, typeName } from "./i18n.js";
import { fitting, places } from "./layout.js";
import { isLoose } from "./relations.js";
import { viewOf, zoomButtons } from "./viewport.js";

const LONGEST_LABEL = 26;
const SMALLEST = 4.5;
const LARGEST = 15;
const FEW_MENTIONS = 16;
const TYPES = new Set([
  "PERSON",
  "ORGANISATION",
  "PLACE",
  "EVENT",
  "WORK",
  "PRODUCT",
  "CONCEPT",
  "NAME",
]);
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** `{nodes, edges}` drawn around `focus`; `onOpen(id)` is told which name was pressed. */
export function drawing({ nodes, edges, focus }, onOpen) {
  const at = places(nodes, edges, focus);
  const most = Math.max(FEW_MENTIONS, ...nodes.map((node) => node.mention_count ?? 0));
  const lines = merged(edges)
    .filter((line) => at.has(line.source) && at.has(line.target))
    .map(lineOf);
  const dots = nodes
    .map((node) => dotOf(node, node.id === focus, most))
    .sort((a, b) => b.weight - a.weight);
  const picture = svg(
    "svg",
    {
      class: "drawing",
      role: "group",
      "aria-label": t("graph.drawing", {
        names: t("count.entities", { n: nodes.length }),
        relations: t("count.relations", { n: edges.length }),
      }),
    },
    svg(
      "g",
      {},
      lines.map((line) => line.node),
    ),
    svg(
      "g",
      {},
      lines.map((line) => line.label),
    ),
    svg(
      "g",
      {},
      dots.map((dot) => dot.node),
    ),
  );
  const view = viewOf(picture, at, (unit, box) => place(dots, lines, at, unit, box));
  attend(dots, lines);
  walk(picture, dots, at, onOpen);
  return el(
    "div",
    { class: "drawn" },
    picture,
    el("div", { class: "drawn-foot" }, legend(nodes), zoomButtons(view)),
  );
}

/** Put everything where it belongs; `unit` is the length of a pixel, so that words keep their size. */
function place(dots, lines, at, unit, box) {
  for (const { node, label, source, target } of lines) {
    const [a, b] = [at.get(source), at.get(target)];
    for (const [name, value] of [
      ["x1", a.x],
      ["y1", a.y],
      ["x2", b.x],
      ["y2", b.y],
    ])
      node.setAttribute(name, value.toFixed(1));
    label.setAttribute("transform", moved((a.x + b.x) / 2, (a.y + b.y) / 2, unit));
  }
  for (const { id, node } of dots)
    node.setAttribute("transform", moved(at.get(id).x, at.get(id).y, unit));
  const inPixels = ({ id }) => ({ id, x: at.get(id).x / unit, y: at.get(id).y / unit });
  const circles = dots.map((dot) => ({
    ...inPixels(dot),
    width: dot.radius * 1.6,
    height: dot.radius * 1.6,
  }));
  const [left, right] = [box.x / unit, (box.x + box.width) / unit];
  const labels = dots.map((dot, index) => {
    const circle = circles[index];
    const half = dot.width / 2;
    const x = Math.min(Math.max(circle.x, left + half), Math.max(right - half, left + half));
    const aside = Math.abs(x - circle.x) < half ? x - circle.x : 0; // its dot is out of sight
    dot.label.setAttribute("x", aside.toFixed(1));
    return {
      ...circle,
      x: circle.x + aside,
      y: circle.y + dot.radius + 9,
      width: dot.width,
      height: 15,
    };
  });
  const shown = fitting(labels, circles);
  for (const dot of dots) dot.node.classList.toggle("unlabelled", !shown.has(dot.id));
}

const moved = (x, y, unit) =>
  `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${unit.toFixed(4)})`;

/** Relations between the same two names as one line. */
function merged(edges) {
  const lines = new Map();
  for (const edge of edges) {
    const key = [edge.source, edge.target].sort().join("\n");
    const line = lines.get(key) ?? {
      source: edge.source,
      target: edge.target,
      weight: 0,
      said: new Set(),
    };
    line.weight += edge.weight ?? 1;
    if (edge.predicate) line.said.add(edge.predicate);
    lines.set(key, line);
  }
  return [...lines.values()];
}

const short = (name) =>
  [...name].length > LONGEST_LABEL ? `${[...name].slice(0, LONGEST_LABEL - 1).join("")}…` : name;
const widthOf = (text) =>
  [...text].reduce((sum, one) => sum + (one.codePointAt(0) > 0x2e80 ? 13 : 6.8), 0);

function lineOf({ source, target, weight, said }) {
  const words = [...said];
  const stated = words.filter((one) => !isLoose(one));
  const plain = stated.length === 0;
  const width = Math.min(5, 0.7 + Math.sqrt(weight) * 0.45).toFixed(1);
  const node = svg(
    "line",
    { class: plain ? "line plain" : "line", "stroke-width": width },
    svg("title", {}, plain ? t("graph.together") : stated.join(", ")),
  );
  const label = svg(
    "text",
    { class: "line-label", "aria-hidden": "true" },
    short(stated.slice(0, 2).join(", ")),
  );
  return { source, target, node, label };
}

function dotOf({ id, name, type, mention_count: mentions = 0 }, isFocus, most) {
  const radius = SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(mentions / most) + (isFocus ? 3 : 0);
  const classes = ["dot", `type-${TYPES.has(type) ? type : "NAME"}`, isFocus && "focus"]
    .filter(Boolean)
    .join(" ");
  const words = [name, typeName(type), t("count.mentions", { n: mentions })];
  const label = svg("text", { y: (radius + 13).toFixed(1) }, short(name));
  const node = svg(
    "g",
    {
      class: classes,
      role: "button",
      tabindex: isFocus ? "0" : "-1",
      "aria-label": words.join(", "),
    },
    svg("circle", { r: radius.toFixed(1) }),
    label,
    svg("title", {}, words.join(" · ")),
  );
  return {
    id,
    node,
    label,
    radius,
    weight: isFocus ? Infinity : mentions,
    width: widthOf(short(name)) + 6,
  };
}

/** What a name stands in relation to is brought out while it is looked at. */
function attend(dots, lines) {
  const set = (id, on) => {
    const near = new Set([id]);
    for (const line of lines) {
      const touches = line.source === id || line.target === id;
      line.node.classList.toggle("near", on && touches);
      line.label.classList.toggle("near", on && touches);
      if (touches) near.add(line.source).add(line.target);
    }
    for (const dot of dots) dot.node.classList.toggle("near", on && near.has(dot.id));
  };
  for (const { id, node } of dots) {
    node.addEventListener("pointerenter", () => set(id, true));
    node.addEventListener("pointerleave", () => set(id, false));
    node.addEventListener("focus", () => set(id, true));
    node.addEventListener("blur", () => set(id, false));
  }
}

function walk(picture, dots, at, onOpen) {
  if (!dots.some((dot) => dot.node.getAttribute("tabindex") === "0"))
    dots[0]?.node.setAttribute("tabindex", "0");
  const goTo = (dot) => {
    for (const one of dots) one.node.setAttribute("tabindex", one === dot ? "0" : "-1");
    dot.node.focus();
  };
  for (const dot of dots) {
    dot.node.addEventListener(
      "click",
      () => !picture.classList.contains("moved") && onOpen(dot.id),
    );
    dot.node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        onOpen(dot.id);
      }
      const direction = DIRECTIONS[event.key];
      if (!direction) return;
      event.preventDefault();
      const next = towards(dot, dots, at, direction);
      if (next) goTo(next);
    });
  }
}

/** The nearest name within 60 degrees of a direction. */
function towards(from, dots, at, [dx, dy]) {
  const here = at.get(from.id);
  let best = null;
  for (const dot of dots) {
    const [x, y] = [at.get(dot.id).x - here.x, at.get(dot.id).y - here.y];
    const distance = Math.hypot(x, y);
    const along = x * dx + y * dy;
    if (dot === from || along < distance * 0.5) continue;
    const far = distance * (2 - along / distance);
    if (!best || far < best.far) best = { dot, far };
  }
  return best?.dot ?? null;
}

function legend(nodes) {
  const present = [
    ...new Set(nodes.map((node) => (TYPES.has(node.type) ? node.type : "NAME"))),
  ].sort();
  return fill(
    el("ul", { class: "legend" }),
    present.map((type) =>
      el(
        "li",
        {},
        el("span", { class: `swatch type-${type}`, "aria-hidden": "true" }),
        typeName(type),
        " ",
        el(
          "span",
          { class: "soft" },
          number(
            nodes.filter((node) => (TYPES.has(node.type) ? node.type : "NAME") === type).length,
          ),
        ),
      ),
    ),
  );
}
