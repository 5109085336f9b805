#!/bin/sh
# Tests models of measured kernels: calibrate --kernels recovers the times that tables were made of,
# the same at each run; explain, plan and serving take them; a faster device is not slower; and
# faults of tables and of a cluster's file are told with their lines.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# cluster RATE MEMORY: print a file.
cluster() {
    cat <<END
version: 1
name: card
source: "of a test"
rates: {bfloat16: $1, float8_e4m3fn: 400TFLOP/s}
memory: {size: 80GiB, rate: $2}
kernels:
  launch: 4us
  matmul_efficiency: 0.5
  units: 100
  memory_efficiency: 0.8
  attention_efficiency: 0.5
  attention_backward_efficiency: 0.4
tiers:
  - {name: inside, devices: 8, rate: 250GB/s, latency: 20us, step: 9us}
  - {name: between, rate: 25GB/s, latency: 20us, step: 5us}
END
}

# Times of a made-up card, a tenth of them bent by up to a fifth along the rows.
mkdir "$tmp/tables"
python3 - "$tmp/tables" <<'PY'
import gzip, math, sys
folder = sys.argv[1]
def product(m, n, k):
    us = 3 + ((2 * (m * k + k * n + m * n) / 1.4e6) ** 2 + (2 * m * n * k / 1.2e8) ** 2) ** 0.5
    return us * (1 + 0.2 * math.sin(math.log2(m) / 2))
with gzip.open(f"{folder}/card_sxm-gemm.csv.gz", "wt") as out:
    print("type,n,k,m,us_least,us_median,softwares,best", file=out)
    for n in (512, 1024, 2048, 4096, 8192):
        for k in (512, 1024, 2048, 4096, 8192):
            for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
                print(f"bfloat16,{n},{k},{m},0,{product(m, n, k):.4g},1,a", file=out)
with open(f"{folder}/card_sxm-decode.csv", "w") as out:
    print("type,heads,kv_heads,head_dim,window,length,batch,us_least,us_median,softwares,best", file=out)
    for heads, kv in ((8, 2), (16, 2), (32, 8), (64, 8), (8, 8)):
        for length in (16, 64, 256, 1024, 4096, 16384):
            for batch in (1, 4, 16, 64):
                us = 9 + batch * kv * length * 2 * 128 * 2 / 1.3e6
                print(f"bfloat16/bfloat16,{heads},{kv},128,0,{length},{batch},0,{us:.4g},1,a", file=out)
with open(f"{folder}/card_sxm-collectives.csv", "w") as out:
    print("library,version,graph,op,type,devices,bytes,us", file=out)
    for n in (2, 4, 8):
        for e in range(10, 31, 2):
            us = 6 + n + 2 * (n - 1) / n * 2 ** e / 2e5
            print(f"nccl,2,,all-reduce,float16,{n},{2 ** e},{us:.5g}", file=out)
            print(f"trtllm,1,yes,all-reduce,bfloat16,{n},{2 ** e},{us / 2:.5g}", file=out)
            print(f"trtllm,1,no,all-reduce,bfloat16,{n},{2 ** e},{us * 9:.5g}", file=out)
with open(f"{folder}/card_sxm-quantize.csv", "w") as out:
    print("op,type,m,k,us_least,us_median,softwares,best", file=out)
    for k in (256, 1024, 4096, 16384):
        for m in (1, 16, 256, 4096):
            print(f"scale_matrix,fp8,{m},{k},0,{2 + 3 * m * k / 1.6e6:.4g},1,a", file=out)
with open(f"{folder}/card_sxm-a2a.csv", "w") as out:
    print("library,version,mode,phase,type,nodes,ep,hidden,topk,experts,tokens,us", file=out)
    for hidden in (1024, 2048, 4096, 8192):
        for ep in (2, 4, 8):
            for e in range(0, 15, 2):
                sent = 2 ** e * ep * (1 - (1 - 1 / ep) ** 4) * (1 - 1 / ep) * hidden
                print(f"lib,1,ll,dispatch,fp8,1,{ep},{hidden},4,64,{2 ** e},{12 + ep + sent / 1e5:.5g}", file=out)
                print(f"lib,1,ll,combine,fp8,1,{ep},{hidden},4,64,{2 ** e},{15 + ep + 2 * sent / 1e5:.5g}", file=out)
