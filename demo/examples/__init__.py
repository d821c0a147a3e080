"""Build the example workflows, each as columns of a few nodes, which fit a window when it opens.

Writes ``example_workflows/*.json``, except the first one, which was made by hand and whose cache
node is the pattern of all others. Run it with ``python dev.py examples``. Standard library only.
"""

from __future__ import annotations

import json

from . import compare, experts, few_steps, inside, released, released_models, search, video
from .drawing import FOLDER, TRY, as_dicts, read
from .released import TEMPLATES

EXAMPLES = released_models.EXAMPLES + few_steps.EXAMPLES
__all__ = ["EXAMPLES", "FOLDER", "TEMPLATES", "TRY", "as_dicts", "build_all", "read", "text_of"]


def text_of(workflow: dict) -> str:
    return json.dumps(workflow, ensure_ascii=False, indent=1) + "\n"


def build_all() -> dict[str, dict]:
    """Every built workflow by its name."""
    of_demo = {one.NAME: one.build() for one in (compare, video, experts, search)}
    of_demo |= {example.name: example.build() for example in inside.EXAMPLES}
    return {example.name: released.build(example) for example in EXAMPLES} | of_demo
