"""The result of a verification, as users get it."""

from .comparison import Comparison
from .verification_page import make_page
from .verification_text import format_verification


class Verification(Comparison):
    """The result of `verify`."""

    def table(self, most: int | None = None) -> str:
        """The comparison as text, with the `most` worst values."""
        return format_verification(self, most)

    def page(self) -> str:
        """The comparison as a self-contained HTML page."""
        return make_page(self)

    def __str__(self) -> str:
        return self.table()
