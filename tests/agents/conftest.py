"""Tiny models with random weights, of transformers' own classes, saved and loaded the ordinary way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from started import Start, Started, starter
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    SiglipImageProcessorPil,
    SiglipVisionConfig,
)

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rollout.vllm.server import PYTHON
from pixelis.agents.settings.plain import merged
from pixelis.agents.settings.rl import TrainConfig
from pixelis.envs.spaces import Utf8Text
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import Tool, ToolOutput, Toolset

SPECIAL = ("<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<image>")
TEMPLATE = (
    "{%- for m in messages -%}{{ '<|' + m['role'] + '|>' }}"
    "{%- if m['content'] is string -%}{{ m['content'] }}{%- else -%}{%- for p in m['content'] -%}"
    "{%- if p['type'] == 'image' -%}<image>{%- else -%}{{ p['text'] }}{%- endif -%}{%- endfor -%}"
    "{%- endif -%}"
    "{{ '<|end|>' }}{%- endfor -%}{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"
)
IMAGE_SIZE, PATCH = 32, 16


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that are marked ``vllm`` say that there is none, where there is none."""
    if not PYTHON.expanduser().is_file():
        for item in items:
            if item.get_closest_marker("vllm"):
                item.add_marker(pytest.mark.skip(reason="there is no vLLM here: make vllm"))


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE without merges: one token a byte, plus the template's control tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = Tokenizer(models.BPE(vocab={char: index for index, char in enumerate(alphabet)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        extra_special_tokens={"image_token": "<image>"},
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def build_text_model(tokenizer: PreTrainedTokenizerFast, **overrides: object) -> Qwen2ForCausalLM:
    settings = {
        "vocab_size": len(tokenizer) + 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "initializer_range": 0.2,
    }
    torch.manual_seed(0)
    return Qwen2ForCausalLM(Qwen2Config(**{**settings, **overrides}))


def build_vision_model(
    tokenizer: PreTrainedTokenizerFast,
) -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    torch.manual_seed(1)
    config = LlavaConfig(
        vision_config=SiglipVisionConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=IMAGE_SIZE,
            patch_size=PATCH,
            vision_use_head=False,
            initializer_range=0.2,
        ),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer) + 2,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            initializer_range=0.2,
        ),
        image_token_index=image_id,
        image_token_id=image_id,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
    )
    processor = LlavaProcessor(
        image_processor=SiglipImageProcessorPil(size={"height": IMAGE_SIZE, "width": IMAGE_SIZE}),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token="<image>",
        chat_template=TEMPLATE,
    )
    return LlavaForConditionalGeneration(config), processor


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text_model")
    tokenizer = build_tokenizer()
    build_text_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def vision_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vision_model")
    model, processor = build_vision_model(build_tokenizer())
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def text_policy(text_folder: Path) -> Policy:
    return Policy.load(text_folder, device="cpu")


@pytest.fixture(scope="session")
def vision_policy(vision_folder: Path) -> Policy:
    return Policy.load(vision_folder, device="cpu")


