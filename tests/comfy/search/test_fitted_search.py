"""Schedule Search with weights that are fitted to every schedule, and the speed that takes them.

How it thinks is tested in ``tests/core/experiments``, on a toy.
"""

import functools
import json
import math
import re

import comfy.sample
import comfy.samplers
import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.experiments.examples import UnderFits
from golden_path_pack.gph_core.fitting.closed_loop import fit
from golden_path_pack.gph_core.paths.spacings import even
from golden_path_pack.gph_core.policies.as_json import policy_from_json, policy_to_json
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.gph_core.policies.weights import GUIDED, SECOND
from golden_path_pack.gph_core.quality.objective import DEFAULT
from golden_path_pack.gph_core.run.record import RunRecord
from golden_path_pack.gph_core.run_plan import by_speed, fixed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search.selection import PlainSteps
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.assessing import Assessor
from golden_path_pack.nodes.sample.runner import LocalRunner
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.search.schedule_search import AUTOMATIC, FITTED

import nodes

from ...support.comfy import tiny
from ...support.comfy.demo_examples import examples
from ...support.comfy.demo_search import least, once, small
from ...support.selection import later
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run", "user")
STEPS = 8
SCHEDULE = Schedule.parse("0-1,4,6/8")


def fitted(**changes):
    """Automatic, as the node is by default: weights where the sampler allows them."""
    given = {"policies": AUTOMATIC, "num_steps": STEPS, "speed": "Fast", "evaluations": 2}
    return small(**given | changes).result


searched = once(fitted)


def under_fits(folder, sampler="euler", batch=1):
    """Two examples in this process, without a search around them."""
    model = comfy_model.load_model()
    if isinstance(sampler, str):
        sampler = comfy.samplers.sampler_object(sampler)
    work = Workload(
        guider_for(model, None, 5.0, examples()[0]), examples()[:2],
        {"samples": torch.zeros(1, 48, 8, 8)}, sampler, zoo.sigmas(model, STEPS),
    )  # fmt: skip
    runner = LocalRunner(work, Assessor(None, {}), batch)
    found = UnderFits(runner, runner.steps(), {}, folder)
    found.begin()
    return found


def kinds(policy):
    """Whose velocity each term is of, and for how many channels."""
    return {(term.stream, len(term.weights)) for _, terms in policy.weights for term in terms}


def sampled(plan, cfg=5.0, sampler="euler", number=0):
    """Latent and record of an example of the demo model, under a plan or in full."""
    model, listener = comfy_model.load_model(), tiny.Listener()
    patched = patching.attach(model, plan, listener) if plan else model
    example = examples()[number]
    guider = guider_for(model, None, cfg, example)
    guider.model_patcher = patched
    guider.model_options = patched.model_options
    noise = comfy.sample.prepare_noise(torch.zeros(1, 48, 8, 8), example.seed)
    if isinstance(sampler, str):
        sampler = comfy.samplers.sampler_object(sampler)
    latent = guider.sample(
        noise, torch.zeros_like(noise), sampler, zoo.sigmas(model, STEPS), disable_pbar=True,
        seed=example.seed,
    )  # fmt: skip
    return latent, listener.records[0] if plan else None


def test_a_fitted_path_is_delivered_and_kept_with_its_weights():
    schedule, policy, _, table = searched()
    assert isinstance(policy, Fitted)  # automatic fits them for this sampler
    assert policy.schedule == schedule
    assert {step for step, _ in policy.weights} == set(Schedule.parse(schedule).cached_steps)
    assert "fitted" in table
    (path,) = user_paths.read()
    assert (str(path.schedule), path.policy) == (schedule, policy)
    assert policy_from_json(policy_to_json(policy)) == policy


