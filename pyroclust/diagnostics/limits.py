"""Every limit of the library, and how figures are written beside limits."""

import math

# Chains have converged up to the first, and well up to the second (Vehtari et al. 2021).
MAX_RHAT, GOOD_RHAT = 1.05, 1.01
# Draws are worth enough from the first, and plenty from the second.
MIN_ESS, GOOD_ESS = 100.0, 400.0
# Total variation of the number of clusters, or difference of two co-assignment probabilities.
MAX_DIFFERENCE = 0.15
# Difference of two co-assignment probabilities that refined draws are allowed.
MAX_REFINED_DIFFERENCE = 0.1
# Share by which draws lie further apart between two sources than within, and how often a classifier is right.
MAX_EXCESS, MAX_SEPARATION = 0.15, 0.3
# From here on importance weights have no finite variance that smoothing could mend (Vehtari et al. 2024).
MAX_PARETO_K = 0.7
# Of the draws of one data set among many: effective ones from which on they can be weighted.
MIN_SET_ESS = 25.0
# Standard deviation, in nats, of independent estimates of one log evidence: where they lie further apart the
# largest decides on their mean, and neither it nor its error can be relied on.
MAX_EVIDENCE_SPREAD = 2.0
# Standard errors of an estimate of the log evidence, in nats: of any, and of bridge sampling, whose own says
# how far the draws of the two sources overlap.
MAX_EVIDENCE_ERROR, MAX_BRIDGE_ERROR = 1.5, 0.3
# Standard errors by which two estimates of the log evidence may differ.
MAX_EVIDENCE_ERRORS_APART = 4.0
# Of the p-values of all differences of two sources together.
MAX_CHANCE = 0.01
# Of the familiarity of a data set, and of a calibration.
MIN_FAMILIARITY, MIN_CALIBRATION = 0.01, 0.01
# Of what a guide's weights say on a data set beside its own on simulations: how often it warns for nothing.
MIN_WEIGHT_QUALITY = 0.05
# Of a test that new points are like those that were clustered.
MIN_ALIKE = 0.01
# Of each test of calibration in a certificate, of which there are about ten.
MIN_CERTIFIED = 0.005
# Above it a test that refined draws still move says that they do not, and from it on that they have forgotten
# their starts.
MIN_SETTLED = 0.05
# Share of the data sets of a certificate whose weights cannot be relied on, and the chance to see more.
MAX_HIGH_K_SHARE, MIN_CHANCE = 0.25, 0.05
# Standard errors by which a certified guide may be behind its baseline.
MAX_ERRORS_BEHIND = 2.6
# Errors of a mixture that a guide returns: of memberships of single points, and of the number of clusters.
MAX_MEMBERSHIP_ERROR, MAX_CLUSTER_ERROR = 0.02, 0.2
# A point that is more often apart from its companions in the estimate than with them.
DOUBTFUL = 0.5
# A cluster whose mean Jaccard index with its counterparts is smaller does not come back in most draws.
STABLE = 0.75
# Nats that another family may gain on the one that was taken: above it odds of 150 to 1 speak for it.
MAX_GAIN = 5.0
# Share of draws that have to be effective where they are weighted to another prior.
MIN_TELLING_SHARE = 0.05
# Mean change of a point's co-assignment probabilities from which on constraints moved it.
MIN_CHANGE = 0.05
# Draws that keep constraints, from which on their share says how probable these are.
MIN_KEPT = 10.0
# Mean uncertainty of a point in the estimate: clear up to the first, partly up to the second.
CLEAR, PARTLY_CLEAR = 0.1, 0.3
# Adjusted Rand index to known labels: close from the first, partly from the second.
CLOSE_TO_LABELS, PARTLY_LABELS = 0.9, 0.5

# Probability from which on something is called likely.
LIKELY = 0.5
# Share of the draws from which on a row, or a pair of rows, is called certain.
CERTAIN = 0.9
# Rows, and share of all rows, from which on a cluster is a large one: single rows are none to the eye.
LARGE_ROWS, LARGE_SHARE = 2, 0.01
# Difference of means, in units of the spread within clusters, from which on it is said of a cluster.
TELLING_EFFECT = 0.5


def tolerance_of(tolerance: float | None, *, refined: bool) -> float:
    """Return the limit on a co-assignment difference that is asked for, or the library's."""
    if tolerance is not None:
        return tolerance
    return MAX_REFINED_DIFFERENCE if refined else MAX_DIFFERENCE


def is_large_gain(nats: float) -> bool:
    """Return whether another family gains so much that it speaks against the one that was taken."""
    return nats > MAX_GAIN


def are_few(draws: int) -> bool:
    """Return whether independent draws are too few to be worth enough."""
    return draws < MIN_ESS


def written(value: float, form: str, *limits: float) -> str:
    """Write a figure so that what is read lies on the side of each limit that the figure lies on."""
    if not math.isfinite(value):
        return format(value, form)
    sides = [_side(value, limit) for limit in limits]
    sign, _, rest = form.partition(".")
    texts = (format(value, f"{sign}.{digits}{rest[-1]}") for digits in range(int(rest[:-1]), 20))
    kept = (text for text in texts if [_side(_read(text), limit) for limit in limits] == sides)
    return next(kept, repr(float(value)))


def written_pair(value: float, limit: float, form: str, *limits: float) -> tuple[str, str]:
    """Write a figure and a limit that is no round number so that what is read compares as they do."""
    if value == limit:
        both = written(value, form, *limits)
        return both, both
    shown = written(limit, form, value)
    return written(value, form, limit, _read(shown), *limits), shown


def written_p(p_value: float, *limits: float) -> str:
    """Write a p-value with its name, small ones as below a thousandth."""
    return "p < 0.001" if p_value < 0.001 else f"p = {written(p_value, '.3f', *limits)}"


def _side(value: float, limit: float) -> int:
    return int(value > limit) - int(value < limit)


def _read(text: str) -> float:
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
