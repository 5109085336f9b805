"""Reading an ATen graph: what each node computes, or that it is not known.

Nodes that depend on no input are worked out here, and are constants of the program.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
import torch

from ..errors import InputError
from .array import is_uniform
from .arrays import Array, Gap, Program, is_float
from .complex_arrays import Complex, Numbers, complex_of, of_parts
from .handlers import adds_to
from .torch_errors import unread
from .torch_masks import READING, Masks
from .torch_random import is_drawn

#: Elements of a constant that is worked out here; larger ones are ops of the program.
CONSTANT_MOST = 1 << 18

#: Arrangements of which the result shares the storage of what is arranged.
NO_COPY = ("expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice", "detach", "alias")

#: Operations that are possible, or mean what they do, by the strides of what they arrange.
BY_STRIDES = ("view", "_unsafe_view", "as_strided", "as_strided_scatter", "view_as_complex")

#: Types of PyTorch in the program; of complex numbers, that of their parts.
TYPES = {
    torch.bool: "bool", torch.float32: "float32", torch.float64: "float64", torch.bfloat16: "bfloat16",
    torch.float16: "float16", torch.int64: "int64", torch.int32: "int32", torch.int16: "int32", torch.int8: "int32", torch.uint8: "int32",
    torch.complex64: "float32", torch.complex128: "float64",
}  # fmt: skip

#: Whole numbers that are kept in wider ones, by their bits.
NARROW = {torch.int16: 16, torch.int8: 8, torch.uint8: 8}

#: Operations that move elements of a type and compute none; results of others may be beyond a narrow type.
MOVING = (
    *NO_COPY, *BY_STRIDES, "_reshape_alias", "amax", "amin", "cat", "contiguous", "diagonal", "embedding", "flip", "gather", "index",
    "index_select", "median", "repeat", "reshape", "select_scatter", "slice_scatter", "stack", "view_copy",
)  # fmt: skip


def type_name(dtype: torch.dtype) -> str:
    if dtype not in TYPES:
        raise Gap(f"arrays of {dtype}; known are {', '.join(dict.fromkeys(str(kind).partition('.')[2] for kind in TYPES))}")
    return TYPES[dtype]


def numpy_of(tensor: torch.Tensor) -> Optional[np.ndarray]:
    """The values of a tensor; None for a shape only."""
    if tensor.device.type == "meta":
        return None
    wide = tensor.detach().cpu()
    if wide.dtype in (torch.bfloat16, torch.float16):
        wide = wide.float()
    if wide.dtype in NARROW:
        wide = wide.int()
    return np.asarray(wide.numpy(force=True))  # also of a gradient that is known to be 0


def operation_name(target: Any) -> str:
    """An operation's name without its namespace and its overload."""
    return str(target._schema.name.split("::")[1])


#: Arguments of all operations that change no value: where a result lies and how; the type is that of the result.
PLACEMENT = ("copy", "device", "dtype", "implicit", "layout", "memory_format", "non_blocking", "pin_memory")

#: Arguments of an operation that its handler may leave unread: the shapes of the results say the same, or another argument.
NEUTRAL: Dict[str, Tuple[str, ...]] = {
    "_assert_tensor_metadata": ("size", "stride"), "_log_softmax": ("half_to_float",), "_softmax": ("half_to_float",),
    "_scaled_dot_product_flash_attention_for_cpu_backward":
        ("dropout_p", "is_causal", "key", "logsumexp", "out", "query", "scale", "value"),  # those of the op whose result it has
    "_grouped_mm": ("out_dtype",), "arange": ("end",), "argmax": ("keepdim",), "argmin": ("keepdim",), "chunk": ("chunks",), "copy": ("self",), "copy_": ("self",),
    "embedding": ("padding_idx", "scale_grad_by_freq", "sparse"), "index": ("indices",), "nonzero": ("self",), "masked_scatter_backward": ("sizes",), "fill": ("self",), "native_group_norm": ("N", "C", "HxW"),
    **dict.fromkeys(("kthvalue", "median"), ("keepdim",)), **dict.fromkeys(("linalg_cholesky_ex", "linalg_lu_factor_ex"), ("check_errors",)), "lu_unpack": ("unpack_data", "unpack_pivots"), "diagonal_backward": ("input_sizes",), "select_backward": ("input_sizes",), "sort": ("stable",), "split_with_sizes": ("split_sizes",), "topk": ("sorted",),
    "unsafe_chunk": ("chunks",), "_unsafe_index_put": ("unsafe",), "index_put": ("unsafe",),
    **dict.fromkeys(("avg_pool2d_backward", "avg_pool3d_backward"), ("self",)),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), ("ceil_mode",)),
    **dict.fromkeys(("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"),
                    ("ceil_mode", "dilation", "kernel_size", "padding", "self", "stride")),  # those of the windows that places are of
    **dict.fromkeys(("convolution", "convolution_backward"), ("bias_sizes", "output_padding")),
    **dict.fromkeys(("split", "unsafe_split"), ("split_size",)), **dict.fromkeys(("squeeze", "unsqueeze"), ("dim",)), "transpose": ("dim0", "dim1"),
    **dict.fromkeys(("full_like", "ones_like", "zeros_like", "empty_like", "new_full", "new_ones", "new_zeros", "new_empty",
                     "new_empty_strided", "empty_strided"), ("self", "size", "stride")),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "view_copy", "_reshape_alias", "expand", "full", "ones", "zeros", "empty"),
                    ("implicit", "shape", "size", "stride")),
}  # fmt: skip


