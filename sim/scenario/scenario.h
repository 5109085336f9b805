/* scenario/scenario.h - a scenario file as plain data: what to lay out, where, and how.
 *
 * A file describes one model and one or more strategies.  Each strategy becomes a complete `struct
 * scenario`: the file's own values, overridden by the strategy's, then by those of --set; other
 * options have their defaults.  A `sweep:` makes further strategies from lists of mesh sizes and
 * rule sets (scenario/sweep_strategies.h).  The names of options, their ranges, defaults and help
 * are in one table (scenario/table.h).
 *
 * Thread class: immutable once loaded; any number of threads may read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCENARIO_H
#define SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/mesh.h>
#include <shd/partition_axis.h>
#include <shd/rules.h>
#include <shd/spec.h>

#include "base/diag.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/text.h"
#include "scenario/model_options.h"
#include "scenario/training_options.h"

#define SCENARIO_VERSION 1                  /* of the file format; other versions are refused */
#define SCENARIO_DEFAULT_STRATEGY "default" /* for a file without `strategies` */

/* Limits of a file: several times what people write, and small enough that a malicious file costs
 * only seconds. */
#define SCENARIO_STRATEGIES_MAX 256 /* including the sweep's */
#define SCENARIO_RULES_MAX 1024     /* for `params` and `constraints` each */
#define SCENARIO_NAME_MAX 200       /* bytes of any name or pattern */
#define SCENARIO_GRAPH_MAX 1000000  /* for dims, arrays and ops of the `graph:` section each */
#define SCENARIO_OP_BYTES_MAX 2000  /* of one op's line */

struct scenario_dim {
    char *name;
    int64_t size;
    struct place key_place;
    struct place place; /* of the size */
};

#define SCENARIO_ARRAY_RANK_MAX 12 /* dims of an array of `graph:`; equals GRAPH_RANK_MAX */

/* `x: [b, s, d]`, `ids: {dims: [b, s], below: v}` or `w: {dims: [d, f], dtype: bfloat16, values:
 * layers/0/w}`. */
struct scenario_array {
    char *name;
    size_t ndims;
    char *dims[SCENARIO_ARRAY_RANK_MAX];
    struct place dim_places[SCENARIO_ARRAY_RANK_MAX];
    char *below;        /* integers from 0 to below the size of this dimension, or NULL */
    double scale;       /* of random values, -scale/2..scale/2; 0: chosen by the first dimension */
    bool typed;         /* whether `dtype` is given; else the values' kind or the model decides */
    enum shd_dtype dtype;
    char *values; /* the array's name in the file of values; NULL: random values */
    const struct stored_array *stored; /* its entry there; the element types and shapes fit */
    struct place place; /* of the name */
    struct place below_place, dtype_place, values_place;
};

struct scenario_arrays {
    size_t count;
    struct scenario_array *list;
    struct map names; /* of `list` */
};

/* One text of the `graph:` section with its place: an op's line, or an output's name. */
struct scenario_line {
    char *text;
    struct place place; /* of the text's first character */
};

/* The `graph:` section; model/graph_text.h defines its lines. */
struct scenario_graph {
    size_t ndims;
    struct scenario_dim *dims;
    char *path;                /* of the file of values, from the working directory, or NULL */
    struct array_file *values; /* base/array_file.h */
    struct scenario_arrays inputs, params;
    size_t nops;
    struct scenario_line *ops;
    size_t noutputs; /* 0: the last op is the output */
    struct scenario_line *outputs;
};

struct scenario_batch {
    int64_t size;         /* sequences, over all devices */
    int64_t seq;          /* tokens of each sequence */
    int64_t source;       /* tokens of each sequence for the encoder */
    int64_t microbatches; /* successive parts of the batch; divides size */
};

/* How keys reach queries that are sharded over context.axis. */
enum scenario_context_method {
    SCENARIO_GATHER, /* all keys are gathered */
    SCENARIO_RING,   /* one block at a time, from neighbour to neighbour */
    SCENARIO_NCONTEXT_METHODS
};

/* The order of a sequence's tokens along the axis: kern/sight.h. */
enum scenario_order { SCENARIO_CONTIGUOUS, SCENARIO_ZIGZAG, SCENARIO_STRIPED, SCENARIO_NORDERS };

#define SCENARIO_DOCUMENTS_MAX 65536 /* lengths */

