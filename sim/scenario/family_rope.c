/* Rotary positions by a config.json (family_reader.h): as transformers 5 writes them, in
 * `rope_parameters`, of all layers or of each type of layer, and as versions before did, in
 * `rope_theta` and `rope_scaling`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "scenario/family_reader.h"

static bool fault(const struct family_reader *c, const struct yaml_node *node, const char *what)
{
    diag_error(c->diag, node->place, "%s", what);
    return false;
}

/* The longest sequence that the model was trained on first: beside the scaling, at the top, as Phi
 * has it, or that of the model. */
static bool read_original(int64_t *out, const struct family_reader *c, const struct yaml_node *map)
{
    static const char *const key = "original_max_position_embeddings";

    *out = 0;
    return family_read_count(out, c, c->root, "max_position_embeddings") &&
           family_read_count(out, c, map, key) && family_read_count(out, c, c->root, key);
}

static bool read_factors(double *out, uint32_t *n, const struct family_reader *c,
                         const struct yaml_node *map, const char *key)
{
    const struct yaml_node *list = family_find(map, key);

    if (!list || list->kind != YAML_LIST || list->nitems == 0 ||
        list->nitems > SCENARIO_ROPE_FACTORS_MAX)
        return fault(c, list ? list : map, "longrope: expected lists short_factor and long_factor");
    if (*n > 0 && *n != list->nitems)
        return fault(c, list, "long_factor: expected the length of short_factor");
    *n = (uint32_t)list->nitems;
    for (size_t i = 0; i < list->nitems; i++)
        if (!yaml_read_double(list->items[i], &out[i]) || out[i] <= 0)
            return fault(c, list->items[i], "longrope: expected factors above 0");
    return true;
}

static bool read_longrope(struct scenario_rope_scaling *s, const struct family_reader *c,
                          const struct yaml_node *map)
{
    int64_t longest = s->original;

    if (!family_read_count(&longest, c, c->root, "max_position_embeddings"))
        return false;
    if (s->factor == 0 && s->original > 0)
        s->factor = (double)longest / (double)s->original;
    return read_factors(s->short_factors, &s->nfactors, c, map, "short_factor") &&
           read_factors(s->long_factors, &s->nfactors, c, map, "long_factor") &&
           family_read_number(&s->attention_factor, c, map, "attention_factor");
}

static bool read_yarn(struct scenario_rope_scaling *s, const struct family_reader *c,
                      const struct yaml_node *map)
{
    const struct yaml_node *truncate = family_find(map, "truncate");
    bool whole = true;

    if (truncate && !yaml_read_bool(truncate, &whole))
        return fault(c, truncate, "truncate: expected true or false");
    s->untruncated = !whole;
    return family_read_number(&s->beta_fast, c, map, "beta_fast") &&
           family_read_number(&s->beta_slow, c, map, "beta_slow") &&
           family_read_number(&s->mscale, c, map, "mscale") &&
           family_read_number(&s->mscale_all, c, map, "mscale_all_dim") &&
           family_read_number(&s->attention_factor, c, map, "attention_factor");
}

static bool read_llama3(struct scenario_rope_scaling *s, const struct family_reader *c,
                        const struct yaml_node *map)
{
    return family_read_number(&s->low, c, map, "low_freq_factor") &&
           family_read_number(&s->high, c, map, "high_freq_factor");
}

/* Queries that are scaled by position have no effect on sequences that end before the first
 * step. */
static bool check_steps(const struct family_reader *c, const struct yaml_node *map)
{
    const struct yaml_node *beta = family_find(map, "llama_4_scaling_beta");

    if (!beta || c->seq <= c->model->rope.scaling.original)
        return true;
    return fault(c, beta,
                 "llama_4_scaling_beta: query scaling by position is not modelled; expected "
                 "sequences of at most original_max_position_embeddings");
}

static const struct {
    const char *name;
    enum scenario_rope_scaling_kind kind;
    bool (*read)(struct scenario_rope_scaling *s, const struct family_reader *c,
                 const struct yaml_node *map);
} scalings[] = {
    {"default", SCENARIO_ROPE_UNSCALED, NULL},
    {"linear", SCENARIO_ROPE_LINEAR, NULL},
    {"dynamic", SCENARIO_ROPE_DYNAMIC, NULL},
    {"llama3", SCENARIO_ROPE_LLAMA3, read_llama3},
    {"yarn", SCENARIO_ROPE_YARN, read_yarn},
    {"longrope", SCENARIO_ROPE_LONGROPE, read_longrope},
    {"su", SCENARIO_ROPE_LONGROPE, read_longrope},
};

