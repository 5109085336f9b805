/* scenario/scenario.h - a scenario file as plain data: what to lay out, where, and how.
 *
 * A file describes one model and one or more strategies.  Each becomes a whole `struct scenario`:
 * the file's own values, then the strategy's, then those of --set; what is left has its default.
 * A `sweep:` makes further strategies from lists of mesh sizes and rule sets (scenario/sweep.h).
 * The texts of options, their ranges, defaults and help stand in one table (scenario/table.h).
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
#include "base/text.h"

#define SCENARIO_VERSION 1                  /* of the form of files; any other is refused */
#define SCENARIO_DEFAULT_STRATEGY "default" /* of a file without `strategies` */

/* What a file may hold: several times what people write, and little enough that a file which is
 * made to cost much costs seconds. */
#define SCENARIO_STRATEGIES_MAX 256 /* with those of the sweep */
#define SCENARIO_RULES_MAX 1024     /* in `params` and in `constraints`, each */
#define SCENARIO_NAME_MAX 200       /* bytes of any name or pattern */
#define SCENARIO_GRAPH_MAX 1024     /* dims, arrays, ops of the `graph:` section, each */
#define SCENARIO_OP_BYTES_MAX 2000  /* of one op's line */

enum scenario_kind {
    SCENARIO_MLP,
    SCENARIO_ATTENTION,
    SCENARIO_BLOCK,       /* pre-norm: attention and mlp, each with its residual sum */
    SCENARIO_TRANSFORMER, /* embedding, blocks, norm, head, cross-entropy */
    SCENARIO_GPT2,        /* a transformer: learned positions, layer norms, biases, tied head */
    SCENARIO_LLAMA3,      /* a transformer: rope, grouped queries, swiglu, RMS norms */
    SCENARIO_T5,          /* encoder and decoder: relative positions, cross attention */
    SCENARIO_MIXTRAL,     /* as llama3, with experts in the place of the mlp */
    SCENARIO_DEEPSEEK,    /* experts, some of them for all tokens, and compressed attention */
    SCENARIO_GRAPH,       /* the scenario's own, in its `graph:` section */
    SCENARIO_NKINDS
};

enum scenario_norm { SCENARIO_RMS, SCENARIO_LAYER_NORM, SCENARIO_NNORMS };

enum scenario_activation {
    SCENARIO_GELU,
    SCENARIO_SWIGLU, /* gated: silu(x * gate) times (x * up) */
    SCENARIO_RELU,
    SCENARIO_SILU,
    SCENARIO_GEGLU, /* gated: gelu(x * gate) times (x * up) */
    SCENARIO_NACTIVATIONS
};

/* Which kernels of attention have a bias beside them. */
enum scenario_attention_bias {
    SCENARIO_BIAS_NONE,
    SCENARIO_BIAS_QKV,
    SCENARIO_BIAS_ALL,
    SCENARIO_NATTENTION_BIASES
};

/* How attention is done. */
enum scenario_attention {
    SCENARIO_FUSED,   /* one kernel, which keeps no scores */
    SCENARIO_UNFUSED, /* products and a softmax, each an array that memory has */
    SCENARIO_NATTENTIONS
};

struct scenario_rope {
    bool used;
    bool interleaved; /* the pairs are elements (2i, 2i+1), else (i, i + half) */
    double theta;
};

/* What a router's scores are made into. */
enum scenario_score { SCENARIO_SOFTMAX, SCENARIO_SIGMOID, SCENARIO_NSCORES };

/* Which tokens come first where an expert cannot take all. */
enum scenario_drop {
    SCENARIO_DROP_TOKENS,  /* the last tokens go: queues in the order of tokens */
    SCENARIO_DROP_CHOICES, /* the last choices go: first choices of all tokens come first */
    SCENARIO_NDROPS
};

/* Who chooses the experts of a token: the router, or a workload that stands in for it. */
enum scenario_routing {
    SCENARIO_ROUTING_LEARNED,
    SCENARIO_ROUTING_UNIFORM,
    SCENARIO_ROUTING_ZIPF,
    SCENARIO_ROUTING_HOT_EXPERT,
    SCENARIO_ROUTING_HOT_RANK,
    SCENARIO_ROUTING_RAGGED,
    SCENARIO_ROUTING_EMPTY,
    SCENARIO_ROUTING_ROTATING,
    SCENARIO_NROUTINGS
};

