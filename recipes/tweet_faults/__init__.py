"""How the fault heads of the tweet reward are made: replies with a known fault, and the fit to them.

Nothing at run time needs this: the result is a folder of weights, which ``scripts/train_tweet_faults.py``
makes anew.
"""