with open(f"{folder}/card_sxm-linear.csv", "w") as out:
    print("op,software,version,part,phase,d_model,d_state,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,"
          "nheads,head_dim,n_groups,chunk_size,batch,length,us", file=out)
    for heads in (4, 8, 16, 32):
        for batch in (1, 4, 16):
            for e in range(0, 15, 2):
                rows = 4 * batch * 2 ** e * 3 * heads * 128
                us = 7 + rows / 1e6 + 2 * 4 * batch * heads * 128 * 128 / 1e6
                print(f"gdn,lib,1,rule,prefill,{128 * heads},0,4,{heads},128,{heads},128,0,0,0,0,{batch},{2 ** e},{us:.5g}",
                      file=out)
with open(f"{folder}/card_sxm-mla_module_decode.csv", "w") as out:
    print("type,heads,length,batch,us_least,us_median,softwares,best", file=out)
    for heads in (8, 16, 32, 64, 128):
        for length in (16, 256, 4096):
            for batch in (1, 4, 16, 64):
                weights = 7168 * 2112 + heads * (1536 * 192 + 512 * 256 + 128 * 7168)
                us = 20 + (weights * 2 + batch * length * 576 * 2) / 1.3e6 + 2 * batch * weights / 1.2e8
                print(f"bfloat16/bfloat16/bfloat16,{heads},{length},{batch},0,{us:.5g},1,a", file=out)
with open(f"{folder}/another-gemm.csv", "w") as out:
    print("none of ours", file=out)
PY
cluster 200TFLOP/s 2000GB/s >"$tmp/card.yaml"

shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/tables" -o "$tmp/fitted.yaml"
is 0 "calibrate --kernels"
says out '^product  *bfloat16  *325  *[0-9.]* %  *[0-9.]* %$' "the products' rows and errors are told"
says out '^33 rows are skipped: no model for their kernel or type$' "rows that no model is of are counted"
shardsim calibrate "$tmp/fitted.yaml" --kernels "$tmp/tables" -o "$tmp/again.yaml"
is 0 "a fitted file is fitted again"
says out '^dispatch  *lib/ll/fp8  *96  *[0-9]\.[0-9] %  *[0-9]*\.[0-9] %$' "kinds whose types are names"
cmp -s "$tmp/fitted.yaml" "$tmp/again.yaml"
ok $? "the same numbers every time"

# The list may stand anywhere, and what comes after it is kept.
{
    sed -n '/^measured_kernels:/,$p' "$tmp/fitted.yaml"
    sed '/^measured_kernels:/,$d' "$tmp/fitted.yaml"
    echo '# the end'
} >"$tmp/first.yaml"
shardsim calibrate "$tmp/first.yaml" --kernels "$tmp/tables" -o "$tmp/last.yaml"
is 0 "a list before other keys"
sed '/^# the end$/d' "$tmp/last.yaml" | cmp -s - "$tmp/fitted.yaml" && grep -q '^# the end$' "$tmp/last.yaml"
ok $? "nothing behind it is lost"

# products FILE [M...]: print the seconds of products of 1,024 x 2,048 and so many rows.
products() {
    file=$1
    shift
    {
        printf 'version: 1\nname: p\nmesh: {x: 1}\nhardware: %s\nmodel: {dtype: bfloat16}\ngraph:\n  dims: {k: 1024, n: 2048' "$file"
        for m; do printf ', b%s: %s' "$m" "$m"; done
        printf '}\n  inputs: {'
        for m; do printf 'x%s: [b%s, k], ' "$m" "$m"; done
        printf '}\n  params: {w: [k, n]}\n  outputs: ['
        for m; do printf 'y%s, ' "$m"; done
        printf ']\n  ops:\n'
        for m; do printf '    - y%s[b%s,n] = einsum(x%s[b%s,k], w[k,n])\n' "$m" "$m" "$m" "$m"; done
        printf 'step: [forward]\nparams: [[.*, []]]\n'
    } >"$tmp/products.yaml"
    shardsim plan -q --json "$tmp/products.yaml"
    COLUMNS=200 "$shardsim" explain --roofline "$tmp/products.yaml" >"$tmp/roofline"
}
products fitted.yaml 2 16 96 1500
is 0 "products by a model are planned"
python3 - "$tmp/roofline" <<'PY' 2>"$tmp/why"
import math, re, sys
unit = {"us": 1, "ns": 1e-3, "ms": 1e3}
found = 0
for line in open(sys.argv[1]):
    match = re.match(r"y(\d+)/einsum .* ([0-9.]+) (ns|us|ms) +[0-9.]+ %", line)
    if not match:
        continue
    m, n, k = int(match[1]), 2048, 1024
    us = 3 + ((2 * (m * k + k * n + m * n) / 1.4e6) ** 2 + (2 * m * n * k / 1.2e8) ** 2) ** 0.5
    us *= 1 + 0.2 * math.sin(math.log2(m) / 2)
    ours = float(match[2]) * unit[match[3]]
    assert abs(ours / us - 1) < 0.05, (m, ours, us)
    found += 1
