"""compare/image_metrics: comparing videos frame by frame makes no second copy of them."""

from types import SimpleNamespace

import pytest
import torch
from golden_path_pack.nodes.compare.image_metrics import measured_beside_first
from golden_path_pack.nodes.sample.assessing import assessor_for, assessor_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...support.comfy.quality import compared, pictures

pytestmark = pytest.mark.usefixtures("temporary")
OFF = "off"
FRAMES, HEIGHT, WIDTH = 24, 24, 32
FRAME = HEIGHT * WIDTH * 3 * 4  # bytes
CLIP = FRAMES * FRAME
# Two frames in double precision have four; the error of a video has a third of it.
LARGE = CLIP // 5


class Allocations(TorchDispatchMode):
    """Bytes of each large tensor that operations make within a block."""

    def __init__(self):
        super().__init__()
        self.large = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        given = {storage(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        for made in tree_leaves(found):
            if isinstance(made, torch.Tensor) and storage(made) not in given:
                size = made.untyped_storage().nbytes()
                self.large += [size] if size >= LARGE else []
        return found


def storage(tensor):
    return tensor.untyped_storage().data_ptr()


def videos():
    generator = torch.Generator().manual_seed(5)
    return torch.rand(2, FRAMES, HEIGHT, WIDTH, 3, generator=generator)


def test_a_copy_of_a_video_is_noticed_and_a_frame_is_not():
    video, _ = videos()
    with Allocations() as made:
        video.double()
        [frame.double() for frame in video]
        video.flatten(1)[:, 1:].abs()
    assert made.large == [2 * CLIP, pytest.approx(CLIP, rel=0.01)]


def test_quality_compare_makes_the_error_and_its_outputs_alone():
    reference, test = videos()
    with Allocations() as made:
        output = compared(reference, test, video=True)
    heat_map, strip = pictures(output)
    assert made.large == [CLIP // 3, heat_map.nbytes, strip.nbytes]


def test_compare_run_makes_nothing_of_a_videos_size():
    pair = list(videos())
    with Allocations() as made:
        measured, _ = measured_beside_first(pair, OFF, FRAMES)
    assert made.large == []
    assert {"psnr", "ssim", "frame_psnr"} <= measured[0].figures.keys()


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda vae: assessor_of(vae, OFF, video=True)[0], []),  # as the VAE made it
        (lambda vae: assessor_for("PSNR Δt", vae, OFF), [CLIP // 4]),  # in 8 bit
        (lambda vae: assessor_for("PSNR", vae, OFF), [CLIP // 4]),
    ],
    ids=["shootout", "search by PSNR Δt", "search by PSNR"],
)
def test_an_assessor_makes_what_it_keeps_of_a_full_run_alone(make, kept):
    decoded = iter(videos())
    assessor = make(SimpleNamespace(decode=lambda _: next(decoded)[None], latent_dim=3))
    latent = torch.zeros(1, 4, 12, 3, 4)
    with Allocations() as made:
        reference = assessor.reference(latent)
        assessor.metrics(assessor.result(latent), reference)
    assert made.large == kept
