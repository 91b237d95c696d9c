"""The report of a compilation, which can be rendered as an HTML page."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from ..errors import UsageError
from ..passes.infra.report import Report

FRAME_HEIGHT = 720


@dataclass
class CompilationReport(Report):
    """A `Report` that can be rendered: its programs were recorded between passes."""

    @classmethod
    def of(cls, report: Report) -> Self:
        """A view of `report`, which shares its data."""
        return cls(**{each.name: getattr(report, each.name) for each in fields(Report)})

    def html(
        self,
        *,
        profile: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        accuracy: Mapping[str, Any] | None = None,
        placement: Mapping[str, Any] | None = None,
    ) -> str:
        """A self-contained page: the graph at each stage, memory, rewrites, placement.

        `profile` is the output of ``gc-profile --json`` (`Profile.to_dict`) for the same model and
        options, for each node's share of the time. `sizes` gives the sizes of symbolic dimensions
        for the memory estimate; missing ones are 1. `accuracy` is `QuantizationResult.to_dict` of
        a quantised model, for the accuracy of each node. `placement` is the content of a placement
        file, for the device of each node and what moving it would cost. Raises UsageError for an
        invalid profile or placement, and for a model that was taken from the cache.
        """
        from .page import make_page  # loads MLIR, which a model from the cache does not need

        if not self.stages:
            raise UsageError(
                f"the programs between the passes over '{self.title}' were not kept: "
                "graphc.explain(model) runs the passes again, and cache=False compiles again"
            )
        return make_page(self, profile, sizes or {}, accuracy, placement)

    def _repr_html_(self) -> str:
        """The page in a frame, for Jupyter; for a model from the cache the text."""
        if not self.stages:
            return f"<pre>{html.escape(str(self))}</pre>"
        page = html.escape(self.html())
        style = f"width:100%;height:{FRAME_HEIGHT}px;border:1px solid #8884;border-radius:6px"
        return f'<iframe srcdoc="{page}" style="{style}"></iframe>'
