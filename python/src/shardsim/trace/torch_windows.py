"""Convolution and pooling: windows of each spatial axis, and then a product or a reduction."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import torch

from .arrays import Array, Gap, Program, is_float
from .torch_graph import Call, handles
from .torch_ops import mapped

LETTERS = "uvw", "xyz"  # windows and taps of three spatial axes


@dataclass(frozen=True)
class Window:
    """The positions of the windows of one axis."""

    size: int
    taps: int
    stride: int
    low: int
    dilation: int
    count: int

    @property
    def high(self) -> int:
        """How far the last window extends beyond the end."""
        return max(0, (self.count - 1) * self.stride + (self.taps - 1) * self.dilation + 1 - self.size - self.low)

    @property
    def apart(self) -> bool:
        """Non-overlapping windows that begin at 0: groups of elements."""
        return self.low == 0 and self.dilation == 1 and self.stride >= self.taps and self.count * self.stride <= self.size


def each_axis(value: Any, n: int) -> List[int]:
    """An option per spatial axis; one number applies to all."""
    numbers = [int(v) for v in value] if isinstance(value, (list, tuple)) else [int(value)]
    return numbers * n if len(numbers) == 1 else numbers


def window_list(
    sizes: Sequence[int], counts: Sequence[int], taps: Sequence[int], stride: Any, padding: Any, dilation: Any
) -> List[Window]:
    n = len(sizes)
    options = zip(sizes, taps, each_axis(stride, n), each_axis(padding, n), each_axis(dilation, n), counts)
    return [Window(*(int(v) for v in o)) for o in options]


def unfolded(p: Program, x: Array, first: int, windows: Sequence[Window], fill: float = 0.0) -> Array:
    """Axes from `first` on, each split into windows and taps."""
    for k, w in enumerate(windows):
        axis = first + 2 * k
        shape = [*x.shape[:axis], w.count, w.taps, *x.shape[axis + 1 :]]
        if w.taps == 1 and w.low == 0:
            x = p.reshape(p.strided(x, axis, 0, w.count, w.stride), shape)
        elif w.apart:
            groups = p.slice(x, axis, 0, w.count * w.stride)
            groups = p.reshape(groups, [*shape[: axis + 1], w.stride, *shape[axis + 2 :]])
            x = p.slice(groups, axis + 1, 0, w.taps)
        else:
            high = max(w.high, w.low)  # as PyTorch pads; windows past the count are dropped
            x = p.windows(x, axis, w.taps, w.stride, w.dilation, w.low, high, fill)
            x = p.slice(x, axis, 0, w.count)
    return x


def folded(p: Program, x: Array, first: int, windows: Sequence[Window]) -> Array:
    """The adjoint: taps are added back at their positions."""
    for k, w in enumerate(windows):
        axis = first + k
        shape = list(x.shape)
        if w.apart or (w.taps == 1 and w.low == 0):
            x = p.pad(x, axis + 1, 0, w.stride - w.taps)
            x = p.reshape(x, [*shape[:axis], w.count * w.stride, *shape[axis + 2 :]])
            x = p.pad(x, axis, 0, w.size - w.count * w.stride)
        else:
            x = p.windows_add(x, axis, w.size, w.stride, w.dilation, w.low)
    return x


# ---- convolution


class Convolution:
    """x of [n, group, in, space..] and weight of [group, out, in, taps..] as out of [n, group, out, space..].

    `small` is x and `large` what it becomes, whichever the operation is given: a transposed convolution is the
    adjoint by x.
    """

    def __init__(self, p: Program, groups: int, windows: Sequence[Window]) -> None:
        self.p = p
        self.groups = groups
        self.windows = windows
        n = len(windows)
        to, taps = LETTERS[0][:n], LETTERS[1][:n]
        self.x = "ngc" + "".join(a + b for a, b in zip(to, taps))
        self.weight = "goc" + taps
        self.out = "ngo" + to

    def _grouped(self, x: Array, axis: int) -> Array:
        """The channel axis split into groups and channels per group."""
        shape = list(x.shape)
        return self.p.reshape(x, [*shape[:axis], self.groups, shape[axis] // self.groups, *shape[axis + 1 :]])

    def _plain(self, x: Array, axis: int) -> Array:
        shape = list(x.shape)
        return self.p.reshape(x, [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]])

    def forward(self, x: Array, weight: Array) -> Array:
        taken = unfolded(self.p, self._grouped(x, 1), 3, self.windows)
        made = self.p.einsum(taken, self._grouped(weight, 0), self.x, self.weight, self.out)
        return self._plain(made, 1)

    def by_x(self, grad: Array, weight: Array) -> Array:
        spread = self.p.einsum(self._grouped(grad, 1), self._grouped(weight, 0), self.out, self.weight, self.x)
        return self._plain(folded(self.p, spread, 3, self.windows), 1)

    def by_weight(self, grad: Array, x: Array) -> Array:
        taken = unfolded(self.p, self._grouped(x, 1), 3, self.windows)
        made = self.p.einsum(self._grouped(grad, 1), taken, self.out, self.x, self.weight)
        return self._plain(made, 0)


def convolution_of(c: Call, x: Sequence[int], out: Sequence[int], weight: Sequence[int]) -> Convolution:
    if len(x) < 3 or len(x) > 5:
        raise Gap("a convolution without a batch axis, or with more than three spatial axes")
    small, large = (out, x) if c.transposed else (x, out)
    windows = window_list(small[2:], large[2:], weight[2:], c.stride, c.padding, c.dilation)
    return Convolution(c.program, int(c.groups), windows)


@handles("convolution")
def _convolution(c: Call) -> Array:
    p, x, weight = c.program, c.array(c.input, c.dtype), c.array(c.weight, c.dtype)
    at = convolution_of(c, x.shape, c.shape, weight.shape)
    made = at.by_x(x, weight) if c.transposed else at.forward(x, weight)
    if c.bias is None:
        return made
    bias = c.array(c.bias, c.dtype)
    return p.map("add", made, p.view(bias, [None, 0, *[None] * (made.rank - 2)], [1, *bias.shape, *[1] * (made.rank - 2)]))


@handles("convolution_backward")
def _convolution_backward(c: Call) -> List[Optional[Array]]:
    kind = c.array(c.grad_output).dtype
    grad, x, weight = (c.array(v, kind) for v in (c.grad_output, c.input, c.weight))
    at = convolution_of(c, x.shape, grad.shape, weight.shape)
    by_x = by_weight = by_bias = None
    if c.output_mask[0]:
        by_x = at.forward(grad, weight) if c.transposed else at.by_x(grad, weight)
    if c.output_mask[1]:
        by_weight = at.by_weight(x, grad) if c.transposed else at.by_weight(grad, x)
    if c.output_mask[2]:
        by_bias = c.program.reduce("sum", grad, [a for a in range(grad.rank) if a != 1])
    return [by_x, by_weight, by_bias]


# ---- pooling


@dataclass(frozen=True)
class Places:
    """Mask of the largest element of each window: 1 in its tap, else 0."""

    hot: Array
    windows: Tuple[Window, ...]

    def __repr__(self) -> str:
        return "indices of max pooling"


def _pool_windows(c: Call, sizes: Sequence[int], counts: Sequence[int]) -> List[Window]:
    n = len(counts)
    taps = each_axis(c.kernel_size, n)
    stride = c.stride if c.stride not in (None, [], ()) else taps
    return window_list(sizes, counts, taps, stride, c.padding, getattr(c.arguments, "dilation", 1))


def _tap_axes(rank: int, n: int) -> List[int]:
    return [rank - 2 * n + 2 * k + 1 for k in range(n)]


@handles("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(c: Call) -> Tuple[Array, Places]:
    p, x, n = c.program, c.array(c.self), 2 if "2d" in c.name else 3
    windows = _pool_windows(c, x.shape[-n:], c.shape[-n:])
    taken = unfolded(p, x, x.rank - n, windows, float("-inf"))
    axes = _tap_axes(taken.rank, n)
    most = p.reduce("max", taken, axes)
    # The first of the largest, in the order of the taps.
    order: Optional[Array] = None
    for axis in (a for a in axes if taken.shape[a] != 1):
        counted = p.iota(taken.shape[axis], "int32")
        counted = p.view(counted, [0 if a == axis else None for a in range(taken.rank)],
                         [n if a == axis else 1 for a, n in enumerate(taken.shape)])  # fmt: skip
        if order is not None:
            counted = p.map("add", p.map("mul", order, p.number(taken.shape[axis], "int32")), counted)
        order = counted
    if order is None:
        return most, Places(p.compare("equal", taken, taken), tuple(windows))
    equal = p.compare("equal", taken, _with_taps(p, most, taken.shape, axes))
    last = p.number(1 << 24, "int32")
    at = p.select(equal, order, last)
    first = _with_taps(p, p.reduce("min", at, axes), taken.shape, axes)
    return most, Places(p.compare("equal", at, first), tuple(windows))


def _with_taps(p: Program, x: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """x with the tap axes restored, with one element."""
    return p.reshape(x, [1 if a in axes else n for a, n in enumerate(shape)])


@handles("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _max_pool_backward(c: Call) -> Array:
    p, grad, places = c.program, c.array(c.grad_output), c.indices
    if not isinstance(places, Places):
        raise Gap("max pooling backward by indices computed elsewhere")
    n = len(places.windows)
    axes = _tap_axes(places.hot.rank, n)
    spread = p.select(places.hot, _with_taps(p, grad, places.hot.shape, axes), p.number(0.0, grad.dtype))
    return folded(p, spread, grad.rank - n, places.windows)


def _weights(c: Call, windows: Sequence[Window]) -> torch.Tensor:
    """The reciprocal of each window's divisor, with PyTorch's counting of padding."""
    pool = torch.nn.functional.avg_pool2d if len(windows) == 2 else torch.nn.functional.avg_pool3d
    ones = torch.ones(1, 1, *(w.size for w in windows), dtype=torch.float64)
    given = ([w.taps for w in windows], [w.stride for w in windows], [w.low for w in windows], c.ceil_mode)
    mean = pool(ones, *given, c.count_include_pad, c.divisor_override)
    total = pool(ones, *given, c.count_include_pad, 1)
    return (mean / total)[0, 0]


@handles("avg_pool2d", "avg_pool3d")
def _avg_pool(c: Call) -> Array:
    p, x = c.program, c.array(c.self)
    n = 2 if "2d" in c.name else 3
    windows = _pool_windows(c, x.shape[-n:], c.shape[-n:])
    taken = unfolded(p, x, x.rank - n, windows)
    total = p.reduce("sum", taken, _tap_axes(taken.rank, n))
    weights = _weights(c, windows)
    if not is_float(c.dtype):
        return mapped(c, "div", total, weights.reciprocal().round().to(c.values[0].dtype))
    return mapped(c, "mul", total, weights.to(c.values[0].dtype))


@handles("avg_pool2d_backward", "avg_pool3d_backward")
def _avg_pool_backward(c: Call) -> Array:
    p, grad = c.program, c.array(c.grad_output)
    n = 2 if "2d" in c.name else 3
    windows = _pool_windows(c, c.shape[-n:], grad.shape[-n:])
    first = grad.rank - n
    scaled = mapped(c, "mul", grad, _weights(c, windows).to(c.values[0].dtype))
    places: List[Optional[int]] = [*range(first)]
    full = list(scaled.shape[:first])
    for k, w in enumerate(windows):
        places += [first + k, None]
        full += [w.count, w.taps]
    return folded(p, p.view(scaled, places, full), first, windows)
