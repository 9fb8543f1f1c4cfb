// ── words: the page's own, in English and Chinese; what documents say stays as it is ─────────────
// A text is its own key. Plurals are a counter in Chinese: "communities" is "个社区" after a number.
const CHINESE = {
  "a community: its size is the weight of what is in it": "社区：大小为其中内容的权重",
  "All communities": "全部社区",
  "Also: {names}": "又名：{names}",
  "an entity: larger with more relations": "实体：关系越多越大",
  "and": "和",
  "any": "不限",
  "anywhere": "不限",
  "Around {name}": "{name}的周围",
  "Claims": "断言",
  "Clear": "清除",
  "Close": "关闭",
  "Colours: communities": "颜色：社区",
  "Colours: types": "颜色：类型",
  "communities": "个社区",
  "Communities": "社区",
  "Community": "社区",
  "concept": "概念",
  "dark": "深色",
  "Dark or light": "深色或浅色",
  "Details": "详情",
  "Document": "文档",
  "documents": "篇文档",
  "Double click or": "双击或按",
  "entities": "个实体",
  "Entities": "实体",
  "Entities found": "找到的实体",
  "event": "事件",
  "false": "文中否认",
  "Filter": "筛选",
  "Find a name": "查找名称",
  "Find an entity by name or alias": "按名称或别名查找实体",
  "goes up, arrow keys go to the next,": "返回上层，方向键移到下一个，",
  "graph": "图谱",
  "Graph": "图谱",
  "Graph. Arrow keys go from one to the next, Enter opens, Escape goes up, plus and minus zoom.":
    "图谱。方向键移到下一个，回车打开，Esc 返回上层，加号和减号缩放。",
  "In no community": "不属于任何社区",
  "Its data could not be unpacked ({reason}). A browser of 2023 or later can do it; if this one is newer, the file is damaged.":
    "无法解开其中的数据（{reason}）。2023 年以后的浏览器都可以；如果浏览器更新，则文件已损坏。",
  "Knowledge graph": "知识图谱",
  "Legend": "图例",
  "light": "浅色",
  "mentions": "次提及",
  "{mentions} in {documents}": "{documents}中有 {mentions}",
  "more": "项",
  "more links": "条联系",
  "more sentences": "个其他句子",
  "more sentences say": "个句子",
  "{sentences} so that this page does not hold.": "另有{sentences}谈到，本页未收录。",
  "name": "名称",
  "No sentence links it with another entity.": "没有句子把它与别的实体联系起来。",
  "nothing found": "没有找到",
  "nothing matches": "没有符合的内容",
  "Nothing of that name.": "没有这个名称。",
  "Nothing of that name; near it:": "没有这个名称，相近的有：",
  "Open": "打开",
  "Open a community for its report, an entity for what is said of it.": "打开社区可读报告，打开实体可看有关它的句子。",
  "opens,": "打开，",
  "organisation": "组织",
  "parts": "个部分",
  "Parts": "组成部分",
  "person": "人物",
  "place": "地点",
  "product": "产品",
  "Question": "问题",
  "relations": "条关系",
  "relations: wider with more evidence, only the strongest are drawn": "关系：证据越多越粗，只画最强的",
  "searches,": "查找，",
  "Show {some} {more} ({left} left)": "再显示 {some} {more}（还有 {left}）",
  "Show everything": "显示全部",
  "Show everything (0)": "显示全部（0）",
  "Show what is around it": "显示它的周围",
  "shows everything.": "显示全部。",
  "Skip to the text": "跳到文字",
  "Sources": "来源",
  "suspected": "存疑",
  "There are no entities to draw yet.": "还没有可画的实体。",
  "This page cannot be opened here": "此处无法打开本页",
  "This page holds the {held} heaviest of {entities}.": "本页收录{entities}中最重要的 {held} 个。",
  "true": "文中肯定",
  "Type": "类型",
  "Types": "类型",
  "weaker links are": "条较弱的联系",
  "Weight at least": "权重不低于",
  "What the answer rests on": "回答的依据",
  "What the documents say": "文档中的说法",
  "what the panel speaks of": "面板所说的内容",
  "Where you are": "所在位置",
  "named together with": "一同提及：",
  "work": "作品",
  "Zoom": "缩放",
  "Zoom in": "放大",
  "Zoom in (+)": "放大（+）",
  "Zoom out": "缩小",
  "Zoom out (−)": "缩小（−）",
  " in {parts}": "，分为{parts}",
  " · {some} match the filter": " · {some} 个符合筛选",
  " · weight {rating} of 10": " · 权重 {rating} / 10",
  " {predicate} this": " {predicate} 它",
  "{entities}: too little is said of them to belong together.": "{entities}：关于它们的内容太少，未能归入社区。",
  "{links} not drawn.": "{links}未画出。",
  "{some} found": "找到 {some} 个",
  "{some} lighter ones are not drawn: search and list have them all.": "{some} 个较轻的未画出：查找和列表中都有。",
  "{some} of {entities} match": "{entities}中有 {some} 个符合",
  "{title}, p. {page}": "{title}，第 {page} 页",
};
const TOLD = ["aria-label", "aria-roledescription", "placeholder", "title"];

// As the address says (?lang=zh), else in Chinese where the library is or its reader reads Chinese.
function isInChinese() {
  const asked = new URLSearchParams(location.search).get("lang");
  if (asked) return asked.startsWith("zh");
  return JSON.parse(document.getElementById("first").textContent).is_chinese || /^zh\b/i.test(navigator.language);
}
const chinese = isInChinese();
function t(text, slots = {}) {
  const told = chinese ? CHINESE[text] ?? text : text;
  return told.replace(/\{(\w+)\}/g, (whole, name) => (name in slots ? String(slots[name]) : whole));
}
// What part of a graph this is, in the words of `graph/subgraph.py`.
function aboutWords(about) {
  if (!chinese) return about;
  return t(about).replace(/^Community: /, "社区：").replace(/^Within (\d+) steps? of (.*)$/s, "$2周围 $1 步以内");
}
// What the file of the page says itself; nothing of a document is in it yet but its title.
function translate(root) {
  document.documentElement.lang = "zh";
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode, text = data.replace(/\s+/g, " ").trim();
    if (CHINESE[text] && parentElement.tagName !== "SCRIPT") texts.currentNode.data = data.replace(data.trim(), CHINESE[text]);
  }
  for (const element of root.querySelectorAll(TOLD.map((name) => `[${name}]`).join())) {
    for (const name of TOLD) {
      const text = element.getAttribute(name);
      if (CHINESE[text]) element.setAttribute(name, CHINESE[text]);
    }
  }
}
if (chinese) translate(document.body);
document.getElementById("language").textContent = chinese ? "English" : "中文";
document.getElementById("language").lang = chinese ? "en" : "zh";
document.getElementById("language").onclick = () => {
  const address = new URL(location.href);
  address.searchParams.set("lang", chinese ? "en" : "zh");
  location.replace(address);
};
