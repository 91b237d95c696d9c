"""The compiled steps of a language model: entry points of one module, which share its weights."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

from ..compiler.compile import compile as compile_
from ..compiler.entry_points import EntryModel, compile_entry_points
from ..errors import UnsupportedModelError
from ..runtime import CompiledModel
from ..runtime.files.output_file import write_atomically
from .config import GenerationConfig
from .sampling import sampling_graph
from .step_model import cache_names, has_fixed_cache, step_model

_SAMPLING_OPSET = 13
_SHARED, _TOGETHER = "share-cache-buffer", "left-padding"
"""Names in reports: attention that reads a cache where it is, and steps that compute each row as
alone."""

logger = logging.getLogger("graphc")


class StepSize(NamedTuple):
    """The rows of a step, and the tokens of a row; of none, the choice alone of the next token."""

    rows: int
    length: int

    def __str__(self) -> str:
        if not self.length:
            return "sampling"
        return f"{'prefill' if self.length > 1 else 'decode'}-{self.rows}x{self.length}"

    @property
    def entry(self) -> str:
        """The name of the entry point."""
        return str(self).replace("-", "_")


SAMPLING = StepSize(1, 0)


class CompiledSteps:
    """The steps of the model of `config`, by their sizes; `decoder` is that model.

    All are compiled to one module when one of them is first used. A size that is needed later, and
    was not expected, makes a new module with the others in it. `announce` is called with the names
    of steps before they are compiled.
    """

    def __init__(
        self,
        config: GenerationConfig,
        decoder: onnx.ModelProto,
        options: Mapping[str, Any],
        announce: Callable[[str], None] | None,
    ):
        self._config, self._decoder, self._options = config, decoder, options
        self._announce = announce
        self._has_files = any(
            each.data_location == TensorProto.EXTERNAL for each in decoder.graph.initializer
        )
        self._is_fixed = has_fixed_cache(config, decoder.graph)
        self._expected = {SAMPLING}
        self.on_host = False
        """True if nodes of the compiled steps run on the host, and so the cache is there."""
        self._reasons: dict[str, str] = {}
        """The reasons of what was declined, by its name."""
        self._compiled: dict[StepSize, CompiledModel] = {}
        self._lock = threading.Lock()

    def expect(self, sizes: Iterable[StepSize]) -> None:
        """Compile these steps together with the first one that is used."""
        self._expected |= set(sizes)

    def require(self, sizes: Iterable[StepSize]) -> None:
        """Compile these steps, and all that are expected, unless they are compiled."""
        with self._lock:
            self._expected |= set(sizes)
            if self._expected - self._compiled.keys():
                self._compile_all()

    def __getitem__(self, size: StepSize) -> CompiledModel:
        """The step of a size."""
        if size not in self._compiled:
            self.require([size])
        return self._compiled[size]

    def __iter__(self) -> Iterator[CompiledModel]:
        """The steps that are compiled."""
        return iter(list(self._compiled.values()))

    def _compile_all(self) -> None:
        sizes = sorted(self._expected)
        if self._announce is not None:
            self._announce(", ".join(map(str, sizes)))
        models = {size.entry: self._entry(size) for size in sizes}
        compiled = self._compile(models)
        # Calls in other threads may still use those of before, which go with their last user.
        self._compiled = {size: compiled[size.entry] for size in sizes}
        self._explain()

    def _compile(self, models: Mapping[str, EntryModel]) -> dict[str, CompiledModel]:
        """The steps as entry points of one module; or each by itself, where nodes of it run on the
        host."""
        try:
            return compile_entry_points(models, **self._options)
        except UnsupportedModelError:
            if self._options.get("host", True) is False:
                raise
            text = (
                "'%s': each step has weights of its own and copies the cache: nodes run on the host"
            )
            logger.warning(text, self._config.model_path)
        self.on_host = True
        return {name: compile_(each.model, **self._options) for name, each in models.items()}

    def computes_rows_together(self, size: StepSize) -> bool:
        """True if the step of a size computes each of its rows as it would be alone."""
        return self._is_fixed or (_TOGETHER not in self._reasons and self._is_proven(self[size]))

    def may_compute_rows_together(self, size: StepSize) -> bool:
        """The same, unless that is not known before the step is compiled."""
        return size.rows == 1 or _TOGETHER not in self._reasons

    @staticmethod
    def _is_proven(model: CompiledModel) -> bool:
        return model.report is not None and _TOGETHER in model.report.rewrites

    def _explain(self) -> None:
        """Warn, once, of what the compiler declined."""
        texts = {
            _SHARED: "attention does not read its caches where they are, a step copies them",
            _TOGETHER: "a step is for one sequence, as it cannot be proven that others are alike",
        }
        for name, text in texts.items():
            reports = [each.report for each in self._compiled.values() if each.report is not None]
            found = (each.rewrites[name].declined for each in reports if name in each.rewrites)
            reason = next((why for declined in found for why in declined), None)
            if reason is not None and name not in self._reasons:
                logger.warning("'%s': %s: %s", self._config.model_path, text, reason)
                self._reasons[name] = reason

    def _entry(self, size: StepSize) -> EntryModel:
        if size == SAMPLING:
            return EntryModel(_sampling_model(self._config.vocab_size))
        model = step_model(self._config, self._decoder, size.rows, size.length)
        pasts = [past for past, _ in cache_names(self._config)]
        return EntryModel(self._written(model, size), donate=pasts)

    def _written(self, model: onnx.ModelProto, size: StepSize) -> Any:
        """`model`; if its weights are in files, the path of it beside these."""
        if not self._has_files:
            return model
        path = self._config.model_path.with_suffix(f".{size}.onnx")
        write_atomically(path, model.SerializeToString())
        return path

    def close(self) -> None:
        """Free the compiled steps."""
        with self._lock:
            for model in self._compiled.values():
                model.close()
            self._compiled = {}


def _sampling_model(vocab: int) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", _SAMPLING_OPSET)]
    return helper.make_model(sampling_graph(1, vocab), opset_imports=opsets, ir_version=8)
