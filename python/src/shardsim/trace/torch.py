"""A module or function in PyTorch as a traced program: its ATen graph, node by node.

What is traced is what runs: the module's own forward with tensors that have sizes alone (as torch.export does it),
its in-place operations made plain, and with `grad` the backward pass of autograd behind it.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import inspect
import re
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from ..errors import InputError
from . import torch_attention, torch_axes, torch_index, torch_ops, torch_windows
from .arrays import Array, Program
from .kept import unchanged
from .torch_functions import Rewriting, demand, scaled_dot_product_attention
from .torch_graph import HANDLERS, TYPES, Reader, numpy_of, operation_name
from .traced import Traced
from .versions import tell_untried

tell_untried("PyTorch", torch.__version__)

Spec = Tuple[Any, ...]
Rules = Sequence[Tuple[str, Sequence[Any]]]

#: Modules that have handlers of operations.
OPERATIONS = (torch_ops, torch_attention, torch_axes, torch_index, torch_windows)


class Input(NamedTuple):
    """An input tensor: a parameter, a buffer, or a part of an argument."""

    path: str
    tensor: torch.Tensor
    learned: bool
    data: bool = False


def from_torch(
    module_or_fn: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    rules: Rules = (),
    name: Optional[str] = None,
    grad: bool = False,
    kwargs: Optional[Mapping[str, Any]] = None,
) -> Traced:
    """A module, or a function of tensors, as PyTorch traces it, laid out over a mesh.

    `args` and `kwargs` are those of its call; tensors may be on the device "meta", which have sizes alone.  `rules`
    are [(pattern, spec), ...] over the names of parameters, buffers and arguments, of which the first found wins;
    others are whole on each device.  `grad`: the first output is a loss, and its gradients by the parameters that
    are learned (by the floating-point arguments, of a function) are outputs too.  Buffers that the forward pass
    updates are not among the outputs.
    """
    inputs, call = _inputs(module_or_fn, args, dict(kwargs or {}))
    with unchanged(module_or_fn, args, kwargs):
        graph, tree = _trace(call, inputs, grad)
    program = Program(name or str(getattr(module_or_fn, "__name__", type(module_or_fn).__name__)))
    leaves = [_leaf(program, one, rules) for one in inputs]
    reader = Reader(program)
    results = [reader.lift(v) for v in reader.read(graph, leaves)]
    learned = [one.path for one in inputs if one.learned] if grad else []
    first = len(results) - len(learned)
    for k, path in enumerate(learned, first):  # gradients lie as what they are of
        spec = _spec(path, rules)
        if any(spec):
            results[k] = program.constraint(results[k], spec)
    gradients = {path: first + k for k, path in enumerate(learned)}
    names = [f"out.{k}" for k in range(first)] + [f"gradient.{path}" for path in learned]
    return Traced(
        program, dict(mesh), results, lambda flat: pytree.tree_unflatten(flat, tree), gradients, reader.gaps, names
    )  # fmt: skip


def _leaf(program: Program, one: Input, rules: Rules) -> Array:
    value, kind = numpy_of(one.tensor), one.tensor.dtype
    return program.leaf(one.path, one.tensor.shape, TYPES.get(kind, str(kind)), value, _spec(one.path, rules), one.data)


def _spec(path: str, rules: Rules) -> Tuple[Any, ...]:
    spec = next((tuple(s) for pattern, s in rules if re.search(pattern, path)), ())
    return tuple(tuple(e) if isinstance(e, list) else e for e in spec)


# ---- what goes in


def _inputs(target: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[List[Input], Any]:
    """Input tensors, and a call of the target with substitutes for them."""
    found: List[Input] = []
    is_module = isinstance(target, torch.nn.Module)
    if isinstance(target, torch.nn.Module):
        found += [Input(n, p.detach(), p.requires_grad) for n, p in target.named_parameters()]
        found += [Input(n, b.detach(), False) for n, b in target.named_buffers()]
    laid = next((one.path for one in found if hasattr(one.tensor, "placements")), None)
    if laid is not None:
        raise InputError(f"{laid} is a DTensor: give the module without its layout, and layout_of_dtensors(module)")
    owned = len(found)
    paths, tree = pytree.tree_flatten_with_path((args, kwargs))
    names = _argument_names(target)
    for path, value in paths:
        if isinstance(value, torch.Tensor):
            learned = not is_module and value.dtype.is_floating_point
            found.append(Input(_path(path, names), value.detach(), learned, is_module))

    def call(tensors: Sequence[torch.Tensor]) -> Any:
        rest = iter(tensors[owned:])
        leaves = [next(rest) if isinstance(v, torch.Tensor) else v for _, v in paths]
        a, k = pytree.tree_unflatten(leaves, tree)
        if not isinstance(target, torch.nn.Module):
            return target(*a, **k)
        own = {one.path: t for one, t in zip(found, tensors[:owned])}
        return torch.func.functional_call(target, own, a, k)

    return found, call


def _argument_names(target: Callable[..., Any]) -> List[str]:
    called = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _path(path: Sequence[Any], names: Sequence[str]) -> str:
    """The argument's name, then keys and indices, with dots between them."""
    keys = [str(next(v for v in (getattr(e, a, None) for a in ("key", "idx", "name")) if v is not None)) for e in path]
    if keys[0] == "0":
        at = int(keys[1])
        keys[1] = names[at] if at < len(names) else f"arg{at}"
    return ".".join(keys[1:])


