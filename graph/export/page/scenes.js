// ── scenes: what is drawn of an open place; only that, however large the graph ────────────────────
// A place is { kind: "all" | "community" | "alone" | "near", id }. A scene holds items (bubbles and
// entities by their rows, with positions), links between items, and territories under them.
const MAX_BUBBLES = 72, MAX_ENTITIES = 240, MAX_LOOSE = 36, MAX_NEAR = 60, FLAT = 120, GIVEN_ASPECT = 1.35;
const canvasAspect = () => aspectOf(canvasBox, GIVEN_ASPECT);

function rowsOf(tables, place) {
  if (place.kind === "community") return tables.members(place.id);
  if (place.kind === "alone") return tables.alone;
  if (place.kind === "near") {
    const others = tables.relationsOf(place.id).map((relation) => tables.otherEnd(relation, place.id));
    return [place.id, ...new Set(others.filter((row) => row !== place.id))];
  }
  return Array.from({ length: tables.size }, (_, row) => row);
}

function compose(tables, place, { matching, pin }) {
  const all = rowsOf(tables, place);
  const rows = matching ? all.filter((row) => matching[row] || row === pin) : all;
  const above = place.kind === "community" ? place.id : -1;
  const parts = place.kind === "community" ? tables.children[place.id] : place.kind === "all" ? tables.roots : [];
  const few = place.kind === "all" && !matching ? first.is_flat : rows.length <= FLAT;
  if (!parts.length || few) return entityScene(tables, place, rows, { above, pin });
  return bubbleScene(tables, place, rows, { above, pin, whole: !matching });
}

function bubbleScene(tables, place, rows, { above, pin, whole }) {
  const sums = new Map(), loose = [];
  for (const row of rows) {
    const part = tables.partOf(row, above);
    if (part < 0) loose.push(row);
    else {
      const sum = sums.get(part) ?? { weight: 0, held: 0 };
      sum.weight += tables.weight[row];
      sum.held += 1;
      sums.set(part, sum);
    }
  }
  const order = [...sums.keys()].sort((a, b) => sums.get(b).weight - sums.get(a).weight || a - b);
  const shown = order.slice(0, MAX_BUBBLES);
  const most = Math.max(...shown.map((part) => sums.get(part).weight), 1e-9);
  const largest = shown.length < 40 ? 128 : 109;
  const items = shown.map((part) => ({
    kind: "bubble", id: part, title: tables.communities.title[part], held: sums.get(part).held,
    radius: Math.max(13, largest * Math.sqrt(sums.get(part).weight / most)),
  }));
  const dots = place.kind === "all" ? [] : loose.slice(0, MAX_LOOSE);
  if (pin >= 0 && loose.includes(pin) && !dots.includes(pin)) dots.push(pin);
  for (const row of dots) items.push(entityItem(tables, row, 9));
  const itemOf = new Map(items.map((item, at) => [`${item.kind}${item.id}`, at]));
  const home = new Int32Array(tables.size).fill(-1);
  for (const row of rows) {
    const part = tables.partOf(row, above);
    home[row] = itemOf.get(part < 0 ? `entity${row}` : `bubble${part}`) ?? -1;
  }
  const links = strongest(linksBetween(tables, home, items.length), items.length, 3);
  colour(items, links, above < 0 ? (item) => tables.colourOfRoot(item.id) : null);
  const given = whole && place.kind === "all" && first.bubbles.length === items.length && canvasAspect() > 0.9;
  const centres = given ? first.bubbles.map(({ x, y }) => [x, y])
    : pack(items.map((item) => item.radius + (item.kind === "bubble" ? 5 : 9)), links, canvasAspect());
  items.forEach((item, at) => { [item.x, item.y] = centres[at]; });
  if (place.kind === "all" && loose.length) items.push(outsider(items, loose.length));
  const sizesInside = (item) => sizesOf(tables, item);
  return { items, links, territories: [], sizesInside, lineName: lineNameOf(tables), rows, left: order.length - shown.length + (place.kind === "all" ? 0 : loose.length - dots.length) };
}

const lineNameOf = (tables) => (one, other) => tables.nameBetween(one, other);

