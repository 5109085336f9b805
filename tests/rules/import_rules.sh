#!/bin/sh
# Tests import of rules: the scenario shards our parameters as a list of EasyDeL or eformer, or the
# logical axes of T5X, shard theirs; what cannot be read is reported at its place.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
: "${SHARDSIM_GOLDEN:=$top_srcdir/../shared/golden}"
examples=$top_srcdir/examples

# nothing_wrong TEXT ARGUMENT...: import_rules.py finds nothing wrong.
nothing_wrong() {
    text=$1
    shift
    python3 "$top_srcdir/tests/rules/import_rules.py" "$shardsim" "$@" >"$tmp/wrong" 2>&1 &&
        [ ! -s "$tmp/wrong" ]
    ok $? "$text"
    head -n 5 "$tmp/wrong" | diag
}

nothing_wrong "each parameter has the spec that eformer's function gives its name there" lists
if [ -f "$SHARDSIM_GOLDEN/layout/trees.jsonl" ]; then
    nothing_wrong "lists of EasyDeL and T5X say what they say of their own trees" golden \
        "$SHARDSIM_GOLDEN"
else
    skip "lists on golden trees" "there is no golden data in $SHARDSIM_GOLDEN (SHARDSIM_GOLDEN)"
fi

# has TEXT LINE...: the scenario has these lines.
has() {
    text=$1 missing=
    shift
    for line in "$@"; do
        grep -qxF -e "$line" "$tmp/out" || missing=$line
    done
    [ "$status" -eq 0 ] && [ -z "$missing" ]
    ok $? "$text"
    [ -z "$missing" ] || { echo "no line $missing" && head -n 5 "$tmp/err"; } | diag
}

# plans TEXT: the scenario that was imported last is planned.
plans() {
    cp "$tmp/out" "$tmp/made.yaml"
    shardsim plan -q "$tmp/made.yaml"
    is 0 "$1"
}

shardsim import --from easydel "$examples/partition_rules.py" --devices 16 \
    --model '{size: llama3-8b, layers: 2}' --batch 16 --seq 128
has "EasyDeL: what each rule gave is on top, and what gave nothing, and why" \
    "#   line 17: 'mlp/down_proj/kernel' -> P('tp', ('fsdp', 'sp')): layers/*/mlp/down/kernel" \
    "#   line 20: 'bias' -> P(None): nothing, no name of the model matches" \
    "#   line 21: '.*' -> P(None): nothing, earlier rules match the same names"
has "EasyDeL: the mesh of the file, kinds of layers, the batch over fsdp and dp" \
    'mesh: {dp: 1, fsdp: 8, ep: 1, tp: 2, sp: 1}' 'axes: {batch: [fsdp, dp]}' \
    "  - ['^layers/\\d+/mlp/down/kernel\$', [tp, [fsdp, sp]]] # model/layers/*/mlp/down_proj/kernel" \
    "  - ['^layers/\\d+/attn/o/kernel\$', [tp, null, [fsdp, sp]]] # model/layers/*/self_attn/o_proj/kernel"
plans "EasyDeL: the scenario is planned"

shardsim import --from t5x "$examples/t5x.gin" --devices 16
has "T5X: the mesh, the model of an included file, lengths, the batch and activations by the rules" \
    'mesh: {data: 4, model: 4}' 'model: {size: t5-v1.1-base, dtype: bfloat16}' \
    'batch: {size: 256, seq: 128, source: 512}' 'axes: {batch: [data]}' \
    '# Included and not read: t5x/examples/t5/t5_1_1/base.gin' \
    "  - ['^encoder/relative/table\$', [null, model]] # encoder/relpos_bias/rel_embedding (heads, relpos_buckets)" \
    "  - ['attn/(q|kv)\$', [data, null, model]]"
shardsim import --from t5x "$examples/t5x.gin" --devices 16 \
    --model '{size: t5-v1.1-base, layers: 1, decoder_layers: 1}'
