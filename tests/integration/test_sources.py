"""What is no plain file, through the whole engine: addresses, databases, mail, Documents."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from sqlalchemy import create_engine, make_url

from engine import KnowledgeEngine
from engine.types import IngestReport

OpenEngine = Callable[..., KnowledgeEngine]
LOCAL = {"ingest": {"allow_private_addresses": True, "read_workers": 1}}
PAGE = (
    "<html><head><title>{title}</title></head><body><article><h1>{title}</h1><p>{text}</p>"
    "</article></body></html>"
)
TIDE = "The Port Ansgar tide gauge was built by Edda Vik in 1921, and it is read at noon each day."


def page(text: str, *, title: str = "The tide gauge", encoding: str = "utf-8") -> bytes:
    return PAGE.format(title=title, text=text).encode(encoding)


@dataclass
class Site:
    """What a web server gives: by path a status, headers and a body; and what it was asked."""

    url: str = ""
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    given: list[tuple[str, int]] = field(default_factory=list)

    def put(self, path: str, body: bytes, *, status: int = 200, **headers: str) -> str:
        """Put something there; an ETag is compared by the server. Returns its address."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = (status, {"Content-Type": "text/html"} | named, body)
        return self.url + path

    def statuses(self, path: str) -> list[int]:
        return [status for asked, status in self.given if asked == path]


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = served.answers.get(self.path, (404, {}, b""))
            for condition, mark in (
                ("If-None-Match", "ETag"),
                ("If-Modified-Since", "Last-Modified"),
            ):
                if mark in headers and self.headers.get(condition) == headers[mark]:
                    status, body = 304, b""
            served.given.append((self.path, status))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: a test says what is wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def engine(tmp_path: Path, open_engine: OpenEngine) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path / "library", **LOCAL) as engine:
        yield engine


def ids(engine: KnowledgeEngine) -> list[str]:
    return [row.id for row in engine.documents()]


def found(engine: KnowledgeEngine, question: str, **options: Any) -> set[str]:
    return {passage.document_id for passage in engine.retrieve(question, **options)}


def reasons(report: IngestReport) -> dict[str, str]:
    return {failure.source: failure.reason for failure in report.failed}


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param({"ETag": '"one"'}, id="ETag"),
        pytest.param({"Last_Modified": "Wed, 01 May 2024 08:00:00 GMT"}, id="Last-Modified"),
    ],
)
def test_a_page_the_server_calls_unchanged_is_not_sent_again(
    engine: KnowledgeEngine, site: Site, marks: dict[str, str]
) -> None:
    address = site.put("/tide", page(TIDE), **marks)
    assert engine.add(address).added == (address,)
    report = engine.add(address)
    assert (report.unchanged, report.chunks) == ((address,), 0)
    assert site.statuses("/tide") == [200, 304]
    assert found(engine, "Who built the tide gauge?") == {address}


def test_a_page_without_marks_is_compared_by_what_it_says(
    engine: KnowledgeEngine, site: Site
) -> None:
    address = site.put("/tide", page(TIDE))
    engine.add(address)
    assert engine.add(address).unchanged == (address,)
    assert site.statuses("/tide") == [200, 200]


def test_a_page_that_changed_replaces_itself(engine: KnowledgeEngine, site: Site) -> None:
    address = site.put("/tide", page(TIDE), ETag='"one"')
    engine.add(address)
    site.put("/tide", page(TIDE.replace("Edda Vik", "Bjorn Aske")), ETag='"two"')
    assert engine.sync(address).changed == (address,)
    assert "Bjorn Aske" in engine.document_text(address)
    assert engine.sync(address).unchanged == (address,)
    assert site.statuses("/tide") == [200, 200, 304]


@pytest.mark.parametrize("status", [404, 410, 500, 503])
def test_a_page_that_is_away_is_a_failure_and_stays(
    engine: KnowledgeEngine, site: Site, status: int
) -> None:
    address = site.put("/tide", page(TIDE))
    engine.add(address)
    site.put("/tide", b"gone", status=status)
    report = engine.sync(address)
    assert list(reasons(report)) == [address]
    assert str(status) in reasons(report)[address]
    assert report.removed == ()
    assert ids(engine) == [address]