class Arguments:
    """The arguments of a call; records which arguments the handler reads."""

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values
        self._read: Set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        self._read.add(name)
        return self._values[name]

    def changed(self, change: Callable[[str, Any], Any]) -> "Arguments":
        """The arguments with changed values; a read of a changed argument counts for both."""
        made = Arguments({name: change(name, value) for name, value in self._values.items()})
        made._read = self._read
        return made

    def demand_read(self, target: Any) -> None:
        """Refuse an unread argument unless it has its default or changes no value."""
        for argument in target._schema.arguments:
            name = argument.name
            if name in self._read or name in (*PLACEMENT, *NEUTRAL.get(operation_name(target), ())):
                continue
            value, default = self._values[name], argument.default_value
            if isinstance(value, (Array, Complex, torch.Tensor)) or (value is not None and value is not False and value != default):
                raise Gap(f"'{target}' with unsupported {name}={value!s:.60}")


class Call:
    """A node of the graph with the values of its arguments, by their names in the schema."""

    def __init__(self, reader: "Reader", node: Any, arguments: Arguments) -> None:
        self.reader = reader
        self.program = reader.program
        self.node = node
        self.arguments = arguments

    def __getattr__(self, name: str) -> Any:
        return getattr(self.arguments, name)

    @property
    def name(self) -> str:
        return operation_name(self.node.target)

    @property
    def values(self) -> Tuple[Any, ...]:
        """The node's results as tensors without values (shapes only)."""
        made = self.node.meta.get("val")  # a value read from a tensor may have none
        return tuple(made) if isinstance(made, (list, tuple)) else (made,)

    @property
    def of_number(self) -> bool:
        """Whether an operation along an axis is of a single number, which is a row of one element then."""
        first = self.node.args[0] if self.node.args else None
        made = first.meta.get("val") if isinstance(first, torch.fx.Node) else None
        along = any(argument.name == "dim" for argument in self.node.target._schema.arguments)
        return along and isinstance(made, torch.Tensor) and not made.dim()

    @property
    def shape(self) -> Tuple[int, ...]:
        """The result's; of a row for a number."""
        shape = tuple(int(n) for n in self.values[0].shape)
        return shape or (1,) if self.of_number else shape

    @property
    def dtype(self) -> str:
        return type_name(self.values[0].dtype)

    def array(self, value: Any, dtype: Optional[str] = None) -> Array:
        """An argument as an array of the program, of the type if one is given."""
        lifted = self.reader.lift(value, dtype)
        lifted = self.program.reshape(lifted, (1,)) if self.of_number and not lifted.rank else lifted
        return lifted if dtype is None else self.program.convert(lifted, dtype)

    def numbers(self, value: Any) -> Complex:
        """An argument as a complex array, with parts of the result's type."""
        made = complex_of(self.program, self.reader.numbers(value, self.dtype))
        return of_parts(lambda x: self.array(x, self.dtype), made)  # type: ignore[no-any-return]

    def shaped(self, made: Any) -> Any:
        """The results, without the axis of a row that stands for a number."""
        if not self.of_number:
            return made

        def each_of(x: Any, shape: Any) -> Any:
            if isinstance(x, Complex):
                return of_parts(lambda part: self.program.reshape(part, shape), x)
            return self.program.reshape(x, shape) if isinstance(x, Array) else x

        each = [each_of(x, v.shape) for x, v in zip(_leaves(made), self.values)]
        return each if isinstance(made, (list, tuple)) else each[0]


