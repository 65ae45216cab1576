"""Count words in Python: what Java must give, written so that it is easy to check."""

from collections import Counter
from collections.abc import Iterable

from factseek.core.folding import fold
from factseek.retrieval.lucene.spelling import is_kept, words_in


class PythonWordCounter:
    """Counts words as :class:`factseek.retrieval.lucene.word_counter.WordCounter` does."""

    def __init__(self, most_chunks: int, most_counted: int) -> None:
        self._most_chunks, self._most_counted = most_chunks, most_counted
        self._chunks: Counter[str] = Counter()
        self._words: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count the words of a text."""
        self._chunks.update(fold(text).lower().split())
        if len(self._chunks) > self._most_chunks:
            self._cut()

    def counts(self, most: int) -> list[tuple[str, int]]:
        """Return the most frequent words with their counts, sorted by word."""
        self._cut()
        return sorted(most_frequent(self._words, most))

    def _cut(self) -> None:
        for chunk, count in self._chunks.items():
            for word in words_in(chunk):
                if is_kept(word):
                    self._words[word] += count
        self._chunks.clear()
        if len(self._words) > self._most_counted:
            self._words = Counter(dict(most_frequent(self._words, self._most_counted // 2)))


def most_frequent(words: Counter[str], most: int) -> Iterable[tuple[str, int]]:
    """Return the most frequent words, and the first of those that are equally frequent."""
    return sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
