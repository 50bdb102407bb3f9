"""Words that carry the grammar, and words that fit under every post. English, as written on social media."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """
    a an the this that these those some any each every all both either neither no none another other such same
    i me my mine myself you your yours yourself he him his she her hers it its we us our ours they them their
    theirs who whom whose which what when where why how someone anyone everyone nobody something anything
    everything nothing one ones
    am is are was were be been being do does did done doing have has had having can could will would shall
    should may might must get gets got getting gotten go goes went going gone let lets make makes made
    isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't
    wouldn't shouldn't ain't isnt arent wasnt dont doesnt didnt havent hasnt cant couldnt wont wouldnt
    shouldnt i'm i've i'd i'll im ive you're you've you'd you'll youre he's she's it's we're we've we'd we'll
    they're they've they'd they'll that's there's here's what's who's where's how's let's thats theres whats
    and or but nor so yet if then else because since unless until while although though whether than as
    of to in on at by for from with without within into onto over under up down out off about after before
    again against between through during above below across along around behind beyond near per via like
    not never ever very too also just only even still already almost quite rather really much many more most
    less least few little lot lots enough here there now today yesterday tomorrow always often sometimes soon
    later maybe perhaps away back once twice ago such
    u ur r y n w gonna wanna gotta kinda sorta tbh imo ngl idk cuz bc pls plz yeah yes yep nope nah ok okay oh
    well please
    """
)

GENERIC_WORDS = _words(
    """
    great nice good cool awesome amazing fantastic wonderful excellent brilliant beautiful beautifully lovely
    incredible interesting inspiring inspired inspiration inspirational insightful insight insights
    perspective perspectives thought thoughts thoughtful provoking point points take post tweet thread sharing
    share shared thank thanks thankyou thx ty love loved loving agree agreed agreeing absolutely definitely
    totally completely exactly precisely indeed true truly truth facts fact right correct same wow lol lmao
    haha hahaha omg yess fire lit dope based legend king queen goat keep shining shine hear important
    importance essential crucial powerful reminder reminds highlights highlighting highlight valuable value
    content information informative info helpful useful appreciate appreciated appreciates support supporting
    words said say wise wisdom relatable resonate resonates resonated deeply journey journeys spot dropping
    gem gems needed story stories people everyone everybody way thing things lot time day world life always
    know think believe feel curious hope best luck blessed vibes mood goals perfect super better wish happy
    glad 100 matters matter topic subject discussion conversation opinion opinions idea ideas see look looking
    forward follow following
    """
)
"""Stock praise, and the words that stand around it."""

NO_CONTENT = FUNCTION_WORDS | GENERIC_WORDS

SYMPATHY = _words(
    """
    sorry condolences sympathy sympathies hug hugs hugging heartbreaking heartbroken devastating rest loss
    grief grieving mourn mourning comfort strength gently awful terrible horrible sad tough rough hard brutal
    unfair
    """
)
"""What a reply to bad news says."""

HARDSHIP = _words(
    """
    died dies dying death dead funeral grief grieving mourning cancer diagnosed diagnosis hospital icu
    chemo miscarriage divorce divorced fired laid layoff layoffs evicted homeless burglary robbed stolen crash
    accident injured injury surgery depressed depression suicidal heartbroken widow orphan bankrupt lost
    losing goodbye shutting fracture fractured tumor tumour illness scammed euthanised euthanized hospice
    stroke flooded fire burned earthquake
    """
)
"""What a post with bad news says. "Passed" needs a look at the words around it: see hardship.py."""

RELIEF = _words(
    "well recovered recovering recovery remission survived survivor cured better free home finally clear safe"
)
"""What turns bad news into good."""

CELEBRATION = _words(
    """
    congrats congratulations congratz congratulation woohoo yay hooray party celebrate celebrating celebration
    exciting excited cheers winning woop yippee slay
    """
)
LAUGHTER = _words("lol lmao lmfao rofl haha hahaha hahahaha hehe hilarious funny fun jealous lucky")
"""What nobody says to someone in grief."""
