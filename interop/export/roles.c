/* Find the roles of mesh axes (roles.h) in two passes: what an axis shards determines its role;
 * then every array is checked to be sharded as the other system shards it in this role.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/roles.h"

#include <string.h>

#include "model/axis_uses.h"

static const char *const role_names[EXPORT_NROLES] = {
    [EXPORT_PIPELINE] = "stages",        [EXPORT_REPLICA] = "replicas",
    [EXPORT_SHARD] = "sharded replicas", [EXPORT_EXPERT] = "experts",
    [EXPORT_CONTEXT] = "context",        [EXPORT_TENSOR] = "tensor parallelism",
};

static const char *dim_name(const struct graph *graph, const struct graph_node *node, uint32_t d)
{
    return graph->dims[node->dims[d]].name;
}

static bool is_axis(const char *name, const char *axis)
{
    return name && !strcmp(name, axis);
}

/* Role of an axis of the batch; an axis that also shards parameters by rules acts as ZeRO stage
 * 3. */
static enum export_role data_role(const struct scenario *s, const char *axis,
                                  const struct axis_uses *use, struct export_roles *out)
{
    if (use->experts)
        return EXPORT_EXPERT;
    if (use->widths || use->other) {
        out->zero = 3;
        return EXPORT_SHARD;
    }
    return s->zero.stage > 0 && scenario_has_axis(&s->zero.axes, axis) ? EXPORT_SHARD
                                                                       : EXPORT_REPLICA;
}

static int find_role(enum export_role *role, struct export_roles *out,
                     const struct export_layout *layout, size_t axis, struct shd_error *err)
{
    const struct scenario *s = layout->source;
    const char *name = shd_mesh_axis_name(layout->mesh, axis);
    struct axis_uses use = axis_uses_of(layout->graph, layout->shardings, axis, false);

    if (is_axis(s->pipeline.axis, name))
        *role = EXPORT_PIPELINE;
    else if (is_axis(s->context.axis, name))
        *role = EXPORT_CONTEXT;
    else if (use.batch)
        *role = data_role(s, name, &use, out);
    else if (use.tokens)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.40s' shards sequences but is not `context.axis`; expected "
                             "`context: {axis: %.40s}`",
                             name, name);
    else if (use.experts && !use.widths)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.40s' shards experts but not the batch; expected it in `axes: "
                             "{batch: ...}`",
                             name);
    else if (use.other)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.40s' shards '%.60s' along a dimension other than heads, mlp or "
                             "vocab; expected rules that shard heads, mlp and vocab",
                             name, use.other);
    else if (use.widths)
        *role = EXPORT_TENSOR;
    else
        return shd_error_set(
            err, SHD_EUNSUPPORTED,
            "'%.40s' shards neither the batch nor a parameter; expected it in `axes: "
            "{batch: ...}` or in rules",
            name);
    return SHD_OK;
}

/* Whether a parameter is of all experts of a layer; the router's is not. */
static bool is_of_experts(const struct graph *graph, const struct graph_node *node)
{
    for (uint32_t d = 0; d < node->rank && node->rank > 2; d++)
        if (!strcmp(dim_name(graph, node, d), "expert"))
            return true;
    return false;
}

/* Whether an axis of a role must shard dimension `d` of a parameter; for sharded replicas any
 * dimension will do.  The router has no widths and is replicated.  Tensor parallelism that shards
 * experts leaves each whole. */
static bool expects(enum export_role role, bool shards_experts, const struct graph *graph,
                    const struct graph_node *node, uint32_t d)
{
    const char *dim = dim_name(graph, node, d);
    bool by_expert = role == EXPORT_EXPERT || (role == EXPORT_TENSOR && shards_experts);

    if (by_expert && is_of_experts(graph, node))
        return !strcmp(dim, "expert");
    return role == EXPORT_TENSOR && axis_is_for_width(dim);
}

static int check_param(const struct export_layout *layout, uint32_t i, size_t axis,
                       enum export_role role, bool shards_experts, struct shd_error *err)
{
    const struct graph_node *node = &layout->graph->nodes[i];
    const char *name = shd_mesh_axis_name(layout->mesh, axis);
    bool any = false;

    for (uint32_t d = 0; d < node->rank; d++) {
        const struct graph_dim *dim = &layout->graph->dims[node->dims[d]];
        bool sharded = axis_shards(export_sharding(layout, i), d, axis);

        any |= sharded;
        if (expects(role, shards_experts, layout->graph, node, d) && !sharded &&
            dim->size % shd_mesh_axis_size(layout->mesh, axis) == 0)
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "'%.60s' is not sharded along %s over '%.40s', the %s axis; "
                                 "expected a rule that shards it",
                                 node->name, dim->name, name, role_names[role]);
    }
    if (role == EXPORT_SHARD && layout->source->zero.stage < 1 && node->rank > 1 && !any)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.60s' is not sharded over '%.40s', but other parameters are; "
                             "expected all or `zero: {stage: 3, axis: %.40s}`",
                             node->name, name, name);
    return SHD_OK;
}

