"""Texts that list the candidates of Method Shootout."""

import pytest

from gph_core.methods.candidates import names_of, schedules_of
from gph_core.schedule import Schedule


def test_names_of_schedules_are_found_and_those_of_two_rows_refused():
    a, b = Schedule.parse("0-2,9/10"), Schedule.parse("0-3,9/10")
    assert schedules_of(" a b : 0-2,9/10\n0-3, 9/10\n0-3,9/10") == {"a b": a, "0-3,9/10": b}
    assert schedules_of("") == {}
    for text in ("a: 0-2,9/10\na: 0-3,9/10", "0-2,9/10: 0-3,9/10\n0-2,9/10", "Uniform: 0-2,9/10"):
        with pytest.raises(ValueError, match=r"two rows would be named '.*'; write another one"):
            schedules_of(text)
    with pytest.raises(ValueError, match="' 0-2' has no step count"):
        schedules_of("a: 0-2")


def test_names_are_found_in_any_form_and_others_refused():
    assert names_of("seacache\n\n Golden Path, L2P\nSeaCache") == ["SeaCache", "golden path", "L2P"]
    with pytest.raises(ValueError, match="'WarpCache' is not a method; write one per line of: Sea"):
        names_of("SeaCache\nWarpCache")
