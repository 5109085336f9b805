#!/bin/sh
# Tests values of a graph's arrays from files: .safetensors and .npz, whose dims may be split or
# merged, whose whole numbers must fit, and whose faults are found before anything is executed.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"

# files.py FOLDER: the same arrays in both kinds of files, and files with one fault each.
cat >"$tmp/files.py" <<'PY'
import json, struct, sys, zipfile

folder = sys.argv[1] + "/"
CODES = {"F32": ("f", "<f4"), "I64": ("q", "<i8"), "BF16": ("H", None), "BOOL": ("?", "|b1"),
         "U32": ("I", "<u4")}


def pack(kind, values):
    return struct.pack(f"<{len(values)}{CODES[kind][0]}", *values)


def safetensors(name, arrays, change=None, cut=0):
    header, data = {}, b""
    for key, (kind, shape, values) in arrays.items():
        raw = pack(kind, values)
        header[key] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    if change:
        change(header)
    text = json.dumps(header).encode()
    with open(folder + name, "wb") as out:
        out.write((struct.pack("<Q", len(text)) + text + data)[: -cut or None])


def npz(name, arrays, method=zipfile.ZIP_STORED, order="False", text=None):
    with zipfile.ZipFile(folder + name, "w", method) as archive:
        for key, (kind, shape, values) in arrays.items():
            shape = "(" + "".join(f"{n}, " for n in shape) + ")"
            head = text or f"{{'descr': '{CODES[kind][1]}', 'fortran_order': {order}, 'shape': {shape}, }}"
            head = head.encode().ljust(117) + b"\n"
            raw = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + pack(kind, values)
            with archive.open(key + ".npy", "w", force_zip64=True) as member:
                member.write(raw)


x = [((i * 7919) % 1000) / 500 - 1 for i in range(128)]
w = [((i * 104729) % 1000) / 500 - 1 for i in range(512)]
both = {"x": ("F32", [8, 16], x), "layers/0/w": ("F32", [16, 32], w),
        "ids": ("I64", [8], [3, 0, 15, 7, 7, 1, 2, 14]), "mask": ("BOOL", [8], [True, False] * 4)}
safetensors("v.safetensors", both)
npz("v.npz", both)
safetensors("bf16.safetensors", both | {"x": ("BF16", [8, 4, 4], [0x3f80 + i for i in range(128)])})
npz("packed.npz", both, zipfile.ZIP_DEFLATED)
npz("columns.npz", both, order="True")
npz("objects.npz", both, text="{'descr': '|O', 'fortran_order': False, 'shape': (8,), }")
npz("keys.npz", both, text="{'descr': '<f4', 'descr': '<f4', 'shape': (8,), }")
npz("size.npz", both, text="{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999, 3), }")
npz("other.npz", both, text="{'descr': '<f4', 'fortran_order': False, 'shape': (8, 15), }")
safetensors("ids.safetensors", both | {"ids": ("I64", [8], [3, 0, 16, 7, 7, 1, 2, 14])})
safetensors("far.safetensors", both | {"ids": ("I64", [8], [3, 0, 1 << 32, 7, 7, 1, 2, 14])})
safetensors("u32.safetensors", both | {"ids": ("U32", [8], [3, 0, 4294967295, 7, 7, 1, 2, 14])})
safetensors("floats.safetensors", both | {"ids": ("F32", [8], [0] * 8)})
safetensors("shape.safetensors", both | {"x": ("F32", [16, 8], x)})
safetensors("cut.safetensors", both, cut=1)


def over(header):
    header["x"]["data_offsets"] = [4, 516]


safetensors("over.safetensors", both, over)
open(folder + "text.npz", "w").write("x: [1, 2]\n")
open(folder + "empty.npz", "w").close()
PY
python3 "$tmp/files.py" "$tmp"

cat >"$tmp/s.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
graph:
  dims: {b: 8, d: 16, h: 4, k: 8}
  values: v.safetensors
  inputs:
    x: {dims: [b, d], values: true}
    ids: {dims: [b], below: d, values: true}
    mask: {dims: [b], dtype: float32, values: true}
  params:
    w: {dims: [d, h, k], values: layers/0/w}
  ops:
    - y[b,h,k] = tanh(einsum(x, w)[b,h,k]) * mask
    - z = pick(x, ids, d)
  outputs: [y, z]
step: [forward]
params: [[w, [null, tp]]]
constraints: [[x, [dp]], [ids, [[dp, tp]]]]
YAML

for file in v.safetensors v.npz bf16.safetensors; do
    shardsim run "$tmp/s.yaml" --json --set "graph.values=$tmp/$file"
    is 0 "$file: the program is executed"
    holds "$file: and right" <<'PY'
assert r["verify"]["ok"], r["verify"]
PY
done
shardsim plan "$tmp/s.yaml" --set 'graph.inputs.ids={dims: [b], values: true}' --set graph.values=v.npz
is 2 "a file is looked for beside the scenario, or where --set is given"
(cd "$tmp" && "$shardsim" plan - <s.yaml >out 2>err)
ok $? "... and with a scenario of standard input in the current folder"

# FILE, and what is said of it; each is found when planned, values only when executed.
while IFS='|' read -r file text; do
    shardsim run "$tmp/s.yaml" --set "graph.values=$tmp/$file"
    [ "$status" -eq 2 ]
    ok $? "$file is refused"
    says err "$text" "$file: $text"
done <<'CASES'
packed.npz|'x' is compressed or encrypted; expected numpy.savez, not numpy.savez_compressed
columns.npz|'x': it lies in column order; expected row order: numpy.ascontiguousarray
objects.npz|'x': its type is none of little-endian floats
keys.npz|'x': its header has other keys than descr, fortran_order and shape
size.npz|'x': its shape is out of range
other.npz|'x': type and shape do not fit its size
ids.safetensors|s.yaml:8:40: error: element 2 of 'ids' is 16; expected a whole number from 0 to 15
far.safetensors|element 2 of 'ids' is 4294967296; expected a whole number from 0 to 15
u32.safetensors|element 2 of 'ids' is 4294967295; expected a whole number from 0 to 15
floats.safetensors|s.yaml:8:40: error: 'ids' is float32 in the file; expected whole numbers
shape.safetensors|s.yaml:7:31: error: 'x' is (16, 8) in the file; expected (8, 16), or the same
cut.safetensors|'mask' has 8 bytes from byte [0-9]* on, but the file has
over.safetensors|'x' and 'layers/0/w' lie over each other at byte
text.npz|a header of [0-9]* bytes; at most
empty.npz|the file ends inside its header
none.npz|cannot be opened
CASES
shardsim plan "$tmp/s.yaml" --set 'graph.params.w={dims: [d, h, k], values: layers/0/v}'
says err "has no array 'layers/0/v'; did you mean 'layers/0/w'?" "the name of an array"
shardsim plan "$tmp/s.yaml" --set 'graph.inputs.mask={dims: [b], dtype: float32, values: ids}'
says err "'ids' is int64 in the file; expected floats: 'dtype: int32' is for whole numbers" "its type"
shardsim plan "$tmp/s.yaml" --set 'graph.inputs.mask={dims: [b], dtype: int32}' --set 'graph.ops=["y = pick(x, mask, d)"]' \
    --set 'graph.outputs=[y]'
is 0 "whole numbers need no values"

done_testing
