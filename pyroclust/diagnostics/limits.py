"""Every limit of the library: what the verdicts judge by, and what pictures and tables mark."""

# Chains have converged up to the first, and well up to the second (Vehtari et al. 2021).
MAX_RHAT, GOOD_RHAT = 1.05, 1.01
# Draws are worth enough from the first, and plenty from the second.
MIN_ESS, GOOD_ESS = 100.0, 400.0
# Total variation of the number of clusters, or difference of two co-assignment probabilities.
MAX_DIFFERENCE = 0.15
# Share by which draws lie further apart between two sources than within, and how often a classifier is right.
MAX_EXCESS, MAX_SEPARATION = 0.15, 0.3
# From here on importance weights have no finite variance that smoothing could mend (Vehtari et al. 2024).
MAX_PARETO_K = 0.7
# Of the p-values of all differences of two sources together.
MAX_CHANCE = 0.01
# Of the familiarity of a data set, and of a calibration.
MIN_FAMILIARITY, MIN_CALIBRATION = 0.01, 0.01
# Of each test of calibration in a certificate, of which there are about ten.
MIN_CERTIFIED = 0.005
# Share of the data sets of a certificate whose weights cannot be relied on, and the chance to see more.
MAX_HIGH_K_SHARE, MIN_CHANCE = 0.25, 0.05
# Standard errors by which a certified guide may be behind its baseline.
MAX_ERRORS_BEHIND = 2.6
# A point that is more often apart from its companions in the estimate than with them.
DOUBTFUL = 0.5
# A cluster whose mean Jaccard index with its counterparts is smaller does not come back in most draws.
STABLE = 0.75
# Mean uncertainty of a point in the estimate: clear up to the first, partly up to the second.
CLEAR, PARTLY_CLEAR = 0.1, 0.3
# Adjusted Rand index to known labels: close from the first, partly from the second.
CLOSE_TO_LABELS, PARTLY_LABELS = 0.9, 0.5
