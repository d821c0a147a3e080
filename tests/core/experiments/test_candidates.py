"""Who takes part in a shootout, with which schedule, and who is left out and why."""

from dataclasses import replace

import pytest

from gph_core.calibration.entry import Calibration
from gph_core.calibration.threshold import FoundThreshold
from gph_core.experiments.candidates import LineUp
from gph_core.methods.candidates import NAMES
from gph_core.methods.method import settings_of
from gph_core.methods.table import ALL
from gph_core.paths.golden_path import SEARCHED, GoldenPath
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor
from gph_core.policies.fitted import Fitted
from gph_core.run_plan import setting_of
from gph_core.schedule import Schedule

from ...support.toy_runner import ToySetup, levels

SETUP = ToySetup(levels(10))
OWN = Schedule.parse("0,3,9/10")
REUSE = Reuse()


def line_up(num_full=4, setup=SETUP, calibrations=None, policy=REUSE, paths=()):
    def identity(choice):
        return f"{choice.schedule} {choice.policy}"

    return LineUp(setup, num_full, calibrations or {}, policy, paths, identity)


def candidates(names, own=None, **options):
    """Candidates by name, and reasons against the others."""
    found, absent = line_up(**options).candidates(names, own or {})
    assert found[0].name == "full"
    return {candidate.name: candidate for candidate in found}, absent


def with_threshold(name, threshold=0.5, num_full=4):
    method = ALL[name]
    settings = settings_of(method, setting_of(SETUP.known(method.policy), num_full), method.policy)
    cached = SETUP.num_steps - num_full
    found = FoundThreshold(cached, threshold, 0.0, 1.0, (cached,), 1, "")
    return {name: Calibration(name, SETUP.conditions).with_threshold(settings, found)}


def path(schedule, policy=None, **changes):
    values = {
        "sigmas": tuple(SETUP.sigmas), "method": "searched", "model": "toy", "family": "Toy",
        "architecture": {"blocks": 2},
    } | changes  # fmt: skip
    return GoldenPath("mine", Schedule.parse(schedule), SEARCHED, policy or Reuse(), **values)


class Listed(ToySetup):
    """A setup whose architecture paths may state, and for which all weights hold."""

    def known(self, policy):
        run = super().known(policy)
        return replace(run, architecture={"blocks": 2}, holds=lambda policy: True)


LISTED = Listed(levels(10))


class Unguided(ToySetup):
    """A setup whose runs have no guidance."""

    def known(self, policy):
        return replace(super().known(policy), guidance=1.0)


def test_who_lacks_something_is_left_out_with_the_reason():
    found, absent = candidates(NAMES)
    assert set(found) == {"full", "golden path", "TaylorSeer", "HiCache", "uniform", "plain steps"}
    assert set(found) | set(absent) == {"full", *NAMES}
    for name in ("SeaCache", "TeaCache", "SenCache", "DiCache", "EasyCache", "MagCache"):
        assert "no threshold is known for 4 full steps; run Calibrate Ratio" in absent[name]
    assert "no path with weights for 4 of 10 full steps is known" in absent["fitted"]
    assert "needs products of outputs of this model (Toy); run Calibrate" in absent["L2P"]
    assert "needs costs of jumps" in absent["DPCache"]
    assert "needs costs of jumps" in absent["MeanCache"]
    assert "no schedule of 4 full steps for this model (Toy)" in absent["BudCache"]


def test_the_full_run_and_plain_steps_have_no_cache():
    found, _ = candidates(["plain steps"])
    assert [found[name].choice for name in ("full", "plain steps")] == [None, None]
    assert str(found["full"].schedule) == "0-9/10"
    assert str(found["plain steps"].schedule) == "0-3/4"


def test_uniform_spacing_is_even_and_the_published_rule_keeps_three_first_steps():
    found, _ = candidates(["uniform", "TaylorSeer"])
    assert str(found["uniform"].schedule) == "0,3,6,9/10"
    assert str(found["TaylorSeer"].schedule) == "0-2,9/10"
    assert found["TaylorSeer"].choice.policy == Taylor(1)
    # The policy needs three first steps.
    found, _ = candidates(["uniform"], policy=Hermite(2))
    assert str(found["uniform"].schedule) == "0-2,9/10"


