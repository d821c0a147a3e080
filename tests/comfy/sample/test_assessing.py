"""Metrics of decoded results: on which device, frame by frame, and what is kept of a reference."""

import math
from types import SimpleNamespace

import comfy.model_management
import pytest
import torch
from golden_path_pack.gph_core.quality import lpips_network
from golden_path_pack.gph_core.quality.lpips_network import BACKBONES, LpipsNetwork
from golden_path_pack.nodes.sample import lpips_weights
from golden_path_pack.nodes.sample.assessing import assessor_for, is_video

from ...support.comfy.quality import compared

META = torch.device("meta")  # stands in for a GPU: what is there cannot meet what is not
ALEXNET = BACKBONES[64, 3, 11, 11]


class Vae:
    """Hands out given images, ``[B, H, W, C]`` or videos ``[B, F, H, W, C]``."""

    def __init__(self, images):
        self.images = images

    def decode(self, latent):
        return self.images


def images(*shape, seed=0):
    return torch.rand(*shape, 3, generator=torch.Generator().manual_seed(seed))


def results(assessor, *decoded):
    for pictures in decoded:
        assessor.vae.images = pictures
        yield assessor.result(torch.zeros(len(pictures), 4, 2, 2))


@pytest.fixture
def gpu(monkeypatch):
    """ComfyUI on a machine with another device, which keeps account of LPIPS on it."""
    account = SimpleNamespace(compared=[], freed=[])

    def compare(first, second):
        assert first.device == second.device == META
        account.compared.append(tuple(first.shape))
        return torch.full((len(first), 1, 1, 1), 0.25)

    def load(choice, device):
        assert (choice, device) == ("alexnet.pth", META)
        return LpipsNetwork(ALEXNET, compare)

    monkeypatch.setattr(lpips_weights, "load", load)
    management = comfy.model_management
    monkeypatch.setattr(management, "get_torch_device", lambda: META)
    monkeypatch.setattr(management, "free_memory", lambda *args: account.freed.append(args))
    return account


@pytest.mark.parametrize("objective", ["PSNR", "SSIM"])
def test_a_full_run_without_a_picture_is_an_error(objective):
    black = images(1, 16, 16)
    black[0, 3, 3] = math.nan
    assessor = assessor_for(objective, Vae(black), "off")
    with pytest.raises(ValueError, match="values that are not finite"):
        assessor.reference(torch.zeros(1, 4, 2, 2))


@pytest.mark.parametrize("objective", ["LPIPS", "PSNR and LPIPS"])
def test_a_search_by_lpips_brings_images_to_the_networks_device(gpu, objective):
    assessor = assessor_for(objective, Vae(None), "alexnet.pth")
    test, reference = results(assessor, images(2, 32, 40, seed=1), images(2, 32, 40))
    assert [found["lpips"] for found in assessor.metrics(test, reference)] == [0.25, 0.25]
    assert gpu.compared == [(1, 3, 32, 40)] * 2
    assert gpu.freed == [(270 * 32 * 40, META)] * 2  # 270 bytes a pixel, as measured for AlexNet


def test_quality_compare_brings_images_to_the_networks_device(gpu):
    output = compared(images(2, 32, 40), images(2, 32, 40, seed=1), "alexnet.pth")
    assert output.result[2] == 0.25
    assert gpu.freed == [(270 * 32 * 40, META)] * 2


def test_the_network_itself_compares_there(gpu, monkeypatch):
    module = lpips_network._with_random_weights("alex").to(META)
    monkeypatch.setattr(lpips_weights, "load", lambda *_: LpipsNetwork(ALEXNET, module))
    distance, name = lpips_weights.network("alexnet.pth")
    planes = images(2, 32, 40).movedim(-1, 1)
    assert (distance(planes, planes).device, name) == (META, "AlexNet")


def test_frames_of_a_video_are_compared_one_at_a_time(gpu):
    assessor = assessor_for("LPIPS", Vae(None), "alexnet.pth")
    test, reference = results(assessor, images(1, 5, 32, 40, seed=1), images(1, 5, 32, 40))
    assert assessor.metrics(test, reference)[0]["lpips"] == 0.25
    assert gpu.compared == [(1, 3, 32, 40)] * 5


# --- videos ---------------------------------------------------------------------------------------


def grey_video(*greys):
    """``[1, F, 32, 40, 3]`` of one grey in each frame."""
    return torch.tensor(greys).reshape(1, -1, 1, 1, 1).expand(1, -1, 32, 40, 3) / 255


