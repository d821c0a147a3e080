"""The CLIP score by ComfyUI's classes is that of transformers; what cannot be scored is refused."""

from types import SimpleNamespace

import comfy.sd
import pytest
import torch
from golden_path_pack.nodes.semantic.clip_judge import ClipJudge

from ...support.comfy import tiny_clip
from ...support.comfy.tiny_clip import SIDE

MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073])
DEVIATION = torch.tensor([0.26862954, 0.26130258, 0.27577711])
PROMPTS = ("two red circles", "a large blue square", "an owl reads a book under a lamp")


@pytest.fixture(scope="module")
def clip():
    """A CLIP of transformers."""
    return tiny_clip.published()


@pytest.fixture(scope="module")
def judge(clip):
    return ClipJudge(tiny_clip.vision(clip), tiny_clip.text(clip))


def images(count, side=SIDE):
    """Images of 8 bit, so that nothing is rounded on the way."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (count, side, side, 3), generator=generator) / 255


def expected(clip, image, prompt):
    """Score by transformers; tokens as ComfyUI's tokenizer, which is that of transformers."""
    tokens = tiny_clip.text(clip).tokenizer.clip_l.tokenizer(prompt)["input_ids"]
    pixels = ((image - MEAN) / DEVIATION).movedim(-1, 0)[None]
    with torch.no_grad():
        found = clip(input_ids=torch.tensor([tokens]), pixel_values=pixels)
    seen, said = found.image_embeds[0], found.text_embeds[0]  # both of length 1
    return 100 * max(float(seen @ said), 0)


def test_scores_are_those_of_transformers(clip, judge):
    pairs = [(image, prompt) for image in images(4) for prompt in PROMPTS]
    wanted = [expected(clip, *pair) for pair in pairs]
    found = [judge.score(image[None], prompt) for image, prompt in pairs]
    assert found == pytest.approx(wanted, abs=1e-4)
    assert len({round(score, 2) for score in wanted if score > 0.1}) > 3  # so that they tell apart


def test_only_the_middle_square_of_an_image_counts(judge):
    image = images(1)
    wide = torch.rand(1, SIDE, 3 * SIDE, 3)
    wide[:, :, SIDE : 2 * SIDE] = image
    assert judge.score(wide, PROMPTS[0]) == pytest.approx(judge.score(image, PROMPTS[0]), abs=1e-4)


def test_weights_of_words_do_not_count(judge):
    image = images(1)
    plain = judge.score(image, "two red circles")
    assert judge.score(image, "two (red:1.4) circles") == pytest.approx(plain, abs=1e-4)


def test_a_layer_that_is_set_for_sampling_does_not_count(clip, judge):
    text = tiny_clip.text(clip)
    text.clip_layer(-2)
    found = ClipJudge(tiny_clip.vision(clip), text).score(images(1), PROMPTS[0])
    assert found == judge.score(images(1), PROMPTS[0])


def test_the_text_encoder_samples_afterwards_as_before(clip):
    text = tiny_clip.text(clip)
    before = text.encode_from_tokens(text.tokenize(PROMPTS[0]), return_pooled=True)
    ClipJudge(tiny_clip.vision(clip), text).score(images(1), PROMPTS[1])
    after = text.encode_from_tokens(text.tokenize(PROMPTS[0]), return_pooled=True)
    assert all(a.equal(b) for a, b in zip(before, after, strict=True))


def test_a_long_prompt_counts_up_to_what_clip_reads_at_once(judge):
    long = " ".join(["circle"] * 75)
    assert judge.score(images(1), f"{long} square") == judge.score(images(1), long)


def test_another_clip_has_another_fingerprint(clip, judge):
    again = ClipJudge(tiny_clip.vision(clip), tiny_clip.text(clip))
    other = tiny_clip.published(seed=1)
    assert again.fingerprint == judge.fingerprint
    for vision, text in ((clip, other), (other, clip)):
        mixed = ClipJudge(tiny_clip.vision(vision), tiny_clip.text(text))
        assert mixed.fingerprint != judge.fingerprint


