// What the page is at: where one is (the trail), what is chosen by the filter, and the tables.
const state = { tables: null, ready: null, trail: [{ kind: "all" }], matching: null, turn: 0, opened: 0 };

// ── tables: what the page knows ────────────────────────────────────────────────────────────────
// Everything that comes from documents is put on the page with textContent or on the canvas.
const LOOSE = "occurs with"; // mentioned together, no more
const find = (id) => document.getElementById(id);
const first = JSON.parse(find("first").textContent);
const count = (value, one, many) => `${figure(value)} ${t(value === 1 && !chinese ? one : many)}`;
const kindName = (type) => t(type.toLowerCase());
const entityCount = (value) => count(value, "entity", "entities");

async function unpacked(id) {
  const text = find(id).textContent;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// Lists of unlike lengths come as counts and flat values; this gives the list of a row.
function ragged(table, name) {
  const counts = table[`${name}_counts`], values = table[name], starts = new Int32Array(counts.length + 1);
  counts.forEach((length, row) => { starts[row + 1] = starts[row] + length; });
  return (row) => values.slice(starts[row], starts[row + 1]);
}

class Tables {
  constructor(columns) {
    const { entities, communities, relations, documents } = columns;
    const inOther = (name, row) => entities.translated[row] && /\p{Script=Han}/u.test(name) !== chinese;
    this.names = entities.name.map((name, row) => (inOther(name, row) ? entities.translated[row] : name));
    this.aliases = entities.aliases.map((names, row) => names.split("\n").map((one) => (one === this.names[row] ? entities.name[row] : one)).join("\n"));
    this.types = entities.types;
    this.type = Uint16Array.from(entities.type);
    this.weight = Float32Array.from(entities.weight);
    this.mentions = entities.mentions;
    this.documentCount = entities.document_count;
    this.home = Int32Array.from(entities.home);
    this.description = Int32Array.from(entities.description);
    this.documentsOf = ragged(entities, "documents");
    this.placesOf = ragged(entities, "places");
    this.size = this.names.length;
    this.documents = documents;
    this.communities = communities;
    this.findingsOf = ragged(communities, "findings");
    this.parent = Int32Array.from(communities.parent);
    this.relations = {
      source: Int32Array.from(relations.source), target: Int32Array.from(relations.target),
      predicate: Uint32Array.from(relations.predicate), weight: Float32Array.from(relations.weight),
      evidences: Int32Array.from(relations.evidences), description: Int32Array.from(relations.description),
      predicates: relations.predicates, places: ragged(relations, "places"),
    };
    this.claims = columns.claims;
    this.claimsOf = (row) => [...this.claims.subject.keys()].filter((at) => this.claims.subject[at] === row || this.claims.object[at] === row);
    this.textStarts = columns.text_starts;
    this.textBlocks = new Map();
    this.#link();
    this.#nest();
  }
  #link() {
    const { source, target } = this.relations, starts = new Int32Array(this.size + 1);
    for (let row = 0; row < source.length; row += 1) { starts[source[row] + 1] += 1; starts[target[row] + 1] += 1; }
    for (let row = 0; row < this.size; row += 1) starts[row + 1] += starts[row];
    const next = starts.slice(), rows = new Int32Array(2 * source.length);
    for (let row = 0; row < source.length; row += 1) {
      rows[next[source[row]]++] = row;
      rows[next[target[row]]++] = row;
    }
    this.relationStarts = starts;
    this.relationRows = rows;
  }
  #nest() {
    const number = this.parent.length;
    this.children = Array.from({ length: number }, () => []);
    this.roots = [];
    this.direct = Array.from({ length: number }, () => []);
    this.alone = [];
    this.parent.forEach((above, row) => (above < 0 ? this.roots : this.children[above]).push(row));
    this.home.forEach((home, row) => (home < 0 ? this.alone : this.direct[home]).push(row));
    this.colours = this.parent.map(() => 0);
    const given = new Map(first.bubbles.map((bubble) => [bubble.community, bubble.colour]));
    this.colourOfRoot = (row) => given.get(row) ?? PALETTE[row % PALETTE.length];
  }
  // Relations of an entity: those that a text states, then names that only stand together; the strongest first.
  relationsOf(row) {
    const { weight } = this.relations;
    return [...this.relationRows.subarray(this.relationStarts[row], this.relationStarts[row + 1])]
      .sort((a, b) => this.isLoose(a) - this.isLoose(b) || weight[b] - weight[a] || a - b);
  }
  isLoose(relation) {
    return this.relations.predicates[this.relations.predicate[relation]] === LOOSE;
  }
  otherEnd(relation, row) {
    const { source, target } = this.relations;
    return source[relation] === row ? target[relation] : source[relation];
  }
  // Entities inside a community, the heaviest first: rows are in the order of weight.
  members(community) {
    const found = [...this.direct[community]];
    for (const child of this.children[community]) found.push(...this.members(child));
    return found.sort((a, b) => a - b);
  }
  way(community) {
    const found = [];
    for (let at = community; at >= 0; at = this.parent[at]) found.unshift(at);
    return found;
  }
  // The part of `above` (-1: of everything) that an entity is in; -1 where it is in none.
  partOf(row, above) {
    let at = this.home[row];
    if (at === above) return -1;
    while (at >= 0 && this.parent[at] !== above) at = this.parent[at];
    return at;
  }
  // By community or by type, as the switch says.
  colourOf(row) {
    return drawing.colouring === "type" ? typeColour(this.types[this.type[row]]) : this.communityColour(row);
  }
  communityColour(row) {
    if (this.home[row] < 0) return ALONE;
    return this.colourOfRoot(this.partOf(row, -1));
  }
  // What the strongest named relation between two entities is called, and from which it goes.
  nameBetween(row, other) {
    const { predicates, predicate, source } = this.relations;
    const named = this.relationsOf(row).find((one) => this.otherEnd(one, row) === other && !this.isLoose(one));
    return named === undefined ? null : { text: predicates[predicate[named]], from: source[named] };
  }
  // Longer texts by number, as [text, document or -1, page or 0]; blocks are unpacked when needed.
  async texts(numbers) {
    const { textStarts } = this;
    const blockOf = (number) => {
      let low = 0, high = textStarts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (textStarts[middle] <= number) low = middle; else high = middle - 1;
      }
      return low;
    };
    const wanted = new Map(numbers.filter((number) => number >= 0).map((number) => [number, blockOf(number)]));
    const blocks = new Map();
    for (const block of new Set(wanted.values())) blocks.set(block, await this.#block(block));
    const found = new Map([[-1, ["", -1, 0]]]);
    for (const [number, block] of wanted) {
      const { text, document, page } = blocks.get(block), at = number - textStarts[block];
      found.set(number, [text[at], document[at], page[at]]);
    }
    return found;
  }
  async #block(block) {
    const kept = this.textBlocks, value = kept.get(block) ?? await unpacked(`texts-${block}`);
    kept.delete(block);
    kept.set(block, value);
    if (kept.size > 16) kept.delete(kept.keys().next().value);
    return value;
  }
}
