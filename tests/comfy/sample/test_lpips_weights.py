"""Where LPIPS of Quality Compare gets its weights: a file of the folder, or a chosen download."""

import contextlib
import hashlib
import http.server
import json
import re
import threading
from io import BytesIO
from pathlib import Path

import comfy.utils
import folder_paths
import pytest
import torch
from comfy_execution.graph_utils import ExecutionBlocker
from golden_path_pack.gph_core.quality import lpips_network, metrics
from golden_path_pack.nodes.compare.quality_compare import QualityCompare
from golden_path_pack.nodes.sample import lpips_weights
from torchvision.models import AlexNet_Weights, alexnet

from ...support.comfy.quality import compared, table

pytestmark = pytest.mark.usefixtures("temporary")

OFF, DOWNLOAD = lpips_weights.OFF, lpips_weights.DOWNLOAD
PUBLISHED = lpips_weights.URL
REGISTERED = folder_paths.get_folder_paths("lpips")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the weights, empty; nothing of this file may reach for the net."""
    place = {**folder_paths.folder_names_and_paths, "lpips": ([str(tmp_path)], set())}
    monkeypatch.setattr(folder_paths, "folder_names_and_paths", place)
    monkeypatch.setattr(lpips_weights, "URL", "http://127.0.0.1:9/alexnet-owt-7be5be79.pth")
    return tmp_path


@pytest.fixture(scope="module")
def weights():
    """AlexNet with random weights, as the bytes of a file."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        state = {f"features.{k}": v for k, v in alexnet(weights=None).features.state_dict().items()}
    torch.save(state, file := BytesIO())
    return file.getvalue()


def noisy(count):
    generator = torch.Generator().manual_seed(5)
    return torch.rand(2, count, 32, 40, 3, generator=generator)


def choices():
    (lpips,) = (slot for slot in QualityCompare.define_schema().inputs if slot.id == "lpips")
    return lpips.options


def test_the_files_of_the_folder_are_offered(folder):
    assert choices() == [OFF, DOWNLOAD]
    for name in ("alexnet.pth", "vgg.safetensors", "readme.txt", "rest.part"):
        (folder / name).touch()
    assert choices() == [OFF, "alexnet.pth", "vgg.safetensors", DOWNLOAD]


def test_lpips_is_that_of_the_file(folder, weights):
    (folder / "alexnet.pth").write_bytes(weights)
    reference, test = noisy(3)
    output = compared(reference, test, "alexnet.pth", video=True)
    network = lpips_network.load(folder / "alexnet.pth")
    planes = reference.movedim(-1, 1), test.movedim(-1, 1)
    expected = metrics.lpips(*planes, network).tolist()
    found = table(output)
    assert found["lpips_network"] == "AlexNet"
    assert found["metrics"]["lpips"]["values"] == pytest.approx(expected, rel=1e-5)
    assert output.result[2] == pytest.approx(sum(expected) / 3)
    change = metrics.frame_change(*planes, network).tolist()
    assert found["metrics"]["frame_change"]["values"] == pytest.approx(change, abs=1e-6)
    assert found["unavailable"] == {}


def test_the_change_between_frames_is_measured_of_videos_alone(folder, weights):
    (folder / "alexnet.pth").write_bytes(weights)
    assert "frame_change" not in table(compared(*noisy(2), "alexnet.pth"))["metrics"]
    found = table(compared(*noisy(1), "alexnet.pth", video=True))
    assert "at least 2 frames, got 1" in found["unavailable"]["frame_change"]


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("gone.pth", "gone.pth is not in .*; put it there, or choose 'download now"),
        ("../up.pth", "up.pth is not in"),
        (DOWNLOAD, "the download of http.* failed .*; try again, or put the file into"),
        ("damaged.pth", "damaged.pth cannot be read as a file of weights"),
    ],
)
def test_without_weights_the_other_figures_are_there_and_the_reason(folder, choice, reason):
    (folder.parent / "up.pth").touch()
    (folder / "damaged.pth").write_bytes(b"nothing")
    assert QualityCompare.validate_inputs(lpips=[choice]) is True
    output = compared(*noisy(2), choice, video=True)
    report = json.loads(output.result[5])
    assert set(report["metrics"]) == {"psnr", "psnr_8bit", "ssim", "frame_psnr"}
    assert set(report["unavailable"]) == {"lpips", "frame_change"}
    assert re.search(reason, report["unavailable"]["lpips"])
    assert isinstance(output.result[2], ExecutionBlocker)
    assert report["unavailable"]["lpips"] in output.result[2].message


