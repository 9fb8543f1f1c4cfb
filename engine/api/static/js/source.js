/**
 * The source beside a view: a document's text with the cited passage highlighted and in sight, its
 * page named, and the way to the citation before and after. Which passage is open stands in the
 * address (`doc`, `from`, `to`), so that every citation can be linked to.
 */

import { get } from "./api.js";
import { change, go } from "./address.js";
import { button, el, fill, freshId, quoted, say } from "./dom.js";
import { aboutDocument } from "./document_facts.js";
import { number } from "./format.js";
import { t } from "./i18n.js";
import { pieces } from "./offsets.js";
import { load } from "./states.js";

const BEFORE = 3000;
const AFTER = 6000;
const NARROW = window.matchMedia("(max-width: 62rem)");

/** The places among which one goes back and forth, and who asked for the first of them. */
let thread = [];
let opener = null;
let shown = "";

/**
 * Open the place `{document_id, start, end}`; `places` are those before and after it. What the user
 * said is read in its conversation.
 */
export function openSource(place, places = [place]) {
  if (place.origin === "memory") {
    go("conversations", { session: place.document_id.split("/")[2] });
    return;
  }
  thread = places.filter((one) => Number.isInteger(one.start));
  opener = document.activeElement;
  change({ doc: place.document_id, from: place.start, to: place.end });
}

export function closeSource() {
  change({ doc: "", from: "", to: "" });
}

/** Bring the panel to what the address says; views call nothing of this themselves. */
export function showSource({ doc, from, to }, panel = document.getElementById("source")) {
  const key = doc ? JSON.stringify([doc, from, to]) : "";
  if (key === shown) return;
  shown = key;
  if (!doc) return hide(panel);
  const place = { document_id: doc, start: whole(from), end: whole(to) };
  if (!thread.some((one) => isSame(one, place))) thread = place.start === null ? [] : [place];
  panel.hidden = false;
  document.body.classList.add("with-source");
  setCovered();
  draw(panel, place);
}

/** The panel is to be drawn anew the next time it is shown, as in another language. */
export function forgetShown() {
  shown = "";
}

const whole = (text) => (/^\d{1,12}$/.test(text ?? "") ? Number(text) : null);
const isSame = (one, other) =>
  one.document_id === other.document_id && one.start === other.start && one.end === other.end;

function hide(panel) {
  if (panel.hidden) return;
  panel.hidden = true;
  fill(panel);
  document.body.classList.remove("with-source");
  setCovered();
  if (opener?.isConnected) opener.focus({ preventScroll: true });
  else document.getElementById("main").focus({ preventScroll: true });
  opener = null;
}

/** On a narrow screen the panel covers the view: what lies under it takes no part. */
function setCovered() {
  const covered = NARROW.matches && document.body.classList.contains("with-source");
  for (const id of ["header", "main", "skip"]) document.getElementById(id).inert = covered;
}
NARROW.addEventListener("change", setCovered);

function draw(panel, place) {
  const titleId = freshId("source");
  const title = el("h2", { id: titleId, tabindex: "-1", dir: "auto" }, place.document_id);
  const facts = el("p", { class: "facts" });
  const about = el("div");
  const text = el("div", { class: "source-text" });
  panel.setAttribute("aria-labelledby", titleId);
  fill(panel, el("div", { class: "source-head" }, steps(place), title, facts, about), text);
  title.focus({ preventScroll: true });
  const outside = thread.find((one) => isSame(one, place) && one.origin === "web");
  if (outside) {
    fill(text, fromWeb(outside));
    return;
  }
  const ask = () =>
    textBetween(
      place.document_id,
      Math.max(0, (place.start ?? 0) - BEFORE),
      (place.end ?? 0) + AFTER,
    );
  load(text, ask, (found) => {
    fill(title, found.title || place.document_id);
    fill(facts, factsLine(found, place));
    window.setTimeout(settle, 0, text, place, found);
    return body(found, place);
  });
  aboutDocument(about, place.document_id);
}

const textBetween = (id, start, end) => get("/v1/document-text", { id, start, end });

/** What was found on the web is shown as it was found; its address is text, never a link. */
function fromWeb(place) {
  return el(
    "div",
    { class: "reading" },
    el("p", { class: "soft" }, t("source.web")),
    quoted(place.document_id, "p", { class: "id" }),
    el(
      "p",
      { class: "running", dir: "auto" },
      el("mark", { class: "current" }, place.quote ?? place.text),
    ),
  );
}

