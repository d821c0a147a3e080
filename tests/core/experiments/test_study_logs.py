"""``experiments/study_logs``: each policy and each set of examples has a memory of its own."""

import hashlib
from dataclasses import replace

import pytest

from gph_core.experiments import study_logs
from gph_core.experiments.study_logs import SCORING, VALIDATION, StudyLogs
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.policies.fitted import Fitted
from gph_core.schedule import Schedule
from gph_core.search.selection import PlainSteps

SCHEDULE = Schedule.parse("0-1,4/6")


@pytest.fixture
def logs(tmp_path):
    return StudyLogs(
        tmp_path / "study", {"cfg": 1.0}, "3 of 6", [["a", 0]], [["b", 1]],
        lambda *values: hashlib.sha256(repr(values).encode()).hexdigest(),
    )  # fmt: skip


def keep(logs, part=SCORING, policy=None):
    log = logs.of(part, policy or Reuse())
    log.add(SCHEDULE, [0], [{"psnr": 20.0}], 3.0, 1.0)
    log.close()


def knows(logs, part=SCORING, policy=None):
    log = logs.of(part, policy or Reuse())
    found = log.metrics(SCHEDULE)
    log.close()
    return bool(found)


def test_what_is_kept_is_there_again_under_the_same_settings(logs):
    logs.check()
    keep(logs)
    replace(logs).check()
    assert knows(replace(logs))


def test_parts_and_policies_do_not_mix(logs):
    keep(logs)
    assert not knows(logs, VALIDATION)
    assert not knows(logs, policy=PlainSteps())
    keep(logs, policy=Hermite(2))
    # As text they begin alike, and a file's name has only the beginning.
    assert not knows(logs, policy=Hermite(2, scale=0.3))
    assert knows(logs, policy=Hermite(2))


def test_scores_under_weights_that_were_fitted_otherwise_do_not_count(logs, monkeypatch):
    keep(logs)
    keep(logs, policy=Fitted())
    monkeypatch.setattr(study_logs, "FIT", study_logs.FIT + 1)
    assert not knows(logs, policy=Fitted())
    assert knows(logs)


def test_numbers_of_full_steps_share_a_study_but_no_memory(logs):
    keep(logs)
    fewer = replace(logs, counts="2 of 6")
    fewer.check()
    assert not knows(fewer)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"conditions": {"cfg": 2.0}}, "was made with the cfg 1.0, this search has 2.0"),
        ({"scoring": [["a", 7]]}, "was made with the examples"),
    ],
    ids=["conditions", "examples"],
)
def test_other_settings_under_the_same_name_are_an_error_that_names_them(logs, change, reason):
    logs.check()
    keep(logs)
    other = replace(logs, **change)
    with pytest.raises(ValueError, match=reason):
        other.check()
    # Another policy does not make them fit, nor does the memory itself.
    keep(logs, policy=Hermite(2))
    for policy in (Reuse(), Hermite(2)):
        with pytest.raises(ValueError, match=reason):
            other.of(SCORING, policy)


def test_other_validation_examples_have_a_memory_of_their_own(logs):
    logs.check()
    keep(logs, VALIDATION)
    other = replace(logs, validation=[["b", 2]])
    other.check()
    assert not knows(other, VALIDATION)
    assert knows(logs, VALIDATION)
