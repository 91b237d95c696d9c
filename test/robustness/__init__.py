"""Hostile and broken input: models, compiled files and entries of the cache, changed at random.

``python -m robustness`` draws inputs from numbered seeds, so that any of them can be made
again, hands each to graphc in a child process that is watched, and counts how they end. What is not
a result or a `GraphcError` is a violation: a crash, a hang, too much memory, another exception.
"""
