"""What gives a reply away: words of the prompt, holes of a template, orders to a judge, advertising, abuse.

All patterns are English and match whole words of a reply in lower case. They are a floor: who is rude in other
words, or sells something politely, is not caught here.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from pixelis.rewards.tweet.reading import ReadText


@dataclass(frozen=True)
class Lookout:
    """Patterns, and words of which a text has one whenever a pattern matches.

    Searching for words first makes it many times faster: most replies have none of them.

    Attributes:
        signs: the words, and single characters.
        patterns: what is searched for if there is one.
    """

    signs: frozenset[str]
    patterns: tuple[regex.Pattern[str], ...]

    def finds(self, text: ReadText) -> bool:
        """Return whether a pattern matches a text."""
        return self._may_match(text) and any(pattern.search(text.lower) for pattern in self.patterns)

    def found(self, text: ReadText) -> set[str]:
        """Return the different strings of a text that match."""
        if not self._may_match(text):
            return set()
        return {match.group() for pattern in self.patterns for match in pattern.finditer(text.lower)}

    def _may_match(self, text: ReadText) -> bool:
        return not (self.signs.isdisjoint(text.tokens) and self.signs.isdisjoint(text.lower))


def _signs(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SPACES = regex.compile(r"\s+")


def _any(*alternatives: str) -> regex.Pattern[str]:
    """Return a pattern of which one alternative matches as whole words; a space stands for any white space."""
    joined = "|".join(_SPACES.sub(r"\\s+", alternative) for alternative in alternatives)
    return regex.compile(rf"(?<![\w'])(?:{joined})(?![\w'])")


_ASK = "(?:tweet|post|reply|replies|response|comment)"
PROMPT_LEAK = Lookout(
    _signs(
        """
        < [ ` # : here here's below these sure certainly course absolutely okay ok ai language artificial generate create write
        fulfil fulfill assist help comply provide prompt instructions guidelines programming training cutoff compose craft draft
        assistant chatbot media model reply response respond replying responding feel let would count limit
        """
    ),
    (
        # Marks of a chat template or of a Markdown answer.
        regex.compile(
            r"<\|?/?\s*(?:im_start|im_end|endoftext|eot_id|system|user|assistant|end_of_turn|start_of_turn|s|think|"
            r"answer|reply|tool_call|unk|pad|inst)\s*\|?>|\[/?inst\]|<<\s*/?sys\s*>>|```|^#{2,}\s*\w"
        ),
        # A role or a field with a colon at the beginning of the text or of a line.
        regex.compile(
            r"(?:^|\n|[*_\"'(\[])\s*(?:\d+[.)]\s*)?[*_]*(?:user|human|assistant|system|ai|bot|prompt|instructions?|input|"
            r"output|context|task|original tweet|tweet|original post|(?:my |your |the |suggested |possible |draft |final )*"
            r"(?:reply|response|answer)(?: (?:tweet|option|\d+|#\d+))?|option (?:\d|[a-d]))[*_]*\s*:"
        ),
        _any(
            rf"(?:here(?:'s| is| are)|below (?:is|are)|these are) (?:a|an|my|the|your|some|one|two|three|four|five|\d)?\s*"
            rf"(?:\w+ ){{0,4}}{_ASK}(?: (?:to|for|that|you))?",
            r"(?:sure|certainly|of course|absolutely|okay|ok)[!,.]+ (?:i'd be happy to|i can help|here(?:'s| is| are)|"
            r"i'll (?:write|draft|reply)|let me (?:write|draft|craft))",
            r"as an? (?:ai|artificial intelligence|large language|language)(?: language)?(?: model| assistant)?",
            r"i'm (?:just )?an? (?:ai|language model|large language model)(?: (?:model|assistant|language model))?",
            r"i (?:cannot|can't|can not|am unable to|'m unable to) (?:generate|create|write|fulfil|fulfill|assist with|"
            r"help with|comply|provide) (?:this|that|a|an|any|content|your|the)",
            r"(?:system prompt|my (?:instructions|guidelines|programming|training data)|my knowledge cutoff)",
            rf"(?:write|generate|compose|craft|draft|provide) (?:a|an|the|your|one) (?:\w+,? ){{0,4}}{_ASK}"
            rf"(?: (?:to|for|that|in) .*)?",
            r"you are (?:a|an) (?:\w+ ){0,3}(?:assistant|chatbot|social media (?:user|manager|expert)|model)",
            r"(?:this|the) (?:reply|response) (?:is|aims|was|shows|acknowledges|adds|expresses|conveys|engages|keeps|"
            r"maintains|uses|demonstrates)(?: \w+)?",
            r"(?:reply|respond|replying|responding) (?:to (?:this|the) (?:tweet|post)|with (?:a|an|one) \w+ (?:tweet|reply))",
            r"(?:let me know if you(?:'d| would) like|would you like me to|feel free to (?:edit|adjust|modify|customi[sz]e))"
            r"[^.!?]*(?:reply|response|version|tone|tweet|changes|adjust|revise|another|edit|shorter)?",
            r"(?:word|character) (?:count|limit)\s*:?\s*\d*",
        ),
    ),
)
"""A reply that shows what the policy was asked rather than what it has to say."""

