"""What gives a reply away: words of the prompt, holes of a template, orders to a judge, advertising.

All patterns are English and match whole words of a reply in lower case. They are a floor: who sells something
in other words is not caught here.
"""

from __future__ import annotations

from pixelis.envs.tweet.reading.prefiltered import PrefilteredPatterns, phrases, signs

_FIELD = (
    r"(?:user|human|assistant|system|ai|bot|prompt|instructions?|input|output|context|task|"
    r"(?:original )?(?:tweet|post)|"
    r"(?:(?:my|your|the|suggested|possible|draft|final) )*(?:reply|replies|response|responses|answer)"
    r"(?: (?:tweet|option|#?\d+))?|option (?:\d|[a-d]))"
)
PROMPT_LEAK = PrefilteredPatterns(
    signs(
        """
        " < [ ` # : ( here here's below these sure certainly course absolutely okay ok ai language
        artificial generate create write fulfil fulfill assist help comply provide prompt
        instructions guidelines programming cutoff compose craft draft assistant chatbot model reply
        response respond replying responding feel let would count limit user user's final draft
        possible suggested candidate system human
        """
    ),
    (
        # Marks of a chat template, of a Markdown answer or of a numbered list of candidates.
        (
            r"(?s)<\|?/?\s*(?:im_start|im_end|endoftext|eot_id|system|user|assistant|end_of_turn|start_of_turn|"
            r"s|think|answer|reply|tool_call|unk|pad|inst)\s*\|?>|\[/?inst\]|"
            r"<<\s*/?sys\s*>>|```|^#{2,}\s*\w|"
            r"(?:^|[\s:])(?:1[.)]|a\))\s*\".*\s(?:2[.)]|b\))\s*\""
        ),
        # The name of a role or field at the beginning of a line.
        rf"(?:^|\n)[\s*_\"'(-]*(?:\d+[.)]\s*)?(?:[*_\"'(]*{_FIELD}[*_]*\s*:|\[{_FIELD}\])",
        r"(?:^|\n)\s*(?:assistant|user|system|human)\s*(?:\n|$)",
        # An announcement, and then the reply.
        (
            r"^\W*(?:(?:sure|certainly|of course|absolutely|okay|ok)\W+)?here(?:'s| is| are) "
            r"(?:a|an|one|my|some|two|three) (?:\w+ ){0,3}(?:reply|replies|response|responses)\s*"
            r"(?:[.!:\n]|$)"
        ),
        phrases(
            r"(?:here(?:'s| is| are)|below (?:is|are)|these are) (?:\w+ ){0,5}?(?:reply|replies|response|"
            r"responses)"
            r"(?: (?:to|for) (?:the|this|your|that)| (?:that|you) (?:could|can|might|is|are)|(?=\s*:))",
            r"(?:here(?:'s| is| are)|below (?:is|are)) (?:\w+ ){0,5}?(?:tweet|post|comment|tweets|posts|"
            r"comments)(?=\s*:)",
            r"(?:sure|certainly|of course|absolutely|okay|ok)[!,.]+ (?:i'd be happy to|i can help|"
            r"here(?:'s| is| are)(?= (?:a|an|the|my|your|some|one|two|three|\d)\b|\s*:)|"
            r"i'll (?:write|draft|reply)|let me (?:write|draft|craft))",
            r"i(?:'d| would) be (?:happy|glad) to (?:help|assist)",
            r"as an? (?:ai|artificial intelligence)(?=\s*,|\s+(?:i|it|my)\b)",
            r"(?:as|i'm|i am) (?:just )?an? (?:(?:ai|large|artificial intelligence) )*(?:language model|"
            r"assistant|chatbot)",
            r"(?:as|i'm|i am) (?:just )?an? ai (?:model|system|assistant|bot)",
            r"(?:as|i'm|i am) (?:just )?(?:an?|your) (?:(?:ai|helpful|friendly|virtual|digital|"
            r"supportive|social media) )+(?:assistant|bot|chatbot|model)",
            r"i (?:cannot|can't|can not|am unable to|'m unable to) (?:generate|create|write|fulfil|fulfill|"
            r"assist with|help "
            r"with|comply with|provide) (?:this|that|a|an|any|content|your|the)",
            r"(?:system prompt|my (?:instructions|guidelines|programming)|my knowledge cutoff)",
            r"(?:write|generate|compose|craft|draft) (?:a|an|the|your|one|my) (?:\w+,? ){0,4}(?:reply|"
            r"response|tweet)",
            r"you are an? (?:\w+ ){0,3}(?:assistant|chatbot|language model|social media (?:user|manager|"
            r"expert))",
            r"(?:this|the|my) (?:reply|response) (?:aims to|is (?:under|within|short|engaging|friendly|"
            r"relevant|concise)|"
            r"acknowledges|adds|expresses|conveys|engages|maintains|demonstrates|shows (?:empathy|support|"
            r"interest))",
            r"(?:reply|respond) to (?:this|the|following) (?:following )?(?:tweet|post)|reply in a \w+ tone",
            r"(?:let me know if you(?:'d| would) like|would you like me to|feel free to (?:edit|adjust|"
            r"modify|customi[sz]e))"
            r"[^.!?]{0,40} (?:reply|response|version|tone|tweet|wording)",
            r"the user(?:'s)? (?:\w+ ){0,2}(?:wants?|asks?|asked|is asking|needs|requests?|requested|tweet|"
            r"post|said)",
            r"(?:final|draft|suggested|candidate) (?:answer|reply|response)s?(?=\s*:)|possible (?:replies|"
            r"responses)(?=\s*:)",
            r"(?:i|we) (?:need|have|should|must) (?:to )?(?:write|craft|compose|generate|draft) (?:a|an|"
            r"the|my) (?:\w+ ){0,3}"
            r"(?:reply|response|tweet)",
            r"(?:word|character) (?:count|limit)(?=\s*:)|under \d+ (?:characters|words)\)",
        ),
    ),
)
"""A reply that shows what the policy was asked rather than what it has to say."""

