"""Expert iteration: play, keep what went well, learn to do that by SFT, and again.

The baseline for GRPO. Best-of-n as the expert and SFT as the apprentice: Anthony et al. 2017 (arXiv
1705.08439); kept by success as in STaR (Zelikman et al. 2022, arXiv 2203.14465) and ReST (Gulcehre et al.
2023, arXiv 2308.08998).
"""