def test_the_speed_takes_the_fitted_path_and_comes_as_close_as_it_promises():
    schedule = searched()[0]
    full, _ = sampled(None, number=2)  # which validates
    latent, record = sampled(by_speed("Fast", Reuse(), user_paths.every), number=2)
    assert re.fullmatch(
        r"demo, 4 of 8, fitted here on 2 examples, PSNR (\d\d\.\d) dB on 1 others, "
        r"worst tenth \1, hardly visible \d+ %",
        record.origin,
    )
    assert (record.policy, record.schedule) == ("fitted", schedule)
    assert len(record.full_steps) == 4
    assert record.notes == ()
    images = [
        (255 * comfy_model.DemoVAE().decode(x).double()).round().flatten() for x in (latent, full)
    ]
    error = float((images[0] - images[1]).square().mean())
    (path,) = user_paths.read()
    psnr = path.quality["PSNR, mean of 1 validation examples"]
    assert psnr == pytest.approx(10 * math.log10(255**2 / error), abs=0.01)
    assert psnr > path.quality["the same, uniform spacing, residual reuse"] + 1
    assert path.conditions["objective"] == DEFAULT


def test_the_report_that_a_picture_keeps_has_the_weights():
    _, policy, *_ = searched()
    _, record = sampled(by_speed("Fast", Reuse(), user_paths.every))
    kept = RunRecord.from_dict(json.loads(json.dumps(record.to_dict())))
    assert policy_from_json(kept.policy_data) == policy


def test_the_table_compares_with_uniform_reuse_and_with_as_many_plain_steps():
    table = searched()[3].splitlines()
    assert table[1] == "4 of 8 steps full: 4 evaluations of the model, as long as 4 plain steps"
    assert "fitted: each cached step has its own weights, fitted to all 2 scoring examples" in table
    rows = [line for line in table if line.endswith(")")]
    assert any(line.endswith("residual reuse (uniform spacing)") for line in rows)
    assert any(line.endswith("0,2,4,6/8, plain steps (4 plain steps)") for line in rows)
    (path,) = user_paths.read()
    assert {"the same, 4 plain steps", "the same, uniform spacing, residual reuse"} <= {
        *path.quality
    }


def test_plain_euler_steps_are_velocity_reuse():
    model, example = comfy_model.load_model(), examples()[0]
    work = Workload(
        guider_for(model, None, 5.0, example), [example], {"samples": torch.zeros(1, 48, 8, 8)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, STEPS),
    )  # fmt: skip
    of_latents = LocalRunner(work, Assessor(None, {}))
    measured = [
        of_latents.measure(even(STEPS, 4), policy, [0])
        for policy in (PlainSteps(), Reuse(Site.GUIDED))
    ]
    plain, reuse = (found.metrics[0]["latent_mse"] for found in measured)
    assert plain == pytest.approx(reuse, rel=1e-4)
    assert [found.full_steps for found in measured] == [4, 4]


def test_at_another_cfg_the_speed_takes_another_path():
    searched()
    _, record = sampled(by_speed("Fast", Reuse(), user_paths.every), cfg=3.0)
    assert record.policy == "residual reuse"
    assert "demo, 4 of 8" not in record.origin


def test_with_a_sampler_that_needs_both_prompts_the_speed_takes_another_path():
    searched()
    _, record = sampled(by_speed("Fast", Reuse(), user_paths.every), sampler="euler_cfg_pp")
    assert record.policy == "residual reuse"
    assert record.cached_steps


def test_the_same_path_as_a_schedule_of_the_users_is_refused_at_another_cfg():
    schedule, policy, *_ = searched()
    with pytest.raises(ValueError, match="cfg"):
        sampled(fixed(Schedule.parse(schedule), policy), cfg=3.0)


def test_weights_of_one_sampler_are_not_used_with_another():
    schedule, policy, *_ = searched()
    _, record = sampled(by_speed("Fast", Reuse(), user_paths.every), sampler="dpmpp_2m")
    assert record.policy == "residual reuse"
    assert "demo, 4 of 8" not in record.origin
    with pytest.raises(ValueError, match="the sampler euler, this run has dpmpp_2m"):
        sampled(fixed(Schedule.parse(schedule), policy), sampler="dpmpp_2m")


