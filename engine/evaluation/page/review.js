"use strict";
// Review of gold questions: j/k move, a accepts, d drops, e edits, Enter saves, Escape leaves.
const token = document.body.dataset.token;
const state = { rows: [], at: 0 };
const shown = (id) => document.getElementById(id);

async function call(path, body) {
  const reply = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: { "X-Review-Token": token, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}

function draw() {
  const row = state.rows[state.at];
  const done = state.rows.filter((one) => one.decision).length;
  shown("place").textContent = `${state.at + 1} of ${state.rows.length}, ${done} decided`;
  shown("decision").textContent = row.decision || "open";
  shown("kind").textContent = `${row.id} · ${row.kind} · ${row.language} · ${row.made}`;
  shown("text").value = row.text;
  shown("answers").value = (row.points.length ? row.points : row.answers).join("\n");
  const sources = shown("sources");
  sources.replaceChildren();
  for (const source of row.sources) {
    const title = document.createElement("h3");
    title.textContent = `${source.document}:${source.start}–${source.end}`;
    const box = document.createElement("pre");
    const mark = document.createElement("mark");
    mark.textContent = source.text;
    box.append(source.before, mark, source.after);
    sources.append(title, box);
  }
}

function move(step) {
  state.at = Math.min(state.rows.length - 1, Math.max(0, state.at + step));
  draw();
}

async function decide(decision) {
  const row = state.rows[state.at];
  const lines = shown("answers").value.split("\n").map((one) => one.trim()).filter(Boolean);
  const body = { id: row.id, decision, text: shown("text").value, lines };
  try {
    Object.assign(row, await call("/decide", body));
    shown("problem").textContent = "";
    move(decision === "open" ? 0 : 1);
  } catch (error) {
    shown("problem").textContent = error.message;
  }
}

document.addEventListener("keydown", (event) => {
  const editing = ["TEXTAREA", "INPUT"].includes(document.activeElement.tagName);
  if (event.key === "Escape") document.activeElement.blur();
  if (editing && event.key === "Enter" && document.activeElement.tagName === "INPUT") {
    event.preventDefault();
    document.activeElement.blur();
    decide("accept");
  }
  if (editing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    j: () => move(1), k: () => move(-1), a: () => decide("accept"), d: () => decide("drop"),
    o: () => decide("open"), e: () => shown("text").focus(),
  }[event.key];
  if (action) { event.preventDefault(); action(); }
});
for (const name of ["accept", "drop", "open"])
  shown(`do-${name}`).addEventListener("click", () => decide(name));
call("/rows").then((rows) => { state.rows = rows; draw(); });
