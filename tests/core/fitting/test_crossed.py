"""Runs under weights of the others, against numpy and runs written out."""

import numpy as np
import pytest
import torch

from gph_core.fitting import least_squares
from gph_core.fitting.closed_loop import fit
from gph_core.fitting.crossed import crossed
from gph_core.fitting.least_squares import Strength
from gph_core.fitting.steps import Steps
from gph_core.policies.weights import GUIDED, SECOND
from gph_core.schedule import Schedule
from gph_core.search.prefix import PrefixMemory

from ...support.few_runs import SCHEDULE, SIGMAS, runs_of, second, velocity


def found_by(fitting, runs, count, schedule=SCHEDULE, **options):
    """Policy and ends of the first runs."""
    return fitting(
        schedule, runs.steps, lambda step: [runs.state(run, step) for run in range(count)],
        runs.velocities, **options,
    )  # fmt: skip


@pytest.mark.parametrize("prompts", [[velocity], [velocity, second]], ids=["one", "two"])
def test_each_run_goes_on_under_weights_of_the_others(monkeypatch, prompts):
    monkeypatch.setattr(least_squares, "best_strength", lambda *_: Strength(0.0, 1.0))
    runs, full, _ = runs_of(3, size=200, second=second if len(prompts) == 2 else None)
    kept = {}

    def keeping(step, now):
        kept[step] = now
        return runs.velocities(step, now)

    found = found_by(crossed, runs._replace(velocities=keeping), 3)

    # Written out: step 2 of each run under the weights that least squares give for the others.
    def at_two(run, channel):
        states = [state[0, channel].double() for state in full[run]]
        rows = torch.stack([of(states[n], SIGMAS[n]) for of in prompts for n in (1, 0)], 1)
        return rows.numpy(), ((states[3] - states[2]) / (0.4 - 0.65)).numpy()

    def scale(run):
        errors = [target - rows[:, 0] for rows, target in (at_two(run, c) for c in range(2))]
        return np.linalg.norm(errors) ** -0.5

    for run, channel in np.ndindex(3, 2):
        others = [(scale(o), *at_two(o, channel)) for o in range(3) if o != run]
        rows = np.concatenate([factor * rows for factor, rows, _ in others])
        wanted = np.concatenate([factor * target for factor, _, target in others])
        weights = np.linalg.lstsq(rows, wanted, rcond=None)[0]
        moved = torch.from_numpy(at_two(run, channel)[0] @ weights).float()
        third = full[run][2][0, channel] + (0.4 - 0.65) * moved
        torch.testing.assert_close(kept[3][run][0, channel], third, rtol=1e-3, atol=1e-3)
    assert not torch.equal(found.ends[0], found_by(fit, runs, 3).ends[0])
    streams = {term.stream for _, terms in found.policy.weights for term in terms}
    assert streams == ({GUIDED, SECOND} if len(prompts) == 2 else {GUIDED})


def test_runs_go_different_ways_until_the_first_cached_step_is_done():
    """The weights that are returned are of all runs; up to their first step all ways are one."""
    runs, *_ = runs_of(3, second=second)
    one, other = (found_by(fitting, runs, 3).policy.weights for fitting in (fit, crossed))
    assert one[0] == other[0]
    assert one[1:] != other[1:]


def test_a_single_run_goes_on_under_its_own_weights():
    runs, *_ = runs_of(1, second=second)
    one, other = (found_by(fitting, runs, 1) for fitting in (fit, crossed))
    assert one.policy == other.policy
    assert torch.equal(one.ends[0], other.ends[0])


@pytest.mark.parametrize("has", [(0, 1, 1), (1, 1, 0)])
def test_a_second_prompt_that_not_all_runs_have_gets_no_weight(has):
    runs, *_ = runs_of(3, second=second)

    def velocities(step, now):
        found = zip(has, runs.velocities(step, now), strict=True)
        return [both[: 1 + is_there] for is_there, both in found]

    found = found_by(crossed, runs._replace(velocities=velocities), 3)
    assert all(term.stream == GUIDED for _, terms in found.policy.weights for term in terms)
    expected = found_by(crossed, runs_of(3)[0], 3)
    assert found.policy == expected.policy
    for end, other in zip(found.ends, expected.ends, strict=True):
        assert torch.equal(end, other)


def two_step():
    """Steps that go by half of the velocity before, too."""
    lengths = np.diff(SIGMAS).tolist()
    moves = [((n, 1.5 * h), (n - 1, -0.5 * h)) for n, h in enumerate(lengths) if n]
    return Steps((((0, lengths[0]),), *moves), 0.0)


@pytest.mark.parametrize("other", [None, second])
def test_runs_that_go_on_from_where_others_were_end_as_from_the_start(other):
    runs, _, asked = runs_of(3, second=other)
    runs = runs._replace(steps=two_step())

    def under(text, memory=None):
        asked.clear()
        return found_by(crossed, runs, 3, Schedule.parse(text), memory=memory)

    memory = PrefixMemory(1e9)
    under("0,1,3/6", memory)
    expected = under("0,1,4/6")
    assert [step for step, _ in asked] == [0, 1, 4]
    found = under("0,1,4/6", memory)
    assert [step for step, _ in asked] == [4]
    assert found.policy == expected.policy
    assert all(one.equal(two) for one, two in zip(found.ends, expected.ends, strict=True))
    # Another schedule that begins alike later leaves them as they are.
    under("0,1,2/6", memory)
    assert [step for step, _ in asked] == [2]
    assert under("0,1,3/6", memory).policy == under("0,1,3/6").policy
