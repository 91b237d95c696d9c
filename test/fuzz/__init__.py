"""Fuzzing: models drawn at random, compiled, and compared with ONNX Runtime.

::

    python -m fuzz                      # 10,000 graphs, a process for each CPU
    python -m fuzz --graphs 500 --seed 7
    python -m fuzz --resume             # goes on with what --output has
    python -m fuzz --only 1234          # one graph of the seed, and what became of it
    python -m fuzz --only 12 34         # two graphs, compiled together
    python -m fuzz --family qdq         # quantised graphs alone

Graph `index` of a seed is the same in every run, however many processes there are. A graph is
drawn node by node, and each node is evaluated as soon as it is drawn: that says which sizes the
next one has to fit, keeps values finite and small, and is what the compiled model must give.

Models are compiled in batches (`fuzz.batches`), in processes that may crash or hang without harm to
others. What ends otherwise than it should becomes a folder with the smallest model that shows it,
its inputs, and a command.
"""