function steps(place) {
  const at = thread.findIndex((one) => isSame(one, place));
  const step = (by, label, name) => {
    const target = thread[at + by];
    return button(
      "",
      { class: `icon ${name}`, "aria-label": label, title: label, disabled: !target },
      () =>
        change({ doc: target.document_id, from: target.start, to: target.end }, { replace: true }),
    );
  };
  const close = button(
    "",
    { class: "icon close", "aria-label": t("source.close"), title: t("source.close") },
    closeSource,
  );
  if (thread.length < 2) return close;
  const position = el(
    "span",
    { class: "soft" },
    t("source.of", { at: at + 1, all: thread.length }),
  );
  const both = [step(-1, t("source.previous"), "previous"), step(1, t("source.next"), "next")];
  return [el("div", { class: "source-steps" }, both, position), close];
}

function factsLine(found, place) {
  const page = place.start === null ? 0 : pageAt(found.pages, place.start);
  return [
    quoted(found.id, "span", { class: "id" }),
    page > 0 &&
      el("strong", {}, t("source.pageOf", { page: number(page), all: number(found.pages.length) })),
    place.start !== null &&
      el(
        "span",
        {},
        t("source.characters", {
          from: number(place.start),
          to: number(place.end),
          all: number(found.total),
        }),
      ),
  ];
}

const pageAt = (pages, offset) => (pages ?? []).filter((start) => start <= offset).length;

/** The text of one window with its marks, and buttons for what lies before and after it. */
function body(found, place) {
  const text = el("div", { class: "running", dir: "auto" }, marked(found, place));
  const region = el("div", {
    class: "reading",
    role: "region",
    tabindex: "0",
    "aria-label": t("source.text"),
  });
  const more = (before) => {
    const edge = { first: found.start, last: found.end };
    const press = button(
      t(before ? "source.earlier" : "source.further"),
      { class: "quiet more" },
      () => {
        const ask = before
          ? () => textBetween(found.id, Math.max(0, edge.first - AFTER), edge.first)
          : () => textBetween(found.id, edge.last, edge.last + AFTER);
        extend(press, ask, (next) => {
          const height = region.scrollHeight;
          const nodes = marked(next, place);
          if (before) text.prepend(...nodes);
          else text.append(...nodes);
          if (before) region.scrollTop += region.scrollHeight - height;
          edge.first = next.start;
          edge.last = next.end;
          press.hidden = before ? next.start <= 0 : next.end >= next.total;
        });
      },
    );
    press.hidden = before ? found.start <= 0 : found.end >= found.total;
    return press;
  };
  if (!found.total) return el("p", { class: "soft" }, t("source.empty"));
  return fill(region, more(true), text, more(false));
}

async function extend(press, ask, take) {
  press.disabled = true;
  try {
    take(await ask());
  } catch (problem) {
    say(problem.message || t(`problem.${problem.kind}`));
  } finally {
    press.disabled = false;
  }
}

/** Nodes of a window: plain text, marks where the thread's places are, a line where a page begins. */
function marked(found, place) {
  const places = thread.filter((one) => one.document_id === found.id);
  const pages = found.pages ?? [];
  const cuts = [...places.flatMap((one) => [one.start, one.end]), ...pages];
  const isIn = (piece, one) => one.start <= piece.start && piece.end <= one.end;
  return pieces(found.text, found.start, cuts).flatMap((piece) => {
    const page = pages.length > 1 ? pages.indexOf(piece.start) + 1 : 0;
    const line =
      page > 0 && el("span", { class: "page-line" }, t("source.page", { page: number(page) }));
    if (place.start !== null && isIn(piece, place)) {
      return [line, el("mark", { class: "current" }, piece.text)].filter(Boolean);
    }
    const other = places.some((one) => isIn(piece, one));
    return [line, other ? el("mark", {}, piece.text) : piece.text].filter(Boolean);
  });
}

function settle(text, place, found) {
  const mark = text.querySelector("mark.current");
  if (!mark) return;
  const region = mark.closest(".reading"); // not scrollIntoView, which would move the view beside it too
  const above = mark.getBoundingClientRect().top - region.getBoundingClientRect().top;
  region.scrollTop += above - region.clientHeight / 3;
  const page = pageAt(found.pages, place.start);
  say(t(page ? "source.saidPage" : "source.said", { page, title: found.title }));
}
