import pytest
import torch

from gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from gph_core.run.active_run import ActiveRun
from gph_core.schedule import Schedule

SIGMAS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)


def play(run, sigma, value=0.0, branches=("p",)):
    """One call; a full one leaves a feature of ``value`` in every branch."""
    decision = run.begin_call(sigma, branches)
    if decision.is_cached:
        (feature,) = decision.predicted(run.policy, torch.zeros(len(branches)))
        return feature[:, 0].tolist()
    run.end_call(decision, branches, [(torch.full((1, 2), value),)] * len(branches))
    return "full"


def test_reuse_repeats_the_newest_full_step():
    run = ActiveRun(Schedule.parse("0,2/5"), Reuse(), SIGMAS)
    answers = [
        play(run, sigma, value) for sigma, value in zip(SIGMAS, (1, 0, 3, 0, 0), strict=False)
    ]
    assert answers == ["full", [1.0], "full", [3.0], [3.0]]


def test_taylor_extrapolates_in_steps():
    run = ActiveRun(Schedule.parse("0,2/5"), Taylor(1), SIGMAS)
    answers = [
        play(run, sigma, value) for sigma, value in zip(SIGMAS, (1, 0, 3, 0, 0), strict=False)
    ]
    # One anchor at step 1: reuse. Then the slope (3 - 1) / 2 per step from step 2.
    assert answers == ["full", [1.0], "full", [4.0], [5.0]]


def test_branches_never_share_anchors_and_may_come_in_any_grouping():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 7.0, branches=("positive",))
    play(run, 1.0, -7.0, branches=("negative",))
    assert play(run, 0.8, branches=("negative", "positive")) == [-7.0, 7.0]
    assert play(run, 0.6, branches=("positive",)) == [7.0]


def test_a_branch_without_an_anchor_is_computed_in_full_and_cached_afterwards():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0, branches=("a",))
    assert play(run, 0.8, 2.0, branches=("a", "late")) == "full"
    assert play(run, 0.6, branches=("a", "late")) == [2.0, 2.0]
    assert run.finish().notes == ("steps were computed in full because a branch had no anchor yet",)


def test_a_branch_that_missed_the_newest_full_step_is_computed_in_full():
    # Else one prompt would be predicted from steps 0 and 2, the other from step 0 alone.
    run = ActiveRun(Schedule.parse("0,2/5"), Taylor(1), SIGMAS)
    play(run, 1.0, 1.0, branches=("a", "b"))
    play(run, 0.8, branches=("a", "b"))
    play(run, 0.6, 1.0, branches=("a",))
    assert play(run, 0.4, 1.0, branches=("a", "b")) == "full"
    assert play(run, 0.2, branches=("a", "b")) == [1.0, 1.0]


def test_calls_of_one_evaluation_are_one_time():
    # On a GPU only the last of them waits for the work of all.
    run = ActiveRun(Schedule.parse("0,1/5"), Reuse(), SIGMAS)
    for sigma in SIGMAS[:-1]:
        run.begin_evaluation()
        for branch in ("a", "b", "c"):
            play(run, sigma, 1.0, branches=(branch,))
    record = run.finish()
    assert (len(record.full_seconds), len(record.cached_seconds)) == (2, 3)


def test_calls_without_branch_keys_are_computed_in_full():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0)
    decision = run.begin_call(0.8, ())
    assert not decision.is_cached
    assert not decision.keeps


def test_a_noise_level_off_the_grid_is_computed_in_full_and_leaves_no_anchor():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0)
    assert play(run, 0.9, 5.0) == "full"
    assert play(run, 0.8) == [1.0]
    assert run.finish().notes == ("evaluations between two steps were computed in full",)


@pytest.mark.parametrize(("relative_error", "step"), [(3e-5, 2), (-3e-5, 2), (3e-4, None)])
def test_noise_levels_are_matched_within_a_relative_tolerance(relative_error, step):
    run = ActiveRun(Schedule.all_full(5), Reuse(), SIGMAS)
    assert run.begin_call(0.6 * (1 + relative_error), ("p",)).step == step


