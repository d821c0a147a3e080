"""What nodes find with workers is what they find without: workers in this process, without Ray."""

import functools
import pickle

import execution
import pytest
from comfy_api.latest import io
from golden_path_pack.gph_core.policies.weights import GUIDED, SECOND
from golden_path_pack.nodes.schema import users
from golden_path_pack.nodes.search.schedule_search import FITTED, REUSE
from golden_path_pack.nodes.workers import crew
from golden_path_pack.nodes.workers.ray_actors import Lost, Workers
from golden_path_pack.nodes.workers.worker import Worker

from ...support.comfy.demo_examples import examples
from ...support.comfy.demo_search import least, small

pytestmark = pytest.mark.usefixtures("in_a_run")
PROMPT = {"7": {"class_type": "GPH_ScheduleSearch", "inputs": {}}}  # its inputs are the test's


class Here:
    """In place of Ray's processes. What goes to workers and comes from them is copied."""

    def __init__(self, workers, command, activity):
        self._workers = {n: Worker(None) for n in range(1, workers.count + 1)}

    @property
    def alive(self):
        return list(self._workers)

    def ask(self, requests, limit_s):
        return {key: self.answer(request.worker, request) for key, request in requests.items()}

    def start(self, request):
        return request

    def done(self, references):
        return references[-1:]

    def answer(self, worker, request):
        given = pickle.loads(pickle.dumps(request.arguments))
        return pickle.loads(pickle.dumps(getattr(self._workers[worker], request.name)(*given)))

    def lose(self, worker, reason):
        del self._workers[worker]
        raise Lost(worker, reason)

    def close(self):
        self._workers = {}


@pytest.fixture
def with_workers(monkeypatch):
    """Function that executes a node with two workers, which execute it themselves.

    Its ``users`` are those for whom workers did that.
    """
    monkeypatch.setattr(crew, "Actors", Here)
    monkeypatch.setattr(io.ComfyNode.hidden, "prompt", PROMPT, raising=False)

    def run(execute):
        class Executor:
            """In place of ComfyUI's: the workflow of a worker is this very node."""

            status_messages = ()

            def __init__(self, *args, **options):
                pass

            def execute(self, *args):
                run.users.append(users.current())
                execute()

        monkeypatch.setattr(execution, "PromptExecutor", Executor)
        return execute(workers=Workers(count=2))

    run.users = []
    yield run
    users.assume(None)


def found(output):
    """What a search delivers, and how its best score has risen."""
    schedule, policy, _, table = output.result
    return schedule, policy, table, output.ui["gph_search"][0]["curve"]


@pytest.mark.parametrize("policies", [REUSE, pytest.param(FITTED, marks=pytest.mark.long)])
def test_a_search_finds_the_same(with_workers, policies):
    few = {"evaluations": 1, "batch_size": 1, "policies": policies}
    if policies == FITTED:  # on three examples, so that a worker has two
        few |= {"examples": examples(), "validation": ()}
    without = small(study="without", **few)
    shared = with_workers(functools.partial(small, study="with", **few))
    assert found(shared) == found(without)
    if policies == FITTED:  # with guidance, so that workers send the velocities of both prompts
        streams = {term.stream for _, terms in shared.result[1].weights for term in terms}
        assert streams == {GUIDED, SECOND}


def test_a_worker_whose_control_runs_come_closer_than_those_of_the_first_is_left_out(
    with_workers, monkeypatch
):
    errors = iter([[0.5, 0.3], [0.5, 0.2]])
    monkeypatch.setattr(Worker, "controls", lambda _: next(errors))
    table = with_workers(least).result[3]
    assert "worker 2 is left out: the latent MSE of its control runs is [0.5, 0.2]" in table


def test_workers_read_the_files_of_the_user_who_asks(with_workers):
    users.assume("ann")
    with_workers(least)
    assert with_workers.users == ["ann", "ann"]
