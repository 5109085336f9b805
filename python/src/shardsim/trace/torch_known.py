"""Values that a program reads while it is traced: those that depend on no input are known.

A mask of ones that a model makes for itself, or a count of steps, is asked for with `item()` or `if`.  The nodes behind it
are worked out, in the order of the graph.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import operator
from typing import Any, Dict, List, Optional

import torch
from torch.fx.experimental import proxy_tensor
from torch.utils._python_dispatch import _disable_current_modes

#: Methods of a tensor that read its value.
READING = ("item", "tolist", "__bool__", "__int__", "__float__", "__index__")

#: Nodes behind a value, and elements of each, at most.
NODES_MOST, ELEMENTS_MOST = 4096, 1 << 20


def known_value(function: str, tensor: Any) -> Optional[torch.Tensor]:
    """The tensor whose value a method reads, worked out; None if it depends on inputs, or is large."""
    if function not in READING or not isinstance(tensor, torch.Tensor):
        return None
    mode = proxy_tensor.get_proxy_mode()
    if mode is None:
        return None
    if torch._is_functional_tensor(getattr(tensor, "elem", tensor)):
        torch._sync(tensor)
        tensor = torch._from_functional_tensor(getattr(tensor, "elem", tensor))
    slot = proxy_tensor.get_proxy_slot(tensor, mode.tracer, None)
    node = getattr(getattr(slot, "proxy", None), "node", None)
    return None if node is None else _worked_out(node, mode.tracer.root)


def _worked_out(node: Any, constants: Any) -> Optional[torch.Tensor]:
    """Post-order over the nodes behind, without recursion: graphs are deep."""
    done: Dict[Any, Any] = {}
    waiting: List[Any] = [node]
    while waiting:
        at = waiting[-1]
        missing = [n for n in at.all_input_nodes if n not in done]
        if at in done or missing:
            waiting.pop() if at in done else waiting.extend(missing)
            if len(done) + len(waiting) > NODES_MOST:
                return None
            continue
        if not _is_fixed(at):
            return None
        with torch.no_grad(), _disable_current_modes(), torch._C._DisableFuncTorch():
            done[at] = _evaluated(at, done, constants)
        waiting.pop()
    found = done[node]
    return found if isinstance(found, torch.Tensor) else None


def _is_fixed(node: Any) -> bool:
    """Whether a node is a constant, or a small result of an operation that draws nothing."""
    if node.op == "get_attr":
        return True
    if node.op != "call_function" or not (node.target is operator.getitem or isinstance(node.target, torch._ops.OpOverload)):
        return False
    made = node.meta.get("val")
    small = not isinstance(made, torch.Tensor) or made.numel() <= ELEMENTS_MOST
    return small and torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ())


def _evaluated(node: Any, done: Dict[Any, Any], constants: Any) -> Any:
    if node.op == "get_attr":
        return getattr(constants, node.target)
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: done[n])
    if kwargs.get("device") is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    return node.target(*args, **kwargs)
