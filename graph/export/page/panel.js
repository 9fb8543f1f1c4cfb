// ── panel: what is said of the place or thing that is open ────────────────────────────────────────
const panel = find("panel");
const PAGE = 40, QUOTES = 3, RELATIONS = 10;

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const words = (tag, textContent, more = {}) => (textContent ? make(tag, { dir: "auto", textContent, ...more }) : null);
function dot(colour) {
  const element = make("span", { className: "dot" });
  element.style.background = colour;
  return element;
}
// The newest panel wins: texts of one that was left before they came are dropped.
function show(...children) {
  const hadFocus = panel.contains(document.activeElement);
  panel.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  panel.scrollTop = 0;
  panel.dataset.shown = String(Number(panel.dataset.shown ?? 0) + 1);
  if (hadFocus) (panel.querySelector("h2") ?? panel).focus();
}
const heading = (text) => make("h2", { dir: "auto", tabIndex: -1, textContent: text });

const furtherWords = (some, more, left) => t("Show {some} {more} ({left} left)", { some: figure(some), more, left: figure(left) });

// Long lists come in pages.
function list(values, row, { page = PAGE } = {}) {
  const holder = make("ul", { className: "list" }), box = make("div", {}, holder);
  let shown = 0;
  const button = make("button", { type: "button", className: "more", onclick: () => extend(true) });
  function extend(focusing) {
    const next = values.slice(shown, shown + page).map((value) => make("li", {}, row(value)));
    holder.append(...next);
    shown += next.length;
    button.textContent = furtherWords(Math.min(page, values.length - shown), t("more"), values.length - shown);
    if (shown < values.length) box.append(button);
    else button.remove();
    if (focusing) next[0]?.querySelector("button")?.focus();
  }
  extend(false);
  return box;
}
function communityRow(id, held) {
  const { tables } = state;
  return make("button", { type: "button", className: "row community", onclick: () => go({ kind: "community", id }) },
    dot(tables.colourOfRoot(tables.way(id)[0])), make("span", { className: "name", dir: "auto", textContent: tables.communities.title[id] }),
    make("span", { className: "meta", textContent: figure(held ?? tables.communities.size[id]) }));
}
function entityRow(row) {
  const { tables } = state;
  return make("button", { type: "button", className: "row entity", onclick: () => goEntity(row) },
    dot(tables.colourOf(row)), make("span", { className: "name", dir: "auto", textContent: tables.names[row] }),
    make("span", { className: "meta", textContent: kindName(tables.types[tables.type[row]]) }));
}
const entityLink = (row) => make("button", {
  type: "button", className: "link", dir: "auto", textContent: state.tables.names[row], onclick: () => goEntity(row),
});
function marked(text, names) {
  const folded = text.toLowerCase(), parts = [];
  if (folded.length !== text.length) return [text];
  const wanted = names.map((name) => name.toLowerCase()).filter((name) => name.length > 1).sort((a, b) => b.length - a.length);
  let begin = 0, at = 0;
  while (at < text.length) {
    const hit = wanted.find((name) => folded.startsWith(name, at));
    if (hit) {
      if (begin < at) parts.push(text.slice(begin, at));
      parts.push(make("mark", { textContent: text.slice(at, at + hit.length) }));
      begin = at = at + hit.length;
    } else at += 1;
  }
  if (begin < text.length) parts.push(text.slice(begin));
  return parts;
}
function quote([text, document_, page], names) {
  const { title, id } = state.tables.documents;
  return make("blockquote", { dir: "auto" }, ...marked(text, names), document_ < 0 ? null : make("cite", {
    dir: "auto", title: id[document_], textContent: page ? t("{title}, p. {page}", { title: title[document_], page }) : title[document_],
  }));
}
const leftOut = (value) => (value > 0
  ? make("p", { className: "meta", textContent: t("{sentences} so that this page does not hold.", { sentences: count(value, "more sentence says", "more sentences say") }) }) : null);

