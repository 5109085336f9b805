/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "failures_cases.h"

#include <stddef.h>

/* The models are small, so that a run takes milliseconds, and each has a feature of its own. */
#define MLP                                                                  \
    "version: 1\n"                                                           \
    "name: tiny\n"                                                           \
    "mesh: {tp: 2}\n"                                                        \
    "model: {kind: mlp, d_model: 4, d_ff: 4, activation: gelu, layers: 2}\n" \
    "batch: {size: 2, seq: 2}\n"                                             \
    "step: [forward, backward]\n"                                            \
    "params:\n"                                                              \
    "  - [mlp/up/kernel, [null, tp]]\n"                                      \
    "  - [mlp/down/(kernel|bias), [tp, null]]\n"                             \
    "constraints:\n"                                                         \
    "  - [mlp/hidden, [null, null, tp]]\n"
#define BLOCK                                                                                \
    "version: 1\n"                                                                           \
    "name: block\n"                                                                          \
    "mesh: {dp: 2, tp: 2}\n"                                                                 \
    "model: {kind: block, d_model: 4, d_ff: 4, heads: 2, kv_heads: 2, activation: swiglu,\n" \
    "        norm: rms, rope: {theta: 10000, interleaved: false}}\n"                         \
    "batch: {size: 2, seq: 2}\n"                                                             \
    "step: [forward, backward]\n"                                                            \
    "partition_axis: {sequence_parallel: null}\n"                                            \
    "params:\n"                                                                              \
    "  - [attn/(q|k|v)/kernel, [_, head, _]]\n"                                              \
    "  - [attn/o/kernel, [head, _, _]]\n"                                                    \
    "  - ['mlp/(gate|up)/kernel', [null, tp]]\n"                                             \
    "  - [mlp/down/kernel, [tp, null]]\n"                                                    \
    "  - [norm, []]\n"                                                                       \
    "axes: {batch: dp}\n"
#define GRAPH                                                        \
    "version: 1\n"                                                   \
    "name: own\n"                                                    \
    "mesh: {dp: 2}\n"                                                \
    "graph:\n"                                                       \
    "  dims: {b: 2, s: 4, d: 4, f: 4}\n"                             \
    "  inputs: {x: [b, s, d]}\n"                                     \
    "  params: {scale: [d], up: [d, f], down: [f, d]}\n"             \
    "  ops:\n"                                                       \
    "    - n[b,s,d] = rms_norm(x[b,s,d], d, scale)\n"                \
    "    - h[b,s,f] = silu(einsum(n[b,s,d], up[d,f])) / 2\n"         \
    "    - y[b,s,d] = x + einsum(h, down)\n"                         \
    "step: [forward, backward]\n"                                    \
    "strategies:\n"                                                  \
    "  - name: data\n"                                               \
    "    params: [[.*, []]]\n"                                       \
    "    axes: {b: dp}\n"                                            \
    "  - name: tensor\n"                                             \
    "    mesh: {tp: 2}\n"                                            \
    "    params: [[up, [null, tp]], [down, [tp, null]], [.*, []]]\n" \
    "    constraints: [[^h$, [null, null, tp]]]\n"
#define SWEEP                                                              \
    "version: 1\n"                                                         \
    "name: sweep\n"                                                        \
    "model: {kind: mlp, d_model: 4, d_ff: 6, activation: gelu}\n"          \
    "batch: {size: 8, seq: 2}\n"                                           \
    "step: [forward, backward]\n"                                          \
    "sweep:\n"                                                             \
    "  devices: [4]\n"                                                     \
    "  mesh: {dp: [1, 2, 4], tp: [1, 2, 4]}\n"                             \
    "  rules:\n"                                                           \
    "    auto: {rules: auto}\n"                                            \
    "    tensor:\n"                                                        \
    "      params: [[up/kernel, [null, tp]], [down/kernel, [tp, null]]]\n" \
    "      axes: {batch: dp}\n"
#define BAD_RULE                                \
    "version: 1\n"                              \
    "mesh: {tp: 2}\n"                           \
    "model: {kind: mlp, d_model: 4, d_ff: 4}\n" \
    "batch: {size: 2, seq: 2}\n"                \
    "params:\n"                                 \
    "  - [mlp/up/kernel, [null, pt]]\n"         \
    "  - [kernel(, [tp]]\n"
