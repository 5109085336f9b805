/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/price.h"

#include "base/map.h"
#include "hardware/reshard.h"
#include "program/program.h"

#define ENTRIES_FIRST 1024
#define ENTRIES_MAX (1u << 26)

/* Entry of a hash table with open addressing, power-of-two capacity, at most half full. */
struct entry {
    uint32_t from, to; /* sharding numbers; from == UINT32_MAX: free */
    uint64_t array;    /* hash of rank, extents and type */
    double cost;
};

struct price {
    struct pool *pool;
    const struct graph *graph;
    const struct shd_mesh *mesh;
    uint16_t excluded_axes;
    const struct coll_algo *const *algos; /* by kind */
    const struct hardware *hardware;      /* NULL: costs are bytes */
    struct shd_sharding *shardings;
    uint32_t nshardings;
    struct map numbers; /* of shardings, by hash */
    struct entry *entries;
    uint32_t nentries, used;
    uint64_t worked_out;
    uint64_t *arrays; /* by node */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t hash_array(const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    uint64_t h = mix(n->rank, n->dtype);

    for (uint32_t d = 0; d < n->rank; d++)
        h = mix(h, (uint64_t)graph->dims[n->dims[d]].size);
    return h;
}

static struct entry *make_entries(struct pool *pool, uint32_t n)
{
    struct entry *entries = pool_array(pool, n, sizeof *entries);

    for (uint32_t i = 0; i < n; i++)
        entries[i].from = UINT32_MAX;
    return entries;
}

struct price *price_create(struct pool *pool, const struct graph *graph,
                           const struct shd_mesh *mesh, uint32_t excluded_axes,
                           const struct coll_algo *const *algos, const struct hardware *hardware)
{
    static const struct coll_algo *const defaults[COLL_NKINDS];
    struct price *p = pool_array(pool, 1, sizeof *p);

    *p = (struct price){.pool = pool,
                        .graph = graph,
                        .mesh = mesh,
                        .excluded_axes = (uint16_t)excluded_axes,
                        .hardware = hardware,
                        .algos = algos ? algos : defaults,
                        .entries = make_entries(pool, ENTRIES_FIRST),
                        .nentries = ENTRIES_FIRST,
                        .arrays = pool_array(pool, graph->nnodes, sizeof *p->arrays)};
    for (uint32_t n = 0; n < graph->nnodes; n++)
        p->arrays[n] = hash_array(graph, n);
    return p;
}

static uint64_t hash_sharding(const struct shd_sharding *s)
{
    uint64_t h = mix(mix(s->rank, s->partial), s->partial_op);

    for (uint32_t d = 0; d < s->rank; d++) {
        h = mix(h, s->dims[d].naxes);
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            h = mix(h, s->dims[d].axes[a]);
    }
    for (uint8_t a = 0; a < s->flat.naxes; a++)
        h = mix(h, (uint64_t)s->flat_dims << 8 | s->flat.axes[a]);
    return h;
}

uint32_t price_number(struct price *price, const struct shd_sharding *sharding)
{
    uint64_t hash = hash_sharding(sharding);
    struct map_walk walk = map_find(&price->numbers, hash);
    uint32_t number;

    while ((number = map_next(&walk)) != MAP_NONE)
        if (shd_sharding_equal(&price->shardings[number], sharding))
            return number;
    pool_make_room(price->pool, &price->shardings, price->nshardings, sizeof *price->shardings);
    map_add_in(&price->numbers, price->pool, hash, price->nshardings);
    price->shardings[price->nshardings] = *sharding;
    return price->nshardings++;
}

const struct shd_sharding *price_sharding(const struct price *price, uint32_t number)
{
    return &price->shardings[number];
}

static uint64_t hash_entry(uint64_t array, uint32_t from, uint32_t to)
{
    return mix(array, ((uint64_t)from << 32) | to);
}

static struct entry *find_entry(struct entry *entries, uint32_t n, uint64_t array, uint32_t from,
                                uint32_t to)
{
    uint64_t at = hash_entry(array, from, to);
    struct entry *e;

    for (;; at++) {
        e = &entries[at & (n - 1)];
        if (e->from == UINT32_MAX || (e->from == from && e->to == to && e->array == array))
            return e;
    }
}

/* Double the table. */
static void grow_entries(struct price *p)
{
    uint32_t n = p->nentries * 2;
    struct entry *more = make_entries(p->pool, n);

    for (uint32_t i = 0; i < p->nentries; i++)
        if (p->entries[i].from != UINT32_MAX)
            *find_entry(more, n, p->entries[i].array, p->entries[i].from, p->entries[i].to) =
                p->entries[i];
    pool_drop(p->pool, p->entries);
    p->entries = more;
    p->nentries = n;
}

/* ---- costs ---- */

int price_plan(struct shd_reshard_plan *out, const struct price *p, uint32_t node, uint32_t from,
               uint32_t to, struct shd_error *err)
{
    /* Without a cluster, every box comes from a fixed holder.  With tiers, the nearest holder would
     * make a device's sent bytes depend on where its node ends. */
    const struct shd_reshard_opts opts = {.seconds = p->hardware ? hardware_reshard_seconds : NULL,
                                          .seconds_arg = p->hardware,
                                          .excluded_axes = p->excluded_axes};
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(p->graph, node, shape);
    return shd_reshard_build_with(out, &p->shardings[from], &p->shardings[to], shape,
                                  p->graph->nodes[node].dtype, &opts, err);
}

double price_step(const struct price *p, const struct shd_reshard_step *step, const int64_t *shape,
                  enum shd_dtype dtype)
{
    if (p->hardware)
        return hardware_reshard_seconds(p->hardware, step, shape, dtype);
    return (double)program_step_received(step, shape, dtype, p->algos);
}

/* Fixed cost of a step, in bytes; modelled seconds include latency already. */
static double cost_of_any_step(const struct price *p)
{
    return p->hardware ? 0 : PRICE_STEP_BYTES;
}

double price_fetch(const struct price *p, const struct shd_sharding *cut, double device_bytes)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    struct hardware_group group;
    size_t naxes = 0;

