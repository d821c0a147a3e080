"""A closed vocabulary: prompts to word numbers."""

from __future__ import annotations

from collections.abc import Sequence

IGNORED_WORDS = ("a", "an", "the")


class Vocabulary:
    """Words that a demo model knows.

    Number 0 is the empty word: it pads short captions and stands for "no caption" in guidance.
    """

    def __init__(self, words: Sequence[str], max_words: int, example: str) -> None:
        self.words = ("", *words)
        self.max_words = max_words
        self._example = example

    def __len__(self) -> int:
        return len(self.words)

    def words_of(self, text: str) -> list[str]:
        """The words of a prompt in the vocabulary, articles dropped.

        Raises ``ValueError`` for an unknown word (naming the vocabulary) and for too many words.
        """
        words = text.lower().replace(",", " ").replace(".", " ").split()
        words = [word for word in words if word not in IGNORED_WORDS]
        unknown = sorted(set(words) - set(self.words))
        if unknown:
            known = ", ".join(self.words[1:])
            raise ValueError(
                f"the demo model does not know {', '.join(map(repr, unknown))}; "
                f"write the prompt with these words: {known}"
            )
        if len(words) > self.max_words:
            raise ValueError(
                f"the prompt has {len(words)} words, the demo model reads {self.max_words}; "
                f"shorten it, as in '{self._example}'"
            )
        return words

    def ids(self, text: str) -> list[int]:
        """``max_words`` numbers of words, padded with 0; all 0 for an empty prompt."""
        ids = [self.words.index(word) for word in self.words_of(text)]
        return ids + [0] * (self.max_words - len(ids))
