"""The trajectories of the study: which runs there are, and what is reported of them."""

from dataclasses import dataclass

import pytest
from golden_path_pack.gph_core.analysis.profiles import RunSpread

from benchmarks.study.parts import trajectories


@dataclass(frozen=True)
class Example:
    prompt: str
    seed: int


@dataclass(frozen=True)
class Workload:
    examples: list


def test_each_prompt_has_three_noises_and_each_noise_three_prompts():
    own = [Example(prompt, seed) for seed, prompt in enumerate("abcde", 10)]
    found = trajectories.crossed(Workload(own), 4).examples
    assert [(example.prompt, example.seed) for example in found] == [
        ("a", 10), ("a", 11), ("a", 12), ("b", 11), ("b", 12), ("b", 13),
        ("c", 12), ("c", 13), ("c", 10), ("d", 13), ("d", 10), ("d", 11),
    ]  # fmt: skip


# Of two runs: all zero at first, then medians of 2, 4 and 3.
SPREAD = RunSpread.of([[0.0, 1.0, 4.0, 2.97], [0.0, 3.0, 4.0, 3.03]]).to_dict()


def test_a_profile_has_extremes_and_the_steps_where_runs_are_alike():
    row = trajectories.row("displacement", SPREAD, begin=5)
    assert (row["first"], row["last"]) == (0.0, 3.0)
    assert row["least"] == [0.0, 5]
    assert row["most"] == [4.0, 7]
    # Deviations of 1, 0 and 0.03; of means of zero there is no coefficient of variation.
    assert row["cv"] == pytest.approx(1.0)
    assert row["cv first"] == row["cv most"] == (pytest.approx(50.0), 6)
    assert row["cv last"] == (pytest.approx(1.0), 8)
    assert row["low"] == [2, 3]


def test_the_main_numbers_of_trajectories_are_reported():
    one = {"median": [0.605], "low": [0.6], "high": [0.7]}
    summary = trajectories.summary({
        "number of runs": 2, "steps": 3, "window": 5, "precision": "float32",
        "runs": [{"curve": [[0, 0]] * 4}], "signal_to_floor": [None, 20.0, 3.0],
        "summary": {"pc1": one, "pc1_pc2": one},
        "plane_angles": {"neither": {"median": 88.0, "low": 87.0, "high": 89.0, "pairs": 1}},
        "rows": [trajectories.row("displacement", SPREAD, 0)],
    })  # fmt: skip
    assert "2 runs of 3 steps, 4 states each" in summary
    assert (
        "| displacement | 0 | 0, 0 | 4, 2 | 3 | 1.00 | 50, 1 | 50, 1 | 1, 3 | 2 of 3 |" in summary
    )
    assert "are 3 to 20 times those" in summary
    assert "along PC1: median 60.5%, 60.0% to 70.0% in the middle half" in summary
    assert "neither 88.00° (87.00° to 89.00°, 1 pairs)" in summary
