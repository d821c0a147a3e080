import json

import pytest

from gph_core.run.record import RunRecord


def record(full=(1.0, 0.2, 0.2), cached=(0.05, 0.05), **changes):
    fields = {
        "family": "FLUX",
        "site": "stack residual",
        "schedule": "0-2/5",
        "origin": "your schedule",
        "policy": "residual reuse",
        "sigmas": (1.0, 0.8, 0.6, 0.4, 0.2, 0.0),
        "full_steps": (0, 1, 2),
        "cached_steps": (3, 4),
        "full_seconds": full,
        "cached_seconds": cached,
        "cache_bytes": 3 * 2**20,
        "notes": (),
    }
    return RunRecord(**(fields | changes))


def test_json_survives_a_round_trip():
    before = record(notes=("something happened",), policy_data={"kind": "Taylor", "order": 2})
    assert RunRecord.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_a_record_from_before_policies_were_kept_is_read():
    data = record().to_dict()
    del data["policy_data"]
    assert RunRecord.from_dict(data) == record()


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="not a run record of format 2"):
        RunRecord.from_dict({"format": 1})


def test_speedup_takes_the_median_full_call():
    # The first call loads: it must not count as the usual price. 1.4 + 2 · 0.2 over 1.5 s.
    assert record().speedup == pytest.approx(1.8 / 1.5)


@pytest.mark.parametrize("full", [(0.1, 0.2, 0.2), (0.3, 0.2, 0.25), (0.2, 0.2, 0.2)])
def test_no_speedup_is_above_the_ideal_however_uneven_full_calls_are(full):
    found = record(full, (1e-9, 1e-9))
    assert found.speedup <= found.ideal_speedup
    # 0.5 + 2 · 0.5 / 3 over 0.5 s: the mean, where it is below the median.
    assert record((0.1, 0.2, 0.2), (1e-9, 1e-9)).speedup == pytest.approx(5 / 3)


def test_a_sampler_of_two_calls_a_step_may_save_more_than_its_steps_say():
    # heun: one call at the last step, a full one. 3 of 9 calls are full; N / F is 5 / 2.
    found = record(
        (0.2,) * 3, (1e-9,) * 6, schedule="0,4/5", full_steps=(0, 4), cached_steps=(1, 2, 3)
    )
    assert found.ideal_speedup == pytest.approx(3)
    assert found.speedup <= found.ideal_speedup


@pytest.mark.parametrize(("full", "cached"), [((), ()), ((0.2,), ())])
def test_nothing_cached_means_no_speedup(full, cached):
    assert record(full, cached).speedup == 1


def test_summary_in_one_line():
    assert record(notes=("a reason",)).summary() == (
        "FLUX, stack residual: 3 of 5 steps full (1.40 s), 2 cached (0.10 s), "
        "policy residual reuse, about 1.20x faster than all steps in full, 3.0 MiB cache; a reason"
    )


def test_the_ideal_is_that_of_the_planned_schedule():
    assert record(full_steps=(0, 1, 2, 4), cached_steps=(3,)).ideal_speedup == pytest.approx(5 / 3)


def test_refused_steps_are_full_against_the_plan():
    assert record().refused_steps == ()
    assert record(full_steps=(0, 1, 2, 4), cached_steps=(3,)).refused_steps == (4,)
    assert record(full_steps=(0, 1, 2, 4), cached_steps=(3,)).to_dict()["refused_steps"] == (4,)
