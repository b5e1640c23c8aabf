"""Which model a mixture is, in words and as a formula."""

from collections.abc import Mapping
from itertools import accumulate
from re import sub
from typing import Any

from torch.distributions import Distribution, Geometric, LogNormal

from pyroclust.core.messages import range_in_words
from pyroclust.core.registry import arguments_of, name_of
from pyroclust.distributions import Component, PartlyObserved, Product
from pyroclust.distributions.hyperparameters import in_short
from pyroclust.models.mixture import Mixture
from pyroclust.models.stochastic_block_model import StochasticBlockModel

# By the registered name of a prior or a family: words, and a formula with the places of its arguments.
_PRIORS: Mapping[str, tuple[str, str]] = {
    "ChineseRestaurantPrior": (
        "a Chinese restaurant process (the partition of a Dirichlet process)",
        "c ~ CRP({concentration})",
    ),
    "GammaConcentration": (
        "a Chinese restaurant process (the partition of a Dirichlet process) with random concentration",
        "α ~ Gamma({shape}, {rate}), c ~ CRP(α)",
    ),
    "PitmanYorPrior": (
        "a Pitman-Yor process with discount {discount}",
        "c ~ PY({discount}, {concentration})",
    ),
    "FiniteMixturesPrior": (
        "a finite mixture with a random number M of components{law}",
        "M - 1 ~ {extra_components}, w ~ Dirichlet({weight_concentration}, ..., {weight_concentration}), "
        "c ~ Categorical(w)",
    ),
    "DynamicMixturesPrior": (
        "a finite mixture with a random number M of components{law}",
        "M - 1 ~ {extra_components}, w ~ Dirichlet({concentration} / M, ..., {concentration} / M), "
        "c ~ Categorical(w)",
    ),
    "DirichletMultinomialPrior": (
        "a finite mixture of {num_components} components",
        "w ~ Dirichlet({weight_concentration}, ..., {weight_concentration}), c ~ Categorical(w)",
    ),
}
_FAMILIES: Mapping[str, tuple[str, str]] = {
    "NormalInverseWishart": (
        "normal clusters, each with a mean and a full covariance of its own",
        "Σ_k ~ IW({dof}, {scale} I), μ_k ~ N({mean}, Σ_k / {kappa}), x_i ~ N(μ_k, Σ_k)",
    ),
    "NormalInverseGamma": (
        "normal clusters with independent columns, each with a mean and a variance of its own",
        "σ²_kd ~ IG({shape}, {rate}), μ_kd ~ N({mean}, σ²_kd / {kappa}), x_id ~ N(μ_kd, σ²_kd)",
    ),
    "PoissonGamma": (
        "counts, each with a mean of its own",
        "λ_kd ~ Gamma({shape}, {rate}), x_id ~ Poisson(λ_kd)",
    ),
    "BernoulliBeta": (
        "answers, each with a probability of its own",
        "p_kd ~ Beta({alpha}, {beta}), x_id ~ Bernoulli(p_kd)",
    ),
    "Categories": (
        "categories, each with probabilities of their own",
        "q_kd ~ Dirichlet({concentration}, ..., {concentration}), x_id ~ Categorical(q_kd)",
    ),
    "OrderedLevels": (
        "ordered answers, each with probabilities near to a normal variable that is cut between the levels",
        "q_kd ~ Dirichlet(a Φ-steps(m_kd, s_kd)), x_id ~ Categorical(q_kd)",
    ),
    "NegativeBinomialBeta": (
        "overdispersed counts, each with a mean and a shape of its own",
        "p_kd ~ Beta(1 + r_kd / {mean}, 1), x_id ~ NegativeBinomial(r_kd, p_kd)",
    ),
    "Circular": (
        "places on a circle, each von Mises with a centre and a concentration of its own",
        "μ_kd ~ Uniform(0, {period}), x_id ~ vonMises(μ_kd, τ_kd)",
    ),
    "CensoredNormal": (
        "numbers that are cut at a limit, normal before that with a mean and a variance of its own",
        "σ²_k ~ IG({shape}, {rate}), μ_k ~ N({mean}, σ²_k / {kappa}), y_i ~ N(μ_k, σ²_k), "
        "x_i = min(max(y_i, {low}), {high})",
    ),
    "BinomialBeta": (
        "successes in known numbers of trials, each with a probability of its own",
        "p_kd ~ Beta({alpha}, {beta}), x_id ~ Binomial(n_id, p_kd)",
    ),
    "NormalKnownVariance": (
        "normal clusters of one known variance, each with a mean of its own",
        "μ_kd ~ N({mean}, {prior_scale}²), x_id ~ N(μ_kd, {scale}²)",
    ),
    "NormalIndependent": (
        "normal clusters with independent columns, mean and variance independent of each other",
        "μ_kd ~ N({mean}, {variance}), σ²_kd ~ IG({shape}, {rate}), x_id ~ N(μ_kd, σ²_kd)",
    ),
    "student_t": (
        "heavy-tailed clusters with independent columns, Student-t with {dof} degrees of freedom",
        "μ_kd ~ N({mean}, {prior_scale}²), τ_kd ~ Gamma({shape}, {rate}), x_id ~ t({dof}, μ_kd, τ_kd^(-1/2))",
    ),
}

