"""Reviews of claims: the shapes that schema.org's ClaimReview has on the web, and what is kept of
each.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.core.parts import first_part
from factseek.indexer.collections import BadLines, ReadOptions, Record, reader
from factseek.indexer.collections._linked_data import nodes_of_type
from factseek.indexer.collections._reviews import verdict_of

REVIEW: dict[str, Any] = {
    "@type": "ClaimReview",
    "url": "https://check.example.org/moon",
    "claimReviewed": "Nobody walked on the moon.",
    "headline": "Twelve people did",
    "datePublished": "2024-07-20T09:00:00+02:00",
    "inLanguage": "en-GB",
    "author": {
        "@type": "Organization",
        "name": "Check",
        "url": "https://check.example.org/",
        "image": "https://check.example.org/logo.png",
    },
    "reviewRating": {
        "@type": "Rating",
        "alternateName": "False",
        "ratingValue": "1",
        "bestRating": 5,
        "worstRating": 1,
        "ratingExplanation": "There are rocks.",
    },
    "itemReviewed": {
        "@type": "Claim",
        "author": {
            "@type": "Person",
            "name": "A hoaxer",
            "jobTitle": "Podcaster",
            "sameAs": ["https://hoax.example.com/", "https://posts.example.com/hoaxer"],
        },
        "datePublished": "2024-07-19",
        "firstAppearance": {"@type": "CreativeWork", "url": "https://posts.example.com/1"},
        "appearance": [
            {"@type": "CreativeWork", "url": "https://posts.example.com/2"},
            "https://posts.example.com/1",
        ],
    },
}


def page(*scripts: object, html: str = '<html lang="en">', body: str = "") -> str:
    texts = [script if isinstance(script, str) else json.dumps(script) for script in scripts]
    return (
        f"<!doctype html>{html}<head>"
        + "".join(f'<script type="application/ld+json">{text}</script>' for text in texts)
        + f"</head><body>{body}</body></html>"
    )


def records(path: Path, text: str, tolerated: int = 0) -> tuple[list[Record], ReadOptions]:
    path.write_text(text, "utf-8")
    options = ReadOptions(bad_lines=BadLines(limit=tolerated))
    return list(reader("claimreview").read([path], options)), options


def first(path: Path, text: str) -> Record:
    read, options = records(path, text)
    assert options.bad_lines.count == 0
    return read[0]


def claim_of(document: Document) -> str:
    return first_part(document.text, document.metadata)


def with_(**changes: Any) -> dict[str, Any]:
    return {**REVIEW, **changes}


def test_everything_that_a_review_says_is_kept(tmp_path: Path) -> None:
    document = first(
        tmp_path / "a.html", page({"@context": "https://schema.org", **REVIEW})
    ).document
    assert document._asdict() == {
        "docid": "https://check.example.org/moon",
        "text": "Nobody walked on the moon.\nThere are rocks.",
        "title": "Twelve people did",
        "url": "https://check.example.org/moon",
        "date": "2024-07-20",
        "language": "en",
        "source": "check.example.org",
        "topic": "",
        "metadata": {
            "claimant": "A hoaxer",
            "claimant_job": "Podcaster",
            "claimant_pages": ["https://hoax.example.com/", "https://posts.example.com/hoaxer"],
            "claim_date": "2024-07-19",
            "appearances": ["https://posts.example.com/1", "https://posts.example.com/2"],
            "first_appearance": "https://posts.example.com/1",
            "rating": "False",
            "verdict": "false",
            "scale": [1.0, 1.0, 5.0],
            "explanation": "There are rocks.",
            "part_starts": [0, 27],
            "publisher": "Check",
            "publisher_url": "https://check.example.org/",
            "publisher_image": "https://check.example.org/logo.png",
        },
    }


@pytest.mark.parametrize(
    "content",
    [
        [REVIEW],
        {"@context": "https://schema.org", "@graph": [{"@type": "WebPage", "@id": "#p"}, REVIEW]},
        with_(**{"@type": ["Article", "ClaimReview"]}),
        with_(**{"@type": "http://schema.org/ClaimReview"}),
        {"@type": "NewsArticle", "review": {"@type": "CreativeWork", "hasPart": [REVIEW]}},
        {"@type": "DataFeed", "dataFeedElement": [{"@type": "DataFeedItem", "item": [REVIEW]}]},
        {
            f"schema:{name}" if not name.startswith("@") else name: value
            for name, value in REVIEW.items()
        },
    ],
)
def test_a_review_is_found_wherever_it_stands(tmp_path: Path, content: Any) -> None:
    expected = first(tmp_path / "one.json", json.dumps(REVIEW)).document
    assert first(tmp_path / "a.json", json.dumps(content)).document == expected
    assert first(tmp_path / "a.html", page({"@type": "WebSite"}, content)).document == expected
    assert first(tmp_path / "a.jsonl", json.dumps({"@graph": content}) + "\n").document == expected


@pytest.mark.parametrize(
    ("rating", "words", "verdict"),
    [
        ("Half True", "Half True", "mixed"),
        ({"name": "Pants on Fire!"}, "Pants on Fire!", "false"),
        ({"alternateName": "خطأ", "name": "ignored"}, "خطأ", "false"),
        (
            {"ratingValue": 5, "bestRating": 5, "worstRating": 1, "alternateName": "Three geese"},
            "Three geese",
            "true",
        ),
        ({"ratingValue": "2,5", "bestRating": "5", "worstRating": "1"}, "2,5", "mixed"),
        ({"ratingValue": 4, "alternateName": "Four chillies"}, "Four chillies", None),
        ({"ratingValue": 5, "worstRating": 1, "alternateName": "Five geese"}, "Five geese", "true"),
        ([{"alternateName": "No evidence"}], "No evidence", "unproven"),
    ],
)
def test_a_rating_is_kept_and_mapped_if_it_can_be(
    tmp_path: Path, rating: Any, words: str, verdict: str | None
) -> None:
    metadata = first(tmp_path / "a.json", json.dumps(with_(reviewRating=rating))).document.metadata
    assert (metadata["rating"], metadata.get("verdict")) == (words, verdict)


@pytest.mark.parametrize(
    ("rating", "verdict"),
    [
        ("TRUE", "true"),
        (" mostly-true. ", "mixed"),
        ("Größtenteils falsch", "mixed"),
        ("falso", "false"),
        ("?", ""),
        ("not true", "false"),
        ("غير مؤكد", "unproven"),
        ("truest", ""),
    ],
)
def test_words_of_ratings(rating: str, verdict: str) -> None:
    assert verdict_of(rating) == verdict


@pytest.mark.parametrize(
    "rating",
    [
        "Das stimmt nicht",
        "Can't be true",
        "not entirely accurate",
        "غير صحيح تماما",
    ],
)
def test_a_scale_does_not_outweigh_words_that_deny_it(rating: str) -> None:
    assert verdict_of(rating, 5, 1, 5) == ""
    assert verdict_of("Not false", 1, 1, 5) == ""


TRUE_OF_5 = {
    "@type": "Rating",
    "alternateName": "Mostly true",
    "ratingValue": 4,
    "bestRating": 5,
    "worstRating": 1,
}
FALSE_OF_5 = {
    "@type": "Rating",
    "alternateName": "False",
    "ratingValue": 1,
    "bestRating": 5,
    "worstRating": 1,
}
SEVERAL: list[tuple[list[Any], str, str]] = [
    ([TRUE_OF_5, FALSE_OF_5], "False", "'False' (1) is used, not 'Mostly true' (4)"),
    (["Baloney", "False"], "False", "'False' is used, not 'Baloney'"),
    (
        [{"ratingValue": 2}, {"alternateName": "Baloney"}],
        "Baloney",
        "'Baloney' is used, not '2' (2)",
    ),
    (
        [{"alternateName": ["Falsch", "Baloney"]}, "Untrue"],
        "Falsch",
        "'Falsch' is used, not 'Untrue' or 'Baloney'",
    ),
    (["Baloney", "Absurd"], "Absurd", "'Absurd' is used, not 'Baloney'"),
]


@pytest.mark.parametrize(("ratings", "used", "says"), SEVERAL)
def test_of_several_ratings_one_is_used_and_named(
    tmp_path: Path, ratings: list[Any], used: str, says: str
) -> None:
    path = tmp_path / "r.json"
    for listed in (ratings, ratings[::-1]):
        found, options = records(path, json.dumps({**REVIEW, "reviewRating": listed}))
        assert found[0].document.metadata["rating"] == used
        assert options.notes == [f"1 review has several ratings: {says} ({path}:1)"]


def test_several_reviews_with_several_ratings_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    reviews = [
        {**REVIEW, "url": f"https://a.org/{number}", "reviewRating": ["No", "Wrong"]}
        for number in range(3)
    ]
    _, options = records(path, json.dumps(reviews))
    assert options.notes == [
        f"3 reviews have several ratings; of the first, 'No' is used, not 'Wrong' ({path}:1)"
    ]
    _, options = records(
        path, json.dumps({**REVIEW, "reviewRating": [FALSE_OF_5, dict(FALSE_OF_5)]})
    )
    assert options.notes == []


def test_a_repeated_review_with_another_rating_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    other = {**REVIEW, "reviewRating": {"alternateName": "Mostly true"}}
    found, options = records(path, json.dumps([REVIEW, other, REVIEW]))
    assert [record.document.metadata["rating"] for record in found] == ["False"]
    assert options.skipped == {
        "reviews that occurred before with another rating; the first one is used": 1,
        "reviews that occurred before": 1,
    }


def test_rows_of_two_checkers_about_one_claim_and_address_are_both_kept(tmp_path: Path) -> None:
    table = (
        "Claim,Rating,Fact-checker,URL\n"
        "The earth is flat.,False,Desk A,https://social.example/1\n"
        "The earth is flat.,Misleading,Desk B,https://social.example/1\n"
        "The earth is flat.,True,desk  a,https://social.example/1\n"
    )
    found, options = records(tmp_path / "r.csv", table)
    assert [record.document.metadata.get("publisher") for record in found] == ["Desk A", "Desk B"]
    assert [record.document.docid for record in found] == [
        "https://social.example/1",
        "https://social.example/1#2",
    ]
    assert options.skipped == {
        "reviews that occurred before with another rating; the first one is used": 1
    }


def test_a_note_about_a_column_has_the_words_of_the_option(tmp_path: Path) -> None:
    _, options = records(
        tmp_path / "r.csv", "Claim,Verdict,Finding\nThe earth is flat.,False,No.\n"
    )
    assert any(
        "the column 'Verdict' is used as 'rating'; choose another with --column" in note
        for note in options.notes
    )


@pytest.mark.parametrize("name", ["r.json", "r.jsonl"])
def test_an_object_with_a_reviewed_claim_needs_no_type(tmp_path: Path, name: str) -> None:
    review = {"claimReviewed": "Cats fly.", "reviewRating": {"alternateName": "False"}}
    content = json.dumps([review]) if name == "r.json" else json.dumps(review)
    (record,), _ = records(tmp_path / name, content)
    assert record.document.text == "Cats fly."
    assert record.document.metadata["verdict"] == "false"


def test_microdata_with_two_ratings_says_which_is_used(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    ratings = "".join(
        f'<div itemprop="reviewRating" itemscope itemtype="https://schema.org/Rating">'
        f'<b itemprop="alternateName">{words}</b></div>'
        for words in ("Mostly true", "False")
    )
    review = (
        '<div itemscope itemtype="https://schema.org/ClaimReview"><p '
        f'itemprop="claimReviewed">A.</p>{ratings}</div>'
    )
    found, options = records(path, page(body=review))
    assert found[0].document.metadata["rating"] == "False"
    assert (
        f"1 review has several ratings: 'False' is used, not 'Mostly true' ({path})"
        in options.notes
    )


def test_several_reviews_of_one_page(tmp_path: Path) -> None:
    other = with_(claimReviewed="The moon is far.", reviewRating={"alternateName": "True"})
    read, options = records(tmp_path / "a.html", page([REVIEW, other], REVIEW))
    assert [record.document.docid for record in read] == [REVIEW["url"], f"{REVIEW['url']}#2"]
    assert options.skipped == {"reviews that occurred before": 1}


def test_an_author_beside_the_publisher_and_a_claim_in_an_older_form(tmp_path: Path) -> None:
    review = with_(
        author={"@type": "Person", "name": "Jo"},
        publisher={"@type": "Organization", "name": "The Post"},
        itemReviewed={
            "@type": "CreativeWork",
            "author": [{"@type": "Person", "name": "A senator"}],
        },
    )
    metadata = first(tmp_path / "a.json", json.dumps(review)).document.metadata
    assert (metadata["author"], metadata["publisher"], metadata["claimant"]) == (
        "Jo",
        "The Post",
        "A senator",
    )


def test_a_review_without_an_address_is_known_by_what_it_says(tmp_path: Path) -> None:
    review = {name: value for name, value in REVIEW.items() if name != "url"}
    one, again = (first(tmp_path / f"{name}.json", json.dumps(review)).document for name in "ab")
    assert one.docid == again.docid
    assert one.docid.startswith("claim-")


def test_a_table(tmp_path: Path) -> None:
    table = (
        "claimReviewed,url,reviewRating.alternateName,itemReviewed.author.name,author.name,datePublished\n"
        'The moon is cheese,https://c.example.org/1,False,"Smith, J.",Check,2020-03-05\n'
    )
    document = first(tmp_path / "a.csv", table).document
    assert (document.docid, document.date) == ("https://c.example.org/1", "2020-03-05")
    assert document.metadata == {
        "claimant": "Smith, J.",
        "rating": "False",
        "verdict": "false",
        "publisher": "Check",
    }
    short = "claim\trating\tclaimant\tpublisher\tdocid\nIt is so\tTrue\tMe\tCheck\t7\n"
    assert first(tmp_path / "a.tsv", short).document.docid == "7"


def test_a_page_in_another_language_says_so(tmp_path: Path) -> None:
    review = {name: value for name, value in REVIEW.items() if name != "inLanguage"}
    spanish = page(
        {**review, "claimReviewed": "Nadie caminó nunca sobre la luna, dicen"},
        html='<html lang="es-MX">',
    )
    assert first(tmp_path / "a.html", spanish).document.language == "es"


def test_what_holds_no_review_is_left_out_by_name(tmp_path: Path) -> None:
    read, options = records(tmp_path / "a.html", page({"@type": "WebSite"}))
    assert (read, options.skipped) == ([], {"no claim review": 1})
    read, options = records(
        tmp_path / "b.json", json.dumps([with_(claimReviewed=" ", itemReviewed=None)])
    )
    assert (read, options.skipped) == ([], {"reviews without a claim": 1})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.html",
            page('{"@type": "ClaimReview",'),
            (
                "its claim review is not JSON (line 1, column 25: Expecting property name "
                "enclosed in double quotes)"
            ),
        ),
        ("a.html", "%PDF-1.4", "is a PDF document, not a web page"),
    ],
)
def test_a_broken_source_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(SourceError) as error:
        records(tmp_path / name, text)
    assert error.value.what == message


def test_deep_and_odd_values_do_no_harm(tmp_path: Path) -> None:
    deep: Any = REVIEW
    for _ in range(150):
        deep = [deep]
    odd = with_(
        url=["", 7, {"@id": "https://o.example.org"}],
        author=[[], None, "Us"],
        itemReviewed={"@id": []},
    )
    read, _ = records(tmp_path / "a.html", page(deep, odd), tolerated=1)
    assert [record.document.docid for record in read] == ["https://o.example.org"]
    assert read[0].document.metadata["publisher"] == "Us"


def test_references_in_circles_come_to_an_end(tmp_path: Path) -> None:
    """Each of sixty objects refers to all of them, four levels of which are thirteen million
    objects.
    """
    names = [f"#{number}" for number in range(60)]
    graph = [{"@id": name, **{f"p{other}": {"@id": other} for other in names}} for name in names]
    graph[0] = {**with_(author={"@id": "#1"}), **graph[0]}
    (review,) = nodes_of_type({"@graph": graph}, "ClaimReview")
    assert len(json.dumps(review)) < 2_000_000
    assert review["author"]["p#0"]["claimReviewed"] == "Nobody walked on the moon."
    read, _ = records(tmp_path / "a.html", page({"@graph": graph}))
    assert claim_of(read[0].document) == "Nobody walked on the moon."


def test_items_that_refer_to_each_other_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of thirty items refers to all, and each of the fifteen items in it as well."""
    monkeypatch.setattr("factseek.indexer.collections._linked_data._MOST_STEPS", 50_000)
    names = " ".join(f"i{number}" for number in range(30))
    inner = f'<p itemprop="a" itemscope itemref="{names}"></p>' * 15
    kind = 'itemscope itemtype="https://schema.org/ClaimReview"'
    items = "".join(
        f'<div id="i{number}" itemprop="b" itemref="{names}" {kind}>{inner}</div>'
        for number in range(30)
    )
    claim = f'<div {kind}><p itemprop="claimReviewed">Nobody walked on the moon.</p></div>'
    read, _ = records(
        tmp_path / "a.html", f'<?xml version="1.0" encoding="utf-8"?>\n{page(body=claim + items)}'
    )
    assert [record.document.text for record in read] == ["Nobody walked on the moon."]


