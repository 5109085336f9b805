#!/bin/sh
# Tests import and export of options: a layout exported to Megatron-LM or torchtitan and imported
# again has the same mesh, bytes and memory; what a system cannot express is reported, at its place
# if there is one.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/figures.py" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
received = d["received_bytes"]
axes = sorted(received.pop("by_axis").values())  # axes may have other names
d["memory"].pop("breakdown", None)  # parts and transfers have names of arrays
print([n for _, n in d["mesh"] if n > 1], received, axes, d["memory"], d["flops"])
END

# One case in so many.
every=3
[ "${SHD_SANITIZER:-no}" = no ] || every=12

# there_and_back TARGET SCENARIO STRATEGY [OPTION...]: export and import give the same figures.
there_and_back() {
    target=$1 scenario=$2 strategy=$3
    shift 3
    sampled "$every" || return
    "$shardsim" export --to "$target" "$scenarios/$scenario" --strategy "$strategy" "$@" \
        --force -o "$tmp/options" &&
        "$shardsim" import --from "$target" "$tmp/options" --force -o "$tmp/back.yaml" &&
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
there_and_back megatron train_4d.yaml 4d
there_and_back megatron train_4d.yaml 4d-zero -s 'zero.axis=[dp, cp]'
for strategy in bfloat16 float16; do
    there_and_back megatron train_mixed.yaml "$strategy"
done
there_and_back megatron train_microbatches.yaml tp-recompute -s 'recompute={whole: true}'
there_and_back megatron train_microbatches.yaml tp-recompute \
    -s 'recompute={kind: full, group: 3, whole: true}'
there_and_back megatron train_microbatches.yaml tp-recompute \
    -s 'recompute={kind: selective, modules: [core_attn, mlp], whole: true}'
there_and_back megatron train_pipeline.yaml 1f1b -s 'pipeline.layers=[3, 1]'
there_and_back megatron train_pipeline.yaml 1f1b -s pipeline.layers=weighed -s model.vocab=2048
there_and_back megatron train_pipeline.yaml interleaved -s 'pipeline.layers=[0, 2, 2, 0]' \
    -s 'recompute={kind: full, first: 1, count: stage, whole: true}'
there_and_back megatron train_5d.yaml folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 1}' \
    -s moe.routing=uniform -s fused.gates=true
# Experts over the ranks of tensor parallelism, too, each of which is whole.
folded='params=[[(q|k|v)/kernel, [null, tp]], [attn/o/kernel, [tp]], [moe/(gate|up|down)/kernel, [[ep, cp, tp]]],
    [embed/table, [tp]], [head/kernel, [null, tp]], [.*, []]]'
between='constraints=[[attn/(q|kv), [[dp, ep], cp, tp, null]], [head/out, [[dp, ep], cp, tp]], [out$, [[dp, ep], [cp, tp], null]]]'
there_and_back megatron train_5d.yaml folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 2}' \
    -s moe.routing=uniform -s "$folded" -s moe.aux_loss=0 -s moe.z_loss=0 -s "$between" -s fused.gates=true
shardsim export --to megatron "$scenarios/train_5d.yaml" --strategy folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 2}' \
    -s "$folded" -s 'constraints=[[out, [[dp, ep], [cp, tp], null]]]'
says out '^    --expert-tensor-parallel-size 1 ' "Megatron-LM: experts over tensor parallelism are whole"
says out '^    --expert-model-parallel-size 8 ' "and over all ranks that have tokens"
shardsim export --to megatron "$scenarios/train_5d.yaml" --strategy folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 2}' \
    -s "$(echo "$folded" | sed 's/\[ep, cp, tp\]/[ep, tp]/')" -s 'constraints=[[out, [[dp, ep], [cp, tp], null]]]'
says err 'context-parallel ranks hold the same experts' "Megatron-LM: not over tensor parallelism past context"
there_and_back megatron llama3.yaml default -s model.qk_norm=true \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
there_and_back megatron gpt2.yaml default \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
there_and_back megatron deepseek.yaml default -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
there_and_back megatron deepseek.yaml default -s 'step=[forward, backward, update]' -s optimizer.kind=adamw \
    -s model.layers=6 -s moe.every=2
types='types={parameters: float32, reduce: parameters}'
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" -s recompute=none
there_and_back torchtitan models/llama3-8b.yaml tp-dp -s "$types" -s recompute=full -s zero.stage=3 \
    -s gathered=keep
there_and_back torchtitan models/llama3-8b.yaml tp-dp -s "$types" -s recompute=none \
    -s 'mesh={pp: 2, dp: 64, tp: 8}' -s pipeline.axis=pp -s zero.stage=3 -s gathered=keep
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" \
    -s 'recompute={kind: selective_op, hold: true}'
there_and_back torchtitan models/llama3-8b.yaml tp-dp -s "$types" -s recompute=selective_op \
    -s 'mesh={pp: 4, dp: 32, tp: 8}' -s pipeline.axis=pp -s zero.stage=3 -s gathered=keep \
    -s pipeline.schedule=Interleaved1F1B -s pipeline.layers="E|t*5|t*5|t*5|t*5|t*6|t*6|L"
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" \
    -s 'recompute={every: 2, offset: 1}'

# What is rounded, there and back.
fp8='products.amax=local'
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" -s recompute=none -s $fp8 \
    -s products.recipe=rowwise -s products.gathers=true -s 'products.except=[^head, attn/(k|v)$, mlp/up]'
there_and_back torchtitan models/llama3-8b.yaml hybrid-fsdp -s "$types" -s recompute=none \
    -s products.recipe=mxfp8
there_and_back megatron train_zero.yaml zero-3 -s $fp8 -s products.recipe=tensorwise -s products.gathers=true
there_and_back megatron train_zero.yaml zero-3 -s $fp8 -s products.recipe=tensorwise \
    -s 'products.except=[head, router, layers/0/]'
there_and_back megatron train_5d.yaml folded -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 1}' \
    -s moe.routing=uniform -s $fp8 -s products.recipe=tensorwise -s fused.gates=true
shardsim export --to megatron "$scenarios/train_5d.yaml" --strategy folded -s products.recipe=tensorwise -s $fp8 \
    -s moe.routing=uniform -s 'mesh={pp: 2, dp: 2, ep: 2, cp: 2, tp: 1}' -s 'products.except=[^head, router, moe/(up|down|gate)$]'
[ "$status" -ne 0 ] && grep -q 'expected both or neither in products.except' "$tmp/err"
ok $? "megatron: experts are rounded where their layers are"

# Export asks for the overlap that the plan assumes, and says which options are not part of the
# layout.
shardsim export --to megatron "$scenarios/models/llama3-70b.yaml"
says out '^    --overlap-grad-reduce ' "Megatron-LM: gradients are summed beside the backward phase"
says out '^    --overlap-param-gather ' "Megatron-LM: parameters are gathered beside the forward phase"
says out "^# Learning rates, weight decay and step count are the scenario's or defaults" \
    "Megatron-LM: rates are not the layout's"
shardsim export --to megatron "$scenarios/llama3.yaml" -s 'mesh={dp: 1, tp: 2}' \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
grep -q "size 2" "$tmp/out" && ! grep -q "overlap-" "$tmp/out"
ok $? "Megatron-LM: without replicas there is nothing to run beside"

# Whether collectives run beside products is the cluster's: the plan is timed so, or it is said.
tp_sp="--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 \
    --padded-vocab-size 128 --micro-batch-size 1 --global-batch-size 8 --bf16 --lr 1e-4 --sequence-parallel"
echo "torchrun --nproc_per_node 8 pretrain_gpt.py $tp_sp --tensor-model-parallel-size 2 --tp-comm-overlap" >"$tmp/beside.sh"
"$shardsim" import --from megatron "$tmp/beside.sh" -o "$tmp/beside.yaml"
shardsim export --to megatron "$tmp/beside.yaml" -s hardware=h100-sxm
says out '^    --tp-comm-overlap ' "Megatron-LM: collectives run beside products, as the cluster's software does"
shardsim export --to megatron "$tmp/beside.yaml" -s hardware=a100-sxm -s software=cluster \
    -s overlap.products=cluster
! grep -q 'tp-comm-overlap' "$tmp/out"
ok $? "Megatron-LM: collectives do not run beside products, as the cluster's software does not"
# A loss is fused where its option is there; a plan with a fused loss is exported with it.
grep -q '^fused: {loss: false}' "$tmp/beside.yaml"
ok $? "Megatron-LM: without its option the loss is not fused"
for option in --cross-entropy-loss-fusion:'{loss: true}' --no-bias-swiglu-fusion:'{loss: false, activation: false}'; do
    sed "s/--bf16/& --swiglu --disable-bias-linear ${option%%:*}/" "$tmp/beside.sh" >"$tmp/fused.sh"
    "$shardsim" import --from megatron "$tmp/fused.sh" >"$tmp/fused.yaml"
    grep -q "^fused: ${option#*:}" "$tmp/fused.yaml"
    ok $? "Megatron-LM: ${option%%:*} is planned"
    shardsim export --to megatron "$tmp/fused.yaml" -s hardware=h100-sxm
    says out "^    ${option%%:*} " "Megatron-LM: ${option%%:*} is exported"
done
# The head fused with the loss makes logits of 3072 words at a time: 65536 of a device are 22 times that.
sed "s/--bf16/& --cross-entropy-loss-fusion --cross-entropy-fusion-impl linear --padded-vocab-size 131072/" \
    "$tmp/beside.sh" >"$tmp/fused.sh"
"$shardsim" import --from megatron "$tmp/fused.sh" >"$tmp/fused.yaml"
grep -qxF 'fused: {loss: true, loss_chunks: 22, loss_again: true}' "$tmp/fused.yaml"
ok $? "Megatron-LM: linear_cross_entropy is a loss in chunks"
shardsim export --to megatron "$tmp/beside.yaml" -s overlap.products=cluster
says out '^# No cluster is named, .*: add --tp-comm-overlap where' "Megatron-LM: without a cluster that is not known"

# Settings without which Megatron-LM refuses to start.
shardsim export --to megatron "$scenarios/llama3.yaml" -s 'mesh={dp: 1, tp: 2}' \
    -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
says out '^# On Hopper and older GPUs set CUDA_DEVICE_MAX_CONNECTIONS=1' \
    "Megatron-LM: tensor parallelism demands a variable"
shardsim export --to megatron -S zero-2 "$scenarios/train_microbatches.yaml"
says out '^    --ckpt-format fsdp_dtensor' "Megatron-LM: its FSDP takes one format of checkpoints"
says out '^# .*FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1' \
    "Megatron-LM: its FSDP refuses that variable"

# Export says so if a system recomputes more or less of a layer than the plan.
shardsim export --to megatron -S tp-recompute "$scenarios/train_microbatches.yaml"
says out '^# Megatron-LM recomputes whole layers, unread results included' "Megatron-LM: more is computed again than planned"
shardsim export --to megatron -S tp-recompute -s 'recompute={whole: true}' "$scenarios/train_microbatches.yaml"
! grep -q 'recomputes whole layers' "$tmp/out"
ok $? "Megatron-LM: whole layers are computed again, as planned"
shardsim export --to torchtitan "$scenarios/models/llama3-8b.yaml" -S hybrid-fsdp -s "$types" \
    -s 'recompute={whole: true}'
says out '^# torchtitan recomputes only what the backward pass reads' "torchtitan: less is computed again than planned"
shardsim export --to torchtitan "$scenarios/models/llama3-8b.yaml" -S tp-dp -s "$types" \
    -s recompute=none -s zero.stage=3
says out '^# torchtitan keeps inputs that tensor parallelism all-gathers' "torchtitan: more is kept than planned"
! grep -E '^(expert_parallel|context_parallel_rotate|pipeline_parallel_[sm])' "$tmp/out"
ok $? "torchtitan: no option of stages, experts or contexts where there are none"

# refuses TEXT TARGET SCENARIO STRATEGY [OPTION...]: export is refused with TEXT.
refuses() {
    text=$1 target=$2 scenario=$3 strategy=$4
    shift 4
    "$shardsim" export --to "$target" "$scenarios/$scenario" --strategy "$strategy" "$@" \
        >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -qF "$text" "$tmp/err"
    ok $? "$target refuses $scenario, $strategy: $text"
}

refuses 'no schedule ZBH1' megatron train_pipeline.yaml zero-bubble
for target in megatron torchtitan; do
    refuses 'expected fused.loss_chunks 1' $target models/llama3-8b.yaml tp-dp -s fused.loss_chunks=4
