"""Files with the external data of a model."""

from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import Message

from .external_data import open_beside
from .loading import load_model


def external_files(path: Path) -> list[str]:
    """The files beside `path` that the model's tensors lie in, as it spells them.

    Raises InvalidModelError, and ExternalDataError for one that is not below the model's folder.
    """
    model, folder = load_model(path)
    locations = {
        entry.value: tensor.name
        for tensor in external_tensors(model)
        for entry in tensor.external_data
        if entry.key == "location"
    }
    locations.pop(path.resolve().name, None)  # where large weights were left
    for location, name in locations.items():
        with open_beside(name, location, folder):
            pass
    return sorted(locations)


def external_tensors(message: Message) -> Iterator[onnx.TensorProto]:
    """The tensors within `message` whose data lies in files."""
    found = _tensors(message)
    return (each for each in found if each.data_location == onnx.TensorProto.EXTERNAL)


def _tensors(message: Message) -> Iterator[onnx.TensorProto]:
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                yield from _tensors(part)