    if (!p->hardware)
        return (double)shd_mesh_size(p->mesh) * device_bytes + PRICE_STEP_BYTES;
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (shd_sharding_axes(cut) >> a & 1)
            axes[naxes++] = a;
    hardware_group_of(&group, p->hardware, p->mesh, axes, naxes);
    return hardware_collective_seconds(p->hardware, COLL_ALL_TO_ALL, &group,
                                       device_bytes * (double)group.members /
                                           (double)(group.members - 1));
}

/* Cost of work at the cluster's rates.  Tile efficiency of products is not modelled here: layouts
 * differ in how often work is repeated, which the rates show. */
double price_work(const struct price *p, enum shd_dtype dtype, double flops, double bytes)
{
    const struct hardware *h = p->hardware;
    double rate;

    if (!h)
        return (double)shd_mesh_size(p->mesh) *
               (flops / PRICE_FLOPS_PER_BYTE + bytes / PRICE_LOCAL_PER_BYTE);
    rate = hardware_flops_per_s(h, dtype) * h->kernels.matmul_efficiency;
    return (rate > 0 ? flops / rate : 0) +
           bytes / (h->memory_bytes_per_s * h->kernels.memory_efficiency);
}

static double cost_of(const struct price *p, uint32_t node, uint32_t from, uint32_t to)
{
    enum shd_dtype dtype = p->graph->nodes[node].dtype;
    struct shd_reshard_plan plan;
    int64_t shape[GRAPH_RANK_MAX];
    double cost = 0;

    graph_shape(p->graph, node, shape);
    if (price_plan(&plan, p, node, from, to, NULL) != SHD_OK)
        return PRICE_IMPOSSIBLE;
    for (size_t i = 0; i < plan.nsteps; i++)
        cost += price_step(p, &plan.steps[i], shape, dtype) + cost_of_any_step(p);
    return cost;
}

uint64_t price_worked_out(const struct price *price)
{
    return price->worked_out;
}

double price_reshard(struct price *price, uint32_t node, uint32_t from, uint32_t to)
{
    struct entry *e;
    double cost;

    if (from == to)
        return 0;
    e = find_entry(price->entries, price->nentries, price->arrays[node], from, to);
    if (e->from != UINT32_MAX)
        return e->cost;
    cost = cost_of(price, node, from, to);
    price->worked_out++;
    if (2 * (price->used + 1) > price->nentries) {
        if (price->nentries >= ENTRIES_MAX)
            return cost; /* not remembered: a search in a full table never ends */
        grow_entries(price);
        e = find_entry(price->entries, price->nentries, price->arrays[node], from, to);
    }
    *e = (struct entry){from, to, price->arrays[node], cost};
    price->used++;
    return cost;
}
