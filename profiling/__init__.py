"""Where the time of a run goes, by the nodes of the ONNX model."""

from .profile import Profile, Row
from .profiling import profile, profile_compiled
