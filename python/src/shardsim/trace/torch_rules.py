"""Layouts of modules as other libraries write them, as rules of from_torch."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Tuple

from ..errors import InputError

#: How each style lays out (weight, bias) over an axis; the weight of a linear layer is [out, in].
STYLES: Dict[str, Tuple[str, str]] = {
    **dict.fromkeys(("colwise", "colwise_rep", "colwise_gather_output"), ("first", "first")),
    **dict.fromkeys(("rowwise", "rowwise_rep", "rowwise_split_input"), ("second", "whole")),
    "embedding_colwise": ("second", "whole"),
    **dict.fromkeys(("embedding_rowwise", "vocab_parallel_rowwise"), ("first", "whole")),
    **dict.fromkeys(("replicate", "replicated", "replicated_with_grad_allreduce", "sequence_parallel"), ("whole", "whole")),
}


def rules_of_tp_plan(plan: Mapping[str, str], axis: str = "tp") -> List[Tuple[str, List[Any]]]:
    """Rules of a `tp_plan` of transformers: names of modules, with * for a number, and the style of each.

    A plan's names may lack what is in front of them, as those of `base_model_tp_plan` do.
    """
    specs: Dict[str, List[Any]] = {"first": [axis], "second": [None, axis], "whole": []}
    rules: List[Tuple[str, List[Any]]] = []
    for name, style in plan.items():
        if style not in STYLES:
            raise InputError(f"{name}: a style '{style}'; known are {', '.join(STYLES)}")
        module = "(^|[.])" + re.escape(name).replace(r"\*", "[^.]+")
        for parameter, place in zip(("weight", "bias"), STYLES[style]):
            rules.append((f"{module}[.]{parameter}$", specs[place]))
    return rules
