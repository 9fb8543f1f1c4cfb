/**
 * An answer's text as paragraphs, lists, tables, code and headings, its marks `[n]` as buttons. Of
 * Markdown only what lays out a text is read; links and HTML stay the letters that they are.
 */

import { el } from "./dom.js";

const ITEM = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/;
const HEADING = /^#{1,6}\s+/;
const FENCE = /^\s*(?:```|~~~)/;
const ROW = /^\s*\|.*\|\s*$/;
const RULE = /^[\s|:-]+$/;
const MARKS = /\[(\d{1,3}(?:\s*[,，]\s*\d{1,3})*)\]|\*\*([^*]+)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])/g;

/** Elements of a text; `mark(number)` gives the button of a citation, or null where there is none. */
export function prose(text, mark) {
  const blocks = [];
  let list = null;
  let code = null;
  let table = null;
  const lines = text.split("\n");
  lines.forEach((line, at) => {
    if (FENCE.test(line)) {
      code = code ? null : pushed(blocks, el("pre", { dir: "ltr" }));
      list = table = null;
      return;
    }
    if (code) {
      code.append(`${line}\n`);
      return;
    }
    if (ROW.test(line)) {
      list = null;
      table ??= pushed(blocks, el("table"));
      if (!RULE.test(line)) table.append(row(line, mark));
      return;
    }
    table = null;
    if (ITEM.test(line)) {
      list ??= pushed(blocks, el("ul"));
      list.append(el("li", { dir: "auto" }, inline(line.replace(ITEM, ""), mark)));
      return;
    }
    list = null;
    if (!line.trim()) return;
    const leads = /[:：]\s*$/.test(line) && ITEM.test(lines[at + 1] ?? "");
    const name = HEADING.test(line) || (leads && blocks.length) ? "h3" : "p";
    blocks.push(el(name, { dir: "auto" }, inline(line.replace(HEADING, ""), mark)));
  });
  return blocks;
}

function row(line, mark) {
  const cells = line.trim().replace(/^\||\|$/g, "").split("|");
  return el("tr", {}, cells.map((cell) => el("td", { dir: "auto" }, inline(cell.trim(), mark))));
}

function pushed(blocks, block) {
  blocks.push(block);
  return block;
}

function inline(text, mark) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(MARKS)) {
    const stressed = found[2] ?? found[3];
    const tag = found[2] === undefined ? "em" : "strong";
    const made = stressed === undefined ? marks(found[1], mark) : [el(tag, {}, stressed)];
    if (!made) continue;
    parts.push(text.slice(from, found.index), ...made);
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

function marks(numbers, mark) {
  const made = numbers.split(/[,，]/).map((number) => mark(Number(number)));
  return made.every(Boolean) ? made : null;
}
