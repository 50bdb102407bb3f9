"""On the way to ``pixelis-mini-vl``: a small vision-language model that is to play every pixel environment.

``routines`` has the demonstrators, ``corpus`` and ``tokenizer`` the words, ``architecture`` the network,
``rows`` what a scene teaches, ``collect`` writes rows to files, ``train`` learns from them. No model has come
of it yet that is worth shipping: see ``docs/reference/pixelis_mini_vl.md``.
"""