def test_a_page_that_moved_keeps_the_address_that_was_named(
    engine: KnowledgeEngine, site: Site
) -> None:
    site.put("/new", page(TIDE))
    address = site.put("/old", b"", status=301, Location="/new")
    assert engine.add(address).added == (address,)
    assert engine.add(address).unchanged == (address,)
    assert "Edda Vik" in engine.document_text(address)


def test_a_page_in_gbk_is_read_in_its_own_characters(engine: KnowledgeEngine, site: Site) -> None:
    text = "鸥港灯塔由艾达·布莱恩船长于一九〇一年点亮，海燕号每月运来灯油。" * 3
    body = page(text, title="鸥港灯塔", encoding="gbk")
    address = site.put("/lamp", body, Content_Type="text/html; charset=gbk")
    engine.add(address)
    assert "艾达·布莱恩船长" in engine.document_text(address)
    assert [row.title for row in engine.documents()] == ["鸥港灯塔"]
    assert found(engine, "谁点亮了鸥港灯塔？") == {address}


def test_a_pdf_by_address_keeps_its_pages(engine: KnowledgeEngine, site: Site) -> None:
    address = site.put("/report", pdf("Page one.", TIDE), Content_Type="application/pdf")
    assert engine.add(address).added == (address,)
    assert engine.document_text(address).index("Page one.") < engine.document_text(address).index(
        "Edda Vik"
    )
    (passage,) = engine.retrieve("Who built the tide gauge?")
    assert (passage.document_id, passage.page) == (address, 1), "where the passage begins"