def test_a_close_grid_is_matched_to_the_nearest_level():
    sigmas = (1.0, 0.99995, 0.9999, 0.0)
    run = ActiveRun(Schedule.all_full(3), Reuse(), sigmas)
    assert [run.begin_call(sigma, ("p",)).step for sigma in sigmas[:-1]] == [0, 1, 2]


def test_an_anchor_from_a_later_step_is_not_used():
    # heunpp2 steps back by one: step 1 must not be predicted from step 2.
    run = ActiveRun(Schedule.parse("0,2/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0)
    play(run, 0.6, 3.0)
    assert play(run, 0.8, 2.0) == "full"


def test_a_jump_back_starts_afresh():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    for sigma in SIGMAS[:4]:
        play(run, sigma, 1.0)
    assert play(run, 1.0, 9.0) == "full"
    assert play(run, 0.8) == [9.0]


def test_a_second_full_call_at_one_step_replaces_the_anchor():
    run = ActiveRun(Schedule.parse("0/5"), Taylor(1), SIGMAS)
    play(run, 1.0, 1.0)
    play(run, 1.0, 2.0)
    assert play(run, 0.8) == [2.0]


def test_after_stop_caching_everything_is_full():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0)
    run.stop_caching("because")
    assert run.anchors.num_bytes == 0
    assert play(run, 0.8, 1.0) == "full"
    assert play(run, 0.6, 1.0) == "full"
    run.stop_caching("because of another thing, later")
    record = run.finish()
    assert record.notes == ("because", "because of another thing, later")
    assert record.caching_stopped == "because"


def test_an_unrecorded_residual_is_said_and_the_next_step_is_full():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    decision = run.begin_call(1.0, ("p",))
    run.end_call(decision, ("p",), None)
    assert not run.begin_call(0.8, ("p",)).is_cached
    assert "the blocks could not be observed" in run.notes[0]


@pytest.mark.parametrize(
    ("policy", "peak"),
    # 0-4 full, 5-9 cached: only the newest anchors before step 5 are ever used.
    [(Reuse(), 1), (Taylor(1), 2), (Hermite(2), 3)],
    ids=str,
)
def test_only_anchors_that_a_cached_step_uses_are_stored(policy, peak):
    sigmas = [1 - n / 10 for n in range(11)]
    run = ActiveRun(Schedule.parse("0-4/10"), policy, sigmas)
    for sigma in sigmas[:-1]:
        play(run, sigma, 1.0)
    one_anchor = 2 * 4  # two float32 values
    assert run.finish().cache_bytes == peak * one_anchor


def test_anchors_are_dropped_after_the_last_cached_step():
    run = ActiveRun(Schedule.parse("0,1,4/5"), Reuse(), SIGMAS)
    held = []
    for sigma in SIGMAS[:-1]:
        play(run, sigma, 1.0)
        held.append(run.anchors.num_bytes)
    assert held == [0, 8, 8, 8, 0]


def test_a_schedule_of_another_length_is_refused():
    with pytest.raises(ValueError, match="the schedule covers 10 steps but the sampler runs 5"):
        ActiveRun(Schedule.all_full(10), Reuse(), SIGMAS)


def test_the_record_tells_what_happened():
    run = ActiveRun(Schedule.parse("0,2/5"), Reuse(), SIGMAS)
    for sigma in SIGMAS[:-1]:
        play(run, sigma, 1.0)
    record = run.finish()
    assert record.full_steps == (0, 2)
    assert record.cached_steps == (1, 3, 4)
    assert (len(record.full_seconds), len(record.cached_seconds)) == (2, 3)
    assert record.sigmas == SIGMAS
    assert record.schedule == "0,2/5"
    assert run.anchors.num_bytes == 0


def test_a_step_with_one_full_call_counts_as_full():
    run = ActiveRun(Schedule.parse("0/5"), Reuse(), SIGMAS)
    play(run, 1.0, 1.0)
    play(run, 0.8)
    play(run, 0.8, 1.0, branches=("late",))
    record = run.finish()
    assert (record.full_steps, record.cached_steps) == ((0, 1), ())
