"""The steps that ask of draws alone: whether sources agree, visiting orders, classical methods."""

from pyroclust.analysis.steps import Step, Work
from pyroclust.baselines import BASELINES, GRAPH_BASELINES
from pyroclust.data.shapes import Graph
from pyroclust.diagnostics import SourceComparison, compare_sources
from pyroclust.diagnostics.verdicts.findings import Question
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.weights import Orders

__all__ = ["DRAWS_STEPS"]


def _is_diagnosis(work: Work) -> bool:
    return work.analysis.command == "diagnose"


def _has_several_sources(work: Work) -> bool:
    """Whether there are several sources of draws; before anything is drawn, whether there may be."""
    found = work.analysis
    return len(found.sources) > 1 if found.draws else work.guide is not None


def _two_samples(work: Work) -> dict[str, SourceComparison]:
    """Compare whole partitions of each of the sources with those of the last."""
    found = work.analysis
    *others, last = found.sources
    return {
        one.key: compare_sources(
            one.draws.assignments,
            last.draws.assignments,
            seed=found.seed,
            names=(one.name, last.name),
            tolerance=found.tolerance_for(one.key),
        )
        for one in others
    }


def _orders(work: Work) -> Orders | None:
    found = work.analysis
    assert found.guide is not None
    return Orders.of(found.proposals, num_orders=found.guide.num_orders, seed=found.seed)


def _baselines(work: Work) -> tuple[BaselineRow | FailedRow, ...] | None:
    found, data = work.analysis, work.analysis.data
    assert data is not None
    source = found.reference
    return (
        baseline_rows(
            data.vectors,
            source.draws.assignments,
            summary=source.summary,
            true_labels=data.labels,
            seed=found.seed,
            methods=GRAPH_BASELINES if isinstance(data.shape, Graph) else BASELINES,
        )
        or None
    )


DRAWS_STEPS = (
    Step(
        name="orders",
        compute=_orders,
        applies=lambda work: work.has("guide") and work.analysis.guide is not None,
        what="The spread over visiting orders",
    ),
    Step(
        name="two_samples",
        compute=_two_samples,
        applies=_has_several_sources,
        by_default=_is_diagnosis,
        says="comparing the sources",
        what="The comparison of the sources",
        opens=(Question.SOURCES,),
    ),
    Step(
        name="baselines",
        compute=_baselines,
        applies=lambda work: work.analysis.data is not None,
        by_default=_is_diagnosis,
        says="running classical methods",
        what="The classical methods",
        of_the_answer=True,
    ),
)
