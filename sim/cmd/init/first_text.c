/* Writing the scenario of a layout (first_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/init/first_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/literal.h"
#include "hardware/hardware.h"
#include "hardware/margin.h"
#include "scenario/draft.h"
#include "scenario/tensor_rules.h"

/* Whether search takes the model (space_init()). */
static bool is_searched(const struct first_asked *asked)
{
    return !asked->sizes || asked->sizes->residual != SCENARIO_ALONE;
}

/* ---- axes ---- */

/* The axis of the mesh inside the replicas' axis; NULL: none. */
static const char *inner_axis(const struct layout *l)
{
    return space_expert_replicas(l) > 1 ? "ep" : space_inner(l) > 1 ? "shard" : NULL;
}

/* Devices of the replicas' axis. */
static int64_t outer_of(const struct layout *l)
{
    return l->value[SPACE_DP] / space_inner(l);
}

/* Add axes as a spec has them: "fsdp", "[fsdp, cp]". */
static void add_axes(struct text *out, const char *const *axes, size_t n)
{
    text_add(out, n == 1 ? "" : "[");
    for (size_t i = 0; i < n; i++)
        text_addf(out, "%s%s", i ? ", " : "", axes[i]);
    text_add(out, n == 1 ? "" : "]");
}

/* List the axes of the replicas; returns their number. */
static size_t list_replicas(const char *axes[2], const struct layout *l)
{
    const char *inner = inner_axis(l);
    size_t n = 0;

    if (outer_of(l) > 1 || !inner)
        axes[n++] = "fsdp";
    if (inner)
        axes[n++] = inner;
    return n;
}

static void add_zero_axes(struct text *out, const struct layout *l)
{
    const char *axes[3];
    size_t n = list_replicas(axes, l);

    switch (space_zero_axes(l)) {
    case SPACE_ZERO_OUTER:
        text_add(out, "fsdp");
        return;
    case SPACE_ZERO_INNER:
        text_add(out, inner_axis(l));
        return;
    case SPACE_ZERO_CONTEXT:
        axes[n++] = "cp";
        break;
    case SPACE_ZERO_BOTH:
        break;
    }
    add_axes(out, axes, n);
}

/* Specs of the batch and of ZeRO. */
struct axes {
    struct text batch, zero;
    const char *experts; /* NULL: no axis shards experts */
};

static void axes_init(struct axes *out, const struct layout *l)
{
    const char *replicas[2];

    *out = (struct axes){TEXT_INIT, TEXT_INIT, space_expert_axes(l)};
    add_axes(&out->batch, replicas, list_replicas(replicas, l));
    add_zero_axes(&out->zero, l);
}

static void axes_fini(struct axes *axes, struct text *out)
{
    out->failed |= axes->batch.failed || axes->zero.failed;
    text_fini(&axes->batch);
    text_fini(&axes->zero);
}

/* ---- the head ---- */

/* NULL: the cluster is unknown, or memory ran out, which sets out->failed. */
static struct hardware *find_cluster(const char *name, struct text *out)
{
    struct hardware *found = NULL;
    struct diag diag;

