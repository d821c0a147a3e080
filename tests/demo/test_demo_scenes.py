import numpy as np
import pytest
import torch

from demo import scenes
from demo.autoencoder import PatchAutoencoder
from demo.subjects import PROMPTS
from demo.training import classifier, evaluate, learning_rate_factor
from demo.training.train import batch


def draw(count, seed=0):
    rng = np.random.default_rng(seed)
    return [scenes.sample_scene(rng) for _ in range(count)]


def test_captions_use_the_vocabulary_and_all_of_it():
    used = {word for scene in draw(3000) for word in scenes.words_of(scene.caption)}
    assert used == set(scenes.VOCABULARY) - {""}


def test_training_and_held_out_captions_are_apart():
    rng = np.random.default_rng(0)
    assert not any(scenes.is_held_out(s.caption) for s in draw(500))
    assert all(
        scenes.is_held_out(scenes.sample_scene(rng, held_out=True).caption) for _ in range(20)
    )


def test_the_demo_shows_held_out_captions():
    assert all(scenes.is_held_out(text) for text in PROMPTS.values())


def test_images_are_colors_in_range_and_antialiased():
    circle = scenes.PlacedShape("circle", "black", 32, 32, 10)
    scene = scenes.Scene("", "white", "plain", (0, 0), (circle,))
    image = scenes.render(scene)
    assert image.shape == (64, 64, 3)
    assert image.dtype == np.float32
    dark = 1 - (image[..., 0] - 22 / 255) / (224 / 255)
    # Coverage sums to the area of the circle.
    assert dark.sum() == pytest.approx(np.pi * 10**2, rel=0.01)
    assert ((dark > 0.05) & (dark < 0.95)).sum() > 20


@pytest.mark.parametrize("shape", scenes.SHAPES)
def test_every_shape_is_symmetric_and_inside_its_radius(shape):
    placed = scenes.PlacedShape(shape, "black", 32, 32, 20)
    image = scenes.render(scenes.Scene("", "white", "plain", (0, 0), (placed,)))[..., 0]
    np.testing.assert_allclose(image, image[:, ::-1], atol=1e-5)
    rows, columns = np.nonzero(image < 0.5)
    assert np.hypot(rows + 0.5 - 32, columns + 0.5 - 32).max() < 1.25 * 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A red circle, on the plain white background.", "red circle on plain white background"),
        ("", ""),
        ("blue ring left of pink cross", "blue ring left of pink cross"),
    ],
)
def test_prompts_are_read_leniently(text, words):
    assert scenes.words_of(text) == words.split()


def test_an_unknown_word_is_an_error_that_lists_the_vocabulary():
    with pytest.raises(ValueError, match=r"does not know 'brown'.*red, orange.*diamonds"):
        scenes.word_ids("a brown ring")


def test_a_long_prompt_is_an_error():
    with pytest.raises(ValueError, match="the prompt has 13 words, the demo model reads 12"):
        scenes.word_ids("red " * 13)


def test_word_ids_are_padded():
    ids = scenes.word_ids("red ring")
    assert [scenes.VOCABULARY[i] for i in ids] == ["red", "ring", *[""] * 10]


def test_the_classifier_reads_true_images():
    verdicts = [evaluate.judge(scenes.render(scene), scene) for scene in draw(200, seed=1)]
    assert min(np.sum(verdicts, axis=0)) >= 198


@pytest.mark.parametrize(
    ("drawn", "wrong"),
    [
        (("red", "ring", 2), set()),
        (("red", "ring", 1), {"counts", "shapes"}),
        (("red", "circle", 2), {"shapes"}),
        (("pink", "ring", 2), {"colors", "only", "counts", "shapes"}),
    ],
)
def test_a_verdict_says_what_is_wrong(drawn, wrong):
    def scene(color, shape, count):
        placed = [scenes.PlacedShape(shape, color, x, 32, 10) for x in (16, 48)[:count]]
        return scenes.Scene("", "blue", "dotted", (0, 0), tuple(placed))

    verdict = evaluate.judge(scenes.render(scene(*drawn)), scene("red", "ring", 2))
    assert {field for field, right in verdict._asdict().items() if not right} == wrong


@pytest.mark.parametrize("shape", scenes.SHAPES)
def test_a_shape_is_read_at_any_size(shape):
    for radius in (8, 12, 20):
        scene = scenes.Scene(
            "", "blue", "plain", (0, 0), (scenes.PlacedShape(shape, "red", 31, 33, radius),)
        )
        (mask,) = classifier.pieces(classifier.color_map(scenes.render(scene)), "red")
        assert classifier.shape_of(mask) == shape


def test_the_classifier_misses_a_wrong_color():
    scene = scenes.Scene(
        "", "blue", "dotted", (0, 0), (scenes.PlacedShape("ring", "red", 30, 30, 12),)
    )
    colors = classifier.color_map(scenes.render(scene))
    assert classifier.background_color(colors) == "blue"
    assert classifier.shape_colors(colors, "blue") == {"red"}


def test_a_color_that_is_only_here_and_there_is_no_shape():
    red, blue = (list(scenes.COLORS).index(color) for color in ("red", "blue"))
    colors = np.full((40, 40), blue)
    for n in range(6):  # six squares with 2 by 2 inner pixels each
        colors[5:9, 5 * n + 1 : 5 * n + 5] = red
    assert classifier.shape_colors(colors, "blue") == set()
    colors[20:26, 5:13] = red  # 4 by 6 inner pixels
    assert classifier.shape_colors(colors, "blue") == {"red"}


def test_the_autoencoder_keeps_what_48_components_can():
    images = torch.from_numpy(np.stack([scenes.render(scene) for scene in draw(300)]))
    autoencoder = PatchAutoencoder()
    autoencoder.fit(images)
    latents = autoencoder.encode(images)
    assert latents.shape == (300, 48, 8, 8)
    torch.testing.assert_close(latents.mean((0, 2, 3)), torch.zeros(48), rtol=0, atol=1e-3)
    assert latents.square().mean().item() == pytest.approx(1, abs=1e-3)
    # Independent: the error of the best 48-dimensional subspace, from the singular values.
    patches = images.unflatten(1, (8, 8)).unflatten(3, (8, 8)).permute(0, 1, 3, 2, 4, 5)
    values = patches.reshape(-1, 192).double()
    singular = torch.linalg.svdvals(values - values.mean(0))
    least = (singular[48:] ** 2).sum() / values.numel()
    error = (autoencoder.decode(latents) - images).double().square().mean()
    assert error <= least * 1.001  # clipping to [0, 1] can only help
    assert error >= 0.8 * least


def test_training_batches_are_reproducible_and_differ_by_step():
    autoencoder = PatchAutoencoder()
    autoencoder.fit(torch.from_numpy(np.stack([scenes.render(scene) for scene in draw(50)])))
    first, again, other = (batch(autoencoder, 0, 4, step) for step in (5, 5, 6))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    latents, ids, times, noise = first
    assert latents.shape == (4, 48, 8, 8)
    assert ids.shape == (4, 12)
    assert noise.shape == (4, 48, 8, 8)
    assert ((times > 0) & (times < 1)).all()


def test_the_learning_rate_warms_up_stays_and_falls_to_zero():
    assert learning_rate_factor(0, 10_000) == pytest.approx(1 / 300)
    assert learning_rate_factor(7000, 10_000) == 1
    assert learning_rate_factor(8500, 10_000) == pytest.approx(0.5)
    assert learning_rate_factor(10_000, 10_000) == 0
