"""Nothing is missing from the table of policies."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from gph_core import policies
from gph_core.methods.table import ALL
from gph_core.policies.base import Policy, Site
from gph_core.policies.causal_linear import CausalLinear
from gph_core.policies.fitted import Fitted
from gph_core.policies.table import CAUSAL_LINEAR, CHOICES, KINDS, Options


def written():
    """Every concrete policy in the folder."""
    modules = [
        importlib.import_module(f"{policies.__name__}.{found.name}")
        for found in pkgutil.iter_modules(policies.__path__)
    ]
    classes = {c for module in modules for _, c in inspect.getmembers(module, inspect.isclass)}
    ours = {c for c in classes if c.__module__.startswith(policies.__name__ + ".")}
    return {c for c in ours if issubclass(c, Policy) and not inspect.isabstract(c)} - {Policy}


def chosen():
    """What each name gives, but for the one that needs a file."""
    options = Options(2, 0.7, 3, Path, {"divided": True}, lambda: Fitted("0/2"))
    return {name: row.make(options) for name, row in CHOICES.items() if name != CAUSAL_LINEAR}


def test_a_recording_keeps_every_policy_but_the_one_with_weights():
    assert set(KINDS.values()) == written() - {CausalLinear}


def test_people_or_a_method_choose_every_policy():
    used = {type(policy) for policy in chosen().values()}
    used |= {type(method.policy) for method in ALL.values()}
    assert used == written()


@pytest.mark.parametrize(("name", "site"), [("output", Site.OUTPUT), ("velocity", Site.GUIDED)])
def test_a_policy_predicts_at_the_site_of_its_name(name, site):
    sites = {policy.site for key, policy in chosen().items() if key.startswith(f"{name} ")}
    assert sites == {site}


def test_options_reach_the_policies_that_have_them():
    made = chosen()
    assert (made["Taylor"].order, made["Hermite"].order, made["velocity Taylor"].order) == (2, 2, 2)
    assert (made["Hermite"].scale, made["mean velocity (MeanCache)"].span) == (0.7, 3)
    divided = {name for name, policy in made.items() if getattr(policy, "divided", False)}
    assert divided == {
        "Taylor", "Hermite", "token prediction (DPCache)", "output Taylor", "velocity Taylor",
    }  # fmt: skip


def test_the_options_of_a_choice_are_those_that_change_its_policy():
    def policy(name, **changes):
        plain = {"order": 1, "scale": 0.5, "span": 4, "extrapolation": {}}
        options = Options(weights=Path, of_path=lambda: Fitted("0/2"), **(plain | changes))
        return CHOICES[name].make(options)

    changes = {
        "order": {"order": 2}, "scale": {"scale": 0.7}, "span": {"span": 2},
        "differences": {"extrapolation": {"divided": True}},
        "max_amplification": {"extrapolation": {"max_amplification": 8.0}},
        "max_distance": {"extrapolation": {"max_distance": 3}},
    }  # fmt: skip
    for name, row in CHOICES.items():
        if name != CAUSAL_LINEAR:
            changing = {
                option for option, other in changes.items() if policy(name, **other) != policy(name)
            }
            assert changing == set(row.options) - {"path"}, name


@pytest.mark.parametrize("file", ["en.js", "zh.js"])
def test_the_page_says_what_each_choice_suits(file):
    text = (Path(__file__).parents[3] / "web/locales" / file).read_text("utf-8")
    assert set(re.findall(r'"policy\.(.+?)":', text)) == {*CHOICES, "linked"}
