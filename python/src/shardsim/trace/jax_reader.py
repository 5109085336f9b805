"""Equations of a jaxpr, read one after the other; handlers of them are in the files beside this one."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import math
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import jax
import numpy as np
from jax.extend import core

from .array import is_uniform
from .arrays import TYPES, Array, Gap, Program, is_float
from .complex_arrays import Complex, Numbers, is_complex
from .handlers import adds_to

#: Where this package is: none of its lines is a place.
OWN = os.path.dirname(__file__)

#: Elements of a constant that is worked out here; larger ones are ops of the program.
CONSTANT_MOST = 1 << 18

#: Equations that say where an array is, which are lines even of constants.
PLACES = ("sharding_constraint", "reshard")

#: What notes that values vary over mesh axes, and computes nothing.
NOTES = ("pvary", "pcast", "pbroadcast")

#: A real array of the program, or a constant.
Real = Union[Array, np.ndarray]

#: What an equation reads: also a complex array.
Value = Union[Real, Complex]

Spec = Tuple[Any, ...]

#: Parameters of all primitives that change no value: where a result lies, and how exactly XLA computes it.
PLACEMENT = ("accuracy", "out_sharding", "sharding")

#: Parameters of a primitive that its handler may leave unread: the types and shapes of the results say the same, or they
#: change no value.
NEUTRAL: Dict[str, Tuple[str, ...]] = {
    "broadcast_in_dim": ("shape",), "conv_general_dilated": ("preferred_element_type",),
    "conj": ("input_dtype",), "convert_element_type": ("new_dtype", "weak_type"), "device_put": ("copy_semantics", "devices", "srcs"),
    "dot_general": ("preferred_element_type",), "qr": ("use_magma",), "expand_dims": ("dimensions",), "name": ("name",),
    "ragged_dot_general": ("preferred_element_type",), "random_bits": ("bit_width",), "random_wrap": ("impl",),
    "reshape": ("new_sizes",), "reshard": ("concrete_mesh", "dst_sharding"), "scan": ("ft_out", "linear", "unroll"), "sort": ("is_stable",),
    "sharding_constraint": ("context_mesh", "layout"), "shard_map": ("check_vma", "debug_info"), "squeeze": ("dimensions",),
    "top_k": ("is_stable", "operand"),
    **dict.fromkeys(("gather", "scatter"), ("indices_are_sorted", "unique_indices")),
    **dict.fromkeys(("scatter-add", "scatter_add", "scatter-sub", "scatter-mul", "scatter-max", "scatter-min"),
                    ("indices_are_sorted", "unique_indices", "update_jaxpr")),
    **dict.fromkeys(("jit", "pjit"), ("compiler_options_kvs", "ctx_mesh", "donated_invars", "in_layouts", "in_shardings", "inline",
                                      "keep_unused", "name", "out_layouts", "out_shardings")),
    **dict.fromkeys(("closed_call", "core_call", "remat2", "checkpoint"), ("differentiated", "name", "policy", "prevent_cse")),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin"),
                    ("bwd", "fwd_jaxpr_thunk", "jvp_jaxpr_fun", "jvp_jaxpr_thunk", "name", "num_consts", "out_trees", "symbolic_zeros")),
    **dict.fromkeys(NOTES, ("axes", "axis_index_groups", "from", "src", "to")),
}  # fmt: skip


class Params(Mapping[str, Any]):
    """Parameters of an equation; records which parameters the handler reads."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._params = params
        self._read: Set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def demand_read(self, name: str) -> None:
        """Refuse an unread parameter unless it has its default or changes no value."""
        for key, value in self._params.items():
            plain = value is None or value is False or (isinstance(value, (tuple, list, dict, frozenset)) and not value)
            if key not in self._read and key not in (*PLACEMENT, *NEUTRAL.get(name, ())) and not plain:
                raise Gap(f"'{name}' with unsupported {key}={value!s:.60}")


