"""Models of measurements and molecules: tables, brain waves, terrains, proteins."""

from .data_inputs import (
    PROTEIN_DTYPES,
    brain_waves,
    constant,
    features,
    noise,
    protein,
    protein_shapes,
)
from .entry import ZooModel, ZooPackage, each

ATSPM = ZooPackage("atspm-detector", "1.1.0")
BRAINMAZE = ZooPackage("brainmaze-eeg-models", "0.1.0")
CAUSTIC = ZooPackage("caustic-nmr", "0.4.1")
TERRAIN = ZooPackage("adaptive-terrain-diffusion", "0.4.2")

_brainmaze = "brainmaze_eeg_models"
_diffusion = "terrain_diffusion/weights/terrain_consistency_unet_difficulty100.onnx"

DATA_MODELS = (
    ZooModel(
        "traffic", "boosted trees in f64, detectors of traffic", ATSPM,
        "atspm_detector/weights/function/function229_s0.onnx", "drawn table",
        each({"X": features}), ({"X": (1, 229)}, {"X": (256, 229)}), {"X": "float64"},
    ),
    ZooModel(
        "seizure", "CNN and LSTM, seizures in EEG", BRAINMAZE,
        f"{_brainmaze}/seizure/_models/modelA_paper.onnx", "synthetic brain waves",
        each({"x": brain_waves}), ({"x": (1, 100, 300)}, {"x": (4, 100, 600)}),
    ),
    ZooModel(
        "spindle", "dilated CNN and U-Net, spindles in EEG", BRAINMAZE,
        f"{_brainmaze}/spindles/_models/spindle-detector-eeg.onnx", "synthetic brain waves",
        each({"raw_signal": brain_waves, "spectrogram": lambda shape: abs(brain_waves(shape))}),
        tuple({"raw_signal": (n, 1, 7500), "spectrogram": (n, 15, 7500)} for n in (1, 4)),
    ),
    ZooModel(
        "nmr", "PaiNN, chemical shifts of proteins", CAUSTIC, "caustic/data/best_v2_carbons.onnx",
        "synthetic helix", protein, (protein_shapes(50), protein_shapes(200)), PROTEIN_DTYPES,
    ),
    ZooModel(
        "terrain", "U-Net of a consistency model, terrains", TERRAIN, _diffusion, "drawn noise",
        each({"noisy": noise, "sigma": constant(2.0, 0.3), "difficulty": constant(0.5, 0.1)}),
        tuple(
            {"noisy": (n, 1, 128, 128), "sigma": (n,), "difficulty": (n,)} for n in (1, 2)
        ),
    ),
)  # fmt: skip
