"""Whether the hits of a search are related to its claim, and which words no document contains."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from benchmarks.honest import Rates, read_claims, remarks_on
from factseek.core.domain import Filter
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search import federated
from factseek.retrieval.search.answer import Answer, Question
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

TEXTS = {
    "measles": "Two doses of the measles vaccine are 97 percent effective.",
    "autism": "A cohort of 657,461 children showed no higher risk of autism after the vaccine.",
    "moon": "Twelve people walked on the moon between 1969 and 1972.",
    "sea": "The mean level of the sea rose by 20 centimetres between 1901 and 2018.",
    "nile": "The Nile flows north to the Mediterranean.",
    "pluto": "Pluto has been called a dwarf planet since 2006.",
    "influenza": "The influenza of 1918 killed about 50 million people.",
}
FAR = "The minimum wage was raised by the prime minister"
NEAR = "Vaccines contain microchips from Nokia"
CLOSE = "Two doses of measles vaccine are effective"
SPANISH = "El presidente subió los impuestos este año"


def build_index(folder: Path, texts: dict[str, str], *, dense: bool = True) -> Index:
    source = folder.with_suffix(".jsonl")
    rows = [json.dumps({"docid": docid, "text": text}) for docid, text in texts.items()]
    source.write_text("\n".join(rows) + "\n", "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=dense), Config())
    return Index(folder)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with build_index(tmp_path_factory.mktemp("related") / "index", TEXTS) as opened:
        yield opened


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    texts = {
        "nokia": "Nokia built a mobile network for the moon.",
        "saturn": "Saturn has 274 moons, more than all other planets together.",
    }
    with build_index(tmp_path_factory.mktemp("space") / "index", texts) as opened:
        yield opened


@pytest.fixture(scope="module")
def words_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("words") / "index"
    with build_index(folder, TEXTS, dense=False) as opened:
        yield opened


def ask(index: Index, claim: str, **options: object) -> Answer:
    return index.answer(Question(claim, Search(**options)))  # type: ignore[arg-type]


def test_nothing_bears_on_a_claim_that_no_document_is_near(index: Index) -> None:
    answer = ask(index, FAR)
    assert (answer.related, answer.absent_words) == (False, ())


def test_a_close_hit_is_related_and_no_word_is_named(index: Index) -> None:
    answer = ask(index, CLOSE)
    assert (answer.related, answer.absent_words) == (True, ())


def test_words_that_no_document_contains_are_named_if_the_hits_are_rather_near(
    index: Index,
) -> None:
    answer = ask(index, NEAR)
    assert (answer.related, answer.absent_words) == (True, ("microchips", "Nokia"))
    assert index.relatedness(NEAR, Search(k=1)) == (True, ("microchips", "Nokia"))


@pytest.mark.parametrize("claim", [FAR, CLOSE, NEAR])
def test_neither_the_number_of_hits_nor_the_offset_nor_the_order_matters(
    index: Index, claim: str
) -> None:
    first = ask(index, claim)
    for options in ({"k": 1}, {"k": 2, "offset": 3}, {"sort": "date", "k": 1}):
        other = ask(index, claim, **options)
        assert (other.related, other.absent_words) == (first.related, first.absent_words)


def test_an_encoder_that_does_not_know_the_language_denies_nothing(index: Index) -> None:
    for claim in (SPANISH, "ارتفع سعر الدولار اليوم"):
        answer = ask(index, claim)
        assert (answer.related, answer.absent_words) == (None, ())
        assert "the documents are in en, and the vectors of this index are for en" in answer.note


def test_a_document_of_the_index_is_in_its_language(index: Index) -> None:
    answer = index.answer(Question(like="measles"))
    assert (answer.related is None, answer.absent_words) == (False, ())


def test_without_vectors_nobody_can_tell(index: Index, words_only: Index) -> None:
    assert ask(index, FAR, retriever="bm25").related is None
    assert ask(words_only, FAR).related is None


def test_without_hits_nobody_can_tell(index: Index) -> None:
    answer = ask(index, NEAR, where=Filter(source=("nowhere.example",)))
    assert (answer.hits, answer.related, answer.absent_words) == ([], None, ())


def test_of_several_indexes_one_related_is_enough(index: Index, space: Index) -> None:
    both = {"index": index, "space": space}
    questions = dict.fromkeys(both, Question(FAR))
    assert federated.answer(both, questions).related is False
    questions = dict.fromkeys(both, Question("Saturn has many moons"))
    assert ask(index, "Saturn has many moons").related is not None
    assert federated.answer(both, questions).related is True


def test_several_indexes_name_the_words_absent_from_all(index: Index, space: Index) -> None:
    both = {"index": index, "space": space}
    answer = federated.answer(both, dict.fromkeys(both, Question(NEAR)))
    assert answer.absent_words == ("microchips",)  # an index has Nokia


def test_an_index_that_cannot_tell_keeps_others_from_denying(
    index: Index, words_only: Index
) -> None:
    both = {"index": index, "words": words_only}
    # Without hits, the index of words says that it has nothing.
    assert federated.answer(both, dict.fromkeys(both, Question(FAR))).related is False
    claim = "The prime minister raised wages by 20 percent"
    assert ask(index, claim).related is False
    assert federated.answer(both, dict.fromkeys(both, Question(claim))).related is None


@pytest.fixture(scope="module")
def client(index: Index, space: Index) -> FlaskClient:
    return create_app(Config(), {"index": index, "space": space}).test_client()


def test_over_http_each_answer_says_it(client: FlaskClient) -> None:
    for claim, related, absent in (
        (FAR, False, []),
        (NEAR, True, ["microchips", "Nokia"]),
        (SPANISH, None, []),
    ):
        posted = client.post("/v1/index/search", json={"query": claim, "k": 1}).json
        simple = client.get("/v1/index/search", query_string={"query": claim, "hits": 1}).json
        batch = client.post(
            "/v1/index/search/batch", json={"queries": [{"qid": "1", "text": claim}], "k": 1}
        ).json
        for answer in (posted, simple, batch["results"][0]):
            assert (answer["related"], answer["absent_words"]) == (related, absent)
    many = client.post("/v1/search", json={"query": NEAR, "k": 1}).json
    assert (many["related"], many["absent_words"]) == (True, ["microchips"])


def test_the_page_names_absent_words_and_nearly_equal_numbers(client: FlaskClient) -> None:
    claim = "650,000 children in Peru have asthma"
    text = client.get("/", query_string={"index": "index", "query": claim}).text
    assert "No document contains:" in text
    assert "<strong><bdi>650,000</bdi></strong> (657,461 occurs)" in text
    assert "<strong><bdi>Peru</bdi></strong>" in text
    arabic = client.get("/", query_string={"index": "index", "query": claim, "lang": "ar"}).text
    assert "لا وثيقة تحتوي على:" in arabic
    assert "(يرد 657,461)" in arabic


@pytest.mark.real
def test_related_documents_in_another_language_have_the_words(example_folder: Path) -> None:
    folder = example_folder / "indexes"
    with Index(folder / "example-en") as english, Index(folder / "example-ar") as arabic:
        both = {"en": english, "ar": arabic}
        claim = "Honey is not safe for infants"
        assert arabic.relatedness(claim) == (True, ())
        answer = federated.answer(both, dict.fromkeys(both, Question(claim)))
        assert (answer.related, answer.absent_words) == (True, ())
        claim = "Ronaldo says that vaccines contain microchips"
        assert arabic.relatedness(claim).related is False
        answer = federated.answer(both, dict.fromkeys(both, Question(claim)))
        assert (answer.related, answer.absent_words) == (True, ("Ronaldo", "microchips"))


@pytest.mark.real
def test_the_rates_on_claims_about_the_examples(example_folder: Path) -> None:
    claims = read_claims(Path(__file__).with_name("honest_claims.tsv"))
    rates = Rates.of(remarks_on(claims, example_folder / "indexes"))
    assert_honest(rates)


@pytest.mark.real
@pytest.mark.data
def test_the_rates_on_claims_of_others(data_dir: Path, example_folder: Path) -> None:
    path = data_dir.parent / "cases" / "honest" / "claims.tsv"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    rates = Rates.of(remarks_on(read_claims(path), example_folder / "indexes"))
    assert_honest(rates)


def assert_honest(rates: Rates) -> None:
    assert rates.denied_right <= 0.06 * rates.right
    assert rates.lines <= 0.2 * rates.covered
    assert rates.near - rates.near_said <= 0.4 * rates.near
    assert rates.far_said >= 0.9 * rates.far
