/* Expanding a sweep into strategies (scenario/sweep_strategies.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/sweep_strategies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/mesh.h>

#include "base/array.h"
#include "base/nearest.h"
#include "scenario/scenario.h"

/* of one map of sizes, before filtering by `devices`; each one is visited */
#define COMBINATIONS_MAX 65536

struct expansion {
    struct sweep *sweep;
    struct diag *diag;
    struct place place;               /* of the sweep */
    const struct yaml_node *devices;  /* NULL: any number of devices */
    bool full;                        /* too many strategies, or no memory: reported */
};

/* One combination of sizes: for each axis the index of its size, like the digits of a counter, the
 * last axis fastest. */
struct wheels {
    const struct yaml_node *mesh;
    size_t at[SHD_MESH_AXES_MAX];
};

static void *keep(struct expansion *e, size_t size)
{
    struct sweep *s = e->sweep;
    bool room = array_make_room(&s->blocks, s->nblocks, sizeof *s->blocks);
    void *block = room ? calloc(1, size) : NULL;

    if (block) {
        s->blocks[s->nblocks++] = block;
        return block;
    }
    if (!e->full)
        diag_no_memory(e->diag);
    e->full = true;
    return NULL;
}

static const struct yaml_node *text_node(struct expansion *e, struct place place, const char *text)
{
    struct yaml_node *node = keep(e, sizeof *node + strlen(text) + 1);
    char *copy;

    if (!node)
        return NULL;
    copy = (char *)(node + 1);
    memcpy(copy, text, strlen(text) + 1);
    *node = (struct yaml_node){
        .kind = YAML_TEXT, .quoted = true, .place = place, .text = copy};
    return node;
}

/* A map with room for `n` entries, all unset. */
struct made_map {
    struct yaml_node *node;
    const struct yaml_node **keys, **items;
};

static bool new_map(struct expansion *e, struct made_map *map, struct place place, size_t n)
{
    const struct yaml_node **entries;

    map->node = keep(e, sizeof *map->node);
    entries = keep(e, (2 * n + 1) * sizeof *entries);
    if (!map->node || !entries)
        return false;
    map->keys = entries;
    map->items = entries + n;
    *map->node = (struct yaml_node){.kind = YAML_MAP, .place = place,
                                    .items = map->items, .keys = map->keys};
    return true;
}

static void add_entry(struct made_map *map, const struct yaml_node *key, const struct yaml_node *item)
{
    map->keys[map->node->nitems] = key;
    map->items[map->node->nitems++] = item;
}

static size_t nsizes(const struct yaml_node *sizes)
{
    return sizes->kind == YAML_LIST ? sizes->nitems : 1;
}

static const struct yaml_node *size_at(const struct wheels *w, size_t axis)
{
    const struct yaml_node *sizes = w->mesh->items[axis];

    return sizes->kind == YAML_LIST ? sizes->items[w->at[axis]] : sizes;
}

static int64_t number_of_devices(const struct wheels *w)
{
    int64_t product = 1, size = 1;

    for (size_t a = 0; a < w->mesh->nitems && product <= INT32_MAX; a++)
        product *= yaml_read_int(size_at(w, a), &size) ? size : 1;
    return product;
}

static bool is_wanted(const struct expansion *e, int64_t ndevices)
{
    int64_t n;

    if (!e->devices)
        return true;
    for (size_t i = 0; i < nsizes(e->devices); i++) {
        const struct yaml_node *item =
            e->devices->kind == YAML_LIST ? e->devices->items[i] : e->devices;
        if (yaml_read_int(item, &n) && n == ndevices)
            return true;
    }
    return false;
}

static bool turn(struct wheels *w)
{
    for (size_t a = w->mesh->nitems; a-- > 0;) {
        if (++w->at[a] < nsizes(w->mesh->items[a]))
            return true;
        w->at[a] = 0;
    }
    return false;
}