assert found == 4, found
PY
ok $? "products between those measured take what they were made of, to 5 %"
diag <"$tmp/why"

# decode FILE [OPTION...]: plan a decode of 16 sequences behind 1,024 keys.
decode() {
    file=$1
    shift
    cat >"$tmp/decode.yaml" <<END
version: 1
name: d
mesh: {tp: 1}
hardware: $file
model: {kind: llama3, layers: 1, d_model: 512, d_ff: 1024, heads: 8, kv_heads: 2, head_dim: 128, vocab: 64, dtype: bfloat16}
batch: {size: 16, seq: 1023}
decode: {tokens: 1}
step: [decode]
params: [[.*, []]]
END
    COLUMNS=200 "$shardsim" explain --roofline "$@" "$tmp/decode.yaml" >"$tmp/roofline"
    shardsim plan -q --json "$@" "$tmp/decode.yaml"
}
decode fitted.yaml
is 0 "a decode by a model is planned"
us=$(sed -n 's/.*attn\/heads .* \([0-9.]*\) us .*/\1/p' "$tmp/roofline")
awk -v us="$us" 'BEGIN { made = 9 + 16 * 2 * 1024 * 512 / 1.3e6; exit !(us > 0.95 * made && us < 1.05 * made) }'
ok $? "its attention takes what such was made of, $us us, to 5 %"

# How far such kernels were off is told by the part of the step that they make up.
shardsim plan -q "$tmp/decode.yaml"
says out '^  kernels     matmuls [0-9]* % of the time: [0-9.]* % error, as for similar' "a plan tells its kernels' errors"
shardsim plan -q --json "$tmp/decode.yaml"
holds "by their part of the time, of kernels of their sizes" <<PY
import re
kernels = r["time"]["modelled"]["kernels"]
parts = {k: v for k, v in kernels.items() if k != "unmeasured_share"}
assert set(parts) == {"products", "attention", "elementwise"}, parts
assert abs(sum(p["share"] for p in parts.values()) + kernels["unmeasured_share"] - 1) < 1e-9, kernels
text = open("$tmp/fitted.yaml").read().split("  - kernel: decode")[1]
sizes = re.search(r"by_size: \[(.*)\]\n", text)[1]
rows, median, p90 = [float(v) for v in re.findall(r"\[([^]]*)\]", sizes)[1].split(",")]
assert abs(parts["attention"]["median_error"] - median) < 1e-9, (parts, sizes)
assert abs(parts["attention"]["p90_error"] - p90) < 1e-9, (parts, sizes)
assert parts["attention"]["extrapolated_share"] == 0, parts
PY
shardsim plan -q --json -s batch.seq=40000 "$tmp/decode.yaml"
holds "and which are of sizes that were not measured" <<'PY'
parts = r["time"]["modelled"]["kernels"]
assert parts["attention"]["extrapolated_share"] == 1 and parts["products"]["extrapolated_share"] < 1, parts
PY

