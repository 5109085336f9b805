"""Steps of PyTorch's optimizers in forms that a trace can read."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from typing import Any, Iterator, Optional, Sequence, Tuple

import torch


def single_tensor_steps() -> Iterator[Tuple[Any, str, Any]]:
    """Optimizer steps of many tensors or of one kernel, replaced by the step of each tensor: module, name, replacement."""
    own = {"adafactor": adafactor}
    for path, module in list(sys.modules.items()):
        for name, step in list(vars(module).items()) if path.startswith("torch.optim.") else ():
            if name.startswith("_single_tensor_"):
                algorithm = name[len("_single_tensor_") :]
                names = [f"_multi_tensor_{algorithm}", f"_fused_{algorithm}", *([name] if algorithm in own else [])]
                yield from ((module, n, own.get(algorithm, step)) for n in names if hasattr(module, n))


def adafactor(
    params: Sequence[torch.Tensor],
    grads: Sequence[torch.Tensor],
    row_vars: Sequence[Optional[torch.Tensor]],
    col_vars: Sequence[Optional[torch.Tensor]],
    variances: Sequence[Optional[torch.Tensor]],
    state_steps: Sequence[torch.Tensor],
    grad_scale: Any = None,
    found_inf: Any = None,
    *,
    d: float,
    lr: Any,
    beta2_decay: float,
    weight_decay: float,
    eps1: Optional[float],
    eps2: float,
    maximize: bool,
    **_: Any,
) -> None:
    """Adafactor without values read: a step of the size of the parameter, of an update cut to the root mean square d.

    N. Shazeer and M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018, algorithms 4 and 5, with
    the floors of torch.optim.Adafactor.
    """
    for param, grad, row, col, variance, count in zip(params, grads, row_vars, col_vars, variances, state_steps):
        grad = -grad if maximize else grad
        least = torch.finfo(param.dtype).eps if eps1 is None else eps1
        count += 1
        fresh = count**beta2_decay
        size = torch.clamp(_root_mean_square(param), min=eps2) * torch.clamp(count**-0.5, max=lr)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        square = grad * grad
        if row is not None and col is not None:
            row.lerp_(square.mean(-1, keepdim=True), fresh.to(row.dtype))
            col.lerp_(square.mean(-2, keepdim=True), fresh.to(col.dtype))
            estimate = row @ col / row.mean(-2, keepdim=True).clamp(min=least)
        else:
            assert variance is not None  # of a vector
            variance.lerp_(square, fresh.to(variance.dtype))
            estimate = variance
        update = grad * estimate.clamp(min=least * least).rsqrt()
        cut = torch.clamp(_root_mean_square(update) / d, min=1.0)
        param.sub_(update * (size / cut).to(param.dtype))


def _root_mean_square(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean().sqrt()
