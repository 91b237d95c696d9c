"""Options of a compilation, as one value: created at the edge of the API, passed down unchanged.

    Options.of("cpu:znver4", threads=2, precision="strict")

Each field declares whether the result depends on it, its command-line flags and its help: the cache
key, the metadata of modules and the tools' flags are derived from that.
"""

import dataclasses
import enum
from argparse import BooleanOptionalAction
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..passes.pipelines import PRECISIONS, graph_pipeline
from ..runtime import ProgressEvent, Target, resolve_target
from ..runtime.cache.compile_cache import CompileCache
from ..runtime.cache.settings import find_cache
from ..runtime.device.discovery import on_this_machine
from ..runtime.host.engine_choice import AUTO, ENGINES, engine_for, read_engine
from ..runtime.threads.usable_cpus import usable_cpus

Progress = Callable[[ProgressEvent], None]


class Effect(enum.Enum):
    """Effect of an option on the result."""

    RESULT = "decides the result: part of the key that it is cached by"
    OBSERVED = "shows the compiler at work: nothing is then taken from the cache"
    CALL = "is about this call alone"


class Group(enum.Enum):
    """Group of tools that have flags for an option."""

    GRAPH = "all that run the graph passes"
    COMPILE = "those that compile, too"


@dataclass(frozen=True)
class Flag:
    """A command-line flag of an option: its spelling, and its settings for `argparse`."""

    name: str
    settings: Mapping[str, Any]
    doc: str | None = None
    """Separate help text, if the option has several flags."""


@dataclass(frozen=True)
class Option:
    """Description of an option, stored in the metadata of its field."""

    doc: str
    flags: tuple[Flag, ...]
    group: Group | None
    """Group of tools with flags for the option; None if there is none."""
    effect: Effect
    recorded: bool
    """True if the metadata of compiled modules records its value."""


def _flag(name: str, doc: str | None = None, **settings: Any) -> Flag:
    return Flag(name, settings, doc)


def _option(
    doc: str,
    *flags: Flag,
    group: Group | None = None,
    effect: Effect = Effect.RESULT,
    recorded: bool = False,
) -> Mapping[str, Option]:
    """The metadata of a field; an option without flags has no group."""
    return {"option": Option(doc, flags, group, effect, recorded)}


