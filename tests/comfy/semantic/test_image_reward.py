"""ImageReward from files of the user: its values, its files, and what is refused."""

import folder_paths
import pytest
import torch
from golden_path_pack.gph_core.quality.semantic.image_reward import (
    ImageRewardNetwork,
    network_of,
)
from golden_path_pack.nodes.semantic import image_reward
from golden_path_pack.nodes.semantic.image_reward import OFF, PUBLISHED, VOCABULARY
from golden_path_pack.nodes.semantic.semantic_metrics import SemanticMetricsNode
from safetensors.torch import save_file

from ...support.comfy import tiny_reward
from ...support.comfy.tiny_reward import SIDE, WORDS, ByHand

MEAN = torch.tensor([0.48145466, 0.4578275, 0.40821073])
DEVIATION = torch.tensor([0.26862954, 0.26130258, 0.27577711])
PROMPTS = {  # with their tokens
    "two red circles": ["[CLS]", "two", "red", "circle", "##s", "[SEP]"],
    "A blue, BLUE square": ["[CLS]", "a", "blue", ",", "blue", "square", "[SEP]"],
    "two zebras": ["[CLS]", "two", "[UNK]", "[SEP]"],
}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The folder of models, empty."""
    found = tmp_path / "image_reward"
    found.mkdir()
    monkeypatch.setitem(
        folder_paths.folder_names_and_paths, image_reward.FOLDER, ([str(found)], set())
    )
    return found


@pytest.fixture
def files(folder):
    """Both files, as they are published."""
    torch.save(tiny_reward.weights(), folder / PUBLISHED)
    (folder / VOCABULARY).write_text("\n".join(WORDS) + "\n", "utf-8")
    return folder


def images(count):
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (count, SIDE, SIDE, 3), generator=generator) / 255


def expected(image, tokens):
    """ImageReward by hand."""
    pixels = ((image - MEAN) / DEVIATION).movedim(-1, 0)
    raw = ByHand(tiny_reward.weights()).reward(pixels, [WORDS.index(t) for t in tokens])
    return (raw - 0.16717362830052426) / 1.0333394966054072


@pytest.mark.parametrize("ending", [".pt", ".safetensors"])
def test_scores_are_those_of_the_computation_by_hand(files, ending):
    name = PUBLISHED
    if ending == ".safetensors":
        name = "mine.safetensors"
        save_file(tiny_reward.weights(), files / name)
    judge = image_reward.load(name)
    pairs = [(image, prompt) for image in images(3) for prompt in PROMPTS]
    wanted = [expected(image, PROMPTS[prompt]) for image, prompt in pairs]
    found = [judge.score(image[None], prompt) for image, prompt in pairs]
    assert found == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 0.1


def test_only_the_first_33_tokens_of_a_prompt_count(files):
    judge, image = image_reward.load(PUBLISHED), images(1)
    long = " ".join(["red"] * 33)
    assert judge.score(image, f"{long} blue") == judge.score(image, long)
    assert judge.score(image, long) == pytest.approx(
        expected(image[0], ["[CLS]", *["red"] * 33, "[SEP]"]), abs=1e-4
    )
    assert judge.score(image, " ".join(["red"] * 32)) != judge.score(image, long)


def test_weights_of_16_bits_are_used_in_32(files):
    weights = {key: value.half() for key, value in tiny_reward.weights().items()}
    network = network_of(weights)
    assert {weight.dtype for weight in network.state_dict().values()} == {torch.float32}


def test_the_published_sizes_are_those_of_blip_with_a_large_vision_transformer():
    def sizes(name, count, *shape):
        return {name.format(n): torch.empty(*shape, device="meta") for n in range(count)}

    head = {0: (1024, 768), 2: (128, 1024), 4: (64, 128), 6: (16, 64), 7: (1, 16)}
    see, read = "vision.encoder.layers.{}.", "text.encoder.layer.{}."
    with torch.device("meta"):
        network = ImageRewardNetwork(
            {
                **sizes("vision.embeddings.patch_embedding.weight", 1, 1024, 3, 16, 16),
                **sizes("vision.embeddings.position_embedding", 1, 1, 197, 1024),
                **sizes(f"{see}mlp.fc1.weight", 24, 4096, 1024),
                **sizes("text.embeddings.word_embeddings.weight", 1, 30524, 768),
                **sizes("text.embeddings.position_embeddings.weight", 1, 512, 768),
                **sizes(f"{read}crossattention.self.key.weight", 12, 768, 1024),
                **sizes(f"{read}intermediate.dense.weight", 12, 3072, 768),
                **{f"head.{n}.weight": torch.empty(shape) for n, shape in head.items()},
            }
        )
    vision, text = network.vision.config, network.text.config
    assert (network.side, network.num_words) == (224, 30522)
    assert (vision.num_hidden_layers, vision.num_attention_heads) == (24, 16)
    assert (text.num_hidden_layers, text.num_attention_heads) == (12, 12)
    assert [tuple(layer.weight.shape) for layer in network.head.values()] == list(head.values())


def test_the_node_gives_a_judge_and_its_limit(files):
    (found,) = SemanticMetricsNode.execute(
        image_reward=PUBLISHED, prompt="two red circles", max_reward_fall=0.2
    ).result
    score = found.scores(images(1).movedim(-1, 1))
    assert score == {
        "image_reward": pytest.approx(expected(images(1)[0], PROMPTS["two red circles"]), abs=1e-4)
    }
    assert found.guard.limits == {"reward_change": 0.2}


def test_other_weights_have_another_fingerprint(files):
    torch.save(tiny_reward.weights(seed=1), files / "other.pt")
    prints = [image_reward.load(name).fingerprint for name in (PUBLISHED, PUBLISHED, "other.pt")]
    assert prints[0] == prints[1] != prints[2]


# --- files ----------------------------------------------------------------------------------------


def test_the_published_file_can_be_chosen_before_it_is_there(folder):
    assert image_reward.options() == [OFF, PUBLISHED]
    (folder / "mine.safetensors").write_bytes(b"")
    (folder / VOCABULARY).write_bytes(b"")
    assert image_reward.options() == [OFF, PUBLISHED, "mine.safetensors"]


def test_missing_files_are_named_with_source_licence_and_folder_before_anything_runs(folder):
    message = SemanticMetricsNode.validate_inputs(PUBLISHED)
    assert isinstance(message, str)
    for part in (
        f"ImageReward needs {PUBLISHED} and {VOCABULARY} in {folder}; put them there",
        "huggingface.co/THUDM/ImageReward (1.8 GB, Apache 2.0)",
        "huggingface.co/google-bert/bert-base-uncased",
        "choose off",
    ):
        assert part in message
    with pytest.raises(ValueError, match=r"ImageReward needs ImageReward\.pt"):
        SemanticMetricsNode.execute(image_reward=PUBLISHED, prompt="x")
    assert SemanticMetricsNode.validate_inputs(OFF) is True


def test_a_vocabulary_that_is_missing_is_named_alone(files):
    assert SemanticMetricsNode.validate_inputs(PUBLISHED) is True
    (files / VOCABULARY).unlink()
    message = SemanticMetricsNode.validate_inputs(PUBLISHED)
    assert f"needs {VOCABULARY} in {files}; put it there" in str(message)


def test_the_node_runs_again_once_a_file_is_there(folder):
    one, other = (SemanticMetricsNode.fingerprint_inputs(PUBLISHED) for _ in range(2))
    assert one != other
    for name in (PUBLISHED, VOCABULARY):
        (folder / name).write_bytes(b"")
    one, other = (SemanticMetricsNode.fingerprint_inputs(PUBLISHED) for _ in range(2))
    assert one == other


def test_another_vocabulary_is_refused(files):
    (files / VOCABULARY).write_text("\n".join([*WORDS, "word"]) + "\n", "utf-8")
    with pytest.raises(ValueError, match=r"it has 14 words, ImageReward.pt needs 13; take that"):
        image_reward.load(PUBLISHED)


@pytest.mark.parametrize("change", ["a lost weight", "one more", "another shape", "nothing of it"])
def test_other_weights_are_refused(files, change):
    weights = tiny_reward.weights()
    if change == "a lost weight":
        del weights["blip.text_encoder.encoder.layer.1.crossattention.self.key.weight"]
    elif change == "one more":
        weights["blip.more"] = torch.ones(1)
    elif change == "another shape":
        weights["mlp.layers.7.bias"] = torch.ones(2)
    else:
        weights = {"some.weight": torch.ones(2, 2), "other.weight": torch.ones(2, 2)}
    torch.save(weights, files / PUBLISHED)
    with pytest.raises(ValueError, match=r"^ImageReward.pt cannot be used: its weights are not"):
        image_reward.load(PUBLISHED)


class Program:
    """Object whose pickle runs something."""

    def __reduce__(self):
        return print, ("run",)


def test_a_file_that_would_run_something_is_not_loaded(files, capsys):
    torch.save({"blip": Program(), "mlp": Program()}, files / PUBLISHED)
    with pytest.raises(ValueError, match=r"ImageReward.pt cannot be used: Weights only load fail"):
        image_reward.load(PUBLISHED)
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize("name", [PUBLISHED, "mine.safetensors"])
def test_a_damaged_file_is_refused_by_name(files, name):
    (files / name).write_bytes(b"")
    with pytest.raises(ValueError, match=f"^{name} cannot be used: .+; take ImageReward.pt from"):
        image_reward.load(name)
