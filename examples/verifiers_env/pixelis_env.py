"""Pixelis for verifiers: ``vf-eval pixelis_env``, and ``id = "pixelis_env"`` in a file of prime-rl's.

    pip install ./examples/verifiers_env
    vf-eval pixelis_env --env.taskset.env-id Pixelis/CodeProblem-v0 -n 20 --model MODEL --client.base-url URL

A package of one environment is made by a subclass of `VerifiersTaskset` whose settings have other defaults.
"""

from pixelis.adapters.verifiers import VerifiersEnv, VerifiersTaskset

__all__ = ["VerifiersEnv", "VerifiersTaskset"]