@pytest.mark.parametrize("left", ["zeros", "a unit matrix", "no numbers", "what lay in memory"])
@pytest.mark.parametrize("side", ["text_projection", "visual_projection"])
def test_a_projection_without_weights_is_refused_by_name(clip, side, left):
    vision, text = tiny_clip.vision(clip), tiny_clip.text(clip)
    projection = {
        "text_projection": text.cond_stage_model.clip_l.transformer.text_projection,
        "visual_projection": vision.model.visual_projection,
    }[side]
    shape = projection.weight.shape
    made = {
        "zeros": torch.zeros(shape),
        "a unit matrix": torch.eye(*shape),
        "no numbers": torch.full(shape, float("nan")),
        "what lay in memory": torch.randn(shape) * 10 ** (8 * torch.rand(shape) - 4),
    }[left]
    projection.weight.data = made.to(projection.weight.dtype)
    with pytest.raises(ValueError, match=f"has no {side}.*clip-vit-large-patch14.*Load CLIP"):
        ClipJudge(vision, text)


def test_a_file_without_a_text_projection_is_named_whatever_lies_in_its_place(clip, tmp_path):
    path = tmp_path / "sd_clip_l.safetensors"
    text = tiny_clip.saved(clip, path, without=["text_projection.weight"])
    with pytest.raises(ValueError, match=r"^clip \(sd_clip_l.safetensors\) has no text_projection"):
        ClipJudge(tiny_clip.vision(clip), text)


def test_a_file_with_a_text_projection_is_taken(clip, judge, tmp_path):
    text = tiny_clip.saved(clip, tmp_path / "clip.safetensors")
    found = ClipJudge(tiny_clip.vision(clip), text).score(images(1), PROMPTS[0])
    assert found == judge.score(images(1), PROMPTS[0])
    text.patcher.cached_patcher_init = (None, ([str(tmp_path / "moved.safetensors")], None))
    ClipJudge(tiny_clip.vision(clip), text)  # nothing can be told of a file that is gone


def test_comfyui_itself_takes_a_text_encoder_without_a_projection(clip):
    # If this fails, ComfyUI refuses such a file itself.
    text = tiny_clip.text(clip, without=["text_projection.weight"])
    assert isinstance(text, comfy.sd.CLIP)


def test_encoders_of_two_clips_are_refused_with_both_widths(clip):
    other = tiny_clip.published(width=64)
    message = "embeddings of 32 numbers, clip those of 64; both have to be of the same CLIP"
    with pytest.raises(ValueError, match=message):
        ClipJudge(tiny_clip.vision(clip), tiny_clip.text(other))


def test_an_image_encoder_of_another_kind_is_refused(clip):
    text = tiny_clip.text(clip)
    without = tiny_clip.vision(clip, projection_dim=None)
    with pytest.raises(ValueError, match="clip_vision is no CLIP with a visual projection"):
        ClipJudge(without, text)
    siglip = tiny_clip.vision(clip)
    siglip.model_type = "siglip_vision_model"
    with pytest.raises(ValueError, match="such as SigLIP or DINO"):
        ClipJudge(siglip, text)


def test_a_text_encoder_without_clip_is_refused(clip):
    with pytest.raises(ValueError, match="clip holds no text encoder of a CLIP"):
        ClipJudge(tiny_clip.vision(clip), SimpleNamespace(cond_stage_model=torch.nn.Linear(1, 1)))


def test_a_text_encoder_with_a_lora_is_refused(clip):
    text = tiny_clip.text(clip)
    key = "clip_l.transformer.text_projection.weight"
    text.add_patches({key: (torch.ones(32, 32),)})
    with pytest.raises(ValueError, match="clip is changed by a LoRA"):
        ClipJudge(tiny_clip.vision(clip), text)
