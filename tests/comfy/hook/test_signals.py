"""model/signals: what gates read before the blocks run is what the real classes compute."""

import dataclasses
import itertools
import math

import pytest
import torch
from comfy.patcher_extension import WrappersMP
from golden_path_pack.gph_core.model import families, signals

from ...support.comfy.gated import ATTENTION
from ...support.selection import later
from ...support.zoo import zoo, zoo_all, zoo_images

WITH_SIGNAL = {family.name for family in families.FAMILIES if family.signal}
CASES = {name: case for name, case in zoo_all.CASES.items() if case.family in WITH_SIGNAL}
# By default the first use of each family, and for the places of tokens each use of FLUX and Wan.
BY_FAMILY = zoo_all.cases(zoo_all.FAMILIES.values(), CASES.values())
OF_TOKENS = [*zoo_all.FAMILIES.values(), *zoo_all.SHAPES.values()]
EACH = zoo_all.cases(
    [*OF_TOKENS, *(case for case in CASES.values() if case.family in ("FLUX", "Wan"))],
    CASES.values(),
)
UNEXPLAINED = {"Wan S2V", "LTX-Video, guide frames"}  # condensed motion; tokens left out


def cloned(value):
    """Arguments as they are now, whatever is done to them in place."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, tuple | list):
        return type(value)(map(cloned, value))
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **cloned(vars(value)))
    if isinstance(value, dict):
        return {k: v if k == "transformer_options" else cloned(v) for k, v in value.items()}
    return value


def tensors(value):
    """All tensors among arguments."""
    if isinstance(value, torch.Tensor):
        return [value]
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        value = [v for k, v in value.items() if k != "transformer_options"]
    return [t for v in value for t in tensors(v)] if isinstance(value, tuple | list) else []


@dataclasses.dataclass
class Call:
    """One model call: of the transformer, of its first block, and what came of it there."""

    latent: torch.Tensor
    conditions: dict
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)
    attended: torch.Tensor = None
    result: object = None


class Watch:
    """Records the first block at work in a case's MODEL."""

    def __init__(self, case, dtype=torch.float32, twice=False):
        self.model = zoo.build(case, dtype)
        self.transformer = self.model.model.diffusion_model
        self.family = families.detect(self.transformer)
        self.block = getattr(self.transformer, self.family.block_lists[0])[0]
        self.twice = twice
        self.calls = []
        self.block.register_forward_pre_hook(self._called, with_kwargs=True)
        self.block.register_forward_hook(self._returned)
        path = ATTENTION.get(self.family.name, "self_attn")
        self.block.get_submodule(path).register_forward_pre_hook(self._attended, with_kwargs=True)
        self.model.add_wrapper_with_key(WrappersMP.APPLY_MODEL, "watch", self._applied)
        batch = 1 if case.name in zoo_all.BATCH_OF_ONE else 2
        zoo.sample(case, self.model, steps=1, batch=batch)

    def _applied(self, executor, x, t, concat, context, control, options, **conditions):
        def call(latent):
            self.calls.append(Call(latent, conditions))
            return executor(latent, t, concat, context, control, options, **conditions)

        if self.twice:
            generator = torch.Generator().manual_seed(3)
            call(torch.randn(x.shape, generator=generator))
        return call(x)

    def _called(self, _block, args, kwargs):
        self.calls[-1].args, self.calls[-1].kwargs = cloned(args), cloned(kwargs)

    def _attended(self, _module, args, kwargs):
        tokens = args[0] if args else kwargs["hidden_states"]
        self.calls[-1].attended = tokens.clone()

    def _returned(self, _block, _args, result):
        self.calls[-1].result = result

    def received(self, call):
        """The image tokens that the first block received."""
        image = self.family.image
        return call.kwargs[image] if isinstance(image, str) else call.args[image]

    def main(self, call):
        """The tokens of a call, its grid, and those of its latent."""
        tokens = self.received(call)
        grid = signals.token_grid(self.transformer, call.latent.shape, self.family.signal)
        main = signals.main_tokens(tokens, grid, self.family, self.transformer, call.conditions)
        return tokens, grid, main


def sized(name, latent, **references):
    """A case with another size of latent, and of reference latents."""
    case = CASES[name]
    if references:
        case = dataclasses.replace(case, conditioning=references["conditioning"])
    return dataclasses.replace(case, name=f"{name}, {latent}", latent=latent)


@pytest.mark.parametrize("dtype", [torch.float32, *later(torch.bfloat16)], ids=["fp32", "bf16"])
@pytest.mark.parametrize("case", BY_FAMILY)
def test_the_modulated_input_is_what_the_first_attention_receives(case, dtype):
    watch = Watch(case, dtype)
    assert watch.calls
    for call in watch.calls:
        before = [t.clone() for t in tensors((call.args, call.kwargs))]
        with torch.inference_mode():
            found = watch.family.signal.modulated(watch.block, call.args, call.kwargs)
        assert found.dtype is dtype
        # The same operations on the same numbers; fused ones would differ in the last bit.
        assert torch.equal(found, call.attended)
        after = tensors((call.args, call.kwargs))
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_every_item_of_a_batch_has_its_own_modulation():
    watch = Watch(CASES["Wan VACE"])
    (call, *_) = watch.calls
    shape = call.kwargs["e"].shape
    call.kwargs["e"] = torch.randn(shape, generator=torch.Generator().manual_seed(4))
    with torch.inference_mode():
        found = watch.family.signal.modulated(watch.block, call.args, call.kwargs)
        watch.calls.append(Call(call.latent, {}))
        watch.block(*call.args, **call.kwargs)
    assert torch.equal(found, watch.calls[-1].attended)


