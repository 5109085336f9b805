"""Fused attention (scores are not stored) and its gradients."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, List

from .arrays import Array, Gap
from .torch_graph import Call, handles

#: From [batch, heads, tokens, width] to [batch, tokens, heads, width], and back.
TURNED = (0, 2, 1, 3)


class Scores:
    """The logarithms of the sums of scores, which only the op's own gradient reads."""

    def __repr__(self) -> str:
        return "sums of scores of an attention kernel"


@handles("_scaled_dot_product_flash_attention_for_cpu")
def _attention(c: Call) -> List[Any]:
    """The result; the op stores the inputs of its gradient."""
    if c.dropout_p or c.attn_mask is not None:
        raise Gap("an attention kernel with dropout or a mask; scaled_dot_product_attention with a mask is supported")
    q, k, v = (c.program.transpose(c.array(x), TURNED) for x in (c.query, c.key, c.value))
    scale = 1 / math.sqrt(q.shape[-1]) if c.scale is None else float(c.scale)
    return [c.program.transpose(c.program.attention(q, k, v, scale, bool(c.is_causal)), TURNED), Scores()]


@handles("_scaled_dot_product_flash_attention_for_cpu_backward")
def _attention_backward(c: Call) -> List[Array]:
    made = c.array(c.out)
    while made.op == "view":
        made = made.inputs[0]
    if made.op != "attention":
        raise Gap("the gradient of attention without its forward op")
    grad = c.program.transpose(c.array(c.grad_out), TURNED)
    return [c.program.transpose(c.program.attention_grad(made, grad, of), TURNED) for of in "qkv"]
