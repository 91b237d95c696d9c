"""Placement of a model's parts on several devices, by measured cost.

plan = placement.place("model.onnx", ["cpu", "onnxruntime"], {"x": x})
print(plan)
y, = placement.open_placed("model.onnx", plan).run(None, {"x": x})
"""

from .placed_model import PlacedPart
from .placer import open_placed, place
from .plan import PlacedRegion, PlacementPlan

__all__ = ["PlacedPart", "PlacedRegion", "PlacementPlan", "open_placed", "place"]