def test_lpips_that_is_off_is_not_missing_but_its_output_says_why():
    output = compared(*noisy(2), OFF, video=True)
    assert set(json.loads(output.result[5])["unavailable"]) == {"frame_change"}
    assert "choose a file of weights, or 'download now" in output.result[2].message


def test_a_missing_file_is_looked_for_again_and_a_new_one_is_read_again(folder, weights):
    def fingerprint(choice):
        return QualityCompare.fingerprint_inputs(lpips=[choice], video=[False])

    assert fingerprint(OFF) == fingerprint(OFF)
    assert fingerprint("a.pth") != fingerprint("a.pth")
    assert fingerprint(DOWNLOAD) != fingerprint(DOWNLOAD)
    (folder / "a.pth").write_bytes(weights)
    before = fingerprint("a.pth")
    assert fingerprint("a.pth") == before
    (folder / "a.pth").unlink()
    assert fingerprint("a.pth") != before


# --- the download ---------------------------------------------------------------------------------


def test_the_download_is_the_file_that_torchvision_publishes():
    weights = AlexNet_Weights.IMAGENET1K_V1
    assert weights.url == PUBLISHED
    assert f"({weights.meta['_file_size']:.0f} MB)" in DOWNLOAD


@pytest.fixture
def site(monkeypatch):
    """A web site on this machine: what it serves by path, and the paths that were asked for."""
    files, asked = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # interrupted
                self.wfile.write(content or b"")

        def log_message(self, *args):
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", files, asked
        server.shutdown()
        thread.join()


def publish(site, content, monkeypatch, name=None):
    url, files, _ = site
    name = name or f"alexnet-owt-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    files[f"/{name}"] = content
    monkeypatch.setattr(lpips_weights, "URL", f"{url}/{name}")
    return name


def test_a_download_is_made_once(folder, site, weights, monkeypatch):
    name = publish(site, weights, monkeypatch)
    output = compared(*noisy(1), DOWNLOAD)
    assert output.result[2] > 0
    assert (folder / name).read_bytes() == weights
    assert compared(*noisy(1), DOWNLOAD).result[2] == output.result[2]
    assert site[2] == [f"/{name}"]
    assert choices() == [OFF, name, DOWNLOAD]


def test_nothing_is_downloaded_unless_it_is_chosen(folder, site, weights, monkeypatch):
    publish(site, weights, monkeypatch)
    for choice in (OFF, "gone.pth"):
        compared(*noisy(1), choice)
        QualityCompare.validate_inputs(lpips=[choice])
        QualityCompare.fingerprint_inputs(lpips=[choice])
    QualityCompare.fingerprint_inputs(lpips=[DOWNLOAD])
    assert site[2] == []


@pytest.mark.parametrize(
    ("name", "reason"), [("alexnet-owt-00000000.pth", "should begin with 00000000"), (None, "404")]
)
def test_what_does_not_come_as_published_leaves_nothing_behind(
    folder, site, weights, monkeypatch, name, reason
):
    publish(site, weights, monkeypatch, name)
    if name is None:
        site[1].clear()
    report = table(compared(*noisy(1), DOWNLOAD))
    assert reason in report["unavailable"]["lpips"]
    assert list(folder.iterdir()) == []


def test_a_download_can_be_interrupted(folder, site, weights, monkeypatch):
    publish(site, weights, monkeypatch)
    seen = []

    def interrupt(value, total, *_, **__):
        seen.append(total)
        raise KeyboardInterrupt  # ComfyUI's own is raised at the same place

    monkeypatch.setattr(comfy.utils, "PROGRESS_BAR_HOOK", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lpips_weights.load(DOWNLOAD, "cpu")
    assert seen == [len(weights)]
    assert list(folder.iterdir()) == []


def test_the_folder_is_one_of_comfyuis_model_folders():
    assert Path(REGISTERED[0]) == Path(folder_paths.models_dir) / "lpips"
