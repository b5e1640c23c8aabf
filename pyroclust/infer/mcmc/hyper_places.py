"""Where compiled chains keep the hyperparameters of a model."""

from pyroclust.infer.mcmc.prior_tables import CONCENTRATION, DISCOUNT
from pyroclust.infer.mcmc.protocol import CollapsedModel

__all__ = ["NUM_OF_PRIOR", "hyper_places"]

NUM_OF_PRIOR = 2


def hyper_places(model: CollapsedModel) -> dict[str, int]:
    """Return the places of hyperparameters by name: 0 and 1 are the prior's, 2 + h the family's.

    Of the prior only random ones are named; a name that both have is the prior's where it is random there.
    """
    of_prior = {"discount": DISCOUNT, "concentration": CONCENTRATION}
    of_family = {name: NUM_OF_PRIOR + index for index, name in enumerate(model.component.hyper_names)}
    return of_family | {name: of_prior[name] for name in model.prior.hyperpriors if name in of_prior}
