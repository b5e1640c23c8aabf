"""Independent tasks one after the other in this process, or on the workers of a Dask cluster."""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from secrets import token_hex
from typing import Any, Protocol, TypeVar

from pyroclust.core.machine import num_threads
from pyroclust.core.messages import first_line

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks that wait for each thread, so that none is ever idle and few are held in memory.
_WAITING = 2
_SECONDS = 20
_LIBRARIES = ("pyroclust", "numpy", "torch", "numba", "pyro-ppl")
# What tasks share, by the names of the runs; of a worker, here since its start.
_SHARED: dict[str, Any] = {}


class LostTask(Exception):
    """A task was given up: the worker that had it died, and others after it."""


class Workers(Protocol):
    """Whoever does tasks that all share some settings."""

    def map(
        self, function: Callable[[Any, Task], Result], shared: Any, tasks: Iterator[Task]
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        """Apply a function to what all tasks share and to each; return what comes as it comes."""


class ThisProcess:
    """Does one task after the other."""

    def map(
        self, function: Callable[[Any, Task], Result], shared: Any, tasks: Iterator[Task]
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        for task in tasks:
            yield task, function(shared, task)


class DaskWorkers:
    """Does tasks on the workers of a Dask cluster; what a worker had that dies another does.

    What tasks share travels to each worker once, and to those that come later.

    Args:
        client: of ``distributed``; functions have to be importable on its workers.

    Raises:
        ValueError: if no worker is there, or libraries have other versions there.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        try:
            client.wait_for_workers(1, timeout=_SECONDS)
        except TimeoutError:
            raise ValueError(
                f"client has no worker after {_SECONDS} seconds: start some with 'dask worker "
                f"{client.scheduler.address} --nthreads 1'"
            ) from None
        here = _versions()
        for address, there in client.run(_versions).items():
            for name in here:
                if there[name] != here[name]:
                    raise ValueError(
                        f"worker {address} has {name} {there[name]}, and this process has {here[name]}: "
                        "install the same version on both"
                    )

    def map(
        self, function: Callable[[Any, Task], Result], shared: Any, tasks: Iterator[Task]
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        from distributed import KilledWorker, as_completed

        client, key = self._client, token_hex(8)
        # Kept by the scheduler for workers that come later or again.
        client.register_plugin(_shared_by_workers(key, shared))
        task_of: dict[str, Task] = {}

        def submit(task: Task) -> Any:
            future = client.submit(_work, key, function, task, pure=False)
            task_of[future.key] = task
            return future

        threads = sum(client.nthreads().values())
        running = as_completed([submit(task) for task in islice(tasks, _WAITING * max(1, threads))])
        try:
            for future in running:
                task = task_of.pop(future.key)
                error = future.exception()
                if error is None:
                    yield task, future.result()
                elif isinstance(error, KilledWorker):
                    yield task, LostTask("workers died of it again and again, perhaps for want of memory")
                else:
                    raise error
                following = next(tasks, None)
                if following is not None:
                    running.add(submit(following))
        finally:
            running.clear()
            client.unregister_worker_plugin(key)


def _work(key: str, function: Callable[[Any, Any], Any], task: Any) -> Any:
    return function(_SHARED[key], task)


def _versions() -> dict[str, str]:
    return {"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def _shared_by_workers(key: str, shared: Any) -> Any:
    from distributed import WorkerPlugin

    class Shared(WorkerPlugin):  # type: ignore[misc]
        """Gives a worker what tasks share, and one thread a task to work with."""

        name = key

        def setup(self, worker: Any) -> None:
            _keep(key, shared)

        def teardown(self, worker: Any) -> None:
            _keep(key, None)

    return Shared()


# A class within a function travels by value, with copies of what it names; functions of a module do not.
def _keep(key: str, shared: Any) -> None:
    """Keep what tasks share, and let torch and compiled code work in one thread: a thread has a task."""
    import numba
    import torch

    torch.set_num_threads(1)
    numba.config.NUMBA_NUM_THREADS = 1  # type: ignore[attr-defined]
    _SHARED[key] = shared


@contextmanager
def client_of(scheduler: str | None) -> Iterator[Any]:
    """Return a client of a scheduler, or of as many processes on this machine as it has cores.

    Without an address there is none where Dask is not installed, or there is one core.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        if scheduler is None:
            yield None
            return
        raise ValueError("scheduler needs Dask: install it with pip install 'pyroclust[dask]'") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_SECONDS)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"scheduler is '{scheduler}', which cannot be reached ({first_line(error)}): start one with "
                "'dask scheduler', or leave --scheduler out"
            ) from None
        with client:
            yield client
        return
    if (number := num_threads()) == 1:
        yield None
        return
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with (
        LocalCluster(
            n_workers=number, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, env=one_thread
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
