"""How the conditions of a guide enter its network, made to fit model and scorer."""

from collections.abc import Sequence

from pyroclust.distributions import ConjugateComponent
from pyroclust.guides.sequential_guide import CollapsedModel
from pyroclust.nn import ConditionInputs, LightScorer, NeighbourScorer, SummedScorer

__all__ = ["network_inputs", "typical_component"]


def network_inputs(
    model: CollapsedModel,
    scorer: LightScorer | NeighbourScorer | SummedScorer | None,
    conditions: Sequence[str] | ConditionInputs,
) -> ConditionInputs | None:
    """Return how the conditions enter the network, None where there are none.

    Args:
        model: the model whose random hyperparameters they are.
        scorer: a scorer that is built already, whose own conditions they must be.
        conditions: names, or how they enter; those of the scorer where empty.

    Raises:
        ValueError: if one is no random hyperparameter of the model, or the scorer has others.

    Example:
        >>> from pyroclust.models import sensitivity2d
        >>> network_inputs(sensitivity2d(), None, ["concentration"]).names
        ('concentration',)
    """
    own = scorer.conditions if isinstance(scorer, LightScorer) else None
    names = conditions.names if isinstance(conditions, ConditionInputs) else tuple(conditions)
    if isinstance(scorer, LightScorer):
        of_scorer = () if own is None else own.names
        if names and names != of_scorer:
            raise ValueError(
                f"conditions are {', '.join(names)}, expected those of the scorer, {list(of_scorer)}: build "
                "it with light_scorer_for(model, conditions=...)"
            )
        names = of_scorer
    if isinstance(scorer, NeighbourScorer) and names:
        raise ValueError(f"conditions are {', '.join(names)}, expected none: the NeighbourScorer takes none")
    if isinstance(scorer, SummedScorer) and names and scorer.dim != model.component.dim + len(names):
        raise ValueError(
            f"scorer has dim {scorer.dim}, expected {model.component.dim + len(names)}, the columns of the "
            f"data and the conditions {', '.join(names)}"
        )
    if not names:
        return None
    measured = ConditionInputs.of_priors(names, model.hyperpriors, model.component)
    return own or (conditions if isinstance(conditions, ConditionInputs) else measured)


def typical_component(model: CollapsedModel, inputs: ConditionInputs | None) -> ConjugateComponent:
    """Return the component of the model under the medians of its conditions."""
    medians = {} if inputs is None else inputs.medians
    own = {name: one for name, one in medians.items() if name in model.component.hyperpriors}
    return model.component.given(own) if own else model.component