/* Experts in the place of an mlp; graph/layers/moe.h. */
struct scenario_moe {
    int64_t experts; /* 0: there are none, and the rest means nothing */
    int64_t top_k;
    int64_t d_ff;               /* of one expert; 0: model.d_ff */
    int64_t shared;             /* that every token goes through, as one mlp of so many widths */
    int64_t first_dense, every; /* layers that have none: the first, and all but each every-th */
    enum scenario_score score;
    bool renormalize;
    double scale;         /* of gates */
    bool bias;            /* added to scores for the choice alone */
    int64_t groups, kept; /* of experts, and of those the ones that a token may choose from */
    double capacity; /* tokens of an expert, times those that it would have if all had the same; 0:
                        as many as come */
    enum scenario_drop drop;
    int64_t token_groups; /* of sequences, each with queues and a capacity of its own; 0: as the
                             batch is cut along axes that do not cut experts */
    double aux_loss, z_loss;
    enum scenario_routing routing;
    double skew;   /* of a workload, what it means there; 0: its own default */
    int64_t ranks; /* that a workload deals experts or tokens to; 0: as the mesh cuts experts */
};

/* Attention whose keys and values come from one short vector a token. */
struct scenario_mla {
    int64_t kv_rank; /* 0: attention is as usual, and the rest means nothing */
    int64_t q_rank;  /* of queries; 0: they are not compressed */
    int64_t rope_dim, value_dim;
};

struct scenario_axis {
    char *name;
    int32_t size; /* devices, at least 1 */
    struct place place;
};

struct scenario_model {
    struct place place; /* of the `model:` map */
    enum scenario_kind kind;
    enum scenario_activation activation;
    enum shd_dtype dtype; /* SHD_F32, SHD_F64, SHD_BF16, SHD_F16 */
    bool bias;
    bool causal;
    enum scenario_norm norm;
    int64_t d_model;
    int64_t d_ff;
    int64_t layers;
    int64_t heads;
    int64_t kv_heads; /* divides heads */
    int64_t head_dim;
    int64_t vocab;
    struct scenario_rope rope;
    enum scenario_attention_bias attention_bias;
    bool qk_norm; /* queries and keys are normalised, each head by itself */
    enum scenario_attention attention;
    double norm_eps;   /* 0: that of the kind of norm */
    int64_t window;    /* the last so many tokens that a token sees, itself among them; 0: all */
    int64_t positions; /* that have a learned vector each; 0: none has */
    bool tied;         /* the head is the embedding's table */
    int64_t decoder_layers;
    int64_t buckets, distance; /* of relative positions: model/relative.h */
    struct scenario_moe moe;
    struct scenario_mla mla;
    int64_t size; /* a published one: scenario/published.h; 0: as the other options say */
    double scale; /* of that size, above 0 to 1 */
    char *from;   /* a config.json whose sizes these are, or NULL */
};

struct scenario_dim {
    char *name;
    int64_t size;
    struct place key_place;
    struct place place; /* of the size */
};

#define SCENARIO_ARRAY_RANK_MAX 8 /* dims of an array of `graph:`, as GRAPH_RANK_MAX */

/* `x: [b, s, d]` or `ids: {dims: [b, s], below: v}`. */
struct scenario_array {
    char *name;
    size_t ndims;
    char *dims[SCENARIO_ARRAY_RANK_MAX];
    struct place dim_places[SCENARIO_ARRAY_RANK_MAX];
    char *below;        /* whole numbers from 0 up to the size of this dimension, or NULL */
    double scale;       /* of random values, -scale/2..scale/2; 0: by the first dimension */
    struct place place; /* of the name */
    struct place below_place;
};

struct scenario_arrays {
    size_t count;
    struct scenario_array *list;
};

/* One text of the `graph:` section with its place: an op's line, or an output's name. */
struct scenario_line {
    char *text;
    struct place place; /* of the text's first character */
};

/* The `graph:` section; model/graph_text.h says what its lines mean. */
struct scenario_graph {
    size_t ndims;
    struct scenario_dim *dims;
    struct scenario_arrays inputs, params;
    size_t nops;
    struct scenario_line *ops;
    size_t noutputs; /* 0: the last op's */
    struct scenario_line *outputs;
};