done
refuses 'scores a group of experts by its best 2' megatron deepseek.yaml default -s moe.group_score=max
refuses 'expert bias with softmax scores' megatron deepseek.yaml default -s moe.score=softmax
refuses 'unnormalized sigmoid gates' megatron deepseek.yaml default -s moe.renormalize=false
refuses 'fractional --rotary-base' megatron llama3.yaml default -s model.rope.theta=10000.5

# What DeepSpeed's file says, and what it does not.
shardsim export --to deepspeed "$scenarios/train_zero.yaml" -S hybrid && python3 - "$tmp/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
sizes = d["train_batch_size"], d["train_micro_batch_size_per_gpu"], d["gradient_accumulation_steps"]
assert sizes == (8, 2, 1) and d["zero_optimization"] == {"stage": 3, "overlap_comm": True, "mics_shard_size": 2}, d
assert d["optimizer"]["type"] == "AdamW" and "tensor_parallel" not in d and d["shardsim"]["devices"] == 4
END
ok $? "deepspeed: batch, ZeRO 3 over a part, the optimizer"
shardsim export --to deepspeed "$scenarios/train_microbatches.yaml" -S tp-recompute &&
    grep -qF '"tensor_parallel": {"autotp_size": 4}' "$tmp/out" &&
    grep -qF '"activation_checkpointing": {"number_checkpoints": 3}' "$tmp/out"
ok $? "deepspeed: tensor parallelism and checkpoints"
shardsim export --to deepspeed "$scenarios/train_mixed.yaml" -S float16 &&
    grep -qF '{"enabled": true, "loss_scale": 0, "initial_scale_power": 16, "loss_scale_window": 2000}' "$tmp/out" &&
    grep -qF '"data_types": {"grad_accum_dtype": "fp32"}' "$tmp/out"
ok $? "deepspeed: types and the loss's scale"
shardsim export --to deepspeed "$scenarios/../docs/offload.yaml" -S 'zero-3 optimizer' &&
    grep -qF '"offload_optimizer": {"device": "cpu", "pin_memory": true}' "$tmp/out" &&
    grep -qF '"grad_accum_dtype": "bf16"' "$tmp/out"
ok $? "deepspeed: offload"
refuses 'cannot express pipeline stages' deepspeed train_pipeline.yaml 1f1b
refuses 'cannot express sequence or context parallelism' deepspeed train_4d.yaml 4d -s 'mesh={pp: 1, dp: 2, cp: 4, tp: 2}'
refuses 'cannot express expert parallelism' deepspeed deepseek.yaml default
refuses 'cannot express ZeRO 1 or 2 over a subset' deepspeed train_zero.yaml hybrid -s zero.stage=2
refuses 'cannot express selective recomputation' deepspeed train_zero.yaml zero-3 -s recompute=selective
refuses 'cannot express this offload' deepspeed train_zero.yaml zero-2 -s offload.optimizer=0.5
refuses 'cannot express sequence parallelism' deepspeed models/llama3-8b.yaml tp-dp -s recompute=none
refuses 'no model of kind mlp' megatron fsdp.yaml default
refuses 'recomputation by name pattern or by op' megatron train_pipeline.yaml 1f1b \
    -s recompute=selective_op
refuses 'expected recompute.count: stage' megatron train_pipeline.yaml 1f1b -s recompute.first=1
refuses 'without recompute.every' megatron train_pipeline.yaml 1f1b -s recompute.every=2
refuses 'stages are not whole layers in their order' megatron train_pipeline.yaml 1f1b \
    -s 'pipeline.place=[[layers/3/norm1, 0], [layers/3/, 1], [layers/, 0]]'
refuses 'recomputation by patterns; expected recompute none, full or selective_op' torchtitan \
    models/llama3-8b.yaml tp-dp -s zero.stage=3 -s recompute=save_qkv_proj
refuses '{kind: full, every: N, offset: N - 1}' torchtitan models/llama3-8b.yaml tp-dp \
    -s zero.stage=3 -s 'recompute={every: 2}'
refuses 'expected types.reduce float32' megatron train_mixed.yaml half-sums
refuses "'pp' (stages) is misplaced" megatron train_5d.yaml 5d
refuses "'embed/table' is not sharded along vocab over 'tp', the tensor parallelism axis; expected a rule" \
    megatron experts.yaml tensor-parallel \
    -s moe.routing=learned
refuses "pipeline axis is the outermost; expected 'pp' as the first axis" torchtitan train_4d.yaml 4d
refuses "torchtitan's llama3 differs from this model; expected activation swiglu, norm rms, rope, no bias or attention_bias, no positions" \
    torchtitan train_pipeline.yaml 1f1b -s model.positions=64 -s model.bias=true \
    -s model.norm=layer
refuses "differs from this model; expected tied false, heads x head_dim = d_model" torchtitan train_4d.yaml \
    one-device -s 'params=[[.*, []]]' -s model.tied=true -s model.head_dim=16
# What no target reads is refused by both, whatever it is.
for option in model.sinks=true model.attention_cap=30 model.attention_scale=0.5 \
    'model.layer_types=[full-plain]' model.norm_place=after \
    model.norm_weights=scale model.norm_one_plus=true model.residual=beside model.embed_scale=2 \
    model.residual_scale=0.5 model.skip_scale=2 model.attention_out_scale=2 model.activation_scale=2 \
    model.mlp_out_scale=2 model.logit_scale=2 model.logit_cap=30 model.head_bias=true model.mtp=1; do
    refuses "export to torchtitan does not support" torchtitan models/llama3-8b.yaml tp-dp -s "$option"
    refuses "export to Megatron-LM does not support" megatron models/llama3-8b.yaml tp-dp -s "$option"
done
for system in torchtitan:torchtitan megatron:Megatron-LM; do
    refuses "export to ${system#*:} does not support these norms of queries and keys; expected model.qk_norm" \
        "${system%:*}" models/llama3-8b.yaml tp-dp -s model.qk_norm=whole
    refuses "export to ${system#*:} does not support this partial or scaled RoPE; expected theta and interleaved" \
        "${system%:*}" models/llama3-8b.yaml tp-dp -s 'model.rope={scaling: {kind: linear, factor: 2}}'
done
for option in moe.after=true moe.router_bias=true moe.expert_bias=true moe.gates_input=true moe.shared_gate=true \
    moe.shared_d_ff=8; do
    for target in torchtitan:torchtitan megatron:Megatron-LM; do
        refuses "export to ${target#*:} does not support" "${target%:*}" models/llama3-8b.yaml tp-dp -s "$option" \
            -s moe.experts=8 -s moe.top_k=1 -s moe.shared=1 -s recompute=none -s constraints=[] -s 'params=[[.*, []]]'
    done
done
refuses "no model like this mlp; expected llama3" torchtitan fsdp.yaml default
refuses "no schedule ZBH1; expected GPipe, 1F1B, Interleaved1F1B, LoopedBFS" torchtitan \
    train_pipeline.yaml zero-bubble -s model.activation=swiglu -s 'model.rope={theta: 10000}'
for target in megatron:num-virtual-stages-per-pipeline-rank torchtitan:Interleaved1F1B; do
    shardsim export --to "${target%:*}" "$scenarios/train_pipeline.yaml" -S 1f1b -s pipeline.schedule=interleaved-1f1b \
        -s model.activation=swiglu -s 'model.rope={theta: 10000}'
    says out "${target#*:}" "${target%:*}: a schedule in other letters"
done
refuses "'dp' shards neither the batch nor a parameter; expected it in" megatron train_zero.yaml dp \
    -s axes.batch=null
refuses 'kept all-gathered matmul inputs; expected gathered: again' megatron models/llama3-70b.yaml \
    default -s gathered=keep
refuses 'no ZeRO 1' torchtitan models/llama3-8b.yaml tp-dp -s recompute=none
refuses 'cannot reshard parameters over groups of 2' torchtitan models/llama3-8b.yaml tp-dp \
    -s zero.stage=3 -s zero.reshard_after_forward=2 -s recompute=none
refuses 'includes sequence parallelism' torchtitan models/llama3-8b.yaml tp-dp \
    -s 'constraints=[]' -s zero.stage=3 -s recompute=none
for target in megatron torchtitan; do
    refuses 'expected products.amax local' $target models/llama3-8b.yaml hybrid-fsdp -s "$types" -s recompute=none \
        -s products.recipe=tensorwise -s products.amax=all
done
refuses "does not quantize 'head'" megatron train_zero.yaml zero-3 -s $fp8 -s products.recipe=tensorwise \
    -s 'products.except=[router]'
refuses "quantizes 'layers/1/attn/q'" megatron train_zero.yaml zero-3 -s $fp8 -s products.recipe=tensorwise \
    -s model.layers=4 -s 'products.except=[head, layers/1/]'
refuses "quantizes 'layers/0/attn/k' and 'layers/0/attn/q' alike" megatron train_zero.yaml zero-3 -s $fp8 \
    -s products.recipe=tensorwise -s 'products.except=[head, layers/0/attn/q]'
refuses "quantizes 'layers/1/attn/q' and 'layers/0/attn/q' alike" torchtitan models/llama3-8b.yaml hybrid-fsdp \
    -s "$types" -s recompute=none -s $fp8 -s products.recipe=tensorwise -s 'products.except=[head, layers/0/attn/q]'

