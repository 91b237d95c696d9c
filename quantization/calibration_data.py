"""Calibration data: feeds of a model, from a folder or an iterable, checked before use."""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from ..errors import FeedError
from ..frontend.onnx.importing.dimension_names import is_name
from ..runtime.feeds import FeedBinder
from ..runtime.metadata import TensorSpec
from . import pictures
from .pictures import PictureFormat

Feed = Mapping[str, np.ndarray]
ARRAYS = (".npy", ".npz")
SUFFIXES = (*ARRAYS, *pictures.SUFFIXES)
UNREADABLE = (OSError, ValueError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class CalibrationData:
    """Feeds of a model. Files are read again for each pass over the data."""

    readers: Sequence[Callable[[], Feed]]

    def __len__(self) -> int:
        return len(self.readers)

    def __iter__(self) -> Iterator[Feed]:
        return (read() for read in self.readers)

    def first(self, count: int) -> "CalibrationData":
        """At most `count` feeds, spread over the data."""
        chosen = np.unique(np.linspace(0, len(self) - 1, min(count, len(self))).round().astype(int))
        return CalibrationData([self.readers[index] for index in chosen])


def read_data(
    source: Any, model: onnx.ModelProto, limit: int | None, format_: PictureFormat
) -> CalibrationData:
    """The feeds in `source`, at most `limit` of them.

    `source` is a folder or a file (``.npz`` with an array for each input; ``.npy`` or a picture for
    a model of one input), or an iterable of feeds: arrays by input name, or one array. Each
    is checked. Raises FeedError that names the file or the number of the feed.
    """
    specs = input_specs(model)
    if isinstance(source, str | Path):
        named = [(f"'{path}'", _reader(path, specs, format_)) for path in _files(Path(source))]
    else:
        named = [
            (f"feed {index}", _constant(_as_feed(feed, specs)))
            for index, feed in enumerate(islice(_feeds(source), limit))
        ]
    named = named[:limit]
    if not named:
        raise FeedError("the calibration data is empty: it has no feed")
    binder = FeedBinder(specs)
    for name, read in named:
        _check(name, read, binder)
    return CalibrationData([read for _, read in named])


def input_specs(model: onnx.ModelProto) -> list[TensorSpec]:
    """The inputs that each call feeds. Raises FeedError for those that are not tensors."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    infos = [info for info in model.graph.input if info.name not in defaults]
    return [_spec(info) for info in infos]


def _spec(info: onnx.ValueInfoProto) -> TensorSpec:
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type") or tensor.elem_type == onnx.TensorProto.STRING:
        raise FeedError(f"input '{info.name}' is no tensor of numbers: calibration needs such")
    shape = [_size(dim) for dim in tensor.shape.dim]
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return TensorSpec(info.name, tuple(shape), dtype.name)


def _size(dim: onnx.TensorShapeProto.Dimension) -> int | str:
    if dim.dim_value > 0:
        return dim.dim_value
    return dim.dim_param if is_name(dim) else ""


def _files(path: Path) -> list[Path]:
    """The file, or those of the folder in the order of their names. Raises FeedError."""
    if path.is_file():
        if path.suffix.lower() not in SUFFIXES:
            raise FeedError(f"'{path}' is not one of {', '.join(SUFFIXES)}")
        return [path]
    if not path.is_dir():
        raise FeedError(f"there is no calibration data at '{path}'")
    found = sorted(each for each in path.iterdir() if each.suffix.lower() in SUFFIXES)
    if not found:
        raise FeedError(f"the calibration data is empty: '{path}' has no {', '.join(SUFFIXES)}")
    return found


def _feeds(source: Any) -> Iterable[Any]:
    if isinstance(source, Mapping):
        return [source]
    if isinstance(source, np.ndarray) or not isinstance(source, Iterable):
        raise FeedError(
            f"calibration data is a folder or an iterable of feeds, not a {type(source).__name__}"
        )
    return source


def _as_feed(feed: Any, specs: Sequence[TensorSpec]) -> Feed:
    if isinstance(feed, Mapping):
        return feed
    if len(specs) == 1:
        return {specs[0].name: feed}
    names = ", ".join(spec.name for spec in specs)
    raise FeedError(f"a feed is a mapping from the names of the inputs ({names}) to arrays")


def _constant(feed: Feed) -> Callable[[], Feed]:
    return lambda: feed


def _reader(path: Path, specs: Sequence[TensorSpec], format_: PictureFormat) -> Callable[[], Feed]:
    if path.suffix.lower() == ".npz":
        return lambda: _load_npz(path)
    if len(specs) != 1:
        names = ", ".join(spec.name for spec in specs)
        raise FeedError(f"'{path}' has one array, the model has inputs {names}: write .npz files")
    if path.suffix.lower() == ".npy":
        return lambda: {specs[0].name: _load_npy(path)}
    return lambda: {specs[0].name: pictures.read_picture(path, specs[0], format_)}


def _load_npy(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except UNREADABLE as error:
        raise FeedError(f"'{path}' is not a .npy file: {error}") from error


def _load_npz(path: Path) -> Feed:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (*UNREADABLE, AttributeError) as error:  # AttributeError: a .npy by another name
        raise FeedError(f"'{path}' is not a .npz file: {error}") from error


def _check(name: str, read: Callable[[], Feed], binder: FeedBinder) -> None:
    """Raise FeedError if a feed does not fit the model, or is not finite."""
    feed = read()
    try:
        binder.bind(feed)
    except FeedError as error:
        raise FeedError(f"{name}: {error}") from error
    for key, array in feed.items():
        if not _is_finite(np.asarray(array)):
            raise FeedError(f"{name}: input '{key}' has a NaN or an infinity")
        if not np.size(array):
            raise FeedError(f"{name}: input '{key}' has no elements")


def _is_finite(array: np.ndarray) -> bool:
    is_float = array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16
    return not is_float or bool(np.isfinite(array.astype(np.float32)).all())
