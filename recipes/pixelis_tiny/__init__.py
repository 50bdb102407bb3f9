"""How the shipped model ``pixelis-tiny`` is made: architecture, tokenizer, perception, demonstrations.

Nothing at run time needs this: the result is an ordinary Hugging Face folder, which
``scripts/pretrain_tiny.py`` rebuilds.
"""
