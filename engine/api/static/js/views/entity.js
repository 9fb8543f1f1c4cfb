/** What is known of one name: its description, other names, relations and where they were read. */

import { address, change } from "../address.js";
import { button, el, fill, quoted } from "../dom.js";
import { number } from "../format.js";
import { t, typeName } from "../i18n.js";
import { graphPage } from "../graph_page.js";
import { asReader } from "../namespaces.js";
import { predicateOf } from "../relations.js";
import { evidence } from "./evidence.js";

const FIRST_RELATIONS = 12;
const PAGE_HOPS = 2;

export function entityPanel(one) {
  const aliases = (one.aliases ?? []).filter((alias) => alias !== one.name);
  return el(
    "article",
    {},
    quoted(one.name, "h2", { tabindex: "-1" }),
    el(
      "p",
      { class: "facts" },
      el("span", { class: "badge" }, typeName(one.type)),
      el("span", {}, t("count.mentions", { n: one.mention_count ?? 0 })),
      el("span", {}, t("count.inDocuments", { n: one.document_count ?? 0 })),
    ),
    one.description && quoted(one.description, "p", { class: "prose" }),
    aliases.length > 0 &&
      el(
        "p",
        {},
        el("span", { class: "soft" }, `${t("graph.aliases")} `),
        quoted(aliases.join(", ")),
      ),
    el(
      "p",
      {},
      el(
        "a",
        { href: address("ask", { q: t("ask.ideaName", { name: one.name }) }) },
        t("graph.ask"),
      ),
      " · ",
      graphPage(t("graph.part"), { focus: one.id, hops: PAGE_HOPS, ...asReader() }),
    ),
    relations(one),
    one.evidence?.length > 0 && [el("h3", {}, t("graph.evidence")), evidence(one.evidence)],
    communities(one.communities ?? []),
  );
}

function relations(one) {
  const all = one.relations ?? [];
  if (!all.length) return null;
  const item = (relation) => el("li", {}, relationLine(relation, one));
  const rest = all.slice(FIRST_RELATIONS).map(item);
  const list = el("ul", { class: "relations" }, all.slice(0, FIRST_RELATIONS).map(item));
  const more =
    rest.length > 0 &&
    button(t("list.moreCount", { n: rest.length }), { class: "quiet" }, () => {
      list.append(...rest);
      more.remove();
      rest[0].querySelector("button").focus();
    });
  return [
    el("h3", {}, t("graph.relations", { n: number(one.relation_count ?? all.length) })),
    list,
    more,
  ];
}

/** One relation: a sentence of its ends, and the places it was read in. */
function relationLine(relation, self) {
  const end = (id, name) =>
    id === self.id
      ? quoted(self.name, "strong")
      : button(name, { class: "linkish", dir: "auto" }, () => change({ entity: id, to: "" }));
  const words = [
    end(idOf(relation.source), nameOf(relation, "source")),
    " ",
    predicateOf(relation),
    " ",
    end(idOf(relation.target), nameOf(relation, "target")),
  ];
  const places = relation.evidence ?? relation.evidences ?? [];
  const count = relation.evidence_count ?? places.length;
  const said = t("graph.showEvidence", { n: count });
  const shown = el("div", { hidden: true });
  const fold = button(
    number(count),
    { class: "count", "aria-expanded": "false", "aria-label": said, title: said },
    () => {
      shown.hidden = !shown.hidden;
      fold.setAttribute("aria-expanded", String(!shown.hidden));
      if (!shown.childElementCount) fill(shown, evidence(places));
    },
  );
  return [
    el("div", { class: "relation" }, el("span", {}, words), places.length > 0 && fold),
    shown,
  ];
}

const idOf = (end) => end?.id ?? end;
const nameOf = (relation, which) =>
  relation[`${which}_name`] ?? relation[which]?.name ?? String(relation[which]);

function communities(all) {
  if (!all.length) return null;
  const chip = (one) =>
    el(
      "li",
      {},
      el(
        "a",
        { class: "chip", href: address("communities", { id: one.id ?? one }) },
        quoted(one.title ?? one.id ?? one),
      ),
    );
  return [el("h3", {}, t("graph.communities")), el("ul", { class: "chips" }, all.map(chip))];
}
