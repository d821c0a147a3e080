"""semantic/judges: each example has its own prompt in shootouts and searches; the guard."""

import re
from dataclasses import replace

import pytest
from golden_path_pack.nodes.compare.compare_run import CompareRun
from golden_path_pack.nodes.compare.quality_compare import QualityCompare
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.assessing import assessor_for
from golden_path_pack.nodes.search.schedule_search import ScheduleSearch
from golden_path_pack.nodes.shootout.method_shootout import MethodShootout

from ...support.comfy import shootouts
from ...support.comfy.demo_examples import PROMPTS, examples
from ...support.comfy.demo_search import demo, runs  # noqa: F401
from ...support.comfy.judged import Brightness, semantic

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("in_a_run")]


class Levels:
    """VAE whose images are the mean of a latent everywhere."""

    def decode(self, latent):
        return latent.mean((1, 2, 3)).sigmoid().reshape(-1, 1, 1, 1).expand(-1, 16, 16, 3)


# --- Method Shootout ------------------------------------------------------------------------------


def test_a_shootout_judges_each_image_by_its_own_prompt():
    judge = Brightness()
    rows, report = shootouts.report_of(["uniform"], semantic=semantic(judge, prompt="unused"))
    assert judge.prompts == [PROMPTS[0]] * 2 + [PROMPTS[1]] * 2  # in full, then uniform
    found = rows["uniform"]["metrics"]
    assert len(found["clip_score"]["values"]) == 2
    assert found["clip_change"]["values"] != [0, 0]
    assert report["metric"] == "psnr"  # still the one that sorts
    assert "conditions" in report
    assert "judge of the CLIP score" in report["conditions"]


def test_the_change_is_against_the_full_run_of_the_same_example():
    found, _ = shootouts.report_of(["uniform"], semantic=semantic(), vae=Levels())
    scores = found["uniform"]["metrics"]["clip_score"]["values"]
    changes = found["uniform"]["metrics"]["clip_change"]["values"]
    full = []
    for number in range(2):
        latent = shootouts.workload().sampling(number).full()
        full.append(100 * float(Levels().decode(latent)[0, 0, 0, 0]))
    assert changes == pytest.approx([s - f for s, f in zip(scores, full, strict=True)], abs=1e-4)


def test_the_table_of_a_shootout_has_score_and_change():
    output = shootouts.shootout(["uniform"], semantic=semantic())
    heading, _, uniform = output.result[1].splitlines()[1:4]
    assert re.search(r"CLIP score +Δ CLIP", heading)
    assert re.search(r"[+-]\d+\.\d\d ± \d", uniform)  # one sign


def test_a_shootout_without_judges_is_as_before():
    _, report = shootouts.report_of(["uniform"])
    assert not any("judge" in field for field in report["conditions"])
    with pytest.raises(ValueError, match="made with the judge of the CLIP score none"):
        shootouts.report_of(["uniform"], semantic=semantic())


def test_judges_without_a_vae_are_refused_before_anything_runs():
    with pytest.raises(ValueError, match="judge images: connect vae"):
        shootouts.report_of(["uniform"], semantic=semantic(), vae=None)


def test_examples_without_a_text_need_the_prompt_of_the_node():
    bare = [replace(example, prompt="") for example in examples()[:2]]
    with pytest.raises(ValueError, match="write it into prompt of Semantic Metrics"):
        shootouts.report_of(["uniform"], examples=bare, semantic=semantic(prompt=""))
    judge = Brightness()
    _, report = shootouts.report_of(["uniform"], examples=bare, semantic=semantic(judge, "a lamp"))
    assert set(judge.prompts) == {"a lamp"}
    assert report["conditions"]["prompt of Semantic Metrics"] == "a lamp"


@pytest.mark.parametrize("node", [QualityCompare, CompareRun, MethodShootout, ScheduleSearch])
def test_semantic_is_the_last_input_and_optional(node):
    # So workflows that were saved before find their values where they were.
    last = node.define_schema().inputs[-1]
    assert (last.id, last.optional) == ("semantic", True)


# --- Schedule Search ------------------------------------------------------------------------------


def test_judges_see_images_where_the_objective_is_of_latents():
    assessor = assessor_for("latent MSE", Levels(), "off", semantic())
    latent = shootouts.workload().sampling(0).full()
    found = assessor.result(latent, ["a lamp"])
    assert found.scores == [{"clip_score": pytest.approx(100 * float(found.images[0].mean()))}]


def mean_change(text):
    """Of the delivered schedule, as the table writes it."""
    line = text.splitlines()[4]  # below the headings
    return float(re.search(r"Δ CLIP ([+-][\d.]+)", line)[1])


def test_the_guard_changes_which_schedule_a_search_delivers():
    def judges(limit):
        return semantic(Brightness(rows=32), limit=limit)

    free, loose = demo(study="free"), demo(study="loose", semantic=judges(100))
    assert loose.result[0] == free.result[0]  # nothing is ruled out, and nothing else changes
    fall = mean_change(loose.result[3])
    assert fall < -0.1  # the upper half is darker than that of the full run
    tight = demo(study="tight", semantic=judges(0.05))
    text = tight.result[3]
    assert tight.result[0] != free.result[0]
    assert mean_change(text) >= -0.05
    assert "Guard: CLIP score falls by at most 0.05" in text
    saved = {path.name: path for path in user_paths.read()}["tight, 5 of 12"]
    assert str(saved.schedule) == tight.result[0]
    assert "Guard: CLIP score falls by at most 0.05" in saved.notes


def test_a_study_of_another_guard_or_without_is_kept_apart():
    demo(semantic=semantic(limit=100))
    with pytest.raises(ValueError, match='made with the guard "CLIP score falls by at most 100"'):
        demo(semantic=semantic(limit=50))
    with pytest.raises(ValueError, match="this search has none; choose another study name"):
        demo()
    with pytest.raises(ValueError, match="made with the judge of the CLIP score"):
        demo(semantic=semantic(Brightness("another"), limit=100))
    demo(study="bare")
    with pytest.raises(ValueError, match="made with the guard none"):
        demo(study="bare", semantic=semantic())


def test_a_search_goes_on_with_the_same_guard(runs):  # noqa: F811
    demo(semantic=semantic(limit=100))
    before = len(runs)
    demo(semantic=semantic(limit=100))
    assert len(runs) == before


@pytest.mark.parametrize("objective", ["PSNR", "latent MSE"])
def test_a_search_with_judges_needs_a_vae(objective):
    with pytest.raises(ValueError, match="connect vae"):
        demo(semantic=semantic(), vae=None, objective=objective)


def test_fitted_paths_are_judged_too():
    text = demo(semantic=semantic(limit=100), policies="fitted", evaluations=3).result[3]
    assert "Δ CLIP" in text.splitlines()[4]
