/** Usage and cost: what language models did for this library, and how much it holds. */

import { get } from "../api.js";
import { el, fill } from "../dom.js";
import { bytes, cost, number } from "../format.js";
import { t } from "../i18n.js";
import { load, nothing } from "../states.js";

const HELD = ["documents", "chunks", "entities", "relations", "communities", "reports"];

export function open(main) {
  const held = el("div");
  const spent = el("div");
  fill(
    main,
    el(
      "div",
      { class: "wide" },
      el("h1", { tabindex: "-1" }, t("usage.title")),
      spent,
      el("h2", {}, t("usage.held")),
      held,
    ),
  );
  load(
    spent,
    () => get("/v1/usage"),
    (found) => bill(found.items),
  );
  load(
    held,
    () => get("/v1/stats"),
    (stats) => counts(stats),
  );
  return { update() {}, close() {} };
}

function bill(rows) {
  if (!rows.length) return nothing(t("usage.none"), el("p", {}, t("usage.noneWhy")));
  const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const unknown = rows.some((row) => row.cost === null);
  return [
    el(
      "dl",
      { class: "figures-row" },
      figure(t("usage.cost"), (unknown ? "≥ " : "") + cost(sum("cost"), rows[0]?.currency)),
      figure(t("usage.calls"), number(sum("calls"))),
      figure(t("usage.read"), number(sum("prompt_tokens"))),
      sum("cached_tokens") > 0 && figure(t("usage.kept"), number(sum("cached_tokens"))),
      figure(t("usage.written"), number(sum("completion_tokens"))),
    ),
    unknown && el("p", { class: "soft" }, t("usage.someUnknown")),
    table(rows),
  ];
}

const figure = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

function table(rows) {
  const columns = ["day", "stage", "model", "calls", "failed", "read", "written", "cost"];
  const largest = Math.max(...rows.map((row) => row.cost ?? 0), 1e-9);
  const line = (row) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, row.day),
      el("td", {}, row.stage),
      el("td", { class: "id" }, row.model),
      el("td", { class: "amount" }, number(row.calls)),
      el("td", { class: row.failed ? "amount bad" : "amount" }, number(row.failed)),
      el("td", { class: "amount" }, number(row.prompt_tokens)),
      el("td", { class: "amount" }, number(row.completion_tokens)),
      el(
        "td",
        { class: "amount" },
        cost(row.cost, row.currency),
        row.cost
          ? el("span", { class: "bar", share: row.cost / largest, "aria-hidden": "true" })
          : null,
      ),
    );
  const heads = columns.map((name, at) =>
    el("th", { scope: "col", class: at > 2 ? "amount" : null }, t(`usage.${name}`)),
  );
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": t("usage.table") },
    el(
      "table",
      {},
      el("caption", {}, t("usage.table")),
      el("thead", {}, el("tr", {}, heads)),
      el("tbody", {}, rows.map(line)),
    ),
  );
}

function counts(stats) {
  const known = HELD.filter((name) => stats[name] !== undefined).map((name) =>
    figure(t(`held.${name}`), number(stats[name])),
  );
  const size =
    stats.size_bytes !== undefined ? [figure(t("held.size"), bytes(stats.size_bytes))] : [];
  return el("dl", { class: "figures-row" }, known, size);
}
