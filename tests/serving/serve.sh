#!/bin/sh
# Tests serve: its figures against plans of the steps that they are made of, its formats against each
# other, and what it refuses.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
COLUMNS=80
export COLUMNS
small=$scenarios/requests.yaml

# Requests so far apart that each is alone, of lengths that are planned: a prefill of 256 tokens, and
# a decode behind these, which the first and only time between tokens is.
shardsim serve "$small" --rate 0.1 -n 3 --prompt-tokens 256 --output-tokens 2 --replicas 2 --json
is 0 "requests far apart"
cp "$tmp/out" "$tmp/alone.json"
for half in prefill decode; do
    context=0
    [ $half = prefill ] || context=255
    seq=$((256 - context))
    shardsim plan "$small" -S $half -s batch.size=1 -s batch.seq=$seq -s decode.context=$context \
        -s decode.tokens=1 --json
    is 0 "a plan of the $half"
    cp "$tmp/out" "$tmp/$half.json"
done
cp "$tmp/decode.json" "$tmp/decode1.json"
cat >"$tmp/alone.py" <<'PY'
import json, sys

serve, prefill, decode = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
step = lambda result: result["time"]["modelled"]["step_seconds"]
for row in serve["policies"]:
    first, gap = row["first_token_p99_s"], row["between_tokens_p50_s"]
    assert abs(first / step(prefill) - 1) < 1e-6, (row["policy"], first, step(prefill))
    if row["policy"] == "disaggregated":
        assert step(decode) < gap < step(decode) + 1e-3, (gap, step(decode))
    else:
        assert abs(gap / step(decode) - 1) < 1e-6, (row["policy"], gap, step(decode))
    assert row["served"] == 3 and row["refused"] == 0 and row["devices"] == 4
    assert row["batch_mean"] == 1 and row["preemptions"] == 0
assert len(serve["policies"]) == 5
PY
python3 "$tmp/alone.py" "$tmp/alone.json" "$tmp/prefill.json" "$tmp/decode.json" >"$tmp/wrong" 2>&1
ok $? "requests far apart take as long as the steps planned for them"
diag <"$tmp/wrong"

# A draft: the same prompts, and one decode that verifies four proposals, of which three are right: it
# makes four tokens, as the plan of it says.
set -- -s decode.draft=4 -s decode.accepted=3
shardsim serve "$small" --rate 0.1 -n 3 --prompt-tokens 256 --output-tokens 5 --replicas 2 --json "$@"
is 0 "requests far apart, with a draft"
cp "$tmp/out" "$tmp/alone.json"
shardsim plan "$small" -S decode -s batch.size=1 -s batch.seq=1 -s decode.context=255 -s decode.tokens=1 --json "$@"
is 0 "a plan of the decode that verifies"
cat >"$tmp/draft.py" <<'PY'
import json, sys

serve, decode = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
step = decode["time"]["modelled"]["step_seconds"]
assert serve["draft_tokens"] == 4 and serve["accepted_tokens"] == 3
for row in serve["policies"]:
    brings = 1e-3 if row["policy"] == "disaggregated" else 2e-9
    assert -2e-9 < row["between_tokens_p50_s"] - step < brings, (row, step)
    assert -2e-9 < row["time_per_token_p50_s"] - step / 4 < brings, (row, step)
    assert row["steps"] == 6, row
PY
python3 "$tmp/draft.py" "$tmp/alone.json" "$tmp/out" >"$tmp/wrong" 2>&1
ok $? "what is right of a draft is made, in the time of the plan"
diag <"$tmp/wrong"
shardsim serve "$small" -n 50 "$@"
tr -s '\n ' '  ' <"$tmp/out" | grep -q "verifies 4 draft tokens per sequence, of which 3 are accepted on average, and makes 4 tokens,"
ok $? "text: what a draft makes"

