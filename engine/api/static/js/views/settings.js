/** Settings as they are in force on the server, read only; and what this page itself remembers. */

import { forgetToken, get, token } from "../api.js";
import { button, el, fill, quoted, say } from "../dom.js";
import { asText } from "../document_facts.js";
import { t } from "../i18n.js";
import { load, nothing } from "../states.js";

export function open(main) {
  const server = el("div");
  const found = el("div");
  const search = el("input", {
    type: "search",
    placeholder: t("settings.search"),
    "aria-label": t("settings.search"),
    autocomplete: "off",
    spellcheck: "false",
  });
  const wanted = () => search.value.trim().toLowerCase();
  search.addEventListener("input", () => narrow(found, wanted()));
  fill(
    main,
    el(
      "div",
      { class: "wide" },
      el("h1", { tabindex: "-1" }, t("settings.title")),
      el("p", { class: "lead" }, t("settings.lead")),
      server,
      access(),
      el("div", { class: "toolbar", role: "search" }, search),
      found,
    ),
  );
  load(
    server,
    () => get("/v1/health"),
    (health) =>
      el(
        "p",
        { class: "facts" },
        el("strong", {}, t("settings.status", { status: health.status })),
        health.version && el("span", {}, t("settings.version", { version: health.version })),
      ),
  );
  load(
    found,
    () => get("/v1/settings"),
    (settings) => {
      const all = sections(settings.settings ?? settings);
      narrow(all, wanted()); // one may have begun to look while it was loading
      return all;
    },
  );
  return { update() {}, close() {} };
}

function access() {
  if (!token()) return null;
  const line = el(
    "p",
    { class: "notice" },
    t("settings.token"),
    " ",
    button(t("settings.forget"), { class: "quiet" }, () => {
      forgetToken();
      fill(line, t("settings.forgotten"));
      say(t("settings.forgotten"));
    }),
  );
  return line;
}

function sections(settings) {
  const named = Object.entries(settings).filter(
    ([, values]) => values !== null && typeof values === "object",
  );
  if (!named.length) return nothing(t("settings.none"));
  return el(
    "div",
    { class: "sections" },
    named.map(([name, values]) => section(name, values)),
  );
}

function section(name, values) {
  const rows = Object.entries(values).map(([key, value]) =>
    el(
      "div",
      { class: "setting", data: { name: `${name}.${key}`.toLowerCase() } },
      el("dt", {}, key),
      quoted(shown(value), "dd"),
    ),
  );
  return el("section", {}, el("h2", {}, name), el("dl", { class: "settings" }, rows));
}

function shown(value) {
  if (value === null || value === "") return "—";
  if (typeof value === "boolean") return t(value ? "settings.yes" : "settings.no");
  if (typeof value === "number") return String(value);
  return asText(value) || "—";
}

function narrow(found, wanted) {
  for (const section of found.querySelectorAll("section")) {
    const rows = [...section.querySelectorAll(".setting")];
    for (const row of rows) row.hidden = !row.dataset.name.includes(wanted);
    section.hidden = rows.every((row) => row.hidden);
  }
}
