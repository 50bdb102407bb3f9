"""Write the reference numbers of TRL's own code for tests/agents/grpo/test_trl_reference.py.

Needs an environment of its own (nothing in Pixelis imports TRL)::

    python -m venv /tmp/trl && /tmp/trl/bin/pip install torch==2.13.0 trl==1.16.0 peft==0.21.2
    /tmp/trl/bin/python benchmarks/trl_reference.py tests/agents/grpo/trl_reference.json

Advantages: ``GRPOTrainer._generate_and_score_completions`` runs as it is, on a random two-layer model, with
a reward function that returns given values. Losses: ``GRPOTrainer._compute_loss`` runs as it is, except that
the forward pass returns given log-probabilities; the gradient is that of the loss with respect to them.
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
import trl  # pyright: ignore[reportMissingImports]
from datasets import Dataset  # pyright: ignore[reportMissingImports]
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

REWARDS: dict[str, list[list[float | None]]] = {
    "binary": [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    "graded": [[0.3, -0.2, 1.7, 0.9], [0.5, 0.5, 0.5, 0.51], [2.0, 2.0, 2.0, 2.0]],
    "unscored": [[1.0, None, 0.0, 1.0], [None, None, None, 0.5], [0.25, 0.75, None, None]],
}
LOSSES: list[dict[str, Any]] = [
    {"loss_type": loss_type, "beta": beta, "epsilon": 0.2, "epsilon_high": high}
    for loss_type in ("grpo", "dapo", "dr_grpo")
    for beta, high in ((0.0, 0.2), (0.04, 0.28))
]
MAX_COMPLETION_LENGTH = 8


class Probe(GRPOTrainer):
    """TRL's trainer, with its advantages kept and, when set, its forward pass replaced by given numbers."""

    given: torch.Tensor | None = None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        if self.given is None:
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return self.given, torch.zeros_like(self.given), None


def make_trainer(folder: str, rewards: list[list[float | None]], **settings: Any) -> Probe:
    """Return a trainer whose reward function gives ``rewards`` (P groups of G) in order."""
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
    options = GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        report_to=[],
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=len(flat),
        num_generations=len(rewards[0]),
        max_completion_length=MAX_COMPLETION_LENGTH,
        use_bias_correction_kl=False,
        **settings,
    )
    return Probe(
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
    size = len(rewards[0])
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, rewards, scale_rewards=scale)
        batch = [{"prompt": f"w{p}"} for p in range(len(rewards)) for _ in range(size)]
        outputs = trainer._generate_and_score_completions(batch)
    return {"rewards": rewards, "scale": scale, "advantages": outputs["advantages"].view(-1, size).tolist()}


def given_tensors() -> dict[str, torch.Tensor]:
    """Return a batch of 4 completions of up to 6 tokens with a tool result in the middle of one."""
    generator = torch.Generator().manual_seed(3)
    logprobs = -2 * torch.rand(4, 6, generator=generator, dtype=torch.float64) - 0.05
    old = logprobs + 0.4 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    reference = logprobs + 0.3 * torch.randn(4, 6, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
    advantage = torch.tensor([1.2, -0.7, 0.4, -1.5], dtype=torch.float64)
    return {"logprobs": logprobs, "old": old, "reference": reference, "mask": mask, "advantages": advantage}


def loss(settings: dict[str, Any], given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Run TRL's loss on the given tensors and return its value and gradient."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, [[0.0, 1.0, 0.0, 1.0]], **settings)
        trainer.given = given["logprobs"].clone().requires_grad_()
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
        (gradient,) = torch.autograd.grad(value, trainer.given)
        logged = {key: values[-1] for key, values in trainer._metrics["train"].items()}
    kept = {
        key: logged[key] for key in ("kl", "clip_ratio/low_mean", "clip_ratio/high_mean") if key in logged
    }
    return {**settings, "loss": value.item(), "gradient": gradient.tolist(), "logged": kept}


def main() -> None:
    """Write every number to the JSON file named on the command line."""
    given = given_tensors()
    numbers = {
        "source": f"TRL {trl.__version__}, torch {torch.__version__}: "
        "GRPOTrainer._generate_and_score_completions (advantages) and "
        "GRPOTrainer._compute_loss (losses); written by benchmarks/trl_reference.py",
        "max_completion_length": MAX_COMPLETION_LENGTH,
        "advantages": [advantages(name, scale) for name in REWARDS for scale in ("group", "batch", "none")],
        "given": {key: value.tolist() for key, value in given.items()},
        "losses": [loss(settings, given) for settings in LOSSES],
    }
    Path(sys.argv[1]).write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
