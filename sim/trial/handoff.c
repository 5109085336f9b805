/* Kept tokens brought from one mesh to another (trial/handoff.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/handoff.h"

#include <stdlib.h>
#include <string.h>

#include "base/stored_array.h"
#include "kern/kern.h"
#include "model/serving.h"
#include "trial/given.h"

#define TOKENS_DIM 1 /* of what is kept, [batch, tokens, ..] */

/* An array that the prefill leaves and the decode begins with. */
struct item {
    uint32_t result; /* of the prefill's program */
    uint32_t node;   /* of the decode's graph */
    const struct program_buffer *from, *to;
    const struct graph_kept *left, *begun; /* how tokens lie here and there; NULL: not by tokens */
    int64_t kept;                          /* tokens that are moved: the first of each sequence */
    char *whole; /* what was received, in memory of the decode's graph */
};

/* The box of an array that a device holds. */
struct part {
    int64_t offset[SHD_RANK_MAX], extent[SHD_RANK_MAX];
};

struct handoff {
    const struct trial *prefill;
    const struct trial *decode; /* whose sources of values change */
    bool apart;
    uint32_t nitems;
    struct item *items;
    uint64_t *received; /* by device of the decode */
    uint64_t *sent;     /* by device of the prefill */
    /* By device of the prefill: its box of the array that is moved, and whether no device with a
     * lower number holds the same box. */
    struct part *parts;
    bool *first;
    bool failed;        /* no memory */
};

/* ---- which arrays ---- */

static const struct program_result *find_result(const struct program *p, enum program_result_kind kind,
                                                const char *name)
{
    for (uint32_t r = 0; r < p->nresults; r++)
        if (p->results[r].kind == kind && !strcmp(p->results[r].name, name))
            return &p->results[r];
    return NULL;
}

static uint32_t find_input(const struct graph *g, const char *name)
{
    uint32_t n = 0;

    while (n < g->nnodes && (g->nodes[n].op != GRAPH_INPUT || strcmp(g->nodes[n].name, name) != 0))
        n++;
    return n;
}

/* The state `next` of the decode, as the prefill leaves it; false: it leaves none. */
static bool find_item(struct item *out, const struct handoff *h, const struct program_result *next)
{
    const struct program *from = h->prefill->program, *to = h->decode->program;
    const struct graph *g = h->decode->graph;
    const struct program_result *left = find_result(from, PROGRAM_NEXT, next->name);
    uint32_t before;

    if (!left && !strcmp(next->name, SERVING_TOKENS))
        left = find_result(from, PROGRAM_OUTPUT, SERVING_NEXT);
    if (!left)
        return false;
    *out = (struct item){.result = (uint32_t)(left - from->results),
                         .node = find_input(g, next->name),
                         .from = &from->buffers[left->buffer],
                         .to = &to->buffers[next->of]};
    before = find_input(h->prefill->graph, next->name);
    out->begun = g->nodes[out->node].kept;
    if (out->begun) {
        out->left = h->prefill->graph->nodes[before].kept;
        out->kept = scenario_kept_tokens(h->decode->scenario);
    }
    return true;
}

static int init(struct handoff *h, const struct trial *prefill, const struct trial *decode,
                struct shd_error *err)
{
    const struct program *to = decode->program;

    *h = (struct handoff){
        .prefill = prefill, .decode = decode, .apart = prefill->scenario->apart};
    h->items = calloc((size_t)to->nresults + 1, sizeof *h->items);
    h->received = calloc((size_t)shd_mesh_size(to->mesh) + 1, sizeof *h->received);
    h->sent = calloc((size_t)shd_mesh_size(prefill->mesh) + 1, sizeof *h->sent);
    h->parts = calloc((size_t)shd_mesh_size(prefill->mesh) + 1, sizeof *h->parts);
    h->first = calloc((size_t)shd_mesh_size(prefill->mesh) + 1, sizeof *h->first);
    if (!h->items || !h->received || !h->sent || !h->parts || !h->first)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the results of a prefill");
    for (uint32_t r = 0; r < to->nresults; r++)
        h->nitems += to->results[r].kind == PROGRAM_NEXT &&
                     find_item(&h->items[h->nitems], h, &to->results[r]);
    return SHD_OK;
}

static void fini(struct handoff *h)
{
    free(h->items);
    free(h->received);
    free(h->sent);
    free(h->parts);
    free(h->first);
}

/* ---- which elements ---- */

static struct part part_of(const struct program_buffer *b, int32_t position)
{
    struct part p;

