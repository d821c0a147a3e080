"""Which states of former runs are remembered, and for how long."""

import pytest
import torch

from gph_core.policies.base import Anchor
from gph_core.schedule import Schedule
from gph_core.search.prefix import PrefixMemory, State

FLOAT = 4  # bytes


def state(step, size=1, anchor=None):
    """A state whose latent, and whose anchor unless given, has so many numbers."""
    anchor = anchor or Anchor(step - 1, 0.5, (torch.zeros(size),))
    return State(step, torch.zeros(size), {"branch": (anchor,)})


def schedule(text):
    return Schedule.parse(text)


def test_a_run_goes_on_from_the_latest_state_that_it_passes_through():
    memory = PrefixMemory(1e9)
    early, late = state(1), state(5)
    memory.keep("a", schedule("0,4,6/9"), early)
    memory.keep("a", schedule("0,4,6/9"), late)
    assert memory.longest("a", schedule("0,4,7/9")) is late
    assert memory.longest("a", schedule("0,3,6/9")) is early
    assert memory.longest("a", schedule("0,4,7/9"), before=5) is early
    assert memory.longest("a", schedule("0,4,7/9"), before=1) is None
    assert memory.longest("b", schedule("0,4,7/9")) is None  # other examples


@pytest.mark.parametrize(
    ("step", "wanted"), [(0, False), (1, True), (2, False), (5, True), (6, False)]
)
def test_a_state_is_kept_right_after_a_full_step(step, wanted):
    assert PrefixMemory(1e9).wants("a", schedule("0,4,6/9"), step) == wanted


def test_a_known_state_is_not_kept_again():
    memory = PrefixMemory(1e9)
    memory.keep("a", schedule("0,4,6/9"), state(5))
    assert not memory.wants("a", schedule("0,4,8/9"), 5)
    assert memory.wants("a", schedule("0,3,8/9"), 4)


def test_the_state_that_was_used_longest_ago_is_dropped_beyond_the_budget():
    memory = PrefixMemory(4 * 10 * FLOAT)  # two states of two tensors of ten numbers
    memory.keep("a", schedule("0,2/9"), state(3, 10))
    memory.keep("b", schedule("0,2/9"), state(3, 10))
    assert memory.longest("a", schedule("0,2/9"))
    memory.keep("c", schedule("0,2/9"), state(3, 10))
    assert [bool(memory.longest(run, schedule("0,2/9"))) for run in "abc"] == [True, False, True]
    assert memory.num_bytes == 4 * 10 * FLOAT


def test_an_anchor_that_two_states_share_is_counted_once_and_as_long_as_one_is_left():
    memory = PrefixMemory(45 * FLOAT)
    shared = Anchor(0, 0.5, (torch.zeros(20),))
    memory.keep("a", schedule("0,4/9"), state(1, 10, shared))
    memory.keep("a", schedule("0,4/9"), state(5, 10, shared))
    assert memory.num_bytes == 40 * FLOAT
    memory.keep("b", schedule("0,4/9"), state(1, 5, shared))
    assert memory.num_bytes == 45 * FLOAT
    memory.keep("c", schedule("0,4/9"), state(1, 5, shared))  # the first one goes
    assert memory.num_bytes == 40 * FLOAT


def test_a_state_beyond_the_whole_budget_is_not_kept():
    memory = PrefixMemory(FLOAT)
    memory.keep("a", schedule("0,4/9"), state(1, 10))
    assert memory.longest("a", schedule("0,4/9")) is None
    assert memory.num_bytes == 0