Handler = Callable[[Call], Any]
HANDLERS: Dict[str, Handler] = {}

#: Handlers of operations on complex numbers.
COMPLEX: Dict[str, Handler] = {}

handles = adds_to(HANDLERS)
handles_complex = adds_to(COMPLEX)


class Reader:
    """Reads nodes into a program."""

    def __init__(self, program: Program, masked: Optional[int] = None) -> None:
        """`masked` is the bound on the elements that a mask selects."""
        self.program = program
        self.masks = Masks(program, self.numbers, masked)
        self.cuts: Dict[int, List[Tuple[int, Array]]] = {}  # of outputs, axes of which not all places count, and which do
        self.gaps: List[str] = []
        self._constants: Dict[Any, Array] = {}

    def read(self, graph: torch.fx.Graph, inputs: Sequence[Numbers]) -> List[Numbers]:
        env: Dict[Any, Any] = {}
        waiting = iter(inputs)
        for node in graph.nodes:
            self.masks.note(node)
            if node.op == "placeholder":
                env[node] = next(waiting)
            elif node.op == "get_attr":
                env[node] = self._attribute(_found(graph.owning_module, node.target), node)
            elif getattr(node.target, "namespace", "") == "profiler":
                env[node] = None  # marks of a section
            elif node.op == "output":
                self._declared()
                return [self._result(k, n, env) for k, n in enumerate(node.args[0])]
            else:
                self._place(node, env)
                env[node] = self._node(node, env)
        raise AssertionError("a graph without outputs")

    def _attribute(self, value: Any, node: Any) -> torch.Tensor:
        """A constant tensor.  What else a graph keeps are functions of control flow, which an operation calls."""
        if isinstance(value, torch.Tensor):
            return value.detach()
        reader = next(iter(node.users), node)
        place, operation = reader.meta.get("stack_trace") or self.program.where, getattr(reader.target, "__name__", reader.target)
        what = f"'{operation}' is not supported; write a loop of Python for a scan, and torch.where for a condition"
        raise InputError(f"{place}: {what}" if place else what)

    def _declared(self) -> None:
        """Have a run check what the program declares of numbers that are not known."""
        for said, line in self.masks.declared():
            self.program.where = line
            try:
                self.masks.check(said)
            except Gap as gap:
                self._note(gap)

    def _place(self, node: Any, env: Dict[Any, Any]) -> None:
        """The user's source line; for gradients, the line of an operand."""
        operands = [env[n].where for n in node.all_input_nodes if isinstance(env.get(n), (Array, Complex))]
        self.program.where = next((p for p in [node.meta.get("stack_trace"), *operands] if p), "")

    def _node(self, node: Any, env: Dict[Any, Any]) -> Any:
        args = torch.fx.map_arg(node.args, lambda n: env[n])
        kwargs = torch.fx.map_arg(node.kwargs, lambda n: env[n])
        if self.masks.is_size(node):
            return node.meta["val"]
        if node.target is operator.getitem:
            self.masks.bound(node)
            return args[0][args[1]]
        if not isinstance(node.target, torch._ops.OpOverload):
            return self._other(node, args)
        name = operation_name(node.target)
        if name == READING and not node.users:
            self.masks.number(node, self.lift(args[0]))
            return None
        try:
            args, kwargs = self.masks.entered(node, name, args, kwargs, env)
        except Gap as gap:
            raise InputError(f"{self.program.where}: {gap}" if self.program.where else str(gap)) from None
        if self._is_constant(name, node, args, kwargs):
            try:
                return _worked_out(node, args, kwargs)
            except RuntimeError as error:
                raise unread(self.program.where, node.target, error) from error
        call = Call(self, node, _bound(node.target, args, kwargs, self.masks.size))
        try:
            if is_drawn(node.target):  # of a tensor of sizes alone
                return self.program.leaf(f"random/{len(self.program.arrays)}", call.shape, call.dtype, data=True)
            if torch.Tag.nondeterministic_seeded in node.target.tags and name not in HANDLERS:
                raise Gap(f"random numbers ('{node.target}'); pass random numbers as arguments, or use module.eval()")
            of_complex = any(_is_complex(v) for v in [*_leaves(args), *_leaves(kwargs), *call.values])
            table = COMPLEX if of_complex else HANDLERS
            if name not in table:
                of = " of complex numbers" if of_complex and name in HANDLERS else ""
                raise Gap(f"the operation '{node.target}'{of} is not supported; compute it by other operations, or pass its result as an argument")
            handled = call.shaped(table[name](call))
            call.arguments.demand_read(node.target)
            return _wrapped(self.program, node, name, handled)
        except Gap as gap:
            self._note(gap)
            made = [self._stand_in(v) for v in call.values]
            return made if isinstance(node.meta.get("val"), (list, tuple)) else made[0]
        except InputError:
            raise
        except Exception as error:
            raise unread(self.program.where, node.target, error) from error

    def _result(self, at: int, node: Any, env: Dict[Any, Any]) -> Numbers:
        """An output of the program."""
        try:
            self.cuts[at] = self.masks.cuts(node)
            return self.numbers(env[node])
        except Gap as gap:
            self._place(node, env)
            self._note(gap)
            return self.program.number(0.0, "float32")

    def _note(self, gap: Gap) -> None:
        self.gaps.append(f"{self.program.where}: {gap}" if self.program.where else str(gap))

    def _other(self, node: Any, args: Any) -> Any:
        """Arithmetic of a value read from a tensor (an error by now); other nodes, such as control flow, are refused."""
        if node.op == "call_function" and all(_is_plain(v) and not isinstance(v, torch.Tensor) for v in _leaves(args)):
            return node.target(*args)
        what = f"'{node.target}' is not supported; call the function inside directly"
        raise InputError(f"{self.program.where}: {what}" if self.program.where else what)

    def _stand_in(self, value: Any) -> Any:
        """Stands in for an unsupported result, so that tracing goes on."""
        if not isinstance(value, torch.Tensor):
            return 1.0
        dtype = TYPES.get(value.dtype, "float32")
        made = self.program.leaf(f"gap/{len(self.gaps)}/{len(self.program.arrays)}", value.shape, dtype)
        return complex_of(self.program, made) if value.dtype.is_complex else made

    @staticmethod
    def _is_constant(name: str, node: Any, args: Any, kwargs: Any) -> bool:
        read = [*_leaves(args), *_leaves(kwargs)]
        if any(isinstance(v, (Array, Complex)) or not _is_plain(v) for v in read):
            return False
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            return False
        made = [v for v in _leaves(node.meta.get("val")) if isinstance(v, torch.Tensor)]
        repeated = _repeated(node, read)
        size = sum(math.prod(n for a, n in enumerate(v.shape) if a not in repeated) for v in made)
        return size <= CONSTANT_MOST or name in NO_COPY

    # ---- values

    def numbers(self, value: Any, dtype: Optional[str] = None) -> Numbers:
        """A real or complex value as an array or a complex array of the program."""
        if not _is_complex(value) or isinstance(value, Complex):
            return value if isinstance(value, Complex) else self.lift(value, dtype)
        return Complex(self.lift(value.real, dtype), self.lift(value.imag, dtype))

    def lift(self, value: Any, dtype: Optional[str] = None) -> Array:
        """A value as an array of the program: a constant is a number if all its elements are equal.

        `dtype` is that of a number without one; tensors keep theirs.
        """
        if isinstance(value, Array):
            return value
        if isinstance(value, (bool, int, float)):
            kind = dtype or ("float32" if isinstance(value, float) else "int32")
            cut = not is_float(kind) and math.isfinite(value)  # factors of whole numbers, for example
            return self.program.number((bool(value) if kind == "bool" else int(value)) if cut else value, kind)
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return self.masks.value(value)
        if not isinstance(value, torch.Tensor):
            raise Gap(f"{value!r} as an array")
        tensor = value.detach()
        for axis, step in enumerate(tensor.stride()):
            if step == 0:
                tensor = tensor.narrow(axis, 0, min(1, tensor.shape[axis]))
        return self.spread(self._constant(tensor), value.shape)

    def _constant(self, tensor: torch.Tensor) -> Array:
        name, array = type_name(tensor.dtype), numpy_of(tensor)
        if array is None:
            raise Gap("a constant on the device meta, which has no values; trace outside of torch.device('meta'), or pass an argument")
        first = array.reshape(-1)[:1]
        if not array.size or is_uniform(array):
            item = first[0] if array.size else 0
            number = self.program.number(float(item) if is_float(name) else int(item), name)
            return self.spread(number, array.shape) if array.ndim else number
        key = (name, array.shape, array.tobytes())
        if key not in self._constants:
            leaf = self.program.leaf(f"constants/{len(self._constants) + 1}", array.shape, name, array)
            leaf.attrs["constant"] = True
            self._constants[key] = leaf
        return self._constants[key]

    def spread(self, x: Array, shape: Sequence[int]) -> Array:
        """x broadcast to a shape, as by torch.expand."""
        shape = tuple(int(n) for n in shape)
        if x.shape == shape:
            return x
        first = len(shape) - x.rank
        source = [None if a < first else a - first for a in range(len(shape))]
        return self.program.view(x, source, shape)


