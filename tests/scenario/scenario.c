/* Tests scenario/scenario.h: reading, checking and printing scenarios, their strategies, sweeps
 * and options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario/table.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The parts of a complete scenario, to which each case adds its own. */
#define MODEL "model: {kind: mlp, d_model: 256, d_ff: 1024}\n"
#define BATCH "batch: {size: 8, seq: 64}\n"
#define MESH "mesh: {dp: 2, tp: 4}\n"
#define HEAD "version: 1\n" MESH MODEL BATCH
/* A complete scenario of attention. */
#define HEADS \
    "version: 1\n" MESH "model: {kind: attention, d_model: 64, heads: 4, causal: true}\n" BATCH
/* Models that may be served, or not: the first lacks an end. */
#define LLAMA                 \
    "version: 1\n" MESH BATCH \
    "model: {kind: llama3, d_model: 64, heads: 4, vocab: 64, layers: 1, d_ff: 8"
#define GPT2                  \
    "version: 1\n" MESH BATCH \
    "model: {kind: gpt2, d_model: 64, heads: 4, vocab: 64, layers: 1, d_ff: 8, positions: 1024}\n"
#define SERVED                                                                          \
    "version: 1\n" MESH BATCH                                                           \
    "model: {kind: transformer, d_model: 64, heads: 4, vocab: 64, layers: 1, d_ff: 8, " \
    "causal: false}\n"
#define TRAIN "optimizer: {kind: sgd}\n"
#define UPDATE "step: [forward, backward, update]\n"

/* Load a text; NULL on failure, with the messages. */
static struct scenario_file *load(const char *text, const char *const *sets, size_t nsets,
                                  struct text *messages)
{
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;

    int status = scenario_parse(&file, "dir/f.yaml", text, strlen(text), sets, nsets, &errors);
    text_clear(messages);
    diag_print(&errors, messages);
    if ((status == SHD_OK) != (errors.nerrors == 0) || (status == SHD_OK) != (file != NULL))
        text_add(messages, "status, errors and file do not agree");
    diag_fini(&errors);
    return file;
}

static struct scenario_file *load_good(const char *text, const char *const *sets, size_t nsets)
{
    struct text messages = TEXT_INIT;
    struct scenario_file *file = load(text, sets, nsets, &messages);

    if (!file)
        diag("%s", text_get(&messages));
    text_fini(&messages);
    return file;
}

static void test_defaults(void)
{
    struct scenario_file *file = load_good(HEAD, NULL, 0);
    const struct scenario *s = &file->scenarios[0];

    ok(file->nscenarios == 1 && !strcmp(s->strategy, "default") && !strcmp(s->name, "f"),
       "defaults: one strategy; the name is the file's");
    ok(s->nmesh == 2 && !strcmp(s->mesh[0].name, "dp") && s->mesh[0].size == 2 &&
           !strcmp(s->mesh[1].name, "tp") && s->mesh[1].size == 4,
       "the mesh, in order");
    ok(s->model.kind == SCENARIO_MLP && s->model.d_model == 256 && s->model.d_ff == 1024 &&
           s->batch.size == 8 && s->batch.seq == 64,
       "the model and batch");
    ok(s->model.activation == SCENARIO_GELU && s->model.layers == 1 && !s->model.bias &&
           s->model.dtype == SHD_F32,
       "defaults: the model's");
    ok(s->step.forward && s->step.backward && s->nparams == 0 && s->nlogical == 0 &&
           s->nconstraints == 0 && s->nalgorithms == 0,
       "defaults: both phases, no rules");
    ok(s->limits.memory.bytes == 0 && s->tolerance == 0 && s->seed == 0,
       "defaults: limits, tolerance, seed");
    ok(s->transfers.bytes_per_s == UINT64_C(200000000000) && s->transfers.latency_ns == 5000,
       "defaults: transfers");
    scenario_file_destroy(file);
    scenario_file_destroy(NULL);
}

static const char full[] = "version: 1\n"
                           "name: all of it\n"
                           "mesh: {dp: 2, tp: 4}\n"
                           "model:\n"
                           "  kind: mlp\n"
                           "  d_model: 512\n"
                           "  d_ff: 2048\n"
                           "  activation: swiglu\n"
                           "  layers: 3\n"
                           "  bias: true\n"
                           "  dtype: bfloat16\n"
                           "batch: {size: 16, seq: 128}\n"
                           "step: forward\n"
                           "params:\n"
                           "  - [mlp/up/kernel, [null, tp]]\n"
                           "  - ['down.*', \"P(('dp', 'tp'), None)\"]\n"
                           "  - [.*, []]\n"
                           "axes: {batch: dp, seq: [dp, tp], mlp: null}\n"
                           "constraints: [[mlp/out, [dp, ~, []]]]\n"
                           "algorithms: {all-reduce: ring}\n"
                           "limits: {memory: 1.5MiB}\n"
                           "transfers: {rate: 1.5 MB/s, latency: 0}\n"
                           "frozen: [norm, 'up.*']\n"
                           "lora: {rank: 4, alpha: 16, targets: [down], start: zeros}\n"
                           "placement: search\n"
                           "hardware: h100-sxm\n"
                           "price: time\n"
                           "tolerance: 0.5\n"
                           "seed: 9223372036854775807\n";

static int spec_is(const struct shd_spec *spec, const char *yaml)
{
    char buf[200];

    shd_spec_print(spec, SHD_SPEC_YAML, buf, sizeof(buf));
    return strcmp(buf, yaml) == 0;
}

static void test_rules(const struct scenario *s)
{
    ok(s->nparams == 3 && !strcmp(s->params[0].pattern, "mlp/up/kernel") &&
           spec_is(s->params[0].spec, "[null, tp]") && !strcmp(s->params[2].pattern, ".*") &&
           spec_is(s->params[2].spec, "[]"),
       "rules in order");
    ok(spec_is(s->params[1].spec, "[[dp, tp], null]"), "a spec in Python's notation");
    ok(s->params[0].place.line == 15 && s->params[0].place.column == 6 &&
           s->params[0].spec_place.column == 21 && s->params[0].entry_places[1].column == 28 &&
           s->params[1].entry_places[1].line == 16,
       "places of pattern, spec and entries");
    ok(s->nconstraints == 1 && spec_is(s->constraints[0].spec, "[dp, null, null]"),
       "constraints; ~ and [] are null");
}

static void test_full(void)
{
    struct scenario_file *file = load_good(full, NULL, 0);
    const struct scenario *s = &file->scenarios[0];

    ok(!strcmp(s->name, "all of it") && s->model.activation == SCENARIO_SWIGLU &&
           s->model.layers == 3 && s->model.bias && s->model.dtype == SHD_BF16,
       "options of the model");
    ok(s->step.forward && !s->step.backward, "step: one word");
    test_rules(s);
    ok(s->nlogical == 3 && s->logical[1].naxes == 2 && !strcmp(s->logical[1].axes[1], "tp") &&
           s->logical[2].naxes == 0,
       "logical axes: one, several, none");
    const struct scenario_logical *logical = scenario_find_logical(s, "batch");
    ok(logical && logical->naxes == 1 && !strcmp(logical->axes[0], "dp") &&
           !scenario_find_logical(s, "embed"),
       "find_logical");
    const struct scenario_algorithm *algorithm = scenario_find_algorithm(s, "all-reduce");
    ok(algorithm && !strcmp(algorithm->name, "ring") && algorithm->place.line == 20 &&
           !scenario_find_algorithm(s, "all-gather"),
       "find_algorithm");
    ok(s->limits.memory.bytes == 1536 * 1024 && s->tolerance == 0.5 && s->seed == INT64_MAX,
       "limits, tolerance, seed");
    ok(s->transfers.bytes_per_s == 1500000 && s->transfers.latency_ns == 0, "transfers");
    scenario_file_destroy(file);
}

static void test_names(void)
{
    ok(!strcmp(scenario_kind_name(SCENARIO_MLP), "mlp"), "kind_name");
    ok(!strcmp(scenario_activation_name(SCENARIO_GELU), "gelu") &&
           !strcmp(scenario_activation_name(SCENARIO_SILU), "silu"),
       "activation_name");
}

