/* What differs from layer to layer by a config.json: windows, chunks, and rotary positions
 * (family_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "scenario/family_reader.h"

/* The layers while they are read: of each 'f', 'w' or 'c', 'd' of a delta rule, 'k' of KDA, 'm' of
 * Mamba-2, 'b' of attention and Mamba-2, 'l' of lightning attention, 's' of a short convolution,
 * 'p' of an mlp alone or 'e' of experts, and whether it has rotary positions. */
#define LAYERS_MAX 65536

struct layers {
    int64_t n;
    int64_t window, chunk; /* 0: none */
    char kinds[LAYERS_MAX];
    bool plain[LAYERS_MAX];
};

static bool has(const struct family_reader *c, unsigned bits)
{
    return (c->row->layers & bits) != 0;
}

/* Layers of another kind than attention where the list of a key does not have them. */
static bool read_others(struct layers *l, const struct family_reader *c, const char *key, char kind)
{
    const struct yaml_node *full = family_find(c->root, key);
    int64_t layer;

    memset(l->kinds, kind, (size_t)l->n);
    for (size_t i = 0; full && i < full->nitems; i++) {
        if (!yaml_read_int(full->items[i], &layer) || layer < 0 || layer >= l->n) {
            diag_error(c->diag, full->items[i]->place, "%s has %s; expected a layer, 0 to %" PRId64,
                       key, yaml_describe(full->items[i]).text, l->n - 1);
            return false;
        }
        l->kinds[layer] = 'f';
    }
    return true;
}

/* A letter of `hybrid_override_pattern`, or its word; 0: it is none. */
static char kind_alone(const char *text, size_t n)
{
    static const struct {
        const char *letter, *words;
        char kind;
    } rows[] = {{"M", "mamba linear_attention", 'm'},
                {"*", "attention full_attention", 'f'},
                {"-", "mlp", 'p'},
                {"E", "moe", 'e'}};

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        if ((n == 1 && *text == *rows[r].letter) || words_has_bytes(rows[r].words, text, n))
            return rows[r].kind;
    return 0;
}

/* Hybrids of Mamba-2 have two names for the list. */
static const struct yaml_node *find_types(const struct family_reader *c)
{
    const struct yaml_node *types = family_find(c->root, "layer_types");

    return types || !has(c, FAMILY_MAMBA) ? types : family_find(c->root, "layers_block_type");
}

static const struct yaml_node *find_alone(const struct family_reader *c, int64_t *n)
{
    const struct yaml_node *list = find_types(c);
    const struct yaml_node *text = family_find(c->root, "hybrid_override_pattern");

    if (list && list->kind == YAML_LIST) {
        *n = (int64_t)list->nitems;
        return list;
    }
    *n = text && text->kind == YAML_TEXT ? (int64_t)strlen(text->text) : 0;
    return text;
}

bool family_count_alone(const struct family_reader *c)
{
    const struct yaml_node *node;
    int64_t n;

    if (!has(c, FAMILY_ALONE))
        return true;
    node = find_alone(c, &n);
    if (n >= 1 && n <= LAYERS_MAX) {
        c->model->layers = n;
        return true;
    }
    diag_error(c->diag, node ? node->place : c->root->place,
               "%s: expected a letter for each layer: M, *, - or E", "hybrid_override_pattern");
    return false;
}

/* Each layer is one part: Mamba-2, attention, an mlp or experts. */
static bool read_alone(struct layers *l, const struct family_reader *c)
{
    const struct yaml_node *node = find_alone(c, &l->n);

    for (int64_t i = 0; i < l->n; i++) {
        const struct yaml_node *item = node->kind == YAML_LIST ? node->items[i] : node;
        const char *text = item->kind == YAML_TEXT ? item->text : "";
        bool letter = node->kind != YAML_LIST;

        l->kinds[i] = kind_alone(letter ? text + i : text, letter ? 1 : strlen(text));
        if (l->kinds[i] != 0)
            continue;
        diag_error(c->diag, item->place,
                   "layer %" PRId64 " of %s; expected M (mamba), * (attention), - (mlp) or E (moe)",
                   i, yaml_describe(item).text);
        return false;
    }
    if (!memchr(l->kinds, 'e', (size_t)l->n)) /* what a config says of experts is of no layer */
        c->model->moe = (struct scenario_moe)FAMILY_NO_EXPERTS;
    return true;
}

