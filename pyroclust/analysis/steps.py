"""The steps that fill an analysis: what each needs, and what becomes of one that fails.

A new question is one step here (:func:`register_step`), one section of the page
(:func:`pyroclust.report.register_section`) and, where it judges, one check.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyroclust.arrays import plain
from pyroclust.attempts import left_out
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.errors import first_line, lacks_memory, unknown_name
from pyroclust.results.analysis import Analysis
from pyroclust.results.files import figures_of

if TYPE_CHECKING:
    # These bring torch, which draws of other software do without.
    from torch import Tensor

    from pyroclust.analysis.constraining import Known
    from pyroclust.analysis.picking import NoGuide, PickedGuide

__all__ = ["Settings", "Step", "Work", "check_names", "never", "register_step", "run_steps"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is asked of an analysis besides its data and its model.

    Attributes:
        num_draws: draws of the guide; ``None`` for as many as come in three seconds, 200 to 1,000.
        num_chains: chains of MCMC.
        mcmc_draws: draws each chain keeps.
        kernel: name of their kernel; ``None`` for the default of the model.
        warmup: sweeps that each chain drops first; ``None`` to go on until they have converged.
        refine: whether to refine the guide's draws in any case.
        thorough: whether to take every step, and as long as it takes.
        also: names of steps to take besides those of the default.
        tolerance: limit on co-assignment differences, ``None`` for the library's.
        seed: same seed, same draws.
    """

    num_draws: int | None = None
    num_chains: int = 4
    mcmc_draws: int = 1000
    kernel: str | None = None
    warmup: int | None = None
    refine: bool = False
    thorough: bool = False
    also: frozenset[str] = frozenset()
    tolerance: float | None = None
    seed: int = 0


@dataclass(kw_only=True)
class Work:
    """An analysis while steps fill it, with what they need and nobody keeps.

    Attributes:
        analysis: what is filled.
        settings: what is asked.
        tell: called with what is being done.
        model: whose posterior is drawn from, held to constraints; ``None`` where draws came without.
        data: the points as the model sees them.
        picked: the guide, held to constraints, or ``None``.
        free: the guide or the model that no constraints hold.
        known: constraints on the rows, or ``None``.
        posteriors: of the guide, those that drew.
        sweep_seconds: processor seconds of a sweep of one chain; nan where unknown.
        kept: what one step leaves for another.
    """

    analysis: Analysis
    settings: Settings
    tell: Callable[[str], None] = lambda stage: None
    model: Any = None
    data: "Tensor | None" = None
    picked: "PickedGuide | None" = None
    free: "PickedGuide | NoGuide | None" = None
    known: "Known | None" = None
    posteriors: tuple[Any, ...] = ()
    sweep_seconds: float = float("nan")
    kept: dict[str, Any] = field(default_factory=dict)

    def asks(self, *names: str) -> bool:
        """Whether one of some steps was asked for by its name, or all were."""
        return self.settings.thorough or bool(self.settings.also & set(names))

    def has(self, *names: str) -> bool:
        """Whether there are draws of all these names."""
        return all(name in self.analysis.draws for name in names)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One question to an analysis.

    Attributes:
        name: under which its result is kept, and it is asked for.
        compute: returns the result, which ``summary.json`` holds: plain values, a dataclass of such, or what
            has them as ``figures()``; ``None`` where there is nothing to keep. Where the result has
            ``checks`` these are kept under the same name.
        applies: whether the question makes sense for such an analysis.
        by_default: whether it is asked where nobody names it.
        says: what is being done, in words; nothing for quick ones.
        what: the beginning of a sentence on its failure.
        opens: questions that its failure leaves open.
        of_the_answer: whether it looks at the draws that are the answer, and so waits for the verdict.
        is_essential: whether an analysis ends where it fails.
    """

    name: str
    compute: Callable[[Work], Any]
    applies: Callable[[Work], bool] = lambda work: True
    by_default: Callable[[Work], bool] = lambda work: True
    says: Callable[[Work], str] = lambda work: ""
    what: str = ""
    opens: tuple[Question, ...] = ()
    of_the_answer: bool = False
    is_essential: bool = False


def never(work: Work) -> bool:
    """Whether a step is taken by default: no."""
    return False


_REGISTERED: dict[str, Step] = {}


def register_step(step: Step) -> Step:
    """Let an analysis take a step of your own where it is asked for, by default or by its name.

    Args:
        step: with a name that no other step has.

    Raises:
        ValueError: if the name is taken.

    Example:
        >>> step = Step(name="likeliest", compute=lambda work: work.analysis.in_words.num_clusters)
        >>> register_step(step).name
        'likeliest'
        >>> del _REGISTERED["likeliest"]
    """
    if step.name in _REGISTERED:
        raise ValueError(f"step is called '{step.name}', as another one: choose another name")
    _REGISTERED[step.name] = step
    return step


def check_names(names: Sequence[str], steps: Sequence[Step]) -> frozenset[str]:
    """Return names of steps that are asked for; refuse those that nobody knows."""
    known = {one.name for one in (*steps, *_REGISTERED.values())}
    for name in names:
        if name not in known:
            raise ValueError(f"also: {unknown_name('step', name, sorted(known))}")
    return frozenset(names)


def run_steps(work: Work, steps: Sequence[Step], *, of_the_answer: bool) -> None:
    """Take the steps that apply and are asked for, one after the other.

    A step that fails is a sentence, and its questions cannot be answered; want of memory ends the run, and so
    does an essential step. After Ctrl-C what there is is kept, where there is something.
    """
    found = work.analysis
    for step in (*steps, *_REGISTERED.values()):
        if step.of_the_answer is not of_the_answer or found.interrupted or not step.applies(work):
            continue
        if not (work.asks(step.name) or step.by_default(work)):
            found.not_asked.append(step.name)
            continue
        if said := step.says(work):
            work.tell(said)
        began = time.perf_counter()
        try:
            result = step.compute(work)
            _check_figures(step.name, result)
        except KeyboardInterrupt:
            if not found.draws:
                raise
            found.interrupted = True
            found.notes.append(
                f"Interrupted during the step '{step.name}': what comes after it was not computed."
            )
            return
        except Exception as error:
            if step.is_essential or lacks_memory(error):
                raise
            why = first_line(error)
            found.failures.append(left_out(step.what or f"The step '{step.name}'", why))
            found.unanswered += [untold(question, why) for question in step.opens]
            continue
        found.seconds_of[step.name] = time.perf_counter() - began
        if result is not None:
            found.results[step.name] = result
            if checks := getattr(result, "checks", ()):
                found.checks[step.name] = tuple(checks)


def _check_figures(name: str, result: Any) -> None:
    """Refuse a result that could not be saved."""
    try:
        json.dumps(plain(figures_of(result)))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the step '{name}' returned {type(result).__name__}, expected values that JSON can hold, or a "
            f"result whose figures() are such ({first_line(error)})"
        ) from None