def _is_complex(value: Any) -> bool:
    return isinstance(value, (Complex, complex)) or (isinstance(value, torch.Tensor) and value.dtype.is_complex)


def _wrapped(p: Program, node: Any, name: str, made: Any) -> Any:
    """The low bits of a result of a narrow type."""
    kind = getattr(node.meta.get("val"), "dtype", None)
    if kind not in NARROW or not isinstance(made, Array) or name in MOVING:
        return made
    half, most = p.number(2 ** (NARROW[kind] - 1), "int32"), p.number(2 ** NARROW[kind] - 1, "int32")
    if kind == torch.uint8:
        return p.map("bit_and", made, most)
    return p.map("sub", p.map("bit_and", p.map("add", made, half), most), half)


def _found(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _leaves(value: Any) -> List[Any]:
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _leaves(v)]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _is_plain(value: Any) -> bool:
    kinds = (torch.Tensor, bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
    return value is None or isinstance(value, kinds)


def _repeated(node: Any, read: Sequence[Any]) -> List[int]:
    """Axes of an elementwise result along which all operands are broadcast."""
    if torch.Tag.pointwise not in node.target.tags or not isinstance(node.meta["val"], torch.Tensor):
        return []
    rank = node.meta["val"].dim()
    operands = [v for v in read if isinstance(v, torch.Tensor)]

    def same(axis: int) -> bool:
        places = ((v, axis - rank + v.dim()) for v in operands)
        return all(at < 0 or v.stride(at) == 0 or v.shape[at] == 1 for v, at in places)

    return [a for a in range(rank) if same(a)]


def _worked_out(node: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
    """Evaluate a constant on this machine, along broadcast axes only once; arrays without values are 0."""
    kwargs = {**kwargs, "device": torch.device("cpu")} if kwargs.get("device") is not None else dict(kwargs)
    kwargs.pop("pin_memory", None)
    if operation_name(node.target) in BY_STRIDES:
        args = [_strided(args[0], node.args[0]), *args[1:]]
    repeated = _repeated(node, [*_leaves(args), *_leaves(kwargs)])
    if repeated:
        rank = node.meta["val"].dim()
        args = torch.fx.node.map_aggregate(args, lambda v: _once(v, repeated, rank))
    with torch.no_grad():
        made = node.target(*args, **kwargs)
        if "empty" in operation_name(node.target):
            made.zero_()
    return made.expand(node.meta["val"].shape) if repeated else made


def _strided(value: Any, node: Any) -> Any:
    """A constant with the strides that it has in the trace: it may have been worked out with fewer elements."""
    traced = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or traced is None or value.stride() == traced.stride():
        return value
    return torch.empty_strided(traced.shape, traced.stride(), dtype=value.dtype).copy_(value)


def _once(value: Any, axes: Sequence[int], rank: int) -> Any:
    if isinstance(value, torch.Tensor):
        for axis in axes:
            at = axis - rank + value.dim()
            value = value.narrow(at, 0, min(1, value.shape[at])) if at >= 0 else value
    return value


def _bound(target: Any, args: Sequence[Any], kwargs: Dict[str, Any], size: Callable[[Any], int]) -> Arguments:
    """Arguments by their names in the schema, with defaults; sizes are numbers."""
    bound: Dict[str, Any] = {}
    for k, argument in enumerate(target._schema.arguments):
        if k < len(args):
            bound[argument.name] = args[k]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value if argument.has_default_value() else None
        if "int" in str(argument.type):
            bound[argument.name] = torch.fx.node.map_aggregate(bound[argument.name], lambda v: size(v) if isinstance(v, torch.SymInt) else v)
    return Arguments(bound)
