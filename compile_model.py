"""`graphc.compile`: a model compiled as it is asked for, or as measurements say that is fastest.

Above the compiler, as tuning and placement compile models themselves. Both are imported only where
they are asked for.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .aliases import takes_old_arguments
from .compiler import compile as plain
from .compiler.options import Options, Progress
from .errors import UsageError
from .passes.infra.report import Report
from .runtime import CompiledModel, Target
from .viewing import CompilationReport

if TYPE_CHECKING:
    from .placement import PlacementPlan

Feeds = Mapping[str, Any] | Callable[[Sequence[Any]], Mapping[str, Any]]
"""An array for each input, or a function that makes them from the specs of the inputs."""

AUTO = "auto"
_PLACED = ("dims", "threads", "progress")
"""Options that a placed model takes."""


@takes_old_arguments
def compile(
    model: "str | os.PathLike[str] | bytes | Any",
    target: str | Target | Sequence[str | Target] = "cpu",
    *,
    tune: str | float | bool = False,
    tuning_database: str | os.PathLike[str] | None = None,
    place: "str | os.PathLike[str] | PlacementPlan | None" = None,
    feeds: Feeds | None = None,
    dims: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    precision: str = "f32",
    opt_level: int = 3,
    data_tiling: bool | None = None,
    extra_flags: Sequence[str] = (),
    timeout: float | None = None,
    progress: Progress | None = None,
    save_temps: str | os.PathLike[str] | None = None,
    host: str | bool = True,
    check_rewrites: bool = False,
    assume: Mapping[str, bool] | None = None,
    overridden: Sequence[str] = (),
    independent_dims: Sequence[str] = (),
    donate: Sequence[str] = (),
    cache: bool | str | os.PathLike[str] | None = None,
) -> CompiledModel:
    """Compile an ONNX model and load it, ready to run.

    `model` is a path, the bytes of a model, or an ``onnx.ModelProto``. `target` names a target
    (``cpu``, ``cpu:x86-64-v3``, ``vulkan``) whose device must be present, or several targets, for
    one file that runs on any of them (see `load`). ``interpret`` compiles nothing: the program runs
    in numpy, as imported or after `pipeline`. `dims` fixes symbolic dimensions (``{"batch": 4}``).
    `outputs` names values of the graph to compute instead of the model's outputs. `threads` is the
    number of workers, by default the number of usable CPUs. `pipeline` replaces the default graph
    pipeline (see ``gc-opt --list-passes``).

    `precision` selects the arithmetic. With ``strict``, only the order of sums differs from the
    model. With ``f32``, the default, convolutions may also be computed with fewer multiplications
    (differences of about 1e-6 of the largest element), and matmuls as three bf16 matmuls (about
    5e-6) or, on NVIDIA's GPUs, three of TF32 (1e-6), and CPUs compute f16 and bf16 of the model in
    f32; with ``tf32``, NVIDIA's GPUs round the operands of matmuls and convolutions to 10 bits of
    fraction. With ``f16`` and ``bf16``, matmuls and the
    ops between them are computed in that type, converted from and to f32, with f32 accumulators;
    CPUs use ``bf16`` only if they multiply it faster than f32, and only for the operands of
    matmuls.

    `opt_level` (0 to 3) and `data_tiling` control the backend, `extra_flags` are passed to it,
    `timeout` (seconds) limits it. `progress` is called with a `ProgressEvent` from time to time; an
    exception that it raises stops the compilation. `save_temps` names a folder for the program
    after every stage.

    Nodes that cannot be compiled (strings, sequences, images, unsupported operators) run on the
    host, between compiled parts: a warning in the log names them, `CompiledModel.parts` and the
    report give the reasons. `host` names their engine: ``onnxruntime``, ``python``, or ``auto``
    (True), which is ONNX Runtime for nodes that it is faster at and computes as they are defined,
    if it is installed, and Python for others and with ``strict``. With ``host=False`` a model with
    such nodes is rejected.

    Compiled models are cached: a model that was compiled before, with the same options and the same
    graphc on the same kind of CPU, is not compiled again. `cache` names the folder, False disables
    the cache; the default is ``GRAPHC_CACHE`` or a folder in the user's cache folder.
    ``docs/caching.md`` has the details.

    Inputs with a default (initializers that are also inputs) are constants of the compiled program.
    A call that feeds some of them (`CompiledModel.overridable`) runs a program of its own, compiled
    (JIT) at the first such call; `overridden` names those that every call feeds. The same holds if
    the rank of a value depends on sizes, as after a ``Squeeze`` without axes: the program assumes
    that these are not 1, and other calls have programs of their own. `assume` states whether
    equations between sizes hold: ``{"batch == 1": True}``. A call in which dimensions of the same
    name differ in size, which ONNX Runtime does not check, has a program of its own if the model
    can run that way; `independent_dims` lists names whose dimensions may differ.

    `donate` lists inputs, or patterns (``past_key_values.*``), whose memory a call may write
    results to: the caller gives a `DeviceTensor` away, which cannot be used afterwards, and arrays
    are copied. A cache of keys and values is then updated in place, as its output is the same
    memory; it has room for as many positions as the input has. A pattern that no input matches
    raises UsageError.

    `tune` searches for the pipeline that is fastest for this model on this machine: ``"quick"``
    (30 seconds), ``"full"`` (10 minutes) or a number of seconds. `tuning_database` names a file in
    which results are kept: what it has is not searched for again, and is used without `tune`, too.
    ``"shipped"`` is the database that comes with graphc, which is read only if it is named. The
    report says which pipeline was chosen, and why. See ``docs/tuning.md``.

    `place` divides the model among the devices of `target`, which may then be ``onnxruntime`` and
    ``host``, too: ``"auto"`` by the measured time of its parts, or by a placement file that
    ``gc-place`` wrote (see ``docs/placement.md``). Such a model cannot be saved, and takes `dims`
    and `threads` of the other options.

    `feeds` are the inputs that `tune` and `place` measure with: an array for each input, or a
    function that makes them from the specs of the inputs. Without them they are random, and sizes
    with a name are 1.

    With `check_rewrites` each rewrite that fires is evaluated in numpy on random inputs, before and
    after; one that changes the result raises RewriteCheckError.

    Raises `GraphcError`: InvalidModelError, UnsupportedModelError (all nodes at once),
    InvalidDimError, PipelineError, UnknownTargetError, PassError, RewriteCheckError, LoweringError,
    BackendError, DeviceError, PlacementError, and UsageError for arguments that contradict each
    other.
    """
    options: dict[str, Any] = dict(
        dims=dims, outputs=outputs, threads=threads, pipeline=pipeline, precision=precision,
        opt_level=opt_level, data_tiling=data_tiling, extra_flags=extra_flags, timeout=timeout,
        progress=progress, save_temps=save_temps, host=host, check_rewrites=check_rewrites,
        assume=assume, overridden=overridden, independent_dims=independent_dims, donate=donate,
        cache=cache,
    )  # fmt: skip
    if place is not None:
        if tune is not False or tuning_database is not None:
            raise UsageError("a model is placed or tuned, not both")
        return _placed(model, target, place, feeds, options)
    reason = choose_pipeline(model, target, tune, tuning_database, options=options, feeds=feeds)
    made = plain.compile(model, target, **options)
    made.report.chosen = reason
    return made


def compile_to_file(
    model: Any,
    target: str | Target | Sequence[str | Target],
    *,
    tune: str | float | bool = False,
    tuning_database: str | os.PathLike[str] | None = None,
    feeds: Feeds | None = None,
    **options: Any,
) -> tuple[bytes, Report]:
    """Compile `model` ahead of time (AOT) with the pipeline that `compile` would take.

    Returns as `compiler.compile.compile_to_file` does.
    """
    reason = choose_pipeline(model, target, tune, tuning_database, options=options, feeds=feeds)
    contents, report = plain.compile_to_file(model, target, **options)
    report.chosen = reason
    return contents, report


def choose_pipeline(
    model: Any,
    target: str | Target | Sequence[str | Target],
    tune: str | float | bool,
    tuning_database: str | os.PathLike[str] | None,
    *,
    options: dict[str, Any],
    feeds: Feeds | None = None,
) -> str:
    """Set the pipeline in `options`, of `compile`, if it is to be tuned; return the reason for it.

    Raises `UsageError` for arguments that contradict each other.
    """
    if tune is False:
        _require_no_feeds(feeds)
        if tuning_database is None:
            return ""
    targets = [target] if isinstance(target, str | Target) else list(target)
    if len(targets) != 1:
        raise UsageError(f"a pipeline is tuned for one target, not for {len(targets)}")
    if options.get("pipeline") is not None:
        raise UsageError("a pipeline is given or tuned, not both")
    from . import tuning

    budget = None if tune is False else tuning.budget_seconds(tune)
    made = Options.of(targets[0], **options)
    found = tuning.choose_pipeline(
        model, made, tuning_database, budget, feeds, options.get("progress")
    )
    options["pipeline"] = found.pipeline
    return found.reason


def _placed(
    model: Any, target: Any, place: Any, feeds: Feeds | None, options: Mapping[str, Any]
) -> CompiledModel:
    """The model in parts on several devices."""
    devices = _devices(target)
    _require_defaults(options)
    from .placement import PlacementPlan, open_placed
    from .placement import place as make_plan
    from .tuning.measured_feeds import random_feeds

    sizes = {name: options[name] for name in ("dims", "threads")}
    if isinstance(place, str) and place == AUTO:
        measured = random_feeds if feeds is None else feeds
        place = make_plan(model, devices, measured, **sizes, progress=options["progress"])
    else:
        _require_no_feeds(feeds)
        _require_devices(place, devices)
    made = open_placed(model, place, **sizes)
    is_plan = isinstance(place, PlacementPlan)
    reason = str(place) if is_plan else f"placement: {os.fspath(place)}"
    made.report = CompilationReport(parts=list(made.parts), chosen=reason)
    return made


def _require_no_feeds(feeds: Feeds | None) -> None:
    if feeds is not None:
        raise UsageError('feeds are for tune, and for place="auto", which measure')


def _devices(target: Any) -> list[str]:
    """The names of the devices to place on. Raises `UsageError` for fewer than two."""
    if isinstance(target, str | Target) or len(target) < 2:
        raise UsageError(f"place chooses among two or more targets, not from {target!r}")
    return [each.spelling if isinstance(each, Target) else each for each in target]


def _require_devices(place: Any, devices: Sequence[str]) -> None:
    """Raise `UsageError` if a plan or a placement file names other devices."""
    from .placement.plan import PlacementPlan, read_device_of

    device_of = place.device_of if isinstance(place, PlacementPlan) else read_device_of(Path(place))
    if others := sorted(set(device_of.values()) - set(devices)):
        raise UsageError(f"the placement names {', '.join(others)}, the target {list(devices)}")


def _require_defaults(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that placed models do not take."""
    parameters = inspect.signature(plain.compile).parameters
    for name, value in options.items():
        if name not in _PLACED and value != parameters[name].default:
            raise UsageError(f"a model that is placed does not take {name}")
