"""Operators whose definition in `onnx.reference` stops short of what ONNX says."""

import io
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_tfidf_vectorizer import TfIdfVectorizer as _TfIdfVectorizer


class _Nullable(OpRun):
    """Base of operators that may give an empty optional, which is ``None``."""

    def _check_and_fix_outputs(self, res: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(np.asarray(value) if np.isscalar(value) else value for value in res)


class Optional(_Nullable):
    """An optional is its value, or ``None``."""

    def _run(self, x: Any = None, type: Any = None) -> tuple[Any]:
        del type
        return (x,)


class Identity(_Nullable):
    """The value itself, whatever it is."""

    def _run(self, x: Any) -> tuple[Any]:
        return (None if x is None else x.copy(),)


class If(_Nullable):
    """One of two graphs, which may give anything."""

    def need_context(self) -> bool:
        return True

    def _run(
        self, cond: Any, context: Any = None, attributes: Any = None, **_: Any
    ) -> tuple[Any, ...]:
        branch = self.then_branch if np.asarray(cond).item() else self.else_branch  # type: ignore[attr-defined]
        return tuple(branch.run(None, context or {}, attributes=attributes))


class Loop(_Nullable):
    """Values carried from round to round, which may be anything, and tensors stacked."""

    def need_context(self) -> bool:
        return True

    def _run(
        self,
        trips: Any = None,
        cond: Any = None,
        *initial: Any,
        context: Any = None,
        attributes: Any = None,
        **_: Any,
    ) -> tuple[Any, ...]:
        body = self.body  # type: ignore[attr-defined]
        round_name, cond_name, *carried_names = body.input_names
        carried = [*initial, *[None] * (len(carried_names) - len(initial))]
        stacks: list[list[Any]] = [[] for _ in body.output_names[1 + len(carried) :]]
        limit = None if trips is None else int(np.asarray(trips).item())
        going = np.asarray(True if cond is None else cond)
        rounds = 0
        while going.item() and (limit is None or rounds < limit):
            feeds = {**(context or {}), round_name: np.asarray(rounds, np.int64), cond_name: going}
            feeds |= zip(carried_names, carried, strict=True)
            going, *results = body.run(None, feeds, attributes=attributes)
            going = np.asarray(going)
            carried = results[: len(carried)]
            for stack, value in zip(stacks, results[len(carried) :], strict=True):
                stack.append(value)
            rounds += 1
        types = (body.output_types or [None] * len(body.output_names))[1 + len(carried) :]
        stacked = [
            np.stack(stack) if stack else _empty(type_)
            for stack, type_ in zip(stacks, types, strict=True)
        ]
        return (*carried, *stacked)


def _empty(type_: onnx.TypeProto | None) -> np.ndarray:
    """What no rounds leave, from the declared type of one round's value."""
    if type_ is None or not type_.tensor_type.elem_type:
        return np.empty((0,), np.float32)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(type_.tensor_type.elem_type)
    return np.empty((0, *(dim.dim_value for dim in type_.tensor_type.shape.dim)), dtype)


class ImageDecoder(OpRun):
    """A picture in any format that Pillow reads, as height x width x channels."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        try:
            import PIL.Image  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "ImageDecoder needs the package Pillow: pip install 'graphc[host]'"
            ) from error

    def _run(self, encoded: np.ndarray, pixel_format: str = "RGB") -> tuple[np.ndarray]:
        import PIL.Image

        image = PIL.Image.open(io.BytesIO(encoded.tobytes()))
        if pixel_format == "Grayscale":
            return (np.asarray(image.convert("L"))[:, :, np.newaxis],)
        pixels = np.asarray(image.convert("RGB"))
        return (pixels[:, :, ::-1] if pixel_format == "BGR" else pixels,)


class TfIdfVectorizer(_TfIdfVectorizer):
    """Counts of n-grams, whose weights are in the order of the pool, not of the columns."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.weights_:
            each = np.zeros(max(self.ngram_indexes_) + 1, np.float32)
            each[self.ngram_indexes_] = self.weights_
            self.weights_ = each


OPERATORS: tuple[type[OpRun], ...] = (
    Optional,
    Identity,
    If,
    Loop,
    ImageDecoder,
    TfIdfVectorizer,
)
