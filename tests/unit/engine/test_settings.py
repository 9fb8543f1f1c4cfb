from pathlib import Path

import pytest

from engine.config import Settings
from engine.errors import SettingsError

CONFIGS = Path(__file__).parents[3] / "configs"


def test_the_local_profile_is_the_defaults() -> None:
    assert Settings.load(CONFIGS / "local.yaml", environment={}) == Settings()


def test_every_shipped_profile_loads() -> None:
    profiles = sorted(set(CONFIGS.glob("*.yaml")) - {CONFIGS / "prices.yaml"})
    names = {profile.stem for profile in profiles}
    assert {"anthropic", "gguf", "local", "ollama", "openai", "openai-graph", "server"} == names
    for profile in profiles:
        Settings.load(profile, environment={})


def test_the_environment_overrides_a_profile() -> None:
    settings = Settings.load(environment={"LOREGRAPH_CHUNK__SIZE_TOKENS": "128"})
    assert settings.chunk.size_tokens == 128


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("chunk: {sise_tokens: 5}", "chunk.sise_tokens: unknown key", id="typo"),
        pytest.param("chunk: {size_tokens: 0}", "chunk.size_tokens", id="out of range"),
        pytest.param("llm: {model: m}", "llm: names a model without its kind", id="no kind"),
        pytest.param("- a\n- b", "not a mapping", id="a list"),
        pytest.param("chunk: {", "cannot read profile", id="not YAML"),
    ],
)
def test_a_bad_profile_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text(content, encoding="utf8")
    with pytest.raises(SettingsError, match=message) as caught:
        Settings.load(profile, environment={})
    assert "\n" not in str(caught.value)


def test_a_missing_profile_is_named() -> None:
    with pytest.raises(SettingsError, match=r"no such profile: 'nowhere\.yaml'"):
        Settings.load("nowhere.yaml", environment={})