/* Documents packed into a sequence: a token sees only tokens of its own document. */
struct scenario_documents {
    int64_t mean;    /* mean of pseudo-random lengths, in tokens; 0: use `lengths` */
    int64_t seed;    /* of the lengths */
    size_t nlengths; /* 0, and no mean: a sequence is one document */
    int64_t *lengths;
};

struct scenario_context {
    char *axis; /* mesh axis; NULL: none */
    enum scenario_context_method method;
    enum scenario_order order;
    struct scenario_documents documents;
};

/* A text whose bytes are the tokens of a model with a vocabulary. */
struct scenario_data {
    char *path; /* from the working directory; NULL: random tokens */
    struct file_bytes *bytes; /* model/token_inputs.h defines where sequences begin */
};

struct scenario_step {
    bool forward; /* always true */
    bool backward;
    bool update; /* parameter update by the optimizer; requires a backward phase */
    bool prefill; /* of serving: forward of new tokens, whose keys and values are kept ... */
    bool decode;  /* ... or of one token of each sequence, beside what is kept of those before */
};

/* A strategy with step: [prefill, decode] is read as two. */
enum scenario_half { SCENARIO_WHOLE, SCENARIO_PREFILL, SCENARIO_DECODE };

/* The type of what is kept: the model's, codes of 8 bits whose scale is 1, or of 4 bits with scales
 * of blocks. */
enum scenario_cache_type {
    SCENARIO_CACHE_COMPUTE,
    SCENARIO_CACHE_E4M3,
    SCENARIO_CACHE_E5M2,
    SCENARIO_CACHE_INT4,
    SCENARIO_CACHE_MXFP4,
    SCENARIO_NCACHE_TYPES
};

/* What is kept of tokens, and how many are made. */
struct scenario_decode {
    int64_t tokens;  /* tokens to generate per sequence, one per step */
    int64_t context; /* tokens kept before the first step */
    int64_t page;    /* tokens of a page of the cache; 0: it is contiguous */
    enum scenario_cache_type cache;
    int64_t block;   /* elements of a row with a scale, of a cache of 4 bits; 0: its type's own */
    int64_t draft;   /* tokens that a draft proposes in each step, to be verified at once */
    double accepted; /* of these, on average */
    int64_t shared;  /* tokens that all sequences begin with, and which are kept once in a pool */
};

#define SCENARIO_MICROBATCHES_MAX 4096
#define SCENARIO_STAGES_MAX 65536

/* Places all values whose name matches the pattern in a stage. */
struct scenario_stage_place {
    char *pattern; /* for re.search(); it compiles */
    int64_t stage;
    struct place place; /* of the pattern */
};

/* Consecutive layers in stages: model/pipeline.h.  The caller checks that the schedule exists. */
struct scenario_pipeline {
    char *axis; /* mesh axis of the stages; NULL: no pipeline */
    char *schedule;
    int64_t stages_per_rank; /* 0: the schedule's own number */
    bool weighed;            /* layers are split by their work: model/weigh.h */
    size_t nlayers;          /* 0: weighed, or as even as possible */
    int64_t *layers;         /* in each stage */
    size_t nplaces;
    struct scenario_stage_place *places; /* the first matching pattern decides */
};

struct scenario_transfers {
    uint64_t bytes_per_s; /* into each device, at least 1 */
    int64_t latency_ns;
};

/* The software of a job: a number of the option's words. */
enum scenario_software {
    SCENARIO_SOFTWARE_OF_CLUSTER,
    SCENARIO_SOFTWARE_NAMED /* this one and those behind it */
};

/* Whether software makes values inside one kernel. */
enum scenario_fusion {
    SCENARIO_APART, /* each op is a kernel, and leaves its result in memory */
    SCENARIO_ONE_KERNEL,
    SCENARIO_FUSED_AS_CLUSTER, /* as the software of the cluster does; apart without a cluster */
    SCENARIO_NFUSIONS
};

/* What is fused: cross-entropy of logits in 16 bits, the activations of mlps and experts, and experts'
 * gates with them; and in how many chunks of tokens the head and the loss are computed. */
struct scenario_fused {
    enum scenario_fusion loss, activation, gates;
    int64_t loss_chunks;
    enum scenario_beside loss_again; /* whether the backward phase makes a chunk's logits again */
};

/* Which transfers run beside computation, for times on `hardware`: each overrides a field of
 * struct hardware_software. */
struct scenario_overlap {
    enum scenario_beside gradients, weights, products, sends, pairs;
};

