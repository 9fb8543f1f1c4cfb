/** Documents: what the library holds, page by page; adding, the work in the background, removing. */

import { call, connection, get } from "../api.js";
import { change, changed, here } from "../address.js";
import { confirmed } from "../dialogs.js";
import { documentPath, outdatedLabel, tagLabels } from "../document_facts.js";
import { button, el, fill, freshId, quoted, say } from "../dom.js";
import { shortName } from "../format.js";
import { t } from "../i18n.js";
import { mayWrite, within } from "../namespaces.js";
import { load, moreButton, nothing, problemDetail, problemTitle } from "../states.js";
import { adding } from "./adding.js";
import { jobList } from "./jobs.js";

const PAGE = 50;
const PAUSE_MS = 250;
const COLUMN = { namespace: "space", tags: "tags" };
const CONDITION = /^[\w.-]+\s*(==|!=|>=|<=|=|>|<|~)/;

export function open(main, parameters) {
  let asked = null;
  const listSlot = el("div", { class: "document-list" });
  const search = el("input", {
    type: "search",
    value: parameters.query ?? "",
    placeholder: t("documents.search"),
    "aria-label": t("documents.search"),
    autocomplete: "off",
    spellcheck: "false",
  });
  let timer = 0;
  search.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(
      () => change({ query: search.value.trim(), page: "" }, { replace: true }),
      PAUSE_MS,
    );
  });
  const refresh = () => {
    asked = null;
    update(here().parameters);
  };
  const jobs = jobList(refresh);
  const add = adding({ onAdded: jobs.look, drops: main });
  fill(
    main,
    el(
      "div",
      { class: "wide" },
      el("h1", { tabindex: "-1" }, t("documents.title")),
      add.node,
      jobs.node,
      el("div", { class: "toolbar", role: "search" }, search),
      listSlot,
    ),
  );
  jobs.look();
  void mayWrite().then((may) => main.classList.toggle("read-only", !may));

  function update({ query = "" }) {
    if (query === asked) return;
    asked = query;
    load(
      listSlot,
      () => pageOf(query),
      (first) => table(first, query, refresh),
    );
  }
  update(parameters);
  connection.addEventListener("back", jobs.look);
  return {
    update,
    close() {
      jobs.close();
      main.classList.remove("read-only");
      add.close();
      window.clearTimeout(timer);
      connection.removeEventListener("back", jobs.look);
    },
  };
}

/** One page of documents: a search text is part of a title or id, or a condition on metadata. */
async function pageOf(query, cursor) {
  const isCondition = CONDITION.test(query);
  const asked = isCondition ? { where: query } : { query };
  const found = await get("/v1/documents", { ...asked, ...within(), limit: PAGE, cursor });
  return found;
}

function table(first, query, refresh) {
  if (!first.items.length) {
    return query
      ? nothing(t("documents.noneFound", { query }))
      : nothing(t("documents.none"), el("p", {}, t("documents.noneHow")));
  }
  const rows = el(
    "tbody",
    {},
    first.items.map((one) => row(one, refresh)),
  );
  const count = el(
    "p",
    { class: "soft", role: "status" },
    t("count.documents", { n: first.total ?? first.items.length }),
  );
  const captionId = freshId("caption");
  count.id = captionId;
  const head = ["title", "type", "namespace", "tags", "actions"].map((name) =>
    el(
      "th",
      { scope: "col", class: COLUMN[name] },
      name === "actions"
        ? el("span", { class: "unseen" }, t("documents.actions"))
        : t(`document.${name}`),
    ),
  );
  return [
    count,
    el(
      "table",
      { class: "documents", "aria-labelledby": captionId },
      el("thead", {}, el("tr", {}, head)),
      rows,
    ),
    moreButton(
      first.next,
      (cursor) => pageOf(query, cursor),
      (items) => {
        const added = items.map((one) => row(one, refresh));
        rows.append(...added);
        return added[0]?.querySelector("a");
      },
    ),
  ];
}

function row(one, refresh) {
  const name = one.title || shortName(one.id);
  const remove = button(
    t("documents.remove"),
    { class: "quiet remove", "aria-label": t("documents.removeName", { name }) },
    () => removed(one, name, line, refresh),
  );
  const line = el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("a", { href: changed({ doc: one.id, from: "", to: "" }) }, quoted(name)),
      quoted(one.id, "span", { class: "id" }),
      one.partial && quoted(`${t("document.partial")}: ${one.partial}`, "span", { class: "id" }),
      outdatedLabel(one),
    ),
    el("td", { class: "kind" }, one.type),
    el("td", { dir: "auto", class: "space" }, one.namespace),
    el("td", { class: "tags" }, tagLabels(one.metadata)),
    el("td", { class: "actions" }, remove),
  );
  return line;
}

async function removed(one, name, line, refresh) {
  const agreed = await confirmed(
    t("documents.removeTitle"),
    t("documents.removeDetail", { name, id: one.id }),
    t("documents.remove"),
  );
  if (!agreed) return;
  line.classList.add("going");
  try {
    await call("DELETE", documentPath(one.id));
    say(t("documents.removed", { name }));
    if (here().parameters.doc === one.id) change({ doc: "", from: "", to: "" });
    refresh();
    document.querySelector("#main h1").focus();
  } catch (problem) {
    line.classList.remove("going");
    const told = el(
      "p",
      { class: "failure-title", role: "alert" },
      `${problemTitle(problem)} ${problemDetail(problem)}`,
    );
    line.querySelector(".actions").append(told);
  }
}
