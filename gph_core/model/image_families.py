"""Families that make images, one row each.

Cosmos-Predict2 has a model for videos too; its full steps are spaced as those of images are.
"""

from __future__ import annotations

from dataclasses import replace

from . import signals
from .family import Family
from .signals import SignalSource

_DOUBLE = SignalSource(signals.double_stream, ("img", "txt"))
_FLUX = replace(_DOUBLE, after=("ref_latents",))
_QWEN = SignalSource(
    signals.qwen_image, ("encoder_hidden_states", "hidden_states"), after=("ref_latents",)
)
_LUMINA = Family(
    name="Lumina 2 / Z-Image",
    transformer="comfy.ldm.lumina.model.NextDiT",
    is_video=False,
    block_lists=("layers",),
    image=0,
)

IMAGE_FAMILIES = (
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
        name="Qwen-Image 2.1",
        transformer="comfy.ldm.qwen_image21.model.QwenImage21Transformer2DModel",
        is_video=False,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out",),
        image=0,
        first_block_key=("single_block", 0),
        tail=True,  # prompt and references come first and are cut off before the final layer
        signal=SignalSource(signals.qwen_image21, (0,)),
        compiled_by_comfyui=True,
        prefix=4,
        keeping="prefix_cache_enabled",
    ),
    # Before the row of all others of its class.
    replace(_LUMINA, name="Ming-Image", mark="masked_pad_multiple"),
    _LUMINA,
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
        signal=SignalSource(signals.sd3, (0, 1)),
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
        name="Lens",
        transformer="comfy.ldm.lens.model.LensTransformer2DModel",
        is_video=False,
        block_lists=("transformer_blocks",),
        final_layers=("norm_out",),
        image="hidden_states",
        output=1,
        first_block_key=("double_block", 0),
        signal=SignalSource(  # its patch size tells how many pixels became channels of the latent
            signals.lens, ("encoder_hidden_states", "hidden_states"), patch=1
        ),
    ),
    Family(
        name="JoyImage",
        transformer="comfy.ldm.joyimage.model.JoyImageTransformer3DModel",
        is_video=False,
        block_lists=("double_blocks",),
        final_layers=("norm_out",),
        image="hidden_states",
        output=0,
        first_block_key=("double_block", 0),
        is_cut=True,
        signal=SignalSource(
            signals.joyimage, ("hidden_states", "encoder_hidden_states"), after=("ref_latents",)
        ),
    ),
    Family(
        name="Ideogram 4",
        transformer="comfy.ldm.ideogram4.model.Ideogram4Transformer2DModel",
        is_video=False,
        block_lists=("layers",),
        image=0,
    ),
    Family(
        name="AuraFlow",
        transformer="comfy.ldm.aura.mmdit.MMDiT",
        is_video=False,
        block_lists=("double_layers", "single_layers"),
        final_layers=(),
        image=1,
        output=1,
        first_block_key=("double_block", 0),
        tail=True,  # the second list gets the text too, in front of the image
        end=(0,),
    ),
    Family(
        name="PixArt",
        transformer="comfy.ldm.pixart.pixartms.PixArtMS",
        is_video=False,
        block_lists=("blocks",),
        image=0,
    ),
    Family(
        name="HunyuanDiT",
        transformer="comfy.ldm.hydit.models.HunYuanDiT",
        is_video=False,
        block_lists=("blocks",),
        image=0,
        first_block_key=("double_block", 0),
    ),
)
