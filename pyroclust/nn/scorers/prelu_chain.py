"""Rows through a chain of PReLU and linear layers, block by block in the processor's cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_BLOCK_BYTES = 1 << 18
_SMALLEST_SLOPE = 1e-3


@dataclass(frozen=True)
class Rows:
    """Rows of a table, each as often as wanted."""

    table: Tensor  # (T, W)
    index: Tensor | None = None  # which rows; None for all in their order
    sign: float = 1.0


def prelu_chain(
    terms: Sequence[Rows], *, slopes: Sequence[Tensor], weights: Sequence[Tensor], biases: Sequence[Tensor]
) -> Tensor:
    r"""Apply PReLU and linear layers in turn to a sum of rows.

    .. math::
        y_0 = \textstyle\sum_t s_t T_t[i_t], \qquad y_l = W_l \, \mathrm{PReLU}_{a_l}(y_{l-1}) + b_l

    Equal to the same operations of ``torch.nn``, but forward and backward pass take the rows in blocks whose
    activations stay in the cache, only the inputs of the linear layers are kept, and the slopes' gradients
    are dot products (``torch``'s own takes longer on a CPU than the matrix products it goes with). Cost of
    the linear layers; memory one vector a layer and row, none without gradients. Not differentiable twice,
    and in the precision of its arguments under autocast too.
    """
    signs = [term.sign for term in terms]
    indices = [term.index for term in terms]
    tables = [term.table for term in terms]
    keep = torch.is_grad_enabled()
    layers = (*slopes, *weights, *biases)
    outputs: Tensor = _Chain.apply(keep, signs, indices, len(slopes), *layers, *tables)  # type: ignore[no-untyped-call]
    return outputs


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        keep: bool,  # noqa: FBT001
        signs: list[float],
        indices: list[Tensor | None],
        depth: int,
        *tensors: Tensor,
    ) -> Tensor:
        weights, biases, tables = (
            tensors[depth : 2 * depth],
            tensors[2 * depth : 3 * depth],
            tensors[3 * depth :],
        )
        slopes: list[float] = torch.cat(tensors[:depth]).tolist()
        rows = len(tables[0] if indices[0] is None else indices[0])
        scratch = _Scratch(rows, [*weights, *tables])
        kept = [weight.new_empty(rows if keep else scratch.rows, weight.shape[1]) for weight in weights]
        outputs = tables[0].new_empty(rows, len(biases[-1]))
        for start in range(0, rows, scratch.rows):
            block = slice(start, min(start + scratch.rows, rows))
            own = block if keep else slice(0, block.stop - start)
            value = _sum_rows(tables, indices, signs, block=block, out=kept[0][own], scratch=scratch)
            for layer, (slope, weight, bias) in enumerate(zip(slopes, weights, biases, strict=True)):
                # The result of a PReLU tells its input as long as the slope is positive.
                active = _leaky(value, slope, value if slope > _SMALLEST_SLOPE else scratch(0, value))
                value = outputs[block] if layer == depth - 1 else kept[layer + 1][own]
                torch.addmm(bias, active, weight.T, out=value)
        ctx.slopes, ctx.signs, ctx.indices = slopes, signs, indices
        ctx.save_for_backward(*kept, *weights, *tables)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        saved, depth = ctx.saved_tensors, len(ctx.slopes)
        kept, weights, tables = saved[:depth], saved[depth : 2 * depth], saved[2 * depth :]
        of_slopes = [weight.new_zeros(()) for weight in weights]
        of_weights = [torch.zeros_like(weight) for weight in weights]
        of_biases = [weight.new_zeros(len(weight)) for weight in weights]
        of_tables = [torch.zeros_like(table) for table in tables]
        scratch = _Scratch(len(gradient), [*weights, *tables])
        ones = gradient.new_ones(scratch.rows)
        for start in range(0, len(gradient), scratch.rows):
            block = slice(start, min(start + scratch.rows, len(gradient)))
            flow = gradient[block]
            for layer in reversed(range(depth)):
                value, slope = kept[layer][block], ctx.slopes[layer]
                positive, spare = slope > _SMALLEST_SLOPE, scratch(0, value)
                of_weights[layer].addmm_(flow.T, value if positive else _leaky(value, slope, spare))
                of_biases[layer].addmv_(flow.T, ones[: len(flow)])
                flow = torch.mm(flow, weights[layer], out=scratch(1 + layer % 2, value))
                torch.clamp(value, max=0.0, out=spare)
                change = torch.dot(flow.view(-1), spare.view(-1))
                of_slopes[layer].add_(change, alpha=1 / slope if positive else 1.0)
                _leaky_backward(flow, value, slope)
            for target, index, sign in zip(of_tables, ctx.indices, ctx.signs, strict=True):
                if index is None:
                    target[block].add_(flow, alpha=sign)
                else:
                    target.index_add_(0, index[block], flow, alpha=sign)
        of_slopes = [one.view(1) for one in of_slopes]
        return (None, None, None, None, *of_slopes, *of_weights, *of_biases, *of_tables)


class _Scratch:
    """Buffers for blocks of rows, used again and again: 256 kB each on a CPU, for all rows elsewhere."""

    def __init__(self, rows: int, values: Sequence[Tensor]) -> None:
        width = max(value.shape[1] for value in values)
        whole = values[0].device.type != "cpu"
        at_once = rows if whole else _BLOCK_BYTES // (values[0].element_size() * width)
        self.rows = max(1, min(rows, at_once))
        self.buffers = [values[0].new_empty(self.rows * width) for _ in range(3)]

    def __call__(self, number: int, like: Tensor) -> Tensor:
        """Return one of the buffers, shaped like a tensor."""
        return self.buffers[number][: like.numel()].view(like.shape)


def _sum_rows(
    tables: Sequence[Tensor],
    indices: Sequence[Tensor | None],
    signs: Sequence[float],
    *,
    block: slice,
    out: Tensor,
    scratch: _Scratch,
) -> Tensor:
    """Sum one block of the terms' rows."""
    for number, (table, index, sign) in enumerate(zip(tables, indices, signs, strict=True)):
        spare = scratch(0, out)
        rows = table[block] if index is None else torch.index_select(table, 0, index[block], out=spare)
        if number == 0:
            torch.mul(rows, sign, out=out)
        else:
            out.add_(rows, alpha=sign)
    return out


def _leaky(values: Tensor, slope: float, out: Tensor) -> Tensor:
    leaky: Tensor = torch.ops.aten.leaky_relu.out(values, slope, out=out)
    return leaky


def _leaky_backward(flow: Tensor, value: Tensor, slope: float) -> None:
    torch.ops.aten.leaky_relu_backward.grad_input(flow, value, slope, False, grad_input=flow)
