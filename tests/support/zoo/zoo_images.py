"""Image models in the zoo: one case for each way in which people use a family."""

from __future__ import annotations

import dataclasses

import comfy.ldm.anima.model
import comfy.ops
import comfy.supported_models
import torch

from . import prefixed
from .zoo import Case

TEXT, POOLED, LLAMA = 24, 16, 20  # widths of the text encoders
ROPE = [8, 12, 12]  # adds up to the width of an attention head


class Anima(comfy.supported_models.Anima):
    """Its text adapter has a fixed size of 135 M parameters: here a small one of the same class."""

    def get_model(self, *args, **kwargs):
        model = super().get_model(*args, **kwargs)
        model.diffusion_model.llm_adapter = comfy.ldm.anima.model.LLMAdapter(
            source_dim=TEXT, target_dim=TEXT, model_dim=32, num_layers=1, num_heads=2,
            dtype=self.unet_config["dtype"], operations=comfy.ops.disable_weight_init,
        )  # fmt: skip
        return model


def newer(name: str):
    """A configuration that older versions of ComfyUI lack."""
    return getattr(comfy.supported_models, name, None)


def conditioning(*extras, width: int = TEXT, pooled: int | None = None):
    """What a text encoder returns; ``extras`` make the further keys that nodes set."""

    def condition(seed: int, tokens: int) -> list:
        generator = torch.Generator().manual_seed(seed)

        def random(*shape):
            return torch.randn(shape, generator=generator)

        keys = {"pooled_output": None if pooled is None else random(1, pooled)}
        for extra in extras:
            keys |= extra(random, tokens)
        return [[random(1, tokens, width), keys]]

    return condition


def references(*shapes: tuple[int, ...], **keys):
    """Latents of reference images, of other sizes than the sampled one."""
    return lambda random, tokens: {"reference_latents": [random(1, *s) for s in shapes]} | keys


def mask(random, tokens):
    """Some text encoders return one even where no token is masked."""
    return {"attention_mask": torch.ones(1, tokens, dtype=torch.long)}


def guidance(random, tokens):
    return {"guidance": 3.5}


def image(random, tokens):
    return {"concat_latent_image": random(1, 16, 8, 8)}


def inpaint_mask(random, tokens):
    return {"concat_mask": random(1, 1, 64, 64).gt(0).float()}


# FLUX.1

FLUX_UNET = {
    "image_model": "flux", "in_channels": 16, "out_channels": 16, "patch_size": 2,
    "vec_in_dim": POOLED, "context_in_dim": TEXT, "hidden_size": 64, "mlp_ratio": 2.0,
    "num_heads": 2, "depth": 2, "depth_single_blocks": 3, "axes_dim": ROPE, "theta": 10_000,
    "qkv_bias": True, "guidance_embed": True, "txt_ids_dims": [],
}  # fmt: skip


def flux(name, *extras, config=comfy.supported_models.Flux, **unet):
    return Case(
        name=name, family="FLUX", config=config, unet=FLUX_UNET | unet, latent=(16, 8, 8),
        conditioning=conditioning(guidance, *extras, pooled=POOLED), cfg=1.0,
    )  # fmt: skip


FLUX = (
    flux("FLUX dev"),
    flux("FLUX schnell", config=comfy.supported_models.FluxSchnell, guidance_embed=False),
    flux(
        "FLUX Fill", image, inpaint_mask, config=comfy.supported_models.FluxInpaint, in_channels=96,
    ),
    flux("FLUX Kontext", references((16, 6, 4), (16, 4, 4))),
    flux("FLUX Control", image, in_channels=32),
)  # fmt: skip

LIKE_FLUX = {"guidance_embed": False, "vec_in_dim": None, "txt_ids_dims": [1, 2]}


def longcat(name, *extras):
    return flux(name, *extras, config=newer("LongCatImage"), **LIKE_FLUX)


