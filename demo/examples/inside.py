"""The example workflows that look inside a run, one for each question. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .drawing import MODEL, Box, Part, drawn, examples, sampling
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
    """An example workflow: its name, its id, what its note says, its nodes."""

    name: str
    workflow_id: str
    note: str
    parts: Mapping[str, Part]

    def build(self) -> dict:
        """Draw the workflow, in the page's format 0.4."""
        return drawn(self.parts, f"{self.note}\n\n{OWN_MODEL}", self.workflow_id)


SAMPLED = {
    "model": ("model", "MODEL"), "examples": ("examples", "examples"),
    "latent": ("latent", "LATENT"), "sampler": ("sampler", "SAMPLER"),
    "sigmas": ("sigmas", "SIGMAS"),
}  # fmt: skip
GIVEN = {
    "model": MODEL,
    "examples": examples("Scoring Examples", (40, 300, 420, 440), SCORING[:NUM_EXAMPLES], seed=1),
    **sampling(STEPS),
}


def _figure(source: str, box: Box) -> Part:
    return Part("PreviewImage", box, {"images": (source, "figure")})


def _gate(method: str, threshold: float, top: int) -> Part:
    return Part(
        "GPH_AdaptiveCache", (860, top, 320, 340), {"model": ("model", "MODEL")},
        {"MODEL": "MODEL"}, (method, "Threshold", threshold, "none", 10),
    )  # fmt: skip


def _runs(gate: str, name: str, top: int) -> Part:
    return Part(
        "GPH_RecordRuns", (1220, top, 400, 340), {**SAMPLED, "model": (gate, "MODEL")},
        {"runs": "GPH_RUNS", "summary": "STRING"}, (CFG, name, True, False),
    )  # fmt: skip


