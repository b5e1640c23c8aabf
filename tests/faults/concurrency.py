"""Several threads and processes: each gives what it gives alone."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from faults.cases import Run, table

from pyroclust import load_guide, save_guide
from pyroclust.core.random_state import pyro_seeded
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import nig_mixture, overlap2d

CASES, _case, case = table("threads")

_MODEL = overlap2d()
_PATIENCE = 30

_DRAWS = """
import multiprocessing, os, sys
import torch
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import overlap2d
from pyroclust.core.random_state import pyro_seeded

def draws(_=None):
    with pyro_seeded(3):
        scorer = light_scorer_for(overlap2d(), width=64, num_bandwidths=2)
        guide = NeuralClusteringProcess(overlap2d(), scorer=scorer)
        found, log_prob = guide.posterior(torch.randn(60, 2)).sample_and_log_prob((200,))
    return found.tolist()

if __name__ == "__main__":
    torch.set_num_threads(2)
    alone = draws()
"""
_FORK = """
    child = os.fork()
    if not child:
        os._exit(0 if draws() == alone else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
_POOL = """
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        sys.exit(pool.map(draws, range(2)) != [alone, alone])
"""


def _processes(code: str) -> Run:
    def run(folder: Path) -> str:
        (folder / "draws.py").write_text(_DRAWS + code)
        environment = {**os.environ, "OMP_NUM_THREADS": "2"}
        arguments = {"cwd": folder, "env": environment, "text": True, "start_new_session": True}
        with subprocess.Popen([sys.executable, "draws.py"], stderr=subprocess.PIPE, **arguments) as process:
            try:
                _, err = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise AssertionError(f"not done after {_PATIENCE} s") from None
        assert process.returncode == 0, err or "other draws"
        return "the same draws"

    return run


@case("four threads draw, each with its seed", "each gives what it gives alone")
def _seeded_draws(folder: Path) -> str:
    guide = PredictiveFilter(nig_mixture())
    data = torch.linspace(-2.0, 2.0, 12)[:, None]

    def draws(seed: int) -> tuple[list[list[int]], list[float]]:
        with pyro_seeded(seed):
            found, log_prob = guide.posterior(data).sample_and_log_prob((5,))
        return found.tolist(), log_prob.tolist()

    seeds = list(range(4)) * 5
    alone = [draws(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draws, seeds))
    assert [one for one, _ in together] == [one for one, _ in alone], "other draws"
    # The last bit of a sum depends on where its numbers lie in memory.
    assert np.allclose([one for _, one in together], [one for _, one in alone], rtol=1e-12, atol=0.0)
    return "each gives what it gives alone"


@case("four threads save and load one folder", "every load is whole; a second writer is refused")
def _one_folder(folder: Path) -> str:
    """Save guides whose weights are all one number; a load in between must find one number."""

    def guide(value: float) -> NeuralClusteringProcess:
        made = NeuralClusteringProcess(_MODEL, scorer=light_scorer_for(_MODEL, width=8, num_bandwidths=2))
        with torch.no_grad():
            for weight in made.parameters():
                weight.fill_(value)
        return made

    guides = [guide(0.25), guide(0.5)]
    save_guide(guides[0], folder / "guide")

    def work(which: int) -> set[str]:
        said = set()
        for _ in range(6):
            try:
                if which < 2:
                    save_guide(guides[which], folder / "guide")
                    continue
                loaded = load_guide(folder / "guide")
            except ValueError as error:
                said.add(str(error))
                continue
            values = {float(one) for weight in loaded.parameters() for one in weight.detach().unique()}
            assert values in ({0.25}, {0.5}), f"a mixture of two guides: {values}"
        return said

    with ThreadPoolExecutor(4) as pool:
        said = set().union(*pool.map(work, range(4)))
    load_guide(folder / "guide")
    assert all("another process or thread is writing" in one for one in said), said
    return f"every load is whole; {len(said)} sentences of the writers"


CASES += [
    _case(name, "the same draws with the same seed", _processes(code), slow=True)
    for name, code in (
        ("a draw after a fork, two threads of OpenMP", _FORK),
        ("a pool of forked processes", _POOL.format(method="fork")),
        ("a pool of spawned processes", _POOL.format(method="spawn")),
    )
]