LONGCAT_OVIS = (
    longcat("LongCat-Image"), longcat("LongCat-Image, edit", references((16, 6, 4))),
    flux(
        "Ovis-Image", config=comfy.supported_models.FluxSchnell, yak_mlp=True, txt_norm=True,
        **LIKE_FLUX,
    ),
)  # fmt: skip

# FLUX.2

FLUX2_UNET = {
    "image_model": "flux2", "in_channels": 128, "out_channels": 128, "patch_size": 1,
    "vec_in_dim": None, "context_in_dim": TEXT, "hidden_size": 64, "mlp_ratio": 3.0, "num_heads": 2,
    "depth": 2, "depth_single_blocks": 3, "axes_dim": [8, 8, 8, 8], "theta": 2000,
    "qkv_bias": False, "guidance_embed": True, "txt_ids_dims": [3], "global_modulation": True,
    "mlp_silu_act": True, "ops_bias": False, "default_ref_method": "index", "ref_index_scale": 10.0,
}  # fmt: skip
KLEIN = {"guidance_embed": False, "hidden_size": 32, "num_heads": 1, "depth_single_blocks": 2}


def flux2(name, *extras, cfg=1.0, **unet):
    return Case(
        name=name, family="FLUX", config=comfy.supported_models.Flux2, unet=FLUX2_UNET | unet,
        latent=(128, 4, 4), conditioning=conditioning(*extras), cfg=cfg,
    )  # fmt: skip


FLUX2 = (
    flux2("FLUX.2 dev"),
    flux2("FLUX.2 dev, edit", references((128, 6, 4), (128, 4, 4))),
    flux2("FLUX.2 Klein", cfg=3.0, **KLEIN),
    flux2("FLUX.2 Klein, edit", references((128, 6, 4), (128, 4, 4)), cfg=3.0, **KLEIN),
    flux2(  # what the node FluxKVCache sets
        "FLUX.2 Klein, edit, references at timestep zero",
        references((128, 6, 4), reference_latents_method="index_timestep_zero"),
        cfg=3.0,
        **KLEIN,
    ),
)

# Qwen-Image


def qwen(name, *extras, **unet):
    return Case(
        name=name, family="Qwen-Image", config=comfy.supported_models.QwenImage,
        unet={
            "image_model": "qwen_image", "in_channels": 64, "num_layers": 3,
            "attention_head_dim": 32, "num_attention_heads": 2, "joint_attention_dim": TEXT,
            "axes_dims_rope": ROPE,
        } | unet,
        latent=(16, 1, 8, 8), conditioning=conditioning(*extras),
    )  # fmt: skip


QWEN = (
    qwen("Qwen-Image"), qwen("Qwen-Image-Edit", references((16, 1, 6, 4), (16, 1, 4, 4))),
    qwen(
        "Qwen-Image-Edit, references at timestep zero",
        references((16, 1, 6, 4), reference_latents_method="index_timestep_zero"),
    ),
    qwen(
        "Qwen-Image-Edit 2511", references((16, 1, 6, 4)), default_ref_method="index_timestep_zero",
    ),
    dataclasses.replace(
        qwen(
            "Qwen-Image-Layered", references((16, 1, 8, 8)), use_additional_t_cond=True,
            default_ref_method="negative_index",
        ),
        latent=(16, 3, 8, 8),
    ),
)  # fmt: skip

# Qwen-Image 2.1


def qwen21(name, *extras):
    return Case(
        name=name, family="Qwen-Image 2.1", config=prefixed.CONFIG,
        unet={
            "image_model": "qwen_image21", "in_channels": 64, "out_channels": 64, "num_layers": 3,
            "attention_head_dim": 32, "num_attention_heads": 2, "context_in_dim": TEXT,
            "axes_dims_rope": ROPE,
        },
        latent=(64, 4, 4), conditioning=conditioning(*extras),
    )  # fmt: skip