/* Texts of errors that begin with an option, name one behind what was said before, or none. */
static void test_blamed(const struct scenario *s)
{
    static const struct {
        const char *text;
        int line;
    } rows[] = {
        {"model.d_ff: too wide", 7},
        {"model.d_ff 32: too wide", 7},
        {"the prefill: 'x': model.d_ff: too wide", 7},
        {"model: too large", 5},
        {"model is too large", 99},
        {"model.d_f: too wide", 99},
        {"'model.d_ff': too wide", 99},
        {": ", 99},
        {"", 99},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok(scenario_blamed(s, rows[i].text, (struct place){"f", 99, 1}).line == rows[i].line,
           "place of the error '%s'", rows[i].text);
}

static void test_places(void)
{
    struct scenario_file *file = load_good(full, NULL, 0);
    const struct scenario *s = &file->scenarios[0];
    struct place d_ff = scenario_place(s, "model.d_ff");

    ok(d_ff.line == 7 && d_ff.column == 9 && !strcmp(d_ff.file, "dir/f.yaml"),
       "place of an option");
    ok(scenario_place(s, "model").line == 5 && s->model.place.line == 5, "place of a section");
    ok(scenario_place(s, "none").line == 1, "place of what is no option: the scenario's");
    test_blamed(s);
    scenario_file_destroy(file);
    file = load_good(HEAD, NULL, 0);
    ok(scenario_place(&file->scenarios[0], "model.bias").line == 3,
       "place of a default: the section's");
    ok(scenario_place(&file->scenarios[0], "limits.memory").line == 1,
       "place of a default without section: the scenario's");
    scenario_file_destroy(file);
}

static void test_tolerance(void)
{
    const char *sets[] = {"tolerance=1e-3", "tolerance=null"};
    struct scenario_file *given = load_good(HEAD, sets, 1), *taken_back = load_good(HEAD, sets, 2);

    ok(given->scenarios[0].tolerance == 1e-3, "a tolerance that is asked for");
    ok(taken_back->scenarios[0].tolerance == 0, "null: none is");
    scenario_file_destroy(given);
    scenario_file_destroy(taken_back);
}

static void test_mesh(void)
{
    struct scenario_file *file = load_good(HEAD, NULL, 0);
    struct shd_mesh *mesh = NULL;

    int status = scenario_mesh(&mesh, &file->scenarios[0], NULL);
    ok(status == SHD_OK && shd_mesh_size(mesh) == 8 && shd_mesh_find_axis(mesh, "tp") == 1, "mesh");
    shd_mesh_destroy(mesh);
    scenario_file_destroy(file);
    file = load_good("version: 1\nmesh: {}\n" MODEL BATCH, NULL, 0);
    mesh = NULL;
    status = scenario_mesh(&mesh, &file->scenarios[0], NULL);
    ok(status == SHD_OK && shd_mesh_size(mesh) == 1, "a mesh without axes is one device");
    shd_mesh_destroy(mesh);
    scenario_file_destroy(file);
    file = load_good("version: 1\nmesh: {a09.-_AZaz: 1, z: 2, A0: 3, Z9: 5, _: 7}\n" MODEL BATCH,
                     NULL, 0);
    ok(file && file->scenarios[0].nmesh == 5, "mesh: first and last letters and digits in names");
    scenario_file_destroy(file);
}

static int add_given(void *arg, const char *option, const char *value)
{
    text_addf(arg, "%s=%s ", option, value);
    return SHD_OK;
}

/* scenario_each_given() gives all keys that differ from their defaults, without the layout, in the
 * form of -s options. */
static void test_given(void)
{
    struct scenario_file *file = load_good("version: 1\nmesh: {pp: 2}\n" MODEL BATCH
                                           "pipeline: {axis: pp, schedule: GPipe}\nuneven: pad\n",
                                           NULL, 0);
    struct text given = TEXT_INIT;

    int status = scenario_each_given(&file->scenarios[0], add_given, &given);
    ok(status == SHD_OK &&
           !strcmp(text_get(&given),
                   "model.kind=mlp model.d_model=256 model.d_ff=1024 batch.size=8 batch.seq=64 "
                   "pipeline.axis=pp pipeline.schedule=GPipe uneven=pad "),
       "given: what is not the default: %s", text_get(&given));
    text_fini(&given);
    scenario_file_destroy(file);
}

/* A path that must stand in quotes in YAML is given as the plain file name. */
static void test_given_file(void)
{
    char folder[] = "/tmp/data: XXXXXX", path[sizeof folder + 8], set[sizeof path + 8];
    const char *const sets[] = {set};
    struct scenario_file *file;
    struct text given = TEXT_INIT;
    FILE *data;

    if (!mkdtemp(folder))
        exit(99);
    snprintf(path, sizeof path, "%s/a.txt", folder);
    snprintf(set, sizeof set, "data='%s'", path);
    data = fopen(path, "w");
    if (!data || fprintf(data, "%600s", "b") < 600 || fclose(data) == EOF)
        exit(99);
    file = load_good("version: 1\n" MESH BATCH "model: {size: gpt2-small}\n", sets, 1);
    int status = scenario_each_given(&file->scenarios[0], add_given, &given);
    ok(status == SHD_OK && strstr(text_get(&given), " data=a.txt "), "given: a file: %s",
       text_get(&given));
    text_fini(&given);
    scenario_file_destroy(file);
    unlink(path);
    rmdir(folder);
}

static void test_lib_rules(void)
{
    struct scenario_file *file = load_good(full, NULL, 0);
    const struct scenario *s = &file->scenarios[0];
    struct shd_rules *rules = NULL;
    size_t rule = 9;

    int status = scenario_rules(&rules, s->params, s->nparams, NULL);
    ok(status == SHD_OK && shd_rules_count(rules) == 3 &&
           shd_rules_match(&rule, rules, "layers/0/mlp/down/kernel", NULL) == SHD_OK && rule == 1,
       "rules of lib have the scenario's numbers");
    shd_rules_destroy(rules);
    scenario_file_destroy(file);
}

static void test_strategies(void)
{
    struct scenario_file *file = load_good(
        HEAD "params: [[up, [null, tp]], [down, [tp]]]\n"
             "axes: {batch: dp}\n"
             "seed: 3\n"
             "strategies:\n"
             "  - {name: base}\n"
             "  - {name: wide, model: {d_ff: 4096}, batch: {seq: 32}, limits: {memory: 1KiB}}\n"
             "  - name: other\n"
             "    mesh: {fsdp: 8}\n"
             "    params: [[kernel, [fsdp]]]\n"
             "    axes: {}\n"
             "    seed: 4\n",
        NULL, 0);
    const struct scenario *s = file->scenarios;

    ok(file->nscenarios == 3 && !strcmp(s[0].strategy, "base") && !strcmp(s[1].strategy, "wide") &&
           !strcmp(s[2].strategy, "other"),
       "strategies: names, in order");
    ok(s[0].nparams == 2 && s[0].model.d_ff == 1024 && s[0].seed == 3,
       "strategies: one without overrides is the base");
    ok(s[1].model.d_ff == 4096 && s[1].model.d_model == 256 && s[1].batch.seq == 32 &&
           s[1].batch.size == 8 && s[1].limits.memory.bytes == 1024 && s[1].nparams == 2,
       "strategies: sections merge by key");
    ok(s[2].nmesh == 1 && s[2].mesh[0].size == 8 && s[2].nparams == 1 && s[2].nlogical == 0 &&
           s[2].seed == 4,
       "strategies: mesh, lists, axes and scalars replace");
    ok(s[1].place.line == 10 && s[1].place.column == 5, "strategies: places");
    ok(scenario_place(&s[1], "model.d_ff").line == 10 &&
           scenario_place(&s[1], "model.d_model").line == 3,
       "strategies: places of values from both");
    scenario_file_destroy(file);
}

static void test_partial_base(void)
{
    struct scenario_file *file = load_good("version: 1\n" MODEL BATCH "params: [[up, [null, tp]]]\n"
                                           "strategies:\n"
                                           "  - {name: a, mesh: {tp: 2}}\n"
                                           "  - {name: b, mesh: {tp: 4}}\n",
                                           NULL, 0);
    ok(file && file->scenarios[1].mesh[0].size == 4,
       "what every strategy says the file need not say");
    scenario_file_destroy(file);
}

/* Whether the printed scenario, loaded and printed again, gives the same text. */
static int round_trips(const struct scenario *s)
{
    struct text once = TEXT_INIT;
    struct text twice = TEXT_INIT;

    scenario_print(s, &once);
    struct scenario_file *file = load_good(text_get(&once), NULL, 0);
    int same = file && file->nscenarios == 1 && !strcmp(file->scenarios[0].strategy, s->strategy) &&
               file->scenarios[0].tolerance == s->tolerance &&
               file->scenarios[0].nparams == s->nparams;
    if (file)
        scenario_print(&file->scenarios[0], &twice);
    same = same && !strcmp(text_get(&once), text_get(&twice));
    if (!same)
        diag("%s", text_get(&once));
    text_fini(&once);
    text_fini(&twice);
    scenario_file_destroy(file);
    return same;
}

/* The later one of `rules` and `params` counts. */
static void test_rules_from(void)
{
    struct scenario_file *file = load_good(HEAD "params: [[up, [null, tp]]]\n"
                                                "strategies:\n"
                                                "  - {name: listed}\n"
                                                "  - {name: shapes, mesh: {fsdp: 8}, rules: auto}\n"
                                                "  - {name: none, params: []}\n",
                                           NULL, 0);
    const struct scenario *s = file->scenarios;

    ok(s[0].rules == SCENARIO_RULES_PARAMS && s[0].nparams == 1, "rules: the list");
    ok(s[1].rules == SCENARIO_RULES_AUTO && s[1].nparams == 0 && round_trips(&s[1]),
       "rules: auto over the file's params, whose axes the mesh need not have");
    ok(s[2].rules == SCENARIO_RULES_PARAMS && s[2].nparams == 0, "rules: an empty list");
    scenario_file_destroy(file);
    file = load_good(HEAD "rules: auto\nstrategies: [{name: a}, {name: b, params: [[a, [dp]]]}]\n",
                     (const char *[]){"seed=1"}, 1);
    s = file->scenarios;
    ok(s[0].rules == SCENARIO_RULES_AUTO && s[1].rules == SCENARIO_RULES_PARAMS &&
           s[1].nparams == 1,
       "rules: a strategy's params over the file's auto");
    scenario_file_destroy(file);
    file = load_good(HEAD "rules: auto\n",
                     (const char *[]){"params=[[a, [dp]]]", "rules=auto", "params=[[b, [tp]]]"}, 3);
    ok(file->scenarios[0].nparams == 1 && !strcmp(file->scenarios[0].params[0].pattern, "b"),
       "rules: the last --set");
    scenario_file_destroy(file);
    file = load_good("version: 1\nmesh: {}\n" MODEL BATCH "rules: auto\n", NULL, 0);
    ok(file != NULL, "rules: auto on one device");
    scenario_file_destroy(file);
}

/* Whether spec number `i` of params resolves to `spec`, and was written as `written` (NULL: the
 * same). */
static int resolves(const struct scenario *s, size_t i, const char *spec, const char *written)
{
    return spec_is(s->params[i].spec, spec) &&
           (written ? s->params[i].written && spec_is(s->params[i].written, written)
                    : !s->params[i].written);
}

#define NAMED                                                                                    \
    "version: 1\nmesh: {dp: 2, fsdp: 2, tp: 2, sp: 2, ep: 1}\n" MODEL BATCH                      \
    "params: [[a, [batch, query_sequence, head_axis]], [b, [[head, sequence], _]], [c, [tp]],\n" \
    "         [d, \"P('expert', None)\"]]\n"                                                     \
    "axes: {batch: batch, seq: [key_sequence, tp]}\n"

static void test_partition_axis(void)
{
    static const char *const sets[] = {"partition_axis.mode=generation",
                                       "partition_axis.generation_batch=[dp, fsdp]",
                                       "partition_axis.head=null", "partition_axis.sequence=tp"};
    struct scenario_file *file = load_good(NAMED "partition_axis: {}\n", NULL, 0);
    struct text printed = TEXT_INIT;
    const struct scenario *s = &file->scenarios[0];

    ok(s->partition_axis.used && s->partition_axis.mode == SHD_MODE_TRAINING &&
           resolves(s, 0, "[[fsdp, dp], sp, tp]", "[batch, query_sequence, head_axis]"),
       "partition_axis: defaults");
    ok(resolves(s, 1, "[[tp, sp], null]", "[[head, sequence], _]") &&
           resolves(s, 2, "[tp]", NULL) && resolves(s, 3, "[ep, null]", "[expert, null]"),
       "partition_axis: several in an entry, none, mesh axes, text");
    ok(s->logical[0].naxes == 2 && !strcmp(s->logical[0].axes[0], "fsdp") &&
           s->logical[0].nwritten == 1 && s->logical[1].naxes == 2 &&
           !strcmp(s->logical[1].axes[0], "sp"),
       "partition_axis: in axes");
    scenario_print(s, &printed);
    ok(round_trips(s) && strstr(text_get(&printed), "[batch, query_sequence, head_axis]") &&
           strstr(text_get(&printed), "axes: {batch: batch, seq: [key_sequence, tp]}"),
       "partition_axis: printed as written");
    text_fini(&printed);
    scenario_file_destroy(file);
    file = load_good(NAMED "partition_axis: {data_parallel: null}\n", NULL, 0);
    ok(resolves(&file->scenarios[0], 0, "[fsdp, sp, tp]", "[batch, query_sequence, head_axis]"),
       "partition_axis: without one of two mesh axes");
    scenario_file_destroy(file);
    file =
        load_good(NAMED "partition_axis: {tensor_parallel: ep, batch_axis: dp, head: [ep, tp]}\n",
                  sets, COUNT(sets));
    s = &file->scenarios[0];
    ok(resolves(s, 0, "[[dp, fsdp], null, ep]", "[batch, query_sequence, head_axis]") &&
           resolves(s, 1, "[[ep, tp], null]", "[[head, sequence], _]"),
       "partition_axis: in generation the generation_ fields, by the renamed mesh axes");
    ok(s->partition_axis.nfields == 5, "partition_axis: a field is there once, under either name");
    ok(round_trips(s), "partition_axis: overrides printed");
    scenario_file_destroy(file);
    file = load_good(LLAMA "}\nparams: [[.*, [], 'a b.py:7']]\n", NULL, 0);
    s = &file->scenarios[0];
    ok(s->nparams == 1 && !strcmp(s->params[0].place.file, "a b.py") &&
           s->params[0].place.line == 7 && round_trips(s),
       "rules: rules of a traced program have their place in its file");
    scenario_file_destroy(file);
    file = load_good(NAMED "partition_axis: {expert_parallel: tp}\n"
                           "strategies: [{name: a}, {name: b, partition_axis: {batch: ep}}]\n",
                     NULL, 0);
    ok(resolves(&file->scenarios[0], 3, "[tp, null]", "[expert, null]") &&
           resolves(&file->scenarios[1], 3, "[ep, null]", "[expert, null]"),
       "partition_axis: a strategy's replaces the file's");
    scenario_file_destroy(file);
    file = load_good("version: 1\nmesh: {batch: 2, x: 2}\n" MODEL BATCH
                     "params: [[a, [batch]]]\nstrategies: [{name: a}, {name: b, partition_axis: "
                     "{batch: x}}]\n",
                     NULL, 0);
    ok(resolves(&file->scenarios[0], 0, "[batch]", NULL) &&
           resolves(&file->scenarios[1], 0, "[x]", "[batch]"),
       "partition_axis: before a mesh axis of the same name, if it is given");
    scenario_file_destroy(file);
}

static void test_training(void)
{
    static const char *const sets[] = {"optimizer.lr=0.5", "zero.axis=[tp, dp]", "steps=7",
                                       "zero.layout=pad"};
    struct scenario_file *file =
        load_good(HEAD UPDATE
                  "steps: 300\noptimizer: {kind: adamw, lr: 3e-4, warmup: 6, decay: "
                  "cosine, betas: [0.5, 0], eps: 0, weight_decay: 0.1, momentum: 0.9, "
                  "clip: 1.5}\nzero: {stage: 3, axis: dp, reshard_after_forward: "
                  "false}\ntypes: {parameters: float64, moments: bfloat16, reduce: "
                  "compute}\nloss_scale: {kind: dynamic, initial: 8, "
                  "growth_interval: 5}\nstrategies: [{name: a, zero: {stage: 1}}, {name: b, zero: "
                  "{stage: 0, axis: null}}]\n",
                  sets, COUNT(sets));
    const struct scenario *s = &file->scenarios[0];
    const struct scenario_optimizer *o = &s->optimizer;

    ok(s->step.backward && s->step.update && s->steps == 7 && o->kind == SCENARIO_ADAMW &&
           o->decay == SCENARIO_COSINE && o->lr == 0.5 && o->warmup == 6 && o->betas[0] == 0.5 &&
           o->betas[1] == 0 && o->eps == 0 && o->weight_decay == 0.1 && o->momentum == 0.9 &&
           o->clip == 1.5,
       "training: the optimizer");
    ok(s->zero.stage == 1 && s->zero.axes.n == 2 && !strcmp(s->zero.axes.names[0], "tp") &&
           !strcmp(s->zero.axes.names[1], "dp") && s->zero.reshard == SCENARIO_RESHARD_NEVER &&
           s->zero.layout == SCENARIO_PAD && file->scenarios[1].zero.stage == 0,
       "training: zero, by strategy");
    ok(scenario_type(s, s->types.parameters) == SHD_F64 &&
           scenario_type(s, s->types.gradients) == SHD_F64 &&
           scenario_type(s, s->types.moments) == SHD_BF16 &&
           scenario_type(s, s->types.reduce) == s->model.dtype &&
           s->loss_scale.kind == SCENARIO_DYNAMIC_LOSS_SCALE && s->loss_scale.initial == 8 &&
           s->loss_scale.growth_interval == 5,
       "training: types and the scale of the loss");
    ok(round_trips(s), "training: a printed scenario round-trips");
    scenario_file_destroy(file);
}

static void test_pipeline(void)
{
    static const char *const sets[] = {"pipeline.stages_per_rank=2"};
    struct scenario_file *file =
        load_good(HEAD "pipeline: {axis: dp, schedule: zbv, layers: [3, 0], place: [[embed.*, 0], "
                       "['^head', 3]]}\nstrategies: [{name: a}, {name: b, pipeline: {layers: "
                       "null, place: []}}]\n",
                  sets, COUNT(sets));
    const struct scenario_pipeline *p = &file->scenarios[0].pipeline;

    ok(!strcmp(p->axis, "dp") && !strcmp(p->schedule, "zbv") && p->stages_per_rank == 2 &&
           p->nlayers == 2 && p->layers[0] == 3 && p->layers[1] == 0 && p->nplaces == 2 &&
           !strcmp(p->places[1].pattern, "^head") && p->places[1].stage == 3,
       "pipeline: all keys are read");
    ok(file->scenarios[1].pipeline.nlayers == 0 && file->scenarios[1].pipeline.nplaces == 0,
       "pipeline: by strategy");
    ok(round_trips(&file->scenarios[0]) && round_trips(&file->scenarios[1]),
       "pipeline: a printed scenario round-trips");
    scenario_file_destroy(file);
}

/* Each entry of recompute that differs from the meaning of the bare word is printed, with any
 * other entries. */
static void test_recompute_entries(void)
{
    static const char *const entries[] = {"group=2",     "every=2",
                                          "first=2",     "whole=true",
                                          "keep=[x]",    "modules=[mlp, moe]",
                                          "count=stage", "keep=['op:product/2']",
                                          "hold=true"};

    for (size_t i = 0; i < COUNT(entries); i++) {
        char set[64];
        struct text printed = TEXT_INIT;
        struct scenario_file *file, *again;
        const struct scenario_recompute *was, *is;

        snprintf(set, sizeof set, "recompute.%s", entries[i]);
        file = load_good(HEAD UPDATE "optimizer: {kind: sgd}\nrecompute: selective\n",
                         (const char *[]){set}, 1);
        was = &file->scenarios[0].recompute;
        scenario_print(&file->scenarios[0], &printed);
        again = load_good(text_get(&printed), NULL, 0);
        is = &again->scenarios[0].recompute;
        ok(is->kind == SCENARIO_RECOMPUTE_SELECTIVE && is->group == was->group &&
               is->every == was->every && is->first == was->first && is->whole == was->whole &&
               is->nkept == was->nkept && is->modules == was->modules &&
               is->by_stage == was->by_stage && is->hold == was->hold,
           "recompute: %s is kept where it is printed", entries[i]);
        ok(is->group + is->every + is->first + is->whole + (int64_t)is->nkept + is->modules +
                   is->by_stage + is->hold >
               2,
           "recompute: and it is %s", entries[i]);
        text_fini(&printed);
        scenario_file_destroy(file);
        scenario_file_destroy(again);
    }
}

static void test_recompute(void)
{
    static const char *const sets[] = {"recompute.first=3"};
    struct scenario_file *file =
        load_good(HEAD UPDATE "optimizer: {kind: sgd}\nrecompute: {every: 2}\nstrategies: [{name: "
                              "a, recompute: full}, {name: b}, "
                              "{name: c, recompute: ['mlp/.*', a b]}, "
                              "{name: d, recompute: {whole: true, keep: [mlp/up, x]}}]\n",
                  NULL, 0);
    const struct scenario_recompute *r = &file->scenarios[2].recompute;

    ok(file->scenarios[0].recompute.every == 1 && file->scenarios[1].recompute.every == 2 &&
           file->scenarios[1].recompute.kind == SCENARIO_RECOMPUTE_FULL,
       "recompute: a word, a map");
    ok(r->kind == SCENARIO_RECOMPUTE_NAMED && r->npatterns == 2 &&
           !strcmp(r->patterns[1].pattern, "a b") && r->patterns[1].place.line == 8,
       "recompute: a list of patterns, with their places");
    r = &file->scenarios[3].recompute;
    ok(r->kind == SCENARIO_RECOMPUTE_FULL && r->whole && r->nkept == 2 &&
           !strcmp(r->kept[1].pattern, "x"),
       "recompute: whole layers, values that are kept");
    for (size_t i = 0; i < 4; i++)
        ok(round_trips(&file->scenarios[i]), "recompute: a printed scenario round-trips");
    scenario_file_destroy(file);
    file = load_good(
        HEAD UPDATE
        "optimizer: {kind: sgd}\nrecompute: [mlp]\nstrategies: [{name: a}, {name: b, recompute: "
        "{kind: selective, group: 4}}]\n",
        sets, COUNT(sets));
    ok(file->scenarios[0].recompute.kind == SCENARIO_RECOMPUTE_FULL &&
           file->scenarios[0].recompute.npatterns == 0 && file->scenarios[0].recompute.first == 3 &&
           file->scenarios[1].recompute.kind == SCENARIO_RECOMPUTE_SELECTIVE &&
           file->scenarios[1].recompute.group == 4 && file->scenarios[1].recompute.first == 3,
       "recompute: one entry that is set");
    scenario_file_destroy(file);
}

static void test_context(void)
{
    static const char *const sets[] = {"context.documents.mean=8", "context.order=striped"};
    struct scenario_file *file = load_good(
        HEADS "context: {axis: tp, method: ring, order: zigzag, documents: {mean: 9, seed: 4}}\n"
              "strategies: [{name: a}, {name: b, context: {method: gather, documents: [60, 4]}},\n"
              "  {name: c, context: {axis: null, method: gather, order: contiguous}}]\n",
        NULL, 0);
    const struct scenario *s = file->scenarios;

    ok(!strcmp(s[0].context.axis, "tp") && s[0].context.method == SCENARIO_RING &&
           s[0].context.order == SCENARIO_ZIGZAG && s[0].context.documents.mean == 9 &&
           s[0].context.documents.seed == 4,
       "context: a ring");
    ok(s[1].context.method == SCENARIO_GATHER && s[1].context.order == SCENARIO_ZIGZAG &&
           s[1].context.documents.nlengths == 2 && s[1].context.documents.lengths[0] == 60 &&
           s[1].context.documents.mean == 0,
       "context: lengths of documents");
    ok(!s[2].context.axis && s[2].context.documents.mean == 9, "context: no axis");
    for (size_t i = 0; i < 3; i++)
        ok(round_trips(&s[i]), "context: a printed scenario round-trips");
    scenario_file_destroy(file);
    file = load_good(HEADS "context: {axis: tp, documents: [60, 4]}\n", sets, COUNT(sets));
    s = file->scenarios;
    ok(s[0].context.documents.mean == 8 && s[0].context.documents.nlengths == 0 &&
           s[0].context.order == SCENARIO_STRIPED && s[0].model.window == 0,
       "context: entries that are set");
    scenario_file_destroy(file);
}

static void test_training_errors(void)
{
    static const char *const places[] = {
        "5:8: error: 2 steps", "6:15: error: ZeRO stage 1 needs an update",
        "6:15: error: ZeRO stage 1 without", "7:19: error: an optimizer needs",
        "7:28: error: optimizer.lr"};
    struct text messages = TEXT_INIT;
    struct scenario_file *file = load(
        HEAD "steps: 2\nzero: {stage: 1}\noptimizer: {kind: sgd, lr: x}\n", NULL, 0, &messages);

    ok(!file, "training: what is wrong is refused");
    for (size_t i = 0; i < COUNT(places); i++)
        ok(strstr(text_get(&messages), places[i]) != NULL, "training: all at once: %s", places[i]);
    text_fini(&messages);
}

static void test_sets(void)
{
    static const char *const sets[] = {
        "model.d_ff=64",      "model={layers: 2, bias: true}",
        "mesh.tp=2",          "axes.seq=tp",
        "axes.batch=null",    "algorithms.all-gather=direct",
        "params=[[a, [dp]]]", "model.d_ff=128",
        "limits.memory=1GiB", "step=[forward]",
        "name=new",           "tolerance=1e-3",
    };
    struct scenario_file *file =
        load_good(HEAD "axes: {batch: dp}\nstrategies: [{name: a, model: {d_ff: 1}}, {name: b}]\n",
                  sets, COUNT(sets));
    const struct scenario *s = &file->scenarios[0];

    ok(s->model.d_ff == 128 && s->model.layers == 2 && s->model.bias && s->model.d_model == 256,
       "set: over the strategy; the last wins");
    ok(s->nmesh == 2 && s->mesh[0].size == 2 && s->mesh[1].size == 2, "set: one axis of the mesh");
    ok(s->nlogical == 2 && s->logical[0].naxes == 0 && s->logical[1].naxes == 1 &&
           s->nalgorithms == 1,
       "set: an entry is replaced or added");
    ok(s->nparams == 1 && s->limits.memory.bytes == 1 << 30 && !s->step.backward &&
           !strcmp(s->name, "new") && s->tolerance == 1e-3,
       "set: whole values");
    ok(file->scenarios[1].model.d_ff == 128 && !strcmp(file->scenarios[1].strategy, "b"),
       "set: all strategies");
    struct place place = scenario_place(s, "limits.memory");
    ok(!strcmp(place.file, "--set") && place.line == 9 && place.column == 15, "set: place");
    scenario_file_destroy(file);
}

/* Values with lists and maps inside read back as what was printed. */
static void test_print_again(void)
{
    static const char *const models[] = {
        ("layer_types: [full, window-plain, chunk], window: 5, chunk: 9, rope: {part: 0.5, "
         "local_theta: 50, scaling: {kind: yarn, factor: 40, original: 4096, beta_fast: 30, "
         "beta_slow: 2, mscale: 0.7, mscale_all: 1.5, attention_factor: 1.25, untruncated: true}}"),
        ("rope: {interleaved: true, scaling: {kind: longrope, factor: 4, original: 100, "
         "short_factors: [1, 1.5], long_factors: [2, 3.25]}}"),
        "rope: {scaling: {kind: llama3, factor: 8, original: 8192, low: 1, high: 4}}",
        "rope: {scaling: {kind: dynamic, factor: 2, original: 8}}, qk_norm: true",
        "rope: {scaling: {kind: linear, factor: 2}}, qk_norm: whole",
        "layer_types: [delta, kda, mamba, conv, lightning, full-mamba, full], attention_gate: true",
    };

    for (size_t i = 0; i < COUNT(models); i++) {
        struct text in = TEXT_INIT, first = TEXT_INIT, second = TEXT_INIT;
        struct scenario_file *file;

        text_addf(&in,
                  "version: 1\nmesh: {dp: 1}\nbatch: {size: 2, seq: 32}\nmodel: {kind: block, "
                  "d_model: 16, d_ff: 16, heads: 4, %s}\n",
                  models[i]);
        file = load_good(text_get(&in), NULL, 0);
        scenario_print(&file->scenarios[0], &first);
        scenario_file_destroy(file);
        file = load_good(text_get(&first), NULL, 0);
        scenario_print(&file->scenarios[0], &second);
        scenario_file_destroy(file);
        ok(!strcmp(text_get(&first), text_get(&second)), "print: %s", models[i]);
        text_fini(&in);
        text_fini(&first);
        text_fini(&second);
    }
}

static void test_print(void)
{
    static const char *const sets[] = {"name='it''s: #1'", "axes.batch=[dp, tp]",
                                       "params=[['a\\d+, [x]', [[dp, tp], null]], [\"\\\"\", []]]"};
    struct text text = TEXT_INIT;
    struct scenario_file *file = load_good(HEAD, NULL, 0);

    scenario_print(&file->scenarios[0], &text);
    ok(!strcmp(
           text_get(&text),
           "version: 1\nname: f\nmesh: {dp: 2, tp: 4}\nmodel:\n  kind: mlp\n"
           "  d_model: 256\n  d_ff: 1024\n  activation: gelu\n  layers: 1\n"
           "  bias: false\n  dtype: float32\nbatch:\n  size: 8\n  seq: 64\n"
           "  microbatches: 1\n"
           "step: [forward, backward]\nsteps: 1\noptimizer:\n  kind: none\n  lr: 0.001\n"
           "  warmup: 0\n  decay: constant\n  betas: [0.9, 0.999]\n  eps: 1e-08\n"
           "  weight_decay: 0.0\n  momentum: 0.0\n  clip: 0.0\n  for: ['^(?!head/)']\n"
           "  rest: adamw\n  rest_lr: 0.0\n  apart: []\n  nesterov: true\n  ns_steps: 5\n"
           "  ns_coefficients: [3.4445, -4.775, 2.0315]\n  ns_dtype: bfloat16\n"
           "  adjust_lr: original\n  layout: duplicated\n  homes: null\n"
           "types:\n  parameters: compute\n  gradients: software\n  moments: parameters\n"
           "  reduce: software\nproducts:\n  recipe: none\n  gradients: recipe\n"
           "  weights: compute\n  block: 0\n"
           "  amax: local\n  gathers: false\n  dispatch: false\n  kept: recipe\n  frozen: "
           "cluster\n  except: "
           "['^head$', "
           "'router$']\n"
           "loss_scale:\n  kind: none\n  initial: 65536\n"
           "  growth_interval: 2000\nfrozen: []\nlora:\n  rank: 0\n  alpha: null\n  targets: []\n  "
           "base: compute\n"
           "  start: model\nzero:\n  stage: 0\n  axis: null\n"
           "  layout: flat\n  reshard_after_forward: default\n  prefetch: 1\n"
           "pipeline:\n  axis: null\n  schedule: '1F1B'\n  stages_per_rank: 0\n  layers: null\n"
           "  place: []\nrecompute: none\n"
           "offload:\n  activations: none\n  layers: 0\n  optimizer: 0.0\n  parameters: false\n"
           "  prefetch: 1\ngathered: again\nhardware: null\nsoftware: cluster\nslices: "
           "1\nplacement: "
           "follow\nuneven: refuse\nprice: bytes\nrules: params\nparams: []\naxes: {}\n"
           "partition_axis: null\nconstraints: []\nalgorithms: {}\n"
           "overlap:\n  gradients: cluster\n  weights: cluster\n  products: cluster\n  sends: "
           "cluster\n"
           "  pairs: cluster\nfused:\n  loss: cluster\n  activation: cluster\n"
           "straggler:\n  device: 0\n  compute: null\n  links: null\nlimits:\n  memory: null\n"
           "  sequences: 0\n  tokens: 0\n"
           "transfers:\n  rate: 200GB/s\n  latency: 5us\n"
           "tolerance: null\nseed: 0\n"),
       "print: canonical text");
    ok(round_trips(&file->scenarios[0]), "print: a scenario of defaults round-trips");
    scenario_file_destroy(file);
    file = load_good(full, NULL, 0);
    ok(round_trips(&file->scenarios[0]), "print: a scenario with all options round-trips");
    scenario_file_destroy(file);
    file = load_good(HEAD "strategies: [{name: 'x y'}]\n", sets, COUNT(sets));
    ok(round_trips(&file->scenarios[0]), "print: odd names round-trip");
    scenario_file_destroy(file);
    text_fini(&text);
}

static const struct {
    const char *what;
    const char *text;
    const char *message; /* a part of the messages */
} bad[] = {
    {"no version", MESH MODEL BATCH, "dir/f.yaml:1:1: error: no version; expected 'version: 1'"},
    {"version 2", "version: 2\nnew: x\n", "f.yaml:1:10: error: version is '2'; expected 1"},
    {"version text", "version: '1'\n" MESH, "f.yaml:1:10: error: version is '1'; expected 1"},
    {"a list", "[a]\n", "f.yaml:1:1: error: the file is a list; expected a map"},
    {"only text", "abc\n", "f.yaml:1:1: error: the file is 'abc'; expected a map"},
    {"syntax", "version: 1\nmesh: {a: 1\n", "f.yaml:3:1: error: did not find expected"},
    {"unknown key", HEAD "mehs: 1\n",
     "5:1: error: unknown key 'mehs'; expected an option of a "
     "scenario; did you mean 'mesh'?"},
    {"unknown section key", HEAD "limits: {memry: 1}\n",
     "5:10: error: unknown key 'memry' in limits; expected an option of a scenario; did you mean "
     "'memory'?"},
    {"section is a list", HEAD "limits: []\n", "5:9: error: limits is a list; expected a map"},
    {"section is null", HEAD "limits:\n", "5:8: error: limits is null; expected a map"},
    {"a memory of more than all", HEAD "limits: {memory: 120%}\n", "5:18: error: limits.memory: "},
    {"a memory of nothing", HEAD "limits: {memory: 0%}\n", "5:18: error: limits.memory: "},
    {"a server's sequences in training", HEAD "limits: {sequences: 4}\n",
     "5:21: error: a limit of sequences applies to serving only; expected none, or step: [prefill] "
     "or [decode]"},
    {"no mesh", "version: 1\n" MODEL BATCH, "1:1: error: no 'mesh'; expected a map of axis names"},
    {"no model", "version: 1\n" MESH BATCH, "1:1: error: no 'model.kind'; expected one of mlp"},
    {"a price in time of no cluster", HEAD "price: time\n",
     "5:8: error: price: time needs a cluster; expected hardware: NAME, or price: bytes"},
    {"no such placement", HEAD "placement: greedy\n",
     "5:12: error: placement is 'greedy'; expected one of follow, search"},
    {"no d_ff", "version: 1\n" MESH BATCH "model: {kind: mlp, d_model: 8}\n",
     "4:8: error: no 'model.d_ff'; expected a whole number from 1 to 2147483647"},
    {"no seq", "version: 1\n" MESH MODEL "batch: {size: 1}\n", "4:8: error: no 'batch.seq'"},
    {"mesh is a list", "version: 1\nmesh: [dp]\n" MODEL BATCH, "2:7: error: mesh is a list; expe"},
    {"mesh size 0", "version: 1\nmesh: {a: 0}\n" MODEL BATCH,
     "2:11: error: size of mesh axis 'a' is '0'; expected a whole number from 1 to 2147483647"},
    {"mesh size text", "version: 1\nmesh: {a: b}\n" MODEL BATCH, "2:11: error: size of mesh axis"},
    {"mesh size list", "version: 1\nmesh: {a: [2]}\n" MODEL BATCH, "axis 'a' is a list; expected"},
    {"mesh size fraction", "version: 1\nmesh: {a: 2.5}\n" MODEL BATCH, "axis 'a' is '2.5'; expec"},
    {"mesh axis name", "version: 1\nmesh: {a b: 2}\n" MODEL BATCH, "2:8: error: mesh axis 'a b'; "},
    {"mesh axis, before 0", "version: 1\nmesh: {a/: 2}\n" MODEL BATCH,
     "2:8: error: mesh axis 'a/'"},
    {"mesh axis, digit first", "version: 1\nmesh: {0a: 2}\n" MODEL BATCH,
     "2:8: error: mesh axis '0a'"},
    {"mesh axis null", "version: 1\nmesh: {null: 2}\n" MODEL BATCH, "2:8: error: mesh axis null; "},
    {"mesh axis twice", "version: 1\nmesh: {a: 2, a: 2}\n" MODEL BATCH,
     "2:14: error: key 'a' appears twice"},
    {"mesh too large", "version: 1\nmesh: {a: 65536, b: 32768}\n" MODEL BATCH,
     "2:21: error: the mesh has more than 2147483647 devices"},
    {"mesh of 17 axes",
     "version: 1\nmesh: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1,"
     " m: 1, n: 1, o: 1, p: 1, q: 1}\n" MODEL BATCH,
     "2:104: error: too many entries; expected at most 16"},
    {"kind", "version: 1\n" MESH BATCH "model: {kind: mpl, d_model: 1, d_ff: 1}\n",
     "4:15: error: model.kind is 'mpl'; expected one of mlp, attention, block, transformer, "
     "gpt2, llama3, t5, mixtral, deepseek, decoder, graph; "
     "did you mean 'mlp'?"},
    {"d_model 0", "version: 1\n" MESH BATCH "model: {kind: mlp, d_model: 0, d_ff: 1}\n",
     "4:29: error: model.d_model is '0'; expected a whole number from 1 to 2147483647"},
    {"d_model too large", "version: 1\n" MESH BATCH "model: {kind: mlp, d_model: 2147483648}\n",
     "4:29: error: model.d_model is '2147483648'; expected"},
    {"d_model huge", "version: 1\n" MESH BATCH "model: {d_model: 99999999999999999999}\n",
     "4:18: error: model.d_model is '99999999999999999999'; expected"},
    {"d_model quoted", "version: 1\n" MESH BATCH "model: {d_model: '8'}\n",
     "4:18: error: model.d_model is '8'; expected a whole number"},
    {"d_model null", "version: 1\n" MESH BATCH "model: {d_model: }\n",
     "4:18: error: model.d_model is null; expected a whole number"},
    {"bias", "version: 1\n" MESH BATCH "model: {bias: yes}\n",
     "4:15: error: model.bias is 'yes'; expected true or false"},
    {"dtype", "version: 1\n" MESH BATCH "model: {dtype: float23}\n",
     "expected one of float32, float64, bfloat16, float16; did you mean 'float32'?"},
    {"dtype list", "version: 1\n" MESH BATCH "model: {dtype: [float32]}\n",
     "4:16: error: model.dtype is a list; expected one of float32"},
    {"step empty", HEAD "step: []\n", "5:7: error: step is a list; expected [forward] or"},
    {"step without forward", HEAD "step: [backward]\n", "5:7: error: step is a list; expected"},
    {"step twice", HEAD "step: [forward, forward]\n",
     "5:17: error: 'forward' in step; expected forward, backward and update, once each, or prefill "
     "or decode"},
    {"step of an unknown phase", HEAD "step: [forward, backwards]\n",
     "5:17: error: 'backwards' in step; expected forward, backward and update, once each, or "
     "prefill or decode; did you mean 'backward'?"},
    {"step in a step", HEAD "step: [forward, [backward]]\n", "5:17: error: a list in step"},
    {"step word", HEAD "step: forwards\n", "5:7: error: step is 'forwards'; expected [forward]"},
    {"update without backward", HEAD TRAIN "step: [forward, update]\n",
     "6:7: error: step has update without backward; expected [forward, backward, update]"},
    {"update without optimizer", HEAD "step: [forward, backward, update]\n",
     "5:7: error: step has update, but there is no optimizer; expected optimizer.kind sgd, "
     "adamw or muon"},
    {"muon without momentum", HEAD UPDATE "optimizer: {kind: muon}\n",
     "6:19: error: muon without a momentum; expected optimizer.momentum, usually 0.95, or 0"},
    {"matrices owned over no axis",
     HEAD UPDATE "optimizer: {kind: muon, momentum: 0.9, layout: owned}\n",
     "error: matrices are owned over no axis; expected optimizer.homes, a mesh axis"},
    {"homes of nothing", HEAD UPDATE "optimizer: {kind: muon, momentum: 0.9, homes: tp}\n",
     "error: homes of matrices need optimizer.layout: owned"},
    {"homes that are no axis",
     HEAD UPDATE "optimizer: {kind: muon, momentum: 0.9, layout: owned, homes: [xp]}\n", "error: "},
    {"muon on the host",
     HEAD UPDATE "optimizer: {kind: muon, momentum: 0.9}\noffload: {optimizer: 0.5}\n",
     "error: muon's update on the host is not modelled; expected optimizer.kind adamw or sgd"},
    {"two coefficients", HEAD "optimizer: {ns_coefficients: [2, 1]}\n",
     "5:30: error: optimizer.ns_coefficients is a list; expected three numbers"},
    {"optimizer without update", HEAD TRAIN,
     "5:19: error: an optimizer needs an update; expected step: [forward, backward, upd"},
    {"optimizer", HEAD "optimizer: {kind: adam}\n",
     "5:19: error: optimizer.kind is 'adam'; expected one of none, sgd, adamw, muon; did you mean "
     "'adamw'"},
    {"adapters beside nothing", HEAD "lora: {rank: 4}\n",
     "error: adapters of rank 4 without target weights; expected a list of patterns"},
    {"adapters of no rank", HEAD "lora: {targets: [up]}\n",
     "5:17: error: adapters without a rank; expected lora.rank, at least 1"},
    {"quantized weights without adapters", HEAD "lora: {base: nf4}\n",
     "5:14: error: adapters without a rank; expected lora.rank, at least 1"},
    {"a factor of no adapters", HEAD "lora: {alpha: 8}\n",
     "5:15: error: lora.alpha has no effect; expected lora.rank, at least 1"},
    {"a start of no adapters", HEAD "lora: {start: zeros}\n",
     "5:15: error: lora.start has no effect; expected lora.rank"},
    {"a capacity of no experts", LLAMA "}\nmoe: {capacity: 2}\n",
     "5:17: error: moe.capacity has no effect; expected moe.experts, at least 1"},
    {"rows of no experts", LLAMA "}\nmoe: {by_node: true}\n",
     "5:16: error: moe.by_node has no effect; expected moe.experts, at least 1"},
    {"gates of no experts", LLAMA "}\nfused: {gates: true}\n",
     "5:16: error: fused.gates has no effect; expected moe.experts, with moe.gates_input false"},
    {"scales of no recipe", HEAD "products: {amax: all}\n",
     "5:18: error: products.amax has no effect; expected products.recipe"},
    {"quantized weights that are trained", HEAD "products: {weights: int4}\n",
     "5:21: error: quantized weights cannot be trained; expected step: [prefill]"},
    {"gathers without ZeRO", HEAD "products: {recipe: rowwise, gathers: true}\n",
     "5:38: error: products.gathers has no effect; expected zero.stage 3"},
    {"a look ahead at nothing", HEAD "offload: {prefetch: 2}\n",
     "5:21: error: offload.prefetch has no effect; expected offload.parameters or offload"},
    {"nothing to hold", HEAD UPDATE TRAIN "recompute: {kind: full, hold: true}\n",
     "7:12: error: recompute.hold without kept results; expected keep, or a policy"},
    {"quantized padded blocks", HEAD "uneven: pad\nlora: {rank: 1, targets: [up], base: int8}\n",
     "6:38: error: block-quantized weights cannot be padded"},
    {"a pattern alone", HEAD "frozen: up\n",
     "5:9: error: frozen is 'up'; expected a list of patterns, such as [attn/q, mlp/.*]"},
    {"a bad pattern", HEAD "frozen: ['(']\n", "5:10: error: "},
    {"masters without update", HEAD "types: {parameters: float64}\n",
     "5:21: error: master parameters need an update; expected an optimizer and st"},
    {"masters of what", HEAD "types: {parameters: parameters}\n",
     "5:21: error: types.parameters is 'parameters'; expected one of float32, float64, bfloat16, "
     "float16, compute"},
    {"a recipe that is none", HEAD "products: {recipe: fp8}\n",
     "5:20: error: products.recipe is 'fp8'; expected one of none, tensorwise, rowwise, blockwise"},
    {"a pattern of matmuls", HEAD "products: {except: ['(']}\n",
     "5:21: error: products.except: '(' is not a valid pattern: missing )"},
    {"patterns of matmuls", HEAD "products: {except: head}\n",
     "5:20: error: products.except is 'head'; expected a list of patterns"},
    {"loss scale without update", HEAD "loss_scale: {kind: static}\n",
     "5:20: error: loss scaling needs an update; expected an optimizer and step: [forw"},
    {"loss scale of 16 bits",
     HEAD UPDATE TRAIN "loss_scale: {kind: static}\ntypes: {parameters: bfloat16}\n",
     "7:20: error: loss scaling with parameters in bfloat16, which may overflow with unscaled "
     "gradients"},
    {"rate below 0", HEAD "optimizer: {lr: -1}\n",
     "5:17: error: optimizer.lr is '-1'; expected a number from 0 to 1000"},
    {"rate not a number", HEAD "optimizer: {lr: .nan}\n",
     "5:17: error: optimizer.lr is '.nan'; exp"},
    {"betas of one", HEAD "optimizer: {betas: [0.9]}\n",
     "5:20: error: optimizer.betas is a list; expected two numbers from 0 to below 1"},
    {"betas of 1", HEAD "optimizer: {betas: [0.9, 1]}\n", "5:20: error: optimizer.betas is a list"},
    {"steps 0", HEAD "steps: 0\n", "5:8: error: steps is '0'; expected a whole number from 1 to 1"},
    {"serving of an mlp", HEAD "step: [decode]\n",
     "5:7: error: a model of kind mlp cannot decode; expected a decoder"},
    {"serving of sums over later tokens", SERVED "step: [decode]\n",
     "5:7: error: a KV cache needs causal attention; expected model.causal: true"},
    {"serving unfused", LLAMA ", attention: unfused}\nstep: [prefill]\n",
     "4:88: error: unfused attention has no KV cache; expected fused"},
    {"more than the model's positions",
     GPT2 "step: [decode]\ndecode: {tokens: 50, context: 1000}\n",
     "6:18: error: 1050 tokens per sequence exceed the model's 1024 positions"},
    {"steps of serving", LLAMA "}\nstep: [decode]\nsteps: 2\n",
     "6:8: error: decode.tokens sets the number of steps in serving"},
    {"stages of serving", LLAMA "}\nstep: [decode]\npipeline: {axis: tp}\n",
     "6:18: error: pipeline.axis in a serving step: pipeline parallelism is not supported in "
     "serving"},
    {"padding of serving", LLAMA "}\nstep: [decode]\nuneven: pad\n",
     "6:9: error: uneven in a serving step: a KV cache cannot be padded"},
    {"documents of serving", LLAMA "}\nstep: [decode]\ncontext: {documents: [4, 4]}\n",
     "6:22: error: context.documents in a serving step: each sequence is a single document"},
    {"a ring around a cache", LLAMA "}\nstep: [decode]\ncontext: {axis: tp, method: ring}\n",
     "6:29: error: ring attention would move the KV cache; expected gather"},
    {"tokens of a prefill", LLAMA "}\nstep: [prefill]\ndecode: {tokens: 2}\n",
     "6:18: error: a prefill generates one token; expected step: [decode]"},
    {"proposals of a prefill", LLAMA "}\nstep: [prefill]\ndecode: {draft: 2}\n",
     "6:17: error: a prefill has no draft tokens; expected step: [decode]"},
    {"more that are right than proposed",
     LLAMA "}\nstep: [decode]\ndecode: {draft: 2, accepted: 3}\n",
     "6:30: error: 3 accepted tokens exceed the 2 draft tokens"},
    {"shared without pages", LLAMA "}\nstep: [decode]\ndecode: {shared: 4}\n",
     "6:18: error: a shared prefix needs pages; expected decode.page, such as 16"},
    {"block sizes of a KV cache without quantization",
     LLAMA "}\nstep: [decode]\ndecode: {block: 16}\n",
     "6:17: error: decode.block has no effect; expected decode.cache: int4 or mxfp4"},
    {"a cache of 8 bits of a model in 64",
     LLAMA ", dtype: float64}\nstep: [decode]\ndecode: {cache: float8_e4m3}\n",
     "6:17: error: an FP8 cache of float64 keys is not supported"},
    {"pages without serving", LLAMA "}\ndecode: {page: 4}\n",
     "5:16: error: decode.page has no effect; expected step: [prefill] or [decode]"},
    {"a draft without serving", LLAMA "}\ndecode: {draft: 4}\n",
     "5:17: error: decode.draft has no effect; expected step: [prefill] or [decode]"},
    {"a prefill of another model",
     LLAMA "}\nstep: [prefill, decode]\nprefill: {model: {d_ff: 16}}\n",
     "6:25: error: model.d_ff differs between prefill and decode, which share the KV cache"},
    {"a prefill of another cache",
     LLAMA "}\nstep: [prefill, decode]\nprefill: {decode: {cache: mxfp4}}\n",
     "6:27: error: decode.cache differs between prefill and decode"},
    {"a prefill of another batch", LLAMA "}\nstep: [prefill, decode]\nprefill: {batch: {seq: 8}}\n",
     "6:24: error: batch.seq differs between prefill and decode, which share the KV cache"},
    {"a prefill's step", LLAMA "}\nstep: [prefill, decode]\nprefill: {step: [forward]}\n",
     "6:17: error: prefill: step: a prefill is one step and generates one token; remove it"},
    {"a prefill's steps", LLAMA "}\nstep: [prefill, decode]\nprefill: {steps: 2}\n",
     "6:18: error: prefill: steps: a prefill is one step"},
    {"decode before prefill", LLAMA "}\nstep: [decode, prefill]\n",
     "5:7: error: step is a list; expected"},
    {"steps without update", HEAD "steps: 3\n",
     "5:8: error: 3 steps without update would be identical; expected step: [forward, backward"},
    {"warm-up of all steps",
     HEAD "optimizer: {kind: sgd, decay: cosine, warmup: 4}\nsteps: 4\n" UPDATE,
     "5:47: error: a warm-up of 4 of 4 steps leaves none for cosine decay; expected fewer"},
    {"context of an mlp", HEAD "context: {axis: tp}\n",
     "5:17: error: context.axis is not an option of a model of kind mlp"},
    {"context over no axis", HEADS "context: {axis: cp}\n",
     "5:17: error: axis 'cp' is not in the mesh (dp=2, tp=4)"},
    {"context over stages", HEADS "context: {axis: dp}\npipeline: {axis: dp}\n",
     "5:17: error: context.axis 'dp' is already pipeline.axis"},
    {"ring without axis", HEADS "context: {method: ring}\n",
     "5:19: error: ring attention without an axis; expected context.axis, a mesh axis"},
    {"order without axis", HEADS "context: {order: striped}\n",
     "5:18: error: context.order without an axis; expected context.axis"},
    {"no such method", HEADS "context: {axis: tp, method: rings}\n",
     "5:29: error: context.method is 'rings'; expected one of gather, ring"},
    {"zigzag pieces",
     "version: 1\n" MESH
     "model: {kind: attention, d_model: 64, heads: 4}\nbatch: {size: 8, seq: 60}\n"
     "context: {axis: tp, order: zigzag}\n",
     "4:23: error: 60 tokens of a sequence do not divide into 8 equal chunks: zigzag gives "
     "each rank one from the head"},
    {"ring pieces",
     "version: 1\n" MESH
     "model: {kind: attention, d_model: 64, heads: 4}\nbatch: {size: 8, seq: 62}\n"
     "context: {axis: tp, method: ring}\n",
     "4:23: error: 62 tokens of a sequence do not divide into 4 equal chunks\n"},
    {"ring of t5",
     "version: 1\n" MESH BATCH "model: {size: t5-small}\n"
     "context: {axis: tp, method: ring}\n",
     "5:17: error: context.axis is not an option of a model of kind t5"},
    {"window of all",
     "version: 1\n" MESH BATCH
     "model: {kind: attention, d_model: 64, heads: 4, causal: false, window: 8}\n",
     "4:72: error: a sliding window of 8 tokens needs causal attention"},
    {"documents of other length", HEADS "context: {documents: [60, 5]}\n",
     "5:22: error: documents of 65 tokens in total for sequences of 64; expected equal totals"},
    {"document of nothing", HEADS "context: {documents: [64, 0]}\n",
     "5:27: error: a document is '0'; expected its length in tokens, at least 1"},
    {"documents of mean 0", HEADS "context: {documents: {mean: 0}}\n",
     "5:29: error: mean is '0'; expected the mean length in tokens, at least 1"},
    {"documents without mean", HEADS "context: {documents: {seed: 1}}\n",
     "5:22: error: documents have no mean"},
    {"documents of a word", HEADS "context: {documents: many}\n",
     "5:22: error: context.documents is 'many'; expected null, a map of mean and seed"},
    {"documents key", HEADS "context: {documents: {mean: 4, sead: 1}}\n",
     "5:32: error: unknown key 'sead' in documents; expected mean or seed; did you mean 'seed'?"},
    {"zero of stage 4", HEAD "zero: {stage: 4}\n",
     "5:15: error: zero.stage is '4'; expected a whole number from 0 to 3"},
    {"zero without update", HEAD "zero: {stage: 1, axis: dp}\n",
     "5:15: error: ZeRO stage 1 needs an update; expected an optimizer and step"},
    {"zero without axis", HEAD TRAIN UPDATE "zero: {stage: 2}\n",
     "7:15: error: ZeRO stage 2 without an axis; expected zero.axis, a mesh axis"},
    {"zero over no axis", HEAD TRAIN UPDATE "zero: {stage: 2, axis: dq}\n",
     "7:24: error: axis 'dq' is not in the mesh (dp=2, tp=4); did you mean 'dp'?"},
    {"a word of FSDP",
     HEAD TRAIN UPDATE "zero: {stage: 3, axis: dp, reshard_after_forward: often}\n",
     "7:51: error: zero.reshard_after_forward is 'often'; expected default, always, never, or a "
     "number of neighbours"},
    {"no neighbours", HEAD TRAIN UPDATE "zero: {stage: 3, axis: dp, reshard_after_forward: 0}\n",
     "7:51: error: zero.reshard_after_forward is '0'; expected default, always, never, or a"},
    {"neighbours that do not divide",
     HEAD TRAIN UPDATE "zero: {stage: 3, axis: tp, reshard_after_forward: 3}\n",
     "7:51: error: 3 neighbours do not divide axis 'tp' of 4 devices; expected a divisor"},
    {"overlap of another word", HEAD "overlap: {gradients: maybe}\n",
     "5:22: error: overlap.gradients is 'maybe'; expected one of false, true, cluster"},
    {"gathered twice", HEAD "gathered: twice\n",
     "5:11: error: gathered is 'twice'; expected one of again, keep"},
    {"pipeline over no axis", HEAD "pipeline: {axis: dq}\n",
     "5:18: error: axis 'dq' is not in the mesh (dp=2, tp=4); did you mean 'dp'?"},
    {"stages without an axis", HEAD "pipeline: {layers: [1, 2]}\n",
     "5:20: error: pipeline stages without an axis; expected pipeline.axis, a mesh axis"},
    {"a stage of half a layer", HEAD "pipeline: {axis: dp, layers: [1, 0.5]}\n",
     "5:34: error: an entry of pipeline.layers is '0.5'; expected the number of layers of a stage"},
    {"a place without a stage", HEAD "pipeline: {axis: dp, place: [[embed]]}\n",
     "5:30: error: an entry of pipeline.place is a list; expected [pattern, stage]"},
    {"a place that is no pattern", HEAD "pipeline: {axis: dp, place: [['(', 0]]}\n",
     "5:31: error: pattern: "},
    {"zero over the stages", HEAD TRAIN UPDATE "pipeline: {axis: dp}\nzero: {stage: 1, axis: dp}\n",
     "8:24: error: zero.axis 'dp' is already pipeline.axis"},
    {"zero layout", HEAD "zero: {layout: rows}\n",
     "5:16: error: zero.layout is 'rows'; expected one of flat, pad"},
    {"zero axis map", HEAD "zero: {axis: {dp: 1}}\n",
     "5:14: error: zero.axis is a map; expected a mesh axis, a list of them, or null"},
    {"zero axis of a list in a list", HEAD "zero: {axis: [[dp]]}\n", "5:15: error: axis is a list"},
    {"zero over an axis twice", HEAD TRAIN UPDATE "zero: {stage: 2, axis: [dp, dp]}\n",
     "7:24: error: axis 'dp' is used twice in zero.axis; expected it once"},
    {"step map", HEAD "step: {forward: true}\n", "5:7: error: step is a map; expected [forward]"},
    {"params map", HEAD "params: {a: [dp]}\n", "5:9: error: params is a map; expected a list of"},
    {"rule text", HEAD "params: [a]\n", "5:10: error: a rule of params is 'a'; expected [pattern"},
    {"rule of one", HEAD "params: [[a]]\n", "5:10: error: a rule of params is a list without"},
    {"rule of three", HEAD "params: [[a, b, c]]\n",
     "5:10: error: a rule of params is a list without"},
    {"pattern list", HEAD "params: [[[a], [dp]]]\n", "5:11: error: a pattern is a list; expected"},
    {"pattern empty", HEAD "params: [['', [dp]]]\n", "5:11: error: a pattern is ''; expected prin"},
    {"pattern", HEAD "params: [['a(b', [dp]]]\n", "5:11: error: "},
    {"pattern and spec", HEAD "params: [['a(b', {}]]\n", "5:18: error: a map as a partition"},
    {"pattern in a strategy", HEAD "strategies: [{name: a}, {name: b, params: [['*', []]]}]\n",
     "5:45: error: "},
    {"spec null", HEAD "params: [[a, null]]\n", "5:14: error: null as a partition spec; expected"},
    {"spec map", HEAD "params: [[a, {dp: 1}]]\n", "5:14: error: a map as a partition spec; expect"},
    {"spec text", HEAD "params: [[a, P(]]\n", "5:14: error: "},
    {"spec entry map", HEAD "params: [[a, [{b: c}]]]\n", "5:15: error: a map in a spec; expected"},
    {"spec entry deep", HEAD "params: [[a, [[[dp]]]]]\n", "5:16: error: a list in a spec; expecte"},
    {"spec entry null inside", HEAD "params: [[a, [[dp, null]]]]\n", "5:20: error: null in a spec"},
    {"spec of 17", HEAD "params: [[a, [~,~,~,~,~,~,~,~,~,~,~,~,~,~,~,~,~]]]\n",
     "5:14: error: a spec of 17 entries; expected at most 16"},
    {"spec axis", HEAD "params: [[a, [null, tq]]]\n",
     "5:21: error: axis 'tq' is not in the mesh (dp=2, tp=4); did you mean 'tp'?"},
    {"spec axis in text", HEAD "params: [[a, 'P(None, \"fsdp\")']]\n",
     "5:14: error: axis 'fsdp' is not in the mesh (dp=2, tp=4)"},
    {"spec axis twice", HEAD "constraints: [[a, [dp, tp, [dp]]]]\n",
     "5:28: error: axis 'dp' is used twice in this spec"},
    {"logical name", HEAD "axes: {bacth: dp}\n",
     "5:8: error: the model has no logical axis 'bacth'; expected one of batch, seq, embed, "
     "mlp; did you mean 'batch'?"},
    {"rules word", HEAD "rules: autos\n",
     "5:8: error: rules is 'autos'; expected one of params, auto; did you mean 'auto'?"},
    {"rules list", HEAD "rules: [[a, []]]\n",
     "5:8: error: rules is a list; expected one of params"},
    {"auto and params", HEAD "rules: auto\nparams: [[a, []], [b, []]]\n",
     "5:8: error: both rules: auto and 2 rules in params; expected only one"},
    {"auto and params in a strategy",
     HEAD "strategies: [{name: a, params: [[b, []]], rules: auto}]\n",
     "5:50: error: both rules: auto and 1 rules in params"},
    {"auto without an axis", "version: 1\nmesh: {x: 2, ep: 4}\n" MODEL BATCH "rules: auto\n",
     "5:8: error: rules: auto finds no axis in the mesh (x=2, ep=4); expected one named dp, fsdp, "
     "sp"},
    {"partition_axis list", HEAD "partition_axis: [dp]\n",
     "5:17: error: partition_axis is a list; expected null or a map of axes of a model"},
    {"partition_axis key", HEAD "partition_axis: {haed: tp}\n",
     "5:18: error: unknown key 'haed' in partition_axis; expected mode, or an axis of a model such "
     "as "
     "batch or head; did you mean 'head'?"},
    {"partition_axis whole key", HEAD "partition_axis: {query_sequense_axis: tp}\n",
     "did you mean 'query_sequence_axis'?"},
    {"partition_axis mode", HEAD "partition_axis: {mode: generating}\n",
     "5:24: error: mode is 'generating'; expected training or generation; did you mean "
     "'generation'?"},
    {"partition_axis mode list", HEAD "partition_axis: {mode: [training]}\n",
     "5:24: error: mode is a list; expected training or generation"},
    {"partition_axis axis", HEAD "partition_axis: {head: tq}\n",
     "5:24: error: axis 'tq' is not in the mesh (dp=2, tp=4); did you mean 'tp'?"},
    {"partition_axis axis twice", HEAD "partition_axis: {batch: [dp, dp]}\n",
     "5:25: error: axis 'dp' is used twice in this list"},
    {"partition_axis map", HEAD "partition_axis: {head: {tp: 2}}\n",
     "5:24: error: logical axis 'head'"},
    {"several axes for one", HEAD "partition_axis: {tensor_parallel: [tp]}\n",
     "5:35: error: 'tensor_parallel' is a list; expected one mesh axis, or null"},
    {"a name's axis that the mesh has not", HEAD "partition_axis: {}\nparams: [[a, [_, batch]]]\n",
     "6:18: error: axis 'fsdp', the value of 'batch', is not in the mesh (dp=2, tp=4)"},
    {"two names of one axis", HEAD "partition_axis: {}\nparams: [[a, [head, mlp_intermediate]]]\n",
     "6:21: error: axis 'tp', the value of 'mlp_intermediate', is used twice in this spec"},
    {"a name and its axis", HEAD "partition_axis: {}\nconstraints: [[a, [tp, head]]]\n",
     "6:24: error: axis 'tp', the value of 'head', is used twice in this spec"},
    {"a name nearly", HEAD "partition_axis: {}\nparams: [[a, [query_sequenc]]]\n",
     "6:15: error: axis 'query_sequenc' is not in the mesh (dp=2, tp=4); did you mean "
     "'query_sequence'?"},
    {"a name without partition_axis", HEAD "params: [[a, [head]]]\n",
     "5:15: error: axis 'head' is not in the mesh (dp=2, tp=4)\n"},
    {"a name in axes", HEAD "partition_axis: {}\naxes: {batch: expert}\n",
     "6:15: error: axis 'ep', the value of 'expert', is not in the mesh"},
    {"option of another kind", HEAD "limits: {}\naxes: {vocab: dp}\n",
     "6:8: error: the model has no logical axis 'vocab'; expected one of batch, seq, embed, mlp"},
    {"heads of an mlp",
     "version: 1\n" MESH BATCH "model: {kind: mlp, d_model: 8, d_ff: 8, heads: 2}\n",
     "4:48: error: model.heads is not an option of a model of kind mlp"},
    {"no heads", "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 8}\n",
     "4:8: error: no 'model.heads'; expected a whole number from 1 to 65536"},
    {"an unknown size", "version: 1\n" MESH BATCH "model: {kind: gpt2, size: gpt2-smal}\n",
     "4:27: error: model.size is 'gpt2-smal'; expected a published model, for example gpt2-small; "
     "did you mean 'gpt2-small'?"},
    {"a size of another kind", "version: 1\n" MESH BATCH "model: {kind: gpt2, size: t5-small}\n",
     "4:27: error: model.size is of kind t5, not gpt2"},
    {"a size of no published kind",
     "version: 1\n" MESH BATCH "model: {kind: mlp, size: t5-small, d_model: 8, d_ff: 8}\n",
     "4:26: error: model.size is not an option of a model of kind mlp"},
    {"a scale of nothing",
     "version: 1\n" MESH BATCH
     "model: {kind: gpt2, scale: 1/2, d_model: 8, d_ff: 8, heads: 2, vocab: 9}\n",
     "4:28: error: scale needs size or from"},
    {"a scale above 1", "version: 1\n" MESH BATCH "model: {size: gpt2-small, scale: 1.5}\n",
     "4:34: error: model.scale is '1.5'; expected a number above 0 and at most 1, or a fraction "
     "such as 1/8"},
    {"a scale by nothing", "version: 1\n" MESH BATCH "model: {size: gpt2-small, scale: 1/0}\n",
     "4:34: error: model.scale is '1/0'"},
    {"sequences beyond the positions",
     "version: 1\n" MESH "batch: {size: 8, seq: 1025}\nmodel: {size: gpt2-small}\n",
     "3:23: error: sequences of 1025 tokens exceed the model's 1024 learned positions; expected a "
     "smaller batch.seq"},
    {"buckets that do not divide",
     "version: 1\n" MESH BATCH "model: {size: t5-small, buckets: 6}\n",
     "4:34: error: 6 buckets; expected a multiple of 4"},
    {"a distance within the buckets",
     "version: 1\n" MESH BATCH "model: {size: t5-small, distance: 16}\n",
     "4:35: error: a distance of 16 for 32 buckets; expected more than half the buckets"},
    {"no such config", "version: 1\n" MESH BATCH "model: {from: none.json}\n",
     "4:15: error: 'dir/none.json': cannot be opened: No such file or directory"},
    {"both a size and a config",
     "version: 1\n" MESH BATCH "model: {from: none.json, size: gpt2-small}\n",
     "4:32: error: both size and from; expected only one"},
    {"no such text", "version: 1\n" MESH BATCH "model: {size: gpt2-small}\ndata: none.txt\n",
     "5:7: error: 'dir/none.txt': cannot be opened: No such file or directory"},
    {"a directory for a text", "version: 1\n" MESH BATCH "model: {size: gpt2-small}\ndata: /\n",
     "5:7: error: '/': not a regular file"},
    {"text for a model without tokens", HEAD "data: null\n",
     "5:7: error: data is not an option of a model of kind mlp"},
    {"no vocab",
     "version: 1\n" MESH BATCH "model: {kind: transformer, d_model: 8, d_ff: 8, heads: 2}\n",
     "4:8: error: no 'model.vocab'; expected a whole number from 1"},
    {"heads that do not divide",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 10, heads: 4}\n",
     "4:46: error: 4 heads do not divide d_model 10; expected a divisor, or head_dim"},
    {"kv_heads that do not divide",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 16, heads: 4, kv_heads: 3}\n",
     "4:59: error: 3 kv_heads do not divide 4 heads; expected a divisor"},
    {"no kv_heads at all",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 16, heads: 4, kv_heads: 0}\n",
     "4:59: error: model.kv_heads is '0'; expected a whole number from 1 to 65536"},
    {"rope of odd heads",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 12, heads: 4, rope: {}}\n",
     "4:55: error: RoPE on heads of width 3; expected an even head_dim"},
    {"rope is true",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 16, heads: 4, rope: true}\n",
     "4:55: error: model.rope is 'true'; expected null or a map, for example {theta: 10000"},
    {"rope's keys",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 16, heads: 4, rope: {base: 3}}\n",
     "4:56: error: unknown key 'base' in rope; expected theta, interleaved, part, "
     "local_theta or scaling"},
    {"rope's part",
     "version: 1\n" MESH BATCH
     "model: {kind: attention, d_model: 32, heads: 4, rope: {part: 0.4}}\n",
     "4:55: error: part 0.4 of heads of width 8 is 3 elements; expected an even number, at least "
     "2"},
    {"a scaling without its kind",
     "version: 1\n" MESH BATCH
     "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: {factor: 2}}}\n",
     "4:65: error: kind of scaling is not given; expected linear, dynamic, llama3, yarn or "
     "longrope"},
    {"a scaling without what it needs",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: "
     "{kind: yarn, factor: 2}}}\n",
     "4:65: error: no 'original' in a scaling of kind yarn; expected a whole number, at least 1"},
    {"a scaling with what another has",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: "
     "{kind: linear, factor: 2, low: 1}}}\n",
     "4:91: error: scaling of kind linear has no low"},
    {"longrope's factors",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: "
     "{kind: longrope, original: 8, short_factors: [1, 2], long_factors: [2, 3]}}}\n",
     "4:55: error: 2 long_factors and short_factors for 4 pairs; expected one for each"},
    {"longrope's lists",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: "
     "{kind: longrope, original: 8, short_factors: [1], long_factors: [2, 3]}}}\n",
     "1 short_factors; expected equal numbers"},
    {"llama3's factors",
     "version: 1\n" MESH BATCH "model: {kind: attention, d_model: 32, heads: 4, rope: {scaling: "
     "{kind: llama3, factor: 8, original: 8, low: 4, high: 1}}}\n",
     "4:65: error: low 4 exceeds high 1"},
    {"types of layers",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: "
     "[full, ful]}\n",
     "model.layer_types is 'ful'; expected null or a list of full, window, chunk, full-plain"},
    {"a layer's window",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: "
     "[full, window]}\n",
     "error: layers with a window, but no model.window; expected the window "
     "in tokens"},
    {"a layer's chunks",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: "
     "[chunk-plain]}\n",
     "error: layers with chunks, but no model.chunk; expected the chunk size "
     "in tokens"},
    {"window or chunks",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, window: 4, chunk: 4}\n",
     "error: both window and chunk, but no model.layer_types"},
    {"chunks, unfused",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, attention: unfused, chunk: 4}\n",
     "error: unfused attention with chunks; expected fused"},
    {"sinks of compressed attention",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, rope: {}, sinks: true}\n"
     "mla: {kv_rank: 8, rope_dim: 4, value_dim: 4}\n",
     "error: MLA has no attention sinks; expected false"},
    {"gates of compressed attention",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, rope: {}, attention_gate: true}\n"
     "mla: {kv_rank: 8, rope_dim: 4, value_dim: 4}\n",
     "error: MLA has no gates; expected false"},
    {"a state of which heads do not divide",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: [full, delta]}\n"
     "linear: {key_heads: 3}\n",
     "4 value heads of delta layers do not divide by 3 key heads; expected a divisor"},
    {"a state of which heads do not divide into groups",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: [conv, mamba]}\n"
     "linear: {key_heads: 3}\n",
     "4 value heads of mamba layers do not divide by 3 key heads; expected a divisor"},
    {"an MLP alone in a model of whole layers",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: [full, mlp]}\n",
     "layers of type mlp are an MLP without attention; expected residual: alone"},
    {"layers of experts without experts",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, residual: "
     "alone, layer_types: [full, experts]}\n",
     "error: layers of type experts, but no moe.experts"},
    {"norms of outputs in layers of one part",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, residual: "
     "alone, norm_place: both, layer_types: [full, mlp]}\n",
     "error: residual: alone has norms of inputs; expected before"},
    {"experts of every second layer in layers of one part",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layers: 4, "
     "residual: alone, layer_types: [full, experts]}\nmoe: {experts: 4, top_k: 2, every: 2}\n",
     "error: residual: alone has experts where model.layer_types says so; expected 1"},
    {"tokens ahead in layers of one part",
     "version: 1\n" MESH BATCH "model: {kind: transformer, d_model: 16, d_ff: 16, heads: 4, vocab: "
     "16, mtp: 1, residual: alone, layer_types: [full, mlp]}\n",
     "error: alone is not modelled with modules for further tokens (model.mtp)"},
    {"a state beside attention without an order of tokens",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, causal: false, "
     "layer_types: [full-mamba]}\n",
     "error: full-mamba layers are not modelled with causal: false"},
    {"a state without an order of tokens",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, causal: false, "
     "layer_types: [delta]}\n",
     "error: delta layers are not modelled with causal: false"},
    {"a state that a server would keep",
     "version: 1\n" MESH BATCH "model: {kind: transformer, d_model: 16, d_ff: 16, heads: 4, vocab: "
     "16, layer_types: [delta, full]}\nstep: [decode]\ndecode: {cached: 8}\n",
     "error: delta layers are not modelled with serving, which keeps no states yet"},
    {"a state over tokens in another order",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: "
     "[delta, full]}\ncontext: {axis: tp, order: zigzag}\n",
     "error: delta layers are not modelled with tokens in another order than contiguous"},
    {"a convolution through documents",
     "version: 1\n" MESH BATCH
     "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, layer_types: [conv, full]}\n"
     "context: {documents: {mean: 4}}\n",
     "error: conv layers are not modelled with packed documents"},
    {"compressed attention without positions in a layer",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, rope: {}, "
     "layer_types: [full-plain]}\nmla: {kv_rank: 8, rope_dim: 4, value_dim: 4}\n",
     "error: MLA has RoPE in all layers or in none; expected no -plain layers, or no model.rope"},
    {"compressed attention without positions",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4}\n"
     "mla: {kv_rank: 8, rope_dim: 4, value_dim: 4}\n",
     "error: MLA needs RoPE; expected model.rope, or -plain layers alone"},
    {"compressed attention without positions beside a state",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, "
     "layer_types: [kda, full-plain, full]}\nmla: {kv_rank: 8, rope_dim: 4, value_dim: 4}\n",
     "error: MLA needs RoPE; expected model.rope, or -plain layers alone"},
    {"rope's theta",
     "version: 1\n" MESH BATCH
     "model: {kind: attention, d_model: 16, heads: 4, rope: {theta: 1}}\n",
     "4:63: error: theta is '1'; expected a number above 1"},
    {"a graph and a model", HEAD "graph: {dims: {b: 1}, ops: [y = x]}\n",
     "5:15: error: graph.dims is not an option of a model of kind mlp"},
    {"a graph without ops", "version: 1\n" MESH "graph: {dims: {b: 1}}\n",
     "3:8: error: no 'graph.ops'; expected a list of at least one line"},
    {"a graph of no ops", "version: 1\n" MESH "graph: {dims: {b: 1}, ops: []}\n",
     "3:28: error: graph.ops is a list; expected a list of at least one line"},
    {"a graph with a batch", "version: 1\n" MESH BATCH "graph: {dims: {b: 1}, ops: [y = x]}\n",
     "3:15: error: batch.size is not an option of a model of kind graph"},
    {"size of a dim", "version: 1\n" MESH "graph: {dims: {b: 0}, ops: [y = x]}\n",
     "3:19: error: size of dim 'b' is '0'; expected a whole number from 1 to 2147483647"},
    {"name of a dim", "version: 1\n" MESH "graph: {dims: {b/c: 1}, ops: [y = x]}\n",
     "3:16: error: a dim is 'b/c'; expected a name of letters, digits, '_' and '.'"},
    {"dims of an array",
     "version: 1\n" MESH "graph: {dims: {b: 1}, inputs: {x: b}, ops: [y = x]}\n",
     "3:35: error: dims of 'x' are 'b'; expected a list of at most 12 dims"},
    {"no dims of an array",
     "version: 1\n" MESH "graph: {dims: {b: 1}, inputs: {x: {below: b}}, ops: [y = x]}\n",
     "3:35: error: 'x' has no dims; expected dims: [...] in it"},
    {"keys of an array",
     "version: 1\n" MESH "graph: {dims: {b: 1}, inputs: {x: {dims: [], size: 3}}, ops: [y = x]}\n",
     "3:46: error: unknown key 'size' in an array; expected dims, below, scale, dtype or "
     "values"},
    {"dtype of an array",
     "version: 1\n" MESH "graph: {dims: {b: 1}, inputs: {x: {dims: [b], dtype: int7}}, ops: [y = "
     "x]}\n",
     "3:54: error: dtype of 'x' is 'int7'; expected float32, float64, bfloat16, float16 or int32"},
    {"values without a file",
     "version: 1\n" MESH "graph: {dims: {b: 1}, inputs: {x: {dims: [b], values: true}}, ops: [y = "
     "x]}\n",
     "3:55: error: 'x' has values, but graph has no values file; expected 'values: FILE' in graph"},
    {"logical axis of a graph",
     "version: 1\n" MESH "graph: {dims: {b: 1}, ops: [y = x]}\naxes: {batch: dp}\n",
     "4:8: error: the model has no logical axis 'batch'; expected one of b"},
    {"logical axis", HEAD "axes: {batch: dq}\n", "5:15: error: axis 'dq' is not in the mesh"},
    {"logical twice", HEAD "axes: {batch: [dp, dp]}\n", "5:15: error: axis 'dp' is used twice in"},
    {"logical map", HEAD "axes: {batch: {a: b}}\n", "5:15: error: logical axis 'batch' is a map;"},
    {"logical nested", HEAD "axes: {batch: [[dp]]}\n", "5:16: error: a mesh axis is a list; expe"},
    {"axes list", HEAD "axes: [dp]\n", "5:7: error: axes is a list; expected a map of logical"},
    {"algorithm", HEAD "algorithms: {all-reduce: [ring]}\n", "5:26: error: an algorithm is a list"},
    {"algorithms text", HEAD "algorithms: ring\n", "5:13: error: algorithms is 'ring'; expected a"},
    {"memory", HEAD "limits: {memory: 12 parsecs}\n",
     "5:18: error: limits.memory: '12 parsecs' is not a valid size; expected a number and B, KiB"},
    {"memory list", HEAD "limits: {memory: []}\n", "5:18: error: limits.memory is a list; expecte"},
    {"memory too large", HEAD "limits: {memory: 16EiB}\n", "5:18: error: limits.memory: size '16E"},
    {"memory negative", HEAD "limits: {memory: -1}\n",
     "5:18: error: limits.memory: '-1' is not a v"},
    {"rate", HEAD "transfers: {rate: 5GB}\n",
     "5:19: error: transfers.rate: '5GB' is not a valid rate; expected a number and B/s, MB/s, "
     "GB/s"},
    {"rate 0", HEAD "transfers: {rate: 0GB/s}\n",
     "5:19: error: transfers.rate is '0GB/s'; expected a rate above 0, for example 200GB/s"},
    {"rate list", HEAD "transfers: {rate: [1]}\n", "5:19: error: transfers.rate is a list; expect"},
    {"latency", HEAD "transfers: {latency: 5}\n",
     "5:22: error: transfers.latency: '5' is not a valid time; expected a number and ns, us"},
    {"latency map", HEAD "transfers: {latency: {}}\n", "5:22: error: transfers.latency is a map;"},
    {"transfers key", HEAD "transfers: {speed: 5us}\n", "5:13: error: "},
    {"tolerance 0", HEAD "tolerance: 0\n", "5:12: error: tolerance is '0'; expected a number abov"},
    {"tolerance 2", HEAD "tolerance: 2\n", "expected a number above 0, at most 1"},
    {"tolerance nan", HEAD "tolerance: .nan\n", "5:12: error: tolerance is '.nan'; expected a num"},
    {"seed", HEAD "seed: -1\n", "5:7: error: seed is '-1'; expected a whole number, at least 0"},
    {"seed fraction", HEAD "seed: 1.5\n", "5:7: error: seed is '1.5'; expected a whole number"},
    {"name", HEAD "name: [a]\n", "5:7: error: name is a list; expected printable text"},
    {"name control", HEAD "name: \"a\\nb\"\n", "5:7: error: name is 'a\\nb'; expected printable"},
    {"residual: normed without input norms",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 16, d_ff: 16, heads: 4, "
     "norm_place: after, residual: normed}\n",
     "error: normed adds to an input norm, but norm_place: after has none; expected serial"},
    {"residual: beside without input norms",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2, "
     "norm_place: after, residual: beside}\n",
     "error: beside shares an input norm, but norm_place: after has none; expected beside-n"},
    {"1 + no scale",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2, "
     "norm_weights: bare, norm_one_plus: true}\n",
     "error: 1 + scale needs norms with a scale; expected false"},
    {"gates of inputs of several experts",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2}\n"
     "moe: {experts: 4, gates_input: true}\n",
     "error: gates on inputs need one expert per token, not 2; expected top_k 1"},
    {"a softmax of sigmoids",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2}\n"
     "moe: {experts: 4, score: sigmoid, after: true}\n",
     "conflicts with sigmoid scores; expected score: softmax"},
    {"a gate of no shared experts",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2}\n"
     "moe: {experts: 4, shared_gate: true}\n",
     "error: the model has no shared experts; expected moe.shared, at least 1"},
    {"copies that would learn",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2}\n"
     "moe: {experts: 4, redundant: 2}\n",
     "error: 2 redundant copies of experts outside of serving; expected 0, or step: [prefill]"},
    {"copies of no experts",
     "version: 1\n" MESH BATCH "model: {kind: block, d_model: 8, d_ff: 8, heads: 2}\n"
     "moe: {redundant: 2}\n",
     "error: 2 redundant copies of experts, but the model has no experts; expected moe.experts"},
    {"copies that are scaled otherwise",
     "version: 1\n" MESH BATCH
     "model: {kind: mixtral, d_model: 8, d_ff: 8, heads: 2, vocab: 8, layers: 1}\n"
     "moe: {experts: 4, redundant: 2}\nproducts: {weights: nf4}\nstep: [decode]\n",
     "error: 2 redundant copies of nf4 experts would differ from the originals"},
    {"strategies map", HEAD "strategies: {a: b}\n", "5:13: error: strategies is a map; expected"},
    {"strategies empty", HEAD "strategies: []\n", "5:13: error: strategies is empty; expected a l"},
    {"strategies null", HEAD "strategies:\n", "5:12: error: strategies is null; expected a list"},
    {"strategy text", HEAD "strategies: [a]\n", "5:14: error: a strategy is 'a'; expected a map"},
    {"strategy without name", HEAD "strategies: [{seed: 1}]\n",
     "5:14: error: a strategy without a name; expected 'name: ...'"},
    {"strategy name twice", HEAD "strategies:\n  - {name: a}\n  - {name: b}\n  - {name: a}\n",
     "8:12: error: strategy 'a' appears twice, first on line 6"},
    {"strategy key", HEAD "strategies: [{name: a, nmae: b}]\n", "5:24: error: unknown key 'nmae'"},
    {"strategy version", HEAD "strategies: [{name: a, version: 1}]\n", "error: unknown key 'versi"},
    {"strategy mesh", HEAD "params: [[a, [tp]]]\nstrategies: [{name: a, mesh: {fsdp: 8}}]\n",
     "5:15: error: axis 'tp' is not in the mesh of strategy 'a' (fsdp=8)"},
    {"strategy lacks a mesh",
     "version: 1\n" MODEL BATCH "strategies:\n  - {name: a, mesh: {b: 1}}\n  - {name: b}\n",
     "6:5: error: no 'mesh'"},
};

