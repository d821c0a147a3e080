"""Schedule Search on models of every kind, from a budget to a path in the library.

How it thinks is tested in ``tests/core/experiments``, on a toy.
"""

import inspect
import re
from dataclasses import replace
from types import SimpleNamespace

import comfy.ldm.flux.model
import comfy.model_management
import comfy.samplers
import pytest
import torch
from comfy_extras.nodes_model_advanced import ModelSamplingSD3, RescaleCFG
from golden_path_pack.demo import comfy_model
from golden_path_pack.gph_core.experiments import search
from golden_path_pack.gph_core.paths import speeds
from golden_path_pack.gph_core.paths.conditions import Conditions
from golden_path_pack.gph_core.paths.golden_path import DRAWN, SEARCHED, GoldenPath
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse
from golden_path_pack.gph_core.quality.objective import DEFAULT, FOR_SEARCHES, JOINT
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.gph_core.search import study
from golden_path_pack.nodes.hook import compatibility
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample import lpips_weights
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.sample.workload import Workload, guider_for
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import REUSE, SEVERAL, ScheduleSearch
from golden_path_pack.nodes.search.search_inputs import FIRST_ONLY

from ...support.comfy.demo_examples import examples
from ...support.comfy.demo_search import demo, least, runs, small  # noqa: F401
from ...support.selection import later
from ...support.zoo import zoo, zoo_images, zoo_videos

pytestmark = pytest.mark.usefixtures("in_a_run")

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
KINDS = ["LTX-2", *later("FLUX dev", "Wan 2.1 14B")]  # video with sound; an image, a video


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_latent_is_searched_without_a_vae(name):
    case = CASES[name]
    model = zoo.build(case)
    examples = tuple(
        Example("", case.conditioning(n, 5), case.conditioning(9, 5), seed=n) for n in range(2)
    )
    schedule, policy, figure, table = ScheduleSearch.execute(
        model, examples, {"samples": zoo.empty_latent(case)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, 6), case.cfg, COUNT, 3, 1000.0,
        name, objective="latent MSE", evaluations=2, algorithm="hill climbing", policies=REUSE,
    ).result  # fmt: skip
    assert Schedule.parse(schedule).num_full == 3
    assert policy == Reuse()
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert "not validated" in table


def test_one_scoring_example_is_warned_of_two_are_not(user, caplog):
    for count in (1, 2):
        caplog.clear()
        table = least(examples=examples()[:count], study=str(count)).result[3]
        warned = "there is only one scoring example: the path that suits it best may not suit"
        assert (warned in table) is (warned in caplog.text) is (count == 1)


def test_every_objective_is_offered_and_one_that_people_can_see_is_the_default():
    inputs = ScheduleSearch.define_schema().inputs
    (offered,) = [slot for slot in inputs if slot.id == "objective"]
    assert set(offered.options) == {*FOR_SEARCHES, JOINT}
    executed = inspect.signature(ScheduleSearch.execute).parameters["objective"].default
    assert offered.default == executed == DEFAULT


def test_what_is_found_is_kept_with_its_conditions_and_a_speed_takes_it(monkeypatch):
    # A speed takes what is better than every control: here there is none.
    monkeypatch.setattr(search.SearchSession, "baselines", lambda *_: {})
    found = small(num_steps=8, speed="Fast", objective="latent MSE")  # 4 of 8
    schedule, policy, _, table = found.result
    (path,) = user_paths.read()
    model = comfy_model.load_model()
    levels = zoo.sigmas(model, 8)
    assert path.name == "demo, 4 of 8"
    assert (str(path.schedule), path.policy) == (schedule, policy)
    assert path.sigmas == tuple(levels.tolist())
    assert path.conditions["sampler"] == "euler"
    assert schedule in table

    family, _ = compatibility.identify(model)
    run = Conditions(family.name, model.model.model_config.unet_config, levels.tolist(), Reuse())
    choice = speeds.resolve("Fast", run, user_paths.read())
    assert (str(choice.schedule), choice.origin) == (schedule, "searched here: demo, 4 of 8")

    # A run under it is as far from the full run as the path promises.
    (example,) = examples()[2:]
    latent = {"samples": torch.zeros(1, 48, 8, 8)}
    sampling = Workload(
        guider_for(model, None, 5.0, example), [example], latent,
        comfy.samplers.sampler_object("euler"), levels,
    ).sampling(0)  # fmt: skip
    reached = sampling.cached(choice.schedule, choice.policy)[0]
    error = float((reached - sampling.full()).square().mean())
    assert path.quality["latent MSE, mean of 1 validation examples"] == pytest.approx(
        error, rel=1e-4
    )


