"""A real server under load: many clients at once, many requests in all, clients that vanish.

    python tests/benchmarks/load.py [--clients 200] [--requests 10000] [--corpus data/corpus]

Prints, for retrievals over the corpus from this second process: errors, throughput, the median and
the 95th percentile of the time to the answer (waiting included), and the server's memory at the
beginning, after a tenth and at the end. Then how soon streams whose clients vanish free their
places, behind a model that goes on for ever. One library, no embedding model unless `--models`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx
from api_server import ApiServer
from openai_server import OpenAIServer, Reply

QUESTIONS = (
    "Which ship laid the LANTERN cable, and when?",
    "Who founded the Tolland Marine Station?",
    "What did the Averill inquiry find?",
    "Who wrote the Grey Protocol emails?",
    "How deep is the Cold Stair?",
    "谁领导了2011年的航次？",
)
UPLOADED = frozenset({".md", ".txt", ".html", ".pdf"})


async def asked(client: httpx.AsyncClient, questions: list[str], seconds: list[float]) -> int:
    """Ask these one after the other; how many were not answered with 200."""
    failed = 0
    for question in questions:
        began = time.perf_counter()
        try:
            response = await client.post("/v1/retrieve", json={"question": question, "top_k": 5})
            failed += response.status_code != 200
        except httpx.HTTPError:
            failed += 1
        seconds.append(time.perf_counter() - began)
    return failed


async def round_of(url: str, *, clients: int, requests: int) -> tuple[int, list[float], float]:
    """So many requests by so many clients: errors, each one's seconds, and seconds in all."""
    seconds: list[float] = []
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    each = [requests // clients + (number < requests % clients) for number in range(clients)]
    began = time.perf_counter()
    async with httpx.AsyncClient(
        base_url=url, timeout=120, limits=limits, trust_env=False
    ) as client:
        questions = cycle(QUESTIONS)
        work = [asked(client, list(islice(questions, count)), seconds) for count in each]
        failed = sum(await asyncio.gather(*work))
    return failed, seconds, time.perf_counter() - began


def memory_mb(server: ApiServer) -> float:
    """What the server's process holds in memory."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    line = next(each for each in status.splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def filled(server: ApiServer, corpus: Path) -> int:
    """Upload every document of the corpus; how many there are then."""
    files = sorted(each for each in corpus.rglob("*") if each.suffix in UPLOADED)
    with server.client() as client:
        opened = [("files", (each.name, each.read_bytes())) for each in files]
        job = client.post("/v1/documents", files=opened).json()["job"]
        server.finished(job)
        return int(client.get("/v1/stats").json()["documents"])


def loaded(folder: Path, *, corpus: Path, clients: int, requests: int, models: bool) -> None:
    """The first part: retrievals."""
    with ApiServer(folder, models=models, env={"OMP_NUM_THREADS": "1"}) as server:
        count = filled(server, corpus)
        warm = asyncio.run(round_of(server.url, clients=8, requests=48))
        print(f"{count} documents; {os.cpu_count()} processors shared with the clients")
        print(f"alone, 8 clients: {48 / warm[2]:.0f} requests/s")
        memory = [memory_mb(server)]
        for part in (requests // 10, requests - requests // 10):
            failed, seconds, all_seconds = asyncio.run(
                round_of(server.url, clients=clients, requests=part)
            )
            memory.append(memory_mb(server))
            p95 = statistics.quantiles(seconds, n=20)[-1]
            print(
                f"{part} retrievals by {clients} clients: {failed} errors, "
                f"{part / all_seconds:.0f} requests/s, median {statistics.median(seconds):.2f} s, "
                f"p95 {p95:.2f} s"
            )
        print("memory: " + " → ".join(f"{each:.0f} MB" for each in memory))


async def vanished(url: str, count: int) -> None:
    """Begin so many streams and leave each when it has begun."""

    async def one(client: httpx.AsyncClient, number: int) -> None:
        body = {"question": f"What is the station number {number}?", "stream": True}
        async with client.stream("POST", "/v1/ask", json={**body, "mode": "local"}) as stream:
            async for _ in stream.aiter_raw():
                return

    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        await asyncio.gather(*(one(client, number) for number in range(count)))


def left(folder: Path) -> None:
    """The second part: clients that go while a model writes."""
    with OpenAIServer() as model:
        model.answer_with(lambda _: Reply("word " * 10_000, drip_seconds=0.1))
        env = {
            "LOREGRAPH_LLM__KIND": "openai_like",
            "LOREGRAPH_LLM__MODEL": "endless",
            "LOREGRAPH_LLM__BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
        }
        with ApiServer(folder, env=env) as server:
            server.add_text("The station was founded in 1974 by Maeve Tolland.", document_id="a")
            for turn in range(5):
                began = time.perf_counter()
                asyncio.run(vanished(server.url, 4))
                with server.client() as client:
                    while in_flight(client) > 1:
                        time.sleep(0.02)
                print(f"4 streams, turn {turn + 1}: {time.perf_counter() - began:.2f} s")
            with server.client() as client:
                found = client.post("/v1/retrieve", json={"question": "station"})
                print(f"afterwards: {found.status_code}, {json.dumps(found.json())[:60]}…")


def in_flight(client: httpx.Client) -> float:
    """Requests that the server is answering, this one among them."""
    lines = client.get("/metrics").text.splitlines()
    return float(next(x for x in lines if x.startswith("loregraph_requests_in_flight")).split()[-1])


def main() -> None:
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--corpus", type=Path, default=Path("data/corpus"))
    parser.add_argument("--models", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loaded(
            Path(folder) / "load",
            corpus=chosen.corpus,
            clients=chosen.clients,
            requests=chosen.requests,
            models=chosen.models,
        )
        left(Path(folder) / "left")


if __name__ == "__main__":
    main()
