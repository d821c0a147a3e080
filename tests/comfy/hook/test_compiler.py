"""ComfyUI's own compiler, whose memory holds nothing beyond a call, beside what a run keeps.

It acts on NVIDIA alone. Here LTX-2 has one that does as it does: while it is on, it notes which
memory the blocks of a call take, and looks after each call which of it is still held.
"""

import contextlib
import gc
import weakref

import comfy.model_management
import comfy.model_prefetch
import pytest
from comfy.cli_args import args
from golden_path_pack.gph_core.calibration.samples import Together
from golden_path_pack.gph_core.policies.base import Site
from golden_path_pack.gph_core.policies.extrapolation import Reuse, Taylor
from golden_path_pack.gph_core.policies.two_anchor import TwoAnchor
from golden_path_pack.nodes.hook import compiler, patching
from torch import is_tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...support.comfy import tiny
from ...support.comfy.gated import plan
from ...support.comfy.threads import together
from ...support.zoo import zoo, zoo_all

CASE = zoo_all.CASES["LTX-2"]
FLAG = "disable_comfy_compiler"
SCHEDULE = "0,1,4/6"
OF_TOKENS = [Taylor(1), TwoAnchor()]
OF_RESULTS = [Reuse(Site.OUTPUT), Reuse(Site.GUIDED)]


class Noted(TorchDispatchMode):
    """Notes the memory of all tensors that are made."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        given = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if is_tensor(t)}
        storages = (t.untyped_storage() for t in tree_leaves(found) if is_tensor(t))
        self.made += [weakref.ref(s) for s in storages if s._cdata not in given]
        return found


class Graph:
    """The stand-in for the compiler: what it saw, call by call."""

    def __init__(self):
        self.was_off = []  # in each call
        self.rogues = 0  # memory of blocks that was held when the call had ended

    def around(self, forward):
        """The forward of a model, which copies its results out of the compiler's memory."""

        def run(*inputs, **kwargs):
            self.was_off.append(getattr(args, FLAG))
            if getattr(args, FLAG):
                return forward(*inputs, **kwargs)
            with Noted() as noted:
                inside = forward(*inputs, **kwargs)
            results = [part.clone() for part in inside]
            del inside
            gc.collect()
            self.rogues += sum(storage() is not None for storage in noted.made)
            return results

        return run


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setattr(args, FLAG, False, raising=False)
    enabled = lambda device: not getattr(args, FLAG)  # noqa: E731
    monkeypatch.setattr(comfy.model_prefetch, "malloc_graph_enabled", enabled, raising=False)
    # Where ComfyUI has the real one, it is not to begin here.
    for name in ("malloc_graph_begin", "malloc_graph_end", "malloc_graph_scope"):
        nothing = lambda *_, **__: contextlib.nullcontext()  # noqa: E731
        monkeypatch.setattr(comfy.model_prefetch, name, nothing, raising=False)
    return Graph()


@pytest.fixture
def model(graph, monkeypatch):
    model = zoo.build(CASE)
    transformer = model.model.diffusion_model
    monkeypatch.setattr(transformer, "forward", graph.around(transformer.forward))
    return model


def run(model, policy, schedule=SCHEDULE, **options):
    listener = tiny.Listener()
    zoo.sample(CASE, tiny.attach(model, schedule, policy, listener), steps=6, **options)
    (record,) = listener.records
    return record


@pytest.mark.parametrize("policy", OF_TOKENS, ids=str)
def test_it_is_off_in_a_run_that_keeps_tokens_and_on_again_afterwards(model, graph, policy):
    record = run(model, policy)
    assert set(graph.was_off) == {True}
    assert getattr(args, FLAG) is False
    assert compiler.NOTE in record.notes
    zoo.sample(CASE, model, steps=1)
    assert graph.was_off[-1] is False


@pytest.mark.parametrize("policy", OF_RESULTS, ids=str)
def test_it_stays_on_in_a_run_that_keeps_results_and_finds_nothing_held(model, graph, policy):
    record = run(model, policy)
    assert set(graph.was_off) == {False}
    assert graph.rogues == 0
    assert record.notes == ()


