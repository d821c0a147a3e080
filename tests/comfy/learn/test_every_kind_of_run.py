"""Learning from runs of many kinds, on models that are small and random."""

from dataclasses import replace
from types import SimpleNamespace

import comfy.cldm.cldm
import comfy.controlnet
import comfy.model_management
import comfy.sample
import comfy.samplers
import folder_paths
import pytest
import torch
from comfy.cli_args import args
from comfy.nested_tensor import NestedTensor
from comfy_execution.utils import CurrentNodeContext
from golden_path_pack.gph_core.learning.lesson import Learned
from golden_path_pack.gph_core.paths.golden_path import LEARNED, SEARCHED, GoldenPath
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.hook.fingerprint import KEY
from golden_path_pack.nodes.learn import fitting, settings
from golden_path_pack.nodes.learn.learner import CANCELLED
from golden_path_pack.nodes.learn.replay import OTHER_RESULT
from golden_path_pack.nodes.learn.settings import learning_folder
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import stated_model
from golden_path_pack.nodes.schema import users

from ...support.comfy import loras, tiny, unlisted
from ...support.comfy.learning import guider_of_case, learned_case
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES

pytestmark = pytest.mark.usefixtures("in_a_run", "user")

FLUX = zoo.Case(
    "FLUX", "FLUX", None, tiny.CONFIG, (16, 8, 8), tiny.conditioning, cfg=1.0,
)  # fmt: skip
UNET = replace(unlisted.CASE, cfg=1.0)
SOUND = CASES["LTX-2"]


@pytest.fixture
def better(monkeypatch):
    """A learned path counts as better than none, which with random models is chance."""
    monkeypatch.setattr(Learned, "is_better", True)


@pytest.fixture(scope="module")
def unet():
    return zoo.build(UNET)


@pytest.fixture(scope="module")
def flux():
    return tiny.flux()


def folders():
    """Of the settings of which runs are remembered."""
    return sorted(learning_folder().glob("*/"))


def check_two_full_runs_and_a_fast_one(case, model, **how):
    """Two full runs to the bit, a path, and a run that takes it."""
    for seed in range(2):
        found, listener = learned_case(seed, case, model, **how)
        (told,) = listener.records
        assert told.origin == f"learning: image {seed + 1} of 2, computed in full"
        assert zoo.same(found, learned_case(seed, case, model, wanted=None, **how)[0])
    assert [path.origin for path in user_paths.read()] == [LEARNED], told.notes
    found, listener = learned_case(2, case, model, **how)
    (told,) = listener.records
    assert told.origin.startswith("learned here from 2 images")
    assert told.cached_steps
    for cached, full in zip(
        found, learned_case(2, case, model, wanted=None, **how)[0], strict=True
    ):
        assert cached.isfinite().all()
        assert 0 < (cached - full).std() < full.std()  # predicted, and each stream on its own
    assert folders() == []


@pytest.mark.long
def test_a_model_that_no_list_knows_is_learned(better, unet):
    check_two_full_runs_and_a_fast_one(UNET, unet, steps=8)


@pytest.mark.long
@pytest.mark.parametrize("is_masked", [False, True], ids=["from noise", "masked"])
def test_a_video_with_sound_is_learned_whole(better, is_masked):
    model, how = zoo.build(SOUND), {}
    if is_masked:  # one frame of the video stays, and all of the sound is made anew
        video, sound = (torch.ones(1, 1, *shape[1:]) for shape in SOUND.latent)
        video[:, :, :1] = 0
        random = torch.Generator().manual_seed(5)
        given = [torch.randn(1, *shape, generator=random) for shape in SOUND.latent]
        how = {"mask": NestedTensor([video, sound]), "latent": NestedTensor(given)}
    check_two_full_runs_and_a_fast_one(SOUND, model, steps=8, **how)


@pytest.mark.long
def test_an_image_that_begins_with_another_is_learned(better, unet):
    (given,) = learned_case(50, UNET, unet, wanted=None, steps=8)[0]
    levels = zoo.sigmas(unet, 16)[8:]
    check_two_full_runs_and_a_fast_one(UNET, unet, latent=given, sigmas=levels)