def pdf(*pages: str) -> bytes:
    """A PDF with a line a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        drawn = f"BT /F1 9 Tf 20 700 Td ({text}) Tj ET"
        objects += [
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * number} 0 R>>",
            f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        ]
    data, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj{value}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
    return data + (end + trailer).encode()


def test_this_machine_is_not_asked_unless_allowed(
    tmp_path: Path, open_engine: OpenEngine, site: Site
) -> None:
    address = site.put("/tide", page(TIDE))
    with open_engine(tmp_path / "careful") as engine:
        report = engine.add(address)
        assert report.added == ()
        assert "allow_private_addresses" in reasons(report)[address]
    assert site.given == []


def test_a_password_in_an_address_is_in_no_report(engine: KnowledgeEngine, site: Site) -> None:
    address = site.put("/tide", page(TIDE)).replace("http://", "http://ada:hunter2@")
    odd = "http://ada:hunter2/x@example.org/"
    report = engine.add([address, odd])
    assert len(report.failed) == 2
    assert "hunter2" not in repr(report)
    assert site.given == []


def test_an_address_is_removed_by_its_id_and_read_anew_after(
    engine: KnowledgeEngine, site: Site
) -> None:
    address = site.put("/tide", page(TIDE), ETag='"one"')
    engine.add(address)
    assert engine.remove(address).removed == (address,)
    assert engine.add(address).added == (address,)
    assert site.statuses("/tide") == [200, 200]


# --- databases ----------------------------------------------------------------------------------


def lighthouse(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


SHIPS = (
    "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, owner TEXT)",
    "CREATE TABLE ships_lost (id INTEGER PRIMARY KEY, name TEXT, year INTEGER)",
    "INSERT INTO ship VALUES (1, 'Petrel', 'Orrin Vale'), (2, 'Heron', 'Ada Brine')",
    "INSERT INTO ships_lost VALUES (1, 'Gannet', 1907), (2, 'Tern', 1911)",
)


@pytest.fixture
def ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lighthouse(tmp_path / "ships.db", *SHIPS)
    return "sqlite:///ships.db"


def test_rows_of_a_database_come_change_and_go_by_themselves(
    engine: KnowledgeEngine, ships: str
) -> None:
    assert len(engine.add(ships).added) == 5, "the schema and a document a row"
    lighthouse(
        Path("ships.db"),
        "UPDATE ship SET owner = 'Tomas Reed' WHERE id = 2",
        "DELETE FROM ships_lost WHERE id = 1",
        "INSERT INTO ships_lost VALUES (3, 'Skua', 1912)",
    )
    report = engine.sync(ships)
    assert report.added == (f"{ships}/ships_lost/3",)
    assert report.changed == (f"{ships}/ship/2",), "the number of rows is the same"
    assert report.removed == (f"{ships}/ships_lost/1",)
    assert found(engine, "Who owns the Heron?") >= {f"{ships}/ship/2"}
    assert "Tomas Reed" in engine.document_text(f"{ships}/ship/2")
    again = engine.sync(ships)
    assert (len(again.unchanged), again.chunks, again.embedded) == (5, 0, 0)


def test_only_the_tables_that_are_named_are_read(engine: KnowledgeEngine, ships: str) -> None:
    report = engine.add(ships, tables=["ship"])
    assert report.added == (ships, f"{ships}/ship/1", f"{ships}/ship/2")


def test_a_template_says_how_a_row_reads(
    tmp_path: Path, open_engine: OpenEngine, ships: str
) -> None:
    ingest = {"row_template": "The {name} belongs to {owner}."}
    with open_engine(tmp_path / "library", ingest=ingest) as engine:
        engine.add(ships, tables=["ship"])
        assert "The Petrel belongs to Orrin Vale." in engine.document_text(f"{ships}/ship/1")


def test_a_database_that_is_away_keeps_its_rows(engine: KnowledgeEngine, ships: str) -> None:
    engine.add(ships)
    held = ids(engine)
    Path("ships.db").rename("elsewhere.db")
    report = engine.sync(ships)
    assert list(reasons(report)) == [ships]
    assert report.removed == ()
    assert ids(engine) == held
    assert not Path("ships.db").exists()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hunter2@127.0.0.1:notaport/ships",
        "postgresql://ada:hunter2@x@127.0.0.1/ships",
        "postgresql://ada:hunter2@127.0.0.1:1/ships",
    ],
)
def test_a_database_that_cannot_be_is_a_failure_beside_the_others(
    engine: KnowledgeEngine, ships: str, address: str
) -> None:
    report = engine.add([address, ships])
    assert len(report.added) == 5
    assert len(report.failed) == 1
    assert "hunter2" not in repr(report)


def administer(url: str, *statements: str) -> None:
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_table_that_may_no_longer_be_read_keeps_its_rows_and_no_other_does(
    engine: KnowledgeEngine, postgres_server: Any
) -> None:
    administer(postgres_server.url(), "CREATE DATABASE fleet")
    owner = postgres_server.url("fleet")
    administer(
        owner,
        *SHIPS,
        "CREATE ROLE guest LOGIN PASSWORD 'hunter2'",
        "GRANT SELECT ON ship, ships_lost TO guest",
    )
    url = postgres_server.url("fleet", user="guest", password="hunter2")  # noqa: S106
    first = engine.add(url)
    source = first.added[0]
    assert first.added[1:] == tuple(
        f"{source}/{row}" for row in ("ship/1", "ship/2", "ships_lost/1", "ships_lost/2")
    )
    administer(
        owner,
        "REVOKE SELECT ON ship FROM guest",
        "DELETE FROM ships_lost WHERE id = 1",
        "UPDATE ships_lost SET year = 1913 WHERE id = 2",
    )
    report = engine.sync(url)
    assert report.removed == (f"{source}/ships_lost/1",)
    assert f"{source}/ships_lost/2" in report.changed
    assert "grant SELECT" in reasons(report)[f"{source}/ship"]
    assert {f"{source}/ship/1", f"{source}/ship/2"} <= set(ids(engine))
    everything = repr((first, report, engine.documents(), engine.document_text(source)))
    assert "hunter2" not in everything
    assert postgres_server.password not in everything


# --- mail, and all kinds at once ----------------------------------------------------------------


def letter(path: Path, *attachments: tuple[str, str]) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "Ada Brine <ada@example.org>", "orrin@example.org"
    message["Subject"], message["Date"] = "The lamp", "Wed, 01 May 2024 08:00:00 +0000"
    message.set_content("Dear Orrin, the lamp at Gull Quay needs oil.\n")
    for name, text in attachments:
        message.add_attachment(text, filename=name)
    path.write_bytes(message.as_bytes())


def test_an_attachment_is_a_document_and_goes_when_it_goes(
    engine: KnowledgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    letter(Path("lamp.eml"), ("list.txt", "Oil, wicks and a glass."), ("note.txt", "Ask Tomas."))
    assert engine.add("lamp.eml").added == (
        "lamp.eml",
        "lamp.eml!/list.txt",
        "lamp.eml!/note.txt",
    )
    letter(Path("lamp.eml"), ("list.txt", "Oil, wicks and a glass."))
    report = engine.add("lamp.eml")
    assert report.removed == ("lamp.eml!/note.txt",)
    assert report.changed == ("lamp.eml",), "the letter names what is attached to it"
    assert report.unchanged == ("lamp.eml!/list.txt",)
    assert engine.remove("lamp.eml").removed == ("lamp.eml", "lamp.eml!/list.txt")


def test_sources_of_every_kind_come_in_at_once(
    engine: KnowledgeEngine, site: Site, ships: str
) -> None:
    address = site.put("/tide", page(TIDE))
    letter(Path("lamp.eml"), ("list.txt", "Oil, wicks and a glass."))
    Path("docs").mkdir()
    Path("docs/barn.md").write_text("# Barn\n\nThe Skellhaven barn.\n", encoding="utf8")
    document = Document(id_="in-hand", text="A note on the Skellhaven mill.")
    sources = ["docs", "lamp.eml", address, ships, document]
    report = engine.add(sources, namespace="north")
    assert report.failed == ()
    assert {name.removeprefix("north::") for name in report.added} == {
        *("docs/barn.md", "lamp.eml", "lamp.eml!/list.txt", address, "in-hand"),
        *(ships, f"{ships}/ship/1", f"{ships}/ship/2"),
        *(f"{ships}/ships_lost/1", f"{ships}/ships_lost/2"),
    }
    again = engine.add(list(reversed(sources)), namespace="north")
    assert set(again.unchanged) == set(report.added)
    assert again.chunks == 0


# --- LlamaIndex documents and texts in hand -----------------------------------------------------


def test_the_metadata_of_a_document_can_be_asked_for_with_their_types(
    engine: KnowledgeEngine,
) -> None:
    metadata = {"tags": ["red", "blue"], "year": 1921, "share": 0.5, "date": date(2024, 5, 1)}
    engine.add(
        [
            Document(id_="a", text=TIDE, metadata=metadata),
            Document(id_="b", text=TIDE + " Twice.", metadata={"tags": ["green"], "year": 900}),
        ]
    )
    for conditions in (["tags=red"], ["year>1000"], ["share<0.6"], ["date>=2024-05-01"]):
        assert found(engine, "Who built the tide gauge?", filters=conditions) == {"a"}, conditions
    assert found(engine, "Who built the tide gauge?", filters={"year": 900}) == {"b"}
    assert found(engine, "Who built the tide gauge?", filters={"tags": ["green", "blue"]}) == {
        *("a", "b")
    }


def test_other_metadata_of_a_document_make_it_changed_and_embed_nothing(
    engine: KnowledgeEngine,
) -> None:
    def add(**metadata: object) -> IngestReport:
        return engine.add(Document(id_="a", text=TIDE, metadata=metadata))

    add(year=1921)
    assert add(year=1921).unchanged == ("a",)
    report = add(year=1922)
    assert (report.changed, report.embedded, report.extracted) == (("a",), 0, 0)
    assert found(engine, "tide gauge", filters=["year=1922"]) == {"a"}
    assert found(engine, "tide gauge", filters=["year=1921"]) == set()
    assert add().changed == ("a",)
    assert found(engine, "tide gauge", filters=["year=1922"]) == set()


def test_metadata_of_a_text_in_hand_stay_until_others_are_given(engine: KnowledgeEngine) -> None:
    given = {"tags": ("red", "blue"), "year": 1921}
    engine.add_text(TIDE, document_id="note", metadata=given)
    assert engine.add_text(TIDE, document_id="note", metadata=given).unchanged == ("note",)
    assert engine.add_text(TIDE, document_id="note").unchanged == ("note",)
    assert found(engine, "tide gauge", filters={"tags": "blue", "year": 1921}) == {"note"}
    report = engine.add_text(TIDE, document_id="note", metadata={"year": 1922})
    assert (report.changed, report.embedded) == (("note",), 0)
    assert found(engine, "tide gauge", filters={"tags": "blue"}) == set()


def test_what_its_owner_says_counts_more_than_what_a_document_says(
    engine: KnowledgeEngine,
) -> None:
    document = Document(id_="a", text=TIDE, metadata={"year": 1921, "place": "Port Ansgar"})
    engine.add(document, metadata={"year": 1999})
    assert found(engine, "tide gauge", filters=["year=1999", "place=Port Ansgar"]) == {"a"}
    assert found(engine, "tide gauge", filters=["year=1921"]) == set()