NUMBERED = regex.compile(r"(?:^|\s|\n)\(?([1-9]|[a-d])[.):]\s+\S")
"""A numbered candidate."""

TEMPLATE = Lookout(
    _signs(
        """
        { < $ % [ _ lorem @
        """
    ),
    (
        regex.compile(
            r"\{\{?[^{}]{1,40}\}?\}|<(?!3)[a-z][a-z _/-]{1,30}>|\$\{|%\([a-z_]+\)s|"
            r"\[(?:insert|your|name|username|user|author|topic|link|url|emoji|hashtag|city|company|product|date|"
            r"x|placeholder|specific|add|mention|handle|brand)(?:[ _'’/-][^\]]{0,40})?\]|__+\w*|lorem ipsum"
        ),
        regex.compile(r"(?<![\w/.])@(?:username|user|handle|author|mention|yourname|name)(?!\w)"),
    ),
)
"""Holes that were never filled."""

INJECTION = Lookout(
    _signs(
        """
        ignore disregard forget override bypass skip score rating reward grade rate mark marks points reply response answer
        comment evaluation verdict label judge grader evaluator rater reviewer classifier moderator judges graders evaluators
        raters reviewers classifiers moderators mode dan system developer admin instructions instruction end
        """
    ),
    (
        _any(
            r"(?:ignore|disregard|forget|override|bypass|skip) (?:\w+ ){0,3}(?:instructions?|prompts?|rules?|guidelines|rubric|"
            r"criteria|context|above|directions)",
            r"(?:give|assign|award|grant|rate|score|grade|mark|return|output|set) (?:\w+ ){0,5}(?:(?:full|maximum|max|top|highest|"
            r"perfect|best)(?: possible)? (?:score|marks?|rating|reward|grade|points?)|(?:score|rating|reward|grade) (?:of|to|as|=|is) "
            r"\S+)",
            r"(?:rate|score|grade|mark) (?:this|it|me|my|the)(?: \w+)? (?:as |a |an |at |with )*(?:\d+(?:\.\d+)?(?:\s*/\s*\d+)?|perfect|"
            r"excellent|correct|good|high|best)",
            r"(?:reply|response|answer|comment|reward|evaluation) (?:\w+ ){0,3}(?:should|must|deserves?|gets?|receives?|earns?) (?:\w+ ){0,6}"
            r"(?:score|rating|reward|\d+/\d+|marks|grade|points|rated|scored)",
            r"(?:score|reward|rating|grade|verdict|label)\s*[:=]\s*(?:\d|max|perfect|excellent|good|positive|pass)\S*",
            r"(?:dear|attention|note to|to|hey|hello|important:?|as)(?: the| an?)? (?:judge|grader|evaluator|reward model|rater|"
            r"reviewer|classifier|moderator)s?",
            r"you are (?:now )?(?:a|an|the|in) (?:\w+ ){0,3}(?:judge|grader|evaluator|reward model|rater|developer mode|dan)",
            r"(?:system|developer|admin) (?:override|message|note|prompt|instruction|mode)",
            r"(?:high[- ]quality|relevant|helpful|engaging|perfect) (?:reply|response)(?: \w+){0,3} (?:score|rating|reward)",
            r"(?:new|updated|following|hidden|secret) instructions?",
            r"end of (?:tweet|reply|response|prompt|instructions|input|conversation)",
        ),
    ),
)
"""Words to whoever scores the reply instead of to the author."""

