/** The places where something was read, each of which opens its source. */

import { button, el, quoted } from "../dom.js";
import { pageName } from "../format.js";
import { t } from "../i18n.js";
import { plain } from "../plain.js";
import { openSource } from "../source.js";

const FIRST = 3;

/**
 * A list of `{document_id, title, start, end, quote}`; the first few, and the others when asked for.
 * What is `said` above it already is not said again.
 */
export function evidence(places, { said = "" } = {}) {
  if (!places.length) return null;
  const item = (place) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "evidence", on: { click: () => openSource(place, places) } },
        plain(place.quote) !== plain(said) &&
          quoted(plain(place.quote), "span", { class: "quote" }),
        el(
          "span",
          { class: "soft" },
          quoted(place.title || place.document_id),
          place.page ? ` · ${pageName(place.page)}` : "",
        ),
      ),
    );
  const rest = places.slice(FIRST).map(item);
  const list = el("ul", { class: "evidence-list" }, places.slice(0, FIRST).map(item));
  const more =
    rest.length > 0 &&
    button(t("list.moreCount", { n: rest.length }), { class: "quiet" }, () => {
      list.append(...rest);
      more.remove();
      rest[0].querySelector("button").focus();
    });
  return [list, more];
}
