"""Independent tasks one after the other in this process, or on the workers of a Dask cluster."""

import gc
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from secrets import token_hex
from typing import Any, TypeVar

from pyroclust.core.machine import num_threads, versions
from pyroclust.core.messages import first_line

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks that wait for each thread, so that none is ever idle and few are held in memory.
_WAITING = 2
_SECONDS = 20
# What tasks share on a worker, by the names of the runs.
_SHARED: dict[str, Any] = {}


class LostTask(Exception):
    """A task was given up: the worker that had it died, and others after it."""


def check_workers(client: Any) -> None:
    """Refuse a client of Dask without workers, or whose workers have other versions of the libraries."""
    if not hasattr(client, "submit"):
        raise ValueError(
            f"client is of type {type(client).__name__}, expected a client of dask.distributed: "
            "distributed.Client('tcp://...')"
        )
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
                    f"client has worker {address} with {name} {there[name]}, and this process has "
                    f"{here[name]}: install the same version on both"
                )


def done_by(
    client: Any, function: Callable[[Any, Task], Result], shared: Any, tasks: Iterator[Task]
) -> Iterator[tuple[Task, Result | LostTask]]:
    """Apply a function to what all tasks share and to each; return what comes as it comes.

    Without a client this process takes one task after the other. What tasks share travels to each worker
    once, and to those that come later; what a worker had that dies another does.
    """
    if client is None:
        for task in tasks:
            yield task, function(shared, task)
        return
    from distributed import KilledWorker, as_completed

    key = token_hex(8)
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
    return {"Python": platform.python_version()} | versions()


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

    # What was imported is no garbage, and need not be looked at again.
    gc.freeze()
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
    # Without its pages; the port of those that say how it is would be the same for all clusters.
    no_pages = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            host="127.0.0.1",
            env=one_thread,
            scheduler_kwargs=no_pages,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