SPAM_STRONG = Lookout(
    _signs(
        """
        bio profile description my follow back f4f l4l s4s sub4sub follow4follow followback subscribe dm message text contact
        whatsapp telegram inbox reach hit add $ € £ made make money cash income earn earning making code passive freedom
        guaranteed double work risk free exclusive buy get order shop act join sign register download apply claim % limited
        limited-time supplies stocks stock spots offer offers bit wa t grow boost gain increase click 10x 50x 100x 1000x
        """
    ),
    (
        _any(
            r"(?:link|links|details|info|it) (?:is |are |'s )?in (?:my |the )?(?:bio|profile|description)",
            r"(?:check|see|visit|click|tap|look at|view) (?:out )?(?:on )?my (?:\w+ ){0,2}(?:bio|profile|page|link|links|channel|store|shop|"
            r"website|site|pinned(?: \w+)?|course|newsletter|onlyfans|stream|soundcloud|mixtape|etsy)",
            r"(?:follow|f4f|l4l|s4s|sub4sub|follow4follow) (?:for follow|back|4 follow|train)|f4f|l4l|sub4sub|follow ?back",
            r"(?:follow|subscribe to|dm|message|text|contact|whatsapp|telegram|inbox|reach out to|hit up|add) (?:me|us|@\w+|my \w+)"
            r"(?: (?:now|today|asap|directly|here))? (?:for|to (?:learn|get|earn|start|claim|join|make|find|receive)|and (?:i|we|get|earn|make))",
            r"(?:i|she|he|they|my \w+) (?:made|make|earn|earned|earns|makes) (?:over )?[$€£]\s?\d[\d,.]*k? (?:\w+ ){0,3}(?:a|an|per|every|in(?: just)?|"
            r"each|from|last|working|with) ?\w*",
            r"(?:earn|make|win|claim|get|receive) (?:up to |an extra |over |your )?[$€£]\s?\d[\d,.]*k?",
            r"(?:make|earn|earning|making) (?:\w+ ){0,2}(?:money|cash|income) (?:online|fast|from home|easily|now|today|daily)",
            r"(?:use|with|enter|apply) (?:my )?(?:promo |discount |referral |coupon )*code\b",
            r"(?:passive income|financial freedom|guaranteed (?:returns?|profits?|income)|double your (?:money|bitcoin|btc|crypto|investment)|"
            r"work from home (?:and|job|opportunity)|risk[- ]free (?:investment|trading|returns?|profit))",
            r"(?:free|exclusive) (?:crypto|bitcoin|btc|eth|nft|nfts|iphone|iphones|followers|gift ?cards?|money|robux|v-?bucks|tokens?|airdrop)",
            r"(?:buy|get|order|shop|act|join|sign up|register|subscribe|download|apply|claim yours|claim) (?:it )?(?:now|today)"
            r"(?: (?:and|before|while|for|at|with) .*)?",
            r"(?:\d+|up to \d+)\s?% (?:off|discount|cashback|returns?|profit)",
            r"(?:1000|100|50|10)x (?:gem|gains?|returns?|coin|token|profit|your)",
            r"limited[- ](?:time|spots?|offer|stock)|while (?:stocks?|supplies|spots) last|(?:spots|offer|offers) (?:is |are )?(?:limited|ends?)",
            r"t\.me/\S+|wa\.me/\S+|bit\.ly/\S+",
            r"(?:grow|boost|gain|increase) your (?:\w+ )?(?:followers|audience|following|instagram|twitter|account|sales|income|engagement)",
            r"click (?:here|the link|this link|below|link)",
        ),
    ),
)
SPAM_WEAK = Lookout(
    _signs(
        """
        giveaway airdrop presale crypto bitcoin btc nft nfts forex signal signals onlyfans whatsapp telegram promo discount dm dms
        follow subscribe sign free webinar masterclass invest investing investment investor investors trader traders trading
        profit profits ebook coupon sponsor sponsored affiliate my we best sale order our
        """
    ),
    (
        _any(
            r"giveaway|airdrop|presale|crypto|bitcoin|btc|nfts?|forex|signals?|onlyfans|whatsapp|telegram|promo|discount|"
            r"dm me|dms? open|dm for|dm to|follow me|subscribe|sign up|free trial|free shipping|webinar|masterclass|invest(?:ing|ment|or)?|"
            r"traders?|trading|profits?|investors?|ebook|coupon|sponsor(?:ed)?|affiliate|my (?:shop|store|channel|newsletter|course|agency|startup|app|"
            r"product|tool|link|mentor|broker|ebook|website)|we (?:offer|sell|help businesses)|best prices?|for sale|order yours|our (?:app|"
            r"product|tool|platform|service|services|team can|shop|store|agency|website)"
        ),
    ),
)
"""Advertising: one strong pattern is spam, and so are two weak ones that the tweet does not have."""