# Published models, there and back: what Megatron-LM and torchtitan have no option for is kept in remarks.
# model_there_and_back TARGET SIZE RECOMPUTE [OPTION...]
model_there_and_back() {
    target=$1 size=$2 recompute=$3
    shift 3
    cat >"$tmp/model.yaml" <<END
version: 1
model: {size: $size, dtype: bfloat16}
batch: {size: 16, seq: 1024, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
types: {parameters: float32, reduce: float32}
recompute: $recompute
mesh: {dp: 8}
axes: {batch: dp}
params: [[.*, []]]
zero: {stage: $([ "$target" = megatron ] && echo 1 || echo 3), axis: dp$([ "$target" = megatron ] || echo ', layout: pad')}
END
    "$shardsim" export --to "$target" "$tmp/model.yaml" "$@" --force -o "$tmp/options" 2>"$tmp/err" &&
        "$shardsim" import --from "$target" "$tmp/options" --force -o "$tmp/back.yaml" 2>"$tmp/err" &&
        "$shardsim" plan "$tmp/model.yaml" "$@" --json >"$tmp/a.json" &&
        "$shardsim" plan "$tmp/back.yaml" --json >"$tmp/b.json" &&
        python3 "$tmp/figures.py" "$tmp/a.json" >"$tmp/a" &&
        python3 "$tmp/figures.py" "$tmp/b.json" >"$tmp/b" && cmp "$tmp/a" "$tmp/b"
    ok $? "there and back: $target, $size, $recompute $*"
    diag <"$tmp/err"
}
for size in gpt2 llama2-7b llama3-8b llama3.1-70b qwen3-8b qwen3-30b-a3b mixtral-8x7b deepseek-v2-lite deepseek-v3; do
    model_there_and_back megatron $size full
done
model_there_and_back megatron llama3.1-8b '{kind: full, whole: true}'
model_there_and_back megatron mixtral-8x7b none -s moe.routing=learned -s fused.gates=true
model_there_and_back megatron qwen3-30b-a3b selective -s moe.routing=uniform -s fused.gates=true
for size in llama3-8b llama3.1-70b qwen3-0.6b qwen3-8b qwen3-32b qwen3-30b-a3b deepseek-v2-lite deepseek-v3; do
    model_there_and_back torchtitan $size full
done
model_there_and_back torchtitan llama3.1-8b '{kind: full, whole: true}'
model_there_and_back torchtitan qwen3-14b full -s 'types={parameters: compute, reduce: compute}'
model_there_and_back torchtitan qwen3-14b full -s 'types={parameters: compute, reduce: float32}'
model_there_and_back torchtitan qwen3-14b full -s 'types={parameters: float32, reduce: bfloat16}'
printf '# shardsim: recompute.whole=maybe\n' >>"$tmp/options"
"$shardsim" import --from torchtitan "$tmp/options" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q "options:[0-9]*:13: error: unknown remark 'recompute.whole=maybe'" "$tmp/err"
ok $? "a remark that none can write is an error at its place"

# Positions that are scaled as Llama 3.1's, and groups of an interleaved pipeline.
sed 's/model: .*/model: {size: llama3.1-8b, dtype: bfloat16}/; s/stage: 3/stage: 1/; s/, layout: pad//' "$tmp/model.yaml" >"$tmp/scaled.yaml"
shardsim export --to megatron "$tmp/scaled.yaml"
grep -q '^    --use-rope-scaling ' "$tmp/out" && grep -q '^    --rope-scaling-factor 8.0 ' "$tmp/out"
ok $? "Megatron-LM: scaled positions are written"
"$shardsim" import --from megatron "$tmp/out" 2>"$tmp/err" | grep -q \
    '^  rope: {theta: 500000.0, interleaved: false, scaling: {kind: llama3, factor: 8.0, original: 8192, low: 1, high: 4}}'
ok $? "Megatron-LM: and read"
refuses 'expected theta and interleaved alone in model.rope, or Llama 3.1' megatron models/llama3-8b.yaml tp-dp \
    -s 'model.rope={theta: 500000, scaling: {kind: llama3, factor: 8, original: 4096, low: 1, high: 4}}'
shardsim export --to megatron "$scenarios/train_pipeline.yaml" -S interleaved -s batch.size=3 -s batch.microbatches=3 \
    -s 'mesh={pp: 2}'
says out '^    --microbatch-group-size-per-virtual-pipeline-stage 3 ' "Megatron-LM: the group of microbatches of a round"
shardsim export --to megatron "$scenarios/train_pipeline.yaml" -S interleaved -s batch.size=4 -s batch.microbatches=4 \
    -s 'mesh={pp: 2}'
! grep -q 'microbatch-group' "$tmp/out"
ok $? "Megatron-LM: a group as large as the pipeline is its default"
refuses 'no interleaved pipeline with fewer microbatches than ranks' megatron train_pipeline.yaml interleaved \
    -s batch.microbatches=1
shardsim export --to megatron "$scenarios/deepseek.yaml" -s 'step=[forward, backward, update]' -s optimizer.kind=adamw
says out '^    --moe-grouped-gemm ' "Megatron-LM: experts are computed together"
shardsim export --to torchtitan "$tmp/scaled.yaml" -s 'zero={stage: 3, axis: dp}'
says out '^# torchtitan up to v0.2.2 reads this file' "torchtitan: the version that reads TOML"
says out 'torchtitan.train --module shardsim_job --config job' "torchtitan: the command of those that do not"
says out '^#       job = config_registry.llama3_8b()' "torchtitan: and the function that configures them"

cat >"$tmp/job.sh" <<'END'
# a comment with --num-layers 9
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size=64 \
    --num-attention-heads 4 --vocab-size 128 --seq-length "32" --swiglu --data-path '/a b' \
    --tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 16
END
"$shardsim" import --from megatron "$tmp/job.sh" >"$tmp/job.yaml" &&
    grep -q '^mesh: {dp: 4, tp: 2}$' "$tmp/job.yaml" &&
    grep -q '^batch: {size: 16, seq: 32, microbatches: 4}$' "$tmp/job.yaml" &&
    grep -q '^  layers: 2$' "$tmp/job.yaml" &&
    grep -qx '# Ignored, because it does not affect the layout: --data-path' "$tmp/job.yaml"
ok $? "a command as people write it; what says nothing of the layout is named"
grep -q '^# Not given, default of Megatron-LM: --weight-decay 0.01 --clip-grad 1.0$' "$tmp/job.yaml" &&
    grep -q '^  weight_decay: 0.01$' "$tmp/job.yaml" && grep -q '^  clip: 1.0$' "$tmp/job.yaml"
ok $? "what is not said is as Megatron-LM has it, and a comment says so"

# job OPTION...: import a job of 16 devices with additional options; --vocab-size is among those.
job() {
    printf '%s ' torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 \
        --hidden-size 64 --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 \
        --global-batch-size 16 --tensor-model-parallel-size 2 --hidden-dropout 0 \
        --attention-dropout 0 --bf16 --lr 0.00015 "$@" >"$tmp/job.sh"
    "$shardsim" import --allow-unknown --from megatron "$tmp/job.sh" >"$tmp/job.yaml" 2>"$tmp/err"
}

# becomes LINE OPTION...: the imported scenario has LINE and can be planned.
becomes() {
    line=$1
    shift
    job --vocab-size 256 "$@" && grep -qxF -- "$line" "$tmp/job.yaml" &&
        "$shardsim" plan "$tmp/job.yaml" >"$tmp/plan" 2>&1
    ok $? "megatron $*: $line"
    diag <"$tmp/err"
}

experts='--num-experts 8 --moe-ffn-hidden-size 32 --moe-token-dispatcher-type alltoall --sequence-parallel
    --disable-bias-linear'
# shellcheck disable=SC2086
{
    becomes 'recompute: selective' --recompute-activations
    becomes 'recompute: {kind: full, whole: true}' --activations-checkpoint-method uniform
    becomes 'recompute: {kind: full, first: 3, whole: true}' --recompute-granularity full \
        --recompute-method block --recompute-num-layers 3
    becomes 'recompute: {kind: full, first: 1, count: stage, whole: true}' \
        --recompute-granularity full --recompute-method block --recompute-num-layers 1 \
        --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2
    becomes 'recompute: {kind: full, group: 2, count: stage, whole: true}' \
        --recompute-granularity full --recompute-method uniform --recompute-num-layers 2 \
        --pipeline-model-parallel-size 2
    becomes 'recompute: selective' --recompute-granularity selective --recompute-modules core_attn
    becomes '  shared: 2' $experts --moe-shared-expert-intermediate-size 64
    becomes '  first_dense: 2' $experts --moe-layer-freq '[0]*2+[1]*6'
    becomes '  every: 2' $experts --moe-layer-freq "'([0]+[1])*4'"
    becomes '  every: 4' $experts --moe-layer-freq 4 --pipeline-model-parallel-size 2
    becomes '  score: sigmoid' $experts --moe-router-score-function sigmoid
    becomes '  kept: 2' $experts --moe-router-num-groups 4 --moe-router-group-topk 2
    becomes 'zero: {stage: 3, axis: dp, layout: pad}' --use-torch-fsdp2
    becomes 'zero: {stage: 3, axis: dp, layout: pad, reshard_after_forward: never}' --use-torch-fsdp2 \
        --torch-fsdp2-no-reshard-after-forward
    becomes 'zero: {stage: 2, axis: dp}' --use-custom-fsdp \
        --data-parallel-sharding-strategy optim_grads
    becomes 'pipeline: {axis: pp, schedule: 1F1B, layers: [1, 2, 2, 3]}' \
        --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1 \
        --decoder-last-pipeline-num-layers 3
    becomes 'pipeline: {axis: pp, schedule: 1F1B, layers: [4, 5, 4]}' --num-layers 13 \
        --pipeline-model-parallel-size 3 --nnodes 3 --global-batch-size 12 \
        --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
    becomes 'pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 2}' \
        --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2
    becomes 'pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 2, layers: [3, 2, 3, 0]}' \
        --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "'Et*3|tt,|(t)*3|L'"
    becomes 'pipeline: {axis: pp, schedule: 1F1B, layers: [0, 4, 4]}' --nnodes 3 --global-batch-size 12 \
        --pipeline-model-parallel-size 3 --standalone-embedding-stage
    becomes 'pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 2, layers: [0, 1, 1, 0]}' \
        --num-layers 2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 \
        --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
    becomes 'types: {parameters: float32, gradients: bfloat16, reduce: bfloat16}' \
        --use-precision-aware-optimizer --main-grads-dtype bf16
    becomes 'types: {parameters: float32, moments: bfloat16}' --exp-avg-dtype bf16 \
        --exp-avg-sq-dtype bf16
    becomes '  window: 16' --window-size 15,0
    becomes 'mesh: {dp: 2, en: 2, ep: 4, tp: 2}' --nnodes 4 --num-experts 8 --expert-model-parallel-size 8 \
        --sequence-parallel --disable-bias-linear --global-batch-size 16 --moe-token-dispatcher-type flex
    becomes '  node_axis: en' --nnodes 4 --num-experts 16 --expert-model-parallel-size 16 --sequence-parallel --disable-bias-linear \
        --global-batch-size 16 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep
    becomes '  by_node: false' --nnodes 4 --num-experts 16 --expert-model-parallel-size 16 --sequence-parallel --disable-bias-linear \
        --global-batch-size 16 --moe-token-dispatcher-type alltoall
    becomes 'axes: {batch: [dp, ep]}' --nnodes 2 --num-experts 8 --expert-model-parallel-size 4 --sequence-parallel --disable-bias-linear \
        --global-batch-size 16 --moe-token-dispatcher-type flex --moe-enable-deepep
    becomes '  mtp_weight: 0.1' --mtp-num-layers 1
    becomes '  mtp: 2' --mtp-num-layers 2 --mtp-loss-scaling-factor 0.3
    becomes '  attention: unfused' --attention-backend unfused
    becomes '  rope: {theta: 10000.0, interleaved: false}' --use-rotary-position-embeddings
    becomes '  lr: 0.00015' --train-iters 500000 --lr-warmup-iters 200000 --lr-decay-style linear
    becomes '  vocab: 512' --padded-vocab-size 512
    becomes '  vocab_multiple: 256' --vocab-size 50257
    becomes '  vocab_multiple: 2' --vocab-size 50257 --make-vocab-size-divisible-by 1
    becomes '# Ignored, because unknown; check the effect on the layout: --of-a-fork' \
        --of-a-fork 3
    becomes '# Ignored, because it does not affect the layout: --save --log-interval' --save /a \
        --log-interval 3
}
job --vocab-size 50257 && grep -q '^# The vocabulary of 50257 is padded to a multiple of 256' "$tmp/job.yaml"
ok $? "megatron: the padding of the vocabulary is told"

# cannot TEXT OPTION...: import is refused with TEXT and writes nothing.
cannot() {
    text=$1
    shift
    job "$@"
    [ $? -eq 2 ] && [ ! -s "$tmp/job.yaml" ] && grep -qF -- "$text" "$tmp/err"
    ok $? "megatron $*: $text"
}

for option in '--encoder-tensor-model-parallel-size 2' \
    '--no-fp8-wgrad' '--fp8-param-gather' '--grpo-kl-beta 0' \
    --checkpoint-activations --distribute-saved-activations --use-checkpoint-args \
    --fp32-residual-connection --defer-embedding-wgrad-compute '--batch-size 4'; do
    # shellcheck disable=SC2086
    cannot "${option%% *}" --vocab-size 256 $option
    grep -q "job.sh:1:[0-9]*: error: ${option%% *}.*\(: .*\(remove it\|give\|expected\)\|; add \)" "$tmp/err"
    ok $? "megatron ${option%% *}: what to do"
done
layout='--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout'
# shellcheck disable=SC2086
{
    cannot "'m', an MTP layer, is not supported in a layout; remove it" --vocab-size 256 $layout "'Et*4|t*4,mL'"
    cannot 'expected a multiple of --pipeline-model-parallel-size 2' --vocab-size 256 $layout "'Et*4|t*4|L'"
    cannot 'has 7 layers; expected the 8 of --num-layers' --vocab-size 256 $layout "'Et*4|t*3L'"
    cannot 'expected it alone' --vocab-size 256 $layout "'Et*4|t*4L'" \
        --account-for-loss-in-pipeline-split
}
cannot 'no vocabulary size' --bf16
cannot 'expected --moe-token-dispatcher-type flex as well' --vocab-size 256 --num-experts 8 --moe-enable-deepep
cannot 'expected --nproc-per-node' --disable-bias-linear --vocab-size 256 --nnodes 2 --nproc-per-node 6 --num-experts 8 \
    --expert-model-parallel-size 4 --tensor-model-parallel-size 4 --sequence-parallel --moe-token-dispatcher-type flex
cannot 'expected one of alltoall' --vocab-size 256 --moe-token-dispatcher-type allgather
cannot 'expected a multiple of --moe-ffn-hidden-size' --vocab-size 256 --num-experts 8 \
    --moe-ffn-hidden-size 48 --moe-shared-expert-intermediate-size 64
cannot 'does not divide the layers of each stage' --vocab-size 256 --num-experts 8 \
    --moe-layer-freq 3
cannot 'is not a list of 8 layers' --vocab-size 256 --num-experts 8 --moe-layer-freq '[1]*9'
cannot 'with the MoE layer last' --vocab-size 256 --num-experts 8 --moe-layer-freq '[1]*4+[0]*4'
cannot 'as a scenario: loss_scale.growth_interval' --vocab-size 256 --loss-scale-window 200000
job --vocab-size 256 --mtp-num-layers 0 --encoder-tensor-model-parallel-size 0
ok $? "megatron: what is planned anyway is no error"

# ---- attention, recomputation and batches that a scenario says in its own words ----

# shellcheck disable=SC2086
{
    becomes '  qk_norm: true' --qk-layernorm --pipeline-model-parallel-size 2
    becomes 'mla: {kv_rank: 32, q_rank: 24, rope_dim: 8, value_dim: 16}' --multi-latent-attention \
        --q-lora-rank 24 --qk-pos-emb-head-dim 8 --v-head-dim 16 --disable-bias-linear \
        --position-embedding-type rope --normalization RMSNorm --qk-layernorm --sequence-parallel
    grep -qx '  head_dim: 128' "$tmp/job.yaml" && ! grep -q 'qk_norm\|kv_heads' "$tmp/job.yaml" &&
        grep -q '^# Not given, default of Megatron-LM:.* --kv-lora-rank 32 --qk-head-dim 128$' "$tmp/job.yaml" &&
        grep -q '^  - ..(attn/(q|q_rope|k|v)|.*)/kernel., \[null, tp\]\]$' "$tmp/job.yaml"
    ok $? "megatron: compressed attention, its widths and its rules"
    becomes 'recompute: {kind: selective, modules: [core_attn, moe], whole: true}' $experts --moe-layer-recompute
    becomes 'recompute: {kind: selective, modules: [mlp, layernorm], whole: true}' --recompute-granularity selective --recompute-modules \
        mlp moe layernorm
    becomes '# --recompute-modules applies to --recompute-granularity selective only: ignored.' \
        --recompute-modules mlp
    becomes '# The batch grows to 16 during the run: a step of the full batch is planned.' \
        --rampup-batch-size 4 4 1000
    becomes 'batch: {size: 32, seq: 32, microbatches: 4}' --step-batch-size-schedule "'0:8 2B:32'" \
        --global-batch-size 32
}
cannot "--step-batch-size-schedule is '0:8 2B:32'" --vocab-size 256 --step-batch-size-schedule "'0:8 2B:32'"
cannot "--recompute-modules: unknown module 'mlps'; expected some of core_attn," --vocab-size 256 \
    --recompute-activations --recompute-modules core_attn mlps
cannot '--moe-layer-recompute and full recomputation exclude each other; expected one' --vocab-size 256 \
    --moe-layer-recompute --recompute-granularity full

# What runs beside computation is the options' to say, and their absence's.
# shellcheck disable=SC2086
{
    tail=' # collectives overlap computation, as the job'"'"'s options say'
    becomes "overlap: {gradients: false, weights: false, products: false}$tail" --use-distributed-optimizer
    becomes "overlap: {gradients: true, weights: false, products: false}$tail" --use-distributed-optimizer \
        --overlap-grad-reduce
    becomes "overlap: {gradients: true, weights: true, products: true}$tail" --use-distributed-optimizer \
        --overlap-grad-reduce --overlap-param-gather --sequence-parallel --tp-comm-overlap
    becomes "overlap: {gradients: true, weights: true, products: false}$tail" --use-megatron-fsdp
    becomes "overlap: {gradients: false, weights: false, products: false, sends: false}$tail" \
        --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --no-overlap-p2p-communication \
        --num-layers 8
    becomes '# Planned differently, --delay-wgrad-compute: Megatron-LM delays weight gradients to overlap communication, not modelled: the step is shorter than planned.' \
        --delay-wgrad-compute
}

# seconds FILE [OPTION...]: the modelled step of a script on a cluster
seconds() {
    script=$1
    shift
    "$shardsim" import --from megatron --force "$script" -o "$tmp/timed.yaml" 2>"$tmp/err" &&
        "$shardsim" plan "$tmp/timed.yaml" -s hardware=h100-sxm "$@" --json >"$tmp/timed.json" &&
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["time"]["modelled"]["step_seconds"])' "$tmp/timed.json"
}
big="--num-layers 4 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
    --vocab-size 32768 --micro-batch-size 1 --global-batch-size 32 --bf16 --lr 1e-4 --tensor-model-parallel-size 2 \
    --sequence-parallel --use-distributed-optimizer"
