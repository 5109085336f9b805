"""A function in JAX as a traced program: its jaxpr, equation by equation."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import re
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

import jax
import numpy as np

from ..errors import InputError
from . import jax_complex, jax_index, jax_inner, jax_manual, jax_ops, jax_random, jax_scan, jax_windows  # noqa: F401  each has handlers of equations
from .arrays import Program
from .complex_arrays import PARTS, Complex, Numbers, of_parts
from .jax_inner import TURNS_MOST
from .jax_reader import Reader, Spec, Value, spec_of
from .traced import Traced
from .versions import tell_untried

tell_untried("JAX", jax.__version__)


def from_jax(
    fn: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int],
    in_specs: Any = (),
    out_specs: Any = None,
    name: Optional[str] = None,
    data: Optional[str] = None,
    turns: Optional[int] = None,
) -> Traced:
    """A function of arrays, as JAX traces it, laid out over a mesh.

    `args` are arrays, or shapes alone (jax.ShapeDtypeStruct).  `in_specs` is a tree of specs like `args`, or rules
    [(pattern, spec), ...] over the paths of arguments, of which the first found wins; others are whole on each
    device.  `out_specs`: a tree of specs like the results; without it a result that is a tree like an argument
    (gradients of parameters, a new state) is sharded as that is, and others stay where they are made.

    `data` is a pattern of the paths that are data: activations go where they are, and weights come to them or stay
    where they are.  By default these are arguments that are arrays themselves, and trees that are called as data are.

    `turns` bounds the number of turns of each `while` loop whose end depends on values: the loop is unrolled so often,
    and a run of a loop that has not ended by then is an error.
    """
    if turns is not None and not 0 < turns <= TURNS_MOST:
        raise InputError(f"turns={turns} is not a number of turns of a loop, from 1 to {TURNS_MOST}")
    shape = {axis: int(size) for axis, size in mesh.items()}
    axis_types = (jax.sharding.AxisType.Auto,) * len(shape)
    ambient = jax.sharding.AbstractMesh(tuple(shape.values()), tuple(shape), axis_types=axis_types)
    with jax.sharding.use_abstract_mesh(ambient), jax_scan.noted():
        closed, out_shape = jax.make_jaxpr(fn, return_shape=True)(*args)
    program = Program(name or str(getattr(fn, "__name__", "step")))
    reader = Reader(program, turns)
    leaves = _paths(fn, args)
    specs = _specs(leaves, args, in_specs)
    inputs: List[Value] = []
    for (path, value), spec in zip(leaves, specs):
        if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        known = value if isinstance(value, (np.ndarray, np.generic, jax.Array, int, float, complex, bool)) else None
        array = None if known is None else np.asarray(known)
        aval = jax.typeof(value) if not isinstance(value, jax.ShapeDtypeStruct) else value
        kind = str(aval.dtype)
        pair = {path: array} if kind not in PARTS else {f"{path}/{part}": None if array is None else getattr(array, part) for part in ("real", "imag")}
        made = [program.leaf(name, aval.shape, PARTS.get(kind, kind), v, spec, _is_data(path, data)) for name, v in pair.items()]
        inputs.append(Complex(*made) if kind in PARTS else made[0])
    results = reader.read(closed.jaxpr, closed.consts, inputs)
    flat, tree = jax.tree.flatten(out_shape)
    wanted = _as_arguments(out_shape, args, specs)
    if out_specs is not None:
        wanted = [spec_of(s) for s in tree.flatten_up_to(out_specs)]
    outputs: List[Numbers] = []
    program.where, program.scope = "", "out"
    for value, asked in zip(results, wanted):
        outputs.append(_laid(program, reader.numbers(value), asked))
    named = [".".join(["out", *(_key(p) for p in path)]) for path, _ in jax.tree_util.tree_leaves_with_path(out_shape)]
    return Traced(
        program, shape, outputs, lambda arrays: jax.tree.unflatten(tree, arrays), gaps=reader.gaps, names=named
    )  # fmt: skip


def _laid(program: Program, made: Numbers, spec: Optional[Spec]) -> Numbers:
    if spec is None:
        return made
    asked = spec
    return of_parts(lambda x: program.constraint(x, asked), made) if isinstance(made, Complex) else program.constraint(made, asked)


def _paths(fn: Callable[..., Any], args: Sequence[Any]) -> List[Tuple[str, Any]]:
    """Leaves of the arguments with their paths: the argument's name, then keys, indices and fields."""
    try:
        names = [p.name for p in inspect.signature(fn).parameters.values()]
    except (TypeError, ValueError):
        names = []
    found = []
    for k, arg in enumerate(args):
        first = names[k] if k < len(names) else f"arg{k}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(arg):
            found.append(("/".join([first, *(_key(p) for p in path)]), leaf))
    return found


def _as_arguments(results: Any, args: Sequence[Any], specs: Sequence[Spec]) -> List[Optional[Spec]]:
    """For each result the spec of the same leaf in an argument with the same tree, or None."""
    known: List[Tuple[Any, List[Any], Sequence[Spec]]] = []
    at = 0
    for arg in args:
        leaves, tree = jax.tree.flatten(arg)
        if len(leaves) != 1 or jax.tree_util.treedef_is_leaf(tree) is False:
            known.append((tree, [np.shape(v) for v in leaves], specs[at : at + len(leaves)]))
        at += len(leaves)

    def walk(part: Any) -> List[Optional[Spec]]:
        leaves, tree = jax.tree.flatten(part)
        shapes = [v.shape for v in leaves]
        for other, others, found in known:
            if other == tree and others == shapes:
                return [spec if any(spec) else None for spec in found]
        if jax.tree_util.treedef_is_leaf(tree):
            return [None]
        children = jax.tree.leaves(part, is_leaf=lambda node: node is not part)
        return [spec for child in children for spec in walk(child)]

    return walk(results)


#: First parts of paths that are data by their names.
DATA = re.compile(r"batch|data|inputs?$|examples?|targets?|labels?|images?|tokens?|cache", re.IGNORECASE)


def _is_data(path: str, pattern: Optional[str]) -> bool:
    if pattern is not None:
        return re.search(pattern, path) is not None
    first, *rest = path.split("/")
    return not rest or DATA.match(first) is not None


def _key(entry: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _are_rules(specs: Any) -> bool:
    return isinstance(specs, (list, tuple)) and all(
        isinstance(r, (list, tuple)) and len(r) == 2 and isinstance(r[0], str) and not isinstance(r[1], str) for r in specs
    )


def _specs(leaves: Sequence[Tuple[str, Any]], args: Sequence[Any], specs: Any) -> List[Spec]:
    if _are_rules(specs):
        return [next((spec_of(s) for pattern, s in specs if re.search(pattern, path)), ()) for path, _ in leaves]
    tree = jax.tree.structure(tuple(args))
    return [spec_of(s) for s in tree.flatten_up_to(tuple(specs))]