# The models of a device count with its rates: more of them is never slower.
sed -n '/^measured_kernels:/,$p' "$tmp/fitted.yaml" >"$tmp/models"
for better in "300TFLOP/s 2000GB/s" "200TFLOP/s 3000GB/s"; do
    # shellcheck disable=SC2086  # two words
    cluster $better | cat - "$tmp/models" >"$tmp/better.yaml"
    for which in fitted better; do
        products $which.yaml 1 3 17 64 300 4000
        sed -n 's/^y\([0-9]*\)\/einsum .*[B0-9.] \( *[0-9.]* [num]*s\)  *[0-9.]* %.*/\1 \2/p' "$tmp/roofline" | sort -n >"$tmp/$which.us"
        decode $which.yaml
        sed -n 's/.*attn\/heads .* \([0-9.]* [num]*s\) .*/0 \1/p' "$tmp/roofline" >>"$tmp/$which.us"
    done
    paste "$tmp/fitted.us" "$tmp/better.us" | awk '
        function us(value, unit) { return value * (unit == "ms" ? 1000 : unit == "ns" ? 0.001 : 1) }
        { n++; if (us($5, $6) > us($2, $3)) bad++ }
        END { exit !(n == 7 && bad == 0) }'
    ok $? "no kernel is slower with $better"
done

shardsim explain collective all-reduce --hardware "$tmp/fitted.yaml" --mesh 4 --bytes 65536 --json
is 0 "a collective by a model"
holds "it takes what NCCL's took" <<'PY'
seconds = r.get("seconds", r.get("time_seconds"))
us = 6 + 4 + 2 * 3 / 4 * 65536 / 2e5
assert abs(seconds * 1e6 / us - 1) < 0.05, (seconds, us)
PY

# named OP TYPE SIZES US: the time of a kernel that has a name, to 6 %.
named() {
    printf '{"id":1,"op":"kernel.time","in":{"cluster":"%s","op":"%s","type":"%s","sizes":{%s}}}\n' \
        "$tmp/fitted.yaml" "$1" "$2" "$3" | "$shardsim" query >"$tmp/out"
    python3 -c 'import json, sys
us = 1e6 * json.load(open(sys.argv[1]))["out"]["seconds"]
assert abs(us / float(sys.argv[2]) - 1) < 0.06, us' "$tmp/out" "$4" 2>"$tmp/why"
    ok $? "$1 $2 takes what such was made of, to 6 %"
    tail -n 1 "$tmp/why" | diag
}
exchange='"hidden":3072,"topk":4,"experts":64,"ep":4'
named dispatch lib/ll/fp8 "\"tokens\":3000,$exchange" 205.0
named combine lib/ll/fp8 "\"tokens\":3000,$exchange" 397.0
named linear gdn/lib/rule/prefill \
    '"batch":4,"length":3000,"num_k_heads":16,"head_k_dim":128,"num_v_heads":16,"head_v_dim":128' 310.3
named mla_module_decode bfloat16/bfloat16/bfloat16 '"batch":32,"length":1000,"heads":64' 257.9

# Steps that learn keep the constants that were fitted to such.
cat >"$tmp/learn.yaml" <<END
version: 1
name: l
mesh: {dp: 2}
hardware: fitted.yaml
model: {kind: llama3, layers: 1, d_model: 512, d_ff: 1024, heads: 8, kv_heads: 2, head_dim: 64, vocab: 64, dtype: bfloat16}
batch: {size: 16, seq: 128}
axes: {batch: dp}
params: [[.*, []]]
END
shardsim plan -q --json "$tmp/learn.yaml"
cp "$tmp/out" "$tmp/with"
shardsim plan -q --json -s "hardware=$tmp/card.yaml" "$tmp/learn.yaml"
python3 - "$tmp/with" "$tmp/out" <<'PY'
import json, sys
a, b = (json.load(open(p))["time"]["modelled"]["step_seconds"] for p in sys.argv[1:])
assert a == b, (a, b)
assert "kernels" not in json.load(open(sys.argv[1]))["time"]["modelled"]
PY
ok $? "a step that learns takes the constants of such, and tells no errors of kernels"

# ---- what engines run as one kernel ----

# step NAME [OPTION...]: the ops of a step of this name with their microseconds, by name.
step() {
    name=$1
    shift
    "$shardsim" explain --roofline --json "$@" "$tmp/$name.yaml" >"$tmp/out" 2>"$tmp/err"
}

