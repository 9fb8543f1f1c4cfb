/** Communities: the library's table of contents; each entry's report with its evidence. */

import { get } from "../api.js";
import { address, change } from "../address.js";
import { button, el, fill, quoted } from "../dom.js";
import { number } from "../format.js";
import { t } from "../i18n.js";
import { graphPage } from "../graph_page.js";
import { asReader } from "../namespaces.js";
import { plain } from "../plain.js";
import { load, moreButton, nothing } from "../states.js";
import { evidence } from "./evidence.js";

const PAGE = 100;
const INSET = 200;
const FIRST_ENTITIES = 24;

export function open(main, parameters) {
  let opened = null;
  const contents = el("nav", { class: "contents", "aria-label": t("communities.contents") });
  const report = el("div", { class: "report" });
  const layout = el("div", { class: "two-columns" }, contents, report);
  fill(
    main,
    el(
      "div",
      { class: "wide" },
      el("h1", { tabindex: "-1" }, t("communities.title")),
      el("p", { class: "lead" }, t("communities.lead")),
      layout,
    ),
  );
  load(contents, () => topLevel(), tableOfContents);

  function update({ id = "" }) {
    layout.classList.toggle("has-chosen", Boolean(id));
    markChosen(contents, id);
    if (id === opened) return;
    const moved = opened !== null;
    opened = id;
    if (!id) return fill(report, el("p", { class: "soft choose" }, t("communities.choose")));
    load(
      report,
      () => get(`/v1/graph/communities/${encodeURIComponent(id)}`, asReader()),
      (found) => {
        window.setTimeout(() => markChosen(contents, id), 0);
        if (moved) window.setTimeout(() => report.querySelector("h2")?.focus(), 0);
        return reportOf(found);
      },
    );
  }
  update(parameters);
  return { update, close() {} };
}

function markChosen(contents, id) {
  for (const link of contents.querySelectorAll("a")) {
    if (link.dataset.id === id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// --- the table of contents -----------------------------------------------------------------------

function tableOfContents(found) {
  if (!found.items.length)
    return nothing(t("communities.none"), el("p", {}, t("communities.noneHow")));
  const further = el("div");
  const more = moreButton(found.next, topLevel, (items) => {
    const added = entries(items);
    further.append(added);
    return added.querySelector("a");
  });
  return [entries(found.items), further, more];
}

const topLevel = (cursor) =>
  get("/v1/graph/communities", { level: 0, limit: PAGE, cursor, ...asReader() });

const entries = (items) => el("ul", { class: "toc" }, items.map(entry));

function entry(one) {
  const children = el("div", { class: "toc-children", hidden: true });
  const count = (one.children ?? []).length;
  const fold = button(
    "",
    {
      class: "icon fold",
      "aria-expanded": "false",
      "aria-label": t("communities.open", { title: one.title }),
    },
    () => {
      const isOpen = fold.getAttribute("aria-expanded") === "true";
      fold.setAttribute("aria-expanded", String(!isOpen));
      children.hidden = isOpen;
      if (!isOpen && !children.childElementCount)
        load(
          children,
          () => childrenOf(one),
          (items) => entries(items),
        );
    },
  );
  return el(
    "li",
    {},
    el(
      "div",
      { class: "toc-line" },
      count > 0 ? fold : el("span", { class: "fold-space" }),
      el(
        "a",
        { href: address("communities", { id: one.id }), data: { id: one.id } },
        quoted(one.title || one.id),
      ),
      el(
        "span",
        { class: "soft amount", title: t("count.entities", { n: one.size }) },
        number(one.size),
      ),
    ),
    children,
  );
}

/** The communities within one, found among those of the next level, the weightiest first. */
async function childrenOf(one) {
  const wanted = new Set(one.children);
  const found = [];
  let cursor;
  do {
    const page = await get("/v1/graph/communities", {
      level: one.level + 1,
      limit: INSET,
      cursor,
      ...asReader(),
    });
    found.push(...page.items.filter((child) => wanted.has(child.id)));
    cursor = page.next;
  } while (cursor && found.length < wanted.size);
  return found;
}

// --- a report ------------------------------------------------------------------------------------

function reportOf(found) {
  const told = found.report ?? found;
  const title = told.title || found.title || found.id;
  const findings = told.findings ?? [];
  return el(
    "article",
    {},
    button(t("communities.back"), { class: "quiet back-to-list" }, () => change({ id: "" })),
    quoted(title, "h2", { tabindex: "-1" }),
    el(
      "p",
      { class: "facts" },
      found.size !== undefined && el("span", {}, t("count.entities", { n: found.size })),
      found.level !== undefined &&
        el("span", {}, t("communities.level", { level: number(found.level) })),
      Number.isFinite(told.rating) &&
        el("span", {}, t("communities.rating", { rating: number(told.rating, 1) })),
      found.parent &&
        el(
          "a",
          { href: address("communities", { id: found.parent.id ?? found.parent }) },
          t("communities.parent"),
          found.parent.title ? quoted(` ${found.parent.title}`) : "",
        ),
      graphPage(t("graph.part"), { community: found.id, ...asReader() }),
    ),
    inner(found.children ?? []),
    told.summary && quoted(plain(told.summary), "p", { class: "prose summary" }),
    findings.length > 0 && el("h3", {}, t("communities.findings")),
    findings.length > 0 && el("ol", { class: "findings" }, findings.map(finding)),
    members(told.entities ?? found.entities ?? []),
  );
}

function finding(one) {
  return el(
    "li",
    {},
    quoted(plain(one.text), "p", { class: "prose" }),
    evidence(one.evidence ?? one.evidences ?? [], { said: one.text }),
  );
}

function inner(children) {
  if (!children.length || !children[0].title) return null;
  const chip = (one) =>
    el(
      "li",
      {},
      el("a", { class: "chip", href: address("communities", { id: one.id }) }, quoted(one.title)),
    );
  return el("ul", { class: "chips", "aria-label": t("communities.within") }, children.map(chip));
}

function members(entities) {
  if (!entities.length) return null;
  const chip = (one) =>
    el(
      "li",
      {},
      el(
        "a",
        { class: "chip", href: address("graph", { entity: one.id ?? one }) },
        quoted(one.name ?? one),
      ),
    );
  const rest = entities.slice(FIRST_ENTITIES).map(chip);
  const list = el("ul", { class: "chips" }, entities.slice(0, FIRST_ENTITIES).map(chip));
  const more =
    rest.length > 0 &&
    button(t("list.moreCount", { n: rest.length }), { class: "quiet" }, () => {
      list.append(...rest);
      more.remove();
      rest[0].querySelector("a").focus();
    });
  return [el("h3", {}, t("communities.entities")), list, more];
}
