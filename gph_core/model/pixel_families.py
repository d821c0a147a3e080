"""Families that make images of pixels, without an autoencoder, one row each."""

from __future__ import annotations

from . import signals
from .family import Family
from .signals import SignalSource

PIXEL_FAMILIES = (
    Family(
        name="Chroma Radiance",
        transformer="comfy.ldm.chroma_radiance.model.ChromaRadiance",
        is_video=False,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
        signal=SignalSource(signals.double_stream, ("img", "txt")),
        calls_what_it_finds=True,  # Chroma's own code, without Chroma's final layer
    ),
    Family(
        name="Z-Image, pixel space",
        transformer="comfy.ldm.lumina.model.NextDiTPixelSpace",
        is_video=False,
        block_lists=("layers",),
        final_layers=(),
        image=0,
        end=(0,),
    ),
    Family(
        name="PixelDiT",
        transformer="comfy.ldm.pixeldit.model.PixDiT_T2I",
        is_video=False,
        block_lists=("patch_blocks",),  # the pixel blocks behind them run at every step
        final_layers=(),
        image=0,
        output=0,
        end=(0, 1),
    ),
    Family(
        name="PiD",
        transformer="comfy.ldm.pixeldit.pid.PidNet",
        is_video=False,
        block_lists=("patch_blocks",),
        final_layers=(),
        image=0,
        output=0,
        end=(0, 1),
    ),
    Family(
        name="HiDream-O1",
        transformer="comfy.ldm.hidream_o1.model.HiDreamO1Transformer",
        is_video=False,
        inside="language_model",
        block_lists=("layers",),
        final_layers=("norm",),
        image="x",
        output=0,
        tail=True,  # keys of the prompt are remembered, and its tokens left out from then on
        memory="_kv_cache_entries",
    ),
)