struct scenario_batch {
    int64_t size;         /* sequences, over all devices */
    int64_t seq;          /* tokens of each */
    int64_t source;       /* tokens of each that an encoder reads */
    int64_t microbatches; /* that the batch is done in, one after the other; they divide it */
};

/* How the keys come to queries that are sharded over context.axis. */
enum scenario_context_method {
    SCENARIO_GATHER, /* gathered, all of them */
    SCENARIO_RING,   /* a block at a time, from neighbour to neighbour */
    SCENARIO_NCONTEXT_METHODS
};

/* Which tokens of a sequence lie where along the axis: kern/sight.h. */
enum scenario_order { SCENARIO_CONTIGUOUS, SCENARIO_ZIGZAG, SCENARIO_STRIPED, SCENARIO_NORDERS };

#define SCENARIO_DOCUMENTS_MAX 65536 /* lengths */

/* Documents that are packed in a sequence: tokens see those of their own only. */
struct scenario_documents {
    int64_t mean;    /* tokens, of pseudo-random lengths; 0: by `lengths` */
    int64_t seed;    /* of these */
    size_t nlengths; /* 0 and no mean: a sequence is one document */
    int64_t *lengths;
};

struct scenario_context {
    char *axis; /* of the mesh; NULL: none */
    enum scenario_context_method method;
    enum scenario_order order;
    struct scenario_documents documents;
};

/* A text whose bytes are the tokens of a model that has a vocabulary. */
struct scenario_data {
    char *path; /* from the working directory; NULL: tokens are random numbers */
    struct file_bytes *bytes; /* model/tokens.h has the places where sequences begin */
};

struct scenario_step {
    bool forward; /* always true */
    bool backward;
    bool update; /* of parameters, by the optimizer; there is a backward phase then */
};

enum scenario_optimizer_kind {
    SCENARIO_NO_OPTIMIZER,
    SCENARIO_SGD,
    SCENARIO_ADAMW,
    SCENARIO_NOPTIMIZERS
};

enum scenario_decay { SCENARIO_CONSTANT, SCENARIO_COSINE, SCENARIO_NDECAYS };

/* What each stands for is told by graph/optimizer/state.h. */
struct scenario_optimizer {
    enum scenario_optimizer_kind kind; /* SCENARIO_NO_OPTIMIZER: the step has no update */
    enum scenario_decay decay;
    double lr;
    int64_t warmup;
    double betas[2]; /* each at least 0 and below 1 */
    double eps, weight_decay, momentum;
    double clip; /* 0: gradients are not clipped */
};

/* Of `types`: a type by its number in shd/dtype.h, or that of something else. */
enum scenario_type {
    SCENARIO_TYPE_COMPUTE = SHD_I32, /* model.dtype: whole numbers are not learned */
    SCENARIO_TYPE_PARAMETERS,        /* types.parameters */
    SCENARIO_NTYPES
};

/* What each stands for is told by graph/optimizer/state.h. */
struct scenario_types {
    enum scenario_type parameters, gradients, moments, reduce;
};

enum scenario_loss_scale_kind {
    SCENARIO_NO_LOSS_SCALE,
    SCENARIO_STATIC_LOSS_SCALE,
    SCENARIO_DYNAMIC_LOSS_SCALE,
    SCENARIO_NLOSS_SCALES
};

struct scenario_loss_scale {
    enum scenario_loss_scale_kind kind;
    int64_t initial;
    int64_t growth_interval; /* good steps before the scale is doubled */
};

/* Activations that the backward phase computes again: graph/recompute.h. */
enum scenario_recompute_kind {
    SCENARIO_RECOMPUTE_NONE,
    SCENARIO_RECOMPUTE_SELECTIVE,
    SCENARIO_RECOMPUTE_FULL,
    SCENARIO_RECOMPUTE_NAMED, /* values by patterns */
    SCENARIO_NRECOMPUTES
};

