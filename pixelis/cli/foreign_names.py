"""What other libraries call our settings, and which of our commands has a setting."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module

from pixelis.agents.settings.base import Section, leaves_of
from pixelis.errors import suggest

_OURS = {
    "lr": "learning_rate learning_rates step_size lr_actor actor_lr",
    "algorithm.value_lr": "critic_lr lr_critic vf_lr",
    "loss.surrogate": "surrogate loss_type loss_fn loss_function policy_loss policy_loss_type objective",
    "loss.aggregation": "loss_agg_mode loss_reduction loss_aggregation",
    "algorithm": "algo algorithm_name rl_algorithm adv_estimator advantage_estimator",
    "agent": "algo policy algorithm",
    "algorithm.scale": "scale_rewards norm_adv normalize_advantage normalise_advantage whiten_advantages",
    "loss.ratio": "importance_sampling_level importance_sampling ratio_level",
    "groups": (
        "batch_size train_batch_size prompts prompts_per_step num_prompts rollout_batch_size "
        "global_batch_size"
    ),
    "batch_size": "train_batch_size global_batch_size minibatch_size",
    "micro_batch_size": (
        "batch_size per_device_train_batch_size per_device_batch_size mini_batch_size "
        "minibatch_size micro_batch gradient_accumulation_steps grad_accum"
    ),
    "group_size": (
        "num_generations n_generations generations num_return_sequences n_samples samples "
        "num_samples rollout_n rollouts num_rollouts samples_per_prompt n_samples_per_prompt "
        "best_of completions"
    ),
    "max_new_tokens": (
        "max_completion_length max_tokens max_response_length max_gen_len max_length "
        "completion_length response_length max_output_tokens"
    ),
    "beta": "kl_coef kl_coeff kl_beta kl_loss_coef kl_weight kl_penalty init_kl_coef kl_ctl",
    "loss.kl": "kl_estimator kl_type kl_loss_type kl_penalty_type",
    "loss.surrogate.epsilon_low": (
        "epsilon eps clip clip_range cliprange clip_eps clip_epsilon clip_ratio clip_ratio_low clip_coef"
    ),
    "loss.surrogate.epsilon_high": "clip_ratio_high clip_higher",
    "agent.clip": "epsilon eps clip_range cliprange clip_eps clip_epsilon clip_ratio clip_coef",
    "loss.surrogate.cap": "delta clip_ratio_c",
    "agent.entropy": "ent_coef entropy_coef entropy_coeff entropy_bonus",
    "algorithm.gamma": "discount discount_factor",
    "algorithm.gae_lambda": "lam lambda gae",
    "max_grad_norm": (
        "grad_clip clip_grad gradient_clip gradient_clipping gradient_clip_val grad_norm max_norm"
    ),
    "warmup_steps": "warmup warmup_ratio num_warmup_steps lr_warmup_steps",
    "warmup": "warmup_steps warmup_ratio num_warmup_steps lr_warmup_steps",
    "decay_steps": "lr_scheduler_type lr_scheduler lr_schedule scheduler lr_decay lr_decay_steps",
    "weight_decay": "wd l2",
    "epochs": (
        "epoch n_epochs num_epochs num_train_epochs max_epochs num_iterations update_epochs ppo_epochs mu"
    ),
    "steps": (
        "max_steps total_steps train_steps training_steps num_steps num_train_steps n_iterations "
        "iterations num_updates timesteps total_timesteps num_timesteps max_iters"
    ),
    "minutes": "time max_time time_limit hours seconds max_minutes duration",
    "model": (
        "model_name model_name_or_path model_id model_path base_model pretrained pretrained_model checkpoint"
    ),
    "agent ": "model model_name model_name_or_path model_id adapter checkpoint ckpt run policy",
    "run": "model adapter checkpoint ckpt agent run_dir",
    "data": (
        "dataset dataset_name dataset_path data_path train_file train_data train_dataset training_data file"
    ),
    "env_kwargs.data": (
        "data dataset dataset_name dataset_path data_path train_file train_data train_dataset file"
    ),
    "env_kwargs.max_turns": "max_turns max_steps_per_episode max_episode_steps max_episode_length",
    "warm_start": "sft sft_path init_from demonstrations demos",
    "held_out": (
        "eval_data eval_file eval_dataset validation_data validation_file valid_data test_data test_file"
    ),
    "output": (
        "output_dir out out_dir save_dir save_path logdir log_dir run_name exp_name "
        "experiment_name default_root_dir name"
    ),
    "resume": (
        "resume_from_checkpoint resume_from continue load_checkpoint ckpt ckpt_path restore checkpoint"
    ),
    "checkpoint_every": ("save_steps save_freq save_every save_interval checkpoint_freq checkpoint_interval"),
    "keep_checkpoints": "save_total_limit max_checkpoints",
    "eval_every": "eval_steps eval_freq eval_interval evaluation_interval val_every test_freq",
    "eval_episodes": "n_eval_episodes num_eval_episodes eval_size n_eval episodes",
    "episodes": "n_eval_episodes num_eval_episodes num_episodes n_episodes eval_episodes games trials",
    "trajectories_every": "logging_steps log_every log_interval log_freq log_completions",
    "sample_every": "logging_steps log_every log_interval log_freq",
    "seed": "random_seed random_state data_seed rng_seed seeds",
    "lora.rank": "r rank lora_r lora_dim peft_rank",
    "lora.alpha": "alpha peft_alpha",
    "lora.dropout": "dropout peft_dropout",
    "quantization": "quantize quantisation load_in_4bit load_in_8bit bits quant",
    "dtype": "torch_dtype precision mixed_precision fp16 bf16 half",
    "device": "gpu gpus cuda device_map accelerator",
    "temperature": "temp sampling_temperature",
    "top_p": "nucleus topp p",
    "shard": "fsdp fsdp2 fully_shard zero zero3 zero_stage deepspeed full_shard",
    "offload": "cpu_offload fsdp_cpu_offload offload_params param_offload fsdp_offload_params",
    "gradient_checkpointing": "activation_checkpointing grad_checkpoint",
    "env": "env_id env_name environment environment_id gym_id gym task task_name",
    "env_kwargs": "env_args env_config environment_args environment_kwargs kwargs make_kwargs",
    "difficulty": "level levels hardness",
    "split": "subset dataset_split",
    "rewards": "reward reward_funcs reward_fn reward_function reward_model reward_weights",
    "n_envs": "num_envs envs n_env num_env parallel_envs",
    "env_threads": "num_envs n_envs num_workers workers threads rollout_workers",
    "workers": "num_workers n_workers n_jobs jobs threads processes",
    "agent.n_steps": "rollout_steps rollout_length num_steps horizon",
    "agent.buffer_size": "replay_size replay_buffer_size memory_size",
    "algorithm.replay.capacity": "buffer_size replay_size replay_buffer_size memory_size",
    "agent.learning_starts": "warmup_steps start_steps initial_steps",
    "agent.target_every": "target_update_interval target_update_freq tau",
    "agent.train_every": "train_freq train_frequency update_every",
    "agent.exploration_end": "exploration_final_eps epsilon_end eps_end final_epsilon",
    "agent.exploration_steps": "exploration_fraction epsilon_decay eps_decay",
    "packing": "pack pack_sequences",
    "pack_length": "max_seq_length max_length max_seq_len seq_length",
    "env_timeout_seconds": "timeout env_timeout step_timeout",
    "baselines": "baseline",
}
"""Our setting → what it is called elsewhere (TRL, transformers, SB3, CleanRL, veRL, OpenRLHF, and by habit).