// ── of a place ─────────────────────────────────────────────────────────────────────────────────
function overviewPanel(scene, extra = []) {
  const bubbles = scene.items.filter((item) => item.kind === "bubble");
  const { tables } = state, grouped = tables.roots;
  const isWhole = !state.matching;
  show(
    ...answerParts(),
    ...extra,
    make("h2", { className: first.question ? "small" : "", tabIndex: -1, textContent: aboutWords(first.about) || (bubbles.length ? t("Communities") : t("Entities")) }),
    make("p", { className: "meta", textContent: tables.size
      ? t("Open a community for its report, an entity for what is said of it.") : t("There are no entities to draw yet.") }),
    ...(bubbles.length
      ? [list(isWhole ? grouped : bubbles.map((item) => item.id), (id) => communityRow(id, isWhole ? null : heldOf(bubbles, id)))]
      : [list(scene.rows, entityRow)]),
    isWhole && tables.alone.length && bubbles.length ? make("button", {
      type: "button", className: "row", onclick: () => go({ kind: "alone" }),
    }, dot(ALONE), make("span", { className: "name", textContent: t("In no community") }),
    make("span", { className: "meta", textContent: figure(tables.alone.length) })) : null,
  );
}
const heldOf = (bubbles, id) => bubbles.find((item) => item.id === id)?.held;
function answerParts() {
  if (!first.question) return [];
  return [
    make("p", { className: "meta", textContent: t("Question") }),
    make("h2", { dir: "auto", tabIndex: -1, textContent: first.question }),
    words("p", first.answer, { className: "answer" }),
    first.quotes.length ? make("h3", { textContent: t("Sources") }) : null,
    ...first.quotes.map(([number, title, text]) => make("div", { className: "fact source" },
      make("blockquote", { dir: "auto" }, `[${number}] ${text}`, make("cite", { dir: "auto", textContent: title })))),
  ];
}
async function communityPanel(id, { isOpen, scene }) {
  const { tables } = state, { communities } = tables, mine = state.turn;
  const said = readFindings(tables.findingsOf(id));
  const texts = await tables.texts([communities.summary[id], ...said.flatMap((one) => [one.text, ...one.quotes])]);
  if (mine !== state.turn) return;
  const members = (scene?.rows ?? tables.members(id)), names = members.slice(0, 8).map((row) => tables.names[row]);
  const [summary] = texts.get(communities.summary[id]);
  const starts = said.slice(0, 2).map((one) => texts.get(one.text)[0].slice(0, 80));
  const repeats = starts.length > 0 && starts.every((start) => summary.includes(start));
  const parts = tables.children[id], rating = communities.rating[id];
  show(
    heading(communities.title[id]),
    make("p", { className: "meta" }, dot(tables.colourOfRoot(tables.way(id)[0])), ` ${entityCount(communities.size[id])}`
      + (parts.length ? t(" in {parts}", { parts: count(parts.length, "part", "parts") }) : "") + (rating ? t(" · weight {rating} of 10", { rating: rating.toFixed(1) }) : "")
      + (state.matching ? t(" · {some} match the filter", { some: figure(members.filter((row) => state.matching[row]).length) }) : "")),
    isOpen ? null : make("button", { type: "button", className: "primary", textContent: t("Open"), onclick: () => go({ kind: "community", id }) }),
    summary && !repeats ? words("p", summary, { className: "summary" }) : null,
    said.length ? make("h3", { textContent: t("What the documents say") }) : null,
    said.length ? list(said, (one) => findingBox(one, texts, names), { page: 6 }) : null,
    parts.length ? make("h3", { textContent: t("Parts") }) : null,
    parts.length ? list(parts, (part) => communityRow(part), { page: 12 }) : null,
    make("h3", { textContent: t("Entities") }),
    list(state.matching ? members.filter((row) => state.matching[row]) : members, entityRow, { page: 20 }),
  );
}
function readFindings(flat) {
  const found = [];
  for (let at = 0; at < flat.length; at += 2 + flat[at + 1]) found.push({ text: flat[at], quotes: flat.slice(at + 2, at + 2 + flat[at + 1]) });
  return found;
}
function findingBox({ text, quotes }, texts, names) {
  const [said] = texts.get(text), found = quotes.map((number) => texts.get(number)).filter(([one]) => one);
  const isQuote = found.some(([one]) => one.slice(0, 60) === said.slice(0, 60));
  return make("div", { className: "fact" }, isQuote ? null : words("p", said), ...(isQuote || !said ? found.slice(0, 1) : found).map((one) => quote(one, names)));
}
function alonePanel(scene) {
  show(heading(t("In no community")),
    make("p", { className: "meta", textContent: t("{entities}: too little is said of them to belong together.", { entities: entityCount(scene.rows.length) }) }),
    list(scene.rows, entityRow));
}

const mentionWords = (mentions, documents) => t("{mentions} in {documents}", {
  mentions: count(mentions, "mention", "mentions"), documents: count(documents, "document", "documents"),
});