cat >"$tmp/experts.yaml" <<END
version: 1
name: e
mesh: {ep: 4}
hardware: h100-sxm
model: {kind: mixtral, layers: 1, d_model: 1024, d_ff: 512, heads: 8, kv_heads: 4, head_dim: 64, vocab: 64, dtype: bfloat16}
moe: {experts: 16, top_k: 2, shared: 1}
batch: {size: 16, seq: 63}
step: [decode]
params: [["moe/(up|gate|down)/kernel", [ep]], [.*, []]]
END
cat >"$tmp/biased.yaml" <<END
version: 1
name: b
mesh: {tp: 2}
hardware: h100-sxm
model: {kind: gpt2, layers: 1, d_model: 1024, d_ff: 512, heads: 8, vocab: 64, positions: 128, dtype: bfloat16}
batch: {size: 16, seq: 63}
step: [decode]
params: [["attn/(q|k|v)/kernel|mlp/up/kernel", [null, tp]], ["(q|k|v|up)/bias", [tp]], ["(attn/o|mlp/down)/kernel", [tp]], [.*, []]]
END

step decode -s hardware=h100-sxm -s products.recipe=tensorwise -s products.amax=static
is 0 "a decode in 8 bits"
holds "codes are made with a norm or an activation; keys are rotated and kept in one kernel" <<'PY'
names = {o["name"].split("*/")[-1] for o in r["ops"]}
assert {"attn/q/rope", "mlp/gated"} <= names, names
assert not {n for n in names if n.endswith(("in/codes", "gated/codes", "append")) and "made" not in n}, names
PY
step biased
is 0 "a decode with biases"
holds "a product adds its bias; one that is summed over devices has one device add it" <<'PY'
names = [o["name"] for o in r["ops"] if o["kind"] != "all-reduce" and o["name"].endswith("bias")]
times = {n.split("*/")[-1] for n in names}
assert times <= {"attn/o/bias", "mlp/down/bias"} and len(names) == len(set(names)), names
PY
step experts
is 0 "a decode with experts on four devices"
holds "tokens that all devices have get their experts' sums by an all-reduce" <<'PY'
ops = {o["name"].split("*/")[-1]: o for o in r["ops"]}
assert ops["moe/combine"]["seconds"] < 5e-6, ops["moe/combine"]
PY
holds "shared experts of few tokens run beside the routed ones" <<'PY'
assert not [o["name"] for o in r["ops"] if "shared" in o["name"]], r["ops"]
PY
step experts -s batch.size=512
holds "and those of many tokens behind them" <<'PY'
assert [o["name"] for o in r["ops"] if "shared/down" in o["name"]], r["ops"]
PY

# Kernels of experts move the rows: what such take alone is all that a step with enough tokens for every expert has.
for recipe in none blockwise; do
    step experts -s mesh.ep=1 -s moe.shared=0 -s batch.size=1500 -s model.d_ff=1024 -s "products.recipe=$recipe"
    type=bfloat16
    [ $recipe = none ] || type=fp8_block
    printf '{"id":1,"op":"kernel.time","in":{"cluster":"h100-sxm","op":"experts","type":"%s","sizes":{"hidden":1024,"inter":1024,"topk":2,"experts":16,"tokens":1500}}}\n' \
        $type | "$shardsim" query >"$tmp/alone"
    python3 - "$tmp" <<'PY' 2>"$tmp/why"
import json, sys
ops = json.load(open(f"{sys.argv[1]}/out"))["ops"]
made = sum(o["seconds"] for o in ops if "moe/" in o["name"] and not o["name"].endswith(("moe/router", "moe/router/codes")))
alone = json.load(open(f"{sys.argv[1]}/alone"))["out"]["seconds"]
assert abs(made / alone - 1) < 0.03, (made, alone)
PY
    ok $? "experts in $type take in a step what such take alone, rows moved"
    diag <"$tmp/why"
done

