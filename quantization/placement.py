"""Placement of QuantizeLinear and DequantizeLinear, and ranges, by ``onnxruntime.quantization``."""

import contextlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx

from ..errors import QuantizationError
from .portable_model import make_portable
from .prepared_model import PreparedModel, quiet
from .settings import QuantizationSettings


class Calibrator:
    """Collects the ranges of the values of a model over feeds."""

    def __init__(self, prepared: PreparedModel, settings: QuantizationSettings):
        from onnxruntime import quantization

        self._prepared = prepared
        methods = quantization.CalibrationMethod
        method = {
            "minmax": methods.MinMax, "percentile": methods.Percentile, "entropy": methods.Entropy
        }[settings.method]  # fmt: skip
        options: dict[str, Any] = {"symmetric": settings.symmetric}
        if settings.method == "percentile":
            options["percentile"] = settings.percentile
        self._folder = tempfile.TemporaryDirectory(prefix="graphc-quantize-")
        source, augmented = (
            str(Path(self._folder.name, f"{name}.onnx")) for name in ("model", "augmented")
        )
        onnx.save(prepared.proto, source)
        with quiet():
            self._calibrator = quantization.create_calibrator(
                Path(source), op_types_of(settings), augmented_model_path=augmented,
                calibrate_method=method, extra_options=options,
            )  # fmt: skip

    def add(self, feed: Mapping[str, np.ndarray]) -> None:
        """Run the model on `feed` and widen the ranges. Raises QuantizationError."""
        try:
            with quiet():
                self._calibrator.collect_data(cast(Any, _Once(feed)))
        except Exception as error:  # those of ONNX Runtime have no common base class
            raise QuantizationError(f"ONNX Runtime cannot run the model: {error}") from error

    def ranges(self) -> Any:
        """The ranges, as the quantiser takes them. QuantizationError if one is not finite."""
        with quiet():
            found = self._calibrator.compute_data()
        for node in self._prepared.nodes:
            for name in node.output:
                if name in found and not np.isfinite(found[name].range_value).all():
                    raise QuantizationError(
                        f"node '{self._prepared.titles[node.name]}': its result '{name}' is "
                        "infinite or NaN on the calibration data: exclude the node, or correct "
                        "the data"
                    )
        return found

    def close(self) -> None:
        """Remove temporary files."""
        self._folder.cleanup()


class _Once:
    """A `CalibrationDataReader` of a single feed."""

    def __init__(self, feed: Mapping[str, np.ndarray]):
        self._left = [dict(feed)]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


def op_types_of(settings: QuantizationSettings) -> list[str]:
    """The types of nodes to quantise."""
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

    return list(settings.op_types) or sorted({*QDQRegistry, *QLinearOpsRegistry})


def place(
    prepared: PreparedModel,
    ranges: Any,
    settings: QuantizationSettings,
    exclude: Collection[str],
) -> onnx.ModelProto:
    """The QDQ model; the nodes `exclude` of the prepared model stay in f32."""
    from onnxruntime.quantization import QDQQuantizer, QuantType

    copy = onnx.ModelProto()
    copy.CopyFrom(prepared.proto)
    types = {each.name.removeprefix("Q").lower(): each for each in QuantType}
    with quiet(), _library_errors():
        quantizer = QDQQuantizer(
            copy, settings.per_channel, settings.reduce_range, types[settings.weight_type],
            types[settings.activation_type], ranges, [], list(exclude),
            op_types_of(settings), {"ActivationSymmetric": settings.symmetric},
        )  # fmt: skip
        quantizer.quantize_model()
    return make_portable(quantizer.model.model)


def place_dynamic(
    prepared: PreparedModel, settings: QuantizationSettings, exclude: Iterable[str]
) -> onnx.ModelProto:
    """The model with ranges of activations that each call computes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    copy = onnx.ModelProto()
    copy.CopyFrom(prepared.proto)
    kind = QuantType.QInt8 if settings.weight_type == "int8" else QuantType.QUInt8
    with tempfile.TemporaryDirectory(prefix="graphc-quantize-") as folder:
        path = Path(folder, "dynamic.onnx")
        with quiet(), _library_errors():
            quantize_dynamic(
                copy, path, op_types_to_quantize=list(settings.op_types), weight_type=kind,
                per_channel=settings.per_channel, reduce_range=settings.reduce_range,
                nodes_to_exclude=list(exclude),
            )  # fmt: skip
        return make_portable(onnx.load(path))


@contextlib.contextmanager
def _library_errors() -> Iterator[None]:
    """Raise QuantizationError for those of the library, which have no common base class."""
    try:
        yield
    except Exception as error:
        raise QuantizationError(
            f"onnxruntime.quantization cannot quantise the model: {type(error).__name__}: {error}"
        ) from error
