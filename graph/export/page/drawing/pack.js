// ── pack: discs beside one another, linked ones near; the same algorithm as graph/layout.py ──────
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

export function pack(radii, links, aspect = 1) {
  const total = radii.length;
  if (total < 2) return radii.map(() => [0, 0]);
  const x = new Float64Array(total), y = new Float64Array(total);
  spiral(radii, x, y, aspect);
  const degree = new Float64Array(total);
  const pulls = links.map(([a, b, weight]) => {
    const strength = Math.sqrt(weight);
    degree[a] += strength;
    degree[b] += strength;
    return [a, b, strength];
  });
  const steps = links.length ? (total > 150 ? 40 : 60) : 0;
  for (let step = 0; step < steps; step += 1) {
    const cooling = 1 - step / steps, moveX = new Float64Array(total), moveY = new Float64Array(total);
    for (const [a, b, strength] of pulls) {
      const apartX = x[b] - x[a], apartY = y[b] - y[a];
      const distance = Math.max(Math.hypot(apartX, apartY), 1e-9);
      const slack = strength * Math.max(0, 1 - (radii[a] + radii[b]) / distance);
      moveX[a] += apartX * slack; moveX[b] -= apartX * slack;
      moveY[a] += apartY * slack; moveY[b] -= apartY * slack;
    }
    for (let at = 0; at < total; at += 1) {
      const ease = Math.max(degree[at], 1e-9);
      x[at] += cooling * (0.5 * moveX[at] / ease - 0.03 / aspect * x[at]);
      y[at] += cooling * (0.5 * moveY[at] / ease - 0.03 * aspect * y[at]);
    }
    pushed(radii, x, y, 3);
  }
  while (!pushed(radii, x, y, 150)) for (let at = 0; at < total; at += 1) { x[at] *= 1.05; y[at] *= 1.05; }
  let middleX = 0, middleY = 0, mass = 0;
  for (let at = 0; at < total; at += 1) {
    const area = radii[at] ** 2;
    middleX += x[at] * area; middleY += y[at] * area; mass += area;
  }
  return radii.map((_, at) => [x[at] - middleX / mass, y[at] - middleY / mass]);
}

function spiral(radii, x, y, aspect) {
  const order = radii.map((_, at) => at).sort((a, b) => radii[b] - radii[a] || a - b);
  let area = 0;
  const half = radii[order[0]] ** 2 / 2;
  order.forEach((at, turn) => {
    area += radii[at] ** 2;
    const distance = turn ? Math.sqrt(area - half) * 1.15 : 0;
    x[at] = distance * Math.cos(turn * GOLDEN_ANGLE) * Math.sqrt(aspect);
    y[at] = distance * Math.sin(turn * GOLDEN_ANGLE) / Math.sqrt(aspect);
  });
}

// Overlapping discs moved apart, the smaller one farther; whether none overlap any more.
function pushed(radii, x, y, passes) {
  const total = radii.length;
  for (let pass = 0; pass < passes; pass += 1) {
    const moveX = new Float64Array(total), moveY = new Float64Array(total), crowd = new Float64Array(total);
    let hits = 0;
    for (let a = 0; a < total; a += 1) {
      for (let b = a + 1; b < total; b += 1) {
        const reach = radii[a] + radii[b];
        let apartX = x[b] - x[a], apartY = y[b] - y[a];
        if (Math.abs(apartX) >= reach || Math.abs(apartY) >= reach) continue;
        let distance = Math.hypot(apartX, apartY);
        const overlap = reach - distance;
        if (overlap <= 0.05) continue;
        hits += 1;
        if (distance < 1e-9) {
          apartX = Math.cos((a * 7 + b) * GOLDEN_ANGLE);
          apartY = Math.sin((a * 7 + b) * GOLDEN_ANGLE);
          distance = 1;
        }
        const step = overlap * 0.6 / distance, share = radii[b] ** 2 / (radii[a] ** 2 + radii[b] ** 2);
        moveX[a] -= apartX * step * share; moveY[a] -= apartY * step * share;
        moveX[b] += apartX * step * (1 - share); moveY[b] += apartY * step * (1 - share);
        crowd[a] += 1; crowd[b] += 1;
      }
    }
    if (!hits) return true;
    for (let at = 0; at < total; at += 1) {
      const ease = Math.max(Math.sqrt(crowd[at]), 1);
      x[at] += moveX[at] / ease; y[at] += moveY[at] / ease;
    }
  }
  return false;
}

// Groups of discs: packed inside each group, then the groups. Gives centres and a disc a group.
function packGroups(radii, groups, links, { gap, aspect }) {
  const names = [...new Set(groups)].sort((a, b) => a - b);
  const centre = radii.map(() => [0, 0]), discs = new Map();
  const inside = new Map(names.map((name) => [name, []]));
  groups.forEach((name, at) => inside.get(name).push(at));
  for (const [name, members] of inside) {
    const place = new Map(members.map((at, turn) => [at, turn]));
    const own = links.filter(([a, b]) => place.has(a) && place.has(b))
      .map(([a, b, weight]) => [place.get(a), place.get(b), weight]);
    const found = pack(members.map((at) => radii[at] + gap / 2), own, names.length > 1 ? 1 : aspect);
    members.forEach((at, turn) => { centre[at] = found[turn]; });
    discs.set(name, Math.max(...members.map((at) => Math.hypot(...centre[at]) + radii[at])));
  }
  if (names.length < 2) return { centre, discs: new Map() };
  const number = new Map(names.map((name, turn) => [name, turn]));
  const between = new Map();
  for (const [a, b, weight] of links) {
    const pair = [number.get(groups[a]), number.get(groups[b])].sort((p, q) => p - q);
    if (pair[0] !== pair[1]) between.set(pair.join(), (between.get(pair.join()) ?? 0) + weight);
  }
  const sums = [...between].map(([pair, weight]) => [...pair.split(",").map(Number), weight]);
  const places = pack(names.map((name) => discs.get(name) + 2.2 * gap), sums, aspect);
  names.forEach((name, turn) => {
    const [x, y] = places[turn];
    for (const at of inside.get(name)) { centre[at] = [centre[at][0] + x, centre[at][1] + y]; }
    discs.set(name, [x, y, discs.get(name) + gap]);
  });
  return { centre, discs };
}

// How wide a box is to its height: scenes are packed to fill it.
export function aspectOf(box, given = 1) {
  const { width, height } = box.getBoundingClientRect();
  return width && height ? Math.min(2, Math.max(0.55, width / height)) : given;
}
export const strongest = (links, total, each) => links.slice(0, Math.max(1, each * total));

// A scene of entities, packed by the group (-1: none) that each is in: items get their places.
// `links` are [item, item, weight], the strongest first; groups of three or more are territories.
export function entitiesPacked(items, groups, every, { gap = 10, aspect, titleOf, colourOf }) {
  const links = strongest(every, items.length, 4);
  const { centre, discs } = packGroups(items.map((item) => item.radius + 10), groups, links, { gap, aspect });
  items.forEach((item, at) => {
    [item.x, item.y] = centre[at];
    item.colour = colourOf(groups[at], item);
  });
  const territories = [...discs].filter(([name]) => name >= 0 && groups.filter((one) => one === name).length > 2)
    .map(([name, [x, y, radius]]) => ({ id: name, title: titleOf(name), x, y, radius, colour: items[groups.indexOf(name)].colour }));
  return { items, links, territories, weaker: every.length - links.length };
}
export const entityRadius = (weight, most) => 6 + 19 * Math.sqrt(weight / Math.max(most, 1e-9));
