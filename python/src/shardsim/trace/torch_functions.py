"""Functions whose traced form would read values or hide its ops, rewritten with other functions."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np
import torch
import torch.fx.traceback
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes

from ..errors import InputError
from .torch_known import known_value


#: Files of which no line is the user's.
INNER = (os.path.dirname(torch.__file__), os.path.dirname(__file__), contextlib.__file__, functools.__file__, "<")


def place(frame: Any) -> str:
    """The innermost line of the user's source; none on the way back, unless a checkpoint runs that line again."""
    while frame is not None and frame.f_code.co_filename.startswith(INNER):
        if frame.f_code.co_name == run_backward.__name__:
            return ""
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def demand(good: bool, what: str) -> None:
    if not good:
        raise InputError(what)


def demand_square(name: str, matrices: torch.Tensor) -> None:
    demand(not matrices.is_complex(), f"linalg.{name} of complex matrices")
    sizes = list(matrices.shape[-2:])
    demand(len(sizes) == 2 and sizes[0] == sizes[1], f"{name}: the matrices must be square, but their sizes are {sizes}")


def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    demand(num_classes > 0, "one_hot without num_classes, whose size depends on values; give num_classes")
    return (tensor.unsqueeze(-1) == torch.arange(num_classes, device=tensor.device)).to(torch.int64)


def embedding_bag(
    input: torch.Tensor,
    weight: torch.Tensor,
    offsets: Optional[torch.Tensor] = None,
    max_norm: Optional[float] = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Optional[torch.Tensor] = None,
    include_last_offset: bool = False,
    padding_idx: Optional[int] = None,
) -> torch.Tensor:
    plain = not scale_grad_by_freq and padding_idx is None
    demand(plain and input.dim() == 2, "embedding_bag with offsets, frequencies or padding; bags of [batch, entries] are supported")
    rows = torch.nn.functional.embedding(input, weight, max_norm=max_norm, norm_type=norm_type)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return {"sum": rows.sum, "mean": rows.mean, "max": rows.amax}[mode](1)


def embedding_renorm(weight: torch.Tensor, ids: torch.Tensor, max_norm: float, norm_type: float) -> torch.Tensor:
    """An embedding's weight of which the rows of `ids` are scaled down to a norm of `max_norm`."""
    named = torch.zeros(weight.shape[0], dtype=weight.dtype).index_fill(0, ids.flatten(), 1)
    norms = torch.linalg.vector_norm(weight, norm_type, 1)
    scales = torch.where((named != 0) & (norms > max_norm), max_norm / (norms + 1e-7), 1)
    return weight * scales.unsqueeze(1).to(weight.dtype)


def each_axis(sizes: Union[int, Sequence[Optional[int]]], spatial: Sequence[int]) -> Sequence[int]:
    wanted: Sequence[Optional[int]] = [sizes] * len(spatial) if isinstance(sizes, int) else sizes
    return [n if size is None else size for size, n in zip(wanted, spatial)]


