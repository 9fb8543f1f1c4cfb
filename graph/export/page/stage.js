// ── stage: the canvas; vis-network draws discs and lines, labels and the focus are drawn over it ──
const canvasBox = find("mynetwork"), tip = find("tip");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const stage = { named: [], scene: { items: [], links: [], territories: [] }, chosen: -1, hovered: -1, theme: {}, dark: false, wraps: new Map() };

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "surface", "ink", "soft"]) stage.theme[name] = style.getPropertyValue(`--${name}`).trim();
  stage.dark = style.getPropertyValue("--is-dark").trim() === "1";
}
function mixed(colour, share) {
  const part = (from, at) => parseInt(from.slice(1 + 2 * at, 3 + 2 * at), 16);
  const ground = stage.theme.ground;
  return `#${[0, 1, 2].map((at) => Math.round(part(colour, at) * share + part(ground, at) * (1 - share))
    .toString(16).padStart(2, "0")).join("")}`;
}
// What an answer names, or a part of the graph is around.
const isStrong = (item) => item.kind === "entity" && first.strong.includes(item.id);
function styleOf(item) {
  const isDot = item.kind === "entity";
  return {
    background: isDot ? item.colour : mixed(item.colour, stage.dark ? 0.24 : 0.14),
    border: isDot ? (isStrong(item) ? stage.theme.ink : stage.theme.ground) : mixed(item.colour, stage.dark ? 0.62 : 0.5),
  };
}
// An entity's colour: its community's in this scene, or its type's.
function colourEntities(scene) {
  for (const item of scene.items.filter((one) => one.kind === "entity")) {
    item.community ??= item.colour;
    item.colour = state.colouring === "type" ? state.tables.colourOf(item.id) : item.community;
  }
}
function put(scene, { fitting = true } = {}) {
  colourEntities(scene);
  Object.assign(stage, { scene, chosen: -1, hovered: -1 });
  stage.wraps.clear();
  tip.hidden = true;
  const heaviest = Math.max(...scene.links.map((link) => link[2]), 1e-9);
  scene.near = scene.items.map(() => []);
  const drawn = scene.links.map(([a, b, weight], id) => {
    const inside = (scene.items[a].community ?? scene.items[a].colour) === (scene.items[b].community ?? scene.items[b].colour);
    const isDots = scene.items[a].kind === "entity" && scene.items[b].kind === "entity";
    const line = {
      id, from: a, to: b, width: (isDots ? 0.8 + 5 * Math.sqrt(weight / heaviest) : 1 + 8 * Math.sqrt(weight / heaviest)),
      color: { color: inside ? scene.items[a].community ?? scene.items[a].colour : first.alone_colour, opacity: isDots ? (inside ? 0.5 : 0.2) : 0.24 },
    };
    scene.near[a].push(line);
    scene.near[b].push(line);
    return line;
  });
  edges.clear();
  nodes.clear();
  nodes.add(scene.items.map((item, id) => ({
    id, x: item.x, y: item.y, size: item.radius, color: styleOf(item), borderWidth: isStrong(item) ? 2.5 : item.kind === "entity" ? 1.5 : 1.2,
    shapeProperties: { borderDashes: item.kind === "alone" ? [5, 5] : false },
  })));
  edges.add(drawn);
  if (fitting) fit(false);
}
function retheme() {
  readTheme();
  nodes.update(stage.scene.items.map((item, id) => ({ id, color: styleOf(item) })));
  network.redraw();
}
function bounds() {
  const discs = [...stage.scene.items, ...stage.scene.territories];
  if (!discs.length) return { left: -100, right: 100, top: -100, bottom: 100 };
  return {
    left: Math.min(...discs.map((one) => one.x - one.radius)), right: Math.max(...discs.map((one) => one.x + one.radius)),
    top: Math.min(...discs.map((one) => one.y - one.radius)), bottom: Math.max(...discs.map((one) => one.y + one.radius)),
  };
}
function fit(animated) {
  const { left, right, top, bottom } = bounds(), box = canvasBox.getBoundingClientRect();
  if (!box.width || !box.height) return;
  const isRoomy = box.height > 420, isKeyed = !find("type-key").hidden, hasBubbles = stage.scene.items.some((item) => item.kind !== "entity");
  const side = Math.min(40, box.width * 0.05), foot = (isRoomy ? 44 : 22) + (isKeyed ? 30 : 0);
  const head = (isRoomy ? 26 : 16) + (state.trail.length > 1 ? 40 : 0) + (stage.scene.territories.length ? 18 : 0);
  const scale = Math.min((box.width - 2 * side) / (right - left), (box.height - head - foot) / (bottom - top), hasBubbles ? 2.6 : 2);
  const position = { x: (left + right) / 2, y: (top + bottom) / 2 - (head - foot) / 2 / scale };
  if (animated && !still.matches) network.moveTo({ position, scale, animation: { duration: 380, easingFunction: "easeInOutCubic" } });
  else network.moveTo({ position, scale });
}
const zoomBy = (factor) => network.moveTo({
  scale: Math.min(8, Math.max(0.05, network.getScale() * factor)),
  animation: still.matches ? false : { duration: 200, easingFunction: "easeInOutQuad" },
});

