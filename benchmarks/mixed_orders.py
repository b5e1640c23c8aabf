"""The mixture of a guide over random visiting orders, with the face of a guide."""

from typing import Any

from torch import Tensor

__all__ = ["MixedOrders"]


class MixedOrders:
    """A guide whose posterior is averaged over random visiting orders: an exact distribution again."""

    def __init__(self, guide: Any, num_orders: int) -> None:
        self.guide, self.num_orders = guide, num_orders

    def posterior(self, data: Tensor) -> Any:
        """Return the mixture over orders."""
        return self.guide.order_averaged(data, self.num_orders)
