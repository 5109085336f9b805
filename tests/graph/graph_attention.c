/* Tests attention of graph/graph.h: the operands that it takes, and the messages for others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <string.h>

#include "graph/graph.h"

enum { BATCH, SEQ, HEADS, KV_HEADS, HEAD_DIM, VALUE_DIM, SPAN, THREE, NDIMS };

static const struct {
    const char *name;
    int64_t size;
} dims[NDIMS] = {{"batch", 2},    {"seq", 12},      {"heads", 4}, {"kv_heads", 2},
                 {"head_dim", 3}, {"value_dim", 5}, {"span", 2},  {"three", 3}};

static const int32_t document[12] = {0};
static const int32_t ends[12] = {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11};

/* The arguments of an attention, which a case may change. */
struct given {
    struct graph *graph;
    struct kern_sight sight;
    uint32_t q, k, v, spans, positions, earlier; /* an attention over other keys, with more keys
                                                  * to come */
    struct graph_attention opts;
};

static uint32_t array(struct graph *g, const char *name, enum shd_dtype dtype, uint32_t rank,
                      const uint32_t *of)
{
    return graph_input(g, name, dtype, of, rank, (struct kern_source){.scale = 1});
}

static void given_init(struct given *x)
{
    const uint32_t q[4] = {BATCH, SEQ, HEADS, HEAD_DIM}, k[4] = {BATCH, SEQ, KV_HEADS, HEAD_DIM};
    const uint32_t v[4] = {BATCH, SEQ, KV_HEADS, VALUE_DIM}, seq = SEQ;
    const uint32_t spans[3] = {BATCH, SEQ, SPAN};

    memset(x, 0, sizeof *x);
    x->graph = graph_create();
    for (uint32_t d = 0; d < NDIMS; d++)
        graph_dim(x->graph, dims[d].name, dims[d].size);
    x->sight = (struct kern_sight){
        .order = {KERN_ZIGZAG, 2, 12}, .causal = true, .rows = 1, .first = document, .last = ends};
    x->q = array(x->graph, "q", SHD_F16, 4, q);
    x->k = array(x->graph, "k", SHD_F16, 4, k);
    x->v = array(x->graph, "v", SHD_F16, 4, v);
    x->spans = array(x->graph, "spans", SHD_I32, 3, spans);
    x->positions = array(x->graph, "positions", SHD_I32, 1, &seq);
    x->opts = (struct graph_attention){GRAPH_ATTENTION_INIT, .scale = 1, .more = true};
    x->earlier = graph_attention(x->graph, "earlier", x->q, x->k, x->v, &x->opts);
    x->opts.more = false;
    x->opts.spans = x->spans;
    x->opts.positions = x->positions;
    x->opts.sight = graph_sight(x->graph, &x->sight);
    x->opts.blocks = 3;
    x->opts.shift = 1;
    x->opts.before = x->earlier;
}

static void test_result(void)
{
    struct given x;
    const struct graph_node *o;
    uint32_t node;

    given_init(&x);
    node = graph_attention(x.graph, "attention", x.q, x.k, x.v, &x.opts);
    if (!ok(graph_status(x.graph, NULL) == SHD_OK, "by positions, in blocks, going on"))
        return;
    o = &x.graph->nodes[node];
    ok(o->rank == 4 && o->dims[3] == VALUE_DIM && o->dtype == SHD_F16,
       "the result has the width of the values");
    ok(x.graph->nodes[o->extras[0]].rank == 3 && x.graph->nodes[o->extras[0]].dtype == SHD_F32,
       "log-sum-exp is float32");
    ok(x.graph->nodes[x.earlier].dtype == SHD_F32, "what is gone on from is float32");
    ok(o->ninputs == 7 && o->inputs[3] == x.spans && o->inputs[4] == x.positions &&
           o->inputs[5] == x.earlier && o->inputs[6] == x.graph->nodes[x.earlier].extras[0],
       "operands are in order");
    ok(o->attr.attention.sight != &x.sight && o->attr.attention.sight->first != document &&
           o->attr.attention.sight->last[11] == 11,
       "the graph has a copy of what is seen");
    graph_destroy(x.graph);
}

