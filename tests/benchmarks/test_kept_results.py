"""Results about the demo models are of the weights that come with the pack."""

import json
from pathlib import Path

from safetensors import safe_open

from benchmarks.lab.subjects import weights_of

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def test_results_are_of_the_weights_that_come_with_the_pack():
    found = conditions()
    measured = {name: weights_of(one.get("model", "")) for name, one in found.items()}
    about_demos = {name: weights for name, weights in measured.items() if weights}
    assert len(about_demos) > 20
    stale = {name for name, weights in about_demos.items() if found[name].get("weights") != weights}
    assert stale == set()


def conditions() -> dict[str, dict]:
    """What each file says of how it was measured."""
    found = {}
    for path in RESULTS.rglob("*.json"):
        parts = json.loads(path.read_text("utf-8"))
        found[path.relative_to(RESULTS).as_posix()] = parts["conditions"]
    with safe_open(RESULTS / "search-space.safetensors", "np") as file:
        found["search-space.safetensors"] = file.metadata()
    return found
