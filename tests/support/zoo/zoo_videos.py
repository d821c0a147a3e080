"""The zoo's video models, with the HunyuanVideo class's image model.

Conditioning has the keys that ComfyUI's own nodes set. Where a node gives the sampler a noise mask
that the model itself reads, the mask is put into the conditioning instead, so that one conditioning
is all that a case needs: the model receives the same arguments.
"""

from __future__ import annotations

import functools

import comfy.clip_vision
import comfy.ldm.hunyuan_video.model
import comfy.ldm.wan.model
import comfy.ops
import comfy.supported_models
import comfy.utils
import torch
from comfy.ldm.lightricks.symmetric_patchifier import SymmetricPatchifier, latent_to_pixel_coords

from .zoo import Case
from .zoo_images import COSMOS_UNET

TEXT = 24  # channels of the text embeddings


def _case(name, family, config, unet, latent, conditioning, cfg=3.0, adapt=None) -> list[Case]:
    """The case; none where this ComfyUI does not know the model yet."""
    kind = getattr(comfy.supported_models, config, None)
    if kind is None:
        return []
    if adapt is not None:
        kind = _adapted(kind, adapt)
    return [Case(name, family, kind, unet, latent, conditioning, cfg)]


def _prompt(more=lambda random, tokens: {}, channels=TEXT):
    """CONDITIONING with random text embeddings and what ``more`` makes of a source of noise."""

    def conditioning(seed, tokens):
        generator = torch.Generator().manual_seed(seed)
        random = functools.partial(_randn, generator)
        return [[random(1, tokens, channels), more(random, tokens)]]

    return conditioning


def _randn(generator, *shape):
    return torch.randn(shape, generator=generator)


def _adapted(config, adapt):
    """A configuration whose transformers are changed by ``adapt`` before they get their weights."""

    class Adapted(config):
        def get_model(self, *args, **kwargs):
            model = super().get_model(*args, **kwargs)
            adapt(model.diffusion_model)
            return model

    return Adapted


def _seen(random, channels, tokens=5):
    """What a CLIP vision encoder returns."""
    output = comfy.clip_vision.Output()
    output["penultimate_hidden_states"] = random(1, tokens, channels)
    output["last_hidden_state"] = random(1, tokens, channels)
    return output


def _mask(latent):
    """One for what is to be made, zero for the first frame, which is given."""
    mask = torch.ones(1, *latent)
    mask[:, :, 0] = 0.0
    return mask


# --- HunyuanVideo ---------------------------------------------------------------------------------

HUNYUAN = {
    "image_model": "hunyuan_video", "in_channels": 16, "out_channels": 16, "patch_size": [1, 2, 2],
    "vec_in_dim": 16, "context_in_dim": TEXT, "hidden_size": 48, "mlp_ratio": 2.0, "num_heads": 2,
    "depth": 2, "depth_single_blocks": 3, "axes_dim": [8, 8, 8], "theta": 256, "qkv_bias": True,
    "guidance_embed": True, "byt5": False, "meanflow": False, "use_cond_type_embedding": False,
    "vision_in_dim": None, "meanflow_sum": False,
}  # fmt: skip
HUNYUAN_15 = HUNYUAN | {
    "in_channels": 65,  # noise, image and mask
    "out_channels": 32,
    "patch_size": [1, 1, 1],
    "vec_in_dim": None,
    "guidance_embed": False,
    "byt5": True,
    "use_cond_type_embedding": True,
    "vision_in_dim": 20,
    "meanflow_sum": True,
}
HUNYUAN_IMAGE = HUNYUAN | {
    "in_channels": 64,
    "out_channels": 64,
    "patch_size": [1, 1],
    "axes_dim": [12, 12],
    "vec_in_dim": None,
    "guidance_embed": False,
    "byt5": True,
}
HUNYUAN_LATENT = (16, 3, 8, 8)
HUNYUAN_15_LATENT = (32, 3, 4, 4)


def _hunyuan_prompt(more=lambda random: {}):
    return _prompt(lambda random, tokens: {"pooled_output": random(1, 16), **more(random)})