// ── of an entity ───────────────────────────────────────────────────────────────────────────────
async function entityPanel(row) {
  const { tables } = state, mine = state.turn;
  const relations = tables.relationsOf(row), early = relations.slice(0, RELATIONS);
  const places = tables.placesOf(row), claims = tables.claimsOf(row);
  const texts = await tables.texts([
    tables.description[row], ...places, ...early.flatMap(textsOfRelation), ...claims.flatMap((one) => [tables.claims.said[one], tables.claims.place[one]]),
  ]);
  if (mine !== state.turn) return;
  const aliases = tables.aliases[row] ? tables.aliases[row].split("\n") : [];
  const home = tables.home[row] >= 0 ? tables.way(tables.home[row]) : [];
  const names = [tables.names[row], ...aliases];
  const left = relations.reduce((sum, one) => sum + tables.relations.evidences[one] - tables.relations.places(one).length, 0);
  const box = make("div");
  show(
    heading(tables.names[row]),
    make("p", {}, make("span", { className: "chip", textContent: kindName(tables.types[tables.type[row]]) }),
      make("span", { className: "meta", textContent: mentionWords(tables.mentions[row], tables.documentCount[row]) })),
    words("p", texts.get(tables.description[row])[0], { className: "summary" }),
    aliases.length ? make("p", { className: "meta", dir: "auto", textContent: t("Also: {names}", { names: aliases.join(" · ") }) }) : null,
    relations.length ? make("button", { type: "button", className: "primary", textContent: t("Show what is around it"), onclick: () => go({ kind: "near", id: row }) }) : null,
    home.length ? make("ul", { className: "list" }, make("li", {}, communityRow(home.at(-1)))) : null,
    claims.length ? make("h3", { textContent: t("Claims") }) : null,
    claims.length ? list(claims, (one) => claimBox(one, { row, names, texts }), { page: 6 }) : null,
    make("h3", { textContent: t("What the documents say") }),
    relations.length || places.length ? null : make("p", { className: "meta", textContent: t("No sentence links it with another entity.") }),
    ...places.map((number) => texts.get(number)).filter(([text]) => text).map((one) => make("div", { className: "fact" }, quote(one, names))),
    box,
    leftOut(left),
  );
  relationList(box, relations, { row, names, texts });
}
function claimBox(claim, { row, names, texts }) {
  const { claims } = state.tables, [sentence] = texts.get(claims.place[claim]);
  const others = [claims.subject[claim], claims.object[claim]].filter((one) => one >= 0 && one !== row);
  const facts = [claims.type[claim].toLowerCase(), t(claims.status[claim].toLowerCase()), claims.dates[claim]].filter(Boolean);
  return make("div", { className: "fact claim" },
    make("p", { className: "meta", dir: "auto", textContent: facts.join(" · ") }),
    words("p", texts.get(claims.said[claim])[0]),
    sentence ? quote(texts.get(claims.place[claim]), names) : null,
    ...others.map(entityLink));
}
const textsOfRelation = (relation) => [state.tables.relations.description[relation], ...state.tables.relations.places(relation)];
function relationList(box, relations, { row, names, texts }) {
  let shown = 0;
  const button = make("button", { type: "button", className: "more" });
  async function extend(known) {
    const next = relations.slice(shown, shown + RELATIONS);
    const found = known ?? await state.tables.texts(next.flatMap(textsOfRelation));
    shown += next.length;
    button.remove();
    const facts = next.map((relation) => relationBox(relation, { row, names, texts: found }));
    box.append(...facts);
    if (shown < relations.length) {
      button.textContent = furtherWords(Math.min(RELATIONS, relations.length - shown), t("more links"), relations.length - shown);
      box.append(button);
    }
    if (!known) facts[0]?.querySelector("button")?.focus();
  }
  button.onclick = () => extend(null);
  if (relations.length) extend(texts);
}
function relationBox(relation, { row, names, texts }) {
  const { relations } = state.tables, outward = relations.source[relation] === row, other = state.tables.otherEnd(relation, row);
  const predicate = relations.predicates[relations.predicate[relation]], isLoose = state.tables.isLoose(relation);
  const places = relations.places(relation).map((number) => texts.get(number)).filter(([text]) => text);
  const marks = [...names, state.tables.names[other]];
  const rest = places.slice(QUOTES).map((one) => quote(one, marks));
  return make("div", { className: "fact" },
    make("span", { className: "way", dir: "auto", textContent: isLoose ? `${t("named together with")} ` : outward ? `${predicate} → ` : "← " }),
    entityLink(other),
    !isLoose && !outward ? make("span", { className: "way", dir: "auto", textContent: t(" {predicate} this", { predicate }) }) : null,
    relations.evidences[relation] > 1 ? make("span", { className: "meta", textContent: `  ${figure(relations.evidences[relation])}×` }) : null,
    words("p", texts.get(relations.description[relation])?.[0] ?? ""),
    ...places.slice(0, QUOTES).map((one) => quote(one, marks)),
    rest.length ? make("details", {}, make("summary", { textContent: count(rest.length, "more sentence", "more sentences") }), ...rest) : null);
}
// Arrow keys go through a list, as they do in any.
panel.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const own = event.target.closest?.(".list");
  if (!step || !own) return;
  const buttons = [...own.querySelectorAll("button")];
  buttons[buttons.indexOf(event.target) + step]?.focus();
  event.preventDefault();
});
