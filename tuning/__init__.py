"""Tuning: the pipeline of passes that is fastest for a model on this machine, by measurement.

model = graphc.compile("model.onnx", tune="full", tuning_database="tuning.jsonl", feeds={"x": x})

result = tuning.tune("model.onnx", {"x": x}, budget=600, database="tuning.jsonl")
model = graphc.compile("model.onnx", pipeline=result.pipeline)
"""

from .budget import BUDGETS, budget_seconds
from .choice import choose_pipeline
from .database import TuningDatabase, TuningRecord
from .executors import RayExecutor, WorkerProcesses
from .lookup import PipelineChoice, pipeline_for
from .result import TuningResult
from .tuner import tune

__all__ = [
    "BUDGETS",
    "PipelineChoice",
    "RayExecutor",
    "TuningDatabase",
    "TuningRecord",
    "TuningResult",
    "WorkerProcesses",
    "budget_seconds",
    "choose_pipeline",
    "pipeline_for",
    "tune",
]