_INSULT = (
    r"(?:idiots?|morons?|imbeciles?|dumb(?:ass|est)?|stupid(?:est)?|losers?|clowns?|pathetic|trash|garbage|scum|pigs?|worthless|"
    r"disgusting|brain-?dead|brainless|retarded|ugly|fat|lazy|ignorant|delusional|embarrassing|embarrassment|jokes?|fools?|fraud|"
    r"assholes?|bastards?|bitch(?:es)?|dipshit|dickheads?|twats?|wankers?|cunts?|pricks?|scumbags?|psycho|lunatics?|nutjobs?|"
    r"snowflakes?|cowards?|creeps?|weirdos?|liars?|crybab(?:y|ies)|talentless|illiterate|clueless|insufferable|hack)"
)
_HEATED = r"(?:\w+ ){0,3}?"
_THING = r"(?:take|tweet|post|thing|opinion|idea|thread|question|advice|comment|nonsense|bullshit|crap|drivel|garbage)"
ABUSE = Lookout(
    _signs(
        """
        idiot idiots moron morons imbecile imbeciles dumb dumbass dumbest stupid stupidest loser losers clown clowns pathetic
        trash garbage scum pig pigs worthless disgusting brain dead braindead brainless retarded ugly fat lazy ignorant delusional
        embarrassing embarrassment joke jokes fool fools fraud asshole assholes bastard bastards bitch bitches dipshit dickhead
        dickheads twat twats wanker wankers cunt cunts prick pricks scumbag scumbags psycho lunatic lunatics nutjob nutjobs
        snowflake snowflakes coward cowards creep creeps weirdo weirdos liar liars crybaby crybabies talentless illiterate
        clueless insufferable hack moronic idiotic dogshit terrible horrible useless cringe shit shitty laughable worst
        ridiculous boring shut stfu gtfo kys kill hell die fuck cry piss screw life lost grip yourself delete log grow cope suck
        whining crying complaining bitching asked ask cares care damn wants people someone anyone cell cells iq
        wrong clue talent shame friends nothing disgust sick deserve deserved ashamed quit fault idea off more
        """
    ),
    (
        _any(
            rf"(?:you|you people|u|y'all|ya)(?:'re| are|r| r| were|'ve always been) (?!not\b|never\b|no\b){_HEATED}{_INSULT}",
            rf"(?:your|ur) (?:an? |so |such |just |a total |a complete |such an? )+{_INSULT}",
            rf"(?:youre|ur|you) (?:an? |so |such an? |just an? )?(?:fucking |total |complete |absolute |stupid |dumb |utter )*{_INSULT}",
            r"(?:what|such) an? (?:fucking |total |complete |absolute |utter |massive )*(?:idiot|moron|loser|clown|dumbass|imbecile|fool|"
            r"crybaby|asshole|pathetic \w+|snowflake)",
            rf"(?:dumb|stupid|moronic|idiotic|braindead|brain-dead|pathetic|garbage|trash|worthless|dogshit|terrible|horrible|useless|"
            rf"cringe|shit|shitty|ignorant|laughable) (?:ass |fucking )?{_THING}",
            rf"(?:dumbest|stupidest|worst|most (?:stupid|idiotic|pathetic|ridiculous|ignorant|embarrassing|boring|useless)) {_HEATED}{_THING}"
            rf"(?: \w+){{0,3}} (?:i've|i have|ever|today|all day|all week|this week)(?: \w+)*",
            r"(?:shut (?:the (?:fuck|hell) )?up|stfu|gtfo|kys|kill yourself|go (?:to hell|die|fuck yourself|kill yourself|cry(?: about it| more)?)|"
            r"drop dead|fuck (?:you|off|u)|piss off|screw you|get (?:a life|lost|a grip|over yourself)|die in a fire|eat shit|"
            r"delete (?:this|your account|ur account)|log off(?: forever)?|grow up|cry more|cope harder|suck it up|stop (?:whining|crying|"
            r"complaining|bitching|embarrassing yourself|being such an? \w+)|quit (?:whining|crying|your whining))",
            r"(?:no ?one|nobody|literally no ?one|who) (?:asked|cares?|gives a (?:shit|fuck|damn)|wants to hear(?: this| it| that)?)(?: (?:about )?(?:you|u|your|this|for|"
            r"what you)[^.!?]*)?(?=\s*(?:[.!?,…]|$|\p{So}))",
            rf"(?:imagine|it's|how) (?:being |embarrassing to be |can you be |can (?:someone|anyone) be )(?:this|that|so) {_INSULT}",
            r"(?:people|someone|anyone|idiots|morons|losers|clowns) like you",
            r"(?:with|have|having|only has) (?:a |half a |two |no )?(?:brain cells?|iq of \w+|room temperature iq)|what(?:'s| is) wrong with you",
            r"you (?:clearly |obviously |honestly |really |seriously )?(?:have no (?:idea|clue|brain|life|talent|shame|friends)|know nothing|"
            r"disgust me|make me sick|deserve (?:it|this|that|to (?:die|suffer|fail|lose|be)\b.*)|should (?:be ashamed|quit|die)|suck|deserved (?:it|this|that))",
            r"(?:it's|its|that's|this is) your (?:own )?(?:damn |stupid )?fault",
        ),
    ),
)
"""Contempt for the author or for what they said. Swearing that is aimed at nobody is not abuse."""
