"""The ComfyUI nodes, kept thin: ``gph_core`` does the computing."""

from __future__ import annotations

from comfy_api.latest import ComfyExtension, io
from server import PromptServer

from .analyze.coverage import Coverage
from .analyze.error_decomposition import ErrorDecomposition
from .analyze.propagation_gain import PropagationGain
from .analyze.schedule_statistics import ScheduleStatistics
from .analyze.trajectory_profile import TrajectoryProfile
from .cache.adaptive import AdaptiveCache
from .cache.cache import GoldenPathCache
from .cache.plan_schedule import PlanSchedule
from .cache.policy import PolicySelector
from .cache.schedule_editor import ScheduleEditor
from .calibrate.calibrate import Calibrate
from .calibrate.calibrate_ratio import CalibrateRatio
from .compare.compare_run import CompareRun
from .compare.quality_compare import QualityCompare
from .library.library import GoldenPathLibrary, SaveGoldenPath
from .page import routes
from .record.most_frequent import MostFrequentSchedule
from .record.record_runs import RecordRuns
from .record.record_trajectory import RecordTrajectory
from .sample.demo import DemoModel, DemoPrompt
from .sample.examples import ScoringExamples
from .schema import prompts, users
from .search.schedule_search import ScheduleSearch
from .semantic.semantic_metrics import SemanticMetricsNode
from .shootout.method_shootout import MethodShootout
from .workers.search_workers import SearchWorkers


class GoldenPathExtension(ComfyExtension):
    """Extension that gives ComfyUI the nodes, and registers routes and prompt handlers."""

    async def on_load(self) -> None:
        server = getattr(PromptServer, "instance", None)
        if server is not None:  # there is none in tests
            routes.register(server.routes)
            server.add_on_prompt_handler(prompts.remember)
            users.serve(server)

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        return [
            GoldenPathCache, PolicySelector, ScheduleEditor, GoldenPathLibrary, SaveGoldenPath,
            QualityCompare, CompareRun, ScoringExamples, ScheduleSearch, SearchWorkers,
            AdaptiveCache, Calibrate, CalibrateRatio, RecordRuns, MostFrequentSchedule,
            PlanSchedule, MethodShootout,
            RecordTrajectory, TrajectoryProfile, ErrorDecomposition, PropagationGain, Coverage,
            ScheduleStatistics, SemanticMetricsNode, DemoModel, DemoPrompt,
        ]  # fmt: skip
