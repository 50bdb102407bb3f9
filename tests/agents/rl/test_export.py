"""Exported models: ordinary folders that say the same, whole or not there, with cards that invent nothing."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import numpy as np
import peft
import pytest
import torch
import yaml
from tiny_models import FAMILIES, VISION_FAMILIES, build
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

from pixelis.agents.models.policy import Policy
from pixelis.agents.publish.export import export_model
from pixelis.agents.publish.model_card import training_command
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import newest_adapter
from pixelis.agents.runs.metrics import read_metrics
from pixelis.agents.settings.rl import TrainConfig
from pixelis.cli import USER_MISTAKE, export
from pixelis.cli.train import COMMAND as TRAIN
from pixelis.errors import CheckpointError, ConfigError, OutputError

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own


def header(folder: Path) -> dict[str, object]:
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


def table(folder: Path, title: str) -> list[list[str]]:
    """Return the cells of the rows of the table under a title."""
    part = (folder / "README.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return [row for row in rows if set("".join(row)) - set("-| ")]


@pytest.fixture
def strong_run(toy_config, tmp_path):
    """Return a maker of finished runs whose adapter matters: one step at a high learning rate."""

    def make(family: str) -> tuple[Path, Policy]:
        config = toy_config(
            env="toy_env:Toy/Album-v0",
            model=str(build(family, tmp_path / "base")),
            steps=1,
            lr=0.01,
            warmup_steps=0,
            lora={"rank": 4},
        )
        run = train(config)
        return run.folder.path, run.policy

    return make


def logits_of(model, policy: Policy, family: str) -> torch.Tensor:
    """Return a model's logits for a prompt, with a picture if it sees any."""
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    prompt = policy.chat.first("What is it?", image if family in VISION_FAMILIES else None)
    ids = torch.from_numpy(prompt.tokens)[None]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **prompt.images}
    if policy.position_axes == 3:
        inputs["mm_token_type_ids"] = (ids == policy.base.config.image_token_id).int()
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize("family", FAMILIES)
def test_merged_and_adapter_say_what_the_trained_policy_says(strong_run, tmp_path, family):
    run, policy = strong_run(family)
    auto = AutoModelForImageTextToText if family in VISION_FAMILIES else AutoModelForCausalLM
    expected = logits_of(policy.model, policy, family)
    base = auto.from_pretrained(policy.base_name).eval()
    assert (logits_of(base, policy, family) - expected).abs().max() > 1e-2  # training did something

    export_model(run, tmp_path / "merged")
    merged = auto.from_pretrained(tmp_path / "merged").eval()
    assert type(merged) is type(base)
    assert not [name for name in merged.state_dict() if "lora" in name]
    torch.testing.assert_close(logits_of(merged, policy, family), expected, atol=1e-5, rtol=0)

    export_model(run, tmp_path / "adapter", adapter_only=True)
    plain = peft.PeftModel.from_pretrained(base, str(tmp_path / "adapter")).eval()
    torch.testing.assert_close(logits_of(plain, policy, family), expected, atol=1e-6, rtol=0)

    # Pixelis itself reads both folders back, and the prompt is made of the same tokens.
    for name in ("merged", "adapter"):
        again = Policy.load(tmp_path / name, device="cpu")
        assert again.has_adapter == (name == "adapter")
        prompt = again.chat.first("What is it?").tokens
        assert prompt.tolist() == policy.chat.first("What is it?").tokens.tolist()
        torch.testing.assert_close(logits_of(again.model, policy, family), expected, atol=1e-5, rtol=0)


def test_peft_s_auto_classes_find_the_base_of_an_adapter(strong_run, tmp_path):
    run, policy = strong_run("qwen2")
    adapter, _ = newest_adapter(run)
    found = peft.AutoPeftModelForCausalLM.from_pretrained(str(adapter)).eval()
    torch.testing.assert_close(logits_of(found, policy, "qwen2"), logits_of(policy.model, policy, "qwen2"))


