"""A module or function in PyTorch as a traced program: its ATen graph, node by node.

What is traced is what runs: the module's own forward with tensors that have sizes alone (as torch.export does it),
its in-place operations made plain, and with `grad` the backward pass of autograd behind it.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import logging
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
import torch.utils.checkpoint
from torch._subclasses import fake_tensor
from torch.utils import _pytree as pytree

from . import torch_attention, torch_axes, torch_complex, torch_groups, torch_index, torch_linear_algebra, torch_ops, torch_windows
from ..errors import InputError
from .arrays import Array, Program
from .complex_arrays import Complex, Numbers, of_parts
from .kept import unchanged
from .torch_errors import told
from .torch_functions import Rewriting, demand, embedding_renorm, not_looked_at, run_backward, scaled_dot_product_attention
from .torch_graph import HANDLERS, TYPES, Reader, numpy_of, operation_name
from .torch_inputs import Input, Inputs
from .torch_masks import is_needed
from .torch_optimizers import single_tensor_steps
from .torch_random import drawn
from .traced import Traced, caller
from .versions import tell_untried

tell_untried("PyTorch", torch.__version__)

Spec = Tuple[Any, ...]
Rules = Sequence[Tuple[str, Sequence[Any]]]

#: Modules that have handlers of operations.
OPERATIONS = (torch_ops, torch_attention, torch_axes, torch_complex, torch_groups, torch_index, torch_linear_algebra, torch_windows)


def from_torch(
    module_or_fn: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    rules: Rules = (),
    name: Optional[str] = None,
    grad: bool = False,
    kwargs: Optional[Mapping[str, Any]] = None,
    masked: Optional[int] = None,
) -> Traced:
    """A module, or a function of tensors, as PyTorch traces it, laid out over a mesh.

    `args` and `kwargs` are those of its call; tensors may be on the device "meta", which have sizes alone.  `rules`
    are [(pattern, spec), ...] over the names of parameters, buffers and arguments, of which the first found wins;
    others are whole on each device.  `grad`: the first output is a loss, and its gradients by the parameters that
    are learned (by the floating-point arguments, of a function) are outputs too.  Of a function, parameters of modules
    around it, and states of optimizers, are inputs, and outputs if it changes them.  Buffers that the forward pass
    updates are not among the outputs.  `masked` bounds the number of elements, or rows, that a mask selects (x[mask],
    nonzero): a run that selects more is an error.  Without it there is room for all of them.
    """
    if masked is not None and (isinstance(masked, bool) or not isinstance(masked, (int, np.integer)) or masked < 1):
        raise InputError(f"masked={masked!r} is not a whole number of elements that a mask selects, of at least 1")
    inputs = Inputs(module_or_fn, args, dict(kwargs or {}))
    with unchanged(module_or_fn, args, kwargs, inputs.around):
        step = _trace(inputs, grad)
    program = Program(name or str(getattr(module_or_fn, "__name__", type(module_or_fn).__name__)))
    leaves = [_leaf(program, one, rules) for one in inputs.all]
    reader = Reader(program, masked)
    results = reader.read(step.graph, leaves)
    first = len(results) - len(step.beside)
    names, kept = [f"out.{k}" for k in range(first)], results[:first]
    places: Dict[str, Dict[str, int]] = {"gradient": {}, "updated": {}}
    before = {one.path: leaf for one, leaf in zip(inputs.all, leaves)}
    for one, result in zip(step.beside, results[first:]):
        if one.kind == "updated" and result is before.get(one.path):
            continue  # the step leaves it as it was
        spec = _spec(one.names, rules)  # they lie as what they are of
        places[one.kind][one.path] = len(kept)
        names.append(f"{one.kind}.{one.path}")
        kept.append(_laid(program, result, spec) if any(spec) else result)
    cuts = [(k, axis, counts) for k in range(first) for axis, counts in reader.cuts.get(k, [])]
    names += [f"selected.{k}" for k in range(len(cuts))]

    def rebuilt(arrays: List[Any]) -> Any:
        """What the step returns, without the places of arrays that no element of a mask takes."""
        for (k, axis, _), counts in zip(cuts, arrays[first:]):
            arrays[k] = np.compress(counts.astype(bool), arrays[k], axis)
        return step.tree.filled(arrays)

    arrays = [*kept, *(counts for _, _, counts in cuts)]
    return Traced(program, dict(mesh), arrays, rebuilt, places["gradient"], reader.gaps, names, places["updated"])


def _leaf(program: Program, one: Input, rules: Rules) -> Numbers:
    """An input; of a complex one, both parts."""
    spec, kind = _spec(one.names, rules), one.tensor.dtype

    def leaf(path: str, tensor: torch.Tensor) -> Array:
        return program.leaf(path, tensor.shape, TYPES.get(kind, str(kind)), numpy_of(tensor), spec, one.data)

    if kind.is_complex:
        return Complex(leaf(f"{one.path}.real", one.tensor.real), leaf(f"{one.path}.imag", one.tensor.imag))
    return leaf(one.path, one.tensor)


def _laid(program: Program, result: Numbers, spec: Spec) -> Numbers:
    if isinstance(result, Complex):
        return of_parts(lambda x: program.constraint(x, spec), result)  # type: ignore[no-any-return]
    return program.constraint(result, spec)


def _spec(names: Sequence[str], rules: Rules) -> Tuple[Any, ...]:
    found = (tuple(s) for name in names for pattern, s in rules if re.search(pattern, name))
    spec = next(found, ())
    return tuple(tuple(e) if isinstance(e, list) else e for e in spec)


# ---- the trace


class Beside(NamedTuple):
    """A tensor beside the outputs: a gradient, or what is updated."""

    kind: str
    path: str
    names: Tuple[str, ...]
    tensor: torch.Tensor


class Tree(NamedTuple):
    """What a function returns: its containers, and its leaves with holes for tensors."""

    spec: Any
    leaves: List[Any]

    def filled(self, tensors: Sequence[Any]) -> Any:
        rest = iter(tensors)
        return pytree.tree_unflatten([next(rest) if v is HOLE else v for v in self.leaves], self.spec)


HOLE = object()


class Step(NamedTuple):
    """The graph of tensor outputs and those beside them, and the tree of the outputs."""

    graph: torch.fx.Graph
    tree: Tree
    beside: List[Beside]


def _trace(inputs: Inputs, grad: bool) -> Step:
    from torch._subclasses.functional_tensor import dispatch_functionalize
    from torch.fx.experimental.proxy_tensor import make_fx

    trees: List[Tree] = []
    beside: List[Beside] = []
    learned = [k for k, one in enumerate(inputs.all) if one.learned and grad]

    def step(*tensors: torch.Tensor) -> List[torch.Tensor]:
        leaves = [
            t.detach().requires_grad_() if k in learned or one.differentiable else t
            for k, (one, t) in enumerate(zip(inputs.all, tensors))
        ]
        with inputs.called(leaves) as made:  # a checkpoint runs its part of the forward pass again, with the same parameters
            flat, tree = pytree.tree_flatten(made)
            trees[:] = [Tree(tree, [HOLE if isinstance(v, torch.Tensor) else v for v in flat])]
            sizes = any(isinstance(v, (torch.SymInt, torch.SymFloat)) for v in flat)
            demand(not sizes, "the program returns how many elements a mask selects; return the sum of the mask")
            flat = [v for v in flat if isinstance(v, torch.Tensor)]
            demand(bool(flat), "the program returns no tensor; return what is to be computed")
            gradients = _gradients(flat, [leaves[k] for k in learned])
            beside[:] = [Beside("gradient", inputs.all[k].path, inputs.all[k].names, g) for k, g in zip(learned, gradients)]
            beside.extend(Beside("updated", *one) for one in inputs.updated(leaves))
            return [*flat, *(one.tensor for one in beside)]

    traced = make_fx(
        dispatch_functionalize(step),
        decomposition_table=_decompositions(),
        tracing_mode="fake",
        _allow_non_fake_inputs=True,
    )
    with _as_it_was_written(), torch.fx.traceback.preserve_node_meta(), Rewriting():
        try:
            made = traced(*(one.tensor for one in inputs.all))
        except Exception as error:  # whatever the program, or PyTorch, raises
            raise told(error, caller()) from error
    made.graph.eliminate_dead_code(is_needed)
    return Step(made.graph, trees[0], beside)


def _gradients(outputs: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Of the loss, by `backward` as in PyTorch's own training loops: reentrant checkpoints do without autograd.grad."""
    if not leaves:
        return []
    demand(bool(outputs) and outputs[0].numel() == 1, "gradients need a scalar; the first output must be the loss")
    if outputs[0].requires_grad:
        torch.autograd.backward(outputs[0])
    return [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]


