/** Ask: a question, which way it takes and over which documents; its answer, and those before it. */

import { get } from "../api.js";
import { address, change, here } from "../address.js";
import { button, el, fill, freshId, quoted } from "../dom.js";
import { field } from "../dialogs.js";
import { number } from "../format.js";
import { language, t } from "../i18n.js";
import * as memory from "../memory.js";
import { asReader, namespace, namespaceName, within } from "../namespaces.js";
import * as session from "../session.js";
import { answerCard } from "./answer.js";

const MODES = ["auto", "local", "global", "both", "agent"];
const WITHOUT_OVERVIEW = ["local", "agent"];
const EFFORTS = ["low", "medium"];
const SUGGESTED_NAMES = 2;
const LOOKED_AT = 12;
const MOST_LETTERS = 4000;

/** What the composer holds; it stays while one looks at other views. */
const draft = { question: "", mode: "auto", effort: "", document: "", conditions: "", goesOn: true };

export function open(main, parameters) {
  Object.assign(draft, wished(parameters));
  const cardSlot = el("div");
  const earlierSlot = el("div");
  const composer = makeComposer((request, after) =>
    change({ entry: session.ask(request, after).id, q: "", document: "" }),
  );
  const title = el("h1", { tabindex: "-1" }, t("ask.title"));
  fill(main, el("div", { class: "ask" }, title, composer.node, cardSlot, earlierSlot));
  let card = null;

  function show({ entry: id }) {
    const entry = id ? session.find(id) : session.all().at(-1);
    title.classList.toggle("unseen", Boolean(entry));
    if (card?.entry !== entry || !entry) {
      card = entry ? answerCard(entry, { again: () => composer.take(entry) }) : null;
      fill(cardSlot, card ? card.node : welcome(composer));
    }
    fill(earlierSlot, earlier(entry));
    composer.follow(entry);
  }

  const leave = session.subscribe((entry, what) => {
    if (card?.entry === entry) card.update(what);
    if (what === "end") show(here().parameters);
    composer.follow(card?.entry);
  });
  show(parameters);
  if (parameters.doc === undefined) composer.focus();
  return { update: show, close: leave };
}

function wished({ q, mode, effort, document }) {
  const wish = {};
  if (q) wish.question = q;
  if (MODES.includes(mode)) wish.mode = mode;
  if (EFFORTS.includes(effort)) wish.effort = effort;
  if (document) wish.document = document;
  return wish;
}

// --- the composer ------------------------------------------------------------------------------

function makeComposer(onAsk) {
  let running = null;
  let shown = null;
  let retaken = null;
  const id = freshId("question");
  const text = el("textarea", {
    id,
    rows: "2",
    maxlength: MOST_LETTERS,
    placeholder: t("ask.placeholder"),
    dir: "auto",
    enterkeyhint: "send",
    value: draft.question,
  });
  const note = el("p", { class: "composer-note", role: "alert" });
  const send = el("button", { type: "submit", class: "primary" }, t("ask.send"));
  const stop = button(
    t("ask.stop"),
    { class: "stop", hidden: true },
    () => running && session.stop(running),
  );
  const goesOn = el("input", {
    type: "checkbox",
    on: {
      change: () => {
        draft.goesOn = goesOn.checked;
      },
    },
  });
  goesOn.checked = draft.goesOn;
  const goingOn = el("label", { class: "goes-on", hidden: true }, goesOn, t("ask.goesOn"));
  const form = el(
    "form",
    { class: "composer", on: { submit } },
    el("label", { for: id, class: "unseen" }, t("ask.label")),
    text,
    el("div", { class: "composer-row" }, ways(), goingOn, stop, send),
    filters(),
    remembering(),
    note,
  );

  function submit(event) {
    event.preventDefault();
    const question = draft.question.trim();
    fill(note, question ? "" : t("ask.empty"));
    if (!question || running) return;
    const request = requestOf(question);
    const after = retaken ? retaken.after : draft.goesOn ? shown?.id : null;
    retaken = null;
    draft.question = "";
    text.value = "";
    onAsk(request, after ?? null);
  }
  text.addEventListener("input", () => {
    draft.question = text.value;
    fill(note);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });

  return {
    node: form,
    focus: () => text.focus({ preventScroll: true }),
    /** Put a question into the field, to be changed or asked again. */
    take(entry) {
      retaken = entry;
      draft.question = entry.question;
      text.value = entry.question;
      text.focus();
      text.select();
    },
    /** Offer to stop the answer that is being written, or to go on from it when it stands. */
    follow(entry) {
      running = entry?.state === "running" ? entry : null;
      shown = entry?.state === "done" ? entry : null;
      goingOn.hidden = !shown;
      stop.hidden = !running;
      send.hidden = Boolean(running);
    },
  };
}

function requestOf(question) {
  const conditions = draft.conditions
    .split(/[;；\n]/)
    .map((one) => one.trim())
    .filter(Boolean);
  if (draft.document) conditions.push(`document_id=${draft.document}`);
  const request = { question, mode: draft.mode, ...within() };
  if (draft.effort && !WITHOUT_OVERVIEW.includes(draft.mode)) request.effort = draft.effort;
  if (conditions.length) request.filters = conditions;
  return request;
}

/** That questions belong to a conversation, and a way out of it; nothing where they do not. */
function remembering() {
  if (!memory.current()) return null;
  const line = el(
    "p",
    { class: "remembering soft" },
    el("a", { href: address("conversations", { session: memory.current() }) }, t("memory.on")),
    button(t("memory.leave"), { class: "quiet" }, () => {
      memory.leave();
      line.remove();
    }),
  );
  return line;
}

