"""Whether a post tells of bad news: words of misfortune, read with what stands around them."""

from __future__ import annotations

import regex

from pixelis.rewards.tweet.lexicon import HARDSHIP
from pixelis.rewards.tweet.reading import ReadText

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
_PASSED_AWAY = regex.compile(
    rf"\bpassed (?:away|peacefully|in (?:his|her|their) sleep)\b|"
    rf"\b{_SOMEBODY}(?:'s)?(?: (?:has|have|had|just|also|sadly|recently|suddenly|finally|quietly|"
    rf"unexpectedly|both)){{0,3}} passed(?=\s+{_WHEN}\b|\s*(?:[.,;:!?…)]|$|\n)| and )"
)
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
    if not HARDSHIP.isdisjoint(tweet.word_set):
        return True
    return "passed" in tweet.word_set and says_passed_away(tweet.lower)


def says_passed_away(text: str) -> bool:
    """Return whether "passed" means a death in a text in lower case."""
    match = _PASSED_AWAY.search(text)
    return match is not None and (match[0].startswith("passed") or _EXAMINED.search(text) is None)