    shd_sharding_offset(&b->sharding, b->shape, position, p.offset);
    shd_sharding_shard_shape(&b->sharding, b->shape, p.extent);
    return p;
}

/* Cut `part` to what `other` has as well, with `tokens` in the dimensions behind that of tokens;
 * false: nothing. */
static bool cut(struct part *part, const struct part *other, uint32_t rank, bool tokens)
{
    for (uint32_t d = 0; d < rank; d++) {
        int64_t from = part->offset[d], end = from + part->extent[d];
        int64_t other_end = other->offset[d] + other->extent[d];

        if (tokens && d <= TOKENS_DIM)
            continue;
        from = from > other->offset[d] ? from : other->offset[d];
        end = end < other_end ? end : other_end;
        if (end <= from)
            return false;
        part->offset[d] = from;
        part->extent[d] = end - from;
    }
    return true;
}

static bool same_part(const struct item *item, const struct part *a, const struct part *b)
{
    return !memcmp(a->offset, b->offset, item->from->rank * sizeof *a->offset);
}

/* Set the box of every device, and which device is the first to hold it. */
static void find_parts(struct handoff *h, const struct item *item)
{
    int32_t n = shd_mesh_size(h->prefill->mesh);

    for (int32_t s = 0; s < n; s++) {
        int32_t other = 0;

        h->parts[s] = part_of(item->from, s);
        while (other < s && (!h->first[other] || !same_part(item, &h->parts[other], &h->parts[s])))
            other++;
        h->first[s] = other == s;
    }
}

/* Whether device d copies its elements of a box from `source`: from itself if it holds that box,
 * else from the first device that does. */
static bool is_taken(const struct handoff *h, const struct item *item, int32_t source, int32_t d)
{
    if (!h->apart && d < shd_mesh_size(h->prefill->mesh) &&
        same_part(item, &h->parts[d], &h->parts[source]))
        return source == d;
    return h->first[source];
}

/* Row-major strides of these extents. */
static void strides_of(uint32_t rank, const int64_t *extent, int64_t *stride)
{
    int64_t n = 1;

    for (uint32_t d = rank; d-- > 0; n *= extent[d])
        stride[d] = n;
}

/* Copy a box of equal extents from a device's shard to another's; NULL shards: only count.  Returns
 * its bytes. */
static uint64_t copy_box(const struct item *item, const int64_t *extent, const struct part *from,
                         const int64_t *at, const struct part *to, const int64_t *place,
                         const char *source, char *dest)
{
    int64_t from_stride[SHD_RANK_MAX], to_stride[SHD_RANK_MAX], first = 0, target = 0;
    uint64_t size = shd_dtype_size(item->to->dtype), bytes = size;

    strides_of(item->to->rank, from->extent, from_stride);
    strides_of(item->to->rank, to->extent, to_stride);
    for (uint32_t d = 0; d < item->to->rank; d++) {
        first += (at[d] - from->offset[d]) * from_stride[d];
        target += (place[d] - to->offset[d]) * to_stride[d];
        bytes *= (uint64_t)extent[d];
    }
    if (source)
        kern_copy_box(size, item->to->rank, extent, dest + (uint64_t)target * size, to_stride,
                      source + (uint64_t)first * size, from_stride);
    return bytes;
}

/* Where a token of a sequence of the batch lies: the first two indices. */
static void place_of(const struct graph_kept *kept, int64_t row, int64_t position, int64_t *at)
{
    int64_t token = kern_order_index(&kept->order, position - kept->from);

    at[0] = kept->pages ? row / kept->pages->rows : row;
    at[TOKENS_DIM] = kept->pages ? kern_pages_slot(kept->pages, row, token) : token;
}

static bool has(const struct part *part, const int64_t *at)
{
    return at[0] >= part->offset[0] && at[0] < part->offset[0] + part->extent[0] &&
           at[TOKENS_DIM] >= part->offset[TOKENS_DIM] &&
           at[TOKENS_DIM] < part->offset[TOKENS_DIM] + part->extent[TOKENS_DIM];
}

/* The sequences of the batch that a device has. */
struct rows {
    int64_t begin, end;
};

static struct rows rows_of(const struct graph_kept *kept, const struct part *part)
{
    int64_t each = kept->pages ? kept->pages->rows : 1;

    return (struct rows){part->offset[0] * each, (part->offset[0] + part->extent[0]) * each};
}

/* Whether a token lies in a page that an earlier sequence of the pool has, too. */
static bool is_shared(const struct graph_kept *kept, int64_t row, int64_t position)
{
    const struct kern_pages *p = kept->pages;

    return p && row % p->rows > 0 &&
           kern_order_index(&kept->order, position - kept->from) % p->tokens < p->shared * p->page;
}

