"""A trained guide, carried over to another model of the same kind."""

from typing import Any, TypeVar, cast

from pyroclust.core.registry import name_of, rebuild
from pyroclust.distributions.protocols import CollapsedModel, Model, as_model
from pyroclust.guides.base import AmortizedGuide, num_columns

GuideT = TypeVar("GuideT", bound=AmortizedGuide)


def retarget(guide: GuideT, model: Any) -> GuideT:
    r"""Return a new guide of another model that starts with the weights of a trained one.

    The network keeps its weights and its visiting order; what it takes from the model, as the exact filter's
    log-weights, comes from the new model. Train it further on simulations of that model by
    ``fit(new.model, new, ...)``: where prior or hyperparameters have moved a little, a few hundred steps do.
    The guide given is not changed. Cost: one copy of the weights.

    Args:
        guide: a trained guide.
        model: another model with points of the same shape, which those of a guide that fits any model may
            lack.

    Raises:
        ValueError: if the guide cannot be made anew from its arguments, or the shapes of points or the
            networks do not agree.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import Mixture, gaussian2d
        >>> trained = NeuralClusteringProcess(gaussian2d())
        >>> wider = Mixture(ChineseRestaurantPrior(2.0), NormalKnownVariance(2, prior_scale=3.0))
        >>> new = retarget(trained, wider)
        >>> new.model is wider, trained.model.name
        (True, 'gaussian2d')

    References:
        Le, Baydin & Wood (2017), Inference compilation. https://arxiv.org/abs/1610.09900
    """
    if name_of(guide) is None and not hasattr(guide, "arguments"):
        raise ValueError(
            f"guide is a {type(guide).__name__}, expected a registered class, or one with arguments: build a "
            "new guide of the model and load the weights with load_state_dict"
        )
    model = as_model(model)
    if not guide.fits_any_model:
        _check_shape(guide, model)
    new: GuideT = rebuild(guide, parts_of(model))
    _copy_weights(guide, new)
    return new.train(guide.training)


def parts_of(model: Model) -> dict[str, Any]:
    """Return what guides and their parts may ask for when they are built: the model and its two parts."""
    if not model.is_conjugate:
        return {"model": model}
    mixture = cast(CollapsedModel, model)
    return {"model": model, "prior": mixture.prior, "component": mixture.component}


def _check_shape(guide: AmortizedGuide, model: Model) -> None:
    before, after = (num_columns(one) for one in (guide.model, model))
    if before != after:
        raise ValueError(
            f"model has points of dimension {after}, expected {before} as the guide's own model "
            f"'{guide.model.name}': train a new guide"
        )
    # Networks would take points of another shape and as many numbers, and see nonsense.
    shape, own = tuple(model.event_shape), tuple(guide.model.event_shape)
    if shape != own:
        raise ValueError(
            f"model has points of shape {shape}, expected {own} as the guide's own model "
            f"'{guide.model.name}': train a new guide"
        )


def _copy_weights(source: AmortizedGuide, target: AmortizedGuide) -> None:
    weights = {name: value.detach().clone() for name, value in source.state_dict().items()}
    for name, value in target.state_dict().items():
        if name not in weights or weights[name].shape != value.shape:
            found = tuple(weights[name].shape) if name in weights else "missing"
            raise ValueError(
                f"guide has the weight '{name}' {found}, expected shape {tuple(value.shape)} for this model: "
                "train a new guide"
            )
    target.load_state_dict(weights)
    reference = next(source.parameters(), None)
    if reference is not None:
        target.to(reference.device)
