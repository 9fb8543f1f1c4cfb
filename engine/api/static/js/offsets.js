/**
 * Offsets of the library are counted in code points, JavaScript's strings in UTF-16 units: an emoji
 * before a passage would shift its highlight by one.
 */

/** The UTF-16 index of the code point `offset` in `text`; its length where the text ends before. */
export function unitIndex(text, offset) {
  let index = 0;
  for (let count = 0; count < offset && index < text.length; count += 1) {
    index += text.codePointAt(index) > 0xffff ? 2 : 1;
  }
  return index;
}

/** How many code points a text has. */
export function pointCount(text) {
  let count = 0;
  for (let index = 0; index < text.length; count += 1) {
    index += text.codePointAt(index) > 0xffff ? 2 : 1;
  }
  return count;
}

/**
 * A text cut at the given code point offsets: `[{start, end, text}]` with `start` and `end` counted
 * from `base`, in order and without empty pieces. Offsets outside of the text cut nothing.
 */
export function pieces(text, base, cuts) {
  const end = base + pointCount(text);
  const inside = [...new Set(cuts)].filter((cut) => cut > base && cut < end).sort((a, b) => a - b);
  const edges = [base, ...inside, end];
  const found = [];
  let from = 0;
  for (let at = 1; at < edges.length; at += 1) {
    const width = unitIndex(text.slice(from), edges[at] - edges[at - 1]);
    if (width)
      found.push({ start: edges[at - 1], end: edges[at], text: text.slice(from, from + width) });
    from += width;
  }
  return found;
}
