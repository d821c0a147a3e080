import json

import pytest
import torch

from gph_core.policies.as_json import policy_data, policy_from_json, policy_to_json
from gph_core.policies.base import Site
from gph_core.policies.causal_linear import CausalLinear
from gph_core.policies.extrapolation import Hermite, Reuse, Taylor, TokenTaylor
from gph_core.policies.fitted import Fitted
from gph_core.policies.mean_velocity import MeanVelocity
from gph_core.policies.reuse import OffsetReuse, RestReuse
from gph_core.policies.two_anchor import TwoAnchor
from gph_core.policies.weights import SECOND, Term

RICH = ((1, (Term(0, (1.5, -0.5)), Term(0, (0.25,), SECOND))), (2, (Term(0, (1.0,)),)))
PLAIN = [
    (Reuse(), {"kind": "Reuse"}),
    (Reuse(Site.GUIDED), {"kind": "Reuse", "site": "guided velocity"}),
    (Taylor(2, divided=True), {"kind": "Taylor", "order": 2, "divided": True}),
    (Taylor(1, site=Site.OUTPUT), {"kind": "Taylor", "site": "branch output"}),
    (Hermite(1, 0.25), {"kind": "Hermite", "order": 1, "scale": 0.25}),
    (TokenTaylor(max_distance=4), {"kind": "TokenTaylor", "max_distance": 4}),
    (TwoAnchor(), {"kind": "TwoAnchor"}),
    (TwoAnchor(2.0), {"kind": "TwoAnchor", "max_gamma": 2.0}),
    (OffsetReuse(), {"kind": "OffsetReuse"}),
    (RestReuse(), {"kind": "RestReuse"}),
    (MeanVelocity(3, ((4, 2),)), {"kind": "MeanVelocity", "span": 3, "spans": [[4, 2]]}),
    (
        Fitted("0/3", RICH, {"cfg": 3.5}),
        {"kind": "Fitted", "schedule": "0/3", "conditions": {"cfg": 3.5},
         "weights": [[1, [[0, [1.5, -0.5]], [0, 0.25, 1]]], [2, [[0, 1.0]]]]},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "data"), PLAIN, ids=lambda value: str(value)[:30])
def test_a_policy_is_its_kind_and_what_differs_from_the_default(policy, data):
    text = json.dumps(policy_to_json(policy))
    assert json.loads(text) == data
    assert policy_from_json(json.loads(text)) == policy


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "Magic"}, "'Magic' is no kind of policy; known are Reuse, Taylor"),
        ({}, "None is no kind of policy"),
        ({"kind": "Taylor", "degree": 2}, "Taylor has no option 'degree'; its options are: order"),
        ({"kind": "Taylor", "order": 5}, "order of the policy Taylor is 5; it can be 1 to 2"),
        ({"kind": "Taylor", "order": 10**9}, r"order .* is 1e\+09; it can be 1 to 2"),
        ({"kind": "Taylor", "max_amplification": 1e300}, "it can be 1 to 100"),
        ({"kind": "Taylor", "max_distance": 201}, "it can be 1 to 200"),
        ({"kind": "Taylor", "first_enhance": -1}, "it can be 0 to 100"),
        ({"kind": "Hermite", "scale": 0.01}, "it can be 0.05 to 1"),
        ({"kind": "MeanVelocity", "span": 7}, "it can be 1 to 6"),
        ({"kind": "MeanVelocity", "spans": [[4, 7]]}, "a span is 1 to 6 steps, got 7"),
        ({"kind": "TwoAnchor", "max_gamma": 0.5}, "it can be 1 to 2"),
        ({"kind": "Fitted", "examples": 10**7}, "it can be 0 to 1e"),
        ({"kind": "Fitted", "spare": 10**9}, "it can be 0 to 10000"),
        ({"kind": "Reuse", "site": "roof"}, "'roof' is not a valid Site"),
        ({"kind": ["Taylor"]}, "'Taylor'. is no kind of policy"),
        ({"kind": "Taylor", "order": 1.0}, "order of the policy Taylor must be a whole number"),
        ({"kind": "Taylor", "divided": 1}, "divided of the policy Taylor must be true or false"),
        ({"kind": "MeanVelocity", "span": True}, "must be a whole number"),
        ({"kind": "TwoAnchor", "max_gamma": 1e400}, "max_gamma .* must be a number"),
        ({"kind": "Fitted", "weights": [[1, 5]]}, "the weights of step 1 must be a list, at most"),
        ({"kind": "Fitted", "weights": [[10**9, [[0, 1.0]]]]}, "weights must be a list of pairs"),
        ({"kind": "MeanVelocity", "spans": [[1e400, 1]]}, "spans must be a list of pairs"),
        ({"kind": "MeanVelocity", "spans": [[1, 1.5]]}, "spans must be a whole number"),
        ({"kind": "MeanVelocity", "spans": 3}, "spans must be a list of pairs"),
        ({"kind": "MeanVelocity", "spans": [[1, 2, 3]]}, "spans must be a list of pairs"),
        ({"kind": "MeanVelocity", "spans": [[1, 2]] * 10_001}, "spans must be a list of pairs"),
        ({"kind": "Fitted", "conditions": 3}, "conditions of .* must be an object"),
    ],
)
def test_what_is_no_policy_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        policy_from_json(data)


@pytest.mark.parametrize(
    "terms",
    [
        [[0, 1e400]],
        [[0, "1"]],
        [[0, "12"]],  # a text has as many parts as channels
        [[0, True]],
        [[0, None]],
        [[0, {"0": 1.0}]],
        [[0, [1.0, "1"]]],
        [[0, [1.0, False]]],
        [[0, [1.0, 1e400]]],
        [[0, [1.0, [1.0]]]],
        [[0, [[1.0], [1.0]]]],
        [[0, [0.0] * 2000]],
        [[0, 1.0, 2]],
        [[0, 1.0, -1]],
        [[0, 1.0, 0]],
        [[0, 1.0, 1.0]],
        [[0, 1.0, True]],
        [[0, 1.0, "1"]],
        [[0, 1.0, None]],
        [[0, 1.0, 1, 1]],
        [[0]],
        [[True, 1.0]],
        [[0.0, 1.0]],
        [[10**9, 1.0]],
        [{"0": 1.0, "1": 1.0}],
        [[0, 1.0]] * 6,
        "terms",
        {"0": 1.0},
    ],
    ids=lambda terms: str(terms)[:40],
)
def test_what_are_no_weights_is_refused(terms):
    with pytest.raises(ValueError, match=r"the weights of step 9 must be a list, at most 5 long"):
        policy_from_json({"kind": "Fitted", "weights": [[9, terms]]})


def test_pairs_of_older_files_are_weights_of_the_guided_velocity_for_all_channels():
    data = {"kind": "Fitted", "schedule": "0-1/3", "weights": [[2, [[1, 1.5], [0, -1]]]]}
    policy = policy_from_json(data)
    assert policy.weights == ((2, (Term(1, (1.5,), 0), Term(0, (-1.0,), 0))),)
    assert policy_to_json(policy) == data | {"conditions": {}}


def test_weights_of_a_file_are_not_plain_data():
    with pytest.raises(ValueError, match="causal linear cannot be kept in a golden path"):
        policy_to_json(CausalLinear(torch.zeros(3, 3)))
    assert policy_data(CausalLinear(torch.zeros(3, 3))) is None


def test_as_data_a_policy_is_what_json_gives_back():
    policy = MeanVelocity(spans=((4, 2),))
    assert policy_data(policy) == {"kind": "MeanVelocity", "spans": [[4, 2]]}
