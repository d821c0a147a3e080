"""Settings that would make a search useless, refused before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...gph_core.files.names import check_name
from ...gph_core.paths.golden_path import SEARCHED, GoldenPath, fall
from ...gph_core.policies.base import Policy
from ...gph_core.policies.fitted import Fitted
from ...gph_core.quality.metric_table import OF_FRAMES
from ...gph_core.quality.objective import metrics_of
from ...gph_core.schedule import Schedule
from ..hook import compatibility, fingerprint
from ..library import user_paths
from ..library.library import conditions_of
from ..sample.assessing import is_video
from ..sample.examples import Example
from ..sample.sampling import samples_of

if TYPE_CHECKING:
    from .search_session import SearchSession

SHORTEST = ", 2 of 3"  # of what a path's name has behind that of its study


def check_study(study: str) -> None:
    """Raise ``ValueError`` for a study whose path could have no file, whatever it finds."""
    check_name(study)
    check_name(study + SHORTEST)


def check_saving(session: SearchSession, policies: Sequence[Policy]) -> None:
    """Raise ``ValueError`` if the path that a search finds could not be saved: hours would be lost.

    A path that has all but its schedule and weights stands for it.
    """
    levels, known = session.sigmas.tolist(), conditions_of(session.guider.model_patcher)
    for policy in policies:
        has_weights = isinstance(policy, Fitted)
        path = GoldenPath(
            session.path_name, Schedule.all_full(session.num_steps), SEARCHED,
            Fitted(conditions=session.fitted_for) if has_weights else policy,
            sigmas=tuple(levels) if fall(levels) else (),  # others cannot be searched
            conditions=session.described(), **known,
        )  # fmt: skip
        user_paths.library().checked(path)


def check(session: SearchSession) -> None:
    """Raise ``ValueError`` that says what to change."""
    compatibility.refuse_other_caches(session.guider.model_patcher)
    if not 2 <= session.num_full < session.num_steps:
        raise ValueError(
            f"{session.num_full} of {session.num_steps} steps would be full; a search needs at "
            "least 2 full and one cached step: choose another speed or full_steps, or use "
            "more sigmas"
        )
    batch = session.latent["samples"].shape[0]
    if batch != 1:
        raise ValueError(f"the latent holds {batch} images; set its batch size to 1")
    samples = samples_of(session.guider.model_patcher, session.latent)
    if OF_FRAMES.intersection(metrics_of(session.objective)) and not is_video(samples, session.vae):
        raise ValueError(
            f"{session.objective} compares consecutive frames of a video, but here a latent is "
            "one image; choose another objective, such as PSNR, or connect the latent and the VAE "
            "of a video"
        )
    if session.semantic is not None:
        examples = (*session.examples, *session.validation)
        session.semantic.check([example.prompt for example in examples], session.vae)
    guided = getattr(session.guider, "cfg", 1.0) != 1.0
    bare = [e for e in (*session.examples, *session.validation) if e.negative is None]
    if guided and bare and "negative" not in session.guider.original_conds:
        raise ValueError(
            f"CFG {session.guider.cfg:g} needs a negative conditioning, which {len(bare)} of "
            "the examples lack: set one in Scoring Examples, or set cfg to 1"
        )
    same = [e for e in session.validation if any(_is_same(e, other) for other in session.examples)]
    if same:
        raise ValueError(
            f"{len(same)} of the validation examples are also scoring examples, so they "
            "validate nothing: use other prompts or seeds there"
        )


def _is_same(one: Example, other: Example) -> bool:
    if one.seed != other.seed:
        return False
    if one.prompt and other.prompt:
        return one.prompt == other.prompt
    of = fingerprint.of_conditionings
    return of(one.positive) == of(other.positive)  # one was made outside
