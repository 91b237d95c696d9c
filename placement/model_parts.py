"""A model's nodes with the types of its values, before they are divided among devices."""

from collections.abc import Mapping
from typing import Any

from ..compiler.driver import make_options, plan_parts
from ..frontend.onnx import PartitionPlan
from ..passes.infra.report import Report


def plan_model(model: Any, dims: Mapping[str, int] | None = None) -> PartitionPlan:
    """The nodes of `model`, as `graphc.compile` takes it, and the types of its values."""
    return plan_parts(model, make_options("cpu", dims=dims), Report())
