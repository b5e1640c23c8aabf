"""One sentence on whether two sources of draws agree."""

from collections.abc import Sequence

from pyroclust.diagnostics.chains.thinning import Mixing
from pyroclust.diagnostics.differences.effects import Effect, VariationBlocks
from pyroclust.diagnostics.limits import MAX_CHANCE, written, written_p, written_pair
from pyroclust.diagnostics.verdicts.findings import Question, convergence_findings, unavailable
from pyroclust.diagnostics.verdicts.verdict import Finding, Mark, Trust, Verdict


def judge_sources(
    effects: Sequence[Effect],
    mixings: tuple[Mixing, Mixing],
    *,
    names: tuple[str, str],
    variation: VariationBlocks,
) -> Verdict:
    """Say whether two sources agree, differ, or cannot be compared, and why."""
    first, second = names
    converged = [
        convergence_findings(name, max_rhat=one.max_rhat, min_ess=one.effective)
        for name, one in zip(names, mixings, strict=True)
    ]
    # All differences together, by Bonferroni.
    chance = MAX_CHANCE / max(len(effects), 1)
    findings = (*converged[0], *converged[1], *(_finding(one, chance) for one in effects))
    unfit = [
        f"{one.sentence} in {name}, wanted {one.wanted}"
        for name, found in zip(names, converged, strict=True)
        for one in found
        if one.passed is not True
    ]
    if unfit:
        return Verdict(
            Trust.UNKNOWN, f"Cannot tell whether {first} and {second} agree: {'; '.join(unfit)}.", findings
        )
    caveat = "".join(_caveats(names, mixings, converged))
    certain = [one for one in effects if one.p_value < chance]
    if decisive := [one for one in certain if _beyond_noise(one)]:
        return Verdict(
            Trust.DIFFER,
            f"Beyond noise {first} and {second} differ: {_listed(decisive)}. "
            f"{_bits(names, variation)}.{caveat}",
            findings,
        )
    if open_ones := [one for one in effects if one.large]:
        return Verdict(
            Trust.UNKNOWN,
            f"Cannot tell whether {first} and {second} agree: they differ ({_listed(open_ones)}), but so few "
            f"draws may differ as much by chance; draw more.{caveat}",
            findings,
        )
    small = f" A small difference is certain ({_listed(certain)})." if certain else ""
    return Verdict(
        Trust.AGREE,
        f"As far as these draws can tell, {first} and {second} agree: {_listed(effects)}. "
        f"{_bits(names, variation)}.{small}{caveat}",
        findings,
    )


def no_verdict(names: tuple[str, str]) -> Verdict:
    """Say that two sources could not be compared, because their comparison failed."""
    first, second = names
    return Verdict(
        Trust.UNKNOWN,
        f"Cannot tell whether {first} and {second} agree: that could not be computed.",
        (unavailable(Question.SOURCES),),
    )


def _beyond_noise(effect: Effect) -> bool:
    return effect.large and effect.value > effect.noise


def _finding(effect: Effect, chance: float) -> Finding:
    """Ask whether a difference is small; a large one is sure where it is beyond noise and chance."""
    differs = _beyond_noise(effect) and effect.p_value < chance
    value, noise = _written(effect)
    return Finding(
        f"Is the {effect.name} small?",
        effect.value,
        effect.limit,
        False if differs else None if effect.large else True,
        f"{value}, noise {noise}, {written_p(effect.p_value, chance)}",
        f"at most {effect.limit:g}, or within noise and chance (p at least {chance:g})",
    )


def _caveats(
    names: tuple[str, str], mixings: tuple[Mixing, Mixing], converged: Sequence[tuple[Finding, Finding]]
) -> list[str]:
    said = []
    for name, mixing, found in zip(names, mixings, converged, strict=True):
        if mixing.constant:
            said.append(
                f" Every draw of {name} is the same partition: the posterior is that sure, or the sampler is "
                "stuck."
            )
        elif Mark.CAUTION in {one.mark for one in found}:
            figures = ", ".join(one.sentence for one in found)
            said.append(f" Only roughly known: {name} ({figures}).")
    return said


def _listed(effects: Sequence[Effect]) -> str:
    return ", ".join(
        f"{one.name} {value} (noise {noise})" for one in effects for value, noise in [_written(one)]
    )


def _written(effect: Effect) -> tuple[str, str]:
    """Write a difference and its noise, which a large difference is compared with."""
    if effect.large:
        return written_pair(effect.value, effect.noise, ".2f", effect.limit)
    return written(effect.value, ".2f", effect.limit), f"{effect.noise:.2f}"


def _bits(names: tuple[str, str], found: VariationBlocks) -> str:
    return (
        f"Two draws, one of each, are {found.between:.2f} bits apart on average; two of {names[0]} "
        f"{found.within_a:.2f}, two of {names[1]} {found.within_b:.2f}"
    )
