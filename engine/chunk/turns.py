"""Speaker turns: meetings, interviews, chats, plays, subtitles.

Pure; knows one text's lines, no tokens and no files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .units import line_spans

_CLOCK = r"\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:[.,]\d{1,3})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[-/.年]\d{1,2}(?:[-/.月]\d{1,4}日?)?"
_STAMP = rf"(?:{_DATE},?[ T]+)?{_CLOCK}"
_WORD = r"(?:[^\W\d_a-z][\w.'’&-]*|\d{1,3}|de|van|von|der|del|la|du|of|the)"
_LATIN = rf"[^\W\d_a-z][\w.'’&-]*(?:[ \t]{_WORD}){{0,4}}(?:[ \t]?\([^()\n]{{1,30}}\))?"
_CJK = (
    r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3·•]{1,8}[A-Za-z\d]{0,3}"
    r"(?:[（(][^（）()\n]{1,15}[）)])?"
)
_NAME = rf"(?:{_CJK}|{_LATIN})"
_TURNS = (
    # [00:01] Name: …, [12/03/2021, 10:15:02] Name: …, [10:15] <nick> …, or a time alone
    rf"[ \t]*(?:>[ \t]*)?[\[(]{_STAMP}[\])][ \t]*(?:[-–—][ \t]*)?"
    rf"(?:<(?P<nick>[^<>\s]{{1,30}})>|\*{{0,2}}(?P<stamped>{_NAME})\*{{0,2}}[:：]\*{{0,2}})?",
    # 12/03/2021, 10:15 - Name: …, 10:15 <nick> …
    rf"{_STAMP}[ \t]+(?:[-–—][ \t]+)?"
    rf"(?:<(?P<nick2>[^<>\s]{{1,30}})>|(?P<stamped2>{_NAME})[:：])",
    r"<(?P<nick3>[^<>\s/!?][^<>\s]{0,29})>(?=[ \t]+\S)",
    rf"\*\*(?P<bold>{_NAME})(?:[:：]\*\*|\*\*[ \t]?[:：])",
    rf"(?P<plain>{_NAME})[ \t]?(?::(?=[ \t]|$)|：)",
    # Name 00:01:02, the words on the next line
    rf"(?P<before>{_NAME})[ \t]+[\[(]?{_STAMP}[\])]?[ \t]*$",
)
_TURN = re.compile("|".join(f"(?:{pattern})" for pattern in _TURNS))
_FIELD_NAMES = """
    from to cc bcc date subject title author authors abstract note notes warning example source
    sources tags keywords summary re sent reply-to time place location present apologies attendees
    attending chair agenda figure table version status phone tel fax email e-mail address url doi
    isbn issn name type id category price total info debug error warn fatal trace critical notice
    input output returns args raises parameters see copyright licence license published updated
    important tip caution todo fixme answer question q a p.s ps nb result results conclusion
    conclusions background methods objective objectives purpose setting design
    时间 地点 日期 主题 标题 作者 摘要 关键词 注 备注 说明 来源 出处 附件 电话 地址 邮箱
    主持 记录 出席 参加 发件人 收件人 抄送 价格 名称 类型 编号 问 答 例 如下 例如
    结论 目的 方法 背景 结果 图 表 中方 外方
"""
_FIELDS = frozenset(_FIELD_NAMES.split())
"""Field labels before a colon that are not speakers."""
_ENDS_A_SENTENCE = re.compile(r"[.?!。？！…—-][\"'”’」』）)\]}*_ ]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Turn beginning at `start`.

    Its words begin at `said`. `speaker` is empty if only a time is given.
    """

    start: int
    said: int
    speaker: str
    stamped: bool


def turns(text: str, start: int, end: int) -> list[Turn]:
    """Find the turns that begin in `text[start:end]`, in order."""
    found: list[Turn] = []
    for first, last in line_spans(text, start, end):
        match = _TURN.match(text, first, min(last, first + 200))
        if match is None:
            continue
        groups = {key: value for key, value in match.groupdict().items() if value}
        speaker = next(iter(groups.values()), "").strip()
        if speaker.lower() in _FIELDS:
            continue
        begin = first + len(match.group()) - len(match.group().lstrip())
        stamped = not ("plain" in groups or "bold" in groups or "nick3" in groups)
        found.append(Turn(start=begin, said=match.end(), speaker=speaker, stamped=stamped))
    return found


def ends_like_speech(text: str, turn: Turn) -> bool:
    """Check whether a turn's first line ends like a sentence."""
    line = next((text[first:last] for first, last in line_spans(text, turn.said, len(text))), "")
    return _ENDS_A_SENTENCE.search(line[-20:].rstrip()) is not None