def test_peft_s_auto_class_for_models_with_vision(strong_run):
    run, policy = strong_run("llava")
    adapter, _ = newest_adapter(run)
    found = peft.AutoPeftModel.from_pretrained(str(adapter)).eval()
    torch.testing.assert_close(logits_of(found, policy, "llava"), logits_of(policy.model, policy, "llava"))


# vLLM 0.10 to 0.22 (vllm/lora/peft_helper.py, lora_model.py, config/lora.py): rank up to --max-lora-rank,
# whose default is 16; no bias, no modules_to_save, no DoRA; per-layer ranks are not read; tensors are
# named ...lora_A.weight and ...lora_B.weight, on the language model's own linear layers.
VLLM_LAYERS = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}


@pytest.mark.parametrize("family", ["qwen2", "smollm", "qwen2_5_vl"])
def test_the_adapter_keeps_to_what_vllm_documents(strong_run, tmp_path, family):
    from safetensors import safe_open

    run, _ = strong_run(family)
    export_model(run, tmp_path / "adapter", adapter_only=True)
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["peft_type"] == "LORA" and config["r"] <= TrainConfig().lora.rank <= 16
    assert config["bias"] == "none" and not config.get("modules_to_save")
    assert not any(config.get(name) for name in ("use_dora", "rank_pattern", "alpha_pattern", "lora_bias"))
    with safe_open(tmp_path / "adapter" / "adapter_model.safetensors", "pt") as tensors:
        names = list(tensors.keys())
        ranks = {tensors.get_slice(name).get_shape()[0] for name in names if name.endswith("lora_A.weight")}
    assert ranks == {config["r"]}
    assert all(name.startswith("base_model.model.") for name in names)
    assert all(name.endswith((".lora_A.weight", ".lora_B.weight")) for name in names)
    assert {name.split(".")[-3] for name in names} == VLLM_LAYERS
    assert {name.rsplit(".", 1)[-1] for name in config["target_modules"]} == VLLM_LAYERS


# ---------------------------------------------------------------------- the card


def test_a_card_says_what_the_run_measured(toy_config, tmp_path):
    with TrainingRun.start(toy_config(steps=3, eval_episodes=10)) as run:
        run.evaluate("before")
        run.train()
        run.evaluate("after")
    export_model(run.folder.path, tmp_path / "out")
    assert header(tmp_path / "out") == {
        "base_model": Path(run.config.model).name,
        "base_model_relation": "finetune",
        "library_name": "transformers",
        "license": "unknown",
        "pipeline_tag": "text-generation",
        "tags": ["reinforcement-learning", "grpo", "lora", "pixelis"],
    }
    training = dict(table(tmp_path / "out", "Training")[1:])
    metrics = read_metrics(run.folder.metrics)
    assert training["environment"] == "`toy_env:Toy/Echo-v0`"
    assert (training["steps"], training["episodes"]) == ("3", "48")
    assert training["sampled tokens"] == str(sum(row["tokens/sampled"] for row in metrics))
    assert training["training time"] == f"{metrics[-1]['time/elapsed'] / 60:.1f} minutes"
    rows = table(tmp_path / "out", "Evaluation")[1:]
    assert [row[:3] for row in rows] == [
        [who, mode, "10"] for who in ("before training", "this model") for mode in ("greedy", "sampled")
    ]
    said = [row for phase in ("before", "after") for row in run.evaluations[phase]]
    assert [row[3].split()[0] for row in rows] == [f"{row.success_rate:.3f}" for row in said]
    assert "not measured" not in (tmp_path / "out" / "README.md").read_text()


def test_the_card_beside_a_run_s_own_weights_knows_the_last_evaluation(toy_config):
    run = train(toy_config(steps=2, eval_episodes=5))
    own = run.folder.path / "adapter"
    assert [row[0] for row in table(own, "Evaluation")[1:]] == [
        who for who in ("before training", "this model") for _ in ("greedy", "sampled")
    ]
    assert "not measured" not in (own / "README.md").read_text()
    sealed, step = newest_adapter(run.folder.path)  # verified: what is sealed has not changed
    assert f"This model, step {step}: not measured." in (sealed / "README.md").read_text()