/* The straggler: a slow device, for times on `hardware`. */
struct scenario_straggler {
    int64_t device;
    double compute, links; /* slowdown factors; 0: none */
};

/* The source of parameters' specs: `rules` or `params`, whichever is given last. */
enum scenario_rules_from {
    SCENARIO_RULES_PARAMS,
    SCENARIO_RULES_AUTO /* from shapes: shd/auto_shard.h, strict, dimensions of any size */
};

/* What happens to a value that the forward phase gathered and the backward phase reads as well. */
enum scenario_gathered {
    SCENARIO_GATHER_AGAIN, /* keep the shard, and gather it again */
    SCENARIO_GATHERED_KEPT,
    SCENARIO_NGATHERED
};

/* How to place values without a rule or constraint of their own. */
enum scenario_placement {
    SCENARIO_FOLLOW, /* follow operands, rules and constraints */
    SCENARIO_SEARCH, /* minimise the bytes moved */
    SCENARIO_NPLACEMENTS
};

/* What happens to dimensions that do not divide by their rules' axes. */
enum scenario_uneven {
    SCENARIO_REFUSED, /* report an error */
    SCENARIO_PADDED,  /* extend them: graph/pad.h */
    SCENARIO_NUNEVENS
};

/* The cost that the partitioner minimises. */
enum scenario_price {
    SCENARIO_PRICE_BYTES, /* bytes that all devices receive */
    SCENARIO_PRICE_TIME,  /* seconds on the scenario's cluster */
    SCENARIO_NPRICES
};

/* `[pattern, spec]`, for parameters and constraints; the first rule whose pattern matches
 * applies. */
struct scenario_rule {
    char *pattern;            /* for re.search(); it compiles */
    struct shd_spec *spec;    /* axes are in the mesh, none twice */
    struct shd_spec *written; /* as in the file, with names of `partition_axis`; NULL: as `spec` */
    struct place place;       /* of the pattern */
    struct place *entry_places; /* of each entry of the spec */
    struct place spec_place;
    char *source; /* the file of all these places, which a program was traced from; NULL: the rule's
                     own */
};

/* `batch: dp`, `seq: [dp, tp]`, `mlp: null`. */
struct scenario_logical {
    char *name;
    size_t naxes; /* 0: null, not sharded */
    char **axes;  /* names of mesh axes, the first the most significant */
    size_t nwritten;
    char **written;         /* as in the file, with names of `partition_axis`; NULL: as `axes` */
    struct place key_place; /* of the logical axis's name */
    struct place place;     /* of the value */
};

/* `partition_axis:`, which maps names in specs to mesh axes: scenario/partition_axis_value.h. */
struct scenario_partition_axis {
    bool used; /* given, even if only as {} */
    enum shd_axis_mode mode;
    size_t nfields;
    struct scenario_logical *fields; /* the given fields, under their full names: "head_axis" */
    struct shd_partition_axis *axis; /* built from these fields; NULL unless used */
};

/* `all-reduce: ring`; the caller checks that collective and algorithm exist. */
struct scenario_algorithm {
    char *kind;
    char *name;
    struct place kind_place;
    struct place place; /* of the algorithm's name */
};

#define SCENARIO_OPTIONS_MAX 256 /* maximum rows of the option table */

struct scenario {
    char *name;         /* `name:`, or the file name without directory and extension */
    char *strategy;     /* name of the strategy; distinct within a file */
    bool swept;         /* made by the file's sweep; the caller checks that it divides */
    bool planned;       /* set by callers that execute nothing: what only an execution finds out may
                           be assumed */
    struct place place; /* of the strategy, or of the file's first value */
    size_t nmesh;
    struct scenario_axis *mesh; /* at most SHD_MESH_AXES_MAX; the product fits an int32_t */
    struct scenario_model model;
    struct scenario_batch batch;
    struct scenario_context context;
    struct scenario_data data;
    struct scenario_graph graph;
    struct scenario_step step;
    int64_t steps; /* consecutive steps; 1 without an update, and in a decode the tokens */
    struct scenario_decode decode;
    const struct scenario *
        prefill; /* of a decode: the prefill in the same file that fills the KV cache; NULL: none */
    bool apart;                     /* a prefill on devices of its own */
    struct scenario_optimizer optimizer;
    struct scenario_types types;
    struct scenario_products products;
    struct scenario_loss_scale loss_scale;
    struct scenario_zero zero;
    struct scenario_pipeline pipeline;
    struct scenario_recompute recompute;
    struct scenario_patterns frozen; /* parameters that are not learned */
    struct scenario_lora lora;
    struct scenario_offload offload;
    char *hardware; /* a cluster's name, or the path of its file; NULL: none */
    int64_t slices; /* slices of a torus that the devices come from */
    enum scenario_software software;
    struct scenario_overlap overlap;
    struct scenario_fused fused;
    struct scenario_straggler straggler;
    enum scenario_gathered gathered;
    enum scenario_placement placement;
    enum scenario_uneven uneven;
    enum scenario_price price;
    enum scenario_rules_from rules;
    size_t nparams; /* 0 if specs come from shapes */
    struct scenario_rule *params;
    size_t nlogical;
    struct scenario_logical *logical; /* the `axes:` option */
    struct scenario_partition_axis partition_axis;
    size_t nconstraints;
    struct scenario_rule *constraints;
    size_t nalgorithms;
    struct scenario_algorithm *algorithms;
    struct scenario_limits limits;
    struct scenario_transfers transfers;
    double tolerance; /* additional tolerance of the verification, relative to the largest value;
                         0: none */
    uint64_t seed;
    struct place places[SCENARIO_OPTIONS_MAX]; /* by option; see scenario_place() */
};

