"""Read and write the program's .safetensors files."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Dict, List, Mapping

import numpy as np

TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I8": "int8",
    "U8": "uint8", "U32": "uint32", "BOOL": "bool",
}  # fmt: skip
NAMES = {name: code for code, name in TYPES.items()}


def write_tensors(path: "str | os.PathLike[str]", arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file."""
    header: Dict[str, object] = {}
    blobs: List[bytes] = []
    at = 0
    for name, array in arrays.items():
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": NAMES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for blob in blobs:
            file.write(blob)


def read_tensors(path: "str | os.PathLike[str]") -> Dict[str, np.ndarray]:
    """All arrays of a file; bfloat16 becomes float32."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    out = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = (8 + length + o for o in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            bits = np.frombuffer(data[first:last], np.uint16).astype(np.uint32) << 16
            array = bits.view(np.float32)
        else:
            array = np.frombuffer(data[first:last], TYPES[entry["dtype"]])
        out[name] = array.reshape(entry["shape"])
    return out
