"""What a cache node is told of its runs, as tests send it."""

import itertools

from .page import tell, view

NODE, SAMPLER = 2, 6  # of the bundled workflow
SEEDS = itertools.count(2**32)  # the server would not run an equal prompt again
RECORD = {
    "schedule": "0-1,3/5", "origin": "uniform spacing", "policy": "residual reuse",
    "site": "stack residual", "full_steps": [0, 1, 3], "cached_steps": [2], "refused_steps": [4],
    "full_seconds": [0.5, 0.25, 0.25, 0.25], "cached_seconds": [0.125], "cache_bytes": 3 * 2**20,
    "sigmas": [1, 0.8, 0.6, 0.4, 0.2, 0], "notes": ["step 4: a branch had no anchor"],
    "speedup": 1.1, "ideal_speedup": 5 / 3,
}  # fmt: skip
OTHER = RECORD | {"schedule": "0/2", "full_steps": [0], "cached_steps": [1], "refused_steps": []}


def sampler(workflow):
    """Widget values of KSampler: seed, what happens to it, steps, CFG, sampler, scheduler, …"""
    return next(n for n in workflow["nodes"] if n["id"] == SAMPLER)["widgets_values"]


def send(page, state, *, node=NODE, run=0, prompt="p", **detail):
    detail |= {"state": state, "node_id": str(node), "run": run, "prompt_id": prompt}
    tell(page, "golden_path.run", detail)


def panel(page, node=NODE):
    return view(page, node, "golden_path_report")


def strip_titles(element):
    """What the strip says of each step."""
    cells = element.query_selector_all(".gph-strip .gph-cell")
    return [cell.get_attribute("title") for cell in cells]


def is_idle(element):
    return element.inner_text().startswith("After a run:")
