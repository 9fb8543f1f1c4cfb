/** Work in the background: what is being read in, how far it is, and what came of it. */

import { get } from "../api.js";
import { button, el, fill, quoted, say } from "../dom.js";
import { number, shortName } from "../format.js";
import { stageName, t } from "../i18n.js";

const EVERY_MS = 700;
const SHOWN = 5;
const NAMED = 3;
const UNDER_WAY = new Set(["queued", "running"]);

/** `{node, look, close}`: `look()` asks the server and goes on while work is under way. */
export function jobList(onDone) {
  const node = el("section", { class: "jobs", "aria-label": t("jobs.title") });
  const hidden = new Set();
  const wereUnderWay = new Set();
  let timer = 0;
  let closed = false;

  async function look() {
    window.clearTimeout(timer);
    const found = await get("/v1/jobs", { limit: 50 }).catch(() => null);
    if (closed || !found) return;
    const jobs = found.items;
    const ended = jobs.filter((job) => wereUnderWay.has(job.id) && !UNDER_WAY.has(job.state));
    for (const job of jobs) {
      if (UNDER_WAY.has(job.state)) wereUnderWay.add(job.id);
      else wereUnderWay.delete(job.id);
    }
    draw(jobs.filter((job) => !hidden.has(job.id)).slice(0, SHOWN));
    if (ended.length) {
      say(ended.map((job) => outcome(job)).join(" "));
      onDone();
    }
    if (wereUnderWay.size) timer = window.setTimeout(look, EVERY_MS);
  }

  function draw(jobs) {
    const hide = (job) => () => {
      hidden.add(job.id);
      look();
    };
    fill(
      node,
      jobs.length > 0 && el("h2", {}, t("jobs.title")),
      jobs.length > 0 &&
        el(
          "ul",
          {},
          jobs.map((job) => line(job, hide(job))),
        ),
    );
  }

  return {
    node,
    /** What was just added is watched even where it is done before one looks. */
    look(added) {
      const id = added?.job ?? added?.id;
      if (id) wereUnderWay.add(id);
      else if (added) onDone();
      void look();
    },
    close() {
      closed = true;
      window.clearTimeout(timer);
    },
  };
}

function line(job, hide) {
  const name = jobName(job);
  const under = UNDER_WAY.has(job.state);
  return el(
    "li",
    { class: `job job-${job.state}` },
    quoted(name, "span", { class: "job-name" }),
    el("span", { class: "soft" }, under ? underWay(job) : outcome(job)),
    under &&
      el(
        "progress",
        job.total
          ? { max: job.total, value: job.done, "aria-label": name }
          : { "aria-label": name },
      ),
    !under &&
      button(
        "",
        {
          class: "icon close",
          "aria-label": t("jobs.hide", { name }),
          title: t("jobs.hide", { name }),
        },
        hide,
      ),
    reasons(job),
  );
}

/** What a job is about: its documents, the first few by name. */
function jobName(job) {
  const sources = (job.sources ?? []).map(shortName);
  const rest = sources.length - NAMED;
  const named = sources.slice(0, NAMED).join(", ") + (rest > 0 ? ` + ${rest}` : "");
  return ["remove", "describe"].includes(job.kind)
    ? t(`jobs.${job.kind}`, { name: named })
    : named || t("jobs.name", { id: job.id });
}

function underWay(job) {
  if (job.state === "queued") return t("jobs.queued");
  return (
    [stageName(job.stage), job.total ? `${number(job.done)} / ${number(job.total)}` : ""]
      .filter(Boolean)
      .join(" · ") || t("jobs.running")
  );
}

function outcome(job) {
  if (job.state !== "done")
    return t(job.state === "interrupted" ? "jobs.interrupted" : "jobs.failed");
  const report = job.report ?? {};
  const parts = ["added", "changed", "unchanged", "removed", "failed", "partial"]
    .filter((name) => report[name]?.length)
    .map((name) => t(`jobs.did.${name}`, { n: report[name].length }));
  return parts.join(", ") || t("jobs.done");
}

function reasons(job) {
  const report = job.report ?? {};
  const wanting = [...(report.failed ?? []), ...(report.partial ?? [])].map(
    (one) => `${shortName(one.source)}: ${one.reason}`,
  );
  const error = job.error
    ? [typeof job.error === "string" ? job.error : (job.error.detail ?? "")]
    : [];
  const lines = [...error, ...wanting, ...(report.notes ?? [])].filter(Boolean);
  return (
    lines.length > 0 &&
    el(
      "ul",
      { class: "reasons" },
      lines.map((one) => quoted(one, "li")),
    )
  );
}