# Rows of tokens that devices have apart go to experts and back by the engine's kernels, of a decode or of prompts.
cat >"$tmp/apart.yaml" <<END
version: 1
name: a
mesh: {dp: 8}
hardware: h100-sxm
model: {kind: mixtral, layers: 1, d_model: 4096, d_ff: 512, heads: 8, kv_heads: 4, head_dim: 64, vocab: 64, dtype: bfloat16}
moe: {experts: 128, top_k: 8}
axes: {batch: dp}
batch: {size: 256, seq: 64}
step: [decode]
params: [["moe/(up|gate|down)/kernel", [dp]], [.*, []]]
END
# exchange STEP SOFTWARE TYPE TOKENS: dispatch and combine of a step take what the engine's kernels took.
exchange() {
    step apart -s "step=[$1]" -s "hardware.software.name=$2"
    for op in dispatch combine; do
        printf '{"id":1,"op":"kernel.time","in":{"cluster":"h100-sxm","op":"%s","type":"%s","sizes":{"hidden":4096,"topk":8,"experts":128,"ep":8,"tokens":%s}}}\n' \
            $op "$3" "$4"
    done | "$shardsim" query >"$tmp/alone"
    python3 - "$tmp" <<'PY' 2>"$tmp/why"
import json, sys
us = {o["name"].split("moe/")[-1]: 1e6 * o["seconds"] for o in json.load(open(f"{sys.argv[1]}/out"))["ops"]
      if o["kind"].startswith("all-to-all")}
alone = [1e6 * json.loads(line)["out"]["seconds"] for line in open(f"{sys.argv[1]}/alone")]
assert abs(us["dispatch"] / alone[0] - 1) < 1e-6 and abs(us["combine"] / alone[1] - 1) < 1e-6, (us, alone)
PY
    ok $? "a $1 of $2 sends experts' rows by $3"
    diag <"$tmp/why"
}
exchange decode vllm vllm/deepep_ll 32
exchange prefill vllm vllm/deepep_ht 2048
exchange decode sglang sglang-deepep/low-latency 32
exchange prefill trtllm trtllm/trtllm_deepep_ht/bfloat16 2048
# Over nodes no such was measured: they are the library's, as those of software that is no engine.
for software in vllm megatron; do
    step apart -s hardware.software.name=$software -s mesh.dp=16
    grep -A8 '"name": ".*moe/\(dispatch\|combine\)"' "$tmp/out" | grep -A8 all-to-all | grep '"seconds"' >"$tmp/$software"
done
test -s "$tmp/vllm" && cmp -s "$tmp/vllm" "$tmp/megatron"
ok $? "and over nodes by the collectives' library"

# Weights of mxfp4 and of int4 have models of their own, although both are kept two to a byte: on
# B200 int4's was measured to take several times as long.
for type in mxfp4 int4; do
    step experts -s hardware=b200 -s mesh.ep=1 -s batch.size=512 -s "products.weights=$type" -s products.block=32
    cp "$tmp/out" "$tmp/$type"
done
python3 - "$tmp" <<'PY' 2>"$tmp/why"
import json, sys
mxfp4, int4 = ([o["seconds"] for o in json.load(open(f"{sys.argv[1]}/{t}"))["ops"] if o["name"].endswith("moe/down")][0]
               for t in ("mxfp4", "int4"))
assert mxfp4 < 0.8 * int4, (mxfp4, int4)
PY
ok $? "experts of mxfp4 take the model of mxfp4"
diag <"$tmp/why"

# A device has two codes of 4 bits in a byte and a scale of 8 for 16 of them, whatever room a program gives them.
cat >"$tmp/halves.yaml" <<END
version: 1
name: h
mesh: {x: 1}
hardware: b200
model: {dtype: bfloat16}
products: {recipe: nvfp4}
graph:
  dims: {m: 24, wide: 24576, deep: 6144, many: 12288, few: 96}
  inputs: {x: [m, deep], y: [many, few]}
  params: {w: [deep, wide], v: [few, deep]}
  outputs: [a, b]
  ops:
    - a[m,wide] = einsum(x[m,deep], w[deep,wide])
    - b[many,deep] = einsum(y[many,few], v[few,deep])
step: [forward]
params: [[.*, []]]
END
step halves
is 0 "products of codes of 4 bits"
for sizes in '"m":24,"n":24576,"k":6144' '"m":12288,"n":6144,"k":96'; do
    printf '{"id":1,"op":"kernel.time","in":{"cluster":"b200","op":"product","type":"nvfp4","sizes":{%s}}}\n' "$sizes"
done | "$shardsim" query >"$tmp/alone"
python3 - "$tmp" <<'PY' 2>"$tmp/why"
import json, sys
us = {o["name"]: 1e6 * o["seconds"] for o in json.load(open(f"{sys.argv[1]}/out"))["ops"]}
alone = [1e6 * json.loads(line)["out"]["seconds"] for line in open(f"{sys.argv[1]}/alone")]
for made, expected in zip((us["a/einsum"] + us["x/codes"], us["b/einsum"] + us["y/codes"]), alone):
    assert abs(made / expected - 1) < 0.02, (made, expected)
