#!/bin/sh
# init: what it writes plans and is searched as it is; and the way that the README begins with.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
starts_no_threads
cd "$tmp" || exit 1

for model in gpt2-small llama3-1b t5-small; do
    shardsim init --model $model --devices 4 --seq 256 -o $model.yaml
    is 0 "$model: written"
    shardsim plan -q $model.yaml
    is 0 "$model: plans as it is"
    says out "fsdp=4: 4 devices" "$model: on so many devices"
done
shardsim init
is 0 "all defaults: to standard output"
says out '^model: {size: llama3-8b' "all defaults: the model"
says out '^batch: {size: 512, seq: 4096, microbatches: 8}' "all defaults: eight sequences a device"

shardsim search -q gpt2-small.yaml --top 2 --threads 1 -o best.yaml
is 0 "search goes on from it"
says out '^  that is     [0-9]* data-parallel replicas\|^  that is     ' "search: the best in words"
says out '^  why         beside the second, ' "search: why"
shardsim compare -q --plan gpt2-small.yaml best.yaml
is 0 "and compare"
tr -s ' \n' ' ' <out | grep -q 'verdict: .* is the fastest, modelled: '
ok $? "compare: the verdict"

shardsim init --model lama3-8b
is 2 "a model that is not there"
says err "did you mean 'llama3-8b'" "a model that is not there: what was meant"
shardsim init --devices 64 --batch 100
is 2 "a batch that does not divide"
says err "such as 128" "a batch that does not divide: one that does"
shardsim init --hardware h1000
is 2 "a cluster that is not there"
shardsim init --devices 0
is 2 "no devices"
shardsim init --devices 4 --seq 2k --batch 1k
says out 'batch: {size: 1024, seq: 2048' "sizes as people say them"
shardsim init --seq 4x
is 2 "a size that is none"
shardsim init extra
is 2 "an argument"
shardsim init -o nowhere/file.yaml
is 3 "a folder that is not there"
done_testing