# A closed loop: the first two requests are there at once, and each other one when one has finished.  The
# queue's part of the first token is what the prefill alone does not take.
shardsim serve "$small" -p chunked --concurrency 2 --batch 1 -n 20 --prompt-tokens 256 --output-tokens 2 --json
is 0 "a closed loop"
cat >"$tmp/loop.py" <<'PY'
import json, sys

serve, prefill, decode = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
step = lambda result: result["time"]["modelled"]["step_seconds"]
row, = serve["policies"]
assert serve["concurrency"] == 2
near = lambda value, expected: abs(value / expected - 1) < 1e-5
assert near(row["queue_p50_s"], step(prefill) + step(decode)), row
assert near(row["first_token_p50_s"] - row["queue_p50_s"], step(prefill)), row
assert near(row["seconds"], 20 * (step(prefill) + step(decode))), row
PY
python3 "$tmp/loop.py" "$tmp/out" "$tmp/prefill.json" "$tmp/decode1.json" >"$tmp/wrong" 2>&1
ok $? "one of two waits for the other: as long as its steps take"
diag <"$tmp/wrong"
shardsim serve "$small" -p chunked --concurrency 2 -n 20
tr -s '\n ' '  ' <"$tmp/out" | grep -q "with at most 2 in the system: the next arrives when one has finished"
ok $? "text: a closed loop"

# What is known of the error of such steps, as a plan of one says it: nothing of small models in 32 bits,
# something of one that is like those that were measured.
tr -s '\n ' '  ' <"$tmp/out" | grep -q "Against measured steps: extrapolated in matmuls in float32, .*; accuracy unknown"
ok $? "text: says that it is extrapolated, and in what"
shardsim serve "$scenarios/requests.yaml" -s hardware=tpu-v4 -n 3 --json
grep -q '"validated": false' "$tmp/out" && grep -q '"expected_error": null' "$tmp/out"
ok $? "a cluster of which no step of serving was measured"
shardsim serve "$scenarios/requests.yaml" -s hardware=tpu-v4 -n 3
tr -s '\n ' '  ' <"$tmp/out" | grep -q "not validated: no measured serving steps on this cluster"
ok $? "text: not validated"

# Groups of devices with sequences of their own: one replica of two is as two replicas, where they do not
# communicate.  Where they do, they step together.
sed 's/^mesh: .*/mesh: {dp: 2, tp: 2}/' "$small" >"$tmp/groups.yaml"
printf 'axes: {batch: dp}\n' >>"$tmp/groups.yaml"
set -- -p static -p prefill-first -p chunked -p shortest --rate 900 -n 200 --prompt-tokens lognormal:161,120 \
    --output-tokens 40 --json
shardsim serve "$small" --replicas 2 "$@"
alike() { # what is the same of either
    sed '/"extrapolated_in"/,/\]/d' "$1" | grep -v -e '"scenario"' -e '"groups' -e '"replicas"' -e _steps
}
alike "$tmp/out" >"$tmp/two.json"
shardsim serve "$tmp/groups.yaml" "$@"
is 0 "a batch sharded over devices"
alike "$tmp/out" | cmp -s - "$tmp/two.json"
ok $? "two groups that do not communicate are as two replicas"
grep -q '"groups": 2' "$tmp/out" && grep -q '"groups_step_together": false' "$tmp/out"
ok $? "says that they step alone"
sed 's/mlp.down.kernel, .tp./mlp\/down\/kernel, [[dp, tp]]/' "$tmp/groups.yaml" >"$tmp/together.yaml"
shardsim serve "$tmp/together.yaml" -p chunked -n 20
tr -s '\n ' '  ' <"$tmp/out" | grep -q "1 replica of 2 device groups, each with its own sequences, 4 devices"
ok $? "text: groups"
tr -s '\n ' '  ' <"$tmp/out" | grep -q "Groups of a replica run collectives together"
ok $? "text: groups that communicate step together"
# A batch of no multiple, and a cache in parts: each piece has a prefill's tokens.
shardsim serve "$scenarios/answer.yaml" -S parts -p chunked --batch 3 --step-tokens 63 -n 5
is 0 "a cache that is cut over its tokens"

