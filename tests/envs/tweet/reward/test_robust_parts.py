"""Each part of the default preset rises with what it is named after, and is bounded."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.tweet.reading.hardship import names_hardship
from pixelis.envs.tweet.reading.reading import ReadText
from pixelis.envs.tweet.reward import robust
from pixelis.envs.tweet.reward.gates import ReplyPair
from pixelis.envs.tweet.reward.presets import PRESETS, WEIGHTS

TWEET = "Our village library closes on Saturday after ninety years."


def pair(reply: str, tweet: str = TWEET, cosine: float = 0.4) -> ReplyPair:
    return ReplyPair(ReadText(tweet), ReadText(reply), cosine)


def rises(values: list[float]) -> bool:
    return all(low < high for low, high in itertools.pairwise(values))


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [(-1, 0), (0.10, 0), (0.16, 0.5), (0.22, 1), (0.65, 1), (0.75, 0.5), (0.85, 0), (1, 0)],
)
def test_plateau(cosine: float, expected: float):
    assert robust.plateau(cosine) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cosine", "own", "expected"),
    [
        (0.2, 0.10, 0),  # nothing of its own, and not yet near by the tweet's words
        (0.3, 0.10, 0.1),  # half of 0.2
        (0.5, 0.10, 0.2),  # naming the topic is worth no more
        (0.5, -0.2, 0.2),
        (0.5, 0.115, 0.2),  # an eighth by its own words: less than what naming is worth
        (0.5, 0.16, 0.5),
        (0.5, 0.22, 1),
        (0.1, 0.22, 1),
        (0.75, 0.3, 0.5),
        (0.75, 0.0, 0.1),
        (0.85, 0.3, 0),
    ],
)
def test_the_replys_own_words_bring_it_near_and_all_its_words_too_near(
    cosine: float, own: float, expected: float
):
    assert robust.plateau(cosine, own) == pytest.approx(expected)


def test_relevance_rises_to_the_plateau_and_falls_after_it():
    reply = "Where will the shelf with local maps go?"
    assert rises([robust.relevance(pair(reply, cosine=c)) for c in (0.1, 0.15, 0.2, 0.22)])
    assert rises([robust.relevance(pair(reply, cosine=c)) for c in (0.85, 0.8, 0.7, 0.65)])


def test_praise_that_names_the_topic_is_less_relevant():
    # Content: library. Stock: great, point, important, topic, thanks, sharing; 1 of 7 is below 0.3.
    praise = "Great point, the library is such an important topic! Thanks for sharing"
    assert robust.substance(pair(praise)) == pytest.approx(0.2)
    assert robust.substance(pair("Where will the maps go?")) == 1
    # Content: shelf, maps. Stock: great, love. 0.5 is two thirds of the way from 0.3 to 0.6.
    assert robust.substance(pair("great maps, love the shelf")) == pytest.approx(0.2 + 0.8 * 2 / 3)
    assert robust.substance(pair("so true")) == 0.2


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 0), (10, 0.25), (40, 1), (180, 1), (280, 0.5), (380, 0), (500, 0)]
)
def test_length(count: int, expected: float):
    assert robust.length(pair("x" * count)) == pytest.approx(expected)


def test_length_rises_with_length_up_to_forty():
    assert rises([robust.length(pair("x" * count)) for count in range(0, 41, 5)])


def test_tone_falls_with_hostility():
    replies = ["The maps were there.", "I hate this.", "I hate this horrible, disgusting, stupid mess."]
    values = [robust.tone(pair(reply, "A table.")) for reply in replies]
    assert values[0] == 1 and values == sorted(values, reverse=True) and values[2] < 0.5


def test_tone_lets_people_disagree_and_mourn():
    sad = "My grandmother died this morning."
    for reply in ("I am so sorry. What a terrible loss.", "That is heartbreaking.", "She taught me to swim."):
        assert robust.tone(pair(reply, sad)) == 1
    assert robust.tone(pair("I disagree, the new one is closer to the school.")) == 1


@pytest.mark.parametrize(
    "reply", ["Congrats! Party time", "lol nice", "Exciting times ahead 🎉", "good riddance 😂"]
)
def test_tone_of_cheering_at_bad_news_is_nothing(reply: str):
    assert robust.tone(pair(reply, "My grandmother died this morning.")) == 0
    assert robust.tone(pair(reply, "We built a table.")) == 1


@pytest.mark.parametrize(
    "tweet",
    [
        "Viva passed, no corrections. I'm Doctor Somebody now.",
        "Passed my lorry test at 58.",
        "He passed the ball and she scored",
        "My daughter passed! First try, driving test done",
        "My son passed his finals",
        "The bill passed last night",
        "She passed on the chance to move to Rome",
        "Ten years passed and here we are",
        "A train passed by",
        "We passed the audit",
    ],
)
def test_an_exam_that_is_passed_is_no_bad_news(tweet: str):
    assert not names_hardship(ReadText(tweet))
    assert robust.tone(pair("Congratulations, enjoy the week of sleep!", tweet)) == 1


@pytest.mark.parametrize(
    "tweet",
    [
        "My dad passed away last night.",
        "Grandma passed peacefully.",
        "She passed in her sleep.",
        "My husband has passed.",
        "It is a year since my mum passed",
        "my dog passed last night",
        "My best friend sadly passed on Tuesday",
        "Our old neighbour passed, he was 91",
        "my brother passed two weeks ago, on the day of my exam. He passed away alone.",
    ],
)
def test_a_person_or_an_animal_that_passed_is_bad_news(tweet: str):
    assert names_hardship(ReadText(tweet))
    assert robust.tone(pair("Congratulations, what a week!", tweet)) == 0
    assert robust.tone(pair("I am so sorry for your loss.", tweet)) == 1


@pytest.mark.parametrize(
    "tweet", ["The vet says it is a tumour.", "My dad passed away.", "Lost my job today."]
)
def test_condolences_are_not_hostile_however_sad_they_sound(tweet: str):
    # VADER gives the tweets 0 or a little less, and the condolences −0.7 and −0.9.
    assert robust.tone(pair("What a terrible loss. I'm so sorry.", tweet)) == 1
    assert (
        robust.tone(pair("Grief is brutal, and the first week is the worst. I hate this for you.", tweet))
        == 1
    )
    assert robust.tone(pair("What a terrible loss. I'm so sorry.", "We built a table.")) < 0.5


def test_kind_words_around_a_death_are_no_reason_to_cheer():
    assert (
        robust.tone(pair("Yay, exciting!", "Grandma died so peacefully, with love and joy around her.")) == 0
    )


def test_cheering_is_fine_once_the_news_is_good():
    assert robust.tone(pair("Congrats to her!", "Mum is free of cancer, remission since today")) == 1


def test_diversity_rises_with_distinct_words():
    # 2, 3, 4 and 5 different ones among five words.
    replies = ["a a a a b", "a a a b c", "a a b c d", "a b c d e"]
    assert [robust.diversity(pair(reply)) for reply in replies] == pytest.approx([0, 0.5, 1, 1])
    assert robust.diversity(pair("...")) == 0


def test_punctuation_is_balanced():
    plain = "Where will the shelf with local maps go"
    assert robust.punctuation(pair(f"{plain}?")) == 1
    marks = [robust.punctuation(pair(plain + " ;" * count)) for count in (16, 12, 8, 2)]
    assert rises(marks)
    assert robust.punctuation(pair(f"{plain}???")) == pytest.approx(0.5)
    assert robust.punctuation(pair(f"{plain}?!?!?!?!")) <= 0.5
    assert robust.punctuation(pair("word " * 30)) == pytest.approx(0.7)
    assert robust.punctuation(pair("")) == 0


def test_emoji_count_as_punctuation():
    assert rises([robust.punctuation(pair("maps and more" + "😀" * count)) for count in (5, 4, 3)])


def test_engagement_rises_with_new_content():
    replies = ["So true", "So true, shelf", "shelf, maps", "shelf, maps, atlas", "shelf, maps, atlas, globe"]
    assert [robust.engagement(pair(reply)) for reply in replies] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    # More of it brings nothing more, and the tweet's own words are not new.
    assert robust.engagement(pair("shelf, maps, atlas, globe, desk, lamp")) == pytest.approx(0.8)
    assert robust.engagement(pair("library village Saturday")) == 0


def test_only_a_question_about_something_counts():
    assert robust.engagement(pair("Where will the maps go?")) == pytest.approx(0.8 / 4 + 0.2)
    assert robust.engagement(pair("What do you think?")) == 0
    assert robust.engagement(pair("What do you think about this? Any thoughts?")) == 0
    assert not robust.asks_something(pair("The maps go. Why?"))


def test_shouting_halves_engagement():
    assert robust.engagement(pair("WHERE WILL THE MAPS GO?")) == pytest.approx(0.2)


def test_total_by_hand():
    parts = {
        "relevance": 0.5,
        "length": 1.0,
        "sentiment": 1.0,
        "diversity": 1.0,
        "punctuation": 1.0,
        "engagement": 0.5,
    }
    # 0.30 · 0.5 + 0.60 · (0.1 + 0.9 · 0.5); a tone of 0 leaves 0.4 of it, less the part's own 0.15 · 0.55.
    total = PRESETS["robust"].total
    assert total(pair("x"), parts, WEIGHTS) == pytest.approx(0.15 + 0.33)
    assert total(pair("x"), {**parts, "sentiment": 0.0}, WEIGHTS) == pytest.approx(0.4 * (0.15 + 0.45 * 0.55))
    assert total(pair("x"), dict.fromkeys(parts, 1.0), WEIGHTS) == pytest.approx(1)
    assert total(pair("x"), dict.fromkeys(parts, 0.0), WEIGHTS) == 0


@pytest.mark.parametrize(
    "name", ["relevance", "length", "diversity", "punctuation", "engagement", "sentiment"]
)
def test_total_rises_with_every_part(name: str):
    parts = dict.fromkeys(WEIGHTS, 0.5)
    totals = [
        PRESETS["robust"].total(pair("x"), {**parts, name: value}, WEIGHTS) for value in (0.0, 0.3, 0.7, 1.0)
    ]
    assert rises(totals)


@pytest.mark.parametrize("preset", ["classic", "robust"])
@given(reply=st.text(alphabet=st.characters(), max_size=120), cosine=st.floats(-1, 1))
def test_every_part_of_any_text_is_in_range(preset: str, reply: str, cosine: float):
    one = pair(reply, cosine=cosine)
    for part in PRESETS[preset].parts.values():
        assert 0 <= part(one) <= 1


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, 1), (0, 0.2), (0.75, 0.2), (0.85, 0.6), (0.95, 1), (1, 1)],
)
def test_specificity_and_what_it_takes_from_relevance(share: float | None, expected: float):
    one = replace(pair("Where will the shelf with the old maps go?"), specificity=share)
    assert robust.specificity(one) == pytest.approx(expected)
    assert robust.relevance(one) == pytest.approx(expected * robust.relevance(replace(one, specificity=None)))
