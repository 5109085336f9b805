"""`shard_map`: what each device does with its own block, as what is done with all blocks at once.

A block is an array with an axis more for each mesh axis, in front, cut over that one: `vmap` with the axis's name makes
of a collective what it computes over that axis, and a constraint behind it keeps each result where the program has it.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Sequence

import jax
import numpy as np
from jax.extend import core, source_info_util
from jax.sharding import NamedSharding, PartitionSpec

from .arrays import Array, Gap
from .jax_reader import NOTES, Reader, Value, goes_into, handles, operands
from .shardings import axes_of

#: Collectives, of which the result lies as the program says: each device has its own, or all the same.
COLLECTIVES = ("psum", "psum_invariant", "pmax", "pmin", "all_gather", "all_gather_invariant", "reduce_scatter",
               "ppermute", "all_to_all", "psum_scatter")  # fmt: skip


@goes_into("shard_map")
def _shard_map(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    mesh = eqn.params["mesh"]
    manual = eqn.params["newly_manual_axes" if "newly_manual_axes" in eqn.params else "manual_axes"]
    axes = {a: int(n) for a, n in mesh.shape.items() if a in manual}
    shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
    with source_info_util.user_context(eqn.source_info.traceback):
        closed = _traced(eqn, mesh, axes, shapes)
    return reader.read(closed.jaxpr, closed.consts, values)


def _traced(eqn: Any, mesh: Any, axes: Dict[str, int], shapes: Sequence[Any]) -> Any:
    """The function of whole arrays as equations.

    Of a result that may differ among devices JAX takes any one's, which no device passes on.
    """
    try:
        return jax.make_jaxpr(_of_all(eqn, mesh, axes))(*shapes)
    except ValueError as error:
        if "out_axes" not in str(error):
            raise Gap(f"shard_map: {error}") from None
        raise Gap("shard_map: a result that its out_specs have whole may differ among devices; make it equal "
                  "on all devices with psum, pmean or all_gather") from None  # fmt: skip
    except (NotImplementedError, AssertionError, KeyError, TypeError) as error:
        raise Gap(f"shard_map: {error}") from None


@handles("psum", "pmax", "pmin")
def _over_places(reader: Reader, eqn: Any, values: List[Value]) -> List[Array]:
    """A collective inside `vmap`: over positions of axes."""
    axes, fn = eqn.params["axes"], eqn.primitive.name[1:]
    named = [str(a) for a in axes if not isinstance(a, int)]
    if named:
        raise Gap(f"'{eqn.primitive.name}' over {', '.join(named)} outside of shard_map and vmap")
    return [reader.program.reduce(fn, x, axes) if axes else x for x in operands(reader, eqn, values)]


def _of_all(eqn: Any, mesh: Any, axes: Dict[str, int]) -> Callable[..., Any]:
    """The function of whole arrays."""
    inner = eqn.params["jaxpr"]
    ins, outs = ([_cuts(s, axes) for s in eqn.params[k]] for k in ("in_specs", "out_specs"))

    def blocks(*local: Any) -> Any:
        return _evaluate(inner, (), local, mesh)

    fn: Callable[..., Any] = blocks
    for axis, size in reversed(list(axes.items())):
        in_axes = [0 if axis in flat(cuts) else None for cuts in ins]
        out_axes = [0 if axis in _front(cuts, axes) else None for cuts in outs]
        fn = jax.vmap(fn, tuple(in_axes), out_axes, axis_name=axis, axis_size=size, spmd_axis_name=axis)

    def whole(*arrays: Any) -> List[Any]:
        made = fn(*(_apart(x, cuts, axes, mesh) for x, cuts in zip(arrays, ins)))
        return [_together(x, cuts, axes, mesh) for x, cuts in zip(made, outs)]

    return whole


def flat(cuts: Sequence[Sequence[str]]) -> List[str]:
    return [axis for entry in cuts for axis in entry]


def _cuts(spec: Any, axes: Dict[str, int]) -> List[List[str]]:
    """The manual axes of each dimension."""
    return [[a for a in axes_of(entry) if a in axes] for entry in spec]


def _front(cuts: List[List[str]], axes: Dict[str, int]) -> List[str]:
    """The axes in front of a result's blocks: sharded axes are kept, the others are reduced to one device's block."""
    return [a for a, size in axes.items() if size == 1 or a in flat(cuts)]


def _of_rank(cuts: List[List[str]], rank: int) -> List[List[str]]:
    """Dimensions beyond the end of a spec are replicated."""
    return cuts + [[] for _ in range(rank - len(cuts))]


def _evaluate(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], mesh: Any) -> List[Any]:
    env: Dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))

    def get(atom: Any) -> Any:
        return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, core.Literal) else env[atom]

    for eqn in jaxpr.eqns:
        values = [get(a) for a in eqn.invars]
        with source_info_util.user_context(eqn.source_info.traceback):  # the line is the user's, as of all others
            made = _equation(eqn, values, mesh)
        env.update(zip(eqn.outvars, made))
    return [get(a) for a in jaxpr.outvars]


def _equation(eqn: Any, values: List[Any], mesh: Any) -> List[Any]:
    name = eqn.primitive.name
    if name in NOTES:
        return values
    inner = eqn.params.get("jaxpr")
    if name in ("jit", "pjit", "closed_call", "remat2", "checkpoint") and inner is not None:
        closed = inner if hasattr(inner, "jaxpr") else core.ClosedJaxpr(inner, ())
        return _evaluate(closed.jaxpr, closed.consts, values, mesh)
    if name in COLLECTIVES:
        values = [_varying(v, eqn.params) for v in values]
    if name in ("psum_invariant", "all_gather_invariant"):
        return _invariant(name, eqn, values, mesh)
    own = {k: None if isinstance(v, NamedSharding) else v for k, v in eqn.params.items()}  # types of the inside
    bound = eqn.primitive.get_bind_params(own)
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    made = eqn.primitive.bind(*functions, *values, **params)
    results = list(made) if eqn.primitive.multiple_results else [made]
    return [_held(x, mesh) for x in results] if name in COLLECTIVES else results


def _invariant(name: str, eqn: Any, values: List[Any], mesh: Any) -> List[Any]:
    """Collectives that also mark the result as equal on all devices."""
    params = eqn.params
    if name == "psum_invariant":
        return [_held(jax.lax.psum(v, params["axes"]), mesh) for v in values]
    return [
        _held(jax.lax.all_gather(v, params["axis_name"], axis=params["all_gather_dimension"], tiled=params["tiled"]), mesh)
        for v in values
    ]


def _varying(x: Any, params: Dict[str, Any]) -> Any:
    """x with an explicit axis per device, even if all are equal."""
    known, at = set(), x
    while hasattr(at, "val") and hasattr(getattr(at, "_trace", None), "axis_data"):
        if getattr(at, "batch_dim", None) is not None:
            known.add(at._trace.axis_data.name)
        at = at.val
    named = params.get("axes", params.get("axis_name"))
    for axis in axes_of(named):
        if axis not in known:
            x = x + 0 * jax.lax.axis_index(axis).astype(jax.numpy.result_type(x))
    return x


def _held(x: Any, mesh: Any) -> Any:
    """A block's layout: vmap adds axes, over which the block varies."""
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec(*[None] * x.ndim)))


