"""Report of *Schedule Search*: a table, a figure, and a path for the library."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..paths.evidence import SCORING, VALIDATION, beside_mean, measured
from ..paths.golden_path import SEARCHED, GoldenPath
from ..policies.base import Site
from ..policies.fitted import Fitted
from ..quality.metric_table import METRICS
from ..quality.objective import PSNR, VISIBLE, Objective
from ..quality.semantic.guard import changes_in_words
from ..search.judge import UNUSABLE
from ..search.protocol import Delivery
from ..search.selection import PlainSteps, Validated, paired_gain
from ..texts import aligned
from . import figures, tallies

LABEL_LENGTH = 28  # of a baseline's name in the figure; a path's may have 100 characters


def table(delivery: Delivery, is_validated: bool, notes: Sequence[str] = ()) -> str:
    """Finalists and baselines, best first, then notes, as lines of text."""
    best, name = delivery.best, delivery.objective.name
    on = "validation" if is_validated else "scoring (not validated)"
    lines = [
        f"{best.schedule}, {best.policy}",
        cost(best),
        f"{name}: mean on the {len(best.score.values)} {on} examples, and the lead of the best "
        "schedule (more is better) with a 95 % interval:",
    ]
    lines += _rows(delivery)
    scored = [score for study in delivery.studies.values() for score in study.scores.values()]
    lines.append(f"{len(scored)} schedules scored; {delivery.reason}")
    if delivery.objective.guard.limits:
        lines.append(
            f"Guard: {delivery.objective.guard}, in the mean of the examples; it ruled out "
            f"{scored.count(UNUSABLE)} of the schedules scored"
        )
    if best.name:
        lines.append(f"The search found no schedule better than the control {best.name}.")
    for row in delivery.others:
        if isinstance(row.policy, PlainSteps):
            lines.append(_plain(best, row))
    return "\n".join([*lines, *notes])


def _rows(delivery: Delivery) -> list[str]:
    """A row for each schedule: its value, its lead, what PSNR says of it, and which one it is."""
    best, rows = delivery.best, [delivery.best, *delivery.others]
    leads = ["", *(_lead(best, row) for row in delivery.others)]
    width = max(map(len, leads))
    starts = [
        f"{delivery.objective.text(row.score.mean):>10}  {lead:{width}}"
        for row, lead in zip(rows, leads, strict=True)
    ]
    ends = [
        f"{row.schedule}, {row.policy} ({row.name or 'searched'}){_guarded(row)}" for row in rows
    ]
    if not (headings := _psnr(rows)):
        return [f"{start}  {end}" for start, end in zip(starts, ends, strict=True)]
    parts = zip(["", *starts], headings, ["", *ends], strict=True)
    lines = [f"{start:{len(starts[0])}}  {psnr}  {end}".rstrip() for start, psnr, end in parts]
    return [*lines, tallies.legend("examples")]


def _psnr(rows: Sequence[Validated]) -> list[str]:
    """Headings, and what PSNR says of each row; nothing where it was not measured."""
    heading, write = METRICS["psnr"].heading, METRICS["psnr"].form.format
    cells = [
        [write(psnr.mean), write(psnr.worst), f"{100 * psnr.hardly:.0f} %"]
        for row in rows
        if (psnr := row.psnr) is not None
    ]
    return aligned([[heading, "worst tenth", "hardly visible"], *cells]) if cells else []


def _guarded(row: Validated) -> str:
    broken = "" if row.keeps_guard else ", breaks the guard"
    return f", {changes_in_words(row.changes)}{broken}" if row.changes else ""


def _lead(best: Validated, other: Validated) -> str:
    gain = paired_gain(best.score, other.score)
    if not math.isfinite(gain.low):  # one example has no interval
        return f"{gain.mean:+.3g}"
    return f"{gain.mean:+.3g} ({gain.low:+.3g} to {gain.high:+.3g})"


def cost(best: Validated) -> str:
    """Line on what a run costs, and how long that takes."""
    full = best.schedule.num_full
    about = "about " if best.policy.site is Site.STACK else ""
    # Weights are fitted for samplers of one evaluation a step only.
    calls = f": {full} evaluations of the model" if isinstance(best.policy, Fitted) else ""
    steps = f"{full} of {best.schedule.num_steps} steps full"
    return f"{steps}{calls}, {about}as long as {full} plain steps"


def _plain(best: Validated, plain: Validated) -> str:
    """Line on the control of plain steps."""
    line = (
        f"{plain.name}: the same sampler on {plain.schedule.num_full} of the noise levels, "
        "evenly spaced by number; your scheduler may choose other levels for this number of steps"
    )
    if plain.score.mean > best.score.mean:
        line += ". Here they come closer to the full run than the path"
    return line


def figure(delivery: Delivery, curve: Sequence[tuple[int, float]]) -> Tensor:
    """Progress of the search above strips of finalists and baselines, ``[1, H, W, 3]``."""
    from matplotlib.figure import Figure

    rows, name = [delivery.best, *delivery.others][:8], delivery.objective.name
    picture = Figure(figsize=(9, 3.2 + 0.32 * len(rows)), dpi=110, layout="constrained")
    above, below = picture.subplots(2, 1, height_ratios=(3, 0.32 * len(rows) + 0.4))
    if curve:
        scored = sum(len(study.scores) for study in delivery.studies.values())
        steps, values = zip(*[*curve, (max(scored, curve[-1][0]), curve[-1][1])], strict=True)
        written = [delivery.objective.shown(value) for value in values]
        above.step(steps, written, where="post", color=figures.FULL)
    above.set_xlabel("schedules scored")
    above.set_ylabel(f"{name}, best on the\nscoring examples")
    _strips(below, rows, delivery.objective)
    return figures.to_image(picture)


def _strips(axes, rows: Sequence[Validated], objective: Objective) -> None:
    for place, row in enumerate(rows):
        figures.strip(axes, place, row.schedule)
    names = [textwrap.shorten(r.name or "searched", LABEL_LENGTH, placeholder="…") for r in rows]
    labels = [
        f"{objective.text(row.score.mean)}  {what}, {row.policy}"
        for row, what in zip(rows, names, strict=True)
    ]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("step (dark: full)")
    figures.number_steps(axes, rows[0].schedule.num_steps)


def path_of(
    delivery: Delivery, name: str, known: Mapping[str, Any], sigmas: Sequence[float],
    conditions: Mapping[str, Any], is_validated: bool,
) -> GoldenPath:  # fmt: skip
    """The delivered pair with its conditions and quality.

    A baseline that won becomes a ``control``, which *Golden Path Cache* does not take by itself.
    """
    best, objective = delivery.best, delivery.objective
    notes = [] if is_validated else ["Not validated: chosen on the examples of the search."]
    if best.changes:
        notes.append(f"Guard: {objective.guard}; {changes_in_words(best.changes)}.")
    if best.name:
        notes.append(f"The search found nothing better than this control: {best.name}.")
    return GoldenPath(
        name, best.schedule, SEARCHED, best.policy, sigmas=tuple(sigmas),
        conditions=dict(conditions), quality=_quality(delivery, is_validated),
        notes=" ".join(notes), method="control" if best.name else "searched", **known,
    )  # fmt: skip


def _quality(delivery: Delivery, is_validated: bool) -> dict[str, float]:
    """Mean of the delivered pair, what it hides, and the means of the baselines."""
    best, part = delivery.best, VALIDATION if is_validated else SCORING
    count = len(best.score.values)
    title, mean = _kept(delivery.objective, best)
    quality = {measured(title, count, part): mean}
    if best.psnr is not None:
        quality |= beside_mean(best.psnr, count, part)
    for row in delivery.others:
        other = "" if str(row.policy) == str(best.policy) else str(row.policy)
        if row.name:
            named = row.name if not other or other in row.name else f"{row.name}, {other}"
            quality[f"the same, {named}"] = _kept(delivery.objective, row)[1]
    # Equal images have an infinite PSNR, which a file cannot keep.
    return {name: value for name, value in quality.items() if math.isfinite(value)}


def _kept(objective: Objective, row: Validated) -> tuple[str, float]:
    """What a path keeps of a row: plain PSNR, if that is what counted in some other form.

    So the paths of different searches can be compared.
    """
    if row.psnr is not None and objective.name in VISIBLE:
        return PSNR.name, row.psnr.mean
    return objective.name, objective.shown(row.score.mean)
