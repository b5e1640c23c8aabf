"""The chain of PReLU and linear layers against the layers of torch."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from pyroclust.nn.scorers import prelu_chain as module
from pyroclust.nn.scorers.prelu_chain import Rows, prelu_chain

WIDTHS = [3, 5, 5, 2]
SLOPES = [0.25, -0.5, 1.0]


def layers(dtype: torch.dtype = torch.float64) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    slopes = [torch.full((1,), slope, dtype=dtype, requires_grad=True) for slope in SLOPES]
    pairs = list(zip(WIDTHS[1:], WIDTHS[:-1], strict=True))
    weights = [torch.randn(*pair, dtype=dtype, requires_grad=True) for pair in pairs]
    return slopes, weights, [torch.randn(one, dtype=dtype, requires_grad=True) for one, _ in pairs]


def plain(inputs: Tensor, slopes: list[Tensor], weights: list[Tensor], biases: list[Tensor]) -> Tensor:
    for slope, weight, bias in zip(slopes, weights, biases, strict=True):
        inputs = F.linear(F.prelu(inputs, slope), weight, bias)
    return inputs


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 30])
def test_values_and_gradients_are_those_of_the_layers(monkeypatch, rows):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 8 * max(WIDTHS))  # eight rows
    slopes, weights, biases = layers()
    inputs = torch.randn(rows, WIDTHS[0], dtype=torch.float64, requires_grad=True)
    leaves = [inputs, *slopes, *weights, *biases]
    expected = plain(inputs, slopes, weights, biases)
    actual = prelu_chain([Rows(inputs)], slopes=slopes, weights=weights, biases=biases)
    flow = torch.randn_like(expected)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(
        torch.autograd.grad(actual, leaves, flow), torch.autograd.grad(expected, leaves, flow)
    )


def test_rows_are_gathered_and_summed(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 8 * max(WIDTHS))  # eight rows
    slopes, weights, biases = layers()
    tables = [torch.randn(n, WIDTHS[0], dtype=torch.float64, requires_grad=True) for n in (4, 20, 6)]
    some, others = torch.randint(4, (20,)), torch.randint(6, (20,))
    terms = [Rows(tables[0], some, -1.0), Rows(tables[1]), Rows(tables[2], others)]
    summed = tables[1] - tables[0][some] + tables[2][others]
    leaves = [*tables, *slopes, *weights, *biases]
    expected = plain(summed, slopes, weights, biases)
    actual = prelu_chain(terms, slopes=slopes, weights=weights, biases=biases)
    flow = torch.randn_like(expected)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(
        torch.autograd.grad(actual, leaves, flow), torch.autograd.grad(expected, leaves, flow)
    )
    with torch.no_grad():
        torch.testing.assert_close(
            prelu_chain(terms, slopes=slopes, weights=weights, biases=biases), expected.detach()
        )


def test_gradients_are_finite_differences():
    slopes, weights, biases = layers()

    def chain(inputs: Tensor, *given: Tensor) -> Tensor:
        return prelu_chain([Rows(inputs)], slopes=given[:3], weights=given[3:6], biases=given[6:])

    inputs = torch.randn(4, WIDTHS[0], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(chain, (inputs, *slopes, *weights, *biases))


def test_gradients_are_taken_of_frozen_and_of_free_layers():
    slopes, weights, biases = layers()
    weights[0].requires_grad_(False)
    inputs = torch.randn(4, WIDTHS[0], dtype=torch.float64)
    prelu_chain([Rows(inputs)], slopes=slopes, weights=weights, biases=biases).sum().backward()
    assert weights[0].grad is None
    assert inputs.grad is None
    assert bool((weights[1].grad != 0).any())


def test_autocast_leaves_the_precision_alone():
    slopes, weights, biases = layers(torch.float32)
    inputs = torch.randn(4, WIDTHS[0])
    with torch.autocast("cpu", torch.bfloat16):
        rounded = prelu_chain([Rows(inputs)], slopes=slopes, weights=weights, biases=biases)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, plain(inputs, slopes, weights, biases))