struct scenario_recompute {
    enum scenario_recompute_kind kind;
    int64_t group, every, first;    /* of layers, at least 1; first 0: all */
    size_t npatterns;               /* named: at least one */
    struct scenario_rule *patterns; /* without specs */
    bool whole;                     /* not named: with what nobody reads again */
    size_t nkept;                   /* not named: values that are kept all the same */
    struct scenario_rule *kept;     /* patterns, without specs */
};

#define SCENARIO_STEPS_MAX 100000  /* each has a number for its loss, and a time on each device */
#define SCENARIO_PREFETCH_MAX 1000 /* layers: all of a model at once */

/* Names of mesh axes, the first the most major. */
struct scenario_axis_list {
    size_t n;
    char **names;
};

#define SCENARIO_RESHARD_ALWAYS (-1)
#define SCENARIO_RESHARD_DEFAULT 0 /* never in a pipeline, else always: as PyTorch's training does */
#define SCENARIO_RESHARD_NEVER 1

/* How arrays are cut of which no dimension divides by the axes of ZeRO; model/zero.h. */
enum scenario_zero_layout { SCENARIO_FLAT, SCENARIO_PAD };

/* ZeRO: what else is sharded over the axes that shard the data; model/zero.h. */
struct scenario_zero {
    int64_t stage; /* 0 to 3; 0: nothing */
    struct scenario_axis_list axes; /* none, which only stage 0 allows */
    enum scenario_zero_layout layout;
    int64_t reshard; /* of stage 3: SCENARIO_RESHARD_..., or how many neighbours parameters stay
                        sharded over between their uses: 1 is never, all that shard them always */
    int64_t prefetch; /* layers; partition/overlap.h */
};

#define SCENARIO_STAGES_MAX 65536

/* What is called by a name that the pattern is found in lies in a stage. */
struct scenario_stage_place {
    char *pattern; /* searched for, as re.search does; it compiles */
    int64_t stage;
    struct place place; /* of the pattern */
};

/* Layers in stages, one after the other: model/pipeline.h.  Whether there is such a schedule is for
 * the caller to say. */
struct scenario_pipeline {
    char *axis; /* of the mesh, which holds the stages; NULL: no pipeline */
    char *schedule;
    int64_t stages_per_rank; /* 0: what the schedule is made for */
    size_t nlayers;          /* 0: as even as can be */
    int64_t *layers;         /* of each stage */
    size_t nplaces;
    struct scenario_stage_place *places; /* the first that fits counts */
};

struct scenario_transfers {
    uint64_t bytes_per_s; /* into each device, at least 1 */
    int64_t latency_ns;
};

/* One device that is slower than those like it, where time is of `hardware`. */
struct scenario_straggler {
    int64_t device;
    double compute, links; /* how many times as long; 0: no longer */
};

/* Where the specs of parameters come from: the last of `rules` and `params` that is given says. */
enum scenario_rules_from {
    SCENARIO_RULES_PARAMS,
    SCENARIO_RULES_AUTO /* their shapes: shd/auto_shard.h, strict, dimensions of any size */
};

/* How values are placed of which nothing is asked. */
/* What becomes of a value that the forward phase gathered, where the backward phase reads it too. */
enum scenario_gathered {
    SCENARIO_GATHER_AGAIN, /* its shard is kept, and gathered again */
    SCENARIO_GATHERED_KEPT,
    SCENARIO_NGATHERED
};

enum scenario_placement {
    SCENARIO_FOLLOW, /* where operands, rules and constraints bring the axes */
    SCENARIO_SEARCH, /* where the fewest bytes are moved */
    SCENARIO_NPLACEMENTS
};

/* What becomes of dimensions that do not divide by the axes that rules put on them. */
enum scenario_uneven {
    SCENARIO_REFUSED, /* they are errors */
    SCENARIO_PADDED,  /* they are made longer: graph/pad.h */
    SCENARIO_NUNEVENS
};

/* What the partitioner compares ways by. */
enum scenario_price {
    SCENARIO_PRICE_BYTES, /* what all devices receive */
    SCENARIO_PRICE_TIME,  /* seconds on the scenario's cluster */
    SCENARIO_NPRICES
};

/* `[pattern, spec]`: of parameters and of constraints; the first whose pattern is found wins. */
struct scenario_rule {
    char *pattern;            /* searched for, as re.search does; it compiles */
    struct shd_spec *spec;    /* axes are in the mesh, none twice */
    struct shd_spec *written; /* as in the file, with names of `partition_axis`; NULL: as `spec` */
    struct place place;       /* of the pattern */
    struct place *entry_places; /* one for each entry of the spec */
    struct place spec_place;
};

