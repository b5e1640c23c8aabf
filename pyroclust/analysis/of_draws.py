"""The steps that ask of draws alone: whether sources agree, visiting orders, classical methods."""

from pyroclust.analysis.steps import Step, Work, as_step
from pyroclust.baselines import BASELINES, GRAPH_BASELINES
from pyroclust.data.tables import Graph
from pyroclust.diagnostics import SourceComparison, compare_sources
from pyroclust.diagnostics.verdicts.findings import Question
from pyroclust.results.baseline_rows import BaselineRow, baseline_rows
from pyroclust.results.weights import Orders

DRAWS_STEPS: list[Step] = []


def _is_diagnosis(work: Work) -> bool:
    return work.analysis.command == "diagnose"


def _has_several_sources(work: Work) -> bool:
    """Whether there are several sources of draws; before anything is drawn, whether there may be."""
    analysis = work.analysis
    return len(analysis.sources) > 1 if analysis.draws else work.guide is not None


@as_step(
    DRAWS_STEPS,
    applies=lambda work: work.has("guide") and work.analysis.guide is not None,
    what="The spread over visiting orders",
)
def orders(work: Work) -> Orders | None:
    """Compare the guide's draws by each visiting order alone."""
    analysis = work.analysis
    num_orders = 1 if analysis.guide is None else analysis.guide.num_orders
    return Orders.of(analysis.proposals, num_orders=num_orders, seed=analysis.seed)


@as_step(
    DRAWS_STEPS,
    applies=_has_several_sources,
    by_default=_is_diagnosis,
    says="comparing the sources",
    what="The comparison of the sources",
    opens=(Question.SOURCES,),
)
def two_samples(work: Work) -> dict[str, SourceComparison]:
    """Compare whole partitions of each of the sources with those of the last."""
    analysis = work.analysis
    *others, last = analysis.sources
    return {
        one.key: compare_sources(
            one.draws.assignments,
            last.draws.assignments,
            seed=analysis.seed,
            names=(one.name, last.name),
            tolerance=analysis.tolerance_for(one.key),
            row_weights=last.row_weights,
        )
        for one in others
    }


@as_step(
    DRAWS_STEPS,
    applies=lambda work: work.analysis.data is not None,
    by_default=_is_diagnosis,
    says="running classical methods",
    what="The classical methods",
    of_the_answer=True,
)
def baselines(work: Work) -> tuple[BaselineRow, ...] | None:
    """Set classical clusterings beside the answer."""
    data = work.analysis.data
    methods = GRAPH_BASELINES if data is not None and isinstance(data.shape, Graph) else BASELINES
    return baseline_rows(work.analysis, methods) or None