static void test_bad(void)
{
    struct text messages = TEXT_INIT;

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct scenario_file *file = load(bad[i].text, NULL, 0, &messages);
        if (!ok(!file && strstr(text_get(&messages), bad[i].message), "refused: %s", bad[i].what))
            diag("%s", text_get(&messages));
        scenario_file_destroy(file);
    }
    text_fini(&messages);
}

static const struct {
    const char *set;
    const char *message; /* the message begins with this */
} bad_sets[] = {
    {"", "--set:1:1: error: '' has no '='; expected KEY=VALUE, for example batch.size=8\n"},
    {"seed", "--set:1:1: error: 'seed' has no '='; expected KEY=VALUE, for example batch.size=8\n"},
    {"=1", "--set:1:1: error: no option ''"},
    {"sede=1", "--set:1:1: error: no option 'sede'; did you mean 'seed'?\n"},
    {"d_ff=1", "--set:1:1: error: no option 'd_ff'; did you mean 'model.d_ff'?\n"},
    {"model.layres=1",
     "--set:1:1: error: no option 'model.layres'; did you mean 'model.layers'?\n"},
    {"seed.x=1", "--set:1:1: error: no option 'seed.x'"},
    {"seed.=1", "--set:1:1: error: no option 'seed.'"},
    {"model.=1", "--set:1:1: error: no option 'model.'"},
    {"model..d_ff=1", "--set:1:1: error: no option 'model..d_ff'"},
    {"model.d_ff.=1", "--set:1:1: error: no option 'model.d_ff.'"},
    {"version=1", "--set:1:1: error: no option 'version'"},
    {"strategies=[]", "--set:1:1: error: no option 'strategies'"},
    {"seed=", "--set:1:6: error: empty; expected"},
    {"seed=[", "--set:1:7: error: did not find expected node content"},
    {"seed=x", "--set:1:6: error: seed is 'x'; expected a whole number, at least 0\n"},
    {"model=3", "--set:1:7: error: model is '3'; expected a map of its options: kind, d_model, "},
    {"model={d_fff: 3}", "--set:1:8: error: unknown key 'd_fff' in model; expected an option of a "
                         "scenario; did you mean 'd_ff'?\n"},
    {"mesh.tpp=2", "--set:1:1: error: axis 'tpp' is not in the mesh (dp=2, tp=4), and is added by "
                   "the whole mesh, as in --set 'mesh={dp: 2, tp: 4}'; did you mean 'tp'?\n"},
    {"mesh.tp=0", "--set:1:9: error: size of mesh axis 'tp' is '0'; expected"},
    {"mesh=3", "--set:1:6: error: mesh is '3'; expected a map of axis names"},
    {"axes.batch=xx", "--set:1:12: error: axis 'xx' is not in the mesh"},
    {"axes.foo=dp", "--set:1:1: error: the model has no logical axis 'foo'"},
    {"axes.=dp", "--set:1:1: error: a logical axis is ''; expected printable text\n"},
    {"seed=\xff", "--set:1:6: error: byte 0xff is not UTF-8"},
};

