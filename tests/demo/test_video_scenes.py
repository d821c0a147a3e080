"""Clips show what their captions say; the classifier reads them."""

import itertools

import numpy as np
import pytest
import torch
from scipy import ndimage

from demo.scenes import is_held_out
from demo.video import classifier, evaluate, scenes
from demo.video.autoencoder import VideoAutoencoder


def draw(count, seed=0):
    rng = np.random.default_rng(seed)
    return [scenes.sample_clip(rng) for _ in range(count)]


@pytest.fixture(scope="module")
def clips():
    """Training clips as one tensor."""
    return torch.from_numpy(np.stack([scenes.render(clip) for clip in draw(60)]))


@pytest.fixture(scope="module")
def autoencoder(clips):
    """Fitted to these clips."""
    made = VideoAutoencoder()
    made.fit(clips)
    return made


def still(shape, start, end, **changes):
    """A clip of one black shape on white."""
    mover = scenes.Mover(shape, "black", "", start, end)
    return scenes.render(scenes.Clip("", "white", "plain", (mover,)), **changes)


def darkness(images):
    """How much of each pixel is black; white is 246 and black 22 of 255 in red."""
    return (246 / 255 - images[..., 0]) / (224 / 255)


def test_captions_use_the_vocabulary_and_all_of_it():
    used = {word for clip in draw(3000) for word in scenes.VOCABULARY.words_of(clip.caption)}
    assert used == set(scenes.VOCABULARY.words) - {""}


def test_training_and_held_out_captions_are_apart():
    assert not any(is_held_out(clip.caption) for clip in draw(300))
    assert all(is_held_out(clip.caption) for clip in evaluate.held_out(20))


def test_a_moving_circle_keeps_its_area_and_goes_evenly():
    start, end = scenes.Pose(20, 30, 10), scenes.Pose(44, 36, 10)
    images = still("circle", start, end)
    assert images.shape == (13, 64, 64, 3)
    assert images.dtype == np.float32
    cover = darkness(images)
    np.testing.assert_allclose(cover.sum((1, 2)), np.pi * 100, rtol=0.01)
    centres = [ndimage.center_of_mass(frame) for frame in cover]  # row, column of pixel middles
    # 24 pixels to the right and 6 down in 12 equal steps.
    expected = [(30 + step / 2 - 0.5, 20 + 2 * step - 0.5) for step in range(13)]
    np.testing.assert_allclose(centres, expected, atol=0.02)


def test_a_growing_square_has_the_area_of_its_radius():
    images = still("square", scenes.Pose(32, 32, 8), scenes.Pose(32, 32, 20))
    sides = 1.7 * (8 + np.arange(13))
    np.testing.assert_allclose(darkness(images).sum((1, 2)), sides**2, rtol=0.01)


def test_a_triangle_that_turns_by_a_quarter_points_right():
    images = still("triangle", scenes.Pose(32, 32, 20), scenes.Pose(32, 32, 20, scenes.TURN))
    first, last = darkness(images)[[0, -1]]
    # Clockwise by 90 degrees: what was row r from the top is column r from the right.
    np.testing.assert_allclose(last, np.rot90(first, -1), atol=1e-3)
    assert np.nonzero(first > 0.5)[0].min() == pytest.approx(32 - 1.16 * 20, abs=1.5)


@pytest.mark.parametrize(("word", "step"), scenes.DIRECTIONS.items())
def test_shapes_go_where_their_words_say(word, step):
    clips = [c for c in draw(2000, seed=1) if f"moves {word}" in c.caption]
    assert len(clips) > 100
    for clip in clips:
        first, *second = clip.movers
        way = np.array([first.end.x - first.start.x, first.end.y - first.start.y])
        assert 23 <= way @ step <= 31
        assert abs(way @ step[::-1]) < 1e-9
        for other in second:
            assert (other.end.x - other.start.x) * step[0] <= 0
            assert (other.end.y - other.start.y) * step[1] <= 0