@pytest.mark.long
def test_batches_are_learned_together_each_image_by_its_place(better, unet):
    for batch, origin in ((2, "images 1 to 2"), (3, "images 3 to 4")):
        told = learned_case(
            batch, UNET, unet, 4, steps=8, latent=zoo.empty_latent(UNET, batch)
        )[1].records[0]  # fmt: skip
        assert told.origin == f"learning: {origin} of 4, computed in full"
    assert told.notes[-1].startswith("learned here from 4 images")


def test_what_is_drawn_after_a_fit_is_what_is_drawn_after_a_plain_run(unet):
    noise = comfy.sample.prepare_noise(zoo.empty_latent(UNET), 9)

    def drawn_after(wanted):
        torch.manual_seed(5)
        _, listener = learned_case(1, UNET, unet, wanted, steps=8, noise=noise)
        return torch.rand(3), listener

    learned_case(0, UNET, unet, steps=8)
    drawn, listener = drawn_after(2)
    assert len(listener.fits) == 1
    assert torch.equal(drawn, drawn_after(None)[0])


def control_net():
    """A ControlNet for the tiny U-Net."""
    network = comfy.cldm.cldm.ControlNet(
        hint_channels=3, num_classes=None, operations=comfy.ops.disable_weight_init,
        **{key: value for key, value in unlisted.UNET.items() if key != "out_channels"},
    )  # fmt: skip
    zoo.randomize(network)
    found = comfy.controlnet.ControlNet(network, load_device=torch.device("cpu"))
    hint = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(3))
    return found.set_cond_hint(hint, 1.0)


@pytest.mark.long
def test_a_controlnet_is_remembered_in_memory_and_the_fit_takes_its_part(better, unet):
    def steered(control):
        ((text, keys),) = UNET.conditioning(1, 5)
        more = {"control": control, "control_apply_to_uncond": True}
        return {"conds": {"positive": [[text, keys | more]]}, "steps": 8}

    how = steered(control_net())
    plain, _ = learned_case(0, UNET, unet, wanted=None, steps=8)
    for seed in range(2):
        found, listener = learned_case(seed, UNET, unet, **how)
        assert zoo.same(found, learned_case(seed, UNET, unet, wanted=None, **how)[0])
        if seed == 0:
            assert not zoo.same(found, plain)
            assert "object of the kind ControlNet" in listener.records[0].notes[0]
    assert not list(learning_folder().rglob("*.safetensors"))
    # The fit asks the model for the first step again and compares: see Replay._check.
    assert "from the next image on" in listener.records[0].notes[-1]
    assert learned_case(2, UNET, unet, **how)[1].records[0].cached_steps


def test_a_fit_that_finds_no_control_any_more_gives_no_weights(unet):
    ((text, keys),), control = UNET.conditioning(1, 5), control_net()
    how = {"conds": {"positive": [[text, keys | {"control": control}]]}, "steps": 8}
    learned_case(0, UNET, unet, **how)
    control.strength = 0.0
    _, listener = learned_case(1, UNET, unet, **how)
    assert OTHER_RESULT in listener.records[0].notes[-1]
    assert user_paths.read() == ()


@pytest.mark.long
def test_a_lora_makes_other_settings_and_takes_a_path_without_it_with_a_clause(better, flux):
    patched = loras.lora(flux)
    for model in (flux, patched):
        learned_case(0, FLUX, model)
    assert len(folders()) == 2
    learned_case(1, FLUX, flux)
    assert len(folders()) == 1
    told = learned_case(1, FLUX, patched)[1].records[0]
    assert told.origin.startswith("learned here from 2 images")
    assert told.cached_steps
    assert "other weights or patches of the model, such as a LoRA" in " ".join(told.notes)


def test_an_interrupted_run_is_not_remembered_and_the_next_is_the_first_again(unet):
    def interrupt(step, *_):
        if step == 5:
            assert KEY in repr(guider.model_options)
            raise comfy.model_management.InterruptProcessingException

    guider, before = guider_of_case(UNET, unet), repr(unet.model_options)
    with pytest.raises(comfy.model_management.InterruptProcessingException):
        learned_case(0, UNET, unet, guider=guider, callback=interrupt)
    assert guider.model_options is guider.model_patcher.model_options
    assert repr(guider.model_options) == repr(unet.model_options) == before
    assert folders() == []
    (told,) = learned_case(0, UNET, unet)[1].records
    assert told.origin == "learning: image 1 of 2, computed in full"


