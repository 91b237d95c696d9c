"""Side-by-side measurements, and the models they run on.

Nothing here is an assertion about time: every script prints what it measured, with the options it
measured under. The scripts need the ``bench`` extra; the package itself needs none of them.
"""
