"""A thin door for scikit-learn: the posterior of a partition as an estimator."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pyroclust.analysis.compare import cluster
from pyroclust.analysis.predicting import predict
from pyroclust.diagnostics import Verdict, co_assignment

__all__ = ["PartitionPosterior"]


class PartitionPosterior(TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Cluster rows by the posterior of their partition: ``labels_`` is a summary, ``draws_`` the answer.

    :meth:`fit` does what :func:`pyroclust.cluster` does. Labels are the point estimate, and say nothing of
    how sure they are: look at ``verdict_`` first, and at ``co_assignment_`` or ``probabilities_`` for single
    rows. As a transformer it gives the probabilities of the clusters.

    Args:
        family: of the clusters, as :func:`pyroclust.compare` takes it, and so are those below.
        prior: of the partitions.
        concentration: of the prior, where it has one to set.
        expected_clusters: prior mean of the number of clusters, in place of the concentration.
        clusters: how many clusters there are, a number or the fewest and the most, where that is known.
        kinds: kinds of columns of a data frame by name; those of others are found out, while arrays hold
            numbers.
        guide: name or folder of a guide, or a guide; by default none.
        standardise: whether columns are shifted and scaled to mean 0 and variance 1 first.
        num_draws: draws of the guide.
        num_chains: chains of MCMC.
        mcmc_draws: draws that each chain keeps.
        warmup: sweeps that each chain drops first.
        random_state: seed of all draws: an integer, a generator of numpy, or ``None`` for another one each
            time.

    Attributes:
        labels_: point estimate, ``(N,)``, clusters numbered from 0 in order of first appearance.
        draws_: draws of the posterior of equal weight, canonical labels ``(S, N)``.
        num_clusters_: its posterior, numbers of clusters with their probabilities.
        probabilities_: of the rows to be in each cluster of ``labels_``, ``(N, J)``; rows sum to 1.
        verdict_: whether to trust the draws, with its findings.
        result_: the whole :class:`~pyroclust.Analysis`.
        n_features_in_: D.
        feature_names_in_: names of the columns, where they are text.

    Example:
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import RobustScaler
        >>> X = np.concatenate([np.zeros((10, 1)), np.ones((10, 1))]) + np.linspace(0, 0.1, 20)[:, None]
        >>> posterior = PartitionPosterior(mcmc_draws=50, num_chains=2, random_state=0)
        >>> make_pipeline(RobustScaler(), posterior).fit_predict(X).tolist() == [0] * 10 + [1] * 10
        True
        >>> max(posterior.num_clusters_, key=posterior.num_clusters_.get)
        2
    """

    def __init__(
        self,
        *,
        family: str | None = None,
        prior: str | None = None,
        concentration: float | None = None,
        expected_clusters: float | None = None,
        clusters: int | tuple[int, int] | None = None,
        kinds: Mapping[str, str] | None = None,
        guide: Any = None,
        standardise: bool = True,
        num_draws: int | None = None,
        num_chains: int = 4,
        mcmc_draws: int | None = None,
        warmup: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.family, self.prior = family, prior
        self.concentration, self.expected_clusters = concentration, expected_clusters
        self.clusters, self.kinds = clusters, kinds
        self.guide, self.standardise = guide, standardise
        self.num_draws, self.num_chains = num_draws, num_chains
        self.mcmc_draws, self.warmup = mcmc_draws, warmup
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Draw from the posterior of the partition of the rows.

        Args:
            X: ``(N, D)`` numbers, at least two rows; or a data frame, as it is: of numbers, counts, answers
                and categories. Cells may be missing.
            y: not used.
            sample_weight: ``(N,)`` whole numbers of at least 1, how many equal rows each row stands for; they
                stay together, unlike rows that are repeated in ``X``.

        Raises:
            ValueError: if the rows cannot be clustered, or an argument cannot be used.
        """
        X = _in_pandas(X)
        frame = self._checked(X, reset=True)
        options = self.get_params(deep=False)
        seed, standardises = _seed_of(options.pop("random_state")), options.pop("standardise")
        if not isinstance(X, pd.DataFrame):
            options["kinds"] = {f"{frame.columns[0]}..{frame.columns[-1]}": "number"} | dict(self.kinds or {})
        self.result_ = cluster(frame, **options, weight=sample_weight, raw=not standardises, seed=seed)
        estimate = self.result_.reference.estimate
        if estimate is None:
            raise ValueError(self.result_.failures[0])
        self.draws_, self.labels_ = self.result_.reference.draws.flat, estimate.assignments
        return self

    @property
    def verdict_(self) -> Verdict:
        """Whether to trust the draws, with its findings."""
        check_is_fitted(self)
        return self.result_.verdict

    @property
    def num_clusters_(self) -> dict[int, float]:
        """The posterior of the number of clusters: numbers with their probabilities."""
        check_is_fitted(self)
        numbers, times = np.unique(self.draws_.max(-1) + 1, return_counts=True)
        return {int(one): float(often) for one, often in zip(numbers, times / times.sum(), strict=True)}

    @property
    def co_assignment_(self) -> NDArray[np.float64]:
        """How probable it is that two rows are together, ``(N, N)``; memory O(N^2)."""
        check_is_fitted(self)
        return co_assignment(self.draws_)

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Probabilities of the rows to be in each cluster of ``labels_``, ``(N, J)``."""
        check_is_fitted(self)
        member = self.result_.reference.membership
        assert member is not None
        return member

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable cluster of new rows, numbered as in ``labels_``; J for a new one.

        Args:
            X: ``(M, D)``.
        """
        return self.predict_proba(X).argmax(-1)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how probable it is that new rows are in each cluster, and last in a new one.

        Args:
            X: ``(M, D)``.

        Returns:
            ``(M, J + 1)``, rows sum to 1; see :func:`pyroclust.predict`.
        """
        new = self._new(X)
        return predict(self.result_, new).probabilities

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log predictive density of new rows in nats, in the units of the columns, ``(M,)``.

        Args:
            X: ``(M, D)``.
        """
        new = self._new(X)
        return predict(self.result_, new).log_density

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log predictive density of new rows in nats, which searches may compare.

        Args:
            X: ``(M, D)``.
            y: not used.
        """
        return float(self.score_samples(X).mean())

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return :meth:`predict_proba` of rows.

        Args:
            X: ``(M, D)``.
        """
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns of :meth:`transform`.

        Args:
            input_features: not used.
        """
        check_is_fitted(self)
        names = [f"cluster{one}" for one in range(self.labels_.max() + 1)]
        return np.array([*names, "new"], dtype=object)

    def _new(self, X: ArrayLike) -> pd.DataFrame:
        check_is_fitted(self)
        return self._checked(_in_pandas(X), reset=False)

    def _checked(self, X: ArrayLike, *, reset: bool) -> pd.DataFrame:
        """Return a data frame as it is, and other rows as one of numbers."""
        if isinstance(X, pd.DataFrame) and not all(map(pd.api.types.is_float_dtype, X.dtypes)):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        rows = 2 if reset else 1
        values = validate_data(
            self,
            X,
            dtype=np.float64,
            reset=reset,
            ensure_min_samples=rows,
            ensure_all_finite="allow-nan",
        )
        names = getattr(self, "feature_names_in_", [f"x{at}" for at in range(1, values.shape[1] + 1)])
        return pd.DataFrame(values, columns=list(names))

    def __sklearn_tags__(self) -> Tags:
        """Say that cells may be missing, and that columns may be categories."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def _seed_of(random_state: Any) -> int:
    """Draw a seed from a generator of numpy, new or old, or take one from an integer or None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def _in_pandas(X: Any) -> Any:
    """Return a data frame of polars or pyarrow as one of pandas, and all else as it is."""
    return X.to_pandas() if hasattr(X, "to_pandas") and hasattr(X, "columns") else X
