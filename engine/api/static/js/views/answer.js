/** One question's answer while it is written and when it stands, with its sources and its making. */

import { button, el, fill, freshId, quoted, say } from "../dom.js";
import { duration, pageName, percent, shortName, usageLine } from "../format.js";
import { graphPage } from "../graph_page.js";
import { t } from "../i18n.js";
import { plain } from "../plain.js";
import { prose } from "../prose.js";
import { openSource } from "../source.js";
import { failure } from "../states.js";
import { languageOf, stepName } from "../steps.js";
import { making } from "./making.js";

const FIRST_SOURCES = 8;

/** `{entry, node, update(what)}`: the card, and how it is told of what is new. */
export function answerCard(entry, { again }) {
  const titleId = freshId("question");
  const slots = Object.fromEntries(
    ["understood", "route", "steps", "text", "note", "check", "sources", "foot", "making"].map((name) => [
      name,
      el("div", { class: `slot-${name}` }),
    ]),
  );
  const node = el(
    "article",
    { class: "answer", "aria-labelledby": titleId },
    quoted(entry.question, "h2", { id: titleId, tabindex: "-1" }),
    Object.values(slots),
  );
  let planned = 0;

  const draw = {
    understood: () => fill(slots.understood, understood(entry)),
    route: () => fill(slots.route, routeLine(entry)),
    steps: () => fill(slots.steps, entry.state === "running" && stepList(entry)),
    text: () => fill(slots.text, text(entry)),
    note: () => fill(slots.note, note(entry, again)),
    check: () => fill(slots.check, entry.state !== "running" && checked(entry)),
    sources: () => fill(slots.sources, sources(entry)),
    foot: () => fill(slots.foot, entry.state !== "running" && foot(entry, again)),
    making: () => fill(slots.making, entry.state !== "running" && making(entry)),
  };
  const drawAll = () => Object.values(draw).forEach((one) => one());
  const soon = (one) => {
    window.cancelAnimationFrame(planned);
    planned = window.requestAnimationFrame(one);
  };

  function update(what) {
    node.setAttribute("aria-busy", String(entry.state === "running"));
    if (what === "tokens") return soon(draw.text);
    announce(entry, what);
    return soon(drawAll);
  }

  drawAll();
  node.setAttribute("aria-busy", String(entry.state === "running"));
  return { entry, node, update };
}

/** Said once at each turn, never word by word. */
function announce(entry, what) {
  if (what === "route") say(t("answer.saidRoute", { mode: t(`mode.${entry.route.mode}`) }));
  if (what !== "end") return;
  if (entry.state === "done" && !entry.abstained)
    say(t("answer.saidDone", { sources: t("count.sources", { n: entry.citations.length }) }));
  else if (entry.abstained) say(t("answer.abstained"));
  else say(t(`answer.${entry.state}`));
}

function routeLine(entry) {
  const mode = entry.route?.mode ?? entry.mode;
  if (!mode) return null;
  const sure = entry.route && Number.isFinite(entry.route.confidence);
  return el(
    "p",
    { class: "route" },
    el("span", { class: `badge mode-${mode}` }, t(`mode.${mode}`)),
    el(
      "span",
      {},
      entry.route
        ? quoted(entry.route.reason, "span", { lang: languageOf(entry.route.reason) })
        : t("answer.asAsked"),
    ),
    sure &&
      el("span", { class: "soft" }, t("answer.sure", { share: percent(entry.route.confidence) })),
  );
}

/** The question as it was answered, where what was said before made another of it. */
function understood(entry) {
  if (!entry.rewritten_question) return null;
  return el("p", { class: "soft" }, t("answer.understood"), " ", quoted(entry.rewritten_question));
}

function stepList(entry) {
  const done = entry.steps.map((step) =>
    el(
      "li",
      {},
      el("span", { class: "step-name" }, stepName(step.stage)),
      " ",
      quoted(step.detail, "span", { class: "soft" }),
    ),
  );
  const now = t(entry.text ? "answer.writing" : entry.route ? "answer.looking" : "answer.routing");
  return el("ol", { class: "steps" }, done, el("li", { class: "now" }, now));
}

function text(entry) {
  if (!entry.text || (entry.abstained && !entry.citations.length)) return null; // the note says it
  const classes = [
    "prose",
    entry.state === "running" && !entry.checked && "writing",
    entry.abstained && "abstained",
  ];
  return [
    entry.short?.confidence >= SURE && shortLine(entry.short),
    el(
      "div",
      { class: classes.filter(Boolean).join(" ") },
      prose(entry.text, (number) => markOf(entry, number)),
    ),
  ];
}

/** A short answer is set above the sentences only where it is all but certain. */
const SURE = 0.9;

/** What was asked for in a word or few, and how likely it is right. */
function shortLine(short) {
  return el(
    "p",
    { class: "short" },
    quoted(short.text, "strong"),
    " ",
    el("span", { class: "soft" }, t("answer.shortSure", { share: percent(short.confidence) })),
  );
}

/**
 * While it is written `[n]` means the n-th passage, once it is checked the citation of that number.
 * Of an answer in two parts, which have passages of their own, it is not known before.
 */
function markOf(entry, number) {
  if (!entry.checked && entry.readings > 1) return null;
  const place = entry.checked
    ? entry.citations.find((one) => one.number === number)
    : entry.passages[number - 1];
  if (!place) return null;
  const title = [place.title, pageName(place.page)].filter(Boolean).join(", ");
  return button(
    String(number),
    { class: "cite", "aria-label": t("answer.cite", { number, title }), title },
    () => openSource(place, entry.checked ? entry.citations : entry.passages),
  );
}

