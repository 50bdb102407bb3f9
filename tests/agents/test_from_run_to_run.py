"""A run is a model: wherever a model is named, whatever kind of run it was, and on other machines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import peft
import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM

from pixelis.agents.models.loading import portable_name
from pixelis.agents.models.named_models import NAMED_MODELS
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.models.weight_types import DTYPES
from pixelis.agents.publish.export import export_model
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.saved_run import newest_adapter, settings_of, weights_of
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.sft import SftConfig
from pixelis.agents.sft.expert.run import ExpertRun
from pixelis.agents.sft.run import SftRun
from pixelis.cli import analyse_lora, compare, evaluate, export
from pixelis.cli import train as train_command
from pixelis.errors import CheckpointError, ConfigError, ModelLoadError

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),  # peft's own
    pytest.mark.slow,
]
ENV, SPELL = "toy_env:Toy/Echo-v0", "spell_env:Toy/Spell-v0"
IDS = torch.tensor([[1, 2, 3, 4]])
KINDS = ("grpo", "ppo", "sft", "expert", "full")


@pytest.fixture(scope="module")
def runs(letter_model, tmp_path_factory) -> dict[str, Path]:
    """One short run of each kind, with rates at which two steps change the model visibly."""
    root = tmp_path_factory.mktemp("runs")
    base = {"env": ENV, "model": str(letter_model), "eval_episodes": 0, "max_new_tokens": 5, "lr": 0.05}
    played = {**base, "groups": 2, "group_size": 8, "steps": 4}
    made = {
        "grpo": lambda out: train(TrainConfig(**played, lora={"rank": 4}, output=out)),
        "ppo": lambda out: train(TrainConfig(**played, algorithm="ppo", output=out)),
        "sft": lambda out: SftRun.whole(
            SftConfig(**{**base, "env": SPELL}, demonstrations=24, steps=3, output=out)
        ),
        "expert": lambda out: ExpertRun.whole(ExpertConfig(**played, min_reward=-1.0, output=out)),
        "full": lambda out: train(TrainConfig(**{**played, "lr": 0.003}, train="full", output=out)),
    }
    for name, make in made.items():
        make(str(root / name))
    return {name: root / name for name in KINDS}


def logits(policy: Policy) -> torch.Tensor:
    with torch.no_grad():
        return policy.model(IDS).logits


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_its_checkpoint_and_what_it_left_are_the_same_model(kind, runs, letter_model):
    run = runs[kind]
    checkpoint = list_checkpoints(run / "checkpoints")[-1]
    left = run / ("model" if kind == "full" else "adapter")
    found = [logits(Policy.load(place, device="cpu")) for place in (run, checkpoint, left)]
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert not torch.equal(found[0], logits(Policy.load(letter_model, device="cpu")))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_training_goes_on_from_every_kind_of_run(kind, runs, tmp_path):
    """One step of the four ways to train, each from a run of this kind, as ``--model runs/X``."""
    base = {"env": ENV, "model": str(runs[kind]), "eval_episodes": 0, "max_new_tokens": 5, "lr": 1e-9}
    start = logits(Policy.load(runs[kind], device="cpu"))
    played = {**base, "groups": 1, "group_size": 2, "steps": 1, "output": str(tmp_path / "next")}
    for make in (
        lambda: train(TrainConfig(**played)),
        lambda: SftRun.whole(
            SftConfig(**{**base, "env": SPELL}, demonstrations=24, steps=1, output=str(tmp_path / "next"))
        ),
        lambda: ExpertRun.whole(ExpertConfig(**played, min_reward=-1.0)),
        lambda: train(TrainConfig(**played, train="full")),
    ):
        run = make()
        torch.testing.assert_close(logits(run.policy), start, atol=1e-3, rtol=0)
        settings = settings_of(run.folder.path)
        if kind == "grpo" and settings["train"] == "lora":
            assert settings["lora"]["rank"] == 4  # that of the adapter which goes on
        shutil.rmtree(run.folder.path)


def test_a_chain_of_runs_is_one_adapter_on_the_first_base(runs, letter_model, tmp_path):
    played = {"env": ENV, "eval_episodes": 0, "max_new_tokens": 5, "groups": 1, "group_size": 2, "steps": 1}
    place = runs["sft"]
    for name in ("second", "third"):
        place = train(TrainConfig(**played, model=str(place), output=str(tmp_path / name))).folder.path
    policy = Policy.load(place, device="cpu")
    assert policy.base_name == str(letter_model) and list(policy.model.peft_config) == ["default"]
    assert policy.trained_from == str(letter_model)


def test_another_adapter_than_the_runs_is_refused(runs, toy_config):
    with pytest.raises(ConfigError, match=r"adapter with lora\.rank 4, .*and lora\.rank 8 was asked for"):
        TrainingRun.start(toy_config(model=str(runs["grpo"]), lora={"rank": 8}))
    with pytest.raises(ConfigError, match=r"lora\.targets 'q_proj' was asked for"):
        TrainingRun.start(toy_config(model=str(runs["grpo"]), lora={"targets": "q_proj"}))


TERMS = {"penalty": {}, "coherence": {"weight": 0.1, "encoder": "hashed"}, "task_gap": 1.0}


@pytest.fixture
def earlier(toy_config, tmp_path) -> Path:
    """A run with reward terms and stored episodes."""
    algorithm = {"replay": {"ratio": 0.5}}
    return train(
        toy_config(output=str(tmp_path / "earlier"), rewards=TERMS, algorithm=algorithm, group_size=8)
    ).folder.path


def test_from_run_takes_weights_statistics_and_stored_episodes(earlier, toy_config, tmp_path):
    values = {"output": str(tmp_path / "next"), "rewards": TERMS, "algorithm": {"replay": {"ratio": 0.5}}}
    config = toy_config(**values, from_run=str(earlier)).to_mapping()
    config.pop("model")
    before = TrainingRun.resume(earlier, TrainConfig.from_mapping(settings_of(earlier)))
    with before, TrainingRun.start(TrainConfig.from_mapping(config)) as run:
        assert torch.equal(logits(run.policy), logits(before.policy))
        old, new = before.trainer.rewards.stack, run.trainer.rewards.stack
        statistics = [each.orchestrator.state_dict()["statistics"] for each in (old, new)]
        assert statistics[0] == statistics[1] and statistics[0]["task"]["ring"]
        stored = run.trainer._learner.replay.stored
        assert [each.step + 3 for each in stored] == [
            each.step for each in before.trainer._learner.replay.stored
        ]
        assert stored and "stored episodes" in (run.folder.path / "log.txt").read_text()
        run.complete()
    again = TrainingRun.resume(run.folder.path, TrainConfig.from_mapping(settings_of(run.folder.path)))
    with again:
        assert again.trainer.finished_steps == 3  # from its own checkpoint


def test_from_run_goes_on_without_what_has_no_counterpart(earlier, toy_config, tmp_path):
    config = toy_config(
        output=str(tmp_path / "next"), from_run=str(earlier), rewards={"vote": {}}
    ).to_mapping()
    config.pop("model")
    with TrainingRun.start(TrainConfig.from_mapping(config)) as run:
        assert run.trainer.rewards.stack is None
        taken = (run.folder.path / "log.txt").read_text()
        assert "checkpoints/step-00000003: the weights, not what its reward terms have learnt" in taken
        assert "not its stored episodes (algorithm.replay is not set here)" in taken


def test_from_run_says_whose_the_stored_episodes_are(earlier, toy_config, tmp_path):
    """An offline run's labels may teach where members vote."""
    values = {"output": str(tmp_path / "next"), "from_run": str(earlier), "rewards": {"vote": {}}}
    config = toy_config(**values, algorithm={"replay": {"ratio": 0.5}}).to_mapping()
    config.pop("model")
    with TrainingRun.start(TrainConfig.from_mapping(config)) as run:
        count = len(run.trainer._learner.replay)
        told = f"{count} stored episodes (of {ENV}, paid by its rewards there)"
        assert count and told in (run.folder.path / "log.txt").read_text()