static int check_params(const struct export_layout *layout, size_t axis, enum export_role role,
                        struct shd_error *err)
{
    bool shards_experts = axis_uses_of(layout->graph, layout->shardings, axis, false).experts;
    int status = SHD_OK;

    for (uint32_t i = 0; i < layout->graph->nnodes && status == SHD_OK; i++)
        if (export_is_leaf(&layout->graph->nodes[i], GRAPH_PARAM))
            status = check_param(layout, i, axis, role, shards_experts, err);
    return status;
}

/* Add an axis to its role.  Roles must be in the order of ranks in the other systems; a role may
 * have several axes. */
static int add_axis(struct export_roles *out, enum export_role role, size_t axis, uint32_t *order,
                    const struct export_layout *layout, struct shd_error *err)
{
    static const uint32_t outer[EXPORT_NROLES] = {
        [EXPORT_PIPELINE] = 0, [EXPORT_REPLICA] = 1, [EXPORT_SHARD] = 2,
        [EXPORT_EXPERT] = 3,   [EXPORT_CONTEXT] = 4, [EXPORT_TENSOR] = 5};
    const char *name = shd_mesh_axis_name(layout->mesh, axis);

    out->size[role] *= shd_mesh_axis_size(layout->mesh, axis);
    if (role == EXPORT_PIPELINE &&
        (*order == outer[EXPORT_REPLICA] || *order == outer[EXPORT_SHARD])) {
        out->data_outside = true; /* later axes are inside both */
        *order = outer[EXPORT_EXPERT];
        return SHD_OK;
    }
    if (outer[role] < *order)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.40s' (%s) is misplaced in `mesh`; expected pipeline, replicas, "
                             "sharded replicas, experts, context, tensor, outermost first",
                             name, role_names[role]);
    *order = outer[role];
    return SHD_OK;
}

/* Whether constraints shard the tokens of activations of full width over an axis. */
static bool shards_tokens(const struct export_layout *layout, size_t axis)
{
    const struct graph *graph = layout->graph;

    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        bool embed = false, tokens = false;

        if (node->op != GRAPH_CONSTRAINT || node->phase != GRAPH_FORWARD)
            continue;
        for (uint32_t d = 0; d < node->rank; d++) {
            embed |= !strcmp(dim_name(graph, node, d), "embed");
            tokens |= !strcmp(dim_name(graph, node, d), "seq") &&
                      axis_shards(export_sharding(layout, i), d, axis);
        }
        if (embed && tokens)
            return true;
    }
    return false;
}

/* Count the devices with different experts: axes of any role that shard experts multiply their
 * number. */
static void find_experts(struct export_roles *out, const struct export_layout *layout)
{
    for (size_t a = 0; a < shd_mesh_naxes(layout->mesh); a++)
        if (axis_uses_of(layout->graph, layout->shardings, a, false).experts)
            out->experts *= shd_mesh_axis_size(layout->mesh, a);
}

/* Neighbouring ranks hold different experts: those of tensor parallelism (unless these share each
 * expert), then of context parallelism, then replicas. */
static int check_experts(const struct export_roles *r, struct shd_error *err)
{
    if (r->experts > 1 && r->size[EXPORT_CONTEXT] > 1 &&
        r->experts != r->size[EXPORT_EXPERT] * r->size[EXPORT_CONTEXT] *
                          (r->experts_over_tensor ? r->size[EXPORT_TENSOR] : 1))
        return shd_error_set(
            err, SHD_EUNSUPPORTED,
            "context-parallel ranks hold the same experts; expected the context axis first in the "
            "rules of experts");
    if (r->experts > 1 && r->data_outside)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "with experts, the pipeline axis must be the outermost of `mesh`");
    return SHD_OK;
}

int export_roles_find(struct export_roles *out, const struct export_layout *layout,
                      struct shd_error *err)
{
    uint32_t order = 0;

    *out = (struct export_roles){.experts = 1, .zero = layout->source->zero.stage};
    for (int r = 0; r < EXPORT_NROLES; r++)
        out->size[r] = 1;
    for (size_t a = 0; a < shd_mesh_naxes(layout->mesh); a++) {
        enum export_role role = EXPORT_REPLICA;
        int status;

        if (shd_mesh_axis_size(layout->mesh, a) == 1)
            continue;
        status = find_role(&role, out, layout, a, err);
        if (status == SHD_OK)
            status = check_params(layout, a, role, err);
        if (status == SHD_OK)
            status = add_axis(out, role, a, &order, layout, err);
        if (status != SHD_OK)
            return status;
        out->shards_over_experts |=
            role == EXPORT_EXPERT &&
            scenario_has_axis(&layout->source->zero.axes, shd_mesh_axis_name(layout->mesh, a));
        out->sequence |= role == EXPORT_TENSOR && shards_tokens(layout, a);
        out->experts_over_tensor |=
            role == EXPORT_TENSOR &&
            axis_uses_of(layout->graph, layout->shardings, a, false).experts;
    }
    find_experts(out, layout);
    return check_experts(out, err);
}

