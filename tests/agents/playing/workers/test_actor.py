"""A worker plays by the weights that it is given, and says which these were; without a cluster."""

from __future__ import annotations

import sys

from pixelis.agents.distributed.episode_messages import read_episodes
from pixelis.agents.distributed.wire import pack, unpack
from pixelis.agents.playing.player import play_order
from pixelis.agents.playing.sources import policy_of
from pixelis.agents.playing.workers.actor import Worker
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings


def test_a_worker_says_by_which_weights_it_has_played(toy_config):
    config = toy_config()
    worker = Worker(config.to_mapping(), sys.path)
    parameters = {str(n): each for n, each in enumerate(policy_of(config, None).trainable_parameters())}
    requests = [EpisodeRequest(3, 0, member) for member in range(2)]
    order = pack(play_order(requests, SamplingSettings(max_new_tokens=2), 0, None))
    for version in (5, 6):
        versions, reply = worker.play(order, pack({"version": version}, parameters))
        value, tensors = unpack(reply)
        episodes = read_episodes(value["played"], tensors)
        assert versions == [version] and len(episodes) == 2
        turns = [segment for episode in episodes for segment in episode.segments if segment.sampled]
        assert turns and {turn.weights_version for turn in turns} == {version}
        assert {turn.finish_reason for turn in turns} <= {"stop", "length"}
    versions, reply = worker.play(order, pack({}, parameters))  # what goes wrong is a reply, of no weights
    assert versions == [] and unpack(reply)[0] == {"error": "KeyError: 'version'"}


def test_a_worker_closes_what_it_has_open(toy_config, tmp_path):
    notes = tmp_path / "notes"
    config = toy_config(env="slow_toy_env:Toy/SlowEcho-v0", env_kwargs={"notes": str(notes)})
    worker = Worker(config.to_mapping(), sys.path)
    worker.close()  # nothing is open
    assert "error" not in worker.about()
    parameters = {str(n): each for n, each in enumerate(policy_of(config, None).trainable_parameters())}
    order = pack(play_order([EpisodeRequest(3, 0, 0)], SamplingSettings(max_new_tokens=2), 0, None))
    worker.play(order, pack({"version": 0}, parameters))
    before = notes.read_text() if notes.exists() else ""
    worker.close()
    assert notes.read_text().count("closed") == before.count("closed") + 1
