"""Equations of JAX with a program inside: calls, branches, loops."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import jax
import numpy as np
from jax.extend import core

from .arrays import Array, Gap, Program
from .complex_arrays import Complex, Numbers, complex_of, of_parts
from .jax_ops import stack
from .jax_reader import Reader, Value, goes_into


def _exp_neg_sq(p: Program, x: Array) -> Array:
    return p.map("exp", p.map("neg", p.map("mul", x, x)))


#: Functions of JAX that read the bits of floats to round less, by their name and file, and what they compute.
KNOWN = {("exp_neg_sq", "jax/_src/lax/erf.py"): _exp_neg_sq}


def _known(inner: Any) -> Optional[Callable[[Program, Array], Array]]:
    said = str(getattr(getattr(inner, "debug_info", None), "func_src_info", ""))
    return next((make for (name, file), make in KNOWN.items() if said.startswith(name + " at ") and file in said), None)


@goes_into("jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call",
           "custom_vjp_call_jaxpr", "custom_lin")  # fmt: skip
def _call(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None:
            break
    else:
        raise Gap(f"'{eqn.primitive.name}' without an inner program")
    known = _known(getattr(inner, "jaxpr", inner))
    if known is not None:
        return [known(reader.program, reader.lift(values[0]))]
    if hasattr(inner, "jaxpr"):
        return reader.read(inner.jaxpr, inner.consts, values)
    return reader.read(inner, (), values)


@goes_into("custom_linear_solve")
def _linear_solve(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    """A system whose solution JAX itself differentiates: only what solves it is read."""
    counts, inner = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    before = counts.matvec + counts.vecmat
    right = values[before + counts.solve + counts.transpose_solve :]
    return reader.read(inner.jaxpr, inner.consts, [*values[before : before + counts.solve], *right])


@goes_into("call_hi_primitive")
def _high(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    """An operation of JAX that is made of others: searchsorted, since 0.12."""
    one = eqn.params["_prim"]

    def flat(*leaves: Any) -> List[Any]:
        return list(jax.tree.leaves(one.expand(*jax.tree.unflatten(one.in_tree, leaves))))

    inner = jax.make_jaxpr(flat)(*(jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars))
    return reader.read(inner.jaxpr, inner.consts, values)


@goes_into("cond")
def _cond(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    which, operands = values[0], values[1:]
    branches, platforms = eqn.params["branches"], eqn.params.get("branches_platforms")
    if platforms is not None:  # what each kind of device does: that of no other kind is taken
        which = next((k for k, names in enumerate(platforms) if names is None or "cpu" in names), 0)
    if not isinstance(which, Array):
        branch = branches[min(max(int(np.asarray(which)), 0), len(branches) - 1)]
        return reader.read(branch.jaxpr, branch.consts, operands)
    # Both are computed, and one is chosen.
    p, last, results = reader.program, len(branches) - 1, []
    for k, branch in enumerate(branches):
        fn = "less_equal" if k == 0 else "greater_equal" if k == last else "equal"
        with reader.inside(p.compare(fn, p.convert(which, "int32"), p.number(k, "int32"))):
            results.append(reader.read(branch.jaxpr, branch.consts, operands))
    chosen: List[Value] = list(results[0])
    for k, other in enumerate(results[1:], 1):
        test = p.compare("greater_equal", p.convert(which, "int32"), p.number(k, "int32"))
        chosen = [_chosen(reader, test, b, a) for a, b in zip(chosen, other)]
    return chosen


def _chosen(reader: Reader, test: Array, yes: Value, no: Value) -> Value:
    """One of two values, by a scalar, or by booleans of their first axes."""
    if yes is no:
        return no
    one, other = reader.numbers(yes), reader.numbers(no)
    if isinstance(one, Complex) or isinstance(other, Complex):
        pair = (complex_of(reader.program, x) for x in (one, other))
        return of_parts(lambda a, b: _chosen(reader, test, a, b), *pair)
    return reader.program.select(reader.program.broadcast(test, one.shape, range(test.rank)), one, other)


#: Turns of a loop that are written one after the other.
TURNS_MOST = 4096


#: Terms of a series of JAX's special functions, if `turns` gives no more: gradients of gamma samples up to 100 need at most 60 terms.
TERMS_MOST = 60


@goes_into("while")
def _while(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    body = eqn.params["body_jaxpr"].jaxpr
    if "jax/_src/lax/special.py" not in str(getattr(body.debug_info, "func_src_info", "")):
        return _unrolled(reader, eqn, values)
    terms = max(TERMS_MOST, reader.turns or 0)
    what = f"a series (of the gradient of gamma samples) has more than {terms} terms; from_jax(..., turns=N) gives it more"
    with reader.bounded(terms, what):
        return _unrolled(reader, eqn, values)


def _unrolled(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    """Unroll the loop: while its condition is known, or for the given number of turns.

    After the end of the loop a turn is computed, too, but each array keeps its value.  Under vmap the condition is an
    array: each element of the batch ends by its own.
    """
    params, first, second = eqn.params, eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    asked, done = values[:first], values[first : first + second]
    carry = list(values[first + second :])
    for turn in range(TURNS_MOST + 1):
        (more,) = reader.read(cond.jaxpr, cond.consts, [*asked, *carry])
        if isinstance(more, Array):
            if reader.turns is None:
                raise Gap("a while loop whose end depends on computed values; from_jax(..., turns=N) bounds its turns,"
                          " and lax.fori_loop with constant bounds is supported")  # fmt: skip
            if turn >= reader.turns:
                reader.ends_here(more)
                return carry
        elif not np.any(more):
            return carry
        elif np.all(more):
            carry = reader.read(body.jaxpr, body.consts, [*done, *carry])
            continue
        test = reader.lift(more)
        with reader.inside(test):
            after = reader.read(body.jaxpr, body.consts, [*done, *carry])
        carry = [_chosen(reader, test, new, old) for new, old in zip(after, carry)]
    raise Gap(f"a while loop of more than {TURNS_MOST} turns")


def _scan_sizes(params: Any, values: List[Value]) -> Tuple[int, int]:
    """How many operands of a scan are constants, and how many are carried; from JAX 0.12 on by trees of them."""
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].update(values).unpack()
    return len(list(consts)), len(list(carry))


@goes_into("scan")
def _scan(reader: Reader, eqn: Any, values: List[Value]) -> List[Value]:
    """Unrolled: layers are unrolled in sequence.  A map of loops is one loop of arrays."""
    p, params = reader.program, eqn.params
    inner, length = params["jaxpr"], params["length"]
    nconsts, ncarry = _scan_sizes(params, values)
    if not ncarry and _has_loop(inner.jaxpr):
        shapes = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
        mapped = jax.make_jaxpr(jax.vmap(core.jaxpr_as_fun(inner), in_axes=[None] * nconsts + [0] * (len(values) - nconsts)))(*shapes)
        return reader.read(mapped.jaxpr, mapped.consts, values)
    consts, carry, xs = values[:nconsts], list(values[nconsts : nconsts + ncarry]), values[nconsts + ncarry :]
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    rows: List[List[Value]] = [[] for _ in range(len(eqn.outvars) - ncarry)]
    for i in order:
        parts = [x[i] if isinstance(x, np.ndarray) else _element(p, x, i) for x in xs]
        out = reader.read(inner.jaxpr, inner.consts, [*consts, *carry, *parts])
        carry = out[:ncarry]
        for row, value in zip(rows, out[ncarry:]):
            row.append(value)
    stacked = []
    for row in rows:
        parts = row[::-1] if params["reverse"] else row
        stacked.append(stack(reader, parts, 0))
    return [*carry, *stacked]


def _has_loop(jaxpr: Any) -> bool:
    """Whether a program has a while loop, or a program inside has one."""
    inside = [getattr(v, "jaxpr", v) for eqn in jaxpr.eqns for v in eqn.params.values()]
    return any(eqn.primitive.name == "while" for eqn in jaxpr.eqns) or any(_has_loop(v) for v in inside if hasattr(v, "eqns"))


def _element(p: Program, x: Numbers, i: int) -> Numbers:
    """x[i]."""
    if isinstance(x, Complex):
        return of_parts(lambda part: _element(p, part, i), x)  # type: ignore[no-any-return]
    row = p.slice(x, 0, i, 1)
    return p.view(row, list(range(1, x.rank)), x.shape[1:])
