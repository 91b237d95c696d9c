"""Malicious and broken input: models, compiled files and entries of the cache, changed at random.

``python -m robustness`` draws inputs from numbered seeds, so that each can be reproduced. It hands
them to graphc in a supervised child process and counts the outcomes. Every outcome except a result
or a `GraphcError` is a violation: a crash, a hang, too much memory, another exception.
"""
