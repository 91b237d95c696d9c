"""Which files a model is made of."""

from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import Message

from .loading import load_model


def external_files(path: Path) -> list[str]:
    """The files beside `path` that the model's tensors lie in, as it spells them.

    Raises InvalidModelError.
    """
    model, _ = load_model(path)
    locations = {
        entry.value
        for tensor in _tensors(model)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return sorted(locations - {path.resolve().name})  # where large weights were left


def _tensors(message: Message) -> Iterator[onnx.TensorProto]:
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                yield from _tensors(part)
