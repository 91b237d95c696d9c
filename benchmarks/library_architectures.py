"""Architectures of ``timm`` and ``transformers`` by name, with random weights, and their export.

::

    python -m graphc.benchmarks.library_architectures timm resnet18 build/resnet18.onnx
    python -m graphc.benchmarks.library_architectures transformers bert build/bert.onnx

Nothing is downloaded. Networks of ``timm`` are whole; models of ``transformers`` are the base model
of a type of configuration, with its widths and two layers of each stack. The batch, and the length
of texts and sounds, have names. `NAME.json` beside the file has the sizes of the example by name.
"""

import argparse
import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .architectures import SEED, Architecture
from .feeds import load_structure
from .models import EXPORTERS, write_architecture
from .weights import randomise

BATCH, LENGTH, TARGET_LENGTH = "n", "length", "target_length"
EXAMPLE_BATCH = 2
"""Exporters specialize a size of one."""
TOKENS, TARGET_TOKENS, SAMPLES, FRAMES = 48, 16, 16000, 400
LAYERS = 2
VOCABULARY = 5000
MOST_PARAMETERS = 600_000_000
MOST_PIXELS = 1024
"""Upper bound of the height and width of images."""
LAYER_COUNTS = (
    "num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers",
    "num_encoder_layers", "n_layer", "n_layers",
)  # fmt: skip
TASKS = ("", "ForDepthEstimation", "ForKeypointDetection", "ForSemanticSegmentation")
"""Suffixes of the automatic classes to try: some configurations have no base model."""
FIRST_TOKEN, LAST_TOKEN = 5, 900
"""Ids of ordinary tokens in all vocabularies."""

Inputs = dict[str, torch.Tensor]
Axes = dict[str, dict[int, str]]


class FloatOutputs(nn.Module):
    """Calls a model by input names and returns the first floating-point tensors of its result."""

    MOST = 3

    def __init__(self, model: nn.Module, inputs: Sequence[str], **options: bool):
        super().__init__()
        self.model, self.inputs, self.options = model, tuple(inputs), options

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        feed = dict(zip(self.inputs, tensors, strict=True))
        result = self.model(**feed, **self.options)
        return tuple(x for x in _leaves(result) if x.is_floating_point())[: self.MOST]