QWEN21 = (
    qwen21("Qwen-Image 2.1"),
    qwen21("Qwen-Image 2.1, references", references((64, 3, 2), (64, 2, 2))),
)

# Lumina 2 and Z-Image

LUMINA_UNET = {
    "image_model": "lumina2", "patch_size": 2, "in_channels": 16, "dim": 64, "cap_feat_dim": TEXT,
    "n_layers": 3, "n_refiner_layers": 1, "n_heads": 2, "n_kv_heads": 1, "multiple_of": 32,
    "ffn_dim_multiplier": 2.0, "axes_dims": ROPE, "axes_lens": [300, 512, 512],
    "rope_theta": 10_000.0, "qk_norm": True,
}  # fmt: skip
Z_IMAGE_UNET = LUMINA_UNET | {
    "dim": 256,  # the modulation has this width
    "n_heads": 8,
    "n_kv_heads": 8,
    "ffn_dim_multiplier": 1.0,
    "rope_theta": 256.0,
    "z_image_modulation": True,
    "time_scale": 1000.0,
    "pad_tokens_multiple": 32,
}


def z_image(name, *extras):
    return Case(
        name=name, family="Lumina 2 / Z-Image", config=comfy.supported_models.ZImage,
        unet=Z_IMAGE_UNET, latent=(16, 8, 8), conditioning=conditioning(mask, *extras),
    )  # fmt: skip


def omni(random, tokens):
    """Each reference image has its own part of the prompt."""
    # The node adds a part after the last one, on which ComfyUI 0.30.0 fails at batches above one.
    parts = {"reference_latents_text_embeds": [random(1, 3, TEXT), random(1, 4, TEXT)]}
    return references((16, 6, 4), (16, 4, 4))(random, tokens) | parts


LUMINA = (
    Case(
        name="Lumina 2", family="Lumina 2 / Z-Image", config=comfy.supported_models.Lumina2,
        unet=LUMINA_UNET, latent=(16, 8, 8), conditioning=conditioning(mask),
    ),
    Case(
        name="NewBie", family="Lumina 2 / Z-Image", config=comfy.supported_models.Lumina2,
        unet=LUMINA_UNET | {"clip_text_dim": POOLED}, latent=(16, 8, 8),
        conditioning=conditioning(mask, pooled=POOLED),
    ),
    z_image("Z-Image"), z_image("Z-Image Omni", omni),
)  # fmt: skip


class Ming(comfy.supported_models.ZImage):
    """The attribute by which ComfyUI tells its positions from Z-Image's; older ones ignore it."""

    def get_model(self, *args, **kwargs):
        model = super().get_model(*args, **kwargs)
        model.diffusion_model.masked_pad_multiple = 32
        return model


MING = dataclasses.replace(
    z_image("Ming-Image"),
    family="Ming-Image",
    config=Ming,
    unet={k: v for k, v in Z_IMAGE_UNET.items() if k != "pad_tokens_multiple"},
)

# Krea 2


def krea2(name, *extras):
    return Case(
        name=name, family="Krea 2", config=newer("Krea2"),
        unet={
            "image_model": "krea2", "features": 64, "channels": 16, "patch": 2, "layers": 3,
            "heads": 2, "kvheads": 1, "multiplier": 2, "txtlayers": 3, "txtdim": TEXT,
            "txtheads": 2, "txtkvheads": 2,
        },
        latent=(16, 1, 8, 8), conditioning=conditioning(*extras, width=3 * TEXT),
    )  # fmt: skip


KREA2 = (
    krea2("Krea 2"),
    krea2("Krea 2, edit", references((16, 1, 6, 4), reference_latents_method="index")),
    krea2(
        "Krea 2, edit, references at timestep zero",
        references((16, 1, 6, 4), reference_latents_method="index_timestep_zero"),
    ),
)

# OmniGen2 and Boogu

