"""Where the time of a run goes, by the nodes of the ONNX model."""

from .measure import profile, profile_compiled
from .model_profile import Profile
from .rows import Row