/* 1 for each layer with attention, 0 for one with lightning attention; NULL: the key is missing. */
static bool read_flags(struct layers *l, const struct family_reader *c,
                       const struct yaml_node *list)
{
    int64_t flag;

    if (!list) {
        diag_error(c->diag, c->root->place, "'attn_type_list' is missing");
        return false;
    }
    for (int64_t i = 0; i < l->n; i++) {
        if (list->kind != YAML_LIST || i >= (int64_t)list->nitems ||
            !yaml_read_int(list->items[i], &flag) || (flag != 0 && flag != 1)) {
            diag_error(c->diag, list->place,
                       "attn_type_list: expected a list of %" PRId64 " numbers, 0 or 1", l->n);
            return false;
        }
        l->kinds[i] = flag == 1 ? 'f' : 'l';
    }
    return true;
}

/* The layers of one list of `linear_attn_config`, which counts from 1. */
static bool read_numbers(struct layers *l, const struct family_reader *c, const char *key,
                         char kind)
{
    const struct yaml_node *list = family_find(c->root, key);
    int64_t layer;

    if (list && list->kind != YAML_LIST) {
        diag_error(c->diag, list->place, "%s is %s; expected a list of layers", key,
                   yaml_describe(list).text);
        return false;
    }
    for (size_t i = 0; list && i < list->nitems; i++) {
        const struct yaml_node *item = list->items[i];

        if (!yaml_read_int(item, &layer) || layer < 1 || layer > l->n || l->kinds[layer - 1]) {
            diag_error(c->diag, item->place,
                       "%s has %s; expected a layer, 1 to %" PRId64 ", in one list alone", key,
                       yaml_describe(item).text, l->n);
            return false;
        }
        l->kinds[layer - 1] = kind;
    }
    return true;
}

/* Each layer is in one of two lists. */
static bool read_kda(struct layers *l, const struct family_reader *c)
{
    const struct yaml_node *map = family_find(c->root, "linear_attn_config");
    const char *none;

    memset(l->kinds, 0, (size_t)l->n);
    if (!read_numbers(l, c, "linear_attn_config.kda_layers", 'k') ||
        !read_numbers(l, c, "linear_attn_config.full_attn_layers", 'f'))
        return false;
    none = memchr(l->kinds, 0, (size_t)l->n);
    if (!none)
        return true;
    diag_error(c->diag, map ? map->place : c->root->place,
               "layer %td of 1 to %" PRId64 " is neither in kda_layers nor in full_attn_layers of "
               "linear_attn_config; expected it in one of them, or layer_types",
               none - l->kinds + 1, l->n);
    return false;
}

/* Windows in layers from `max_window_layers` on, or by the family's pattern, which
 * `sliding_window_pattern` makes longer or shorter. */
static bool read_pattern(struct layers *l, const struct family_reader *c)
{
    const char *pattern = c->row->pattern ? c->row->pattern : "f";
    const struct yaml_node *text = family_find(c->root, "sliding_window_pattern");
    const struct yaml_node *flags = family_find(c->root, "attn_type_list");
    int64_t period = (int64_t)strlen(pattern), first = 28; /* of Qwen's modules */

    if (has(c, FAMILY_PATTERN) && text && text->kind == YAML_TEXT && strspn(text->text, "LG") > 0 &&
        strspn(text->text, "LG") == strlen(text->text)) {
        /* EXAONE writes L for layers with a window, G for full ones. */
        for (int64_t i = 0; i < l->n; i++)
            l->kinds[i] = text->text[i % (int64_t)strlen(text->text)] == 'L' ? 'w' : 'f';
        return true;
    }
    if (has(c, FAMILY_CONV))
        return read_others(l, c, "full_attn_idxs",
                           family_find(c->root, "full_attn_idxs") ? 's' : 'f');
    if (has(c, FAMILY_ALONE))
        return read_alone(l, c);
    if (has(c, FAMILY_KDA))
        return find_types(c) || read_kda(l, c);
    if (has(c, FAMILY_LIGHTNING) && (flags || !has(c, FAMILY_TYPES)))
        return read_flags(l, c, flags);
    if (has(c, FAMILY_MAMBA))
        return read_others(l, c, "attn_layer_indices", has(c, FAMILY_BESIDE) ? 'b' : 'm');
    if (has(c, FAMILY_DELTA)) {
        period = 4; /* of Qwen's modules */
        if (!family_read_count(&period, c, c->root, "full_attention_interval"))
            return false;
        for (int64_t i = 0; i < l->n; i++)
            l->kinds[i] = period > 0 && (i + 1) % period == 0 ? 'f' : 'd';
        return true;
    }
    if (has(c, FAMILY_PATTERN) && !family_read_count(&period, c, c->root, "sliding_window_pattern"))
        return false;
    if (has(c, FAMILY_SWITCHED) && !family_read_count(&first, c, c->root, "max_window_layers"))
        return false;
    for (int64_t i = 0; i < l->n; i++) {
        if (has(c, FAMILY_SWITCHED) && !c->row->pattern)
            l->kinds[i] = i >= first ? 'w' : 'f';
        else if (has(c, FAMILY_PATTERN))
            l->kinds[i] = period > 0 && (i + 1) % period == 0 ? 'f' : 'w';
        else
            l->kinds[i] = pattern[i % period];
    }
    return true;
}