def _shootout(policy: str, name: str, left: int, title: str) -> Part:
    return Part(
        "GPH_MethodShootout", (left, 980, 860, 820),
        {**SAMPLED, "vae": ("model", "VAE"), "policy": (policy, "policy")},
        {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"},
        (
            CFG, "full_steps below", FULL_STEPS, "none", "uniform\nplain steps", name, "off",
            SCHEDULES,
        ),
        title,
    )  # fmt: skip


def _policy(kind: str, top: int) -> Part:
    return Part(
        "GPH_PolicySelector", (40, top, 420, 380), {}, {"policy": "GPH_POLICY"},
        (kind, 1, 0.5, 4, "", "recursive", 0.0, 0, "none"),
    )  # fmt: skip


RUN = Inside(
    "Look_Inside_a_Run",
    "5d3f0c52-7f64-4c1b-9a7e-2f1f5f0b8c11",
    "## What happens in a run\n\n"
    "Queue it; on a CPU it takes less than a minute.\n\n"
    "- *Trajectory Profile* shows the path of full runs from noise to image: how far it is from a "
    "straight line, where it turns, and how similar it is for different prompts.\n"
    "- *Error Decomposition* splits the error of four schedules: what each cached step adds, and "
    "what comes from the steps before it.",
    {
        **GIVEN,
        "trajectories": Part(
            "GPH_RecordTrajectory", (860, 120, 400, 340), SAMPLED,
            {"trajectories": "GPH_TRAJECTORIES", "summary": "STRING"},
            (CFG, "inside, trajectories"),
        ),
        "profile": Part(
            "GPH_TrajectoryProfile", (1300, 120, 440, 460),
            {"trajectories": ("trajectories", "trajectories")},
            {"figure": "IMAGE", "JSON": "STRING"}, ("none", 5, "float32"),
        ),
        "profile figure": _figure("profile", (1780, 120, 860, 640)),
        "errors": Part(
            "GPH_ErrorDecomposition", (860, 820, 640, 680), SAMPLED,
            {"figure": "IMAGE", "JSON": "STRING"}, (CFG, SCHEDULES, "inside, errors"),
        ),
        "errors figure": _figure("errors", (1540, 820, 1100, 680)),
    },
)  # fmt: skip

SENSITIVE = Inside(
    "Find_Sensitive_Steps",
    "0a7c5f1e-3d62-4b8f-8f0e-6b1d9c24e7a5",
    "## At which steps is caching harmful?\n\n"
    "Queue it; on a CPU it takes less than a minute.\n\n"
    "- *Propagation Gain* caches each step alone and follows its error to the end of the run.\n"
    "- *Plan Schedule* makes a schedule from that.\n"
    "- *Schedule Editor* draws the gains over its cells, in orange. Try to move full steps to "
    "where the curve is high.",
    {
        **GIVEN,
        "gain": Part(
            "GPH_PropagationGain", (860, 120, 400, 560), SAMPLED,
            {"sensitivity": "GPH_SENSITIVITY", "figure": "IMAGE", "JSON": "STRING"},
            (CFG, "inside, gains", 20),
        ),
        "plan": Part(
            "GPH_PlanSchedule", (1300, 120, 440, 260), {"sensitivity": ("gain", "sensitivity")},
            {"schedule": "GPH_SCHEDULE", "policy": "GPH_POLICY", "text": "STRING"},
            ("propagation gain", STEPS, "full_steps below", FULL_STEPS, "none"),
        ),
        "editor": Part(
            "GPH_ScheduleEditor", (1300, 430, 440, 330),
            {"sigmas": ("sigmas", "SIGMAS"), "sensitivity": ("gain", "sensitivity")},
            {
                "schedule": "GPH_SCHEDULE", "text": "STRING", "num_steps": "INT",
                "num_cached": "INT",
            },
            (SCHEDULES.split("\n")[-1],),
        ),
        "plan text": Part("PreviewAny", (1780, 120, 420, 260), {"source": ("plan", "text")}),
        # Only what leads to an output is executed, and the curve comes with it.
        "edited": Part("PreviewAny", (1780, 430, 420, 330), {"source": ("editor", "text")}),
        "gain figure": _figure("gain", (2240, 120, 860, 640)),
    },
)  # fmt: skip

CHOICES = Inside(
    "Compare_Schedules_and_Methods",
    "c41b8d0f-92e5-4a3c-b6d7-15f8e03a7b92",
    "## Does the best schedule depend on the prompt?\n\n"
    "Queue it; on a CPU it takes less than a minute.\n\n"
    "- *Record Runs* writes down what two adaptive methods decide for each prompt.\n"
    "- *Method Shootout* compares four schedules, under two policies.\n"
    "- *Schedule Statistics* shows how much the decisions differ, and whether schedules and "
    "policies depend on each other.\n"
    "- *Coverage* counts the prompts on which one schedule is as good as the best one of each.",
    {
        **GIVEN,
        "first gate": _gate("DiCache", 0.3, 120),
        "second gate": _gate("First Block Cache", 0.15, 520),
        "first runs": _runs("first gate", "inside, DiCache", 120),
        "second runs": _runs("second gate", "inside, First Block Cache", 520),
        "statistics": Part(
            "GPH_ScheduleStatistics", (1660, 120, 680, 740),
            {
                "recordings.runs0": ("first runs", "runs"),
                "recordings.runs1": ("second runs", "runs"),
                "shootouts.shootout0": ("reuse shootout", "JSON"),
                "shootouts.shootout1": ("taylor shootout", "JSON"),
            },
            {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"}, ("PSNR",),
        ),
        "statistics figure": _figure("statistics", (2380, 120, 860, 740)),
        "reuse": _policy("residual reuse", 980),
        "taylor": _policy("Taylor", 1420),
        "reuse shootout": _shootout("reuse", "inside, reuse", 500, "Method Shootout: reuse"),
        "taylor shootout": _shootout("taylor", "inside, Taylor", 1400, "Method Shootout: Taylor"),
        "coverage": Part(
            "GPH_Coverage", (2300, 980, 680, 560),
            {
                "shootouts.shootout0": ("reuse shootout", "JSON"),
                "shootouts.shootout1": ("taylor shootout", "JSON"),
            },
            {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"},
            ("PSNR", "values below", "0.25, 0.5, 1"),
        ),
        "coverage figure": _figure("coverage", (3020, 980, 860, 640)),
    },
)  # fmt: skip

EXAMPLES = (RUN, SENSITIVE, CHOICES)
