"""Comparative benchmarks, and the models that they run on.

No script asserts times: each prints its measurements and the options they were taken with. The
scripts need the ``bench`` extra; the package itself needs none of them.
"""