static void add_strategy(struct expansion *e, const struct wheels *w, const char *name,
                         const struct yaml_node *rules)
{
    struct sweep *s = e->sweep;
    struct place place = rules ? rules->place : e->place;
    struct text full = TEXT_INIT;
    struct made_map map, mesh;
    bool good;

    text_add(&full, name);
    for (size_t a = 0; a < w->mesh->nitems; a++)
        text_addf(&full, "%s%s%s", full.length ? "-" : "", w->mesh->keys[a]->text,
                  size_at(w, a)->text);
    good = !full.failed && new_map(e, &mesh, w->mesh->place, w->mesh->nitems) &&
           new_map(e, &map, place, (rules ? rules->nitems : 0) + 2);
    for (size_t a = 0; good && a < w->mesh->nitems; a++)
        add_entry(&mesh, w->mesh->keys[a], size_at(w, a));
    if (good) {
        add_entry(&map, text_node(e, place, "name"), text_node(e, place, text_get(&full)));
        add_entry(&map, text_node(e, w->mesh->place, "mesh"), mesh.node);
        for (size_t i = 0; rules && i < rules->nitems; i++)
            if (strcmp(rules->keys[i]->text, "mesh") != 0)
                add_entry(&map, rules->keys[i], rules->items[i]);
    }
    if (full.failed)
        diag_no_memory(e->diag);
    text_fini(&full);
    if (!good || e->full)
        return;
    if (s->nstrategies < SCENARIO_STRATEGIES_MAX) {
        s->strategies[s->nstrategies++] = map.node;
        return;
    }
    diag_error(e->diag, e->place, "the sweep has more than %d strategies; expected fewer sizes",
               SCENARIO_STRATEGIES_MAX);
    e->full = true;
}

/* Check a size, or a list of at least one size. */
static bool check_sizes(struct expansion *e, const char *what, const struct yaml_node *sizes)
{
    bool good = nsizes(sizes) > 0;

    if (!good)
        diag_error(e->diag, sizes->place, "%s is an empty list; expected at least one size", what);
    for (size_t i = 0; i < nsizes(sizes); i++) {
        const struct yaml_node *item = sizes->kind == YAML_LIST ? sizes->items[i] : sizes;
        int64_t size = 0;

        if (yaml_read_int(item, &size) && size >= 1 && size <= INT32_MAX)
            continue;
        diag_error(e->diag, item->place,
                   "%s is %s; expected a whole number from 1 to %d, or a list of them", what,
                   yaml_describe(item).text, INT32_MAX);
        good = false;
    }
    return good;
}

static bool check_mesh(struct expansion *e, const struct yaml_node *mesh)
{
    char what[96];
    size_t combinations = 1;
    bool good = true;

    if (mesh->kind != YAML_MAP || mesh->nitems == 0 || mesh->nitems > SHD_MESH_AXES_MAX) {
        diag_error(e->diag, mesh->place,
                   "mesh of a sweep is %s; expected a map of axis names to lists of sizes, such as "
                   "{dp: [1, 2], tp: [4, 8]}, or a list of such maps",
                   yaml_describe(mesh).text);
        return false;
    }
    for (size_t a = 0; a < mesh->nitems; a++) {
        snprintf(what, sizeof what, "size of mesh axis '%.60s'", mesh->keys[a]->text);
        good &= check_sizes(e, what, mesh->items[a]);
        combinations *= good ? nsizes(mesh->items[a]) : 1;
        if (combinations <= COMBINATIONS_MAX)
            continue;
        diag_error(e->diag, mesh->place, "more than %d meshes; expected fewer sizes",
                   COMBINATIONS_MAX);
        return false;
    }
    return good;
}

static void add_meshes(struct expansion *e, const struct yaml_node *mesh, const char *name,
                       const struct yaml_node *rules)
{
    struct wheels w = {mesh, {0}};

    if (!check_mesh(e, mesh))
        return;
    do {
        if (is_wanted(e, number_of_devices(&w)))
            add_strategy(e, &w, name, rules);
    } while (!e->full && turn(&w));
}

