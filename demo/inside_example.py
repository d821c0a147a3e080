"""The example workflow *Look inside a run*: all analyses. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Box, Part, drawn, examples, sampling
from .search_example import CFG, SCORING, STEPS

NAME = "Look_Inside_a_Run"
FULL_STEPS = 8
# Of 20 steps: even, early, late, and a path that Schedule Search found for this model.
SCHEDULES = "0-2,6,9,13,16,19/20\n0-4,7,11,19/20\n0,1,8,12,14,16,18,19/20\n0-3,5,8,13,19/20"
NOTE = (
    "## Look inside a run\n\n"
    "Queue it; on a CPU it takes about three minutes. From above:\n\n"
    "- *Trajectory Profile*: the way of full runs from noise to image. How far is it from a "
    "straight line, where does it turn, and is that the same for all prompts?\n"
    "- *Propagation Gain*: each step cached alone. The curve says where an error hurts the image "
    "most; *Schedule Editor* draws it over its cells, in orange, and *Plan Schedule* makes a "
    "schedule of it.\n"
    "- *Error Decomposition*: what of the error comes from the step, what from the steps before.\n"
    "- *Schedule Statistics*: what two adaptive methods decide from prompt to prompt, and whether "
    "schedules and policies depend on each other.\n"
    "- *Coverage*: on how many prompts one schedule for all is as good as the best one of each.\n\n"
    "**Your own model:** put your loaders in the place of the demo model and write prompts of your "
    "kind. Set size, sampler, noise levels and CFG (in each node) as you use them, and schedules "
    "of as many steps; give each node a new name. Fewer examples take less time and tell less."
)

SAMPLED = {
    "model": ("model", "MODEL"), "examples": ("examples", "examples"),
    "latent": ("latent", "LATENT"), "sampler": ("sampler", "SAMPLER"),
    "sigmas": ("sigmas", "SIGMAS"),
}  # fmt: skip


def _figure(source: str, box: Box) -> Part:
    return Part("PreviewImage", box, {"images": (source, "figure")})


def _gate(method: str, threshold: float, top: int) -> Part:
    return Part(
        "GPH_AdaptiveCache", (500, top, 320, 340), {"model": ("model", "MODEL")},
        {"MODEL": "MODEL"}, (method, "Threshold", threshold, "none", 10),
    )  # fmt: skip


def _runs(gate: str, name: str, top: int) -> Part:
    return Part(
        "GPH_RecordRuns", (860, top, 400, 340), {**SAMPLED, "model": (gate, "MODEL")},
        {"runs": "GPH_RUNS", "summary": "STRING"}, (CFG, name, True, False),
    )  # fmt: skip


def _shootout(policy: str, name: str, left: int, title: str) -> Part:
    return Part(
        "GPH_MethodShootout", (left, 3180, 860, 820),
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


PARTS = {
    "model": MODEL,
    "examples": examples("Scoring Examples", (40, 260, 420, 480), SCORING, seed=1),
    **sampling(STEPS),
    "trajectories": Part(
        "GPH_RecordTrajectory", (860, 120, 400, 340), SAMPLED,
        {"trajectories": "GPH_TRAJECTORIES", "summary": "STRING"}, (CFG, "inside, trajectories"),
    ),
    "profile": Part(
        "GPH_TrajectoryProfile", (1300, 120, 440, 460),
        {"trajectories": ("trajectories", "trajectories")},
        {"figure": "IMAGE", "JSON": "STRING"}, ("none", 5, "float32"),
    ),
    "profile figure": _figure("profile", (1780, 120, 860, 640)),
    "gain": Part(
        "GPH_PropagationGain", (860, 820, 400, 560), SAMPLED,
        {"sensitivity": "GPH_SENSITIVITY", "figure": "IMAGE", "JSON": "STRING"},
        (CFG, "inside, gains", 20),
    ),
    "plan": Part(
        "GPH_PlanSchedule", (1300, 820, 440, 260), {"sensitivity": ("gain", "sensitivity")},
        {"schedule": "GPH_SCHEDULE", "policy": "GPH_POLICY", "text": "STRING"},
        ("propagation gain", STEPS, "full_steps below", FULL_STEPS, "none"),
    ),
    "editor": Part(
        "GPH_ScheduleEditor", (1300, 1130, 440, 330),
        {"sigmas": ("sigmas", "SIGMAS"), "sensitivity": ("gain", "sensitivity")},
        {
            "schedule": "GPH_SCHEDULE", "text": "STRING", "num_steps": "INT", "num_cached": "INT",
        },
        (SCHEDULES.split("\n")[-1],),
    ),
    "plan text": Part("PreviewAny", (1780, 820, 420, 260), {"source": ("plan", "text")}),
    # Only what leads to an output is executed, and the curve comes with it.
    "edited": Part("PreviewAny", (1780, 1130, 420, 330), {"source": ("editor", "text")}),
    "gain figure": _figure("gain", (2240, 820, 860, 640)),
    "errors": Part(
        "GPH_ErrorDecomposition", (860, 1520, 640, 680), SAMPLED,
        {"figure": "IMAGE", "JSON": "STRING"}, (CFG, SCHEDULES, "inside, errors"),
    ),
    "errors figure": _figure("errors", (1540, 1520, 1100, 680)),
    "first gate": _gate("DiCache", 0.3, 2260),
    "second gate": _gate("First Block Cache", 0.15, 2660),
    "first runs": _runs("first gate", "inside, DiCache", 2260),
    "second runs": _runs("second gate", "inside, First Block Cache", 2660),
    "statistics": Part(
        "GPH_ScheduleStatistics", (1300, 2260, 680, 740),
        {
            "recordings.runs0": ("first runs", "runs"),
            "recordings.runs1": ("second runs", "runs"),
            "shootouts.shootout0": ("reuse shootout", "JSON"),
            "shootouts.shootout1": ("taylor shootout", "JSON"),
        },
        {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"}, ("PSNR",),
    ),
    "statistics figure": _figure("statistics", (2020, 2260, 860, 740)),
    "reuse": _policy("residual reuse", 3180),
    "taylor": _policy("Taylor", 3620),
    "reuse shootout": _shootout("reuse", "inside, reuse", 500, "Method Shootout: reuse"),
    "taylor shootout": _shootout("taylor", "inside, Taylor", 1400, "Method Shootout: Taylor"),
    "coverage": Part(
        "GPH_Coverage", (2300, 3180, 680, 560),
        {
            "shootouts.shootout0": ("reuse shootout", "JSON"),
            "shootouts.shootout1": ("taylor shootout", "JSON"),
        },
        {"figure": "IMAGE", "table": "STRING", "JSON": "STRING"},
        ("PSNR", "values below", "0.25, 0.5, 1"),
    ),
    "coverage figure": _figure("coverage", (3020, 3180, 860, 640)),
}  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(PARTS, NOTE, "5d3f0c52-7f64-4c1b-9a7e-2f1f5f0b8c11")