static void other_seq(struct given *x)
{
    const uint32_t of[1] = {HEADS};

    x->opts.positions = array(x->graph, "other", SHD_I32, 1, of);
}

static void float_spans(struct given *x)
{
    const uint32_t of[3] = {BATCH, SEQ, SPAN};

    x->opts.spans = array(x->graph, "other", SHD_F16, 3, of);
}

static void wide_spans(struct given *x)
{
    const uint32_t of[3] = {BATCH, SEQ, THREE};

    x->opts.spans = array(x->graph, "other", SHD_I32, 3, of);
}

static void no_rows(struct given *x)
{
    x->sight.rows = 0;
    x->opts.sight = graph_sight(x->graph, &x->sight);
}

static void shorter(struct given *x)
{
    x->sight.rows = 0;
    x->sight.order.extent = 8;
    x->opts.sight = graph_sight(x->graph, &x->sight);
    x->opts.spans = array(x->graph, "other", SHD_I32, 2, (const uint32_t[]){SEQ, SPAN});
}

static void no_sight(struct given *x)
{
    x->opts.sight = NULL;
}

static void no_spans(struct given *x)
{
    x->opts.spans = GRAPH_NONE;
}

static void causal(struct given *x)
{
    x->opts.causal = true;
}

static void causal_blocks(struct given *x)
{
    x->opts = (struct graph_attention){GRAPH_ATTENTION_INIT, .causal = true, .blocks = 2};
}

static void five_blocks(struct given *x)
{
    x->opts.blocks = 5;
}

static void far(struct given *x)
{
    x->opts.shift = 3;
}

static void before_is_q(struct given *x)
{
    x->opts.before = x->q;
}

static void before_is_whole(struct given *x)
{
    const struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 1};

    x->opts.before = graph_attention(x->graph, "whole", x->q, x->k, x->v, &opts);
}

static void before_is_unknown(struct given *x)
{
    x->opts.before = 1000;
}

static void other_queries(struct given *x)
{
    const uint32_t of[4] = {BATCH, SEQ, HEADS, HEAD_DIM};

    x->q = array(x->graph, "other", SHD_F16, 4, of);
}

static const struct {
    const char *what;
    void (*change)(struct given *);
    int status;
    const char *text;
} refused[] = {
    {"positions of another dimension", other_seq, SHD_EINVAL, "positions[seq] for its keys"},
    {"spans of fractions", float_spans, SHD_EINVAL, "integers spans[batch, seq, 2]"},
    {"spans of three numbers", wide_spans, SHD_EINVAL, "spans[batch, seq, 2]"},
    {"spans of rows, without documents", no_rows, SHD_EINVAL, "spans[seq, 2]"},
    {"a sight of another length", shorter, SHD_EINVAL, "do not fit a sequence of 8"},
    {"spans without a sight", no_sight, SHD_EINVAL, "spans, positions and their mask"},
    {"a sight without spans", no_spans, SHD_EINVAL, "spans, positions and their mask"},
    {"causal in two ways", causal, SHD_EINVAL, "no blocks and no mask"},
    {"causal in blocks without positions", causal_blocks, SHD_EINVAL, "no blocks and no mask"},
    {"blocks that do not divide", five_blocks, SHD_EINDIVISIBLE, "into 5 blocks"},
    {"a shift of all blocks", far, SHD_ERANGE, "by 3 of 3 blocks"},
    {"going on from no attention", before_is_q, SHD_EINVAL, "must continue an attention"},
    {"continuing from a complete attention", before_is_whole, SHD_EINVAL,
     "must continue an attention"},
    {"going on from nothing", before_is_unknown, SHD_EINVAL, "must continue an attention"},
    {"continuing from different queries", other_queries, SHD_EINVAL, "must continue an attention"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct given x;
        struct shd_error err = {SHD_OK, ""};

        given_init(&x);
        refused[i].change(&x);
        graph_attention(x.graph, "attention", x.q, x.k, x.v, &x.opts);
        if (!ok(graph_status(x.graph, &err) == refused[i].status &&
                    strstr(err.text, refused[i].text) != NULL,
                "refused: %s", refused[i].what))
            diag("%s", err.text);
        graph_destroy(x.graph);
    }
}

int main(void)
{
    plan(0);
    test_result();
    test_refused();
    return done();
}