int64_t export_roles_data(const struct export_roles *roles)
{
    return roles->size[EXPORT_REPLICA] * roles->size[EXPORT_SHARD] * roles->size[EXPORT_EXPERT];
}

int64_t export_roles_sequences(const struct export_roles *roles, const struct scenario *scenario)
{
    return scenario->batch.size / scenario->batch.microbatches / export_roles_data(roles);
}

int export_find_schedule(struct export_job *job, enum timetable_flag flag, const char *system)
{
    const struct scenario *s = job->source;
    int64_t ranks = 1;

    for (size_t a = 0; a < s->nmesh; a++)
        if (is_axis(s->pipeline.axis, s->mesh[a].name))
            ranks = s->mesh[a].size;
    if (ranks == 1)
        return SHD_OK;
    return timetable_find_in(&job->schedule, s->pipeline.schedule, flag, system, job->err) == SHD_OK
               ? SHD_OK
               : SHD_EUNSUPPORTED;
}

int export_job_check(struct export_job *job, export_check *const *checks)
{
    int status = SHD_OK;

    while (status == SHD_OK && *checks)
        status = (*checks++)(job);
    return status;
}

int export_job_init(struct export_job *out, const struct export_layout *layout, struct text *text,
                    export_check *const *checks, struct shd_error *err)
{
    int status;

    *out = (struct export_job){.layout = layout, .source = layout->source, .out = text, .err = err};
    status = export_roles_find(&out->roles, layout, err);
    if (status == SHD_OK)
        status = export_stages_init(&out->stages, layout->graph, err);
    if (status != SHD_OK)
        return status;
    status = export_job_check(out, checks);
    if (status != SHD_OK)
        export_job_fini(out);
    return status;
}

void export_job_fini(struct export_job *job)
{
    export_stages_fini(&job->stages);
}

/* Options of `model`, `moe` and `mla` that targets write, or refuse by their values. */
static const char *const read_options[] = {
    "model.kind",      "model.d_model",
    "model.d_ff",      "model.activation",
    "model.layers",    "model.bias",
    "model.heads",     "model.kv_heads",
    "model.head_dim",  "model.causal",
    "model.rope",      "model.norm",
    "model.vocab",     "model.attention_bias",
    "model.qk_norm",   "model.attention",
    "model.norm_eps",  "model.window",
    "model.positions", "model.tied",
    "model.size",      "model.scale",
    "model.from",      "model.dtype",
    "moe.experts",     "moe.top_k",
    "moe.d_ff",        "moe.shared",
    "moe.first_dense", "moe.every",
    "moe.score",       "moe.renormalize",
    "moe.scale",       "moe.bias",
    "moe.groups",      "moe.kept",
    "moe.group_score", "moe.capacity",
    "moe.drop",        "moe.token_groups",
    "moe.aux_loss",    "moe.z_loss",
    "moe.routing",     "moe.skew",
    "moe.ranks",       "mla.kv_rank",
    "mla.q_rank",      "mla.rope_dim",
    "mla.value_dim",   "model.vocab_multiple",
};

struct model_check {
    const struct export_job *job;
    const char *system;
};

static int check_option(void *arg, const char *option, const char *value)
{
    const struct model_check *check = arg;

    if (strncmp(option, "model.", 6) != 0 && strncmp(option, "moe.", 4) != 0 &&
        strncmp(option, "mla.", 4) != 0)
        return SHD_OK;
    for (size_t i = 0; i < sizeof read_options / sizeof read_options[0]; i++)
        if (strcmp(option, read_options[i]) == 0)
            return SHD_OK;
    return shd_error_set(check->job->err, SHD_EUNSUPPORTED,
                         "%s does not support %s %s; expected its default", check->system, option,
                         value);
}

/* Both systems scale positions as Llama 3.1 does, with its bounds. */
static bool is_scaled_as_llama(const struct scenario_rope_scaling *s)
{
    return s->kind == SCENARIO_ROPE_LLAMA3 && s->low == 1 && s->high == 4 && s->original == 8192;
}

int export_check_model(const struct export_job *job, const char *system)
{
    const struct scenario_model *m = &job->source->model;
    struct model_check check = {job, system};

    if (m->rope.used &&
        (m->rope.part > 0 || m->rope.local_theta > 0 ||
         (m->rope.scaling.kind != SCENARIO_ROPE_UNSCALED && !is_scaled_as_llama(&m->rope.scaling))))
        return shd_error_set(job->err, SHD_EUNSUPPORTED,
                             "%s does not support this partial or scaled RoPE; expected theta and "
                             "interleaved alone in model.rope, or Llama 3.1's scaling: {kind: "
                             "llama3, original: 8192, low: 1, high: 4} and a factor",
                             system);
    if (m->qk_norm > SCENARIO_QK_HEAD)
        return shd_error_set(job->err, SHD_EUNSUPPORTED,
                             "%s does not support these norms of queries and keys; expected "
                             "model.qk_norm true or false",
                             system);
    return scenario_each_given(job->source, check_option, &check);
}
