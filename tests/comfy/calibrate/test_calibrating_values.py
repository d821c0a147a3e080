"""Calibrations in the real sampler, against the same numbers from hooks and plain formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from golden_path_pack.gph_core.calibration.table import RECIPES
from golden_path_pack.gph_core.gates.coefficients import SignalKind
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.calibrate import budcache
from golden_path_pack.nodes.sample.workload import guider_for

from ...support.comfy.calibrating_runs import CFG, EXAMPLES, STEPS, calibrate_all, workload
from ...support.comfy.recorded_runs import array, change, quantile, recorded
from ...support.selection import later

pytestmark = pytest.mark.usefixtures("inference")


class Case:
    """One model: what was calibrated, and what full runs of the examples showed."""

    def __init__(self, name):
        self.is_wan = name.startswith("Wan")
        work = workload(name)
        self.model, self.work = work.guider.model_patcher.model, work
        self.done = calibrate_all(work, RECIPES)
        with recorded(work.guider.model_patcher, self.is_wan) as (clone, self.runs):
            again = replace(work, guider=guider_for(clone, None, CFG, work.examples[0]))
            for number in range(EXAMPLES):
                again.sampling(number).full()

    def values(self, method):
        return self.done.entries[method].values

    def report(self, method):
        return self.done.entries[method].report


@pytest.fixture(scope="module", params=["FLUX dev", "Wan 2.1 1.3B"])
def case(request):
    with torch.inference_mode():
        return Case(request.param)


def pairs(case, run):
    """Changes of signal and output between steps that follow each other, ``[branches, N - 1]``."""
    x, y = [], []
    for branch in range(2):
        signals = run.signal if case.is_wan else [s[branch] for s in run.signal]
        outputs = [v[branch] for v in run.velocity]
        x.append([change(*both) for both in zip(signals[1:], signals, strict=False)])
        y.append([change(*both) for both in zip(outputs[1:], outputs, strict=False)])
    return np.array(x), np.array(y)


def test_all_of_them_are_calibrated_on_the_same_runs(case):
    assert case.done.left_out == {}
    assert set(case.done.entries) == set(RECIPES)


def test_the_polynomial_is_the_least_squares_one_of_the_first_examples(case):
    found = case.values("TeaCache")
    x, y = (np.array(values) for values in zip(*(pairs(case, r) for r in case.runs), strict=True))
    fit, check = (slice(0, 2), slice(2, 3))
    if case.is_wan:  # one point a step
        x, y = (np.stack([v[part].mean((0, 1)) for part in (fit, check)]) for v in (x, y))
        fit, check = slice(0, 1), slice(1, 2)
        assert found["signal"] == SignalKind.TIME_PROJECTION.value
    else:
        assert found["signal"] == SignalKind.MODULATED.value
    assert found["x_range"] == pytest.approx([x[fit].min(), x[fit].max()], rel=1e-3)
    expected = np.polyfit(x[fit].ravel(), y[fit].ravel(), 4)
    places = x[fit].ravel()
    np.testing.assert_allclose(
        np.polyval(found["coefficients"].numpy(), places), np.polyval(expected, places), rtol=5e-3
    )
    error = np.abs(np.polyval(expected, x[check].ravel()) - y[check].ravel()).mean()
    if case.is_wan:
        assert case.report("TeaCache")["mae"] == pytest.approx(error, rel=0.05)
    polynomial = ALL["TeaCache"].read(found)
    assert polynomial.signal.value == found["signal"]


def test_sensitivities_are_those_of_two_more_calls_a_step(case):
    jx, jt = [], []
    for run in case.runs:
        rows = []
        for i in range(STEPS):
            r = i + 1 if i + 1 < STEPS else i - 1
            z, moved, t, there = run.latents[i], run.latents[r], run.sigmas[i], run.sigmas[r]
            velocity = run.velocity[i][run.positive]
            by_latent = run.at(case.model, moved, i, t) - velocity
            by_time = run.at(case.model, z, i, there) - velocity
            rows.append(
                (
                    by_latent.norm().item() / (moved - z).norm().item(),
                    by_time.norm().item() / abs(there - t) / math.sqrt(z.numel()),
                )
            )
        jx.append([row[0] for row in rows])
        jt.append([row[1] for row in rows])
    found = case.values("SenCache")
    np.testing.assert_allclose(found["sigmas"], case.runs[0].sigmas, rtol=1e-6)
    np.testing.assert_allclose(found["jx"], quantile(jx, 0.9), rtol=1e-3)
    np.testing.assert_allclose(found["jt"], quantile(jt, 0.9), rtol=1e-3)


def test_ratios_are_those_of_the_positive_prompts_residuals(case):
    tables = []
    for run in case.runs:
        residuals = [
            (after - before)[run.positive].norm(dim=-1)
            for before, after in zip(run.before, run.after, strict=True)
        ]
        rest = zip(residuals[1:], residuals, strict=False)
        tables.append([1.0, *((new / old).mean().item() for new, old in rest)])
    np.testing.assert_allclose(case.values("MagCache")["0"], np.mean(tables, 0), rtol=1e-4)


def test_products_are_those_of_the_outputs_of_both_prompts(case):
    grams = []
    for run in case.runs:
        rows = [array(torch.stack([v[b] for v in run.velocity]).flatten(1)) for b in range(2)]
        grams.append(sum(row @ row.T for row in rows))
    np.testing.assert_allclose(case.values("L2P")["gram"], grams[0] + grams[1], rtol=1e-4)
    error = case.report("L2P")["error_held_out"]
    assert case.report("L2P")["error_fit"] <= error < 1  # weights of nothing would have 1


def test_costs_of_jumps_are_errors_of_predicted_tokens(case):
    found = case.values("DPCache")["costs"]
    # Longer jumps than 0.3 of the run too: with few full steps there are no others.
    for a, s, d in ((1, 2, 3), (1, 2, 4), (2, 4, 6), (4, 5, 7), (3, 5, 6), (1, 2, 7)):
        total = []
        for run in case.runs:
            x = [array(after[run.positive]) for after in run.after]
            slope = (x[s] - x[a]) / (s - a)
            bend = (slope - (x[a] - x[a - 1])) / (s - a)
            predicted = {
                step: x[s] + slope * (step - s) + bend * (step - s) ** 2 / 2
                for step in range(s + 1, d + 1)
            }
            total.append(sum(np.abs(p - x[step]).mean() / 2 for step, p in predicted.items()))
        assert found[a, s, d].item() == pytest.approx(np.mean(total), rel=1e-3), (a, s, d)
    assert found[0, 0, 2] == math.inf  # the first steps are always full


def test_costs_of_edges_are_errors_of_mean_velocities_to_the_very_last_state(case):
    found = case.values("MeanCache")["costs"]
    for span, s, d in ((2, 2, 4), (3, 4, 7), (2, 5, 8), (5, 6, 8)):
        costs = []
        for run in case.runs:
            z, v = [array(x) for x in run.latents], [array(x) for x in run.guided]
            sigma = [*run.sigmas, 0.0]
            z.append(z[-1] + (sigma[-1] - sigma[-2]) * v[-1])
            r = s - span
            slope = ((z[s] - z[r]) / (sigma[s] - sigma[r]) - v[r]) / (sigma[s] - sigma[r])
            ahead = sigma[d] - sigma[s]
            costs.append(np.abs((z[d] - z[s]) / ahead - v[s] - ahead * slope).mean())
        assert found[span - 2, s, d].item() == pytest.approx(np.mean(costs), rel=1e-3)


@pytest.mark.parametrize("name", ["FLUX dev", *later("Wan 2.1 1.3B")])
def test_prompts_in_two_calls_are_calibrated_as_in_one(name, monkeypatch):
    work = workload(name, count=2)
    together = calibrate_all(work, RECIPES).entries
    # ComfyUI asks how much both prompts need at once.
    base_model = work.guider.model_patcher.model
    monkeypatch.setattr(base_model, "memory_required", lambda *_, **__: 2**60)
    sizes = []
    apply_model = base_model._apply_model
    monkeypatch.setattr(
        base_model,
        "_apply_model",
        lambda x, *args, **kw: sizes.append(len(x)) or apply_model(x, *args, **kw),
    )
    apart = calibrate_all(work, RECIPES).entries
    assert set(sizes) == {1}
    for method, entry in together.items():
        for example, sample in entry.samples.items():
            for key, tensor in sample.items():
                other = apart[method].samples[example][key]
                if method == "TeaCache":  # ComfyUI calls the negative prompt first
                    other = other.flip(0)
                torch.testing.assert_close(tensor, other, rtol=2e-3, atol=1e-6)


def test_sound_and_video_are_calibrated_together():
    done = calibrate_all(workload("LTX-2", count=2, steps=6), RECIPES)
    assert set(done.entries) == set(RECIPES) - {"TeaCache"}


def test_budcache_finds_the_best_of_all_schedules_of_a_small_space_on_two_examples():
    work = workload("FLUX dev", steps=7)
    # 0, 1, 2 and 6 are full, one of 3, 4, 5 is.
    errors = {}
    for step in (3, 4, 5):
        schedule = Schedule((0, 1, 2, step, 6), 7)
        errors[str(schedule)] = np.mean(
            [
                (s.cached(schedule, Reuse())[0] - s.full()).square().mean().item()
                for s in map(work.sampling, range(2))
            ]
        )
    found = budcache.search(work, 5)
    assert found.values == {"5": min(errors, key=errors.get)}
    assert found.report["5"]["latent_mse"] == pytest.approx(min(errors.values()), rel=1e-4)
