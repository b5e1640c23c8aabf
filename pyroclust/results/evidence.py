"""Estimates of the log evidence that a comparison has, and what files say of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pyroclust.diagnostics import LogEvidence, evidence_headline, importance_evidence, log_evidences
from pyroclust.results.comparison import Comparison

__all__ = ["evidence_figures", "own_evidences"]


def own_evidences(comparison: Comparison) -> tuple[LogEvidence, ...]:
    """Estimate log p(data) from the draws that there are and the guide's log q of them.

    Args:
        comparison: draws of the guide, refined or beside draws of MCMC that the guide has scored.
    """
    guide, cross, refined = comparison.guide, comparison.cross, comparison.refined
    if refined is not None:
        return refined.evidences
    if guide.log_joint is None or guide.log_prob is None:
        return ()
    if cross is None:
        return (importance_evidence(np.ravel(guide.log_joint - guide.log_prob)),)
    return log_evidences(
        cross.log_joint, cross.log_prob, guide_log_joint=guide.log_joint, guide_log_prob=guide.log_prob
    )


def evidence_figures(evidences: Sequence[LogEvidence]) -> dict[str, Any]:
    """Return what ``summary.json`` says of the log evidence: the figure to state, and every estimate.

    Args:
        evidences: estimates from the same data and model.
    """
    return {
        "headline": evidence_headline(evidences).figures(),
        "estimates": [asdict(one) | {"reliable": one.is_reliable} for one in evidences],
    }
