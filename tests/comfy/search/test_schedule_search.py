"""Schedule Search on models of every kind, from a budget to a path in the library."""

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
from golden_path_pack.gph_core.paths.choice import Conditions
from golden_path_pack.gph_core.paths.golden_path import DRAWN, SEARCHED, GoldenPath
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse
from golden_path_pack.gph_core.policies.mean_velocity import MeanVelocity
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.hook import compatibility
from golden_path_pack.nodes.hook.setup import SamplingSetup
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample import lpips_weights
from golden_path_pack.nodes.sample.examples import Example
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import REUSE, SEVERAL, ScheduleSearch
from golden_path_pack.nodes.search.search_inputs import FIRST_ONLY

from ...support.comfy.demo_examples import examples
from ...support.zoo import zoo, zoo_images, zoo_videos

pytestmark = pytest.mark.usefixtures("in_a_run")

CASES = {case.name: case for case in (*zoo_images.CASES, *zoo_videos.CASES)}
KINDS = ["FLUX dev", "Qwen-Image", "Wan 2.1 14B", "HunyuanVideo", "LTX-2"]


def demo(**changes):
    """What the node gives for the demo model."""
    model = comfy_model.load_model()
    inputs = {
        "model": model, "examples": examples()[:2], "validation": examples()[2:],
        "latent": {"samples": torch.zeros(1, 48, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, 12),
        "cfg": 5.0, "speed": COUNT, "full_steps": 5, "minutes": 1000.0, "study": "demo",
        "vae": comfy_model.DemoVAE(), "evaluations": 8, "batch_size": 2, "policies": REUSE,
    } | changes  # fmt: skip
    return ScheduleSearch.execute(**inputs)


@pytest.fixture
def runs(monkeypatch):
    """Counts the runs under a schedule."""
    count = []
    resumed = Sampling.resumed

    def counted(self, schedule, *args, **kwargs):
        count.append(str(schedule))
        return resumed(self, schedule, *args, **kwargs)

    monkeypatch.setattr(Sampling, "resumed", counted)
    return count


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_latent_is_searched_without_a_vae(name):
    case = CASES[name]
    model = zoo.build(case)
    examples = tuple(
        Example("", case.conditioning(n, 5), case.conditioning(9, 5), seed=n) for n in range(2)
    )
    schedule, policy, figure, table = ScheduleSearch.execute(
        model, examples, {"samples": zoo.empty_latent(case)},
        comfy.samplers.sampler_object("euler"), zoo.sigmas(model, 8), case.cfg, COUNT, 4, 1000.0,
        name, objective="latent MSE", evaluations=6, algorithm="hill climbing", policies=REUSE,
    ).result  # fmt: skip
    assert Schedule.parse(schedule).num_full == 4
    assert policy == Reuse()
    assert figure.shape[0] == 1
    assert figure.shape[3] == 3
    assert "not validated" in table


def test_what_is_found_is_kept_in_the_library_with_its_conditions():
    schedule, policy, _, table = demo().result
    (path,) = user_paths.read()
    assert path.name == "demo, 5 of 12"
    assert (str(path.schedule), path.policy) == (schedule, policy)
    assert path.sigmas == tuple(zoo.sigmas(comfy_model.load_model(), 12).tolist())
    assert path.conditions["sampler"] == "euler"
    assert "PSNR, mean of 1 validation examples" in path.quality
    assert schedule in table


def test_the_speed_of_that_name_takes_what_was_found(monkeypatch):
    # A speed takes what is better than every control: here there is none.
    monkeypatch.setattr(search.SearchSession, "baselines", lambda *_: {})
    schedule = demo(speed="Quality").result[0]
    model = comfy_model.load_model()
    family, _ = compatibility.identify(model)
    run = Conditions(
        family.name, model.model.model_config.unet_config, zoo.sigmas(model, 12).tolist(), Reuse()
    )
    choice = speeds.resolve("Quality", run, user_paths.read())
    assert (str(choice.schedule), choice.origin) == (schedule, "searched here: demo, 5 of 12")


def test_few_steps_are_all_tried(runs):
    model = comfy_model.load_model()
    demo(sigmas=zoo.sigmas(model, 6), full_steps=3, evaluations=0)
    # 0 and 5 are full, one of 1 to 4 is; the check of remembered states runs one more.
    assert set(runs) == {"0-1,5/6", "0,2,5/6", "0,3,5/6", "0,4-5/6"}


def test_the_first_step_alone_can_be_required(runs):
    model = comfy_model.load_model()
    demo(
        sigmas=zoo.sigmas(model, 4), full_steps=2, evaluations=0, required_steps=FIRST_ONLY,
        algorithm="exhaustive",
    )  # fmt: skip
    assert set(runs) == {"0-1/4", "0,2/4", "0,3/4"}


def test_an_interrupted_search_goes_on_where_it_was(runs, monkeypatch):
    whole = demo(study="whole").result[0]
    in_one_go = set(runs)
    runs.clear()

    def interrupt():
        if len(set(runs)) == 5:
            raise comfy.model_management.InterruptProcessingException

    with monkeypatch.context() as patch:
        patch.setattr(
            comfy.model_management, "throw_exception_if_processing_interrupted", interrupt
        )
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            demo(study="part")
    before = set(runs)
    runs.clear()
    assert demo(study="part").result[0] == whole
    assert len(before & set(runs)) == 1  # that which was under way: ComfyUI stops between calls
    assert before | set(runs) == in_one_go


def test_other_settings_under_the_same_name_are_an_error_that_names_them():
    demo()
    with pytest.raises(ValueError, match="was made with the guidance"):
        demo(cfg=4.0)
    with pytest.raises(ValueError, match="was made with the noise levels"):
        demo(sigmas=0.99 * zoo.sigmas(comfy_model.load_model(), 12))


def rescaled(multiplier):
    """The demo model with ComfyUI's own RescaleCFG."""
    return RescaleCFG().patch(comfy_model.load_model(), multiplier)[0]


@pytest.mark.long
def test_another_patch_of_the_model_or_another_input_of_it_is_another_study():
    demo(model=rescaled(0.7))
    demo(model=rescaled(0.7))
    for other in (comfy_model.load_model(), rescaled(0.5)):
        with pytest.raises(ValueError, match="was made with the model patches"):
            demo(model=other)


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
        return demo(
            guider=guider, examples=bare[:2], validation=bare[2:], latent=latent, evaluations=2,
            sigmas=zoo.sigmas(comfy_model.load_model(), 12),
        )  # fmt: skip

    guided(0)
    guided(0)
    with pytest.raises(ValueError, match="was made with the guidance"):
        guided(1)
    with pytest.raises(ValueError, match="was made with the latent"):
        guided(0, mask=0.5)
    with pytest.raises(ValueError, match="was made with the model"):
        guided(0, shift=3.0)


@pytest.mark.long
def test_another_policy_does_not_make_other_settings_fit_a_study():
    demo()
    with pytest.raises(ValueError, match="was made with the guidance"):
        demo(policy=Hermite(2), cfg=4.0)
    demo(policy=Hermite(2))
    demo(policy=Hermite(2, scale=0.3))


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


@pytest.mark.long
def test_policies_that_need_several_first_steps_are_compared_with_baselines_of_their_own():
    # Spacing gives reuse one full first step of 12; Hermite needs three, two-anchor two.
    for policy in (Hermite(2), TwoAnchor(), MeanVelocity()):
        table = demo(policy=policy, study=str(policy).replace(",", "")).result[3]
        assert "uniform spacing" in table


@pytest.mark.long
def test_a_policy_that_cannot_keep_to_so_few_full_steps_is_refused_or_left_out():
    with pytest.raises(ValueError, match="needs 3 full first steps and one more, but only 3 steps"):
        demo(policy=Hermite(2), full_steps=3)
    table = demo(policies=SEVERAL, full_steps=3, evaluations=60).result[3]
    assert "Hermite order 2, scale 0.5 was left out: " in table


def baselines(model, sigmas, num_full):
    """Number of full steps of each baseline of residual reuse."""
    guider, euler = comfy.samplers.CFGGuider(model), comfy.samplers.sampler_object("euler")
    setup = SamplingSetup(guider, euler, sigmas.tolist(), (1, 16, 8, 8))
    session = SimpleNamespace(setup=setup, num_full=num_full, num_steps=setup.num_steps)
    found = search.SearchSession.baselines(session, Reuse())
    return {name: schedule.num_full for name, schedule in found.items()}


def test_baselines_have_as_many_full_steps_as_were_asked_for():
    model = zoo.build(CASES["FLUX dev"])
    found = baselines(model, zoo.sigmas(model, 28), 11)
    assert found == {"spacing by noise level": 11, "uniform spacing": 11}


def test_a_part_of_a_path_with_another_number_of_full_steps_is_no_baseline(monkeypatch):
    model = zoo.build(CASES["FLUX dev"])
    levels = zoo.sigmas(model, 50)
    width = model.model.model_config.unet_config["hidden_size"]
    path = replace(
        bundled_paths()[0], architecture={"hidden_size": width}, sigmas=tuple(levels.tolist()),
        schedule=Schedule.parse("0-4,6,8,10,14,19,30,43,49/50"),
    )  # fmt: skip
    monkeypatch.setattr(search, "bundled_paths", lambda: [path])
    # A run of the first 20 steps takes the part with ten full ones, five were asked for.
    assert baselines(model, levels[:21], 5) == {"uniform spacing": 5}


@pytest.mark.long
def test_a_study_that_is_used_up_still_delivers_its_best_under_another_seed_or_algorithm(runs):
    found = demo().result[0]
    runs.clear()
    assert demo(seed=1).result[0] == found
    assert demo(algorithm="random").result[0] == found
    assert runs == []


@pytest.mark.long
def test_numbers_of_full_steps_share_a_study_and_keep_a_path_each():
    found = demo().result[0], demo(full_steps=4).result[0]
    assert {path.name: str(path.schedule) for path in user_paths.read()} == {
        "demo, 5 of 12": found[0], "demo, 4 of 12": found[1],
    }  # fmt: skip


@pytest.mark.long
def test_validation_examples_can_be_connected_and_changed_later(runs):
    assert "not validated" in demo(validation=()).result[3]
    searched = list(runs)
    runs.clear()
    table = demo().result[3]
    assert "not validated" not in table
    assert runs == []  # validation runs begin anew, without states
    assert searched
    other = replace(examples()[2], seed=77)
    assert "1 validation examples" in demo(validation=(other,)).result[3]


def test_without_validation_no_example_is_run_twice_under_a_schedule(runs):
    demo(validation=(), batch_size=1, racing=False)
    # Two examples; the check of remembered states runs one more.
    assert max(map(runs.count, runs)) <= 3
    assert len(runs) == 2 * len(set(runs)) + 1


def test_a_baseline_that_wins_is_kept_as_a_control(monkeypatch):
    every = search.SearchSession.baselines

    def first(self, policy):
        return dict(list(every(self, policy).items())[:1])

    monkeypatch.setattr(search.SearchSession, "baselines", first)
    # It is the only schedule that is measured.
    table = demo(evaluations=1).result[3]
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
def test_a_path_that_could_not_be_saved_is_refused_before_anything_runs(runs, study, reason):
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
    assert demo(examples=bare[:2], validation=bare[2:], cfg=1.0).result[0]


def test_validation_with_scoring_examples_is_refused():
    with pytest.raises(ValueError, match="1 of the validation examples are also scoring examples"):
        demo(validation=examples()[1:])
    # Encoded once more by a node of its own.
    outside = tuple(replace(example, prompt="") for example in examples()[1:])
    with pytest.raises(ValueError, match="1 of the validation examples are also scoring examples"):
        demo(validation=outside)


def test_a_policy_that_is_connected_is_the_only_one():
    assert demo(policy=Reuse(Site.GUIDED), policies=SEVERAL).result[1] == Reuse(Site.GUIDED)


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


# Of 12 each: two references, then runs under schedules, most of them from a state on.
@pytest.mark.parametrize("call", [1, 20, 45, 80])
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
        demo()
    assert len(calls) == call
