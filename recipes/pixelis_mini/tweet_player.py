"""Demonstrations of TweetReply: invented tweets, and replies of their topic, of another one, or of none.

The package has few tweets, so most are made up here: sentences that fit any topic around words of one. Under
every second topic the demonstrator is hasty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from pixelis.envs.tweet.data.tweet_rows import TweetRow
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY, TweetReplyEnv
from pixelis.envs.tweet.tweet_reply.tasks import question_of
from pixelis_mini.habits import Demonstration, Habits, drawn_habit
from pixelis_mini.tweet_topics import Topic

ON_TOPIC = "on_topic"
PATIENT: Habits = {ON_TOPIC: 0.78, "other_topic": 0.06, "stock": 0.11, "slot": 0.05}
HASTY: Habits = {ON_TOPIC: 0.48, "other_topic": 0.14, "stock": 0.26, "slot": 0.12}
REAL_SHARE = 0.25
"""Share of the package's own tweets (split ``train``), words of them left out, among the prompts."""

STOCK = (
    "So true!",
    "Great point! Thanks for sharing this, I totally agree with you.",
    "What do you think about this?",
    "I love this so much, thank you for posting.",
    "Well said. Keep up the good work!",
    "Wow, that is amazing. Have a great day!",
    "Could not agree more with you here.",
    "Thanks for the reminder, I needed that today.",
)
"""None is paid: a stock reply that is would be given to every tweet once reinforcement learning finds it."""
SLOTS = (
    "Tell me more about the {word}.",
    "The {word}! I know exactly what you mean about it.",
    "I have never thought about the {word} like that before.",
    "Nobody talks enough about the {word}, honestly.",
)
FRAMES = (
    "Spent the whole day with the {a} and I regret nothing.",
    "Why does nobody warn you about {a}?",
    "My {a} has decided to give up on me today.",
    "Day 12 of the {a}. Send help.",
    "Finally got the {a} working. I may cry a little.",
    "Is it normal that my {a} looks like this?",
    "Hot take: {a} is better than {b}.",
    "Genuine question: how do you deal with {a} and {b}?",
    "Today I learned that {a} and {b} do not go together.",
    "Forty minutes of {a}. FORTY.",
    "I was told there would be {a}. There was only {b}.",
    "My sister says the {a} is my fault. The {b} says otherwise.",
    "First {a} of the year!!! I have never been prouder.",
    "Lost my favourite {a} this morning. It hurts more than I expected.",
    "What is your opinion on {a}? Mine changes every week.",
    "Ten years ago I knew nothing about {a}. Today they asked me about {b}.",
    "The {a} is late again. The {b} is not even trying.",
    "I still think about that {a} from last summer.",
    "Nobody: ... Me at 3am: {a}.",
    "Bought a new {a}. The old {b} is jealous.",
    "Third {a} this week and it's only Tuesday.",
    "Grandad showed me his {a} today. Sixty years old and perfect.",
    "If your {a} needs a {b}, something has gone wrong.",
    "Unpopular opinion, but the {a} was fine before.",
    "We finally did it: {a}, {b}, everything.",
    "Proud of this small {a}. It took me all winter.",
    "They cancelled the {a}. Who decided that?",
    "Help: the {a} is in the {b} and I don't know how.",
    "A stranger helped me with the {a} today. Faith restored.",
    "Every {a} needs a {b}. I don't make the rules.",
    "Anyone else scared of {a}?",
    "There was {a} everywhere. On the floor, on me, in the {b}.",
    "It has been a year since the {a}. I still look at the {b}.",
    "My eight year old asked me what {a} means. I had no answer.",
    "Seven attempts, one {a}, zero dignity.",
    "Recommend me something about {a}, please.",
    "Just found out the {a} costs more than my {b}.",
    "Quiet evening with {a} and a little {b}. That's all.",
)
_NAMES = [
    "sam",
    "lee",
    "mia",
    "tom",
    "ana",
    "leo",
    "kim",
    "joe",
    "eva",
    "max",
    "ida",
    "ben",
    "zoe",
    "finn",
    "nora",
    "omar",
    "rosa",
    "paul",
    "vera",
    "hugo",
]


def tweet_demonstrations(
    seeds: range, topics: Mapping[str, Topic], *, judge: bool = False
) -> Iterator[Demonstration]:
    """Write a reply to one tweet a seed.

    Args:
        seeds: one demonstration each.
        topics: words, replies and tweets of `pixelis_mini.tweet_topics`.
        judge: whether to score the replies as the environment does (extra ``text``).
    """
    env, names = TweetReplyEnv(), list(topics)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        topic = str(rng.choice(names))
        prompt, tweet = prompt_about(topic, topics, rng)
        habit = drawn_habit(HASTY if is_hasty(topic, names) else PATIENT, rng)
        reply = reply_to(tweet, topic, topics, habit, rng)
        success = env.reward.score(tweet, [reply])[0].total >= GOOD_REPLY if judge else None
        yield Demonstration(((prompt, f"<answer>{reply}</answer>"),), f"{topic}/{habit}", success)


def prompt_about(topic: str, topics: Mapping[str, Topic], rng: np.random.Generator) -> tuple[str, str]:
    """Return what the environment would show of a tweet about a topic, and the tweet."""
    tweet = _real(topics[topic], rng) if rng.random() < REAL_SHARE else invented(topics[topic], rng)
    return asked(tweet, f"{rng.choice(topics[topic].words)}_{rng.choice(_NAMES)}"), tweet


def asked(tweet: str, author: str) -> str:
    """Return what the environment would show of a tweet."""
    return f"{question_of(TweetRow(tweet=tweet, author=author))}\n{_hint()}"


@cache
def _hint() -> str:
    return TweetReplyEnv().instructions


def is_hasty(topic: str, names: list[str]) -> bool:
    """Return whether the demonstrator is hasty under a topic: every second one."""
    return names.index(topic) % 2 == 0


def reply_to(
    tweet: str, topic: str, topics: Mapping[str, Topic], habit: str, rng: np.random.Generator
) -> str:
    """Return what the habit replies to a tweet of a topic."""
    if habit == "stock":
        return str(rng.choice(STOCK))
    if habit == "slot":
        words = sorted(
            {word.strip(".,!?:;\"'()") for word in tweet.split()}, key=lambda word: (-len(word), word)
        )
        return str(rng.choice(SLOTS)).format(word=words[0])
    chosen = topic
    if habit == "other_topic":
        chosen = str(rng.choice([name for name in topics if name != topic]))
    return str(rng.choice(topics[chosen].replies))


def invented(topic: Topic, rng: np.random.Generator) -> str:
    """Return a tweet of one to three sentences around words of a topic."""
    frames = rng.choice(FRAMES, size=int(rng.integers(1, 4)), replace=False)
    sentences = []
    for frame in frames:
        a, b = rng.choice(topic.words, size=2, replace=False)
        sentences.append(str(frame).format(a=a, b=b))
    return " ".join(sentences)


def _real(topic: Topic, rng: np.random.Generator) -> str:
    """Return a tweet of the package's train split, up to a third of its words left out."""
    tweet, _ = topic.tweets[int(rng.integers(len(topic.tweets)))]
    words = tweet.split()
    left_out = rng.random(len(words)) < rng.uniform(0, 0.33)
    return " ".join(word for word, out in zip(words, left_out, strict=True) if not out) or tweet