def _shrink_byt5(transformer):
    transformer.byt5_in = comfy.ldm.hunyuan_video.model.ByT5Mapper(
        in_dim=1472, out_dim=16, hidden_dim=16, out_dim1=transformer.hidden_size,
        dtype=transformer.dtype, operations=comfy.ops.disable_weight_init,
    )  # fmt: skip


# --- Wan ------------------------------------------------------------------------------------------

WAN = {  # 1.3B: narrow, with a wide feed-forward part
    "image_model": "wan2.1",
    "model_type": "t2v",
    "dim": 48,
    "ffn_dim": 280,
    "num_heads": 2,
    "num_layers": 3,
    "in_dim": 16,
    "out_dim": 16,
    "text_dim": TEXT,
    "freq_dim": 32,
    "patch_size": (1, 2, 2),
}
WAN_14B = WAN | {"dim": 96, "ffn_dim": 260, "num_heads": 4, "num_layers": 4}
WAN_LATENT = (16, 3, 8, 8)
WAN_5B_LATENT = (48, 3, 4, 4)
FACES = 16  # channels of the motion vectors


def _start_image(random):
    """As WanImageToVideo sets it."""
    return {
        "concat_latent_image": random(1, *WAN_LATENT),
        "concat_mask": _mask((1, *WAN_LATENT[1:])),
    }


WAN_DANCER = WAN | {
    "model_type": "wandancer",
    "in_dim": 36,
    "audio_inject_layers": [0, 2],
    "music_dim": 48,
    "music_heads": 2,
    "music_latent_dim": 48,
}


def _dance(random):
    return _start_image(random) | {
        "audio_embed": random(1, 20, 35),
        "clip_vision_output": _seen(random, 1280),
        "clip_vision_output_ref": _seen(random, 1280),
    }


def _shrink_humo(transformer):
    transformer.audio_proj = comfy.ldm.wan.model.AudioProjModel(
        seq_len=8, blocks=5, channels=4, intermediate_dim=8, output_dim=1536, context_tokens=16,
        dtype=transformer.dtype, operations=comfy.ops.disable_weight_init,
    )  # fmt: skip


class _MotionEncoder(torch.nn.Module):
    """Face pixels to motion vectors; the real one wants 512 x 512 pixels."""

    def __init__(self, dtype):
        super().__init__()
        self.linear = torch.nn.Linear(3 * 4 * 4, FACES, dtype=dtype)

    def get_motion(self, pixels):
        return self.linear(torch.nn.functional.adaptive_avg_pool2d(pixels, 4).flatten(1))


class _FaceEncoder(torch.nn.Module):
    """Motion vectors to five tokens for each four of them, as the real one of 12 M parameters."""

    def __init__(self, dim, dtype):
        super().__init__()
        self.dim = dim
        self.linear = torch.nn.Linear(FACES, 5 * dim, dtype=dtype)

    def forward(self, motion):
        return self.linear(motion[:, ::4]).unflatten(2, (5, self.dim))


def _shrink_animate(transformer):
    transformer.motion_encoder = _MotionEncoder(transformer.dtype)
    transformer.face_encoder = _FaceEncoder(transformer.dim, transformer.dtype)


# --- LTX ------------------------------------------------------------------------------------------

LTXV = {
    "image_model": "ltxv", "in_channels": 128, "attention_head_dim": 16, "num_attention_heads": 3,
    "cross_attention_dim": 48, "caption_channels": TEXT, "num_layers": 3,
    "causal_temporal_positioning": True,
}  # fmt: skip
LTX_2 = {
    "image_model": "ltxav", "in_channels": 128, "audio_in_channels": 128, "attention_head_dim": 16,
    "num_attention_heads": 3, "cross_attention_dim": 48, "audio_attention_head_dim": 8,
    "audio_num_attention_heads": 3, "audio_cross_attention_dim": 24, "caption_channels": TEXT,
    "num_layers": 3, "causal_temporal_positioning": True, "use_middle_indices_grid": True,
    "rope_type": "split", "connector_attention_head_dim": 8, "connector_num_attention_heads": 3,
    "connector_num_layers": 1,
}  # fmt: skip
LTX_23 = LTX_2 | {
    "caption_proj_before_connector": True,
    "caption_projection_first_linear": False,
    "cross_attention_adaln": True,
    "apply_gated_attention": True,
}
LTX_LATENT = (128, 3, 4, 4)
LTX_AUDIO = (8, 6, 16)
LTX_GUIDED = (128, 4, 4, 4)  # the last frame is the guide