static void test_bad_sets(void)
{
    struct text messages = TEXT_INIT;

    for (size_t i = 0; i < COUNT(bad_sets); i++) {
        struct scenario_file *file = load(HEAD, &bad_sets[i].set, 1, &messages);
        if (!ok(!file &&
                    !strncmp(text_get(&messages), bad_sets[i].message, strlen(bad_sets[i].message)),
                "refused: --set %zu", i))
            diag("%s", text_get(&messages));
        scenario_file_destroy(file);
    }
    const char *sets[] = {"seed=1", "seed=x"};
    struct scenario_file *file = load(HEAD, sets, 2, &messages);
    ok(!file && !strncmp(text_get(&messages), "--set:2:6: error", 16),
       "refused: the second --set is line 2");
    text_fini(&messages);
}

/* All faults of a file are reported together, in the order of their lines, and none twice. */
static void test_all_at_once(void)
{
    struct text messages = TEXT_INIT;
    struct scenario_file *file = load("version: 1\n"
                                      "mesh: {dp: 2, tp: four}\n"
                                      "model: {kind: mlp, d_model: 0}\n"
                                      "batch: {size: 8, seq: 64}\n"
                                      "params: [[a, [tq]], [b, [tp, tp]]]\n"
                                      "sede: 3\n"
                                      "strategies: [{name: a}, {name: b, seed: x}, {name: c}]\n",
                                      NULL, 0, &messages);
    static const char expected[] =
        "f.yaml:2:19: error: size of mesh axis 'tp' is 'four'; expected a whole number from 1 to "
        "2147483647\n"
        "f.yaml:3:8: error: no 'model.d_ff'; expected a whole number from 1 to 2147483647\n"
        "f.yaml:3:29: error: model.d_model is '0'; expected a whole number from 1 to 2147483647\n"
        "f.yaml:5:15: error: axis 'tq' is not in the mesh of strategy 'a' (dp=2, tp=1); did you "
        "mean 'tp'?\n"
        "f.yaml:5:15: error: axis 'tq' is not in the mesh of strategy 'b' (dp=2, tp=1); did you "
        "mean 'tp'?\n"
        "f.yaml:5:15: error: axis 'tq' is not in the mesh of strategy 'c' (dp=2, tp=1); did you "
        "mean 'tp'?\n"
        "f.yaml:5:30: error: axis 'tp' is used twice in this spec; expected it once\n"
        "f.yaml:6:1: error: unknown key 'sede'; expected an option of a scenario; did you mean "
        "'seed'?\n"
        "f.yaml:7:41: error: seed is 'x'; expected a whole number, at least 0\n";
    struct text without_dir = TEXT_INIT;

    for (const char *line = text_get(&messages); *line; line = strchr(line, '\n') + 1) {
        const char *begin = strncmp(line, "dir/", 4) == 0 ? line + 4 : line;
        text_add_bytes(&without_dir, begin, (size_t)(strchr(begin, '\n') - begin) + 1);
    }
    if (!ok(!file && !strcmp(text_get(&without_dir), expected), "all faults at once"))
        diag("%s", text_get(&messages));
    text_fini(&without_dir);
    text_fini(&messages);
}