def test_a_review_at_a_very_long_address_is_named_by_a_digest(tmp_path: Path) -> None:
    address = "https://check.example.org/" + "%D8%A7" * 90
    read, options = records(tmp_path / "a.json", json.dumps([with_(url=address), REVIEW]))
    assert options.bad_lines.count == 0
    assert read[0].document.docid.startswith("claim-")
    assert [record.document.url for record in read] == [address, REVIEW["url"]]


JSON = json.dumps(REVIEW)


@pytest.mark.parametrize(
    "script",
    [
        f"\ufeff{JSON};",
        f"/* made by a plug-in */ {JSON} // end",
        f"<![CDATA[{JSON}]]>",
        f"<!--\n{JSON}\n-->",
        JSON.replace('"url"', '// the "address"\n"url"', 1).replace("5, ", "5,\n/* {, */ "),
        f'{{"@type": "WebSite", "name": "it\\\'s \\d"}}\n{JSON}',
        f'[{{"@type": "WebSite", "url": "https://a.org/*//"}},{JSON},];',
    ],
)
def test_loose_json_is_read(tmp_path: Path, script: str) -> None:
    expected = first(tmp_path / "one.json", JSON).document
    assert first(tmp_path / "a.html", page(script)).document == expected


@pytest.mark.parametrize("piece", ['"\\"', "/*", '"', "//", ",", "[1,", "<!--", '{"a":1},', "\\"])
def test_hostile_json_takes_a_moment(tmp_path: Path, piece: str) -> None:
    read, options = records(
        tmp_path / "a.html", page(f'{{"@type": "ClaimReview",{piece * 100_000}'), tolerated=1
    )
    assert (len(read), options.bad_lines.count) == (0, 1)


