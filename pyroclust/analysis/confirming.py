"""Whether MCMC, short as it is, confirms draws of a guide."""

import numpy as np
from numpy.typing import NDArray

from pyroclust.analysis.drawing import DrawsOfGuide
from pyroclust.diagnostics import GuideFigures, Trust, agreement, judge
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT
from pyroclust.results.contents import Weighting

__all__ = ["are_confirmed"]


def are_confirmed(drawn: DrawsOfGuide, mcmc: NDArray[np.int64], *, tolerance: float | None) -> bool:
    """Return whether draws of a guide, refined, weighted or as drawn, are the answer beside chains.

    The rule is that of :func:`~pyroclust.diagnostics.judge`, for chains that have converged. Cost: up to
    three calls of :func:`~pyroclust.diagnostics.agreement`.

    Shape:
        mcmc: ``(chains, draws, N)``.

    Args:
        drawn: by the guide.
        mcmc: draws of the chains.
        tolerance: limit on the difference of two co-assignment probabilities; ``None`` for the usual ones.

    Example:
        >>> from pyroclust.results.partition_draws import PartitionDraws
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 500, 5))
        >>> drawn = DrawsOfGuide(PartitionDraws("halves", draws[:1], None, 1.0), is_exact=True)
        >>> are_confirmed(drawn, draws, tolerance=None), are_confirmed(drawn, 0 * draws, tolerance=None)
        (True, False)
    """
    refined = drawn.refined
    proposals = drawn.guide if refined is None else refined.proposals
    weighting = corrected = None
    if proposals.log_joint is not None and proposals.log_prob is not None:
        weighting = Weighting.of(proposals)
        corrected = agreement(proposals.assignments, mcmc, weights=weighting.weights)
    figures = GuideFigures(
        guide=agreement(drawn.guide.assignments, mcmc),
        corrected=corrected,
        max_rhat=GOOD_RHAT,
        min_ess=GOOD_ESS,
        pareto_k=None if weighting is None else weighting.pareto_k,
        effective_draws=None if weighting is None else weighting.effective_draws,
        refined=None
        if refined is None
        else refined.verdict_figures(agreement(refined.draws.assignments, mcmc)),
        tolerance=tolerance,
        has_weights=weighting is not None,
    )
    return judge(figures).level in {Trust.TRUST, Trust.CORRECT}
