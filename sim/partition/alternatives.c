/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "partition/emit.h"
#include "partition/fuse.h"
#include "partition/place.h"
#include "partition/refine.h"
#include "program/rows.h"

/* An op whose assignment is a choice. */
struct named {
    const char *name;
    uint8_t phase;
    uint32_t node;
};

/* The part of a program that changes if one op is sharded otherwise, so that alternatives of a deep
 * model cost no more to try than a shallow one's: the expressions that the op may be fused into,
 * and the values whose reshards may change.  These are the values that the expressions' ops read or
 * make, with all their aliases; any other value keeps its home, its readers in the same order, and
 * their needs. */
struct surroundings {
    uint32_t node;
    uint32_t *fusing; /* the op and the maps that may be fused with it, ascending */
    uint32_t nfusing;
    uint32_t *values;
    uint32_t nvalues;
    uint8_t *seen; /* by node: SEEN_... */
};

enum { SEEN_FUSING = 1, SEEN_VALUE = 2 };

/* Question and answer of alternatives_of(). */
struct asking {
    const char *name;
    uint8_t phase;
    struct alternative *out;
    uint32_t n;
};

struct alternatives {
    struct pool pool;
    const struct partition_request *request;
    struct asking asking;
    struct placement placement;
    bool *inlined;       /* by node, as in fuse.h */
    struct named *named; /* by name and phase */
    uint32_t nnamed;
    struct surroundings around;
    struct program_rows_counts *rows_counts; /* the graph is placed, with no axis split */
    bool any;    /* some op has a choice */
    bool failed; /* no memory */
    struct refined refined;
};

/* Bytes that the surroundings of an op move, and the op's flops. */
struct outcome {
    uint128 bytes, flops;
};

/* ---- surroundings ---- */

static void add_fusing(struct surroundings *s, uint32_t node)
{
    if (!(s->seen[node] & SEEN_FUSING))
        s->fusing[s->nfusing++] = node;
    s->seen[node] |= SEEN_FUSING;
}

/* Add a value and its aliases. */
static void add_value(struct surroundings *s, const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];

    if (s->seen[node] & SEEN_VALUE)
        return;
    s->seen[node] |= SEEN_VALUE;
    s->values[s->nvalues++] = node;
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(p, n->readers[r].node))
            add_value(s, p, n->readers[r].node);
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void find_fusing(struct surroundings *s, const struct placement *p, uint32_t node)
{
    add_fusing(s, node);
    for (uint32_t i = 0; i < s->nfusing; i++) {
        const struct placement_node *n = &p->nodes[s->fusing[i]];

        for (uint32_t k = 0; k < p->graph->nodes[s->fusing[i]].ninputs; k++)
            if (fuse_can_ever(p, s->fusing[i], k))
                add_fusing(s, p->graph->nodes[s->fusing[i]].inputs[k]);
        if (n->nreaders == 1 && fuse_can_ever(p, n->readers[0].node, n->readers[0].operand))
            add_fusing(s, n->readers[0].node);
    }
    qsort(s->fusing, s->nfusing, sizeof *s->fusing, compare_nodes);
}

static void look_around(struct surroundings *s, const struct placement *p, uint32_t node)
{
    s->node = node;
    s->nfusing = s->nvalues = 0;
    find_fusing(s, p, node);
    for (uint32_t i = 0; i < s->nfusing; i++) {
        const struct graph_node *n = &p->graph->nodes[s->fusing[i]];

        for (uint32_t k = 0; k < n->ninputs; k++)
            add_value(s, p, n->inputs[k]);
        for (uint32_t r = 0; r < p->nodes[s->fusing[i]].rule.nresults; r++)
            add_value(s, p, assign_result_node(p->graph, s->fusing[i], r));
    }
    for (uint32_t i = 0; i < s->nfusing; i++)
        s->seen[s->fusing[i]] = 0;
    for (uint32_t i = 0; i < s->nvalues; i++)
        s->seen[s->values[i]] = 0;
}

/* ---- measuring ---- */

static void mark_inlined(struct alternatives *a)
{
    for (uint32_t i = 0; i < a->around.nfusing; i++)
        a->inlined[a->around.fusing[i]] = false;
    for (uint32_t i = 0; i < a->around.nfusing; i++)
        fuse_mark_inputs(a->inlined, &a->placement, a->around.fusing[i]);
}

/* How often a step does an op that is not yet in a whole program. */
static uint32_t times_of(const struct graph *graph, const struct program_op *op)
{
    return program_part_times((enum program_part)op->part, graph->microbatches);
}

static void destroy_program(void *program)
{
    program_destroy(program);
}

