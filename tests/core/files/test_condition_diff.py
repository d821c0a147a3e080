"""What two sets of conditions differ in, as users read it."""

import pytest

from gph_core.files.condition_diff import first_difference, in_words

HASH, OTHER_HASH = "00c3eafdbaec210b", "1f9bc7e0a4d28563"


@pytest.mark.parametrize(
    ("field", "stored", "wanted", "text"),
    [
        ("cfg", 5.0, 3.5, ("cfg", "5.0", "3.5")),
        ("model", HASH, OTHER_HASH, ("model", "of that time", "another")),
        ("VAE", None, HASH, ("VAE", "none", "another")),
        ("VAE", HASH, None, ("VAE", "of that time", "none")),
        ("model options", HASH, OTHER_HASH, ("model patches", "of that time", "another")),
        ("precision", "torch.float32", "torch.bfloat16", ("precision", "float32", "bfloat16")),
        ("sampler", ["euler", HASH], ["heun", HASH], ("sampler", "euler", "heun")),
        ("sampler", ["euler", HASH], ["euler", OTHER_HASH], ("sampler", "of that time", "another")),
        ("sigmas", [1.0, 0.5, 0.0], [1.0, 0.4, 0.0], ("noise levels", "0.5", "0.4")),
        ("sigmas", [1.0, 0.5, 0.0], [1.0, 0.0], ("noise levels", "of 2 steps", "those of 1 steps")),
        ("sigmas", None, [1.0, 0.5, 0.0], ("noise levels", "none", "those of 2 steps")),
        ("latent", [16, 8, 8], [16, 8, 12], ("latent", "16×8×8", "16×8×12")),
        ("latent", [[[1, 16, 8, 8]], HASH], [[[1, 4, 8]], HASH], ("latent", "1×16×8×8", "1×4×8")),
        ("guidance", ["A", {"cfg": 5.0}], ["A", {"cfg": 3.0}], ("guidance", "cfg 5.0", "cfg 3.0")),
        ("guidance", ["CFG", {}], ["CFG", {"cfg": 3.0}], ("guidance", "cfg none", "cfg 3.0")),
        ("keep_latents", True, False, ("keep_latents", "on", "off")),
        ("method", "X, threshold 1", "Y", ("method", '"X, threshold 1"', "Y")),
        ("examples", [["a cat", 1]], [["a dog", 1]], ("examples", '"a cat"', '"a dog"')),
        ("examples", [["cat"]], [["cat"], ["dog"]], ("examples", "numbering 1", "2")),
        ("policy", {"order": 1}, None, ("policy", "of that time", "none")),
    ],
)  # fmt: skip
def test_the_first_difference_is_named_without_raw_data(field, stored, wanted, text):
    assert first_difference({"same": 1, field: stored}, {"same": 1, field: wanted}) == text


def test_conditions_in_words_leave_out_what_says_nothing_to_people():
    conditions = {
        "family": "FLUX", "model": HASH, "precision": "torch.float32", "sampler": ["euler", HASH],
        "sigmas": [1.0, 0.5, 0.0], "guidance": ["CFGGuider", {"cfg": 5.0}], "latent": [48, 8, 8],
        "VAE": None,
    }  # fmt: skip
    assert in_words(conditions) == (
        "family FLUX, precision float32, sampler euler, guidance CFGGuider cfg 5.0, latent 48×8×8"
    )


@pytest.mark.parametrize(("wanted", "is_same"), [(2.01, True), (2.03, False), (1.99, True)])
def test_numbers_may_differ_by_a_part_of_the_largest(wanted, is_same):
    stored, close = {"sigmas": [2.0, 1.0]}, {"sigmas": [wanted, 1.0]}
    assert (first_difference(stored, close, {"sigmas": 0.01}) is None) == is_same


@pytest.mark.parametrize("stored", [["a", 1.0], [None, None], [[], {}], [], "ab", None])
def test_what_a_broken_file_has_in_place_of_noise_levels_differs(stored):
    wanted = {"sigmas": [2.0, 1.0]}
    assert first_difference({"sigmas": stored}, wanted, {"sigmas": 0.01})[0] == "noise levels"
