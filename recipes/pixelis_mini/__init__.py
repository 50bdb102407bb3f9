"""How the shipped model ``pixelis-mini`` is made: demonstrators, tokenizer, training, the folder.

Nothing at run time needs this: the result is an ordinary Hugging Face folder, which
``scripts/pretrain_mini.py`` rebuilds.
"""
