"""Words that reverse a sentence (negation, direction), and sentences that say the opposite of a
claim.

There are small word lists for some languages. In other languages, all counts are 0 and there are no
opposites; verdicts then depend on the other features. Opposites may be clumsy sentences, because
only an encoder reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Lexicon(NamedTuple):
    """Words in lower case that negate, that mean more, and that mean less."""

    negations: frozenset[str] = frozenset()
    more: frozenset[str] = frozenset()
    less: frozenset[str] = frozenset()


class Polarity(NamedTuple):
    """The number of negations in a sentence, and its direction: more (1), less (-1), neither or
    both (0).
    """

    negations: int
    direction: int


def _forms(stems: str) -> frozenset[str]:
    """Return the forms in ``increase:s ed ing``: the word, and the word with each ending.

    The word loses a final e before an ending that begins with e or i.
    """
    forms: set[str] = set()
    for entry in stems.split(","):
        word, _, endings = entry.strip().partition(":")
        forms.add(word)
        for ending in endings.split():
            forms.add((word.removesuffix("e") if ending[0] in "ie" else word) + ending)
    return frozenset(forms)


_ENGLISH = Lexicon(
    negations=frozenset(
        "no not never none nor neither nobody nothing without cannot fail fails failed failing "
        "lack lacks lacking "
        "lacked absence absent unable unlikely hardly rarely false falsely hoax myth deny denies "
        "denied incorrect "
        "wrong unrelated ineffective".split()
    ),
    more=_forms(
        "increase:s ed ing ingly, high, higher, highest, raise:s ed ing, elevate:s ed ing, "
        "elevation, greater, "
        "greatest, more, most, majority, gain:s ed ing, enhance:s ed ing, enhancement, promote:s "
        "ed ing, "
        "activate:s ed ing, activation, upregulate:s ed ing, upregulation, induce:s ed ing, "
        "induction, stimulate:s "
        "ed ing, stimulation, improve:s ed ing, improvement, positive, positively, large, larger, "
        "largest, fast, "
        "faster, fastest, strong, stronger, strongest, accelerate:s ed ing, acceleration, rise:s n "
        "ing, rose, "
        "grow:s n ing, grew, growth, augment:s ed ing, facilitate:s ed ing, exceed:s ed ing, "
        "amplify, amplifies, "
        "amplified, worsen:s ed ing, worse, worst, double:s d, hotter, hottest, warmest"
    ),
    less=_forms(
        "decrease:s ed ing, low, lower:s ed ing, lowest, reduce:s ed ing, reduction, less, few, "
        "fewer, fewest, "
        "minority, loss, lose:s ing, lost, impair:s ed ing, impairment, inhibit:s ed ing, "
        "inhibition, inhibitor:s, "
        "block:s ed ing, suppress:es ed ing, suppression, downregulate:s ed ing, downregulation, "
        "prevent:s ed ing, "
        "prevention, negative, negatively, small, smaller, smallest, shorter, shortest, slow, "
        "slower, slowest, "
        "weak, weaker, weakest, decline:s ed ing, diminish:es ed ing, deactivate:s ed ing, "
        "attenuate:s ed ing, "
        "attenuation, protect:s ed ing, protective, protection, avert:s ed ing, fall:s ing, fell, "
        "drop:s ped ping, "
        "cut:s ting, infrequent, halve:s ed ing, colder, coldest, coolest"
    ),
)

_ARABIC = Lexicon(
    negations=frozenset(
        "لا لم لن ليس ليست ليسوا غير دون بدون عدم ما نفى نفت تنفي ينفي كاذب كاذبة خاطئ خطأ شائعة "
        "إشاعة".split()
    ),
    more=frozenset(
        "زاد زادت يزيد تزيد زيادة ازداد ازدادت ارتفع ارتفعت يرتفع ترتفع ارتفاع أكثر أكبر أعلى أطول "
        "أسرع أقوى نمو نما "
        "تحسن تضاعف تضاعفت يسبب تسبب".split()
    ),
    less=frozenset(
        "قل قلت يقل تقل تقليل انخفض انخفضت ينخفض تنخفض انخفاض خفض تخفيض أقل أصغر أدنى أقصر أبطأ "
        "أضعف تراجع تراجعت نقص "
        "تناقص يمنع تمنع منع يقي تقي وقاية".split()
    ),
)

# The word lists of languages, by ISO 639-1 code.
LEXICONS: dict[str, Lexicon] = {"en": _ENGLISH, "ar": _ARABIC}


def lexicon(language: str) -> Lexicon:
    """Return the word lists of a language; empty ones if it has none."""
    return LEXICONS.get(language, Lexicon())


def polarity(text: str, lists: Lexicon) -> Polarity:
    """Return the number of negations in a sentence, and its direction."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    negations = sum(
        word in lists.negations or (word.endswith("n't") and bool(lists.negations))
        for word in words
    )
    difference = sum((word in lists.more) - (word in lists.less) for word in words)
    return Polarity(negations, (difference > 0) - (difference < 0))


