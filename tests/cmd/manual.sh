#!/bin/sh
# Tests the manual: each command has a page without faults, whose examples work.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# Pages are in the build tree, or in the source tree of a tarball.
pages=$top_builddir/man
[ -f "$pages/shardsim.1" ] || pages=$top_srcdir/man

"$shardsim" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/shardsim-\1.1/p' >"$tmp/names"
printf 'shardsim.1\nshardsim-query.7\nshardsim-scenario.5\n' >>"$tmp/names"
sort "$tmp/names" >"$tmp/real"
(cd "$pages" && ls ./*.[157]) | sed 's/^..//' | sort >"$tmp/shown"
diff "$tmp/real" "$tmp/shown" >"$tmp/wrong"
ok $? "a page for every command, for scenarios and for questions, and no other"
diag <"$tmp/wrong"

while read -r page; do
    if command -v mandoc >/dev/null; then
        mandoc -T lint "$pages/$page" >"$tmp/wrong" 2>&1
        ok $? "$page: mandoc finds nothing wrong"
        [ ! -s "$tmp/wrong" ] || diag <"$tmp/wrong"
    else
        skip "$page: mandoc finds nothing wrong" "no mandoc"
    fi
    # Each page has the usual parts and all options of the program.
    command=${page#shardsim}
    command=${command#-}
    command=${command%.[15]}
    case $page in
        *.5)
            "$shardsim" show options | sed -n 's/^\([a-z_.]*\):.*/\1/p' >"$tmp/said"
            "$shardsim" show functions | sed -n 's/^\([a-z_]*\)(.*/\1/p' >>"$tmp/said"
            ;;
        *.7) "$shardsim" query --list | sed 's/^/.SS /' >"$tmp/said" ;;
        shardsim.1) sed -n 's/^shardsim-\(.*\)\.1$/\1/p' "$tmp/names" >"$tmp/said" ;;
        *)
            # $command is split into words.
            # shellcheck disable=SC2086
            "$shardsim" $command --help | sed -n 's/^ *\(-[^-], \)\{0,1\}\(--[a-z-]*\).*/\2/p' >"$tmp/said"
            ;;
    esac
    sed 's/\\-/-/g; s/\\f[BIR]//g' "$pages/$page" >"$tmp/text"
    lost=$(while read -r word; do
        case $word in
            .SS*) grep -q -x -F -e "$word" "$tmp/text" ;;
            *) grep -q -w -e "$word" "$tmp/text" ;;
        esac || echo "$word"
    done <"$tmp/said")
    for part in NAME SYNOPSIS DESCRIPTION EXAMPLES 'SEE ALSO'; do
        grep -q "^\.SH $part\$" "$tmp/text" || lost="$lost $part"
    done
    [ -z "$lost" ]
    ok $? "$page: has the usual parts and all options of --help"
    [ -z "$lost" ] || echo "$lost" | diag
done <"$tmp/real"

# A folder in which every example can run.
mkdir -p "$tmp/here/examples" "$tmp/here/llama" "$tmp/here/scenarios" "$tmp/here/results/baselines/scenarios"
for file in dp_tp fsdp fsdp_tp llama3 requests serve strategies sweep tensor_parallel; do
    cp "$scenarios/$file.yaml" "$tmp/here/scenarios"
    cp "$top_srcdir/results/baselines/scenarios/$file.yaml" "$tmp/here/results/baselines/scenarios"
done
cp -r "$top_srcdir/examples/step.hlo.txt" "$top_srcdir/examples/torch" "$top_srcdir/examples/t5x.gin" \
    "$tmp/here/examples"
cp "$top_srcdir/examples/partition_rules.py" "$tmp/here/rules.py"
chmod -R u+w "$tmp/here"
cp -r "$tmp/here/scenarios" "$tmp/here/layouts"
cp -r "$tmp/here/results/baselines/scenarios" "$tmp/here/results/baselines/layouts"
cat >"$tmp/here/llama/config.json" <<'END'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
 "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 4, "vocab_size": 256, "torch_dtype": "float32"}
END
echo '{"id": 1, "op": "re.search", "in": {"pattern": "up", "string": "mlp/up"}}' \
    >"$tmp/here/questions.jsonl"
