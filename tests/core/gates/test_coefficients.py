import itertools
import math

import pytest

from gph_core.gates.coefficients import Polynomial, SignalKind, magnitudes, polynomials
from gph_core.model.families import FAMILIES

POLYNOMIALS = {row.model: row.fit for row in polynomials()}
FLUX, HUNYUAN = POLYNOMIALS["FLUX.1-dev"], POLYNOMIALS["HunyuanVideo"]
WAN = POLYNOMIALS["Wan 2.1 T2V 1.3B"]


@pytest.mark.parametrize(
    ("polynomial", "x", "value"),
    [
        (FLUX, 0.0, 0.2642),
        (FLUX, 0.05, 0.1805),
        (FLUX, 0.1, 0.2068),
        (FLUX, 0.2, 0.2620),
        (FLUX, 0.3, 0.5221),
        (FLUX, 0.4, 2.2765),
        (HUNYUAN, 0.05, 0.0620),
        (HUNYUAN, 0.1, 0.1292),
        (WAN, 0.02, 0.0782),
        (WAN, 0.05, 0.1419),
    ],
)
def test_values_match_the_published_ones(polynomial, x, value):
    assert polynomial(x) == pytest.approx(value, abs=5e-5)


def test_the_published_range_keeps_wan_from_where_its_polynomial_falls_steeply():
    # 0.15 counts as 0.1 and 0.001 as 0.005, where the terms are -0.0000326 + 0.00115 - 0.01321
    # + 0.06849 - 0.04999.
    assert [WAN.guarded(x) for x in (0.15, 0.001)] == pytest.approx([0.049, 0.00642], rel=0.01)
    assert {model: p.fitted for model, p in POLYNOMIALS.items() if p.fitted} == {
        "Wan 2.1 T2V 1.3B": (0.005, 0.1)
    }


def test_families_are_those_of_the_pack_and_sources_are_named():
    signals = {family.name: family.signal for family in FAMILIES}
    for row in (*polynomials(), *magnitudes()):
        assert row.family in signals
        assert row.architecture
        assert "/" in row.source
    for row in polynomials():
        of_time = signals[row.family].of_time is not None
        assert row.fit.signal is (SignalKind.TIME_PROJECTION if of_time else SignalKind.MODULATED)
        assert len(row.fit.coefficients) == 5


def test_coefficients_of_two_models_differ():
    assert len(POLYNOMIALS) == len(polynomials())
    pairs = itertools.combinations(POLYNOMIALS.values(), 2)
    assert all(a.coefficients != b.coefficients for a, b in pairs)


def test_tables_have_the_steps_of_the_runs_in_which_they_were_measured():
    assert {row.model: len(row.fit.ratios) for row in magnitudes()} == {
        "FLUX.1-dev": 28, "Qwen-Image": 50, "HunyuanVideo 540p": 50,
    }  # fmt: skip
    assert {row.fit.ratios[0] for row in magnitudes()} == {1}


def test_a_row_is_for_its_own_family_and_configuration():
    row = next(row for row in magnitudes() if row.model == "FLUX.1-dev")
    config = {**row.architecture, "patch_size": 2}
    assert row.is_for("FLUX", config)
    assert not row.is_for("Chroma", config)
    assert not row.is_for("FLUX", config | {"guidance_embed": False})
    assert not row.is_for("FLUX", {})


@pytest.mark.parametrize(
    ("coefficients", "fitted"),
    [((), None), ((1.0, math.nan), None), ((1.0,), (0.5, 0.1)), ((1.0,), (-1.0, 1.0))],
)
def test_what_is_no_polynomial_is_refused(coefficients, fitted):
    with pytest.raises(ValueError, match=r"finite coefficients|range of changes"):
        Polynomial(coefficients, fitted=fitted)
