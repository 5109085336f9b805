#!/bin/sh
# Tests what is told of a step of serving: the bytes of its cache by the formula, in plan and run;
# the sequences that fit; the words of a plan; a baseline that holds the cache; and the search for
# the layout with the most tokens a second.  docs/serving.md shows the program's answers
# (SERVING_UPDATE=1 writes the page anew).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS
case $shardsim in
/*) ;;
*) shardsim=$PWD/$shardsim ;;
esac

cat >"$tmp/s.yaml" <<'YAML'
version: 1
name: s
mesh: {dp: 1, tp: 1}
model: {kind: llama3, d_model: 64, d_ff: 64, layers: 3, heads: 8, kv_heads: 4, vocab: 64, dtype: bfloat16}
batch: {size: 4, seq: 20}
step: [decode]
decode: {tokens: 4}
params:
  - [(q|k|v|up|gate)/kernel, [null, tp]]
  - [(o|down)/kernel, [tp]]
  - [.*, []]
axes: {batch: dp}
strategies:
  - {name: one}
  - {name: heads, mesh: {dp: 1, tp: 4}}
  - {name: batch, mesh: {dp: 4, tp: 1}}
  - {name: both, mesh: {dp: 2, tp: 2}}
  - {name: tokens, mesh: {dp: 1, tp: 1, cp: 2}, context: {axis: cp}}
  - {name: all, mesh: {dp: 2, tp: 2, cp: 2}, context: {axis: cp, order: striped}}
YAML

# cache FILE: every strategy's cache is what the formula says.
cat >"$tmp/cache.py" <<'PY'
import json, sys
kv_heads, width, layers, sequences, tokens, size = map(int, sys.argv[2:])
for r in json.load(open(sys.argv[1])):
    mesh, f = dict(map(tuple, r["mesh"])), r["figures"]
    shards = mesh["dp"] * min(mesh["tp"], kv_heads) * mesh.get("cp", 1)
    copies = r["devices"] // shards
    whole = 2 * layers * sequences * tokens * kv_heads * width * size
    assert f["cache_bytes_most"] * shards == whole, (r["strategy"], f["cache_bytes_most"], whole, shards)
    assert f["cache_bytes"] == whole * copies, r["strategy"]
    assert f["cache_bytes_per_token"] * sequences * tokens == whole * copies, r["strategy"]
    assert r["memory"]["by_kind"]["cache"] == f["cache_bytes_most"], (r["strategy"], r["memory"]["by_kind"])
PY
for what in plan run; do
    shardsim $what -q --json "$tmp/s.yaml"
    cp "$tmp/out" "$tmp/$what.json"
    python3 "$tmp/cache.py" "$tmp/$what.json" 4 8 3 4 24 2 2>"$tmp/err"
    ok $? "$what: the cache is 2 x layers x sequences x tokens x key heads x width x bytes / shards"
    diag <"$tmp/err"
done
shardsim plan -q --json "$tmp/s.yaml" -s model.kv_heads=8 -s model.dtype=float32 -s batch.seq=28
cp "$tmp/out" "$tmp/mha.json"
python3 "$tmp/cache.py" "$tmp/mha.json" 8 8 3 4 32 4
ok $? "plan: as many key heads as heads, in 32 bits"

# What fits is found by planning the same step with other batches.
cat >"$tmp/pair.yaml" <<'YAML'
version: 1
name: pair
mesh: {tp: 2}
limits: {memory: 64MiB}
model: {kind: llama3, d_model: 64, layers: 2, heads: 4, vocab: 64, d_ff: 64}
batch: {size: 2, seq: 32}
step: [prefill, decode]
params: [[.*, []]]
YAML
shardsim plan -q --json "$tmp/pair.yaml"
cp "$tmp/out" "$tmp/one.json"
shardsim plan -q --json "$tmp/pair.yaml" -s decode.tokens=4 -s decode.draft=2
holds "plan: a prefill has room for as many sequences, whatever its decode makes" <<PY
one = [x["figures"]["sequences_that_fit"] for x in json.load(open("$tmp/one.json"))]
more = [x["figures"]["sequences_that_fit"] for x in r]
assert one[0] == more[0] > 2 and one[1] > more[1] > 2, (one, more)
PY
shardsim plan -q --json "$tmp/s.yaml" -S heads -S one \
    -s 'params=[[(q|up|gate)/kernel, [null, tp]], [(o|down)/kernel, [tp]], [.*, []]]'
holds "plan: key heads that four devices have are counted four times" <<'PY'
one, heads = sorted(r, key=lambda r: r["devices"])
for key in "cache_bytes", "cache_bytes_per_token":
    assert heads["figures"][key] == 4 * one["figures"][key] > 0, key
assert heads["figures"]["cache_bytes_most"] == one["figures"]["cache_bytes_most"]
PY

# With as many bytes as the plan of 12 sequences needs, 12 fit and 16 do not.
shardsim plan -q --json "$tmp/s.yaml" -S both -s batch.size=12
limit=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"]["peak_memory_bytes_most"])' "$tmp/out")
for bytes in $limit $((limit - 1)); do
    shardsim plan -q --json "$tmp/s.yaml" -S both -s limits.memory="$bytes"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"]["sequences_that_fit"])' "$tmp/out"
done >"$tmp/fit"
[ "$(tr '\n' ' ' <"$tmp/fit")" = "12 10 " ]
ok $? "plan: the sequences that fit, to the byte"
diag <"$tmp/fit"
shardsim plan "$tmp/s.yaml" -S both -s limits.memory=100KiB
says out 'no sequence of 24 tokens fits' "plan: where not one fits"

cluster=$top_srcdir/scenarios/hardware/h100-sxm.yaml
shardsim plan -q "$tmp/s.yaml" -S all -s hardware="$cluster"
is 0 "plan: on a cluster"
[ "$(sed -n '/^serving/,/^$/p' "$tmp/out" | awk 'length > 80' | wc -l)" -eq 0 ]
ok $? "plan: 80 columns"
says out '^serving       .* per token' "plan: the answer is first"
[ "$(sed -n '/^$/,$p' "$tmp/out" | sed -n 2p | cut -c1-7)" = serving ]
ok $? "plan: of all sections"
shardsim plan -q --json "$tmp/s.yaml" -S all -s hardware="$cluster"
holds "plan: figures of a decode" <<'PY'
f, m = r["figures"], r["time"]["modelled"]
assert f["modelled_token_seconds"] == f["modelled_step_seconds"]
assert abs(f["modelled_tokens_per_second"] * f["modelled_step_seconds"] - 4) < 1e-9
assert abs(f["modelled_tokens_per_second_per_device"] * 8 - f["modelled_tokens_per_second"]) < 1e-6
assert 0 < f["modelled_mbu"] < 1 and m["bound_by"] in ("network", "launch")
assert r["serving"] == {"step": "decode", "sequences": 4, "tokens_of_each": 24}
PY
shardsim plan -q --json "$tmp/s.yaml" -S batch -s 'step=[prefill]' -s decode.tokens=1 -s hardware="$cluster"
holds "plan: figures of a prefill" <<'PY'
f = r["figures"]
assert "modelled_token_seconds" not in f
assert abs(f["modelled_tokens_per_second"] * f["modelled_step_seconds"] - 4 * 20) < 1e-9
assert f["cache_bytes"] == 2 * 3 * 4 * 20 * 4 * 8 * 2
PY
shardsim compare --plan -q "$tmp/s.yaml" -s hardware="$cluster" --format=csv
says out 'cache_bytes_most' "compare: the cache is a column"
shardsim report --plan -q "$tmp/s.yaml" -S both -s hardware="$cluster" -o "$tmp/page.html"
grep -q ' per token' "$tmp/page.html" && grep -q '<dt>cache</dt>' "$tmp/page.html"
ok $? "report: the page has the answer"

# A baseline holds the cache: without a rule for its heads it is four times as large.
mkdir -p "$tmp/p/scenarios"
sed '/^strategies/,$d; s/tp: 1/tp: 4/' "$tmp/s.yaml" >"$tmp/p/scenarios/s.yaml"
(cd "$tmp/p" && "$shardsim" check scenarios --update >/dev/null 2>&1 && "$shardsim" check scenarios >/dev/null 2>&1)
ok $? "check: a baseline of a decode"
sed -i.old 's/(q|k|v|up|gate)/(q|up|gate)/' "$tmp/p/scenarios/s.yaml"
(cd "$tmp/p" && "$shardsim" check scenarios >"$tmp/out" 2>&1)
[ $? -eq 1 ]
ok $? "check: a layout that keeps more fails"
grep -q 'cache of a device' "$tmp/out"
ok $? "check: and says so"

# The search is what plans of its layouts say.
sed '/^strategies/,$d' "$tmp/s.yaml" >"$tmp/one.yaml"
search() {
    shardsim search -q "$tmp/one.yaml" --serve -s hardware="$cluster" -s limits.memory=8MiB "$@"
}
search --devices 4 --json --picture "$tmp/front.svg"
is 0 "search --serve: status 0"
cp "$tmp/out" "$tmp/found.json"
grep -q '<svg' "$tmp/front.svg"
ok $? "search --serve: a picture"
holds "search --serve: the order, the frontier, and all meshes" <<'PY'
l = r["layouts"]
assert r["meshes"] == 3 and r["refused"] == 0 and r["over"] and len(l) > 12
assert {x["mesh"] for x in l} == {"dp=1, tp=4", "dp=2, tp=2", "dp=4, tp=1"}
assert [x["tokens_per_second"] for x in l] == sorted((x["tokens_per_second"] for x in l), reverse=True)
for x in l:
    better = [y for y in l if y["token_seconds"] <= x["token_seconds"] and y["tokens_per_second"] >= x["tokens_per_second"]
              and (y["token_seconds"], y["tokens_per_second"]) != (x["token_seconds"], x["tokens_per_second"])]
    assert x["frontier"] == (not better), x
PY
python3 - "$tmp/found.json" "$shardsim" "$tmp/one.yaml" "$cluster" <<'PY'
import json, subprocess, sys
found, shardsim, file, cluster = sys.argv[1:]
for x in json.load(open(found))["layouts"][::5]:
    sets = ["mesh." + a for a in x["mesh"].split(", ")] + ["batch.size=%d" % x["batch"], "hardware=" + cluster]
    r = subprocess.run([shardsim, "plan", "-q", "--json", file] + [w for s in sets for w in ("-s", s)],
                       capture_output=True, check=True)
    f = json.loads(r.stdout)["figures"]
    assert f["modelled_token_seconds"] == x["token_seconds"] and f["cache_bytes_most"] == x["cache_bytes_most"], x
PY
ok $? "search --serve: layouts have the figures of their plans"
cut=$(python3 -c 'import json, sys
t = sorted(x["token_seconds"] for x in json.load(open(sys.argv[1]))["layouts"])
print("%dns" % (1e9 * t[len(t) // 2]))' "$tmp/found.json")
search --devices 4 --json --tpot "$cut"
holds "search --serve: a limit of the token's time" <<'PY'
l = r["layouts"]
within = [x["within"] for x in l]
assert 0 < sum(within) < len(l) and within == sorted(within, reverse=True)
assert max(x["token_seconds"] for x in l if x["within"]) < min(x["token_seconds"] for x in l if not x["within"])
PY
# made_as FIGURES: the figures of the JSON in $tmp/out are those, which a search has told.
made_as() {
    python3 -c 'import json, sys
have = json.load(open(sys.argv[1]))["figures"]
want = json.loads(sys.argv[2])
assert all(have[key] == value for key, value in want.items()), (have, want)' "$tmp/out" "$1"
}
best() {
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(json.dumps(eval(sys.argv[2])))' "$tmp/found.json" "$1"
}
search --devices 4 --json -o "$tmp/best.yaml"
cp "$tmp/out" "$tmp/found.json"
shardsim plan -q --json "$tmp/best.yaml"
made_as "$(best '{"modelled_token_seconds": r["layouts"][0]["token_seconds"],
    "modelled_tokens_per_second": r["layouts"][0]["tokens_per_second"],
    "cache_bytes_most": r["layouts"][0]["cache_bytes_most"]}')"
ok $? "search --serve --output: the scenario has the best layout's figures"
search --devices 4 --ttft 1ns -o "$tmp/none.yaml"
is 1 "search --serve: none within the limits"
[ ! -e "$tmp/none.yaml" ]
ok $? "search --serve --output: no scenario of none"
says out '^best        none' "search --serve: and says so"
shardsim search -q "$tmp/one.yaml" --serve -s 'step=[prefill]' -s decode.tokens=1 -s hardware="$cluster"
is 2 "search --serve: not of a prefill"
shardsim search -q "$tmp/one.yaml" --serve
is 2 "search --serve: not without a cluster"
search --devices 4 --json --threads 1
cp "$tmp/out" "$tmp/one-thread.json"
search --devices 4 --json --threads 3
cmp -s "$tmp/one-thread.json" "$tmp/out"
ok $? "search --serve: the same with one thread and with three"
search --plans 2
is 2 "search --serve: has no limit of plans"
says err '^shardsim search: with --serve only --devices, --ttft, --tpot' "search --serve: and says so"

# Devices of their own for prefill and decode.
search --apart --devices 12 --json -s decode.tokens=9
is 0 "search --apart: status 0"
cp "$tmp/out" "$tmp/found.json"
python3 - "$tmp/found.json" "$shardsim" "$tmp/one.yaml" "$cluster" <<'PY'
import json, math, subprocess, sys
file, shardsim, scenario, cluster = sys.argv[1:]
found = json.load(open(file))

def figures(pool, *more):
    sets = ["mesh." + a for a in pool["mesh"].split(", ")] + [
        "batch.size=%d" % pool["batch"], "hardware=" + cluster, "limits.memory=8MiB", *more]
    r = subprocess.run([shardsim, "plan", "-q", "--json", scenario] + [w for s in sets for w in ("-s", s)],
                       capture_output=True, check=True)
    f = json.loads(r.stdout)["figures"]
    return f["modelled_step_seconds"], f["modelled_attention_seconds"]

def seconds(pool, *more):
    return figures(pool, *more)[0]

def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6)

def rate(x, y, prompts, answers):
    return min(x * prompts, y * answers)

assert found["tokens"] == 9 and found["apart"]
tokens = [s["tokens_per_second"] for s in found["apart"]]
assert tokens == sorted(tokens, reverse=True)
for s in found["apart"][:: len(found["apart"]) // 3 + 1]:
    p, d = s["prefill"], s["decode"]
    first, each = seconds(p, "step=[prefill]", "decode.tokens=1"), seconds(d, "decode.tokens=9")
    assert close(first, p["step_seconds"]) and close(each, d["step_seconds"]), s
    assert close(first + s["sent_seconds"], s["first_token_seconds"]) and s["sent_seconds"] > 0
    prompts, answers = p["batch"] / first, d["batch"] / each / 8
    assert close(s["requests_per_second"], rate(p["replicas"], d["replicas"], prompts, answers))
    assert close(s["tokens_per_second"], 9 * s["requests_per_second"])
    for x in range(1, 12 // p["devices"] + 1): # no other number of prefills makes more
        y = (12 - x * p["devices"]) // d["devices"]
        assert rate(x, y, prompts, answers) <= s["requests_per_second"] * (1 + 1e-9), (x, y, s)
t = found["together"]["decode"]
one = dict(t, batch=1)
groups = int(t["mesh"].split("dp=")[1].split(",")[0])
# A prompt of each group is taken in beside tokens: one step of all their tokens, but for attention.
prefill = dict(t, batch=groups), "step=[prefill]", "decode.tokens=1"
first, of_first = figures(*prefill)
each, of_each = figures(t, "decode.tokens=9")
both, of_both = figures(*prefill, "batch.seq=%d" % (20 + t["batch"] // groups))
beside = max(each, both - of_both + of_first + of_each)
assert t["batch"] // groups > 1 and each < beside < first + each
token = each + t["batch"] / groups / 8 * (beside - each)
assert close(token, found["together"]["token_seconds"])
assert close(beside, found["together"]["first_token_seconds"])
assert close(found["together"]["tokens_per_second"], t["replicas"] * t["batch"] / token * 9 / 8)
PY
ok $? "search --apart: figures of its plans, and no other share makes more"
search --apart --devices 12 --json -s decode.tokens=9 -o "$tmp/shared.yaml"
shardsim plan -q --json "$tmp/shared.yaml" -S decode
made_as "$(best '{"modelled_step_seconds": r["apart"][0]["decode"]["step_seconds"]}')"
ok $? "search --apart --output: the decode's replica"
shardsim plan -q --json "$tmp/shared.yaml" -S prefill
made_as "$(best '{"modelled_step_seconds": r["apart"][0]["prefill"]["step_seconds"]}')"
ok $? "search --apart --output: the prefill's replica"
grep -q "^# prefill: $(best 'r["apart"][0]["prefill"]["replicas"]') replica" "$tmp/shared.yaml"
ok $? "search --apart --output: how many replicas"
search --apart --devices 12 --ttft 1ns -s decode.tokens=9
is 1 "search --apart: none within the limits"
search --apart --devices 12 -s decode.tokens=1
is 2 "search --apart: answers of one token need no decode"

# Attention to a cache of 4 bits reads its codes and scales: for each 128 elements of 16 bits 64 bytes
# and a float; and what writes the cache rounds in the same kernel.
cat >"$tmp/codes.yaml" <<'YAML'
version: 1
mesh: {one: 1}
hardware: mi300x
model: {kind: llama3, d_model: 4096, layers: 2, heads: 32, vocab: 1024, d_ff: 64, dtype: bfloat16}
batch: {size: 64, seq: 4096}
step: [decode]
params: [[.*, []]]
YAML
shardsim plan -q --json "$tmp/codes.yaml"
cp "$tmp/out" "$tmp/wide.json"
shardsim plan -q --json "$tmp/codes.yaml" -s decode.cache=int4
holds "plan: attention to a cache of 4 bits reads codes and scales" <<PY
wide, codes = (x["time"]["modelled"] for x in (json.load(open("$tmp/wide.json")), r))
ratio = codes["attention_seconds"] / wide["attention_seconds"]
assert abs(ratio - 68 / 256) < 0.01, ratio
assert codes["elementwise_seconds"] < 1.01 * wide["elementwise_seconds"], (codes, wide)
assert "KV cache in 4 bits" in codes["extrapolated_in"]
PY

# nothing PATTERN SETTING..: options that have no effect are refused
nothing() {
    pattern=$1
    shift
    shardsim plan -q "$scenarios/serve.yaml" -S both "$@"
    is 2 "refused: $pattern"
    says err "$pattern" "and said: $pattern"
}
nothing "products.except: 'nonsense' matches no matmul of this model" -s 'products={weights: int8, except: [nonsense]}'
nothing "products.except: 'nonsense' matches no matmul of this model" -s 'products={recipe: tensorwise, except: [nonsense]}'
shardsim plan -q "$scenarios/serve.yaml" -S both -s 'products={weights: int8, except: [^head, router, attn/k$]}'
is 0 "patterns of products that other models have"
nothing 'model.window has no effect; expected a layer with it in model.layer_types' \
    -s model.window=8 -s 'model.layer_types=[full, full]'
nothing "expected other blocks, or int8, or 'attn/q\$' in products.except" \
    -s 'products={weights: int4}' -s model.d_model=40 -s model.head_dim=10
nothing '^--set.*8 experts and 1 copy beside them do not divide over 2 devices' -s 'mesh={dp: 1, tp: 1, ep: 2}' \
    -s 'moe={experts: 8, top_k: 2, d_ff: 32, redundant: 1}' \
    -s 'params=[[moe/.*kernel, [ep]], [.*, []]]'

# Products of 4 bits: codes of weights are two to a byte, with a scale of a byte for each 16 of them, so that
# 64 x 2048 further columns of three matrices of 3 layers take 4.5 bits each; and a run has the plan's bytes.
# fp4 FILE OPTION=VALUE..: executed, verified, and as planned.
fp4() {
    file=$1
    shift
    for value; do
        set -- "$@" -s "$value"
        shift
    done
    shardsim plan -q "$file" --json "$@"
    cp "$tmp/out" "$tmp/planned.json"
    shardsim run -q "$file" --json "$@"
    is 0 "products of 4 bits: verified ($*)"
    holds "products of 4 bits: as planned ($*)" <<'PY'
planned = json.load(open(sys.argv[1].replace("out", "planned.json")))
assert r["verify"]["ok"] and r["memory"]["by_kind"] == planned["memory"]["by_kind"]
for key in "received_bytes", "flops", "peak_memory_bytes_most":
    assert r["figures"][key] == planned["figures"][key], key
PY
}
sed -e '/^strategies/,$d' -e 's/mesh: .*/mesh: {dp: 1, tp: 2}/' "$tmp/s.yaml" >"$tmp/fp4.yaml"
printf 'hardware: b200\nproducts: {recipe: nvfp4, amax: static, except: [head]}\n' >>"$tmp/fp4.yaml"
fp4 "$tmp/fp4.yaml"
cp "$tmp/out" "$tmp/small.json"
fp4 "$tmp/fp4.yaml" model.d_ff=2112
holds "products of 4 bits: 4.5 bits a weight" <<'PY'
small = json.load(open(sys.argv[1].replace("out", "small.json")))
grown = r["memory"]["by_kind"]["parameters"] - small["memory"]["by_kind"]["parameters"]
assert grown == 3 * 3 * 64 * 2048 * 4.5 / 8 / 2, grown  # of each of two devices
model = r["memory"]["breakdown"]["parameters"]["model"] - small["memory"]["breakdown"]["parameters"]["model"]
assert model == 3 * 3 * 64 * 2048, model
PY
fp4 "$tmp/fp4.yaml" products.amax=all
fp4 "$tmp/fp4.yaml" 'step=[prefill]' decode.tokens=1 products.amax=local mesh.dp=2
fp4 "$tmp/fp4.yaml" products.block=8 decode.page=4
fp4 "$tmp/fp4.yaml" model.kind=mixtral 'moe={experts: 4, top_k: 2, redundant: 2, routing: uniform}' 'params=[[moe/.*kernel, [tp]], [.*, []]]'
fp4 "$tmp/fp4.yaml" model.kind=deepseek model.kv_heads=8 \
    'mla={kv_rank: 16, q_rank: 16, rope_dim: 8, value_dim: 16}' model.head_dim=16 'params=[[attn/(q|q_rope)/kernel, [null, tp]], [attn/o/kernel, [tp]], [.*, []]]'