/* Move what device d of the decode wants of an array that `source` has; returns the bytes. */
static uint64_t move(const struct handoff *h, const struct item *item, int32_t source, int32_t d,
                     const char *values, char *landing)
{
    const struct part from = h->parts[source], to = part_of(item->to, d);
    struct part box = to;
    int64_t at[SHD_RANK_MAX];
    struct rows rows, theirs;
    uint64_t bytes = 0;
    int64_t first;

    if (!cut(&box, &from, item->to->rank, item->begun != NULL) || !is_taken(h, item, source, d))
        return 0;
    if (!item->begun)
        return copy_box(item, box.extent, &from, box.offset, &to, box.offset, values, landing);
    memcpy(at, box.offset, sizeof at);
    rows = rows_of(item->begun, &to);
    theirs = rows_of(item->left, &from);
    rows.begin = rows.begin > theirs.begin ? rows.begin : theirs.begin;
    rows.end = rows.end < theirs.end ? rows.end : theirs.end;
    box.extent[0] = box.extent[TOKENS_DIM] = 1;
    first = item->left->from > item->begun->from ? item->left->from : item->begun->from;
    for (int64_t row = rows.begin; row < rows.end; row++)
        for (int64_t p = first; p < item->kept; p++) {
            place_of(item->left, row, p, at);
            if (is_shared(item->begun, row, p) || !has(&from, at))
                continue;
            place_of(item->begun, row, p, box.offset);
            if (has(&to, box.offset))
                bytes += copy_box(item, box.extent, &from, at, &to, box.offset, values, landing);
        }
    return bytes;
}

/* ---- on paper ---- */

/* Count what a device of the decode receives of `same` arrays that are moved alike. */
static void count_received(struct handoff *h, const struct item *item, int32_t d, uint32_t same)
{
    for (int32_t s = 0; s < shd_mesh_size(h->prefill->mesh); s++) {
        uint64_t bytes = h->apart || s != d ? same * move(h, item, s, d, NULL, NULL) : 0;

        h->received[d] += bytes;
        h->sent[s] += bytes;
    }
}

/* Whether two arrays are moved alike: those of equal layers are. */
static bool alike(const struct item *a, const struct item *b)
{
    return !memcmp(&a->from->sharding, &b->from->sharding, sizeof a->from->sharding) &&
           !memcmp(&a->to->sharding, &b->to->sharding, sizeof a->to->sharding) &&
           !memcmp(a->from->shape, b->from->shape, sizeof a->from->shape) &&
           !memcmp(a->to->shape, b->to->shape, sizeof a->to->shape) &&
           a->to->dtype == b->to->dtype;
}

static void count(struct handoff *h)
{
    int32_t n = shd_mesh_size(h->decode->mesh);

    for (uint32_t i = 0, same; i < h->nitems; i += same) {
        find_parts(h, &h->items[i]);
        for (same = 1; i + same < h->nitems && alike(&h->items[i], &h->items[i + same]);)
            same++;
        for (int32_t d = 0; d < n; d++)
            count_received(h, &h->items[i], d, same);
    }
}

static struct record_handoff sum(const struct handoff *h)
{
    const struct hardware *hardware = h->decode->hardware;
    struct record_handoff out = {.used = true,
                                 .apart = h->apart,
                                 .ndevices = shd_mesh_size(h->prefill->mesh)};
    int32_t n = shd_mesh_size(h->decode->mesh);
    uint64_t busiest; /* of either side */

    for (int32_t d = 0; d < n; d++) {
        out.bytes += h->received[d];
        out.most = h->received[d] > out.most ? h->received[d] : out.most;
    }
    busiest = out.most;
    for (int32_t s = 0; s < out.ndevices; s++)
        busiest = h->sent[s] > busiest ? h->sent[s] : busiest;
    if (hardware && busiest > 0)
        out.seconds = hardware_message_seconds(hardware, 0, h->apart ? n : n - 1, (double)busiest);
    return out;
}

/* ---- executed ---- */

/* Put what device d received in its place in the whole array. */
static void place(struct item *item, int32_t d, const char *landing)
{
    const struct part to = part_of(item->to, d);
    struct part whole = {{0}, {0}};

    memcpy(whole.extent, item->to->shape, item->to->rank * sizeof *whole.extent);
    copy_box(item, to.extent, &to, to.offset, &whole, to.offset, landing, item->whole);
}

