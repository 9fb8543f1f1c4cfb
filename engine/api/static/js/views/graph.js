/** The graph explorer: find a name, see what stands around it and what is said of it, and ways on. */

import { get } from "../api.js";
import { address, change, here } from "../address.js";
import { button, el, fill, quoted, say } from "../dom.js";
import { drawing } from "../drawing.js";
import { number } from "../format.js";
import { graphPage } from "../graph_page.js";
import { t, typeName } from "../i18n.js";
import { asReader } from "../namespaces.js";
import { predicateOf } from "../relations.js";
import { load, moreButton, nothing } from "../states.js";
import { entityPanel } from "./entity.js";

const PAGE = 40;
const PAUSE_MS = 200;
const MOST_NODES = 60;
const MOST_NODES_NARROW = 26;
const MOST_STEPS = 4;
const TYPES = ["PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK", "PRODUCT", "CONCEPT", "NAME"];

export function open(main, parameters) {
  const names = el("div", { class: "names" });
  const stage = el("div", { class: "stage" });
  const panel = el("div", { class: "entity", role: "region", "aria-label": t("graph.entity") });
  const found = finder(parameters);
  fill(
    main,
    el(
      "div",
      { class: "wide graph" },
      el(
        "div",
        { class: "title-row" },
        el("h1", { tabindex: "-1" }, t("graph.title")),
        graphPage(t("graph.whole"), asReader()),
      ),
      el(
        "div",
        { class: "graph-grid" },
        el("section", { class: "graph-side", "aria-label": t("graph.names") }, found.node, names),
        el(
          "section",
          { class: "graph-middle", "aria-label": t("graph.around") },
          stageBar(parameters),
          stage,
        ),
        panel,
      ),
    ),
  );
  const seen = {};
  const isNew = (name, value) => {
    const is = seen[name] !== value;
    seen[name] = value;
    return is;
  };

  function update(now) {
    const { query = "", type = "", entity = "", hops = "1", to = "" } = now;
    if (isNew("names", `${query}\n${type}`)) {
      load(
        names,
        () => entities({ query, type }),
        (first) => nameList(first, { query, type }, () => here().parameters.entity, showFirst),
      );
    }
    markChosen(names, entity);
    if (entity) show(entity, hops, to);
  }

  /** Where no name is asked for, the first of the list is shown. */
  function showFirst(first) {
    if (here().parameters.entity)
      window.setTimeout(() => markChosen(names, here().parameters.entity), 0);
    if (here().parameters.entity || here().view !== "graph") return;
    const id = first.items[0]?.id;
    if (id) {
      window.setTimeout(() => markChosen(names, id), 0);
      show(id, here().parameters.hops ?? "1", "");
    } else if (!here().parameters.query) {
      fill(stage, nothing(t("graph.none"), el("p", {}, t("graph.noneHow"))));
      fill(panel);
    }
  }

  function show(entity, hops, to) {
    const bar = main.querySelector(".stage-bar");
    if (isNew("stage", `${entity}\n${hops}\n${to}`)) {
      bar.replaceWith(stageBar({ entity, hops, to }));
      const ask = to ? () => waysBetween(entity, to) : () => around(entity, hops);
      load(stage, ask, (graph) => drawn(graph, entity));
    }
    if (isNew("entity", entity)) {
      load(
        panel,
        () => get(`/v1/graph/entities/${encodeURIComponent(entity)}`, asReader()),
        (one) => entityPanel(one),
      );
    }
  }
  update(parameters);
  return { update, close: found.close };
}

const entities = (wish, cursor) =>
  get("/v1/graph/entities", { ...wish, ...asReader(), limit: PAGE, cursor });

// --- finding names -------------------------------------------------------------------------------

function finder({ query = "", type = "" }) {
  let timer = 0;
  const search = el("input", {
    type: "search",
    value: query,
    placeholder: t("graph.search"),
    "aria-label": t("graph.search"),
    autocomplete: "off",
    spellcheck: "false",
  });
  const types = el(
    "select",
    { "aria-label": t("graph.type") },
    el("option", { value: "" }, t("graph.everyType")),
    TYPES.map((one) => el("option", { value: one }, typeName(one))),
  );
  types.value = type;
  const apply = () => change({ query: search.value.trim(), type: types.value }, { replace: true });
  search.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(apply, PAUSE_MS);
  });
  types.addEventListener("change", apply);
  return {
    node: el("div", { class: "finder", role: "search" }, search, types),
    close: () => window.clearTimeout(timer),
  };
}