def test_what_was_not_measured_is_said(toy_config, tmp_path):
    run = train(toy_config(steps=1))
    run.folder.metrics.unlink()
    export_model(run.folder.path, tmp_path / "out", adapter_only=True)
    training = dict(table(tmp_path / "out", "Training")[1:])
    assert training["episodes"] == training["sampled tokens"] == "not measured"
    card = (tmp_path / "out" / "README.md").read_text()
    assert "This model, step 1: not measured." in card and "| who |" not in card
    assert header(tmp_path / "out")["library_name"] == "peft"


def test_numbers_of_other_weights_are_not_the_model_s(toy_config, tmp_path):
    """The evaluation after step 2 says nothing about step 1, nor about step 3 of the run that went on."""
    config = toy_config(steps=2, checkpoint_every=1, keep_checkpoints=9, eval_episodes=5)
    run = train(config)
    export_model(run.folder.checkpoints / "step-00000001", tmp_path / "earlier")
    with TrainingRun.resume(config.output, config.with_values(steps=3)) as longer:
        longer.train()
    export_model(run.folder.path, tmp_path / "later")
    for name, step in (("earlier", 1), ("later", 3)):
        assert f"This model, step {step}: not measured." in (tmp_path / name / "README.md").read_text()
        assert {row[0] for row in table(tmp_path / name, "Evaluation")[1:]} == {"before training"}
    assert dict(table(tmp_path / "earlier", "Training")[1:])["episodes"] == "16"


def test_rows_without_a_step_are_not_claimed(toy_config, tmp_path):
    """Evaluation files of older versions do not name the step."""
    run = train(toy_config(steps=1, eval_episodes=5))
    saved = json.loads(run.folder.evaluation.read_text())
    for rows in saved.values():
        for row in rows:
            del row["step"]
    run.folder.evaluation.write_text(json.dumps(saved))
    export_model(run.folder.path, tmp_path / "out")
    assert "This model, step 1: not measured." in (tmp_path / "out" / "README.md").read_text()
    who = {row[0] for row in table(tmp_path / "out", "Evaluation")[1:]}
    assert who == {"before training", "after training (which step was not recorded)"}


def test_the_licence_is_the_base_model_s(toy_config, letter_model, tmp_path):
    base = build("llama", tmp_path / "base")
    (base / "README.md").write_text("---\nlicense: mit\n---\n# A model\n")
    run = train(toy_config(steps=0, env="toy_env:Toy/Album-v0", model=str(base)))
    export_model(run.folder.path, tmp_path / "out")
    assert header(tmp_path / "out")["license"] == "mit"
    assert "declares `mit`" in (tmp_path / "out" / "README.md").read_text()


def test_the_shipped_model_keeps_its_name_and_licence(toy_config, tmp_path):
    run = train(toy_config(steps=0, env="toy_env:Toy/Picture-v0", model="pixelis-tiny"))
    export_model(run.folder.path, tmp_path / "out")
    values = header(tmp_path / "out")
    assert (values["base_model"], values["license"]) == ("pixelis-tiny", "apache-2.0")
    assert values["pipeline_tag"] == "image-text-to-text"