# What random hyperparameters of families are.
_RANDOM = {"scale": "their typical variance", "rate": "their typical variance"}


def in_words(model: Any) -> str:
    """Say in two sentences which model a mixture is: words first, then its formula with its numbers.

    Args:
        model: a mixture or a stochastic block model; of any other model only the name is known.

    Example:
        >>> from pyroclust.models import niw_mixture
        >>> print(in_words(niw_mixture(3)))
        The model niw_mixture: normal clusters, each with a mean and a full covariance of its own; their
        ...
    """
    if isinstance(model, StochasticBlockModel):
        prior, first = _written(model.prior, _PRIORS)
        rates = model.component
        of = "shared by all" if rates.shared else "of its own"
        return (
            f"The model {model.name}: every block of nodes has a rate of edges {of}, and so has every "
            f"pair of blocks; their partition is that of {prior}. In symbols: {first}; "
            f"p_kk ~ Beta({rates.within[0]:g}, {rates.within[1]:g}), "
            f"p_kl ~ Beta({rates.between[0]:g}, {rates.between[1]:g}), A_ij ~ Bernoulli(p_c_i c_j)."
        )
    if not isinstance(model, Mixture):
        return f"The model {model.name} is known by its simulations alone."
    family, formula = _family(model.component)
    prior, first = _written(model.prior, _PRIORS)
    if model.constraints is not None and model.constraints.clusters is not None:
        prior += f", given {range_in_words(model.constraints.clusters)}"
    return (
        f"The model {model.name}: {family}; their partition is that of {prior}. In symbols: {first}; "
        f"{formula}."
    )


def _family(component: Component, begin: int = 1) -> tuple[str, str]:
    """Return words and formula of a family, of the families of groups of columns one after the other."""
    if isinstance(component, Product):
        begins = [begin, *(begin + end for end in accumulate(part.dim for part in component.parts))]
        every = [
            (_columns(first, part.dim), *_family(part))
            for first, part in zip(begins, component.parts, strict=False)
        ]
        words = "; ".join(f"{columns}: {words}" for columns, words, _ in every)
        return f"columns independent given the cluster; {words}", "; ".join(one for _, _, one in every)
    if isinstance(component, PartlyObserved):
        words, formula = _family(component.part)
        return f"{words}, missing cells integrated out", formula
    return _written(component, _FAMILIES)


def _columns(first: int, number: int) -> str:
    return f"column {first}" if number == 1 else f"columns {first} to {first + number - 1}"


def _written(part: Any, known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return words and formula; of other classes, and of batches of numbers, what they print themselves."""
    arguments = arguments_of(part)
    found = known.get(name_of(part) or "")
    if found is None:
        return type(part).__name__, repr(part)
    random = sorted(getattr(part, "hyperpriors", {}).keys() & arguments.keys())
    numbers = {name: name if name in random else _law(one) for name, one in arguments.items()}
    law = _in_plain_words(arguments.get("extra_components"))
    words = found[0].format(law=law, **numbers)
    for name in random:
        words += f"; {_RANDOM.get(name, f'their {name}')} is one random number for all of them"
        words += _in_plain_words(arguments[name])
    laws = "".join(f"{name} ~ {_law(arguments[name])}, " for name in random)
    return words, laws + found[1].format(**numbers)


def _law(argument: Any) -> str:
    """Write an argument, of a distribution the numbers alone."""
    if isinstance(argument, LogNormal) and not argument.batch_shape:
        return f"LogNormal(log {argument.loc.exp():g}, {argument.scale:g})"
    written = in_short(argument)
    return sub(r"\b\w+=", "", written) if isinstance(argument, Distribution) else written


def _in_plain_words(law: Any) -> str:
    """Say what a law means, where there are words for it."""
    if isinstance(law, Geometric) and not law.batch_shape:
        again = f"{1 - law.probs:g} times as probable as the one before"
        return f": 1 with probability {law.probs:g}, and each further number {again}"
    if isinstance(law, LogNormal) and not law.batch_shape:
        low, high = ((law.loc + side * 1.645 * law.scale).exp() for side in (-1, 1))
        between = f"{low:.2g} to {high:.2g} with probability 0.9"
        return f", before the data around {law.loc.exp():g} ({between})"
    return ""
