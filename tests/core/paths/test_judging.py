"""What a file of a path may hold, whoever wrote it."""

import json

import pytest

from gph_core.paths.golden_path import PUBLISHED, SHARED, WITH_PACK, GoldenPath
from gph_core.paths.judging import MAX_MIB, judged
from gph_core.paths.library import UserPaths, bundled_paths
from gph_core.policies.fitted import NEEDED, Fitted

FITTED = [path for path in bundled_paths() if isinstance(path.policy, Fitted)]
# A path of 50 steps, of which 2, 4, 10 and 12 are cached; each repeats the velocity before it.
SCHEDULE = "0-1,3,5-9,11,13-49/50"
WEIGHTS = [[step, [[step - 1, 1.0]]] for step in (2, 4, 10, 12)]
OF_PACK = FITTED[0].to_json()
DATA = OF_PACK | {
    "schedule": SCHEDULE,
    "policy": OF_PACK["policy"] | {"schedule": SCHEDULE, "weights": WEIGHTS},
}


def text_of(data):
    return json.dumps(data)


def with_weights(path, change):
    """A path's data with other weights."""
    data = json.loads(json.dumps(path.to_json()))
    for _, terms in data["policy"]["weights"]:
        for term in terms:
            own = term[1]
            term[1] = [*map(change, own)] if isinstance(own, list) else change(own)
    return data


def test_every_path_of_the_pack_is_believed():
    def judgement(path):
        try:
            found = judged(text_of(path.to_json()))
        except ValueError as reason:
            return str(reason)
        return found.policy, found.origin

    origins = {PUBLISHED: SHARED, WITH_PACK: SHARED}
    expected = {p.name: (p.policy, origins.get(p.origin, p.origin)) for p in bundled_paths()}
    assert len(expected) == len(bundled_paths()) > 0
    assert {path.name: judgement(path) for path in bundled_paths()} == expected


def test_every_fitted_path_of_the_pack_states_what_its_weights_need():
    assert [path.policy.missing for path in FITTED] == [()] * 12
    assert set(NEEDED) <= set(DATA["policy"]["conditions"])


@pytest.mark.parametrize("times", [10, 3, 0, -0.4])
@pytest.mark.parametrize("path", FITTED[::4], ids=lambda path: path.name)
def test_weights_that_were_multiplied_are_refused(path, times):
    with pytest.raises(ValueError, match=r"a fit gives .* search again, or ask for the file again"):
        judged(text_of(with_weights(path, lambda weight: weight * times)))


@pytest.mark.parametrize(("times", "padding"), [(-1, 5.0), (3, -3.0)])
def test_weights_of_full_steps_do_not_bring_the_others_into_their_bounds(times, padding):
    data = with_weights(FITTED[0], lambda weight: weight * times)
    full = FITTED[0].schedule.full_steps[1:]
    data["policy"]["weights"] += [[step, [[step - 1, padding]]] for step in full]
    with pytest.raises(ValueError, match=f"step {full[0]} has weights, but .* not cache it"):
        judged(text_of(data))


def changed_policy(**changes):
    return DATA | {"policy": DATA["policy"] | changes}


def changed_condition(name, value):
    return changed_policy(conditions=DATA["policy"]["conditions"] | {name: value})


FOUR = [12, [[step, 0.25] for step in (11, 9, 8, 7)]]
# Of the second prompt, whose weights are added: three, and two of which one channel has too much.
THREE = [12, [[11, 1.0], *([step, 0.0, 1] for step in (11, 9, 8))]]
ONE_CHANNEL = [12, [[11, [1.0, 1.0]], [11, [0.0, 4.5], 1]]]