class CountingEnv(gym.Env):
    """A toy: the observation counts turns and repeats the action, some turns bring a new picture.

    ``options={"turns": n}`` sets how long an episode is. Success is an action that holds an ``e``.
    """

    def __init__(self, pictures: bool = False, broken: str = "") -> None:
        spaces = {"text": Utf8Text(4096)}
        if pictures:
            spaces["image"] = gym.spaces.Box(0, 255, (IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)
        self.observation_space, self.action_space = gym.spaces.Dict(spaces), Utf8Text(4096)
        self.pictures, self.broken = pictures, broken
        self.resets = self.closed = 0

    def _observation(self, text: str) -> dict[str, object]:
        observation: dict[str, object] = {"text": text}
        if self.pictures:
            observation["image"] = self.np_random.integers(
                0, 256, (IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8
            )
        return observation

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.resets += 1
        self.turn, self.length = 0, (options or {}).get("turns", 3)
        if self.broken == "reset":
            raise RuntimeError("no browser")
        return self._observation(f"count {'x' * int(self.np_random.integers(1, 9))}"), {"view_changed": True}

    def step(self, action):
        self.turn += 1
        if self.broken == "step" and self.turn == 2:
            raise RuntimeError("the browser is gone")
        info = {
            "view_changed": self.turn % 2 == 0,
            "tool_calls": [{"tool": "ECHO", "ok": True}],
            "reward_terms": {"length": float(len(action))},
        }
        over = self.turn >= self.length
        if over:
            info["success"] = "e" in action
        return self._observation(f"turn {self.turn}: {action[: self.turn]}"), 0.5, over, False, info

    def close(self):
        self.closed += 1


class LetterSource:
    """Tasks of a toy: find out a letter."""

    family, difficulties = "letter", range(1)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        letter = str(rng.choice(list("ab" if split == "train" else "cd")))
        return Task(f"letter-{letter}", "letter", difficulty, split, "Which letter is it?", letter, {})


class LetterPolicy:
    """Looks, then says what it saw; ``looks=False`` answers at once."""

    def __init__(self, env: ToolEnv, looks: bool = True) -> None:
        self.looks = looks

    def act(self, observation, info):
        if self.looks and not observation["text"].startswith("It is "):
            return '<tool_call>{"name": "LOOK", "arguments": {}}</tool_call>'
        return f"<answer>{observation['text'][6] if self.looks else 'a'}</answer>"


class LetterEnv(ToolEnv):
    """A ToolEnv of two turns: LOOK tells the letter, with a picture if ``pictures``."""

    def __init__(self, pictures: bool = False) -> None:
        look = Tool(
            "LOOK",
            "Tells the letter.",
            {"properties": {}},
            lambda task, _: ToolOutput(f"It is {task.answer}"),
        )
        super().__init__(
            source=LetterSource(),
            toolset=Toolset([look], lambda task: task),
            verifier=lambda task, answer, _: Verdict(
                answer == task.answer, {"task": float(answer == task.answer)}
            ),
            max_turns=3,
            image_size=IMAGE_SIZE if pictures else None,
        )
        self.pictures = pictures

    def observe_image(self) -> np.ndarray | None:
        return np.full((IMAGE_SIZE, IMAGE_SIZE, 3), 40 * self.turn, np.uint8) if self.pictures else None

    def view_key(self) -> int:
        return len(self.results)

    def players(self):
        return {
            **super().players(),
            "oracle": LetterPolicy,
            "guess": lambda env: LetterPolicy(env, looks=False),
        }


@pytest.fixture
def counting_env() -> type[CountingEnv]:
    return CountingEnv


@pytest.fixture
def letter_env() -> type[LetterEnv]:
    return LetterEnv


@pytest.fixture
def make_text_policy(tmp_path: Path) -> Callable[..., Policy]:
    """Return a builder of text policies whose config, template or adapter differ."""

    def make(template: str = TEMPLATE, lora: LoraSettings | None = None, **overrides: object) -> Policy:
        folder = tmp_path / f"model{len(list(tmp_path.iterdir()))}"
        tokenizer = build_tokenizer()
        tokenizer.chat_template = template
        build_text_model(tokenizer, **overrides).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return Policy.load(folder, device="cpu", lora=lora)

    return make


@pytest.fixture
def make_terse_policy(make_text_policy: Callable[..., Policy]) -> Callable[..., Policy]:
    """Return a builder of text policies whose template leaves the tools out: short prompts learn fast."""
    return lambda **options: make_text_policy("{#- tools: not shown -#}" + TEMPLATE, **options)


@pytest.fixture
def toy_config(letter_model: Path, tmp_path: Path) -> Callable[..., TrainConfig]:
    """Return a maker of settings for short runs on the echo toy."""

    def make(**changes: Any) -> TrainConfig:
        settings = {
            "env": "toy_env:Toy/Echo-v0",
            "model": str(letter_model),
            "output": str(tmp_path / "run"),
            "groups": 4,
            "group_size": 4,
            "max_new_tokens": 2,
            "steps": 3,
            "lr": 0.01,
            "beta": 0.01,
            "eval_episodes": 0,
        }
        return TrainConfig.from_mapping(merged(settings, changes))

    return make


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a starter of commands of Pixelis in processes of their own; none is left at the end."""
    started: list[Started] = []
    yield starter(tmp_path, started)
    for each in started:
        each.kill()


@pytest.fixture
def play() -> Callable[..., Episode]:
    """Return a maker of episodes that were never played: a prompt of two tokens, then sampled ones."""

    def make(
        reward: float = 0.0, *, group: int = 0, member: int = 0, sampled: int = 3, **fields: Any
    ) -> Episode:
        segments = [Segment.given([1, 2]), Segment.written([3] * sampled, [-0.5] * sampled)]
        return Episode("Toy/Echo-v0", 7, group, member, segments, reward=reward, **fields)

    return make