/* Bring an array to all devices of the decode. */
static bool bring(struct handoff *h, struct item *item, const void *const *const *results)
{
    uint64_t bytes = shd_dtype_size(item->to->dtype), shard = item->to->bytes;

    for (uint32_t k = 0; k < item->to->rank; k++)
        bytes *= (uint64_t)item->to->shape[k];
    item->whole = graph_memory(h->decode->graph, bytes + 1, 1);
    if (item->whole)
        memset(item->whole, 0, bytes);
    for (int32_t d = 0; item->whole && d < shd_mesh_size(h->decode->mesh); d++) {
        char *landing = calloc(shard + 1, 1);

        if (!landing)
            return false;
        for (int32_t s = 0; s < shd_mesh_size(h->prefill->mesh); s++) {
            uint64_t moved = move(h, item, s, d, results[s][item->result], landing);

            h->received[d] += h->apart || s != d ? moved : 0;
            h->sent[s] += h->apart || s != d ? moved : 0;
        }
        place(item, d, landing);
        free(landing);
    }
    return item->whole != NULL;
}

/* A walk_together_fn. */
static void take(void *arg, uint32_t step, const void *const *const *results)
{
    struct handoff *h = arg;

    (void)step;
    for (uint32_t i = 0; i < h->nitems; i++) {
        find_parts(h, &h->items[i]);
        h->failed |= !bring(h, &h->items[i], results);
    }
}

/* Let the decode, and the computation that verifies it, begin with what was received. */
static bool give(struct handoff *h)
{
    const struct graph *g = h->decode->graph;
    struct stored_array *arrays = graph_memory(h->decode->graph, h->nitems, sizeof *arrays);

    for (uint32_t i = 0; arrays && i < h->nitems; i++) {
        const struct kern_source source = {.stored = &arrays[i]};

        arrays[i] =
            (struct stored_array){.dtype = h->items[i].to->dtype, .memory = h->items[i].whole};
        given_set(h->decode, g->nodes[h->items[i].node].name, &source);
    }
    return arrays != NULL;
}

/* ---- a decode and its prefill ---- */

/* Build the prefill of a decode, whose scenario was read without faults. */
static int begin(struct handoff *h, struct trial *prefill, const struct trial *decode,
                 struct shd_error *err)
{
    int status = trial_init_made(prefill, decode->scenario->prefill, "the prefill", err);

    *h = (struct handoff){.nitems = 0};
    if (status != SHD_OK)
        return status;
    status = init(h, prefill, decode, err);
    if (status != SHD_OK)
        trial_fini(prefill);
    return status;
}

int handoff_plan(struct trial *trial, struct shd_error *err)
{
    struct trial prefill;
    struct handoff h;
    int status = trial_plan(trial, err);

    if (status != SHD_OK || !trial->scenario->prefill)
        return status;
    status = begin(&h, &prefill, trial, err);
    if (status == SHD_OK) {
        count(&h);
        trial->record->handoff = sum(&h);
        trial_fini(&prefill);
    }
    fini(&h);
    return status;
}

/* Execute the prefill and move the caches and states that it leaves into `h`. */
static int execute_first(struct handoff *h, struct trial *prefill, const struct trial *decode,
                         const int *stop_request, struct shd_error *err)
{
    int status;

    prefill->nthreads = decode->nthreads;
    prefill->memory = decode->memory;
    prefill->together = take;
    prefill->together_arg = h;
    status = trial_execute(prefill, stop_request, err);
    if (status == SHD_OK && h->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the results of a prefill");
    if (status == SHD_OK && !record_verified_ok(prefill->record))
        return shd_error_set(err, SHD_EMISMATCH,
                             "%s, the prefill's result, differs from the unsharded computation",
                             prefill->scenario->strategy);
    return status;
}

int handoff_execute(struct trial *trial, const int *stop_request, struct shd_error *err)
{
    struct trial prefill;
    struct handoff h;
    int status;

    if (!trial->scenario->prefill)
        return trial_execute(trial, stop_request, err);
    if (trial->over_ranks)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "step: a prefill and its decode are executed in one process only");
    status = begin(&h, &prefill, trial, err);
    if (status == SHD_OK) {
        status = execute_first(&h, &prefill, trial, stop_request, err);
        if (status == SHD_OK) {
            status = give(&h) ? trial_execute(trial, stop_request, err)
                              : shd_error_set(err, SHD_ENOMEM, "no memory for the decode");
        }
        if (status == SHD_OK)
            trial->record->handoff = sum(&h);
        trial_fini(&prefill);
    }
    fini(&h);
    return status;
}