// Which item is at a point: dots before bubbles, small before large.
function itemAt(point) {
  let best = -1;
  const slack = 3 / network.getScale(), { items } = stage.scene;
  items.forEach((item, at) => {
    if (Math.hypot(item.x - point.x, item.y - point.y) > item.radius + slack) return;
    if (best < 0 || item.radius < items[best].radius) best = at;
  });
  return best;
}
const territoryAt = (point) => stage.scene.territories.find((one) => Math.hypot(one.x - point.x, one.y - point.y) < one.radius);

// The next item in a direction: near, and rather straight ahead than aside.
function nextItem(from, stepX, stepY) {
  const { items } = stage.scene;
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

// ── what is drawn by hand ──────────────────────────────────────────────────────────────────────
function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}
const rightToLeft = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
function write(context, string, x, y, colour, halo) {
  context.direction = rightToLeft.test(string) ? "rtl" : "ltr";
  context.lineJoin = "round";
  context.strokeStyle = halo ?? stage.theme.ground;
  context.strokeText(string, x, y);
  context.fillStyle = colour;
  context.fillText(string, x, y);
}
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const plain = (string) => string.slice(0, 400).replace(/[\p{C}\p{Z}\s]+/gu, " ").trim();
function shortened(context, string, width) {
  if (context.measureText(string).width <= width) return string;
  const parts = [...graphemes.segment(string)].map((part) => part.segment);
  while (parts.length > 1 && context.measureText(`${parts.join("")}…`).width > width) parts.pop();
  return `${parts.join("").trimEnd()}…`;
}
// Words in lines no wider than `width`; Chinese may break anywhere. What is too much ends in "…".
function wrapped(context, string, width, most) {
  const pieces = string.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}、，。：；！？（）《》]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}、，。：；！？（）《》]+|\s+/gu) ?? [];
  const lines = [""];
  for (const [turn, piece] of pieces.entries()) {
    const longer = lines.at(-1) + (lines.at(-1) ? piece : piece.trimStart());
    if (context.measureText(longer).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else if (lines.length < most) lines.push(piece.trimStart());
    else {
      lines[lines.length - 1] = shortened(context, lines.at(-1) + pieces.slice(turn).join(""), width);
      break;
    }
  }
  return lines.map((line) => shortened(context, line.trim(), width)).filter(Boolean);
}
const family = '-apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", system-ui, sans-serif';
function place(taken, box) {
  if (taken.some((one) => one[0] < box[2] && box[0] < one[2] && one[1] < box[3] && box[1] < one[3])) return false;
  taken.push(box);
  return true;
}
function isOver(item, [left, top, right, bottom]) {
  const x = Math.max(left, Math.min(item.x, right)), y = Math.max(top, Math.min(item.y, bottom));
  return Math.hypot(item.x - x, item.y - y) < item.radius;
}
function drawTerritories(context) {
  for (const one of stage.scene.territories) {
    disc(context, one.x, one.y, one.radius);
    context.fillStyle = context.strokeStyle = one.colour;
    context.globalAlpha = stage.dark ? 0.12 : 0.07;
    context.fill();
    context.globalAlpha = 0.3;
    context.lineWidth = 1.2 / network.getScale();
    context.stroke();
    context.globalAlpha = 1;
  }
}
// What is inside a bubble, faintly: its parts, or the entities that weigh most.
function inside(tables, item) {
  if (item.inner) return item.inner;
  const parts = item.kind === "bubble" ? tables.children[item.id] : [];
  const rows = item.kind === "bubble" ? tables.members(item.id) : tables.alone;
  const sizes = parts.length
    ? parts.slice(0, 24).map((part) => Math.sqrt(tables.communities.size[part]) + 0.4)
    : rows.slice(0, 30).map((row) => (item.kind === "bubble" ? 0.5 + Math.sqrt(tables.weight[row] / tables.weight[rows[0]]) : 0.6));
  const spots = pack(sizes.map((size) => size * 1.12), []);
  const reach = Math.max(...spots.map(([x, y], at) => Math.hypot(x, y) + sizes[at]), 1e-9);
  const share = item.radius * 0.9 / reach;
  item.inner = spots.map(([x, y], at) => [x * share, y * share, Math.min(sizes[at] * share, item.radius * 0.55)]);
  return item.inner;
}
function drawInside(context, item) {
  if (!state.tables || item.radius * network.getScale() < 22) return;
  context.fillStyle = item.colour;
  context.globalAlpha = stage.dark ? 0.2 : 0.13;
  for (const [x, y, radius] of inside(state.tables, item)) {
    disc(context, item.x + x, item.y + y, radius);
    context.fill();
  }
  context.globalAlpha = 1;
}
// A title inside a bubble: smaller where a word would not fit, never smaller than can be read.
function titleLines(context, item) {
  const scale = network.getScale(), across = item.radius * scale, title = plain(item.title), width = item.radius * 1.66;
  let size = Math.min(19, Math.max(10.5, across * 0.185));
  context.font = `620 ${size / scale}px ${family}`;
  const longest = Math.max(0, ...title.split(" ").filter((word) => /^[\p{L}\p{P}\p{N}]{2,16}$/u.test(word) && !/\p{Script=Han}/u.test(word))
    .map((word) => context.measureText(word).width));
  if (longest > width) size = Math.max(9.5, size * width / longest);
  context.font = `620 ${size / scale}px ${family}`;
  return { lines: wrapped(context, title, width, across < 38 ? 2 : across < 60 ? 3 : 4), size };
}
function drawBubbleText(context, item, at) {
  const scale = network.getScale(), across = item.radius * scale;
  if (across < 27) return false;
  const key = `${at} ${Math.round(across * 2)}`;
  if (stage.wraps.size > 2000) stage.wraps.clear();
  if (!stage.wraps.has(key)) stage.wraps.set(key, titleLines(context, item));
  const { lines, size } = stage.wraps.get(key);
  context.font = `620 ${size / scale}px ${family}`;
  const step = size * 1.22 / scale, label = across > 34 ? figure(item.held) : "";
  const height = lines.length * step + (label ? step * 0.95 : 0);
  let y = item.y - height / 2 + step / 2;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4.5 / scale;
  const halo = styleOf(item).background;
  for (const line of lines) { write(context, line, item.x, y, stage.theme.ink, halo); y += step; }
  if (label) {
    context.font = `400 ${size * 0.82 / scale}px ${family}`;
    write(context, label, item.x, y, stage.theme.soft, halo);
  }
  return true;
}
function drawBelow(context, item, taken, { least, strong }) {
  const scale = network.getScale();
  const wanted = item.kind === "entity" ? (8 + item.radius * 0.5) * Math.sqrt(scale) : 10.5;
  const size = Math.min(Math.max(wanted, least), 18) / scale;
  if (size * scale < 8.5) return;
  context.font = `${strong ? 650 : 420} ${size}px ${family}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineWidth = 3.5 / scale;
  item.caption ??= shortened(context, plain(item.title), size * 15);
  const half = context.measureText(item.caption).width / 2, away = item.radius + 2.5 / scale;
  for (const top of [item.y + away, item.y - away - size]) {
    const box = [item.x - half, top, item.x + half, top + size];
    if (stage.scene.items.some((other) => other !== item && other.kind !== "entity" && isOver(other, box))) continue;
    if (!place(taken, box)) continue;
    write(context, item.caption, item.x, top, item.kind === "entity" ? stage.theme.ink : stage.theme.soft);
    return;
  }
}
function drawTitles(context, taken) {
  const scale = network.getScale();
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.lineWidth = 4 / scale;
  for (const one of stage.scene.territories) {
    const width = one.radius * 2;
    if (width * scale < 56) continue;
    const size = Math.min(16, 10.5 + width * scale / 90) / scale;
    context.font = `640 ${size}px ${family}`;
    const title = shortened(context, plain(one.title), Math.max(width * 1.1, 120 / scale));
    const half = context.measureText(title).width / 2, bottom = one.y - one.radius - 3 / scale;
    if (place(taken, [one.x - half, bottom - size, one.x + half, bottom])) write(context, title, one.x, bottom, stage.theme.ink);
  }
}
// What the lines around the chosen entity are called, along each line where it is long enough.
function drawNames(context, lines, taken) {
  stage.named = [];
  if (!state.tables) return;
  const { items } = stage.scene, scale = network.getScale(), size = 11 / scale, a = items[stage.chosen];
  context.font = `italic 420 ${size}px ${family}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3 / scale;
  for (const line of lines) {
    const b = items[line.from === stage.chosen ? line.to : line.from];
    const name = b.kind === "entity" ? state.tables.nameBetween(a.id, b.id) : null;
    const room = Math.hypot(b.x - a.x, b.y - a.y) - a.radius - b.radius - 8 / scale;
    if (!name || room < size * 4) continue;
    const isRight = b.x >= a.x, words = shortened(context, plain(name.text), room - size * 1.6);
    const text = (name.from === a.id) === isRight ? `${words} →` : `← ${words}`;
    const start = a.radius + 4 / scale, whole = room + start + b.radius + 4 / scale;
    const spots = [0.5, 0.65, 0.35].map((part) => (start + room * part) / whole)
      .map((share) => [a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share]);
    const spot = spots.find(([x, y]) => place(taken, [x - size, y - size * 0.6, x + size, y + size * 0.6]));
    if (!spot) continue;
    const [x, y] = spot;
    context.save();
    context.translate(x, y);
    context.rotate(Math.atan2(isRight ? b.y - a.y : a.y - b.y, isRight ? b.x - a.x : a.x - b.x));
    write(context, text, 0, 0, stage.theme.ink);
    context.restore();
    stage.named.push(text);
  }
}
function drawFocus(context) {
  const { items, near } = stage.scene, scale = network.getScale();
  const strong = stage.chosen >= 0 ? [stage.chosen] : [];
  const lines = strong.length ? near[stage.chosen] : stage.hovered >= 0 ? near[stage.hovered] : [];
  const isDots = strong.length > 0 && items[stage.chosen].kind === "entity";
  if (isDots) {
    const corner = network.DOMtoCanvas({ x: -50, y: -50 }), far = network.DOMtoCanvas({ x: innerWidth + 50, y: innerHeight + 50 });
    context.globalAlpha = 0.78;
    context.fillStyle = stage.theme.ground;
    context.fillRect(corner.x, corner.y, far.x - corner.x, far.y - corner.y);
    context.globalAlpha = 1;
  }
  const around = new Set(strong);
  for (const line of lines) {
    around.add(line.from).add(line.to);
    if (!isDots) continue;
    const a = items[line.from], b = items[line.to];
    context.globalAlpha = 0.7;
    context.strokeStyle = line.color.color;
    context.lineWidth = Math.max(line.width, 1.2 / scale);
    context.beginPath();
    context.moveTo(a.x, a.y);
    context.lineTo(b.x, b.y);
    context.stroke();
    context.globalAlpha = 1;
  }
  const taken = [];
  if (isDots) {
    const order = [...around].sort((a, b) => (b === stage.chosen) - (a === stage.chosen) || a - b);
    for (const at of order) {
      disc(context, items[at].x, items[at].y, items[at].radius);
      context.fillStyle = items[at].colour;
      context.fill();
    }
    for (const at of order) drawBelow(context, items[at], taken, { least: 12, strong: at === stage.chosen });
    drawNames(context, lines, taken);
  } else if (lines.length) {
    for (const at of around) {
      disc(context, items[at].x, items[at].y, items[at].radius + 2.5 / scale);
      context.strokeStyle = items[at].colour;
      context.lineWidth = 1.6 / scale;
      context.stroke();
    }
  }
  if (strong.length) {
    const item = items[stage.chosen];
    disc(context, item.x, item.y, item.radius + 4 / scale);
    context.strokeStyle = stage.theme.ink;
    context.lineWidth = 2.4 / scale;
    context.stroke();
  }
}
function drawOver(context) {
  const { items } = stage.scene, taken = [], lately = [];
  drawTitles(context, taken);
  const occupy = (item, half) => taken.push([item.x - half, item.y - half, item.x + half, item.y + half]);
  items.forEach((item, at) => {
    if (item.kind === "entity") { lately.push(item); return; }
    drawInside(context, item);
    if (!drawBubbleText(context, item, at)) lately.push(item);
  });
  const low = network.DOMtoCanvas({ x: -80, y: -30 }), high = network.DOMtoCanvas({ x: innerWidth + 80, y: innerHeight + 30 });
  // Names of heavy entities may lie over light ones, not the other way round.
  for (const item of lately.sort((a, b) => isStrong(b) - isStrong(a))) {
    if (item.kind === "entity") occupy(item, item.radius * 0.6);
    if (item.x < low.x || item.x > high.x || item.y < low.y || item.y > high.y) continue;
    drawBelow(context, item, taken, { least: 0, strong: isStrong(item) });
  }
  drawFocus(context);
  if (!document.documentElement.dataset.drawn) {
    document.documentElement.dataset.drawn = String(items.length);
    performance.mark("graph-drawn");
  }
}
network.on("beforeDrawing", drawTerritories);
network.on("afterDrawing", drawOver);

function pointed(event) {
  const box = canvasBox.getBoundingClientRect();
  return network.DOMtoCanvas({ x: event.clientX - box.x, y: event.clientY - box.y });
}
canvasBox.addEventListener("mousemove", (event) => {
  const at = event.buttons ? -1 : itemAt(pointed(event));
  if (at !== stage.hovered) {
    stage.hovered = at;
    network.redraw();
  }
  canvasBox.style.cursor = at >= 0 ? "pointer" : "";
  tip.hidden = at < 0;
  if (at < 0) return;
  const item = stage.scene.items[at], box = canvasBox.getBoundingClientRect();
  tip.textContent = item.kind === "entity" && state.tables
    ? `${item.title} · ${kindName(state.tables.types[state.tables.type[item.id]])}` : `${item.title} · ${entityCount(item.held ?? 1)}`;
  const x = event.clientX - box.x, y = event.clientY - box.y;
  tip.style.left = `${Math.min(x, Math.max(0, box.width - tip.offsetWidth - 24))}px`;
  tip.style.top = `${y > box.height - 60 ? y - 52 : y}px`;
});
canvasBox.addEventListener("mouseleave", () => {
  stage.hovered = -1;
  tip.hidden = true;
  network.redraw();
});
