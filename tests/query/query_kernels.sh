#!/bin/sh
# Tests kernel.time of query: times are those that explain --roofline and explain collective take of
# the same kernels, their errors and what is extrapolated are those of the cluster's file, a kind
# that a cluster has no model of takes its constants, and wrong questions are refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# ask CLUSTER OP TYPE SIZES: ask the question; a type of '' is not given.
ask() {
    type=${3:+\"type\":\"$3\",}
    printf '{"id":1,"op":"kernel.time","in":{"cluster":"%s","op":"%s",%s"sizes":{%s}}}\n' \
        "$1" "$2" "$type" "$4" | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
}

# answered WHAT: a Python script on the answer `out` passes, with the arguments after it.
answered() {
    what=$1
    shift
    {
        printf 'import json, sys\nout = json.load(open(sys.argv[1]))["out"]\n'
        cat
    } >"$tmp/script"
    python3 "$tmp/script" "$tmp/out" "$@" 2>"$tmp/why"
    ok $? "$what"
    tail -n 1 "$tmp/why" | diag
}

# ---- the times are a plan's ----

cat >"$tmp/a.yaml" <<'END'
version: 1
name: a
mesh: {x: 1}
hardware: h100-sxm
model: {dtype: bfloat16}
graph:
  dims: {m: 48, n: 3072, k: 1536}
  inputs: {x: [m, k]}
  params: {w: [k, n]}
  outputs: [y]
  ops:
    - y[m,n] = einsum(x[m,k], w[k,n])
step: [forward]
params: [[.*, []]]
END

# same CLUSTER OP TYPE SIZES OPERATION APART: the seconds are those of an op of a plan, whose bytes may
# differ by what a kernel reads beside its operands.
same() {
    ask "$1" "$2" "$3" "$4"
    cp "$tmp/out" "$tmp/answer"
    shardsim explain --roofline --json "$tmp/a.yaml" -s "hardware=$1"
    cp "$tmp/out" "$tmp/roofline"
    cp "$tmp/answer" "$tmp/out"
    answered "$1: $2 takes what a plan's takes" "$tmp/roofline" "$5" "$6" <<'PY'
ops = [o for o in json.load(open(sys.argv[2]))["ops"] if o["name"] == sys.argv[3]]
assert len(ops) == 1, ops
assert abs(out["seconds"] / ops[0]["seconds"] - 1) < float(sys.argv[4]), (out, ops)
assert out["bound_by"] == ops[0]["bound_by"], (out, ops)
PY
}
for cluster in h100-sxm b200 a100-sxm tpu-v5p; do
    same $cluster product bfloat16 '"m":48,"n":3072,"k":1536' y/einsum 1e-9
done
cat >"$tmp/a.yaml" <<'END'
version: 1
name: d
mesh: {tp: 1}
hardware: h100-sxm
model: {kind: llama3, layers: 1, d_model: 512, d_ff: 1024, heads: 8, kv_heads: 2, head_dim: 128, vocab: 64, dtype: bfloat16}
batch: {size: 16, seq: 1023}
decode: {tokens: 1}
step: [decode]
params: [[.*, []]]
END
for cluster in h100-sxm b200 mi300x; do
    same $cluster decode '' '"batch":16,"length":1024,"heads":8,"kv_heads":2,"head_dim":128' "layers/*/attn/heads" 1e-3
done

for collective in all-reduce all-gather reduce-scatter all-to-all; do
    for cluster in h100-sxm tpu-v5e; do
        bytes=3145728
        [ $collective = all-gather ] && bytes=$((3145728 / 4))
        mesh=4
        [ $cluster = tpu-v5e ] && mesh=2,2
        shardsim explain collective $collective --hardware $cluster --mesh $mesh --bytes $bytes --json
        cp "$tmp/out" "$tmp/links"
        ask $cluster $collective '' '"devices":4,"bytes":3145728'
        answered "$cluster: $collective takes what explain tells" "$tmp/links" <<'PY'
links = json.load(open(sys.argv[2]))
assert abs(out["seconds"] / links.get("seconds", links.get("time_seconds")) - 1) < 1e-9, (out, links)
assert (out["by"] == "measured kernels") == (links["schedule"] == "measured"), out
PY
    done
done

# ---- errors, and what is extrapolated ----

ask h100-sxm product fp8 '"m":512,"n":4096,"k":4096'
answered "errors are the file's, of the type and of sizes like it" "$top_srcdir/scenarios/hardware/h100-sxm.yaml" <<'PY'
import re
text = open(sys.argv[2]).read().split("  - kernel: ")
model = [t for t in text if t.startswith("product\n    type: fp8\n")][0]
three = lambda t: [float(v) for v in t.split(",")]  # noqa: E731
error = three(re.search(r"\n    error: \[(.*?)\]", model)[1])
sizes = [three(t) for t in re.findall(r"\[([^][]*)\]", re.search(r"\n    by_size: \[(.*)\]", model)[1])]
told = lambda e: [e["rows"], e["median"], e["p90"]]  # noqa: E731
assert told(out["error"]) == error, out
assert told(out["error"]["of_size"]) == sizes[2] and out["error"]["of_size"]["sizes"] == "m above 128 to 1024", out
assert not out["extrapolated"] and out["extrapolated_in"] == [], out
PY
ask h100-sxm product bfloat16 '"m":512,"n":4096,"k":131072'
answered "a size that was not measured is extrapolated" <<'PY'
assert out["extrapolated"] and out["extrapolated_in"] == ["k 131072: 32 to 65536 were measured"], out
PY
ask h100-sxm experts fp8_block '"tokens":64,"hidden":4096,"inter":1536,"topk":8,"experts":128,"ep":4'
answered "so are experts on several devices" <<'PY'
assert out["extrapolated"] and out["extrapolated_in"] == ["experts on several devices"] and out["error"], out
PY
ask gb200-nvl72 all-reduce '' '"devices":8,"bytes":65536'
answered "and more devices than were measured" <<'PY'
assert out["extrapolated_in"] == ["devices 8: 2 to 4 were measured"], out
PY
ask tpu-v5p product bfloat16 '"m":512,"n":4096,"k":4096'
answered "a cluster without models takes its constants, and no error is told" <<'PY'
assert out["by"] == "constants" and out["error"] is None and out["extrapolated"], out
assert out["seconds"] > 2 * 512 * 4096 * 4096 / 459e12, out
PY
ask gb200-nvl72 dispatch trtllm/NVLinkTwoSided/nvfp4 '"tokens":64,"hidden":7168,"topk":8,"experts":256,"ep":32'
answered "types that are names have models of their own" <<'PY'
assert out["by"] == "measured kernels" and not out["extrapolated"] and out["error"]["of_size"] is None, out
assert 1e-5 < out["seconds"] < 3e-5, out
PY
ask b200 linear gdn/vllm/causal_conv1d_fn/prefill \
    '"batch":65,"length":4096,"num_k_heads":16,"head_k_dim":128,"num_v_heads":32,"head_v_dim":128'
answered "and sizes that were measured" <<'PY'
assert out["extrapolated_in"] == ["batch 65: 1 to 64 were measured"], out
PY
ask h100-sxm gemm bfloat16 '"m":64,"n":4096,"k":4096'
cp "$tmp/out" "$tmp/gemm"
ask h100-sxm product '' '"m":64,"n":4096,"k":4096'
cmp -s "$tmp/out" "$tmp/gemm"
ok $? "ops have the tables' names, too; a type that is not given has 16 bits"

# ---- the page of errors ----

errors() {
    python3 "$top_srcdir/docs/kernel_errors.py" "$shardsim" "$top_srcdir/scenarios/hardware" "$@" >"$tmp/made"
}
# KERNEL_ERRORS_UPDATE=1 writes the page's tables and its picture.
errors page "$top_srcdir/docs/kernel_errors.md"
[ -z "${KERNEL_ERRORS_UPDATE:-}" ] || cp "$tmp/made" "$top_srcdir/docs/kernel_errors.md"
cmp -s "$tmp/made" "$top_srcdir/docs/kernel_errors.md"
ok $? "docs/kernel_errors.md has the errors of the clusters' files"
errors svg
[ -z "${KERNEL_ERRORS_UPDATE:-}" ] || cp "$tmp/made" "$top_srcdir/docs/kernel_errors.svg"
cmp -s "$tmp/made" "$top_srcdir/docs/kernel_errors.svg"
ok $? "docs/kernel_errors.svg is drawn of them"
for file in "$top_srcdir"/scenarios/hardware/*.yaml; do
    sed -n '/^measured_kernels:/,$p' "$file" | wc -c
done | awk '$1 > most { most = $1 } END { exit !(most > 10000 && most <= 65536) }'
ok $? "a cluster's models are at most 64 KiB"

# ---- faults ----

refused() {
    what=$1 words=$2
    shift 2
    ask "$@"
    grep -q "\"err\":.*$words" "$tmp/out"
    ok $? "refused: $what" || diag <"$tmp/out"
}
refused "a kernel of no such name" "unknown kernel 'prodcut'; did you mean 'product'?" h100-sxm prodcut '' '"m":1'
refused "a type of no such name" "'type' of product is 'fp7'; expected one of bfloat16, fp8, fp8_block, nvfp4" \
    h100-sxm product fp7 '"m":1,"n":1,"k":1'
refused "a type that is attention's" "'type' of product is 'bfloat16/fp8'" h100-sxm product bfloat16/fp8 '"m":1,"n":1,"k":1'
refused "a type without a rate" "cluster 'a100-sxm' has no rate of float8_e4m3fn" a100-sxm product fp8 '"m":1,"n":1,"k":1'
refused "a size of another kernel" "unknown key 'heads' in product; expected m, n or k" h100-sxm product '' '"m":1,"n":1,"k":1,"heads":2'
refused "a size too few" "'sizes.k' of product is missing" h100-sxm product '' '"m":1,"n":1'
refused "no size" "'sizes.n' is 0; expected at least 1" h100-sxm product '' '"m":1,"n":0,"k":1'
refused "heads that do not divide" "'heads' is 6; expected a multiple of 'kv_heads', 4" \
    h100-sxm decode '' '"batch":1,"length":9,"heads":6,"kv_heads":4,"head_dim":128'
refused "more choices than experts" "'topk' is 9; expected at most the value of 'experts'" \
    h100-sxm experts '' '"tokens":64,"hidden":4096,"inter":1536,"topk":9,"experts":8'
exchange='"tokens":64,"hidden":7168,"topk":8,"experts":256,"ep":32'
refused "a library of no such name" "'trtlm/NVLinkTwoSided/nvfp4' was not measured on 'gb200-nvl72'; did you mean 'trtllm/" \
    gb200-nvl72 dispatch trtlm/NVLinkTwoSided/nvfp4 "$exchange"
refused "an exchange of no library" "'type' of combine is missing; expected a name" gb200-nvl72 combine '' "$exchange"
refused "a library that was not measured there" "'vllm/deepep_ll' was not measured on 'a100-sxm'" \
    a100-sxm combine vllm/deepep_ll "$exchange"
refused "sizes of Mamba-2 for a delta rule" "unknown key 'nheads' in linear; expected batch, length, num_k_heads" \
    b200 linear gdn/vllm/causal_conv1d_fn/prefill '"batch":1,"length":9,"nheads":8'
refused "no such cluster" "no hardware 'h100-sxn'.*did you mean 'h100-sxm'" h100-sxn product '' '"m":1,"n":1,"k":1'
done_testing
