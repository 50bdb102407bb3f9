"""Whether a post tells of bad news: words of misfortune, read with what stands around them."""

from __future__ import annotations

import regex

from pixelis.envs.tweet.reading.lexicon import HARDSHIP
from pixelis.envs.tweet.reading.reading import ReadText

_SOMEBODY = (
    r"(?:he|she|they|who|mom|mum|mommy|mummy|mama|mother|dad|daddy|papa|father|parents?|(?:grand|great-?grand|"
    r"god|step)(?:ma|pa|mother|father|parents?|dad|mum|mom|son|daughter|child)|gran|granny|grandpa|nan|nana|"
    r"nanna|wife|"
    r"husband|partner|fianc[ée]e?|son|daughter|baby|child|twin|brother|sister|sibling|uncle|aunt|auntie|"
    r"cousin|nephew|niece|friend|neighbou?r|colleague|mentor|teacher|coach|boss|dog|puppy|cat|kitten|horse|"
    r"pony|rabbit|hamster|parrot|bird|pet|boy|girl|man|woman|guy|lady)"
)
_WHEN = (
    r"(?:away|peacefully|suddenly|quietly|unexpectedly|too|last|this|yesterday|today|tonight|earlier|"
    r"recently|on (?:the \d|\w+day|christmas|new year)|at (?:home|the (?:hospital|hospice|vet))|at \d|before|"
    r"after|from|in \w+(?= \d|[.,;!?…]|$)|due|when|while|two|three|four|five|six|seven|eight|nine|ten|\d+|"
    r"a (?:few|year|month|week|day)|years|months|weeks)"
)
_PASSED_AWAY = regex.compile(r"\bpassed (?:away|peacefully|in (?:his|her|their) sleep)\b")
_SOMEBODY_PASSED = regex.compile(
    rf"\b{_SOMEBODY}(?:'s)?(?: (?:has|have|had|just|also|sadly|recently|suddenly|finally|quietly|"
    rf"unexpectedly|both)){{0,3}} passed(?=\s+{_WHEN}\b|\s*(?:[.,;:!?…)]|$|\n)| and )"
)
_DEATH = frozenset(("died", "funeral", "hospice", "euthanised", "euthanized"))
_EXAMINED = regex.compile(
    r"\b(?:exams?|examiners?|finals|viva|defen[cs]e|tests?|quiz|bar|boards|driving|licen[cs]e|course|class|"
    r"degree|thesis|dissertation|interview|audit|inspection|module|semester|grades?|certification|"
    r"certificate|assessment|probation|auditions?|level|trials?)\b"
)


def names_hardship(tweet: ReadText) -> bool:
    """Return whether a post has a word of `HARDSHIP`, or says that somebody passed away.

    "Passed" alone is no bad news: it is read as a death with "away" or the like, or when a person or an
    animal passed and nothing is named that is passed by examination.
    """
    return not HARDSHIP.isdisjoint(tweet.word_set) or _says_passed_away(tweet)


def names_death(tweet: ReadText) -> bool:
    """Return whether a post says that somebody died, which no kind word in it makes good news."""
    return not _DEATH.isdisjoint(tweet.word_set) or _says_passed_away(tweet)


def _says_passed_away(tweet: ReadText) -> bool:
    if "passed" not in tweet.word_set:
        return False
    text = tweet.lower
    somebody = _SOMEBODY_PASSED.search(text) is not None and _EXAMINED.search(text) is None
    return somebody or _PASSED_AWAY.search(text) is not None
