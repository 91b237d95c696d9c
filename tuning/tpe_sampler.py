"""Samples of large spaces by optuna's tree-structured Parzen estimator."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import MissingPackageError


class TpeSampler:
    """Samples values for names, from those that were good so far."""

    def __init__(self, values: Mapping[str, Sequence[str]], seed: int):
        self._optuna = _import_optuna()
        self._values = values
        categorical = self._optuna.distributions.CategoricalDistribution
        self._distributions = {name: categorical(each) for name, each in values.items()}
        sampler = self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=0)
        self._study = self._optuna.create_study(sampler=sampler)
        self._told = 0

    def sample(self, known: Sequence[tuple[Mapping[str, str], float]]) -> dict[str, str]:
        """Values to try, when the ratios of `known` ones are known; those only grow."""
        for values, ratio in known[self._told :]:
            self._tell(values, ratio)
        self._told = len(known)
        trial = self._study.ask(self._distributions)
        self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        return trial.params

    def _tell(self, values: Mapping[str, str], ratio: float) -> None:
        if all(value in self._values[name] for name, value in values.items()):
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    params=dict(values), distributions=self._distributions, value=ratio
                )
            )


def _import_optuna() -> Any:
    try:
        import optuna  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("tuning", "optuna", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
