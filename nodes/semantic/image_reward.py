"""ImageReward as judge: how much people would like an image for its prompt.

The user puts its weights and vocabulary into ``models/image_reward``; nothing is downloaded.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any, cast

import comfy.clip_model
import comfy.model_management
import comfy.utils
import folder_paths
import torch
from comfy.model_patcher import ModelPatcher
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from ...gph_core.files import reading
from ...gph_core.quality.semantic import scores
from ...gph_core.quality.semantic.image_reward import (
    MOST_TOKENS,
    ImageRewardNetwork,
    network_of,
)
from ..hook import fingerprint as fingerprints

OFF = "off"
FOLDER = "image_reward"
PUBLISHED, VOCABULARY = "ImageReward.pt", "vocab.txt"
MOST_BYTES_OF_WORDS = 2**24
MARKS = {"[CLS]", "[SEP]", "[UNK]"}  # in every vocabulary of BERT
ENDINGS = (".pt", ".safetensors")
SOURCES = {
    PUBLISHED: "huggingface.co/THUDM/ImageReward (1.8 GB, Apache 2.0)",
    VOCABULARY: "huggingface.co/google-bert/bert-base-uncased (232 KB, Apache 2.0)",
}

folder_paths.add_model_folder_path(FOLDER, os.path.join(folder_paths.models_dir, FOLDER))


class ImageRewardJudge:
    """ImageReward of images.

    Args:
        network: with its weights.
        vocabulary: file with the words of the tokenizer, one per line.
    """

    def __init__(self, network: ImageRewardNetwork, vocabulary: Path) -> None:
        self._tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self.fingerprint = fingerprints.of_module(network)
        self._side = network.side
        self._network = network
        self._device = comfy.model_management.text_encoder_device()
        offload = comfy.model_management.text_encoder_offload_device()
        self._patcher = ModelPatcher(network, self._device, offload)

    def score(self, image: Tensor, prompt: str) -> float:
        """ImageReward of an image ``[1, H, W, 3]``, of which it sees the middle square.

        Only the first 33 tokens of a prompt count.
        """
        comfy.model_management.load_models_gpu([self._patcher], force_full_load=True)
        pixels = comfy.clip_model.clip_preprocess(image.to(self._device), size=self._side)
        tokens = torch.tensor([self._tokenizer.encode(prompt).ids], device=self._device)
        with torch.no_grad():
            rewards = self._network(pixels.float(), tokens)
        return float(scores.image_reward(rewards.cpu()))  # not every device has float64


def options() -> list[str]:
    """Choices of the node: off, the published file even if it is missing, and other files."""
    files = [name for name in folder_paths.get_filename_list(FOLDER) if name.endswith(ENDINGS)]
    return list(dict.fromkeys([OFF, PUBLISHED, *files]))


def check(choice: str) -> None:
    """Raise ``ValueError`` if files are missing: which, where to get them, where to put them."""
    if choice != OFF:
        missing = [n for n in (choice, VOCABULARY) if folder_paths.get_full_path(FOLDER, n) is None]
        if missing:
            sources = [f"{name} from {SOURCES[name]}" for name in missing if name in SOURCES]
            folder = folder_paths.get_folder_paths(FOLDER)[0]
            raise ValueError(
                f"ImageReward needs {' and '.join(missing)} in {folder}; put "
                f"{'it' if len(missing) == 1 else 'them'} there"
                + (f": {', '.join(sources)}" if sources else "")
                + ", or choose off"
            )


def fingerprint(choice: str | None) -> str:
    """Fingerprint of a choice's files; a new one each time while one is missing."""
    if choice in (None, OFF):
        return ""
    paths = [folder_paths.get_full_path(FOLDER, name) for name in (choice, VOCABULARY)]
    if None in paths:
        return uuid.uuid4().hex
    return " ".join(f"{path} {Path(path).stat().st_mtime_ns}" for path in paths if path)


def load(choice: str) -> ImageRewardJudge:
    """Load the judge of a choice; ``ValueError`` names a file that is missing or wrong."""
    check(choice)
    path, words = (folder_paths.get_full_path_or_raise(FOLDER, n) for n in (choice, VOCABULARY))
    try:
        # ComfyUI's loader, which runs no code from files.
        network = network_of(cast(Any, comfy.utils.load_torch_file(path, safe_load=True)))
    except reading.ERRORS as error:
        raise ValueError(
            f"{choice} cannot be used: {reading.reason(error)}; take {PUBLISHED} from "
            f"{SOURCES[PUBLISHED]}"
        ) from error
    try:
        vocabulary = reading.read(Path(words), MOST_BYTES_OF_WORDS).decode().splitlines()
        if len(vocabulary) != network.num_words:
            raise ValueError(f"it has {len(vocabulary)} words, {choice} needs {network.num_words}")
        if not set(vocabulary) >= MARKS:
            raise ValueError(f"one of {', '.join(sorted(MARKS))} is missing")
    except ValueError as error:
        raise ValueError(
            f"{VOCABULARY} cannot be used: {error}; take that from {SOURCES[VOCABULARY]}"
        ) from error
    return ImageRewardJudge(network, Path(words))
