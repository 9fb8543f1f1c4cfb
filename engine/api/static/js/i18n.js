/**
 * Every word of the page, in English and Chinese. `{name}` is filled in; a text that depends on a
 * number `n` is a pair: for one, and for others.
 */

const KEPT = "loregraph.language";

export const LANGUAGES = ["en", "zh"];

export const MESSAGES = {
  // name: [English, Chinese]; English may be [for one, for others]
  "nav.skip": ["Skip to the content", "跳到内容"],
  "nav.menu": ["Menu", "菜单"],
  "nav.views": ["Views", "视图"],
  "nav.ask": ["Ask", "提问"],
  "nav.conversations": ["Conversations", "对话"],
  "nav.documents": ["Documents", "文档"],
  "nav.graph": ["Graph", "图谱"],
  "nav.communities": ["Communities", "社区"],
  "nav.usage": ["Usage", "用量"],
  "nav.settings": ["Settings", "设置"],
  "nav.otherLanguage": ["中文", "English"],
  "nav.switchLanguage": ["切换到中文", "Switch to English"],
  "nav.languageSet": ["This page is now in English.", "页面已切换为中文。"],
  "nav.light": ["Appearance: {light}", "外观：{light}"],
  "light.auto": ["as the system", "跟随系统"],
  "light.light": ["light", "浅色"],
  "light.dark": ["dark", "深色"],

  "namespace.all": ["Every namespace", "全部命名空间"],
  "namespace.none": ["(no namespace)", "（无命名空间）"],

  "state.loading": ["Loading…", "正在加载…"],
  "state.again": ["Try again", "重试"],
  "offline.title": ["The server cannot be reached.", "无法连接服务器。"],
  "offline.detail": [
    "This page keeps trying and goes on when it answers.",
    "页面会持续重试，恢复后自动继续。",
  ],
  "offline.back": ["The server can be reached again.", "服务器已恢复连接。"],
  "problem.offline": ["The server cannot be reached.", "无法连接服务器。"],
  "problem.token": ["The server wants a token.", "服务器需要访问令牌。"],
  "problem.forbidden": ["This token may not do that.", "此令牌没有相应权限。"],
  "problem.missing": ["There is no such thing here.", "这里没有此项内容。"],
  "problem.busy": ["The server is busy.", "服务器繁忙。"],
  "problem.refused": ["The server did not accept this.", "服务器未接受此请求。"],
  "problem.failed": ["Something went wrong on the server.", "服务器出错了。"],
  "problem.page": ["Something went wrong in this page.", "页面出错了。"],
  "dialog.cancel": ["Cancel", "取消"],
  "list.more": ["Show more", "显示更多"],
  "list.moreCount": ["Show {n} more", "再显示 {n} 项"],

  "token.title": ["This server asks for a token", "此服务器需要访问令牌"],
  "token.label": ["Token", "令牌"],
  "token.note": [
    "Whoever runs the server can give you one. It is kept until this tab is closed, and never stands in an address.",
    "请向服务器管理员索取。令牌只保存到关闭此标签页为止，绝不会出现在网址中。",
  ],
  "token.refused": ["That token was not accepted.", "该令牌未被接受。"],
  "token.use": ["Use this token", "使用此令牌"],

  "unit.ms": ["{count} ms", "{count} 毫秒"],
  "unit.s": ["{count} s", "{count} 秒"],
  "count.documents": [["{n} document", "{n} documents"], "{n} 篇文档"],
  "count.entities": [["{n} name", "{n} names"], "{n} 个名称"],
  "count.relations": [["{n} relation", "{n} relations"], "{n} 条关系"],
  "count.mentions": [["{n} mention", "{n} mentions"], "提及 {n} 次"],
  "count.inDocuments": [["in {n} document", "in {n} documents"], "见于 {n} 篇文档"],
  "count.sources": [["{n} source", "{n} sources"], "{n} 处来源"],
  "count.files": [["{n} file", "{n} files"], "{n} 个文件"],
  "count.calls": [["{n} model call", "{n} model calls"], "调用模型 {n} 次"],
  "count.kept": [["{n} cache hit", "{n} cache hits"], "{n} 次沿用已有回复"],
  "count.tokens": [["{n} token", "{n} tokens"], "{n} 个词元"],

  "mode.auto": ["Auto", "自动"],
  "mode.local": ["Local", "局部"],
  "mode.global": ["Global", "全局"],
  "mode.both": ["Both", "兼用"],
  "mode.agent": ["Steps", "分步"],
  "mode.auto.note": ["Let the router choose", "由路由自行选择"],
  "mode.local.note": ["From the passages that answer it", "依据能回答问题的段落"],
  "mode.global.note": ["From the whole of the documents", "依据全部文档"],
  "mode.both.note": ["From passages and from the whole", "同时依据段落与全部文档"],
  "mode.agent.note": ["Search in several rounds", "分几轮检索"],

  "ask.title": ["Ask your documents", "向文档提问"],
  "ask.label": ["Question", "问题"],
  "ask.placeholder": ["A question, in English or Chinese", "请输入问题，中英文均可"],
  "ask.send": ["Ask", "提问"],
  "ask.stop": ["Stop", "停止"],
  "ask.empty": ["Write a question first.", "请先输入问题。"],
  "ask.mode": ["Way to the answer", "回答方式"],
  "ask.effort": ["Effort", "力度"],
  "ask.effortNote": [
    "How much an answer from the whole of the documents may read and cost",
    "依据全部文档作答时，可以阅读与花费多少",
  ],
  "effort.": ["as set", "按设置"],
  "effort.low": ["low", "低"],
  "effort.medium": ["medium", "中"],
  "ask.lead": [
    "Every claim of an answer is tied to the characters that say it.",
    "答案中的每个论断都对应原文出处。",
  ],
  "ask.holds": [
    "{documents} and {entities} to ask about. Every claim of an answer is tied to the characters that say it.",
    "可就 {documents}、{entities}提问。答案中的每个论断都对应原文出处。",
  ],
  "ask.noDocuments": ["The library is empty.", "文库为空。"],
  "ask.addDocuments": ["Add documents", "添加文档"],
  "ask.ideaThemes": [
    "What are the main themes across these documents?",
    "这些文档的主要主题是什么？",
  ],
  "ask.ideaName": ["What is said about {name}?", "关于{name}有哪些记述？"],
  "ask.goesOn": ["Goes on from this answer", "承接这个回答"],
  "ask.everything": ["In all documents", "在全部文档中"],
  "ask.within": ["Only in: {what}", "仅限：{what}"],
  "ask.document": ["Document (its id)", "文档（标识）"],
  "ask.conditions": ["Conditions", "条件"],
  "ask.conditionsNote": ["On metadata, separated by semicolons.", "针对元数据，用分号分隔。"],
  "ask.earlier": ["Earlier in this session", "本次会话的其他问题"],
  "ask.forget": ["Forget this session", "清除本次会话"],

  "answer.understood": ["Understood as:", "理解为："],
  "answer.routing": ["Choosing a way…", "正在选择方式…"],
  "answer.looking": ["Looking…", "正在查找…"],
  "answer.writing": ["Writing…", "正在作答…"],
  "answer.asAsked": ["as you asked", "按您的选择"],
  "answer.shortSure": ["{share} sure", "把握 {share}"],
  "answer.sure": ["{share} sure of this way", "这样判断的把握 {share}"],
  "answer.sources": ["Sources", "来源"],
  "answer.moreSources": [["Show {n} more source", "Show {n} more sources"], "再显示 {n} 处来源"],
  "answer.cite": ["Source {number}: {title}", "来源 {number}：{title}"],
  "answer.copy": ["Copy with sources", "复制（含来源）"],
  "answer.copied": ["Copied", "已复制"],
  "answer.again": ["Ask again", "再次提问"],
  "answer.noModel": ["no language model used", "未使用语言模型"],
  "answer.cost": ["cost {cost}", "费用 {cost}"],
  "answer.grounding": [
    "{share} of its statements are borne out by the sources",
    "{share} 的论断有来源支持",
  ],
  "answer.loose": ["Not borne out by the sources:", "缺乏来源支持："],
  "answer.running": ["being answered", "正在回答"],
  "answer.stopped": ["stopped", "已停止"],
  "answer.failed": ["failed", "未能回答"],
  "answer.cut": ["cut short", "中断"],
  "answer.stoppedLong": [
    "You stopped this answer; what was written stays.",
    "您已停止作答，已写出的内容保留。",
  ],
  "answer.cutLong": ["The stream ended before the answer did.", "数据流在答案完成前结束。"],
  "answer.abstainedShort": ["not answered", "未作答"],
  "answer.abstained": ["There is not enough evidence for an answer.", "证据不足，无法作答。"],
  "answer.abstainedNear": [
    "Nearest in the library (other words, or another way, may find more):",
    "资料库中最接近的内容（换一种说法或回答方式，也许能找到更多）：",
  ],
  "answer.abstainedNone": [
    "Other words, or fewer conditions, may find more.",
    "换一种说法或减少条件，也许能找到更多。",
  ],
  "answer.saidRoute": ["Way: {mode}.", "方式：{mode}。"],
  "answer.saidDone": ["The answer is there, with {sources}.", "答案已给出，含 {sources}。"],

  "making.title": ["How it was found", "查找过程"],
  "making.stages": ["Stages", "阶段"],
  "making.stage": ["Stage", "阶段"],
  "making.detail": ["What it did", "内容"],
  "making.time": ["Time", "用时"],
  "making.seen": ["What went in and out", "输入与输出"],
  "making.input": ["In", "输入"],
  "making.output": ["Out", "输出"],
  "making.passages": [["{n} passage read", "{n} passages read"], "所读段落（{n}）"],
  "making.relevance": ["relevance {value}", "相关度 {value}"],

  "source.previous": ["Previous citation", "上一处引文"],
  "source.next": ["Next citation", "下一处引文"],
  "source.of": ["{at} of {all}", "第 {at} 处，共 {all} 处"],
  "source.close": ["Close the source", "关闭原文"],
  "source.page": ["Page {page}", "第 {page} 页"],
  "source.pageOf": ["Page {page} of {all}", "第 {page} 页，共 {all} 页"],
  "source.characters": ["characters {from}–{to} of {all}", "字符 {from}–{to}，共 {all}"],
  "source.text": ["Text of the document", "文档正文"],
  "source.earlier": ["Earlier text", "显示前文"],
  "source.further": ["Further text", "显示后文"],
  "source.empty": ["This document has no text.", "此文档没有正文。"],
  "source.web": ["Found on the web, not in the library:", "来自网络，不在文库中："],
  "source.said": ["The passage is highlighted in {title}.", "已在《{title}》中标出引文。"],
  "source.saidPage": [
    "The passage is highlighted on page {page} of {title}.",
    "已在《{title}》第 {page} 页标出引文。",
  ],

  "document.about": ["About this document", "关于此文档"],
  "document.ask": ["Ask this document", "就此文档提问"],
  "document.describe": ["Edit tags and facts", "编辑标签与信息"],
  "document.describeNote": [
    "One a line, such as: date = 2024-05-01. Questions can be narrowed by them.",
    "每行一项，例如：date = 2024-05-01。提问时可据此缩小范围。",
  ],
  "document.given": ["Further facts", "其他信息"],
  "document.givenWrong": ["Write name = value on each line.", "每行请写“名称 = 值”。"],
  "document.described": ["Saved.", "已保存。"],
  "document.save": ["Save", "保存"],
  "document.partial": ["Stored in part", "部分入库"],
  "document.title": ["Title", "标题"],
  "document.type": ["Type", "类型"],
  "document.namespace": ["Namespace", "命名空间"],
  "document.tags": ["Tags", "标签"],
  "document.source": ["Source", "出处"],
  "document.chunks": ["Chunks", "文本块"],
  "document.pages": ["Pages", "页数"],
  "document.characters": ["Characters", "字符数"],
  "document.sha256": ["SHA-256", "SHA-256"],

  "document.outdated": ["Outdated", "已过时"],
  "document.outdatedNote": [
    "Its file can no longer be read; this is its last readable text: {why}",
    "文件已无法读取，此处为最后一次可读的文本：{why}",
  ],

  "documents.title": ["Documents", "文档"],
  "documents.search": [
    "Title, id, or a condition such as tags=red",
    "标题、标识，或条件，如 tags=red",
  ],
  "documents.actions": ["Actions", "操作"],
  "documents.none": ["There are no documents yet.", "还没有文档。"],
  "documents.noneHow": [
    "Drop files anywhere on this page, or write a text.",
    "将文件拖放到页面任意处，或直接写入文本。",
  ],
  "documents.noneFound": ["Nothing fits “{query}”.", "没有符合“{query}”的文档。"],
  "documents.remove": ["Remove", "移除"],
  "documents.removeName": ["Remove {name}", "移除《{name}》"],
  "documents.removeTitle": ["Remove this document?", "移除此文档？"],
  "documents.removeDetail": [
    "{name} ({id}) and all that only it says goes from the library: passages, names, relations and reports.",
    "《{name}》（{id}）及仅由它提供的段落、名称、关系和报告都将从文库中移除。",
  ],
  "documents.removed": ["{name} is removed.", "《{name}》已移除。"],

  "adding.title": ["Add documents", "添加文档"],
  "adding.drop": [
    "Drop files here: PDF, office files, Markdown, HTML, mail, code, archives …",
    "将文件拖放到此处：PDF、办公文档、Markdown、HTML、邮件、代码、压缩包等",
  ],
  "adding.choose": ["Choose files", "选择文件"],
  "adding.text": ["Write a text", "写入文本"],
  "adding.how": ["Namespace and tags", "命名空间与标签"],
  "adding.tagsNote": ["Separated by commas.", "用逗号分隔。"],
  "adding.body": ["Text", "正文"],
  "adding.add": ["Add", "添加"],
  "adding.sending": ["Sending {files} ({size})…", "正在上传 {files}（{size}）…"],
  "adding.taken": ["Taken in.", "已接收。"],
  "adding.unchanged": ["The library holds exactly this already.", "文库中已有完全相同的内容。"],

  "jobs.title": ["In the background", "后台任务"],
  "jobs.name": ["Job {id}", "任务 {id}"],
  "jobs.remove": ["Remove {name}", "移除 {name}"],
  "jobs.describe": ["Describe {name}", "编辑 {name}"],
  "jobs.queued": ["waiting", "等待中"],
  "jobs.running": ["at work", "进行中"],
  "stage.read": ["reading files", "读取文件"],
  "stage.embed": ["embedding", "生成向量"],
  "stage.extract": ["extracting names", "抽取名称"],
  "stage.resolve": ["resolving names", "归并名称"],
  "stage.link": ["linking names", "关联名称"],
  "stage.cluster": ["clustering", "聚类"],
  "stage.report": ["writing reports", "撰写报告"],
  "stage.read with the model": ["reading with the model", "模型阅读"],
  "stage.judge names": ["judging names", "判定名称"],
  "stage.summarise": ["summarising", "概括描述"],
  "jobs.done": ["done", "完成"],
  "jobs.failed": ["failed", "失败"],
  "jobs.interrupted": ["interrupted by a restart: add it again", "因重启中断，请重新添加"],
  "jobs.hide": ["Hide {name}", "隐藏 {name}"],
  "jobs.did.added": [["{n} added", "{n} added"], "新增 {n}"],
  "jobs.did.changed": [["{n} changed", "{n} changed"], "更新 {n}"],
  "jobs.did.unchanged": [["{n} unchanged", "{n} unchanged"], "未变 {n}"],
  "jobs.did.removed": [["{n} removed", "{n} removed"], "移除 {n}"],
  "jobs.did.failed": [["{n} failed", "{n} failed"], "失败 {n}"],
  "jobs.did.partial": [["{n} in part", "{n} in part"], "部分入库 {n}"],

  "graph.title": ["Graph", "图谱"],
  "graph.names": ["Names", "名称"],
  "graph.around": ["What stands around it", "周边关系"],
  "graph.entity": ["The chosen name", "所选名称"],
  "graph.search": ["Find a name", "查找名称"],
  "graph.type": ["Type", "类型"],
  "graph.everyType": ["Every type", "全部类型"],
  "graph.none": ["There are no names yet.", "还没有名称。"],
  "graph.noneHow": [
    "They are read from the documents that you add.",
    "名称会从您添加的文档中读取。",
  ],
  "graph.noName": ["No name fits.", "没有符合的名称。"],
  "graph.hops": ["How far", "范围"],
  "graph.hops1": ["1 step", "1 步"],
  "graph.hops2": ["2 steps", "2 步"],
  "graph.wayTo": ["Ways to another name", "到另一名称的路径"],
  "graph.findWay": ["Find ways", "查找路径"],
  "graph.noWay": ["Back", "返回"],
  "graph.noPath": [
    "No way leads from one to the other within four steps.",
    "四步之内没有路径相连。",
  ],
  "graph.whole": ["Open the whole graph", "打开完整图谱"],
  "graph.part": ["Open as a page", "以网页打开"],
  "graph.ofAnswer": ["Its graph", "相关图谱"],
  "graph.save": ["It is saved as a page of its own", "将存为独立网页"],
  "graph.saved": ["The graph is saved as one page.", "图谱已存为一个网页。"],
  "graph.drawing": [
    "Drawing of {names} and {relations}. Arrow keys go from name to name, Enter goes on from one.",
    "图中有 {names}、{relations}。方向键在名称间移动，回车键以其为中心。",
  ],
  "graph.notDrawn": [
    "The graph cannot be drawn here; reload the page.",
    "无法在此绘制图谱，请重新加载页面。",
  ],
  "graph.byType": ["Colours: types", "颜色：类型"],
  "graph.byCommunity": ["Colours: communities", "颜色：社区"],
  "graph.zoom": ["Zoom", "缩放"],
  "graph.zoomIn": ["Zoom in", "放大"],
  "graph.zoomOut": ["Zoom out", "缩小"],
  "graph.zoomAll": ["Show all", "显示全部"],
  "graph.aliases": ["Also:", "又名："],
  "graph.ask": ["Ask about it", "就此提问"],
  "graph.evidence": ["Where it is named", "出现之处"],
  "graph.together": ["named together with", "一同提及"],
  "graph.relations": ["Relations ({n})", "关系（{n}）"],
  "graph.showEvidence": [["Show {n} place", "Show {n} places"], "显示 {n} 处出处"],
  "graph.communities": ["Communities", "所属社区"],

  "type.PERSON": ["Person", "人物"],
  "type.ORGANISATION": ["Organisation", "组织"],
  "type.PLACE": ["Place", "地点"],
  "type.EVENT": ["Event", "事件"],
  "type.WORK": ["Work", "作品"],
  "type.PRODUCT": ["Product", "产品"],
  "type.CONCEPT": ["Concept", "概念"],
  "type.NAME": ["Name", "名称"],

  "communities.title": ["Communities", "社区"],
  "communities.lead": [
    "What the documents are about, as a table of contents: names that belong together, with a report on each group.",
    "以目录形式呈现文档内容：相互关联的名称，以及每组的报告。",
  ],
  "communities.contents": ["Table of contents", "目录"],
  "communities.open": ["Open {title}", "展开《{title}》"],
  "communities.choose": ["Choose a community to read its report.", "请选择一个社区，阅读其报告。"],
  "communities.none": ["There are no communities yet.", "还没有社区。"],
  "communities.noneHow": [
    "They form where documents name the same things together.",
    "当多篇文档共同提及相同事物时便会形成。",
  ],
  "communities.back": ["All communities", "全部社区"],
  "communities.level": ["level {level}", "第 {level} 层"],
  "communities.rating": ["rated {rating} of 10", "评分 {rating} / 10"],
  "communities.parent": ["Part of", "隶属于"],
  "communities.within": ["Communities within", "下级社区"],
  "communities.findings": ["Findings", "要点"],
  "communities.entities": ["Names", "名称"],

  "memory.title": ["Conversations", "对话"],
  "memory.lead": [
    "What you say in a conversation is remembered and can be asked about later.",
    "您在对话中说的话会被记住，以后可以再问。",
  ],
  "memory.begin": ["New conversation", "新对话"],
  "memory.none": ["No conversation is remembered.", "尚未记住任何对话。"],
  "memory.noneWhy": [
    "Begin one, and the questions that you ask belong to it.",
    "开始一个新对话，之后的提问都属于它。",
  ],
  "memory.goOn": ["Continue", "继续"],
  "memory.rename": ["Rename", "重命名"],
  "memory.name": ["Name", "名称"],
  "memory.forget": ["Forget", "删除"],
  "memory.forgetTitle": ["Forget this conversation for good?", "彻底删除这个对话？"],
  "memory.forgotten": ["The conversation is forgotten.", "对话已删除。"],
  "memory.user": ["You", "您"],
  "memory.assistant": ["Answer", "回答"],
  "memory.said": ["What was said", "对话内容"],
  "memory.on": ["This conversation is remembered.", "本对话会被记住。"],
  "memory.leave": ["Stop remembering", "不再记住"],
  "usage.title": ["Usage and cost", "用量与费用"],
  "usage.held": ["What the library holds", "文库内容"],
  "usage.none": ["No language model has been used.", "尚未使用语言模型。"],
  "usage.noneWhy": [
    "All that the library holds, and every answer, came at no cost.",
    "文库的全部内容与回答均未产生费用。",
  ],
  "usage.table": ["By day, stage and model", "按日期、阶段与模型"],
  "usage.day": ["Day", "日期"],
  "usage.stage": ["Stage", "阶段"],
  "usage.model": ["Model", "模型"],
  "usage.calls": ["Calls", "调用"],
  "usage.failed": ["Failed", "失败"],
  "usage.read": ["Tokens read", "输入词元"],
  "usage.kept": ["Of them cached by the provider", "其中服务商已缓存"],
  "usage.written": ["Tokens written", "输出词元"],
  "usage.cost": ["Cost", "费用"],
  "usage.unknown": ["unknown", "未知"],
  "usage.someUnknown": [
    "The price of some models is not known; what they cost is not counted.",
    "部分模型价格未知，其费用未计入。",
  ],
  "held.documents": ["Documents", "文档"],
  "held.chunks": ["Chunks", "文本块"],
  "held.entities": ["Names", "名称"],
  "held.relations": ["Relations", "关系"],
  "held.communities": ["Communities", "社区"],
  "held.reports": ["Reports", "报告"],
  "held.size": ["On disk", "磁盘占用"],

  "settings.title": ["Settings", "设置"],
  "settings.lead": [
    "As they are in force on the server. They are changed in its configuration file, not here.",
    "以下为服务器当前生效的设置；需在其配置文件中修改。",
  ],
  "settings.search": ["Find a setting", "查找设置"],
  "settings.status": ["Server: {status}", "服务器：{status}"],
  "settings.version": ["version {version}", "版本 {version}"],
  "settings.none": ["The server shows none.", "服务器未提供设置。"],
  "settings.yes": ["yes", "是"],
  "settings.no": ["no", "否"],
  "settings.token": ["A token is kept until this tab is closed.", "令牌会保存到关闭此标签页为止。"],
  "settings.forget": ["Forget it now", "立即清除"],
  "settings.forgotten": ["The token is forgotten.", "令牌已清除。"],
};