def test_a_fit_that_failed_is_tried_again_once_it_is_forgotten(monkeypatch, unet):
    def fail(*_, **__):
        raise RuntimeError("no memory")

    monkeypatch.setattr(fitting, "learn", fail)
    for seed in range(3):
        _, listener = learned_case(seed, UNET, unet, steps=8)
    assert "could not be fitted (no memory)" in listener.records[0].notes[-1]
    (name,) = listener.known
    settings.forget(name)
    (told,) = learned_case(3, UNET, unet, steps=8)[1].records
    assert told.origin == "learning: image 1 of 2, computed in full"


def test_forgetting_a_renamed_path_leaves_the_runs_of_other_settings(unet):
    learned_case(0, UNET, unet, steps=8)
    (folder,) = folders()
    name = f"portraits {folder.name[0]}"
    user_paths.library().save(GoldenPath(name, Schedule.parse("0,2/4"), LEARNED))
    settings.forget(name)
    assert user_paths.read() == ()
    assert folders() == [folder]


def test_a_run_of_three_steps_is_full_and_teaches_nothing(unet):
    found, listener = learned_case(0, UNET, unet, steps=3)
    (told,) = listener.records
    assert (told.cached_steps, told.origin) == ((), "spacing by noise level")
    assert not learning_folder().exists()
    assert zoo.same(found, learned_case(0, UNET, unet, wanted=None, steps=3)[0])


def test_a_path_of_a_search_is_taken_and_nothing_is_learned(better, unet):
    for seed in range(2):
        learned_case(seed, UNET, unet, steps=8)
    (path,) = user_paths.read()
    user_paths.library().delete(path.name)
    user_paths.library().save(replace(path, name="mine", origin=SEARCHED))
    for wanted in (2, 8):
        _, listener = learned_case(5, UNET, unet, wanted, steps=8)
        (told,) = listener.records
        assert told.origin.startswith("mine, fitted here on 2 examples")
        assert told.cached_steps
    assert folders() == listener.fits == listener.known == []


def test_no_search_replaces_a_learned_path():
    user_paths.library().save(GoldenPath("mine", Schedule.parse("0,2/4"), LEARNED))
    with pytest.raises(ValueError, match=r"that no search here found \(learned here\)"):
        user_paths.check_replaceable("mine")


def test_a_run_that_takes_a_part_of_a_path_learns_once(better, flux):
    levels = zoo.sigmas(flux, 24)
    user_paths.library().save(
        GoldenPath(
            "searched", Schedule.parse("0-7,20,23/24"), SEARCHED, sigmas=tuple(levels.tolist()),
            **stated_model(flux),
        )
    )  # fmt: skip
    how = {"sigmas": levels[:13]}
    for seed in range(2):
        learned_case(seed, FLUX, flux, **how)
    for seed in range(2, 4):
        _, listener = learned_case(seed, FLUX, flux, **how)
        assert listener.fits == []
        assert listener.records[0].origin.startswith("learned here from 2 images")


@pytest.mark.long
def test_users_share_neither_runs_nor_paths_nor_that_it_brought_nothing(
    monkeypatch, tmp_path, unet
):
    monkeypatch.setattr(folder_paths, "user_directory", str(tmp_path))
    monkeypatch.setattr(args, "multi_user", True)

    def image_of(user, seed):
        users.assume(user)
        return learned_case(seed, UNET, unet, steps=8)[1]

    first = "learning: image 1 of 2, computed in full"
    try:
        for is_better in (True, False):
            monkeypatch.setattr(Learned, "is_better", is_better)
            ann, bob = f"ann {is_better}", f"bob {is_better}"
            image_of(ann, 0)
            assert image_of(bob, 0).records[0].origin == first
            assert len(image_of(ann, 1).fits) == 1
            known = image_of(ann, 2)
            assert bool(known.known) is not is_better  # a path, or that it brings none
            assert known.records[0].cached_steps
            told = image_of(bob, 1).records[0]
            assert told.origin == "learning: image 2 of 2, computed in full"
        assert not (tmp_path / "golden_path").exists()
    finally:
        users.assume(None)