plans "T5X: the scenario of fewer layers is planned"

# A list of pairs, as T5X models other than T5 have; heads and their widths are two dimensions.
cat >"$tmp/pairs.py" <<'END'
AXIS_RULES = [('batch', ('data', 'expert')), ('length', None), ('vocab', 'model'), ('mlp', 'model'),
              ('heads', 'model'), ('kv', None), ('expert', 'expert'), ('expert_mlp', 'model'),
              ('embed', 'data')]
END
shardsim import --from t5x "$tmp/pairs.py" --mesh data:2,expert:4,model:2 --seq 64 \
    --model '{size: mixtral-8x7b, layers: 1}'
has "T5X: a list of pairs in Python, for a decoder with experts" 'axes: {batch: [data, expert]}' \
    "  - ['^layers/\\d+/moe/up/kernel\$', [expert, data, model]] # decoder/layers_*/mlp/expert/wi_1/kernel (expert, embed, expert_mlp)" \
    "  - ['^layers/\\d+/attn/q/kernel\$', [data, model]] # decoder/layers_*/self_attention/query/kernel (embed, heads, kv)"
plans "T5X: that is planned"

cat >"$tmp/rest.gin" <<'END'
train/PjitPartitioner.model_parallel_submesh = (2, 1, 1, 2)
PjitPartitioner.num_partitions = %N
N = 2
network.T5Config:
  emb_dim = 64
  num_heads = 4  # of 16
  head_dim = 16
  mlp_dim = 128
  num_encoder_layers = 1
  num_decoder_layers = 1
  vocab_size = 256
  mlp_activations = ('relu',)
  logits_via_embedding = True
standard_logical_axis_rules.additional_rules = [
    ('embed', ('data',)),
]
END
shardsim import --from t5x "$tmp/rest.gin" --devices 8 --seq 32
has "T5X: a submesh, T5Config, macros, scopes, rules behind the standard ones" \
    'mesh: {data: 2, model: 4}' \
    'model: {kind: t5, layers: 1, decoder_layers: 1, d_model: 64, d_ff: 128, heads: 4, head_dim: 16, vocab: 256, activation: relu, tied: true, dtype: bfloat16}' \
    "#   line 15: 'embed' -> 'data': no parameters" \
    "  - ['^encoder/layers/\\d+/mlp/up/kernel\$', [null, model]] # encoder/layers_*/mlp/wi/kernel (embed, mlp)"
plans "T5X: that is planned"

cat >"$tmp/layers.py" <<'END'
'''Rules that differ from layer to layer.'''
both: tuple = ("fsdp", 'sp')  # "a comment"
up = PartitionSpec(both, "tp")
paxis = PartitionAxis(batch_axis="fsdp", expert_parallel_axis=None, decode_batch_axis=None)
mesh = create_mesh(axis_dims=(2, 2, 2, 1), axis_names=("dp", "fsdp", "tp", "sp"))
rules = (
    ("\d+/mlp/up_proj"
     "/kernel$", jax.sharding.NamedSharding(mesh, up)), (r'layers/[02]/mlp', P(None, "tp",)),
    ("\x6d\154\u0070", [None, ["tp", "fsdp"]]), ('norm', pm.resolve(axes=[FSDP], mode=MODE_TRAIN)), (".*", P()),
);
END
shardsim import --from eformer "$tmp/layers.py" --min-elements 0 \
    --model '{size: llama3-8b, layers: 3}' --batch 16 --seq 64
has "eformer: names for values, NamedSharding, words for axes, layers that differ" \
    'mesh: {dp: 2, fsdp: 2, tp: 2, sp: 1}' 'axes: {batch: [fsdp]}' \
    '# Ignored fields of PartitionAxis: decode_batch_axis' \
    "  - ['^layers/\\d+/mlp/up/kernel\$', [[fsdp, sp], tp]] # model/layers/*/mlp/up_proj/kernel" \
    "  - ['^layers/1/mlp/down/kernel\$', [null, [tp, fsdp]]] # model/layers/*/mlp/down_proj/kernel" \
    "  - ['^layers/\\d+/mlp/down/kernel\$', [null, tp]] # model/layers/*/mlp/down_proj/kernel" \
    "  - ['^final_norm/scale\$', [fsdp]] # model/norm/kernel"
