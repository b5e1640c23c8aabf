from report_pages import mcmc_case, mcmc_comparison
from synthetic_comparison import filled

from pyroclust.diagnostics import Answer, EvidenceMethod, LogEvidence, Trust
from pyroclust.report import page_of


def test_chains_that_agree_are_the_answer():
    found = mcmc_case()
    assert found.verdict.level is Trust.TRUST
    assert found.verdict.answer is Answer.MCMC
    assert "MCMC" in found.in_words.rely
    assert found.in_words.rely.startswith(("Yes", "Roughly"))
    assert list(found.estimates) == ["mcmc"]
    assert found.to_dict()["answer"] == "mcmc"


def test_chains_that_differ_are_no_answer():
    alone = mcmc_comparison()
    alone.draws["mcmc"].assignments[0] = 0
    found = filled(alone)
    assert found.answer is None
    assert found.to_dict()["answer"] is None
    assert found.in_words.rely.startswith("Not yet")
    assert "--thorough" in found.next
    assert list(found.estimates) == ["mcmc"]


def test_the_evidence_that_came_with_chains_is_shown():
    annealed = LogEvidence(EvidenceMethod.ANNEALED, -12.0, 0.2, float("nan"), 0.5)
    found = mcmc_case(evidences=(annealed,))
    assert found.to_dict()["evidence"]["headline"]["estimate"] == -12.0
    (section,) = [one for one in page_of(found).sections if one.title == "The log evidence"]
    assert "annealing" in str(section.parts)