@pytest.mark.parametrize(
    ("head", "url", "address"),
    [
        ('<link href="https://c.org/x" rel="canonical">', None, "https://c.org/x"),
        (
            "<meta content='https://c.org/y?a=1&amp;b=2' property='og:url'>",
            "",
            "https://c.org/y?a=1&b=2",
        ),
        ('<link rel=canonical href="https://c.org/a/x">', "../checks/1", "https://c.org/checks/1"),
        ('<link rel="canonical" href="/x">', "/checks/1", ""),
        ("", {"@id": "https://c.org/z"}, "https://c.org/z"),
        ("", None, ""),
    ],
)
def test_the_address_of_a_review_may_be_that_of_its_page(
    tmp_path: Path, head: str, url: Any, address: str
) -> None:
    review = {name: value for name, value in with_(url=url).items() if value is not None}
    read, options = records(tmp_path / "a.html", page(review, html=f"<html>{head}"))
    assert read[0].document.url == address
    assert any("no web address" in note for note in options.notes) == (not address)


@pytest.mark.parametrize(
    ("changes", "text", "claimant"),
    [
        ({"claimReviewed": {"@type": "Claim", "text": "So it is."}}, "So it is.", "A hoaxer"),
        ({"claimReviewed": ["", "So it is."], "itemReviewed": "So"}, "So it is.", None),
        (
            {"claimReviewed": None, "itemReviewed": {"text": "So it is.", "creator": "Ann"}},
            "So it is.",
            "Ann",
        ),
        ({"claimReviewed": None, "itemReviewed": "So it is."}, "So it is.", None),
        (
            {"itemReviewed": {"appearance": [{"author": [{"name": "Ann"}]}]}},
            REVIEW["claimReviewed"],
            "Ann",
        ),
    ],
)
def test_the_claim_may_have_other_shapes(
    tmp_path: Path, changes: Any, text: str, claimant: str | None
) -> None:
    document = first(tmp_path / "a.json", json.dumps(with_(**changes))).document
    assert (claim_of(document), document.metadata.get("claimant")) == (text, claimant)


@pytest.mark.parametrize(
    ("words", "value", "verdict"),
    [
        ("Completely wrong!", 5, None),
        ("Completely wrong!", 1, "false"),
        ("Very misleading", 5, None),
        ("More than true", 5, "true"),
        ("Five lanterns", 5, "true"),
        ("Kesinlikle yanlış", 5, None),
    ],
)
def test_a_scale_does_not_speak_against_the_words(
    tmp_path: Path, words: str, value: int, verdict: str | None
) -> None:
    rating = {"alternateName": words, "ratingValue": value, "bestRating": 5, "worstRating": 1}
    metadata = first(tmp_path / "a.json", json.dumps(with_(reviewRating=rating))).document.metadata
    assert metadata.get("verdict") == verdict
