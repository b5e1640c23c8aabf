"""Where compiled chains keep the random hyperparameters of a model."""

from pyroclust.infer.mcmc.prior_tables import CONCENTRATION, DISCOUNT
from pyroclust.infer.mcmc.protocol import CollapsedModel

__all__ = ["NUM_OF_PRIOR", "hyper_places"]

NUM_OF_PRIOR = 2


def hyper_places(model: CollapsedModel) -> dict[str, int]:
    """Return the places of random hyperparameters by name: 0 and 1 are the prior's, 2 + h the family's.

    Prior and family may each have a hyperparameter of the same name, of which one at most is random.
    """
    of_prior = {"discount": DISCOUNT, "concentration": CONCENTRATION}
    of_family = {name: NUM_OF_PRIOR + index for index, name in enumerate(model.component.hyper_names)}
    return {name: of_prior[name] for name in model.prior.hyperpriors if name in of_prior} | {
        name: of_family[name] for name in model.component.hyperpriors
    }
