"""One ranking whatever is asked of it: its pages, its counts and its facets, for every retriever
and stage.
"""

from collections import Counter
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from factseek.core.domain import Document, Filter, Hit, Total
from factseek.core.order import sort_hits
from factseek.retrieval import stages
from factseek.retrieval.config import FusionSettings
from factseek.retrieval.filters import last_day, metadata_values
from factseek.retrieval.search.explaining import sentence
from factseek.retrieval.search.federated import counts_of_many, search_many
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from tests.examples_tried import EXAMPLES
from tests.retrieval.index.conftest import DECLARED, RETRIEVERS

QUERIES = [
    "measles vaccine",
    "the ice of the sea",
    "rain",
    "nurse at a school river",
    "zebra",
    "the of",
]
STAGES = [
    (),
    ("per_source=1",),
    ("per_source=2",),
    ("turned",),
    ("per_source=2", "turned"),
    ("turned", "per_source=1"),
]
PROPERTY = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def some(values: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(
        lambda few: tuple(sorted(few))
    )


METADATA = st.fixed_dictionaries(
    {},
    optional={"author": some(["Ada", "Bo", "Çelik Ö", "7", "true"]), "part": some(["0", "3", "9"])},
)
FILTERS = st.none() | st.builds(
    Filter,
    topic=some(["T0", "T1", "T5", "nowhere"]),
    source=some(["who.int", "a b", "a"]),
    language=some(["en", "de"]),
    kind=some(["jsonl", "cord19"]),
    as_of=st.sampled_from(["", "", "2019-12-31", "2020-02-29", "2022-01-01"]),
    since=st.sampled_from(["", "", "2019-01-01", "2020-03-01"]),
    undated=st.booleans(),
    phrases=st.sampled_from([(), (), (), ("measles",), ("rain", "sea level")]),
    without=st.sampled_from([(), (), ("ocean",)]),
    title=st.just(()),
    metadata=METADATA.map(lambda fields: tuple(sorted(fields.items()))),
)
SEARCHES = st.fixed_dictionaries(
    {
        "retriever": st.sampled_from(RETRIEVERS),
        "where": FILTERS,
        "group": st.booleans(),
        "fusion": st.builds(
            FusionSettings,
            kind=st.sampled_from(["auto", "rrf", "minmax", "zscore"]),
            depth=st.sampled_from([1, 2, 5, 20, 100]),
        ),
        "stages": st.sampled_from(STAGES),
        "collapse": st.sampled_from([None, None, "near"]),
        "sort": st.sampled_from([None, None, "date"]),
    }
).map(lambda chosen: Search(**chosen))
LONGEST = 400


@cache
def whole_list(index: Index, query: str, asked: Search) -> list[Hit]:
    return index.search([query], replace(asked, k=LONGEST))[0]


@PROPERTY
@given(
    query=st.sampled_from(QUERIES), asked=SEARCHES, offset=st.integers(0, 90), k=st.integers(1, 60)
)
def test_a_page_is_a_stretch_of_the_whole_list(
    whole: Index, query: str, asked: Search, offset: int, k: int
) -> None:
    everything = whole_list(whole, query, asked)
    assert (
        whole.search([query], replace(asked, k=k, offset=offset))[0]
        == everything[offset : offset + k]
    )
    assert len(everything) < LONGEST
    assert everything == sort_hits(everything)
    keys = [hit.docid if asked.group else (hit.docid, hit.passage) for hit in everything]
    assert len(set(keys)) == len(keys)


@PROPERTY
@given(query=st.sampled_from(QUERIES), asked=SEARCHES)
def test_a_total_is_the_length_of_the_whole_list(whole: Index, query: str, asked: Search) -> None:
    asked = replace(asked, stages=(), collapse=None, sort=None)
    total = whole.count(query, replace(asked, k=3))
    assert total.matching or not asked.retriever.startswith("bm25")
    assert total == Total(len(whole_list(whole, query, asked)), matching=total.matching)


def values_of(document: Document, field: str) -> list[str]:
    if field in DECLARED:
        return metadata_values(document.metadata.get(field))
    own = {"kind": "jsonl", "year": document.date[:4]}.get(field) or getattr(document, field, "")
    return [own] if own else []


@cache
def stored(index: Index) -> dict[str, Document]:
    return {document.docid: document for document in index.documents()}


def beside(where: Filter | None, field: str) -> Filter:
    if where is None:
        return Filter()
    if field == "year":
        return where._replace(as_of="", since="")
    if field in DECLARED:
        return where._replace(metadata=tuple(pair for pair in where.metadata if pair[0] != field))
    return where._replace(**{field: ()})


@PROPERTY
@given(
    query=st.sampled_from(QUERIES),
    asked=SEARCHES,
    field=st.sampled_from(["topic", "source", "language", "kind", "year", *DECLARED]),
    most=st.integers(1, 9),
)
def test_facets_are_what_counting_each_gives(
    whole: Index, query: str, asked: Search, field: str, most: int
) -> None:
    wider = replace(
        asked, where=beside(asked.where, field), group=True, stages=(), collapse=None, sort=None
    )
    admitted = [stored(whole)[hit.docid] for hit in whole_list(whole, query, wider)]
    expected = Counter(value for document in admitted for value in values_of(document, field))
    facet = whole.facets(query, {field: most}, asked)[field]
    named = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
    assert facet.values[:most] == named[:most] or len(named) < most
    assert (
        facet.values[: len(named)]
        == named[:most] + facet.values[min(most, len(named)) : len(named)]
    )
    assert facet.more == max(0, len(named) - most)
    assert facet.missing == sum(not values_of(document, field) for document in admitted)
    assert dict(facet.values) == {value: expected[value] for value, _ in facet.values}


@PROPERTY
@given(query=st.sampled_from(QUERIES), asked=SEARCHES)
def test_sorted_by_date_are_the_best_hits_and_no_others(
    whole: Index, query: str, asked: Search
) -> None:
    ranked = whole_list(whole, query, replace(asked, sort=None))
    newest = whole_list(whole, query, replace(asked, sort="date"))
    scores = [hit.score for hit in ranked[: whole.settings.search.fusion.depth]]
    lowest = min([0.0, *scores])
    best = sum(score - lowest >= (scores[0] - lowest) / 2 for score in scores)
    days = [last_day(stored(whole)[hit.docid].date) for hit in ranked[:best]]
    expected = [
        ranked[at] for at in sorted(range(best), key=days.__getitem__, reverse=True)
    ] + ranked[best:]
    assert [(hit.docid, hit.passage) for hit in newest] == [
        (hit.docid, hit.passage) for hit in expected
    ]


MANY = st.lists(SEARCHES, min_size=2, max_size=3)


@PROPERTY
@given(
    query=st.sampled_from(QUERIES),
    asked=MANY,
    place=st.tuples(st.integers(0, 40), st.integers(1, 20)),
    sort=st.sampled_from([None, "date"]),
)
def test_a_page_of_several_indexes_is_a_stretch_of_one_list(
    whole: Index, query: str, asked: list[Search], place: tuple[int, int], sort: str
) -> None:
    offset, k = place
    indexes: dict[str, Index] = {f"i{number}": whole for number in range(len(asked))}
    searches = {
        name: replace(own, sort=sort, k=LONGEST) for name, own in zip(indexes, asked, strict=True)
    }
    everything = search_many(indexes, query, searches, highlight=False)
    page = {name: replace(own, k=k, offset=offset) for name, own in searches.items()}
    assert search_many(indexes, query, page, highlight=False) == everything[offset : offset + k]
    plain = {
        name: replace(own, stages=(), collapse=None, sort=None) for name, own in searches.items()
    }
    counts = counts_of_many(indexes, query, plain, {"topic": 3, "index": 9})
    assert counts.total.hits == sum(len(whole_list(whole, query, own)) for own in plain.values())
    added = Counter[str]()
    for own in plain.values():
        added.update(dict(whole.facets(query, {"topic": 1000}, own)["topic"].values))
    counted = [pair for pair in added.items() if pair[1]]
    first = sorted(counted, key=lambda pair: (-pair[1], pair[0]))[:3]
    assert counts.facets["topic"].values[: len(first)] == first


@PROPERTY
@given(query=st.sampled_from(QUERIES), where=FILTERS, group=st.booleans())
def test_the_weights_of_words_add_up_to_the_score(
    whole: Index, query: str, where: Filter | None, group: bool
) -> None:
    asked = Search(retriever="bm25", where=where, group=group)
    hits = whole_list(whole, query, asked)
    for hit, words in zip(hits, whole.word_weights(query, hits, asked), strict=True):
        assert sum(words.values()) == pytest.approx(hit.score, abs=1e-4)
        assert set(words) <= set(query.split())
        assert all(weight > 0 for weight in words.values())


def test_a_hit_is_explained_in_a_sentence(whole: Index) -> None:
    asked = Search(
        retriever="hybrid",
        k=80,
        fusion=FusionSettings(kind="rrf", depth=3),
        stages=("per_source=40",),
    )
    query, resolved = "ice rain", whole.resolve(asked)
    hits = whole.search([query], asked)[0]
    first, last = hits[0], hits[-1]
    words = whole.word_weights(query, [first, last], asked)
    part = {part.retriever: part for part in first.parts}
    why = sentence(1, first, words[0], resolved, stages.names())
    held = " and ".join(
        f"{word} ({weight:.2f})" for word, weight in sorted(words[0].items(), key=lambda w: -w[1])
    )
    assert why.startswith(f"The passage contains {held}; ")
    for name in part.keys() & {"bm25", "dense"}:
        ranked = part[name]
        assert (
            f"{name} ranks it number {ranked.rank} with {ranked.score:.4f}, which adds "
            f"{ranked.vote:.4f}; " in why
        )
    assert why.endswith("it was number 1 before per_source.")
    assert "; no ranking has it among its first 3, so its score is below 0; " in sentence(
        80, last, words[1], resolved, stages.names()
    )
    plain = whole.resolve(Search(retriever="dense"))
    assert sentence(2, Hit("d", 0.5), {}, plain, stages.names()) == (
        "The passage contains no word of the query; dense ranks it number 2 with 0.5000."
    )