plans "eformer: that is planned"

printf 'import jax\nrules = [("attn/(q|k|v)/kernel", P(None, "tp")), (".*", P())]\n' >"$tmp/own.py"
shardsim import --from eformer "$tmp/own.py" --names shardsim --mesh '{dp: -1, tp: 2}' --devices 4 \
    --model '{kind: block, d_model: 64, d_ff: 128, heads: 4, layers: 1, norm: rms}' --seq 16 \
    --min-elements 0
has "eformer: rules for the names here" 'mesh: {dp: 2, tp: 2}' \
    "  - ['^layers/\\d+/attn/q/kernel\$', [null, tp]] # layers/*/attn/q/kernel"

printf 'return (("(q|kv)_b_proj", P("fsdp", "tp")), ("kv_a_proj", P("fsdp", "tp")), (".*", P()))\n' \
    >"$tmp/latent.py"
shardsim import --from easydel "$tmp/latent.py" --mesh fsdp:2,tp:2 --seq 32 \
    --model '{size: deepseek-v2, layers: 2}'
has "EasyDeL: DeepSeek's compressed keys, whose arrays there are several here" \
    "  - ['^layers/\\d+/attn/q_rope/kernel\$', [fsdp, tp]] # model/layers/*/self_attn/q_b_proj/kernel; their array is q and q_rope of each head side by side" \
    "  - ['^layers/\\d+/attn/k_rope/kernel\$', [fsdp, null, tp]] # model/layers/*/self_attn/kv_a_proj_with_mqa/kernel; their array is kv_latent and k_rope side by side"
plans "EasyDeL: that is planned"

# ---- what cannot be read ----

# faults SOURCE PLACES TEXT [OPTION...] <FILE: errors at these places, the first with that text
faults() {
    source=$1 places=$2 text=$3
    shift 3
    cat >"$tmp/bad"
    (cd "$tmp" && "$shardsim" import --from "$source" bad "$@") >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && grep -o '^bad:[0-9:]* error' "$tmp/err" >"$tmp/places" &&
        [ "$(sed 's/^bad:\(.*\): error/\1/' "$tmp/places" | tr '\n' ' ')" = "$places " ] &&
        grep -qF -e "$text" "$tmp/err"
    ok $? "faults of $source at $places: $text"
    grep -qF -e "$text" "$tmp/err" || head -n 3 "$tmp/err" | diag
}

# of_easydel PLACES TEXT <FILE: for a small Llama on two axes
of_easydel() {
    faults easydel "$1" "$2" --model '{size: llama3-8b, layers: 2}' --mesh fsdp:4,tp:2
}

of_easydel '1:11' "string prefix 'f' is not supported" <<'END'
rules = [(f"a{x}", P())]
END
of_easydel '2:22' 'no Python is run' <<'END'
def get_partition_rules(self, full: bool = (True)):
    return [(n, P()) for n in names]
END
of_easydel '1:22' "'+ [" <<'END'
rules = [("a", P())] + [("b", P())]
END
of_easydel '2:1' "'if' is not run" <<'END'
# rules of two kinds
if full:
    rules = [(".*", P("fsdp"))]
END
of_easydel '2:24 3:13' "no axis 'tq'; expected one of fsdp, tp, or another mesh by --mesh; did you mean 'tp'?" <<'END'
rules = [
    ("mlp/up", P(None, "tq")),
    ("q", P(Fsdp)),
    (".*", P())]