printf -- '- [proj.weight, [null, tp]]\n- [.*, []]\n' >"$tmp/here/rules.yaml"
# A measured step of a small model, and a table of nccl-tests.
cat >"$tmp/here/steps.jsonl" <<'END'
{"id": "a", "set": "own", "in": {"model": {"hidden": 256, "layers": 2, "heads": 4, "kv_heads": 4, "mlp_dim": 1024, "gated_mlp": false, "vocab": 1024, "seq": 128}, "hardware": "h100-80g-roce", "devices": 8, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "dp": 8, "virtual_stages": 1, "micro_batch": 1, "global_batch": 8, "recompute": "none", "sequence_parallel": false, "zero_stage": 3, "dtype": "bf16", "flash_attention": true}, "measured": {"step_seconds": 0.01}}
END
{
    echo '# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 4(factor)'
    awk 'BEGIN {for (r = 0; r < 8; r++) printf "#  Rank %2d Group  0 Pid 1 on host device %2d\n", r, r}'
    awk 'BEGIN {for (b = 1048576; b <= 1073741824; b *= 4) {
        s = 90e-6 + 1.75 * b / 360e9
        printf "%12d %12d float sum -1 %.2f %.2f %.2f 0\n", b, b / 4, s * 1e6, b / s / 1e9, 1.75 * b / s / 1e9}}'
} >"$tmp/here/reduce.txt"
# A table of measured products.
mkdir -p "$tmp/here/tables"
{
    echo type,n,k,m,us_median
    for m in 1 16 256; do for k in 512 2048; do echo "bfloat16,1024,$k,$m,$((5 + m * k / 65536))"; done; done
} >"$tmp/here/tables/h100_sxm-gemm.csv"
# Training scenarios, which `check` need not plan again.
mkdir -p "$tmp/here/models/mine"
cat >"$tmp/here/models/mine/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
 "num_attention_heads": 4, "vocab_size": 256, "max_position_embeddings": 4096}
JSON
cp -r "$tmp/here" "$tmp/checked"
cat >"$tmp/checked/train.sh" <<'END'
torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py --num-layers 8 --hidden-size 1024 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --padded-vocab-size 32768 \
    --micro-batch-size 1 --global-batch-size 128 --bf16 --tensor-model-parallel-size 4
END
cp "$scenarios/train_pipeline.yaml" "$scenarios/train_zero.yaml" "$tmp/here/scenarios"
cp "$scenarios/llama3.yaml" "$tmp/here/scenarios"
"$shardsim" export --to megatron "$scenarios/llama3.yaml" -o "$tmp/here/pretrain.sh"

{
    "$shardsim" --help
    for command in $("$shardsim" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$shardsim" "$command" --help
    done
    for subject in $("$shardsim" show --help | sed -n '/^What:$/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$shardsim" show "$subject" --help
    done
    "$shardsim" explain collective --help
    "$shardsim" explain reshard --help
} >"$tmp/help"
awk 'length > 80 { print; wide = 1 } END { exit wide }' "$tmp/help" >"$tmp/wrong"
ok $? "--help: no line is wider than 80"
diag <"$tmp/wrong"
sed -n '/^Examples:$/,/^$/{ /^$/d; /^Examples:$/d; /^  [^ ]/d; /^    [^ ]/d; p; }' "$tmp/help" >"$tmp/wrong"
! [ -s "$tmp/wrong" ]
ok $? "--help: every example is one line"
diag <"$tmp/wrong"
sed -n '/^Examples:$/,/^$/s/^    //p' "$tmp/help" | sort -u >"$tmp/examples"
PATH=$bin:$PATH
export PATH
unset CI GITHUB_ACTIONS
while read -r example; do
    case $example in
        *mine.yaml* | *runs.db* | *train.sh*) ;; # always run: some examples read the file that another one made
        *) sampled 6 || continue ;;
    esac
    case $example in
        'shardsim check'*) folder=$tmp/checked ;;
        *) folder=$tmp/here ;;
    esac
    (cd "$folder" && exec timeout "$LIMIT" sh -c "$example") >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    if [ $status -eq 3 ] && grep -q 'no converter for PNG is installed' "$tmp/err"; then
        skip "example: $example" "no converter for PNG is installed"
        continue
    fi
    is 0 "example: $example"
done <"$tmp/examples"
[ "$(wc -l <"$tmp/examples")" -ge 20 ]
ok $? "examples: there are some"
done_testing
