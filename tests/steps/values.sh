#!/bin/sh
# Tests values of a graph's arrays from files: .safetensors and .npz, whose dims may be split or
# merged, whose whole numbers must fit, and whose faults are found before anything is executed; and
# outputs that a run writes.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

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
x[3] = -0.0 # z[0]
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
whole = open(folder + "v.safetensors", "rb").read()
open(folder + "behind.safetensors", "wb").write(whole + bytes(40))


def hole(header):
    at = max(h["data_offsets"][1] for h in header.values())
    header["free"] = {"dtype": "F32", "shape": [2], "data_offsets": [at + 12, at + 20]}


safetensors("hole.safetensors", both, hole)
open(folder + "hole.safetensors", "ab").write(bytes(20))
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
columns.npz|'x': column-major order; expected row-major: numpy.ascontiguousarray
objects.npz|'x': unsupported type; expected little-endian floats
keys.npz|'x': unknown header key; expected descr, fortran_order and shape
size.npz|'x': the shape is out of range
other.npz|'x': type and shape do not fit its size
ids.safetensors|s.yaml:8:40: error: element 2 of 'ids' is 16; expected a whole number from 0 to 15
far.safetensors|element 2 of 'ids' is 4294967296; expected a whole number from 0 to 15
u32.safetensors|element 2 of 'ids' is 4294967295; expected a whole number from 0 to 15
floats.safetensors|s.yaml:8:40: error: 'ids' is float32 in the file; expected whole numbers
shape.safetensors|s.yaml:7:31: error: 'x' is (16, 8) in the file; expected (8, 16), or the same
behind.safetensors|40 bytes after the last array, from byte [0-9]* on, belong to no array
hole.safetensors|12 bytes before 'free', from byte [0-9]* on, belong to no array
cut.safetensors|'mask' has 8 bytes from byte [0-9]* on, but the file has
over.safetensors|'x' and 'layers/0/w' overlap at byte
text.npz|a header of [0-9]* bytes; at most
empty.npz|the file ends inside its header
none.npz|cannot be opened
CASES
shardsim plan "$tmp/s.yaml" --set 'graph.params.w={dims: [d, h, k], values: layers/0/v}'
says err "has no array 'layers/0/v'; did you mean 'layers/0/w'?" "the name of an array"
shardsim plan "$tmp/s.yaml" --set 'graph.inputs.mask={dims: [b], dtype: float32, values: ids}'
says err "'ids' is int64 in the file; expected floats: 'dtype: int32' is for integers" "its type"
shardsim plan "$tmp/s.yaml" --set 'graph.inputs.mask={dims: [b], dtype: int32}' --set 'graph.ops=["y = pick(x, mask, d)"]' \
    --set 'graph.outputs=[y]'
is 0 "whole numbers need no values"

# ---- outputs ----

# right FILE: outputs of s.yaml are what plain Python computes
cat >"$tmp/right.py" <<'PY'
import json, math, struct, sys


def read(path):
    data = open(path, "rb").read()
    start = 8 + struct.unpack_from("<Q", data)[0]
    out = {}
    for name, a in json.loads(data[8:start]).items():
        begin, end = (start + n for n in a["data_offsets"])
        code = {"F32": "f", "I64": "q", "BOOL": "?"}[a["dtype"]]
        out[name] = a["shape"], struct.unpack(f"<{math.prod(a['shape'])}{code}", data[begin:end])
    return out


given, got = read(sys.argv[1]), read(sys.argv[2])
x, w, ids, mask = (given[n][1] for n in ("x", "layers/0/w", "ids", "mask"))
assert list(got) == ["y", "z"], list(got)
assert got["y"][0] == [8, 4, 8] and got["z"][0] == [8], got
for b in range(8):
    assert struct.pack("<f", got["z"][1][b]) == struct.pack("<f", x[16 * b + ids[b]]), b # -0 is not 0
    for f in range(32):
        want = math.tanh(sum(x[16 * b + d] * w[32 * d + f] for d in range(16))) * mask[b]
        assert abs(got["y"][1][32 * b + f] - want) < 1e-5, (b, f)
PY
right() {
    python3 "$tmp/right.py" "$tmp/v.safetensors" "$tmp/o.safetensors" >"$tmp/wrong" 2>&1
    ok $? "$1"
    [ ! -s "$tmp/wrong" ] || diag <"$tmp/wrong"
    rm -f "$tmp/o.safetensors"
}
shardsim run "$tmp/s.yaml" --json "--outputs=$tmp/o.safetensors"
is 0 "outputs are asked for"
right "outputs of shards, whole and in their order"
shardsim run "$tmp/s.yaml" "--outputs=$tmp/o.safetensors" --set uneven=pad --set mesh.tp=3 --set mesh.dp=3
right "... without padding"
shardsim run "$tmp/s.yaml" "--outputs=$tmp/o.safetensors" --set 'constraints=[[y, [tp, null, dp]], [z, [dp]]]' \
    --set 'params=[[w, [dp, null, tp]]]'
right "... from another sharding"
shardsim run "$tmp/s.yaml" "--outputs=$tmp/none/o.safetensors"
is 3 "a folder that is not there"
says err "cannot be written: its folder does not exist" "... is found first"
sed 's/^constraints.*/strategies: [{name: a}, {name: b, mesh: {dp: 4, tp: 1}}]/' "$tmp/s.yaml" >"$tmp/two.yaml"
shardsim run "$tmp/two.yaml" "--outputs=$tmp/o.safetensors"
is 2 "outputs of two strategies"
says err "needs one strategy of the 2; expected --strategy=NAME" "... need one"
shardsim run "$tmp/two.yaml" --strategy=b "--outputs=$tmp/o.safetensors"
right "... and are those of the one"

# Arrays of rank 0: a whole number and a fraction, in lines, rules and constraints, and written.
cat >"$tmp/scalars.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
graph:
  dims: {b: 8}
  values: scalars.safetensors
  inputs: {x: [b], step: {dims: [], dtype: int32, values: true}}
  params: {rate: {dims: [], values: true}}
  ops:
    - next = step + 1
    - slower[] = rate * 0.5
    - total[] = sum(x * slower)
  outputs: [next, slower, total]
step: [forward]
params: [[rate, []]]
constraints: [[^x$, [dp]], [^step$, []], [total, []]]
YAML
python3 - "$tmp/scalars.safetensors" <<'PY'
import json, struct, sys
header = json.dumps({"step": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]},
                     "rate": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}}).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header + struct.pack("<qf", 7, 0.25))
PY
shardsim run "$tmp/scalars.yaml" --json "--outputs=$tmp/o.safetensors"
is 0 "arrays of rank 0"
python3 - "$tmp/o.safetensors" <<'PY' 2>"$tmp/wrong"
import struct, sys
data = open(sys.argv[1], "rb").read()
begin = 8 + struct.unpack_from("<Q", data)[0]
assert struct.unpack_from("<if", data, begin) == (8, 0.125), data[begin:]
PY
ok $? "... are written"
diag <"$tmp/wrong"

done_testing