TEMPLATE = PrefilteredPatterns(
    signs("{ < $ % [ _ @ lorem"),
    (
        (
            r"\{\{?[^{}]{1,40}\}?\}|<(?!3)[a-z][a-z _/-]{1,30}>|\$\{|%\([a-z_]+\)s|_{3,}|lorem ipsum|"
            r"\[(?:insert|your|name|first name|username|user|author|topic|subject|link|url|emoji|hashtag|"
            r"city|company|product|"
            r"date|x|placeholder|specific|add|mention|handle|brand|adjective|noun|"
            r"something)(?:[ _'’/-][^\]]{0,40})?\]"
        ),
        r"(?<![\w/.])@(?:username|user|handle|author|mention|yourname|name)(?!\w)",
    ),
)
"""Holes that were never filled."""

_TOP = (
    r"(?:full|maximum|max|top|highest|perfect|best)(?: possible)? "
    r"(?:score|marks?|rating|reward|grade|points?)"
)
INJECTION = PrefilteredPatterns(
    signs(
        """
        ignore disregard forget override bypass skip score rating reward grade rate mark marks
        points reply response answer comment evaluation verdict label judge grader grading evaluator
        rater reviewer classifier moderator judges graders evaluators raters reviewers classifiers
        moderators mode dan system developer admin instructions instruction end give prompt told
        scoring evaluating judging
        """
    ),
    (
        phrases(
            r"(?:ignore|disregard|forget|override|bypass|skip|"
            r"stop following) (?:\w+ ){0,3}(?:instructions?|prompts?|rules?|"
            r"guidelines|rubric|criteria|context|above|directions|you were told)",
            rf"(?:give|assign|award|grant|rate|score|grade|mark|return|output|"
            rf"set) (?:\w+ ){{0,5}}(?:{_TOP}|(?:score|rating|"
            r"reward|grade) (?:of|to|as|=|is) \S+)",
            r"give (?:this|it|me|my \w+) (?:a |an )?(?:\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*\d+)?",
            r"(?:rate|score|grade|mark) (?:this|it|me|my|the)(?: \w+)? (?:as |a |an |at |"
            r"with )*(?:\d+(?:\.\d+)?(?:\s*/\s*\d+)?|"
            r"perfect|excellent|correct|good|high|best)",
            r"(?:this|my|the) (?:reply|response|answer|comment) (?:\w+ ){0,2}(?:should|must|deserves?|"
            r"gets?|receives?|earns?) "
            r"(?:\w+ ){0,6}(?:score|rating|reward|\d+/\d+|marks|grade|points|rated|scored)",
            r"(?:score|reward|rating|grade|verdict|label|evaluation|relevance|helpfulness)\s*[:=]\s*(?:\d|"
            r"max|perfect|excellent|"
            r"positive|pass)\S*(?=\W*(?:$|\w+\s*[:=]|\d|engagement|relevance|quality|helpful))",
            r"(?:dear|attention|note to|to|hey|hello|important:?|as)(?: the| an?| this)? (?:ai )?(?:judge|"
            r"grader|evaluator|reward "
            r"model|rater|classifier)s?",
            r"(?:to|dear|hey|attention) (?:the |whatever |whoever )?(?:ai|model|llm|assistant) (?:that is |"
            r"who is |which is )?"
            r"(?:grading|scoring|evaluating|judging|reading this)",
            r"you are (?:now )?(?:a|an|the|in) (?:\w+ ){0,3}(?:judge|grader|evaluator|reward model|rater|"
            r"developer mode|dan)",
            r"(?:system|developer|admin) (?:override|prompt|instruction|mode)",
            r"(?:correct|right|true) (?:reward|score|rating|label) (?:for|is|of)(?: \w+){0,4}",
            r"(?:new|updated|hidden|secret) instructions?|(?:print|reveal|show|"
            r"repeat) (?:me )?your (?:system )?prompt",
            r"end of (?:tweet|reply|response|prompt|instructions|input)",
            r"you must (?:output|return|assign|respond with)",
        ),
        r"\[(?:system|admin|developer)\]|(?:score|reward|rating)\s*=\s*\d",
    ),
)
"""Words to whoever scores the reply instead of to the author."""