struct scenario_file {
    char *path; /* must outlive the file: places point to this path */
    size_t nscenarios;
    struct scenario *scenarios;
};

/* Load a file ("-": standard input).  `sets` are "key=value" or "key.sub=value" with a YAML value,
 * applied in order to every strategy; a fault in the n-th is at place `--set:n:COLUMN`.
 *
 * On success stores the file in *out; free it with scenario_file_destroy().  On failure reports
 * every error found to `diag`, leaves *out alone and returns a status below 0. */
SHD_MUST_CHECK int scenario_load(struct scenario_file **out, const char *path,
                                 const char *const *sets, size_t nsets, struct diag *diag);

/* scenario_load() for the strategies with some names: of the others only the name is used, and
 * their faults are not reported.  No names: all strategies. */
struct scenario_choice {
    const char *const *names;
    size_t nnames;
};
SHD_MUST_CHECK int scenario_load_chosen(struct scenario_file **out, const char *path,
                                        const char *const *sets, size_t nsets,
                                        struct scenario_choice choice, struct diag *diag);

/* scenario_load() for a text; `path` is its name in places and messages. */
SHD_MUST_CHECK int scenario_parse(struct scenario_file **out, const char *path, const char *text,
                                  size_t length, const char *const *sets, size_t nsets,
                                  struct diag *diag);

/* Read the text of a file ("-": standard input); a failure is reported to `diag`. */
SHD_MUST_CHECK int scenario_read(struct text *out, const char *path, struct diag *diag);

/* Both: scenario_load_chosen() for a text. */
SHD_MUST_CHECK int scenario_parse_chosen(struct scenario_file **out, const char *path,
                                         const char *text, size_t length, const char *const *sets,
                                         size_t nsets, struct scenario_choice choice,
                                         struct diag *diag);

/* Free a file and its scenarios.  NULL is allowed. */
void scenario_file_destroy(struct scenario_file *file);

/* Note that nothing of a file will be executed (`planned` of each scenario). */
void scenario_file_plan(struct scenario_file *file);

/* Suggest an option for an unknown key: an option or section, by its path or by the last component,
 * or the size of an axis ("mesh.tp").  Writes into buf, cut if it does not fit; "" if none is near.
 * Returns buf. */
const char *scenario_nearest_option(const char *key, char *buf, size_t size);

/* The place of an option's value ("model.d_ff", "limits.memory", "mesh"); of its section, or else
 * of the scenario, if the option has its default.  An unknown name gives the scenario's place. */
struct place scenario_place(const struct scenario *scenario, const char *option);

/* The place of an error that was found behind the reader: that of the option that its text names at
 * its beginning or behind ": ", as in "moe.node_axis: experts are not sharded over the axis"; of
 * a text without one, `otherwise`. */
struct place scenario_blamed(const struct scenario *scenario, const char *text,
                             struct place otherwise);

/* The size of a mesh axis; 1: NULL, or no axis of the mesh. */
int32_t scenario_axis_size(const struct scenario *scenario, const char *axis);

/* Create the mesh as a struct shd_mesh.  Errors as shd_mesh_create(). */
SHD_MUST_CHECK int scenario_mesh(struct shd_mesh **out, const struct scenario *scenario,
                                 struct shd_error *err);

