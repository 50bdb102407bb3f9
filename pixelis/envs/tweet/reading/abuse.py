"""Contempt for the author or for what they said. Swearing that is aimed at nobody is not abuse.

English, and a floor: who is rude in other words is not caught here.
"""

from __future__ import annotations

import re

from pixelis.envs.tweet.reading.prefiltered import PrefilteredPatterns, phrases, signs
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reading.slurs import has_slur

_NOUN = (
    r"(?:idiots?|morons?|imbeciles?|dumbass|losers?|clowns?|scum|pigs?|fools?|fraud|assholes?|bastards?|"
    r"bitch(?:es)?|dipshit|"
    r"dickheads?|twats?|wankers?|cunts?|pricks?|scumbags?|psycho|lunatics?|nutjobs?|snowflakes?|cowards?|"
    r"creeps?|weirdos?|liars?|"
    r"crybab(?:y|ies)|hack|embarrassment|waste of (?:space|oxygen|air)|"
    # Of people in any mood; the words that VADER's raters call negative (MIT) were gone through for them.
    r"(?:half|dim|nit)wits?|twits?|dunces?|numbskulls?|blockheads?|boneheads?|airheads?|cretins?|simpletons?|"
    r"dullards?|buffoons?|ignoramus(?:es)?|jackass(?:es)?|douchebags?|arseholes?|tossers?|lowlifes?|"
    r"degenerates?|parasites?|leech(?:es)?|vermin|hypocrites?|weaklings?|wimps?|deadbeats?|"
    r"disgrace|laughing stock|drama queens?)"
)
_QUALITY = (
    r"(?:dumb|stupid|pathetic|trash|garbage|worthless|disgusting|brain-?dead|brainless|retarded|ugly|fat|"
    r"ignorant|delusional|"
    r"embarrassing|talentless|illiterate|clueless|insufferable|moronic|idiotic|annoying)"
)
_INSULT = rf"(?:{_NOUN}|{_QUALITY})"
_THING = r"(?:take|tweet|post|thing|opinion|idea|thread|advice|comment|nonsense|bullshit|crap|drivel|garbage)"
_SEEN = r"(?:i've|i have|ever|today|all day|all week|this week)(?: \w+)*"
PATTERNS = PrefilteredPatterns(
    signs(
        """
        idiot idiots moron morons imbecile imbeciles dumb dumbass dumbest stupid stupidest loser
        losers clown clowns pathetic trash garbage scum pig pigs worthless disgusting brain
        braindead brainless retarded ugly fat ignorant delusional embarrassing embarrassment fool
        fools fraud asshole assholes bastard bastards bitch bitches bitching dipshit dickhead
        dickheads twat twats wanker wankers cunt cunts prick pricks scumbag scumbags psycho lunatic
        lunatics nutjob nutjobs snowflake snowflakes coward cowards creep creeps weirdo weirdos liar
        liars crybaby crybabies talentless illiterate clueless insufferable annoying hack waste
        moronic idiotic dogshit shit shitty worst ridiculous boring useless cringe laughable
        terrible horrible shut stfu gtfo kys kill hell die dies suffer suffers fails dead fuck cry
        crying piss screw life lost yourself delete log cope harder whining complaining asked ask
        cares care damn people iq cell cells wrong clue shame talent friends disgust sick deserve
        deserved ashamed suck fault know
        halfwit halfwits dimwit dimwits nitwit nitwits twit twits dunce dunces numbskull numbskulls blockhead
        blockheads bonehead boneheads airhead airheads cretin cretins simpleton simpletons dullard dullards
        buffoon buffoons ignoramus jackass jackasses douchebag douchebags arsehole arseholes tosser tossers
        lowlife lowlifes degenerate degenerates parasite parasites leech leeches vermin hypocrite hypocrites
        weakling weaklings wimp wimps deadbeat deadbeats disgrace stock queen queens
        """
    ),
    (
        phrases(
            rf"(?:you|you people|u|y'all|ya)(?:'re| are|r| r| were|'ve always been| must be)(?! not| never|"
            rf" no)(?: \w+){{0,3}}? {_INSULT}",
            rf"(?:your|ur) (?:\w+ )?(?:is|are) (?:so |just |really )?{_QUALITY}(?: and so are you)?",
            rf"(?:your|ur|youre|you) (?:(?:an?|so|such|just|total|complete|absolute|utter|fucking|stupid|"
            rf"dumb) )*{_NOUN}",
            rf"(?:what|such|typical|another) (?:an? )?(?:(?:fucking|total|complete|absolute|utter|"
            rf"massive) )*(?:idiot|moron|loser|"
            rf"dumbass|imbecile|crybaby|asshole|snowflake|stupid {_NOUN}|pathetic (?:{_NOUN}|excuse|"
            rf"little \w+))",
            rf"(?:dumb|stupid|moronic|idiotic|brain-?dead|pathetic|garbage|trash|worthless|dogshit|shit|"
            rf"shitty|ignorant) "
            rf"(?:ass |fucking )?{_THING}(?! (?:i|we|to me|my)\b)",
            r"(?:terrible|horrible|useless|cringe|laughable) (?:take|tweet|opinion)",
            rf"(?:dumbest|stupidest|worst|most (?:stupid|idiotic|pathetic|ridiculous|ignorant|embarrassing|"
            rf"boring|useless)) "
            rf"(?:\w+ ){{0,3}}?{_THING}(?: \w+){{0,3}}? {_SEEN}",
            rf"(?:you|u|ya) (?:\w+ )?(?:sound|look|come across|seem|act|behave|talk|write|read)"
            rf"(?: \w+){{0,4}}? {_INSULT}",
            rf"only (?:an? )?(?:\w+ ){{0,2}}?{_INSULT} (?:would|could|like you|writes?|thinks?|says?)",
            rf"you [^.!?;]*, (?:you )?(?:\w+ )?{_NOUN}(?=\s*(?:[.!?…]|$))",
            r"(?:every|the|our|this) village (?:needs|has|lost|is missing) (?:its|an) idiot",
            rf"how {_INSULT} (?:can|could|do|are|must|is) (?:you|u|someone|anyone|somebody|people|one|"
            rf"this \w+)",
            rf"(?:imagine being|how embarrassing to be|can (?:you|someone|anyone) be) (?:this|that|"
            rf"so) {_INSULT}",
            r"(?:shut (?:the (?:fuck|hell) )?up|stfu|gtfo|kys|kill yourself|drop dead|fuck (?:you|off|u)|"
            r"piss off|screw you|eat shit|"
            r"die in a fire|get (?:a (?:real )?life|lost|over yourself)|delete (?:your|ur) account|"
            r"log off forever|cry more|cope "
            r"harder|go (?:to hell|die|cry(?: about it| more)?|f\S* yourself)|stop (?:whining|crying|"
            r"complaining|bitching|"
            r"embarrassing yourself|being such an? \w+)|quit (?:your )?(?:whining|crying|bitching))",
            r"(?:no ?one|nobody|who) (?:asked|cares?|gives a (?:shit|fuck|damn))(?: (?:about )?(?:you|u|"
            r"your|this|for this|what you)"
            r"[^.!?]*)?(?=\s*(?:[.!?,…]|$|\p{So}))",
            r"(?:people|losers|idiots|morons|clowns|scum) like you|(?:hope|wish) (?:you|"
            r"your \w+) (?:\w+ )?(?:dies?|suffers?|fails?)",
            r"(?:with|have|having|only has) (?:a |half a |two |no )?(?:brain cells?|iq of \w+|"
            r"room temperature iq)|what(?:'s| is) wrong "
            r"with you",
            r"you (?:(?:clearly|obviously|honestly|really|seriously) )?(?:have no (?:clue|brain|life|"
            r"talent|shame|friends)|know nothing|"
            r"disgust me|make me sick|deserved? (?:it|to (?:die|suffer|fail|lose)\b.*)|"
            r"should (?:be ashamed|die)|suck)",
            r"(?:it's|its|that's|this is) your (?:own )?(?:damn |stupid )?fault|waste of (?:space|oxygen)",
        ),
    ),
)


