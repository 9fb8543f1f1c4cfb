/** Questions that the page asks its reader: to confirm, for a token, for a text to add. */

import { button, el, freshId } from "./dom.js";
import { t } from "./i18n.js";

/**
 * A modal dialog; gives what `read` makes of it once it is agreed to, or null.
 * `content` are nodes between title and buttons; `agree` is the label of the button that does it.
 */
export function dialog({ title, content, agree, read = () => true, danger = false }) {
  const titleId = freshId("dialog");
  return new Promise((resolve) => {
    let result = null;
    const form = el(
      "form",
      {
        method: "dialog",
        on: {
          submit: () => {
            result = read(form);
          },
        },
      },
      el("h2", { id: titleId }, title),
      content,
      el(
        "div",
        { class: "dialog-buttons" },
        button(t("dialog.cancel"), { class: "quiet" }, () => box.close()),
        el("button", { type: "submit", class: danger ? "danger" : "primary" }, agree),
      ),
    );
    const box = el("dialog", { "aria-labelledby": titleId }, form);
    const before = document.activeElement;
    box.addEventListener("close", () => {
      box.remove();
      if (before?.isConnected) before.focus();
      resolve(result);
    });
    document.body.append(box);
    box.showModal();
  });
}

/** Whether the reader agrees to something that cannot be undone. */
export async function confirmed(title, detail, agree) {
  const content = el("p", { dir: "auto" }, detail);
  return (await dialog({ title, content, agree, danger: true })) === true;
}

/** The server's token; `again` where the one before was refused. */
export function askForToken(again) {
  const id = freshId("token");
  const noteId = freshId("note");
  const input = el("input", {
    id,
    type: "password",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
    "aria-describedby": noteId,
  });
  return dialog({
    title: t("token.title"),
    content: [
      again && el("p", { class: "failure-title", role: "alert" }, t("token.refused")),
      el("label", { for: id }, t("token.label")),
      input,
      el("p", { class: "soft", id: noteId }, t("token.note")),
    ],
    agree: t("token.use"),
    read: () => input.value.trim() || null,
  });
}

/** A labelled input or textarea, for a form: `[label, field]`. */
export function field(label, node, note) {
  node.id ||= freshId("field");
  const noteId = note ? freshId("note") : null;
  if (noteId) node.setAttribute("aria-describedby", noteId);
  return el(
    "div",
    { class: "field" },
    el("label", { for: node.id }, label),
    node,
    note && el("p", { class: "soft", id: noteId }, note),
  );
}