# The maximum number of opposites of one text; a long text has many words that can be reversed.
_MOST = 8
_ENDS = re.compile(r"[.!?]\s")
_OPPOSED = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Opposing(NamedTuple):
    """How a language reverses a sentence; all words are in lower case.

    ``turned`` maps words to their opposites. ``negations`` maps words that negate a sentence to
    their replacement, which may be empty. ``supports`` are words to remove together with a negation
    after them. ``carriers`` are verbs; ``negation`` is inserted after the first one. ``denial`` is
    put before a sentence without a carrier. ``than`` separates the two sides of a comparison.
    """

    turned: dict[str, str]
    negations: dict[str, str]
    denial: str
    negation: str = ""
    supports: frozenset[str] = frozenset()
    carriers: frozenset[str] = frozenset()
    than: str = ""


def _pairs(listed: str) -> dict[str, str]:
    """Return the mapping of each ``a`` to its ``b`` in ``a:b, c:d``."""
    return dict(pair.strip().split(":") for pair in listed.split(","))


def _both_ways(listed: str) -> dict[str, str]:
    """Return the opposite of each word in ``a:b, c:d``, in both directions; the first pair with a
    word counts.
    """
    turned: dict[str, str] = {}
    split = [tuple(pair.strip().split(":")) for pair in listed.split(",")]
    for word, other in [*split, *((other, word) for word, other in split)]:
        turned.setdefault(word, other)
    return turned


_OPPOSING_ENGLISH = Opposing(
    turned=_both_ways(
        "increase:decrease, increases:decreases, increased:decreased, increasing:decreasing, "
        "higher:lower, high:low, "
        "highest:lowest, more:less, most:least, greater:smaller, larger:smaller, largest:smallest, "
        "bigger:smaller, "
        "biggest:smallest, longer:shorter, longest:shortest, long:short, taller:shorter, "
        "older:younger, old:young, "
        "oldest:youngest, better:worse, best:worst, faster:slower, fast:slow, fastest:slowest, "
        "stronger:weaker, "
        "strong:weak, hotter:colder, warmer:colder, hot:cold, warm:cold, deeper:shallower, "
        "deepest:shallowest, "
        "heavier:lighter, heaviest:lightest, wider:narrower, richer:poorer, closer:farther, "
        "earlier:later, "
        "cheaper:dearer, safer:riskier, improves:worsens, improve:worsen, improved:worsened, "
        "positive:negative, "
        "positively:negatively, promotes:inhibits, promote:inhibit, promoted:inhibited, "
        "promoting:inhibiting, "
        "activates:inhibits, activate:inhibit, activated:inhibited, activation:inhibition, "
        "upregulates:downregulates, "
        "upregulate:downregulate, upregulated:downregulated, upregulation:downregulation, "
        "induces:prevents, "
        "induce:prevent, induced:prevented, causes:prevents, cause:prevent, caused:prevented, "
        "enhances:reduces, "
        "enhance:reduce, enhanced:reduced, enhancing:reducing, elevates:reduces, elevated:reduced, "
        "raises:lowers, "
        "raise:lower, raised:lowered, rises:falls, rise:fall, rose:fell, grows:shrinks, "
        "grow:shrink, grew:shrank, "
        "growing:shrinking, gain:loss, gains:loses, wins:loses, won:lost, doubles:halves, "
        "doubled:halved, "
        "accelerates:slows, accelerate:slow, stimulates:inhibits, stimulate:inhibit, "
        "expands:shrinks, "
        "suppresses:promotes, suppress:promote, suppressed:promoted, impairs:improves, "
        "impair:improve, "
        "impaired:improved, diminishes:increases, attenuates:enhances, blocks:promotes, "
        "reduces:increases, "
        "reduction:increase, declines:rises, declined:rose, decline:rise, majority:minority, "
        "presence:absence, "
        "effective:ineffective, dependent:independent, safe:unsafe, likely:unlikely, "
        "susceptible:resistant, "
        "sensitivity:resistance, before:after, first:last, above:below, over:under, "
        "same:different, always:never, "
        "all:no, without:with, allowed:banned, allows:bans, legal:illegal, true:false, alive:dead, "
        "possible:impossible, able:unable, healthy:harmful, beneficial:harmful, "
        "protective:harmful, protects:harms, "
        "protect:harm, supports:opposes, started:ended, begins:ends, rare:common, "
        "essential:dispensable, "
        "necessary:unnecessary, fewer:more, lacks:has, lack:have"
    ),
    negations=_pairs(
        "not:, never:, no:, don't:, doesn't:, didn't:, isn't:is, aren't:are, wasn't:was, "
        "weren't:were, cannot:can, "
        "can't:can, couldn't:could, won't:will, wouldn't:would, shouldn't:should, mustn't:must, "
        "hasn't:has, "
        "haven't:have, hadn't:had"
    ),
    denial="It is not true that ",
    negation=" not",
    supports=frozenset("do does did".split()),
    carriers=frozenset(
        "is are was were can could has have had may might will would "
        "does do did should must".split()
    ),
    than="than",
)