/* Load a text of `head`, `n` copies of `piece` numbered from 0, and `tail`. */
static void test_large(const char *what, const char *head, const char *piece, size_t n,
                       const char *tail, const char *message)
{
    struct text text = TEXT_INIT;
    struct text messages = TEXT_INIT;

    text_add(&text, head);
    for (size_t i = 0; i < n; i++) {
        text_add(&text, piece);
        text_addf(&text, "%zu", i);
    }
    text_add(&text, tail);
    struct scenario_file *file = load(text_get(&text), NULL, 0, &messages);
    if (!ok(message ? !file && strstr(text_get(&messages), message) : file != NULL, "large: %s",
            what))
        diag("%.2000s", text_get(&messages));
    scenario_file_destroy(file);
    text_fini(&text);
    text_fini(&messages);
}

static void test_limits(void)
{
    test_large("256 strategies", HEAD "strategies:", "\n  - name: s", 256, "\n", NULL);
    test_large("257 strategies", HEAD "strategies:", "\n  - name: s", 257, "\n",
               "6:3: error: 257 strategies; expected at most 256");
    test_large("1025 rules", HEAD "params: [x", ", x", 1024, "]\n",
               "5:9: error: params has 1025 rules; expected at most 1024");
    test_large("a long name", HEAD "name: ", "0123456789", 20, "\n", "name has 230 bytes");
    test_large("many unknown keys", HEAD "limits: {k: 1", ", k: 1, k", 3000, ": 1}\n",
               "appears twice");
    test_large("many rules with faults", HEAD "params: [[a]", ", [a, [b]], ", 500, "]\nseed: 1\n",
               "more\n");
}

