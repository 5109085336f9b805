"""Other libraries' layouts of modules, converted to rules of from_torch."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from ..errors import InputError

if TYPE_CHECKING:
    import torch

#: How each style lays out (weight, bias) over an axis; the weight of a linear layer is [out, in].
STYLES: Dict[str, Tuple[str, str]] = {
    **dict.fromkeys(("colwise", "colwise_rep", "colwise_gather_output"), ("first", "first")),
    **dict.fromkeys(("rowwise", "rowwise_rep", "rowwise_split_input"), ("second", "whole")),
    "embedding_colwise": ("second", "whole"),
    **dict.fromkeys(("embedding_rowwise", "vocab_parallel_rowwise"), ("first", "whole")),
    "packed_colwise": ("first", "first"),
    **dict.fromkeys(("replicate", "moe_tp_experts", "replicated", "replicated_with_grad_allreduce", "sequence_parallel"), ("whole", "whole")),
}


def rules_of_tp_plan(plan: Mapping[str, str], axis: str = "tp") -> List[Tuple[str, List[Any]]]:
    """Rules of a `tp_plan` of transformers: names of modules, with * for a number, and the style of each.

    A plan's names may lack what is in front of them, as those of `base_model_tp_plan` do.  A name may also be that of the
    weights of all experts, [experts, out, in].  Packed weights (gates before the others) are sharded in one piece, so that
    devices exchange slices of the product; transformers shards each of the two.
    """
    specs: Dict[str, List[Any]] = {"first": [axis], "second": [None, axis], "whole": []}
    rules: List[Tuple[str, List[Any]]] = []
    for name, style in plan.items():
        if style not in STYLES:
            raise InputError(f"{name}: a style '{style}'; known are {', '.join(STYLES)}")
        module = "(^|[.])" + re.escape(name).replace(r"\*", "[^.]+")
        for parameter, place in zip(("[.]weight", "[.]bias"), STYLES[style]):
            rules.append((f"{module}{parameter}$", specs[place]))
        rules.append((f"{module}$", [None, *specs[STYLES[style][0]]]))
    return rules


def layout_of_dtensors(module: torch.nn.Module) -> Tuple[Dict[str, int], List[Tuple[str, List[Any]]]]:
    """The mesh, and a rule for each parameter and buffer that is a DTensor, of a module that PyTorch laid out.

    For `parallelize_module`, `fully_shard`, `distribute_tensor`: what is traced is the same module without them.
    """
    from torch.distributed.tensor import DTensor

    mesh: Dict[str, int] = {}
    rules: List[Tuple[str, List[Any]]] = []
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if not isinstance(tensor, DTensor):
            continue
        axes = tensor.device_mesh.mesh_dim_names
        if axes is None:
            raise InputError(f"{name}: the device mesh has no dimension names; set mesh_dim_names")
        for axis, size in zip(axes, tensor.device_mesh.shape):
            if mesh.setdefault(axis, size) != size:
                raise InputError(f"{name}: mesh axis '{axis}' has {size} devices, but {mesh[axis]} elsewhere")
        sizes = [mesh[axis] for axis in axes]
        rules.append((f"^{re.escape(name)}$", _spec_of_placements(name, tensor.ndim, axes, sizes, tensor.placements)))
    if not rules:
        raise InputError("no parameter or buffer of the module is a DTensor")
    return mesh, rules


def _spec_of_placements(
    name: str, rank: int, axes: Sequence[str], sizes: Sequence[int], placements: Sequence[Any]
) -> List[Any]:
    """Mesh axes of each dimension, the outermost cut first.

    Placements are in the order of the mesh, and so are the cuts, but for a strided shard: its dimension was cut
    by later axes first, into as many pieces as its split factor says, as fully_shard does it behind a cut by tp.
    """
    cuts: List[List[int]] = [[] for _ in range(rank)]
    for k in reversed(range(len(axes))):
        placement = placements[k]
        if placement.is_replicate():
            continue
        dim = getattr(placement, "dim", None)  # a partial sum has none
        if dim is None:
            raise InputError(f"{name}: a placement {placement} over '{axes[k]}'; a parameter is sharded or replicated")
        outer, left = 0, getattr(placement, "split_factor", 1)
        while left > 1 and outer < len(cuts[dim]) and left % sizes[cuts[dim][outer]] == 0:
            left //= sizes[cuts[dim][outer]]
            outer += 1
        if left > 1:
            raise InputError(f"{name}: a placement {placement} over '{axes[k]}' of pieces that no other axis shards")
        cuts[dim].insert(outer, k)
    spec = [[axes[k] for k in one] for one in cuts]
    return [None if not one else one[0] if len(one) == 1 else one for one in spec]