def _leaves(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _leaves(each)


def timm_architecture(name: str) -> Architecture:
    """The network `name` of timm, on images of its own size."""
    import timm

    model = timm.create_model(name, pretrained=False)
    images = torch.randn(4, *model.default_cfg["input_size"], generator=_generator())
    randomise(model, SEED, calibration=images)
    inputs, axes = {"x": images[:EXAMPLE_BATCH].clone()}, {"x": {0: BATCH}}
    return Architecture(FloatOutputs(model, ["x"]).eval(), inputs, (), axes)


def transformers_architecture(key: str) -> Architecture:
    """The base model of the configuration type `key`, with two layers of each stack.

    Raises ValueError if there is none, or if it has more than `MOST_PARAMETERS` or inputs of an
    unknown kind.
    """
    import transformers

    config = transformers.CONFIG_MAPPING[key]()
    _shorten(config)
    classes = (getattr(transformers, f"AutoModel{task}") for task in TASKS)
    auto = next((each for each in classes if type(config) in each._model_mapping), None)
    if auto is None:
        raise ValueError(f"no model of '{key}' is known")
    with torch.device("meta"):
        parameters = sum(each.numel() for each in auto.from_config(config).parameters())
    if parameters > MOST_PARAMETERS:
        raise ValueError(f"{parameters / 1e6:.0f} million parameters are too many")
    model = auto.from_config(config)
    randomise(model, SEED, calibration=None)
    inputs, axes = _example(model, config)
    called = FloatOutputs(model, list(inputs), return_dict=False).eval()
    return Architecture(called, inputs, (), axes)


SOURCES: Mapping[str, Callable[[str], Architecture]] = {
    "timm": timm_architecture,
    "transformers": transformers_architecture,
}


def _shorten(config: Any) -> None:
    """Leave `LAYERS` layers and `VOCABULARY` tokens to a configuration and those within it."""
    for name in LAYER_COUNTS:
        if isinstance(count := vars(config).get(name), int) and count > LAYERS:
            setattr(config, name, LAYERS)
    if vars(config).get("layer_types"):
        config.layer_types = config.layer_types[:LAYERS]
    if isinstance(size := getattr(config, "vocab_size", None), int):
        config.vocab_size = min(size, VOCABULARY)
        for name, value in list(vars(config).items()):
            if name.endswith("_token_id") and isinstance(value, int):
                setattr(config, name, min(value, config.vocab_size - 1))
    for flag in ("use_cache", "output_attentions", "output_hidden_states"):
        if getattr(config, flag, False):
            setattr(config, flag, False)
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict"):
            _shorten(value)


def _example(model: Any, config: Any) -> tuple[Inputs, Axes]:
    """Example inputs of a model of transformers by its main input, and their named axes."""
    known = set(inspect.signature(model.forward).parameters)
    main = model.main_input_name
    makers: Mapping[str, Callable[[Any], tuple[torch.Tensor, dict[int, str]]]] = {
        "input_ids": _tokens,
        "pixel_values": _images,
        "input_values": _samples,
        "input_features": _frames,
    }
    if main not in makers:
        raise ValueError(f"no example for the input '{main}'")
    tensor, names = makers[main](config)
    inputs, axes = {main: tensor}, {main: names}
    if main == "input_ids" and "attention_mask" in known:
        inputs["attention_mask"], axes["attention_mask"] = torch.ones_like(tensor), names
    if main == "input_ids" and "pixel_values" in known and hasattr(config, "vision_config"):
        inputs["pixel_values"], axes["pixel_values"] = _images(config.vision_config)
    if "decoder_input_ids" in known:
        inputs["decoder_input_ids"] = _ids(TARGET_TOKENS)
        axes["decoder_input_ids"] = {0: BATCH, 1: TARGET_LENGTH}
    return inputs, axes


def _tokens(config: Any) -> tuple[torch.Tensor, dict[int, str]]:
    text = getattr(config, "text_config", config)
    most = getattr(text, "max_position_embeddings", None) or TOKENS
    return _ids(min(TOKENS, most)), {0: BATCH, 1: LENGTH}


def _ids(length: int) -> torch.Tensor:
    shape = (EXAMPLE_BATCH, length)
    return torch.randint(FIRST_TOKEN, LAST_TOKEN, shape, generator=_generator())


def _images(config: Any) -> tuple[torch.Tensor, dict[int, str]]:
    """Images, or videos where a configuration has a number of frames."""
    config = config if hasattr(config, "image_size") else getattr(config, "vision_config", config)
    size = getattr(config, "image_size", None) or 224
    height, width = size if isinstance(size, list | tuple) else (min(size, MOST_PIXELS),) * 2
    shape = [EXAMPLE_BATCH, getattr(config, "num_channels", None) or 3, height, width]
    if frames := getattr(config, "num_frames", None):
        shape.insert(1, frames)
    return torch.randn(*shape, generator=_generator()), {0: BATCH}


def _samples(config: Any) -> tuple[torch.Tensor, dict[int, str]]:
    """Sounds: samples, with an axis of channels for codecs, or a spectrogram of fixed length."""
    if hasattr(config, "num_mel_bins"):
        shape = (EXAMPLE_BATCH, config.max_length, config.num_mel_bins)
        return torch.randn(*shape, generator=_generator()), {0: BATCH}
    if hasattr(config, "codebook_size"):
        shape = (EXAMPLE_BATCH, 1, SAMPLES)
        return torch.randn(*shape, generator=_generator()), {0: BATCH, 2: LENGTH}
    return torch.randn(EXAMPLE_BATCH, SAMPLES, generator=_generator()), {0: BATCH, 1: LENGTH}


def _frames(config: Any) -> tuple[torch.Tensor, dict[int, str]]:
    """Spectrograms: frames by features, or, where positions are learned, features by frames."""
    if hasattr(config, "max_source_positions") and hasattr(config, "num_mel_bins"):
        shape = (EXAMPLE_BATCH, config.num_mel_bins, 2 * config.max_source_positions)
        return torch.randn(*shape, generator=_generator()), {0: BATCH}
    names = ("input_feat_per_channel", "feature_projection_input_dim", "num_mel_bins")
    features = next((v for name in names if (v := getattr(config, name, None))), 80)
    shape = (EXAMPLE_BATCH, FRAMES, features)
    return torch.randn(*shape, generator=_generator()), {0: BATCH, 1: LENGTH}


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


def named_sizes(path: Path, architecture: Architecture) -> dict[str, dict[str, int]]:
    """Sizes of the example by their names in the file: those of batches, and the others."""
    found: dict[str, dict[str, int]] = {BATCH: {}, LENGTH: {}}
    for value in load_structure(path).graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                kind = architecture.dynamic_axes[value.name].get(axis)
                size = architecture.inputs[value.name].shape[axis]
                found[BATCH if kind == BATCH else LENGTH][dim.dim_param] = size
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Export an architecture of a library to ONNX.")
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("name")
    parser.add_argument("path", type=Path)
    parser.add_argument("--exporter", choices=EXPORTERS, default=EXPORTERS[0])
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    torch.manual_seed(SEED)
    architecture = SOURCES[options.source](options.name)
    with torch.no_grad():
        write_architecture(architecture, options.exporter, options.path)
    sizes = named_sizes(options.path, architecture)
    options.path.with_suffix(".json").write_text(json.dumps(sizes))


if __name__ == "__main__":
    main()