def test_with_three_full_steps_published_rules_say_what_they_leave_out():
    found, absent = candidates(["uniform", "TaylorSeer", "HiCache"], num_full=3)
    assert str(found["uniform"].schedule) == "0,4,9/10"
    assert str(found["TaylorSeer"].schedule) == "0-1,9/10"
    assert found["TaylorSeer"].origin == (
        "uniform spacing; the published rule keeps three first steps and the last one full, 4 in "
        "all; with 3 some of these are cached"
    )
    assert absent == {
        "HiCache": "Hermite order 2, scale 0.5 needs 3 first full steps and the last one, not 3 in "
        "all; ask for 4 full steps or more"
    }


def test_a_threshold_holds_for_its_own_number_of_full_steps():
    found, absent = candidates(["SeaCache"], calibrations=with_threshold("SeaCache"))
    assert found["SeaCache"].choice.gate.threshold == 0.5
    assert str(found["SeaCache"].schedule) == "0,9/10"  # where the gate has no say
    _, absent = candidates(
        ["SeaCache", "uniform"], num_full=5, calibrations=with_threshold("SeaCache")
    )
    assert "no threshold for 5 cached steps" in absent["SeaCache"]


def test_the_golden_path_is_one_without_weights_and_fitted_one_with_them():
    newest = {1: 0, 3: 2, 5: 4, 6: 4, 7: 4, 8: 4}
    rows = tuple((step, ((full, 1.0),)) for step, full in newest.items())
    weights = Fitted("0,2,4,9/10", rows, SETUP.conditions)
    paths = (path("0,2,4,9/10", weights), path("0-1,4,9/10"))
    found, _ = candidates(["golden path", "fitted"], setup=LISTED, paths=paths)
    assert str(found["golden path"].schedule) == "0-1,4,9/10"
    assert found["golden path"].origin == "searched here: mine"
    assert found["golden path"].choice.policy == Reuse()
    assert str(found["fitted"].schedule) == "0,2,4,9/10"
    assert found["fitted"].choice.policy == weights


def test_without_a_path_the_golden_path_is_what_the_cache_takes_then():
    found, _ = candidates(["golden path"], paths=(path("0-1,4,9/10", family="Other"),))
    assert found["golden path"].origin == "spacing by noise level"
    assert found["golden path"].choice.policy == Reuse()
    setup, names = Unguided(levels(10)), ["golden path", "uniform"]
    found, _ = candidates(names, own={"mine": OWN}, policy=None, setup=setup)
    assert {name: str(way.choice.policy) for name, way in found.items() if way.choice} == {
        "golden path": "damped velocity", "uniform": "residual reuse", "mine": "residual reuse"
    }  # fmt: skip


def test_own_schedules_run_under_the_policy_and_the_same_name_has_another_identity():
    found, _ = candidates([], {"mine": OWN}, policy=Hermite(1))
    again, _ = candidates([], {"mine": OWN})
    assert found["mine"].choice.policy == Hermite(1)
    assert found["mine"].plan != again["mine"].plan == "0,3,9/10 residual reuse"


def test_a_policy_that_cannot_cache_here_leaves_its_methods_out():
    setup = replace(SETUP, refusals={Reuse(): "the blocks are hidden"})
    found, absent = candidates(["uniform", "TaylorSeer"], setup=setup)
    assert absent == {"uniform": "the blocks are hidden"}
    assert "TaylorSeer" in found


@pytest.mark.parametrize(
    ("names", "own", "options", "reason"),
    [
        ([], {}, {}, r"nothing can be compared \(no method is named\)"),
        (["L2P"], {}, {}, r"nothing can be compared \(L2P needs products of outputs"),
        (["uniform"], {}, {"num_full": 10}, "10 full steps do not fit: of 10 steps 2 to 9 can be"),
        (["uniform"], {"a": Schedule.parse("0,3/12")}, {}, "a: the schedule covers 12 steps"),
        (["uniform"], {"a": OWN}, {"policy": Hermite(2)}, "a: .* needs 3 full steps before the f"),
        (
            ["uniform"],
            {},
            {"calibrations": with_threshold("SeaCache"), "setup": replace(SETUP, name="Other")},
            "SeaCache was calibrated with the family Toy, this run has Other",
        ),
    ],
)
def test_what_cannot_be_compared_is_an_error(names, own, options, reason):
    with pytest.raises(ValueError, match=reason):
        candidates(names, own, **options)
