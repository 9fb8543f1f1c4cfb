/**
 * The server's `/v1`: one way to ask it, and what can go wrong. A server that is gone is noticed
 * here and looked for until it is back; a token is asked for when the server wants one.
 */

import { serverEvents } from "./events.js";

const TOKEN = "loregraph.token";
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 8000;
const KINDS = {
  0: "offline",
  401: "token",
  403: "forbidden",
  404: "missing",
  429: "busy",
  503: "busy",
};

/** `lost` and `back`: the server cannot be reached, and can again. */
export const connection = new EventTarget();

/** What the server says is wrong; `kind` is one of KINDS, `refused` or `failed`. */
export class Problem extends Error {
  constructor({ status = 0, title = "", detail = "", errors = [] }) {
    super(detail || title);
    this.status = status;
    this.title = String(title);
    this.detail = String(detail);
    this.errors = Array.isArray(errors) ? errors : [];
    this.kind = KINDS[status] ?? (status < 500 ? "refused" : "failed");
  }
}

let lost = false;
let promptForToken = async () => null;
let prompting = null;

export const isLost = () => lost;
export const token = () => window.sessionStorage.getItem(TOKEN) ?? "";
export const forgetToken = () => window.sessionStorage.removeItem(TOKEN);

/** Who asks for a token: an async function that gives one, or null. */
export function onTokenNeeded(ask) {
  promptForToken = ask;
}

/** Ask the server and read its JSON. `options`: query, body (JSON), form (FormData), signal. */
export async function call(method, path, options = {}) {
  const response = await answered(method, path, { accept: "application/json", ...options });
  return response.status === 204 ? null : readJson(response);
}

export const get = (path, query, signal) => call("GET", path, { query, signal });

/** Ask for something that is no JSON: a Blob. */
export async function download(method, path, options) {
  const response = await answered(method, path, { ...options, accept: "*/*" });
  return response.blob();
}

/** Ask for a stream: `{name, data}` as they come. An answer in one piece is its last event. */
export async function* stream(path, body, signal) {
  const response = await answered("POST", path, { body, signal, accept: "text/event-stream" });
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    yield { name: "answer", data: { answer: await readJson(response) } };
    return;
  }
  try {
    for await (const event of serverEvents(response.body)) {
      if (event.name === "error") throw new Problem(asFields(event.data, 500));
      yield event;
    }
  } catch (error) {
    throw unreachable(error);
  }
}

async function answered(method, path, options) {
  const used = token();
  const response = await sent(method, path, options, used);
  if (response.ok) return response;
  const problem = new Problem(asFields(await response.json().catch(() => ({})), response.status));
  if (problem.kind !== "token") throw problem;
  const given = token() !== used ? token() : await needToken(used !== "");
  if (!given) throw problem;
  return answered(method, path, options);
}

async function sent(method, path, { query, body, form, signal, accept }, used) {
  const headers = { Accept: accept };
  if (used) headers.Authorization = `Bearer ${used}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? form : JSON.stringify(body);
  const where = `${path}${asQuery(query)}`;
  try {
    const response = await fetch(where, {
      method,
      headers,
      body: content,
      signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    found();
    return response;
  } catch (error) {
    throw unreachable(error);
  }
}

/** `?a=1&b=2` of a mapping; a list is said several times, what is empty not at all. */
export function asQuery(query = {}) {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (isSaid(key, one)) pairs.append(key, String(one));
    }
  }
  const text = pairs.toString();
  return text ? `?${text}` : "";
}

async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error instanceof SyntaxError) throw new Problem({ status: 502, detail: "no JSON" });
    throw unreachable(error);
  }
}

/** An empty namespace is one, too: that without a name. */
const isSaid = (key, value) =>
  value !== null && value !== undefined && (value !== "" || key === "namespace");

const asFields = (data, status) => ({ ...(data ?? {}), status: Number(data?.status) || status });

function needToken(again) {
  prompting ??= promptForToken(again).then((given) => {
    prompting = null;
    if (given) window.sessionStorage.setItem(TOKEN, given);
    return given;
  });
  return prompting;
}

// --- a server that is gone ---------------------------------------------------------------------

function unreachable(error) {
  if (error instanceof Problem || error.name === "AbortError") return error;
  if (!lost) {
    lost = true;
    connection.dispatchEvent(new Event("lost"));
    window.setTimeout(look, FIRST_LOOK_MS, FIRST_LOOK_MS);
  }
  return new Problem({ status: 0 });
}

async function look(waitedMs) {
  if (!lost) return;
  try {
    await fetch("/v1/health", { cache: "no-store", credentials: "omit" });
    found();
  } catch {
    const wait = Math.min(LAST_LOOK_MS, waitedMs * 1.5);
    window.setTimeout(look, wait, wait);
  }
}

function found() {
  if (!lost) return;
  lost = false;
  connection.dispatchEvent(new Event("back"));
}