static void test_load(void)
{
    static const struct {
        const char *path;
        const char *message;
    } files[] = {
        {"no/such/file.yaml", "no/such/file.yaml:1:1: error: cannot be opened: "},
        {".", ".:1:1: error: this is a directory"},
        {"/dev/null", "/dev/null:1:1: error: empty"},
        {"/dev/zero", "/dev/zero:1:1: error: the file has more than 16.0 MiB"},
    };

    for (size_t i = 0; i < COUNT(files); i++) {
        struct diag errors = DIAG_INIT;
        struct text text = TEXT_INIT;
        struct scenario_file *file = NULL;
        int status = scenario_load(&file, files[i].path, NULL, 0, &errors);
        diag_print(&errors, &text);
        ok(status < 0 && !file &&
               !strncmp(text_get(&text), files[i].message, strlen(files[i].message)),
           "load: %s", files[i].path);
        text_fini(&text);
        diag_fini(&errors);
    }
}

/* Each shipped scenario loads and round-trips. */
static void test_shipped(void)
{
    static const char *const names[] = {
        "auto",
        "bad_layout",
        "block_2d",
        "block_64_devices",
        "block_dp_tp",
        "block_fsdp",
        "block_sequence_parallel",
        "block_tensor_parallel",
        "data_parallel",
        "deepseek",
        "devices_64",
        "dp_tp",
        "fsdp",
        "fsdp_tp",
        "kv_heads_replicated",
        "llama_gqa_block",
        "mixtral",
        "own_graph",
        "partition_axis",
        "sequence_sharded_attention",
        "strategies",
        "tensor_parallel",
        "tensor_sequence_parallel",
        "weights_2d",
    };
    const char *top = getenv("top_srcdir");

    for (size_t i = 0; i < COUNT(names); i++) {
        char path[4096];
        struct diag errors = DIAG_INIT;
        struct scenario_file *file = NULL;
        snprintf(path, sizeof(path), "%s/scenarios/%s.yaml", top ? top : ".", names[i]);
        int same = scenario_load(&file, path, NULL, 0, &errors) == SHD_OK;
        for (size_t k = 0; same && k < file->nscenarios; k++)
            same = round_trips(&file->scenarios[k]);
        ok(same, "shipped: %s", names[i]);
        diag_write(&errors, stderr);
        scenario_file_destroy(file);
        diag_fini(&errors);
    }
}