/** Which way, and how much an overview may cost; passages alone take no notice of that. */
function ways() {
  const work = efforts();
  return [modes((mode) => (work.hidden = WITHOUT_OVERVIEW.includes(mode))), work];
}

function efforts() {
  const choice = el(
    "select",
    {
      on: {
        change: () => {
          draft.effort = choice.value;
        },
      },
    },
    ["", ...EFFORTS].map((effort) =>
      el("option", { value: effort, selected: draft.effort === effort }, t(`effort.${effort}`)),
    ),
  );
  const label = el("span", { class: "soft" }, t("ask.effort"));
  const hidden = WITHOUT_OVERVIEW.includes(draft.mode);
  return el("label", { class: "effort", title: t("ask.effortNote"), hidden }, label, choice);
}

function modes(onChange) {
  const name = freshId("mode");
  const choice = (mode) => {
    const input = el("input", {
      type: "radio",
      name,
      value: mode,
      on: {
        change: () => {
          draft.mode = mode;
          onChange(mode);
        },
      },
    });
    input.checked = draft.mode === mode;
    return el("label", { title: t(`mode.${mode}.note`) }, input, el("span", {}, t(`mode.${mode}`)));
  };
  return el(
    "fieldset",
    { class: "modes" },
    el("legend", { class: "unseen" }, t("ask.mode")),
    MODES.map(choice),
  );
}

function filters() {
  const summary = el("summary", {}, filterLine());
  const changed = (key) => (event) => {
    draft[key] = event.target.value;
    fill(summary, filterLine());
  };
  const listId = freshId("documents");
  const list = el("datalist", { id: listId });
  const named = el("input", {
    list: listId,
    value: draft.document,
    autocomplete: "off",
    spellcheck: "false",
    on: { input: changed("document") },
  });
  named.addEventListener("input", () => offerDocuments(list, named.value));
  const conditions = el("input", {
    value: draft.conditions,
    placeholder: "tags=red; date>=2024-01-01",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: changed("conditions") },
  });
  return el(
    "details",
    { class: "filters", open: Boolean(draft.document || draft.conditions) },
    summary,
    el(
      "div",
      { class: "filter-fields" },
      field(t("ask.document"), named),
      list,
      field(t("ask.conditions"), conditions, t("ask.conditionsNote")),
    ),
  );
}

function filterLine() {
  const space = namespace() === null ? "" : namespaceName(namespace());
  const chosen = [space, draft.document, draft.conditions].filter(Boolean);
  return chosen.length ? t("ask.within", { what: chosen.join(" · ") }) : t("ask.everything");
}

async function offerDocuments(list, query) {
  const found = await get("/v1/documents", { query, limit: 20, ...within() }).catch(() => ({
    items: [],
  }));
  fill(
    list,
    found.items.map((one) => el("option", { value: one.id, label: one.title })),
  );
}

// --- before the first question, and after it -----------------------------------------------------

function welcome(composer) {
  const counts = el("p", { class: "lead" }, t("ask.lead"));
  const ideas = el("ul", { class: "ideas" });
  void suggest(counts, ideas, composer);
  return el("div", { class: "welcome" }, counts, ideas);
}

async function suggest(counts, ideas, composer) {
  const [stats, names] = await Promise.all([
    get("/v1/stats").catch(() => ({})),
    get("/v1/graph/entities", { limit: LOOKED_AT, ...asReader() }).catch(() => ({ items: [] })),
  ]);
  if (stats.documents === 0) {
    fill(
      counts,
      t("ask.noDocuments"),
      " ",
      el("a", { href: address("documents") }, t("ask.addDocuments")),
    );
    return;
  }
  if (stats.documents) {
    fill(
      counts,
      t("ask.holds", {
        documents: t("count.documents", { n: stats.documents }),
        entities: t("count.entities", { n: stats.entities ?? 0 }),
      }),
    );
  }
  const questions = [
    t("ask.ideaThemes"),
    ...known(names.items).map((name) => t("ask.ideaName", { name })),
  ];
  fill(
    ideas,
    questions.map((question) =>
      el(
        "li",
        {},
        button(question, { class: "idea", dir: "auto" }, () => composer.take({ question })),
      ),
    ),
  );
}

/** The names most spoken of, rather in the reader's own writing. */
function known(items) {
  const isOwn = (name) => /\p{Script=Han}/u.test(name) === (language() === "zh");
  const names = items.map((one) => one.name);
  return [...names.filter(isOwn), ...names.filter((name) => !isOwn(name))].slice(
    0,
    SUGGESTED_NAMES,
  );
}

function earlier(current) {
  const others = session
    .all()
    .filter((entry) => entry !== current)
    .reverse();
  if (!others.length) return null;
  const link = (entry) =>
    el(
      "li",
      {},
      el("a", { href: address("ask", { entry: entry.id }) }, quoted(entry.question)),
      el(
        "span",
        { class: "soft" },
        entry.state === "running" ? t("answer.running") : summary(entry),
      ),
    );
  return el(
    "section",
    { class: "earlier", "aria-labelledby": "earlier-title" },
    el("h2", { id: "earlier-title" }, t("ask.earlier")),
    el("ol", {}, others.map(link)),
    button(t("ask.forget"), { class: "quiet" }, () => {
      session.forgetAll();
      window.location.hash = address("ask", { entry: "" });
      window.dispatchEvent(new Event("redraw"));
    }),
  );
}

function summary(entry) {
  if (entry.state !== "done") return t(`answer.${entry.state}`);
  if (entry.abstained) return t("answer.abstainedShort");
  return (
    [t(`mode.${entry.mode}`), t("count.sources", { n: entry.citations.length })].join(" · ") +
    (entry.seconds ? ` · ${number(entry.seconds, 1)} s` : "")
  );
}
