"""The demo's models, their workflows, and captions that they were not trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import network
from .video import network as video_network

WORKFLOWS = Path(__file__).parent.parent / "example_workflows"
WORKFLOW = WORKFLOWS / "01_Try_It_on_the_Demo_Model.json"
# Held-out captions: the models were not trained on them.
PROMPTS = {
    11: "red cross left of yellow circle on gradient white background",
    12: "two white triangles on plain yellow background",
    13: "large blue square on dotted green background",
    14: "red circle above yellow diamond on checkered cyan background",
}
CLIPS = {
    11: "white triangle moves right on gradient yellow background",
    12: "red cross moves right on plain white background",
    13: "black circle grows on gradient pink background",
    14: "green triangle moves left on gradient red background",
}


class Subject(NamedTuple):
    """One of the demo's models.

    Args:
        architecture: with ``config``, what golden paths are looked up by.
        prompts: by seed.
    """

    title: str
    workflow: Path
    architecture: str
    config: Mapping[str, Any]
    shift: float
    prompts: Mapping[int, str]


IMAGES = Subject(
    "golden path demo model (FLUX architecture, 2.3 M parameters)", WORKFLOW, "FLUX",
    network.FLUX_CONFIG, network.SHIFT, PROMPTS,
)  # fmt: skip
VIDEOS = Subject(
    "golden path demo model for video (Wan architecture, 3.7 M parameters)",
    WORKFLOWS / "11_Try_It_on_a_Video.json", "Wan", video_network.WAN_CONFIG,
    video_network.SHIFT, CLIPS,
)  # fmt: skip
