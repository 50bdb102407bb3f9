"""TRL's GRPOTrainer on our web sites: pixelis-mini clicks by native tool calls, over several turns.

    python examples/trl_web_browse.py --steps 2

It needs ``pip install 'pixelis[trl]'``. With a model that knows tools (Qwen3, for one) the template is its
own: leave `TEMPLATE` and `READING` out.
"""

from __future__ import annotations

import argparse

from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from pixelis.adapters.trl import dataset, environment, pays_in_all
from pixelis.agents import find_folder

ENV, KWARGS = "Pixelis/WebBrowse-v0", {"difficulty": 0}
TEMPLATE = """
{%- for message in messages -%}
{{ '<|' + ('user' if message['role'] == 'tool' else message['role']) + '|>' + (message['content'] or '') }}
{%- for call in message['tool_calls'] or [] -%}
{{ '<tool_call>' + (call['function'] | tojson) + '</tool_call>' }}
{%- endfor -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}
"""
"""That of pixelis-mini with what it lacks: calls, and a tool's result, to this model the user's word."""
READING = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|end\|>\s*", "content": "text"},
    },
}
"""How transformers reads what the model writes."""


def trainer(steps: int, output: str, seed: int = 0) -> GRPOTrainer:
    """Return TRL's trainer, ready to train."""
    folder = find_folder("pixelis-mini")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template, tokenizer.response_template = TEMPLATE, READING
    config = GRPOConfig(
        output_dir=output,
        max_steps=steps,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=2000,
        learning_rate=3e-4,
        logging_steps=1,
        seed=seed,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        dataloader_pin_memory=False,
    )
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder),
        reward_funcs=pays_in_all,
        args=config,
        train_dataset=dataset(ENV, range(1000), KWARGS, lists_tools=False, first=False),
        environment_factory=environment(ENV, KWARGS),
        processing_class=tokenizer,
    )


def main() -> None:
    """Read the flags, train, and print what came of it."""
    parser = argparse.ArgumentParser(description="TRL's GRPO on a web site of Pixelis.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--output", default="runs/trl_web_browse")
    flags = parser.parse_args()
    made = trainer(flags.steps, flags.output)
    made.train()
    paid = [f"{row['reward']:.2f}" for row in made.state.log_history if "reward" in row]
    print("reward of each step:", " ".join(paid))


if __name__ == "__main__":
    main()
