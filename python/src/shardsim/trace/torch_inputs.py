"""Input tensors of a trace: a module's, the arguments', and those of modules and optimizers around a function.

A training step is a function that uses a module and an optimizer from around it.  Parameters, buffers and the optimizer's
state are inputs then, under the variable's name, and their new values are outputs.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import inspect
from types import FunctionType, MethodType
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

import torch
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from ..errors import InputError
from .kept import filled, is_called, names_in


class Input(NamedTuple):
    """An input tensor: a parameter, a buffer, an optimizer's, or a part of an argument."""

    path: str
    tensor: torch.Tensor
    learned: bool  # with `grad`, its gradient is an output
    data: bool = False
    differentiable: bool = False  # for a `backward` of the function's own
    names: Tuple[str, ...] = ()  # that rules are looked up by, in this order


class Inputs:
    """The inputs of a call, and the call with others in their places."""

    def __init__(self, target: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._target = target
        is_module = isinstance(target, torch.nn.Module)
        self._modules: Dict[str, torch.nn.Module] = {"": target} if isinstance(target, torch.nn.Module) else {}
        self._optimizers: Dict[str, torch.optim.Optimizer] = {}  # around a function
        if not is_module:
            self._look_around(target, set())
        self.all: List[Input] = []
        self._places: Dict[int, int] = {}  # of the modules' and optimizers' tensors among the inputs
        for name, module in self._modules.items():
            for path, tensor in [*module.named_parameters(), *module.named_buffers()]:
                learns = tensor.requires_grad
                own = f"{name}.{path}" if name else path
                self._add(own, tensor, is_module and learns, not is_module and learns, (own,))
        laid = next((one.path for one in self.all if hasattr(one.tensor, "placements")), None)
        if laid is not None:
            raise InputError(f"{laid} is a DTensor: give the module without its layout, and layout_of_dtensors(module)")
        for path, names, tensor in list(self._states(self._places)):
            self._add(path, tensor, False, False, names)
        self._owned = len(self.all)
        self._paths, self._tree = pytree.tree_flatten_with_path((args, dict(kwargs)))
        arguments = _argument_names(target)
        for path, value in self._paths:
            if isinstance(value, torch.Tensor):
                learned = not is_module and (value.dtype.is_floating_point or value.dtype.is_complex)
                own = _path(path, arguments)
                self.all.append(Input(own, value.detach(), learned, is_module, False, (own,)))

    def _add(self, path: str, tensor: torch.Tensor, learned: bool, differentiable: bool, names: Tuple[str, ...]) -> None:
        if id(tensor) not in self._places:
            self._places[id(tensor)] = len(self.all)
            self.all.append(Input(path, tensor.detach(), learned, False, differentiable, names))

    def _look_around(self, value: Any, seen: Set[int]) -> None:
        """Find modules and optimizers named in a function, or in called functions of the same file."""
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, one in _named(value):
            known: Any = self._modules if isinstance(one, torch.nn.Module) else self._optimizers
            if isinstance(one, (torch.nn.Module, torch.optim.Optimizer)):
                if all(one is not other for other in known.values()):
                    known[name if name not in known else f"{name}.{len(known)}"] = one
            elif is_called(one, value):
                self._look_around(one, seen)

    def _states(self, places: Mapping[int, int]) -> Iterator[Tuple[str, Tuple[str, ...], torch.Tensor]]:
        """The states of optimizers, but for counters: a path, names for rules, and the tensor.

        A state lies as its parameter if it has the same shape and no rule of its own.
        """
        for name, optimizer in self._optimizers.items():
            for parameter, state in optimizer.state.items():
                at = places.get(id(parameter))
                for key, value in state.items():
                    if at is not None and isinstance(value, torch.Tensor) and not _is_counter(key, value, parameter):
                        path = f"{name}.{key}.{self.all[at].path}"
                        names = (path, *self.all[at].names) if value.dim() and value.shape == parameter.shape else ()
                        yield path, names, value

    @property
    def around(self) -> List[Any]:
        """Modules and optimizers with tensors among the inputs."""
        return [*self._modules.values(), *self._optimizers.values()]

    # ---- the call

    @contextlib.contextmanager
    def called(self, tensors: Sequence[torch.Tensor]) -> Iterator[Any]:
        """Call the target with other tensors in place of its own, until the context is closed.

        Optimizers keep the other tensors: `unchanged` restores them.
        """
        rest = iter(tensors[self._owned :])
        leaves = [next(rest) if isinstance(v, torch.Tensor) else v for _, v in self._paths]
        args, kwargs = pytree.tree_unflatten(leaves, self._tree)

        def instead(value: Any) -> Any:
            return tensors[self._places[id(value)]] if id(value) in self._places else value

        def state_instead(value: Any) -> Any:
            if id(value) in self._places or not isinstance(value, torch.Tensor) or value.is_meta or value.dim():
                return instead(value)
            return torch.tensor(value.item(), dtype=value.dtype)  # a counter, whose value is known in the trace

        with contextlib.ExitStack() as stack:
            for module in self._modules.values():
                own = {name: instead(p) for name, p in [*module.named_parameters(), *module.named_buffers()]}
                stack.enter_context(_reparametrize_module(module, own, tie_weights=True))
            for optimizer in self._optimizers.values():
                for group in optimizer.param_groups:
                    group["params"] = [instead(p) for p in group["params"]]
                states = {instead(p): {key: state_instead(v) for key, v in state.items()} for p, state in optimizer.state.items()}
                optimizer.state.clear()
                optimizer.state.update(states)
            yield self._target(*args, **kwargs)

    def updated(self, tensors: Sequence[torch.Tensor]) -> List[Tuple[str, Tuple[str, ...], torch.Tensor]]:
        """Parameters and states after the call, changed or not, as tuples of `_states`."""
        parameters = [(one.path, one.names, t) for one, t in zip(self.all, tensors) if one.differentiable]
        return [*parameters, *self._states({id(t): k for k, t in enumerate(tensors)})]


def _is_counter(key: str, state: torch.Tensor, parameter: torch.Tensor) -> bool:
    """Whether a state of one element is no state of the parameter's element."""
    return not state.dim() and (key == "step" or parameter.dim() > 0)


def _named(value: Any) -> List[Tuple[str, Any]]:
    """Objects named in a function's code, and attributes of a method's object or of a callable object."""
    if isinstance(value, MethodType):
        return [*_named(value.__self__), *_named(value.__func__)]
    if not isinstance(value, FunctionType):
        return list(getattr(value, "__dict__", {}).items())
    cells = zip(value.__code__.co_freevars, value.__closure__ or ())
    around = value.__globals__
    return [*((n, c.cell_contents) for n, c in cells if filled(c)), *((n, around[n]) for n in names_in(value.__code__) if n in around)]


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