for option in --overlap-grad-reduce --overlap-grad-reduce=--overlap-param-gather --tp-comm-overlap; do
    echo "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py $big ${option%=*}" >"$tmp/without.sh"
    [ "${option%=*}" = "$option" ] &&
        echo "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py $big" >"$tmp/without.sh"
    echo "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py $big $(echo "$option" | tr '=' ' ')" >"$tmp/with.sh"
    without=$(seconds "$tmp/without.sh") && with=$(seconds "$tmp/with.sh") &&
        python3 -c 'import sys; sys.exit(not float(sys.argv[1]) > 1.0001 * float(sys.argv[2]))' "$without" "$with"
    ok $? "${option#*=} makes the modelled step shorter"
    shardsim export --to megatron "$tmp/timed.yaml" -s hardware=h100-sxm
    grep -o -e '--overlap-[a-z-]*' -e '--tp-comm-overlap' "$tmp/with.sh" | sort >"$tmp/wanted"
    grep -o -e '--overlap-[a-z-]*' -e '--tp-comm-overlap' "$tmp/out" | sort >"$tmp/written"
    [ -s "$tmp/wanted" ] && cmp "$tmp/wanted" "$tmp/written"
    ok $? "${option#*=}: export writes what the plan has beside computation"
done

# What Megatron-LM checks when it runs, and not when it parses.
# stops OPTION TEXT OPTION...: import is refused at the value of OPTION.
stops() {
    option=$1 text=$2
    shift 2
    job --vocab-size 256 "$@"
    [ $? -eq 2 ] && [ ! -s "$tmp/job.yaml" ] && grep -qF "error: Megatron-LM stops: $text" "$tmp/err" &&
        python3 -c '
import re, sys
text, errors, option = open(sys.argv[1]).read(), open(sys.argv[2]).read(), sys.argv[3]
columns = {int(c) for c in re.findall(r":1:([0-9]+): error: Megatron-LM stops", errors)}
at = text.rindex(option + " ") + 1
sys.exit(not columns & {at, at + len(option) + 1})' "$tmp/job.sh" "$tmp/err" "$option"
    ok $? "megatron $*: $text, at $option"
    diag <"$tmp/err"
}
stops --pipeline-model-parallel-size 'layers are not a multiple' --pipeline-model-parallel-size 3 --nnodes 3 --global-batch-size 12
stops --context-parallel-size 'expected --seq-length to be' --context-parallel-size 2 --seq-length 34
stops --num-query-groups 'expected --num-query-groups' --group-query-attention --num-query-groups 3 --tensor-model-parallel-size 2
stops --max-position-embeddings 'expected --max-position' --max-position-embeddings 16
stops --overlap-param-gather '--overlap-param-gather needs --overlap-grad-reduce' --use-distributed-optimizer --overlap-param-gather
stops --overlap-param-gather '--overlap-param-gather needs a sharded' --overlap-grad-reduce --overlap-param-gather
stops --tp-comm-overlap '--tp-comm-overlap needs sequence' --tp-comm-overlap
stops --expert-model-parallel-size '--expert-model-parallel-size needs experts' --expert-model-parallel-size 2
stops --tensor-model-parallel-size 'experts with tensor' --num-experts 8 --disable-bias-linear
stops --num-experts 'tensor-parallel experts must not have biases' --num-experts 8 --sequence-parallel
stops --moe-router-topk 'softmax over the top 1' --num-experts 8 --moe-router-topk 1 --sequence-parallel --disable-bias-linear
stops --moe-router-enable-expert-bias '--moe-router-enable-expert-bias with softmax' --num-experts 8 \
    --moe-router-enable-expert-bias --sequence-parallel --disable-bias-linear
stops --recompute-granularity '--recompute-granularity full needs' --recompute-granularity full
stops --recompute-method '--recompute-method is for --recompute-granularity full only' \
    --recompute-granularity selective --recompute-method uniform
stops --cpu-offloading-num-layers '--cpu-offloading-num-layers does not support pipelines' --cpu-offloading-num-layers 2 --pipeline-model-parallel-size 2
stops --cpu-offloading-num-layers '--cpu-offloading-num-layers and recomputation exclude each other' \
    --cpu-offloading-num-layers 2 --recompute-activations
stops --optimizer-cpu-offload '--optimizer-cpu-offload needs --use-precision-aware-optimizer' \
    --optimizer-cpu-offload --use-distributed-optimizer
stops --use-torch-fsdp2 '--use-torch-fsdp2 does not support pipelines' --use-torch-fsdp2 --pipeline-model-parallel-size 2
stops --use-torch-fsdp2 '--use-torch-fsdp2 and --use-distributed-optimizer exclude each other' \
    --use-torch-fsdp2 --use-distributed-optimizer
stops --global-batch-size '7 microbatches in groups of 4 leave 3' --pipeline-model-parallel-size 4 --num-layers 8 \
    --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 14
stops --microbatch-group-size-per-virtual-pipeline-stage '8 microbatches in groups of 2' --pipeline-model-parallel-size 4 \
    --num-layers 8 --num-layers-per-virtual-pipeline-stage 1 --microbatch-group-size-per-virtual-pipeline-stage 2
becomes 'batch: {size: 14, seq: 32, microbatches: 7}' --pipeline-model-parallel-size 4 --num-layers 8 \
    --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 14 --microbatch-group-size-per-virtual-pipeline-stage 7
cannot 'only in groups of 4' --vocab-size 256 --pipeline-model-parallel-size 4 --num-layers 8 \
    --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 16 --microbatch-group-size-per-virtual-pipeline-stage 8 \
    --global-batch-size 32
printf 'export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc-per-node 8 pretrain_gpt.py %s --use-megatron-fsdp\n' "$tp_sp" >"$tmp/one.sh"
"$shardsim" import --from megatron "$tmp/one.sh" >"$tmp/job.yaml" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'one.sh:1:36: error: Megatron-LM stops: FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1' "$tmp/err"
ok $? "megatron: the variable that its FSDP refuses, at the variable"

# Errors are told where the value stands, which may be in a variable.
# at LINE TEXT <SCRIPT: import of a script is refused at a line.
at() {
    cat >"$tmp/at.sh"
    "$shardsim" import --from megatron "$tmp/at.sh" >"$tmp/job.yaml" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "at.sh:$1: error: .*$2" "$tmp/err"
    ok $? "at $1: $2"
    diag <"$tmp/err"
}
sizes_of_job='--num-layers 12 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --vocab-size 256 --bf16 --lr 1e-4'
at 2:4 '16 devices are not a multiple' <<END
TP=2
PP=3
torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py $sizes_of_job --micro-batch-size 1 --global-batch-size 16 \
    --tensor-model-parallel-size \$TP --pipeline-model-parallel-size \$PP
END
at 1:5 'a global batch of 13 is not a multiple of microbatch 1 x data parallelism 16' <<END
GBS=13
torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py $sizes_of_job --micro-batch-size 1 --global-batch-size \$GBS
END
at '1:[0-9]*' "--hidden-size is '81920000000'; expected a whole number from 1 to 2147483647" <<END
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 2 --hidden-size 81920000000
END

# A vocabulary that the job leaves to a tokenizer: import takes it from the tokenizer's name and
# says so, or refuses.
# takes LINE OPTION...: the imported scenario has LINE and says that its vocabulary is a guess.
takes() {
    line=$1
    shift
    job "$@" && grep -qxF -- "$line" "$tmp/job.yaml" && grep -q '^# The vocabulary is not given: [0-9]* tokens are assumed' "$tmp/job.yaml"
    ok $? "megatron $*: $line"
    diag <"$tmp/err"
}
takes '  vocab: 50257' --tokenizer-type GPT2BPETokenizer
takes '  vocab: 50257' --merge-file "$tmp/a"
takes '  vocab: 32000' --tokenizer-type Llama2Tokenizer --tokenizer-model /a/b --make-vocab-size-divisible-by 1
takes '  vocab_multiple: 2374' --tokenizer-type HuggingFaceTokenizer --tokenizer-model me/qwen3-9B/ \
    --make-vocab-size-divisible-by 1187
becomes '# Ignored, because it does not affect the layout: --tokenizer-type' --tokenizer-type GPT2BPETokenizer
# shellcheck disable=SC2016
for hints in '--tokenizer-type HuggingFaceTokenizer --tokenizer-model /a/tokenizer' \
    '--tokenizer-type SentencePieceTokenizer --tokenizer-model Qwen3-8B' '--tokenizer-type $1'; do
    # shellcheck disable=SC2086
    cannot 'no vocabulary size, because the command takes it from its tokenizer; add --vocab N' $hints
