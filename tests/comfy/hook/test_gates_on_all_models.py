"""model/signals: adaptive methods on all model classes, each way of reading on its shapes."""

import pytest
from golden_path_pack.gph_core.methods.table import ALL
from golden_path_pack.gph_core.model import families
from golden_path_pack.nodes.hook import patching

from ...support.comfy import tiny
from ...support.comfy.gated import FEW, STEPS, both_ways, built, plan, run
from ...support.zoo import zoo
from ...support.zoo.zoo_all import CASES, FAMILIES, SEVERAL, cases

# Condensed frames of motion, and guide frames of which tokens were left out: nobody knows how many.
UNPLACED = ("Wan S2V", "LTX-Video, guide frames")
NO_PLACES = (
    "caching stopped because SeaCache has to know where each token is, and the image's own cannot "
    "be told from those of guides or motion; choose DiCache"
)
# Their latents are as large as the noise, so what EasyCache adds to the velocity is, too.
BLOWN_UP = [("EasyCache", "Cosmos-Predict2"), ("EasyCache", "HunyuanDiT")]
USES = [*FAMILIES.values(), *(CASES[name] for name in UNPLACED)]

# Each way of reading a model: its first block everywhere, what only some show, its latents.
PAIRS = [
    *(pytest.param(*v.values, "DiCache", marks=v.marks) for v in cases(SEVERAL, USES)),
    *(
        pytest.param(CASES[case], name)
        for case, name in (
            *((case, "SeaCache") for case in (*UNPLACED, "Lumina 2", "Wan VACE", "JoyImage")),
            *((case, name) for name, case in BLOWN_UP),
            ("SD3", "TeaCache"), ("AuraFlow", "First Block Cache"), ("LTX-2", "SenCache"),
        )
        if case in CASES
    ),
]  # fmt: skip


def reads_the_input(name, family):
    """Whether a method reads what the first attention receives, and this family has none known."""
    return name in ("SeaCache", "TeaCache") and family.signal is None


@pytest.mark.parametrize(("case", "name"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_a_method_decides_or_says_why_not(name, case):
    model = built(case.name)
    family = families.detect(model.model.diffusion_model)
    if reads_the_input(name, family):
        listener = tiny.Listener()
        patched = patching.attach(model, plan(name, case, 0.5), listener)
        assert zoo.same(zoo.sample(case, patched, STEPS), zoo.sample(case, model, STEPS))
        assert listener.refusals == [
            f"what {name} looks at is not known for {family.name} (docs/methods.md lists the "
            "families); DiCache and First Block Cache work with it"
        ]
    elif name == "SeaCache" and case.name in UNPLACED:
        found, record = run(case, model, plan(name, case, 0.5))
        assert zoo.same(found, zoo.sample(case, model, STEPS))
        assert (record.cached_steps, record.notes) == ((), (FEW, NO_PLACES))
    else:
        _, found, record = both_ways(name, case)
        fixed = tiny.attach(model, record.schedule, ALL[name].policy)
        assert zoo.same(found, zoo.sample(case, fixed, STEPS))
        assert record.refused_steps == ()
        notes = [note for note in record.notes if "left their range" not in note]
        assert notes == ([FEW] if record.gate else [])
        assert (len(record.notes) > len(notes)) == ((name, case.name) in BLOWN_UP)
