// ── paint: what is drawn over vis-network's discs and lines: titles, names, territories, the focus ──
// A `view` is a `Drawing`: its network, scene, theme, and what is chosen. Captions never meet.
import { pack } from "./pack.js";

export const figure = (value) => value.toLocaleString("en");
function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}
const rightToLeft = /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
function write(view, context, string, x, y, colour, halo) {
  context.direction = rightToLeft.test(string) ? "rtl" : "ltr";
  context.lineJoin = "round";
  context.strokeStyle = halo ?? view.theme.ground;
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
const meet = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
function place(taken, boxes) {
  if (boxes.some((box) => taken.some((one) => meet(one, box)))) return false;
  taken.push(...boxes);
  return true;
}
function occupy(taken, item, share = 0.6) {
  const half = item.radius * share;
  taken.push([item.x - half, item.y - half, item.x + half, item.y + half]);
}
function isOver(item, [left, top, right, bottom]) {
  const x = Math.max(left, Math.min(item.x, right)), y = Math.max(top, Math.min(item.y, bottom));
  return Math.hypot(item.x - x, item.y - y) < item.radius;
}
export function drawTerritories(view, context) {
  for (const one of view.scene.territories) {
    disc(context, one.x, one.y, one.radius);
    context.fillStyle = context.strokeStyle = one.colour;
    context.globalAlpha = view.dark ? 0.12 : 0.07;
    context.fill();
    context.globalAlpha = 0.3;
    context.lineWidth = 1.2 / view.network.getScale();
    context.stroke();
    context.globalAlpha = 1;
  }
}
// What is inside a bubble, faintly: its parts, or the entities that weigh most.
function inside(scene, item) {
  if (item.inner) return item.inner;
  const sizes = scene.sizesInside(item);
  const spots = pack(sizes.map((size) => size * 1.12), []);
  const reach = Math.max(...spots.map(([x, y], at) => Math.hypot(x, y) + sizes[at]), 1e-9);
  const share = item.radius * 0.9 / reach;
  item.inner = spots.map(([x, y], at) => [x * share, y * share, Math.min(sizes[at] * share, item.radius * 0.55)]);
  return item.inner;
}
function drawInside(view, context, item) {
  if (!view.scene.sizesInside || item.radius * view.network.getScale() < 22) return;
  context.fillStyle = item.colour;
  context.globalAlpha = view.dark ? 0.2 : 0.13;
  for (const [x, y, radius] of inside(view.scene, item)) {
    disc(context, item.x + x, item.y + y, radius);
    context.fill();
  }
  context.globalAlpha = 1;
}
// A title inside a bubble: smaller where a word would not fit, never smaller than can be read.
function titleLines(view, context, item) {
  const scale = view.network.getScale(), across = item.radius * scale, title = plain(item.title), width = item.radius * 1.66;
  let size = Math.min(19, Math.max(10.5, across * 0.185));
  context.font = `620 ${size / scale}px ${family}`;
  const longest = Math.max(0, ...title.split(" ").filter((word) => /^[\p{L}\p{P}\p{N}]{2,16}$/u.test(word) && !/\p{Script=Han}/u.test(word))
    .map((word) => context.measureText(word).width));
  if (longest > width) size = Math.max(9.5, size * width / longest);
  context.font = `620 ${size / scale}px ${family}`;
  return { lines: wrapped(context, title, width, across < 38 ? 2 : across < 60 ? 3 : 4), size };
}
function drawBubbleText(view, context, item, at) {
  const scale = view.network.getScale(), across = item.radius * scale;
  if (across < 27) return false;
  const key = `${at} ${Math.round(across * 2)}`;
  if (view.wraps.size > 2000) view.wraps.clear();
  if (!view.wraps.has(key)) view.wraps.set(key, titleLines(view, context, item));
  const { lines, size } = view.wraps.get(key);
  context.font = `620 ${size / scale}px ${family}`;
  const step = size * 1.22 / scale, label = across > 34 ? figure(item.held) : "";
  const height = lines.length * step + (label ? step * 0.95 : 0);
  let y = item.y - height / 2 + step / 2;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4.5 / scale;
  const halo = view.styleOf(item).background;
  for (const line of lines) { write(view, context, line, item.x, y, view.theme.ink, halo); y += step; }
  if (label) {
    context.font = `400 ${size * 0.82 / scale}px ${family}`;
    write(view, context, label, item.x, y, view.theme.soft, halo);
  }
  return true;
}
// A caption below or above its item, where there is room for it; null where there is none.
function captionOf(view, context, item, taken, { least, strong, must = false }) {
  const scale = view.network.getScale();
  const wanted = item.kind === "entity" ? (8 + item.radius * 0.5) * Math.sqrt(scale) : 10.5;
  const size = Math.min(Math.max(wanted, least), 18) / scale;
  if (size * scale < 8.5) return null;
  const font = `${strong ? 650 : 420} ${size}px ${family}`;
  context.font = font;
  const text = shortened(context, plain(item.title), size * 15);
  const half = context.measureText(text).width / 2, away = item.radius + 2.5 / scale;
  for (const top of [item.y + away, item.y - away - size]) {
    const box = [item.x - half, top, item.x + half, top + size];
    if (view.scene.items.some((other) => other !== item && other.kind !== "entity" && isOver(other, box))) continue;
    const fits = place(taken, [box]);
    if (!fits && must) taken.push(box);
    if (fits || must) return { font, text, x: item.x, y: top, bottom: top + size, colour: item.kind === "entity" ? view.theme.ink : view.theme.soft };
  }
  return null;
}
function writeCaption(view, context, caption) {
  if (!caption) return;
  const { font, text, x, y, colour } = caption;
  context.font = font;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineWidth = 3.5 / view.network.getScale();
  write(view, context, text, x, y, colour);
}
function drawTitles(view, context, taken) {
  const scale = view.network.getScale();
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.lineWidth = 4 / scale;
  for (const one of view.scene.territories) {
    const width = one.radius * 2;
    if (width * scale < 56) continue;
    const size = Math.min(16, 10.5 + width * scale / 90) / scale;
    context.font = `640 ${size}px ${family}`;
    const title = shortened(context, plain(one.title), Math.max(width * 1.1, 120 / scale));
    const half = context.measureText(title).width / 2, bottom = one.y - one.radius - 3 / scale;
    if (place(taken, [[one.x - half, bottom - size, one.x + half, bottom]])) write(view, context, title, one.x, bottom, view.theme.ink);
  }
}
// What the lines around the chosen entity are called: along each line where there is room, else under
// the name at its other end.
function namesOf(view, context, lines, taken, captions) {
  const { items, lineName } = view.scene, scale = view.network.getScale(), size = 11 / scale, a = items[view.chosen];
  const font = `italic 420 ${size}px ${family}`, found = [];
  context.font = font;
  for (const line of lineName ? lines : []) {
    const end = line.from === view.chosen ? line.to : line.from, b = items[end];
    const name = b.kind === "entity" ? lineName(a.id, b.id) : null;
    if (!name) continue;
    const length = Math.hypot(b.x - a.x, b.y - a.y), room = length - a.radius - b.radius - 8 / scale, isRight = b.x >= a.x;
    const textIn = (width) => {
      const words = shortened(context, plain(name.text), Math.min(width, size * 16));
      return (name.from === a.id) === isRight ? `${words} →` : `← ${words}`;
    };
    const along = room < size * 4 ? null : alongLine(context, { a, b, length, size, text: textIn(room - size * 1.6) }, taken);
    const spot = along ?? underCaption(context, { caption: captions.get(end), size, text: textIn(size * 12) }, taken);
    if (spot) found.push({ font, ...spot });
  }
  return found;
}
function underCaption(context, { caption, size, text }, taken) {
  if (!caption) return null;
  const half = context.measureText(text).width / 2;
  for (const y of [caption.bottom + size * 0.6, caption.y - size * 0.6]) {
    const box = [caption.x - half, y - size * 0.5, caption.x + half, y + size * 0.5];
    if (place(taken, [box])) return { text, x: caption.x, y, angle: 0 };
  }
  return null;
}
function alongLine(context, { a, b, length, size, text }, taken) {
  const isRight = b.x >= a.x, scale = 11 / size;
  const [stepX, stepY] = [(b.x - a.x) / length, (b.y - a.y) / length], half = context.measureText(text).width / 2;
  const near = a.radius + 4 / scale + half, far = length - b.radius - 4 / scale - half;
  for (const share of [0.5, 0.75, 0.25, 1, 0]) {
    const middle = near + (far - near) * share, x = a.x + stepX * middle, y = a.y + stepY * middle;
    if (!place(taken, boxesAlong(x, y, stepX, stepY, half, size))) continue;
    return { text, x, y, angle: Math.atan2(isRight ? stepY : -stepY, isRight ? stepX : -stepX) };
  }
  return null;
}
// Small boxes that cover a text which runs along a line.
function boxesAlong(x, y, stepX, stepY, half, size) {
  const number = Math.max(1, Math.ceil(2 * half / size)), reach = size * 0.55;
  return Array.from({ length: number }, (_, turn) => {
    const from = number === 1 ? 0 : -half + reach + turn * 2 * (half - reach) / (number - 1);
    return [x + stepX * from - reach, y + stepY * from - reach, x + stepX * from + reach, y + stepY * from + reach];
  });
}
function writeName(view, context, { text, font, x, y, angle }) {
  context.font = font;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3 / view.network.getScale();
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  write(view, context, text, 0, 0, view.theme.ink);
  context.restore();
}
// What stands around the chosen entity, with the places of its captions; null where none is chosen.
function focusOf(view, context, taken) {
  const { items, near } = view.scene;
  if (view.chosen < 0 || items[view.chosen].kind !== "entity") return null;
  const lines = near[view.chosen], around = new Set([view.chosen]);
  for (const line of lines) around.add(line.from).add(line.to);
  const order = [...around].sort((a, b) => (b === view.chosen) - (a === view.chosen) || a - b);
  for (const at of order) occupy(taken, items[at]);
  const captions = order.map((at) => captionOf(view, context, items[at], taken, { least: 12, strong: at === view.chosen, must: at === view.chosen }));
  const captionAt = new Map(order.map((at, turn) => [at, captions[turn]]));
  return { lines, order, captions, names: namesOf(view, context, lines, taken, captionAt) };
}
function drawFocus(view, context, { lines, order, captions, names }) {
  const { items } = view.scene, scale = view.network.getScale();
  const corner = view.network.DOMtoCanvas({ x: -50, y: -50 }), far = view.network.DOMtoCanvas({ x: innerWidth + 50, y: innerHeight + 50 });
  context.globalAlpha = 0.78;
  context.fillStyle = view.theme.ground;
  context.fillRect(corner.x, corner.y, far.x - corner.x, far.y - corner.y);
  context.globalAlpha = 0.7;
  for (const line of lines) {
    context.strokeStyle = line.color.color;
    context.lineWidth = Math.max(line.width, 1.2 / scale);
    context.beginPath();
    context.moveTo(items[line.from].x, items[line.from].y);
    context.lineTo(items[line.to].x, items[line.to].y);
    context.stroke();
  }
  context.globalAlpha = 1;
  for (const at of order) {
    disc(context, items[at].x, items[at].y, items[at].radius);
    context.fillStyle = view.colourOf(items[at]);
    context.fill();
  }
  for (const caption of captions) writeCaption(view, context, caption);
  for (const name of names) writeName(view, context, name);
}
function ring(context, item, { away, width, colour }) {
  disc(context, item.x, item.y, item.radius + away);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}
export function drawOver(view, context) {
  const { items, near } = view.scene, scale = view.network.getScale(), taken = [], lately = [];
  const focus = focusOf(view, context, taken);
  view.named = focus ? focus.names.map((name) => name.text) : [];
  drawTitles(view, context, taken);
  items.forEach((item, at) => {
    if (item.kind === "entity") { lately.push(item); return; }
    drawInside(view, context, item);
    if (!drawBubbleText(view, context, item, at)) lately.push(item);
  });
  const low = view.network.DOMtoCanvas({ x: -80, y: -30 }), high = view.network.DOMtoCanvas({ x: innerWidth + 80, y: innerHeight + 30 });
  const shown = new Set(focus?.order.map((at) => items[at]));
  // Names of heavy entities may lie over light ones, not the other way round.
  for (const item of lately.sort((a, b) => Boolean(b.isStrong) - Boolean(a.isStrong))) {
    if (shown.has(item)) continue;
    if (item.kind === "entity") occupy(taken, item);
    if (item.x < low.x || item.x > high.x || item.y < low.y || item.y > high.y) continue;
    writeCaption(view, context, captionOf(view, context, item, taken, { least: 0, strong: item.isStrong }));
  }
  if (focus) drawFocus(view, context, focus);
  else {
    const about = view.chosen >= 0 ? view.chosen : view.hovered, lines = about >= 0 ? near[about] : [];
    for (const at of new Set(lines.flatMap((line) => [line.from, line.to]))) {
      ring(context, items[at], { away: 2.5 / scale, width: 1.6 / scale, colour: view.colourOf(items[at]) });
    }
  }
  if (view.chosen >= 0) ring(context, items[view.chosen], { away: 4 / scale, width: 2.4 / scale, colour: view.theme.ink });
}
