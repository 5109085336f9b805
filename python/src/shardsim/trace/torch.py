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
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from ..errors import InputError
from . import torch_attention, torch_axes, torch_groups, torch_index, torch_ops, torch_windows
from .arrays import Array, Program
from .kept import unchanged
from .torch_functions import Rewriting, demand, not_looked_at, run_backward, scaled_dot_product_attention
from .torch_graph import HANDLERS, TYPES, Reader, numpy_of, operation_name
from .traced import Traced
from .versions import tell_untried

tell_untried("PyTorch", torch.__version__)

Spec = Tuple[Any, ...]
Rules = Sequence[Tuple[str, Sequence[Any]]]

#: Modules that have handlers of operations.
OPERATIONS = (torch_ops, torch_attention, torch_axes, torch_groups, torch_index, torch_windows)


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
    """Input tensors, and a call of the target with substitutes for them, which stay in their places until it is closed."""
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

    @contextlib.contextmanager
    def call(tensors: Sequence[torch.Tensor]) -> Iterator[Any]:
        rest = iter(tensors[owned:])
        leaves = [next(rest) if isinstance(v, torch.Tensor) else v for _, v in paths]
        a, k = pytree.tree_unflatten(leaves, tree)
        own = {one.path: t for one, t in zip(found, tensors[:owned])}
        with _reparametrize_module(target, own, tie_weights=True) if is_module else contextlib.nullcontext():
            yield target(*a, **k)

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
    from torch._subclasses.functional_tensor import dispatch_functionalize
    from torch.fx.experimental.proxy_tensor import make_fx

    trees: List[Any] = []
    learned = [one.learned and grad for one in inputs]

    def step(*tensors: torch.Tensor) -> List[torch.Tensor]:
        leaves = [t.detach().requires_grad_() if is_learned else t for t, is_learned in zip(tensors, learned)]
        with call(leaves) as made:  # a checkpoint runs its part of the forward pass again, with the same parameters
            flat, tree = pytree.tree_flatten(made)
            demand(all(isinstance(v, torch.Tensor) for v in flat), "an output that is not a tensor; return tensors alone")
            trees[:] = [tree]
            return [*flat, *_gradients(flat, [t for t, is_learned in zip(leaves, learned) if is_learned])]

    traced = make_fx(
        dispatch_functionalize(step),
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


def _gradients(outputs: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Of the loss, by `backward` as in PyTorch's own training loops: reentrant checkpoints do without autograd.grad."""
    if not leaves:
        return []
    demand(bool(outputs) and outputs[0].numel() == 1, "gradients need a scalar; the first output must be the loss")
    if outputs[0].requires_grad:
        torch.autograd.backward(outputs[0], torch.ones_like(outputs[0]))
    return [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]


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

    flags = ("_is_compiling_flag", "_is_exporting_flag")
    instead = [
        *((torch.compiler, flag, True) for flag in flags if hasattr(torch.compiler, flag)),
        (torch.nn.functional, "scaled_dot_product_attention", scaled_dot_product_attention),  # for functions beside it
        (torch.nn.modules.transformer, "_detect_is_causal_mask", not_looked_at),
        (torch.autograd, "_engine_run_backward", run_backward(torch.autograd._engine_run_backward)),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in instead]
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        for owner, name, value in instead:
            setattr(owner, name, value)
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        torch._C._set_mkldnn_enabled(enabled)


__all__ = ["from_torch"]
