"""Arrays whose size a mask decides: x[mask], nonzero, and what is computed from them.

PyTorch's trace has a symbol for the number of elements that a mask selects.  A program has no sizes by value: an axis with
a symbol becomes an axis of a bounded size, and booleans tell which places of the axis count.  Without a bound the elements
stay at the places of the mask; with a bound they are moved to the front.  The values at other places are arbitrary: before
elements of different places meet (in sums, products, maxima), other places get the operation's neutral value.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch

from .array import Array, Gap, is_float
from .arrays import Program
from .complex_arrays import Complex, truth
from .ranges import LIMITS
from .whole import EXACT_MOST

#: Operations whose result has as many elements as a mask selects, and the position of the mask, or of a list with it.
SELECTING = {"nonzero": 0, "index": 1}

#: Operations that compute each place by itself, beside those of elements.
EACH_BY_ITSELF = (
    "view", "_unsafe_view", "view_copy", "reshape", "_reshape_alias", "unsqueeze", "squeeze", "permute", "transpose", "t", "expand", "repeat",
    "full_like", "ones_like", "zeros_like", "empty_like", "copy", "clone", "contiguous",
    "detach", "alias", "lift_fresh_copy", "_to_copy", "convert_element_type", "_assert_tensor_metadata", "masked_scatter", "stack", "select_backward",
    "floor_divide", "hardshrink_backward", "softshrink_backward", "__and__", "__or__", "copy_", "fill",
    "_conj", "_neg_view", "resolve_conj", "resolve_neg", "view_as_complex", "view_as_real",
)  # fmt: skip

#: Operations along axes, which compute each place of another axis by itself.
ALONG = (
    "sum", "mean", "var", "var_mean", "amax", "amin", "prod", "any", "all", "max", "min", "argmax", "argmin", "_softmax", "_log_softmax",
    "_safe_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "gather", "scatter", "scatter_add", "index_select", "topk", "sort",
    "kthvalue", "median", "cat", "index_add", "unbind", "split", "split_with_sizes", "select", "slice", "slice_backward", "flip",
)  # fmt: skip

#: Operations that read or write elements by ids.
BY_IDS = ("embedding", "index", "index_put")

#: Operations that write elements, among which another mask may select.
PUTTING = ("index_put", "masked_scatter")

#: Operations that make an array of a given size, all of whose places are alike; of an operand only the type counts for some.
ALIKE = ("full", "ones", "zeros", "empty", "expand")
OF_A_SHAPE = ("new_full", "new_zeros", "new_ones", "new_empty")

#: What places that do not count have to be, so that they change nothing along the axis.
NEUTRAL = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "addmm", "baddbmm", "addmv", "sum", "mean", "var", "var_mean", "any", "cumsum"), 0.0),
    **dict.fromkeys(("scatter_add", "embedding_dense_backward", "index_add", "index_put"), 0.0), **dict.fromkeys(("prod", "all", "cumprod"), 1.0), **dict.fromkeys(("amin", "min"), math.inf),
    **dict.fromkeys(("amax", "max", "_softmax", "_log_softmax", "_safe_softmax"), -math.inf),
}  # fmt: skip

#: Of these, operations of at least one element: of none PyTorch raises an error.
OF_SOME = ("amax", "amin", "max", "min")

#: Of these, operations that add elements at ids, and the position of the elements.
ADDING = {"index_add": 3, "scatter_add": 3, "index_put": 2, "embedding_dense_backward": 0}

#: Operations that leave a mask as it is.
SAME = ("detach", "alias", "clone", "lift_fresh_copy")

#: The operation that reads a number from a tensor.
READING = "_local_scalar_dense"

#: What is wrong where a relation does not hold.
OPPOSITE = {"==": "not_equal", "!=": "equal", "<": "greater_equal", "<=": "greater", ">": "less_equal", ">=": "less"}

#: Functions of sizes; a whole quotient is a quotient that is rounded down.
OF_SIZES = {
    "Add": "add", "Mul": "mul", "IntTrueDiv": "div", "FloatTrueDiv": "div", "Max": "max", "Min": "min",
    **dict.fromkeys(("Mod", "PythonMod"), "rem"), **dict.fromkeys(("FloorDiv", "CleanDiv"), "div"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Selection:
    """The places that a mask selects."""

    key: str  # equal for masks that are computed alike
    size: int  # the room
    count: Array
    counts: Optional[Array]  # [size] booleans; None: every place counts
    places: Optional[Array]  # [size] the element of the mask; None: each at its own place


#: An axis that is made of a selection's: the selection repeated as a whole, and each of its places.
Axis = Tuple[int, Selection, int]


class Masks:
    """The selections of a graph, and the sizes that are made of them."""

    def __init__(self, program: Program, lift: Callable[[Any], Any], most: Optional[int]) -> None:
        """`most` is the bound on the elements that a mask selects."""
        self.program, self._lift, self._most = program, lift, most
        self.shapes: Dict[Any, Sequence[Any]] = {}  # of nodes, with symbols
        self._selections: Dict[str, Selection] = {}
        self._symbols: Dict[Any, Selection] = {}
        self._numbers: Dict[Any, Array] = {}  # of each symbol, also of one that the program declares to be a number
        self._lines: Dict[Any, str] = {}  # of each symbol
        self._declared: List[Any] = []  # what the program declares of these numbers (torch._check)
        self._bounded: Set[Any] = set()  # of this, what a selection checks as its bound
        self._some: Set[int] = set()  # counts that must not be 0
        self._merged: Dict[Any, Axis] = {}  # axes of sizes that are no symbols
        self._keys: Dict[Any, str] = {}
        self._known: Dict[str, str] = {}
        self._filled: Dict[Any, Array] = {}

    # ---- what is computed alike

    def note(self, node: Any) -> None:
        """Number a node by its operation and operands: nodes with one number have equal values."""
        if node.op == "call_function" and not _draws(node):
            if getattr(node.target, "_opname", "") in SAME:
                self._keys[node] = self._keys[node.args[0]]
                return
            said = repr((str(node.target), torch.fx.map_arg((node.args, node.kwargs), lambda n: Name(f"%{self._keys[n]}"))))
        else:
            said = node.target if node.op == "get_attr" else node.name
        self._keys[node] = self._known.setdefault(said, f"{len(self._known)}")

    # ---- sizes

    def size(self, size: Any) -> int:
        """The room that a size has."""
        if isinstance(size, int):
            return size
        expression = size.node.expr
        return int(expression.subs({s: self._symbols[s].size for s in expression.free_symbols}))

    def is_size(self, node: Any) -> bool:
        """Whether a node is a size, or a number made of sizes."""
        made = node.meta.get("val")
        read = getattr(node.target, "_opname", "") == READING
        return isinstance(made, (torch.SymInt, torch.SymFloat)) and not read and all(s in self._symbols for s in made.node.expr.free_symbols)

    def value(self, size: Any, dtype: str = "float64") -> Array:
        """A number made of sizes, as a value."""
        return self._computed(size.node.expr, dtype)

    def _computed(self, expression: Any, dtype: str) -> Array:
        p, name = self.program, type(expression).__name__
        if expression.is_number:
            return p.number(float(expression), dtype)
        if expression.is_Symbol:
            return p.convert(self._numbers[expression], dtype)
        fn = OF_SIZES.get(name)
        operands = [self._computed(e, dtype) for e in expression.args]
        if name == "ToFloat":
            return operands[0]
        if fn is None:
            raise Gap(f"{expression}, a number made of how many elements a mask selects; compute it from mask.sum()")
        made = operands[0]
        for other in operands[1:]:
            made = p.map(fn, made, other)
        return p.map("floor", made) if name == "FloorDiv" else made

    def number(self, node: Any, value: Array) -> None:
        """Note a number that is read from a tensor, and serves what the program declares of it alone."""
        self._note(node.meta["val"], value)

    def _note(self, size: Any, value: Array) -> None:
        if isinstance(size, (torch.SymInt, torch.SymFloat)):
            for symbol in (e for e in (size.node._expr, size.node.expr) if e.is_Symbol):
                self._numbers.setdefault(symbol, value)
                self._lines.setdefault(symbol, self.program.where)
            self._declared = declared(size)

    def declared(self) -> List[Tuple[Any, str]]:
        """What the program declares of numbers, beside the bounds of selections, and the line of a number."""
        first: Dict[int, Any] = {}
        alike = {symbol: first.setdefault(value.number, symbol) for symbol, value in self._numbers.items()}
        found = dict.fromkeys(said.xreplace(alike) for said in self._declared if said.free_symbols <= alike.keys())
        return [(said, self._lines[min(said.free_symbols, key=str)]) for said in found if said.free_symbols and said not in self._bounded]

    def check(self, said: Any) -> None:
        """A run has to find numbers as the program declares them."""
        if getattr(said, "rel_op", "") not in OPPOSITE:
            raise Gap(f"torch._check({said}) of numbers that are not known; a check of one relation is supported")
        wrong = self.program.compare(OPPOSITE[said.rel_op], *(self._computed(side, "float64") for side in said.args))
        names = " and ".join(sorted(map(str, said.free_symbols)))
        what = f"torch._check({said}) does not hold, of {names}, read from a tensor or the number of elements that a mask selects"
        self.program.bounds.append((self.program.convert(wrong, "float32"), what))

    def rank(self, node: Any, axis: int, places: Array) -> Array:
        """Of places along an axis of a node, which of the places that count each is."""
        counts, p = self.counts(self.shapes[node][axis]) if node in self.shapes else None, self.program
        if counts is None:
            return places
        ranks = p.map("sub", p.along("cumsum", p.convert(counts, "int32"), 0), p.number(1, "int32"))
        return p.embed(ranks, places)

    def of(self, mask: Any) -> Optional[Selection]:
        """The selection of a node that is a mask."""
        return self._selections.get(self._keys[mask])

    def along(self, node: Any, axis: int) -> Optional[Selection]:
        """The selection that an axis of a node is."""
        size = self.shapes[node][axis] if node in self.shapes else 0
        return None if isinstance(size, int) else self._symbols.get(size.node.expr)

    def _axis(self, size: Any) -> Optional[Axis]:
        """What an axis is made of; None if each place counts."""
        expression = None if isinstance(size, int) else size.node.expr
        if expression is None or all(self._symbols[s].counts is None for s in expression.free_symbols):
            return None
        if expression.is_Symbol:
            return 1, self._symbols[expression], 1
        if expression not in self._merged:
            raise Gap("a size computed from the number of elements that a mask selects; elementwise operations and sums are supported")
        return self._merged[expression]

    def counts(self, size: Any) -> Optional[Array]:
        """Which places of an axis count; None if all do."""
        axis = self._axis(size)
        if axis is None:
            return None
        before, selection, after = axis
        p, counts = self.program, selection.counts
        assert counts is not None
        return p.reshape(p.broadcast(counts, (before, selection.size, after), [1]), [before * selection.size * after])

    def elements(self, node: Any, axes: Sequence[int]) -> Optional[Array]:
        """How many elements along axes of a node count; None if the node has no axis that a mask decides."""
        sizes = [self.shapes[node][a] for a in axes] if node in self.shapes else []
        if all(self._axis(n) is None for n in sizes):
            return None
        made = self.program.number(1.0, "float64")
        for size in sizes:
            other = self.program.number(float(size), "float64") if isinstance(size, int) else self.value(size)
            made = self.program.map("mul", made, other)
        return made

    # ---- nodes

    def entered(self, node: Any, name: str, args: Any, kwargs: Any, env: Dict[Any, Any]) -> Tuple[Any, Any]:
        """The arguments of a node, neutral at places outside a selection; the node's shape becomes the bounded shape."""
        if name in SELECTING:
            self._select(node, name, args)
        self.bound(node)
        if not any(n in self.shapes for n in node.all_input_nodes):
            if self._decided(node) and name not in (*ALIKE, *SELECTING):
                raise Gap(f"'{node.target}' of as many elements as a mask selects; torch.where(mask, x, 0) keeps all")
            return args, kwargs
        if name in ("view", "_unsafe_view", "view_copy", "reshape", "_reshape_alias"):
            self._reshaped(node)
        neutral, along = self._neutral(node, name)
        if neutral is None:
            return args, kwargs
        if name in OF_SOME:
            self._demand_some(node.args[0], along)
        if name not in ADDING:
            made = torch.fx.map_arg((node.args, node.kwargs), lambda n: self.filled(n, env[n], neutral, along))
            return made[0], made[1]
        args, elements = [*args], node.args[ADDING[name]]
        args[ADDING[name]] = self.filled(elements, env[elements], neutral)
        if name == "index_put":  # which changes nothing at ids beyond the array, whatever the ids of other axes are
            sizes = [1 if n is None else size for n, size in zip(node.args[1], node.args[0].meta["val"].shape)]
            beyond = [float(math.prod(sizes[: axis + 1])) for axis in range(len(sizes))]
            args[1] = [None if n is None else self.filled(n, env[n], first) for n, first in zip(node.args[1], beyond)]
        return args, kwargs

    def bound(self, node: Any) -> None:
        """Give a node, of which the shape is kept, a shape of numbers."""
        made = node.meta.get("val")
        each = made if isinstance(made, (list, tuple)) else [made]
        sizes = [n for v in each if isinstance(v, torch.Tensor) for n in v.shape if not isinstance(n, int)]
        if any(s not in self._symbols for n in sizes for s in n.node.expr.free_symbols):
            raise Gap(f"'{node.target}' makes an array whose size depends on values; torch.where keeps the size")
        if not sizes:
            return
        bounded = [torch.empty([self.size(n) for n in v.shape], dtype=v.dtype, device="meta") if isinstance(v, torch.Tensor) else v for v in each]
        if isinstance(made, torch.Tensor):
            self.shapes[node] = tuple(made.shape)
        node.meta["val"] = bounded[0] if isinstance(made, torch.Tensor) else bounded

    def _select(self, node: Any, name: str, args: Any) -> None:
        """Make the selection of a mask, and note the symbol of its size."""
        at, one, mask = 0, node.args[SELECTING[name]], args[SELECTING[name]]
        if name == "index":
            if (found := _lone_mask(one)) is None:
                return
            at, one, mask = found, one[found], mask[found]
        size = node.meta["val"].shape[at]
        made = self.selected(one, mask, size)
        self._note(size, made.count)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
            alike = self._symbols.setdefault(size.node.expr, made) is made
        else:
            alike = made.counts is None and made.size == self.size(size)
        if not alike:
            raise Gap("two selections that the program declares equal in number; compute the mask once")

    def selected(self, node: Any, mask: Any, size: Any) -> Selection:
        """The selection of a mask, of which the node is one: `size` has what is known of its number of elements."""
        key = self._keys[node]
        if key in self._selections:
            return self._selections[key]
        p = self.program
        if isinstance(mask, torch.Tensor):
            places = mask.flatten().nonzero().flatten().int()
            made = Selection(key, len(places), p.number(len(places), "int32"), None, self._lift(places))
        else:
            mask = self.filled(node, mask, 0.0)
            total = math.prod(mask.shape)
            flat = p.reshape(truth(p, mask), [total])
            made = self._room(key, flat, *self._bounds(size, min(total, self._most or total)))
        self._selections[key] = made
        return made

    def _room(self, key: str, flat: Array, most: int, exactly: bool) -> Selection:
        """The selection of a mask of which the number of elements depends on values."""
        p, total = self.program, flat.shape[0]
        count = p.reduce("sum", p.convert(flat, "int32"), [0])
        if most < total or exactly:
            self.demand(count, most, exactly)
        most, exactly = max(1, most), exactly and most > 0
        if most >= total:
            return Selection(key, total, count, None if exactly else flat, None)
        counts = None if exactly else p.compare("less", p.iota(most, "int32"), p.broadcast(count, (most,), []))
        return Selection(key, most, count, counts, first_places(p, flat, most))

    def _bounds(self, size: Any, most: int) -> Tuple[int, bool]:
        """Upper bound on the number of selected elements, and whether the number is exact.

        PyTorch's own range of a number ends at 2 or more, whatever is declared.
        """
        if isinstance(size, int):
            return size, True
        exactly, symbol = bool(size.node.expr.is_number), size.node._expr
        upper = size.node.shape_env.bound_sympy(size.node.expr).upper
        most = int(size.node.expr) if exactly else min(most, int(upper)) if upper.is_Integer else most
        for said in declared(size):
            if getattr(said, "rel_op", "") in ("==", "<", "<=") and said.args[0] == symbol and said.args[1].is_Integer:
                most, exactly = min(most, int(said.args[1]) - (said.rel_op == "<")), exactly or said.rel_op == "=="
                self._bounded.add(said)
        return most, exactly

    def _demand_some(self, node: Any, along: Optional[List[int]]) -> None:
        """A run has to find elements along axes of a node."""
        p, shape = self.program, self.shapes[node]
        for axis in range(len(shape)) if along is None else [d % len(shape) for d in along]:
            made = self._axis(shape[axis])
            if made is not None and made[1].count.number not in self._some:
                self._some.add(made[1].count.number)
                none = p.compare("less", made[1].count, p.number(1, "int32"))
                p.bounds.append((p.convert(none, "float32"), "the maximum or minimum of no elements: the mask selects none"))

    def demand(self, count: Array, most: int, exactly: bool) -> None:
        """A run has to find as many elements, or at most as many."""
        p = self.program
        wrong = p.compare("not_equal" if exactly else "less", *((count, p.number(most, "int32")) if exactly else (p.number(most, "int32"), count)))
        what = f"the mask does not select {most} elements" if exactly else f"the mask selects more than {most} elements"
        p.bounds.append((p.convert(wrong, "float32"), f"{what}, the number in `masked` or in the program"))

    def _reshaped(self, node: Any) -> None:
        """Note what an axis of another size is made of."""
        before, after = self.shapes.get(node.args[0], ()), self.shapes.get(node, ())
        for at, size in enumerate(before):
            axis = self._axis(size)
            if axis is None:
                continue
            outer, selection, _ = axis
            first = math.prod(self.size(n) for n in before[:at]) * outer
            for place, other in enumerate(after):
                if isinstance(other, int):
                    continue
                around = math.prod(self.size(n) for n in after[:place])
                inner, rest = first // around, self.size(other) // max(1, first // around * selection.size)
                if inner * around == first and rest and inner * selection.size * rest == self.size(other):
                    break
            else:
                raise Gap("a reshape across how many elements a mask selects; torch._check(x.shape[0] == N) tells a number that is known")
            found = (inner, selection, rest)
            if other.node.expr.is_Symbol and (inner, rest) == (1, 1):
                continue
            if self._merged.setdefault(other.node.expr, found) != found:
                raise Gap("two orders of one size, made of how many elements a mask selects")

    def _neutral(self, node: Any, name: str) -> Tuple[Optional[float], Optional[List[int]]]:
        """The neutral value for places of operands outside a selection, and the axes along which to fill (None: all axes);
        no value if the operation computes each place separately."""
        axes = {n: [a for a, size in enumerate(self.shapes[n]) if self._axis(size) is not None] for n in node.all_input_nodes if n in self.shapes}
        if not any(axes.values()) or name == "nonzero":
            return None, None
        self._demand_one(node)
        if name in (*EACH_BY_ITSELF, *OF_A_SHAPE) or torch.Tag.pointwise in node.target.tags:
            return None, None
        along, known, own = None, name in NEUTRAL, set(axes.get(node.args[0], [])) if isinstance(node.args[0], torch.fx.Node) else set()
        if name in BY_IDS:
            indexed = [0] if name == "embedding" else _indexed(node.args[1]) if _lone_mask(node.args[1]) is None else []
            known = not set(indexed) & own
            if known and (name != "index_put" or not indexed):
                return None, None
        elif name in ALONG:
            along = _dims(node)
            read = [n for n in axes if name not in ("gather", "index_select") or n is node.args[0]]
            if along is not None and not any(d % len(self.shapes[n]) in axes[n] for n in read for d in along):
                return None, None
            places = name in ("max", "min") or (name in ADDING and bool({d % len(node.args[0].meta["val"].shape) for d in along or ()} & own))
            known = known and not (places and along is not None)  # a place would be one of the room
        elif known and sum(map(len, axes.values())) <= self._decided(node):
            return None, None
        if not known:
            raise Gap(f"'{node.target}' among the elements that a mask selects; torch.where(mask, x, 0) keeps all,"
                      " and torch._check(x.shape[0] == N) tells a number that is known")  # fmt: skip
        return NEUTRAL[name], along

    def _decided(self, node: Any) -> int:
        return sum(self._axis(n) is not None for n in self.shapes.get(node, ()))

    def _demand_one(self, node: Any) -> None:
        """Elements of two selections do not meet: their places differ."""
        found = {axis[1] for n in [*node.all_input_nodes, node] for axis in map(self._axis, self.shapes.get(n, ())) if axis is not None}
        if len(found) > 1 and node.target._opname not in (*SELECTING, *PUTTING, *OF_A_SHAPE):
            raise Gap(f"elements that two masks select, in one operation ('{node.target}'); compute the mask once, or use torch.where(mask, x, 0)")

    def filled(self, node: Any, value: Any, neutral: float, along: Optional[List[int]] = None) -> Any:
        """An operand with a value at the places that do not count."""
        p, x, shape = self.program, value, self.shapes.get(node, ())
        for axis, size in enumerate(shape):
            counts = self.counts(size)
            if counts is not None and (along is None or axis in [d % len(shape) for d in along]):
                x = self._lift(x)
                if isinstance(x, Complex):
                    return Complex(self.filled(node, x.real, neutral, along), self.filled(node, x.imag, 0.0, along))
                key = x.number, neutral, axis, self._axis(size)
                if key not in self._filled:
                    self._filled[key] = p.select(p.broadcast(counts, x.shape, [axis]), x, p.number(_of_type(neutral, x.dtype), x.dtype))
                x = self._filled[key]
        return x

    def cuts(self, node: Any) -> List[Tuple[int, Array]]:
        """The axes of an output of which not all places count, and which count."""
        found = ((axis, self.counts(size)) for axis, size in enumerate(self.shapes.get(node, ())))
        return [(axis, counts) for axis, counts in found if counts is not None]


