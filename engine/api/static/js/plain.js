/** A passage as it is read in a list: without the signs by which Markdown lays it out. */

const SIGNS = [
  [/!?\[([^\][]*)\]\([^()\s]*\)/g, "$1"],
  [/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/gs, "$2"],
  [/(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])/g, "$1"],
  [/^\s{0,3}(#{1,6}|>)\s+/gm, ""],
  [/^\|?(\s*:?-{3,}:?\s*\|)+.*$/gm, ""],
  [/\s*\|\s*/g, " · "],
  [/^(\s*·\s*)+|(\s*·\s*)+$/gm, ""],
];

/** Still only text: where a sign means something else, little is lost, and the source shows it all. */
export const plain = (text) =>
  SIGNS.reduce((now, [sign, put]) => now.replace(sign, put), String(text ?? "")).trim();