def test_from_run_leaves_episodes_that_were_credited_otherwise(earlier, toy_config, tmp_path):
    algorithm = {"replay": {"ratio": 0.5}, "credit": "turn"}
    values = {"output": str(tmp_path / "next"), "from_run": str(earlier), "algorithm": algorithm}
    config = toy_config(**values).to_mapping()
    config.pop("model")
    with TrainingRun.start(TrainConfig.from_mapping(config)) as run:
        taken = (run.folder.path / "log.txt").read_text()
        assert "0 stored episodes (of" in taken and "that were credited as wholes" in taken
        run.complete()


def test_from_run_must_be_a_run_and_the_only_start(earlier, toy_config, letter_model, tmp_path):
    with pytest.raises(ConfigError, match="leave model and warm_start out"):
        TrainingRun.start(toy_config(from_run=str(earlier)))
    config = toy_config(from_run=str(letter_model)).to_mapping()
    config.pop("model")
    with pytest.raises(ConfigError, match="must be the folder of a training run"):
        TrainingRun.start(TrainConfig.from_mapping(config))


# ------------------------------------------------------------------ commands


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_takes_every_kind_of_run(kind, runs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, few = str(runs[kind]), ["--env", ENV, "--episodes", "2", "--max-new-tokens", "5"]
    assert evaluate.main(["--agent", run, *few]) == 0
    assert compare.main(["--b", run, "--episodes", "2", "--mode", "greedy"]) == 0
    checkpoint = str(list_checkpoints(runs[kind] / "checkpoints")[-1])
    assert evaluate.main(["--agent", checkpoint, *few]) == 0
    assert export.main(["--run", run, "--output", "out"]) == 0
    exported = AutoModelForCausalLM.from_pretrained("out")
    with torch.no_grad():
        torch.testing.assert_close(
            exported(IDS).logits, logits(Policy.load(run, device="cpu")), atol=1e-4, rtol=0
        )
    card = Path("out/README.md").read_text()
    method = {
        "grpo": "GRPO",
        "ppo": "PPO",
        "sft": "demonstrations",
        "expert": "expert iteration",
        "full": "GRPO",
    }
    script = {"sft": "train_sft.py", "expert": "expert_iteration.py"}.get(kind, "train_agent.py")
    assert method[kind] in card and f"python scripts/{script}" in card
    analysed = analyse_lora.main([run, "--no-plot"])
    assert analysed == (2 if kind == "full" else 0)
    if kind == "full":
        assert "whole weights and no adapter" in capsys.readouterr().err


def test_the_train_command_takes_a_run(runs, tmp_path, capsys):
    words = ["--env", ENV, "--model", str(runs["sft"]), "--output", str(tmp_path / "on"), "--steps", "1"]
    words += ["--groups", "1", "--group-size", "2", "--max-new-tokens", "5", "--eval-episodes", "0"]
    assert train_command.main(words) == 0
    assert "learning rate: 0.001 to begin with, steered by the KL of updates" in capsys.readouterr().out
    assert yaml.safe_load((tmp_path / "on" / "config.yaml").read_text())["lora"]["rank"] == 16


def test_runs_that_are_no_model_are_told_apart(tmp_path, runs):
    small = tmp_path / "small"
    (small / "checkpoints").mkdir(parents=True)
    (small / "config.yaml").write_text("agent: sb3-ppo\n")
    with pytest.raises(ModelLoadError, match="an agent without language"):
        Policy.load(small)
    empty = tmp_path / "empty"
    (empty / "checkpoints").mkdir(parents=True)
    (empty / "config.yaml").write_text("env: Toy\n")
    with pytest.raises(CheckpointError, match="no checkpoint in"):
        Policy.load(empty)
    bare = tmp_path / "bare"
    shutil.copytree(runs["grpo"], bare, ignore=shutil.ignore_patterns("step-*"))
    assert weights_of(bare) == bare / "adapter"  # checkpoints thrown away, the adapter kept
    assert Policy.load(bare, device="cpu").has_adapter


# ------------------------------------------------------------------ what is left, and where else it loads


def test_the_adapter_is_left_with_every_checkpoint(toy_config):
    config = toy_config(steps=4, checkpoint_every=2)
    seen = []
    with TrainingRun.start(config) as run:
        left = run.folder.path / "adapter" / "adapter_model.safetensors"
        run.train(on_step=lambda row: seen.append((row["step"], left.read_bytes())))
        newest = newest_adapter(run.folder.path)[0] / left.name
    weights = dict(seen)
    assert weights[1] != weights[2] == weights[3] != left.read_bytes() == newest.read_bytes()
    hidden = [path.name for path in run.folder.path.iterdir() if path.name.startswith(".")]
    assert hidden == []


def test_an_adapter_names_its_base_for_other_machines(tmp_path, monkeypatch):
    """Trained here, loaded where the package lies elsewhere: by plain peft, and by us."""
    config = TrainConfig(
        env="Pixelis/ZoomRead-v0", model="pixelis-tiny", groups=1, group_size=2, steps=1, max_new_tokens=8,
        eval_episodes=0, output=str(tmp_path / "run"),
    )  # fmt: skip
    run = train(config)
    for place in (run.folder.path / "adapter", newest_adapter(run.folder.path)[0]):
        assert (
            json.loads((place / "adapter_config.json").read_text())["base_model_name_or_path"]
            == "pixelis-tiny"
        )
        for file in place.rglob("*"):
            if file.suffix in (".json", ".md"):
                assert "/" + str(Path(__file__).parents[2]).strip("/") not in file.read_text(), file
    moved = tmp_path / "elsewhere" / "pixelis-tiny"
    shutil.copytree(NAMED_MODELS["pixelis-tiny"](), moved)
    from transformers import AutoModelForImageTextToText

    plain = AutoModelForImageTextToText.from_pretrained(moved)
    adapted = peft.PeftModel.from_pretrained(plain, str(run.folder.path / "adapter"))
    with torch.no_grad():
        torch.testing.assert_close(adapted(IDS).logits, run.policy.model(IDS).logits)
    monkeypatch.chdir(moved.parent)
    assert Policy.load(run.folder.path / "adapter", device="cpu").base_name == "pixelis-tiny"


def test_bases_are_named_by_name_by_hub_id_or_else_by_path(tmp_path):
    tiny = NAMED_MODELS["pixelis-tiny"]()
    assert portable_name(str(tiny.resolve())) == "pixelis-tiny"
    assert portable_name("org/model") == "org/model"
    cached = "/home/x/.cache/huggingface/hub/models--org--some-model/snapshots/0123abc"
    assert portable_name(cached) == "org/some-model"
    assert portable_name(str(tmp_path)) == str(tmp_path)


def test_an_adapter_whose_base_is_not_here_says_what_to_do(text_folder, tmp_path):
    Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2)).save_adapter(tmp_path / "adapter")
    path = tmp_path / "adapter" / "adapter_config.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "base_model_name_or_path": "/nowhere/at/all"}))
    with pytest.raises(ModelLoadError, match="names the folder '/nowhere/at/all'; write there"):
        Policy.load(tmp_path / "adapter", device="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_carry_the_card_of_the_run(kind, runs):
    for checkpoint in list_checkpoints(runs[kind] / "checkpoints"):
        place = newest_adapter(checkpoint)[0]
        card = (place / "README.md").read_text()
        step = int(checkpoint.name.removeprefix("step-"))
        assert f"| steps | {step:,} |" in card and "[More Information Needed]" not in card
        header = yaml.safe_load(card.split("---\n")[1])
        assert "pixelis" in header["tags"] and ("lora" in header["tags"]) == (kind != "full")


def test_an_exported_model_is_a_model_to_train_on(runs, tmp_path):
    export_model(runs["sft"], tmp_path / "merged")
    run = train(
        TrainConfig(
            env=ENV, model=str(tmp_path / "merged"), groups=1, group_size=2, steps=1, max_new_tokens=5,
            eval_episodes=0, lora={"rank": 8},
            output=str(tmp_path / "on"),
        )
    )  # fmt: skip
    assert settings_of(run.folder.path)["lora"]["rank"] == 8


def test_what_a_run_chose_by_itself_is_chosen_when_it_goes_on(tmp_path):
    """The same settings, which leave model, number type and learning rate open, start and go on."""
    config = SftConfig(
        env="Pixelis/ZoomRead-v0", env_kwargs={"reader": "truth"}, demonstrations=4, held_out=0.0, steps=2,
        eval_episodes=0, dtype="auto", output=str(tmp_path / "run"),
    )  # fmt: skip
    with SftRun.start(config) as run:
        assert run.config.dtype in DTYPES and DTYPES[run.config.dtype] == run.policy.base.dtype
        run.train(should_stop=lambda: run.trainer.finished_steps == 1)
    with SftRun.resume(config.output, config) as resumed:
        resumed.train()
    assert (resumed.config.model, resumed.config.lr) == ("pixelis-tiny", 1e-3)
    assert resumed.config.dtype == run.config.dtype
    assert resumed.trainer.finished_steps == 2
