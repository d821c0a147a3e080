"""A path is learned from the first runs, which are full, and then taken."""

import pytest
import torch
from golden_path_pack.gph_core.paths.golden_path import LEARNED
from golden_path_pack.gph_core.policies.fitted import Fitted
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.learn import remembered
from golden_path_pack.nodes.learn.remembered import Remembered
from golden_path_pack.nodes.learn.settings import learning_folder
from golden_path_pack.nodes.library import user_paths

from ...support.comfy import tiny
from ...support.comfy.learning import CACHED, STEPS, guider_of, learned, record
from ...support.zoo import zoo

pytestmark = pytest.mark.usefixtures("in_a_run", "user")


def files():
    return sorted(path.name for path in learning_folder().rglob("*") if path.is_file())


def test_two_full_runs_are_as_without_the_node_and_the_third_is_fast_and_close():
    for seed, image in ((0, 1), (1, 2)):
        result, listener = learned(seed)
        assert torch.equal(result, learned(seed, wanted=None)[0])
        (told,) = listener.records
        assert told.origin == f"learning: image {image} of 2, computed in full"
        assert told.cached_steps == ()
    (path,) = user_paths.read()
    assert (path.origin, path.policy.examples, path.schedule.num_full) == (LEARNED, 2, 5)
    told = record(7)
    assert len(told.cached_steps) == CACHED
    assert told.origin.startswith("learned here from 2 images, about ")
    fewer = zoo.sigmas(guider_of().model_patcher, 5)
    cached, plain = 0.0, 0.0
    for seed in range(7, 9):
        full = learned(seed, wanted=None)[0]
        cached += float((learned(seed)[0] - full).square().mean())
        plain += float((learned(seed, wanted=None, sigmas=fewer)[0] - full).square().mean())
    assert cached < 0.8 * plain
    assert files() == []


def test_the_report_promises_the_speed_and_then_says_what_it_took():
    first, second = (learned(seed)[1] for seed in (0, 1))
    assert first.fits == []
    assert first.records[0].notes == ("from image 3 on about 2.4 times faster",)
    # Budget of two images, 5 of 12 full: four full runs are 48 evaluations, nine runs of five.
    (fit,) = second.fits
    assert fit.startswith("fitting: 40 evaluations, about ")
    (note,) = second.records[0].notes
    assert note.endswith("from the next image on about 2.4 times faster")


@pytest.mark.long
def test_a_restart_goes_on_with_the_files_and_learns_the_same(monkeypatch, user):
    def paths(restarted):
        learned(0)
        assert len(files()) == 1
        if restarted:
            again = Remembered()
            for module in ("learner", "fitting", "settings"):
                monkeypatch.setattr(f"golden_path_pack.nodes.learn.{module}.REMEMBERED", again)
        assert record(1).origin.startswith("learning: image 2 of 2")
        (path,) = user_paths.read()
        user_paths.library().delete(path.name)
        return path

    path = paths(restarted=True)
    fresh = Remembered()
    for module in ("learner", "fitting", "settings"):
        monkeypatch.setattr(f"golden_path_pack.nodes.learn.{module}.REMEMBERED", fresh)
    assert paths(restarted=False) == path


def test_a_batch_of_two_counts_as_two_and_one_of_three_no_more_than_are_wanted():
    told = record(0, images=3)
    assert told.origin == "learning: images 1 to 2 of 2, computed in full"
    (path,) = user_paths.read()
    assert path.policy.examples == 2
    assert len(record(1).cached_steps) == CACHED


@pytest.mark.long
def test_learning_from_four_goes_on_from_two():
    for seed in range(2):
        learned(seed)
    origins = [record(seed, wanted=4).origin for seed in (2, 3)]
    assert origins == [f"learning: image {n} of 4, computed in full" for n in (3, 4)]
    (path,) = user_paths.read()
    assert path.policy.examples == 4
    assert len(record(9, wanted=2).cached_steps) == CACHED  # more than enough


@pytest.mark.long
def test_prompts_may_differ_and_another_cfg_learns_its_own():
    learned(0, guider=guider_of(number=0))
    learned(1, guider=guider_of(number=1))
    assert len(record(2, guider=guider_of(number=2)).cached_steps) == CACHED
    assert record(0, guider=guider_of(cfg=3.0)).origin.startswith("learning: image 1 of 2")
    # A little less CFG takes the path, and says so.
    told = record(2, guider=guider_of(cfg=4.5))
    assert len(told.cached_steps) == CACHED
    assert "another CFG" in " ".join(told.notes)