def test_the_first_step_alone_can_be_required(runs):  # noqa: F811
    least(num_steps=4, full_steps=2, evaluations=0, required_steps=FIRST_ONLY, batch_size=1)
    assert set(runs) == {"0-1/4", "0,2/4", "0,3/4"}


def test_minutes_are_minutes(monkeypatch):
    ticks = iter(range(0, 10**6, 10))
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(study, "time", clock)  # every measurement takes ten seconds
    table = least(num_steps=8, minutes=0.5, evaluations=0, racing=False).result[3]
    assert 2 <= int(re.search(r"(\d+) schedules scored", table)[1]) <= 4


@pytest.mark.long
def test_an_interrupted_search_goes_on_where_it_was(runs, monkeypatch):  # noqa: F811
    given = {"evaluations": 3, "racing": False}
    whole = least(study="whole", **given).result[0]
    in_one_go = set(runs)
    runs.clear()

    def interrupt():
        if len(set(runs)) == 2:
            raise comfy.model_management.InterruptProcessingException

    with monkeypatch.context() as patch:
        patch.setattr(
            comfy.model_management, "throw_exception_if_processing_interrupted", interrupt
        )
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            least(study="part", **given)
    before = set(runs)
    runs.clear()
    assert least(study="part", **given).result[0] == whole
    assert len(before & set(runs)) == 1  # that which was under way: ComfyUI stops between calls
    assert before | set(runs) == in_one_go


def test_other_settings_under_the_same_name_are_an_error_that_names_them():
    least()
    other = (examples()[0], replace(examples()[1], seed=77))
    for changes, name in (
        ({"cfg": 4.0}, "guidance"),
        ({"sigmas": 0.99 * zoo.sigmas(comfy_model.load_model(), 6)}, "noise levels"),
        ({"examples": other}, "examples"),
    ):
        with pytest.raises(ValueError, match=f"was made with the {name}"):
            least(**changes)


def rescaled(multiplier):
    """The demo model with ComfyUI's own RescaleCFG."""
    return RescaleCFG().patch(comfy_model.load_model(), multiplier)[0]


@pytest.mark.long
def test_another_patch_of_the_model_or_another_input_of_it_is_another_study():
    least(model=rescaled(0.7))
    least(model=rescaled(0.7))
    for other in (comfy_model.load_model(), rescaled(0.5)):
        with pytest.raises(ValueError, match="was made with the model patches"):
            least(model=other)


@pytest.mark.long
def test_a_mask_a_negative_of_the_guider_and_another_sampling_are_conditions():
    bare = tuple(replace(example, negative=None) for example in examples())

    def guided(negative, mask=None, shift=2.0):
        model = comfy_model.load_model()
        model = ModelSamplingSD3().patch(model, shift)[0]
        guider = comfy.samplers.CFGGuider(model)
        guider.set_cfg(5.0)
        guider.set_conds(bare[0].positive, examples()[negative].positive)
        latent = {"samples": torch.zeros(1, 48, 8, 8)}
        if mask is not None:
            latent["noise_mask"] = torch.full((1, 1, 8, 8), mask)
        return least(guider=guider, examples=bare[:2], latent=latent)

    guided(0)
    guided(0)
    with pytest.raises(ValueError, match="was made with the guidance"):
        guided(1)
    with pytest.raises(ValueError, match="was made with the latent"):
        guided(0, mask=0.5)
    with pytest.raises(ValueError, match="was made with the model"):
        guided(0, shift=3.0)


@pytest.mark.long
def test_examples_of_a_sampler_that_draws_noise_are_sampled_one_by_one():
    together, alone = (
        demo(
            sampler=comfy.samplers.sampler_object("euler_ancestral"), study=str(size),
            batch_size=size, racing=False,
        )
        for size in (2, 1)
    )  # fmt: skip
    assert together.result[0] == alone.result[0]
    assert "the sampler adds noise that depends on the batch" in together.result[3]
    assert together.result[3].splitlines()[2] == alone.result[3].splitlines()[2]


@pytest.mark.long
def test_a_text_encoder_that_rounds_otherwise_does_not_end_a_study():
    def again(example):
        ((tokens, options),) = example.positive
        return replace(example, positive=[[tokens * (1 + 1e-6), options]])

    found = demo().result[0]
    several = tuple(map(again, examples()))
    assert demo(examples=several[:2], validation=several[2:]).result[0] == found
    ((tokens, options),) = several[0].positive
    other = replace(several[0], positive=[[tokens * 1.5, options]])
    with pytest.raises(ValueError, match="was made with the examples"):
        demo(examples=(other, several[1]))


@pytest.mark.long
def test_several_policies_are_searched_together():
    _, policy, _, table = demo(policies=SEVERAL, evaluations=60).result
    assert str(policy) in table
    assert table.count("spacing by noise level") == 2  # the two policies that went on


