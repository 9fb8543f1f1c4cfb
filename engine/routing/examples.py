"""Example questions of both scopes, and a question's similarity to them.

The examples are written for no corpus in particular: the shape of a question counts, not its
subject. None is among the questions that the router is measured by. Similarity goes by words (pairs
of characters in Chinese) or by an embedding model's vectors; both are linear.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..prompts import Language

GLOBAL_QUESTIONS = (
    "What are the main themes across these documents?",
    "Summarise the whole collection.",
    "What is this corpus about as a whole?",
    "Give me an overview of everything in the library.",
    "What are the key takeaways?",
    "Which topics come up again and again?",
    "What are the most important conflicts described here?",
    "Who are the main groups and how do they relate to each other?",
    "How do opinions differ between the sources?",
    "What trends can be seen over time?",
    "What problems do the different organisations share?",
    "Outline the major events and how they are connected.",
    "What lessons can be drawn from all of this?",
    "What do the documents agree and disagree on?",
    "What kinds of risks are discussed throughout the material?",
    "Describe the overall story.",
    "What are the common threads that link the people in these texts?",
    "How has the relationship between science and business developed in these records?",
    "What are the general attitudes towards technology in these papers?",
    "Summarise the meeting.",
    "What was the overall discussion about?",
    "Which ideas dominate the collection?",
    "What values motivate the people who appear in the archive?",
    "What causes of failure recur in the reports?",
    "What is the big picture?",
    "What roles do institutions play in the community's life?",
    "I only have a minute, what is this about?",
    "Bring me up to speed on all of it.",
    "What do the residents think of the new arrangements?",
    "How do the patients describe their treatment?",
    "Which complaints come from the tenants most often?",
    "Why do so many of the projects run late?",
    "Sketch the background that one needs to follow these papers.",
    "In which respects do the two schools of thought differ?",
    "How has the organisation changed since it was founded?",
    "What does the archive reveal about ordinary life at the time?",
    "How are women portrayed in these stories?",
    "Trace how the idea developed from the first draft to the last.",
    "What holds the community together?",
    "Do the interviewees trust the authorities?",
    "What lies behind the quarrels in the village?",
    "Which arguments are used for and against the plan?",
    "What impression do you get of the leadership?",
    "Sort the complaints into a few categories.",
    "What should worry us?",
    "Are there warning signs that nobody acted on?",
    "How did relations between the partners sour over time?",
    "What motivates the main character?",
    "Explain how the various actors depend on each other.",
    "Where is the evidence thin?",
    "What do successful teams do differently?",
    "Whose voices are missing?",
    "What are users asking for?",
    "Make a timeline of the most significant developments.",
    "How do teachers cope with the new curriculum?",
    "Which approaches have been tried, and how well did they work?",
    "What is the author's attitude to religion?",
    "What seems to be the root of these troubles?",
    "Is there a pattern in who gets promoted?",
    "Describe the culture of the firm.",
    "Who are the winners and losers in all this?",
    "How reliable are these sources taken together?",
    "What would you tell someone who has not read any of it?",
    "Which values does the book hold up?",
    "What makes the relationship between the brothers so difficult?",
    "What obstacles do small farmers face?",
    "How do the newspapers cover the strike?",
    "What does the collection say about climate and health?",
    "Which practices should we give up, judging from past experience?",
    "What are our strengths and weaknesses?",
    "How does the society treat outsiders?",
    "Discuss the part that religion plays in public life.",
    "What is the state of research on this question?",
    "Do the accounts agree on what happened?",
    "What consequences did the reforms have for workers?",
    "What can be learnt from the failures?",
    "Put together a short profile of each organisation.",
    "What divides the members of the council?",
    "Tell me everything important about the family's history.",
    "How did public opinion turn against the project?",
    "What connects the different events?",
    "Which skills do employers look for?",
    "Quick rundown of the material please.",
    "What hopes do the settlers have?",
    "Evaluate how well the service is doing.",
    "How is power shared among the institutions?",
)

LOCAL_QUESTIONS = (
    "Who founded the company?",
    "When was the bridge opened to traffic?",
    "How many people work at the factory?",
    "Where was the author born?",
    "What is the serial number of the device?",
    "Which film was released first, the drama or the comedy?",
    "What is the capital of the country where she was born?",
    "Who is the director of the film based on his novel?",
    "What year did the war end?",
    "How much did the building cost?",
    "What is the name of the ship's captain?",
    "Are both magazines published monthly?",
    "Which university did the inventor attend?",
    "What does the error code mean?",
    "Who was the father of the queen?",
    "What is the deadline for the report?",
    "Is the actor older than the singer?",
    "What award did the scientist win?",
    "Which river flows through the town?",
    "How deep is the lake?",
    "What did the manager say about the delay?",
    "Why was the flight cancelled?",
    "What material is the casing made of?",
    "Who replaced the chairman after the resignation?",
    "What is the maximum load of the lift?",
    "Which team won the final match?",
    "what was the name of the plumber again",
    "When is the rent due?",
    "I can't find the section on overtime, where is it",
    "Who drew the cover of the second edition?",
    "how do i change the filter in the air purifier",
    "Is breakfast included in the price?",
    "Does the policy cover water damage?",
    "Which train did she take to Prague?",
    "What did the judge decide about custody?",
    "What grade did he get in chemistry",
    "Which of the sisters moved abroad?",
    "How was the sample cleaned before the measurement?",
    "what's the difference between model A and model B",
    "Why was the second meeting moved?",
    "Give me the email of the contact person.",
    "Look up the guarantee period of the boiler.",
    "What caused the explosion in the boiler house?",
    "Explain clause 9 of the agreement.",
    "Who succeeded him as editor?",
    "List the signatories of the treaty.",
    "How long does the battery last?",
    "What is the role of the catalyst in the first step?",
    "Describe the building that stands opposite the station.",
    "Summarise the letter from the landlord.",
    "which drawer are the spare keys in",
    "Was the suspect at home that evening?",
    "The dose for children under ten?",
    "What did the critics say of her first film?",
    "Which hospital was he taken to?",
    "tell me about the bridge at Orsk",
    "How did the prisoner escape?",
    "What topics will the exam on Friday cover?",
    "Where can I park?",
    "Can I return an opened item?",
    "On which page is the diagram of the engine?",
    "What does the abbreviation stand for?",
    "Who else applied for the post?",
    "What are the requirements for the licence?",
    "What is the overall height of the tower?",
    "Name the tributaries of the river.",
    "Compare the weight of the two cameras.",
    "Why did the general refuse the order?",
    "What happened on the night of the fire?",
    "Are the two directors from the same country?",
    "How many delegates attended the congress?",
    "what song did they dance to at the wedding",
    "Which version introduced the export button?",
    "What instructions did the pilot receive?",
    "Which actor played the villain in the sequel?",
    "When does the library close on Saturdays?",
    "What did the old man give to the boy?",
    "who pays for repairs in the flat",
    "What is the main cause of the disease?",
    "How should the solution be stored?",
    "Which company bought the patent?",
    "What was decided about the car park?",
    "How does the alarm work?",
    "What did Mr Lee propose at the end of the meeting?",
    "Find the invoice for the projector.",
    "Whom did the duchess marry?",
)

GLOBAL_QUESTIONS_ZH = (
    "这些文档的主要主题是什么？",
    "请概括全部资料的内容。",
    "总体来看，这些材料讲了什么？",
    "请总结整个资料库。",
    "有哪些反复出现的问题？",
    "各方之间的主要矛盾有哪些？",
    "这些文件的共同点和分歧是什么？",
    "书中主要人物之间的关系是怎样的？",
    "纵观全文，作者想表达什么？",
    "随着时间的推移，有哪些变化趋势？",
    "归纳一下各个机构面临的风险。",
    "从整体上说，人们对新技术持什么态度？",
    "这些事件之间有什么联系？",
    "可以从这些资料中得出哪些结论？",
    "请概述主要事件的来龙去脉。",
    "哪些因素影响了整个社区的发展？",
    "不同来源的看法有何不同？",
    "贯穿全部文档的线索是什么？",
    "综合所有报告，失败的原因有哪些？",
    "这次会议主要讨论了什么？",
    "请梳理整个故事的脉络。",
    "资料中涉及哪些主要领域？",
    "大家普遍关心的议题有哪些？",
    "请介绍这批资料的大致内容。",
    "时间不多，先告诉我这里面都有什么。",
    "帮我快速过一遍这些内容。",
    "住户们对新安排有什么看法？",
    "病人们怎样描述自己的治疗经历？",
    "租客投诉最多的是哪些方面？",
    "为什么这么多项目都拖期？",
    "要读懂这些文件，需要知道哪些背景？",
    "两派观点的区别体现在哪些方面？",
    "这个组织成立以来有了哪些改变？",
    "从档案里能了解到当时普通人怎样生活？",
    "故事里的孩子们是怎样被描写的？",
    "这个想法是如何一步步成形的？",
    "是什么把这个群体维系在一起？",
    "受访者相信政府吗，为什么？",
    "邻里之间的争吵到底是为了什么？",
    "支持和反对这个方案的理由各有哪些？",
    "你对管理层有什么印象？",
    "把意见归成几类。",
    "我们应该担心什么？",
    "有没有被大家忽视的预警信号？",
    "合作双方的关系为什么越来越差？",
    "主人公做这些事的动机是什么？",
    "说明各方之间是怎样互相依赖的。",
    "哪些结论证据不足？",
    "成功的团队有什么不一样的做法？",
    "谁的声音没有被听到？",
    "用户们想要什么功能？",
    "整理一份大事年表。",
    "老师们如何应对新课程？",
    "试过哪些办法，效果怎么样？",
    "作者对传统持怎样的态度？",
    "这些麻烦的根子在哪里？",
    "晋升的人有没有什么规律？",
    "说说这家企业的文化。",
    "这场变化中谁受益谁受损？",
    "这些说法可信吗，互相印证得上吗？",
    "给没读过的人讲讲这里面的故事。",
    "这本书推崇什么样的价值观？",
    "兄弟俩的关系为什么这么紧张？",
    "小农户面临哪些难处？",
    "各家媒体是怎样报道罢工的？",
    "资料里怎么谈环境与健康？",
    "从以往的经验看，哪些做法应该放弃？",
    "我们的优势和短板是什么？",
    "这个社会怎样对待外来者？",
    "谈谈宗教在公共生活中的地位。",
    "这个问题目前研究到了什么程度？",
    "几份证词对事情经过的说法一致吗？",
    "改革对工人有哪些影响？",
    "从失败中能吸取什么经验？",
    "给每个机构写一段简介。",
    "理事会内部为什么意见不合？",
    "讲一讲这个家族的历史。",
    "舆论是怎么转向反对的？",
    "人们的生活水平这些年有没有改善？",
    "雇主看重哪些能力？",
    "简单介绍一下手头的材料。",
    "移民们抱着怎样的希望？",
    "评价一下服务做得如何。",
    "权力在各机构之间怎么分配？",
)

LOCAL_QUESTIONS_ZH = (
    "谁创立了这家公司？",
    "这座桥是什么时候通车的？",
    "工厂有多少名员工？",
    "作者出生在哪里？",
    "设备的编号是什么？",
    "该片的导演是谁？",
    "战争在哪一年结束？",
    "这栋楼花了多少钱？",
    "船长叫什么名字？",
    "他毕业于哪所大学？",
    "女王的父亲是谁？",
    "报告的截止日期是哪天？",
    "这位演员获得了什么奖？",
    "哪条河流经这座城市？",
    "湖有多深？",
    "经理对延误说了什么？",
    "航班为什么取消？",
    "外壳是用什么材料做的？",
    "主席辞职后由谁接任？",
    "电梯的最大载重是多少？",
    "哪支球队赢得了决赛？",
    "这个小镇位于哪个省？",
    "该物种首次在何时何地被发现？",
    "这种药物有哪些副作用？",
    "这两部小说是同一位作者写的吗？",
    "上次来修水管的师傅姓什么？",
    "房租每个月几号交？",
    "加班的规定在第几节？",
    "第二版的封面是谁画的？",
    "空气净化器的滤芯怎么换？",
    "房费含早餐吗？",
    "保险赔不赔漏水造成的损失？",
    "她坐哪趟车去的北京？",
    "法官把孩子判给了谁？",
    "他化学考了多少分？",
    "姐妹俩哪一个去了国外？",
    "测量之前样品是怎么清洗的？",
    "A型和B型有什么区别？",
    "第二次会议为什么推迟？",
    "联系人的邮箱发我一下。",
    "锅炉的保修期到什么时候？",
    "锅炉房爆炸的原因是什么？",
    "解释一下协议第九条。",
    "接替他当主编的是谁？",
    "条约的签字国有哪些？",
    "电池能用多久？",
    "催化剂在第一步里起什么作用？",
    "车站对面是一栋什么样的楼？",
    "概括一下房东来信的内容。",
    "备用钥匙在哪个抽屉里？",
    "嫌疑人那天晚上在家吗？",
    "十岁以下儿童的用量",
    "影评人怎么评价她的第一部电影？",
    "他被送进了哪家医院？",
    "说说奥尔斯克那座桥。",
    "犯人是怎么逃出去的？",
    "周五的考试考哪些章节？",
    "车可以停在哪儿？",
    "拆封的商品还能退吗？",
    "发动机的示意图在第几页？",
    "这个缩写是什么意思？",
    "还有谁申请了这个岗位？",
    "办执照需要哪些条件？",
    "塔的总高度是多少？",
    "这条江有哪些支流？",
    "两台相机哪个更重？",
    "将军为什么拒绝执行命令？",
    "失火那晚发生了什么？",
    "两位导演来自同一个国家吗？",
    "有多少代表出席了大会？",
    "婚礼上跳舞放的是哪首歌？",
    "导出按钮是哪个版本加上的？",
    "飞行员接到了什么指示？",
    "续集里的反派由谁扮演？",
    "图书馆周六几点闭馆？",
    "老人把什么东西交给了男孩？",
    "屋里的维修费由谁承担？",
    "这种病的主要病因是什么？",
    "溶液应该怎样保存？",
    "哪家公司买下了专利？",
    "停车场的事最后怎么定的？",
    "警报器是怎么工作的？",
    "李先生在会议最后提了什么建议？",
    "查一下投影仪的发票。",
    "公爵夫人嫁给了谁？",
)


def example_questions(language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those about the whole, and those about one thing."""
    if language == "zh":
        return GLOBAL_QUESTIONS_ZH, LOCAL_QUESTIONS_ZH
    return GLOBAL_QUESTIONS, LOCAL_QUESTIONS