static void test_options(void)
{
    struct text help = TEXT_INIT;
    int nbad = 0;

    scenario_print_options(&help, NULL);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        nbad += option_find(option->section, option->key) != option || !option->help ||
                (option->required && option->standard) || !strstr(text_get(&help), option->help);
    }
    ok(nbad == 0, "options: every row is found, and in the help");
    ok(strstr(text_get(&help), "model.layers: a whole number from 1 to 65536; not for models "
                               "graph; default 1\n") != NULL,
       "options: help has the type, range and default");
    ok(strstr(text_get(&help), "model.tied: true or false; not for models mlp, attention, block, "
                               "graph; default false; for gpt2, t5: true\n") &&
           strstr(text_get(&help), "; default rms; for gpt2: layer\n"),
       "options: help has the defaults of kinds");
    text_fini(&help);
}

/* The default of model.tied depends on the kind of the model. */
static void test_defaults_by_kind(void)
{
    static const struct {
        const char *kind, *has;
    } cases[] = {
        {"gpt2", "\n  tied: true\n"}, {"t5", "\n  tied: true\n"}, {"llama3", "\n  tied: false\n"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario_file *file;
        struct text in = TEXT_INIT, out = TEXT_INIT;

        text_addf(&in,
                  "version: 1\nmesh: {dp: 1}\nmodel: {kind: %s, d_model: 8, d_ff: 8, heads: 1, "
                  "vocab: 8}\n" BATCH "params: [[.*, []]]\n",
                  cases[i].kind);
        file = load_good(text_get(&in), NULL, 0);
        if (file)
            scenario_print(&file->scenarios[0], &out);
        ok(strstr(text_get(&out), cases[i].has) != NULL, "default of model.tied: %s",
           cases[i].kind);
        scenario_file_destroy(file);
        text_fini(&in);
        text_fini(&out);
    }
}

/* ---- sweeps ---- */

#define SWEEP(text) "version: 1\n" MODEL BATCH "sweep:\n" text

static void test_sweep(void)
{
    struct scenario_file *file =
        load_good(SWEEP("  devices: [4, 8]\n"
                        "  mesh: {dp: [1, 2, 4], tp: [2, 4]}\n"
                        "  rules:\n"
                        "    a: {axes: {batch: dp}}\n"
                        "    b: {mesh: [{x: 4}, {x: 2, y: [2, 4]}], params: [[.*, [x]]]}\n"),
                  NULL, 0);
    static const char *const names[] = {"a-dp1-tp4", "a-dp2-tp2", "a-dp2-tp4", "a-dp4-tp2",
                                        "b-x4",      "b-x2-y2",   "b-x2-y4"};
    struct text printed = TEXT_INIT, again = TEXT_INIT;
    bool good = file && file->nscenarios == COUNT(names);

    for (size_t i = 0; good && i < COUNT(names); i++)
        good = !strcmp(file->scenarios[i].strategy, names[i]) && file->scenarios[i].swept;
    ok(good, "sweep: every mesh of the devices asked for, with every rule set");
    if (!good)
        return;
    ok(file->scenarios[1].nmesh == 2 && file->scenarios[1].mesh[1].size == 2 &&
           file->scenarios[1].nlogical == 1 && file->scenarios[6].nparams == 1 &&
           !strcmp(file->scenarios[6].mesh[1].name, "y"),
       "sweep: mesh and options of each");
    scenario_print(&file->scenarios[6], &printed);
    scenario_file_destroy(file);
    file = load_good(text_get(&printed), NULL, 0);
    scenario_print(&file->scenarios[0], &again);
    ok(!strcmp(text_get(&printed), text_get(&again)) && !file->scenarios[0].swept,
       "sweep: a strategy is printed as one");
    text_fini(&printed);
    text_fini(&again);
    scenario_file_destroy(file);
    file = load_good("version: 1\n" MODEL BATCH "mesh: {t: 2}\nstrategies: [{name: z}]\n"
                     "sweep: {mesh: {t: [1, 2]}}\n",
                     NULL, 0);
    ok(file->nscenarios == 3 && !file->scenarios[0].swept && file->scenarios[1].swept &&
           !strcmp(file->scenarios[2].strategy, "t2"),
       "sweep: behind the strategies that are listed; without rules");
    scenario_file_destroy(file);
}

static void test_bad_sweep(void)
{
    static const struct {
        const char *what, *text, *message;
    } cases[] = {
        {"no map", SWEEP("  3\n"), "sweep is '3'; expected a map"},
        {"unknown key", SWEEP("  mesch: {a: 1}\n"), "did you mean 'mesh'?"},
        {"no mesh", SWEEP("  devices: 4\n"), "a sweep without a mesh"},
        {"mesh of no map", SWEEP("  mesh: 4\n"), "mesh of a sweep is '4'"},
        {"empty list", SWEEP("  mesh: {a: []}\n"), "size of mesh axis 'a' is an empty list"},
        {"size 0", SWEEP("  mesh: {a: [1, 0]}\n"), "size of mesh axis 'a' is '0'"},
        {"size of words", SWEEP("  mesh: {a: [x]}\n"), "is 'x'; expected a whole number"},
        {"devices of words", SWEEP("  mesh: {a: 1}\n  devices: [x]\n"), "devices of the sweep"},
        {"none of the devices", SWEEP("  mesh: {a: [1, 2]}\n  devices: 3\n"),
         "has no mesh with this"},
        {"rules of no map", SWEEP("  mesh: {a: 1}\n  rules: [b]\n"), "rules of a sweep is a list"},
        {"rule set of no map", SWEEP("  mesh: {a: 1}\n  rules: {b: 3}\n"), "rule set 'b' is '3'"},
        {"bad option", SWEEP("  mesh: {a: 1}\n  rules: {b: {parms: []}}\n"), "unknown key 'parms'"},
        {"axis not there", SWEEP("  mesh: {a: 1}\n  rules: {b: {axes: {batch: c}}}\n"),
         "axis 'c' is not in the mesh"},
        {"twice", SWEEP("  mesh: [{a: 1}, {a: 1}]\n"), "strategy 'a1' appears twice"},
        {"too many",
         SWEEP("  mesh: {a: [1,2,3,4,5,6,7,8], b: [1,2,3,4,5,6,7,8], c: [1,2,3,4,5,6,7,8]}\n"),
         "more than 256 strategies"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text messages = TEXT_INIT;
        struct scenario_file *file = load(cases[i].text, NULL, 0, &messages);

        ok(!file && strstr(text_get(&messages), cases[i].message), "sweep: %s", cases[i].what);
        if (file || !strstr(text_get(&messages), cases[i].message))
            diag("%s", text_get(&messages));
        scenario_file_destroy(file);
        text_fini(&messages);
    }
}

int main(void)
{
    plan(0);
    test_defaults();
    test_full();
    test_names();
    test_places();
    test_tolerance();
    test_mesh();
    test_given();
    test_given_file();
    test_lib_rules();
    test_strategies();
    test_partial_base();
    test_rules_from();
    test_partition_axis();
    test_training();
    test_pipeline();
    test_recompute();
    test_recompute_entries();
    test_context();
    test_training_errors();
    test_sets();
    test_print();
    test_print_again();
    test_bad();
    test_bad_sets();
    test_all_at_once();
    test_limits();
    test_load();
    test_shipped();
    test_options();
    test_defaults_by_kind();
    test_sweep();
    test_bad_sweep();
    return done();
}
