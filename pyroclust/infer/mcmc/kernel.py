"""What all kernels over partitions share: Pyro's MCMC interface, and runs of several chains."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pyro.infer import MCMC
from pyro.infer.mcmc.mcmc_kernel import MCMCKernel
from torch import Tensor

from pyroclust.core.large_tables import label_type
from pyroclust.core.long_runs import interrupt_between_steps, progress_bar
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.distributions.points import Points, as_points, check_data_set
from pyroclust.distributions.protocols import CollapsedModel, is_of_graphs, takes_missing
from pyroclust.infer.checks import checked_log_joint
from pyroclust.infer.mcmc.states import ChainStates, Overdispersed, Starts, Trace, as_starts, log_joint
from pyroclust.partitions import Draws, as_partitions, canonical, check_num_points, is_canonical
from pyroclust.partitions.adjacency import as_adjacency, check_graph

# Kernels compute in double precision: numbers that are no tensor yet keep all their digits.
DOUBLE = torch.empty(0, dtype=torch.float64)
_LONGEST_THIN = 1_000_000
# How soon Ctrl-C is obeyed and the bar moves.
_SECONDS_A_BLOCK = 0.3
# Processor seconds from which on it is said how long a run takes: the first sweeps are slower.
_SECONDS_TO_TELL = 1.0
_GROWTH = 8


class Transition(ABC):  # noqa: B024  (subclasses write one of two methods)
    """A kernel bound to data: it moves C chains at once.

    Subclasses write :meth:`step`, or :meth:`advance` where several steps at once are faster. They may keep
    caches, but what they return depends on the states given to it alone, unless the kernel says that it keeps
    parameters. How many steps a draw has is the kernel's ``thin``, which those who call them count.
    """

    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one step."""
        return self.advance(states, 1).last()

    def advance(self, states: ChainStates, num_draws: int, *, every: int = 1) -> Trace:
        """Advance every chain by ``num_draws * every`` steps and return one in ``every`` of them."""
        visited = []
        for _ in range(num_draws):
            for _ in range(every):
                states = self.step(states)
            visited.append(states)
        return Trace.stack(visited)

    def prepare(self, states: ChainStates) -> None:  # noqa: B027  (most have nothing to compile)
        """Compile what needs compiling, without advancing."""


def check_draws(num_chains: int, num_draws: int, num_points: int) -> None:
    """Refuse draws that do not fit into the memory that is left, a copy of them included."""
    check_memory(
        2 * num_chains * num_draws * num_points * label_type(num_points).itemsize,
        f"num_draws is {num_draws}: {num_chains} chains of {num_points} points",
        remedy="keep fewer, with a larger thin",
    )