_RIDGE = 1.0
_FILE = "likeness.json"
_WORD = re.compile(r"[a-z']+|\d+|\?")


@dataclass(frozen=True, slots=True)
class ExampleSimilarity:
    """The direction in which vectors of both kinds of typical questions lie apart.

    `direction` is as wide as the vectors; `offset` is what half way between the kinds comes to.
    """

    direction: NDArray[np.float64]
    offset: float

    @classmethod
    def of(cls, whole: NDArray[np.float32], specific: NDArray[np.float32]) -> Self:
        """Learn from the vectors of typical questions, one a row.

        Ridge regression of the kind (1 for the whole, −1 for one thing) on unit vectors, in its
        dual form: an equation for each typical question, however wide vectors are.
        """
        rows = np.vstack([_units(whole), _units(specific)]).astype(np.float64)
        kind = np.concatenate([np.ones(len(whole)), -np.ones(len(specific))])
        centre = rows.mean(axis=0)
        centred = rows - centre
        products = centred @ centred.T + _RIDGE * np.eye(len(rows))
        direction = centred.T @ np.linalg.solve(products, kind)
        return cls(direction=direction, offset=float(centre @ direction))

    def __call__(self, vector: Sequence[float]) -> float:
        """About 1 for a question about the whole, −1 for one about one thing."""
        unit = _units(np.asarray([vector], dtype=np.float32))[0]
        return float(unit @ self.direction) - self.offset