def fractions_of(x: torch.Tensor) -> torch.dtype:
    """The type of weights beside x."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def along(x: torch.Tensor, axis: int, matrix: torch.Tensor) -> torch.Tensor:
    """Matmul with a matrix along one axis."""
    return torch.matmul(x.movedim(axis, -1), matrix.to(x.dtype)).movedim(-1, axis)


def adaptive_pool(spatial: int) -> Callable[..., torch.Tensor]:
    def pool(input: torch.Tensor, output_size: Any) -> torch.Tensor:
        """The mean of the window of each result element."""
        axes = range(input.dim() - spatial, input.dim())
        for axis, size in zip(axes, each_axis(output_size, input.shape[-spatial:])):
            n = input.shape[axis]
            if size == 1:
                input = input.mean(axis, keepdim=True)
            elif size != n:
                eye = torch.eye(n, dtype=fractions_of(input), device=input.device).unsqueeze(0)
                input = along(input, axis, functional.adaptive_avg_pool1d(eye, size).squeeze(0))
        return input

    return pool


def adaptive_max_pool(spatial: int) -> Callable[..., Any]:
    def pool(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> torch.Tensor:
        """The maximum of the window of each result element; the last axis first, so that the gradient goes to the first of equals."""
        demand(not return_indices, "indices of adaptive pooling; the values are supported")
        axes = range(input.dim() - spatial, input.dim())
        for axis, size in reversed([*zip(axes, each_axis(output_size, input.shape[-spatial:]))]):
            n = input.shape[axis]
            if n % size == 0:
                input = input.unflatten(axis, (size, n // size)).max(axis + 1).values
            else:  # windows overlap
                ends = [(n * k // size, -(-n * (k + 1) // size)) for k in range(size)]
                input = torch.stack([input.narrow(axis, a, b - a).max(axis).values for a, b in ends], axis)
        return input

    return pool


def bilinear(
    input1: torch.Tensor, input2: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    made = torch.einsum("...i,oij,...j->...o", input1, weight, input2)
    return made if bias is None else made + bias


def cdist(x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: Any = None) -> torch.Tensor:
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1)


def weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> torch.Tensor:
    return v * (g / torch.norm_except_dim(v, 2, dim))


def interpolate(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> torch.Tensor:
    """Axis by axis: repetition for integer factors, else a matmul with the weights."""
    one = {"bilinear": "linear", "trilinear": "linear"}.get(mode, mode)
    known = one in ("nearest", "nearest-exact", "linear") and not antialias
    demand(known, f"interpolation by {mode}; nearest and linear are supported")
    for k, axis in enumerate(range(2, input.dim())):
        n = input.shape[axis]
        to, factor = (v[k] if isinstance(v, (list, tuple)) else v for v in (size, scale_factor))
        whole = (to is not None and to % n == 0) or (factor is not None and factor == int(factor))
        if one.startswith("nearest") and whole:
            input = input.repeat_interleave(to // n if to is not None else int(factor), axis)
            continue
        eye = torch.eye(n, dtype=fractions_of(input), device=input.device).unsqueeze(0)
        weights = functional.interpolate(eye, to, factor, one, align_corners, recompute_scale_factor)
        input = along(input, axis, weights.squeeze(0))
    return input


def pad(input: torch.Tensor, pad: Sequence[int], mode: str = "constant", value: Optional[float] = None) -> torch.Tensor:
    """By repetition of the ends: the elements at ids, of which the gradient is a sum."""
    if mode != "replicate":
        return functional.pad(input, pad, mode, value)
    for k in range(len(pad) // 2):
        axis, n = input.dim() - 1 - k, input.shape[-1 - k]
        input = input.index_select(axis, torch.arange(-pad[2 * k], n + pad[2 * k + 1], device=input.device).clamp(0, n - 1))
    return input


#: PyTorch's own, which is its products and its softmax while a program is traced.
PRODUCTS = functional.scaled_dot_product_attention


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """One op without an explicit mask: fused kernels store no scores."""
    plain = attn_mask is None and dropout_p == 0 and {x.dim() for x in (query, key, value)} == {4}
    plain = plain and all(isinstance(n, int) for x in (query, key, value) for n in x.shape)  # none that a mask decides
    heads, groups = query.shape[1:2], key.shape[1:2] if plain else ()
    alike = query.shape[0] == key.shape[0] == value.shape[0] and query.shape[-1] == key.shape[-1] == value.shape[-1]
    fits = alike and key.shape[:3] == value.shape[:3] and (heads == groups or enable_gqa)
    if not plain or not fits or query.numel() == 0 or key.numel() == 0:
        return PRODUCTS(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return op(query, key, value, 0.0, is_causal, scale=scale)[0]


def not_looked_at(mask: Optional[torch.Tensor], is_causal: Optional[bool] = None, size: Optional[int] = None) -> bool:
    """Whether a mask of nn.Transformer is causal, if told so: its values are not looked at, and the mask is used."""
    return bool(is_causal)


def cholesky(input: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Without a look at the values: NaN of a matrix that is not positive definite."""
    return torch.linalg.cholesky_ex(input, upper=upper)[0]