function note(entry, again) {
  if (entry.state === "failed") return failure(entry.problem, again);
  if (entry.state === "stopped" || entry.state === "cut")
    return el("p", { class: "notice" }, t(`answer.${entry.state}Long`));
  if (!entry.abstained || entry.state === "running") return null;
  return el(
    "div",
    { class: "notice" },
    el("p", {}, el("strong", {}, t("answer.abstained"))),
    entry.nearest?.length > 0 ? nearest(entry.nearest) : el("p", {}, t("answer.abstainedNone")),
  );
}

/** What stands nearest to a question that was not answered; each opens at its place. */
function nearest(places) {
  const items = places.map((one) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "source-item", on: { click: () => openSource(one, places) } },
        el(
          "span",
          { class: "source-what" },
          el(
            "span",
            { class: "source-title" },
            quoted([one.title || one.document_id, one.heading].filter(Boolean).join(" › ")),
            el("span", { class: "soft" }, ` · ${percent(one.score)}`),
          ),
          quoted(plain(one.text), "span", { class: "quote" }),
        ),
      ),
    ),
  );
  return [
    el("p", {}, t("answer.abstainedNear")),
    el("ul", { class: "source-list" }, items),
  ];
}

/** How well the sources bear the answer out, and which of its statements they do not. */
function checked(entry) {
  const claims = entry.claims ?? [];
  const loose = claims.filter((claim) => !claim.supported && !claim.unchecked);
  const share =
    Number.isFinite(entry.grounding) && t("answer.grounding", { share: percent(entry.grounding) });
  if (!loose.length && !share && !entry.unchecked) return null;
  return el(
    "div",
    { class: loose.length ? "notice" : "soft" },
    share && el("p", {}, share),
    loose.length > 0 && [
      el("p", {}, el("strong", {}, t("answer.loose"))),
      el(
        "ul",
        { class: "loose" },
        loose.map((claim) => quoted(claim.text, "li")),
      ),
    ],
    entry.unchecked && quoted(entry.unchecked, "p", { lang: "en" }),
  );
}

function sources(entry) {
  if (!entry.citations.length) return null;
  const items = entry.citations.map((one) => source(one, entry.citations));
  const rest = items.splice(FIRST_SOURCES);
  const list = el("ol", { class: "source-list" }, items);
  const more =
    rest.length &&
    button(t("answer.moreSources", { n: rest.length }), { class: "quiet" }, () => {
      list.append(...rest);
      more.remove();
      rest[0].querySelector("button").focus();
    });
  return el("section", {}, el("h3", {}, t("answer.sources")), list, more || null);
}

function source(one, all) {
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "source-item", on: { click: () => openSource(one, all) } },
      el("span", { class: "source-number" }, one.number),
      el(
        "span",
        { class: "source-what" },
        el(
          "span",
          { class: "source-title" },
          quoted(one.origin === "memory" ? t("memory.title") : one.title || one.document_id),
          one.page ? el("span", { class: "soft" }, ` · ${pageName(one.page)}`) : null,
          el(
            "span",
            { class: "soft" },
            ` · ${one.origin === "web" ? one.document_id : shortName(one.document_id)}`,
          ),
        ),
        quoted(plain(one.quote), "span", { class: "quote" }),
      ),
    ),
  );
}

function foot(entry, again) {
  const copied = t("answer.copied");
  const copy = button(t("answer.copy"), { class: "quiet" }, async () => {
    await copyText(asText(entry));
    fill(copy, copied);
    say(copied);
    window.setTimeout(() => fill(copy, t("answer.copy")), 2000);
  });
  return el(
    "div",
    { class: "answer-foot" },
    entry.text && copy,
    button(t("answer.again"), { class: "quiet" }, again),
    entry.citations.length > 0 && graphOf(entry),
    el("span", { class: "grow" }),
    el("span", { class: "soft" }, [usageLine(entry.usage), duration(entry.seconds)].join(" · ")),
  );
}

/** What the answer rests on, drawn: of the way that the router takes, as only that can be asked for. */
function graphOf({ request, rewritten_question: question }) {
  const { mode, namespace, filters } = request;
  if (mode !== "auto") return null;
  const page = graphPage(t("graph.ofAnswer"), {
    question: question || request.question,
    namespace,
    where: filters,
  });
  page.classList.add("quiet");
  return page;
}

/** An answer with its sources as plain text. */
const nearestLines = (places) =>
  places.length
    ? [
        t("answer.abstainedNear"),
        ...places.map(
          (one) =>
            `- ${[one.title, one.heading].filter(Boolean).join(" › ")} (${one.document_id}:${one.start}-${one.end}): ${plain(one.text)}`,
        ),
      ]
    : [];

export function asText(entry) {
  const lines = entry.citations.map(
    (one) =>
      `[${one.number}] ${one.title} (${one.document_id}${one.page ? `, p. ${one.page}` : ""}:${one.start}-${one.end})`,
  );
  return [
    entry.question,
    "",
    entry.text,
    "",
    ...(lines.length ? [t("answer.sources"), ...lines] : []),
    ...nearestLines(entry.nearest ?? []),
  ]
    .join("\n")
    .trim();
}

async function copyText(text) {
  const isDone = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (isDone) return;
  const area = el("textarea", { value: text, class: "unseen" }); // not a secure address, or not allowed
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