_SOMEBODY = signs(
    """
    you your yours yourself you're youre you've you'd you'll u ur y'all ya people person someone somebody
    anyone anybody whoever who nobody one everyone
    """
)
_OTHERS = re.compile(
    r"\byour (?:ex|landlords?|landlady|boss|bosses|manager|employer|company|bank|airline|insurer|insurance|"
    r"government|council|neighbou?rs?)\b"
)
_OF_ONESELF = re.compile(
    r"\b(?:i['’]?m|i am|i was|i feel like|i felt like|am i|was i)(?: just| really)? such an? \w+",
    re.IGNORECASE,
)


def speaks_of_somebody(reply: ReadText) -> bool:
    """Return whether a reply has a word for whom it speaks to, or for people in general.

    Hard words about the author's landlord or boss are on the author's side.
    """
    return not _SOMEBODY.isdisjoint(_on_the_authors_side(reply).word_set)


def _on_the_authors_side(reply: ReadText) -> ReadText:
    """Return the reply without the author's landlord and the like, whoever they are to blame."""
    if "your" in reply.word_set and _OTHERS.search(reply.lower):
        return ReadText(_OTHERS.sub(" ", reply.lower))
    return reply


def is_abusive(reply: ReadText) -> bool:
    """Return whether a reply insults, threatens or silences someone, or has a slur."""
    if has_slur(reply):
        return True
    reply = _on_the_authors_side(reply)
    if _OF_ONESELF.search(reply.lower):
        reply = ReadText(_OF_ONESELF.sub(" ", reply.plain))
    return PATTERNS.finds(reply)