/* `batch: dp`, `seq: [dp, tp]`, `mlp: null`. */
struct scenario_logical {
    char *name;
    size_t naxes; /* 0: null, not sharded */
    char **axes;  /* names of mesh axes, the first the most major */
    size_t nwritten;
    char **written;         /* as in the file, with names of `partition_axis`; NULL: as `axes` */
    struct place key_place; /* of the logical axis's name */
    struct place place;     /* of the value */
};

/* `partition_axis:`, which gives names in specs a meaning: scenario/partition_axis.h. */
struct scenario_partition_axis {
    bool used; /* it is there, if only as {} */
    enum shd_axis_mode mode;
    size_t nfields;
    struct scenario_logical *fields; /* those given, under their whole names: "head_axis" */
    struct shd_partition_axis *axis; /* with these fields; NULL unless used */
};

/* `all-reduce: ring`; whether there is such a collective and algorithm is for the caller to say. */
struct scenario_algorithm {
    char *kind;
    char *name;
    struct place kind_place;
    struct place place; /* of the algorithm's name */
};

#define SCENARIO_OPTIONS_MAX 160 /* rows of the option table, at most */

struct scenario {
    char *name;         /* `name:`, or the file's name without directory and ending */
    char *strategy;     /* of this one; distinct within a file */
    bool swept;         /* made by the file's sweep: whether it divides is for the caller to see */
    struct place place; /* of the strategy, or of the file's first value */
    size_t nmesh;
    struct scenario_axis *mesh; /* at most SHD_MESH_AXES_MAX; the product fits an int32_t */
    struct scenario_model model;
    struct scenario_batch batch;
    struct scenario_context context;
    struct scenario_data data;
    struct scenario_graph graph;
    struct scenario_step step;
    int64_t steps; /* that follow each other; 1 unless they have an update */
    struct scenario_optimizer optimizer;
    struct scenario_types types;
    struct scenario_loss_scale loss_scale;
    struct scenario_zero zero;
    struct scenario_pipeline pipeline;
    struct scenario_recompute recompute;
    char *hardware; /* a cluster's name, or the path of its file; NULL: none */
    int64_t slices; /* of a torus, that the devices are */
    struct scenario_straggler straggler;
    enum scenario_gathered gathered;
    enum scenario_placement placement;
    enum scenario_uneven uneven;
    enum scenario_price price;
    enum scenario_rules_from rules;
    size_t nparams; /* 0 where specs come from shapes */
    struct scenario_rule *params;
    size_t nlogical;
    struct scenario_logical *logical; /* the `axes:` option */
    struct scenario_partition_axis partition_axis;
    size_t nconstraints;
    struct scenario_rule *constraints;
    size_t nalgorithms;
    struct scenario_algorithm *algorithms;
    uint64_t memory_limit_bytes; /* of a device; 0: none */
    struct scenario_transfers transfers;
    double tolerance; /* asked of a verification besides its bounds, relative to the
                         largest value; 0: none */
    uint64_t seed;
    struct place places[SCENARIO_OPTIONS_MAX]; /* by option; see scenario_place() */
};

struct scenario_file {
    char *path; /* places point to it, so that they live as long as the file */
    size_t nscenarios;
    struct scenario *scenarios;
};

/* Load a file ("-": standard input).  `sets` are "key=value" or "key.sub=value", the value in YAML,
 * applied in order to every strategy; a fault in the n-th is at place `--set:n:COLUMN`.
 *
 * On success stores the file in *out; free it with scenario_file_destroy().  On failure reports
 * every error found to `diag`, leaves *out alone and returns a status below 0. */
SHD_MUST_CHECK int scenario_load(struct scenario_file **out, const char *path,
                                 const char *const *sets, size_t nsets, struct diag *diag);

/* The same, but only the strategies of some names are read to be used: of the others nothing but
 * the name counts, and no fault is reported.  No names: all. */
