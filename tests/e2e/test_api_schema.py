"""What the OpenAPI description says is so, and no request that is made from it fails the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from api_server import ApiServer
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from lxml import html
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from engine.api.reference import reference_page

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
TEXT = (
    "# The lamp at Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. "
    "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("schema")) as running:
        running.add_text(TEXT, document_id="lamp")
        yield running


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_whatever_is_sent_is_answered_as_described(server: ApiServer, mode: GenerationMode) -> None:
    """By every operation: requests made from its description, and such as offend against it."""
    description = schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json")
    asked = 0
    for result in description.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=6,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            case.validate_response(case.call(timeout=60), checks=CHECKS)

        try:
            check()
        except Unsatisfiable:  # nothing can be wrong with a request that takes nothing
            assert mode == GenerationMode.NEGATIVE
        else:
            asked += 1
    assert asked > 12


def test_everything_is_described(server: ApiServer) -> None:
    with server.client() as client:
        described = client.get("/v1/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    for path, item in described["paths"].items():
        for method, operation in item.items():
            where = (method, path)
            assert operation["summary"], where
            assert operation["description"], where
            (error,) = operation["responses"]["default"]["content"]
            assert error in ("application/problem+json", "application/json"), where


def test_the_description_asks_no_other_origin(server: ApiServer) -> None:
    with server.client() as client:
        for path in ("/redoc", "/openapi.json"):
            assert client.get(path).status_code == 404


def test_a_request_with_the_wrong_method_is_told_which_are_right(server: ApiServer) -> None:
    response = httpx.put(f"{server.url}/v1/documents", trust_env=False)
    assert response.status_code == 405
    assert response.headers["content-type"] == "application/problem+json"
    assert "GET" in response.headers["allow"]


def test_the_api_is_shown_as_a_page_that_asks_nothing_of_other_sites(server: ApiServer) -> None:
    with server.client() as client:
        described = client.get("/v1/openapi.json").json()
        page, web_page = client.get("/docs"), client.get("/")
        policy = "content-security-policy"
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers[policy] == web_page.headers[policy]
        root = html.fromstring(page.content)
        sections = {str(each) for each in root.xpath("//section/h2/code/text()")}
        links = [str(each) for each in root.xpath("//link/@href")]
        assert all(client.get(each).status_code == 200 for each in links)
    assert sections == {
        f"{method.upper()} {path}" for path, item in described["paths"].items() for method in item
    }
    ids = {str(each) for each in root.xpath("//@id")}
    assert {f"schema-{name}" for name in described["components"]["schemas"]} <= ids
    targets = [str(each) for each in root.xpath("//a/@href")]
    assert {each.removeprefix("#") for each in targets if each.startswith("#")} <= ids
    assert not root.xpath("//script | //style | //@style | //@onclick | //img")
    assert all(each.startswith(("/", "#")) for each in [*targets, *links])
    assert "max_completion_tokens" in page.text


def test_the_page_of_the_api_escapes_what_a_description_says() -> None:
    bad = "<b>&"
    page = reference_page(
        {
            "info": {"title": bad, "version": bad, "description": bad},
            "paths": {
                f"/{bad}": {
                    "get": {
                        "summary": bad,
                        "parameters": [{"name": bad, "in": "query", "schema": {"type": bad}}],
                        "responses": {"200": {"description": bad, "content": {bad: {}}}},
                    }
                }
            },
            "components": {"schemas": {bad: {"properties": {bad: {"enum": [bad]}}}}},
        }
    )
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page