def _decompositions() -> Dict[Any, Any]:
    """PyTorch's decompositions of operations without a handler; random numbers are drawn."""
    from torch._decomp import decomposition_table

    plain = {op: fn for op, fn in decomposition_table.items() if isinstance(op, torch._ops.OpOverload)}
    known = {op: fn for op, fn in plain.items() if operation_name(op) not in HANDLERS}
    fixed = {op: fn for op, fn in known.items() if torch.Tag.nondeterministic_seeded not in op.tags}
    return {**fixed, torch.ops.aten.embedding_renorm.default: embedding_renorm, **drawn()}


@contextlib.contextmanager
def _as_it_was_written() -> Iterator[None]:
    """Recurrent layers as their products, and attention as one op or as its products and its softmax, not as a kernel of
    one kind of device.

    Modules that ask whether they are being exported are told so, as torch.export tells them: they then leave out
    shortcuts that look at values.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    flags, checks = ("_is_compiling_flag", "_is_exporting_flag"), torch.utils.checkpoint._allowed_determinism_checks_to_fns
    instead = [
        *((torch.compiler, flag, True) for flag in flags if hasattr(torch.compiler, flag)),
        (torch.nn.functional, "scaled_dot_product_attention", scaled_dot_product_attention),  # for functions beside it
        (torch.nn.modules.transformer, "_detect_is_causal_mask", not_looked_at),
        (torch.distributions.Distribution, "_validate_args", False),  # which looks at values
        (torch.utils.checkpoint, "_allowed_determinism_checks_to_fns", {**checks, "default": checks["none"]}),  # it looks at sizes
        *single_tensor_steps(),
        (logging.getLogger(fake_tensor.__name__), "disabled", True),  # it prints what is raised, too
        (torch.autograd, "_engine_run_backward", run_backward),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in instead]
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        for owner, name, value in instead:
            setattr(owner, name, value)
        with sdpa_kernel(SDPBackend.MATH), torch.compiler.set_stance("force_eager"):  # what torch.compile was given
            yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        torch._C._set_mkldnn_enabled(enabled)


__all__ = ["from_torch"]
