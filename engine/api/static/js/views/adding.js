/** Adding documents: files by choosing or dropping them anywhere on the view, or a text. */

import { call } from "../api.js";
import { dialog, field } from "../dialogs.js";
import { tagsOf } from "../document_facts.js";
import { button, el, fill, quoted, say } from "../dom.js";
import { bytes } from "../format.js";
import { t } from "../i18n.js";
import { problemDetail, problemTitle } from "../states.js";

const PARCEL = 50;

/** `{node, close}`; `onAdded` is called once the server has taken something in. */
export function adding({ onAdded, drops }) {
  const told = el("div", { class: "adding-told", role: "status" });
  const picker = el("input", {
    type: "file",
    multiple: true,
    class: "unseen",
    tabindex: "-1",
    "aria-hidden": "true", // the button beside it opens it
  });
  const namespace = el("input", { autocomplete: "off", spellcheck: "false" });
  const tags = el("input", { autocomplete: "off", placeholder: "red, blue" });
  const upload = (files) =>
    files.length &&
    send(told, files, { namespace: namespace.value.trim(), tags: tagsOf(tags.value) }, onAdded);
  picker.addEventListener("change", async () => {
    await upload([...picker.files]);
    picker.value = "";
  });
  const node = el(
    "section",
    { class: "adding", "aria-label": t("adding.title") },
    el(
      "div",
      { class: "adding-drop" },
      el("p", {}, t("adding.drop")),
      picker,
      el(
        "div",
        { class: "adding-buttons" },
        button(t("adding.choose"), { class: "primary" }, () => picker.click()),
        button(t("adding.text"), { class: "quiet" }, () => writeText(told, onAdded)),
      ),
      el(
        "details",
        {},
        el("summary", {}, t("adding.how")),
        el(
          "div",
          { class: "filter-fields" },
          field(t("document.namespace"), namespace),
          field(t("document.tags"), tags, t("adding.tagsNote")),
        ),
      ),
    ),
    told,
  );
  const leave = dropsInto(drops, upload);
  return { node, close: leave };
}

function dropsInto(place, upload) {
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => place.classList.toggle("dropping", on);
  const listeners = {
    dragover(event) {
      if (!isFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      mark(true);
    },
    dragleave(event) {
      if (!place.contains(event.relatedTarget)) mark(false);
    },
    drop(event) {
      if (!isFiles(event)) return;
      event.preventDefault();
      mark(false);
      void upload([...event.dataTransfer.files]);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) place.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners))
      place.removeEventListener(name, listener);
    mark(false);
  };
}

/** Files go in parcels, each a job: a server takes so many at a time. */
async function send(told, files, wish, onAdded) {
  for (let at = 0; at < files.length; at += PARCEL) {
    if (!(await sendParcel(told, files.slice(at, at + PARCEL), wish, onAdded))) return;
  }
}

async function sendParcel(told, files, { namespace, tags }, onAdded) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  if (namespace) form.append("namespace", namespace);
  if (tags.length) form.append("metadata", JSON.stringify({ tags }));
  const size = files.reduce((sum, file) => sum + file.size, 0);
  fill(
    told,
    el(
      "p",
      {},
      t("adding.sending", { files: t("count.files", { n: files.length }), size: bytes(size) }),
    ),
  );
  return tell(told, () => call("POST", "/v1/documents", { form }), onAdded);
}

async function writeText(told, onAdded) {
  const title = el("input", { required: true, maxlength: "300", autocomplete: "off" });
  const text = el("textarea", { required: true, rows: "10" });
  const namespace = el("input", { autocomplete: "off", spellcheck: "false" });
  const tags = el("input", { autocomplete: "off" });
  const body = await dialog({
    title: t("adding.text"),
    content: [
      field(t("document.title"), title),
      field(t("adding.body"), text),
      el(
        "div",
        { class: "filter-fields" },
        field(t("document.namespace"), namespace),
        field(t("document.tags"), tags, t("adding.tagsNote")),
      ),
    ],
    agree: t("adding.add"),
    read: () => ({
      title: title.value.trim(),
      text: text.value,
      namespace: namespace.value.trim(),
      tags: tagsOf(tags.value),
    }),
  });
  if (!body) return;
  const { tags: labels, namespace: space, ...rest } = body;
  const wish = {
    ...rest,
    ...(space ? { namespace: space } : {}),
    ...(labels.length ? { metadata: { tags: labels } } : {}),
  };
  await tell(told, () => call("POST", "/v1/texts", { body: wish }), onAdded);
}

async function tell(told, ask, onAdded) {
  try {
    const answer = await ask();
    fill(told, answer?.unchanged && el("p", {}, t("adding.unchanged")));
    if (!answer?.unchanged) say(t("adding.taken"));
    onAdded(answer);
    return true;
  } catch (problem) {
    fill(
      told,
      el("p", { class: "failure-title", role: "alert" }, problemTitle(problem)),
      quoted(problemDetail(problem), "p"),
    );
    return false;
  }
}
