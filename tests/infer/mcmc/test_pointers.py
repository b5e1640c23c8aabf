"""Named tuples by their address: compiled code reads what Python wrote, wherever a copy lies."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
import torch
from numba.core.errors import TypingError

from pyroclust.core.compiling import compiled
from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    NormalKnownVariance,
    PartlyObserved,
    Product,
)
from pyroclust.distributions.compiled.pointers import Address, Addresses
from pyroclust.distributions.compiled.protocol import family_of
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.mcmc.compiled.chain import start_chain
from pyroclust.infer.mcmc.compiled.runner import Program
from pyroclust.infer.mcmc.compiled_kernel import moves_in_turn
from pyroclust.models import Mixture, nig_mixture


class Inner(NamedTuple):
    table: np.ndarray
    weight: float


class Outer(NamedTuple):
    count: int
    inner: Inner
    vector: np.ndarray
    part: np.ndarray


class Nothing(NamedTuple):
    """No fields."""


@compiled(allocates=False)
def read(outer, found):
    found[0] = outer.count
    found[1] = outer.inner.weight
    found[2] = outer.inner.table[1, 2]
    found[3] = outer.vector[3]
    found[4] = outer.part[1]
    found[5] = len(outer.part) + outer.inner.table.shape[1] + outer.inner.table[1][0]
    outer.vector[0] = 7


@compiled(allocates=False)
def read_nothing(outer):
    return outer.absent


def outer():
    whole = np.arange(10.0)
    return Outer(5, Inner(np.arange(6.0).reshape(2, 3), 0.25), np.arange(4), whole[2:4])


def test_compiled_code_reads_and_writes_what_python_sees():
    content, found = outer(), np.zeros(6)
    read(Address(content), found)
    assert found.tolist() == [5, 0.25, 5, 3, 3, 8]
    assert content.vector[0] == 7


def test_copies_have_arrays_of_their_own():
    address, found = Address(outer()), np.zeros(6)
    other = pickle.loads(pickle.dumps(address))
    assert other.number != address.number
    read(other, found)
    assert (address.content.vector[0], other.content.vector[0], found[2]) == (0, 7, 5)


def test_addresses_keep_what_lies_there():
    content = outer()
    numbers = np.asarray(Addresses([content, Inner(np.zeros((1, 1)), 2.0)]))[:1]
    assert numbers.base.base.each[0].content.vector is content.vector


def test_copies_of_a_product_have_parts_of_their_own_that_share_its_hyperparameters():
    gaps = PartlyObserved(NormalKnownVariance(2), 1)
    component = Product([NormalKnownVariance(1), Product([BernoulliBeta(2), gaps])])
    first = family_of(component, np.ones((4, 5)), 3, 4)
    for other in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert not set(other.tables.tolist()) & set(first.tables.tolist())
        assert not np.shares_memory(other.hyper, first.hyper)
        other.hyper[-1] = 9.0
        (within,) = other.contents[-1].part.contents
        assert within.hyper[-1] == other.contents[-1].hyper[-1] == 9.0
        assert first.hyper[-1] != 9.0


def test_tuples_of_one_kind_share_a_type():
    assert Address(outer()).type is Address(outer()).type
    other = outer()._replace(vector=np.arange(4.0))
    assert Address(other).type != Address(outer()).type
    assert Address(Nothing()).type != Address(outer()).type


def test_unknown_fields_and_values_are_refused():
    with pytest.raises(TypingError, match="absent"):
        read_nothing(Address(outer()))
    with pytest.raises(TypeError, match="a field is a str, expected int, float, contiguous array or"):
        Address(Inner("text", 1.0))
    with pytest.raises(TypeError, match="a field is a ndarray, expected int, float, contiguous array"):
        Address(Inner(np.zeros(4)[::2], 1.0))


@pytest.mark.parametrize(
    ("model", "steps"),
    [(Mixture(ChineseRestaurantPrior(1.0), NormalKnownVariance(1)), 2), (nig_mixture(1), 3)],
    ids=["number", "Gamma"],
)
def test_the_concentration_is_drawn_where_it_has_a_gamma_prior(model, steps):
    chain = start_chain(model, torch.randn(5, 1), np.random.default_rng(0))
    program = Program(moves_in_turn([CollapsedGibbs(model, thin=4)], 5), chain)
    assert len(program.steps) == len(program.settings) == 4 * steps
    assert len(set(program.steps)) == steps
