"""All models of the zoo, each once, and the packages that they come from."""

from collections.abc import Iterable

from .data_models import DATA_MODELS
from .entry import ZooModel, ZooPackage
from .picture_models import PICTURE_MODELS
from .sound_models import SOUND_MODELS
from .text_models import TEXT_MODELS

MODELS: tuple[ZooModel, ...] = (
    *PICTURE_MODELS, *SOUND_MODELS, *TEXT_MODELS, *DATA_MODELS,
)  # fmt: skip


def packages_of(models: Iterable[ZooModel]) -> list[ZooPackage]:
    """The packages of `models`, each once."""
    return list(dict.fromkeys(model.package for model in models))