function nameList(first, wish, chosen, onFirst) {
  onFirst(first);
  if (!first.items.length)
    return el(
      "p",
      { class: "soft", role: "status" },
      wish.query || wish.type ? t("graph.noName") : t("graph.none"),
    );
  const list = el("ul", { class: "name-list" }, first.items.map(nameItem));
  const more = moreButton(
    first.next,
    (cursor) => entities(wish, cursor),
    (items) => {
      const added = items.map(nameItem);
      list.append(...added);
      markChosen(list, chosen() ?? "");
      return added[0]?.querySelector("a");
    },
  );
  const count = el(
    "p",
    { class: "soft", role: "status" },
    t("count.entities", { n: first.total ?? first.items.length }),
  );
  return [count, list, more];
}

function nameItem(one) {
  const { query, type } = here().parameters;
  return el(
    "li",
    {},
    el(
      "a",
      { href: address("graph", { query, type, entity: one.id }), data: { id: one.id } },
      el("span", {
        class: `swatch type-${TYPES.includes(one.type) ? one.type : "NAME"}`,
        title: typeName(one.type),
      }),
      quoted(one.name, "span", { class: "name" }),
      el(
        "span",
        { class: "soft amount", title: t("count.mentions", { n: one.mention_count ?? 0 }) },
        number(one.mention_count ?? 0),
      ),
    ),
  );
}

function markChosen(list, id) {
  for (const link of list.querySelectorAll("a")) {
    if (link.dataset.id === id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// --- what is drawn -------------------------------------------------------------------------------

function stageBar({ entity, hops = "1", to }) {
  const far = (value, label) => {
    const pressed = String(!to && value === hops);
    return button(label, { class: "segment", "aria-pressed": pressed }, () =>
      change({ entity, hops: value === "1" ? "" : value, to: "" }),
    );
  };
  return el(
    "div",
    { class: "stage-bar" },
    el(
      "div",
      { class: "segments", role: "group", "aria-label": t("graph.hops") },
      far("1", t("graph.hops1")),
      far("2", t("graph.hops2")),
    ),
    entity && wayFinder(entity, to),
  );
}

/** A field for the name at the other end of a way. */
function wayFinder(entity, to) {
  const input = el("input", {
    type: "search",
    list: "way-names",
    placeholder: t("graph.wayTo"),
    "aria-label": t("graph.wayTo"),
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = el("datalist", { id: "way-names" });
  let known = new Map();
  input.addEventListener("input", async () => {
    if (known.has(input.value)) return;
    const found = await entities({ query: input.value }).catch(() => ({ items: [] }));
    known = new Map(found.items.map((one) => [one.name, one.id]));
    fill(
      list,
      [...known.keys()].map((name) => el("option", { value: name })),
    );
  });
  const form = el(
    "form",
    { class: "way", on: { submit } },
    input,
    list,
    el("button", { type: "submit", class: "quiet" }, t("graph.findWay")),
  );
  if (to) form.append(button(t("graph.noWay"), { class: "quiet" }, () => change({ to: "" })));
  async function submit(event) {
    event.preventDefault();
    const wanted = input.value.trim();
    if (!wanted) return;
    const found =
      known.get(wanted) ??
      (await entities({ query: wanted }).catch(() => ({ items: [] }))).items[0]?.id;
    if (found) change({ entity, to: found });
    else say(t("graph.noName"));
  }
  return form;
}

const around = (entity, hops) =>
  get("/v1/graph/neighbourhood", {
    entity,
    hops,
    ...asReader(),
    limit: window.innerWidth < 600 ? MOST_NODES_NARROW : MOST_NODES,
  });

/** The ways between two names as one graph, and each as a list. */
async function waysBetween(from, to) {
  const { paths } = await get("/v1/graph/paths", { from, to, max_hops: MOST_STEPS, ...asReader() });
  const nodes = new Map();
  const edges = new Map();
  for (const path of paths) {
    for (const node of path.nodes) nodes.set(node.id, node);
    for (const edge of path.edges) edges.set(edge.id, edge);
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], paths };
}

function drawn(graph, focus) {
  if (graph.paths && !graph.paths.length) return nothing(t("graph.noPath"));
  const onOpen = (id) => change({ entity: id, to: "" });
  return [drawing({ ...graph, focus }, onOpen), graph.paths && waysList(graph.paths)];
}

function waysList(paths) {
  const name = (one) => el("a", { href: address("graph", { entity: one.id }) }, quoted(one.name));
  const said = (edge) =>
    edge && el("span", { class: "soft" }, " — ", predicateOf(edge), " — ");
  const line = (path) =>
    el(
      "li",
      {},
      path.nodes.flatMap((one, at) => [said(path.edges[at - 1]), name(one)]),
    );
  return el("ol", { class: "ways" }, paths.map(line));
}
