"""Tuning: the pipeline of passes that is fastest for a model on this machine, by measurement.

result = tuning.tune("model.onnx", {"x": x}, budget=600, database="tuning.jsonl")
model = graphc.compile("model.onnx", pipeline=result.pipeline)
"""

from .database import TuningDatabase, TuningRecord
from .tuner import TuningResult, pipeline_for, tune

__all__ = ["TuningDatabase", "TuningRecord", "TuningResult", "pipeline_for", "tune"]