shardsim plan -q "$tmp/fp4.yaml" -s hardware=h100-sxm
is 2 "products of 4 bits: not on a cluster without their rate"
says err "products.recipe none with products.weights mxfp4 and products.block 16" "products of 4 bits: and what to say there"

# One kernel finds the magnitudes of blocks or rows and rounds by them, so that small steps take as long as where
# scales are known before; a scale of the whole array is found by a kernel of its own.
small_step() {
    shardsim plan -q "$tmp/fp4.yaml" --json -s hardware=mi355x -s "products={recipe: $1, amax: $2}" -s mesh.tp=1
    python3 -c 'import json, sys
print("%.9f" % json.load(open(sys.argv[1]))["figures"]["modelled_elementwise_seconds"])' "$tmp/out"
}
known=$(small_step tensorwise static)
[ "$known" = "$(small_step nvfp4 static)" ] && [ "$known" = "$(small_step rowwise local)" ] &&
    [ "$known" = "$(small_step mxfp8 local)" ] && [ "$known" != "$(small_step tensorwise local)" ] &&
    [ "$known" != "$(small_step nvfp4 local)" ]
ok $? "codes are made by one kernel, but where a scale is of the whole array: $known"

# A tenth of the memory stays free, as in init and search; the next batch would fit in all of it.
shardsim search "$scenarios/models/serve-llama3-70b.yaml" --serve -q --json
holds "search --serve: a tenth of the memory stays free" <<'PY'
room = 81559 * 2**20
most = max(l["memory_bytes"] for l in r["layouts"])
assert r["memory_margin"] == 0.1 and 0.8 * room < most <= 0.9 * room, most / room
PY

# The page shows what the program says.
# The most sequences that are tried, where more may fit; and a cache that is not padded.
shardsim search "$scenarios/requests.yaml" --serve -S decode -q --top 1
tr -s '\n ' '  ' <"$tmp/out" | grep -q 'more than 1048576 sequences are not tried, and may fit on 1'
ok $? "search --serve says where its batches end"
shardsim plan "$scenarios/answer.yaml" -S same/decode -s batch.size=3
grep -q "1 or 3 would do$" "$tmp/err" && ! grep -q uneven "$tmp/err"
ok $? "a step of serving is not told to pad"
(cd "$top_srcdir" && COLUMNS=80 PATH=$bin:$PATH python3 tests/support/console_page.py docs/serving.md "${SERVING_UPDATE:-0}") \
    >"$tmp/wrong" 2>&1
ok $? "docs/serving.md: what it shows is what the program says"
diag <"$tmp/wrong"
done_testing