OMNIGEN_UNET = {
    "hidden_size": 64, "num_layers": 3, "num_refiner_layers": 1, "num_attention_heads": 2,
    "num_kv_heads": 1, "multiple_of": 32, "axes_dim_rope": ROPE, "timestep_scale": 1000.0,
}  # fmt: skip


def omnigen2(name, *extras):
    return Case(
        name=name,
        family="OmniGen2",
        config=comfy.supported_models.Omnigen2,
        unet=OMNIGEN_UNET | {"image_model": "omnigen2", "text_feat_dim": TEXT},
        latent=(16, 8, 8),
        conditioning=conditioning(mask, *extras),
    )


def boogu(name, *extras):
    return Case(
        name=name,
        family="Boogu",
        config=newer("Boogu"),
        unet=OMNIGEN_UNET
        | {"image_model": "boogu", "instruction_feat_dim": TEXT, "num_double_stream_layers": 2},
        latent=(16, 8, 8),
        conditioning=conditioning(mask, *extras),
    )


OMNIGEN = (
    omnigen2("OmniGen2"),
    omnigen2("OmniGen2, edit", references((16, 6, 4), (16, 4, 4))),
    boogu("Boogu"),
    boogu("Boogu, edit", references((16, 6, 4), (16, 4, 4))),
)

# MageFlow


def mage_flow(name, *extras):
    return Case(
        name=name, family="MageFlow", config=newer("MageFlow"),
        unet={
            "image_model": "mage_flow", "in_channels": 128, "num_layers": 3,
            "attention_head_dim": 32, "num_attention_heads": 2, "joint_attention_dim": TEXT,
            "axes_dims_rope": ROPE,
        },
        latent=(128, 4, 4), conditioning=conditioning(*extras),
    )  # fmt: skip


MAGE_FLOW = (mage_flow("MageFlow"), mage_flow("MageFlow, edit", references((128, 3, 2))))

# HiDream-I1 and E1


def llama(random, tokens):
    return {"conditioning_llama3": random(1, 5, tokens + 2, LLAMA)}  # five of its layers


def hidream(name, *extras):
    return Case(
        name=name,
        family="HiDream-I1",
        config=comfy.supported_models.HiDream,
        unet={
            "image_model": "hidream",
            "attention_head_dim": 32,
            "axes_dims_rope": [16, 8, 8],
            "caption_channels": [TEXT, LLAMA],
            "max_resolution": [128, 128],
            "in_channels": 16,
            "out_channels": 16,
            "patch_size": 2,
            "llama_layers": [0, 1, 2, 3, 4],  # one for each block
            "num_attention_heads": 2,
            "num_routed_experts": 4,
            "num_activated_experts": 2,
            "num_layers": 2,
            "num_single_layers": 3,
            "text_emb_dim": POOLED,
        },
        latent=(16, 8, 8),
        conditioning=conditioning(llama, *extras, pooled=POOLED),
    )


HIDREAM = (hidream("HiDream-I1"), hidream("HiDream-E1", image))

# Cosmos-Predict2 and Anima

COSMOS_UNET = {
    "image_model": "cosmos_predict2", "max_img_h": 240, "max_img_w": 240, "max_frames": 128,
    "in_channels": 16, "out_channels": 16, "patch_spatial": 2, "patch_temporal": 1,
    "model_channels": 64, "concat_padding_mask": True, "crossattn_emb_channels": TEXT,
    "pos_emb_cls": "rope3d", "pos_emb_learnable": True, "pos_emb_interpolation": "crop",
    "use_adaln_lora": True, "adaln_lora_dim": 16, "num_blocks": 3, "num_heads": 2, "mlp_ratio": 2.0,
    "extra_per_block_abs_pos_emb": False, "rope_h_extrapolation_ratio": 4.0,
    "rope_w_extrapolation_ratio": 4.0, "rope_enable_fps_modulation": False,
}  # fmt: skip