/* Read the kind of a map of rotary positions and its numbers. */
static bool read_scaling(struct scenario_rope_scaling *s, const struct family_reader *c,
                         const struct yaml_node *map)
{
    const struct yaml_node *type = family_find(map, "rope_type");

    type = type ? type : family_find(map, "type");
    *s = (struct scenario_rope_scaling){.kind = SCENARIO_ROPE_UNSCALED};
    if (!type)
        return true;
    for (size_t i = 0; i < sizeof(scalings) / sizeof(scalings[0]); i++) {
        if (type->kind != YAML_TEXT || strcmp(type->text, scalings[i].name) != 0)
            continue;
        s->kind = scalings[i].kind;
        if (s->kind == SCENARIO_ROPE_UNSCALED)
            return true;
        return family_read_number(&s->factor, c, map, "factor") &&
               read_original(&s->original, c, map) &&
               (!scalings[i].read || scalings[i].read(s, c, map)) && check_steps(c, map);
    }
    diag_error(c->diag, type->place,
               "the rope_type is %s; expected default, linear, dynamic, llama3, yarn or longrope",
               yaml_describe(type).text);
    return false;
}

/* The part of a head that is rotated: a share, or a number of elements. */
static bool read_part(const struct family_reader *c, const struct yaml_node *map)
{
    struct scenario_rope *rope = &c->model->rope;
    int64_t dim = 0;

    if (!family_read_number(&rope->part, c, c->root, "rotary_pct") ||
        !family_read_number(&rope->part, c, c->root, "rope_pct") ||
        !family_read_number(&rope->part, c, c->root, "partial_rotary_factor") ||
        !family_read_number(&rope->part, c, map, "partial_rotary_factor") ||
        !family_read_count(&dim, c, c->root, "rotary_dim"))
        return false;
    if (dim > 0 && c->model->head_dim > 0)
        rope->part = (double)dim / (double)c->model->head_dim;
    if (rope->part >= 1)
        rope->part = 0;
    return true;
}

/* Hunyuan's dynamic positions are stretched once for all lengths: theta by alpha^(d / (d - 2)). */
static bool read_alpha(const struct family_reader *c, const struct yaml_node *map)
{
    struct scenario_rope *rope = &c->model->rope;
    double alpha = 0, width = (double)c->model->head_dim;

    if (!(c->row->layers & FAMILY_ALPHA) || rope->scaling.kind != SCENARIO_ROPE_DYNAMIC)
        return true;
    if (!family_read_number(&alpha, c, map, "alpha"))
        return false;
    if (alpha > 0 && width > 2) {
        rope->theta *= pow(alpha, width / (width - 2));
        rope->scaling = (struct scenario_rope_scaling){.kind = SCENARIO_ROPE_UNSCALED};
    }
    return true;
}

/* Read the positions of one type of layer, or of all. */
static bool read_map(const struct family_reader *c, const struct yaml_node *map)
{
    struct scenario_rope *rope = &c->model->rope;

    return family_read_number(&rope->theta, c, c->root, "rotary_emb_base") &&
           family_read_number(&rope->theta, c, c->root, "rope_theta") &&
           family_read_number(&rope->theta, c, map, "rope_theta") && read_part(c, map) &&
           read_scaling(&rope->scaling, c, map) && read_alpha(c, map);
}

/* Layers with a window may have a theta of their own, and then are not scaled. */
static bool read_local(const struct family_reader *c, const struct yaml_node *local)
{
    struct scenario_rope_scaling scaling;
    struct scenario_rope *rope = &c->model->rope;

    if (!family_read_number(&rope->local_theta, c, c->root, "rope_local_base_freq"))
        return false;
    if (local)
        rope->local_theta = rope->theta;
    else if (rope->local_theta == rope->theta && rope->scaling.kind == SCENARIO_ROPE_UNSCALED)
        rope->local_theta = 0;
    if (!local)
        return true;
    if (!family_read_number(&rope->local_theta, c, local, "rope_theta") ||
        !read_scaling(&scaling, c, local))
        return false;
    if (scaling.kind == SCENARIO_ROPE_UNSCALED)
        return true;
    return fault(c, local, "RoPE scaling in sliding-window layers is not modelled");
}

/* Whether a config asks for rotary positions, in a family whose configs do. */
static bool is_positioned(const struct family_reader *c)
{
    const struct yaml_node *type = family_find(c->root, "position_embedding_type");

    return !(c->row->layers & FAMILY_POSITIONED) ||
           (type && type->kind == YAML_TEXT && !strcmp(type->text, "rope"));
}

bool family_read_rope(const struct family_reader *c)
{
    const struct yaml_node *map = family_find(c->root, "rope_parameters"), *local = NULL;
    const struct yaml_node *old = family_find(c->root, "rope_scaling");
    struct scenario_rope *rope = &c->model->rope;

    if (c->row->rope_theta == 0 || !is_positioned(c))
        return true;
    rope->used = true;
    rope->theta = c->row->rope_theta;
    rope->part = c->row->rope_part;
    rope->local_theta = c->row->local_theta;
    if (old && old->kind == YAML_MAP && old->nitems > 0)
        map = old;
    if (map && map->kind != YAML_MAP)
        return fault(c, map, "rope_parameters: expected a map with rope_theta");
    if (map && family_find(map, "sliding_attention"))
        local = family_find(map, "sliding_attention");
    if (map && family_find(map, "full_attention"))
        map = family_find(map, "full_attention");
    if ((map && map->kind != YAML_MAP) || (local && local->kind != YAML_MAP))
        return fault(c, map ? map : local, "rope_parameters: expected a map for each layer type");
    return read_map(c, map) && read_local(c, local);
}