done
# variables FILE: write a job as a variable of FILE, behind the lines of stdin, and import FILE.
variables() {
    job --tokenizer-type HuggingFaceTokenizer
    { cat; printf 'MODEL_ARGS="%s"\n' "$(sed 's/^torchrun//' "$tmp/job.sh")"; } >"$tmp/$1"
    "$shardsim" import --from megatron "$tmp/$1" >"$tmp/job.yaml" 2>"$tmp/err"
}
variables conf.sh <<'END' && grep -q '^# The vocabulary is not given: 151669 .* Qwen/Qwen3-8B (TOKENIZER_MODEL)' "$tmp/job.yaml"
if [ -z ${CKPT} ]; then TOKENIZER_MODEL=Qwen/Qwen3-8B; else TOKENIZER_MODEL=${CKPT}; fi
END
ok $? "megatron: a file of variables names its tokenizer"
diag <"$tmp/err"
variables conf.sh <<'END'
if [ "$BIG" ]; then TOKENIZER_MODEL=Qwen3-8B; else TOKENIZER_MODEL=gpt2; fi
END
[ $? -eq 2 ] && grep -q 'no vocabulary size, because the command takes it from its tokenizer; add --vocab N' "$tmp/err"
ok $? "megatron: of two tokenizers neither is taken"

# over AXIS OPTION...: the distributed optimizer shards its state over all ranks, also over ranks
# with different experts or tokens.
over() {
    axis=$1
    shift
    printf '%s ' torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 \
        --num-attention-heads 4 --seq-length 32 --micro-batch-size 1 --global-batch-size 16 \
        --vocab-size 256 --num-experts 8 --moe-ffn-hidden-size 32 --bf16 \
        --use-distributed-optimizer "$@" >"$tmp/options"
    "$shardsim" import --from megatron "$tmp/options" --force -o "$scenarios_made/over.yaml" &&
        grep -qxF "zero: {stage: 1, axis: $axis}" "$scenarios_made/over.yaml"
    ok $? "megatron $*: ZeRO 1 over $axis"
    scenarios=$scenarios_made there_and_back megatron over.yaml default
}

becomes "zero: {stage: 3, axis: cp, layout: pad}" --use-torch-fsdp2 --context-parallel-size 8
scenarios_made=$tmp
over ep --expert-model-parallel-size 8
over cp --context-parallel-size 8
! grep -q 'less memory' "$tmp/options"
ok $? "megatron: ZeRO over all ranks, without a remark on memory"
over '[dp, ep]' --expert-model-parallel-size 4
over '[dp, cp]' --context-parallel-size 4
over '[dp, cp]' --context-parallel-size 4 --expert-model-parallel-size 4
over '[dp, ep, cp]' --context-parallel-size 2 --expert-model-parallel-size 4
! grep -q 'less memory' "$tmp/options" "$tmp/over.yaml"
ok $? "megatron: over several axes, too"
# Export says so if a scenario shards the optimizer over fewer ranks than Megatron-LM does.
fewer() {
    shardsim export --to megatron "$tmp/over.yaml" -s zero.axis=dp
    says out "^# .* $1: less memory" "megatron: ZeRO not over $1"
}
over '[dp, ep]' --expert-model-parallel-size 4
fewer 'dense parameters over expert-parallel ranks'
over '[dp, cp]' --context-parallel-size 4
fewer 'over context-parallel ranks'

# ---- what Megatron-LM's words mean ----

becomes '  d_ff: 128' --swiglu # two thirds of 4 x 64, as a multiple of 64
# shellcheck disable=SC2086
{
    becomes '  renormalize: true' $experts --moe-router-score-function sigmoid --moe-router-pre-softmax
    becomes '  renormalize: false' $experts --moe-router-pre-softmax
    becomes '  renormalize: false' $experts --moe-router-score-function sigmoid --moe-router-topk 1
}
# What is rounded to 8 bits: no silence, and no 16 bits.
becomes "products: {recipe: tensorwise, amax: local, gradients: e5m2, except: ['^head\$', 'router\$']}" \
    --bf16 --fp8-format hybrid
grep -q '^# Scales are planned from the current tensor' "$tmp/job.yaml"
ok $? "megatron: delayed scales are told"
becomes "products: {recipe: blockwise, amax: local, gradients: e4m3, except: ['^head\$', 'router\$', 'layers/0/', 'layers/6/', 'layers/7/']}" \
    --bf16 --fp8-format e4m3 --fp8-recipe blockwise --first-last-layers-bf16 --num-layers-at-end-in-bf16 2
becomes "products: {recipe: nvfp4, amax: local, except: ['^head\$', 'router\$']}" --bf16 --fp4-format e2m1
for option in '--fp8-param' '--transformer-engine-fp8' '--multi-latent-attention' '--num-tokens-to-generate 3' \
    '--decoder-num-layers 2' '--position-embedding-type relative' '--encoder-num-layers 2' \
    '--model-provider mamba' '--fp16'; do
    # shellcheck disable=SC2086
    cannot "${option%% *}" --vocab-size 256 $option
done

# trains PROGRAM OPTION...: import a small job of a program, without an option for a 16-bit type
trains() {
    printf '%s ' torchrun --nproc-per-node 4 "$@" --hidden-size 32 --num-attention-heads 4 --vocab-size 64 \
        --micro-batch-size 1 --global-batch-size 4 --tensor-model-parallel-size 2 >"$tmp/job.sh"
    "$shardsim" import --from megatron "$tmp/job.sh" >"$tmp/job.yaml" 2>"$tmp/err"
}
decoder='--num-layers 2 --seq-length 16'
# types LINE OPTION...: the imported scenario has LINE of types
types() {
    line=$1
    shift
    # shellcheck disable=SC2086
    trains pretrain_gpt.py $decoder "$@" && grep -qxF -- "$line" "$tmp/job.yaml"
    ok $? "megatron $*: $line"
}
types 'types: {parameters: float32, gradients: float16, reduce: float16}' --fp16
types 'types: {parameters: float32, gradients: float16, reduce: float16}' --fp16 --grad-reduce-in-bf16
types 'types: {parameters: float32} # and with them gradients and moments' --fp16 \
    --accumulate-allreduce-grads-in-fp32
types 'types: {parameters: float32} # and with them gradients and moments' --bf16
types 'types: {parameters: float32, gradients: bfloat16, reduce: bfloat16}' --bf16 --grad-reduce-in-bf16

trains a/pretrain_t5.py --encoder-num-layers 3 --decoder-num-layers 2 --encoder-seq-length 16 \
    --decoder-seq-length 8 --bf16 --sequence-parallel &&
    grep -qx '  kind: t5' "$tmp/job.yaml" && grep -qx '  decoder_layers: 2' "$tmp/job.yaml" &&
    grep -qx 'batch: {size: 4, seq: 8, source: 16, microbatches: 2}' "$tmp/job.yaml" &&
    grep -q '|relative/table., \[null, tp\]\]$' "$tmp/job.yaml" &&
    grep -q '^# T5 is planned with relative positions, the job has learned_absolute' "$tmp/job.yaml" &&
    "$shardsim" plan "$tmp/job.yaml" >"$tmp/plan" 2>&1
ok $? "megatron: T5 is a model of two stacks, and what it has otherwise is told"
trains pretrain_t5.py --num-layers 2 --seq-length 16 --position-embedding-type relative \
    --relative-attention-num-buckets 16 && grep -qx '  buckets: 16' "$tmp/job.yaml" &&
    grep -qx '  decoder_layers: 2' "$tmp/job.yaml" && ! grep -q 'planned with relative positions' "$tmp/job.yaml"
ok $? "megatron: T5 with relative positions"
trains pretrain_t5.py --num-layers 2 --seq-length 16 --num-experts 4
[ $? -eq 2 ] && grep -q 'T5 does not support pipeline or context parallelism, experts' "$tmp/err"
ok $? "megatron: T5 without experts"
for program in pretrain_bert.py /opt/m/pretrain_vlm.py pretrain_mamba.py pretrain_hybrid.py \
    examples/multimodal/train.py train_rl.py gpt_static_inference.py; do
    # shellcheck disable=SC2086
    trains $program $decoder
    [ $? -eq 2 ] && [ ! -s "$tmp/job.yaml" ] && grep -q "job.sh:1:29: error: ${program##*/}: .*; \(for a decoder\|expected\)" "$tmp/err"
    ok $? "megatron: $program is no decoder, told at its place with what to do"
done
# shellcheck disable=SC2086
trains mine.py $decoder && grep -qx '# Unknown program, assumed to train a causal decoder: mine.py' "$tmp/job.yaml"
ok $? "megatron: a program of another name is told"
# shellcheck disable=SC2086
trains pretrain_gpt.py $decoder && ! grep -q '^# \(No\|Unknown\) program' "$tmp/job.yaml"
ok $? "megatron: its own program is not"

# Test configurations of Megatron-LM: a map of options, with the model in the folder's name.
mkdir -p "$tmp/bert/a" "$tmp/gpt/a" "$tmp/t5/a" "$tmp/other"
# test_case FOLDER <OPTIONS: import a test configuration.
test_case() {
    { printf 'ENV_VARS:\n  A: 1\nBASE_MODEL_ARGS:\n  --num-layers: 9\nMODEL_ARGS:\n'; cat; echo 'TEST_TYPE: regular'; } \
        >"$tmp/$1/model_config.yaml"
    (cd "$tmp" && "$shardsim" import --from megatron --devices 4 --vocab 100 "$1/model_config.yaml") \
        >"$tmp/job.yaml" 2>"$tmp/err"
}
sizes='  --hidden-size: 32
  --num-attention-heads: 4
  --micro-batch-size: 1
  --global-batch-size: 4'
# shellcheck disable=SC2016
printf '%s\n' "$sizes" '  --num-layers: 2' '  --seq-length: 16' '  --bf16: true' '  --swiglu: false' \
    '  --data-path: ${DATA}/a' '  --tensor-model-parallel-size: 2 # of four' | test_case gpt/a &&
    grep -qx 'mesh: {dp: 2, tp: 2}' "$tmp/job.yaml" && grep -qx '  layers: 2' "$tmp/job.yaml" &&
    grep -qx '  activation: gelu' "$tmp/job.yaml" && grep -qx '  vocab: 100' "$tmp/job.yaml" && grep -qx '  vocab_multiple: 256' "$tmp/job.yaml" &&
    ! grep -q 'No program' "$tmp/job.yaml"
ok $? "a test of Megatron-LM: its map of options"
diag <"$tmp/err"
printf '%s\n' "$sizes" '  --num-layers: 2' '  --seq-length: 16' | test_case other &&
    grep -qx '# No program is named: pretrain_gpt.py is assumed.' "$tmp/job.yaml"
ok $? "a test of Megatron-LM: in a folder of another name the model is told"
printf '%s\n' "$sizes" '  --encoder-num-layers: 2' '  --decoder-num-layers: 2' '  --encoder-seq-length: 16' \
    '  --decoder-seq-length: 8' | test_case other && grep -qx '  kind: t5' "$tmp/job.yaml"
ok $? "a test of Megatron-LM: T5 by its options"
printf '%s\n' "$sizes" '  --num-layers: 2' '  --seq-length: 16' | test_case bert/a
[ $? -eq 2 ] && grep -q '^bert/a/model_config.yaml:1:1: error: bert: BERT is not modelled' "$tmp/err"
ok $? "a test of Megatron-LM: BERT by its folder"
printf '%s\n' "$sizes" '  --num-layers: 2' '  --data-path: my-bert_text' '  trainer.devices: 8' \
    '  --seq-length: [1, 2]' '  --bf16: {a: 1}' | test_case other
[ $? -eq 2 ] && [ ! -s "$tmp/job.yaml" ] && grep -o '^other[a-z_./]*:[0-9:]* error' "$tmp/err" | sed 's/.*yaml//' | tr '\n' ' ' >"$tmp/places" &&
    [ "$(cat "$tmp/places")" = ':11:16: error :12:3: error :13:17: error :14:11: error ' ]
ok $? "a test of Megatron-LM: faults at their places"
diag <"$tmp/err"
"$shardsim" import --from torchtitan --vocab 5 "$tmp/job.sh" >"$tmp/out" 2>&1
[ $? -eq 2 ] && grep -q -- '--vocab is for megatron' "$tmp/out"
ok $? "--vocab is for megatron"