def _apart(x: Any, cuts: List[List[str]], axes: Dict[str, int], mesh: Any) -> Any:
    """Axes of the mesh in front, then those of a block."""
    shape: List[int] = []
    places: Dict[str, int] = {}
    for size, entry in zip(x.shape, _of_rank(cuts, x.ndim)):
        for axis in entry:
            places[axis] = len(shape)
            shape.append(axes[axis])
        shape.append(size // math.prod(axes[a] for a in entry))
    front = [a for a in axes if a in places]
    order = [places[a] for a in front]
    made = x.reshape(shape).transpose([*order, *(i for i in range(len(shape)) if i not in order)])
    spec = PartitionSpec(*front, *[None] * (made.ndim - len(front)))
    return jax.lax.with_sharding_constraint(made, NamedSharding(mesh, spec))


def _together(x: Any, cuts: List[List[str]], axes: Dict[str, int], mesh: Any) -> Any:
    """The whole array of blocks."""
    front = _front(cuts, axes)
    for axis in [a for a in front if a not in flat(cuts)]:
        x = jax.lax.index_in_dim(x, 0, front.index(axis), keepdims=False)
        front.remove(axis)
    block = x.shape[len(front) :]
    order: List[int] = []
    shape: List[int] = []
    full = _of_rank(cuts, len(block))
    for place, entry in enumerate(full):
        order += [*(front.index(a) for a in entry), len(front) + place]
        shape.append(block[place] * math.prod(axes[a] for a in entry))
    made = x.transpose(order).reshape(shape)
    spec = PartitionSpec(*(tuple(entry) if entry else None for entry in full))
    return jax.lax.with_sharding_constraint(made, NamedSharding(mesh, spec))
