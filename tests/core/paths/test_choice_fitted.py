"""``paths/choice``: when a run takes a path with fitted weights."""

from dataclasses import replace

import pytest

from gph_core.paths.choice import choose
from gph_core.paths.conditions import Conditions
from gph_core.paths.golden_path import DRAWN, SEARCHED, GoldenPath
from gph_core.policies.extrapolation import Hermite, Reuse
from gph_core.policies.fitted import NEEDED, Fitted
from gph_core.schedule import Schedule

LEVELS = (1.0, 0.75, 0.5, 0.25, 0.0)
WEIGHTS = ((1, ((0, 1.0),)), (3, ((2, 1.5), (0, -0.5))))
CONDITIONS = dict.fromkeys(NEEDED) | {"model": "abc"}
OWN = GoldenPath(
    "own", Schedule.parse("0,2/4"), SEARCHED, Fitted("0,2/4", WEIGHTS, CONDITIONS),
    model="A", family="FLUX", architecture={"depth": 19}, sigmas=LEVELS,
)  # fmt: skip


def of_model(policy):
    """What holds for the model with the fingerprint abc."""
    return policy.conditions.get("model", "abc") == "abc"


def chosen(path, policy=None, family="FLUX", sigmas=LEVELS, num_full=2, holds=of_model):
    run = Conditions(family, {"depth": 19}, sigmas, policy or Reuse(), holds)
    return choose(run, num_full, [path])


def test_it_is_taken_with_its_weights_where_its_conditions_hold():
    choice = chosen(OWN)
    assert (choice.schedule, choice.policy) == (OWN.schedule, OWN.policy)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": Hermite(1)},
        {"sigmas": (1.0, 0.7, 0.5, 0.25, 0.0)},
        {"num_full": 3},
        {"holds": lambda policy: not policy.conditions},
    ],
)
def test_it_is_not_taken_by_another_run(changes):
    assert not isinstance(chosen(OWN, **changes).policy, Fitted)


@pytest.mark.parametrize("changes", [{"origin": DRAWN}, {"method": "control"}])
def test_a_path_that_no_search_found_is_not_taken_by_itself(changes):
    assert not isinstance(chosen(replace(OWN, **changes)).policy, Fitted)


@pytest.mark.parametrize("name", NEEDED)
def test_a_path_whose_weights_do_not_say_what_they_are_for_is_not_taken_by_itself(name):
    stated = {n: value for n, value in CONDITIONS.items() if n != name}
    path = replace(OWN, policy=replace(OWN.policy, conditions=stated))
    assert not isinstance(chosen(path).policy, Fitted)
    assert f"no speed takes it: its weights do not say for which {name} they are" in path.card
