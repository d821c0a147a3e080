"""Facts of the table of families that no model is needed for."""

from gph_core.model.families import FAMILIES, is_video

# By what their publishers say they make; Cosmos-Predict2 has a model of each kind, and is spaced
# as images are.
VIDEOS = {
    "HunyuanVideo", "Wan", "Wan VACE", "Wan Camera", "Wan HuMo", "Wan S2V", "Wan Animate",
    "Wan SCAIL", "Wan SCAIL 2", "Wan Dancer", "LTX-Video", "LTX-2", "Kandinsky 5", "CogVideoX",
    "MiniMax H3", "Mochi",
}  # fmt: skip


def test_the_families_of_videos_are_those_that_make_videos():
    assert {family.name for family in FAMILIES if is_video(family.name)} == VIDEOS


def test_the_families_that_the_comfy_compiler_runs_in_are_those_that_call_it():
    compiled = {family.name for family in FAMILIES if family.compiled_by_comfyui}
    assert compiled == {"MiniMax H3", "LTX-2", "Qwen-Image 2.1"}


def test_a_name_that_is_not_known_is_no_video():
    assert not is_video("")
    assert not is_video("Wan of tomorrow")
