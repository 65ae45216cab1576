"""Tables of tweets, whose columns have various names and orders."""

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.eval.files.tweets import columns_of, read_tweets


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ('"Note, if any",tweet_id,tweet_text', 'x,1,"Masks, they say, help"'),
        ('tweet_id;"text;";"full text"', "1;;Masks, they say, help"),
        ("tweet_text\tNote, if any\ttweet_id", "Masks, they say, help\t\t1"),
    ],
)
def test_a_name_in_a_header_may_contain_the_delimiter(
    tmp_path: Path, header: str, rows: str
) -> None:
    path = tmp_path / "tweets"
    path.write_text(f"{header}\n{rows}\n", "utf-8")
    assert [(tweet.tweet_id, tweet.text) for tweet in read_tweets(path)] == [
        ("1", "Masks, they say, help")
    ]
    assert len(columns_of(path)) == 3


def test_a_line_end_in_a_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tweets"
    path.write_text("tweet_id,a\rb,text\n1,x,Masks help.\n", "utf-8")
    with pytest.raises(SourceError) as caught:
        read_tweets(path)
    assert str(caught.value) == (
        f"{path}:1: the header is not a row of a table: a cell contains a line end"
    )
