/** What a part of a view shows while it waits, when it got nothing, and when something went wrong. */

import { connection } from "./api.js";
import { button, el, fill, say } from "./dom.js";
import { t } from "./i18n.js";

const latest = new WeakMap();

/**
 * Fill `slot` with what `draw` makes of what `ask` gets. Before that it says that it loads, and
 * after a failure what went wrong, with a way to try again; a server that comes back is asked again
 * by itself. Of two calls for one slot, the later one counts.
 */
export async function load(slot, ask, draw) {
  const turn = {};
  latest.set(slot, turn);
  slot.setAttribute("aria-busy", "true");
  if (!slot.childElementCount) fill(slot, waiting());
  const current = () => latest.get(slot) === turn;
  try {
    const value = await ask();
    if (current()) fill(slot, draw(value));
  } catch (problem) {
    if (!current() || problem.name === "AbortError") return;
    const again = () => current() && slot.isConnected && load(slot, ask, draw);
    fill(slot, failure(problem, again));
    if (problem.kind === "offline") connection.addEventListener("back", again, { once: true });
  } finally {
    if (current()) slot.removeAttribute("aria-busy");
  }
}

/**
 * A button that brings the next pages of a list, until there are none. `pageAt(cursor)` asks for one,
 * `take(items)` shows them and gives what is then looked at; a failure is said, and can be tried again.
 */
export function moreButton(cursor, pageAt, take) {
  let next = cursor;
  if (!next) return null;
  const press = button(t("list.more"), { class: "quiet more" }, async () => {
    press.disabled = true;
    try {
      const page = await pageAt(next);
      next = page.next;
      take(page.items)?.focus();
      press.hidden = !next;
    } catch (problem) {
      say(problemTitle(problem));
    } finally {
      press.disabled = false;
    }
  });
  return press;
}

/** Lines that stand for what is to come; a screen reader hears the word. */
export function waiting() {
  const lines = [70, 92, 84].map((width) => el("span", { class: "bone", share: width / 100 }));
  return el("div", { class: "waiting" }, el("p", { class: "unseen" }, t("state.loading")), lines);
}

/** What went wrong, in words, and a button to try again where that may help. */
export function failure(problem, again) {
  return el(
    "div",
    { class: "failure", role: "alert" },
    el("p", { class: "failure-title" }, problemTitle(problem)),
    problemDetail(problem) && el("p", { dir: "auto" }, problemDetail(problem)),
    again && button(t("state.again"), { class: "quiet" }, again),
  );
}

/** Which kind of thing went wrong, in the reader's language. */
export function problemTitle(problem) {
  return t(`problem.${problem.kind ?? "page"}`);
}

/** What the server said of it. */
export function problemDetail(problem) {
  const errors = (problem.errors ?? []).map(({ field, reason }) =>
    [field, reason].filter(Boolean).join(": "),
  );
  return [problem.detail ?? problem.message ?? "", ...errors].filter(Boolean).join(" · ");
}

/** An empty place: what it would hold, and what to do. */
export function nothing(title, ...more) {
  return el("div", { class: "nothing" }, el("p", { class: "nothing-title" }, title), more);
}
