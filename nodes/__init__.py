"""The ComfyUI nodes: thin, everything they compute is in ``gph_core``."""

from __future__ import annotations

from comfy_api.latest import ComfyExtension, io
from server import PromptServer

from . import prompts, routes
from .adaptive import AdaptiveCache
from .cache import GoldenPathCache
from .calibrate import Calibrate
from .calibrate_ratio import CalibrateRatio
from .compare_run import CompareRun
from .coverage import Coverage
from .demo import DemoModel, DemoPrompt
from .error_decomposition import ErrorDecomposition
from .examples import ScoringExamples
from .library import GoldenPathLibrary, SaveGoldenPath
from .method_shootout import MethodShootout
from .most_frequent import MostFrequentSchedule
from .plan_schedule import PlanSchedule
from .policy import PolicySelector
from .propagation_gain import PropagationGain
from .quality_compare import QualityCompare
from .record_runs import RecordRuns
from .record_trajectory import RecordTrajectory
from .schedule_editor import ScheduleEditor
from .schedule_search import ScheduleSearch
from .schedule_statistics import ScheduleStatistics
from .trajectory_profile import TrajectoryProfile


class GoldenPathExtension(ComfyExtension):
    """What ComfyUI asks for the node list."""

    async def on_load(self) -> None:
        server = getattr(PromptServer, "instance", None)
        if server is not None:  # there is none in tests
            routes.register(server.routes)
            server.add_on_prompt_handler(prompts.remember)

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        return [
            GoldenPathCache, PolicySelector, ScheduleEditor, GoldenPathLibrary, SaveGoldenPath,
            QualityCompare, CompareRun, ScoringExamples, ScheduleSearch, AdaptiveCache, Calibrate,
            CalibrateRatio, RecordRuns, MostFrequentSchedule, PlanSchedule, MethodShootout,
            RecordTrajectory, TrajectoryProfile, ErrorDecomposition, PropagationGain, Coverage,
            ScheduleStatistics, DemoModel, DemoPrompt,
        ]  # fmt: skip