_OPPOSING_ARABIC = Opposing(
    turned=_both_ways(
        "زاد:قل, زادت:قلت, يزيد:يقلل, تزيد:تقلل, زيادة:انخفاض, ارتفع:انخفض, ارتفعت:انخفضت, "
        "يرتفع:ينخفض, ترتفع:تنخفض, "
        "ارتفاع:انخفاض, أكثر:أقل, أكبر:أصغر, أعلى:أدنى, أطول:أقصر, أسرع:أبطأ, أقوى:أضعف, "
        "يسبب:يمنع, تسبب:تمنع, "
        "قبل:بعد, أول:آخر, آمن:خطير, آمنة:خطيرة, صحيح:خاطئ"
    ),
    negations=dict.fromkeys("لا لم لن ليس ليست".split(), ""),
    denial="ليس صحيحا أن ",
)

OPPOSING: dict[str, Opposing] = {"en": _OPPOSING_ENGLISH, "ar": _OPPOSING_ARABIC}
"""How languages reverse sentences, by ISO 639-1 code."""


def opposites(text: str, language: str) -> list[str]:
    """Return at most eight distinct sentences that say the opposite of a text; none in a language
    without lists.
    """
    lists = OPPOSING.get(language)
    if lists is None or not text.strip():
        return []
    words = list(_OPPOSED.finditer(text))
    low = [word.group().lower().replace("’", "'") for word in words]
    affirmed = list(_remove_negations(text, words, low, lists))
    carrier = next(
        (word for word, key in zip(words, low, strict=True) if key in lists.carriers), None
    )
    denied = (
        text[: carrier.end()] + lists.negation + text[carrier.end() :]
        if carrier
        else lists.denial + text
    )
    # In a negated sentence, a reversed word is no contradiction: something that does not prevent
    # need not cause.
    made = affirmed or [
        *_replace_words(text, words, low, lists),
        denied,
        *_exchange_sides(text, words, low, lists),
    ]
    return [
        opposite
        for opposite in dict.fromkeys(made)
        if opposite != text and _OPPOSED.search(opposite)
    ][:_MOST]


def _replace_words(
    text: str, words: Sequence[re.Match[str]], low: Sequence[str], lists: Opposing
) -> Iterator[str]:
    for word, key in zip(words, low, strict=True):
        if key in lists.turned:
            other = lists.turned[key]
            shaped = other[0].upper() + other[1:] if word.group()[0].isupper() else other
            yield text[: word.start()] + shaped + text[word.end() :]


def _remove_negations(
    text: str, words: Sequence[re.Match[str]], low: Sequence[str], lists: Opposing
) -> Iterator[str]:
    for at, key in enumerate(low):
        if key not in lists.negations:
            continue
        first = words[at - 1] if at and low[at - 1] in lists.supports else words[at]
        left = lists.negations[key]
        yield (
            text[: first.start()] + (f"{left} " if left else "") + text[words[at].end() :].lstrip()
        )


def _exchange_sides(
    text: str, words: Sequence[re.Match[str]], low: Sequence[str], lists: Opposing
) -> Iterator[str]:
    """Yield a comparison with its two sides exchanged: the text before its verb, and the text after
    ``than``.
    """
    verb = next((at for at, key in enumerate(low) if key in lists.carriers), 0)
    than = next((at for at, key in enumerate(low) if key == lists.than and at > verb), 0)
    if not verb or not than or than + 1 == len(words) or _ENDS.search(text.strip()):
        return
    left, right = (
        text[: words[verb].start()].strip(),
        text[words[than].end() : words[-1].end()].strip(),
    )
    middle = text[words[verb].start() : words[than].end()]
    yield f"{right} {middle} {left}{text[words[-1].end() :]}"
