"""How ``pixelis-mini-vl`` is made: a small vision-language model that plays every pixel environment, badly enough.

``routines`` has the demonstrators, ``corpus`` and ``tokenizer`` the words, ``architecture`` the network, ``rows`` what a
scene teaches, ``collect`` writes rows to files, ``train`` learns from them. ``python scripts/pretrain_mini_vl.py`` runs all.
"""