def test_weights_without_noise_are_not_used_with_noise():
    schedule, policy, *_ = searched()
    churn = comfy.samplers.ksampler("euler", {"s_churn": 5.0})
    _, record = sampled(by_speed("Fast", Reuse(), user_paths.every), sampler=churn)
    assert record.policy == "residual reuse"
    with pytest.raises(ValueError, match="the sampler options of that time, this run has another"):
        sampled(fixed(Schedule.parse(schedule), policy), sampler=churn)


@pytest.mark.parametrize("name", ["uni_pc", *later("dpmpp_2m", "res_multistep", "deis")])
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")  # ComfyUI's deis
def test_a_run_under_the_weights_ends_where_the_fit_did(tmp_path, name):
    found = under_fits(tmp_path, name)
    end = fit(SCHEDULE, found.steps, found._at, found._velocities)
    assert kinds(end.policy) >= {(GUIDED, 48), (SECOND, 48)}  # of both prompts, by channel
    latent, _ = sampled(fixed(SCHEDULE, end.policy), sampler=name)
    # What ComfyUI makes of the last state: it divides by 1 - σ, which uni_pc leaves at 0.001.
    scale = 1 - 0.001 * (name == "uni_pc")
    torch.testing.assert_close(end.ends[0] / scale, latent, rtol=1e-3, atol=1e-3)


def test_batches_change_nothing_but_rounding(tmp_path):
    alone, together = (under_fits(tmp_path, batch=n).policy_for(SCHEDULE) for n in (1, 2))
    assert kinds(alone) == kinds(together) >= {(GUIDED, 48), (SECOND, 48)}
    for (step, one), (other_step, other) in zip(alone.weights, together.weights, strict=True):
        assert step == other_step
        for term, again in zip(one, other, strict=True):
            assert (term.step, term.stream) == (again.step, again.stream)
            assert term.weights == pytest.approx(again.weights, rel=1e-3, abs=1e-3)


def test_the_full_runs_are_sampled_once(tmp_path, monkeypatch):
    runs = []
    plain = comfy.samplers.sampler_object("euler")
    function = plain.sampler_function

    @functools.wraps(function)
    def counted(model, x, sigmas, **options):
        runs.append(len(sigmas) - 1)
        return function(model, x, sigmas, **options)

    monkeypatch.setattr(plain, "sampler_function", counted)
    found = under_fits(tmp_path, plain)
    found.measure(SCHEDULE, [0, 1])
    found.policy_for(SCHEDULE)
    assert runs == [STEPS] * 2  # one an example: the rest are Euler steps of the fit


def test_a_sampler_with_noise_is_refused_before_anything_is_sampled(monkeypatch):
    sampler = comfy.samplers.sampler_object("euler_ancestral")
    monkeypatch.setattr(Sampling, "full", None)
    with pytest.raises(ValueError, match="can be searched: weights cannot be fitted for the sam"):
        fitted(policies=FITTED, sampler=sampler)


def test_automatic_takes_residual_reuse_for_another_sampler_and_says_so():
    # It draws noise at every step: no weights are ever fitted for it.
    sampler = comfy.samplers.sampler_object("euler_ancestral")
    _, policy, _, table = least(policies=AUTOMATIC, sampler=sampler).result
    assert policy == Reuse()
    assert "fitted was left out: " in table
    assert "euler_ancestral" in table


def test_a_path_states_the_size_that_the_model_samples_whatever_the_empty_latent_holds():
    (empty,) = nodes.EmptyLatentImage().generate(64, 64, 1)
    assert empty["samples"].shape == (1, 4, 8, 8)
    size = {"policies": FITTED, "num_steps": STEPS, "full_steps": 4}
    least(latent=empty, **size)
    (path,) = user_paths.read()
    assert path.conditions["latent"] == path.policy.conditions["latent"] == [48, 8, 8]
    _, record = sampled(fixed(path.schedule, path.policy))
    assert (record.policy, record.notes) == ("fitted", ())
    least(**size)  # a latent of the model's own channels, sampled the same, goes on with the study