// How large the parts of a bubble are to one another, or the entities in it that weigh most.
function sizesOf(tables, item) {
  const parts = item.kind === "bubble" ? tables.children[item.id] : [];
  if (parts.length) return parts.slice(0, 24).map((part) => Math.sqrt(tables.communities.size[part]) + 0.4);
  if (item.kind !== "bubble") return tables.alone.slice(0, 30).map(() => 0.6);
  const rows = tables.members(item.id);
  return rows.slice(0, 30).map((row) => 0.5 + Math.sqrt(tables.weight[row] / tables.weight[rows[0]]));
}

// What is in no community is one more bubble, in the first free spot around the others.
function outsider(items, held) {
  const radius = Math.min(60, 20 + Math.sqrt(held) * 1.6);
  for (let distance = 0; ; distance += 12) {
    for (let turn = 0; turn < 36; turn += 1) {
      const angle = 0.6 + turn * Math.PI / 18;
      const x = distance * GIVEN_ASPECT * Math.cos(angle), y = distance * Math.sin(angle);
      if (items.every((item) => Math.hypot(item.x - x, item.y - y) > item.radius + radius + 12)) {
        return { kind: "alone", id: -1, title: t("In no community"), held, radius, x, y, colour: ALONE };
      }
    }
  }
}

// The look and the place in the tables of an entity, as drawn.
const entityItem = (tables, row, radius) => ({
  kind: "entity", id: row, title: tables.names[row], radius, typeColour: typeColour(tables.types[tables.type[row]]),
  isStrong: first.strong.includes(row),
});
function entityScene(tables, place, rows, { above, pin }) {
  const shown = rows.slice(0, place.kind === "near" ? MAX_NEAR + 1 : MAX_ENTITIES);
  if (pin >= 0 && !shown.includes(pin)) shown.push(pin);
  const most = Math.max(...shown.map((row) => tables.weight[row]));
  const items = shown.map((row) => entityItem(tables, row, entityRadius(tables.weight[row], most)));
  const groups = shown.map((row) => tables.partOf(row, above));
  const home = new Int32Array(tables.size).fill(-1);
  shown.forEach((row, at) => { home[row] = at; });
  const scene = entitiesPacked(items, groups, linksBetween(tables, home, items.length), {
    gap: place.kind === "alone" ? 14 : 10, aspect: canvasAspect(), titleOf: (name) => tables.communities.title[name],
    colourOf: above < 0 ? (_, item) => tables.communityColour(item.id) : coloursWithin(tables, above, groups),
  });
  return { ...scene, rows, left: rows.length - shown.length, lineName: lineNameOf(tables) };
}
// The parts of a community go round the palette from the colour of the community itself.
function coloursWithin(tables, above, groups) {
  const own = tables.colourOfRoot(tables.way(above)[0]), begin = PALETTE.indexOf(own);
  const names = [...new Set(groups)].sort((a, b) => a - b).filter((name) => name >= 0);
  const palette = new Map(names.map((name, turn) => [name, PALETTE[(begin + turn) % PALETTE.length]]));
  return (group) => palette.get(group) ?? own;
}

function linksBetween(tables, home, total) {
  const { source, target, weight } = tables.relations, sums = new Map();
  for (let row = 0; row < source.length; row += 1) {
    const a = home[source[row]], b = home[target[row]];
    if (a < 0 || b < 0 || a === b) continue;
    const pair = a < b ? a * total + b : b * total + a;
    sums.set(pair, (sums.get(pair) ?? 0) + weight[row]);
  }
  return [...sums].map(([pair, sum]) => [Math.floor(pair / total), pair % total, sum])
    .sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
}

function colour(items, links, given) {
  const beside = items.map(() => new Map()), palette = PALETTE;
  items.forEach((item, at) => {
    if (given) { item.colour = given(item); return; }
    const turn = palette.map((_, step) => palette[(at + step) % palette.length]);
    item.colour = turn.reduce((best, one) => (
      (beside[at].get(one) ?? 0) < (beside[at].get(best) ?? 0) ? one : best));
    for (const [a, b] of links) {
      if (a !== at && b !== at) continue;
      const other = beside[a === at ? b : a];
      other.set(item.colour, (other.get(item.colour) ?? 0) + 1);
    }
  });
}
