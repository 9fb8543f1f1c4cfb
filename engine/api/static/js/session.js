/**
 * The questions of this session, with all that is known of each while it is answered. They outlive
 * a change of view or language; what is answered also outlives a reload, in sessionStorage.
 */

import { Problem, stream } from "./api.js";
import { asConversation } from "./memory.js";

const KEPT = "loregraph.session";
const MOST = 30;
const MOST_CHARACTERS = 2_000_000;
const MOST_TURNS = 6;
const LONGEST = 8000;

/** @type {Array<object>} newest last */
const entries = restored();
const running = new Map();
const listeners = new Set();

export const all = () => entries;
export const find = (id) => entries.find((entry) => entry.id === Number(id));

/** `listen(entry, what)` is told of each change: `route`, `step`, `passages`, `tokens`, … `end`. */
export function subscribe(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

/**
 * Ask a question, which may go on from an answer, by the id of its entry; its own entry is given at
 * once and filled as the answer comes.
 */
export function ask(request, after = null) {
  const entry = {
    id: (entries.at(-1)?.id ?? 0) + 1,
    question: request.question,
    request,
    after,
    rewritten_question: "",
    state: "running",
    route: null,
    mode: null,
    steps: [],
    passages: [],
    text: "",
    citations: [],
    usage: null,
    abstained: false,
    claims: [],
    grounding: null,
    nearest: [],
    unchecked: "",
    problem: null,
    seconds: 0,
  };
  entries.push(entry);
  while (entries.length > MOST) entries.shift();
  const controller = new AbortController();
  running.set(entry.id, controller);
  void follow(entry, controller.signal);
  return entry;
}

/** Give an answer up; what came so far stays. */
export const stop = (entry) => running.get(entry.id)?.abort();

export function forgetAll() {
  for (const controller of running.values()) controller.abort();
  entries.length = 0;
  window.sessionStorage.removeItem(KEPT);
}

const asked = async (entry) => ({
  ...entry.request,
  ...(await asConversation()),
  history: before(entry),
  stream: true,
});

/** What was asked and answered on the way to a question, oldest first. */
function before(entry) {
  const turns = [];
  for (let one = find(entry.after); one && turns.length < MOST_TURNS; one = find(one.after)) {
    turns.unshift({ question: one.rewritten_question || one.question, answer: one.text.slice(0, LONGEST) });
  }
  return turns;
}

async function follow(entry, signal) {
  const began = performance.now();
  try {
    for await (const event of stream("/v1/ask", await asked(entry), signal)) {
      take(entry, event);
    }
    entry.state = entry.state === "running" ? "cut" : entry.state;
  } catch (problem) {
    entry.state = signal.aborted ? "stopped" : "failed";
    entry.problem = signal.aborted ? null : asPlain(problem);
  }
  running.delete(entry.id);
  entry.seconds = (performance.now() - began) / 1000;
  keep();
  tell(entry, "end");
}

const TAKE = {
  route: (entry, { route }) => Object.assign(entry, { route, mode: route.mode }),
  step: (entry, { step }) => entry.steps.push(step),
  passages: (entry, { passages }) =>
    Object.assign(entry, { passages, readings: (entry.readings ?? 0) + 1 }),
  tokens: (entry, { text }) => Object.assign(entry, { text: entry.text + text }),
  citations: (entry, { text, citations, abstained }) =>
    Object.assign(entry, { text, citations, abstained, checked: true }),
  usage: (entry, { usage }) => Object.assign(entry, { usage }),
  answer: (entry, { answer }) =>
    Object.assign(entry, {
      text: answer.text,
      rewritten_question: answer.rewritten_question ?? "",
      mode: answer.mode,
      route: answer.route ?? entry.route,
      citations: answer.citations ?? [],
      passages: answer.passages?.length ? answer.passages : entry.passages,
      steps: answer.trace?.length ? answer.trace : entry.steps,
      usage: answer.usage,
      abstained: answer.abstained,
      claims: answer.claims ?? [],
      grounding: answer.grounding ?? null,
      short: answer.short ?? null,
      nearest: answer.nearest ?? [],
      unchecked: answer.unchecked ?? "",
      checked: true,
      state: "done",
    }),
};

function take(entry, { name, data }) {
  if (!Object.hasOwn(TAKE, name)) return;
  TAKE[name](entry, data);
  tell(entry, name);
}

function tell(entry, what) {
  for (const listen of listeners) listen(entry, what);
}

function asPlain(problem) {
  if (problem instanceof Problem) {
    const { kind, title, detail, errors, status } = problem;
    return { kind, title, detail, errors, status };
  }
  return { kind: "page", detail: problem.message };
}

function keep() {
  const ended = entries.map((entry) =>
    entry.state === "running" ? { ...entry, state: "cut" } : entry,
  );
  let text = JSON.stringify(ended);
  while (text.length > MOST_CHARACTERS && ended.length > 1) {
    ended.shift();
    text = JSON.stringify(ended);
  }
  try {
    window.sessionStorage.setItem(KEPT, text);
  } catch {
    window.sessionStorage.removeItem(KEPT); // full: the session is kept in memory alone
  }
}

window.addEventListener("pagehide", keep); // an answer under way is kept as far as it came

function restored() {
  try {
    const kept = JSON.parse(window.sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}
