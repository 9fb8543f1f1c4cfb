/** Relations in words: what a text states, and names that only stand together. */

import { quoted } from "./dom.js";
import { t } from "./i18n.js";

/** Whether a predicate says no more than that two names stand in one sentence. */
export const isLoose = (predicate) => predicate === "occurs with";

/** The predicate of a relation as it is shown. */
export const predicateOf = ({ predicate }) =>
  isLoose(predicate)
    ? quoted(t("graph.together"), "em", { class: "soft" })
    : quoted(predicate, "span", { class: "soft" });
