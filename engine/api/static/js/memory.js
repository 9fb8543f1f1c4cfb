/** Conversations that the server remembers: whose they are, and which one questions belong to. */

import { call, get, token } from "./api.js";

const KEPT = "loregraph.conversation";
const READER = "reader"; // whose memory it is where the server asks for no token

/** `{}` where the token says whose memory it is, `{user}` where there are no tokens. */
async function asOwner() {
  if (!token()) await get("/v1/stats"); // asks the reader for a token where the server wants one
  return token() ? {} : { user: READER };
}

/** Every conversation, newest first: `{session, name, begun}`. */
export async function conversations() {
  return (await get("/v1/memory", await asOwner())).conversations;
}

/** The messages of a conversation, oldest first: `{role, at, text}`. */
export async function messages(session) {
  const held = await get("/v1/memory/export", { session, ...(await asOwner()) });
  const closed = held.documents.flatMap(({ text }) => text.split("\n").map(asMessage));
  return [...closed, ...(held.open[session] ?? [])].filter(Boolean);
}

function asMessage(line) {
  const found = /^(User|Assistant) \(([^)]*)\): (.*)$/.exec(line);
  return found && { role: found[1].toLowerCase(), at: found[2], text: found[3] };
}

export async function rename(session, name) {
  const query = await asOwner();
  await call("PUT", `/v1/memory/sessions/${encodeURIComponent(session)}`, { query, body: { name } });
}

export async function forget(session) {
  await call("DELETE", "/v1/memory", { query: { session, ...(await asOwner()) } });
  if (current() === session) leave();
}

/** The conversation that questions belong to; "" where nothing is remembered. */
export const current = () => window.sessionStorage.getItem(KEPT) ?? "";
export const leave = () => window.sessionStorage.removeItem(KEPT);

/** From now on questions belong to this conversation, or to a new one. */
export function enter(session = `c-${Date.now().toString(36)}`) {
  window.sessionStorage.setItem(KEPT, session);
}

/** What a question says of its conversation. */
export async function asConversation() {
  return current() ? { session: current(), ...(await asOwner()) } : {};
}