END
of_easydel '1:22' 'has 2 dimensions; expected a rule for it before this one' <<'END'
rules = [("up_proj", P(None, None, "tp")), (".*", P(None, None, None))]
END
of_easydel '1:9' 'a rule outside of a list' <<'END'
rules = (".*", P())
END
of_easydel '1:11' 'missing ), unterminated subpattern' <<'END'
rules = [("(up", P()), (".*", P())]
END
of_easydel '2:5' 'a second list of rules after line 1' <<'END'
a = [(".*", P())]
b = [(".*", P("tp"))]
END
of_easydel '1:1' "no rule matches parameter 'embed/table'" <<'END'
rules = [("mlp/up", P())]
END
of_easydel '1:18' "'Diagonal' is not a spec" <<'END'
rules = [("mlp", Diagonal), (".*", P())]
END
of_easydel '1:26' "axis 'tp' is used twice" <<'END'
rules = [("mlp", P("tp", "tp")), (".*", P())]
END
of_easydel '1:11' 'a string is not closed' <<'END'
rules = [("mlp
END
of_easydel '1:65' 'nested more than 64 deep' <<END
$(printf '%0100d' 0 | tr 0 '(')
END
printf 'rules = [(".*", P())]\n\0' >"$tmp/zero" # no pipe: of_easydel has to count its points in this shell
of_easydel '2:1' 'a zero byte' <"$tmp/zero"
# The keys have fewer heads than there are devices, and would be cut inside a head.
faults easydel '1:21' "axis 'tp' would split them" --mesh tp:16 --model '{size: llama3-8b, layers: 2}' <<'END'
rules = [("k_proj", P(None, "tp")), (".*", P())]
END
faults easydel '1:1' 'no model for the rules' --mesh tp:2 <<'END'
rules = [(".*", P())]
END
faults easydel '1:1' 'how many devices?' --model llama3-8b <<'END'
rules = [(".*", P())]
END

of_t5x() {
    faults t5x "$1" "$2" --model '{size: t5-small, layers: 1}' --devices 4
}
of_t5x '1:49' 'an extent of the submesh' <<'END'
PjitPartitioner.model_parallel_submesh = (1, 2, 0, 1)
END
of_t5x '2:60' 'each must be 1 or 2' <<'END'
PjitPartitioner.num_partitions = 2
standard_logical_axis_rules.parameter_partitioning_dims =  3
END
of_t5x '3:31 4:3' "no axis 'modle'" <<'END'
PjitPartitioner:
  num_partitions = 2
  logical_axis_rules = [('a', 'modle'),
  'mlp']
END
of_t5x '1:1' 'expected PjitPartitioner.num_partitions or model_parallel_submesh' <<'END'
BATCH_SIZE = 4
END
of_t5x '1:34' "the line ends here; expected a value" <<'END'
PjitPartitioner.num_partitions = 
END

"$shardsim" import --from easydel "$tmp/own.py" --model '{size: llama3-8b, leyers: 2}' --mesh tp:2 \
    2>"$tmp/err" >"$tmp/out"
[ $? -eq 2 ] && grep -q '^--model:1:19: error: .*leyers' "$tmp/err"
ok $? "faults of --model at their places in it"
"$shardsim" import --from easydel "$tmp/own.py" --model llama3-8b --mesh dp:2,tp=x 2>"$tmp/err"
[ $? -eq 2 ] && grep -q '^--mesh:1:6: error: expected axes with their devices' "$tmp/err"
ok $? "faults of --mesh at their places in it"
"$shardsim" import --from megatron "$tmp/own.py" --mesh dp:2 2>"$tmp/err"
[ $? -eq 2 ] && grep -q -e '--mesh is for rules' "$tmp/err"
ok $? "options of rules are for rules"
of_easydel '1:1' 'this is a scenario; expected a list of partition rules' <"$scenarios/dp_tp.yaml"
of_t5x '1:1' 'this is the config.json of a model; expected a gin file of T5X' <<'END'
{"model_type": "t5"}
END
shardsim plan "$examples/t5x.gin"
is 2 "a gin file is no scenario"
says err "import --from t5x FILE" "a gin file as a scenario: the message names import"

done_testing
