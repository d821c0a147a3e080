"""Families that make videos, one row each; LTX's image model stands beside its video model."""

from __future__ import annotations

from dataclasses import replace

from . import signals
from .family import Family
from .signals import SignalSource

_WAN_SIGNAL = SignalSource(
    signals.wan,
    (0,),
    before=("reference_latent",),
    after=("time_dim_concat", "context_latents"),
    of_time=signals.wan_time,
)
_POSED = replace(_WAN_SIGNAL, after=("time_dim_concat", "pose_latents"))
_BEHIND = replace(_WAN_SIGNAL, before=(), after=("time_dim_concat", "reference_latent"))

_LTX_VIDEO = Family(
    name="LTX-Video",
    transformer="comfy.ldm.lightricks.model.LTXVModel",
    is_video=True,
    block_lists=("transformer_blocks",),
    final_layers=("norm_out",),
    image=0,
    first_block_key=("double_block", 0),
    signal=SignalSource(signals.ltx_video, (0,)),
)

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

VIDEO_FAMILIES = (
    Family(
        name="HunyuanVideo",
        transformer="comfy.ldm.hunyuan_video.model.HunyuanVideo",
        is_video=True,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
        tail=True,  # a reference latent comes first and is cut off before the final layer
        signal=SignalSource(signals.double_stream, ("img", "txt"), before=("ref_latent",)),
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
        signal=_POSED,
    ),
    replace(
        _WAN,
        name="Wan SCAIL 2",
        transformer="comfy.ldm.wan.model.SCAIL2WanModel",
        signal=_POSED,
    ),
    replace(
        _WAN,
        name="Wan Dancer",
        transformer="comfy.ldm.wan.model_wandancer.WanDancerModel",
        final_layers=("head", "head_global"),
        one_final=True,
    ),
    _LTX_VIDEO,
    replace(
        _LTX_VIDEO,
        name="LTX Image",
        transformer="comfy.ldm.lightricks.model.LTXVImageModel",
        is_video=False,
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
        compiled_by_comfyui=True,
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
        name="CogVideoX",
        transformer="comfy.ldm.cogvideo.model.CogVideoXTransformer3DModel",
        is_video=True,
        block_lists=("blocks",),
        final_layers=("norm_final",),
        image="hidden_states",
        output=0,
    ),
    Family(
        name="MiniMax H3",
        transformer="comfy.ldm.minimax.model.MiniMaxH3Model",
        is_video=True,
        block_lists=("blocks",),
        image=0,
        first_block_key=("double_block", 0),
        compiled_by_comfyui=True,
    ),
    Family(
        name="Mochi",
        transformer="comfy.ldm.genmo.joint_model.asymm_models_joint.AsymmDiTJoint",
        is_video=True,
        block_lists=("blocks",),
        image=0,
        output=0,
        first_block_key=("double_block", 0),
    ),
)
