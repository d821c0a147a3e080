"""The network of LPIPS against a forward pass of our own, with seeded random weights."""

import functools
import sys
import urllib.request
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from gph_core.quality import lpips_network, metrics

from ...support.selection import later

# The convolutions of torchvision's features, their numbers there; "pool" is a maximum over 3 x 3
# with stride 2 in AlexNet, over 2 x 2 in VGG16. LPIPS looks where "look" stands.
ALEXNET = [
    (0, 3, 64, 11, 4, 2), "look", "pool", (3, 64, 192, 5, 1, 2), "look", "pool",
    (6, 192, 384, 3, 1, 1), "look", (8, 384, 256, 3, 1, 1), "look", (10, 256, 256, 3, 1, 1), "look",
]  # fmt: skip
VGG16 = [
    (0, 3, 64, 3, 1, 1), (2, 64, 64, 3, 1, 1), "look", "pool",
    (5, 64, 128, 3, 1, 1), (7, 128, 128, 3, 1, 1), "look", "pool",
    (10, 128, 256, 3, 1, 1), (12, 256, 256, 3, 1, 1), (14, 256, 256, 3, 1, 1), "look", "pool",
    (17, 256, 512, 3, 1, 1), (19, 512, 512, 3, 1, 1), (21, 512, 512, 3, 1, 1), "look", "pool",
    (24, 512, 512, 3, 1, 1), (26, 512, 512, 3, 1, 1), (28, 512, 512, 3, 1, 1), "look",
]  # fmt: skip
NETS = {"alex": (ALEXNET, 3), "vgg": (VGG16, 2)}


@functools.cache
def weights_of(net):
    """Random weights under torchvision's names, with a layer of the classifier."""
    generator = torch.Generator().manual_seed(0)
    weights = {"classifier.6.bias": torch.zeros(1000)}
    for layer in NETS[net][0]:
        if isinstance(layer, tuple):
            number, inputs, outputs, size, _, _ = layer
            shape = (outputs, inputs, size, size)
            scale = (2 / (inputs * size * size)) ** 0.5  # keeps the activations in range
            weights[f"features.{number}.weight"] = scale * torch.randn(shape, generator=generator)
            weights[f"features.{number}.bias"] = 0.1 * torch.randn(outputs, generator=generator)
    return weights


def by_hand(net, weights, first, second):
    """Equation 1 of Zhang et al. (2018) with the learned weights of the package's files."""
    import lpips

    file = Path(lpips.__file__).parent / f"weights/v0.1/{net}.pth"
    heads = torch.load(file, map_location="cpu", weights_only=True)
    # The package's normalisation of [-1, 1], which is ImageNet's of [0, 1].
    mean = torch.tensor([-0.030, -0.088, -0.188]).reshape(1, 3, 1, 1)
    deviation = torch.tensor([0.458, 0.448, 0.450]).reshape(1, 3, 1, 1)
    a, b = (first - mean) / deviation, (second - mean) / deviation
    layers, window = NETS[net]
    total, looked = torch.zeros(len(first)), 0
    for layer in layers:
        if layer == "pool":
            a, b = F.max_pool2d(a, window, 2), F.max_pool2d(b, window, 2)
        elif layer == "look":
            difference = (F.normalize(a, dim=1) - F.normalize(b, dim=1)) ** 2
            head = heads[f"lin{looked}.model.1.weight"]
            total = total + (difference * head).sum(1).mean((1, 2))
            looked += 1
        else:
            number, _, _, _, stride, padding = layer
            kernel = [weights[f"features.{number}.{part}"] for part in ("weight", "bias")]
            a, b = (F.conv2d(x, *kernel, stride, padding).relu() for x in (a, b))
    return total


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    for net in NETS:
        torch.save(weights_of(net), folder / f"{net}.pth")
    save_file(weights_of("alex"), folder / "alex.safetensors")
    return folder


