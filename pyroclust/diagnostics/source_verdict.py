"""One sentence on whether two sources of draws agree."""

from collections.abc import Sequence

from pyroclust.diagnostics.source_effects import Effect, VariationBlocks
from pyroclust.diagnostics.thinning import Mixing
from pyroclust.diagnostics.verdict import GOOD_ESS, GOOD_RHAT, MAX_RHAT, MIN_ESS, Trust, Verdict

__all__ = ["LEVEL", "judge_sources"]

# Of the p-values of all differences together.
LEVEL = 0.01


def judge_sources(
    effects: Sequence[Effect],
    mixings: tuple[Mixing, Mixing],
    *,
    names: tuple[str, str],
    variation: VariationBlocks,
) -> Verdict:
    """Say whether two sources agree, differ, or cannot be compared, and why.

    Each source must have converged first: R-hat at most 1.05 (above 1.01 the sentence warns) and worth at
    least 100 independent draws (below 400 it warns). The size of a difference decides as well as its p-value:

    * ``DIFFER``: some difference is larger than its limit and than the noise floor, and its p-value, times
      the number of differences looked at, is below 0.01.
    * ``UNKNOWN``: a source has not converged, or a difference is larger than its limit but may be chance.
    * ``AGREE``: no difference is larger than its limit. The sentence names those that are certain all the
      same.

    Args:
        effects: the differences.
        mixings: of the two sources.
        names: of the two sources.
        variation: expected variation of information between and within them.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> same = Effect("number of clusters", 0.02, 0.03, 0.15, 0.6)
        >>> good = Mixing(900.0, 1.001, constant=False)
        >>> blocks = VariationBlocks(1.0, 1.0, 1.0, 0.0)
        >>> judge_sources([same], (good, good), names=("Gibbs", "SALSO"), variation=blocks).level.value
        'agree'
    """
    first, second = names
    unfit = [text for name, found in zip(names, mixings, strict=True) if (text := _unfit(name, found))]
    if unfit:
        return Verdict(Trust.UNKNOWN, f"Cannot tell whether {first} and {second} agree: {'; '.join(unfit)}.")
    caveat = _caveat(names, mixings)
    certain = [effect for effect in effects if effect.p_value * len(effects) < LEVEL]
    decisive = [found for found in certain if found.large and found.value > found.noise]
    if decisive:
        return Verdict(
            Trust.DIFFER,
            f"{first} and {second} differ beyond noise: {_listed(decisive)}. "
            f"{_bits(names, variation)}.{caveat}",
        )
    if open_ones := [effect for effect in effects if effect.large]:
        return Verdict(
            Trust.UNKNOWN,
            f"Cannot tell whether {first} and {second} agree: they differ ({_listed(open_ones)}), but so few "
            f"draws may differ as much by chance; draw more.{caveat}",
        )
    small = f" A small difference is certain ({_listed(certain)})." if certain else ""
    return Verdict(
        Trust.AGREE,
        f"{first} and {second} agree: {_listed(effects)}. {_bits(names, variation)}.{small}{caveat}",
    )


def _unfit(name: str, found: Mixing) -> str:
    if not found.max_rhat <= MAX_RHAT:
        return f"{name} has not converged (largest R-hat {found.max_rhat:.3f})"
    if not found.effective >= MIN_ESS:
        return f"{name} is worth only {found.effective:.0f} independent draws, fewer than {MIN_ESS:.0f}"
    return ""


def _caveat(names: tuple[str, str], mixings: tuple[Mixing, Mixing]) -> str:
    said = []
    for name, found in zip(names, mixings, strict=True):
        if found.constant:
            said.append(f" Every draw of {name} is the same partition: it is that sure, or stuck.")
        elif found.max_rhat > GOOD_RHAT or found.effective < GOOD_ESS:
            figures = f"largest R-hat {found.max_rhat:.3f}, worth {found.effective:.0f} independent draws"
            said.append(f" {name} is only roughly known ({figures}).")
    return "".join(said)


def _listed(effects: Sequence[Effect]) -> str:
    return ", ".join(f"{found.name} {found.value:.2f} (noise {found.noise:.2f})" for found in effects)


def _bits(names: tuple[str, str], found: VariationBlocks) -> str:
    return (
        f"Two draws are {found.between:.2f} bits apart on average, one of each source; "
        f"{found.within_a:.2f} within {names[0]}, {found.within_b:.2f} within {names[1]}"
    )
