"""Models of sound and of solid shapes in the zoo."""

from __future__ import annotations

import comfy.ldm.ace.lyric_encoder
import comfy.ops
import comfy.supported_models
import torch

from .zoo import Case
from .zoo_images import TEXT, conditioning, newer, references


def numbers(channels=768):
    """Weights of Stable Audio's embedder of a number of seconds."""
    generator = torch.Generator().manual_seed(7)
    return {
        "embedder.embedding.0.weights": torch.randn(128, generator=generator),
        "embedder.embedding.1.weight": torch.randn(channels, 257, generator=generator) / 16,
        "embedder.embedding.1.bias": torch.zeros(channels),
    }


def _with_numbers(config, names):
    """A configuration whose state dict has the embedders that the checkpoint brings."""
    if config is None:
        return None

    class WithNumbers(config):
        def get_model(self, state_dict, *args, **kwargs):
            found = {
                f"conditioner.conditioners.{name}.{key}": value
                for name in names
                for key, value in numbers().items()
            }
            return super().get_model(found, *args, **kwargs)

    return WithNumbers


AUDIO_UNET = {
    "audio_model": "dit1.0", "io_channels": 64, "embed_dim": 64, "num_heads": 2, "depth": 3,
    "cond_token_dim": 768, "project_cond_tokens": True, "timestep_features_type": "learned",
}  # fmt: skip

AUDIO = (
    Case(
        name="Stable Audio Open",
        family="Stable Audio",
        config=_with_numbers(
            comfy.supported_models.StableAudio, ("seconds_start", "seconds_total")
        ),
        unet=AUDIO_UNET | {"global_cond_dim": 1536},
        latent=(64, 12),
        conditioning=conditioning(width=768),
    ),
    Case(
        name="Stable Audio 3",
        family="Stable Audio",
        config=_with_numbers(newer("StableAudio3"), ("seconds_total",)),
        unet=AUDIO_UNET
        | {
            "io_channels": 256,
            "global_cond_dim": 768,
            "global_cond_shared_embed": True,
            "global_cond_type": "adaLN",
            "local_add_cond_dim": 257,
            "num_memory_tokens": 4,
        },
        latent=(256, 12),
        conditioning=conditioning(width=768),
    ),
)


class ACEStep(comfy.supported_models.ACEStep):
    """Its encoder of lyrics has a fixed size: here a small one of the same class."""

    def get_model(self, *args, **kwargs):
        model = super().get_model(*args, **kwargs)
        encoder = comfy.ldm.ace.lyric_encoder.ConformerEncoder(
            input_size=16, output_size=16, attention_heads=2, linear_units=16, num_blocks=1,
            static_chunk_size=0, dtype=self.unet_config["dtype"],
            operations=comfy.ops.disable_weight_init,
        )  # fmt: skip
        model.diffusion_model.lyric_encoder = encoder.eval()  # without dropout
        return model


def lyrics(random, tokens):
    return {"conditioning_lyrics": random(1, tokens + 3).abs().mul(10).long()}


ACE_STEP = Case(
    name="ACE-Step", family="ACE-Step", config=ACEStep,
    unet={
        "audio_model": "ace", "num_layers": 3, "attention_head_dim": 32, "num_attention_heads": 2,
        "mlp_ratio": 2.0, "text_embedding_dim": TEXT, "ssl_latent_dims": [8],
        "lyric_encoder_vocab_size": 64, "lyric_hidden_size": 16, "max_position": 64,
    },
    latent=(8, 16, 12), conditioning=conditioning(lyrics),
)  # fmt: skip


def lyric_states(random, tokens):
    return {"conditioning_lyrics": random(1, tokens + 3, TEXT)}


def timbre(random, tokens):
    return {"reference_audio_timbre_latents": [random(1, 64, 20)]}


def ace_step_15(name, *extras):
    return Case(
        name=name, family="ACE-Step 1.5", config=newer("ACEStep15"),
        unet={
            "audio_model": "ace1.5", "hidden_size": 64, "text_hidden_dim": TEXT,
            "num_dit_layers": 3, "num_lyric_layers": 1, "num_timbre_layers": 1,
            "num_tokenizer_layers": 1, "num_heads": 2, "num_kv_heads": 1, "head_dim": 32,
            "intermediate_size": 96, "encoder_hidden_size": 64, "encoder_intermediate_size": 96,
            "encoder_num_heads": 2, "fsq_dim": 64,
        },
        latent=(64, 20), conditioning=conditioning(lyric_states, *extras),
    )  # fmt: skip


ACE_STEP_15 = (ace_step_15("ACE-Step 1.5"), ace_step_15("ACE-Step 1.5, cover", timbre))

HUNYUAN_3D = (
    Case(
        name="Hunyuan3D 2",
        family="Hunyuan3D 2",
        config=comfy.supported_models.Hunyuan3Dv2,
        unet={
            "image_model": "hunyuan3d2",
            "in_channels": 64,
            "context_in_dim": TEXT,
            "hidden_size": 64,
            "mlp_ratio": 2.0,
            "num_heads": 2,
            "depth": 2,
            "depth_single_blocks": 3,
            "guidance_embed": True,
        },
        latent=(64, 12),
        conditioning=conditioning(),
    ),
    Case(
        name="Hunyuan3D 2.1",
        family="Hunyuan3D 2.1",
        config=newer("Hunyuan3Dv2_1"),
        unet={
            "image_model": "hunyuan3d2_1",
            "in_channels": 64,
            "hidden_size": 64,
            "context_dim": TEXT,
            "depth": 5,  # the second half gets what comes out of the first
            "num_heads": 2,
            "num_moe_layers": 2,
            "num_experts": 3,
            "guidance_cond_proj_dim": None,
        },
        latent=(64, 12),
        conditioning=conditioning(),
    ),
)

TRIPOSPLAT = Case(
    name="TripoSplat", family="TripoSplat", config=newer("TripoSplat"),
    unet={
        "image_model": "triposplat", "q_token_length": 12, "model_channels": 64,
        "cond_channels": TEXT, "cond2_channels": 128, "num_blocks": 3, "num_refiner_blocks": 1,
        "num_head_channels": 32, "mlp_ratio": 2,
    },
    latent=((12, 16), (1, 5)), conditioning=conditioning(references((128, 2, 2))),
)  # fmt: skip

ALL = (*AUDIO, ACE_STEP, *ACE_STEP_15, *HUNYUAN_3D, TRIPOSPLAT)

CASES: tuple[Case, ...] = tuple(case for case in ALL if case.config is not None)