def test_the_code_on_the_card_of_an_adapter_on_the_shipped_model_runs(toy_config, monkeypatch):
    """No hub has ``pixelis-tiny``: the card loads it by the package."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = train(toy_config(steps=0, env="toy_env:Toy/Picture-v0", model="pixelis-tiny"))
    adapter = run.folder.path / "adapter"
    code = (adapter / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(code.replace("path/to/this/folder", str(adapter)), names)
    assert isinstance(names["model"], peft.PeftModel) and names["processor"].image_token


def test_a_card_tells_no_path_of_this_machine(toy_config, tmp_path):
    run = train(toy_config(steps=1, eval_episodes=5))
    export_model(run.folder.path, tmp_path / "out")
    assert str(tmp_path) not in (tmp_path / "out" / "README.md").read_text()


def test_the_command_of_a_card_starts_the_same_run():
    config = TrainConfig(
        env="toy_env:Toy/Echo-v0",
        env_kwargs={"turns": 2, "reader": "truth"},
        model="some/model",
        lr=3e-4,
        beta=0.0,
        baselines=True,
        minutes=2.5,
        output="somewhere",
    )
    command = shlex.split(training_command(config))
    assert command[:2] == ["python", "scripts/train_agent.py"]
    assert TRAIN.read(command[2:])[0] == config.with_values(output=None)


# ---------------------------------------------------------------------- what goes wrong


def test_nothing_is_written_over(toy_config, tmp_path):
    run = train(toy_config(steps=0))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").write_text("precious")
    with pytest.raises(ConfigError, match="exists already and is not written over"):
        export_model(run.folder.path, tmp_path / "mine")
    assert (tmp_path / "mine" / "model.safetensors").read_text() == "precious"


def test_a_folder_appears_whole_or_not_at_all(toy_config, tmp_path, monkeypatch):
    run = train(toy_config(steps=0))
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match="No space left on device; nothing is left of it"):
        export_model(run.folder.path, tmp_path / "new" / "out")
    assert list((tmp_path / "new").iterdir()) == []


def full_disk(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_what_a_killed_export_left_is_in_nobody_s_way(toy_config, tmp_path):
    run = train(toy_config(steps=0))
    (tmp_path / ".out.unfinished").mkdir()
    (tmp_path / ".out.unfinished" / "half").write_text("half")
    done = export_model(run.folder.path, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"config.json", "model.safetensors", "README.md"} <= names and "half" not in names
    assert not (tmp_path / ".out.unfinished").exists()
    assert done.size_bytes == sum(path.stat().st_size for path in (tmp_path / "out").iterdir())


def test_half_precision_is_rounded_once_from_the_float32_sum(toy_config, tmp_path):
    run = train(toy_config(steps=2, lr=0.05, warmup_steps=0))
    for dtype in ("float32", "bfloat16"):
        export_model(run.folder.path, tmp_path / dtype, dtype=dtype)
    full = AutoModelForCausalLM.from_pretrained(tmp_path / "float32").state_dict()
    half = AutoModelForCausalLM.from_pretrained(tmp_path / "bfloat16").state_dict()
    assert all(torch.equal(half[name], value.to(torch.bfloat16)) for name, value in full.items())


def test_the_command(toy_config, tmp_path, capsys):
    run = train(toy_config(steps=1))
    assert export.main(["--run", str(run.folder.path), "--output", str(tmp_path / "out")]) == 0
    assert "merged model, step 1" in capsys.readouterr().out
    assert AutoTokenizer.from_pretrained(tmp_path / "out").chat_template
    words = ["--run", str(run.folder.path), "--output", str(tmp_path / "adapter"), "--adapter-only"]
    assert export.main(words) == 0
    assert {path.name for path in (tmp_path / "adapter").iterdir()} == {
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "pixelis.yaml",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--run and --output are both needed"),
        (["--run", "nowhere", "--output", "out"], "no run at 'nowhere'"),
        (["--run", "nowhere", "--output", "."], "exists already"),
        (["--run", "nowhere", "--output", "out", "--dtype", "int4"], "one of auto, float32"),
        (["--run", "nowhere", "--outptu", "out"], "Did you mean '--output'?"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert export.main(words) == USER_MISTAKE
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_run_without_a_checkpoint(tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("lr: 1\n")
    with pytest.raises(CheckpointError, match="no checkpoint in"):
        export_model(tmp_path / "run", tmp_path / "out")


def test_the_processor_is_the_base_model_s(strong_run, tmp_path):
    run, policy = strong_run("idefics3")
    export_model(run, tmp_path / "out")
    ours, theirs = (AutoProcessor.from_pretrained(path) for path in (tmp_path / "out", policy.base_name))
    assert type(ours) is type(theirs) and ours.to_dict() == theirs.to_dict()
    assert ours.tokenizer.get_vocab() == theirs.tokenizer.get_vocab()
