"""The compiling half: cases of ONNX's test suite and models, for a device that this machine need
not have."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conformance.case_outcome import CaseStatus
from conformance.cases import SuiteCase, case_info, load_cases
from conformance.environment import describe_run
from conformance.known import load_known
from conformance.run_cases import run_cases
from graphc.benchmarks.feeds import example_inputs
from graphc.benchmarks.measure import largest_difference
from graphc.compiler.compile import compile
from graphc.compiler.driver import make_options, to_module
from graphc.errors import GraphcError, OutputError
from graphc.runtime import CompiledModel

from .check_archive import ArchiveWriter, Manifest, PackedCase, PackedModel, pack_arrays

Feeds = Mapping[str, np.ndarray]

ROOT = Path(__file__).resolve().parents[2]
CARRIED = (
    *("__init__.py", "aliases.py", "cpu_model.py", "errors.py", "runtime/**/*.py"),
    *("tools/__init__.py", "tools/cli.py"),
    *("benchmarks/__init__.py", "benchmarks/measure.py"),
)
"""Files of graphc that run the contents of the archive."""
CARRIED_TESTS = (
    *("harness/__init__.py", "harness/journal.py"),
    *(f"conformance/{name}.py" for name in ("__init__", "case_outcome", "known")),
    *(f"conformance/{name}.py" for name in ("suite_journal", "suite_results")),
    *(f"gpu_check/{name}.py" for name in ("__init__", "array_comparison", "check_archive")),
    *(f"gpu_check/{name}.py" for name in ("device_results", "run", "worker")),
)
"""Files of the test folder for the same purpose."""
MAIN = """\
import sys
from pathlib import Path

if __name__ == "__main__":
    from gpu_check.run import main

    sys.exit(main(Path(__file__).parent))
