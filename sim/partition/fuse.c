/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/fuse.h"

#include <string.h>

/* Size of the expression that a node would become. */
struct size {
    uint32_t inputs, instrs;
};

static struct size size_of(const struct placement *c, const bool *inlined, uint32_t node)
{
    const struct graph_node *n = &c->graph->nodes[node];
    struct size size = {0, 1};

    for (uint32_t k = 0; k < n->ninputs; k++) {
        struct size part = {1, 0};

        if (inlined[n->inputs[k]])
            part = size_of(c, inlined, n->inputs[k]);
        size.inputs += part.inputs;
        size.instrs += part.instrs;
    }
    return size;
}

static bool same_dims(const struct graph_node *a, const struct graph_node *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Whether the value is rounded to a smaller type: then every reader needs it as an array. */
static bool is_rounded(const struct graph *graph, const struct graph_node *n)
{
    return n->fn == KERN_CONVERT && !kern_holds(n->stored, graph->nodes[n->inputs[0]].stored);
}

static bool reads_attention_grad(const struct graph *graph, const struct graph_node *n)
{
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (graph->nodes[n->inputs[k]].op == GRAPH_ATTENTION_GRAD)
            return true;
    return false;
}

/* Whether both ops add partial gradients of attention.  These are not fused: each part is added
 * when it is ready, while one fused sum would make the first part wait for the last. */
static bool sums_parts(const struct graph *graph, const struct graph_node *r,
                       const struct graph_node *n)
{
    return r->fn == KERN_ADD && n->fn == KERN_ADD && reads_attention_grad(graph, r) &&
           reads_attention_grad(graph, n);
}

/* Whether a node is a constant that only maps of its type read.  Each of them computes with the
 * number, in any sharding but as a part of a sum, and no array of it is written. */
static bool is_constant(const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    const struct placement_node *c = &p->nodes[node];

    if (n->op != GRAPH_MAP || n->fn != KERN_FILL || c->output != GRAPH_NONE)
        return false;
    for (uint32_t r = 0; r < c->nreaders; r++) {
        const struct graph_node *reader = &p->graph->nodes[c->readers[r].node];
        uint32_t need = p->nodes[c->readers[r].node].needs[c->readers[r].operand];

        if (!p->nodes[c->readers[r].node].live)
            continue;
        if (price_sharding(p->price, need)->partial || reader->op != GRAPH_MAP ||
            reader->fn == KERN_CONVERT || reader->stored != n->stored || reader->dtype != n->dtype)
            return false;
    }
    return true;
}

bool fuse_can_ever(const struct placement *placement, uint32_t node, uint32_t k)
{
    const struct graph_node *r = &placement->graph->nodes[node];
    const struct graph_node *n = &placement->graph->nodes[r->inputs[k]];
    const struct placement_node *c = &placement->nodes[r->inputs[k]];

    return r->op == GRAPH_MAP && n->op == GRAPH_MAP && c->nreaders == 1 &&
           c->output == GRAPH_NONE && same_dims(n, r) && n->phase == r->phase &&
           n->stage == r->stage && n->weights == r->weights && n->stored == r->stored &&
           !is_rounded(placement->graph, n) && !sums_parts(placement->graph, r, n);
}

/* Whether operand `k` of a map can be inlined, apart from limits. */
static bool can_inline(const struct placement *c, uint32_t reader, uint32_t k)
{
    const struct placement_node *cn = &c->nodes[c->graph->nodes[reader].inputs[k]];

    return fuse_can_ever(c, reader, k) && cn->home == c->nodes[reader].needs[k] &&
           !price_sharding(c->price, cn->home)->partial;
}

void fuse_mark_inputs(bool *inlined, const struct placement *placement, uint32_t node)
{
    const struct graph_node *n = &placement->graph->nodes[node];

    if (!placement->nodes[node].live || n->op != GRAPH_MAP)
        return;
    inlined[node] |= is_constant(placement, node);
    for (uint32_t k = 0; k < n->ninputs; k++) {
        struct size size;

        if (inlined[n->inputs[k]] || !can_inline(placement, node, k))
            continue;
        inlined[n->inputs[k]] = true;
        size = size_of(placement, inlined, node);
        if (size.inputs > KERN_MAP_INPUTS_MAX || size.instrs > KERN_MAP_INSTRS_MAX)
            inlined[n->inputs[k]] = false;
    }
}

void fuse_mark(bool *inlined, const struct placement *placement)
{
    for (uint32_t node = 0; node < placement->graph->nnodes; node++)
        fuse_mark_inputs(inlined, placement, node);
}

/* While collecting, source numbers below INSTR are inputs, others are instructions. */
#define INSTR 128

static uint8_t add_input(struct fused *f, const struct placement *c, uint32_t reader, uint32_t k,
                         const int8_t *factors)
{
    uint32_t node = c->graph->nodes[reader].inputs[k], need = c->nodes[reader].needs[k];

    for (uint32_t i = 0; i < f->ninputs; i++)
        if (f->inputs[i] == node && f->needs[i] == need)
            return (uint8_t)i;
    f->inputs[f->ninputs] = node;
    f->needs[f->ninputs] = need;
    f->factors[f->ninputs] = factors;
    return (uint8_t)f->ninputs++;
}

static uint8_t collect(struct fused *f, const struct placement *c, const bool *inlined,
                       uint32_t node)
{
    const struct graph_node *n = &c->graph->nodes[node];
    uint8_t src[KERN_OPERANDS_MAX] = {0};
    struct kern_instr *instr;

    for (uint32_t k = 0; k < n->ninputs; k++)
        src[k] = inlined[n->inputs[k]] ? collect(f, c, inlined, n->inputs[k])
                                       : add_input(f, c, node, k, c->nodes[node].rule.operand[k]);
    instr = &f->instrs[f->ninstrs]; /* zeros, also between its fields: descriptions are hashed */
    instr->fn = n->fn;
    memcpy(instr->src, src, sizeof instr->src);
    instr->scalar = n->scalar;
    return (uint8_t)(INSTR + f->ninstrs++);
}

void fuse_collect(struct fused *out, const struct placement *placement, const bool *inlined,
                  uint32_t node)
{
    memset(out, 0, sizeof *out);
    (void)collect(out, placement, inlined, node);
    for (uint32_t i = 0; i < out->ninstrs; i++)
        for (uint32_t k = 0; k < KERN_OPERANDS_MAX; k++)
            if (out->instrs[i].src[k] >= INSTR)
                out->instrs[i].src[k] = (uint8_t)(out->instrs[i].src[k] - INSTR + out->ninputs);
}

/* All ops of the expression have the same dimensions in the same order, hence the same factors. */
void fuse_lower(struct program_op *op, union kern_desc *desc, const struct fused *fused,
                const struct placement *placement, uint32_t node, const int64_t *extents)
{
    const struct graph_node *n = &placement->graph->nodes[node];
    const struct rule *rule = &placement->nodes[node].rule;
    struct kern_map *m = &desc->map;

    op->kernel = &kern_kernel_map;
    m->dtype = n->dtype;
    m->ndims = rule->nfactors;
    memcpy(m->extent, extents, rule->nfactors * sizeof *extents);
    rule_factor_strides(m->out_stride, n->rank, rule->result[0], extents);
    m->ninputs = fused->ninputs;
    for (uint32_t i = 0; i < fused->ninputs; i++) {
        const struct graph_node *input = &placement->graph->nodes[fused->inputs[i]];

        m->in_dtype[i] = input->dtype;
        rule_factor_strides(m->in_stride[i], input->rank, fused->factors[i], extents);
    }
    m->ninstrs = fused->ninstrs;
    memcpy(m->instrs, fused->instrs, sizeof m->instrs);
}