def t5_tokens(random, tokens):
    """Anima's text has as many tokens as another tokenizer finds; ComfyUI pads them to 512."""
    number = 20 * tokens  # few would drown in the padding
    return {
        "t5xxl_ids": random(number).abs().mul(1000).int(),
        "t5xxl_weights": torch.ones(number),
    }


COSMOS = (
    Case(
        name="Cosmos-Predict2", family="Cosmos-Predict2",
        config=comfy.supported_models.CosmosT2IPredict2, unet=COSMOS_UNET, latent=(16, 1, 8, 8),
        conditioning=conditioning(mask),
    ),
    Case(
        name="Anima", family="Anima", config=Anima, unet=COSMOS_UNET | {"image_model": "anima"},
        latent=(16, 1, 8, 8), conditioning=conditioning(mask, t5_tokens),
    ),
)  # fmt: skip

# Others

CHROMA = Case(
    name="Chroma", family="Chroma", config=comfy.supported_models.Chroma,
    unet={
        **{key: value for key, value in FLUX_UNET.items() if key != "guidance_embed"},
        "image_model": "chroma", "in_channels": 64, "out_channels": 64, "vec_in_dim": None,
        "in_dim": 64, "out_dim": 64, "hidden_dim": 32, "n_layers": 2,
    },
    latent=(16, 8, 8), conditioning=conditioning(),
)  # fmt: skip

SD3 = Case(  # as SD3.5 medium: normalised queries and keys, a second attention in some blocks
    name="SD3",
    family="SD3",
    config=comfy.supported_models.SD3,
    unet={
        "input_size": None,
        "patch_size": 2,
        "in_channels": 16,
        "depth": 2,  # of 64 channels each
        "num_blocks": 3,
        "adm_in_channels": POOLED,
        "context_embedder_config": {
            "target": "torch.nn.Linear",
            "params": {"in_features": TEXT, "out_features": 128},
        },
        "pos_embed_scaling_factor": None,
        "pos_embed_max_size": 8,
        "num_patches": 64,
        "qk_norm": "rms",
        "x_block_self_attn_layers": [0, 1],
    },
    latent=(16, 8, 8),
    conditioning=conditioning(pooled=POOLED),
)

ERNIE = Case(
    name="Ernie-Image", family="Ernie-Image", config=comfy.supported_models.ErnieImage,
    unet={
        "image_model": "ernie", "hidden_size": 64, "num_attention_heads": 2, "num_layers": 3,
        "ffn_hidden_size": 128, "text_in_dim": TEXT, "rope_axes_dim": ROPE,
    },
    latent=(128, 4, 4), conditioning=conditioning(mask),
)  # fmt: skip

LENS = Case(
    name="Lens",
    family="Lens",
    config=newer("Lens"),
    unet={
        "image_model": "lens",
        "in_channels": 128,
        "num_layers": 3,
        "attention_head_dim": 32,
        "num_attention_heads": 2,
        "enc_hidden_dim": TEXT,
        "axes_dims_rope": ROPE,
        "selected_layer_index": (0, 1),  # of the text encoder
    },
    latent=(128, 4, 4),
    conditioning=conditioning(mask, width=2 * TEXT),
)


def joyimage(name, *extras):
    return Case(
        name=name,
        family="JoyImage",
        config=newer("JoyImage"),
        unet={
            "image_model": "joyimage",
            "hidden_size": 128,  # ComfyUI sets the widths of the positions: one head of 128
            "num_attention_heads": 1,
            "text_dim": TEXT,
            "mlp_width_ratio": 1.0,
            "num_layers": 3,
        },
        latent=(16, 1, 8, 8),
        conditioning=conditioning(*extras),
    )


JOYIMAGE = (
    joyimage("JoyImage"),
    joyimage("JoyImage, edit", references((16, 1, 6, 4), (16, 1, 4, 4))),
)


