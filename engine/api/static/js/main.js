/** The page's frame: header, views by address, the server's being there, language and light. */

import { connection, isLost, onTokenNeeded } from "./api.js";
import { VIEWS, address, here } from "./address.js";
import { askForToken } from "./dialogs.js";
import { button, el, fill, say } from "./dom.js";
import { LANGUAGES, language, setLanguage, t } from "./i18n.js";
import { namespaceChoice } from "./namespaces.js";
import { closeSource, forgetShown, showSource } from "./source.js";
import { failure } from "./states.js";
import * as ask from "./views/ask.js";
import * as communities from "./views/communities.js";
import * as conversations from "./views/conversations.js";
import * as documents from "./views/documents.js";
import * as graph from "./views/graph.js";
import * as settings from "./views/settings.js";
import * as usage from "./views/usage.js";

const OPEN = { ask, conversations, documents, graph, communities, usage, settings };
const LIGHTS = ["auto", "light", "dark"];
const LIGHT = "loregraph.light";

const main = document.getElementById("main");
let current = null;

function show() {
  const { view, parameters } = here();
  document.title = `${t(`nav.${view}`)} · loregraph`;
  if (current?.view === view) {
    current.update(parameters);
  } else {
    const isFirst = current === null;
    current?.close();
    window.scrollTo(0, 0);
    current = { view, ...opened(view, parameters) };
    if (!isFirst && !main.contains(document.activeElement))
      main.querySelector("h1")?.focus({ preventScroll: true });
  }
  markView(view);
  showSource(parameters);
}

/** A view, or what went wrong in it: a mistake in one leaves the others. */
function opened(view, parameters) {
  try {
    return OPEN[view].open(main, parameters);
  } catch (problem) {
    console.error(problem);
    fill(main, el("h1", { tabindex: "-1" }, t(`nav.${view}`)), failure(problem));
    return { update() {}, close() {} };
  }
}

/** Draw everything anew: in another language, or after the session was emptied. */
function redraw() {
  document.documentElement.lang = language() === "zh" ? "zh-CN" : "en";
  document.getElementById("skip").textContent = t("nav.skip");
  header();
  banner();
  current?.close();
  current = null;
  forgetShown();
  show();
}

// --- header --------------------------------------------------------------------------------------

function header() {
  const place = document.getElementById("header");
  const menu = button(
    t("nav.menu"),
    { class: "menu quiet", "aria-expanded": "false", "aria-controls": "nav" },
    () => setMenu(place.dataset.open !== "true"),
  );
  const setMenu = (isOpen) => {
    place.dataset.open = String(isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  setMenu(false);
  const link = (view) =>
    el(
      "li",
      {},
      el(
        "a",
        { href: address(view), data: { view }, on: { click: () => setMenu(false) } },
        t(`nav.${view}`),
      ),
    );
  fill(
    place,
    el(
      "a",
      { class: "brand", href: address("ask", { entry: "" }), "aria-label": "loregraph" },
      mark(),
      el("span", {}, "loregraph"),
    ),
    menu,
    el("nav", { id: "nav", "aria-label": t("nav.views") }, el("ul", {}, VIEWS.map(link))),
    el("div", { class: "preferences" }, languageChoice(), lightChoice()),
  );
  markView(here().view);
  void namespaceChoice(redraw).then((choice) => {
    const list = place.querySelector("#nav ul");
    if (choice && !list.querySelector(".namespace"))
      list.append(el("li", { class: "namespace" }, choice));
  });
}

const mark = () => el("span", { class: "brand-mark", "aria-hidden": "true" });

function markView(view) {
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function languageChoice() {
  const other = LANGUAGES.find((one) => one !== language());
  const lang = other === "zh" ? "zh-CN" : "en";
  const press = button(
    t("nav.otherLanguage"),
    { class: "quiet language", lang, "aria-label": t("nav.switchLanguage") },
    () => {
      setLanguage(other);
      redraw();
      document.querySelector("#header .language").focus();
      say(t("nav.languageSet"));
    },
  );
  return press;
}

function lightChoice() {
  const now = document.documentElement.dataset.light ?? "auto";
  const label = t("nav.light", { light: t(`light.${now}`) });
  return button("", { class: `icon light light-${now}`, "aria-label": label, title: label }, () => {
    setLight(LIGHTS[(LIGHTS.indexOf(now) + 1) % LIGHTS.length]);
    header();
    document.querySelector("#header .light").focus();
  });
}

function setLight(light) {
  if (light === "auto") delete document.documentElement.dataset.light;
  else document.documentElement.dataset.light = light;
  window.localStorage.setItem(LIGHT, light);
}

// --- the server's being there --------------------------------------------------------------------

function banner() {
  fill(
    document.getElementById("banner"),
    isLost() && el("p", {}, el("strong", {}, t("offline.title")), " ", t("offline.detail")),
  );
}

connection.addEventListener("lost", banner);
connection.addEventListener("back", () => {
  banner();
  say(t("offline.back"));
});

onTokenNeeded(askForToken);
window.addEventListener("hashchange", show);
window.addEventListener("redraw", redraw);
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && here().parameters.doc && !document.querySelector("dialog[open]"))
    closeSource();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says where the page is; this is no place of it
  main.focus();
});

const kept = window.localStorage.getItem(LIGHT);
if (LIGHTS.includes(kept)) setLight(kept);
redraw();
