"""The textbook collapsed Gibbs sweep, compiled, nothing cached: a plain reference for speed."""

import math

import numba
import numpy as np


@numba.njit(cache=True, fastmath=True)
def plain_sweeps(data, sweeps, concentration, prior_scale):
    """Remove, weigh, draw, add: the textbook sweep for known unit variance, nothing cached."""
    num_points, dim = data.shape
    labels, sizes = np.zeros(num_points, np.int64), np.zeros(num_points + 1, np.int64)
    sums, weights = np.zeros((num_points + 1, dim)), np.zeros(num_points + 1)
    sizes[0], clusters, total_clusters = num_points, 1, 0
    for i in range(num_points):
        for d in range(dim):
            sums[0, d] += data[i, d]
    for _ in range(sweeps):
        for i in range(num_points):
            own = labels[i]
            sizes[own] -= 1
            for d in range(dim):
                sums[own, d] -= data[i, d]
            if sizes[own] == 0:
                clusters -= 1
                sizes[own] = sizes[clusters]
                for d in range(dim):
                    sums[own, d] = sums[clusters, d]
                for j in range(num_points):
                    if labels[j] == clusters:
                        labels[j] = own
            best = -np.inf
            for k in range(clusters + 1):
                size = sizes[k] if k < clusters else 0
                precision = size + 1.0 / prior_scale**2
                variance = 1.0 + 1.0 / precision
                distance = 0.0
                for d in range(dim):
                    centre = sums[k, d] / precision if k < clusters else 0.0
                    distance += (data[i, d] - centre) ** 2
                weight = math.log(size if size > 0 else concentration) - 0.5 * dim * math.log(variance)
                weights[k] = weight - 0.5 * distance / variance
                best = max(best, weights[k])
            total = 0.0
            for k in range(clusters + 1):
                total += math.exp(weights[k] - best)
                weights[k] = total
            target, k = np.random.random() * total, 0  # noqa: NPY002  (numba's own generator)
            while k < clusters and weights[k] <= target:
                k += 1
            if k == clusters:
                clusters += 1
                sizes[k] = 0
                for d in range(dim):
                    sums[k, d] = 0.0
            labels[i] = k
            sizes[k] += 1
            for d in range(dim):
                sums[k, d] += data[i, d]
        total_clusters += clusters
    return total_clusters / sweeps
