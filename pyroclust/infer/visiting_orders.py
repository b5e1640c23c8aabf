"""Several visiting orders of a data set in one training step."""

from dataclasses import dataclass

from torch import Tensor

from pyroclust.nn.orders import antithetic_orders, random_orders

__all__ = ["VisitingOrders"]


@dataclass(frozen=True)
class VisitingOrders:
    r"""How many orders each simulated data set is visited in, and what their disagreement costs.

    .. math::
        \ell = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c \mid x, \pi_m) + \lambda \,
        \mathrm{Var}_m \big[\log q_\phi(c \mid x, \pi_m)\big]

    The posterior knows no order, so the penalty is 0 where q is exact, for every data set and without noise,
    while the first term keeps the entropy of the posterior. Both grow about as N, so one weight does for all
    sizes. Let :math:`d_m` be the deviation of log q from its mean over the orders; then the gradient of an
    order has the weight :math:`1/M - 2 \lambda d_m / (M - 1)` instead of 1 / M: orders in which the partition
    came out too probable are pushed less, or down.

    Attributes:
        number: M.
        antithetic: orders come in pairs, one the reverse of the other.
        consistency: the weight :math:`\lambda` per nat, 0 for no penalty; the variance has the divisor M - 1.

    Example:
        >>> import torch
        >>> orders = VisitingOrders(2, consistency=0.5)
        >>> orders.penalty(torch.tensor([[-1.0, -3.0], [-2.0, -3.0]]))
        tensor([0.2500, 0.0000])

    References:
        Chelly et al. (2025), Consistent Amortized Clustering via Generative Flow Networks.
        https://arxiv.org/abs/2502.19337
    """

    number: int = 1
    antithetic: bool = False
    consistency: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges."""
        if self.number < 1:
            raise ValueError(f"number is {self.number}, expected at least 1 visiting order")
        if not self.consistency >= 0:
            raise ValueError(f"consistency is {self.consistency}, expected zero or more")
        for name in ("antithetic", "consistency"):
            if getattr(self, name) and self.number < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)} with one visiting order, expected at least 2 orders"
                )

    def draw(self, data: Tensor) -> Tensor:
        """Draw the orders, ``(B, N, ...) -> (M, B, N)``."""
        return (antithetic_orders if self.antithetic else random_orders)(self.number, data)

    def penalty(self, log_prob: Tensor) -> Tensor:
        """Return the weighted variance over orders, ``(M, B) -> (B,)`` nats."""
        if not self.consistency:
            return log_prob.new_zeros(log_prob.shape[1:])
        return self.consistency * log_prob.var(0)
