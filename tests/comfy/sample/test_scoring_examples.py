"""Scoring Examples: from prompts or ready conditionings to examples with seeds."""

import pytest
import torch
from golden_path_pack.demo.comfy_model import DemoCLIP
from golden_path_pack.gph_core.search.scoring_prompts import PROMPTS, SEEDS
from golden_path_pack.nodes.sample.examples import ScoringExamples

LINES = "two red circles\n\n  a large blue square \n"


def made(prompts=LINES, seeds="1, 2", **changes):
    return ScoringExamples.execute(prompts, seeds, **({"clip": DemoCLIP()} | changes)).result[0]


def test_each_line_is_a_prompt_with_its_seed():
    found = made()
    assert [(e.prompt, e.seed) for e in found] == [
        ("two red circles", 1), ("a large blue square", 2)
    ]  # fmt: skip
    clip = DemoCLIP()
    ((tokens, _),) = clip.encode_from_tokens_scheduled(clip.tokenize("a large blue square"))
    assert torch.equal(found[1].positive[0][0], tokens)


def test_one_seed_is_for_all_prompts_and_a_negative_is_shared():
    first, second = made(seeds="7", negative="red")
    assert (first.seed, second.seed) == (7, 7)
    assert torch.equal(first.negative[0][0], second.negative[0][0])


def test_guidance_is_set_as_flux_guidance_sets_it_and_0_leaves_it_out():
    assert [example.positive[0][1]["guidance"] for example in made(guidance=3.5)] == [3.5, 3.5]
    assert "guidance" not in made(guidance=0.0)[0].positive[0][1]


def test_a_ready_conditioning_gives_an_example_for_each_different_seed():
    ready = [[torch.zeros(1, 3, 4), {}]]
    found = made(positive=ready, seeds="4, 5, 4, 4", clip=None)
    assert [(e.prompt, e.positive is ready, e.seed) for e in found] == [
        ("", True, 4), ("", True, 5)
    ]  # fmt: skip


def test_examples_of_another_node_come_first():
    before = made("one blue ring", "9")
    assert [example.seed for example in made(more=before)] == [9, 1, 2]


def test_the_default_text_has_a_seed_for_each_prompt():
    assert len(PROMPTS) == len(SEEDS) == 8


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"clip": None}, "connect clip, or connect a ready conditioning"),
        ({"prompts": " \n"}, "there is no prompt"),
        ({"seeds": "1, 2, 3"}, "there are 3 seeds for 2 prompts"),
        ({"seeds": "1, x"}, "'x' is not a seed"),
        ({"seeds": " "}, "there is no seed"),
        ({"seeds": str(2**64)}, "is not a seed"),
    ],
)
def test_what_is_missing_or_wrong_is_named(changes, reason):
    with pytest.raises(ValueError, match=reason):
        made(**changes)
