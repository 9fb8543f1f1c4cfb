/** What is known of a document: its type, namespace, tags, metadata, and what can be asked of it. */

import { get } from "./api.js";
import { address } from "./address.js";
import { describe } from "./describing.js";
import { button, el, fill, quoted } from "./dom.js";
import { number } from "./format.js";
import { t } from "./i18n.js";
import { mayWrite } from "./namespaces.js";

const SHOWN_BY_NAME = [
  "type",
  "partial",
  "namespace",
  "source",
  "pages",
  "chunks",
  "characters",
  "sha256",
  "outdated",
];

/** Where a document stands; its id may hold slashes. */
export const documentPath = (id) =>
  `/v1/documents/${id.split("/").map(encodeURIComponent).join("/")}`;

/** Fill `slot` with a disclosure of the document's facts; it stays empty where there are none. */
export async function aboutDocument(slot, id, { isOpen = false } = {}) {
  try {
    const found = await get(documentPath(id));
    const edit = button(t("document.describe"), { class: "quiet" }, async () => {
      if (!(await describe(found))) return;
      await aboutDocument(slot, id, { isOpen: true });
      slot.querySelector("summary")?.focus();
    });
    const may = await mayWrite();
    fill(
      slot,
      el(
        "details",
        { class: "about", open: isOpen },
        el("summary", {}, t("document.about")),
        el(
          "dl",
          {},
          pairs(found).map(([name, value]) => [el("dt", {}, name), quoted(value, "dd")]),
        ),
        may && edit,
      ),
      el("a", { class: "ask-about", href: address("ask", { document: id }) }, t("document.ask")),
    );
  } catch {
    fill(slot); // the text itself says what is wrong
  }
}

function pairs(found) {
  const named = SHOWN_BY_NAME.filter((name) => ![undefined, null, "", 0].includes(found[name])).map(
    (name) => [t(`document.${name}`), asText(found[name])],
  );
  const own = Object.entries(found.metadata ?? {})
    .filter(([name]) => !SHOWN_BY_NAME.includes(name) && name !== "document_id" && name !== "title")
    .map(([name, value]) => [name === "tags" ? t("document.tags") : name, asText(value)]);
  return [...named, ...own].filter(([, value]) => value);
}

/** A metadata value as text. */
export function asText(value) {
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "number") return number(value, 4);
  if (value !== null && typeof value === "object") return JSON.stringify(value);
  return String(value ?? "");
}

/** A label where a document's file can no longer be read, with the reason as its hint. */
export function outdatedLabel(one) {
  if (!one.outdated) return null;
  const title = t("document.outdatedNote", { why: one.outdated });
  return el("span", { class: "badge outdated", title }, t("document.outdated"));
}

/** Tags as they are typed, separated by commas. */
export const tagsOf = (text) =>
  text
    .split(/[,，;；]/)
    .map((tag) => tag.trim())
    .filter(Boolean);

/** The tags of a document as little labels. */
export function tagLabels(metadata) {
  return [metadata?.tags ?? []].flat().map((tag) => quoted(tag, "span", { class: "tag" }));
}
