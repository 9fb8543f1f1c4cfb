"""Names in the reader's language."""

from __future__ import annotations

from graph.model import Entity, GraphExport, Name
from graph.naming import export_in, main_language, name_in, named_in
from graph.resolution.resolver import Curation, resolve_names


def entity(name: str, *aliases: str, mentions: int = 1) -> Entity:
    return Entity(
        id=f"e-{name}",
        name=name,
        type="PERSON",
        keys=(name.casefold(),),
        aliases=aliases,
        mention_count=mentions,
        document_count=1,
    )


def name(key: str, count: int, kind: str = "PERSON") -> Name:
    return Name(
        key=key, surfaces={key.title(): count}, types={kind: count}, documents=frozenset("d")
    )


def test_a_reader_is_shown_the_best_name_in_the_script_of_the_language() -> None:
    lu = entity("陆听澜", "Lu Tinglan", "Dr. Lu")
    assert name_in(lu, "en") == "Lu Tinglan"
    assert name_in(lu, "zh") == name_in(lu, "zh-Hant") == "陆听澜"


def test_a_name_of_another_script_is_shown_where_no_other_is_known() -> None:
    assert name_in(entity("顾明海"), "en") == "顾明海"
    assert name_in(entity("LANTERN", "Cable"), "zh") == "LANTERN"


def test_no_name_is_lost_and_the_id_stays_under_another_language() -> None:
    lu = entity("陆听澜", "Lu Tinglan", "Dr. Lu")
    shown = named_in(lu, "en")
    assert (shown.name, shown.aliases, shown.id) == ("Lu Tinglan", ("陆听澜", "Dr. Lu"), lu.id)


def test_the_main_language_is_that_of_most_mentions() -> None:
    some = [entity("陆听澜", mentions=3), entity("Ada"), entity("Brine")]
    assert main_language(some) == "zh"
    assert main_language(some[1:]) == main_language([]) == "en"


def test_an_export_names_all_things_in_one_language() -> None:
    some = GraphExport(entities=(entity("陆听澜", "Lu Tinglan"), entity("Ada", mentions=9)))
    assert [one.name for one in export_in(some).entities] == ["Lu Tinglan", "Ada"]
    assert [one.name for one in export_in(some, "zh").entities] == ["陆听澜", "Ada"]


def test_an_entity_keeps_its_names_best_first_in_each_script() -> None:
    names = [name("陆听澜", 9), name("lu tinglan", 3), name("dr. lu tinglan", 5)]
    (lu,), _ = resolve_names(names, [("陆听澜", "lu tinglan")])
    assert (lu.name, lu.aliases) == ("陆听澜", ("Lu Tinglan", "Dr. Lu Tinglan"))


def test_a_user_s_name_is_the_one_of_its_script() -> None:
    names = [name("陆听澜", 9), name("lu tinglan", 3)]
    rename = Curation(number=1, action="rename", keys=("陆听澜",), names=("陆听澜",), value="Lu T.")
    (lu,), _ = resolve_names(names, [("陆听澜", "lu tinglan")], curations=[rename])
    assert name_in(lu, "en") == "Lu T."
    assert name_in(lu, "zh") == "陆听澜"
