"""Transformer family: where a model keeps its blocks, and which tokens are the image's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .signals import SignalSource


@dataclass(frozen=True, slots=True)
class Family:
    """Place of the block stack in one transformer class.

    Each final layer must receive the image tokens after the last block as its first argument, in
    the order in which the first block receives them. If no module does, ``end`` locates them.
    """

    name: str
    transformer: str  # exact class, as module.name: a subclass may compute elsewhere
    is_video: bool  # some methods space the full steps of videos in another way
    block_lists: tuple[str, ...]  # attributes, in the order in which they run
    final_layers: tuple[str, ...] = ("final_layer",)  # one per stream
    image: str | int = "img"  # the first block's argument with the image tokens
    output: int | None = None  # where they are in its result; None: the result is all of them
    first_block_key: tuple[str, int] | None = None  # of the first block's replacements by others
    tail: bool = False  # where tokens are added or cut, the image's are the last, else the first
    signal: SignalSource | None = None  # None: only the first block's output shows a change
    inside: str = ""  # the sub-module with lists and final layers; empty: the transformer itself
    # Without final layers: positions of the arguments that the blocks of the last list change and
    # return, the image tokens first.
    end: tuple[int, ...] = ()
    one_final: bool = False  # only one of the final layers runs in a call, not one for each stream
    mark: str = ""  # an attribute that only this family of a class has
    calls_what_it_finds: bool = False  # it has no final layer, but calls one if it finds one
    is_cut: bool = False  # tokens after the image's are cut off before the final layer
    mixes_prompts: bool = False  # the tokens of a prompt depend on what else is in the batch
    # The first block's argument that counts the tokens before the image's. These are not noted, nor
    # is a call that has no others.
    prefix: int | None = None
    memory: str = ""  # an attribute that calls write and later calls read, see ``Surgery``
    keeping: str = ""  # an attribute that lets calls keep results of their blocks for later calls
    # The Comfy Compiler reuses the memory of these blocks: a tensor of ours that outlives a call
    # would be overwritten by the next one, and freeing it can end the process.
    compiled_by_comfyui: bool = False

    @property
    def streams(self) -> tuple[int, ...]:
        """The stream of each final layer."""
        return tuple(0 if self.one_final else n for n in range(len(self.final_layers)))


def aligned(one: Tensor, other: Tensor, tail: bool) -> tuple[Tensor, Tensor]:
    """The common tokens of both, in one shape."""
    if one.numel() == other.numel():
        return one.reshape(other.shape), other
    common = min(one.shape[1], other.shape[1])
    if tail:
        return one[:, -common:], other[:, -common:]
    return one[:, :common], other[:, :common]


def with_image(tokens: Tensor, image: Tensor, tail: bool) -> Tensor:
    """The tokens with those of the image replaced."""
    if image.shape == tokens.shape:
        return image
    if tail:
        return torch.cat((tokens[:, : -image.shape[1]], image), dim=1)
    return torch.cat((image, tokens[:, image.shape[1] :]), dim=1)