def solve(A: torch.Tensor, B: torch.Tensor, *, left: bool = True) -> torch.Tensor:
    """Without a look at the values: numbers that are not finite of a singular matrix."""
    return solve_ex(A, B, left=left)[0]


def solve_ex(A: torch.Tensor, B: torch.Tensor, *, left: bool = True, check_errors: bool = False) -> Tuple[torch.Tensor, torch.Tensor]:
    demand_square("linalg.solve", A)
    demand(not check_errors, "check_errors, which looks at the matrix; the second result tells which matrices are singular")
    factors, pivots, info = torch.linalg.lu_factor_ex(A)
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    made = torch.linalg.lu_solve(factors, pivots, B.unsqueeze(-1) if vector else B, left=left)
    return made.squeeze(-1) if vector else made, info


def inverse(A: torch.Tensor) -> torch.Tensor:
    return inverse_ex(A)[0]


def inverse_ex(A: torch.Tensor, *, check_errors: bool = False) -> Tuple[torch.Tensor, torch.Tensor]:
    demand_square("linalg.inv", A)
    return solve_ex(A, torch.eye(A.shape[-1], dtype=A.dtype).expand_as(A), check_errors=check_errors)


def slogdet(A: torch.Tensor, name: str = "linalg.slogdet") -> Tuple[torch.Tensor, torch.Tensor]:
    """By the diagonal of U and the number of swaps."""
    demand_square(name, A)
    factors, pivots, _ = torch.linalg.lu_factor_ex(A)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    odd = (pivots != torch.arange(1, A.shape[-1] + 1)).sum(-1) % 2
    return diagonal.sign().prod(-1) * (1 - 2 * odd), diagonal.abs().log().sum(-1)


def det(A: torch.Tensor) -> torch.Tensor:
    demand_square("linalg.det", A)
    factors, pivots, _ = torch.linalg.lu_factor_ex(A)
    odd = (pivots != torch.arange(1, A.shape[-1] + 1)).sum(-1) % 2
    return factors.diagonal(dim1=-2, dim2=-1).prod(-1) * (1 - 2 * odd)


def lu_factor(A: torch.Tensor, *, pivot: bool = True) -> Tuple[torch.Tensor, torch.Tensor]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(A, pivot=pivot)
    return factors, pivots


def lu(A: torch.Tensor, *, pivot: bool = True) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    left, lower, upper = torch.lu_unpack(*lu_factor(A, pivot=pivot))
    return left, lower, upper


