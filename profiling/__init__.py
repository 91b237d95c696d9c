"""Profiles of models: the time of a run by node of the ONNX model."""

from .measure import profile, profile_compiled
from .model_profile import Profile
from .rows import ProfileRow