/* Read `layer_types`, a word for each layer. */
static bool read_types(struct layers *l, const struct family_reader *c,
                       const struct yaml_node *types)
{
    if (types->kind != YAML_LIST || (int64_t)types->nitems < l->n) {
        diag_error(c->diag, types->place, "layer_types: expected a list of %" PRId64 " words",
                   l->n);
        return false;
    }
    for (int64_t i = 0; i < l->n; i++) {
        const struct yaml_node *type = types->items[i];
        const char *word = type->kind == YAML_TEXT ? type->text : "";

        if (!strcmp(word, "full_attention") ||
            (has(c, FAMILY_MAMBA) && !strcmp(word, "attention"))) {
            l->kinds[i] = 'f';
        } else if (has(c, FAMILY_MAMBA) &&
                   (!strcmp(word, "mamba") || !strcmp(word, "linear_attention"))) {
            l->kinds[i] = 'm';
        } else if (!strcmp(word, "sliding_attention")) {
            l->kinds[i] = 'w';
        } else if (!strcmp(word, "chunked_attention")) {
            l->kinds[i] = 'c';
        } else if (has(c, FAMILY_DELTA) && !strcmp(word, "linear_attention")) {
            l->kinds[i] = 'd';
        } else if (has(c, FAMILY_LIGHTNING) && !strcmp(word, "linear_attention")) {
            l->kinds[i] = 'l';
        } else if (has(c, FAMILY_KDA) && !strcmp(word, "linear_attention")) {
            l->kinds[i] = 'k';
        } else if (has(c, FAMILY_CONV) && !strcmp(word, "conv")) {
            l->kinds[i] = 's';
        } else {
            diag_error(c->diag, type->place,
                       "layer_types has %s; expected full_attention, sliding_attention or "
                       "chunked_attention%s",
                       yaml_describe(type).text,
                       has(c, FAMILY_DELTA | FAMILY_LIGHTNING | FAMILY_KDA)
                           ? ", or linear_attention"
                       : has(c, FAMILY_MAMBA) ? ", or mamba"
                       : has(c, FAMILY_CONV)  ? ", or conv"
                                              : "");
            return false;
        }
    }
    return true;
}

/* Read which layers have no rotary positions: `no_rope_layers` is 1 where they have them. */
static bool read_plain(struct layers *l, const struct family_reader *c)
{
    const struct yaml_node *list = family_find(c->root, "no_rope_layers");
    int64_t interval = 4, one; /* Llama 4's and SmolLM3's default */

    if (!has(c, FAMILY_NOPE))
        return true;
    if (!family_read_count(&interval, c, c->root, "no_rope_layer_interval"))
        return false;
    if (list && list->kind == YAML_LIST && list->nitems == 0)
        list = NULL;
    if (list && (list->kind != YAML_LIST || (int64_t)list->nitems < l->n)) {
        diag_error(c->diag, list->place,
                   "no_rope_layers: expected a list of %" PRId64 " numbers, 0 or 1", l->n);
        return false;
    }
    for (int64_t i = 0; i < l->n; i++) {
        l->plain[i] = interval > 0 && (i + 1) % interval == 0;
        if (list && !yaml_read_int(list->items[i], &one)) {
            diag_error(c->diag, list->items[i]->place, "no_rope_layers has %s; expected 0 or 1",
                       yaml_describe(list->items[i]).text);
            return false;
        }
        if (list)
            l->plain[i] = one == 0;
    }
    return true;
}

/* Read the sizes of windows and chunks.  One that is no shorter than the sequence has no effect,
 * except that such layers may have their own rotary positions. */
