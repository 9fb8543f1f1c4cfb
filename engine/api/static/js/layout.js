/**
 * Where the names of a small graph are drawn: forces on a plane (Fruchterman and Reingold 1991), from
 * a start on rings around the focus. No chance in it: the same graph is drawn the same way each time.
 */

const ROUNDS = 260;
const IDEAL = 92;

/** A Map from node id to `{x, y}`, the focus at the origin; `edges` are `{source, target}`. */
export function places(nodes, edges, focus) {
  const at = new Map(nodes.map((node, index) => [node.id, index]));
  const links = edges
    .map((edge) => [at.get(edge.source), at.get(edge.target)])
    .filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
  const fixed = at.get(focus) ?? -1;
  const { x, y } = rings(nodes.length, links, Math.max(0, fixed));
  for (let round = 0; round < ROUNDS; round += 1) {
    move(x, y, links, fixed, IDEAL * 0.9 * (1 - round / ROUNDS) ** 1.5 + 0.5);
  }
  const middle = fixed >= 0 ? [x[fixed], y[fixed]] : [mean(x), mean(y)];
  return new Map(
    nodes.map((node, index) => [node.id, { x: x[index] - middle[0], y: y[index] - middle[1] }]),
  );
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Rings by distance from the start: near names inside, in the order in which they are reached. */
function rings(count, links, start) {
  const near = Array.from({ length: count }, () => []);
  for (const [a, b] of links) {
    near[a].push(b);
    near[b].push(a);
  }
  const ring = new Array(count).fill(-1);
  const order = [];
  const reach = (from) => {
    ring[from] = 0;
    const queue = [from];
    for (const node of queue) {
      order.push(node);
      for (const next of near[node]) {
        if (ring[next] >= 0) continue;
        ring[next] = ring[node] + 1;
        queue.push(next);
      }
    }
  };
  if (count) reach(start);
  for (let node = 0; node < count; node += 1) if (ring[node] < 0) reach(node);
  const x = new Array(count).fill(0);
  const y = new Array(count).fill(0);
  order.forEach((node, index) => {
    const radius = IDEAL * (ring[node] + (index ? 0.6 : 0));
    const angle = index * 2.399963; // the golden angle spreads evenly
    x[node] = radius * Math.cos(angle);
    y[node] = radius * Math.sin(angle);
  });
  return { x, y };
}

function move(x, y, links, fixed, most) {
  const count = x.length;
  const dx = new Array(count).fill(0);
  const dy = new Array(count).fill(0);
  const push = (a, b, towards) => {
    const vx = x[a] - x[b];
    const vy = (y[a] - y[b]) * 1.25; // labels are wide: room is rather needed above and below
    const distance = Math.max(Math.hypot(vx, vy), 1);
    const force = towards ? -(distance ** 2) / IDEAL / 3 : IDEAL ** 2 / distance;
    dx[a] += (vx / distance) * force;
    dy[a] += (vy / distance) * force;
    dx[b] -= (vx / distance) * force;
    dy[b] -= (vy / distance) * force;
  };
  for (let a = 0; a < count; a += 1) for (let b = a + 1; b < count; b += 1) push(a, b, false);
  for (const [a, b] of links) push(a, b, true);
  for (let node = 0; node < count; node += 1) {
    if (node === fixed) continue;
    const vx = dx[node] - x[node] * 0.6;
    const vy = dy[node] - y[node] * 0.9;
    const length = Math.max(Math.hypot(vx, vy), 1e-6);
    const step = Math.min(length, most) / length;
    x[node] += vx * step;
    y[node] += vy * step;
  }
}

/**
 * Which labels fit beside one another: ids of those that may be shown, the weightiest first.
 * `boxes` are `{id, x, y, width, height}` around their middle, in order of importance; `obstacles`
 * are such boxes, too, and in the way of every label but that of the same id.
 */
export function fitting(boxes, obstacles = []) {
  const placed = [];
  const meet = (one, other) =>
    Math.abs(one.x - other.x) * 2 < one.width + other.width &&
    Math.abs(one.y - other.y) * 2 < one.height + other.height;
  for (const box of boxes) {
    const isFree =
      !placed.some((other) => meet(box, other)) &&
      !obstacles.some((other) => other.id !== box.id && meet(box, other));
    if (isFree || !placed.length) placed.push(box);
  }
  return new Set(placed.map((box) => box.id));
}
