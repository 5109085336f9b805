#!/bin/sh
# Tests plan.train_step of query: `shardsim plan` plans its scenario to the same figures, the flops
# follow from the given sizes, and wrong questions are refused with the reason.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# ask CHANGES: ask a small question with some entries (JSON) replaced.  A null removes an entry, and
# entries of "model" are replaced one by one.
ask() {
    python3 - "$1" >"$tmp/question" <<'PY'
import json, sys
asked = {"model": {"hidden": 64, "layers": 8, "heads": 8, "kv_heads": 8, "mlp_dim": 256,
                   "gated_mlp": False, "vocab": 512, "seq": 128},
         "hardware": "h100-sxm", "devices": 16, "tp": 2, "pp": 2, "cp": 1, "ep": 1, "dp": 4,
         "virtual_stages": 1, "micro_batch": 2, "global_batch": 32, "recompute": "full",
         "sequence_parallel": False, "zero_stage": 1, "dtype": "bf16", "flash_attention": True}
changes = json.loads(sys.argv[1])
asked["model"].update(changes.pop("model", {}))
asked.update(changes)
asked = {key: value for key, value in asked.items() if value is not None}
print(json.dumps({"id": 1, "op": "plan.train_step", "in": asked}))
PY
    shardsim query <"$tmp/question"
    cp "$tmp/out" "$tmp/answer"
}

# same TEXT CHANGES: the answer equals that of `shardsim plan` on its scenario.
same() {
    ask "$2"
    is 0 "$1: asked"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["out"]["scenario"])' \
        "$tmp/answer" >"$tmp/step.yaml"
    shardsim plan --json "$tmp/step.yaml"
    is 0 "$1: the answer's scenario is planned"
    holds "$1: planned the same" <<PY
answer = json.load(open("$tmp/answer"))["out"]
classes = r["memory"]["peak_bytes"]
peaks = [c["value"] if isinstance(c, dict) else c for c in classes]
by_kind = answer["memory"]["by_kind"]  # by kind for the program; the peak also has the reserve of the runtime
assert sum(by_kind.values()) == max(peaks) < answer["peak_bytes"], (by_kind, peaks)
assert answer["memory"]["by_kind"] == r["memory"]["by_kind"]
assert answer["model_flops"] == r["work"]["model_flops"]
axes = dict(r["mesh"])
assert $3, r["mesh"]
PY
}
same "Megatron's" '{}' 'list(axes.items()) == [("pp", 2), ("dp", 4), ("tp", 2)]'
same "interleaved" '{"virtual_stages": 2}' 'axes["pp"] == 2'
same "sequence parallel" '{"sequence_parallel": true, "recompute": "selective", "flash_attention": false}' 'axes["tp"] == 2'
same "fewer key heads than tp" '{"tp": 8, "dp": 1, "model": {"kv_heads": 2, "gated_mlp": true}}' 'axes["tp"] == 2 and axes["copy"] == 4'
same "a ring" '{"cp": 2, "dp": 2}' 'axes["cp"] == 2'
same "FSDP" '{"tp": 1, "pp": 1, "dp": 16, "zero_stage": 3, "recompute": "selective op (SAC)"}' 'axes["dp"] == 16'
same "gradients cut" '{"tp": 1, "pp": 1, "dp": 16, "zero_stage": 2, "micro_batch": 1, "recompute": "none"}' 'axes["dp"] == 16'
same "slices" '{"tp": 2, "pp": 1, "dp": 8, "slices": 2, "zero_stage": 3, "recompute": "minimal", "model": {"gated_mlp": true}}' 'axes["slice"] == 2 and axes["dp"] == 4'
same "every second layer, no dp given" '{"dp": null, "recompute": "selective layer", "dtype": "fp16"}' 'axes["dp"] == 4'
same "a width that dp does not divide" '{"devices": 24, "dp": 6, "global_batch": 24}' 'axes["dp"] == 6'
same "a vocabulary that tp does not divide" '{"model": {"vocab": 511}}' 'axes["tp"] == 2'

ask '{"recompute": "full"}'
cp "$tmp/answer" "$tmp/full"
ask '{"recompute": "none"}'
holds "products and attention have the flops of their sizes, recomputation none" <<PY
full = json.load(open("$tmp/full"))["out"]["model_flops"]
none = r["out"]["model_flops"]
assert full == none, (full, none)
tokens, h, f, layers, vocab = 32 * 128, 64, 256, 8, 512
weights = layers * (4 * h * h + 2 * h * f) + vocab * h
want = 6 * tokens * weights + 12 * layers * tokens * 128 * h
assert 1 < none / want < 1.1, none / want  # the rest are elementwise ops and the optimizer
PY

refuse() {
    ask "$1"
    holds "$1: $2" <<PY
import re
assert r["err"]["kind"] == "$2" and re.search("$3", r["err"]["message"]), r
PY
}
refuse '{"devices": 15}' invalid 'do not multiply to 15 devices'
refuse '{"dp": 3}' invalid 'tp 2, pp 2, cp 1 and dp 3 do not multiply to 16'
refuse '{"global_batch": 33}' indivisible 'not a multiple of micro_batch 2 x dp 4'
refuse '{"grad_accum": 3}' invalid 'grad_accum.* is 3; .* is 4 microbatches'
refuse '{"ep": 2}' unsupported 'no experts'
refuse '{"recompute": "some"}' not-found 'unknown recompute .some.; expected none, full'
refuse '{"dtype": "int8"}' unsupported 'unknown dtype .int8.'
same "products of 8 bits" '{"dtype": "fp8"}' '"products: {recipe: tensorwise" in answer["scenario"]'
refuse '{"zero_stage": 4}' range 'expected at least 0 and at most 3'
refuse '{"model": {"kv_heads": 3}}' indivisible 'heads 8 is not a multiple of kv_heads 3'
refuse '{"model": {"mlp_dim": 255}}' indivisible 'mlp_dim 255 is not a multiple of tp 2'
refuse '{"model": {"layers": 1}}' invalid '1 layers are not enough for 2 stages'
refuse '{"pp": 1, "dp": 8, "virtual_stages": 2}' invalid 'pp is 1'
refuse '{"cp": 2, "dp": 2, "flash_attention": false}' unsupported 'requires flash_attention'
refuse '{"micro_batch": "2"}' type 'whole number'
refuse '{"model": {"hidden": 0}}' range 'hidden.* is 0'
refuse '{"dp": 8, "slices": 3, "pp": 1}' indivisible 'slices 3 does not divide dp'
done_testing
