"""Settings: frozen sections, one for each component; every default is defined here.

A profile is a YAML file of the same sections (`configs/` has some); unknown keys are refused.
`LOREGRAPH_<SECTION>__<KEY>` in the environment overrides a profile. Secrets come from the
environment alone: a profile names the variable that holds one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .errors import SettingsError, field_problems
from .shipped import find_profile, shipped_profiles
from .types import Strategy

ENVIRONMENT_PREFIX = "LOREGRAPH_"


def load_effective_settings(
    profile: str | Path | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Merge a profile's sections with the environment's overrides.

    Raises:
        SettingsError: no such file, not YAML, or not a mapping of sections.
    """
    data = _read_profile(find_profile(profile)) if profile is not None else {}
    for name, value in sorted(environment.items()):
        section, separator, key = name.removeprefix(ENVIRONMENT_PREFIX).partition("__")
        if name.startswith(ENVIRONMENT_PREFIX) and separator:
            part = data.setdefault(section.lower(), {})
            if not isinstance(part, dict):
                raise SettingsError(
                    f"{profile}: section {section.lower()!r} is not a mapping; write its "
                    "settings as `name: value`"
                )
            part[key.lower()] = _environment_value(name, value)
    return data


def _environment_value(name: str, value: str) -> object:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"{name}: {value!r} is not YAML: {reason}") from error


