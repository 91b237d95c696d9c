"""The benchmark models: published architectures with random weights.

Nothing is downloaded: each model is built from a configuration class of ``transformers``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from . import task_networks
from .weights import randomise

SEED = 20240607
IMAGE_SIZE = 224
TOKENS = 128

DynamicAxes = Mapping[str, Mapping[int, str]]


@dataclass(frozen=True)
class Architecture:
    """A model to export: the module, example inputs by name, and the names of its outputs."""

    module: nn.Module
    inputs: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    dynamic_axes: DynamicAxes = field(default_factory=dict)


class Named(nn.Module):
    """Calls a ``transformers`` model by input names and returns plain tensors."""

    def __init__(self, model: nn.Module, inputs: tuple[str, ...], outputs: tuple[str, ...]):
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.outputs = outputs

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = self.model(**dict(zip(self.inputs, tensors, strict=True)))
        return tuple(result[name] for name in self.outputs)


def resnet50(batch: int = 1) -> Architecture:
    """ResNet-50 (v1.5), 224x224, 1000 classes."""
    from transformers import ResNetConfig, ResNetForImageClassification

    return _image_model(ResNetForImageClassification(ResNetConfig(num_labels=1000)), batch)


def mobilenetv2(batch: int = 1) -> Architecture:
    """MobileNetV2 at width 1.0, with the symmetric padding of the PyTorch original."""
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(num_labels=1000, tf_padding=False)
    return _image_model(MobileNetV2ForImageClassification(config), batch)


def efficientnet_b0(batch: int = 1) -> Architecture:
    """EfficientNet-B0: depthwise convolutions, SiLU, squeeze and excitation."""
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    config = EfficientNetConfig(
        image_size=IMAGE_SIZE, width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280,
        num_labels=1000,
    )  # fmt: skip
    return _image_model(EfficientNetForImageClassification(config), batch)


def vit(batch: int = 1, dynamic: bool = False) -> Architecture:
    """ViT base, patches of 16x16, 1000 classes."""
    from transformers import ViTConfig, ViTForImageClassification

    return _image_model(ViTForImageClassification(ViTConfig(num_labels=1000)), batch, dynamic)


def bert(batch: int = 1, dynamic: bool = False, **config: int) -> Architecture:
    """BERT base, uncased vocabulary: the encoder and the pooled output."""
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(**config))
    names = ("input_ids", "attention_mask", "token_type_ids")
    return _text_model(model, names, ("last_hidden_state", "pooler_output"), batch, dynamic)


def gpt2(batch: int = 1, dynamic: bool = False, **config: int) -> Architecture:
    """GPT-2 (124 M), prefill of a prompt without a cache, with logits of every position."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(use_cache=False, **config))
    return _text_model(model, ("input_ids", "attention_mask"), ("logits",), batch, dynamic)


def swin(batch: int = 1) -> Architecture:
    """Swin tiny: attention in windows of 7x7 patches, shifted in every other layer."""
    from transformers import SwinConfig, SwinForImageClassification

    return _image_model(SwinForImageClassification(SwinConfig(num_labels=1000)), batch)


def convnext(batch: int = 1) -> Architecture:
    """ConvNeXt tiny: depthwise convolutions of 7x7, normalised along channels."""
    from transformers import ConvNextConfig, ConvNextForImageClassification

    return _image_model(ConvNextForImageClassification(ConvNextConfig(num_labels=1000)), batch)


def regnet_y(batch: int = 1) -> Architecture:
    """RegNetY-4GF: grouped convolutions, squeeze and excitation."""
    from transformers import RegNetConfig, RegNetForImageClassification

    config = RegNetConfig(
        hidden_sizes=[128, 192, 512, 1088], depths=[2, 6, 12, 2], groups_width=64, layer_type="y",
        num_labels=1000,
    )  # fmt: skip
    return _image_model(RegNetForImageClassification(config), batch)


def _of_any_size(
    model: nn.Module, size: tuple[int, int], names: Mapping[int, str], found: Mapping[int, str]
) -> Architecture:
    """`model` of images of any size along the axes of `names`, with a result whose sizes along
    those of `found` vary; the example has `size`."""
    generator = torch.Generator().manual_seed(SEED)
    images = torch.randn(2, 3, *size, generator=generator)
    randomise(model, SEED, calibration=images)
    axes: DynamicAxes = {"pixel_values": names, "found": found}
    return Architecture(model.eval(), {"pixel_values": images}, ("found",), axes)


def detector() -> Architecture:
    """A detector like YOLOv8n, of images of any size."""
    names = {0: "batch", 2: "height", 3: "width"}
    found = {0: "batch", 2: "positions"}
    return _of_any_size(task_networks.Detector(), (320, 320), names, found)


def text_detector() -> Architecture:
    """A detector of text like that of PP-OCR, of pages of any size."""
    names = {0: "batch", 2: "height", 3: "width"}
    return _of_any_size(task_networks.TextDetector(), (320, 320), names, names)


def text_recognizer() -> Architecture:
    """A recognizer of text like that of PP-OCR, of lines of any length."""
    names = {0: "batch", 3: "width"}
    found = {0: "batch", 1: "columns"}
    return _of_any_size(task_networks.TextRecognizer(), (48, 320), names, found)