    diag_init(&diag);
    if (hardware_find(&found, name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK)
        found = NULL;
    out->failed |= diag.no_memory;
    diag_fini(&diag);
    return found;
}

/* What the cluster's constants were fitted to, and the cluster with such devices that has most
 * measured steps, if that is another. */
static void write_measured(struct text *out, const struct hardware *hardware)
{
    struct hardware *other;
    const char *like = hardware_measured_like(hardware, &out->failed);

    text_add(out, "# Its constants were fitted to ");
    hardware_print_measured(out, hardware);
    text_add(out, ".\n");
    if (like && strcmp(like, hardware->name) != 0 && (other = find_cluster(like, out)) != NULL) {
        text_addf(out,
                  "# %s has the same devices, but other links and software:\n"
                  "# ",
                  like);
        hardware_print_measured(out, other);
        text_add(out, ". Choose the cluster closer to yours.\n");
        hardware_destroy(other);
    }
}

/* What is kept of a device's memory, or that nothing could be. */
static void write_margin(struct text *out, const struct hardware *hardware, bool fills)
{
    if (hardware_margin(hardware) > 0)
        text_addf(out,
                  "# %s %.0f %% of a device's memory free, for fragmentation\n"
                  "# of the allocator, which is not modelled%s.\n",
                  fills ? "No layout that was tried leaves" : "The layout leaves",
                  100 * hardware_margin(hardware), fills ? ": it may run out of memory" : "");
}

/* Comments on the cluster. */
static void write_cluster(struct text *out, const struct first_asked *asked)
{
    write_measured(out, asked->cluster);
    write_margin(out, asked->cluster, asked->fills);
}

void first_write_head(struct text *out, const struct first_asked *asked)
{
    const char *serve = asked->serves ? " --serve" : "";
    struct text comment = TEXT_INIT, file = TEXT_INIT;
    struct draft draft = DRAFT_OF(out);

    literal_add_shell(&file, asked->file);
    escape_from(&file, 0);
    text_addf(&comment, "%s on %ld devices of %s", asked->model, asked->devices, asked->hardware);
    text_add(out, "# ");
    escape_add(out, text_get(&comment));
    text_addf(out,
              ".\n# Written by 'shardsim init%s'; next:\n"
              "#   shardsim plan %s          its time, memory and traffic\n",
              serve, text_get(&file));
    if (is_searched(asked))
        text_addf(out, "#   shardsim search%s %s        the best layout\n", serve, text_get(&file));
    if (asked->target)
        text_addf(out, "#   shardsim export --to %s %s   its options\n", asked->target->name,
                  text_get(&file));
    else if (asked->serves)
        text_addf(out, "#   shardsim export --to vllm %s   the command of a server; or sglang\n",
                  text_get(&file));
    text_addf(out, "#   shardsim show names %s    what rules and constraints can name\n",
              text_get(&file));
    text_clear(&comment);
    text_addf(&comment, "%s-on-%ld", asked->model, asked->devices);
    draft_set(&draft, "version", "1");
    draft_set_string(&draft, "name", text_get(&comment));
    draft_set_string(&draft, "hardware", asked->hardware);
    draft_remark(&draft, "          # 'shardsim show hardware' lists others");
    if (asked->software)
        draft_set(&draft, "software", "%s", asked->software);
    write_cluster(draft_text(&draft), asked);
    out->failed |= comment.failed || file.failed;
    text_fini(&comment);
    text_fini(&file);
}

void first_write_model(struct draft *out, const struct first_asked *asked)
{
    draft_set_string(out, asked->from ? "model.from" : "model.size",
                     asked->from ? asked->from : asked->model);
    draft_set(out, "model.dtype", "bfloat16");
}

/* ---- the layout ---- */

/* Comments on cp, tp, pp and the axes of experts. */
static void write_reasons(struct text *out, const struct first_asked *asked, const struct layout *l,
                          const struct axes *axes)
{
    const int32_t *v = l->value;
    int64_t groups = asked->devices / v[SPACE_CP]; /* of devices that share a sequence */

    if (axes->experts)
        text_addf(out, "# Experts are sharded over %s.\n", axes->experts);
    if (v[SPACE_CP] > 1)
        text_addf(out,
                  "# Sequences are sharded over cp: %" PRId64 " tokens a device. Attention passes "
                  "keys and\n# values around a ring.\n",
                  asked->seq / v[SPACE_CP]);
    if (v[SPACE_TP] > 1)
        text_addf(out, "# Heads and widths are sharded over tp, within a node: %s.\n",
                  asked->batch % (groups / v[SPACE_PP])
                      ? "without tp the batch does not divide over replicas"
                      : "without tp it is slower or does not fit");
    if (v[SPACE_PP] > 1)
        text_addf(out, "# The layers are split into %" PRId32 " stages over pp: without pp %s.\n",
                  v[SPACE_PP] * v[SPACE_VIRTUAL],
                  asked->batch % (groups / v[SPACE_TP]) ? "the batch does not divide over replicas"
                                                        : "it is slower or does not fit");
    if (is_searched(asked) && !axes->experts && v[SPACE_TP] == 1 && v[SPACE_PP] == 1 &&
        v[SPACE_CP] == 1)
        text_add(out,
                 "# One axis over all devices. For another layout change the mesh, and the rules\n"
                 "# of its axes; 'shardsim search' with '--range tp=8' writes the best one with\n"
                 "# that tp.\n");
}

static void write_mesh(struct text *out, const struct first_asked *asked, const struct layout *l,
                       const struct axes *axes)
{
    const int32_t *v = l->value;
    const char *replicas[2];
    size_t nreplicas = list_replicas(replicas, l);
    struct draft draft = DRAFT_OF(out);

    write_reasons(out, asked, l, axes);
    if (v[SPACE_PP] > 1)
        draft_set_count(&draft, "mesh.pp", v[SPACE_PP]);
    if (outer_of(l) > 1 || !inner_axis(l))
        draft_set_count(&draft, "mesh.fsdp", outer_of(l));
    if (inner_axis(l))
        draft_set_count(&draft, space_expert_replicas(l) > 1 ? "mesh.ep" : "mesh.shard",
                        space_inner(l));
    if (v[SPACE_CP] > 1)
        draft_set_count(&draft, "mesh.cp", v[SPACE_CP]);
    if (v[SPACE_TP] > 1)
        draft_set_count(&draft, "mesh.tp", v[SPACE_TP]);
    draft_set(&draft, "axes.batch", "%s", text_get(&axes->batch));
    draft_remark(&draft, nreplicas > 1 ? "         # the batch is sharded over both"
                                       : "         # the batch is sharded over it");
    if (v[SPACE_CP] > 1) {
        draft_set(&draft, "axes.seq", "cp");
        draft_set(&draft, "context.axis", "cp");
        draft_set(&draft, "context.method", "ring");
        draft_set(&draft, "context.order", "zigzag");
    }
    (void)draft_text(&draft);
}

static void write_params(struct text *out, const struct first_asked *asked, const struct layout *l,
                         const struct axes *axes)
{
    bool tp = l->value[SPACE_TP] > 1, cp = l->value[SPACE_CP] > 1, sp = l->value[SPACE_SP];
    struct tensor_axes sharded = tensor_axes_same(tp ? "tp" : NULL);
    const struct tensor_values values = {.batch = text_get(&axes->batch),
                                         .seq = cp ? "cp" : "null",
                                         .vocab = "tp",
                                         .tokens = !sp  ? (cp ? "cp" : "null")
                                                   : cp ? "[cp, tp]"
                                                        : "tp"};
    bool widths = asked->sizes->moe.experts > 0 && tp && !(l->value[SPACE_FOLD] & SPACE_FOLD_TP);

    if (!axes->experts && !tp) {
        text_add(out, "params: [[.*, []]]          # no tensor parallelism: zero shards them\n");
        return;
    }
    sharded.experts = axes->experts;
    sharded.expert_widths = widths ? "tp" : NULL;
    text_add(out, "params:                     # zero shards parameters without a rule, too\n");
    tensor_rules_print(out, asked->sizes, &sharded, RULES_BLOCK);
    if (!tp)
        return;
    text_add(out, sp ? "constraints:                # between layers, tp shards the sequence\n"
                     : "constraints:                # between layers, tp shards nothing\n");
    tensor_constraints_print(out, &values, RULES_BLOCK);
}

static void write_pipeline(struct text *out, const struct layout *l)
{
    struct draft draft = DRAFT_OF(out);

    if (l->value[SPACE_PP] == 1)
        return;
    draft_set(&draft, "pipeline.axis", "pp");
    draft_set(&draft, "pipeline.schedule", "%s",
              space_word(SPACE_SCHEDULE, l->value[SPACE_SCHEDULE]));
    if (l->value[SPACE_VIRTUAL] > 1)
        draft_set_count(&draft, "pipeline.stages_per_rank", l->value[SPACE_VIRTUAL]);
    (void)draft_text(&draft);
}

static void write_zero(struct text *out, const struct first_asked *asked, const struct layout *l,
                       const struct axes *axes)
{
    int32_t stage = l->value[SPACE_ZERO];
    struct draft draft = DRAFT_OF(out);

    if (stage == 0)
        return;
    text_addf(out, "# %s\n",
              stage == 3 ? "Parameters are sharded, too; the next layer is gathered during compute."
              : stage == 1
                  ? "The optimizer's state is sharded; 2: gradients, 3: parameters, too."
                  : "Gradients and the optimizer's state are sharded; 3: parameters, too.");
    draft_set_count(&draft, "zero.stage", stage);
    draft_set(&draft, "zero.axis", "%s", text_get(&axes->zero));
    if (stage == 3)
        draft_set_count(&draft, "zero.prefetch", asked->cluster->software.overlaps_weights ? 1 : 0);
    (void)draft_text(&draft);
}

static void write_batch(struct draft *draft, const struct first_asked *asked,
                        const struct layout *l)
{
    text_addf(draft_text(draft),
              "# The global batch. Sequences of a replica's microbatch: %" PRId32 ".\n"
              "# Fewer microbatches take more memory.\n",
              l->value[SPACE_MICROBATCH]);
    draft_set_count(draft, "batch.size", asked->batch);
    draft_set_count(draft, "batch.seq", asked->seq);
    draft_set_count(draft, "batch.microbatches",
                    asked->batch / ((int64_t)l->value[SPACE_DP] * l->value[SPACE_MICROBATCH]));
}

void first_write_text(struct text *out, const struct first_asked *asked, const struct layout *l)
{
    struct draft draft = DRAFT_OF(out);
    struct text recompute = TEXT_INIT;
    struct axes axes;

    axes_init(&axes, l);
    recompute_choice_set(&recompute, l->value[SPACE_RECOMPUTE], asked->sizes->moe.experts > 0,
                         asked->cluster->software.recomputes_layers);
    first_write_head(out, asked);
    first_write_model(&draft, asked);
    write_batch(&draft, asked, l);
    draft_set(&draft, "step", "[forward, backward, update]");
    draft_set(&draft, "optimizer.kind", "adamw");
    draft_set(&draft, "optimizer.clip", "1.0");
    draft_set(&draft, "types.parameters", "float32");
    draft_set(&draft, "types.reduce", "float32");
    if (asked->products)
        draft_set(&draft, "products.recipe", "%s", asked->products);
    draft_set(&draft, "recompute", "%s", text_get(&recompute));
    draft_remark(&draft, " # none, selective or full: less memory, more to compute");
    (void)draft_text(&draft);
    write_mesh(out, asked, l, &axes);
    write_params(out, asked, l, &axes);
    write_pipeline(out, l);
    write_zero(out, asked, l, &axes);
    out->failed |= recompute.failed;
    text_fini(&recompute);
    axes_fini(&axes, out);
}
