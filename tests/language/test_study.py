"""The six programs of the language study compile whole, and this runtime refuses those that need more than it has."""

from __future__ import annotations

import pytest

from tests.language.programs import compiled, problems
from tests.language.study import MODULES, PROGRAMS, REQUIRES
from touba_cli.air.program import read_program, write_program
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.admission import AVAILABLE_FEATURES, check_features
from touba_cli.runtime.unavailable import WORDS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_study_compiles_whole(name: str) -> None:
    found = compiled(PROGRAMS[name][0], MODULES)
    assert problems(found) == []
    assert found.air is not None
    program = read_program(write_program(found.air))
    assert program.requires == REQUIRES[name]
    assert compiled(PROGRAMS[name][0], MODULES).air == found.air
    missing = [feature for feature in program.requires if feature not in AVAILABLE_FEATURES]
    with pytest.raises(ToubaFailure) as refused:
        check_features(program)
    assert refused.value.code == "FeatureUnavailable"
    assert all(f"{WORDS[feature]} (" in refused.value.message for feature in missing)
    assert all(f"`{feature}`" in refused.value.message for feature in missing)