def test_a_run_that_keeps_tokens_would_hold_its_memory(model, graph, monkeypatch):
    # Else the test before this one could not fail.
    monkeypatch.setattr(
        compiler, "off_in_run", lambda *_: contextlib.nullcontext(enter_result=False)
    )
    run(model, Reuse())
    assert graph.rogues > 0


def test_it_stays_on_where_no_step_is_cached_or_the_model_has_none(model, graph):
    run(model, Reuse(), "0-5/6")
    assert set(graph.was_off) == {False}
    flux, seen = tiny.flux(), []
    patched = tiny.attach(flux, "0,1,4/8")
    flux.model.diffusion_model.register_forward_pre_hook(
        lambda *_: seen.append(getattr(args, FLAG))
    )
    tiny.sample(patched)
    assert set(seen) == {False}


def test_it_is_off_while_a_run_is_watched(model, graph):
    zoo.sample(CASE, patching.watched(model, Together(())), steps=2)
    assert set(graph.was_off) == {True}
    assert getattr(args, FLAG) is False


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_it_is_on_again_after_an_error_and_an_interruption(model, graph, error):
    def stop(*_):
        raise error

    with pytest.raises(error):
        run(model, Reuse(), callback=stop)
    assert graph.was_off[0] is True
    assert getattr(args, FLAG) is False


def test_it_stays_off_until_the_last_of_two_threads_has_ended(model, graph):
    models = [model, zoo.build(CASE)]
    other = models[1].model.diffusion_model
    other.forward = graph.around(other.forward)
    together(*(lambda m=m: run(m, Reuse()) for m in models))
    assert set(graph.was_off) == {True}
    assert getattr(args, FLAG) is False


@pytest.mark.parametrize("is_off", [True, None], ids=["turned off by the user", "no compiler"])
def test_nothing_is_touched_where_it_is_off_or_missing(model, graph, monkeypatch, is_off):
    if is_off is None:
        monkeypatch.undo()
        model = zoo.build(CASE)
        had = hasattr(args, FLAG)
        assert run(model, Reuse()).notes == ()
        assert hasattr(args, FLAG) is had
    else:
        monkeypatch.setattr(args, FLAG, True)
        assert run(model, Reuse()).notes == ()
        assert getattr(args, FLAG) is True


def test_the_option_of_one_run_is_taken_where_the_model_asks_for_it(model, graph, monkeypatch):
    kind = type(model.model.diffusion_model)
    seen = []

    def asks(self, options):
        return options.get("disable_comfy_compiler", False)

    monkeypatch.setattr(kind, "asks", asks, raising=False)
    wrapped = model.model.diffusion_model.forward

    def forward(*inputs, transformer_options, **kwargs):
        seen.append(model.model.diffusion_model.asks(transformer_options))
        return wrapped(*inputs, transformer_options=transformer_options, **kwargs)

    monkeypatch.setattr(model.model.diffusion_model, "forward", forward)
    run(model, Reuse())
    assert set(seen) == {True}
    assert set(graph.was_off) == {False}
    zoo.sample(CASE, model, steps=1)
    assert seen[-1] is False


def test_a_call_that_runs_out_of_memory_is_cleaned_up_before_the_full_one(model, monkeypatch):
    events = []
    clean = comfy.model_prefetch.cleanup_prefetch_queues
    monkeypatch.setattr(
        comfy.model_prefetch,
        "cleanup_prefetch_queues",
        lambda: (events.append("cleaned up"), clean()),
    )
    transformer = model.model.diffusion_model
    final = transformer.norm_out.forward
    blocks = len(transformer.transformer_blocks)

    def norm_out(*inputs, **kwargs):
        is_cached = len(transformer.transformer_blocks) < blocks
        events.append("cached" if is_cached else "full")
        if is_cached:
            raise comfy.model_management.OOM_EXCEPTION("no memory")
        return final(*inputs, **kwargs)

    monkeypatch.setattr(transformer.norm_out, "forward", norm_out)
    the_plan = plan("DiCache", CASE, 1e9)
    zoo.sample(CASE, patching.attach(model, the_plan, tiny.Listener()), steps=6, cfg=1.0)
    first = events.index("cached")
    assert events[first : first + 3] == ["cached", "cleaned up", "full"]
