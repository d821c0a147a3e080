"""The example workflow with a search. Standard library only."""

from __future__ import annotations

from .drawing import MODEL, Column, Part, drawn, examples, folded, note, prompt, sampling

NAME = "13_Search_for_the_Best_Schedule"
# At 50 steps three minutes are too short: with 9 full ones nothing better than uniform was found
# (64 unseen captions), and for 13 and 21 the pack has paths of longer searches.
STEPS, CFG = 20, 5.0
# Captions of the kind that the model was trained on. The search must not see those of validation.
SCORING = (
    "purple ring above red triangle on striped black background",
    "two purple squares on checkered yellow background",
    "large cyan ring on dotted red background",
    "small white circle on gradient black background",
    "orange cross above purple square on plain pink background",
    "large white cross on checkered cyan background",
    "black triangle above yellow square on checkered purple background",
    "small cyan triangle on striped white background",
    "cyan diamond left of red diamond on plain yellow background",
    "three yellow diamonds on plain orange background",
    "small green triangle on gradient purple background",
    "small orange cross on checkered black background",
    "green triangle above white square on plain purple background",
    "one cyan ring on dotted black background",
    "three blue diamonds on gradient purple background",
    "large yellow triangle on plain red background",
)
VALIDATION = (
    "white triangle left of blue ring on striped purple background",
    "two white diamonds on checkered red background",
    "two pink diamonds on plain orange background",
    "one purple cross on gradient green background",
    "one black cross on striped red background",
    "purple ring left of cyan ring on striped black background",
    "three blue diamonds on dotted yellow background",
    "large green square on dotted orange background",
    "one white diamond on plain black background",
    "small yellow square on striped black background",
    "blue circle above orange cross on gradient white background",
    "black ring left of cyan ring on dotted purple background",
    "three blue circles on gradient black background",
    "small black cross on checkered orange background",
    "large white triangle on plain red background",
    "blue cross left of yellow ring on plain red background",
    "two cyan triangles on gradient yellow background",
    "small yellow cross on dotted red background",
    "green circle left of white triangle on plain black background",
    "orange square above purple triangle on gradient red background",
    "two orange squares on checkered black background",
    "one purple ring on plain black background",
    "small blue square on striped pink background",
    "white circle left of blue cross on plain cyan background",
    "one black diamond on striped yellow background",
    "small cyan diamond on checkered orange background",
    "one black cross on plain orange background",
    "cyan cross left of black circle on gradient yellow background",
    "three blue diamonds on checkered white background",
    "three black rings on plain white background",
    "one purple diamond on checkered pink background",
    "green cross left of white circle on gradient cyan background",
    "small purple triangle on dotted black background",
    "yellow ring above white diamond on gradient pink background",
    "one blue diamond on gradient white background",
    "three orange rings on striped white background",
    "three cyan rings on checkered yellow background",
    "large black cross on dotted purple background",
    "green triangle left of pink cross on gradient orange background",
    "small green square on plain white background",
)
PICTURE = "blue square left of pink diamond on striped purple background"
SEARCH = {  # the widgets of the node, in its order
    "cfg": CFG,
    "speed": "Quality",
    "full_steps": 10,
    "minutes": 3.0,
    "study": "demo search",
    "policies": "automatic",
    "objective": "PSNR",
    "lpips": "off",
    "algorithm": "automatic",
    "evaluations": 0,
    "batch_size": 8,
    "racing": True,
    "state_gib": 2.0,
    "seed": 0,
    "required_steps": "automatic",
}
NOTE = (
    "## Search a golden path\n\n"
    "Press *Run* and watch *Schedule Search*. It looks for the schedule with 8 of 20 full steps "
    "that comes closest to the full run. It tries one schedule after another on *Scoring Examples* "
    "and fits weights for the 12 cached steps of each. After three minutes at most, it compares "
    "the best schedules on *Validation Examples*, which the search did not see, with evenly spaced "
    "steps and with 8 plain steps, which cost the same. Figure and table show the lead of the "
    "winner. *Golden Path Cache* then uses the winner for the picture on the right.\n\n"
    "You can cancel at any time; run it again to continue. The path is saved in the library under "
    "the name of the *study*.\n\n"
    "**Your own model:** replace the demo model by your loaders, and write prompts of the kind you "
    "use, with one seed for all or one for each. Set size, sampler, steps and CFG (in two nodes) "
    "to your usual values. For FLUX.1-dev use CFG 1, *guidance* 3.5 in both example nodes, and "
    "*FluxGuidance* after the prompt of the picture. Set *minutes* to the seconds of a fast image "
    "× examples × 40 / 30, or more, *batch_size* (advanced) to 1, and give *study* a new name."
)


COLUMNS = (
    Column(
        320,
        {
            "note": note(NOTE, 460),
            "scoring": examples("Scoring Examples", 320, SCORING, seed=1),
        },
    ),
    Column(
        280,
        {
            "model": MODEL,
            **sampling(STEPS),
            "validation": examples("Validation Examples", 320, VALIDATION, seed=101),
        },
    ),
    Column(
        400,
        {
            "search": Part(
                "GPH_ScheduleSearch",
                {
                    "model": ("model", "MODEL"), "examples": ("scoring", "examples"),
                    "latent": ("latent", "LATENT"), "sampler": ("sampler", "SAMPLER"),
                    "sigmas": ("sigmas", "SIGMAS"), "vae": ("model", "VAE"),
                    "validation": ("validation", "examples"),
                },
                {
                    "schedule": "GPH_SCHEDULE", "policy": "GPH_POLICY", "figure": "IMAGE",
                    "table": "STRING",
                },
                tuple(SEARCH.values()),
                height=800,
            ),
        },
    ),
    Column(
        400,
        {
            "figure": Part("PreviewImage", {"images": ("search", "figure")}, height=360),
            "table": folded("PreviewAny", {"source": ("search", "table")}, {}),
            "cache": Part(
                "GPH_Cache",
                {
                    "model": ("model", "MODEL"), "schedule": ("search", "schedule"),
                    "policy": ("search", "policy"),
                },
                {"MODEL": "MODEL"},
                ("Custom", ""),  # Nodes 2.0 would show an unused text
            ),
        },
    ),
    Column(
        270,
        {
            "positive": prompt("Prompt of the picture", PICTURE),
            "negative": prompt("Negative prompt", "")._replace(is_folded=True),
            "sampled": Part(
                "SamplerCustom",
                {
                    "model": ("cache", "MODEL"), "positive": ("positive", "CONDITIONING"),
                    "negative": ("negative", "CONDITIONING"), "sampler": ("sampler", "SAMPLER"),
                    "sigmas": ("sigmas", "SIGMAS"), "latent_image": ("latent", "LATENT"),
                },
                {"output": "LATENT", "denoised_output": "LATENT"},
                (True, 1, "fixed", CFG),
            ),
            "decoded": folded(
                "VAEDecode", {"samples": ("sampled", "output"), "vae": ("model", "VAE")},
                {"IMAGE": "IMAGE"},
            ),
            "picture": Part(
                "SaveImage", {"images": ("decoded", "IMAGE")}, values=("golden_path",), height=240
            ),
        },
    ),
)  # fmt: skip


def build() -> dict:
    """The workflow, in the page's format 0.4."""
    return drawn(COLUMNS, "0b6d5f0a-3f0e-4c39-8a53-5c8c0c1f7f42")
