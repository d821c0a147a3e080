"""Transformer family: where a model keeps its blocks."""

from __future__ import annotations

from dataclasses import dataclass

from .signals import SignalSource


@dataclass(frozen=True, slots=True)
class Family:
    """Place of the block stack in one transformer class.

    Each final layer must receive the image tokens after the last block as its first argument, in
    the order in which the first block receives them.
    """

    name: str
    transformer: str  # exact class, as module.name: a subclass may compute elsewhere
    is_video: bool  # some methods space the full steps of videos in another way
    block_lists: tuple[str, ...]  # attributes, in the order in which they run
    final_layers: tuple[str, ...] = ("final_layer",)  # one per stream
    image: str | int = "img"  # the first block's argument with the image tokens
    output: int | None = None  # where they are in its result; None: the result is all of them
    first_block_key: tuple[str, int] | None = None  # under which others may replace the first block
    tail: bool = False  # where tokens are added or cut, the image's are the last, else the first
    signal: SignalSource | None = None  # None: only the first block's output shows a change