"""
TOLERANCES = {"float16": 2e-2, "bfloat16": 2e-2}
"""Tolerances of models with outputs or inputs of these types."""
TOLERANCE = 1e-3
"""Tolerance of all other models."""
TOLERANCE_BY_PRECISION = {"f16": 2e-2, "bf16": 5e-2}
"""Tolerances of models that are computed in 16-bit floats."""


def prepare(
    path: Path,
    target: str,
    *,
    matching: str | None,
    models: Sequence[Path],
    precisions: Sequence[str],
    jobs: int,
    timeout: float,
    cache: str | None,
) -> Manifest:
    """Write the archive of `models` and of the cases whose names match, or of no cases if
    `matching` is None.

    Cases and models that do not compile are included with the reason. Raises `UnknownTargetError`,
    `OutputError`, and `UsageError` for a file that is not a model.
    """
    inputs = {model: example_inputs(model) for model in models}  # before hours of other work
    run = describe_run(target, executed=False, host=False)
    manifest = Manifest(target, run.variant, run.versions, matching or "")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write to '{path}': {error.strerror}") from error
    writer, complete = ArchiveWriter(path), False
    try:
        _add_sources(writer, ROOT, CARRIED, "graphc/")
        _add_sources(writer, ROOT / "test", CARRIED_TESTS, "")
        writer.add_file("__main__.py", MAIN)
        if matching is not None:
            cases = [case for case in load_cases() if re.search(matching, case.name)]
            _add_cases(writer, manifest, cases, jobs=jobs, timeout=timeout, cache=cache)
        for model, feeds in inputs.items():
            _add_model(writer, manifest, model, feeds, precisions, cache)
        complete = True
    finally:
        writer.close(manifest if complete else None)
    return manifest


def _add_sources(writer: ArchiveWriter, root: Path, patterns: Sequence[str], folder: str) -> None:
    for source in sorted(file for pattern in patterns for file in root.glob(pattern)):
        name = f"{folder}{source.relative_to(root).as_posix()}"
        writer.add_file(name, source.read_bytes())


def _add_cases(
    writer: ArchiveWriter, manifest: Manifest, cases: Sequence[SuiteCase], **options: Any
) -> None:
    known, by_name = load_known(manifest.target), {case.name: case for case in cases}
    manifest.known = {name: each for name, each in known.items() if name in by_name}
    with tempfile.TemporaryDirectory(prefix="graphc-gpu-check-") as folder:
        for outcome in run_cases(
            cases,
            target=manifest.variant,
            host=False,
            execute=False,
            keep=Path(folder),
            **options,
        ):
            case = by_name[outcome.name]
            if outcome.passed:
                module = Path(folder, case.name)
                manifest.cases.append(_packed(writer, case, module.read_bytes()))
                module.unlink()
            elif outcome.status is CaseStatus.UNSUPPORTED:
                manifest.on_host += 1
            else:
                manifest.not_compiled.append((case_info(case), outcome))
                print(f"{outcome.status.upper():12} {outcome.name}: {outcome.detail}", flush=True)
    order = {case.name: index for index, case in enumerate(cases)}
    manifest.cases.sort(key=lambda packed: order[packed.info.name])


def _packed(writer: ArchiveWriter, case: SuiteCase, module: bytes) -> PackedCase:
    sets, data = [], b""
    for inputs, outputs in case.data_sets():
        packed = [pack_arrays([np.asarray(v) for v in values]) for values in (inputs, outputs)]
        sets.append(tuple(specs for specs, _ in packed))
        data += b"".join(contents for _, contents in packed)
    digests = writer.add(module), writer.add(data)
    return PackedCase(case_info(case), case.rtol, case.atol, *digests, sets)


def _add_model(
    writer: ArchiveWriter,
    manifest: Manifest,
    path: Path,
    feeds: Feeds,
    precisions: Sequence[str],
    cache: str | None,
) -> None:
    """Add the model in each of `precisions`, for comparison with the results of the CPU in f32."""
    print(f"{path.stem}: for the CPU and {manifest.variant}", flush=True)
    try:
        with compile(path, "cpu", host=False, cache=cache or False) as model:
            outputs, tolerance = model.run(None, feeds), tolerance_of(model)
    except GraphcError as error:
        _not_compiled(manifest, path.stem, error)
        return
    input_specs, input_data = pack_arrays(list(feeds.values()))
    output_specs, output_data = pack_arrays(outputs)
    data = writer.add(input_data + output_data)
    difference = _onnxruntime_difference(path, feeds, outputs)
    for precision in precisions:
        name = path.stem if precision == "f32" else f"{path.stem} {precision}"
        options = make_options(manifest.variant, cache=cache, host=False, precision=precision)
        try:
            module, _ = to_module(path, options)
        except GraphcError as error:
            _not_compiled(manifest, name, error)
            continue
        manifest.models.append(
            PackedModel(
                name,
                max(tolerance, TOLERANCE_BY_PRECISION.get(precision, 0.0)),
                writer.add(module),
                data,
                dict(zip(feeds, input_specs, strict=True)),
                output_specs,
                difference,
            )
        )


def _not_compiled(manifest: Manifest, name: str, error: GraphcError) -> None:
    manifest.models_not_compiled[name] = " ".join(str(error).split())[:300]
    print(f"ERROR        {name}: {error}", flush=True)


def tolerance_of(model: CompiledModel) -> float:
    types = [getattr(spec, "dtype", "") for spec in (*model.inputs, *model.outputs)]
    return max((TOLERANCES.get(each, TOLERANCE) for each in types), default=TOLERANCE)


def _onnxruntime_difference(
    path: Path, feeds: Feeds, outputs: Sequence[np.ndarray]
) -> float | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        theirs: Sequence[Any] = session.run(None, dict(feeds))
    except Exception as error:  # its exceptions have no common base class
        print(f"{path.stem}: ONNX Runtime does not run it: {error}", flush=True)
        return None
    return max(map(largest_difference, outputs, theirs), default=0.0)


def describe(manifest: Manifest, path: Path) -> Iterator[str]:
    """Describe the archive at `path`, line by line."""
    yield f"{len(manifest.cases)} cases for {manifest.variant}"
    yield f"{len(manifest.not_compiled)} do not compile, {manifest.on_host} have parts on the host"
    yield f"{len(manifest.models)} models: {', '.join(model.name for model in manifest.models)}"
    yield f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB"