def with_twelfth(terms):
    return changed_policy(weights=[terms if pair[0] == 12 else pair for pair in WEIGHTS])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (changed_policy(weights=[[2, [[0, 70.0], [1, -69.0]]]]), "they must be earlier"),
        (changed_policy(weights=[[2, [[1, 70.0], [0, -69.0]]], *WEIGHTS[1:]]),
         "step 2 add up to 1, their absolute values to 139; a fit gives -4 to 5, .* to 96"),
        (changed_policy(weights=[*WEIGHTS, FOUR]), "weights more than once"),
        (with_twelfth(FOUR), "step 12 has weights for 4 velocities after guidance, a fit gives 3"),
        (with_twelfth(THREE), "step 12 has weights for 3 velocities of the second .* gives 2 at m"),
        (with_twelfth(ONE_CHANNEL), "step 12 add up to 1 to 5.5, .* a fit gives -4 to 5"),
        (changed_policy(weights=[*WEIGHTS, [50, [[49, 1.0]]]]), "step 50 has weights, but"),
        (changed_policy(spare=2), "the weights are of a part of a run"),
        (changed_policy(schedule="soon"), "'soon' has no step count"),
        (changed_policy(conditions=[]), "must be an object"),
        (changed_condition("family", 3), "'family' of the weights must be a line of 200"),
        (changed_condition("sampler", "euler\npublished"), "'sampler' .* must be a line"),
        (changed_condition("model", "m" * 201), "'model' .* must be a line"),
        (changed_condition("cfg", "5"), "'cfg' .* must be a number or null"),
        (changed_condition("sigmas", {"0": 1.0}), "'sigmas' .* must be a list of numbers"),
        (changed_condition("sigmas", [[1.0]]), "'sigmas' .* must be a list of numbers"),
        (changed_condition("latent", "large"), "'latent' .* must be a list of numbers"),
        (changed_condition("numbers of the guider", []), "must be an object"),
        (DATA | {"notes": "n" * 10_001}, "'notes' has 10,001 characters, at most 10,000"),
        (DATA | {"source": "s" * 1_001}, "'source' has 1,001 characters, at most 1,000"),
        (DATA | {"model": "m" * 201}, "'model' has 201 characters, at most 200"),
        (DATA | {"conditions": dict.fromkeys(map(str, range(201)))}, "'conditions' has 201 entr"),
        (DATA | {"quality": {"q" * 301: 1.0}}, "names of 300 characters at most"),
        (DATA | {"sigmas": [], "schedule": "0/10001"}, "10001 steps, at most 10000 are supported"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_no_search_gives_is_refused(data, reason):
    with pytest.raises(ValueError, match=reason):
        judged(text_of(data))


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '"0-2/5"', '{"format": 2, "x": NaN}',
                                  '{"format": 2, "x": 1e999}', "[" * 100 + "]" * 100])  # fmt: skip
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match=r"no JSON text|not a golden path"):
        judged(text)


def test_a_reason_quotes_no_more_than_a_line_of_the_file():
    with pytest.raises(ValueError, match=r"has the origin 'x") as reason:
        judged(text_of(DATA | {"origin": "x" * 10_000}))
    assert len(str(reason.value)) == 300


def test_what_would_be_too_large_on_the_disk_is_refused_before_it_is_saved(tmp_path):
    """Written with indentation, numbers in lists take more than in the text that was imported."""
    library, many = UserPaths(tmp_path), [0] * (MAX_MIB * 2**20 // 5)
    data = GoldenPath("large", FITTED[0].schedule, SHARED).to_json() | {"conditions": {"x": many}}
    text = json.dumps(data, separators=(",", ":"))
    assert len(text) < MAX_MIB * 2**20
    with pytest.raises(ValueError, match=rf"it has \d\.\d MiB, a path has at most {MAX_MIB}"):
        library.import_text(text)
    with pytest.raises(ValueError, match=f"a path has at most {MAX_MIB}"):
        judged(" " * (MAX_MIB * 2**20 + 1))
    assert list(tmp_path.iterdir()) == []


def test_weights_of_ten_thousand_steps_fit():
    full = "0-2,9999/10000"
    weights = [[n, [[2, 1.23456789], [1, -0.123456789], [0, -0.111111111]]] for n in range(3, 9999)]
    levels = [round(1 - n / 10_000, 6) for n in range(10_001)]
    conditions = dict.fromkeys(NEEDED, "") | {"sigmas": levels, "cfg": 5.0}
    policy = {"kind": "Fitted", "weights": weights, "conditions": conditions}
    data = {"format": 3, "name": "x", "origin": SHARED, "schedule": full, "sigmas": levels}
    path = judged(json.dumps(data | {"policy": policy}, indent=1))
    assert path.schedule.num_full == 4