set -- "$small" --replicas 2 --rate 900 -n 300 --prompt-tokens lognormal:161,120 --output-tokens 40 --ttft 1ms
shardsim serve "$@" --json
is 0 "serve --json"
cp "$tmp/out" "$tmp/first.json"
shardsim serve "$@" --format=json
cmp -s "$tmp/out" "$tmp/first.json"
ok $? "the same answer again"
shardsim serve "$@" --seed 1 --json
! cmp -s "$tmp/out" "$tmp/first.json"
ok $? "another answer to other requests"
shardsim serve "$@" --format=csv
cp "$tmp/out" "$tmp/first.csv"
cat >"$tmp/alike.py" <<'PY'
import csv, json, sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
rows = list(csv.DictReader(open(sys.argv[2], encoding="utf-8", newline="")))
assert len(rows) == len(report["policies"])
for row, policy in zip(rows, report["policies"]):
    assert row["policy"] == policy["policy"]
    for key, value in policy.items():
        assert key == "policy" or float(row[key]) == value, (key, row[key], value)
    for kind in "first_token", "between_tokens", "latency", "time_per_token":
        p50, p90, p99 = (policy[f"{kind}_{p}_s"] for p in ("p50", "p90", "p99"))
        assert 0 < p50 <= p90 <= p99, (kind, p50, p90, p99)
    assert policy["served"] == 300 and 0 <= policy["good"] <= 1 and 0 < policy["busy"] <= 1
    assert abs(policy["tokens_per_s"] * policy["seconds"] - 300 * 40) < 1e-3
PY
python3 "$tmp/alike.py" "$tmp/first.json" "$tmp/first.csv" >"$tmp/wrong" 2>&1
ok $? "CSV and JSON have the same figures"
diag <"$tmp/wrong"
shardsim serve "$@"
tr -s '\n ' '  ' <"$tmp/out" | grep -q "of requests within 1.00 ms to the first token"
ok $? "text: the answer first"
awk 'length > 80 { wide = 1 } END { exit wide }' "$tmp/out"
ok $? "text: no line is wider than the screen"

# A cache of few tokens: sequences are preempted, and those that never fit are refused.
shardsim serve "$small" -p chunked --batch 64 --step-tokens 256 --prompt-tokens 600 --output-tokens 300 -n 60 \
    -s limits.memory=7MiB --json
is 0 "a cache of few tokens"
python3 - "$tmp/out" >"$tmp/wrong" 2>&1 <<'PY'
import json, sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
row = report["policies"][0]
assert row["preemptions"] > 0 and row["recomputed_tokens"] > 0 and row["served"] == 60, row
assert 0.9 < row["cache_most"] <= 1 and report["cache_tokens"] < 60 * 899, (report["cache_tokens"], row)
PY
ok $? "where it is full, sequences are preempted"
diag <"$tmp/wrong"

# A cache that has room for no request; and requests that have no second token.
shardsim serve "$small" -p chunked -p static --batch 2 --step-tokens 64 --prompt-tokens 6000 \
    --output-tokens 300 -n 6 -s limits.memory=12600KiB
is 0 "a cache that is too small for every request"
head -n 1 "$tmp/out" | grep -q 'no request fits'
ok $? "says that none fits"
! grep -Eq 'nan|[0-9] Y|shortest TTFT' "$tmp/out"
ok $? "and has no other answer"
shardsim serve "$small" --output-tokens 1 -n 20
is 0 "requests of one token"
tr -s '\n ' '  ' <"$tmp/out" | grep -q 'shortest TTFT is with [a-z-]* (p90 [^)]*)\. '
ok $? "says when the first token comes, and nothing of a next one"

