"""Transformer families: where a model keeps its blocks. A family is data, one row each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from . import signals
from .signals import Signal


@dataclass(frozen=True, slots=True)
class Family:
    """How to find the block stack of one transformer class.

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
    signal: Signal | None = None  # None: only the first block's output tells how a step changes


_DOUBLE = Signal(signals.double_stream, ("img", "txt"))
_FLUX = replace(_DOUBLE, after=("ref_latents",))
_QWEN = Signal(
    signals.qwen_image, ("encoder_hidden_states", "hidden_states"), after=("ref_latents",)
)
_WAN_SIGNAL = Signal(
    signals.wan,
    (0,),
    before=("reference_latent",),
    after=("time_dim_concat", "context_latents"),
    of_time=signals.wan_time,
)
_BEHIND = replace(_WAN_SIGNAL, before=(), after=("time_dim_concat", "reference_latent"))

_WAN = Family(
    name="Wan",
    transformer="comfy.ldm.wan.model.WanModel",
    is_video=True,
    block_lists=("blocks",),
    final_layers=("head",),
    image=0,
    first_block_key=("double_block", 0),
    signal=_WAN_SIGNAL,
)

FAMILIES = (
    Family(
        name="FLUX",
        transformer="comfy.ldm.flux.model.Flux",
        is_video=False,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
        signal=_FLUX,
    ),
    Family(
        name="Qwen-Image",
        transformer="comfy.ldm.qwen_image.model.QwenImageTransformer2DModel",
        is_video=False,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out",),
        image="hidden_states",
        output=1,
        first_block_key=("double_block", 0),
        signal=_QWEN,
    ),
    Family(
        name="HunyuanVideo",
        transformer="comfy.ldm.hunyuan_video.model.HunyuanVideo",
        is_video=True,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
        tail=True,  # a reference latent comes first and is cut off before the final layer
        signal=replace(_DOUBLE, before=("ref_latent",)),
    ),
    _WAN,
    replace(_WAN, name="Wan VACE", transformer="comfy.ldm.wan.model.VaceWanModel"),
    replace(_WAN, name="Wan Camera", transformer="comfy.ldm.wan.model.CameraWanModel"),
    replace(_WAN, name="Wan HuMo", transformer="comfy.ldm.wan.model.HumoWanModel", signal=_BEHIND),
    replace(_WAN, name="Wan S2V", transformer="comfy.ldm.wan.model.WanModel_S2V", signal=_BEHIND),
    replace(_WAN, name="Wan Animate", transformer="comfy.ldm.wan.model_animate.AnimateWanModel"),
    replace(
        _WAN,
        name="Wan SCAIL",
        transformer="comfy.ldm.wan.model.SCAILWanModel",
        signal=replace(_WAN_SIGNAL, after=("time_dim_concat", "pose_latents")),
    ),
    Family(
        name="Lumina 2 / Z-Image",
        transformer="comfy.ldm.lumina.model.NextDiT",
        is_video=False,
        block_lists=("layers",),
        image=0,
    ),
    Family(
        name="Chroma",
        transformer="comfy.ldm.chroma.model.Chroma",
        is_video=False,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
        signal=_DOUBLE,
    ),
    Family(
        name="SD3",
        transformer="comfy.ldm.modules.diffusionmodules.mmdit.OpenAISignatureMMDITWrapper",
        is_video=False,
        block_lists=("joint_blocks",),
        image=1,
        output=1,
        first_block_key=("double_block", 0),
        signal=Signal(signals.sd3, (0, 1)),
    ),
    Family(
        name="LTX-Video",
        transformer="comfy.ldm.lightricks.model.LTXVModel",
        is_video=True,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out",),
        image=0,
        first_block_key=("double_block", 0),
        signal=Signal(signals.ltx_video, (0,)),
    ),
    Family(
        name="LTX-2",
        transformer="comfy.ldm.lightricks.av_model.LTXAVModel",
        is_video=True,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out", "audio_norm_out"),
        image=0,
        first_block_key=("double_block", 0),
        tail=True,  # reference audio comes first and is cut off before the final layer
    ),
    Family(
        name="Cosmos-Predict2",
        transformer="comfy.ldm.cosmos.predict2.MiniTrainDIT",
        is_video=False,
        block_lists=("blocks",),
        image=0,
    ),
    Family(
        name="Anima",
        transformer="comfy.ldm.anima.model.Anima",
        is_video=False,
        block_lists=("blocks",),
        image=0,
    ),
    Family(
        name="HiDream-I1",
        transformer="comfy.ldm.hidream.model.HiDreamImageTransformer2DModel",
        is_video=False,
        block_lists=("double_stream_blocks", "single_stream_blocks"),
        image="image_tokens",
        output=0,
    ),
    Family(
        name="Kandinsky 5",
        transformer="comfy.ldm.kandinsky5.model.Kandinsky5",
        is_video=True,
        block_lists=("visual_transformer_blocks",),
        final_layers=("out_layer",),
        image=0,
        # No key: ComfyUI asks for a replacement, but the block it hands over cannot be called.
    ),
    Family(
        name="Krea 2",
        transformer="comfy.ldm.krea2.model.SingleStreamDiT",
        is_video=False,
        block_lists=("blocks",),
        final_layers=("last",),
        image=0,
    ),
    Family(
        name="OmniGen2",
        transformer="comfy.ldm.omnigen.omnigen2.OmniGen2Transformer2DModel",
        is_video=False,
        block_lists=("layers",),
        final_layers=("norm_out",),
        image=0,
    ),
    Family(
        name="Boogu",
        transformer="comfy.ldm.boogu.model.BooguTransformer2DModel",
        is_video=False,
        block_lists=("double_stream_layers", "single_stream_layers"),
        final_layers=("norm_out",),
        image=0,
        output=0,
        tail=True,  # the final layer gets the text too, in front of the image
    ),
    Family(
        name="Ernie-Image",
        transformer="comfy.ldm.ernie.model.ErnieImageModel",
        is_video=False,
        block_lists=("layers",),
        final_layers=("final_norm",),
        image=0,
    ),
    Family(
        name="CogVideoX",
        transformer="comfy.ldm.cogvideo.model.CogVideoXTransformer3DModel",
        is_video=True,
        block_lists=("blocks",),
        final_layers=("norm_final",),
        image="hidden_states",
        output=0,
    ),
    Family(
        name="MageFlow",
        transformer="comfy.ldm.mage_flow.model.MageFlowTransformer2DModel",
        is_video=False,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out",),
        image="hidden_states",
        output=1,
        first_block_key=("double_block", 0),
        signal=_QWEN,
    ),
    Family(
        name="MiniMax H3",
        transformer="comfy.ldm.minimax.model.MiniMaxH3Model",
        is_video=True,
        block_lists=("blocks",),
        image=0,
        first_block_key=("double_block", 0),
    ),
)


_VIDEOS = frozenset(family.name for family in FAMILIES if family.is_video)


def is_video(family: str) -> bool:
    """Whether the models of the family of a name make videos; not if the name is not known."""
    return family in _VIDEOS


def detect(transformer: nn.Module) -> Family | None:
    """The family of a transformer, or None for a class or a structure that is not known."""
    kind = type(transformer)
    name = f"{kind.__module__}.{kind.__qualname__}"
    for family in FAMILIES:
        if family.transformer == name and _has_structure(transformer, family):
            return family
    return None


def _has_structure(transformer: nn.Module, family: Family) -> bool:
    lists = [transformer._modules.get(name) for name in family.block_lists]
    return all(isinstance(blocks, nn.ModuleList) and len(blocks) > 0 for blocks in lists) and all(
        transformer._modules.get(name) is not None for name in family.final_layers
    )
