/** How an answer was found: its stages with their times, and the passages with their scores. */

import { el, quoted } from "../dom.js";
import { duration, number, pageName, shortName, usageLine } from "../format.js";
import { t } from "../i18n.js";
import { plain } from "../plain.js";
import { openSource } from "../source.js";
import { languageOf, stepName } from "../steps.js";

/** A disclosure with stages and passages, or null where nothing is known of either. */
export function making(entry) {
  if (!entry.steps.length && !entry.passages.length) return null;
  return el(
    "details",
    { class: "making" },
    el("summary", {}, t("making.title")),
    entry.steps.length > 0 && stages(entry.steps),
    entry.passages.length > 0 && passages(entry.passages),
  );
}

function stages(steps) {
  const longest = Math.max(...steps.map((step) => step.seconds), 1e-9);
  const row = (step) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, stepName(step.stage)),
      el(
        "td",
        { dir: "auto" },
        el("span", { lang: languageOf(step.detail) }, step.detail),
        el(
          "span",
          { class: "figures" },
          [figures(step.figures), step.usage?.calls ? usageLine(step.usage) : ""]
            .filter(Boolean)
            .join(" · "),
        ),
        seen(step),
      ),
      el(
        "td",
        { class: "amount" },
        duration(step.seconds),
        el("span", { class: "bar", share: step.seconds / longest, "aria-hidden": "true" }),
      ),
    );
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": t("making.stages") },
    el(
      "table",
      {},
      el("caption", {}, t("making.stages")),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["stage", "detail", "time"].map((name) =>
            el("th", { scope: "col" }, t(`making.${name}`)),
          ),
        ),
      ),
      el("tbody", {}, steps.map(row)),
    ),
  );
}

/** The beginnings of what a stage took and gave, where it tells. */
function seen({ input, output }) {
  if (!input && !output) return null;
  const part = (name, text) => text && [el("dt", {}, t(`making.${name}`)), quoted(text, "dd")];
  return el(
    "details",
    { class: "seen" },
    el("summary", {}, t("making.seen")),
    el("dl", {}, part("input", input), part("output", output)),
  );
}

function figures(values) {
  return Object.entries(values ?? {})
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value, 3)}`)
    .join(" · ");
}

function passages(found) {
  return [
    el("h3", {}, t("making.passages", { n: found.length })),
    el(
      "ol",
      { class: "passages" },
      found.map((one) => passage(one, found)),
    ),
  ];
}

function passage(one, all) {
  const scores = figures(one.scores);
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "passage-open", on: { click: () => openSource(one, all) } },
      quoted(one.title || one.document_id),
      el(
        "span",
        { class: "soft" },
        [shortName(one.document_id), pageName(one.page)]
          .filter(Boolean)
          .map((part) => ` · ${part}`),
      ),
    ),
    el(
      "span",
      { class: "relevance" },
      t("making.relevance", { value: number(one.relevance, 2) }),
      el("span", { class: "bar", share: one.relevance, "aria-hidden": "true" }),
    ),
    one.headings?.length > 0 && quoted(one.headings.join(" › "), "span", { class: "soft" }),
    quoted(plain(one.text), "p", { class: "passage-text" }),
    el(
      "p",
      { class: "figures" },
      [scores, (one.path ?? []).join(" → ")].filter(Boolean).join(" · "),
    ),
  );
}