PY
ok $? "they take what such take alone, the making of the input's codes included"
diag <"$tmp/why"

# The host starts the kernels of a prompt one by one, those of a decode from a captured graph.
sed '/^measured_kernels:/i serving: {host_launch: 100us}' "$tmp/fitted.yaml" >"$tmp/slow.yaml"
for prompts in prefill decode; do
    for which in fitted slow; do
        decode $which.yaml -s "step=[$prompts]" -s batch.seq=63 -s batch.size=1
        cp "$tmp/out" "$tmp/$prompts-$which"
    done
done
python3 - "$tmp" <<'PY' 2>"$tmp/why"
import json, sys
took = {(p, f): json.load(open(f"{sys.argv[1]}/{p}-{f}"))["time"]["modelled"]["step_seconds"]
        for p in ("prefill", "decode") for f in ("fitted", "slow")}
assert took["decode", "slow"] == took["decode", "fitted"], took
assert took["prefill", "slow"] > 10 * 100e-6 > took["prefill", "fitted"], took
PY
ok $? "devices wait for the host that starts a prompt's kernels, not a decode's"
diag <"$tmp/why"

# ---- faults ----

shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/none"
is 2 "a folder that is not there"
says err 'none:1:1: error: cannot be read: ' "is told"
mkdir "$tmp/empty"
shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/empty"
is 2 "a folder without tables of the device"
says err 'error: no table of card; expected files, e.g. card-gemm.csv.gz' "is told"
mkdir "$tmp/bad"
printf 'type,n,k,us_median\nbfloat16,1,2,3\n' >"$tmp/bad/card-gemm.csv"
shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/bad"
is 2 "a table without a column"
says err "card-gemm.csv:2:1: error: the table has no column 'm'" "is told with its line"
printf 'type,n,k,m,us_median\nbfloat16,1,2,3,4\nbfloat16,1,x,3,4\n' >"$tmp/bad/card-gemm.csv"
shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/bad"
is 2 "a word for a number"
says err "card-gemm.csv:3:1: error: k is 'x'; expected a number of at least 0" "is told with its line"
printf 'type,n,k,m,us_median\nbfloat16,1,2\n' >"$tmp/bad/card-gemm.csv"
shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/bad"
says err 'card-gemm.csv:2:1: error: 3 columns; expected 5 as in the first line' "a short line is told"
shardsim calibrate "$tmp/card.yaml" --kernels "$tmp/tables" --constants kernels.launch
says err 'kernels fits kernel models only' "no constants beside kernels"

# refused EDIT WORDS: a fitted file with an edit is refused with these words.
refused() {
    sed "$1" "$tmp/fitted.yaml" >"$tmp/edited.yaml"
    shardsim show hardware "$tmp/edited.yaml"
    is 2 "$2"
    says err "$2" "is told"
}
refused 's/kernel: product/kernel: produce/' "kernel of a measured kernel is 'produce'; expected for example product"
refused '0,/start_us: [0-9.]*/s//start_us: 99/' "start_us of a measured kernel is '99'; expected a number from"
refused '0,/correction: /s//correction: x /' 'correction of .*: expected [0-9]* whole numbers from -1000 to 1000'
refused '0,/correction: /s//correction: 7 /' 'correction of .*: expected [0-9]* whole numbers from -1000 to 1000'
refused '0,/  sizes: {m: .1,/s//  sizes: {m: [x,/' 'sizes of product: expected the measured minimum and maximum m'
refused '0,/    error: \[/s//    error: [-/' 'error of a measured kernel: expected rows, median'
refused '0,/    by_size: \[/s//    by_size: [7, /' 'by_size of a measured kernel: expected 4 lists'
refused 's/units: 100/units: 0/' 'measured_kernels of a device without kernels.units'
refused '/^measured_kernels:/{s/.*/measured_kernels: nothing/;q}' "measured_kernels is 'nothing'; expected a list, or the name of a shipped cluster"
refused "s/^measured_kernels:/&\\n  - no_slower_than: tpu-v4/" "no_slower_than is 'tpu-v4'; expected the name of a shipped cluster with a list"
done_testing
