"""The best ranker: members of all kinds, alone and joint, in several languages."""

from __future__ import annotations

import numpy as np
import pytest

from factseek.claims.checkworthiness.rankers import kind
from factseek.claims.checkworthiness.rankers.best import BestRanker
from factseek.claims.settings import BestSettings, ClaimsSettings, Config
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.domain import Statement
from factseek.retrieval.errors import MachineError, QueryError
from factseek.retrieval.progress import silent
from factseek.retrieval.records.model_file import State

pytestmark = pytest.mark.inner

BEST = kind("best")


def _config(*members: str, **more: object) -> Config:
    best = BestSettings(members=members, strengths=(1.0, 3.0), sharpnesses=(1.0,), trees=10)
    return Config(claims=ClaimsSettings(folds=3, best=best), **more)


def test_every_member_is_tried_and_only_those_that_help_are_kept(train: list[Statement], dev: list[Statement]) -> None:
    other = [one._replace(language="xx", text=one.text[::-1]) for one in train]
    names = ("lexical", "neighbours", "signs", "vectors", "joint_lexical", "joint_signs", "joint_vectors")
    config = _config(*names, encoder=EncoderSettings(model="all-MiniLM-L6-v2"))
    trained = BEST.train([*train, *other], config, silent)
    tried = {"lexical", "neighbours", "signs", "joint_lexical", "joint_signs"}
    assert trained.figures["en"]["alone"].keys() == tried | {"vectors"}
    assert trained.figures["xx"]["alone"].keys() == tried, "the encoder knows English only"
    stacks = trained.ranker.state().settings["stacks"]
    for language, figures in trained.figures.items():
        assert figures["members"] == list(stacks[language]["weights"])
        assert 0 < figures["AP"] <= 1
    again = BEST.restore(trained.ranker.state(), config)
    mixed = [*dev, *(one._replace(language="xx") for one in dev)]
    assert (again.score(mixed) == trained.ranker.score(mixed)).all()
    assert trained.ranker.score(mixed)[: len(dev)].tolist() == trained.ranker.score(dev).tolist()


def test_vectors_alone(train: list[Statement], dev: list[Statement]) -> None:
    config = _config("vectors", encoder=EncoderSettings(model="all-MiniLM-L6-v2"))
    trained = BEST.train(train, config, silent)
    state = trained.ranker.state()
    assert (BEST.restore(state, config).score(dev) == trained.ranker.score(dev)).all()
    readers = {"en/vectors": {**state.settings["readers"]["en/vectors"], "member": {"encoder": "x", "revision": "1"}}}
    with pytest.raises(MachineError, match=r"^the model was trained with encoder x \(1\), configured is all-MiniLM"):
        BEST.restore(State({**state.settings, "readers": readers}, state.tensors), config)


def test_the_encoder_decides_which_languages_have_vectors(train: list[Statement]) -> None:
    config = _config("signs", "vectors", encoder=EncoderSettings(model="all-MiniLM-L6-v2", languages=("ar",)))
    assert BEST.train(train, config, silent).figures["en"]["alone"].keys() == {"signs"}


def test_days_count_where_the_numbers_of_tweets_tell_them(train: list[Statement]) -> None:
    config = _config("signs", "days")
    numbered = [one._replace(qid=str(n)) for n, one in enumerate(train)]
    assert BEST.train(numbered, config, silent).figures["en"]["alone"].keys() == {"signs"}
    # Some are worth checking on all days, and most of the last weeks: what came before foretells what comes next.
    order = sorted(train, key=lambda one: one.label)
    rising = [one._replace(qid=f"{1234 + n // 2}{n:015}") for n, one in enumerate([order[0], order[-1], *order[1:-1]])]
    trained = BEST.train(rising, config, silent)
    assert trained.figures["en"]["alone"].keys() == {"signs", "days"}
    ranker = BEST.restore(trained.ranker.state(), config)
    scores = ranker.score(rising)
    assert (scores == trained.ranker.score(rising)).all()


def test_days_are_judged_by_what_comes_later(train: list[Statement]) -> None:
    """All that is worth checking was written in March: it tells nothing of a later time."""
    dated = [one._replace(qid=f"{1234 + 30 * (one.label == 0)}{n:015}") for n, one in enumerate(train)]
    assert BEST.train(dated, _config("signs", "days"), silent).figures["en"]["alone"]["days"] < 0.9


def test_few_worth_checking_among_many(train: list[Statement], config: Config) -> None:
    """Fewer of the others are learned from, and the probabilities are those of all."""
    worth, others = ([one for one in train if one.label == label] for label in (1, 0))
    many = [one._replace(qid=f"{one.qid}-{n}", text=f"{one.text} {n * 7919}") for n in range(40) for one in others]
    ranker = BEST.train([*worth[:4], *many], config, silent).ranker
    said = ranker.probability(ranker.score(many))
    assert said is not None
    assert np.mean(said) < 0.05


def test_a_language_without_a_stack(train: list[Statement], config: Config) -> None:
    ranker = BEST.train(train, config, silent).ranker
    assert isinstance(ranker, BestRanker)
    with pytest.raises(QueryError, match=r"^language 'tr': the model learned from en$"):
        ranker.score([Statement("1", "metin", language="tr")])
