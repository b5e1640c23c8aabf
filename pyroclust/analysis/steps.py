"""The steps that fill an analysis: what each needs, what becomes of one that fails, and how an analysis ends.

A new question is one step here (:func:`register_step`), one section of the page
(:func:`pyroclust.report.register_section`) and, where it judges, one check.
"""

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyroclust.core.messages import ends_the_run, first_line, left_out, unknown_name
from pyroclust.core.numbers import json_values
from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.findings import Question, unavailable
from pyroclust.results.analysis import Analysis, figures_of


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How much is drawn and asked, in the words of :func:`pyroclust.compare`; part of what names a run."""

    num_draws: int | None = None
    num_chains: int = 4
    mcmc_draws: int = 1000
    kernel: str | None = None
    warmup: int | None = None
    thorough: bool = False
    also: Collection[str] = ()


@dataclass(kw_only=True)
class Work:
    """An analysis while steps fill it, with what they need and nobody keeps.

    Attributes:
        analysis: what is filled.
        settings: how much is drawn and asked.
        tell: called with what is being done.
        model: whose posterior is drawn from, under the constraints; ``None`` where draws came without.
        data: the points as the model sees them, a tensor.
        guide: what draws beside MCMC, under the constraints; ``None`` without one.
        unconstrained: the model and the guide without constraints, which simulations know nothing of.
        posteriors: of the guide, those that drew.
        sweep_seconds: processor seconds of a sweep of one chain; nan where unknown.
        kept: what one step leaves for another.
    """

    analysis: Analysis
    settings: Settings = field(default_factory=Settings)
    tell: Callable[[str], None] = lambda stage: None
    model: Any = None
    data: Any = None
    guide: Any = None
    unconstrained: Any = None
    posteriors: tuple[Any, ...] = ()
    sweep_seconds: float = float("nan")
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """How many rows the points stand for."""
        weights = getattr(self.model, "row_weights", None)
        return len(self.data) if weights is None else int(weights.sum())

    def asks(self, name: str) -> bool:
        """Whether a step was asked for by its name, or all were."""
        return self.settings.thorough or name in self.settings.also

    def has(self, *names: str) -> bool:
        """Whether there are draws of all these names."""
        return all(name in self.analysis.draws for name in names)


def _always(work: Work) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Step:
    """One question to an analysis.

    Attributes:
        name: under which its result is kept, and it is asked for.
        compute: returns the result, which ``summary.json`` holds: plain values, a dataclass of such, or what
            has them as ``figures()``; ``None`` where there is nothing to keep.
        checks: of the result, kept under the same name; by default its own ``checks``, where it has some.
        applies: whether the question makes sense for such an analysis.
        by_default: whether it is asked where nobody names it.
        does_more: whether a step that is taken by default does more where it is named.
        says: what is being done, in words; nothing for quick ones.
        what: the beginning of a sentence on its failure.
        opens: questions that its failure leaves open.
        of_the_answer: whether it looks at the draws that are the answer, and so waits for the verdict.
        is_essential: whether an analysis ends where it fails.
    """

    name: str
    compute: Callable[[Work], Any]
    checks: Callable[[Any], Sequence[Finding]] = lambda result: getattr(result, "checks", ())
    applies: Callable[[Work], bool] = _always
    by_default: Callable[[Work], bool] = _always
    does_more: bool = False
    says: str = ""
    what: str = ""
    opens: tuple[Question, ...] = ()
    of_the_answer: bool = False
    is_essential: bool = False


def never(work: Work) -> bool:
    """Whether a step is taken by default: no."""
    return False


def as_step(steps: list[Step], **fields: Any) -> Callable[[Callable[[Work], Any]], Callable[[Work], Any]]:
    """Make a function a step of its name, the next of a list."""

    def take(compute: Callable[[Work], Any]) -> Callable[[Work], Any]:
        steps.append(Step(name=compute.__name__, compute=compute, **fields))
        return compute

    return take


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


def check_names(work: Work, steps: Sequence[Step]) -> None:
    """Refuse names that no step has, before anything is drawn; name those that can be asked for here."""
    every = (*steps, *_REGISTERED.values())
    for name in sorted(work.settings.also):
        if name not in {step.name for step in every}:
            optional = (step for step in every if step.by_default is not _always or step.does_more)
            possible = [step.name for step in optional if step.applies(work)]
            raise ValueError(f"also: {unknown_name('step', name, possible)}")


def run_steps(work: Work, steps: Sequence[Step], *, of_the_answer: bool) -> None:
    """Take the steps that apply and are asked for, one after the other."""
    analysis = work.analysis
    for step in (*steps, *_REGISTERED.values()):
        if step.of_the_answer is not of_the_answer or analysis.interrupted or not step.applies(work):
            continue
        if not (work.asks(step.name) or step.by_default(work)):
            analysis.not_asked.append(step.name)
            continue
        if step.says:
            work.tell(step.says)
        began = time.perf_counter()
        try:
            result = step.compute(work)
            _check_figures(step.name, result)
        except KeyboardInterrupt:
            if not analysis.draws:
                raise
            analysis.interrupted = True
            analysis.notes.append(
                f"Interrupted during the step '{step.name}': what comes after it was not computed."
            )
            return
        except Exception as error:
            if step.is_essential or ends_the_run(error):
                raise
            why = first_line(error)
            analysis.failures.append(left_out(step.what or f"The step '{step.name}'", why))
            analysis.unanswered += [unavailable(question, why) for question in step.opens]
            continue
        analysis.seconds_of[step.name] = time.perf_counter() - began
        if result is not None:
            analysis.results[step.name] = result
            if checks := step.checks(result):
                analysis.checks[step.name] = tuple(checks)


def _check_figures(name: str, result: Any) -> None:
    """Refuse a result that could not be saved."""
    try:
        json.dumps(json_values(figures_of(result)))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the step '{name}' returned {type(result).__name__}, expected values that JSON can hold, or a "
            f"result whose figures() are such ({first_line(error)})"
        ) from None


def complete(work: Work, steps: Sequence[Step], judge: Callable[[Work], None]) -> Analysis:
    """Take the steps, judge, take those that look at the answer, and write the files."""
    # After a first Ctrl-C the files are written all the same: everything was drawn by then.
    run_steps(work, steps, of_the_answer=False)
    judge(work)
    run_steps(work, steps, of_the_answer=True)
    analysis = work.analysis
    try:
        _finish(work)
    except KeyboardInterrupt:
        if analysis.interrupted or analysis.folder is None:
            raise
        analysis.interrupted = True
        analysis.notes.append("Interrupted while the files were written.")
        _finish(work)
    return analysis


def _finish(work: Work) -> None:
    """Compute the figures that every file holds, gather what failed, and write."""
    analysis = work.analysis
    analysis.to_dict()
    analysis.clusters()
    for source in analysis.sources:
        analysis.failures += [one for one in source.tries.failures if one not in analysis.failures]
    if analysis.folder is not None:
        from pyroclust.report.writing import write_analysis

        work.tell("writing the report")
        write_analysis(analysis, analysis.folder)