static bool read_reach(struct layers *l, const struct family_reader *c)
{
    const struct yaml_node *window = yaml_find(c->root, "sliding_window");
    const struct yaml_node *chunk = yaml_find(c->root, "attention_chunk_size");
    bool on = has(c, FAMILY_WINDOW);

    l->window = window && yaml_is_null(window) ? 0 : c->row->window;
    l->chunk = chunk && yaml_is_null(chunk) ? 0 : c->row->chunk;
    if (has(c, FAMILY_SWITCHED)) {
        on = false;
        if (!family_read_flag(&on, c, "use_sliding_window"))
            return false;
    }
    if (on && !family_read_count(&l->window, c, c->root, "sliding_window"))
        return false;
    if (has(c, FAMILY_CHUNK) && !family_read_count(&l->chunk, c, c->root, "attention_chunk_size"))
        return false;
    if (!on)
        l->window = 0;
    return true;
}

/* Full layers of models with windows have no rotary positions; those of models without do. */
static void settle(struct layers *l, const struct family_reader *c)
{
    bool local = c->model->rope.local_theta > 0;

    for (int64_t i = 0; i < l->n; i++) {
        if (has(c, FAMILY_FULL_NOPE) && l->window > 0)
            l->plain[i] = l->kinds[i] == 'f';
        if (l->kinds[i] == 'w' && (l->window == 0 || (l->window >= c->seq && !local)))
            l->kinds[i] = 'f';
        if (l->kinds[i] == 'c' && (l->chunk == 0 || (l->chunk >= c->seq && !local)))
            l->kinds[i] = 'f';
        if (has(c, FAMILY_KDA))
            l->plain[i] = l->kinds[i] == 'f';
    }
}

static bool same(const struct layers *l, int64_t a, int64_t b)
{
    return l->kinds[a] == l->kinds[b] && l->plain[a] == l->plain[b];
}

/* The shortest list that gives all layers when repeated. */
static int64_t find_period(const struct layers *l)
{
    for (int64_t p = 1; p < l->n; p++) {
        int64_t i = p;

        while (i < l->n && same(l, i, i - p))
            i++;
        if (i == l->n)
            return p;
    }
    return l->n;
}

static uint8_t type_of(const struct layers *l, int64_t i)
{
    unsigned type = l->kinds[i] == 'w'   ? SCENARIO_LAYER_WINDOW
                    : l->kinds[i] == 'c' ? SCENARIO_LAYER_CHUNK
                    : l->kinds[i] == 'd' ? SCENARIO_LAYER_DELTA
                    : l->kinds[i] == 'k' ? SCENARIO_LAYER_KDA
                    : l->kinds[i] == 'm' ? SCENARIO_LAYER_MAMBA
                    : l->kinds[i] == 's' ? SCENARIO_LAYER_CONV
                    : l->kinds[i] == 'l' ? SCENARIO_LAYER_LIGHTNING
                    : l->kinds[i] == 'b' ? SCENARIO_LAYER_FULL_MAMBA
                    : l->kinds[i] == 'p' ? SCENARIO_LAYER_MLP
                    : l->kinds[i] == 'e' ? SCENARIO_LAYER_EXPERTS
                                         : SCENARIO_LAYER_FULL;

    return (uint8_t)(type + (l->plain[i] ? SCENARIO_LAYER_FULL_PLAIN : 0));
}

/* Write the layers as options: a list only where they differ. */
static bool write(const struct layers *l, const struct family_reader *c)
{
    struct scenario_model *m = c->model;
    int64_t period = find_period(l);
    bool window = memchr(l->kinds, 'w', (size_t)l->n), chunk = memchr(l->kinds, 'c', (size_t)l->n);

    m->window = window ? l->window : 0;
    m->chunk = chunk ? l->chunk : 0;
    if (period == 1 && !l->plain[0] && !strchr("dkmslbpe", l->kinds[0]))
        return true;
    if (period > SCENARIO_LAYER_TYPES_MAX) {
        diag_error(c->diag, c->root->place,
                   "layer types repeat with a period over %d, which is not supported",
                   SCENARIO_LAYER_TYPES_MAX);
        return false;
    }
    m->layer_types.n = (uint32_t)period;
    for (int64_t i = 0; i < period; i++)
        m->layer_types.types[i] = type_of(l, i);
    return true;
}

bool family_read_layers(const struct family_reader *c)
{
    const struct yaml_node *types = find_types(c);
    struct layers l = {.n = c->model->layers};

    if (c->row->layers == 0 || l.n < 1 || l.n > LAYERS_MAX)
        return true;
    if (!read_reach(&l, c) || !read_pattern(&l, c) || !read_plain(&l, c))
        return false;
    if (has(c, FAMILY_TYPES) && types && !read_types(&l, c, types))
        return false;
    settle(&l, c);
    return write(&l, c);
}