def assessed(objective, reference, test):
    assessor = assessor_for(objective, Vae(reference), "off")
    latents = torch.zeros(1, 4, 2, 2, 2)
    kept = assessor.reference(latents)
    assessor.vae.images = test
    return kept, assessor.metrics(assessor.result(latents), kept)[0]


def test_the_change_from_frame_to_frame_is_the_mean_of_all_pairs():
    # Changes of 10, 10 and 0 in one, of 0, 15 and 10 in the other: errors of 10, 5 and 10.
    kept, found = assessed("PSNR Δt", grey_video(0, 10, 20, 20), grey_video(0, 0, 15, 25))
    expected = [20 * math.log10(255 / error) for error in (10, 5, 10)]
    assert found["frame_psnr"] == pytest.approx(sum(expected) / 3)
    assert set(found) == {"frame_psnr", "latent_mse"}
    assert kept.images[0].dtype == torch.uint8


def test_an_error_that_stays_costs_psnr_alone():
    steady = grey_video(0, 10, 20), grey_video(8, 18, 28)
    assert assessed("PSNR Δt", *steady)[1]["frame_psnr"] == math.inf
    psnr = assessed("PSNR", *steady)[1]["psnr"]
    assert psnr == pytest.approx(20 * math.log10(255 / 8))


def test_a_first_frame_that_is_given_does_not_make_a_video_identical():
    # As in image to video, where every run keeps it; the other frames are off by 5 and by 10.
    found = assessed("PSNR", grey_video(50, 0, 0), grey_video(50, 5, 10))[1]
    expected = [20 * math.log10(255 / error) for error in (5, 10)]
    assert found["psnr"] == pytest.approx(sum(expected) / 2)
    assert assessed("PSNR", grey_video(50, 0), grey_video(50, 0))[1]["psnr"] == math.inf


def test_pixels_beyond_white_and_black_are_clipped_and_others_not_copied():
    inside, outside = images(1, 2, 32, 40), 3 * images(1, 2, 32, 40) - 1
    assessor = assessor_for("PSNR", Vae(inside), "off")
    latents = torch.zeros(1, 4, 2, 2, 2)
    assert assessor.result(latents).images[0].data_ptr() == inside.data_ptr()
    assessor.vae.images = outside
    (clipped,) = assessor.result(latents).images
    assert torch.equal(clipped, outside[0].clamp(0, 1).movedim(-1, 1))
    assert (outside.min() < 0, outside.max() > 1) == (True, True)  # the VAE's own is as it was


@pytest.mark.parametrize(
    ("shape", "vae", "video"),
    [
        ((1, 16, 3, 8, 8), None, True),
        ((1, 16, 3, 8, 8), SimpleNamespace(latent_dim=3), True),
        ((1, 16, 3, 8, 8), SimpleNamespace(latent_dim=2), False),  # it decodes the first one only
        ((1, 16, 1, 8, 8), SimpleNamespace(latent_dim=3), False),  # an image of a video model
        ((1, 16, 8, 8), None, False),
    ],
)
def test_a_video_has_several_places_in_time_and_a_vae_for_them(shape, vae, video):
    assert is_video(torch.zeros(shape), vae) == video


# --- what is kept of a reference ------------------------------------------------------------------


def kept(objective, pictures, lpips="off"):
    assessor = assessor_for(objective, Vae(pictures), lpips)
    return assessor, assessor.reference(torch.zeros(len(pictures), 4, 2, 2))


def test_references_of_psnr_are_kept_in_8_bit_and_give_the_very_same_psnr():
    pictures = images(3, 32, 40)
    pictures[0] = (torch.arange(32 * 40 * 3).reshape(32, 40, 3) % 511) / 510  # halves of steps
    assessor, reference = kept("PSNR", pictures)
    assert [item.dtype for item in reference.images] == [torch.uint8] * 3
    (whole,) = results(assessor, pictures)
    (test,) = results(assessor, pictures + 0.1 * (images(3, 32, 40, seed=1) - 0.5))
    assert assessor.metrics(test, reference) == assessor.metrics(test, whole)
    (same,) = results(assessor, pictures)
    assert [found["psnr"] for found in assessor.metrics(same, reference)] == [math.inf] * 3


@pytest.mark.parametrize("objective", ["SSIM", "LPIPS", "PSNR and LPIPS"])
def test_references_of_other_metrics_are_kept_as_they_are(gpu, objective):
    pictures = images(2, 32, 40)
    _, reference = kept(objective, pictures, "alexnet.pth")
    assert torch.equal(torch.stack(reference.images), pictures.movedim(-1, 1).unsqueeze(1))