struct scenario_choice {
    const char *const *names;
    size_t nnames;
};
SHD_MUST_CHECK int scenario_load_chosen(struct scenario_file **out, const char *path,
                                        const char *const *sets, size_t nsets,
                                        struct scenario_choice choice, struct diag *diag);

/* The same for a text; `path` is its name in places and messages. */
SHD_MUST_CHECK int scenario_parse(struct scenario_file **out, const char *path, const char *text,
                                  size_t length, const char *const *sets, size_t nsets,
                                  struct diag *diag);

/* Free a file and its scenarios.  NULL is allowed. */
void scenario_file_destroy(struct scenario_file *file);

/* The option that a key may have meant that is none: an option or section, by its path or by its
 * last part, or the size of an axis ("mesh.tp").  Into buf, cut if it does not fit; "" if none is
 * near.  Returns buf. */
const char *scenario_nearest_option(const char *key, char *buf, size_t size);

/* The place of an option's value ("model.d_ff", "limits.memory", "mesh"); where it has its default,
 * that of the section or of the scenario.  A name that is no option gives the scenario's. */
struct place scenario_place(const struct scenario *scenario, const char *option);

/* The mesh as lib wants it.  Errors as shd_mesh_create(). */
SHD_MUST_CHECK int scenario_mesh(struct shd_mesh **out, const struct scenario *scenario,
                                 struct shd_error *err);

/* Rules as lib wants them: `params` or `constraints`, whose numbers are those of the rules.  Free
 * with shd_rules_destroy().  Errors as shd_rules_add(). */
SHD_MUST_CHECK int scenario_rules(struct shd_rules **out, const struct scenario_rule *rules,
                                  size_t nrules, struct shd_error *err);

/* Rules from a node that is a list of them, as `params` is, or a scenario, whose `params`, `rules`
 * and `partition_axis` count: *rules is NULL where they come from shapes.  Reports every fault;
 * SHD_EINVAL when there was any.  Free the rules with scenario_free_rules() either way. */
struct yaml_node;
SHD_MUST_CHECK int scenario_read_rules(struct scenario_rule **rules, size_t *nrules,
                                       const struct yaml_node *node, struct diag *diag);
void scenario_free_rules(struct scenario_rule *rules, size_t nrules);

/* The logical axis of a name, or NULL. */
const struct scenario_logical *scenario_find_logical(const struct scenario *scenario,
                                                     const char *name);

/* Whether a list has an axis of this name; NULL is no name. */
bool scenario_has_axis(const struct scenario_axis_list *axes, const char *name);

/* The algorithm asked for a kind of collective ("all-reduce"), or NULL. */
const struct scenario_algorithm *scenario_find_algorithm(const struct scenario *scenario,
                                                         const char *kind);

/* The canonical text: YAML with every option in the table's order, that loads as the same. */
void scenario_print(const struct scenario *scenario, struct text *out);

/* Call fn() for each option that is not as by default, with its path ("model.layers") and its value
 * in a line: what is computed, and how, without the rules of the layout (the mesh, `params`,
 * constraints and their axes), limits, the cluster and the seed.  What it returns other than SHD_OK
 * ends that, and is returned; SHD_ENOMEM. */
typedef int (*scenario_given_fn)(void *arg, const char *option, const char *value);
SHD_MUST_CHECK int scenario_each_given(const struct scenario *scenario, scenario_given_fn fn,
                                       void *arg);

/* The name of published model n, as model.size takes it; NULL behind the last. */
const char *scenario_model_name(size_t n);

/* The tokens that published model n has learned positions for; 0: it has none. */
int64_t scenario_model_positions(size_t n);

/* All that a file can say: its keys and the options, with type, default and help, for people.  With
 * a `key` only those whose path has it in it ("zero", "model.d", "heads"); returns how many. */
size_t scenario_print_options(struct text *out, const char *key);

const char *scenario_kind_name(enum scenario_kind kind);
const char *scenario_activation_name(enum scenario_activation activation);
const char *scenario_optimizer_name(enum scenario_optimizer_kind kind);
const char *scenario_routing_name(enum scenario_routing routing);
const char *scenario_drop_name(enum scenario_drop drop);

/* The type that one of `types` comes to. */
enum shd_dtype scenario_type(const struct scenario *scenario, enum scenario_type type);

#endif /* SCENARIO_SCENARIO_H */