class Reader:
    """Reads equations into a program."""

    def __init__(self, program: Program, turns: Optional[int] = None) -> None:
        """`turns` is the bound for loops whose end depends on values."""
        self.program = program
        self.turns = turns
        self._beyond = "the while loop has not ended after the number of turns that `turns` gives"
        self._inside: List[Array] = []  # conditions under which the equations that are read now count
        self.gaps: List[str] = []
        self._lifted: Dict[int, Tuple[np.ndarray, Array]] = {}
        self._constants = 0
        self._flags: Dict[int, Value] = {}  # constants that are 0 or 1, made of booleans

    # ---- loops whose end depends on values

    @contextlib.contextmanager
    def inside(self, test: Array) -> Iterator[None]:
        """Equations that are read inside count only if a boolean, or one of several, is true."""
        self._inside.append(self.program.reduce("max", test, range(test.rank)) if test.rank else test)
        try:
            yield
        finally:
            self._inside.pop()

    def ends_here(self, more: Array) -> None:
        """A run has to find a loop ended at its last turn; a loop in a turn past another loop's end does not count."""
        p = self.program
        more = p.reduce("max", more, range(more.rank)) if more.rank else more
        for test in self._inside:
            more = p.select(test, more, p.number(0, "bool"))
        p.bounds.append((p.convert(more, "float32"), self._beyond))

    @contextlib.contextmanager
    def bounded(self, turns: int, beyond: str) -> Iterator[None]:
        """Loops that are read inside have a bound of their own, and an error if they have not ended by then."""
        before = self.turns, self._beyond
        self.turns, self._beyond = turns, beyond
        try:
            yield
        finally:
            self.turns, self._beyond = before

    # ---- values

    def numbers(self, value: Value) -> Numbers:
        """A constant as an array, or as a complex array."""
        if isinstance(value, np.ndarray) and is_complex(value.dtype):
            return Complex(*(self.lift(np.array(part)) for part in (value.real, value.imag)))
        return value if isinstance(value, Complex) else self.lift(value)

    def lift(self, value: Value, dtype: Optional[str] = None) -> Array:
        """A constant as an array: a scalar if all elements are equal."""
        if isinstance(value, Array):
            return value
        if isinstance(value, Complex):
            raise Gap("complex numbers in an operation that is traced for real numbers only")
        known = self._lifted.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        array = np.asarray(value)
        name = dtype or str(array.dtype)
        first = array.reshape(-1)[:1]
        if array.size and (is_uniform(array) or (array != array).all()):
            item = first[0]
            number = float(item) if is_float(name) else int(item)
            lifted = self.program.broadcast(self.program.number(number, name), array.shape, [])
            if not array.shape:
                lifted = self.program.number(number, name)
        else:
            self._constants += 1
            lifted = self.program.leaf(f"constants/{self._constants}", array.shape, name, array)
            lifted.attrs["constant"] = True
        self._lifted[id(value)] = (value, lifted)
        return lifted

    def read(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Value]) -> List[Value]:
        env: Dict[Any, Value] = {}

        def get(atom: Any) -> Value:
            return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, core.Literal) else env[atom]

        for var, const in zip(jaxpr.constvars, consts):
            env[var] = const if isinstance(const, (Array, Complex)) else np.asarray(const)
        env.update(zip(jaxpr.invars, inputs))
        for eqn in jaxpr.eqns:
            self._place(eqn)
            values = [get(a) for a in eqn.invars]
            results = self._equation(eqn, values)
            env.update(zip(eqn.outvars, results))
        return [get(a) for a in jaxpr.outvars]

    def _place(self, eqn: Any) -> None:
        frame = None
        try:
            from jax._src import source_info_util

            frame = source_info_util.user_frame(eqn.source_info.traceback)
        except Exception:  # a place is a help, and no more
            frame = None
        if frame is not None and not frame.file_name.startswith(OWN):
            self.program.where = f"{frame.file_name}:{frame.start_line}"
            self.program.scope = frame.function_name.split(".")[-1]

    def _equation(self, eqn: Any, values: List[Value]) -> List[Value]:
        name = eqn.primitive.name
        # A call of constants is worked out as a whole, as XLA does: what it makes of `mask * -inf` is no NaN.
        if (name not in INNER or name in ("jit", "pjit")) and self._is_constant(eqn, values):
            return self._worked_out(eqn, values)
        of_complex = any(is_complex(v.aval.dtype) for v in [*eqn.invars, *eqn.outvars])
        handler = INNER.get(name) or (COMPLEX if of_complex else HANDLERS).get(name)
        try:
            if handler is None:
                raise Gap(f"the operation '{name}'{' of complex numbers' * (of_complex and name in HANDLERS)} is not supported")
            params = Params(eqn.params)
            made = handler(self, eqn.replace(params=params), values)
            params.demand_read(name)
        except Gap as gap:
            self.gaps.append(f"{self.program.where}: {gap}")
            types = [str(v.aval.dtype) if str(v.aval.dtype) in TYPES else "float32" for v in eqn.outvars]
            made = [self.program.leaf(f"gap/{len(self.gaps)}", shape_of(v), t) for v, t in zip(eqn.outvars, types)]
        return list(made) if isinstance(made, (list, tuple)) else [made]

    def _worked_out(self, eqn: Any, values: List[Any]) -> List[Value]:
        """Evaluate an equation of constants; multiplication by a boolean is a select, as in XLA."""
        results = eqn.primitive.bind(*values, **eqn.params)
        results = results if eqn.primitive.multiple_results else [results]
        made: List[Any] = [np.asarray(r) for r in results]
        name = eqn.primitive.name
        if name == "convert_element_type" and str(values[0].dtype) == "bool":
            self._flags[id(made[0])] = made[0]
        elif name == "broadcast_in_dim" and id(values[0]) in self._flags:
            self._flags[id(made[0])] = made[0]
        elif name == "mul":
            for flag, other in (values, values[::-1]):
                if id(flag) in self._flags:
                    made = [np.where(np.asarray(flag) != 0, other, 0).astype(made[0].dtype)]
        return made

    @staticmethod
    def _is_constant(eqn: Any, values: Sequence[Value]) -> bool:
        """Whether to evaluate an equation while tracing: constant operands, small, and not a broadcast."""
        if any(isinstance(v, (Array, Complex)) for v in values) or eqn.effects or eqn.primitive.name in (*PLACES, *NOTES):
            return False
        size = sum(math.prod(v.aval.shape) for v in eqn.outvars)
        if eqn.primitive.name == "broadcast_in_dim":
            return bool(size <= max(1 << 16, math.prod(values[0].shape)))
        return size <= CONSTANT_MOST and not any(is_key(v.aval) for v in [*eqn.invars, *eqn.outvars])


Handler = Callable[[Reader, Any, List[Any]], Any]
HANDLERS: Dict[str, Handler] = {}
INNER: Dict[str, Handler] = {}

#: Handlers of equations with complex numbers.
COMPLEX: Dict[str, Handler] = {}

handles = adds_to(HANDLERS)
goes_into = adds_to(INNER)
handles_complex = adds_to(COMPLEX)


def spec_of(spec: Any) -> Spec:
    """A spec as a tuple: None is a replicated array."""
    if spec is None:
        return ()
    return tuple(tuple(e) if isinstance(e, list) else e for e in spec)


def spread(reader: Reader, scalar: Array, like: Array) -> Array:
    return scalar if scalar.rank else reader.program.broadcast(scalar, like.shape, [])


def operands(reader: Reader, eqn: Any, values: Sequence[Value]) -> List[Array]:
    return [reader.lift(v) for v in values]


def is_key(aval: Any) -> bool:
    """Whether elements are random keys (two words each)."""
    return bool(jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended))


def shape_of(var: Any) -> Tuple[int, ...]:
    """A variable's shape in the program: the words of keys are a further axis."""
    return (*var.aval.shape, 2) if is_key(var.aval) else tuple(var.aval.shape)
