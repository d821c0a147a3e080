"""Calibration of one method, finished or under way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from ..files import reading
from ..files.condition_diff import first_difference, plain
from ..methods.method import Method
from ..paths.places import GRID_TOLERANCE
from .outcome import Outcome
from .samples import Measured
from .table import OF_VALUES, RECIPES, described
from .threshold import FoundThreshold

# The conditions that are lists of noise levels; these may differ by rounding.
NOISE_LEVELS = {"sigmas": GRID_TOLERANCE}

# Entries of a report that count the examples that the values were made from or checked on.
COUNTS = ("num_examples", "num_fit", "num_held_out")

# How a run that differs in a condition is described.
WEIGHTS = "weights"
_OTHERS = {
    WEIGHTS: "other weights or patches of the model, such as a LoRA",
    "model options": "other model patches",
    "sampler options": "other options of the sampler",
    "sigmas": "other noise levels",
    "cfg": "another CFG",
    "numbers of the guider": "other numbers of the guider",
    "latent": "another size",
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """One method under one setting.

    A calibration that was cancelled goes on from the samples and runs that it has. Examples are
    named by what identifies them, such as prompt and seed.

    Args:
        method: its name.
        conditions: under which all of it was made, as plain data: the model, ``sigmas``, the
            latent's shape, ...
        values: what the rule needs, tensors or plain data; empty if nothing is fitted.
        report: how the values were made and how well they fit.
        thresholds: those found for wanted numbers of cached steps; see ``with_threshold``.
        samples: by example, the tensors that the values are made from.
        runs: those that the thresholds come from; see ``with_run``.
        file: name of the file that it was read from.
        note: what is wrong with that file; empty if nothing is.
    """

    method: str
    conditions: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Sequence[Mapping[str, Any]] = ()
    samples: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    runs: Sequence[Mapping[str, Any]] = ()
    file: str = "the calibration"
    note: str = ""

    def __post_init__(self) -> None:
        if not self.method or "/" in self.method:
            raise ValueError(f"{self.method!r} cannot name a method in a calibration file")
        # As a file gives them back: tuples become lists.
        object.__setattr__(self, "conditions", plain(dict(self.conditions)))

    def check(self, conditions: Mapping[str, Any], partly: bool = False) -> None:
        """Raise ``ValueError`` that names the first condition in which a run differs.

        Args:
            partly: compare only the conditions that are given.
        """
        wanted, stored = plain(dict(conditions)), self.conditions
        self._check({n: stored.get(n) for n in wanted} if partly else stored, wanted)

    def check_values(self, conditions: Mapping[str, Any], needed: Collection[str] = ()) -> str:
        """Note on the file and on how a run that uses the values, but no threshold, differs.

        Raises ``ValueError`` that names the first of the ``needed`` conditions in which it
        differs: there the values mean nothing. By default these are the method's.
        """
        wanted = plain(dict(conditions))
        pairs = {
            name: ({name: self.conditions.get(name)}, {name: wanted.get(name)})
            for name in dict.fromkeys([*wanted, *self.conditions])
        }
        if not needed:
            needed = RECIPES[self.method].needed if self.method in RECIPES else OF_VALUES
        for name in needed:
            self._check(*pairs.pop(name, ({}, {})))
        others = "; ".join(
            _OTHERS.get(name, f"another {name}")
            for name, pair in pairs.items()
            if first_difference(*pair, NOISE_LEVELS)
        )
        differs = others and (
            f"this run differs from the calibration of {self.method} ({others}), so what was "
            "measured there may fit less well"
        )
        return "; ".join(filter(None, (self.note, differs)))

    def _check(self, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        difference = first_difference(stored, wanted, NOISE_LEVELS)
        if difference:
            raise ValueError(
                f"{self.method} was calibrated with {difference_text(difference, 'this run has')}; "
                "choose a calibration that was made for this run, or calibrate for it"
            )

    @contextmanager
    def damaged(self, part: str) -> Iterator[None]:
        """Turn errors of a block that reads a part into ``ValueError`` that names the file."""
        try:
            yield
        except reading.ERRORS as error:
            raise ValueError(
                f"{self.file} is damaged: its {part} of {self.method} cannot be read "
                f"({reading.reason(error)}); delete it and calibrate again"
            ) from error

    def summary(self) -> str:
        """How well the values fit, in one line; ``ValueError`` that names a damaged file."""
        with self.damaged("report"):
            return described(self.method, self.report)

    def with_sample(self, example: str, sample: Mapping[str, Tensor]) -> Calibration:
        """Calibration with the tensors of one more example."""
        return replace(self, samples={**self.samples, example: dict(sample)})

    def missing(self, examples: Iterable[str]) -> list[str]:
        """Examples that were not sampled yet."""
        return [example for example in examples if example not in self.samples]

    def with_values(self, measured: Measured) -> Calibration:
        """Calibration with other values; thresholds and runs, which belong to the old, go."""
        return replace(self, values=measured.values, report=measured.report, thresholds=(), runs=())

    def with_run(
        self, settings: Mapping[str, Any], example: str, outcome: Outcome
    ) -> Calibration:  # fmt: skip
        """Calibration with one more run.

        Args:
            settings: what the decisions depend on beside conditions, values and threshold, see
                ``settings_of``.
        """
        run = {"settings": plain(dict(settings)), "example": example, **outcome._asdict()}
        return replace(self, runs=(*self.runs, run))

    def outcomes(
        self, settings: Mapping[str, Any], examples: Sequence[str]
    ) -> list[tuple[int, Outcome]]:
        """Outcomes of the kept runs of these examples, by the number of the example."""
        numbers = {example: number for number, example in enumerate(examples)}
        wanted = plain(dict(settings))
        return [
            (numbers[run["example"]], Outcome(run["num_cached"], run["low"], run["high"]))
            for run in self.runs
            if run["settings"] == wanted and run["example"] in numbers
        ]

    def with_threshold(self, settings: Mapping[str, Any], found: FoundThreshold) -> Calibration:
        """Calibration with the threshold for one target, in place of one under these settings."""
        entry = {
            "settings": plain(dict(settings)),
            "target": found.target,
            "threshold": found.threshold,
            "mean": found.mean,
            "spread": found.spread,
            "exact": found.exact,
            "counts": {str(count): number for count, number in found.histogram.items()},
            "num_examples": len(found.counts),
            "note": found.note,
        }
        others = (
            old
            for old in self.thresholds
            if (old["target"], old["settings"]) != (entry["target"], entry["settings"])
        )
        return replace(self, thresholds=(*others, entry))

    def facts_on(self, settings: Mapping[str, Any], target: float) -> Mapping[str, Any] | None:
        """Facts on the threshold for a target, see ``with_threshold``; None if there is none."""
        sought = target, plain(dict(settings))
        same = (old for old in self.thresholds if (old["target"], old["settings"]) == sought)
        return next(same, None)

    def threshold(self, settings: Mapping[str, Any], target: float) -> float:
        """The threshold for a target.

        Args:
            settings: with ``full steps``, ``policy`` and, of a variant, ``form``.

        Raises:
            ValueError: there is none; the message lists those that there are.
        """
        facts = self.facts_on(settings, target)
        if facts is not None:
            return facts["threshold"]
        counts: dict[str, set[int]] = {}
        for old in self.thresholds:
            counts.setdefault(_way(old["settings"]), set()).add(old["settings"]["full steps"])
        there = "; ".join(
            f"{', '.join(map(str, sorted(some)))} full with {way}" for way, some in counts.items()
        )
        raise ValueError(
            f"{self.method} has no threshold for {target:g} cached steps "
            f"({settings['full steps']} full) with {_way(settings)}; "
            f"{self.file} has: {there or 'none'}. Run Calibrate Ratio for "
            "this method, number and policy, or choose one of these"
        )


def fit_of(method: Method, calibration: Calibration | None) -> Any:
    """Fit of a method as its calibration keeps it; None without any.

    Raises ``ValueError`` that names the file if it is damaged.
    """
    if calibration is None or not calibration.values:
        return None
    with calibration.damaged("values"):
        return method.read(calibration.values)


def _way(settings: Mapping[str, Any]) -> str:
    """The policy of a threshold, and the form of the method if it is not the usual one."""
    return settings["policy"] + (f" ({settings['form']})" if "form" in settings else "")


def difference_text(difference: tuple[str, str, str], present: str) -> str:
    """A condition that differs, in words.

    Args:
        present: the words before the present value.
    """
    name, former, now = difference
    return _OTHERS[name] if name == WEIGHTS else f"the {name} {former}, {present} {now}"
