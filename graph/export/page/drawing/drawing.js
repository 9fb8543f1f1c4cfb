// ── drawing: a graph on a canvas, as the graph page and the web page show it ──────────────────────
// vis-network draws discs and lines and moves the view; names and the focus are painted over it.
// A scene is { items, links, territories, lineName?, sizesInside? }. Items are { kind: "entity" |
// "bubble" | "alone", id, title, radius, x, y, colour, typeColour?, isStrong?, held? }, links
// [item, item, weight]; `lineName(id, id)` gives { text, from } of a named line, or null.
import { drawOver, drawTerritories } from "./paint.js";
import { ALONE, PALETTE } from "./palette.js";

export const TYPES = ["PERSON", "PLACE", "ORGANISATION", "EVENT", "WORK", "PRODUCT", "CONCEPT"];
// A type's colour is the same everywhere; what has none is grey.
export const typeColour = (type) => (TYPES.includes(type) ? PALETTE[TYPES.indexOf(type)] : ALONE);

const still = matchMedia("(prefers-reduced-motion: reduce)");
const OPTIONS = {
  physics: { enabled: false },
  layout: { improvedLayout: false, randomSeed: 1 },
  interaction: {
    hover: false, hideEdgesOnDrag: false, hideEdgesOnZoom: false, multiselect: false, selectable: false, dragNodes: false,
  },
  nodes: { shape: "dot", borderWidth: 1.5 },
  edges: { smooth: false },
};
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Drawing {
  #ending = new AbortController();
  // `box` holds the canvas, `tip` what is said of an item under the pointer; `told` is asked:
  // tipOf(item), inset() → { head, foot }, onPress(item, territory), onOpen(item, territory),
  // onStep(item), onDrawn(). Places are numbers of items; -1 is none.
  constructor(box, tip, told) {
    Object.assign(this, { box, tip, told, named: [], chosen: -1, hovered: -1, theme: {}, dark: false, colouring: "community" });
    this.scene = { items: [], links: [], territories: [], near: [] };
    this.wraps = new Map();
    this.nodes = new vis.DataSet([]);
    this.edges = new vis.DataSet([]);
    this.network = new vis.Network(box, { nodes: this.nodes, edges: this.edges }, OPTIONS);
    box.firstElementChild.tabIndex = -1;
    this.#readTheme();
    this.network.on("beforeDrawing", (context) => drawTerritories(this, context));
    this.network.on("afterDrawing", (context) => {
      drawOver(this, context);
      told.onDrawn?.(this);
    });
    this.#listen();
  }
  // ── what is drawn ──
  put(scene, { fitting = true } = {}) {
    Object.assign(this, { scene, chosen: -1, hovered: -1 });
    this.wraps.clear();
    this.tip.hidden = true;
    const heaviest = Math.max(...scene.links.map((link) => link[2]), 1e-9);
    scene.near = scene.items.map(() => []);
    const lines = scene.links.map(([a, b, weight], id) => {
      const line = { id, from: a, to: b, ...this.#lineStyle(scene.items[a], scene.items[b], weight / heaviest) };
      scene.near[a].push(line);
      scene.near[b].push(line);
      return line;
    });
    this.edges.clear();
    this.nodes.clear();
    this.nodes.add(scene.items.map((item, id) => ({
      id, x: item.x, y: item.y, size: item.radius, color: this.styleOf(item),
      borderWidth: item.isStrong ? 2.5 : item.kind === "entity" ? 1.5 : 1.2,
      shapeProperties: { borderDashes: item.kind === "alone" ? [5, 5] : false },
    })));
    this.edges.add(lines);
    if (fitting) this.fit(false);
  }
  #lineStyle(one, other, share) {
    const isDots = one.kind === "entity" && other.kind === "entity", isInside = one.colour === other.colour;
    return {
      width: (isDots ? 0.8 : 1) + (isDots ? 5 : 8) * Math.sqrt(share),
      color: { color: isInside ? one.colour : ALONE, opacity: isDots ? (isInside ? 0.5 : 0.2) : 0.24 },
    };
  }
  colourBy(colouring) {
    this.colouring = colouring;
    this.retheme();
  }
  colourOf(item) {
    return (this.colouring === "type" && item.typeColour) || item.colour;
  }
  choose(at) {
    this.chosen = at;
    this.network.redraw();
  }
  styleOf(item) {
    const colour = this.colourOf(item);
    if (item.kind === "entity") return { background: colour, border: item.isStrong ? this.theme.ink : this.theme.ground };
    return { background: this.#mixed(colour, this.dark ? 0.24 : 0.14), border: this.#mixed(colour, this.dark ? 0.62 : 0.5) };
  }
  #mixed(colour, share) {
    const part = (from, at) => parseInt(from.slice(1 + 2 * at, 3 + 2 * at), 16);
    const { ground } = this.theme;
    return `#${[0, 1, 2].map((at) => Math.round(part(colour, at) * share + part(ground, at) * (1 - share))
      .toString(16).padStart(2, "0")).join("")}`;
  }
  #readTheme() {
    const style = getComputedStyle(this.box);
    for (const name of ["ground", "ink", "soft"]) this.theme[name] = style.getPropertyValue(`--${name}`).trim();
    this.dark = style.getPropertyValue("--is-dark").trim() === "1";
  }
  retheme() {
    this.#readTheme();
    this.nodes.update(this.scene.items.map((item, id) => ({ id, color: this.styleOf(item) })));
    this.network.redraw();
  }
  // ── what part of it is seen ──
  fit(animated) {
    if (this.#ending.signal.aborted) return;
    const box = this.box.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const { items, territories } = this.scene, discs = [...items, ...territories];
    const edge = (pick, side) => (discs.length ? pick(...discs.map(side)) : pick(-100, 100));
    const left = edge(Math.min, (one) => one.x - one.radius), right = edge(Math.max, (one) => one.x + one.radius);
    const top = edge(Math.min, (one) => one.y - one.radius), bottom = edge(Math.max, (one) => one.y + one.radius);
    const inset = this.told.inset?.() ?? { head: 0, foot: 0 }, isRoomy = box.height > 420;
    const side = Math.min(40, box.width * 0.05), foot = (isRoomy ? 44 : 22) + inset.foot;
    const head = (isRoomy ? 26 : 16) + inset.head + (territories.length ? 18 : 0);
    const most = items.some((item) => item.kind !== "entity") ? 2.6 : 2;
    const scale = Math.min((box.width - 2 * side) / (right - left), (box.height - head - foot) / (bottom - top), most);
    const position = { x: (left + right) / 2, y: (top + bottom) / 2 - (head - foot) / 2 / scale };
    const animation = { duration: 380, easingFunction: "easeInOutCubic" };
    this.network.moveTo(animated && !still.matches ? { position, scale, animation } : { position, scale });
  }
  zoomBy(factor) {
    this.network.moveTo({
      scale: Math.min(8, Math.max(0.05, this.network.getScale() * factor)),
      animation: still.matches ? false : { duration: 200, easingFunction: "easeInOutQuad" },
    });
  }
  // Bring an item into sight where it is not.
  reveal(at) {
    const item = this.scene.items[at], spot = item && this.network.canvasToDOM({ x: item.x, y: item.y });
    const { width, height } = this.box.getBoundingClientRect();
    const isSeen = !spot || (spot.x >= 30 && spot.y >= 50 && spot.x <= width - 30 && spot.y <= height - 40);
    if (!isSeen) this.network.moveTo({ position: { x: item.x, y: item.y } });
  }
  // Items with their places in window pixels.
  places() {
    const box = this.box.getBoundingClientRect(), scale = this.network.getScale();
    return this.scene.items.map((item) => {
      const { x, y } = this.network.canvasToDOM({ x: item.x, y: item.y });
      return { kind: item.kind, title: item.title, colour: this.colourOf(item), x: x + box.x, y: y + box.y, radius: item.radius * scale };
    });
  }
  // ── what is under the pointer, and what is next ──
  find(kind, id) {
    return this.scene.items.findIndex((item) => item.kind === kind && item.id === id);
  }
  #pointed(event) {
    const box = this.box.getBoundingClientRect();
    return this.network.DOMtoCanvas({ x: event.clientX - box.x, y: event.clientY - box.y });
  }
  // Dots before bubbles, small before large.
  #itemAt(point) {
    let best = -1;
    const slack = 3 / this.network.getScale(), { items } = this.scene;
    items.forEach((item, at) => {
      if (Math.hypot(item.x - point.x, item.y - point.y) > item.radius + slack) return;
      if (best < 0 || item.radius < items[best].radius) best = at;
    });
    return best;
  }
  // The next item in a direction: near, and rather straight ahead than aside.
  #nextItem(from, stepX, stepY) {
    const { items } = this.scene;
    if (!items.length) return -1;
    if (from < 0) return items.reduce((best, item, at) => (item.radius > items[best].radius ? at : best), 0);
    let best = -1, least = Infinity;
    items.forEach((item, at) => {
      const x = item.x - items[from].x, y = item.y - items[from].y;
      const ahead = x * stepX + y * stepY, aside = Math.abs(x * stepY) + Math.abs(y * stepX);
      if (at === from || ahead <= 0 || aside > ahead * 2.5) return;
      const cost = ahead + 2 * aside;
      if (cost < least) { least = cost; best = at; }
    });
    return best < 0 ? from : best;
  }
  // The browser's own clicks: vis-network's come late, when another scene may be drawn already.
  #listen() {
    const { box, told } = this;
    let pressed = { clientX: 0, clientY: 0 };
    const under = (event) => {
      const point = this.#pointed(event), at = this.#itemAt(point);
      const isIn = (one) => Math.hypot(one.x - point.x, one.y - point.y) < one.radius;
      return [at, at < 0 ? this.scene.territories.find(isIn) : undefined];
    };
    box.addEventListener("pointerdown", (event) => { pressed = event; });
    box.addEventListener("click", (event) => {
      const isDrag = Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) > 6;
      if (!isDrag && event.detail <= 1) told.onPress(...under(event));
    });
    box.addEventListener("dblclick", (event) => told.onOpen(...under(event)));
    box.addEventListener("keydown", (event) => this.#onKey(event));
    box.addEventListener("mousemove", (event) => this.#onMove(event));
    box.addEventListener("mouseleave", () => {
      this.hovered = -1;
      this.tip.hidden = true;
      this.network.redraw();
    });
    const { signal } = this.#ending;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.retheme(), { signal });
    const sizes = new ResizeObserver(() => requestAnimationFrame(() => this.fit(false)));
    sizes.observe(box);
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      this.network.destroy();
    });
  }
  end() {
    this.#ending.abort();
  }
  #onKey(event) {
    const step = STEPS[event.key];
    if (step) {
      event.preventDefault();
      const at = this.#nextItem(this.chosen, ...step);
      if (at >= 0) this.told.onStep(at);
    } else if (event.key === "Enter" && this.chosen >= 0) {
      event.preventDefault();
      this.told.onOpen(this.chosen);
    } else this.zoomByKey(event);
  }
  zoomByKey({ key, ctrlKey, metaKey, altKey }) {
    if (ctrlKey || metaKey || altKey) return;
    if (key === "0") this.fit(true);
    else if (key === "+" || key === "=") this.zoomBy(1.4);
    else if (key === "-") this.zoomBy(1 / 1.4);
  }
  #onMove(event) {
    const { box, tip } = this, at = event.buttons ? -1 : this.#itemAt(this.#pointed(event));
    if (at !== this.hovered) {
      this.hovered = at;
      this.network.redraw();
    }
    box.style.cursor = at >= 0 ? "pointer" : "";
    tip.hidden = at < 0;
    if (at < 0) return;
    const { width, height, x, y } = box.getBoundingClientRect();
    tip.textContent = this.told.tipOf(this.scene.items[at]);
    tip.style.left = `${Math.min(event.clientX - x, Math.max(0, width - tip.offsetWidth - 24))}px`;
    tip.style.top = `${event.clientY - y - (event.clientY - y > height - 60 ? 52 : 0)}px`;
  }
}