# faults SOURCE PLACES <TEXT: errors at these places
faults() {
    cat >"$tmp/bad"
    (cd "$tmp" && "$shardsim" import --from "$1" bad) >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -o '^bad:[0-9:]* error' "$tmp/err" >"$tmp/places" &&
        [ "$(tr '\n' ' ' <"$tmp/places")" = "$2" ]
    ok $? "faults of $1 at their places: $2"
}

faults megatron 'bad:1:14: error bad:2:20: error bad:3:1: error ' <<'END'
--num-layers 2x --hidden-size 64 --num-attention-heads 4 --seq-length 8 \
--normalization    Batch --nproc-per-node 2 --micro-batch-size 1 \
--fp8-format
END
# ---- launch scripts: variables, arrays, what a shell alone knows ----

cat >"$tmp/launch.sh" <<'END'
#!/bin/bash
# launch
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
NUM_NODES=2
MASTER_ADDR=localhost
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1 #<Specify path>
DATA_PATH=$4_text_document
TP=2; PP=${PP:=4}
cd "$(dirname "$0")"
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES # nodes
    --master_addr $MASTER_ADDR
)
GPT_MODEL_ARGS=(
    --num-layers 8
    --hidden-size 64
    --num-attention-heads 4
    --seq-length 32
    --max-position-embeddings 32
    --attention-backend auto # Can use (flash/fused/unfused/local)
)
OPTIONS="--micro-batch-size 1 \
  --global-batch-size 16 --lr 6.0e-5"
OPTIONS="$OPTIONS --vocab-size 256"
MODEL_PARALLEL_ARGS=(
	--tensor-model-parallel-size $TP
	--pipeline-model-parallel-size ${PP}
)
MODEL_PARALLEL_ARGS+=(--sequence-parallel)
mkdir -p $CHECKPOINT_PATH
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    "${GPT_MODEL_ARGS[@]}" $OPTIONS \
    ${MODEL_PARALLEL_ARGS[@]} --data-path $DATA_PATH \
    --num-layers-per-virtual-pipeline-stage 1 \
    --save $CHECKPOINT_PATH $EXTRA_ARGS "$@" 2>&1 | tee log.txt
END
"$shardsim" import --from megatron "$tmp/launch.sh" >"$tmp/launch.yaml" 2>"$tmp/err"
# shellcheck disable=SC2016
[ $? -eq 1 ] && head -n 1 "$tmp/launch.yaml" | grep -qx '# Ignored, because unknown; check the effect on the layout: \$EXTRA_ARGS' &&
    "$shardsim" import --allow-unknown --from megatron "$tmp/launch.sh" >"$tmp/launch.yaml"
# shellcheck disable=SC2181
ok $? "what may stand for options is named on the first line, and the status is 1 unless that is allowed"
[ -s "$tmp/launch.yaml" ] &&
    grep -q '^mesh: {pp: 4, dp: 2, tp: 2}$' "$tmp/launch.yaml" &&
    grep -q '^batch: {size: 16, seq: 32, microbatches: 8}$' "$tmp/launch.yaml" &&
    grep -q '^pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 2}$' "$tmp/launch.yaml" &&
    grep -q '^  lr: 6e-05$' "$tmp/launch.yaml" && grep -q '^  - \[out\$, \[\[dp\], tp, null\]\]$' "$tmp/launch.yaml"
ok $? "a launch script: variables, defaults, arrays, comments"
diag <"$tmp/err"
# expands VALUE SCRIPT [OPTIONS]: after SCRIPT the variable N has VALUE, the number of layers
expands() {
    job --vocab-size 256
    options=$(sed 's/^torchrun//; s/--num-layers 8//' "$tmp/job.sh")
    # shellcheck disable=SC2016
    printf '%s %s --num-layers $N\n' "$2" "$options" >"$tmp/expands.sh"
    # shellcheck disable=SC2086
    "$shardsim" import --from megatron "$tmp/expands.sh" $3 >"$tmp/expands.yaml" 2>"$tmp/err" &&
        grep -qx "  layers: $1" "$tmp/expands.yaml"
    ok $? "$2 $3: $1"
    diag <"$tmp/err"
}

# shellcheck disable=SC2016
{
    expands 4 'N=4;'
    expands 4 'N="4"; M=5;'
    expands 4 'export M=3 N=4;'
    expands 4 'M=4; N=$M; M=5;'
    expands 4 'N=${M:-4};'
    expands 4 ': ${N:=4};'
    expands 3 'M=3; N=${M:-4};'
    expands 2 'N=; N=${N:-${M:-2}};'
    expands 2 'M=1; N=${M:+2};'
    expands 12 'N=1; N+=2;'
    expands 4 'A=(4 5); N=$A;'
    expands 4 'cat <<END
it'"'"'s N=5
END
N=4;'
    expands 4 'f() { echo "$1"; }; N=4;'
    expands 4 'N=${1:-4};'
    expands 3 'N=${1:-4};' '--set 1=3'
    expands 3 'N=4;' '--set N=3'
    expands 4 'G=8; N=$((G * 2 / 4));'
    expands 4 'if [ "$BIG" = 1 ]; then N=4; else N=2; fi;' '--set BIG=1'
    expands 4 'if [ -n "$KEY" ]; then A+=(--wandb-project x); fi; N=4; echo ${A[@]};'
    expands 4 'f() { N=4; }; f; case $N in 4*) ;; *) N=1;; esac; false ||'
}

# needs_shell PLACE TEXT SCRIPT: import refuses SCRIPT at PLACE.
needs_shell() {
    printf '%s\n' "$3" >"$tmp/bad"
    (cd "$tmp" && "$shardsim" import --from megatron bad) >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -qF "bad:$1: error: $2" "$tmp/err"
    ok $? "$3: $2"
}

# shellcheck disable=SC2016
{
    needs_shell 1:23 "'\$(cat \"a b\")' needs a shell to evaluate" \
        'torchrun --num-layers $(cat "a b")'
    needs_shell 1:14 "'\`cat x\`' needs a shell to evaluate" '--num-layers=`cat x`'
    needs_shell 1:23 "'\${N%x}' needs a shell to evaluate" 'torchrun --num-layers ${N%x}'
    needs_shell 1:17 "'\$(more)' needs a shell to evaluate" 'torchrun --bf16 $(more)'
    needs_shell 1:14 "'\$N' is not set in this file; add --set N=VALUE" '--num-layers $N'
    needs_shell 1:3 "'\$(cat x)' needs a shell to evaluate, and no shell is run; add --set N=V" \
        'N=$(cat x); b --num-layers $N'
    needs_shell 1:15 "'4' is set under an unknown condition; expected the command" \
        'if a; then  N=4; fi; b --num-layers $N'
    needs_shell 1:20 "'4' is set under an unknown condition; add --set B=VALUE" \
        '[ "$B" = 1 ] && N="4"; b --num-layers $N'
    needs_shell 1:24 "'--bf16' is set under an unknown condition; add --set B=V" \
        'if [ $B = 1 ]; then A=(--bf16 --fp16); fi; b --lr 1 ${A[@]}'
    needs_shell 1:12 '--num-layers belongs to a command under a condition' 'if a; then --num-layers 4; fi'
    needs_shell 1:44 '--lr belongs to a command under a condition or in a loop; decide the condition with --set X=' \
        'A=(--lr 1); for i in $X; do torchrun x.py "--lr" 1; done'
    needs_shell 1:19 'a second, different command of Megatron-LM after line 1' \
        'torchrun --lr 1;  torchrun --lr 2'
    needs_shell 1:1 'common.sh (line 1) is not read and may set the missing options' \
        '. ./common.sh; torchrun --num-layers $N'
    needs_shell 1:9 'no command of Megatron-LM found' 'TP=2; ls '
    needs_shell 2:16 'the script exits on line 1 before it launches anything' '[ -z "" ] && exit 1
torchrun --lr 1'
    needs_shell 1:17 "--num-layers is '4x'" 'A="--num-layers 4x --bf16"; torchrun $A'
    needs_shell 1:3 'a quote is not closed' 'A="--num-layers 4'
    needs_shell 1:3 'a bracket is not closed' 'A=(--num-layers 4'
    needs_shell 1:1 '--num-layers has no value' '--num-layers --bf16'
}
# shellcheck disable=SC2016
{
    job --vocab-size 256
    printf 'A="%s"\nif [ "$KEY" ]; then A="$A --wandb-project x"; fi\nB=(--seq-length 16)\nM="--swiglu ${B[@]}"\n' \
        "$(sed 's/^torchrun //' "$tmp/job.sh")"
} >"$tmp/variables.sh"
"$shardsim" import --from megatron "$tmp/variables.sh" >"$tmp/out" 2>"$tmp/err" &&
    grep -q '^# The file has no command: the options are read from its variables A M\.$' "$tmp/out" &&
    grep -q '^  activation: swiglu$' "$tmp/out" && grep -q 'seq: 16,' "$tmp/out" && grep -q -- '--wandb-project' "$tmp/out"
ok $? "a file of variables alone, with what says nothing of the layout under a condition"
diag <"$tmp/err"
# Sourced files are read only if they are given by --with.
mkdir -p "$tmp/with/a"
# shellcheck disable=SC2016
{
    job --vocab-size 256
    printf '# sizes\nN=$1\nL=" --num-layers $N"; return\nN=9\n' >"$tmp/with/a/sizes.sh"
    printf 'HERE=$(pwd)\n. $HERE/a/sizes.sh\n%s $L\n' "$(cat "$tmp/job.sh")" >"$tmp/with/run.sh"
}
# with OPTION...: import run.sh from its folder
with() {
    (cd "$tmp/with" && "$shardsim" import --from megatron run.sh "$@") >"$tmp/out" 2>"$tmp/err"
}
with --set 1=6 --with a/sizes.sh && grep -qx '  layers: 6' "$tmp/out" && ! grep -q 'because unknown' "$tmp/out"
ok $? "a file that the script reads is followed where it is given"
diag <"$tmp/err"
with --set 1=x --with a/sizes.sh
[ $? -eq 2 ] && grep -q "^a/sizes.sh:3:17: error: --num-layers is 'x'\|error: --num-layers is 'x'" "$tmp/err"
ok $? "a bad value of an option in a sourced file"
diag <"$tmp/err"
with --with a/sizes.sh
[ $? -eq 2 ] && grep -q "^a/sizes.sh:2:3: error: '\$1' is not set in this file" "$tmp/err"
ok $? "an error in a sourced file has its place in the file"
diag <"$tmp/err"
with --set 1=6
[ $? -eq 2 ] && grep -q 'run.sh:2:1: error: sizes.sh (line 2) is not read and may set .*add --with FILE' "$tmp/err"
ok $? "a file that is not given is not read, though it lies there"
diag <"$tmp/err"
with --set 1=6 --with a/sizes.sh --with run.sh
[ $? -eq 2 ] && grep -q '^run.sh: error: the script reads no file with this name' "$tmp/err"
ok $? "a file that is given for nothing is an error"
with --with a/sizes.sh --with sizes.sh
[ $? -eq 2 ] && grep -q 'sizes.sh: ' "$tmp/err"
ok $? "--with a missing file"
cp "$tmp/with/a/sizes.sh" "$tmp/with/sizes.sh"
with --set 1=6 --with a/sizes.sh --with sizes.sh
[ $? -eq 2 ] && grep -q '^sizes.sh: error: two files of this name' "$tmp/err"
ok $? "two files of one name"
# shellcheck disable=SC2016
printf '. a.sh\n. ./a.sh\n' >"$tmp/with/a/a.sh"
printf '. a.sh\n--num-layers 4\n' >"$tmp/with/run.sh"
with --with a/a.sh
[ $? -eq 2 ] && grep -q 'nested over 64 deep' "$tmp/err"
ok $? "a file that reads itself is bounded"
for given in TPP=2 =2 TP; do
    "$shardsim" import --from megatron "$tmp/variables.sh" --set "$given" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -q -- "^.*error: --set ${given%=2*}" "$tmp/err"
    ok $? "--set $given: what nothing uses is an error"
done
"$shardsim" import --from megatron "$tmp/variables.sh" --set TPP=2 --set PPP=2 >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c 'error: --set [TP]PP: the file does not use this variable' "$tmp/err")" -eq 2 ]
ok $? "--set twice: an error for each unused variable"
python3 - >"$tmp/bad" <<'END'
print("A=aaaaaaaaaaaaaaaa\n" + 'A="$A$A"\n' * 1000 + "torchrun --num-layers $A")
END
"$shardsim" import --from megatron "$tmp/bad" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q ':17:[0-9]*: error: variables and loops expand to over 1 MiB' "$tmp/err"
ok $? "variables that double are bounded"
python3 - >"$tmp/bad" <<'END'
print("torchrun --num-layers " + "${A:-" * 100000 + "}" * 100000)
END
"$shardsim" import --from megatron "$tmp/bad" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'nested over 16 deep' "$tmp/err"
ok $? "defaults in defaults are bounded"

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

