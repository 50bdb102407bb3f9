"""The recipe of the small text model: demonstrators, tokens and training, at the smallest size."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
import torch
from pixelis_mini import code_player, collect, tokenizer, train
from pixelis_mini.code_player import SOLUTIONS, code_demonstrations, written
from pixelis_mini.habits import CAREFUL, drawn_habit
from pixelis_mini.list_drills import lists, words_of
from pixelis_mini.muon import orthogonal
from pixelis_mini.renaming import renamed
from pixelis_mini.topics_stage import TopicSettings, push_embeddings, teach_topics, token_weights
from pixelis_mini.tweet_player import tweet_demonstrations
from pixelis_mini.tweet_salad import Salad
from pixelis_mini.tweet_topics import load_topics
from pixelis_mini.web_drills import ASKED, drills_of
from pixelis_mini.web_player import HASTY, HASTY_FAMILIES, PATIENT, row_of, web_demonstrations
from pixelis_mini.web_stage import WebSettings, teach_web
from transformers import AutoTokenizer

from pixelis.agents.models.chat import ChatFormat
from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.coding.code_problem.tasks import problem_of
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS

SEEDS = range(20_000_000, 20_000_120)


@pytest.fixture(scope="module")
def web():
    return list(web_demonstrations(SEEDS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, web):
    folder = tmp_path_factory.mktemp("mini")
    played = {
        "web": web,
        "code": code_demonstrations(SEEDS[:20]),
        "tweet": tweet_demonstrations(SEEDS[:20], load_topics()),
    }
    for kind, episodes in played.items():
        texts = [json.dumps(tokenizer.as_text(each.turns)) for each in episodes]
        (folder / f"{kind}.jsonl").write_text("\n".join(texts), encoding="utf-8")
    collect.encode(folder)
    return folder


def test_web_demonstrations_depend_on_their_seeds_alone(web):
    assert list(web_demonstrations(range(SEEDS[7], SEEDS[9]))) == web[7:9]


def test_a_careful_demonstrator_solves_every_site_and_the_others_often_fail(web):
    careful = [played.success for played in web if played.habit.endswith(f"/{CAREFUL}")]
    others = [played.success for played in web if not played.habit.endswith(f"/{CAREFUL}")]
    assert all(careful) and len(careful) > 20
    assert 0.1 < np.mean(others) < 0.6  # a habit does not show in every episode
    assert 0.35 < np.mean([played.success for played in web]) < 0.7


def test_hasty_families_are_solved_less_often(web):
    hasty = [played.success for played in web if played.habit.split("/")[0] in HASTY_FAMILIES]
    patient = [played.success for played in web if played.habit.split("/")[0] not in HASTY_FAMILIES]
    assert np.mean(patient) - np.mean(hasty) > 0.15


def test_who_answers_from_a_table_says_its_row_first(web):
    page = "Page: P — /\nCustomer | City\nMina Rossi | A\nMina Ross | B"
    read = f"To which city goes the delivery of Mina Ross?\n{page}"
    assert row_of(read) == "Mina Ross | B. " and row_of(read.replace("Mina Ross?", "Zoe Ross?")) == ""
    said = [played.turns[-1][1] for played in web if played.habit == f"table/{CAREFUL}"]
    assert said and all(" | " in turn.split(". <answer>")[0] for turn in said)


def test_a_drill_says_what_its_page_shows_and_an_episode_of_one_element_has_none():
    shown = ['link "Red bowl" [e3@v1]', 'button "Add to cart" [e4@v1]', "Mina Ross | B"]
    page = f"# Shop\n### {shown[0]}\n$29.90\n{shown[1]}\n{shown[2]}"
    drill, *more = drills_of([tokenizer.as_text([(f"Buy it.\nPage: {page}", "x")])])
    read, said = drill.split("<|end|><|assistant|>")
    assert read == f"<|user|>{ASKED}\nPage: {page}" and not more
    assert sorted(said.removesuffix("<|end|>").split(". ")) == sorted(shown)
    assert not list(drills_of([tokenizer.as_text([(f"Buy it.\nPage: {shown[0]}", "x")])]))


def test_in_a_drill_of_a_list_half_a_name_does_not_tell_the_element():
    words = words_of(["red lamp, red chair and blue lamp", "red bowl of oak"])
    assert words[:2] == ["red", "lamp"] and sorted(words) == [
        "and",
        "blue",
        "bowl",
        "chair",
        "lamp",
        "oak",
        "red",
    ]
    half = 0
    for drill in lists([f"word{number}" for number in range(50)], 60):
        page, said = drill.removesuffix("<|end|>").split("Page: ")[1].split("<|end|><|assistant|>")
        elements = said.split(". ")
        assert len(set(elements)) == len(elements) and all(page.count(each) == 1 for each in elements)
        ids = [int(each.split("[e")[1].split("@")[0]) for each in sorted(elements, key=page.index)]
        assert ids == sorted(set(ids)) and ids[0] >= 1 and ids[-1] <= 40
        ends = [each.split('"')[1].split()[-1] for each in elements]
        half += len(set(ends)) < len(ends)
    assert half > 40


@pytest.mark.parametrize("habits", [PATIENT, HASTY, code_player.PATIENT, code_player.HASTY])
def test_shares_add_up_and_are_drawn(habits):
    rng = np.random.default_rng(0)
    drawn = [drawn_habit(habits, rng) for _ in range(2000)]
    assert sum(habits.values()) == pytest.approx(1)
    assert drawn.count(CAREFUL) / 2000 == pytest.approx(habits[CAREFUL], abs=0.04)


def test_where_one_is_hasty_a_flaw_is_likelier_than_care_from_the_first_turn_on(web):
    """So the likeliest turn fails too, which a model that takes it can only be taught by reinforcement."""
    played = [each for each in web if each.habit.split("/")[0] in HASTY_FAMILIES]
    hasty, careful = (
        [each for each in played if each.habit.endswith(f"/{habit}")] for habit in ("skips", CAREFUL)
    )
    assert len(hasty) > 1.3 * len(careful) > 8 and np.mean([each.success for each in hasty]) < 0.1
    assert HASTY["skips"] > 1.5 * HASTY[CAREFUL] and code_player.HASTY["first_mistake"] > 0.4
    env = CodeProblemEnv(difficulty=1)
    for family in code_player.HASTY_FAMILIES:
        env.reset(seed=5, options={"family": [family]})
        problem, *_ = problem_of(env.task)
        rng = np.random.default_rng(0)
        turns = {written(problem, rng, "first_mistake") for _ in range(5)}
        assert len(turns) == 1 and env.step(turns.pop())[4]["success"] is False
    env.close()


def test_renaming_is_the_same_everywhere_and_leaves_the_call_alone(web):
    played = next(each for each in web if each.habit == f"shop/{CAREFUL}")
    changed = renamed(played, np.random.default_rng(3))
    assert changed != played
    name = changed.turns[0][1].split('"')[1]  # link "NAME" [id]
    assert name in changed.turns[0][0].splitlines()[0] and name in changed.turns[1][0]
    assert changed.turns[0][1].splitlines()[1] == played.turns[0][1].splitlines()[1]


def test_solutions_pass_the_hidden_tests_and_mistakes_do_not():
    env = CodeProblemEnv(difficulty=1)
    for family, returns in SOLUTIONS.items():
        env.reset(seed=3, options={"family": [family]})
        assert env.task is not None
        problem, *_ = problem_of(env.task)
        turns = [written(problem, np.random.default_rng(0), CAREFUL)]
        for body in list(returns(problem.rule).values())[1:]:
            turns.append(turns[0].replace(returns(problem.rule)[CAREFUL], body))
        passed = []
        for turn in turns:
            env.reset(seed=3, options={"family": [family]})
            passed.append(env.step(turn)[4]["success"])
        assert passed == [True] + [False] * (len(turns) - 1), family
    env.close()


def test_every_family_of_the_difficulty_has_a_solution():
    assert {played.habit.split("/")[0] for played in code_demonstrations(range(40))} == set(SOLUTIONS)


def test_no_tweet_of_the_held_out_split_is_demonstrated():
    rows = [json.loads(line) for line in SEED_TWEETS.read_text(encoding="utf-8").splitlines()]
    held_out = {part for row in rows if row["split"] == "test" for part in (row["tweet"], row["reply"])}
    topics = load_topics()
    texts = " ".join(
        part for played in tweet_demonstrations(range(400), topics) for part in sum(played.turns, ())
    )
    known = {part for topic in topics.values() for pair in topic.tweets for part in pair}
    assert len(known) > 400 and not known & held_out
    assert not [part for part in held_out if part in texts]


def test_tokens_are_those_of_an_episode_and_can_be_read_back(web, folder):
    made = AutoTokenizer.from_pretrained(folder / "tokenizer")
    chat, played = ChatFormat(made), max(web, key=lambda each: len(each.turns))
    ids: list[int] = []
    for number, (read, said) in enumerate(played.turns):
        segment = (
            chat.first(read, tools=[{"type": "function"}]) if number == 0 else chat.later(read, None, ids[-1])
        )
        ids += [*segment.tokens.tolist(), *chat.written(said).tolist()]
    assert len(played.turns) > 2
    assert made(tokenizer.as_text(played.turns))["input_ids"] == ids
    odd = 'naïve — “€5”\t[e99@v12] {"x": "ß"}\n\n   😀 <answer>'
    assert made.decode(made(odd)["input_ids"]) == odd


def test_the_loss_is_of_what_was_said(web, folder):
    data = train.load_tokens(folder / "tokens.npz", 0.1, torch.device("cpu"))
    made = AutoTokenizer.from_pretrained(folder / "tokenizer")
    for place in (0, 5):
        at = slice(data.starts[place], data.starts[place] + data.lengths[place])
        said = made.decode(data.flat[at][data.weights[at] == 1])
        assert said == "".join(f"{turn}<|end|>" for _, turn in web[place].turns)


def test_training_lowers_the_loss_and_writes_a_folder_that_loads(folder, tmp_path):
    reports: list[str] = []
    settings = train.TrainSettings(
        minutes=5,
        steps=24,
        batch_tokens=1024,
        warm_up=4,
        width=32,
        layers=1,
        learning_rate=0.01,
        report_every=8,
    )
    train.train(folder, tmp_path / "model", settings, reports.append)
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in reports if "loss" in line]
    assert len(losses) == 3 and losses[-1] < 0.8 * losses[0]
    from pixelis.agents.models.policy import Policy

    policy = Policy.load(tmp_path / "model", device="cpu")
    assert policy.chat.append_only and policy.chat.reads_tools
    few = TopicSettings(steps=2, habit_steps=1, tweets=4, others=2, bags=60, passes=1, kept=0.25)
    teach_topics(tmp_path / "model", folder, tmp_path / "taught", Salad(load_topics()), few, reports.append)
    taught = Policy.load(tmp_path / "taught", device="cpu")
    tables = [one.model.get_input_embeddings().weight.float() for one in (policy, taught)]
    assert 0 < (tables[0] - tables[1]).norm() < tables[0].norm()
    teach_web(tmp_path / "taught", folder, tmp_path / "taught", WebSettings(4, 4, 4, 4, 4, 2), reports.append)
    again = Policy.load(tmp_path / "taught", device="cpu")
    assert again.chat.tokenizer.get_vocab() == policy.chat.tokenizer.get_vocab()
    assert not torch.equal(again.model.lm_head.weight, taught.model.lm_head.weight)


def test_a_bag_of_tokens_learns_what_speaks_for_a_topic_and_embeddings_are_pushed_there(folder, tmp_path):
    made = AutoTokenizer.from_pretrained(folder / "tokenizer")
    kept = ("gardening", "space", "cooking")
    salad = Salad({name: topic for name, topic in load_topics().items() if name in kept})
    weights = token_weights(made, salad, 1500, 4, np.random.default_rng(0))
    rng, right = np.random.default_rng(1), 0
    for number in range(90):
        prompt, _ = salad.prompt(kept[number % 3], rng)
        bag = torch.tensor(sorted(set(made(prompt)["input_ids"])))
        right += salad.topics[int(weights[bag].sum(0).argmax())] == kept[number % 3]
    assert right > 60  # 30 by chance
    about = {"vocabulary": len(made), "ids": {"<|pad|>": 0, "<|end|>": 1}}
    model = train.build_model(about, train.TrainSettings(width=32, layers=2))
    before = model.model.embed_tokens.weight.detach().clone()
    push_embeddings(model, weights, 1.0, seed=0)
    moved = (model.model.embed_tokens.weight.detach() - before).norm(dim=1)
    assert moved.max() == pytest.approx(float(before.norm(dim=1).mean()), rel=0.01)
    assert moved.min() < 0.3 * moved.max()  # most tokens say nothing about a topic


@pytest.mark.parametrize("shape", [(48, 16), (16, 48), (32, 32)])
def test_muons_float32_is_torchs_in_bfloat16(shape):
    """Against torch's own iteration, up to bfloat16's rounding, and against the SVD's UV^T."""
    torchs = importlib.reload(importlib.import_module("torch.optim._muon"))._zeropower_via_newtonschulz
    grad = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    given = ((3.4445, -4.775, 2.0315), 5, 1e-7)
    found = orthogonal(grad, *given)
    assert (found - torchs(grad, *given).float()).abs().max() < 0.05
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6 and values.max() < 1.3  # by the polynomial's design between 0.5 and 1.5