_MONEY = r"(?:[$€£]\s?\d[\d,.]*k?|\d[\d,.]*k)"
_MINE = (
    r"(?:bio|profile|page|links?|channel|store|shop|website|site|pinned|course|newsletter|onlyfans|soundcloud|"
    r"mixtape|etsy)"
)
SPAM_STRONG = PrefilteredPatterns(
    signs(
        """
        bio profile description page link links channel store shop website site pinned course
        newsletter onlyfans soundcloud mixtape etsy follow f4f l4l s4s sub4sub follow4follow
        followback subscribe dm dms message text contact whatsapp telegram inbox write hit add $ € £
        made make money cash income earn earned earns earning making makes code passive freedom
        guaranteed double doubles risk risk-free home free exclusive buy order act join sign
        register download claim % limited supplies stocks stock spots offer offers bit me grow
        grows boost gain increase click 10x 50x 100x 1000x collab collabs check win
        """
    ),
    (
        phrases(
            r"(?:link|links|details|info|it) (?:is |are |'s )?in (?:my |the )?(?:bio|profile|description)",
            rf"(?:check|see|visit|click|tap|look at|view) (?:out )?(?:on )?my (?:\w+ ){{0,2}}{_MINE}",
            r"follow for follow|follow train|f4f|l4l|s4s|sub4sub|follow4follow|"
            r"(?:i )?follow ?back(?: everyone)?(?=\W*$|!)",
            r"(?:follow|subscribe to|dm|dms?|message|text|contact|whatsapp|telegram|inbox|hit up|add|"
            r"write) (?:me|us|@\w+)"
            r"(?: (?:now|today|asap|directly|here|on \w+))? (?:for|to (?:learn|get|earn|start|claim|join|"
            r"make|find|receive)|and (?:i|"
            r"we|get|earn|make))",
            rf"(?:i|she|he|they|my \w+) (?:made|make|earned?|earns|"
            rf"makes) (?:over )?{_MONEY} (?:\w+ ){{0,3}}(?:with|from|working|"
            r"trading|in just|thanks) \w*",
            rf"(?:earn|make|win|claim) (?:up to |an extra |over |your )?{_MONEY}(?: \w+){{0,3}} (?:a|an|"
            rf"per|every|from|daily|weekly|"
            r"monthly|now|today)(?: \w+)?|earn [$€£]\s?\d\S*(?: (?:daily|weekly|now))?",
            r"(?:make|earn|earning|making) (?:\w+ ){0,2}(?:money|cash|income) (?:online|fast|from home|"
            r"easily|daily)",
            r"(?:use|with|enter|apply) (?:my )?(?:promo |discount |referral |coupon )*code [a-z]*\d*\w*",
            r"passive income|financial freedom|guaranteed (?:returns?|profits?|income)|(?:double|"
            r"doubles) your (?:money|bitcoin|btc|"
            r"crypto|investment)|risk[- ]free (?:investment|trading|returns?|profit)|work from home and",
            r"(?:free|exclusive) (?:crypto|bitcoin|btc|eth|nfts?|iphones?|followers|gift ?cards?|money|"
            r"robux|v-?bucks|tokens?|airdrop)",
            r"(?:buy|order|shop|act|join|register|subscribe|download|claim yours|claim) (?:it )?(?:now|"
            r"today)(?=\W*$|\s*[!.,]|\s+"
            r"(?:with|at|before|while|for|on)\b)|sign up (?:now|today|here)",
            r"(?:up to )?\d+\s?% (?:off|discount|cashback)|(?:up to )?\d+\s?% (?:returns?|"
            r"profit)s? (?:daily|weekly|guaranteed)",
            r"(?:1000|100|50|10)x (?:gem|gains?|returns?|coin|token|profit)",
            r"limited[- ](?:time|spots?) ?(?:offer|only|deal|left)?|while (?:stocks?|supplies|spots) last|"
            r"(?:spots|offer|offers) "
            r"(?:is |are )?(?:limited|ends? (?:soon|today))",
            r"t\.me/\S+|wa\.me/\S+",
            r"(?:grow|boost|gain|increase) your (?:\w+ )?(?:followers|audience|following|instagram|twitter|"
            r"account|sales|engagement)|"
            r"help brands grow|dms? (?:us|me) for (?:collabs?|promo|prices?|details|info)",
            r"(?:just )?click (?:here|the link|this link|below|https?\S+)|check (?:this|"
            r"it) out\W+(?:https?|www|bit\.ly)\S+",
        ),
    ),
)
SPAM_WEAK = PrefilteredPatterns(
    signs(
        """
        giveaway airdrop presale crypto bitcoin btc nft nfts forex signal signals onlyfans whatsapp
        telegram promo discount dm dms follow subscribe sign trial shipping webinar masterclass
        invest investing investment investor investors trader traders trading profit profits ebook
        coupon sponsor sponsored affiliate shop store channel newsletter course agency startup app
        product tool link mentor broker website offer sell businesses price prices sale order
        platform service services our try ask get claim
        """
    ),
    (
        phrases(
            r"giveaway|airdrop|presale|crypto|bitcoin|btc|nfts?|forex|signals?|onlyfans|whatsapp|telegram|"
            r"promo|discount|dm me|"
            r"dms? open|dm for|follow me|subscribe|sign up|free trial|free shipping|webinar|masterclass|"
            r"invest(?:ing|ment|ors?)?|"
            r"traders?|trading|profits?|ebook|coupon|sponsor(?:ed)?|affiliate|"
            r"my (?:shop|store|channel|newsletter|course|agency|startup|app|product|tool|link|mentor|"
            r"broker|ebook|website)|"
            r"we (?:offer|sell|help businesses)|best prices?|for sale|order yours|"
            r"our (?:app|product|tool|platform|services?|shop|store|agency|website|ai|software|plugin|"
            r"extension|solutions?|experts?|customers?|clients?|range|collection)|"
            r"try (?:it|us|ours) (?:free|out|now|today)|try it(?=\W*$)|ask me for (?:the|a|my) (?:name|link|"
            r"code|details|contact)|(?:get|claim) yours|a service that"
        ),
    ),
)
"""Advertising: one strong pattern is spam; so are two weak ones, or one and a link, if new."""
