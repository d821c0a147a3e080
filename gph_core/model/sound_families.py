"""Families that make sound or solid shapes, one row each."""

from __future__ import annotations

from .family import Family

SOUND_FAMILIES = (
    Family(
        name="Stable Audio",
        transformer="comfy.ldm.audio.dit.AudioDiffusionTransformer",
        is_video=False,
        inside="transformer",
        block_lists=("layers",),
        final_layers=("project_out",),
        image=0,
        first_block_key=("double_block", 0),
        tail=True,  # memory tokens come first and are cut off before the final layer
    ),
    Family(
        name="ACE-Step",
        transformer="comfy.ldm.ace.model.ACEStepTransformer2DModel",
        is_video=False,
        block_lists=("transformer_blocks",),
        image="hidden_states",
    ),
    Family(
        name="ACE-Step 1.5",
        transformer="comfy.ldm.ace.ace_step15.AceStepConditionGenerationModel",
        is_video=False,
        inside="decoder",
        block_lists=("layers",),
        final_layers=("norm_out",),
        image="hidden_states",
        mixes_prompts=True,  # the first of a batch gets the timbre of all
    ),
)

SHAPE_FAMILIES = (
    Family(
        name="Hunyuan3D 2",
        transformer="comfy.ldm.hunyuan3d.model.Hunyuan3Dv2",
        is_video=False,
        block_lists=("double_blocks", "single_blocks"),
        output=0,
        first_block_key=("double_block", 0),
    ),
    Family(
        name="Hunyuan3D 2.1",
        transformer="comfy.ldm.hunyuan3dv2_1.hunyuandit.HunYuanDiTPlain",
        is_video=False,
        block_lists=("blocks",),
        image=0,
        mixes_prompts=True,  # the halves of a batch change places, and back behind the last layer
    ),
    Family(
        name="TripoSplat",
        transformer="comfy.ldm.triposplat.model.LatentSeqMMFlowModel",
        is_video=False,
        block_lists=("blocks",),
        final_layers=(),
        image=0,
        end=(0,),
    ),
)