def drawn_of_known(draw: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def sample(parameters: torch.Tensor, generator: None = None) -> torch.Tensor:
        """A sample of PyTorch from known parameters, whose values decide how many numbers its generator draws."""
        demand(not parameters.is_meta, f"random numbers ('{draw.__name__}') whose parameters are on the device meta; trace them with values")
        known = known_value("item", parameters.clone())
        demand(known is not None, f"random numbers ('{draw.__name__}') whose parameters depend on inputs, or are too many; pass the sample as an argument")
        with torch.no_grad(), _disable_current_modes():
            return draw(known)

    return sample


def getitem(input: torch.Tensor, index: Any) -> torch.Tensor:
    """A mask that depends on no input selects a known number of elements: by ids.  Bytes are masks, too.  A computed place is an
    id, as PyTorch would read its value."""
    parts = [_mask(part) for part in (index if isinstance(index, tuple) else (index,))]
    at = next((k for k, part in enumerate(parts) if _is_computed_place(part)), None)
    if at is not None and not any(isinstance(part, (bool, list, np.ndarray)) or getattr(part, "ndim", 0) for part in parts):
        whole = getitem(input, (*parts[:at], slice(None), *parts[at + 1 :]))
        before, behind = (sum(part is None or isinstance(part, slice) for part in some) for some in (parts[:at], parts[at + 1 :]))
        axis = whole.dim() - 1 - behind if any(part is Ellipsis for part in parts[:at]) else before
        return at_computed(whole, axis, parts[at], 1).squeeze(axis)
    index = tuple(parts) if isinstance(index, tuple) else parts[0]
    found = [_places(part) if isinstance(part, torch.Tensor) and part.dtype == torch.bool else None for part in parts]
    if all(places is None for places in found) or not _fit(input, parts):
        return input[index]
    return input[tuple(one for part, places in zip(parts, found) for one in (places if places is not None else (part,)))]


def narrow(input: torch.Tensor, dim: int, start: Any, length: int) -> torch.Tensor:
    return at_computed(input, dim, start, length) if _is_computed_place(start) else input.narrow(dim, start, length)


def at_computed(input: torch.Tensor, dim: int, start: torch.Tensor, length: int) -> torch.Tensor:
    """Elements from a computed place on; a place below 0 counts from the end."""
    first = torch.where(start < 0, start + input.shape[dim], start).to(torch.int64)
    return input.index_select(dim, first + torch.arange(length))


def _is_computed_place(part: Any) -> bool:
    """Whether a tensor is one whole number whose value is not known while tracing."""
    if not isinstance(part, torch.Tensor) or part.dim() or part.dtype.is_floating_point or part.dtype.is_complex or part.dtype == torch.bool:
        return False
    own = type(part) is torch.Tensor and not torch._is_functional_tensor(part)
    return not own and known_value("item", part) is None


def _mask(part: Any) -> Any:
    """A part of an index, with bytes as booleans."""
    if isinstance(part, torch.Tensor) and part.dtype == torch.uint8:
        return part.bool()
    return part != 0 if getattr(part, "dtype", None) == np.uint8 and part.ndim else part


def _fit(input: torch.Tensor, parts: Sequence[Any]) -> bool:
    """Whether masks have the sizes of the axes that they cover; PyTorch says it of others."""
    masks = [getattr(part, "dtype", None) in (torch.bool, np.bool_) for part in parts]
    covered = [part.ndim if mask else 0 if part is None or part is Ellipsis or isinstance(part, bool) else 1 for part, mask in zip(parts, masks)]
    at, rest = 0, input.dim() - sum(covered)
    for part, mask, axes in zip(parts, masks, covered):
        sizes = input.shape[at : at + axes]
        if mask and (len(sizes) < axes or any(isinstance(n, int) and n != m for n, m in zip(sizes, part.shape))):
            return False
        at += rest if part is Ellipsis else axes
    return True


def _places(mask: torch.Tensor) -> Optional[Tuple[torch.Tensor, ...]]:
    """The ids of a mask's elements in each of its axes, if known."""
    own = type(mask) is torch.Tensor and not torch._is_functional_tensor(mask)  # a tensor of the program itself
    known = None if mask.is_meta or not mask.dim() else mask if own else known_value("item", mask)
    if known is None:
        return None
    with torch.no_grad(), _disable_current_modes():
        return tuple(known.nonzero(as_tuple=True))


def masked_select(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    input, mask = torch.broadcast_tensors(input, mask)
    return input[mask] if input.dim() else input.reshape(1)[mask.reshape(1)]


def gaussian_nll_loss(
    input: torch.Tensor, target: torch.Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> torch.Tensor:
    """Without a look at the variances, of which none may be below 0."""
    var = var if isinstance(var, torch.Tensor) else torch.full_like(input, var)
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    elif var.shape != input.shape and (var.dim() != input.dim() or sum(m for n, m in zip(input.shape, var.shape) if n != m) != 1):
        raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var + torch.where(var < eps, eps - var, 0.0).detach()  # whose gradient a bound does not stop
    loss = 0.5 * (var.log() + (input - target).square() / var + (math.log(2 * math.pi) if full else 0.0))
    return {"none": loss.clone, "mean": loss.mean, "sum": loss.sum}[reduction]()


def istft(
    input: torch.Tensor,
    n_fft: int,
    hop_length: Optional[int] = None,
    win_length: Optional[int] = None,
    window: Optional[torch.Tensor] = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Optional[bool] = None,
    length: Optional[int] = None,
    return_complex: bool = False,
) -> torch.Tensor:
    """Without a look at the sums of windows that the sums of frames are divided by, of which none may be 0."""
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    demand(0 < size <= n_fft, f"istft of win_length={size}, of 1 to n_fft={n_fft}")
    demand(0 < hop <= size, f"istft of hop_length={hop}, of 1 to win_length={size}")
    frames = input.transpose(-2, -1)
    made = (torch.fft.ifft if return_complex else torch.fft.irfft)(frames, n_fft, norm="ortho" if normalized else "backward")
    weights = torch.ones(size, dtype=made.dtype) if window is None else window
    weights = functional.pad(weights, ((n_fft - size) // 2, n_fft - size - (n_fft - size) // 2))
    count = made.shape[-2]
    n = n_fft + hop * (count - 1)

    def added(x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, count, n_fft).transpose(1, 2)
        return functional.fold(rows, (1, n), (1, n_fft), stride=(1, hop)).reshape(*x.shape[:-2], n)

    first = n_fft // 2 if center else 0
    last = n - first if length is None else min(n, first + length)
    signal = added(made * weights)[..., first:last] / added(weights.square().expand(count, n_fft))[first:last]
    return functional.pad(signal, (0, 0 if length is None else length - (last - first)))


REWRITTEN: Dict[str, Callable[..., Any]] = {
    "one_hot": one_hot,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "embedding_bag": embedding_bag,
    "interpolate": interpolate,
    "pad": pad,
    "bilinear": bilinear,
    "cdist": cdist,
    "gaussian_nll_loss": gaussian_nll_loss,
    "cholesky": cholesky,
    "linalg_cholesky": cholesky,
    "linalg_solve": solve,
    "linalg_solve_ex": solve_ex,
    **dict.fromkeys(("inverse", "linalg_inv"), inverse),
    "linalg_inv_ex": inverse_ex,
    **dict.fromkeys(("slogdet", "linalg_slogdet"), slogdet),
    "logdet": lambda A: torch.where((made := slogdet(A, "logdet"))[0] < 0, torch.nan, made[1]),
    **dict.fromkeys(("det", "linalg_det"), det),
    "linalg_lu_factor": lu_factor,
    "linalg_lu": lu,
    "istft": istft,
    **{draw.__name__: drawn_of_known(draw) for draw in (torch._standard_gamma, torch._sample_dirichlet, torch.poisson)},
    "masked_select": masked_select,
    "__getitem__": getitem,
    "narrow": narrow,
    "_weight_norm": weight_norm,
    **{f"adaptive_avg_pool{n}d": adaptive_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": adaptive_max_pool(n) for n in (1, 2, 3)},
}


class Rewriting(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Replaces some functions, and records each call's source line for its nodes, and for those of its gradient."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        at = place(sys._getframe(1))
        instead = REWRITTEN.get(getattr(func, "__name__", ""))
        own = any(isinstance(v, torch.Generator) for v in (*args, *(kwargs or {}).values()))
        demand(not own, "random numbers of the program's own generator; torch.manual_seed sets that of PyTorch, from which the trace draws")
        if at:
            torch.fx.traceback.set_stack_trace([at])
        known = known_value(getattr(func, "__name__", ""), args[0] if args else None)
        made = (instead or func)(*((known, *args[1:]) if known is not None else args), **(kwargs or {}))
        if instead is not None and isinstance(made, tuple):  # whose elements have names
            made = getattr(torch.return_types, func.__name__, tuple)(made)
        for one in made if isinstance(made, (list, tuple)) else (made,):
            if at and isinstance(one, torch.Tensor) and torch.is_grad_enabled():
                record_place(one.grad_fn, at)
        return made


def record_place(node: Any, at: str) -> None:
    """Autograd nodes inside a function have no place of their own, and run right after the function's last node."""
    if node is not None and "shardsim" not in node.metadata:
        node.metadata["shardsim"] = at
        node.register_prehook(lambda gradients: torch.fx.traceback.set_stack_trace([at]))


#: PyTorch's engine of gradients.
ENGINE = torch.autograd.graph._engine_run_backward


def run_backward(*args: Any, **kwargs: Any) -> Any:
    """Runs with the mode on, for checkpoints: the mode is off while it handles `backward`."""
    torch.fx.traceback.set_stack_trace([])
    with Rewriting():
        return ENGINE(*args, **kwargs)
