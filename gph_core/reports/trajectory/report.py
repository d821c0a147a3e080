"""Report of *Trajectory Profile* in JSON types, and its main numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...analysis.planes import random_plane_angles
from ...analysis.profiles import Profile, RunSpread, signal_to_floor
from ...files.strict_json import finite
from ...run.record_file import RecordedRun
from ...texts import counted

SAME_NOISE, SAME_PROMPT, NEITHER, RANDOM = "same noise", "same prompt", "neither", "random planes"
_GROUPS = (SAME_NOISE, SAME_PROMPT, NEITHER)


def report_of(
    recording: str, runs: Sequence[RecordedRun], profiles: Sequence[Profile],
    together: Mapping[str, RunSpread], angles: Mapping[tuple[int, int], float], precision: str,
) -> dict[str, Any]:  # fmt: skip
    """All numbers, by state from 0 to N; turning angles begin at state ``window``.

    Args:
        recording: its name.
        together: from ``spreads``.
        angles: between the planes of runs, by the runs' numbers.
        precision: of the states, for which rounding was estimated.
    """
    first = profiles[0]
    return {
        "recording": recording,
        "steps": len(first.displacement),
        "latent_coordinates": first.num_coordinates,
        "window": first.window,
        "precision": precision,
        "summary": {name: spread.to_dict() for name, spread in together.items()},
        "signal_to_floor": finite(signal_to_floor(together)),
        "plane_angles": grouped([run.example for run in runs], angles, first.num_coordinates),
        "runs": [
            {"prompt": run.prompt, "seed": run.seed, **profile.to_dict()}
            for run, profile in zip(runs, profiles, strict=True)
        ],
        "notes": _notes(runs, profiles),
    }


def grouped(
    names: Sequence[str], angles: Mapping[tuple[int, int], float], num_coordinates: int
) -> dict[str, Any]:
    """Angles of pairs, grouped by what the two runs share, and of random planes.

    Args:
        names: of the runs' examples, as of ``Workload.names``.
        angles: in degrees, by the numbers of both runs.
        num_coordinates: of the latent.
    """
    if not angles:
        return {}
    groups: dict[str, list[float]] = {name: [] for name in _GROUPS}
    for (one, other), angle in angles.items():
        groups[_shared(names[one], names[other])].append(angle)
    groups[RANDOM] = random_plane_angles(num_coordinates)[:, 0].tolist()
    return {name: _of_pairs(values) for name, values in groups.items() if values}


def _of_pairs(angles: Sequence[float]) -> dict[str, Any]:
    spread = RunSpread.of(angles).to_dict()
    middle = {name: spread[name][0] for name in ("median", "low", "high", "mean", "deviation")}
    return {"pairs": len(angles), **middle, "min": min(angles), "max": max(angles)}


def _shared(*names: str) -> str:
    # The seed, and a fingerprint of the conditioning, as prompts may be empty.
    seeds, _, prompts = zip(*(name.partition(" ") for name in names), strict=True)
    if len(set(seeds)) == 1:
        return SAME_NOISE
    return SAME_PROMPT if len(set(prompts)) == 1 else NEITHER


def _notes(runs: Sequence[RecordedRun], profiles: Sequence[Profile]) -> list[str]:
    cached = sum(bool(run.record.cached_steps) for run in runs)
    without = sum(profile.plane.weights is None for profile in profiles)
    notes = []
    if cached:
        notes.append(
            f"{counted(cached, 'run')} with cached steps: the GPH paper's profiles are of full runs"
        )
    if without:
        notes.append(f"{counted(without, 'run')} without a plane: bent in one direction at most")
    if len(runs) == 1:
        notes.append("only one run: differences between runs need several")
    return notes


def summary(report: Mapping[str, Any]) -> str:
    """The main numbers as lines of text."""
    spread, runs = report["summary"], len(report["runs"])
    peak, chord = _largest(spread["off_chord"]["median"]), spread["chord_length"]
    lines = [
        f"{counted(runs, 'run')} of {report['steps']} steps, {report['latent_coordinates']} "
        "latent coordinates; medians over runs, CV: standard deviation over mean",
        f"chord length: {chord['median'][0]:.4g}{_cv(chord, runs)}",
        f"off-chord distance: at most {peak[1]:.4f} of the chord, at state {peak[0]}",
        f"displacement of a step: {_range(spread['displacement']['median'])} of the chord"
        f"{_cv(spread['displacement'], runs)}",
        f"state norm: {_range(spread['norm']['median'])}{_cv(spread['norm'], runs)}",
        *_turning(report),
        *_explained(spread),
    ]
    for name, pairs in report["plane_angles"].items():
        lines.append(
            f"first angle between planes, {name}: {pairs['median']:.2f}° ({pairs['low']:.2f}° to "
            f"{pairs['high']:.2f}° in the middle half of {counted(pairs['pairs'], 'pair')})"
        )
    return "\n".join([*lines, *report["notes"]])


def _turning(report: Mapping[str, Any]) -> list[str]:
    angles = report["summary"]["turning"]["median"]
    ratios = _known(report["signal_to_floor"])
    floor = f", at least {min(ratios):.3g} times the {report['precision']} rounding" * bool(ratios)
    return [f"turning angle over {report['window']} steps: {_range(angles)} degrees{floor}"]


def _explained(spread: Mapping[str, Any]) -> list[str]:
    one, both = spread["pc1"]["median"][0], spread["pc1_pc2"]["median"][0]
    if one is None:
        return []
    return [f"off-chord variance: {one:.1%} along PC1, {both:.1%} along PC1 and PC2"]


def _range(values: Iterable[float | None]) -> str:
    defined = _known(values)
    return f"{min(defined):.4g} to {max(defined):.4g}" if defined else "undefined"


def _cv(spread: Mapping[str, Any], runs: int) -> str:
    """Median and largest coefficient of variation; nothing for one run."""
    defined = sorted(_known(spread["cv"]))
    if runs == 1 or not defined:
        return ""
    if len(defined) == 1:
        return f", CV {defined[0]:.2f} %"
    middle = RunSpread.of(defined).median[0]
    return f", CV {middle:.2f} % at the median index, at most {defined[-1]:.2f} %"


def _largest(values: Sequence[float]) -> tuple[int, float]:
    """Index and value of the largest value."""
    return max(enumerate(values), key=lambda item: item[1])


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