# file TEXT...: import torchtitan's file for Llama 3 8B on 16 devices, with these lines
file() {
    printf '%s\n' '[model]' 'name = "llama3"' 'flavor = "8B"' "$@" >"$tmp/file.toml"
    "$shardsim" import --allow-unknown --from torchtitan --devices 16 "$tmp/file.toml" >"$tmp/file.yaml" 2>"$tmp/err"
}

# gives LINE TEXT...: the imported scenario has LINE.
gives() {
    line=$1
    shift
    file "$@" && grep -qxF -- "$line" "$tmp/file.yaml"
    ok $? "torchtitan $*: $line"
    diag <"$tmp/err"
}

gives 'recompute: {kind: full, every: 2, offset: 1}' '[training]'
for taken in 'training.local_batch_size 8 training.seq_len 2048 training.max_norm 1.0' \
    'optimizer.lr 0.0008 optimizer.beta1 0.9 optimizer.beta2 0.95 optimizer.eps 1e-08' \
    'optimizer.weight_decay 0.1 activation_checkpoint.mode selective'; do
    grep -qF "$taken" "$tmp/file.yaml"
    ok $? "torchtitan, what is not said: $taken"
done
gives '  weight_decay: 0.1' '[training]'
gives '  betas: [0.9, 0.95]' '[training]'
gives '  clip: 1.0' '[training]'
gives '  clip: 0.0' '[training]' 'max_norm = inf'
gives '  lr: 0.0003' '[optimizer]' 'lr = 3e-4'
gives 'recompute: {kind: full, every: 3, offset: 2}' '[activation_checkpoint]' 'mode = "selective"' \
    'selective_ac_option = "3"'
gives 'recompute: full' '[activation_checkpoint]' 'mode = "selective"' 'selective_ac_option = "1"'
gives 'recompute: none' '[activation_checkpoint]' 'mode = "none"'
gives '# Ignored, because it does not affect the layout: metrics.log_freq training.steps' '[metrics]' \
    'log_freq = 10' '[training]' 'steps = 500000'
gives '# Ignored, because unknown; check the effect on the layout: parallelism.of_a_fork' \
    '[parallelism]' 'of_a_fork = 2'