static void add_rules(struct expansion *e, const struct yaml_node *mesh, const char *name,
                      const struct yaml_node *rules)
{
    if (rules && yaml_find(rules, "mesh"))
        mesh = yaml_find(rules, "mesh");
    if (!mesh)
        diag_error(e->diag, rules ? rules->place : e->place,
                   "a sweep without a mesh; expected mesh: {AXIS: [SIZE, ...]}");
    else if (mesh->kind != YAML_LIST)
        add_meshes(e, mesh, name, rules);
    for (size_t i = 0; mesh && mesh->kind == YAML_LIST && i < mesh->nitems; i++)
        add_meshes(e, mesh->items[i], name, rules);
}

static bool check_keys(struct expansion *e, const struct yaml_node *node)
{
    static const char *const known[] = {"devices", "mesh", "rules"};

    if (node->kind != YAML_MAP) {
        diag_error(e->diag, node->place, "sweep is %s; expected a map of devices, mesh and rules",
                   yaml_describe(node).text);
        return false;
    }
    for (size_t i = 0; i < node->nitems; i++) {
        struct nearest near;
        size_t k = 0;

        nearest_init(&near, node->keys[i]->text);
        for (; k < 3 && strcmp(node->keys[i]->text, known[k]) != 0; k++)
            nearest_add(&near, known[k]);
        if (k == 3)
            diag_error(e->diag, node->keys[i]->place,
                       "unknown key %s in sweep; expected devices, mesh or rules%s",
                       yaml_describe(node->keys[i]).text, nearest_hint(&near).text);
    }
    return true;
}

/* Add the strategies of each rule set, in the file's order. */
static void add_rule_sets(struct expansion *e, const struct yaml_node *mesh,
                          const struct yaml_node *sets)
{
    if (sets->kind != YAML_MAP || sets->nitems == 0) {
        diag_error(e->diag, sets->place,
                   "rules of a sweep is %s; expected a map of names to option overrides",
                   sets->kind == YAML_MAP ? "empty" : yaml_describe(sets).text);
        return;
    }
    for (size_t i = 0; i < sets->nitems && !e->full; i++) {
        if (sets->items[i]->kind == YAML_MAP)
            add_rules(e, mesh, sets->keys[i]->text, sets->items[i]);
        else
            diag_error(
                e->diag, sets->items[i]->place,
                "rule set '%.60s' is %s; expected a map of options, for example {params: [...]}",
                sets->keys[i]->text, yaml_describe(sets->items[i]).text);
    }
}

void sweep_init(struct sweep *out, const struct yaml_node *node, struct diag *diag)
{
    struct expansion e = {.sweep = out, .diag = diag, .place = node->place};
    size_t before = diag->nerrors;
    const struct yaml_node *sets;

    *out = (struct sweep){NULL, 0, NULL, 0};
    out->strategies = calloc(SCENARIO_STRATEGIES_MAX, sizeof *out->strategies);
    if (!out->strategies)
        diag_no_memory(diag);
    if (!out->strategies || !check_keys(&e, node))
        return;
    e.devices = yaml_find(node, "devices");
    if (e.devices && !check_sizes(&e, "devices of the sweep", e.devices))
        return;
    sets = yaml_find(node, "rules");
    if (sets)
        add_rule_sets(&e, yaml_find(node, "mesh"), sets);
    else
        add_rules(&e, yaml_find(node, "mesh"), "", NULL);
    if (out->nstrategies == 0 && diag->nerrors == before)
        diag_error(diag, node->place, "the sweep has no mesh with this number of devices");
}

void sweep_fini(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->nblocks; i++)
        free(sweep->blocks[i]);
    free(sweep->blocks);
    free(sweep->strategies);
    *sweep = (struct sweep){NULL, 0, NULL, 0};
}
