"""Where the time of a run goes, by the nodes of the ONNX model."""

from .measure import profile, profile_compiled
from .report import Profile
from .rows import Row
