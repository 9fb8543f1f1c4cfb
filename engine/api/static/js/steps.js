/** What the stages of an answer are called, and in which language what they say is. */

import { language } from "./i18n.js";

/** What the server calls the stages of an answer, in Chinese. */
const STEPS = {
  agent: "分步检索",
  cache: "已有答案",
  cite: "核对引文",
  compress: "压缩",
  decide: "是否检索",
  dense: "语义检索",
  embed: "生成向量",
  expand: "扩展查询",
  extract: "摘取句子",
  "fall back": "改用规则",
  follow: "追问",
  "further lists": "更多列表",
  fuse: "融合排序",
  grade: "评定段落",
  ground: "核对依据",
  keyword: "关键词检索",
  language: "核对语言",
  map: "汇集要点",
  merge: "合并回答",
  pack: "选取上下文",
  primer: "概览",
  rank: "排序",
  rate: "评定报告",
  read: "读取",
  reduce: "归纳作答",
  refine: "精选句子",
  reflect: "复查",
  rerank: "重排",
  rewrite: "改写查询",
  route: "选择方式",
  search: "检索",
  select: "选取报告",
  test: "检验段落",
  understand: "理解问题",
  verify: "核对论断",
  view: "可见范围",
  walk: "图谱游走",
  "second look": "复看前列段落",
  web: "网络检索",
  write: "撰写",
};

/** The language of a text of the server's, of which some is in that of the question. */
export const languageOf = (text) => (/\p{Script=Han}/u.test(text) ? "zh" : "en");

/** A stage of an answer; the Chinese page has a word for each that it knows. */
export const stepName = (stage) =>
  language() === "zh" && Object.hasOwn(STEPS, stage) ? STEPS[stage] : String(stage ?? "");