#define MODEL                                             \
    "embed: [8, 4]\n"                                     \
    "layers.0.mlp.up: {shape: [4, 8], dtype: bfloat16}\n" \
    "layers.1.mlp.up: {shape: [4, 8], dtype: bfloat16}\n" \
    "layers.0.norm: [4]\n"
#define RULES                           \
    "- [embed, [tp, null]]\n"           \
    "- ['mlp\\.(up|down)', [dp, tp]]\n" \
    "- [lora, [dp]]\n"                  \
    "- [.*, []]\n"
#define HARDWARE                                                                                  \
    "{version: 1, name: h, source: s, rates: {bfloat16: 1TFLOP/s}, memory: {size: 1GiB, rate: "   \
    "1GB/s}, kernels: {launch: 1us, matmul_efficiency: 1, memory_efficiency: 1, "                 \
    "attention_efficiency: 1, attention_backward_efficiency: 1}, tiers: [{name: l, rate: 1GB/s, " \
    "latency: 1us, step: 0}], fitted: [kernels.launch]}\n"
#define MODULE                                                               \
    "HloModule m, num_partitions=2\n"                                        \
    "%add (a: f32[], b: f32[]) -> f32[] {\n"                                 \
    "  %a = f32[] parameter(0)\n"                                            \
    "  %b = f32[] parameter(1)\n"                                            \
    "  ROOT %s = f32[] add(f32[] %a, f32[] %b)\n"                            \
    "}\n"                                                                    \
    "ENTRY %main (p: f32[4]) -> f32[4] {\n"                                  \
    "  %p = f32[4]{0} parameter(0)\n"                                        \
    "  ROOT %r = f32[4]{0} all-reduce(f32[4]{0} %p), channel_id=1, "         \
    "replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%add\n"                                \
    "}\n"
/* One rank of four: a call in each of two steps, an op that tells less, and nothing else. */
#define PROFILED                                                                                  \
    "{\"distributedInfo\": {\"rank\": 1, \"world_size\": 4, \"pg_config\": [{\"pg_name\": \"1\", "     \
    "\"pg_desc\": \"mesh_tp\", \"pg_size\": 2, \"ranks\": [0, 1]}]}, \"traceEvents\": [\n"           \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 1, "         \
    "\"dur\": 9},\n"                                                                             \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"block 7\", \"ts\": 2, \"dur\": 5},\n" \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"ts\": 3, \"dur\": 1, "  \
    "\"args\": {\"Collective name\": \"send\", \"In msg nelems\": 8, \"Out msg nelems\": 8, "         \
    "\"dtype\": \"Half\", \"Group size\": 4, \"Process Group Ranks\": \"[0, 1, 2, 3]\", "             \
    "\"Dst Rank\": 3}},\n"                                                                       \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c10d::allreduce_\", \"ts\": 5, \"dur\": 1, "    \
    "\"args\": {\"Input Dims\": [[[8]]], \"Input type\": [\"TensorList\"]}},\n"                     \
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"gloo:all_reduce\", \"ts\": 6, "        \
    "\"tid\": 9, \"dur\": 1, \"args\": {\"Input Dims\": [[8]], \"Input type\": [\"float\"]}}]}\n"
#define CHAKRA                                                                                    \
    "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [{\"id\": 2, \"name\": "                       \
    "\"## process_group:init ##\", \"ctrl_deps\": 1, \"inputs\": {\"values\": "                     \
    "[\"[{\\\"pg_name\\\": \\\"0\\\", \\\"ranks\\\": [], \\\"group_size\\\": 2}]\"]}},\n"           \
    "{\"id\": 3, \"name\": \"c10d::allreduce_\", \"ctrl_deps\": 1, \"inputs\": {\"values\": "       \
    "[[[1, 1, 0, 8, 4, \"cpu\"]], \"<Object>\", false, -1]}}]}\n"
#define JOB                                                                                   \
    "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 "        \
    "--seq-length 4 --max-position-embeddings 4 --vocab-size 16 --micro-batch-size 1 --global-batch-size 4 "       \
    "--tensor-model-parallel-size 2 --log-interval 10\n"
