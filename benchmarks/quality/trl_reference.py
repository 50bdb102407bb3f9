"""Write the reference numbers of TRL's own code for tests/agents/rl/test_trl_reference.py.

Needs an environment of its own (nothing in Pixelis imports TRL)::

    python -m venv /tmp/trl && /tmp/trl/bin/pip install torch==2.13.0 trl==1.16.0 peft==0.21.2
    /tmp/trl/bin/python benchmarks/quality/trl_reference.py tests/agents/rl/trl_reference.json

Advantages: ``_generate_and_score_completions`` of ``GRPOTrainer`` and ``RLOOTrainer`` runs as it is, on a
random two-layer model, with a reward function that returns given values. Losses:
``GRPOTrainer._compute_loss`` runs as it is, except that the forward pass returns given log-probabilities; the
gradient is that of the loss with respect to them. Corrections: both in turn, with given completions and a
sampler's log-probabilities, as if vLLM had sampled them. KL in the reward: RLOO's advantages, with given
completions and log-probabilities.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer  # pyright: ignore[reportPrivateImportUsage]

REWARDS: dict[str, list[list[float | None]]] = {
    "binary": [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    "graded": [[0.3, -0.2, 1.7, 0.9], [0.5, 0.5, 0.5, 0.51], [2.0, 2.0, 2.0, 2.0]],
    "unscored": [[1.0, None, 0.0, 1.0], [None, None, None, 0.5], [0.25, 0.75, None, None]],
}
_CLIP = {"beta": 0.0, "epsilon": 0.2, "epsilon_high": 0.2}
_GSPO = {"epsilon": 0.02, "epsilon_high": 0.04, "importance_sampling_level": "sequence"}
LOSSES: list[dict[str, Any]] = [
    {"loss_type": loss_type, "beta": beta, "epsilon": 0.2, "epsilon_high": high}
    for loss_type in ("grpo", "dapo", "dr_grpo")
    for beta, high in ((0.0, 0.2), (0.04, 0.28))
] + [
    {"loss_type": "cispo", **_CLIP, "epsilon_high": 1.28},
    {"loss_type": "cispo", **_CLIP, "epsilon_high": 5.0, "beta": 0.04},
    {"loss_type": "sapo", **_CLIP},
    {"loss_type": "sapo", **_CLIP, "beta": 0.04, "sapo_temperature_pos": 0.7, "sapo_temperature_neg": 2.0},
    {"loss_type": "grpo", **_CLIP, "delta": 1.3},
    {"loss_type": "dapo", **_CLIP, "delta": 1.3, "beta": 0.04},
    *({"loss_type": kind, **_CLIP, **_GSPO} for kind in ("grpo", "dapo", "dr_grpo", "cispo", "sapo")),
    {"loss_type": "grpo", **_CLIP, **_GSPO, "beta": 0.04},
    *(
        {"loss_type": kind, **_CLIP, "beta": 0.1, "use_bias_correction_kl": True}
        for kind in ("grpo", "cispo")
    ),
]
SEQUENCE_KL: list[dict[str, Any]] = [
    {"loss_type": kind, **_CLIP, **_GSPO, "beta": 0.1, "use_bias_correction_kl": True}
    for kind in ("grpo", "dapo")
]
CORRECTIONS: list[dict[str, Any]] = [
    {
        "loss_type": loss_type,
        **_CLIP,
        "beta": beta,
        "vllm_importance_sampling_mode": mode,
        "vllm_importance_sampling_clip_max": 1.5,
    }
    for loss_type, beta in (("grpo", 0.04), ("dapo", 0.0), ("cispo", 0.0))
    for mode in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
]
MAX_COMPLETION_LENGTH = 8


class _Given:
    """A trainer whose forward passes and completions can be given instead of computed."""

    given: list[torch.Tensor] | None = None  # log-probabilities that forward passes return, in turn
    generated: tuple[Any, ...] | None = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        if self.given is None:
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)  # type: ignore[misc]
        logprobs = self.given.pop(0)
        return logprobs, torch.zeros_like(logprobs), None

    def _generate(self, prompts: Any) -> Any:
        return super()._generate(prompts) if self.generated is None else self.generated  # type: ignore[misc]


class Probe(_Given, GRPOTrainer):
    """TRL's GRPO trainer."""


class LeaveOneOutProbe(_Given, RLOOTrainer):
    """TRL's RLOO trainer."""


