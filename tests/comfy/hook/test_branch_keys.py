"""hook/branches: what tells the branches of a call apart, and what a call must say for it."""

import pytest
import torch
from golden_path_pack.nodes.hook.branches import TILES, TWICE, Branches, guided

X = torch.zeros(2, 4, 8, 8)
OPTIONS = {"uuids": ["a", "b"], "cond_or_uncond": [0, 1]}


@pytest.fixture
def messages():
    return []


@pytest.fixture
def branches(messages):
    found = Branches(messages.append)
    found.begin_evaluation()
    return found


def keys(branches, x=X, options=OPTIONS):
    return branches.keys("model", x, options)


def test_each_prompt_of_a_call_has_a_key_of_its_own(branches, messages):
    assert len(set(keys(branches))) == 2
    assert not messages


@pytest.mark.parametrize(
    "options",
    [{}, OPTIONS | {"uuids": ["a"]}, {"uuids": list("abc"), "cond_or_uncond": [0, 1, 1]}],
    ids=["nothing", "too few", "no equal slices"],
)
def test_a_call_that_does_not_say_what_its_batch_holds_has_none(branches, options):
    assert keys(branches, options=options) == []


@pytest.mark.parametrize(("columns", "reason"), [(8, TWICE), (16, TILES)])
def test_a_prompt_that_comes_twice_means_tiles_only_where_a_call_has_a_part_of_the_latents(
    branches, messages, columns, reason
):
    branches.note_conditions([], 1.0, torch.zeros(1, 4, 8, columns), {})
    keys(branches)
    assert not messages
    keys(branches)
    assert messages == [reason]
    branches.begin_evaluation()
    messages.clear()
    keys(branches)
    assert not messages


@pytest.mark.parametrize(("columns", "reason"), [(8, TWICE), (16, TILES)])
def test_more_latents_in_a_call_than_the_sampler_evaluates_have_no_keys(
    branches, messages, columns, reason
):
    branches.note_conditions([], 1.0, torch.zeros(1, 4, 8, columns), {})
    assert len(keys(branches)) == 2
    assert not messages
    assert keys(branches, torch.zeros(4, 4, 8, 8)) == []
    assert messages == [reason]


@pytest.mark.parametrize(("sigma", "acts"), [(0.8, True), (0.5, True), (0.4, True), (0.3, False)])
def test_a_prompt_acts_between_its_noise_levels_both_included(sigma, acts):
    conds = {"positive": [{"uuid": "a", "timestep_start": 0.8, "timestep_end": 0.4}]}
    assert bool(guided(conds, sigma, {})) == acts
    assert guided({"positive": [{"uuid": "a"}]}, sigma, {})