/* Create shd_rules from `params` or `constraints`, numbered alike.  Free with shd_rules_destroy().
 * Errors as shd_rules_add(). */
SHD_MUST_CHECK int scenario_rules(struct shd_rules **out, const struct scenario_rule *rules,
                                  size_t nrules, struct shd_error *err);

/* Read rules from a node: a list, as `params`, or a scenario with `params`, `rules` and
 * `partition_axis`. *rules is NULL if specs come from shapes.  Reports every fault; SHD_EINVAL if
 * there was any.  Free the rules with scenario_free_rules() either way. */
struct yaml_node;
SHD_MUST_CHECK int scenario_read_rules(struct scenario_rule **rules, size_t *nrules,
                                       const struct yaml_node *node, struct diag *diag);
void scenario_free_rules(struct scenario_rule *rules, size_t nrules);

/* The logical axis of a name, or NULL. */
const struct scenario_logical *scenario_find_logical(const struct scenario *scenario,
                                                     const char *name);

/* Whether a list has an axis of this name; false for NULL. */
bool scenario_has_axis(const struct scenario_axis_list *axes, const char *name);

/* The algorithm requested for a kind of collective ("all-reduce"), or NULL. */
const struct scenario_algorithm *scenario_find_algorithm(const struct scenario *scenario,
                                                         const char *kind);

/* Print the canonical text: YAML with every option in the table's order, which loads as an equal
 * scenario. */
void scenario_print(const struct scenario *scenario, struct text *out);

/* Print a text that loads as an equal scenario, with only the options that differ from their
 * defaults; where none such can be written, the canonical text. */
void scenario_print_brief(const struct scenario *scenario, struct text *out);

/* Call fn() for each option that differs from its default, with its path ("model.layers") and its
 * value on one line: the options that determine the computation, without layout rules (the mesh,
 * `params`, constraints and their axes), limits, the cluster and the seed.  A status from fn()
 * other than SHD_OK ends the calls and is returned; SHD_ENOMEM. */
typedef int (*scenario_given_fn)(void *arg, const char *option, const char *value);
SHD_MUST_CHECK int scenario_each_given(const struct scenario *scenario, scenario_given_fn fn,
                                       void *arg);

/* Call fn() for each part of the layout that scenario_each_given() leaves out, in the order of the
 * file: an axis of the mesh ("mesh.tp", "4"), a rule ("params mlp/up/kernel", "[null, tp]"), a
 * constraint, a logical axis ("axes.batch", "dp"); `place` is that of the value.  As
 * scenario_each_given(). */
typedef int (*scenario_line_fn)(void *arg, const char *key, const char *value,
                                struct place key_place, struct place place);
SHD_MUST_CHECK int scenario_each_line(const struct scenario *scenario, scenario_line_fn fn,
                                      void *arg);

/* Whether any values are named, and the option of a scenario that offloads something; NULL: nothing
 * is offloaded. */
bool scenario_has_values(const struct scenario_values *values);
bool scenario_policy_offloads(const struct scenario *scenario); /* of recompute */
const char *scenario_offload_option(const struct scenario *scenario);

/* The name of published model n, a value of model.size; NULL after the last. */
const char *scenario_model_name(size_t n);

/* Find a published model by its name, or by that of its repository, as Qwen/Qwen3-8B.  Names are
 * offered to `nearest` until it is found. */
bool scenario_find_model(size_t *n, const char *name, struct nearest *nearest);

/* Name i of the repositories of published model n; NULL after the last. */
const char *scenario_model_repository(size_t n, size_t i);

/* Append options of `products` that keep the weights of a model of a published size, or of a
 * config.json and the hf_quant_config.json beside it, in the types in which they were published;
 * none: they have 16 bits or more.  *otherwise becomes what is planned in another way, static text;
 * NULL: nothing.  SHD_EINVAL (a file that cannot be read or is no map), SHD_ENOMEM; reported. */
SHD_MUST_CHECK int scenario_model_products(struct text *products, const char **otherwise,
                                           const struct scenario_model *model, struct diag *diag);

/* The number of learned positions of published model n; 0: none. */
int64_t scenario_model_positions(size_t n);

/* The most tokens of a sequence that a model's config.json, or that of its published size, allows;
 * 0: it does not say. */
int64_t scenario_model_longest(const struct scenario_model *model);

/* Print all keys and options of a file, with type, default and help, for people.  With a `key` only
 * those whose path contains it ("zero", "model.d", "heads"); returns how many. */
