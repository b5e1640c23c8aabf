import dataclasses
import math

import pytest

from pyroclust.diagnostics import Agreement, GuideFigures, Trust, judge

CLOSE = Agreement(0.03, 0.05, 0.01, 0.02, 0.04, 0.01)
FAR = Agreement(0.30, 0.40, 0.10, 0.02, 0.04, 0.01)
GOOD = GuideFigures(CLOSE, CLOSE, max_rhat=1.005, min_ess=900.0, pareto_k=0.3, effective_draws=800.0)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, Trust.TRUST, "agrees with MCMC"),
        ({"max_rhat": 1.03}, Trust.TRUST, "roughly converged"),
        ({"min_ess": 200.0}, Trust.TRUST, "roughly converged"),
        ({"max_rhat": 1.2}, Trust.UNKNOWN, "R-hat 1.200"),
        ({"max_rhat": math.inf}, Trust.UNKNOWN, "not converged"),
        ({"min_ess": 12.0}, Trust.UNKNOWN, "fewest effective draws 12"),
        ({"guide": FAR}, Trust.CORRECT, "importance weights"),
        ({"guide": FAR, "pareto_k": math.nan}, Trust.CORRECT, "cannot be fitted"),
        ({"guide": FAR, "pareto_k": -math.inf}, Trust.CORRECT, "bounded"),
        ({"guide": FAR, "pareto_k": 0.9}, Trust.DISTRUST, "too uneven"),
        ({"guide": FAR, "effective_draws": 3.0}, Trust.DISTRUST, "worth 3 draws"),
        ({"guide": FAR, "corrected": FAR}, Trust.DISTRUST, "does not help"),
        (
            {"guide": dataclasses.replace(FAR, noise_largest_difference=0.3), "corrected": FAR},
            Trust.UNKNOWN,
            "run MCMC longer",
        ),
    ],
)
def test_levels(changes, level, words):
    verdict = judge(dataclasses.replace(GOOD, **changes))
    assert verdict.level is level
    assert words in verdict.sentence
    assert verdict.sentence.endswith(".")
