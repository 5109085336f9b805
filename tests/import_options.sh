#!/bin/sh
# import and export of options: a layout goes to Megatron-LM or torchtitan and comes back with the
# same mesh, bytes and memory; what one cannot say is told, at its place where there is one.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
starts_no_threads

cat >"$tmp/figures.py" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
received = d["received_bytes"]
axes = sorted(received.pop("by_axis").values())  # of other names
d["memory"].pop("breakdown", None)  # whose parts and transfers have names, too
print([n for _, n in d["mesh"] if n > 1], received, axes, d["memory"], d["flops"])
END

# there_and_back TARGET SCENARIO STRATEGY [OPTION...]
there_and_back() {
    target=$1 scenario=$2 strategy=$3
    shift 3
    "$shardsim" export --to "$target" "$scenarios/$scenario" --strategy "$strategy" "$@" \
        -o "$tmp/options" &&
        "$shardsim" import --from "$target" "$tmp/options" -o "$tmp/back.yaml" &&
        "$shardsim" plan "$scenarios/$scenario" --strategy "$strategy" "$@" --json >"$tmp/a.json" &&
        "$shardsim" plan "$tmp/back.yaml" --json >"$tmp/b.json" &&
        python3 "$tmp/figures.py" "$tmp/a.json" >"$tmp/a" &&
        python3 "$tmp/figures.py" "$tmp/b.json" >"$tmp/b" && cmp "$tmp/a" "$tmp/b"
    ok $? "there and back: $target, $scenario, $strategy $*"
}

for strategy in dp zero-1 zero-2 zero-3 hybrid tp-dp; do
    there_and_back megatron train_zero.yaml "$strategy"
done
for strategy in 1f1b interleaved tp-pp-dp; do
    there_and_back megatron train_pipeline.yaml "$strategy"
done
for strategy in 4d 4d-zero; do
    there_and_back megatron train_4d.yaml "$strategy"
done
for strategy in bfloat16 float16; do
    there_and_back megatron train_mixed.yaml "$strategy"
done
there_and_back megatron train_microbatches.yaml tp-recompute
there_and_back megatron train_5d.yaml folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 2}'
there_and_back megatron llama3.yaml default \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
there_and_back megatron gpt2.yaml default \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
types='types={parameters: float32, reduce: parameters}'
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" -s recompute=none
there_and_back torchtitan models/llama3-8b.yaml tp-dp -s "$types" -s recompute=full -s zero.stage=3
there_and_back torchtitan models/llama3-8b.yaml tp-dp -s "$types" -s recompute=none \
    -s 'mesh={pp: 2, dp: 64, tp: 8}' -s pipeline.axis=pp -s zero.stage=3

# refuses TEXT TARGET SCENARIO STRATEGY [OPTION...]
refuses() {
    text=$1 target=$2 scenario=$3 strategy=$4
    shift 4
    "$shardsim" export --to "$target" "$scenarios/$scenario" --strategy "$strategy" "$@" \
        >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -qF "$text" "$tmp/err"
    ok $? "$target refuses $scenario, $strategy: $text"
}

refuses 'no schedule ZBH1' megatron train_pipeline.yaml zero-bubble
refuses 'no model of kind mlp' megatron fsdp.yaml default
refuses 'expected types.reduce float32' megatron train_mixed.yaml half-sums
refuses "'pp', of stages, is inside its neighbours" megatron train_5d.yaml 5d
refuses "'embed/table' is not sharded along vocab over 'tp'" megatron experts.yaml tensor-parallel \
    -s moe.routing=learned
refuses "stages are outermost; expected 'pp' as the first axis" torchtitan train_4d.yaml 4d
refuses 'no ZeRO 1' torchtitan models/llama3-8b.yaml tp-dp
refuses 'shards sequences between layers' torchtitan models/llama3-8b.yaml tp-dp \
    -s 'constraints=[]' -s zero.stage=3

cat >"$tmp/job.sh" <<'END'
# a comment with --num-layers 9
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size=64 \
    --num-attention-heads 4 --vocab-size 128 --seq-length "32" --swiglu --data-path '/a b' \
    --tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 16
END
"$shardsim" import --from megatron "$tmp/job.sh" >"$tmp/job.yaml" &&
    grep -q '^mesh: {dp: 4, tp: 2}$' "$tmp/job.yaml" &&
    grep -q '^batch: {size: 16, seq: 32, microbatches: 4}$' "$tmp/job.yaml" &&
    grep -q '^  layers: 2$' "$tmp/job.yaml" && grep -q 'left out.*: --data-path$' -i "$tmp/job.yaml"
ok $? "a command as people write it; what says nothing of the layout is named"

# faults SOURCE EXPECTED < TEXT
faults() {
    cat >"$tmp/bad"
    (cd "$tmp" && "$shardsim" import --from "$1" bad) >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -o '^bad:[0-9:]* error' "$tmp/err" >"$tmp/places" &&
        [ "$(tr '\n' ' ' <"$tmp/places")" = "$2" ]
    ok $? "faults of $1 at their places: $2"
}

faults megatron 'bad:1:14: error bad:2:20: error bad:3:1: error ' <<'END'
--num-layers 2x --hidden-size 64 --num-attention-heads 4 --seq-length 8
--normalization    Batch --nproc-per-node 2 --micro-batch-size 1
--fp8-format
END
faults torchtitan 'bad:2:10: error bad:5:26: error bad:6:1: error ' <<'END'
[model]
flavor = "9B" # there is none
name = "llama3"
[parallelism]
tensor_parallel_degree = 0
what is this
END
printf '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8\n' \
    >"$tmp/open.toml"
"$shardsim" import --from torchtitan "$tmp/open.toml" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'how many devices? expected --devices N' "$tmp/err" &&
    "$shardsim" import --from torchtitan --devices 16 "$tmp/open.toml" >"$tmp/open.yaml" &&
    grep -q '^mesh: {dp: 16}$' "$tmp/open.yaml" && grep -q 'stage: 3' "$tmp/open.yaml"
ok $? "shards that are left open take the devices that are left"

done_testing