def _ltxv_prompt(more=lambda random: {}):
    def extras(random, tokens):
        attended = torch.ones(1, tokens, dtype=torch.long)
        attended[:, -1] = 0  # padding
        return {"attention_mask": attended, "frame_rate": 24.0, **more(random)}

    return _prompt(extras)


def _ltxv_guide():
    """As LTXVAddGuide sets it for a guide of half the size: its other tokens are left out."""
    _, frames, height, width = LTX_GUIDED
    mask = torch.ones(1, 1, frames, height, width)
    mask[:, :, -1] = -2.0
    mask[:, :, -1, ::2, ::2] = 0.0
    _, coords = SymmetricPatchifier(1, start_end=True).patchify(torch.zeros(1, 1, 1, height, width))
    entry = {"pre_filter_count": height * width, "strength": 0.5, "pixel_mask": None,
             "latent_shape": [1, height // 2, width // 2]}  # fmt: skip
    return {
        "keyframe_idxs": latent_to_pixel_coords(coords, (8, 32, 32), causal_fix=True),
        "guide_attention_entries": [entry],
        "denoise_mask": mask,
    }


def _ltx_start_image():
    """The noise mask of both streams, packed as the sampler packs them."""
    masks = (_mask(LTX_LATENT), torch.ones(1, *LTX_AUDIO))
    return {"denoise_mask": comfy.utils.pack_latents(masks)[0]}


# --- the others -----------------------------------------------------------------------------------

COSMOS = COSMOS_UNET | {
    "in_channels": 17,  # and the mask of the given frames
    "model_channels": 48,
    "mlp_ratio": 4.0,
    "rope_h_extrapolation_ratio": 3.0,
    "rope_w_extrapolation_ratio": 3.0,
}
KANDINSKY = {
    "image_model": "kandinsky5",
    "in_text_dim": TEXT,
    "in_text_dim2": 16,
    "time_dim": 32,
    "model_dim": 48,
    "ff_dim": 96,
    "visual_embed_dim": 132,  # four times noise, image and mask
    "num_text_blocks": 2,
    "num_visual_blocks": 3,
    "axes_dims": (8, 8, 8),
}
COGVIDEO = {
    "image_model": "cogvideox", "num_attention_heads": 3, "attention_head_dim": 32,
    "time_embed_dim": 32, "text_embed_dim": TEXT, "num_layers": 3, "in_channels": 16,
    "out_channels": 16, "sample_height": 8, "sample_width": 8, "sample_frames": 9,
}  # fmt: skip
MINIMAX = {
    "image_model": "minimax_h3", "hidden_size": 48, "num_layers": 3, "token_refiner_num_layers": 1,
    "num_attention_heads": 2, "attention_head_dim": 32, "ffn_hidden_size": 64, "text_dim": TEXT,
    "timestep_input_dim": 32, "time_embed_hidden_size": 32, "time_embed_dim": 24,
    "rope_inv_freq_len": 4,
}  # fmt: skip
MOCHI = {
    "image_model": "mochi_preview",
    "in_channels": 12,
    "hidden_size_x": 48,
    "hidden_size_y": 32,
    "depth": 3,
    "num_heads": 2,
    "mlp_ratio_x": 256.0,  # the class asks for these widths of the feed-forward part
    "mlp_ratio_y": 192.0,
    "learn_sigma": False,
    "qk_norm": True,
    "qkv_bias": False,
    "use_t5": True,
    "t5_feat_dim": TEXT,
    "t5_token_length": 8,
}
COSMOS_LATENT = (16, 3, 8, 8)
MINIMAX_LATENT = ((24, 3, 4, 4), (32, 2, 5))


def _minimax_prompt(more=lambda random: {}):
    def extras(random, tokens):
        tags = torch.ones(1, tokens, dtype=torch.long)
        tags[:, 1:3] = 0  # an image in the prompt
        return {"minimax_token_tags": tags, **more(random)}

    return _prompt(extras)


def _minimax_keyframe(random):
    keyframe = {"resolved_frame_index": 0, "latent": random(1, 24, 1, 4, 4)}
    return {"minimax_keyframes": [keyframe], "minimax_frame_count": 9}


def _minimax_references(random):
    image = {"kind": "image", "latent_h": 2, "latent_w": 4, "latent": random(1, 24, 1, 2, 4)}
    audio = {"kind": "audio", "ref_audio_t": 3, "audio_latent": random(1, 32, 2, 3)}
    return {"minimax_refs": [image, audio]}


def _attended(random, tokens):
    return {"attention_mask": torch.ones(1, tokens, dtype=torch.long)}


CASES: tuple[Case, ...] = (
    # HunyuanVideo is distilled: its nodes leave the negative prompt alone.
    *_case(
        "HunyuanVideo", "HunyuanVideo", "HunyuanVideo", HUNYUAN, HUNYUAN_LATENT,
        _hunyuan_prompt(lambda random: {"guidance": 4.0}), 1.0,
    ),
    *_case(
        "HunyuanVideo, image to video",
        "HunyuanVideo", "HunyuanVideoI2V", HUNYUAN | {"in_channels": 33},
        HUNYUAN_LATENT,
        _hunyuan_prompt(
            lambda random: {
                "concat_latent_image": random(1, 16, 1, 8, 8),
                "concat_mask": _mask((1, *HUNYUAN_LATENT[1:])),
            }
        ), 1.0,
    ),
    *_case(
        "HunyuanVideo, image to video by replaced tokens",
        "HunyuanVideo", "HunyuanVideo", HUNYUAN, HUNYUAN_LATENT,
        _hunyuan_prompt(lambda random: {"guiding_frame_index": 0}), 1.0,
    ),
    *_case(
        "HunyuanVideo, reference latent", "HunyuanVideo", "HunyuanVideo", HUNYUAN, HUNYUAN_LATENT,
        _hunyuan_prompt(lambda random: {"ref_latent": random(1, 16, 1, 8, 8)}), 1.0,
    ),
    *_case(
        "SkyReels, image to video", "HunyuanVideo", "HunyuanVideoSkyreelsI2V",
        HUNYUAN | {"in_channels": 32}, HUNYUAN_LATENT,
        _hunyuan_prompt(lambda random: {"concat_latent_image": random(1, 16, 1, 8, 8)}),
    ),
    *_case(
        "HunyuanVideo 1.5", "HunyuanVideo", "HunyuanVideo15", HUNYUAN_15, HUNYUAN_15_LATENT,
        _hunyuan_prompt(), adapt=_shrink_byt5,
    ),
    *_case(
        "HunyuanVideo 1.5, image to video",
        "HunyuanVideo", "HunyuanVideo15", HUNYUAN_15, HUNYUAN_15_LATENT,
        _hunyuan_prompt(
            lambda random: {
                "concat_latent_image": random(1, *HUNYUAN_15_LATENT),
                "concat_mask": _mask((1, *HUNYUAN_15_LATENT[1:])),
                "clip_vision_output": _seen(random, 20),
                "conditioning_byt5small": random(1, 3, 1472),
            }
        ), adapt=_shrink_byt5,
    ),
    *_case(
        "HunyuanVideo 1.5, super-resolution",
        "HunyuanVideo", "HunyuanVideo15_SR_Distilled", HUNYUAN_15 | {"in_channels": 98},
        HUNYUAN_15_LATENT,
        _hunyuan_prompt(
            lambda random: {
                "concat_latent_image": random(1, 66, *HUNYUAN_15_LATENT[1:]),
                "noise_augmentation": 0.0,  # else each item of a batch gets noise of its own
            }
        ), 1.0, adapt=_shrink_byt5,
    ),
    *_case(
        "HunyuanImage 2.1", "HunyuanVideo", "HunyuanImage21", HUNYUAN_IMAGE, (64, 6, 6),
        _prompt(lambda random, tokens: {"conditioning_byt5small": random(1, 3, 1472)}),
        adapt=_shrink_byt5,
    ),
    *_case(  # MeanFlow: the model also gets the sigma of the next step
        "HunyuanImage 2.1 distilled", "HunyuanVideo", "HunyuanImage21",
        HUNYUAN_IMAGE | {"meanflow": True, "guidance_embed": True}, (64, 6, 6), _prompt(), 1.0,
        adapt=_shrink_byt5,
    ),
    *_case("Wan 2.1 1.3B", "Wan", "WAN21_T2V", WAN, WAN_LATENT, _prompt()),
    *_case("Wan 2.1 14B", "Wan", "WAN21_T2V", WAN_14B, WAN_LATENT, _prompt()),
    *_case(
        "Wan 2.1, image to video",
        "Wan", "WAN21_I2V", WAN | {"model_type": "i2v", "in_dim": 36}, WAN_LATENT,
        _prompt(
            lambda random, tokens: _start_image(random)
            | {"clip_vision_output": _seen(random, 1280)}
        ),
    ),
    *_case(  # Wan 2.2 14B: no CLIP vision
        "Wan 2.2 14B, image to video", "Wan", "WAN21_T2V", WAN_14B | {"in_dim": 36}, WAN_LATENT,
        _prompt(lambda random, tokens: _start_image(random)),
    ),
    *_case(
        "Wan 2.1 Fun-Control", "Wan", "WAN21_FunControl2V",
        WAN | {"model_type": "i2v", "in_dim": 48, "in_dim_ref_conv": 16}, WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "concat_latent_image": random(1, 32, *WAN_LATENT[1:]),
                "clip_vision_output": _seen(random, 1280),
                "reference_latents": [random(1, 16, 1, 8, 8)],
            }
        ),
    ),
    *_case(
        "Wan 2.2 Fun-Control", "Wan", "WAN21_T2V", WAN | {"in_dim": 52, "in_dim_ref_conv": 16},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "concat_latent_image": random(1, 32, *WAN_LATENT[1:]),
                "concat_mask": _mask((4, *WAN_LATENT[1:])),
                "concat_mask_index": 16,
                "reference_latents": [random(1, 16, 1, 8, 8)],
            }
        ),
    ),
    *_case(
        "Wan Phantom", "Wan", "WAN21_T2V", WAN, WAN_LATENT,
        _prompt(lambda random, tokens: {"time_dim_concat": random(1, 16, 2, 8, 8)}),
    ),
    *_case(
        "Wan Bernini", "Wan", "WAN21_T2V", WAN, WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "context_latents": [random(1, 16, 1, 8, 8), random(1, 16, 2, 4, 8)]
            }
        ),
    ),
    *_case(
        "Wan 2.2 5B", "Wan", "WAN22_T2V", WAN | {"in_dim": 48, "out_dim": 48}, WAN_5B_LATENT,
        _prompt(),
    ),
    *_case(
        "Wan 2.2 5B, image to video",
        "Wan", "WAN22_T2V", WAN | {"in_dim": 48, "out_dim": 48}, WAN_5B_LATENT,
        _prompt(lambda random, tokens: {"denoise_mask": _mask(WAN_5B_LATENT)}),
    ),
    *_case(
        "Wan VACE", "Wan VACE", "WAN21_Vace",
        WAN | {"model_type": "vace", "num_layers": 4, "vace_layers": 2, "vace_in_dim": 96},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "vace_frames": [random(1, 32, *WAN_LATENT[1:])],
                "vace_mask": [_mask((64, *WAN_LATENT[1:]))],
                "vace_strength": [0.8],
            }
        ),
    ),
    *_case(
        "Wan 2.1 Camera",
        "Wan Camera", "WAN21_Camera", WAN | {"model_type": "camera", "in_dim": 32},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: _start_image(random)
            | {
                "camera_conditions": random(1, 24, 3, 64, 64),
                "clip_vision_output": _seen(random, 1280),
            }
        ),
    ),
    *_case(
        "Wan 2.2 Camera", "Wan Camera", "WAN22_Camera",
        WAN | {"model_type": "camera_2.2", "in_dim": 36}, WAN_LATENT,
        _prompt(
            lambda random, tokens: _start_image(random)
            | {"camera_conditions": random(1, 24, 3, 64, 64)}
        ),
    ),
    *_case(  # 1.7B
        "Wan HuMo", "Wan HuMo", "WAN21_HuMo", WAN | {"model_type": "humo"}, WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "reference_latents": [random(1, 16, 1, 8, 8)],
                "audio_embed": random(1, 3, 8, 5, 4),
            }
        ), adapt=_shrink_humo,
    ),
    *_case(
        "Wan HuMo 1.7B", "Wan HuMo", "WAN21_HuMo", WAN | {"model_type": "humo", "in_dim": 36},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "reference_latents": [random(1, 16, 1, 8, 8)],
                "audio_embed": random(1, 3, 8, 5, 4),
            }
        ), adapt=_shrink_humo,
    ),
    *_case(
        "Wan S2V", "Wan S2V", "WAN22_S2V",
        WAN | {"model_type": "s2v", "audio_dim": 8, "audio_inject_layers": [0, 2]}, WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "audio_embed": random(1, 25, 8, 12),
                "reference_latents": [random(1, 16, 1, 8, 8)],
                "reference_motion": random(1, 16, 19, 8, 8),
                "control_video": random(1, *WAN_LATENT),
            }
        ),
    ),
    *_case(
        "Wan Animate", "Wan Animate", "WAN22_Animate",
        WAN | {"model_type": "animate", "in_dim": 36, "num_layers": 10}, WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "concat_latent_image": random(1, *WAN_LATENT),
                "concat_mask": _mask((4, *WAN_LATENT[1:])),
                "clip_vision_output": _seen(random, 1280),
                "pose_video_latent": random(1, 16, 2, 8, 8),
                "face_video_pixels": random(1, 3, 5, 8, 8),
            }
        ), adapt=_shrink_animate,
    ),
    *_case(
        "Wan SCAIL", "Wan SCAIL", "WAN21_SCAIL", WAN | {"model_type": "scail", "in_dim": 20},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "reference_latents": [random(1, 16, 1, 8, 8)],
                "clip_vision_output": _seen(random, 1280),
                "pose_video_latent": random(1, 16, 3, 4, 4),
            }
        ),
    ),
    *_case(
        "Wan SCAIL 2", "Wan SCAIL 2", "WAN21_SCAIL2", WAN | {"model_type": "scail2", "in_dim": 20},
        WAN_LATENT,
        _prompt(
            lambda random, tokens: {
                "reference_latents": [random(1, 16, 1, 8, 8), random(1, 16, 1, 8, 8)],
                "clip_vision_output": _seen(random, 1280),
                "pose_video_latent": random(1, 16, 3, 4, 4),
                "driving_mask_28ch": random(1, 3, 28, 4, 4),
                "ref_mask_28ch": random(1, 5, 28, 8, 8),
                "ref_mask_flag": False,
            }
        ),
    ),
    *_case(
        "Wan Dancer", "Wan Dancer", "WAN22_WanDancer", WAN_DANCER, WAN_LATENT,
        _prompt(lambda random, tokens: _dance(random)),
    ),
    *_case(  # the first of its two models: other layers begin and end it
        "Wan Dancer, few frames a second", "Wan Dancer", "WAN22_WanDancer", WAN_DANCER, WAN_LATENT,
        _prompt(lambda random, tokens: _dance(random) | {"fps": 7.5}), 1.0,
    ),
    *_case("LTX-Video", "LTX-Video", "LTXV", LTXV, LTX_LATENT, _ltxv_prompt()),
    *_case(
        "LTX-Video, image to video", "LTX-Video", "LTXV", LTXV, LTX_LATENT,
        _ltxv_prompt(lambda random: {"denoise_mask": _mask(LTX_LATENT)}),
    ),
    *_case(
        "LTX-Video, guide frames", "LTX-Video", "LTXV", LTXV, LTX_GUIDED,
        _ltxv_prompt(lambda random: _ltxv_guide()),
    ),
    *_case(
        "LTX-2", "LTX-2", "LTXAV", LTX_2, (LTX_LATENT, LTX_AUDIO), _prompt(channels=2 * TEXT)
    ),
    *_case(
        "LTX-2, image to video", "LTX-2", "LTXAV", LTX_2, (LTX_LATENT, LTX_AUDIO),
        _prompt(lambda random, tokens: _ltx_start_image(), channels=2 * TEXT),
    ),
    *_case(  # without the sound
        "LTX-2 without sound", "LTX-2", "LTXAV", LTX_2, LTX_LATENT, _prompt(channels=2 * TEXT)
    ),
    *_case(
        "LTX-2.3, reference audio", "LTX-2", "LTXAV", LTX_23, (LTX_LATENT, LTX_AUDIO),
        _prompt(
            lambda random, tokens: {"ref_audio": {"tokens": random(1, 4, 128)}}, channels=48 + 24
        ),
    ),
    *_case(
        "Cosmos-Predict2, image to video",
        "Cosmos-Predict2", "CosmosI2VPredict2", COSMOS,
        COSMOS_LATENT, _prompt(lambda random, tokens: {"denoise_mask": _mask(COSMOS_LATENT)}),
    ),
    *_case("Kandinsky 5", "Kandinsky 5", "Kandinsky5", KANDINSKY, (16, 3, 8, 8),
        _prompt(lambda random, tokens: {"pooled_output": random(1, 16)}),
    ),
    *_case(
        "Kandinsky 5, image to video", "Kandinsky 5", "Kandinsky5", KANDINSKY, (16, 3, 8, 8),
        _prompt(
            lambda random, tokens: {
                "pooled_output": random(1, 16),
                "time_dim_replace": random(1, 16, 1, 8, 8),
                "concat_mask": _mask((1, 3, 8, 8)),
            }
        ),
    ),
    *_case(
        "Kandinsky 5 Image", "Kandinsky 5", "Kandinsky5Image", KANDINSKY | {"visual_embed_dim": 64},
        (16, 8, 8), _prompt(lambda random, tokens: {"pooled_output": random(1, 16)}),
    ),
    *_case(
        "CogVideoX", "CogVideoX", "CogVideoX_T2V",
        COGVIDEO | {"use_learned_positional_embeddings": True, "max_text_seq_length": 16},
        (16, 3, 8, 8), _prompt(),
    ),
    *_case(  # CogVideoX 1.5
        "CogVideoX, image to video", "CogVideoX", "CogVideoX_I2V",
        COGVIDEO | {"in_channels": 32, "patch_size_t": 2, "ofs_embed_dim": 32,
                    "use_rotary_positional_embeddings": True},
        (16, 3, 8, 8),
        _prompt(lambda random, tokens: {"concat_latent_image": random(1, 16, 1, 8, 8)}),
    ),
    *_case(  # VOID, which takes things out of videos
        "CogVideoX, inpaint", "CogVideoX", "CogVideoX_Inpaint",
        COGVIDEO | {"in_channels": 48, "use_rotary_positional_embeddings": True},
        (16, 3, 8, 8),
        _prompt(lambda random, tokens: {"concat_latent_image": random(1, 32, 3, 8, 8)}),
    ),
    *_case("Mochi", "Mochi", "GenmoMochi", MOCHI, (12, 3, 8, 8), _prompt(_attended)),
    *_case(
        "MiniMax H3", "MiniMax H3", "MiniMaxH3", MINIMAX, MINIMAX_LATENT, _minimax_prompt(),
    ),
    *_case(
        "MiniMax H3, image to video", "MiniMax H3", "MiniMaxH3", MINIMAX, MINIMAX_LATENT,
        _minimax_prompt(_minimax_keyframe),
    ),
    *_case(
        "MiniMax H3, references", "MiniMax H3", "MiniMaxH3",
        MINIMAX | {"adaln_curve_grid": 9, "time_embed_dim": 8}, MINIMAX_LATENT,
        _minimax_prompt(_minimax_references),
    ),
)  # fmt: skip

# Upstream: MiniMax H3 refuses larger batches, a reference latent of HunyuanVideo fails in them, and
# until 0.24.1 WanDancer's frames a second do.
BATCH_OF_ONE = frozenset(
    {
        "HunyuanVideo, reference latent",
        "Wan Dancer, few frames a second",
        *(case.name for case in CASES if case.family == "MiniMax H3"),
    }
)