#define RULES_PY                                                                              \
    "both = ('fsdp', 'sp')  # axes\n"                                                         \
    "paxis = PartitionAxis(batch_axis='fsdp', decode_batch_axis=None)\n"                      \
    "def rules():\n"                                                                          \
    "    return ((r'up_proj/\\w+', P(both, 'tp')), ('bias', m.resolve(Replicated)),\n"        \
    "            ('0/self_attn', [None, 'tp']), ('.*', P()))\n"                               \
    "mesh = create_mesh(axis_dims=(1, -1, 2, 1))\n"
#define RULES_GIN                                                                             \
    "include 't5_1_1/small.gin'\n"                                                            \
    "PjitPartitioner:\n  num_partitions = %N\n"                                               \
    "N = 2\n"                                                                                 \
    "T5Config.num_encoder_layers = 1\nT5Config.num_decoder_layers = 1\n"                      \
    "standard_logical_axis_rules.additional_rules = [('a', 'data')]\n"
#define HF_CONFIG                                                                                \
    "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 8," \
    " \"intermediate_size\": 16, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"        \
    " \"num_hidden_layers\": 2, \"vocab_size\": 32, \"tie_word_embeddings\": false,"             \
    " \"torch_dtype\": \"bfloat16\"}\n"
#define HF_TYPES "{\"quantization\": {\"quant_algo\": \"FP8\"}}\n"
/* The length of the header in 8 bytes, and the header; import does not read the numbers behind
 * it. */
#define SAFETENSORS \
    "\x40\0\0\0\0\0\0\0{\"a.w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}     "
/* A baseline of figures unlike the present ones: check reports a change of every figure. */
#define STALE_STRATEGY(name)         \
    "  - name: " name "\n"           \
    "    mesh: 'tp=2'\n"             \
    "    received_bytes: 1\n"        \
    "    received_bytes_most: 1\n"   \
    "    peak_memory_bytes: 1\n"     \
    "    peak_memory_bytes_most: 1\n"\
    "    flops: 1\n"                 \
    "    flops_most: 1\n"
#define STALE                                                                                    \
    "# What 'shardsim check' expects of a.yaml; 'shardsim check --update' accepts changes.\n"    \
    "version: 1\n"                                                                               \
    "strategies:\n"                                                                              \
    STALE_STRATEGY("default")                                                                    \
    "    arrays:\n"                                                                              \
    "      - {kind: input, name: x, sharding: '[{tp}, {}, {}]', count: 1, bytes: 1}\n"               \
    "    collectives:\n"                                                                         \
    "      - {phase: forward, op: all-gather, axes: tp, where: nowhere, groups: 1, group_size: " \
    "2, count: 1, operand_bytes: 1, result_bytes: 2, received_bytes: 2}\n"                       \
    "    accepted: []\n"                                                                         \
    STALE_STRATEGY("gone")                                                                       \
    "    arrays: []\n"                                                                           \
    "    collectives: []\n"                                                                      \
    "    accepted: []\n"

#define NO_FILES .inputs = {{NULL, NULL, 0}}
#define A_IS(content) .inputs = {{"a.yaml", content, 0}}
#define FOLDER .inputs = {{"s/a.yaml", MLP, 0}, {"s/b.yaml", GRAPH, 0}, {BASELINE, STALE, 0}}
#define BASELINE "results/baselines/s/a.yaml"

