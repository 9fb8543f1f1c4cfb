/**
 * Which namespace is looked at: one that is chosen for all views, or all that may be seen; and what
 * may be done there. The choice is kept until the tab is closed.
 */

import { get } from "./api.js";
import { el } from "./dom.js";
import { language, t } from "./i18n.js";

const KEPT = "loregraph.namespace";

/** The chosen namespace; null is all, the empty text the one without a name. */
export const namespace = () => window.sessionStorage.getItem(KEPT);

/** The chosen namespace as part of a query; nothing where all is looked at. */
export const within = () => (namespace() === null ? {} : { namespace: namespace() });

/** The same with the reader's language: the graph has names in it. */
export const asReader = () => ({ language: language(), ...within() });

export const namespaceName = (name) => name || t("namespace.none");

/** Whether this visitor may add and remove documents; until that is known, yes. */
export async function mayWrite() {
  const who = await get("/v1/whoami").catch(() => ({ admin: true }));
  return who.admin || who.write === null || who.write.length > 0;
}

/** A choice among the namespaces, or null where there is but one; `onChange` draws anew. */
export async function namespaceChoice(onChange) {
  const { items } = await get("/v1/namespaces").catch(() => ({ items: [] }));
  const names = items.map((one) => one.name);
  if (namespace() !== null && !names.includes(namespace())) names.push(namespace());
  if (names.length < 2) return null;
  const options = names.map((name) =>
    el("option", { value: JSON.stringify(name) }, namespaceName(name)),
  );
  const select = el(
    "select",
    { "aria-label": t("document.namespace") },
    el("option", { value: "" }, t("namespace.all")),
    options,
  );
  select.value = namespace() === null ? "" : JSON.stringify(namespace());
  select.addEventListener("change", () => {
    if (select.value) window.sessionStorage.setItem(KEPT, JSON.parse(select.value));
    else window.sessionStorage.removeItem(KEPT);
    onChange();
  });
  return select;
}
