"""Inputs that several nodes share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from comfy_api.latest import io

from ...gph_core.paths.speeds import SPEEDS
from ...gph_core.quality.objective import OBJECTIVES
from ...gph_core.reports.shootout import reading
from .types import COUNT, ExamplesType, SemanticType, WorkersType

WHATEVER = "As in your workflow, with its LoRAs and other patches."
KIND = "From Scoring Examples: prompts of the kind you use. The GPH paper uses 50."
MOST = 20  # slots of a growing input
SHARES = "How many steps stay full: Quality 42 %, Balanced 26 %, Fast 18 %, as in Golden Path Cache"


def check_known(*checks: tuple[Callable[[Any], Any], Any]) -> None:
    """Check the inputs of a node whose values are known.

    Args:
        checks: pairs of a function that raises ``ValueError`` and the value to check; None stands
            for a linked input, whose value is not known yet.
    """
    for check, value in checks:
        if value is not None:
            check(value)


def check_choice(value: str | None, choices: Collection[str], what: str) -> None:
    """Raise ``ValueError`` unless a value is one of the choices, or None: not known yet."""
    if value is not None and value not in choices:
        raise ValueError(f"{value!r} is not {what}; choose one of {', '.join(choices)}")


def sampling_inputs(
    model: str = WHATEVER, examples: str = KIND, sampler: str = "As in your workflow."
) -> list[Any]:
    """Required inputs for sampling examples; the arguments are tooltips."""
    return [
        io.Model.Input("model", tooltip=model),
        ExamplesType.Input("examples", tooltip=examples),
        io.Latent.Input("latent", tooltip="An empty latent of your usual size, of one image."),
        io.Sampler.Input("sampler", tooltip=sampler),
        io.Sigmas.Input("sigmas", tooltip="Your noise levels, from a scheduler node."),
        io.Float.Input(
            "cfg",
            default=1.0,
            min=0.0,
            max=100.0,
            step=0.1,
            tooltip="As in your workflow; 1 for distilled models such as FLUX.1-dev.",
        ),
    ]


def guider_input(more: str = "") -> io.Guider.Input:
    """Optional input for a custom guider; ``more`` extends its tooltip."""
    return io.Guider.Input(
        "guider",
        optional=True,
        tooltip=f"Instead of model and cfg{more}. Its prompts are replaced.",
    )


def workers_input(more: str = "") -> io.Input:
    """Optional input for workers; ``more`` extends its tooltip."""
    tooltip = "From Search Workers. Unconnected: everything is sampled here."
    return WorkersType.Input("workers", optional=True, tooltip=f"{tooltip} {more}".strip())


def semantic_input(more: str) -> io.Input:
    """Optional input for judges of images; ``more`` extends its tooltip."""
    tooltip = "From Semantic Metrics: how well images fit their prompts, beside how close they are."
    return SemanticType.Input("semantic", optional=True, tooltip=f"{tooltip} {more}")


def speed_input(tooltip: str = f"{SHARES}.", **options: Any) -> io.Combo.Input:
    """Input for the speed, which is the share of full steps."""
    return io.Combo.Input(
        "speed", options=[*SPEEDS, COUNT], default="Balanced", tooltip=tooltip, **options
    )


def count_input(when: str = "Only for", fewest: int = 2, **options: Any) -> io.Int.Input:
    """Input for the number of full steps, used if the speed is ``COUNT``."""
    return io.Int.Input(
        "full_steps",
        default=10,
        min=fewest,
        max=1000,
        tooltip=f"{when} {COUNT!r}. More: slower sampling, closer images.",
        **options,
    )


def shootouts_input(tooltip: str, fewest: int) -> io.Autogrow.Input:
    """Growing input for JSON of *Method Shootout*, with at least ``fewest`` reports."""
    report = io.String.Input("shootout", tooltip="JSON of Method Shootout.")
    template = io.Autogrow.TemplatePrefix(report, prefix="shootout", min=fewest, max=MOST)
    return io.Autogrow.Input("shootouts", template, optional=not fewest, tooltip=tooltip)


def reports_of(shootouts: Mapping[str, Any] | None) -> list[Any]:
    """Reports read from that input; ``ValueError`` names a text that is no report."""
    reports = []
    for name, text in (shootouts or {}).items():
        try:
            if text is not None:
                reports.append(reading.read(text))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return reports


def metric_input(tooltip: str) -> io.Combo.Input:
    """Input for one of the metrics that *Method Shootout* measures."""
    return io.Combo.Input("metric", options=list(OBJECTIVES), default="PSNR", tooltip=tooltip)
