/** Conversations that are remembered: read, named, gone on with, forgotten. */

import { change, go } from "../address.js";
import { confirmed, dialog, field } from "../dialogs.js";
import { button, el, fill, quoted, say } from "../dom.js";
import { t } from "../i18n.js";
import * as memory from "../memory.js";
import { load, nothing, problemTitle } from "../states.js";

export function open(main, parameters) {
  const list = el("div");
  const said = el("div", { class: "conversation" });
  fill(
    main,
    el(
      "div",
      { class: "wide" },
      el("h1", { tabindex: "-1" }, t("memory.title")),
      el("p", { class: "soft" }, t("memory.lead")),
      button(t("memory.begin"), { class: "primary" }, () => goOn()),
      list,
      said,
    ),
  );
  const reload = () => load(list, memory.conversations, (found) => rows(found, reload));
  const show = ({ session }) => {
    if (session) load(said, () => memory.messages(session), messages);
    else fill(said);
  };
  reload();
  show(parameters);
  return { update: show, close() {} };
}

function goOn(session) {
  memory.enter(session);
  go("ask", { entry: "" });
}

function rows(found, reload) {
  if (!found.length) return nothing(t("memory.none"), el("p", {}, t("memory.noneWhy")));
  return el("ol", { class: "conversations" }, found.map((one) => row(one, reload)));
}

function row({ session, name, begun }, reload) {
  const title = name || session;
  const press = (label, attributes, work) =>
    button(label, { "aria-label": `${label}: ${title}`, ...attributes }, async () => {
      try {
        if (await work()) reload();
      } catch (problem) {
        say(problemTitle(problem));
      }
    });
  return el(
    "li",
    { class: memory.current() === session ? "is-current" : null },
    button(quoted(title), { class: "quiet name" }, () => change({ session })),
    el("span", { class: "soft" }, begun.slice(0, 10)),
    el(
      "span",
      { class: "conversation-does" },
      press(t("memory.goOn"), { class: "quiet" }, () => goOn(session)),
      press(t("memory.rename"), { class: "quiet" }, () => renamed(session, title)),
      press(t("memory.forget"), { class: "quiet" }, () => forgotten(session, title)),
    ),
  );
}

async function renamed(session, title) {
  const input = el("input", { value: title, maxlength: 80, required: true, dir: "auto" });
  const name = await dialog({
    title: t("memory.rename"),
    content: field(t("memory.name"), input),
    agree: t("memory.rename"),
    read: () => input.value.trim() || null,
  });
  if (!name) return false;
  await memory.rename(session, name);
  return true;
}

async function forgotten(session, title) {
  if (!(await confirmed(t("memory.forgetTitle"), title, t("memory.forget")))) return false;
  await memory.forget(session);
  say(t("memory.forgotten"));
  change({ session: "" });
  return true;
}

function messages(found) {
  const line = ({ role, at, text }) =>
    el(
      "li",
      { class: `said-by-${role}` },
      el("p", { class: "soft" }, `${t(`memory.${role}`)} · ${at.slice(0, 16).replace("T", " ")}`),
      quoted(text, "p"),
    );
  return el("ol", { class: "said-list", "aria-label": t("memory.said") }, found.map(line));
}