class Server(SimpleNamespace):
    """Of one page; keeps its events."""

    client_id = "me"

    def send_sync(self, event, data, sid=None):
        self.sent.append(data)


@pytest.fixture
def page(monkeypatch):
    """States of the events that a run of the node sends, and the first of each."""
    server = Server(sent=[])
    monkeypatch.setattr("server.PromptServer.instance", server, raising=False)

    def events(model, prompt, learn, seed=0, steps=8):
        server.sent.clear()
        with CurrentNodeContext(prompt, "7"):
            (model,) = GoldenPathCache.execute(model, speed="Fast", schedule="", learn=learn).result
            guider = guider_of_case(UNET, model)
            noise = comfy.sample.prepare_noise(zoo.empty_latent(UNET), seed)
            sampler = comfy.samplers.sampler_object("euler")
            guider.sample(
                noise, torch.zeros_like(noise), sampler, zoo.sigmas(model, steps), disable_pbar=True
            )
        states = [event["state"] for event in server.sent]
        return states, {event["state"]: event for event in reversed(server.sent)}

    return events


def of_plan(event):
    return event["learned"], event["learnable"]


def test_a_run_that_has_no_step_to_cache_offers_no_learning(unet, page):
    _, found = page(unet, "a", "off", steps=3)
    assert of_plan(found["planned"]) == ("", False)


STEPPED = ["running"] * 8


def test_the_page_is_told_what_can_be_learned_that_it_is_and_what_was(better, unet, page):
    _, found = page(unet, "a", "off")
    assert of_plan(found["planned"]) == ("", True)
    states, found = page(unet, "b", "from 2 images")
    assert states == ["planned", *STEPPED, "done"]
    assert of_plan(found["planned"]) == ("", False)  # it is learned from already
    states, found = page(unet, "c", "from 2 images", seed=1)
    assert states == ["planned", *STEPPED, "fitting", "done"]
    assert found["fitting"]["line"].startswith("fitting: 32 evaluations, about ")
    assert found["fitting"]["prompt_id"] == found["done"]["prompt_id"] == "c"
    assert found["done"]["record"]["notes"][-1].startswith("learned here from 2 images")
    (path,) = user_paths.read()
    for learn in ("from 2 images", "off"):
        states, found = page(unet, f"d {learn}", learn, seed=2)
        assert states == ["planned", *STEPPED, "done"]
        assert of_plan(found["planned"]) == (path.name, False)


@pytest.mark.long
def test_the_page_is_told_that_it_brought_nothing_and_by_which_name_to_forget_that(
    monkeypatch, unet, page
):
    monkeypatch.setattr(Learned, "is_better", False)
    for seed in range(2):
        page(unet, f"a {seed}", "from 2 images", seed)
    _, found = page(unet, "b", "from 2 images")
    name, learnable = of_plan(found["planned"])
    assert not learnable
    assert of_plan(page(unet, "c", "from 4 images")[1]["planned"]) == ("", False)  # not yet
    settings.forget(name)
    assert of_plan(page(unet, "d", "off")[1]["planned"]) == ("", True)


@pytest.mark.long
def test_a_fit_before_the_first_run_of_a_prompt_is_told_there(monkeypatch, better, unet, page):
    def cancel(*_, **__):
        raise comfy.model_management.InterruptProcessingException

    page(unet, "a", "from 2 images")
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "learn", cancel)
        _, found = page(unet, "b", "from 2 images", seed=1)
        assert found["done"]["record"]["notes"] == [CANCELLED]
    states, found = page(unet, "c", "from 2 images", seed=2)
    assert states == ["fitting", "planned", *STEPPED, "done"]
    assert (found["fitting"]["prompt_id"], found["fitting"]["run"]) == ("c", 0)
    assert found["fitting"]["line"] == "fitting: 32 evaluations"  # nobody knows how long it takes
    assert of_plan(found["planned"])[0]
