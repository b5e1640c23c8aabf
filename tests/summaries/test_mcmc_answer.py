from dataclasses import replace

from report_pages import mcmc_case

from pyroclust.diagnostics import Answer, EvidenceMethod, LogEvidence, Trust
from pyroclust.report import page_of
from pyroclust.results.mcmc_alone import summarise_mcmc


def test_chains_that_agree_are_the_answer():
    found = mcmc_case()
    assert found.verdict.level is Trust.TRUST
    assert found.answer is Answer.MCMC
    assert found.verdict.sentence.endswith("The answer is that of the draws of MCMC.")
    assert list(found.estimates) == ["answer", "mcmc"]
    assert found.to_dict()["answer"] == "mcmc"


def test_chains_that_differ_are_no_answer():
    alone = mcmc_case().comparison
    stuck = alone.mcmc.assignments.copy()
    stuck[0] = 0
    found = summarise_mcmc(replace(alone, mcmc=replace(alone.mcmc, assignments=stuck)))
    assert found.answer is None
    assert found.verdict.sentence.endswith("There is no answer to write.")
    assert list(found.estimates) == ["mcmc"]


def test_the_evidence_by_annealing_is_shown():
    annealed = LogEvidence(EvidenceMethod.ANNEALED, -12.0, 0.2, float("nan"), 0.5)
    found = mcmc_case(annealed=(annealed,))
    assert found.to_dict()["log_evidence"]["headline"]["estimate"] == -12.0
    tile = next(one for one in page_of(found).tiles if one.name == "Log evidence")
    assert "annealing" in tile.note
