"""Whether a reply is in the language of its tweet: a check of the script, then a language identifier.

A short text has no language that could be told ("Super!"), and then the answer is "unknown", never a guess.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import regex

from pixelis.envs.tweet.reading.lexicon import FUNCTION_WORDS
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.errors import MissingDependencyError

UNKNOWN = "und"
"""The tag of a language that cannot be told (BCP 47)."""
LEAST_LETTERS, LEAST_CONFIDENCE = 10, 0.6
_LEAST_SCRIPT_LETTERS, _SCRIPT_SHARE = 2, 0.6
_ENGLISH_SHARE = 0.15
# English words for certain. Slang around them is what the identifier knows least.
_ENGLISH = FUNCTION_WORDS - frozenset(
    """
    a an in on me no he is was so we do does to for or at of as by be mine her will had most far u y n w r i
    am over under per via ever all here such then dont one once like back off down ok
    """.split()  # noqa: SIM905
)

# Languages that the platform tells apart. Rarer ones and creoles only attract short English texts.
_LANGUAGES = frozenset(
    """
    am ar bg bn bo ca cs cy da de el en es et eu fa fi fr gu he hi ht hu hy id is it ja ka km kn ko lo lt lv
    ml mr my ne nl no nb nn or pa pl ps pt ro ru sd si sk sl sr sv ta te th tl tr ug uk ur vi zh
    """.split()  # noqa: SIM905
)
_LETTER = regex.compile(r"\p{L}")
_SCRIPTS = {
    name: regex.compile(rf"[{pattern}]")
    for name, pattern in {
        "Latin": r"\p{Latin}",
        "Cyrillic": r"\p{Cyrillic}",
        "Greek": r"\p{Greek}",
        "Arabic": r"\p{Arabic}",
        "Hebrew": r"\p{Hebrew}",
        "Devanagari": r"\p{Devanagari}",
        "Thai": r"\p{Thai}",
        "Hangul": r"\p{Hangul}",
        "CJK": r"\p{Han}\p{Hiragana}\p{Katakana}",
    }.items()
}
# What differs only in spelling or by country is one language here.
_SAME = {"nb": "no", "nn": "no", "da": "no", "hr": "sr", "bs": "sr"}


@functools.cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MissingDependencyError(
            "telling the language of a reply needs py3langid: pip install 'pixelis[text]'"
        ) from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(identifier.labels) if hasattr(identifier, "labels") else set(identifier.nb_classes)
    identifier.set_languages(sorted(_LANGUAGES & known))
    return identifier


def script(text: str) -> str:
    """Return the script of at least 60 % of a text's letters, ``Latin``, ``CJK`` …; else `UNKNOWN`."""
    if text.isascii():
        return "Latin" if sum(map(str.isalpha, text)) >= _LEAST_SCRIPT_LETTERS else UNKNOWN
    letters = len(_LETTER.findall(text))
    if letters < _LEAST_SCRIPT_LETTERS:
        return UNKNOWN
    counts = Counter({name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()})
    name, count = counts.most_common(1)[0]
    return name if count >= _SCRIPT_SHARE * letters else UNKNOWN


def language(text: str) -> str:
    """Return a text's language, a two-letter code; `UNKNOWN` when it is too short or too mixed to tell.

    py3langid's posterior (naive Bayes over byte n-grams; Lui and Baldwin, ACL 2012) must be at least 0.6, and
    the text have 10 letters (3 in Chinese, Japanese and Korean, where a letter says more).

    Raises:
        MissingDependencyError: py3langid is not installed.
    """
    letters = sum(map(str.isalpha, text))
    if letters < LEAST_LETTERS and not (letters >= 3 and script(text) in ("CJK", "Hangul")):
        return UNKNOWN
    code, confidence = _identifier().classify(text)
    return str(_SAME.get(code, code)) if confidence >= LEAST_CONFIDENCE else UNKNOWN


def looks_english(words: Sequence[str]) -> bool:
    """Return whether one word in seven is one of the function words that English alone has."""
    return sum(map(_ENGLISH.__contains__, words)) >= _ENGLISH_SHARE * len(words) > 0


def is_other_language(tweet: ReadText, reply: ReadText) -> bool:
    """Return whether a reply is certainly in another language than its tweet.

    False where either language cannot be told, and for English slang that has its share of function words.

    Raises:
        MissingDependencyError: py3langid is not installed.
    """
    english = looks_english(reply.words)
    if english and looks_english(tweet.words):
        return False
    scripts = script(tweet.prose), script(reply.prose)
    if UNKNOWN not in scripts and scripts[0] != scripts[1]:
        return True
    found = "en" if english else language(reply.prose)
    return found != UNKNOWN and tweet_language(tweet.prose) not in (UNKNOWN, found)


tweet_language = functools.lru_cache(maxsize=4096)(language)
"""`language`, remembered: a tweet is scored with many replies."""