def lexical_similarity(question: str, language: Language) -> float:
    """Return the similarity by words and word pairs, or Chinese character pairs.

    Naive Bayes over what occurs, each question's sum divided by the root of its number of features,
    for long questions are not that much surer.
    """
    weights = _word_weights(language)
    found = _features(question, language)
    return sum(weights.get(feature, 0.0) for feature in sorted(found)) / math.sqrt(
        max(1, len(found))
    )


@cache
def _word_weights(language: Language) -> dict[str, float]:
    whole, specific = example_questions(language)
    in_whole = Counter(each for text in whole for each in _features(text, language))
    in_specific = Counter(each for text in specific for each in _features(text, language))
    return {
        feature: math.log(
            (in_whole[feature] + 1)
            / (len(whole) + 2)
            * (len(specific) + 2)
            / (in_specific[feature] + 1)
        )
        for feature in in_whole | in_specific
    }


def _features(question: str, language: Language) -> set[str]:
    if language == "zh":
        kept = f"^{''.join(character for character in question if character.isalnum())}$"
        return {kept[place : place + 2] for place in range(len(kept) - 1)}
    words = ["^", *_WORD.findall(question.casefold()), "$"]
    return set(words) | {f"{one} {further}" for one, further in pairwise(words)}


def fit_examples(
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]], language: Language
) -> ExampleSimilarity:
    """Fit the similarity of an embedding model to all example questions."""
    whole, specific = example_questions(language)
    vectors = np.asarray(embed([*whole, *specific]), dtype=np.float32)
    return ExampleSimilarity.of(vectors[: len(whole)], vectors[len(whole) :])


def load_pretrained(model: str, language: Language) -> ExampleSimilarity | None:
    """Load the bundled model's precomputed fit; None for other models or questions.

    `model` is its identity, such as `all-MiniLM-L6-v2/fp32`. Learning takes a second of processor
    time, which a command line would pay for every question.
    """
    known = json.loads((files(__package__) / _FILE).read_text(encoding="utf8"))
    is_same = known["model"] == model.split("/")[0] and known["language"] == language
    if not is_same or known["questions"] != digest(language):
        return None
    return ExampleSimilarity(
        direction=np.asarray(known["direction"], dtype=np.float64), offset=known["offset"]
    )


def digest(language: Language) -> str:
    """Names the typical questions of a language."""
    text = "\n\n".join("\n".join(kind) for kind in example_questions(language))
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:16]


def _units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)