# A file: two prompts that begin alike.
cat >"$tmp/trace.jsonl" <<'END'
{"timestamp": 0, "input_length": 1000, "output_length": 4, "hash_ids": [5, 6]}
{"timestamp": 60000, "input_length": 1000, "output_length": 4, "hash_ids": [5, 7]}
END
shardsim serve "$small" --trace "$tmp/trace.jsonl" -p prefill-first --json
is 0 "a trace of a file"
grep -q '"found_tokens": 512' "$tmp/out"
ok $? "a prefix is found in the cache"
shardsim serve "$small" --trace "$tmp/trace.jsonl" --rate 1 -p prefill-first --json
grep -q '"arrival_seconds": 1,' "$tmp/out" || grep -q '"arrival_seconds": 1.0,' "$tmp/out"
ok $? "the times of a file are stretched"

# The unit of arrivals without one is judged, told, and can be said; what is not read is told, too.
for i in 1 2 3 4 5; do
    printf '{"timestamp": %d.5, "type": "text", "n_images": 1, "input_length": 10, "output_length": 2}\n' $i
done >"$tmp/seconds.jsonl"
shardsim serve "$small" --trace "$tmp/seconds.jsonl" -p chunked
is 0 "a trace in seconds"
tr -s '\n ' '  ' <"$tmp/out" | grep -q "5 requests, 1 requests/s; .* Times of arrival are in seconds, because they have fractions; set another with --time-unit=s|ms|us|ns. Not read: type, n_images. Images, audio and video are not modelled"
ok $? "says that its times are in seconds, why, and what is not read"
shardsim serve "$small" --trace "$tmp/seconds.jsonl" -p chunked --time-unit ms
tr -s '\n ' '  ' <"$tmp/out" | grep -q "5 requests, 1e+03 requests/s; .* Times of arrival are in milliseconds, by --time-unit."
ok $? "a unit that is said"
shardsim serve "$small" --trace "$tmp/seconds.jsonl" -p chunked --json
grep -q '"time_unit": "seconds"' "$tmp/out" && grep -q '"time_unit_is_told": false' "$tmp/out" &&
    grep -q '"fields_not_read": "type, n_images"' "$tmp/out"
ok $? "and in JSON"

# The scenario is read once, so that it may be standard input.
set -- -p chunked -n 20 --prompt-tokens 100 --output-tokens 10 --batch 4 --json
shardsim serve "$small" "$@"
grep -v '"scenario"' "$tmp/out" >"$tmp/of_file"
shardsim serve - "$@" <"$small"
is 0 "a scenario from standard input"
grep -v '"scenario"' "$tmp/out" | cmp -s - "$tmp/of_file"
ok $? "it is served like that of the file"

# Few tokens a second have digits.
shardsim serve "$small" -p chunked --rate 0.01 -n 4 --output-tokens 1
tr -s '\n ' '  ' <"$tmp/out" | grep -q "chunked makes 0\.0[0-9]* output tokens a second"
ok $? "less than half a token a second"

# Steps of few tokens: prompts are only cut by chunked, and the report says so.
shardsim serve "$small" -p prefill-first -p chunked -n 20 --step-tokens 100 --prompt-tokens 300 --output-tokens 4
is 0 "steps of few tokens"
tr -s '\n ' '  ' <"$tmp/out" | grep -q "prefill-first: 20 of .* steps have more than 100 tokens, because this policy splits no prompt"
ok $? "says that prompts are not cut"
! grep -q '^chunked: .* tokens, as this policy' "$tmp/out"
ok $? "and nothing of the policy that cuts them"