# ---- the trace


def _trace(call: Callable[..., Any], inputs: Sequence[Input], grad: bool) -> Tuple[torch.fx.Graph, Any]:
    """The graph of tensor outputs and gradients, and the tree of the outputs."""
    from torch.fx.experimental.proxy_tensor import make_fx

    trees: List[Any] = []

    def outputs(*tensors: torch.Tensor) -> Any:
        flat, tree = pytree.tree_flatten(call(tensors))
        demand(all(isinstance(v, torch.Tensor) for v in flat), "an output that is not a tensor; return tensors alone")
        trees[:] = [tree]
        return flat

    def with_gradients(*tensors: torch.Tensor) -> List[torch.Tensor]:
        places = [k for k, one in enumerate(inputs) if one.learned]

        def loss(*every: torch.Tensor) -> Tuple[torch.Tensor, List[torch.Tensor]]:
            flat = outputs(*every)
            torch.fx.traceback.set_stack_trace([])  # nodes of the way back have the places of their operands
            demand(bool(flat) and flat[0].numel() == 1, "gradients need a scalar; the first output must be the loss")
            return flat[0].reshape(()), flat

        gradients, (_, flat) = torch.func.grad_and_value(loss, tuple(places), has_aux=True)(*tensors)
        return [*flat, *gradients]

    step = with_gradients if grad and any(one.learned for one in inputs) else outputs
    traced = make_fx(
        torch.func.functionalize(step),
        decomposition_table=_decompositions(),
        tracing_mode="fake",
        _allow_non_fake_inputs=True,
    )
    with _as_it_was_written(), torch.fx.traceback.preserve_node_meta(), Rewriting():
        try:
            made = traced(*(one.tensor for one in inputs))
        except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode as error:
            raise InputError(f"the program reads a tensor's value while it is traced: {error}") from None
        except RuntimeError as error:
            raise InputError(f"{_place(error)}PyTorch does not trace this: {error}") from error
    made.graph.eliminate_dead_code()
    return made.graph, trees[0]


def _place(error: BaseException) -> str:
    """The user's source line of an error."""
    parts = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*parts, "<"))]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def _decompositions() -> Dict[Any, Any]:
    """PyTorch's decompositions of operations without a handler."""
    from torch._decomp import decomposition_table

    plain = {op: fn for op, fn in decomposition_table.items() if isinstance(op, torch._ops.OpOverload)}
    return {op: fn for op, fn in plain.items() if operation_name(op) not in HANDLERS}


@contextlib.contextmanager
def _as_it_was_written() -> Iterator[None]:
    """Recurrent layers as their products, and attention as one op or as its products and its softmax, not as a kernel of
    one kind of device.

    Modules that ask whether they are being exported are told so, as torch.export tells them: they then leave out
    shortcuts that look at values.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    enabled, attention = torch._C._get_mkldnn_enabled(), torch.nn.functional.scaled_dot_product_attention
    flags = ("_is_compiling_flag", "_is_exporting_flag")
    before = {flag: getattr(torch.compiler, flag) for flag in flags if hasattr(torch.compiler, flag)}
    torch._C._set_mkldnn_enabled(False)
    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention  # for functions beside it
    try:
        for flag in before:
            setattr(torch.compiler, flag, True)
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        for flag, value in before.items():
            setattr(torch.compiler, flag, value)
        torch._C._set_mkldnn_enabled(enabled)
        torch.nn.functional.scaled_dot_product_attention = attention


__all__ = ["from_torch"]
