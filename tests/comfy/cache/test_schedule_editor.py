"""The Schedule Editor without a page: the node, and what the page asks the server."""

import asyncio
import json

import pytest
import torch
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from golden_path_pack.gph_core.analysis.step_sensitivity import StepSensitivity
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.nodes.cache.schedule_editor import ScheduleEditor
from golden_path_pack.nodes.page import routes


def test_the_node_hands_on_schedule_text_and_counts():
    output = ScheduleEditor.execute(" 00 1 1 0 ")
    assert output.result == ("0-1,4/5", "0-1,4/5", 5, 2)


def test_connected_noise_levels_reach_the_page_as_a_list():
    assert ScheduleEditor.execute("0/2").ui["gph_sigmas"] == []
    output = ScheduleEditor.execute("0/2", torch.tensor([1.0, 0.5, 0.0]))
    assert output.ui["gph_sigmas"] == [[1.0, 0.5, 0.0]]


def test_a_connected_sensitivity_curve_reaches_the_page_as_a_list():
    assert ScheduleEditor.execute("0/3").ui["gph_sensitivity"] == []
    gains = (None, 2.0, 0.5)  # the first step is never cached
    curve = StepSensitivity((1.0, 0.5, 0.2, 0.0), Reuse(), 2, gains, gains, ((), (), ()), {})
    output = ScheduleEditor.execute("0/3", sensitivity=curve)
    assert output.ui["gph_sensitivity"] == [[None, 2.0, 0.5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-2", "'0-2' has no step count"),
        ("1/3", "step 0 is cached"),
        ("0/201", "the editor takes at most 200 steps, this schedule has 201"),
    ],
)
def test_a_wrong_text_is_refused_before_anything_runs(text, message):
    assert ScheduleEditor.validate_inputs(text).startswith(message)


def test_a_right_text_is_accepted():
    assert ScheduleEditor.validate_inputs("0/200") is True


def test_uniform_spacing_is_that_of_the_speeds():
    # Forced 0, 1, 2 and 11; two more at 2 + floor(i * 9 / 3) for i = 1, 2.
    assert routes.uniform_text(12, 6) == {"schedule": "0,2,4,6,8,11/12"}


def test_a_policy_says_when_a_schedule_has_too_few_anchors():
    late = routes.check("0-1,4/6", {"policy": "two-anchor (DiCache)"})
    early = routes.check("0,2,4/6", {"policy": "two-anchor (DiCache)"})
    assert late == {"error": None}
    assert "needs 2 full steps before the first cached step; step 1 is cached" in early["error"]


def test_a_policy_that_cannot_be_made_says_why():
    answer = routes.check("0/2", {"policy": "causal linear (L2P)", "weights": "none.safetensors"})
    assert "there is no file 'none.safetensors'" in answer["error"]


def test_inputs_that_the_page_has_beside_the_policy_are_ignored():
    answer = routes.check("0/2", {"policy": "residual reuse", "of another extension": 1})
    assert answer == {"error": None}


def test_nominal_levels_fall_from_one_to_zero_in_as_many_steps():
    levels = routes.nominal_sigmas("simple", 4)["sigmas"]
    # A flow model without shift: the levels of "simple" are evenly spaced.
    torch.testing.assert_close(levels, [1.0, 0.75, 0.5, 0.25, 0.0])


def test_an_unknown_scheduler_is_refused_with_the_list():
    with pytest.raises(ValueError, match="'x' is not a scheduler; choose one of simple"):
        routes.nominal_sigmas("x", 4)


def test_another_extensions_scheduler_that_fails_is_named(monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("a fault of its own")

    monkeypatch.setattr("comfy.samplers.calculate_sigmas", fails)
    with pytest.raises(ValueError, match="scheduler simple fails for 4 steps: a fault"):
        routes.nominal_sigmas("simple", 4)


@pytest.fixture
def ask():
    """Ask the routes of a server that has nothing else."""
    table = web.RouteTableDef()
    routes.register(table)

    def call(method, path, **options):
        async def main():
            app = web.Application()
            app.add_routes(table)
            async with (
                TestClient(TestServer(app)) as client,
                client.request(method, path, **options) as response,
            ):
                return response.status, json.loads(await response.text())

        return asyncio.run(main())

    return call


def test_the_routes_answer_with_json(ask):
    found = ask("POST", "/golden_path/uniform", json={"steps": 4, "full": 1})
    assert found == (200, {"schedule": "0/4"})
    found = ask("GET", "/golden_path/sigmas?scheduler=simple&steps=1")
    assert found == (200, {"sigmas": [1.0, 0.0]})
    body = {"schedule": "0/1", "policy": {"policy": "Taylor"}}
    assert ask("POST", "/golden_path/check", json=body) == (200, {"error": None})