@pytest.fixture(scope="module")
def network(folder):
    """Function that reads each file once."""
    return functools.cache(lambda name: lpips_network.load(folder / name))


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test of this file reaches for the net."""
    called = []
    for target in (urllib.request, torch.hub):
        for name in ("urlopen", "download_url_to_file", "load_state_dict_from_url"):
            if hasattr(target, name):
                monkeypatch.setattr(target, name, lambda *args, **_: called.append(args))
    yield
    assert called == []


def images(*shape):
    generator = torch.Generator().manual_seed(7)
    return torch.rand(2, *shape, generator=generator)


@pytest.mark.parametrize(
    ("net", "name", "ending"),
    [
        ("alex", "AlexNet", "pth"),
        ("alex", "AlexNet", "safetensors"),
        pytest.param("vgg", "VGG16", "pth", marks=pytest.mark.long),
    ],
)
def test_lpips_agrees_with_a_forward_pass_by_hand(network, net, name, ending):
    of_net = network(f"{net}.{ending}")
    assert of_net.backbone.name == name
    reference, test = images(2, 3, 40, 32)
    expected = by_hand(net, weights_of(net), 2 * reference - 1, 2 * test - 1)
    assert expected.min() > 0.01  # the images differ in the eyes of the network
    torch.testing.assert_close(metrics.lpips(reference, test, of_net), expected)


def test_the_random_numbers_of_the_process_go_on_as_before(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    lpips_network.load(folder / "alex.pth")
    torch.testing.assert_close(torch.rand(2), expected, rtol=0, atol=0)


@pytest.mark.parametrize(("net", "smallest"), [("alex", 31), *later(("vgg", 16))])
def test_images_that_a_pooling_would_make_vanish_are_refused(network, net, smallest):
    of_net = network(f"{net}.pth")
    assert metrics.lpips(*images(1, 3, smallest, 40), of_net).isfinite().all()
    message = f"at least {smallest} x {smallest} pixels, these have 40 x {smallest - 1}"
    with pytest.raises(ValueError, match=message):
        metrics.lpips(*images(1, 3, smallest - 1, 40), of_net)


def broken(case, folder):
    weights = dict(weights_of("alex"))
    if case == "another network":
        weights = {"conv1.weight": torch.zeros(64, 3, 7, 7)}
    elif case == "no weights":
        weights = [1, 2]
    elif case == "a part is missing":
        del weights["features.8.bias"]
    elif case == "another width":
        weights["features.10.weight"] = torch.zeros(128, 256, 3, 3)
    file = folder / "file.pth"
    torch.save(weights, file)
    return file


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("another network", "has not the weights of torchvision's AlexNet or VGG16"),
        ("no weights", "has not the weights of torchvision's AlexNet or VGG16"),
        ("a part is missing", "no whole AlexNet: features.8.bias is missing"),
        ("another width", "is no AlexNet of torchvision"),
    ],
)
def test_other_weights_are_refused(tmp_path, case, message):
    with pytest.raises(ValueError, match=message):
        lpips_network.load(broken(case, tmp_path))


class Evil:
    """Code that a pickle would run."""

    def __reduce__(self):
        return (print, ("the pickle was run",))


@pytest.mark.parametrize("ending", ["pth", "safetensors"])
def test_a_file_that_is_damaged_or_holds_code_is_refused(tmp_path, ending, capsys):
    file = tmp_path / f"file.{ending}"
    file.write_bytes(b"\x00" * 100)
    with pytest.raises(ValueError, match="cannot be read as a file of weights"):
        lpips_network.load(file)
    torch.save({"features.0.weight": Evil()}, file)
    with pytest.raises(ValueError, match="cannot be read as a file of weights"):
        lpips_network.load(file)
    assert capsys.readouterr().out == ""


def test_without_its_package_the_message_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "lpips", None)
    with pytest.raises(ImportError, match="pip install lpips"):
        lpips_network.load(folder / "alex.pth")