def bart() -> Architecture:
    """BART base: encoder and decoder, 128 tokens each."""
    from transformers import BartConfig, BartModel

    config = BartConfig(
        d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, use_cache=False,
    )  # fmt: skip
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    return _text_model(BartModel(config), names, ("last_hidden_state",), batch=1, dynamic=False)


class DecoderStep(nn.Module):
    """One decoding step: takes the keys and values of earlier tokens, returns those of all."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, *past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (keys, values) in enumerate(zip(past[::2], past[1::2], strict=True)):
            cache.update(keys, values, layer)
        result = self.model(
            input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True
        )
        layers = result.past_key_values.layers
        return (result.logits, *(x for layer in layers for x in (layer.keys, layer.values)))


def gpt2_step() -> Architecture:
    """GPT-2 (124 M), one decoding step after 127 tokens, with a key-value cache."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config()
    model = GPT2LMHeadModel(config)
    randomise(model, SEED, calibration=None)
    generator = torch.Generator().manual_seed(SEED)
    shape = (1, config.n_head, TOKENS - 1, config.n_embd // config.n_head)
    past = [f"past_{kind}_{i}" for i in range(config.n_layer) for kind in ("key", "value")]
    inputs = {
        "input_ids": torch.randint(config.vocab_size, (1, 1), generator=generator),
        "attention_mask": torch.ones((1, TOKENS), dtype=torch.int64),
        **{name: torch.randn(shape, generator=generator) for name in past},
    }
    outputs = ("logits", *(name.replace("past", "present") for name in past))
    return Architecture(DecoderStep(model).eval(), inputs, outputs)


class _Recurrent(nn.Module):
    """Two bidirectional layers, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(256, 512, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(1024, 64)

    def forward(self, features):
        hidden, _ = self.lstm(features)
        return (self.head(hidden),)


def lstm() -> Architecture:
    """Two bidirectional LSTM layers of 512 units, 128 steps of 256 features."""
    torch.manual_seed(SEED)
    model = _Recurrent().eval()
    return Architecture(model, {"features": torch.randn(1, TOKENS, 256)}, ("scores",))


BERT_TINY = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
}
"""Configuration for tests: the same graph as the full model, in a few kilobytes."""
GPT2_TINY = {
    "vocab_size": 40,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
    "bos_token_id": 0,
    "eos_token_id": 0,
}

ARCHITECTURES: Mapping[str, Callable[[], Architecture]] = {
    "resnet50": resnet50,
    "resnet50-b8": lambda: resnet50(batch=8),
    "resnet50-b32": lambda: resnet50(batch=32),
    "mobilenetv2": mobilenetv2,
    "efficientnet-b0": efficientnet_b0,
    "bert": bert,
    "bert-dynamic": lambda: bert(dynamic=True),
    "gpt2": gpt2,
    "gpt2-dynamic": lambda: gpt2(dynamic=True),
    "vit": vit,
    "vit-dynamic": lambda: vit(dynamic=True),
    "swin": swin,
    "convnext": convnext,
    "regnet-y": regnet_y,
    "detector-dynamic": detector,
    "text-detector-dynamic": text_detector,
    "text-recognizer-dynamic": text_recognizer,
    "bart": bart,
    "gpt2-step": gpt2_step,
    "lstm": lstm,
    "bert-tiny": lambda: bert(dynamic=True, **BERT_TINY),
    "gpt2-tiny": lambda: gpt2(dynamic=True, **GPT2_TINY),
}


def _image_model(model: nn.Module, batch: int, dynamic: bool = False) -> Architecture:
    generator = torch.Generator().manual_seed(SEED)
    shape = (3, IMAGE_SIZE, IMAGE_SIZE)
    randomise(model, SEED, calibration=torch.randn(4, *shape, generator=generator))
    # Exporters specialize a size of one: the example of a symbolic batch has two images.
    images = torch.randn(2 if dynamic else batch, *shape, generator=generator)
    inputs, outputs = {"pixel_values": images}, ("logits",)
    axes: DynamicAxes = {name: {0: "batch"} for name in (*inputs, *outputs)} if dynamic else {}
    return Architecture(Named(model, tuple(inputs), outputs).eval(), inputs, outputs, axes)


def _text_model(
    model: nn.Module, names: tuple[str, ...], outputs: tuple[str, ...], batch: int, dynamic: bool
) -> Architecture:
    randomise(model, SEED, calibration=None)
    # Exporters specialize a size of one: the example of a symbolic batch has two rows.
    shape = (2 if dynamic else batch, TOKENS)
    generator = torch.Generator().manual_seed(SEED)
    vocabulary = model.config.vocab_size
    candidates = {
        "input_ids": torch.randint(vocabulary, shape, generator=generator),
        "attention_mask": torch.ones(shape, dtype=torch.int64),
        "token_type_ids": torch.randint(2, shape, generator=generator),
        "decoder_input_ids": torch.randint(vocabulary, shape, generator=generator),
    }
    inputs = {name: candidates[name] for name in names}
    axes: DynamicAxes = {}
    if dynamic:
        per_token = {0: "batch", 1: "seq"}
        pooled = {"pooler_output": {0: "batch"}}
        axes = {name: pooled.get(name, per_token) for name in (*names, *outputs)}
    return Architecture(Named(model, names, outputs).eval(), inputs, outputs, axes)