static int measure_steps(struct outcome *out, struct alternatives *a)
{
    struct pool *pool = pool_in(&a->pool);
    struct program *program = program_create(a->request->mesh);
    int status = SHD_OK;

    if (!program)
        pool_fail(pool);
    pool_on_free(pool, destroy_program, program);
    program_ask_algos(program, a->request->algos);
    program->rows_counts = a->rows_counts;
    a->rows_counts = NULL;
    for (uint32_t i = 0; i < a->around.nvalues && status == SHD_OK; i++)
        if (a->placement.nodes[a->around.values[i]].live)
            status = emit_steps(program, &a->placement, a->inlined, a->around.values[i], NULL);
    for (uint32_t i = 0; status == SHD_OK && i < program->nops; i++)
        out->bytes += program_received_by_all(program, &program->ops[i]) *
                      times_of(a->request->graph, &program->ops[i]);
    a->rows_counts = program->rows_counts;
    program->rows_counts = NULL;
    pool_drop(&a->pool, pool);
    return status;
}

/* Add the work of the kernels that the op's expression becomes. */
static int measure_work(struct outcome *out, const struct alternatives *a)
{
    const struct graph_node *n = &a->placement.graph->nodes[a->around.node];
    int status = SHD_OK;

    for (uint32_t i = 0; i < a->around.nfusing && status == SHD_OK; i++) {
        uint32_t node = a->around.fusing[i];
        union kern_desc desc;
        struct program_op op;

        if (a->inlined[node] || !placement_is_free(&a->placement, node))
            continue;
        status = emit_kernel(&op, &desc, &a->placement, a->inlined, node, NULL);
        if (op.phase == (uint8_t)n->phase && !strcmp(op.name, n->name))
            out->flops += (uint128)op.dense_flops * times_of(a->request->graph, &op);
    }
    return status;
}

/* Emit the surroundings with the current assignments and add up bytes and flops; false if the
 * current assignments cannot be emitted. */
static bool measure(struct outcome *out, struct alternatives *a)
{
    int status;

    *out = (struct outcome){0, 0};
    mark_inlined(a);
    status = measure_steps(out, a);
    if (status == SHD_OK)
        status = measure_work(out, a);
    if (status == SHD_ENOMEM)
        pool_fail(&a->pool);
    return status == SHD_OK;
}

/* ---- setting up ---- */

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (int)x->phase - (int)y->phase;
}

/* Orders nodes of one name as the graph does. */
static int compare_listed(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = compare_named(a, b);

    return order ? order : compare_nodes(&x->node, &y->node);
}

static void list_named(struct alternatives *a)
{
    const struct graph *graph = a->placement.graph;

    for (uint32_t node = 0; node < graph->nnodes; node++)
        if (placement_is_free(&a->placement, node))
            a->named[a->nnamed++] =
                (struct named){graph->nodes[node].name, (uint8_t)graph->nodes[node].phase, node};
    qsort(a->named, a->nnamed, sizeof *a->named, compare_listed);
}

/* Work of alternatives_create(), on a struct alternatives. */
static int set_up(void *alternatives, struct shd_error *err)
{
    struct alternatives *a = alternatives;
    struct pool *pool = &a->pool;
    size_t n = a->request->graph->nnodes;
    int status = refine_init(&a->refined, pool, a->request, err);

    if (status != SHD_OK || a->refined.mesh)
        return status;
    status = place_values(&a->placement, pool, a->request, err);
    if (status != SHD_OK)
        return status;
    a->inlined = pool_array(pool, n, sizeof *a->inlined);
    a->named = pool_array(pool, n, sizeof *a->named);
    a->around.fusing = pool_array(pool, n, sizeof *a->around.fusing);
    a->around.values = pool_array(pool, n, sizeof *a->around.values);
    a->around.seen = pool_array(pool, n, sizeof *a->around.seen);
    fuse_mark(a->inlined, &a->placement);
    list_named(a);
    a->any = true;
    return SHD_OK;
}

int alternatives_create(struct alternatives **out, const struct partition_request *request,
                        struct shd_error *err)
{
    struct alternatives *a = calloc(1, sizeof *a);
    int status;

    if (!a)
        return shd_error_set(err, SHD_ENOMEM, "no memory for alternatives");
    a->request = request;
    status = pool_try(&a->pool, set_up, a, err);
    if (status == SHD_OK)
        *out = a;
    else
        alternatives_destroy(a);
    return status;
}

void alternatives_destroy(struct alternatives *alternatives)
{
    if (!alternatives)
        return;
    pool_free(&alternatives->pool);
    shd_mesh_destroy(alternatives->refined.mesh);
    program_rows_free_counts(alternatives->rows_counts);
    free(alternatives);
}

/* First op of a name and phase; GRAPH_NONE unless exactly one kernel has the name.  Ops fused into
 * one expression may share a name. */
