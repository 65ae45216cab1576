"""The statements of pasted texts: the times of subtitles, captions and chats, and paragraphs."""

import pytest

from factseek.server.page.statements import TRANSCRIPT, TWEETS, Spoken, kind_of, statements_of

SRT = (
    "1\n00:00:01,000 --> 00:00:04,000\nGood evening. Taxes fell by\n\n"
    "2\n00:00:04,500 --> 00:00:06,000\n10 percent. Now they\n\n"
    "3\n01:00:07,000 --> 01:00:09,000\nrise again.\n\n"
    "4\n01:00:10,000 --> 01:00:11,000\n- No.\n"
)
VTT = (
    "WEBVTT\n\n1\n00:03.000 --> 00:05.000\n<v Jane Doe>We built 500 schools.\n\n"
    "01:00:05.000 --> 01:00:07.000\nJohn: That is false. It was 50.\n"
)
CAPTIONS = (
    "[Jane Doe] 09:12:45\nUnemployment is at 3 percent. It was 5.\n\n"
    "[John] 09:13:01\nThat is wrong."
)
CHAT = (
    "09:12:45\t From  Jane Doe  to  Everyone:\n\tWe built 500 schools.\n"
    "09:13:00 From John : That is wrong.\n"
)
STAMPED = "[00:01:02] Moderator: Welcome.\n[00:01:05] Smith: Crime doubled. I saw it.\nIt was bad."


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (
            SRT,
            [
                Spoken("Good evening.", "", "00:00:01"),
                Spoken("Taxes fell by 10 percent.", "", "00:00:01"),
                Spoken("Now they rise again.", "", "00:00:04"),
                Spoken("- No.", "", "01:00:10"),
            ],
        ),
        (
            VTT,
            [
                Spoken("We built 500 schools.", "Jane Doe", "00:00:03"),
                Spoken("That is false.", "John", "01:00:05"),
                Spoken("It was 50.", "John", "01:00:05"),
            ],
        ),
        (
            CAPTIONS,
            [
                Spoken("Unemployment is at 3 percent.", "Jane Doe", "09:12:45"),
                Spoken("It was 5.", "Jane Doe", "09:12:45"),
                Spoken("That is wrong.", "John", "09:13:01"),
            ],
        ),
        (
            CHAT,
            [
                Spoken("We built 500 schools.", "Jane Doe", "09:12:45"),
                Spoken("That is wrong.", "John", "09:13:00"),
            ],
        ),
        (
            STAMPED,
            [
                Spoken("Welcome.", "Moderator", "00:01:02"),
                Spoken("Crime doubled.", "Smith", "00:01:05"),
                Spoken("I saw it.", "Smith", "00:01:05"),
                Spoken("It was bad.", "Smith", "00:01:05"),
            ],
        ),
    ],
    ids=["srt", "vtt", "captions", "chat", "stamped"],
)
def test_a_sentence_has_the_time_at_which_it_begins(text: str, spoken: list[Spoken]) -> None:
    assert kind_of(text) == TRANSCRIPT
    assert statements_of(text, TRANSCRIPT, 99) == spoken


@pytest.mark.parametrize("blank", ["\n\n", "\r\n\r\n", "\n \n"])
def test_a_tweet_of_four_paragraphs_is_one_tweet(blank: str) -> None:
    paragraphs = ["BREAKING: new data.", "Cases rose 30% in May.", "Nobody reports it.", "#covid"]
    text = blank.join(paragraphs)
    assert kind_of(text) == TWEETS
    assert statements_of(text, TWEETS, 99) == [Spoken(" ".join(paragraphs))]


def test_blank_lines_separate_tweets_of_several_lines() -> None:
    one_line = "Cases rose by 30 percent in May, says the ministry of health of our country."
    several = "BREAKING: new data.\nNobody reports it.\n#covid"
    text = "\n\n".join([one_line, one_line, several, one_line, one_line])
    assert [spoken.text for spoken in statements_of(text, TWEETS, 99)] == [
        one_line,
        one_line,
        " ".join(several.split()),
        one_line,
        one_line,
    ]


def test_a_list_with_a_blank_line_here_and_there_is_a_tweet_a_line() -> None:
    line = "Cases rose by 30 percent in May, says the ministry of health of our country."
    text = f"{line}\n{line}\n\n{line}\n{line}\n"
    assert len(statements_of(text, TWEETS, 99)) == 4
    assert len(statements_of("One is here.\n\nTwo is there.", TWEETS, 99)) == 2


def test_only_what_is_said_in_webvtt_is_a_statement() -> None:
    text = (
        "WEBVTT\nKind: captions\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\n"
        "NOTE made by hand\n\n00:01.000 --> 00:02.000\ntwo doses of the\n\n"
        "00:02.000 --> 00:03.000\ntwo doses of the\n"
        "<00:00:02.500><c>vaccine</c> help &amp; protect.\n"
    )
    assert statements_of(text, TRANSCRIPT, 9) == [
        Spoken("two doses of the vaccine help & protect.", "", "00:00:01")
    ]


def test_a_speaker_named_in_each_cue_goes_on_with_a_sentence() -> None:
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Hall>Two doses of the</v>\n\n"
        "00:02.000 --> 00:03.000\n<v Hall>vaccine are effective.</v>\n\n"
        "00:03.000 --> 00:04.000\n<v Ruiz>No.</v>\n"
    )
    assert statements_of(text, TRANSCRIPT, 9) == [
        Spoken("Two doses of the vaccine are effective.", "Hall", "00:00:01"),
        Spoken("No.", "Ruiz", "00:00:03"),
    ]


def test_marks_of_another_speaker_are_read() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\n- No, by 12 percent.\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\n{\\an8}>> HALL: Two doses help.\n"
    )
    assert statements_of(text, TRANSCRIPT, 9) == [
        Spoken("- No, by 12 percent.", "", "00:00:01"),
        Spoken("Two doses help.", "HALL", "00:00:03"),
    ]