def test_shapes_that_pass_each_other_never_touch_nor_leave_the_picture():
    for clip in draw(1500, seed=2):
        for mover in clip.movers:
            for pose in (mover.start, mover.end):
                assert min(pose.x, pose.y) - 0.98 * pose.radius > 0
                assert max(pose.x, pose.y) + 0.98 * pose.radius < 64
        for a, b in itertools.combinations(clip.movers, 2):
            lanes = [m.start.y if m.start.x != m.end.x else m.start.x for m in (a, b)]
            assert abs(lanes[0] - lanes[1]) > a.start.radius + b.start.radius


@pytest.mark.long
def test_the_classifier_reads_true_clips():
    drawn = evaluate.held_out(60)
    found = evaluate.rates([evaluate.judge(scenes.render(scene), scene) for scene in drawn])
    assert min(found.values()) >= 0.98


def test_the_classifier_sees_what_is_wrong():
    def mover(shape="circle", color="red", way=24):
        poses = scenes.Pose(20, 32, 12), scenes.Pose(20 + way, 32, 12)
        return scenes.Mover(shape, color, "right", *poses)

    truth = scenes.Clip("", "white", "plain", (mover(),))

    def verdict(*movers, background="white"):
        shown = scenes.render(scenes.Clip("", background, "plain", movers))
        return tuple(map(bool, evaluate.judge(shown, truth)))

    assert verdict(mover()) == (True, True, True, True)
    assert verdict(mover(), background="cyan") == (False, False, True, True)
    assert verdict(mover(color="blue"))[1:3] == (False, False)
    assert verdict(mover(way=2)) == (True, True, False, True)
    assert verdict(mover("square")) == (True, True, True, False)
    still_there = scenes.Mover(
        "cross", "green", "up", scenes.Pose(32, 52, 9), scenes.Pose(32, 52, 9)
    )
    assert verdict(mover(), still_there) == (True, False, True, True)


@pytest.mark.parametrize("shape", ["square", "triangle", "cross"])
def test_a_turn_is_measured(shape):
    start = scenes.Pose(30, 34, 15, 0.1)
    images = still(shape, start, scenes.Pose(30, 34, 15, 0.1 + scenes.TURN))
    maps = classifier.color_maps(images)
    masks = list(maps == list(scenes.COLORS).index("black"))
    turned = classifier.turned(masks, classifier.SYMMETRY[shape])
    assert turned == pytest.approx(scenes.TURN, abs=np.radians(4))
    assert classifier.motion(maps, "black", shape) == "turns"


def test_the_autoencoder_goes_both_ways(clips, autoencoder):
    latents = autoencoder.encode(clips)
    assert latents.shape == (60, 32, 4, 8, 8)
    for part in (latents[:, :, 0], latents[:, :, 1:].flatten(2, 3)):  # each basis by itself
        torch.testing.assert_close(part.mean((0, 2, 3)), torch.zeros(32), rtol=0, atol=1e-3)
        assert part.square().mean().item() == pytest.approx(1, abs=1e-3)
    error = (autoencoder.decode(latents) - clips).square().mean((1, 2, 3, 4))
    assert (-10 * error.log10()).mean() > 25
    # A clip of one colour is the mean patch in every place: nothing moves.
    grey = autoencoder.decode(autoencoder.encode(torch.full((1, 13, 64, 64, 3), 0.5)))
    assert grey.std((1, 2, 3)).max() < 0.05


def test_the_first_latent_is_the_first_frame_alone(clips, autoencoder):
    changed = clips.clone()
    changed[:, 1:5] = 0  # the second latent's frames
    moved = (autoencoder.encode(changed) - autoencoder.encode(clips)).abs().amax((0, 1, 3, 4))
    assert [float(x) > 0 for x in moved] == [False, True, False, False]
    # Frames after the last group of four are cut.
    assert autoencoder.encode(torch.rand(1, 12, 16, 16, 3)).shape == (1, 32, 3, 2, 2)