def padded(random, tokens):
    attended = torch.ones(1, tokens, dtype=torch.long)
    attended[:, -1] = 0
    return {"attention_mask": attended}


def ideogram(name, *extras):
    config = newer("Ideogram4")
    return Case(
        name=name,
        family="Ideogram 4",
        # ComfyUI sets the widths: 4,608 channels, of which a copy of the class knows nothing.
        config=config and type(config.__name__, (config,), {"unet_extra_config": {}}),
        unet={
            "image_model": "ideogram4",
            "in_channels": 128,
            "num_layers": 3,
            "num_attention_heads": 2,
            "attention_head_dim": 32,
            "intermediate_size": 96,
            "adaln_dim": 32,
            "llm_features_dim": TEXT,
            "mrope_section": (4, 6, 6),
        },
        latent=(128, 4, 4),
        conditioning=conditioning(*extras),
    )


IDEOGRAM = (ideogram("Ideogram 4"), ideogram("Ideogram 4, padded prompt", padded))

AURA = Case(
    name="AuraFlow", family="AuraFlow", config=comfy.supported_models.AuraFlow,
    unet={
        "cond_seq_dim": TEXT, "dim": 64, "n_layers": 4, "n_double_layers": 2, "n_heads": 2,
        "global_conddim": 64, "max_seq": 64,
    },
    latent=(4, 8, 8), conditioning=conditioning(),
)  # fmt: skip

PIXART_UNET = {
    "image_model": "pixart_alpha", "hidden_size": 48, "depth": 3, "num_heads": 2,
    "caption_channels": TEXT, "pe_interpolation": 1, "model_max_length": 8,
}  # fmt: skip
PIXART_LATENT = (4, 64, 4)  # sides of 34 on average: positions count in 64


def sizes(random, tokens):
    return {"width": 32, "height": 512}


PIXART = (
    Case(
        name="PixArt alpha", family="PixArt", config=comfy.supported_models.PixArtAlpha,
        unet=PIXART_UNET | {"micro_condition": True}, latent=PIXART_LATENT,
        conditioning=conditioning(sizes),
    ),
    Case(
        name="PixArt sigma", family="PixArt", config=comfy.supported_models.PixArtSigma,
        unet=PIXART_UNET | {"image_model": "pixart_sigma"}, latent=PIXART_LATENT,
        conditioning=conditioning(),
    ),
)  # fmt: skip


def two_encoders(random, tokens):
    """HunyuanDiT's second text encoder, and the masks of both."""
    return {
        "attention_mask": torch.ones(1, tokens, dtype=torch.long),
        "conditioning_mt5xl": random(1, T5_TOKENS, LLAMA - 4),
        "attention_mask_mt5xl": torch.ones(1, T5_TOKENS, dtype=torch.long),
    }


T5_TOKENS = 6

HUNYUAN_DIT = Case(
    name="HunyuanDiT",
    family="HunyuanDiT",
    config=comfy.supported_models.HunyuanDiT1,
    unet={
        "image_model": "hydit1",
        "hidden_size": 64,
        "depth": 4,  # the last block gets what comes out of the first
        "num_heads": 2,
        "text_states_dim": TEXT,
        "text_states_dim_t5": LLAMA - 4,
        "text_len": 5,
        "text_len_t5": T5_TOKENS,
        "size_cond": True,
        "use_style_cond": True,
    },
    latent=(4, 8, 8),
    conditioning=conditioning(two_encoders),
)

ALL = (
    *FLUX, *LONGCAT_OVIS, *FLUX2, CHROMA, *QWEN, *QWEN21, SD3, *LUMINA, MING, *HIDREAM, *KREA2,
    *OMNIGEN, ERNIE, *MAGE_FLOW, *COSMOS, LENS, *JOYIMAGE, *IDEOGRAM, AURA, *PIXART, HUNYUAN_DIT,
)  # fmt: skip

CASES: tuple[Case, ...] = tuple(case for case in ALL if case.config is not None)