def _read_profile(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf8"))
    except FileNotFoundError as error:
        names = ", ".join(shipped_profiles())
        raise SettingsError(
            f"no such profile: {str(path)!r}; give a YAML file, or one of {names}"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(
            f"cannot read profile: {str(path)!r} ({reason}); correct the file"
        ) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(
            f"profile is not a mapping: {str(path)!r}; write sections with settings, as in configs/"
        )
    return data


def format_validation_error(error: ValidationError, profile: str | Path | None) -> str:
    """Format validation errors in one line."""
    problems = [f"{where}: {what}" for where, what in field_problems(error.errors())]
    source = f"profile {str(profile)!r}" if profile is not None else "settings"
    return f"{source}: {'; '.join(problems)} (see `loregraph config show` for all keys)"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LibrarySettings(_Section):
    """Library location, and the timeout for another writer."""

    lock_timeout_seconds: float = Field(60.0, ge=0)


class IngestSettings(_Section):
    """Limits on what is read, and which engines may help to read it.

    With two `workers` a second process extracts names while this one embeds; a run of fewer than 65
    chunks starts none.

    Recognising pictures takes more than 512 MB of `read_memory_bytes`. A transcription model is a
    folder, or a name whose files were fetched before: nothing is downloaded while reading.
    """

    max_file_bytes: int = Field(50_000_000, gt=0)
    max_document_characters: int = Field(20_000_000, gt=0)
    max_members: int = Field(1_000, ge=1)
    max_unpacked_bytes: int = Field(200_000_000, gt=0)
    max_rows: int = Field(100_000, ge=1)
    row_template: str = ""
    read_workers: int = Field(2, ge=1, le=64)
    workers: int = Field(2, ge=1, le=2)
    read_timeout_seconds: float = Field(120.0, gt=0)
    read_memory_bytes: int = Field(2_147_483_648, ge=268_435_456)
    fetch_timeout_seconds: float = Field(30.0, gt=0)
    allow_private_addresses: bool = False
    ocr: bool = True
    transcription_model: str = "base"


class ChunkSettings(_Section):
    """Chunking; sizes in tokens of the embedding model's tokeniser.

    `auto` lets the type and look of a document decide. With `context_tokens` above 0 each chunk is
    found by its title, headings and the document's lead sentence too, or by a line of the language
    model's where `context_by_model` says so (a call a chunk).
    """

    strategy: Strategy = "auto"
    child_tokens: int = Field(128, ge=16)
    window_sentences: int = Field(3, ge=0)
    context_tokens: int = Field(0, ge=0)
    context_by_model: bool = False
    semantic_by_model: bool = False
    size_tokens: int = Field(512, ge=16)
    overlap_tokens: int = Field(64, ge=0)


class EmbeddingSettings(_Section):
    """Embedding model.

    `bundled` (bge-small-en-v1.5 on onnxruntime), `tfidf` (hashed words) or `none`.

    Prefixes are known by the model's name where they are not given. `dimensions` cuts vectors of a
    model made for it. `fallback` names, in order, what a new library takes where `kind` does not
    answer; a library stays with the model that it began with. With `sentences` a passage is found
    by its nearest sentence, too: several times the vectors, for text that has no titles. With
    `multilingual` a second bundled model reads what an English one cannot, finds documents in
    another language than the question's, and stands beside the English one in a search.
    """

    kind: Literal["bundled", "openai_like", "tfidf", "none"] = "bundled"
    fallback: tuple[Literal["bundled", "tfidf"], ...] = ()
    query_prefix: str | None = None
    passage_prefix: str | None = None
    dimensions: int | None = Field(None, ge=1)
    force_dimensions: bool = False
    sentences: bool = False
    multilingual: bool = True
    batch_size: int = Field(32, ge=1)
    model: str = ""
    base_url: str = ""
    api_key_variable: str = "OPENAI_API_KEY"


class VectorSettings(_Section):
    """Vector store: the library itself, or an external store derived from it.

    A store is given by `url` (a server) or `path` (a local file or folder; not for pgvector).
    """

    store: Literal["library", "qdrant", "milvus", "pgvector", "chroma"] = "library"
    url: str = ""
    path: str = ""
    collection: str = "loregraph"
    api_key_variable: str = ""
    timeout_seconds: float = Field(30.0, gt=0)


class LlmSettings(_Section):
    """`none`: extractive answers; `openai_like`: any OpenAI-compatible endpoint.

    `ollama` is a local Ollama, `anthropic` that vendor's own protocol, `gguf` a model file at
    `path` run in this process (extras of these names). `structured` is how an endpoint is held to a
    JSON schema: `schema` and `json` send it as `response_format`, `none` only says it in words, and
    `auto` begins with `schema` and goes down where the server refuses. `stages` names what is
    different for one stage, such as `{reports: {model: …}}`.
    """

    kind: Literal["none", "openai_like", "ollama", "anthropic", "gguf"] = "none"
    model: str = ""
    path: str = ""
    base_url: str = ""
    api_key_variable: str = "OPENAI_API_KEY"
    context_window_tokens: int = Field(16_000, ge=1_000)
    max_output_tokens: int = Field(1_024, ge=16)
    timeout_seconds: float = Field(60.0, gt=0)
    retries: int = Field(4, ge=0)
    concurrency: int = Field(4, ge=1, le=64)
    requests_per_minute: float | None = Field(None, gt=0)
    structured: Literal["auto", "schema", "json", "none"] = "auto"
    stages: dict[Literal["extraction", "reports", "map", "answers"], dict[str, Any]] = {}

    @model_validator(mode="after")
    def _with_a_kind(self) -> Self:
        """Refuse a model of no kind: it would never be asked, and nothing would say so."""
        if "kind" not in self.model_fields_set and (self.model or self.path):
            raise ValueError("names a model without its kind: add kind, such as openai_like")
        return self


class BudgetSettings(_Section):
    """Limits on LLM cost, in tokens and in money; None means no limit.

    `prices` is a YAML file of prices a million tokens, instead of the table that ships. `currency`
    is that of the prices, of `max_cost` and of every cost that is told.
    """

    max_tokens: int | None = Field(None, ge=0)
    max_cost: float | None = Field(None, ge=0)
    per: Literal["run", "day"] = "run"
    prices: str = ""
    currency: str = Field("USD", pattern=r"^[A-Z]{3}$")


class GraphSettings(_Section):
    """Entity and relation extraction, and the communities built on them.

    `extractor`: `language` costs nothing; `llm` asks the language model, `both` keeps what either
    finds. Where the model gave nothing that can be used, `fill` says who reads meanwhile.
    `relation_types` are lines such as `PERSON - founded - ORGANISATION`; with `strict` nothing
    outside the types is kept. `examples` is a file of examples for the prompt. `inferred` relations
    are those whose ends no single sentence names. `claims` (what is said of an entity, by whom and
    when) take about a fifth of a reply; the graph page shows them, and no answer reads them. A
    model that reads can also judge, in each run, up to `judged_pairs` of names that look alike, and
    with `summarise` say in short of what more is said than fits. Reports are `extractive`, or a
    model writes them: all of them as documents come (`eager`), or each when a question first needs
    it (`lazy`; for one question prompts of at most `report_budget_tokens`, the weightiest
    communities first). `anchored` communities take in what is new and stay until a share `drift` of
    the entities has changed: the order in which documents came then shows, which it does not with
    `exact` ones. `auto` is `exact` up to 5,000 entities, `anchored` above.
    """

    extractor: Literal["language", "llm", "both"] = "language"
    fill: Literal["language", "none"] = "language"
    spacy_model: str = "en_core_web_sm"
    concepts: bool = True
    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    strict: bool = False
    claims: bool = False
    inferred: Literal["keep", "drop"] = "keep"
    gleanings: int = Field(0, ge=0, le=5)
    examples: str = ""
    pack_tokens: int = Field(1_500, ge=100)
    judged_pairs: int = Field(0, ge=0)
    summarise: bool = False
    reports: Literal["extractive", "eager", "lazy"] = "lazy"
    report_min_entities: int = Field(6, ge=1)
    report_budget_tokens: int = Field(24_000, ge=0)
    communities: Literal["auto", "exact", "anchored"] = "auto"
    drift: float = Field(0.05, ge=0, le=1)
    max_community_size: int = Field(20, ge=2)
    resolution: float = Field(1.0, gt=0)
    seed: int = 20240601


class RetrieveSettings(_Section):
    """Local retrieval; the constants are documented where they are used."""

    top_k: int = Field(10, ge=1)
    fusion: Literal["score", "rrf", "weighted_score", "weighted_rrf"] = "score"
    keyword_weight: float = Field(1.0, ge=0)  # these two count in the weighted fusions alone
    dense_weight: float = Field(1.0, ge=0)
    half_life_days: float | None = Field(None, gt=0)
    keyword: bool = True
    dense: bool = True
    walk: bool = True
    second_look: bool = True  # at the first passages of the walk as a set
    dictionary: str = ""
    expand: tuple[Literal["mqe", "hyde", "decompose", "steps", "feedback"], ...] = ()
    pool: int = Field(100, ge=1)


class RerankSettings(_Section):
    """Reranking of the first passages.

    `flag`: a cross-encoder on this machine (extra `rerank`); `endpoint`: a server with
    `POST …/rerank`; `llm`: the language model that answers. `weight` is how much the judge counts
    against the order before: one that sees a passage at a time loses the bridges of a chain.
    """

    kind: Literal["none", "flag", "endpoint", "llm"] = "none"
    model: str = ""
    base_url: str = ""
    api_key_variable: str = "RERANK_API_KEY"
    candidates: int = Field(20, ge=0, le=200)
    weight: float = Field(0.5, ge=0, le=1)
    timeout_seconds: float = Field(30.0, gt=0)
    retries: int = Field(1, ge=0)
    half_precision: bool = False


class RouteSettings(_Section):
    """Query routing where no mode was requested.

    Rules decide where they are `sure` (a confidence, 0.5 to 1). Where they are not, the language
    model that answers is asked, with `by_model` and where there is one; what stays in doubt goes
    both ways, or without `both` the likelier one.
    """

    by_model: bool = True
    sure: float = Field(0.65, ge=0.5, le=1)
    both: bool = True


class PackSettings(_Section):
    """Context packing: fitting passages into the LLM's context window.

    `merge` joins neighbouring chunks of a document. `compress` keeps only the sentences that
    matter: by words and meaning (`sentences`), or as the model says (`llm`, a call more); by words
    it loses the bridges of a chain (`tests/benchmarks/packing.py`), so it is off.
    Where a model answers, at most so many `passages` are looked for to fill the budget, unless
    `retrieve.top_k` is set; `long_context` packs all that the window holds, whatever
    `answer.budget_tokens` says.
    """

    order: Literal["relevance_first", "edges_first", "document_order"] = "relevance_first"
    merge: bool = True
    compress: Literal["none", "sentences", "llm"] = "none"
    long_context: bool = False
    passages: int = Field(100, ge=1, le=500)


class AnswerSettings(_Section):
    """Budgets and thresholds of what is said.

    `budget_tokens` are those of the sources of one answer: by default a sixteenth of the model's
    window, and 6,000 at the least.

    Without a language model the `reader`, a cross-encoder on this machine, chooses the excerpt that
    answers (English); with `none`, or where its file is missing, rules do.

    Where a model answers in `other_language` than the question's, the trace notes it, or the model
    is asked `again`, once (a call). Of what was said before a question so many `history_tokens`
    are read, the latest (0: none); with `follow_up_by_model` a
    follow-up is put into words of its own by a model where there is one (a call), else by rules.
    """

    budget_tokens: int | None = Field(None, ge=100)
    history_tokens: int = Field(1_000, ge=0)
    follow_up_by_model: bool = True
    other_language: Literal["note", "again"] = "note"
    max_sentences: int = Field(3, ge=1)
    min_evidence: float = Field(0.25, ge=0, le=1)
    reader: Literal["bundled", "none"] = "bundled"
    global_budget_tokens: int = Field(12_000, ge=500)  # what a language model reads in one call
    global_points: int = Field(30, ge=1)


class CheckSettings(_Section):
    """Claim verification of LLM answers, and corrective retrieval.

    `citations`: a claim that no cited sentence bears out is kept, flagged in the text, or dropped.
    `min_support`, 0–1, is calibrated (`tests/benchmarks/citations.py`). `by_model`: a model judges
    each claim too (a call an answer). `grounding`: all claims against all sources, by a model where
    there is one (a call): flagged like the others, or, with a share of supported claims below
    `min_grounding`, no answer.

    `corrective` judges what was found before it is used, by a model's grades or by relevance: from
    `right_from` on it is cut to its key sentences, below `wrong_below` it is refused, saying what
    was searched, between them the web is searched, too. `self_rag` spares greetings and sums the
    search and, where an answer is poor, tries up to `max_rounds` further queries of a model.
    Without a model neither earned its place (`tests/benchmarks/stages.py`): both are off.
    """

    citations: Literal["keep", "flag", "drop"] = "flag"
    min_support: float = Field(0.4, ge=0, le=1)
    by_model: bool = False
    grounding: Literal["none", "flag", "abstain"] = "none"
    min_grounding: float = Field(0.5, ge=0, le=1)
    corrective: bool = False
    wrong_below: float = Field(0.12, ge=0, le=1)
    right_from: float = Field(0.5, ge=0, le=1)
    self_rag: bool = False
    max_rounds: int = Field(2, ge=0, le=10)


class AgentSettings(_Section):
    """Agentic search (`mode="agent"`): limits of one question.

    `max_rounds` searches at most; null is no limit of seconds or tokens. With `auto` a question of
    two steps ("When did X's mother die?") takes this mode by itself where no model answers.
    """

    auto: bool = True
    max_rounds: int = Field(3, ge=1, le=10)
    max_seconds: float | None = Field(60.0, gt=0)
    max_tokens: int | None = Field(None, gt=0)


class OverviewSettings(_Section):
    """Global answers: selection of reports and effort.

    `fixed`: the reports of one level; `dynamic`: those rated relevant from the root down; `lazy`:
    whole passages, and reports of one level where a question names no subject; `drift`: the best
    reports, then searches for what they leave open.
    """

    selection: Literal["fixed", "dynamic", "lazy", "drift"] = "lazy"
    effort: Literal["low", "medium"] = "medium"


class CacheSettings(_Section):
    """Answer cache: backend, size and lifetime.

    `memory`: in the process, `max_entries` at most; `redis`: in a Redis at `url` (extra `redis`),
    for several processes. `password_variable` names the variable that holds its password.
    """

    answers: Literal["memory", "redis", "none"] = "memory"
    url: str = ""
    password_variable: str = ""
    max_entries: int = Field(256, ge=1)
    ttl_seconds: float = Field(86_400.0, gt=0)


class MemorySettings(_Section):
    """Layered memory of users: backends, windows, lifetimes and limits.

    `working`: the last `messages` of a session, `working_tokens` at most, in this process or in a
    Redis (`redis://host:port/database`). `short_term`: open sessions, summaries (kept for
    `summary_days`, `summaries` of them a query) and facts in the library, or on PostgreSQL
    (`postgresql://user@host/database`). Passwords come from the variables that are named. A
    session is closed `idle_seconds` after its last message. A question reads `top_k` passages
    of memory, `max_tokens` at most, and waits `wait_seconds` for a server. `topics` is a YAML file
    of topic buckets instead of the one that ships.
    """

    working: str = Field("process", pattern=r"^(process$|rediss?://|unix://)")
    working_password_variable: str = ""
    short_term: str = Field("library", pattern=r"^(library$|postgresql(\+psycopg)?://)")
    short_term_password_variable: str = ""
    messages: int = Field(20, ge=2, le=1_000)
    working_tokens: int = Field(1_000, ge=50)
    idle_seconds: float = Field(3_600.0, gt=0)
    summary_days: float = Field(7.0, gt=0)
    summaries: int = Field(10, ge=0, le=100)
    top_k: int = Field(10, ge=1, le=50)
    max_tokens: int = Field(750, ge=50)
    wait_seconds: float = Field(0.2, gt=0, le=10)
    topics: str = ""


class TelemetrySettings(_Section):
    """OpenTelemetry export of questions (extra `otel`).

    `auto`: where `OTEL_…` variables name an exporter. With `content`, what questions, passages and
    answers say goes out too.
    """

    traces: Literal["auto", "on", "off"] = "auto"
    content: bool = False


class ServeSettings(_Section):
    """Server: address, access control and limits.

    `tokens_file` is `tokens.json` in the library where it is empty. `allowed_hosts` are the names
    that a request may call the server by: its own address alone where it listens on loopback,
    any otherwise. `cors_origins` are other origins whose pages may call it. `concurrency` is how
    many questions are worked on at a time, `max_waiting` how many wait for their turn, and a
    request is given up after `request_timeout_seconds`; a body or a reader slower than
    `stall_timeout_seconds` is hung up on. `requests_per_minute` is for each token, or each address
    without one; null is no limit. With `mcp` the tools for agents are at `/mcp`.
    """

    host: str = "127.0.0.1"
    port: int = Field(8321, ge=0, le=65_535)
    mcp: bool = False
    tokens_file: str = ""
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    tls_certificate: str = ""
    tls_key: str = ""
    max_body_bytes: int = Field(1_000_000, gt=0)
    max_upload_bytes: int = Field(200_000_000, gt=0)
    max_upload_files: int = Field(100, ge=1)
    requests_per_minute: float | None = Field(600, gt=0)
    concurrency: int = Field(4, ge=1, le=64)
    max_waiting: int = Field(500, ge=0)
    max_jobs: int = Field(100, ge=1)
    request_timeout_seconds: float = Field(300.0, gt=0)
    stall_timeout_seconds: float = Field(30.0, gt=0)


class Settings(_Section):
    """All sections. `Settings()` is the profile `configs/local.yaml`."""

    library: LibrarySettings = LibrarySettings()
    ingest: IngestSettings = IngestSettings()
    chunk: ChunkSettings = ChunkSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    vectors: VectorSettings = VectorSettings()
    llm: LlmSettings = LlmSettings()
    budget: BudgetSettings = BudgetSettings()
    graph: GraphSettings = GraphSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    rerank: RerankSettings = RerankSettings()
    route: RouteSettings = RouteSettings()
    pack: PackSettings = PackSettings()
    answer: AnswerSettings = AnswerSettings()
    check: CheckSettings = CheckSettings()
    agent: AgentSettings = AgentSettings()
    overview: OverviewSettings = OverviewSettings()
    cache: CacheSettings = CacheSettings()
    memory: MemorySettings = MemorySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    serve: ServeSettings = ServeSettings()

    @classmethod
    def load(
        cls, profile: str | Path | None = None, *, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Load a profile with environment overrides; no profile means the defaults.

        Raises:
            SettingsError: no such file, not YAML, an unknown key, or a value out of range.
        """
        environment = os.environ if environment is None else environment
        try:
            return cls.model_validate(load_effective_settings(profile, environment))
        except ValidationError as error:
            raise SettingsError(format_validation_error(error, profile)) from error

    def serving(self, **values: str | int) -> Settings:
        """Return these settings with other values of `serve`.

        Raises:
            SettingsError: an unknown key, or a value out of range.
        """
        try:
            serve = ServeSettings.model_validate({**self.serve.model_dump(), **values})
        except ValidationError as error:
            raise SettingsError(format_validation_error(error, None)) from error
        return self.model_copy(update={"serve": serve})