def first_places(p: Program, flat: Array, most: int) -> Array:
    """Indices of the true elements in order, then of the others: equal elements stay in their order."""
    return p.along("topk", p.convert(flat, "float32"), 0, most, dtype="int32")


class Name(str):
    """Text that is written without quotes."""

    __repr__ = str.__str__


def declared(size: Any) -> List[Any]:
    """What a program declares of its numbers, of which `size` is one."""
    return [one.expr for found in size.node.shape_env.deferred_runtime_asserts.values() for one in found]


def is_needed(node: Any) -> bool:
    """Whether a node stays in a graph that does not use it: the program declares something of the number that it makes."""
    if node.is_impure() or getattr(node.target, "_opname", "") not in (READING, *SELECTING):
        return bool(node.is_impure())
    made = node.meta.get("val")
    sizes = [n for n in (made.shape if isinstance(made, torch.Tensor) else [made]) if isinstance(n, (torch.SymInt, torch.SymFloat))]
    return any(n.node._expr.free_symbols & said.free_symbols for n in sizes for said in declared(n))


def _indexed(indices: Sequence[Any]) -> List[int]:
    """The indexed axes."""
    return [a for a, n in enumerate(indices) if n is not None]


def is_mask(node: Any) -> bool:
    return node.meta["val"].dtype in (torch.bool, torch.uint8)


def _lone_mask(indices: Sequence[Any]) -> Optional[int]:
    """The first axis of the mask among indices, which has to be the only one; None without a mask."""
    masks = [a for a in _indexed(indices) if is_mask(indices[a])]
    if masks and len(_indexed(indices)) > 1:
        raise Gap("a mask beside other indices; select by the mask first, and index the result")
    return masks[0] if masks else None


def _draws(node: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _dims(node: Any) -> Optional[List[int]]:
    """The axes that an operation is along; None if it is along all."""
    for k, argument in enumerate(node.target._schema.arguments):
        if argument.name in ("dim", "dims"):
            given = node.args[k] if k < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
            return None if given is None or given == [] else list(given) if isinstance(given, (list, tuple)) else [given]
    return None


def _of_type(value: float, dtype: str) -> float:
    """An infinite value as the last one of a type."""
    if is_float(dtype) or math.isfinite(value):
        return value if is_float(dtype) else int(value)
    low, high = LIMITS.get(dtype, (0, 1) if dtype == "bool" else (-EXACT_MOST, EXACT_MOST))
    return int(low if value < 0 else high)