def test_a_baseline_that_wins_is_kept_as_a_control(monkeypatch):
    every = search.SearchSession.baselines

    def first(self, policy):
        return dict(list(every(self, policy).items())[:1])

    monkeypatch.setattr(search.SearchSession, "baselines", first)
    # It is the only schedule that is measured.
    table = least(num_steps=8).result[3]
    (path,) = user_paths.read()
    assert path.method == "control"
    assert "found nothing better than this control: spacing by noise level" in path.notes
    assert "The search found no schedule better than the control spacing by noise level" in table


def test_a_path_that_was_saved_by_hand_is_not_replaced():
    schedule = Schedule.parse("0-3,5/12")
    user_paths.library().save(GoldenPath("demo, 5 of 12", schedule, DRAWN, Reuse()))
    with pytest.raises(ValueError, match=r"drawn by hand.*choose another study name"):
        demo()
    assert user_paths.read()[0].schedule == schedule


@pytest.mark.parametrize(
    ("study", "reason"),
    [
        ("径" * 74, "has 231 bytes, a file's name can have 222"),
        ("Demo", "'Demo, 5 of 12' and 'demo, 5 of 12', which is there, are one file"),
    ],
    ids=["bytes", "case"],
)
def test_a_path_that_could_not_be_saved_is_refused_before_anything_runs(
    runs, study, reason  # noqa: F811
):  # fmt: skip
    path = GoldenPath("demo, 5 of 12", Schedule.parse("0-3,5/12"), SEARCHED, Reuse())
    user_paths.library().save(path)
    with pytest.raises(ValueError, match=reason):
        demo(study=study)
    assert not runs


def test_a_study_whose_path_could_have_no_file_is_refused_as_it_is_queued():
    assert ScheduleSearch.validate_inputs(study="a" * 91) is True
    assert "100 characters" in ScheduleSearch.validate_inputs(study="a" * 93)
    assert "222" in ScheduleSearch.validate_inputs(study="径" * 74)


def test_cfg_without_a_negative_is_refused():
    bare = tuple(replace(example, negative=None) for example in examples())
    with pytest.raises(ValueError, match="CFG 5 needs a negative conditioning, which 2 of the"):
        demo(examples=bare[:2], validation=bare[2:])
    assert least(examples=bare[:2], cfg=1.0).result[0]


def test_validation_with_scoring_examples_is_refused():
    with pytest.raises(ValueError, match="1 of the validation examples are also scoring examples"):
        demo(validation=examples()[1:])
    # Encoded once more by a node of its own.
    outside = tuple(replace(example, prompt="") for example in examples()[1:])
    with pytest.raises(ValueError, match="1 of the validation examples are also scoring examples"):
        demo(validation=outside)


def test_a_policy_that_is_connected_is_the_only_one():
    found = least(policy=Reuse(Site.GUIDED), policies=SEVERAL).result[1]
    assert found == Reuse(Site.GUIDED)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vae": None}, "connect vae"),
        ({"latent": {"samples": torch.zeros(2, 48, 8, 8)}}, "set its batch size to 1"),
        ({"full_steps": 12}, "12 of 12 steps would be full"),
        ({"sampler": comfy.samplers.sampler_object("dpm_fast")}, "needs all of its model calls"),
        ({"objective": "LPIPS"}, "LPIPS needs the weights of LPIPS: lpips is off; choose a file"),
    ],
)
def test_what_cannot_be_searched_is_said_before_anything_runs(changes, reason, monkeypatch):
    monkeypatch.setattr(Sampling, "full", None)
    with pytest.raises(ValueError, match=reason):
        demo(**changes)


def test_weights_are_loaded_only_when_all_else_is_in_order(monkeypatch):
    monkeypatch.setattr(lpips_weights, "network", None)
    for changes, reason in (
        ({"latent": {"samples": torch.zeros(2, 48, 8, 8)}}, "set its batch size to 1"),
        ({"full_steps": 12}, "12 of 12 steps would be full"),
    ):
        with pytest.raises(ValueError, match=reason):
            demo(objective="LPIPS", **changes)


# Of 6 each: two references at once, then runs under schedules, most of them from a state on.
@pytest.mark.parametrize("call", [1, 5, 12, 20])
def test_an_interruption_ends_the_model_call_that_it_meets(monkeypatch, call):
    calls = []
    forward = comfy.ldm.flux.model.Flux.forward

    def counted(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            comfy.model_management.interrupt_current_processing()
        return forward(*args, **kwargs)

    monkeypatch.setattr(comfy.ldm.flux.model.Flux, "forward", counted)
    with pytest.raises(comfy.model_management.InterruptProcessingException):
        small()
    assert len(calls) == call
