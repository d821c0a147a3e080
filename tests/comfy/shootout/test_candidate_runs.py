"""The identity of a candidate's choice distinguishes all that it does."""

from golden_path_pack.gph_core.gates.accumulating import SeaCache
from golden_path_pack.gph_core.paths.conditions import Choice
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.shootout.candidate_runs import identity


def weighted(weight):
    return Fitted("0,2/4", ((1, ((0, weight),)), (3, ((2, 1.0),))))


def choice(steps="0,2/4", policy=None, threshold=0.5, origin="mine"):
    gate = SeaCache(threshold)
    return Choice(Schedule.parse(steps), origin, policy or Reuse(), gate)


def test_another_schedule_policy_threshold_or_weight_is_another_candidate():
    others = [
        choice(), choice("0,3/4"), choice(policy=Taylor(1)), choice(threshold=0.5000001),
        choice(policy=weighted(1.0)), choice(policy=weighted(0.5)),
    ]  # fmt: skip
    assert len({identity(one) for one in others}) == len(others)


def test_the_same_under_another_name_is_the_same():
    assert identity(choice(origin="mine")) == identity(choice(origin="yours"))
    assert identity(choice(policy=weighted(1.0))) == identity(choice(policy=weighted(1.0)))