def run(
    transition: Transition,
    states: ChainStates,
    *,
    warmup: int,
    num_draws: int,
    every: int = 1,
    progress: bool = False,
    expect: Callable[[float], None] = lambda seconds: None,
) -> tuple[Trace, bool]:
    """Run ``warmup`` steps, then keep one in ``every``; return these draws, and whether Ctrl-C has ended it.

    Ctrl-C is obeyed between blocks of steps; before the first draw that is kept it is raised. A run of more
    than a second tells ``expect`` once how many processor seconds all of it takes, by its first second.
    """
    kept: list[Trace] = []
    done, size, total = 0, 1, warmup + num_draws * every
    at_start, is_told = time.process_time(), False
    with progress_bar("draws", total, shown=progress) as tell, interrupt_between_steps() as interrupt:
        while done < total and not interrupt.requested:
            began = time.perf_counter()
            if done < warmup:
                count = min(size, warmup - done)
                states = transition.advance(states, 1, every=count).last()
            else:
                count = min(max(1, size // every) * every, total - done)
                kept.append(transition.advance(states, count // every, every=every))
                states = kept[-1].last()
            seconds = max(time.perf_counter() - began, 1e-6)
            size = max(1, min(_GROWTH * size, int(count * _SECONDS_A_BLOCK / seconds)))
            done += count
            tell(done, "")
            spent = time.process_time() - at_start
            if not is_told and spent >= _SECONDS_TO_TELL and done < total:
                is_told = True
                expect(spent * total / done)
    if not kept:
        raise KeyboardInterrupt
    return Trace.concatenate(kept), interrupt.requested


class PartitionKernel(MCMCKernel, ABC):
    """A kernel whose state is a partition, and the hyperparameters that it or its companions sample.

    Subclasses write :meth:`bind` and, where they sample hyperparameters, :attr:`updates`. Sites under
    ``pyro.infer.MCMC``: ``"assignments"`` (N labels, canonical), ``"log_joint"`` (nats), ``"num_clusters"``,
    and the sampled hyperparameters by name. Labels leave Pyro's MCMC as floats, see
    :func:`~pyroclust.infer.mcmc.assignments`.

    Args:
        model: the model whose posterior is sampled.
        init: where chains start: :class:`OneCluster`, :class:`Singletons`, :class:`Overdispersed`,
            :class:`FromDraws`, or labels, ``(N,)`` or ``(S, N)``. Hyperparameters start at draws of their
            priors.
        thin: steps of the kernel a draw.

    Raises:
        ValueError: if the model has constraints or weights that the kernel would not keep to.

    Attributes:
        moves_points: whether the kernel changes partitions; False for those that draw hyperparameters alone.
        keeps_constraints: whether it moves within the partitions that a constrained model allows, and counts
            rows by their weights.
        keeps_number: whether it keeps to a number of clusters that is known or bounded, if not
            to what is known of points.
    """

    moves_points: bool = True
    keeps_constraints: bool = False
    keeps_number: bool = False

    def __init__(self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1) -> None:
        self.model, self.thin = model, check_count("thin", thin, at_most=_LONGEST_THIN)
        constraints = model.constraints
        if constraints is not None and self.keeps_number:
            constraints = constraints.of_points
        limits = {"constraints": constraints, "weights of rows": model.row_weights}
        present = [name for name, limit in limits.items() if limit is not None]
        if present and not self.keeps_constraints:
            raise ValueError(
                f"model has {' and '.join(present)}, and {type(self).__name__} cannot keep to them: use "
                "CollapsedGibbs, SplitMerge, MergeSplit, or a Compose of these"
            )
        self.init = Overdispersed() if init is None else as_starts(init)
        self.transforms: dict[str, Any] = {}
        self._transition: Transition | None = None
        self._states = ChainStates(torch.empty(0, 0, dtype=torch.int64))
        self._params: dict[str, Tensor] = {}
        self._first_params: dict[str, Tensor] = {}

    def __repr__(self) -> str:
        thin = f", thin={self.thin}" if self.thin > 1 else ""
        return f"{type(self).__name__}({self.model.name}{thin})"

    @property
    def updates(self) -> frozenset[str]:
        """Names of the random hyperparameters that this kernel samples."""
        return frozenset()

    @property
    def keeps_parameters(self) -> bool:
        """Whether something beside the states is kept from draw to draw, so that it alone may move points.

        Parameters of clusters are, and copies of a chain.
        """
        return False

    @abstractmethod
    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        """Prepare chains on a data set ``(N, D)``, checked.

        The number of chains and the names of their hyperparameters stay. One generator a chain is spawned
        from ``generator``; torch's own generator may be used as well.
        """

    def _points(self, data: Points) -> Tensor:
        """Return points, or a graph, in double precision where they are no tensor yet."""
        if is_of_graphs(self.model):
            return as_adjacency(data, name="data")
        return as_points(data, like=DOUBLE)

    def check(self, data: Tensor) -> None:
        """Refuse data that the kernel cannot run on, and random hyperparameters that nothing samples.

        Raises:
            ValueError: if so.
        """
        if is_of_graphs(self.model):
            check_graph(data)
        else:
            check_data_set(data, self.model.component.dim, missing=takes_missing(self.model))
            self.model.component.check(data)
        if self.model.constraints is not None:
            self.model.constraints.over(len(data))
        self.check_data(data)
        missing = set(self.model.hyperpriors) - self.updates - self.model.prior.integrated_names
        if missing:
            raise ValueError(
                f"model has the random hyperparameters {sorted(missing)} that {type(self).__name__} does not "
                "sample: add SliceHyperparameters(model) to it with Compose([...])"
            )

    def check_data(self, data: Tensor) -> None:
        """Refuse what this kernel in particular cannot do; subclasses override."""

    def start(self, data: Tensor, num_chains: int, generator: np.random.Generator) -> ChainStates:
        """Choose where chains start, hyperparameters at draws of their priors.

        Under constraints they start at allowed partitions near those of ``init``.

        Raises:
            ValueError: if ``init`` returns labels of another shape.
        """
        labels = canonical(torch.as_tensor(self.init(len(data), num_chains, generator=generator)))
        if labels.shape != (num_chains, len(data)):
            raise ValueError(
                f"init returned labels of shape {tuple(labels.shape)}, expected "
                f"{(num_chains, len(data))}: one row "
                "a chain, one label a point"
            )
        if self.model.constraints is not None:
            labels = self.model.constraints.repaired(labels)
        return self.states_at(data, labels)

    def states_at(self, data: Tensor, labels: Tensor) -> ChainStates:
        """Return chains at given partitions, hyperparameters at draws of their priors by torch's generator.

        Shape:
            labels: ``(chains, N)`` canonical.

        Raises:
            ValueError: if the model has constraints that one of them breaks.
        """
        self._check_allowed(labels)
        priors = self.model.hyperpriors
        hyper = {
            name: priors[name].sample(torch.Size((len(labels),))).double() for name in sorted(self.updates)
        }
        return ChainStates(labels, hyper, log_joint(self.model, data, labels, hyper))

    def setup(self, warmup_steps: int, *args: Any, **kwargs: Any) -> None:
        """Start a new chain on the data; nothing of an earlier chain is kept."""
        (data,) = (*args, *kwargs.values())
        data = self._points(data)
        self.check(data)
        generator = np.random.default_rng(seed_from_torch())
        self._states = self.start(data, 1, generator)
        params, self._first_params = self._first_params, {}
        if params:
            check_num_points("assignments", params.get("assignments", self._states.assignments), len(data))
            self._states = _states_of({**_sites(self._states), **params}, self.updates)
            self._check_allowed(self._states.assignments)
        self._transition = self.bind(data, self._states, generator)
        self._params = _sites(self._states)

    @property
    def initial_params(self) -> dict[str, Tensor]:
        """The sites at the start of the chain."""
        return self._params

    @initial_params.setter
    def initial_params(self, params: dict[str, Tensor]) -> None:
        """Start the next chain at ``params["assignments"]``, and at the hyperparameters where given."""
        self._first_params = dict(params)

    def sample(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        """Advance by one draw from ``params``, whoever made them, and return the new sites.

        Raises:
            ValueError: if the kernel has no data yet.
        """
        if self._transition is None:
            raise ValueError(
                "the kernel has no data, expected setup(warmup_steps, data) first: use pyro.infer.MCMC"
            )
        if params["assignments"] is not self._params["assignments"]:
            self._states = _states_of(params, self.updates)
            self._check_allowed(self._states.assignments)
        self._states = self._transition.advance(self._states, 1, every=self.thin).last()
        self._params = _sites(self._states)
        return self._params

    def _check_allowed(self, labels: Tensor) -> None:
        constraints = self.model.constraints
        if constraints is not None and not bool(constraints.allows(labels).all()):
            raise ValueError(
                "assignments break the constraints of the model, expected partitions that keep them: call "
                "model.constraints.repaired on them"
            )

    def logging(self) -> dict[str, str]:
        """Return what the progress bar shows."""
        return {"clusters": str(int(self._params["num_clusters"]))}

    def diagnostics(self) -> dict[str, Any]:
        """Return the divergent draws, of which these samplers have none; ArviZ asks for them."""
        return {"divergences": []}

    def run(
        self,
        data: Points,
        *,
        num_draws: int,
        warmup: int = 0,
        num_chains: int = 4,
        seed: int | None = None,
        progress: bool = False,
    ) -> Draws:
        """Run several chains side by side.

        Ctrl-C stops the run after its present block and returns the draws made so far, with ``interrupted``
        set; before the first kept draw, and at a second Ctrl-C, ``KeyboardInterrupt`` is raised.

        Args:
            data: points, ``(N, D)``: a tensor, an array, a data frame or lists of numbers.
            num_draws: draws a chain keeps.
            warmup: draws a chain discards first.
            num_chains: chains, each with its own start and random numbers.
            seed: same seed, same draws; None takes one from torch's generator.
            progress: show a bar on standard error.

        Raises:
            ValueError: if the data do not fit, a count is too small, or the draws do not fit into memory.
            KeyboardInterrupt: after Ctrl-C before the first kept draw, or a second Ctrl-C.
        """
        data = self._points(data)
        self.check(data)
        num_draws, num_chains = check_count("num_draws", num_draws), check_count("num_chains", num_chains)
        warmup = check_count("warmup", warmup, at_least=0)
        check_draws(num_chains, num_draws, len(data))
        root = seed_from_torch() if seed is None else check_seed(seed)
        with seeded(root):
            generator = np.random.default_rng(root)
            began = time.perf_counter()
            states = self.start(data, num_chains, generator)
            transition = self.bind(data, states, generator)
            transition.prepare(states)
            compiled = time.perf_counter()
            trace, interrupted = run(
                transition,
                states,
                warmup=warmup * self.thin,
                num_draws=num_draws,
                every=self.thin,
                progress=progress,
            )
        if self.model.is_conjugate:
            checked_log_joint(trace.log_joint)
        return trace.draws(
            repr(self),
            interrupted=interrupted,
            seconds=time.perf_counter() - compiled,
            seconds_compile=compiled - began,
        )


def _sites(states: ChainStates) -> dict[str, Tensor]:
    labels = states.assignments[0]
    hyper = {name: values[0] for name, values in states.hyperparameters.items()}
    return {
        "assignments": labels,
        "log_joint": states.log_joint[0],
        "num_clusters": labels.max() + 1,
        **hyper,
    }


def _states_of(params: dict[str, Tensor], names: frozenset[str]) -> ChainStates:
    labels = as_partitions("assignments", params["assignments"].round()).unsqueeze(0)
    hyper = {name: params[name].double().reshape(1) for name in sorted(names)}
    return ChainStates(labels, hyper, params["log_joint"].double().reshape(1))


def assignments(mcmc: MCMC) -> Tensor:
    """Return the label vectors of a finished run of Pyro's MCMC as integers.

    Pyro stores all sites of a kernel in one floating-point vector; labels come back exactly.

    Args:
        mcmc: a run with a kernel that has the site ``"assignments"``.

    Shape:
        output: ``(chains, draws, N)`` int64, canonical.

    Raises:
        ValueError: if nothing was run, there is no such site, or it does not hold canonical labels.

    Example:
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=3, warmup_steps=1, disable_progbar=True)
        >>> mcmc.run(torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]]))
        >>> assignments(mcmc).shape
        torch.Size([1, 3, 3])
    """
    samples = mcmc.get_samples(group_by_chain=True) if mcmc._samples is not None else {}
    if "assignments" not in samples:
        raise ValueError(
            f"mcmc holds the sites {sorted(samples)}, expected 'assignments': "
            "call mcmc.run(data) with a partition kernel first"
        )
    labels = samples["assignments"].round().to(torch.int64)
    if not bool(is_canonical(labels).all()):
        raise ValueError(
            "mcmc holds label vectors that are not canonical: its kernel must return canonical labels"
        )
    return labels
