"""Runs that an analysis keeps are of one policy."""

import json

import pytest
from golden_path_pack.gph_core.policies.extrapolation import Taylor
from golden_path_pack.nodes.analyze.error_decomposition import ErrorDecomposition

from ...support.comfy.isolations import inputs

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_a_decomposition_under_another_policy_is_computed_anew(model):
    def gaps(policy, name):
        given = inputs(model, 1, 8) | {"schedule": "0-2,5,7/8", "policy": policy, "name": name}
        report = json.loads(ErrorDecomposition.execute(**given).result[1])
        return report["schedules"]["0-2,5,7/8"]["runs"][0]["gaps"]

    reuse, taylor = gaps(None, "mine"), gaps(Taylor(1), "mine")
    assert taylor == gaps(Taylor(1), "other")
    assert taylor != reuse