let chosen =
  kept() ??
  (navigator.languages.find((one) => /^(en|zh)/i.test(one)) ?? "en").slice(0, 2).toLowerCase();

export const language = () => chosen;

/** From now on this language; it is kept for the next visit. */
export function setLanguage(name) {
  chosen = name;
  window.localStorage.setItem(KEPT, name);
}

function kept() {
  const name = window.localStorage.getItem(KEPT);
  return LANGUAGES.includes(name) ? name : null;
}

/** The words of a name in the reader's language, with `values` filled in. */
export function t(name, values = {}) {
  const words = MESSAGES[name]?.[LANGUAGES.indexOf(chosen)];
  if (words === undefined) throw new Error(`no words for ${name}`);
  const text = Array.isArray(words) ? words[values.n === 1 ? 0 : 1] : words;
  return text.replace(/\{(\w+)\}/g, (whole, key) => shown(values[key], whole));
}

const shown = (value, whole) =>
  value === undefined
    ? whole
    : typeof value === "number"
      ? value.toLocaleString(chosen === "zh" ? "zh-CN" : "en-GB")
      : String(value);

/** What is being done, as a job names it; what this page does not know is shown as it is. */
export const stageName = (stage) =>
  Object.hasOwn(MESSAGES, `stage.${stage}`) ? t(`stage.${stage}`) : String(stage ?? "");

/** The name of an entity type; a library's own types are shown as they are. */
export const typeName = (type) =>
  Object.hasOwn(MESSAGES, `type.${type}`) ? t(`type.${type}`) : String(type ?? "");