@pytest.mark.parametrize("case", BY_FAMILY)
def test_what_is_passed_through_has_the_form_of_the_blocks_result(case):
    watch = Watch(case)
    (call, *_) = watch.calls
    passed = watch.family.signal.passed_through(call.args, call.kwargs)
    output = watch.family.output
    assert (passed if output is None else passed[output]) is watch.received(call)
    given, made = tensors(passed), tensors(call.result)
    assert [t.shape for t in given] == [t.shape for t in made]
    assert isinstance(passed, tuple) is isinstance(call.result, tuple)
    # Each stream in its own place: a result is nearer to what it came from than to the other.
    for one, other in itertools.permutations(range(len(given)), 2):
        if given[one].shape == given[other].shape:
            assert (made[one] - given[one]).norm() < (made[one] - given[other]).norm()


ODD = (
    sized("FLUX dev", (16, 7, 11)),
    sized("Chroma", (16, 5, 8)),
    sized("SD3", (16, 7, 5)),
    sized("Qwen-Image", (16, 1, 7, 9)),
    sized("Qwen-Image", (16, 3, 7, 9)),  # layers
    sized("LTX-Video", (128, 2, 3, 5)),
    sized("Wan 2.1 1.3B", (16, 2, 7, 9)),
    sized("Wan 2.1 1.3B", (16, 1, 5, 8)),
    sized(
        "FLUX Kontext",
        (16, 7, 10),
        conditioning=zoo_images.conditioning(
            zoo_images.guidance, zoo_images.references((16, 5, 3), (16, 4, 7)), pooled=16
        ),
    ),
    sized(
        "Qwen-Image-Edit",
        (16, 1, 7, 10),
        conditioning=zoo_images.conditioning(zoo_images.references((16, 1, 5, 3), (16, 1, 4, 7))),
    ),
)


@pytest.mark.parametrize("case", [*EACH, *(pytest.param(case, id=case.name) for case in ODD)])
def test_the_main_tokens_are_those_that_change_with_the_latent(case):
    watch = Watch(case, twice=True)
    for one, other in zip(watch.calls[::2], watch.calls[1::2], strict=True):
        (tokens, grid, main), (changed, _, _) = watch.main(one), watch.main(other)
        moved = (tokens != changed).any(dim=-1).all(dim=0)
        if case.name in UNEXPLAINED:
            assert main is None
            continue
        assert torch.equal(main, tokens[:, moved])
        assert main.shape[1] == math.prod(grid)


@pytest.mark.parametrize(
    ("name", "latent", "grid"),
    [
        ("FLUX dev", (1, 16, 128, 90), (64, 45)),
        ("FLUX dev", (2, 16, 127, 91), (64, 46)),
        ("FLUX.2 dev", (1, 128, 63, 64), (63, 64)),
        ("Qwen-Image", (1, 16, 1, 165, 166), (83, 83)),
        ("Qwen-Image", (1, 16, 4, 80, 80), (4, 40, 40)),
        ("HunyuanVideo", (1, 16, 33, 60, 104), (33, 30, 52)),
        ("HunyuanVideo 1.5", (1, 32, 31, 30, 52), (31, 30, 52)),
        ("HunyuanImage 2.1", (1, 64, 64, 60), (64, 60)),
        ("Wan 2.1 1.3B", (1, 16, 17, 60, 104), (17, 30, 52)),
        ("Wan 2.1 1.3B", (1, 16, 1, 61, 103), (1, 31, 52)),
    ],
)
def test_the_grid_is_the_latent_in_whole_patches(name, latent, grid):
    transformer = zoo.build(CASES[name]).model.diffusion_model
    assert signals.token_grid(transformer, latent) == grid


def test_tokens_that_others_add_are_not_explained():
    watch = Watch(CASES["FLUX Kontext"])
    (call, *_) = watch.calls
    tokens, grid, main = watch.main(call)
    assert main.shape[1] == 16 < tokens.shape[1]

    def found(tokens, conditions=call.conditions):
        return signals.main_tokens(tokens, grid, watch.family, watch.transformer, conditions)

    assert found(torch.cat((tokens, tokens[:, :1]), dim=1)) is None
    assert found(tokens, {}) is None
    assert found(tokens[:, :10]) is None
    assert torch.equal(found(main), main)  # FluxKVCache cuts the references off itself


@pytest.mark.long  # compiling takes seconds
@pytest.mark.parametrize(
    "name",
    [
        "FLUX dev",
        "HunyuanVideo, image to video by replaced tokens",
        "Qwen-Image-Edit 2511",
        "Wan 2.2 5B, image to video",
    ],
)
def test_what_is_read_is_traced_without_a_break(name):
    watch = Watch(CASES[name])
    (call, *_) = watch.calls

    for module in watch.block.modules():  # those that record
        module._forward_pre_hooks.clear()
        module._forward_hooks.clear()

    signal = watch.family.signal

    def read(*args, **kwargs):
        return signal.modulated(watch.block, args, kwargs), signal.passed_through(args, kwargs)

    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(read, backend="aot_eager", fullgraph=True)
        found, passed = compiled(*call.args, **call.kwargs)
    torch._dynamo.reset()
    torch.testing.assert_close(found, call.attended)
    assert len(tensors((passed,))) == len(signal.handed_on)
