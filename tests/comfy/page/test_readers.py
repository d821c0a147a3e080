"""files/reading: the contract of readers (``support/damages.py``), for those that need ComfyUI."""

import folder_paths
import pytest
import torch
from golden_path_pack.nodes.library import settings
from golden_path_pack.nodes.semantic import clip_judge, image_reward
from golden_path_pack.nodes.semantic.image_reward import VOCABULARY
from safetensors.torch import save_file

from ...support.comfy import tiny_reward
from ...support.damages import Reader, faults


def write_words(path):
    path.write_text("\n".join(tiny_reward.WORDS) + "\n", "utf-8")


def read_reward(path):
    """Load the judge; other weights are not seen."""
    image_reward.load("mine.safetensors" if path.name == VOCABULARY else path.name)


READERS = {
    "weights": Reader(
        lambda path: save_file(tiny_reward.weights(), path), read_reward, False, "mine.safetensors",
    ),
    "weights of torch": Reader(
        lambda path: torch.save(tiny_reward.weights(), path), read_reward, False, "mine.pt",
    ),
    "vocabulary": Reader(write_words, read_reward, False, VOCABULARY),
    "text encoder": Reader(
        lambda path: save_file({"text_projection.weight": torch.ones(2, 2)}, path),
        lambda path: list(clip_judge._shapes_of_projections(path)), False, "clip.safetensors",
    ),
    "settings": Reader(
        lambda path: path.write_bytes(b'{"ray_address": "10.0.0.1:6379"}'),
        lambda path: settings.read_settings(), False, "settings.json",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_by_its_name_or_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(settings, "settings_file", lambda: tmp_path / "settings.json")
    monkeypatch.setitem(
        folder_paths.folder_names_and_paths, image_reward.FOLDER, ([str(tmp_path)], set())
    )
    write_words(tmp_path / VOCABULARY)
    save_file(tiny_reward.weights(), tmp_path / "mine.safetensors")
    assert faults(READERS[name], tmp_path, every=4) == {}
