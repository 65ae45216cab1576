"""The model that tells languages apart: unpacked once, it says what py3langid says, and is never in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factseek.retrieval import language_model, languages
from factseek.retrieval.language_model import stored_identifier

pytestmark = pytest.mark.inner

TEXTS = (
    "Vaccination has nearly wiped out measles",
    "La vacunación ha eliminado casi por completo el sarampión",
    "Aşılar çocukları kızamıktan korur; 5G virüs yaymaz 🦠.",
    "لا يمنع فيتامين سي نزلات البرد",
    "Температура воздуха повысилась на 1,1 градуса",
    "海平面在上升吗？",
    "",
    "x",
    "the claim is " * 300,
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the model."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        stored_identifier(probabilities=True)
    return cache


@pytest.fixture
def model(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the model in a cache of the test's own."""
    shutil.copytree(unpacked, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (folder,) = (tmp_path / "cache" / "factseek" / "languages").iterdir()
    return folder


@pytest.fixture(scope="module")
def packed() -> Callable[..., Any]:
    """What opens py3langid's own identifier."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return lambda **options: LanguageIdentifier.from_model_file(MODEL_FILE, **options)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("probabilities", [False, True])
def test_it_says_what_py3langid_says(packed: Callable[..., Any], *, probabilities: bool) -> None:
    ours, theirs = stored_identifier(probabilities=probabilities), packed(norm_probs=probabilities)
    for text in TEXTS:
        assert ours.classify(text) == theirs.classify(text)
        assert ours.rank(text) == theirs.rank(text)


def test_what_is_unpacked_is_used(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "_unpack", pytest.fail)
    assert stored_identifier(probabilities=True).classify(TEXTS[0])[0] == "en"
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def cut(model: Path) -> None:
    path = model / "nextmove.npy"
    path.write_bytes(path.read_bytes()[:1000])


def empty(model: Path) -> None:
    (model / "ptc.npy").write_bytes(b"")


def remove(model: Path) -> None:
    (model / "classes.npy").unlink()


def share(model: Path) -> None:
    model.chmod(0o770)


@pytest.mark.parametrize("damage", [cut, empty, remove, share])
def test_what_is_damaged_or_not_the_users_alone_is_unpacked_anew(model: Path, damage: Callable[[Path], None]) -> None:
    damage(model)
    assert stored_identifier(probabilities=True).classify(TEXTS[1])[0] == "es"
    assert (model.stat().st_mode & 0o777, len(list(model.iterdir()))) == (0o700, 6)
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def test_few_models_are_kept(model: Path) -> None:
    for number in range(3):
        (model.parent / str(number)).mkdir()
    remove(model)
    stored_identifier(probabilities=True)
    left = {path.name for path in model.parent.iterdir()}
    assert (len(left), model.name in left) == (language_model.KEPT, True)


def test_a_cache_that_cannot_be_made_costs_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "factseek").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    languages.identifier.cache_clear()
    assert languages.unknown_language("La vacunación ha eliminado casi por completo el sarampión", ("en",)) == "es"
    languages.identifier.cache_clear()