static uint32_t find_node(const struct alternatives *a, const char *name, uint8_t phase)
{
    const struct named key = {name, phase, GRAPH_NONE};
    const struct named *first, *end = a->named + a->nnamed;
    uint32_t nkernels = 0;

    first = a->nnamed ? bsearch(&key, a->named, a->nnamed, sizeof key, compare_named) : NULL;
    if (!first)
        return GRAPH_NONE;
    while (first > a->named && compare_named(first - 1, &key) == 0)
        first--;
    for (const struct named *n = first; n < end && compare_named(n, &key) == 0; n++)
        nkernels += !a->inlined[n->node];
    return nkernels == 1 ? first->node : GRAPH_NONE;
}

/* ---- alternatives ---- */

/* Give a node another assignment, if valid; all other nodes keep theirs. */
static bool place_node(struct placement *placement, uint32_t node, const struct assign *assign)
{
    struct placement_node *n = &placement->nodes[node];
    const struct assigned assigned = {placement->graph, node, &n->rule, assign, placement->mesh};

    if (!assign_valid(&assigned))
        return false;
    n->assign = *assign;
    placement_settle(placement, node);
    return true;
}

/* Name of a factor: the name of a dimension with that factor. */
static const char *factor_name(const struct alternatives *a, uint32_t node, int factor,
                               bool *reduced)
{
    const struct graph *graph = a->placement.graph;
    const struct graph_node *n = &graph->nodes[node];
    const struct rule *rule = &a->placement.nodes[node].rule;

    *reduced = false;
    for (uint32_t d = 0; d < n->rank; d++)
        if (rule->result[0][d] == factor)
            return graph->dims[n->dims[d]].name;
    *reduced = true;
    for (uint32_t k = 0; k < n->ninputs; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++)
            if (rule->operand[k][d] == factor)
                return graph->dims[graph->nodes[n->inputs[k]].dims[d]].name;
    return NULL;
}

/* Set why the chosen placement was chosen.  A placement by search has no cause but the step's
 * bytes. */
static void set_cause(struct alternative *out, const struct alternatives *a, uint32_t node,
                      int place)
{
    const struct placement_cause *cause = &a->placement.nodes[node].cause[out->axis];

    if (place < 0 || a->request->placement != PARTITION_FOLLOW)
        return;
    out->claim = cause->claim;
    if (cause->claim != CLAIM_NONE && cause->array != GRAPH_NONE)
        out->brought_by = a->placement.graph->nodes[cause->array].name;
}

static bool try_place(struct alternatives *a, uint32_t node, const struct assign *was, uint8_t axis,
                      int place, const struct outcome *base, struct alternative *out)
{
    struct assign assign = *was;
    struct outcome outcome;

    *out = (struct alternative){.axis = axis, .chosen = was->place[axis] == place, .work = 1};
    if (place >= 0) {
        out->dim = factor_name(a, node, place, &out->reduced);
        if (!out->dim)
            return false;
    }
    if (out->chosen) {
        set_cause(out, a, node, place);
        return true;
    }
    assign.place[axis] = (int8_t)place;
    if (!place_node(&a->placement, node, &assign) || !measure(&outcome, a))
        return false;
    if (outcome.bytes > base->bytes)
        out->more_bytes = outcome.bytes - base->bytes;
    else
        out->fewer_bytes = base->bytes - outcome.bytes;
    out->work = base->flops ? (double)outcome.flops / (double)base->flops : 1;
    return true;
}

bool alternatives_failed(const struct alternatives *alternatives)
{
    return alternatives->failed;
}

/* Work of alternatives_of(), on a struct alternatives. */
static int find_alternatives(void *alternatives, struct shd_error *err)
{
    struct alternatives *a = alternatives;
    uint32_t node = find_node(a, a->asking.name, a->asking.phase), n = 0;
    struct outcome base;
    struct assign was;

    (void)err;
    if (node == GRAPH_NONE)
        return SHD_OK;
    look_around(&a->around, &a->placement, node);
    if (!measure(&base, a))
        return SHD_OK;
    was = a->placement.nodes[node].assign;
    for (uint8_t axis = 0; axis < shd_mesh_naxes(a->request->mesh); axis++) {
        if (was.place[axis] == ASSIGN_PARTIAL)
            continue;
        for (int place = ASSIGN_NONE;
             place < (int)a->placement.nodes[node].rule.nfactors && n < ALTERNATIVES_MAX; place++)
            n += try_place(a, node, &was, axis, place, &base, &a->asking.out[n]);
    }
    if (place_node(&a->placement, node, &was))
        a->asking.n = n;
    mark_inlined(a);
    return SHD_OK;
}

uint32_t alternatives_of(struct alternatives *a, const char *name, uint8_t phase,
                         struct alternative out[ALTERNATIVES_MAX])
{
    a->asking = (struct asking){name, phase, out, 0};
    if (a->any && pool_try(&a->pool, find_alternatives, a, NULL) != SHD_OK) {
        a->failed = true; /* and the placement is not whole */
        a->any = false;
    }
    return a->asking.n;
}