const struct failure_case failure_cases[] = {
    {"run", "run -q a.yaml", A_IS(MLP)},
    {"run --json", "run -q --json a.yaml --repeat 2", A_IS(MLP)},
    {"run block", "run -q a.yaml", A_IS(BLOCK)},
    {"run graph", "run -q a.yaml", A_IS(GRAPH)},
    {"plan -v", "plan -q -v a.yaml -s hardware=b200", A_IS(BLOCK)},
    {"plan padded", "plan -q a.yaml -s mesh.tp=3 -s batch.size=3 -s uneven=pad", A_IS(BLOCK)},
    {"plan --color", "plan -q --color a.yaml", A_IS(MLP)},
    {"plan search", "plan -q a.yaml -s placement=search -s limits.memory=1KiB", A_IS(BLOCK),
     .exit = 1},
    {"plan --json", "plan -q --json a.yaml", A_IS(GRAPH)},
    {"plan sweep", "plan -q a.yaml", A_IS(SWEEP)},
    {"plan bad input", "plan -q a.yaml", A_IS(BAD_RULE), .exit = 2},
    {"search tensors", "search a.yaml --tensors=up -s hardware=b200 --threads 1 -o o.yaml",
     A_IS(BLOCK), .outputs = {"o.yaml"}},
    {"compare", "compare -q a.yaml", A_IS(GRAPH)},
    {"compare json", "compare -q --json a.yaml", A_IS(GRAPH)},
    {"compare plan", "compare -q --plan a.yaml --color=always", A_IS(SWEEP)},
    {"compare markdown", "compare -q --plan a.yaml -o o.md", A_IS(SWEEP), .outputs = {"o.md"}},
    {"compare csv", "compare -q --plan a.yaml -o o.csv", A_IS(SWEEP), .outputs = {"o.csv"}},
    {"compare svg", "compare -q --plan a.yaml -s hardware=b200 -o o.svg", A_IS(SWEEP),
     .outputs = {"o.svg"}},
    {"report", "report -q --plan a.yaml -s hardware=b200 -o o.html", A_IS(SWEEP),
     .outputs = {"o.html"}},
    {"report executed", "report -q a.yaml -o o.html", A_IS(GRAPH), .outputs = {"o.html"}},
    {"trace", "trace -q --plan a.yaml -s hardware=b200 -o o.json", A_IS(BLOCK),
     .outputs = {"o.json"}},
    {"trace executed", "trace -q a.yaml -o o.json", A_IS(MLP), .outputs = {"o.json"}},
    {"check", "check s", .inputs = {{"s/a.yaml", MLP, 0}, {BASELINE, STALE, 0}}, .is_tap = true,
     .exit = 1},
    {"check --junit", "check --plan --junit o.xml s", FOLDER, .outputs = {"o.xml"}, .is_tap = true,
     .exit = 1},
    {"check --update", "check --plan --update s", FOLDER,
     .outputs = {BASELINE, "results/baselines/s/b.yaml"}, .is_tap = true},
    {"check bad input", "check --plan s", .inputs = {{"s/a.yaml", BAD_RULE, 0}}, .is_tap = true,
     .exit = 2},
    {"show array", "show array --mesh dp=2,tp=2 --shape 4,4 --spec dp,tp", NO_FILES},
    {"show array svg", "show array -m dp=2,tp=2 -n 4,4 -p [[dp,tp]] -o o.svg", NO_FILES,
     .outputs = {"o.svg"}},
    {"show groups", "show groups --mesh dp=2,tp=2 --axes tp --color=always", NO_FILES},
    {"show mesh", "show mesh dp=2,tp=2 --ascii", NO_FILES},
    {"show functions", "show functions", NO_FILES},
    {"show options", "show options", NO_FILES},
    {"show schema", "show schema", NO_FILES},
    {"show strategies", "show strategies a.yaml", A_IS(SWEEP)},
    {"show matrix", "show matrix a.yaml", A_IS(MLP)},
    {"show matrix svg", "show matrix -x a.yaml -o o.svg", A_IS(MLP), .outputs = {"o.svg"}},
    {"show timetable", "show timetable DualPipeV -r 2 -m 4 -t FB=2.5 --color=always", NO_FILES},
    {"show timetable svg", "show timetable 1F1B -r 2 -m 4 -o o.svg", NO_FILES,
     .outputs = {"o.svg"}},
    {"show timetable all", "show timetable all -r 2 -m 3", NO_FILES},
    {"show tree", "show tree m.yaml -r r.yaml -m dp=2,tp=2 --large 1B",
     .inputs = {{"m.yaml", MODEL, 0}, {"r.yaml", RULES, 0}}},
    {"show tree svg", "show tree m.yaml -r r.yaml -m dp=2,tp=2 --large 1B -o o.svg",
     .inputs = {{"m.yaml", MODEL, 0}, {"r.yaml", RULES, 0}}, .outputs = {"o.svg"}},
    {"show tree config", "show tree config.json --auto -m fsdp=2,tp=2 --json",
     .inputs = {{"config.json", HF_CONFIG, 0}}},
    {"init of types beside a config", "init --serve config.json --devices 1 --seq 8 --batch 1",
     .inputs = {{"config.json", HF_CONFIG, 0}, {"hf_quant_config.json", HF_TYPES, 0}}},
    {"show tree safetensors", "show tree a.safetensors --auto -m fsdp=2,tp=2",
     .inputs = {{"a.safetensors", SAFETENSORS, sizeof SAFETENSORS - 1}}},
    {"explain", "explain a.yaml", A_IS(BLOCK)},
    {"explain --op", "explain a.yaml --op 8", A_IS(BLOCK)},
    {"explain --collectives", "explain a.yaml --collectives", A_IS(MLP)},
    {"explain roofline --json", "explain a.yaml --roofline --json -s hardware=b200", A_IS(MLP)},
    {"explain roofline svg", "explain a.yaml --roofline -s hardware=b200 -o o.svg", A_IS(MLP),
     .outputs = {"o.svg"}},
    {"explain --values", "explain a.yaml --values", A_IS(MLP)},
    {"explain collective", "explain collective all-reduce --algorithm ring --devices 4", NO_FILES},
    {"explain collective svg", "explain collective all-gather --devices 3 -o o.svg", NO_FILES,
     .outputs = {"o.svg"}},
    {"explain collective --hardware",
     "explain collective all-reduce --hardware tpu-v4 -m 4,4 -b 1MiB", NO_FILES},
    {"explain collective --hardware --json",
     "explain collective all-gather --hardware h100-sxm -m dp=4,tp=8 -b 1MiB --json", NO_FILES},
    {"show hardware", "show hardware", NO_FILES},
    {"show hardware of a file", "show hardware ./h.yaml", .inputs = {{"h.yaml", HARDWARE, 0}}},
    {"explain reshard",
     "explain reshard -m a=2,b=4 -n 8,8 --from a --partial b --to b --to-mesh b=4 "
     "--link 4:1us:100GB/s",
     NO_FILES},
    {"bench", "bench --op all --sizes 64 -n 2 --samples 1 --sample-ms 1 -w 1", NO_FILES,
     .measures = true},
    {"bench --csv", "bench --csv --sizes 64 -n 2 --samples 1 --sample-ms 1 --memory malloc",
     .measures = true},
#ifdef HAVE_JEMALLOC
    {"bench jemalloc", "bench --sizes 64 -n 2 --samples 1 --sample-ms 1 --memory jemalloc",
     NO_FILES, .measures = true},
#endif
    {"export jax", "export --to jax a.yaml -o o.py", A_IS(MLP), .outputs = {"o.py"}},
    {"export pytorch", "export --to pytorch a.yaml", A_IS(BLOCK)},
    {"export refused", "export --to megatron a.yaml", A_IS(MLP), .exit = 2},
    {"import", "import --from megatron a.sh --devices 4 -o o.yaml", .inputs = {{"a.sh", JOB, 0}},
     .outputs = {"o.yaml"}},
    {"import rules",
     "import --from easydel r.py --devices 4 --min-elements 0 -o o.yaml --model "
     "{kind:\tblock,layers:\t2,d_model:\t8,d_ff:\t8,heads:\t2,activation:\tswiglu}",
     .inputs = {{"r.py", RULES_PY, 0}}, .outputs = {"o.yaml"}},
    {"import rules of logical axes", "import --from t5x r.gin --devices 4",
     .inputs = {{"r.gin", RULES_GIN, 0}}},
    {"import bad rules", "import --from eformer r.py --devices 2 --model llama3-8b",
     .inputs = {{"r.py", "[('a', P('b')), (f'')]\n", 0}}, .exit = 2},
    {"import another file", "import --from megatron a.yaml", A_IS(MLP), .exit = 2},
    {"replay", "replay a.hlo --mesh dp=2", .inputs = {{"a.hlo", MODULE, 0}}},
    {"replay --json", "replay a.hlo --json --hardware h100-sxm",
     .inputs = {{"a.hlo", MODULE, 0}}},
    {"replay of a profiler's trace", "replay a.json", .inputs = {{"a.json", PROFILED, 0}}},
    {"replay of a trace of Chakra", "replay 0.json --json", .inputs = {{"0.json", CHAKRA, 0}}},
    {"replay another file", "replay a.yaml", A_IS(MLP), .exit = 2},
    {"runs of no file", "runs list --file=none.db", NO_FILES, .exit = 3},
    {"plan no file", "plan -q b.yaml", A_IS(MLP), .exit = 2},
    {"query", "query", NO_FILES, .questions = "failures.jsonl"},
    {NULL, NULL, NO_FILES},
};
