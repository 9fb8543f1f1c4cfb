/** What is known of a document: its type, namespace, tags, metadata, and what can be asked of it. */

import { get } from "./api.js";
import { address } from "./address.js";
import { el, fill, quoted } from "./dom.js";
import { number } from "./format.js";
import { t } from "./i18n.js";

const SHOWN_BY_NAME = ["type", "namespace", "source", "pages", "chunks", "characters", "sha256"];

/** Where a document stands; its id may hold slashes. */
export const documentPath = (id) =>
  `/v1/documents/${id.split("/").map(encodeURIComponent).join("/")}`;

/** Fill `slot` with a disclosure of the document's facts; it stays empty where there are none. */
export async function aboutDocument(slot, id) {
  try {
    const answer = await get(documentPath(id));
    const found = answer.document ?? answer;
    fill(
      slot,
      el(
        "details",
        { class: "about" },
        el("summary", {}, t("document.about")),
        el(
          "dl",
          {},
          pairs(found).map(([name, value]) => [el("dt", {}, name), quoted(value, "dd")]),
        ),
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

/** The tags of a document as little labels. */
export function tagLabels(metadata) {
  return [metadata?.tags ?? []].flat().map((tag) => quoted(tag, "span", { class: "tag" }));
}
