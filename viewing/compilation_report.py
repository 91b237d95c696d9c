"""The report of a compilation, which shows itself as a page."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from ..errors import UsageError
from ..passes.infra.report import Report

FRAME_HEIGHT = 720


@dataclass
class CompilationReport(Report):
    """A `Report` whose programs were recorded between passes, so that they can be shown."""

    @classmethod
    def of(cls, report: Report) -> Self:
        """The same report, to be shown: it shares the data of `report`."""
        return cls(**{each.name: getattr(report, each.name) for each in fields(Report)})

    def html(
        self, *, profile: Mapping[str, Any] | None = None, sizes: Mapping[str, int] | None = None
    ) -> str:
        """A page that needs nothing else: the graph at each stage, memory, rewrites, placement.

        `profile` is what ``gc-profile --json`` writes (`Profile.to_dict`) for the same model and
        options, for each node's share of the time. `sizes` are those of symbolic dimensions that
        memory is computed for; 1 where one is missing. UsageError for what is no profile, and for
        a model that was taken from the cache.
        """
        from .page import make_page  # with MLIR, which a model from the cache does without

        if not self.stages:
            raise UsageError(
                f"the programs between the passes over '{self.title}' were not kept: "
                "graphc.explain(model) runs the passes again, and cache=False compiles again"
            )
        return make_page(self, profile, sizes or {})

    def _repr_html_(self) -> str:
        """The page in a frame, for Jupyter; of a model from the cache the text."""
        if not self.stages:
            return f"<pre>{html.escape(str(self))}</pre>"
        page = html.escape(self.html())
        style = f"width:100%;height:{FRAME_HEIGHT}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe srcdoc="{page}" style="{style}"></iframe>'