# refused STATUS WORDS ARGUMENT...: serve ends with STATUS and WORDS.
refused() {
    wanted=$1
    words=$2
    shift 2
    shardsim serve "$@"
    is "$wanted" "refused: $words"
    grep -q -e "$words" "$tmp/err"
    ok $? "says: $words"
}
printf 'arrival,prompt_tokens,output_tokens\n0,1,1\n1,x,1\n' >"$tmp/bad.csv"
refused 2 "bad.csv:3:3: error: 'x' is not a number of tokens" "$small" --trace "$tmp/bad.csv"
refused 2 "nothing.csv" "$small" --trace "$tmp/nothing.csv"
refused 2 "--trace has its own requests; remove --seed" "$small" --trace "$tmp/bad.csv" --seed 1
refused 2 "expected s, ms, us or ns" "$small" --trace "$tmp/bad.csv" --time-unit minutes
refused 2 "--time-unit requires --trace" "$small" --time-unit ms
refused 2 "did you mean 'chunked'?" "$small" -p chunk
refused 2 "expected requests per second above 0" "$small" --rate -1
refused 2 "expected requests per second above 0" "$small" --rate 0x10
refused 2 "expected e.g. 512" "$small" --prompt-tokens 0x10
refused 2 "expected e.g. 512\|expected a mean" "$small" --prompt-tokens lognormal:512,0x10
refused 2 "expected e.g. 512" "$small" --prompt-tokens many
refused 2 "expected at least one replica left for decode" "$small" --replicas 2 --prefill-replicas 2
refused 2 "requires --policy disaggregated" "$small" --replicas 2 --prefill-replicas 1 -p static -p chunked
refused 2 "expected at least one prefill replica and one decode replica" "$small" -p disaggregated
refused 2 "pages of 48 tokens do not divide" "$small" --trace "$tmp/trace.jsonl" --page 48
refused 2 "expected hardware" "$small" -s hardware=null
refused 2 "expected a decoder" "$scenarios/fsdp.yaml" -s hardware=b200
refused 1 "leave no memory for a KV cache" "$small" -s limits.memory=1MiB
printf 'prefill: {mesh: {tp: 1}}\n' | cat "$small" - >"$tmp/apart.yaml"
printf 'arrival,prompt_tokens,output_tokens\n0,24,0\n1,24,0\n' >"$tmp/unanswered.csv"
refused 2 "no request has both a prompt and an output (2 requests in total)" "$small" --trace "$tmp/unanswered.csv"
refused 2 "decode.accepted has no effect; expected decode.draft" "$small" -s decode.draft=0 -s decode.accepted=1
refused 2 "expected --policy disaggregated" "$tmp/apart.yaml" -p static
refused 2 "at least two --replicas" "$tmp/apart.yaml"
refused 2 "steps of 4 tokens cannot verify the 4 draft tokens" "$small" --step-tokens 4 -s decode.draft=4
refused 2 "answer.yaml: error: the file has several strategies; choose one with --strategy: 'one/prefill'" \
    "$scenarios/answer.yaml"
refused 2 "there is no strategy 'nix'; expected one of 'one', 'same'" "$scenarios/answer.yaml" -S nix
refused 2 "fsdp.yaml: error: its serving steps: a model of kind mlp cannot decode" "$scenarios/fsdp.yaml"
refused 2 "all layers have a sliding window, whose paged KV cache is not modelled" "$small" -s model.window=64
# Before anything is planned, which would fail here.
refused 2 "expected --policy disaggregated" "$tmp/apart.yaml" -p static -s limits.memory=1MiB
refused 2 "expected at least one prefill replica and one decode replica" "$small" -p disaggregated -s limits.memory=1MiB
refused 2 "pages of 48 tokens do not divide" "$small" --trace "$tmp/trace.jsonl" --page 48 -s limits.memory=1MiB
refused 2 "both standard input" - --trace -
shardsim serve "$tmp/apart.yaml" --replicas 3 --prefill-replicas 1 -n 50 --json
is 0 "a prefill on devices of its own"
grep -q '"devices": 5,' "$tmp/out"
ok $? "one device that prefills, and two replicas of two"
shardsim serve "$tmp/apart.yaml" --replicas 2 -n 80 --batch 64 --step-tokens 256 --prompt-tokens 600 \
    --output-tokens 300 -s limits.memory=7MiB
is 0 "the same with a cache of few tokens"
tr -s '\n ' '  ' <"$tmp/out" | grep -q 'preempted requests are recomputed on decode devices'
ok $? "says whose times such prefills have"

done_testing