for line in 'model.converters = ["bfloat4"]' \
    'parallelism.disable_loss_parallel = true'; do
    section=${line%%.*} key=${line#*.}
    file "[$section]" "$key"
    [ $? -eq 2 ] && grep -q "file.toml:5:.*error: ${line%% *}:\? .*\(expected\|leave\)" "$tmp/err"
    ok $? "torchtitan $line: an error with what to do"
    file "[$section]" "${key%% *} = $(case $key in *conv*) echo '[]' ;; *) echo false ;; esac)"
    ok $? "torchtitan ${line%% *}: the planned value is accepted"
done

# Keys that moved to another section give the same line by their old and new names.
for pair in 'batch: {size: 48, seq: 2048, microbatches: 1}|[training]~batch_size = 3|[training]~local_batch_size = 3' \
    'mesh: {dp: 4, tp: 4}|[training]~tensor_parallel_degree = 4|[parallelism]~"tensor_parallel_degree" = 4' \
    'mesh: {replica: 2, dp: 8}|[training]~data_parallel_replicate_degree = 2|parallelism.data_parallel_replicate_degree = 2' \
    'mesh: {pp: 2, dp: 8}|[experimental]~pipeline_parallel_degree = 2|[parallelism]~pipeline_parallel_degree = 2' \
    'mesh: {dp: 8, cp: 2}|[experimental]~context_parallel_degree = 2|[ parallelism ]~context_parallel_degree = 2' \
    'zero: {stage: 3, axis: dp, layout: pad, reshard_after_forward: never}|[training]~fsdp_reshard_after_forward = "never"|[parallelism]~fsdp_reshard_after_forward = "never"'; do
    line=${pair%%|*} rest=${pair#*|}
    for keys in "${rest%|*}" "${rest#*|}"; do
        { case $keys in \[*) ;; *) printf '%s\n' "$keys" ;; esac
            printf '[model]\nname = "llama3"\nflavor = "8B"\n'
            case $keys in \[*) printf '%s\n' "$keys" | tr '~' '\n' ;; esac; } >"$tmp/file.toml"
        "$shardsim" import --from torchtitan --devices 16 "$tmp/file.toml" >"$tmp/file.yaml" 2>"$tmp/err" &&
            grep -qxF -- "$line" "$tmp/file.yaml" && ! grep -q 'because unknown' "$tmp/file.yaml"
        ok $? "torchtitan $keys: $line"
        diag <"$tmp/err"
    done
done
gives 'batch: {size: 64, seq: 2048, microbatches: 2}' '[experimental]' 'pipeline_parallel_degree = 2'
gives 'batch: {size: 64, seq: 2048, microbatches: 4}' '[experimental]' 'pipeline_parallel_degree = 2' \
    'pipeline_parallel_microbatches = 4'
gives 'batch: {size: 64, seq: 2048, microbatches: 8}' '[parallelism]' 'pipeline_parallel_degree = 2'
gives 'zero: {stage: 3, axis: dp, layout: pad}' '[parallelism]' 'pipeline_parallel_degree = 2'
gives 'pipeline: {axis: pp, schedule: DualPipeV, layers: [8, 9, 8, 7]}' '[parallelism]' 'pipeline_parallel_degree = 2' \
    'pipeline_parallel_schedule = "dualpipev"'
gives 'zero: {stage: 3, axis: dp, layout: pad}' '[parallelism]' 'pipeline_parallel_degree = 2' \
    'fsdp_reshard_after_forward = "default"'
gives 'zero: {stage: 3, axis: dp, layout: pad, reshard_after_forward: always}' '[parallelism]' 'pipeline_parallel_degree = 2' \
    'fsdp_reshard_after_forward = "always"'
# Layers of stages, as torchtitan has divided them over the years, and as its options say.
gives 'pipeline: {axis: pp, schedule: 1F1B}' '[experimental]' 'pipeline_parallel_degree = 4'
gives 'pipeline: {axis: pp, schedule: 1F1B, layers: [8, 9, 8, 7]}' '[parallelism]' \
    'pipeline_parallel_degree = 4'
gives 'pipeline: {axis: pp, schedule: 1F1B, layers: [6, 9, 9, 8]}' '[parallelism]' \
    'pipeline_parallel_degree = 4' 'pipeline_parallel_first_stage_less_layers = 3' \
    'pipeline_parallel_last_stage_less_layers = 0'
gives 'pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 3, layers: [5, 6, 6, 6, 5, 4]}' \
    '[parallelism]' 'pipeline_parallel_degree = 2' 'pipeline_parallel_schedule = "Interleaved1F1B"' \
    'pipeline_parallel_layers_per_stage = 6'
gives 'pipeline: {axis: pp, schedule: 1F1B, layers: [2, 30]}' '[experimental]' \
    'pipeline_parallel_degree = 2' 'pipeline_parallel_split_points = ["layers.2"]'
gives 'pipeline: {axis: pp, schedule: 1F1B, layers: [1, 31]}' '[parallelism]' \
    'pipeline_parallel_degree = 2' 'module_fqns_per_model_part = [ # a part a line' \
    '  ["tok_embeddings", "layers.0"],' \
    "  [$(seq -s ', ' -f '"layers.%g"' 1 31), \"norm\", \"output\"], ]"
for line in 'pipeline_parallel_layers_per_stage = 12' 'pipeline_parallel_split_points = ["layers.40"]' \
    'pipeline_parallel_first_stage_less_layers = 40' 'pipeline_parallel_layers_per_stage = 4' \
    'module_fqns_per_model_part = [["layers.0"], ["norm"]]'; do
    file '[parallelism]' 'pipeline_parallel_degree = 2' "$line"
    [ $? -eq 2 ] && grep -q "file.toml:.*error: .*" "$tmp/err"
    ok $? "torchtitan $line: an error"
done
gives 'recompute: {kind: full, every: 2, offset: 1, count: stage}' '[parallelism]' \
    'pipeline_parallel_degree = 2'
grep -q '^# torchtitan counts every' "$tmp/file.yaml"
[ $? -eq 1 ]
ok $? "torchtitan: a stage a rank counts its own layers"
file '[parallelism]' 'pipeline_parallel_degree = 2' 'pipeline_parallel_schedule = "Interleaved1F1B"' &&
    grep -q '^# torchtitan counts every 2 layers across the stages of a rank.* of 9 layers' "$tmp/file.yaml"
ok $? "torchtitan: layers that are counted over several stages"
file '[parallelism]' 'pipeline_parallel_degree = 2' 'pipeline_parallel_schedule = "Interleaved1F1B"' \
    'pipeline_parallel_first_stage_less_layers = 0' 'pipeline_parallel_last_stage_less_layers = 0' &&
    ! grep -q '^# torchtitan counts every' "$tmp/file.yaml"
ok $? "torchtitan: stages with whole groups of layers"
gives 'gathered: keep' '[parallelism]' 'tensor_parallel_degree = 2'
gives 'recompute: {kind: selective_op, hold: true}' '[activation_checkpoint]' \
    'mode = "selective"' "selective_ac_option = 'op'"
gives 'recompute: selective_op' '[activation_checkpoint]' 'mode = "selective"' \
    "selective_ac_option = 'op'" '[training]' 'compile = true'
gives 'recompute: selective_op' '[activation_checkpoint]' 'mode = "selective"' \
    "selective_ac_option = 'op'" '[compile]' 'enable = true' "components = ['loss', \"model\"]"
gives 'recompute: {kind: selective_op, hold: true}' '[activation_checkpoint]' 'mode = "selective"' \
    "selective_ac_option = 'op'" '[compile]' 'enable = true' 'components = ["loss"] # and not "model"'
gives 'fused: {loss: true, activation: false}' '[compile]' 'enable = true' 'components = ["loss"]'
gives 'fused: {loss: true}' '[compile]' 'enable = true'
gives 'fused: {loss: false, activation: false}' '[training]' 'steps = 10'
gives 'types: {parameters: float32, moments: bfloat16}' '[optimizer]' 'implementation = "fused_opt_states_bf16"'
gives '# Ignored, because it does not affect the layout: float8.emulate' '[float8]' 'emulate = [ # a' \
    '  "a=1", # ]' ']'

# Llama 3 405B on 512 H100, from torchtitan's benchmark page of December 2024: peak memory within 8
# %.
while read -r schedule measured; do
    sampled 4 || continue
    printf '%s\n' '[model]' 'name = "llama3"' 'flavor = "405B"' '[training]' 'batch_size = 32' 'seq_len = 8192' \
        'data_parallel_shard_degree = 8' 'tensor_parallel_degree = 8' '[experimental]' \
        'pipeline_parallel_degree = 8' "pipeline_parallel_schedule = '$schedule'" \
        '[activation_checkpoint]' 'mode = "full"' >"$tmp/file.toml"
    "$shardsim" import --from torchtitan --devices 512 "$tmp/file.toml" --force -o "$tmp/file.yaml" &&
        "$shardsim" plan -q --json -s hardware=h100-96g-titan "$tmp/file.yaml" >"$tmp/a.json" &&
        python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
told = told["time"]["modelled"]["memory_bytes"] / 2**30
sys.exit(abs(told / float(sys.argv[2]) - 1) > 0.08)' "$tmp/a.json" "$measured"
    ok $? "torchtitan: 405B under $schedule has its peak of $measured GiB"
done <<'END'
1F1B 82.5
Interleaved1F1B 72.7
END
# titan_cannot PLACE TEXT LINE...: import is refused at PLACE with TEXT.
titan_cannot() {
    place=$1 text=$2
    shift 2
    file "$@"
    [ $? -eq 2 ] && [ ! -s "$tmp/file.yaml" ] && grep -q "file.toml:$place: error: .*$text" "$tmp/err"
    ok $? "torchtitan $*: $text"
    diag <"$tmp/err"
}
gives "products: {recipe: tensorwise, amax: local, except: ['router\$', '^head\$', 'attn/k\$']}" \
    '[model]' 'converters = ["float8"]' '[float8]' 'filter_fqns = ["output", "attention.wk"]'
gives "products: {recipe: rowwise, amax: local, except: ['router\$'], gathers: true}" \
    '[model]' 'converters = ["quantize.linear.float8"]' '[quantize.linear.float8]' 'recipe_name = "rowwise"' \
    'enable_fsdp_float8_all_gather = true'
gives "products: {recipe: mxfp8, amax: local, except: ['router\$']}" '[model]' 'converters = ["mx"]'
titan_cannot 5:14 "unknown converter 'float9'" '[model]' 'converters = ["float9"]'
titan_cannot 5:14 "'mx' and another" '[model]' 'converters = ["float8", "mx"]'
titan_cannot 7:15 'expected mxfp8' '[model]' 'converters = ["mx"]' '[mx]' 'recipe_name = "mxfp4_cutlass"'
file '[model]' 'converters = ["quantize.grouped_mm.float8"]' && ! grep -q '^products' "$tmp/file.yaml"
ok $? "torchtitan: a converter of experts rounds nothing else"
titan_cannot 7:15 "unknown modules" '[model]' 'converters = ["float8"]' '[float8]' 'filter_fqns = ["auto_filter_small_kn"]'
titan_cannot 7:15 'expected one of tensorwise, rowwise' '[model]' 'converters = ["float8"]' '[float8]' \
    'recipe_name = "rowwise_with_gw_hp"'
titan_cannot 5:24 'FP8 matmuls' '[float8]' 'enable_float8_linear = true'
titan_cannot 5:14 'FP8 matmuls' '[training]' 'fp8_linear = "dynamic"'
titan_cannot 6:1 'is given twice' '[training]' 'seq_len = 8' 'seq_len = 16'
titan_cannot 5:1 'a list that does not end' '[float8]' 'filter_fqns = ["a",'
titan_cannot 5:15 'several lines' '[job]' 'description = """a'
titan_cannot 5:30 'torchtitan has no schedule 2F2B; expected GPipe, 1F1B, .* or DualPipeV' '[parallelism]' \
    'pipeline_parallel_schedule = "2F2B"'
titan_cannot 5:30 'torchtitan has no schedule ZBH1' '[parallelism]' 'pipeline_parallel_schedule = "ZBH1"'
titan_cannot 6:34 'expected headtail' '[parallelism]' 'context_parallel_degree = 2' \
    'context_parallel_load_balancer = "ptrr"'
# Types of torchtitan, and texts in the place of numbers.
gives 'types: {parameters: compute} # and with them gradients and moments' '[training]' 'dtype = "bfloat16"' \
    'mixed_precision_reduce = "bfloat16"'
gives 'types: {parameters: compute, reduce: float32}' '[training]' 'dtype = "bfloat16"'
gives 'types: {parameters: float32, reduce: bfloat16}' '[training]' 'mixed_precision_reduce = "bfloat16"'
gives '# Planned differently, optimizer.early_step_in_backward: torchtitan updates parameters during the backward pass, the plan after it: less memory than planned.' \
    '[optimizer]' 'early_step_in_backward = true'
gives 'overlap: {gradients: true, weights: true, products: true} # collectives overlap computation, as the job'"'"'s options say' \
    '[parallelism]' 'tensor_parallel_degree = 2' 'enable_async_tensor_parallel = true'
titan_cannot 5:26 'tensor_parallel_degree is the string "2"; expected a number without quotes' '[parallelism]' \
    'tensor_parallel_degree = "2"'
titan_cannot 5:12 'max_norm is the string "1.0"; expected a number' '[training]' 'max_norm = "1.0"'
titan_cannot 5:10 'enable is the string "true"; expected true or false' '[compile]' 'enable = "true"'
titan_cannot 5:8 'expected quotes around a string' '[activation_checkpoint]' 'mode = full'
titan_cannot 5:28 '16 devices are not a multiple' '[parallelism]' 'pipeline_parallel_degree = 3'
titan_cannot 5:30 '4 data-parallel shards, but the devices allow 16' '[parallelism]' 'data_parallel_shard_degree = 4'
sed 's/.*flavor.*/flavor = "32B"/; s/"llama3"/"qwen3"/' "$tmp/file.toml" | sed '/shard_degree/d' >"$tmp/qwen.toml"
"$shardsim" import --from torchtitan --devices 8 "$tmp/qwen.toml" | grep -q '^model: {size: qwen3-32b, dtype: bfloat16}'
ok $? "torchtitan: flavors of qwen3"
# experts TEXT...: import torchtitan's file for DeepSeek-V2-Lite on 32 devices, with these degrees
experts() {
    printf '%s\n' '[model]' 'name = "deepseek_v3"' 'flavor = "16B"' '[activation_checkpoint]' 'mode = "none"' \
        '[parallelism]' "$@" >"$tmp/file.toml"
    "$shardsim" import --from torchtitan --devices 32 "$tmp/file.toml" --force -o "$tmp/file.yaml"
}

# has LINE WHAT: the imported scenario has LINE.
has() {
    grep -qxF -- "$1" "$tmp/file.yaml"
    ok $? "torchtitan: $2"
}

experts 'tensor_parallel_degree = 4' 'expert_parallel_degree = 8'
has '  - [moe/(gate|up)/kernel, [[ep, tp], null, null]]' "experts are dealt out to ranks of tensor parallelism"
has "  - ['(attn/o|mlp/down|shared/down)/kernel|embed/table', [tp]]" "shared experts are sharded over them"
has "  - ['(attn/(q|q_rope|k|v)|mlp/(gate|up)|shared/(gate|up)|head)/kernel', [null, tp]]" "and compressed attention"
grep -A1 '^moe:$' "$tmp/file.yaml" | grep -q '^  routing: auto'
ok $? "torchtitan: experts of a published model are balanced"
shardsim plan "$tmp/file.yaml"
is 0 "torchtitan: a plan of a published model's experts"
experts 'tensor_parallel_degree = 4' 'expert_parallel_degree = 8' 'expert_tensor_parallel_degree = 4'
has '  - [moe/down/kernel, [ep, tp]]' "experts are sharded over tensor parallelism if so asked"
shardsim export --to torchtitan "$tmp/file.yaml"
says err 'torchtitan, since 2026, has whole experts on tensor-parallel ranks' "but torchtitan no longer does that"
experts 'tensor_parallel_degree = 4' 'expert_parallel_degree = 8' 'expert_tensor_parallel_degree = 1'
shardsim plan --json "$tmp/file.yaml" && cp "$tmp/out" "$tmp/a.json"
"$shardsim" export --to torchtitan "$tmp/file.yaml" --force -o "$tmp/back.toml" &&
    "$shardsim" import --from torchtitan "$tmp/back.toml" --force -o "$tmp/back.yaml" &&
    "$shardsim" plan --json "$tmp/back.yaml" >"$tmp/b.json" &&
    python3 "$tmp/figures.py" "$tmp/a.json" >"$tmp/a" && python3 "$tmp/figures.py" "$tmp/b.json" >"$tmp/b" &&
    cmp "$tmp/a" "$tmp/b"
ok $? "torchtitan: experts over ranks of tensor parallelism, there and back"
grep -q '^expert_tensor_parallel_degree = 1' "$tmp/back.toml"
ok $? "torchtitan: such experts are whole"
for line in '       job.model_spec = model_registry(' '     --training.disable_cuda_graphs' '     --parallelism.expert_parallel_degree 8'; do
    grep -qF "#$line" "$tmp/back.toml"
    ok $? "torchtitan: the job since 2026:$line"
done
experts 'tensor_parallel_degree = 4'
has '  - [moe/down/kernel, [null, tp]]' "experts of every device are sharded over tensor parallelism"
shardsim export --to torchtitan "$tmp/file.yaml" -s moe.top_k=4
says err 'torchtitan has no model like' "torchtitan: other experts than a published model's"
"$shardsim" import --from torchtitan --model deepseek-v2 --devices 32 "$tmp/file.toml" --force -o "$tmp/v2.yaml" &&
    "$shardsim" export --to torchtitan "$tmp/v2.yaml" >"$tmp/out" && grep -q '^flavor = "236B"$' "$tmp/out"
ok $? "torchtitan: DeepSeek-V2 is a flavor"

for size in 16B 8B; do
    printf '[model]\nname = "%s"\nflavor = "%s"\n[parallelism]\nexpert_parallel_degree = 2\nexpert_tensor_parallel_degree = 4\ntensor_parallel_degree = 2\n[activation_checkpoint]\nmode = "none"\n' \
        "$([ $size = 8B ] && echo llama9 || echo deepseek_v3)" "$size" >"$tmp/file.toml"
    "$shardsim" import --from torchtitan --devices 16 "$tmp/file.toml" >"$tmp/file.yaml" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "\(expert_tensor_parallel_degree is 4; expected 1, or 2\|'llama9' has no published flavor '8B'\)" "$tmp/err"
    ok $? "torchtitan: experts over other tensor parallelism, or a model that is none ($size)"
done
"$shardsim" import --from torchtitan --model llama3-8b --devices 16 "$tmp/file.toml" >"$tmp/file.yaml" 2>"$tmp/err"
[ $? -eq 2 ] && ! grep -q "llama9" "$tmp/err"
ok $? "torchtitan: --model says the model, whatever its name"

# The JSON that torchtitan prints of a configuration in Python, and the Python itself.
# json TEXT: import a configuration with these sections besides the model.
json() {
    printf '{"model_spec": {"name": "llama3", "flavor": "8B", "model": {"dim": 1}},\n%s}\n' "$1" >"$tmp/file.json"
    "$shardsim" import --from torchtitan --devices 16 "$tmp/file.json" >"$tmp/file.yaml" 2>"$tmp/err"
}
json '"training": {"num_tokens_per_microbatch_per_dp_rank": 64, "max_context_length": 32, "max_norm": 1.0},
"parallelism": {"pipeline_parallel_degree": 2, "num_pp_microbatches": 4, "module_fqns_per_model_part": null},
"activation_checkpoint": {"preserve_rng_state": true, "force_recompute_mm_shapes_by_fqns": ["moe.router.gate"]},
"optimizer": {"param_groups": [{"pattern": ".*", "optimizer_name": "AdamW",
  "optimizer_kwargs": {"lr": 0.25, "betas": [0.5, 0.75]}}], "implementation": "fused"},
"loss": {"num_chunks": 8, "loss_fn": {"a": [1]}}, "dump_folder": "a", "compile": {"components": []}' &&
    grep -qxF 'batch: {size: 64, seq: 32, microbatches: 4}' "$tmp/file.yaml" &&
    grep -qxF 'recompute: {kind: selective_op, hold: true}' "$tmp/file.yaml" &&
    grep -qxF 'fused: {loss: false, activation: false, loss_chunks: 8}' "$tmp/file.yaml" &&
    grep -qx '  lr: 0.25' "$tmp/file.yaml" && grep -qxF '  betas: [0.5, 0.75]' "$tmp/file.yaml" &&
    grep -q '^# The file does not say whether matmuls are in FP8' "$tmp/file.yaml" && ! grep -q 'because unknown' "$tmp/file.yaml"
ok $? "torchtitan: the JSON of a configuration"
diag <"$tmp/err"
json '"activation_checkpoint": null' && grep -qx 'recompute: none' "$tmp/file.yaml" &&
    json '"activation_checkpoint": {"debug": false}' && grep -qx 'recompute: full' "$tmp/file.yaml"
ok $? "torchtitan: a policy by its options"
json '"training": {"seq_len": {}, "local_batch_size": 0},
"model_converters": {"converters": [{"recipe": 1}]},
"optimizer": {"param_groups": []}, "activation_checkpoint": {"memory_budget": 0.5}'
[ $? -eq 2 ] && [ ! -s "$tmp/file.yaml" ] && grep -c 'file.json:[0-9:]*: error' "$tmp/err" >"$tmp/count" &&
    [ "$(cat "$tmp/count")" = 4 ] && grep -q 'FP8 matmuls' "$tmp/err" && grep -q 'memory budget' "$tmp/err"
ok $? "torchtitan: faults of that JSON"
diag <"$tmp/err"
printf '# a\nfrom torchtitan.trainer import Trainer\ndef a() -> Trainer.Config:\n    pass\n' >"$tmp/file.py"
"$shardsim" import --from torchtitan "$tmp/file.py" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'in Python; .*--debug.save_config_file FILE' "$tmp/err"
ok $? "torchtitan: Python is not run, and what to do is told"

done_testing