size_t scenario_print_options(struct text *out, const char *key);

/* Whether a strategy's name is a given one, or that of half of it: NAME/prefill, NAME/decode. */
bool scenario_is_called(const char *strategy, const char *name);

/* Whether a step is of serving; and then the tokens of each sequence that it takes in, those that
 * are kept before, all that it has in the end, and how many can be kept: a multiple of what pages
 * and the order over context.axis need. */
bool scenario_serves(const struct scenario *scenario);
int64_t scenario_new_tokens(const struct scenario *scenario); /* of other steps: batch.seq */
int64_t scenario_kept_tokens(const struct scenario *scenario);
/* The most sequences of each part of the batch by the limits of the server; INT64_MAX: any. */
int64_t scenario_most_sequences(const struct scenario *scenario);
int64_t scenario_sequence_tokens(const struct scenario *scenario);
int64_t scenario_cache_tokens(const struct scenario *scenario);

/* The first token in the KV cache of layers with a window or chunks; later queries see no earlier
 * token. 0 for other layers. */
int64_t scenario_cache_from(const struct scenario *scenario, enum scenario_layer_type sees);

/* The cache's capacity in tokens, from scenario_cache_from() on; for chunks a whole chunk, even if
 * the sequence has only begun to fill the chunk. */
int64_t scenario_cache_room(const struct scenario *scenario, enum scenario_layer_type sees);

/* Tokens that a step of a decode makes of each sequence on average, and the number of steps. */
double scenario_step_tokens(const struct scenario *scenario);
int64_t scenario_decode_steps(const struct scenario *scenario);

/* Devices, or groups of them, that have sequences of their own: the sizes of the batch's axes. */
int64_t scenario_batch_shards(const struct scenario *scenario);

/* Whether an axis shards the batch. */
bool scenario_shards_batch(const struct scenario *scenario, const char *axis);

/* Bits of a code of the cache: 8 or 4; 0: it is kept in the type of the computation. */
int scenario_cache_bits(const struct scenario *scenario);

/* The parts in which the cache lies: the size of context.axis. */
int64_t scenario_cache_parts(const struct scenario *scenario);

/* The pieces into which a sequence is cut: zigzag order gives each part two. */
int64_t scenario_pieces(const struct scenario *scenario);

/* The type of a layer, from 0 on; whether it has attention, or a state in its place; whether it has
 * either or a convolution, and is no mlp alone; whether layers of a type rotate no positions in; and
 * what its tokens attend to: one of the first three types, without attention the first. */
enum scenario_layer_type scenario_layer_type(const struct scenario_model *model, int64_t layer);
bool scenario_layer_attends(enum scenario_layer_type type);
bool scenario_layer_has_state(enum scenario_layer_type type);
bool scenario_layer_mixes(enum scenario_layer_type type);
bool scenario_layer_in_order(enum scenario_layer_type type); /* it has a state or a convolution */
bool scenario_layer_is_plain(enum scenario_layer_type type);
enum scenario_layer_type scenario_layer_sight(enum scenario_layer_type type);

/* Whether model.layer_types has a type. */
bool scenario_lists_type(const struct scenario_model *model, enum scenario_layer_type type);

/* Heads of layers with a state, and of their keys. */
int64_t scenario_state_heads(const struct scenario_model *model);
int64_t scenario_state_keys(const struct scenario_model *model);

const char *scenario_layer_type_name(enum scenario_layer_type type);
const char *scenario_rope_scaling_name(enum scenario_rope_scaling_kind kind);
const char *scenario_kind_name(enum scenario_kind kind);
const char *scenario_activation_name(enum scenario_activation activation);

/* Whether an mlp with the activation has a gate kernel. */
bool scenario_is_gated(enum scenario_activation activation);

/* Whether the model has experts whose results its gates multiply, and not their inputs. */
bool scenario_gates_results(const struct scenario_model *model);
const char *scenario_optimizer_name(enum scenario_optimizer_kind kind);

/* "megatron", "fsdp2", ...; "cluster": that of the cluster's file. */
const char *scenario_software_name(enum scenario_software software);

/* "compute", "int8", ... */
const char *scenario_base_name(enum scenario_base base);
const char *scenario_routing_name(enum scenario_routing routing);
const char *scenario_drop_name(enum scenario_drop drop);

/* The dtype of a value of `types`. */
enum shd_dtype scenario_type(const struct scenario *scenario, enum scenario_type type);

#endif /* SCENARIO_SCENARIO_H */
