#!/bin/sh
# Tests training with four and five parallel axes at once, on 16 and 32 devices: each step has the
# loss of one device.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# A few steps suffice under a sanitizer, as later ones run the same code.
STEPS=20
small_size && STEPS=3

# learns SCENARIO WITHIN ARGUMENT...: all losses are those of the first strategy, within WITHIN.
learns() {
    file=$scenarios/$1.yaml within=$2
    shift 2
    shardsim show curves -q --json -s steps=$STEPS "$@" "$file"
    is 0 "${file##*/} $*: trained"
    holds "${file##*/} $*: losses are those of one device within $within, at every step" <<PY
assert len(r) == 3 and r[0]["strategy"] == "one-device"
for s in r[1:]:
    far = max(abs(a - b) for a, b in zip(s["losses"], r[0]["losses"]))
    assert len(s["losses"]) == $STEPS and far == s["distance"] <= $within, (s["strategy"], far)
assert $STEPS < 20 or r[0]["losses"][-1] < r[0]["losses"][0] - 1.5, r[0]["losses"]
PY
}

learns train_4d 1e-4
learns train_5d 1e-4
learns train_5d 1e-9 -s model.dtype=float64

for d in 4 5; do
    shardsim plan --json "$scenarios/train_${d}d.yaml" --strategy ${d}d
    holds "train_${d}d: as many devices as axes of two make, every axis used" <<PY
axes = set(a for c in r["collectives"] for a in c["axes"])
want = {"dp", "pp", "cp", "tp"} | ({"ep"} if $d == 5 else set())
assert len(r["flops"]) == 2 ** $d, len(r["flops"])
assert axes == want, axes
PY
done

# Unless experts are sharded over cp too, the ranks of cp compute the rows of the same experts
# twice.
shardsim plan --json "$scenarios/train_5d.yaml"
holds "every row is computed once, whether experts are sharded over cp or held by each of its ranks" <<'PY'
done = {s["strategy"]: s["balance"]["expert_flops"]["mean"] * len(s["flops"]) for s in r}
assert done["one-device"] == done["folded"] == done["5d"] > 0, done
PY

# The test of losses can fail: other data give other losses.
cat >"$tmp/seeds.yaml" <<YAML
$(sed '/^strategies:/,$d' "$scenarios/train_4d.yaml")
strategies:
  - {name: one-device, mesh: {dp: 1, pp: 1, cp: 1, tp: 1}}
  - {name: other, seed: 2}
YAML
shardsim show curves -q --json -s steps=3 "$tmp/seeds.yaml"
holds "other data: the losses differ" <<'PY'
assert r[1]["distance"] > 1e-3, r[1]["distance"]
PY
done_testing