@dataclass(frozen=True)
class Options:
    """Options of a compilation; the docstring of `graphc.compile` describes each in detail."""

    target: Target = field(
        metadata=_option(
            "where it runs: cpu, cpu:x86-64-v3, vulkan, ...; several with commas (cpu)",
            _flag("--target", default="cpu"),
            group=Group.GRAPH,
            recorded=True,
        )
    )
    dims: Mapping[str, int] = field(
        default_factory=dict[str, int],
        metadata=_option(
            "fix a symbolic dimension",
            _flag("--dim", action="append", metavar="NAME=SIZE"),
            group=Group.GRAPH,
        ),
    )
    pipeline: str = field(
        default="",
        metadata=_option(
            "graph passes instead of the default ones",
            _flag("--pass-pipeline", metavar="PIPELINE", default=None),
            group=Group.GRAPH,
        ),
    )
    precision: str = field(
        default="f32",
        metadata=_option(
            "f32; strict: nothing but the order of sums differs from the model; f16 or bf16: "
            "computed in these, accumulated in f32; tf32: f32, but products of 11 bits on NVIDIA's "
            "tensor cores (f32)",
            _flag("--precision"),
            group=Group.GRAPH,
            recorded=True,
        ),
    )
    host: str | bool = field(
        default=AUTO,
        metadata=_option(
            "what runs nodes that cannot be compiled: onnxruntime, python, or for each node the "
            "faster of those installed (auto)",
            _flag("--host-engine", choices=ENGINES),
            _flag(
                "--no-host",
                "refuse models with nodes that cannot be compiled",
                action="store_const",
                const=False,
            ),
            group=Group.GRAPH,
            effect=Effect.CALL,
        ),
    )
    check_rewrites: bool = field(
        default=False,
        metadata=_option(
            "evaluate each rewrite that fires, before and after, on drawn inputs",
            _flag("--check-rewrites", action="store_true"),
            group=Group.GRAPH,
            effect=Effect.OBSERVED,
        ),
    )
    threads: int = field(
        default=1,
        metadata=_option(
            "workers (default: the usable CPUs)",
            _flag("--threads", type=int, default=None),
            group=Group.COMPILE,
            recorded=True,
        ),
    )
    opt_level: int = field(
        default=3,
        metadata=_option(
            "effort of the compilation (3); 0 takes least time, and merges no kernels",
            _flag("--opt-level", type=int, choices=range(4)),
            group=Group.COMPILE,
            recorded=True,
        ),
    )
    data_tiling: bool | None = field(
        default=None,
        metadata=_option(
            "repack matrix operands into tiles (default: decided per model)",
            _flag("--data-tiling", action=BooleanOptionalAction),
            group=Group.COMPILE,
        ),
    )
    extra_flags: Sequence[str] = field(
        default=(),
        metadata=_option(
            "hand FLAG to the backend compiler as it is",
            _flag("--backend-flag", action="append", metavar="FLAG"),
            group=Group.COMPILE,
        ),
    )
    timeout: float | None = field(
        default=None,
        metadata=_option(
            "give the backend up after",
            _flag("--timeout", type=float, metavar="SECONDS"),
            group=Group.COMPILE,
            effect=Effect.CALL,
        ),
    )
    save_temps: Path | None = field(
        default=None,
        metadata=_option(
            "keep the program after every stage",
            _flag("--save-temps", type=Path, metavar="DIR"),
            group=Group.COMPILE,
            effect=Effect.OBSERVED,
        ),
    )
    cache: CompileCache | None = field(
        default=None,
        metadata=_option(
            "keep what is compiled in DIR (default: $GRAPHC_CACHE or the user's cache folder)",
            _flag("--cache", type=Path, metavar="DIR"),
            _flag(
                "--no-cache", "compile anew, and keep nothing", action="store_const", const=False
            ),
            group=Group.COMPILE,
            effect=Effect.CALL,
        ),
    )
    progress: Progress | None = field(
        default=None,
        metadata=_option("called with what is being done, now and then", effect=Effect.CALL),
    )
    outputs: Sequence[str] | None = field(
        default=None, metadata=_option("values to compute in place of the model's outputs")
    )
    assume: Mapping[str, bool] = field(
        default_factory=dict[str, bool],
        metadata=_option("equations between sizes, and whether they hold"),
    )
    overridden: Sequence[str] = field(
        default=(), metadata=_option("inputs with a default that every call gives")
    )
    independent_dims: Sequence[str] = field(
        default=(), metadata=_option("names of dimensions that may differ in size")
    )
    donate: Sequence[str] = field(
        default=(),
        metadata=_option(
            "an input, or a pattern of inputs, whose memory outputs may take (past_key_values.*)",
            _flag("--donate", action="append", metavar="PATTERN"),
            group=Group.COMPILE,
        ),
    )

    @classmethod
    def of(
        cls,
        target: str | Target = "cpu",
        *,
        dims: Mapping[str, int] | None = None,
        threads: int | None = None,
        pipeline: str | None = None,
        precision: str = "f32",
        cache: Any = None,
        save_temps: Any = None,
        extra_flags: Sequence[str] = (),
        host: str | bool = AUTO,
        assume: Mapping[str, bool] | None = None,
        donate: Sequence[str] = (),
        **rest: Any,
    ) -> "Options":
        """The options for one target from arguments of `graphc.compile`, with names resolved and
        defaults filled in.

        Raises `UsageError` and `UnknownTargetError` for invalid values, and TypeError for unknown
        names. The passes of `pipeline` are not checked, as they are not loaded yet.
        """
        row = on_this_machine(resolve_target(target))
        _check(row, threads, precision)
        workers = threads or usable_cpus()
        if pipeline is None:
            pipeline = graph_pipeline(
                row.pipeline, row.cpu, precision, row.bf16_unit, row.int8_unit, workers
            )
        return cls(
            row,
            dims=dict(dims or {}),
            threads=workers,
            pipeline=pipeline,
            precision=precision,
            cache=find_cache(cache) if row.is_compiled else None,
            save_temps=None if save_temps is None else Path(save_temps),
            extra_flags=tuple(extra_flags),
            host=read_engine(host) if host is not False else False,
            assume=dict(assume or {}),
            donate=tuple(donate),
            **rest,
        )

    @classmethod
    def of_all(
        cls, targets: str | Target | Sequence[str | Target], **given: Any
    ) -> "tuple[Options, ...]":
        """`of` for each of one or more targets. Raises `UsageError` for none or duplicates."""
        listed = [targets] if isinstance(targets, str | Target) else targets
        found = tuple(cls.of(target, **given) for target in listed)
        names = [each.target.spelling for each in found]
        if not names or len(set(names)) != len(names):
            raise UsageError(f"targets must be one or more different ones, not {', '.join(names)}")
        return found

    @property
    def engine(self) -> str:
        """The engine of nodes on the host."""
        return engine_for(read_engine(self.host or AUTO), self.precision)

    def decisive(self) -> dict[str, Any]:
        """The options that determine the result, as plain values."""
        found = {name: getattr(self, name) for name, _ in self._having(Effect.RESULT)}
        return {**found, "target": _described(self.target)}

    def shows_the_compiler(self) -> bool:
        """True if an option asks to observe the compiler, which a cached result cannot satisfy."""
        return any(
            getattr(self, name) != default for name, default in self._having(Effect.OBSERVED)
        )

    def recorded(self) -> dict[str, Any]:
        """The options that the metadata of a compiled module records."""
        names = [each.name for each in dataclasses.fields(self) if option_of(each).recorded]
        return {name: getattr(self, name) for name in names} | {"target": self.target.spelling}

    @classmethod
    def _having(cls, effect: Effect) -> Iterator[tuple[str, Any]]:
        """The names and defaults of the options with the given `effect`."""
        for each in dataclasses.fields(cls):
            if option_of(each).effect is effect:
                yield each.name, each.default


def option_of(entry: "dataclasses.Field[Any]") -> Option:
    """The description of the option in a field of `Options`."""
    return entry.metadata["option"]


def _check(target: Target, threads: Any, precision: Any) -> None:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    if precision not in PRECISIONS:
        raise UsageError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    narrow = PRECISIONS[precision]["compute"]
    if narrow not in ("f32", *target.narrow_floats):
        have = " and ".join(("f32", *target.narrow_floats))
        raise UsageError(f"precision {precision}: target '{target}' has {have} alone")


def _described(target: Target) -> list[Any]:
    """The properties of a target that determine the result."""
    return [
        target.spelling, target.pipeline, target.driver, dataclasses.asdict(target.cpu),
        target.bf16_unit, target.int8_unit, target.threads_flag, target.backend_flags,
        target.variants[target.variant],
    ]  # fmt: skip
