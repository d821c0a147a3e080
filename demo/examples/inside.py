"""The example workflows that look inside a run, one for each question. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .drawing import MODEL, Column, Part, drawn, examples, folded, note, policy, sampling
from .search import CFG, SCORING, STEPS

FULL_STEPS = 8
NUM_EXAMPLES = 8  # of 16: half a minute on two CPU cores
# Of 20 steps: even, early, late, and a path that Schedule Search found for this model.
SCHEDULES = "0-2,6,9,13,16,19/20\n0-4,7,11,19/20\n0,1,8,12,14,16,18,19/20\n0-3,5,8,13,19/20"
OWN_MODEL = (
    "**Your own model:** replace the demo model with your loaders and write prompts of your kind. "
    "Set size, sampler, noise levels and CFG (in each node) as you use them, and give each node a "
    "new name. Fewer examples take less time and are less reliable."
)


class Inside(NamedTuple):
    """An example workflow: its name, its id, its columns."""

    name: str
    workflow_id: str
    columns: Sequence[Column]

    def build(self) -> dict:
        """Draw the workflow, in the page's format 0.4."""
        return drawn(self.columns, self.workflow_id)


SAMPLED = {
    "model": ("model", "MODEL"), "examples": ("examples", "examples"),
    "latent": ("latent", "LATENT"), "sampler": ("sampler", "SAMPLER"),
    "sigmas": ("sigmas", "SIGMAS"),
}  # fmt: skip


def _first(text: str, height: int) -> Column:
    prompts = examples("Scoring Examples", 300, SCORING[:NUM_EXAMPLES], seed=1)
    return Column(320, {"note": note(f"{text}\n\n{OWN_MODEL}", height), "examples": prompts})


def _figure(source: str, height: int) -> Part:
    return Part("PreviewImage", {"images": (source, "figure")}, height=height)


def _gate(method: str, threshold: float) -> Part:
    return folded(
        "GPH_AdaptiveCache", {"model": ("model", "MODEL")}, {"MODEL": "MODEL"},
        method, "Threshold", threshold, "none", 10, title=f"Adaptive Cache: {method}",
    )  # fmt: skip


def _runs(gate: str, method: str) -> Part:
    return folded(
        "GPH_RecordRuns", {**SAMPLED, "model": (gate, "MODEL")},
        {"runs": "GPH_RUNS", "summary": "STRING"},
        CFG, f"inside, {method}", True, False, title=f"Record Runs: {method}",
    )  # fmt: skip