@pytest.mark.parametrize("sampler", ["dpmpp_2m", "res_multistep"])
@pytest.mark.long
def test_samplers_of_several_steps_are_learned_too(sampler):
    def run(seed, wanted=2):
        return learned(seed, wanted, sampler, guider_of(3.5))

    results = [run(seed)[0] for seed in range(2)]
    assert torch.equal(results[1], run(1, wanted=None)[0])
    (path,) = user_paths.read()
    assert isinstance(path.policy, Fitted)
    assert len(run(2)[1].records[0].cached_steps) == CACHED


@pytest.mark.long
def test_each_of_two_samplers_in_a_row_learns_its_part():
    levels = zoo.sigmas(guider_of().model_patcher, 2 * STEPS)
    parts = levels[: STEPS + 1], levels[STEPS:]

    def image(seed):
        begun, first = learned(seed, sigmas=parts[0])
        end = torch.zeros_like(begun)
        return first, learned(seed, sigmas=parts[1], latent=begun, noise=end)[1]

    for seed in range(2):
        for part in image(seed):
            assert part.records[0].origin.startswith(f"learning: image {seed + 1} of 2")
    assert len(user_paths.read()) == 2
    for part in image(5):
        assert len(part.records[0].cached_steps) == STEPS - 4  # Balanced keeps 5 of 24, but four


@pytest.mark.long
def test_inpainting_is_learned_from_the_masked_picture():
    mask = torch.zeros(1, 1, 8, 8)
    mask[..., :4] = 1
    before = learned(50, wanted=None)[0]
    levels = zoo.sigmas(guider_of().model_patcher, 16)[4:]
    how = {"latent": before, "mask": mask, "sigmas": levels}
    for seed in range(2):
        result, listener = learned(seed, **how)
        assert listener.records[0].cached_steps == ()
    assert "could not be fitted" not in " ".join(listener.records[0].notes)
    assert torch.equal(result, learned(1, wanted=None, **how)[0])
    assert len(record(2, **how).cached_steps) == STEPS - 4  # the last 12 of 16 steps


@pytest.mark.long
def test_the_state_of_random_numbers_is_as_after_a_plain_run():
    learned(0)
    learned(1)
    drawn = torch.rand(3)
    learned(1, wanted=None)
    assert torch.equal(drawn, torch.rand(3))


@pytest.mark.long
def test_states_that_do_not_fit_into_memory_are_read_from_their_files(monkeypatch):
    monkeypatch.setattr(remembered, "IN_MEMORY", 0)
    learned(0)
    (example,) = remembered.REMEMBERED.of(next(p for p in learning_folder().iterdir()))
    assert example.states is None
    assert record(1).origin.startswith("learning: image 2")
    assert len(record(2).cached_steps) == CACHED


@pytest.mark.long
def test_three_settings_are_remembered_and_the_oldest_is_forgotten():
    for cfg in (2.0, 3.0, 4.0):
        learned(0, guider=guider_of(cfg))
    learned(1, guider=guider_of(2.0), wanted=4)  # used again, so it is not the oldest
    learned(0, guider=guider_of(5.0))
    assert len([path for path in learning_folder().iterdir() if path.is_dir()]) == 3
    assert record(1, guider=guider_of(3.0)).origin.startswith("learning: image 1")


def test_the_node_learns_only_for_a_speed_and_without_another_policy():
    model = tiny.flux()

    def plan(**inputs):
        return GoldenPathCache.execute(model, **inputs).result[0]

    with pytest.raises(ValueError, match=r"the policy velocity reuse is connected"):
        plan(speed="Fast", schedule="", learn="from 2 images", policy=by_count_policy())
    plan(speed="Custom", schedule="0,3/8", learn="from 2 images")  # the field is switched off
    with pytest.raises(ValueError, match="not a choice of learn"):
        GoldenPathCache.check_inputs("Fast", "", "from 3 images")


def by_count_policy():
    from golden_path_pack.gph_core.policies.base import Site
    from golden_path_pack.gph_core.policies.extrapolation import Reuse

    return Reuse(Site.GUIDED)