A blank after a name tells two rows for the same setting apart.
"""

_COMMANDS = {
    "train_agent.py": "pixelis.agents.settings.rl:TrainConfig",
    "train_agent.py --agent sb3-ppo": "pixelis.agents.sb3.config:Sb3Config",
    "train_sft.py": "pixelis.agents.settings.sft:SftConfig",
    "expert_iteration.py": "pixelis.agents.settings.expert:ExpertConfig",
    "evaluate_agent.py": "pixelis.cli.evaluate:EvaluateSettings",
    "compare_models.py": "pixelis.cli.compare:CompareSettings",
    "play.py": "pixelis.cli.play:PlaySettings",
    "export_model.py": "pixelis.cli.export:ExportSettings",
    "replay.py": "pixelis.cli.replay:ReplaySettings",
    "analyse_lora.py": "pixelis.cli.analyse_lora:AnalyseSettings",
    "train_tweet_reward.py": "pixelis.cli.tweet_reward:RewardModelSettings",
    "verify_solutions.py": "pixelis.cli.verify_solutions:VerifySettings",
}
"""Command → the class of its settings."""


def about_unknown(name: str, kind: type[Section], program: str, flags: bool) -> str:
    """Return what may be said of a name that a command does not know, as sentences after a blank.

    Args:
        name: the setting that was given, with underscores.
        kind: the command's own settings.
        program: the command.
        flags: whether settings are told as flags (``--group-size``) or as keys of a file (``group_size``).
    """

    def told(setting: str) -> str:
        first, dot, rest = setting.partition(".")
        return f"--{first.replace('_', '-')}{dot}{rest}" if flags else repr(setting)

    known, fields = names_of(kind), kind.model_fields
    here = list(dict.fromkeys(_called_here(name, known)))
    others = [command for command in _having(name) if command != program]
    near = get_close_matches(name, kind.model_fields, n=1, cutoff=0.8)
    said = []
    if here:
        said.append(f"Here it is {' or '.join(told(one) for one in here[:3])}.")
    elif near:
        said.append(f"Did you mean {told(near[0])!r}?" if flags else f"Did you mean {told(near[0])}?")
    if others:
        said.append(f"{told(name)} belongs to {', '.join(others[:3])}.")
    if said:
        return f" {' '.join(said)}"
    if guess := get_close_matches(name, fields, n=1, cutoff=0.6):
        return f" Did you mean {told(guess[0])!r}?" if flags else f" Did you mean {told(guess[0])}?"
    return suggest("", [told(one) if flags else one for one in fields])


def names_of(kind: type[Section]) -> list[str]:
    """Return every setting by its full name, such as ``loss.kl.place``."""
    return list(dict.fromkeys(".".join(path) for path, _ in leaves_of(kind)))


def _called_here(name: str, known: list[str]) -> Iterator[str]:
    """Yield the settings of this name elsewhere, and those in sections: ``lora_rank`` is ``lora.rank``."""
    for ours, others in _OURS.items():
        setting = ours.strip()
        inside = setting in known or (
            setting.partition(".")[0] in known and setting.startswith("env_kwargs.")
        )
        if inside and _squeezed(name) in map(_squeezed, others.split()):
            yield setting
    for setting in known:
        inner = "." in setting and not setting.endswith(".type")
        if inner and name in (setting.replace(".", "_"), setting.rpartition(".")[2]):
            yield setting


def _squeezed(name: str) -> str:
    """Return a name as it is compared: ``learningrate`` is ``learning_rate``."""
    return name.replace("_", "").casefold()


def _having(name: str) -> Iterator[str]:
    """Yield the commands that have a setting of this name."""
    for command, path in _COMMANDS.items():
        module, _, kind = path.partition(":")
        settings = getattr(import_module(module), kind)
        if name != "type" and any(path[-1] == name for path, _ in leaves_of(settings)):
            yield command
