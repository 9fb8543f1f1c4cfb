/** What its owner says of a document: tags, and further facts a line each, to be changed in a dialog. */

import { call } from "./api.js";
import { dialog, field } from "./dialogs.js";
import { documentPath, tagsOf } from "./document_facts.js";
import { el, say } from "./dom.js";
import { t } from "./i18n.js";
import { problemDetail, problemTitle } from "./states.js";

/** Ask for what is to be said of the document `found`, and save it; whether anything was saved. */
export async function describe(found) {
  const { tags, ...rest } = found.given ?? {};
  const shown = [found.metadata?.tags ?? []].flat().join(", "); // its own, or those given
  const named = el("input", { autocomplete: "off", value: shown });
  const further = el("textarea", { rows: "6", spellcheck: "false" });
  further.value = Object.entries(rest)
    .map(([name, value]) => `${name} = ${written(value)}`)
    .join("\n");
  further.addEventListener("input", () =>
    further.setCustomValidity(readLines(further.value) ? "" : t("document.givenWrong")),
  );
  const metadata = await dialog({
    title: t("document.describe"),
    content: [
      field(t("document.tags"), named, t("adding.tagsNote")),
      field(t("document.given"), further, t("document.describeNote")),
    ],
    agree: t("document.save"),
    read: () => {
      const wanted = named.value === shown ? tags : tagsOf(named.value);
      return { ...readLines(further.value), ...(wanted === undefined ? {} : { tags: wanted }) };
    },
  });
  if (!metadata) return false;
  try {
    await call("PATCH", documentPath(found.id), { body: { metadata } });
    say(t("document.described"));
    return true;
  } catch (problem) {
    say(`${problemTitle(problem)} ${problemDetail(problem)}`);
    return false;
  }
}

/** Lines of `name = value` as an object; null where one is none. */
function readLines(text) {
  const pairs = text
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1)]);
  if (text.split("\n").some((line) => line.trim() && line.indexOf("=") < 1)) return null;
  if (pairs.some(([name]) => !name)) return null;
  return Object.fromEntries(pairs.map(([name, value]) => [name, read(value.trim())]));
}

// Numbers, true, false and lists are written as JSON, and so is a text that looks like one of them.
function read(text) {
  try {
    const value = JSON.parse(text);
    return value === null || (typeof value === "object" && !Array.isArray(value)) ? text : value;
  } catch {
    return text;
  }
}
const written = (value) =>
  typeof value === "string" && read(value) === value ? value : JSON.stringify(value);
