/**
 * The graph, or a part of it, as a page of its own, which the server confines. A token cannot go with
 * a link: where one is needed, or a question has to be answered, the page is saved; it holds
 * everything and asks nothing of a network.
 */

import { asQuery, download, token } from "./api.js";
import { button, el, say } from "./dom.js";
import { t } from "./i18n.js";
import { problemTitle } from "./states.js";

const PATH = "/v1/graph/page";
const KEPT_MS = 10_000;

/** A link to the page of `part` (`{focus, hops}`, `{community}`, `{question}` or all), named `label`. */
export function graphPage(label, part = {}) {
  if (token() || part.question) return saveButton(label, part);
  const href = `${PATH}${asQuery(part)}`;
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

function saveButton(label, part) {
  const press = button(label, { class: "quiet", title: t("graph.save") }, async () => {
    press.disabled = true;
    try {
      save(await (part.question ? download("POST", PATH, { body: asBody(part) }) : download("GET", PATH, { query: part })));
      say(t("graph.saved"));
    } catch (problem) {
      say(problemTitle(problem));
    } finally {
      press.disabled = false;
    }
  });
  return press;
}

/** A question is sent as a body: answering it may cost, so no link does it. */
function asBody({ question, namespace, where }) {
  const body = { question };
  if (namespace !== undefined && namespace !== null) body.namespace = namespace;
  if (where !== undefined && [where].flat().length) body.filters = [where].flat();
  return body;
}

function save(page) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(page);
  link.download = "graph.html";
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