def make_trainer(folder: str, rewards: list[list[float | None]], kind: Any = Probe, **settings: Any) -> Any:
    """Return a trainer of a ``kind`` whose reward function gives ``rewards`` (P groups of G) in order."""
    words = {
        word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *(f"w{i}" for i in range(29))])
    }
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    config = Qwen2Config(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    flat = [value for group in rewards for value in group]
    if kind is Probe:
        settings = {"use_bias_correction_kl": False, **settings}
    options = (GRPOConfig if kind is Probe else RLOOConfig)(
        output_dir=folder,
        use_cpu=True,
        report_to=[],
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=len(flat),
        num_generations=len(rewards[0]),
        max_completion_length=MAX_COMPLETION_LENGTH,
        **settings,
    )
    trainer: Any = kind  # else the attributes of the default probe are taken for its arguments
    return trainer(
        model=Qwen2ForCausalLM(config),
        args=options,
        processing_class=tokenizer,
        peft_config=LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM"),
        reward_funcs=lambda **_: flat,
        train_dataset=Dataset.from_dict({"prompt": [f"w{i}" for i in range(len(rewards))]}),
    )


def advantages(name: str, scale: str) -> dict[str, Any]:
    """Run TRL's generation and scoring once and return the advantages it computed."""
    rewards = REWARDS[name]
    settings: dict[str, Any] = {"scale_rewards": scale}
    if scale == "leave_one_out":
        settings = {"kind": LeaveOneOutProbe, "normalize_advantages": False}
    with tempfile.TemporaryDirectory() as folder:
        outputs = score(make_trainer(folder, rewards, **settings), len(rewards), len(rewards[0]))
    shown = outputs["advantages"].view(len(rewards), -1).tolist()
    return {"rewards": rewards, "scale": scale, "advantages": shown}


def score(trainer: Any, groups: int, size: int) -> dict[str, Any]:
    """Run a trainer's ``_generate_and_score_completions``."""
    batch = [{"prompt": f"w{p}"} for p in range(groups) for _ in range(size)]
    return trainer._generate_and_score_completions(batch)


def given_tensors() -> dict[str, torch.Tensor]:
    """Return a batch of 4 completions of up to 6 tokens with a tool result in the middle of one."""
    generator = torch.Generator().manual_seed(3)
    logprobs = -2 * torch.rand(4, 6, generator=generator, dtype=torch.float64) - 0.05
    old = logprobs + 0.4 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    reference = logprobs + 0.3 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
    advantage = torch.tensor([1.2, -0.7, 0.4, -1.5], dtype=torch.float64)
    sampler = old + 0.5 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    return {
        "logprobs": logprobs,
        "old": old,
        "reference": reference,
        "mask": mask,
        "advantages": advantage,
        "sampler": sampler,
    }


def loss(settings: dict[str, Any], given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Run TRL's loss on the given tensors and return its value and gradient."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, [[0.0, 1.0, 0.0, 1.0]], **settings)
        logprobs = given["logprobs"].clone().requires_grad_()
        trainer.given = [logprobs]
        trainer.current_gradient_accumulation_steps = 1
        trainer.model.train()
        inputs = {
            "prompt_ids": torch.ones(4, 2, dtype=torch.long),
            "prompt_mask": torch.ones(4, 2, dtype=torch.long),
            "completion_ids": torch.ones(4, 6, dtype=torch.long),
            "completion_mask": torch.ones(4, 6, dtype=torch.long),
            "tool_mask": given["mask"],
            "advantages": given["advantages"],
            "old_per_token_logps": given["old"],
            "ref_per_token_logps": given["reference"],
            "num_items_in_batch": given["mask"].sum(),
        }
        value = trainer._compute_loss(trainer.model, inputs)
        (gradient,) = torch.autograd.grad(value, logprobs)
        logged = {key: values[-1] for key, values in trainer._metrics["train"].items()}
    kept = {
        key: logged[key] for key in ("kl", "clip_ratio/low_mean", "clip_ratio/high_mean") if key in logged
    }
    return {**settings, "loss": value.item(), "gradient": gradient.tolist(), "logged": kept}


def correction(settings: dict[str, Any], given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Run TRL's scoring and loss on completions of a sampler whose log-probabilities are ``sampler``."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, [[0.0, 1.0, 0.0, 1.0]], **settings)
        trainer.use_vllm = True  # after the constructor, which would ask for a server
        trainer.current_gradient_accumulation_steps = 1
        trainer.model.train()
        ids = [[5] * 6 for _ in range(4)]
        masks, sampler = given["mask"].tolist(), given["sampler"].tolist()
        trainer.generated = ([[3]] * 4, ids, masks, ["w2"] * 4, sampler, {}, None, [[]] * 4)
        logprobs = given["logprobs"].clone().requires_grad_()
        trainer.given = [given["old"], *([given["reference"]] if settings["beta"] else []), logprobs]
        inputs = score(trainer, 1, 4) | {
            "advantages": given["advantages"],
            "num_items_in_batch": given["mask"].sum(),
        }
        value = trainer._compute_loss(trainer.model, inputs)
        (gradient,) = torch.autograd.grad(value, logprobs)
    weights = inputs["importance_sampling_ratio"].expand(4, 6)
    return {**settings, "weights": weights.tolist(), "loss": value.item(), "gradient": gradient.tolist()}


def penalised(beta: float, given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Run RLOO's scoring with the KL in the reward, on completions of 6, 2, 3 and 5 tokens."""
    rewards: list[list[float | None]] = [[1.0, 0.0, 0.5, 1.0]]
    lengths = (6, 2, 3, 5)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, rewards, LeaveOneOutProbe, beta=beta, normalize_advantages=False)
        trainer.generated = ([[3]] * 4, [[5] * length for length in lengths], ["w2"] * 4)
        trainer.given = [given["old"], given["reference"]]
        outputs = score(trainer, 1, 4)
    shown = outputs["advantages"].view(1, 4).tolist()
    return {"rewards": rewards, "lengths": lengths, "beta": beta, "advantages": shown}


def main() -> None:
    """Write every number to the JSON file named on the command line."""
    given = given_tensors()
    numbers = {
        "source": f"TRL {trl.__version__}, torch {torch.__version__}: "
        "_generate_and_score_completions of GRPOTrainer and RLOOTrainer (advantages, corrections, penalised) "
        "and GRPOTrainer._compute_loss (losses, sequence_kl, corrections); written by "
        "benchmarks/quality/trl_reference.py",
        "max_completion_length": MAX_COMPLETION_LENGTH,
        "advantages": [
            advantages(name, scale)
            for name in REWARDS
            for scale in ("group", "batch", "none", "leave_one_out")
        ],
        "given": {key: value.tolist() for key, value in given.items()},
        "losses": [loss(settings, given) for settings in LOSSES],
        "sequence_kl": [loss(settings, given) for settings in SEQUENCE_KL],
        "corrections": [correction(settings, given) for settings in CORRECTIONS],
        "penalised": [penalised(beta, given) for beta in (0.1, 0.5)],
    }
    Path(sys.argv[1]).write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