def _shootout(policy: str, name: str) -> Part:
    return folded(
        "GPH_MethodShootout", {**SAMPLED, "vae": ("model", "VAE"), "policy": (policy, "policy")},
        {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"},
        CFG, "full_steps below", FULL_STEPS, "none", "uniform\nplain steps", f"inside, {name}",
        "off", SCHEDULES, title=f"Method Shootout: {name}",
    )  # fmt: skip


RUN = Inside(
    "14_See_What_Happens_in_a_Run",
    "5d3f0c52-7f64-4c1b-9a7e-2f1f5f0b8c11",
    (
        _first(
            "## What happens in a run\n\n"
            "Press *Run*; on a CPU it takes less than a minute.\n\n"
            "- *Trajectory Profile* shows the path of full runs from noise to image: how far it is "
            "from a straight line, where it turns, and how similar it is for different prompts.\n"
            "- *Error Decomposition* splits the error of four schedules: what each cached step "
            "adds, and what comes from the steps before it.",
            400,
        ),
        Column(
            280,
            {
                "model": MODEL,
                **sampling(STEPS),
                "trajectories": Part(
                    "GPH_RecordTrajectory", SAMPLED,
                    {"trajectories": "GPH_TRAJECTORIES", "summary": "STRING"},
                    (CFG, "inside, trajectories"), height=340,
                ),
            },
        ),
        Column(
            400,
            {
                "profile": Part(
                    "GPH_TrajectoryProfile", {"trajectories": ("trajectories", "trajectories")},
                    {"figure": "IMAGE", "JSON": "STRING"}, ("none", 5, "float32"), height=400,
                ),
                "errors": Part(
                    "GPH_ErrorDecomposition", SAMPLED, {"figure": "IMAGE", "JSON": "STRING"},
                    (CFG, SCHEDULES, "inside, errors"), height=560,
                ),
            },
        ),
        Column(
            520,
            {"profile figure": _figure("profile", 440), "errors figure": _figure("errors", 520)},
        ),
    ),
)  # fmt: skip

SENSITIVE = Inside(
    "15_Find_the_Sensitive_Steps",
    "0a7c5f1e-3d62-4b8f-8f0e-6b1d9c24e7a5",
    (
        _first(
            "## At which steps is caching harmful?\n\n"
            "Press *Run*; on a CPU it takes less than a minute.\n\n"
            "- *Propagation Gain* caches each step alone and follows its error to the end of the "
            "run.\n"
            "- *Plan Schedule* makes a schedule from that.\n"
            "- *Schedule Editor* draws the gains over its cells, in orange. Try to move full steps "
            "to where the curve is high.",
            400,
        ),
        Column(
            340,
            {
                "model": MODEL,
                **sampling(STEPS),
                "gain": Part(
                    "GPH_PropagationGain", SAMPLED,
                    {"sensitivity": "GPH_SENSITIVITY", "figure": "IMAGE", "JSON": "STRING"},
                    (CFG, "inside, gains", 20), height=460,
                ),
            },
        ),
        Column(
            400,
            {
                "plan": Part(
                    "GPH_PlanSchedule", {"sensitivity": ("gain", "sensitivity")},
                    {"schedule": "GPH_SCHEDULE", "policy": "GPH_POLICY", "text": "STRING"},
                    ("propagation gain", STEPS, "full_steps below", FULL_STEPS, "none"),
                    height=260,
                ),
                "editor": Part(
                    "GPH_ScheduleEditor",
                    {"sigmas": ("sigmas", "SIGMAS"), "sensitivity": ("gain", "sensitivity")},
                    {
                        "schedule": "GPH_SCHEDULE", "text": "STRING", "num_steps": "INT",
                        "num_cached": "INT",
                    },
                    (SCHEDULES.split("\n")[-1],), height=360,
                ),
                # Only what leads to an output is executed, and the curve comes with it.
                "edited": folded("PreviewAny", {"source": ("editor", "text")}, {}),
            },
        ),
        Column(
            480,
            {
                "gain figure": _figure("gain", 460),
                "plan text": Part("PreviewAny", {"source": ("plan", "text")}, height=300),
            },
        ),
    ),
)  # fmt: skip

CHOICES = Inside(
    "16_Compare_Schedules_and_Methods",
    "c41b8d0f-92e5-4a3c-b6d7-15f8e03a7b92",
    (
        _first(
            "## Does the best schedule depend on the prompt?\n\n"
            "Press *Run*; on a CPU it takes less than a minute.\n\n"
            "- *Record Runs* writes down what two adaptive methods decide for each prompt.\n"
            "- *Method Shootout* compares four schedules, under two policies.\n"
            "- *Schedule Statistics* shows how much the decisions differ, and whether schedules "
            "and policies depend on each other.\n"
            "- *Coverage* counts the prompts on which one schedule is as good as the best one of "
            "each.\n\n"
            "Nodes that show their titles alone open with the dot on their left.",
            480,
        ),
        Column(
            280,
            {
                "model": MODEL,
                **sampling(STEPS),
                "first gate": _gate("DiCache", 0.3),
                "first runs": _runs("first gate", "DiCache"),
                "second gate": _gate("First Block Cache", 0.15),
                "second runs": _runs("second gate", "First Block Cache"),
                "reuse": policy("residual reuse"),
                "reuse shootout": _shootout("reuse", "reuse"),
                "taylor": policy("Taylor"),
                "taylor shootout": _shootout("taylor", "Taylor"),
            },
        ),
        Column(
            520,
            {
                "statistics": Part(
                    "GPH_ScheduleStatistics",
                    {
                        "recordings.runs0": ("first runs", "runs"),
                        "recordings.runs1": ("second runs", "runs"),
                        "shootouts.shootout0": ("reuse shootout", "JSON"),
                        "shootouts.shootout1": ("taylor shootout", "JSON"),
                    },
                    {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"}, ("PSNR",),
                    height=560,
                ),
                "coverage": Part(
                    "GPH_Coverage",
                    {
                        "shootouts.shootout0": ("reuse shootout", "JSON"),
                        "shootouts.shootout1": ("taylor shootout", "JSON"),
                    },
                    {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"},
                    ("PSNR", "values below", "0.25, 0.5, 1"), height=420,
                ),
            },
        ),
        Column(
            500,
            {
                "statistics figure": _figure("statistics", 560),
                "coverage figure": _figure("coverage", 420),
            },
        ),
    ),
)  # fmt: skip

EXAMPLES = (RUN, SENSITIVE, CHOICES)
