"""Files of the analyses: what they are given they give back, under the same conditions alone."""

import pytest
import torch

from gph_core.analysis import decomposition, isolated_steps
from gph_core.analysis.decomposition import Split, decompose
from gph_core.analysis.isolated_steps import IsolatedStep, Measured

from .test_decomposition import SIGMAS, Halving

SPLIT = Split(
    "7 abc", "größere Kreise", 7, "mine", "def", decompose(Halving({1}), torch.ones(2), SIGMAS)
)
MEASURED = Measured("7 abc", "größere Kreise", 7, IsolatedStep(1, (8.0,), 16.0, 4.0, 1.0))


@pytest.mark.parametrize(
    ("lines", "entry"),
    [(decomposition.LINES, SPLIT), (isolated_steps.LINES, MEASURED)],
    ids=["decomposition", "isolated steps"],
)
def test_a_file_gives_back_what_was_measured(tmp_path, lines, entry):
    path, conditions = tmp_path / "mine.jsonl", {"model": "abc"}
    assert lines.begin(path, conditions) == []
    lines.append(path, entry)
    assert lines.begin(path, conditions) == [entry]
    with pytest.raises(ValueError, match="model"):
        lines.begin(path, {"model": "another"})
