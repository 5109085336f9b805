/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/spec.h"

#include <string.h>

#include "base/words.h"

struct reader {
    struct rules_spec *out;
    const struct import_rules *rules;
    const struct statements *statements;
    struct diag *diag;
};

/* ---- eformer's words ---- */

/* eformer's constants for axes of a model and of the mesh, with the fields of PartitionAxis that
 * define them; NULL: not sharded. */
static const struct {
    const char *words, *field;
} words[] = {
    {"EMPTY", NULL},
    {"BATCH", "batch"},
    {"LENGTH", "sequence"},
    {"QUERY_LENGTH", "query_sequence"},
    {"KV_LENGTH", "key_sequence"},
    {"EMBED", "hidden_state"},
    {"HEAD KV_HEAD", "head"},
    {"HEAD_DIM KV_HEAD_DIM", "attention_dim"},
    {"MLP_INTERMEDIATE", "mlp_intermediate"},
    {"VOCAB", "vocab"},
    {"EXPERT", "expert"},
    {"EXPERT_GATE", "expert_gate"},
    {"DP DATA_PARALLEL", "data_parallel"},
    {"FSDP FULLY_SHARDED_DATA_PARALLEL", "fully_sharded_data_parallel"},
    {"TP TENSOR_PARALLEL", "tensor_parallel"},
    {"SP SEQUENCE_PARALLEL", "sequence_parallel"},
    {"EP EXPERT_PARALLEL", "expert_parallel"},
};

/* eformer's kinds of sharding, an entry for each dimension: words separated by blanks are one
 * entry. */
static const struct {
    const char *name;
    const char *entries[3];
} kinds[] = {
    {"ColumnWise", {"FSDP SP", "TP"}},
    {"RowWise", {"TP", "FSDP SP"}},
    {"SColumnWise", {"FSDP SP"}},
    {"SRowWise", {"TP"}},
    {"Replicated", {"EMPTY"}},
    {"ExpertColumnWise", {"EP", "FSDP", "TP"}},
    {"ExpertRowWise", {"EP", "TP", "FSDP"}},
    {"ExpertColumnWiseAlt", {"EP", "FSDP SP", "TP"}},
    {"ExpertRowWiseAlt", {"EP", "TP", "FSDP SP"}},
    {"UnifiedExpertColumnWise", {"FSDP SP EP", "EMPTY", "TP"}},
    {"UnifiedExpertRowWise", {"FSDP SP EP", "TP", "EMPTY"}},
    {"ExpertTensorParallel", {"TP", "EMPTY", "EMPTY"}},
};

/* ---- entries ---- */

/* Add an axis of the mesh to the last entry. */
static bool add_axis(struct reader *r, const char *axis, struct place place)
{
    size_t e = r->out->nentries - 1;
    struct shd_spec_entry *entry = &r->out->entries[e];

    if (import_rules_axis(r->rules, axis, place, r->diag) < 0)
        return false;
    for (size_t f = 0; f <= e; f++)
        for (size_t a = 0; a < r->out->entries[f].naxes; a++)
            if (!strcmp(r->out->entries[f].axes[a], axis)) {
                diag_error(r->diag, place,
                           "axis '%s' is used twice; expected each axis once in a spec", axis);
                return false;
            }
    r->out->axes[e][entry->naxes++] = axis; /* at most all axes of the mesh, each once */
    return true;
}

static bool add_entry(struct reader *r, struct place place)
{
    struct rules_spec *s = r->out;

    if (s->nentries == RULES_SPEC_ENTRIES_MAX) {
        diag_error(r->diag, place, "a spec has more than %d entries", RULES_SPEC_ENTRIES_MAX);
        return false;
    }
    s->entries[s->nentries] = (struct shd_spec_entry){s->axes[s->nentries], 0};
    s->nentries++;
    return true;
}

/* Add the axes of one of eformer's words. */
static bool add_word(struct reader *r, const char *word, size_t length, struct place place)
{
    const struct shd_axis_value *value;
    size_t w = 0;

    while (w < sizeof words / sizeof *words && !words_has_bytes(words[w].words, word, length))
        w++;
    if (w == sizeof words / sizeof *words || !r->rules->partition_axis) {
        diag_error(
            r->diag, place,
            "unknown name '%.*s'; expected the name of a mesh axis in quotes, None, or a word of "
            "eformer such as TP, FSDP or EMPTY",
            (int)(length < 60 ? length : 60), word);
        return false;
    }
    if (!words[w].field)
        return true;
    value = shd_partition_axis_find(r->rules->partition_axis, words[w].field, SHD_MODE_TRAINING);
    for (size_t a = 0; value && value->kind != SHD_AXIS_IS_NONE && a < value->naxes; a++)
        if (value->axes[a] && !add_axis(r, value->axes[a], place))
            return false;
    return true;
}

/* Read an entry: None, "tp", a word, or several of them. */
static bool fill_entry(struct reader *r, const struct value *v, bool nested)
{
    char found[VALUE_DESCRIPTION_MAX];

    v = statements_resolve(r->statements, v);
    if (v->kind == VALUE_NONE || (v->kind == VALUE_TEXT && (!*v->text || !strcmp(v->text, "_"))))
        return true;
    if (v->kind == VALUE_TEXT)
        return add_axis(r, v->text, v->place);
    if (v->kind == VALUE_NAME)
        return add_word(r, value_last_name(v), strlen(value_last_name(v)), v->place);
    if (v->kind == VALUE_LIST && !nested) {
        for (size_t i = 0; i < v->nitems; i++)
            if (!fill_entry(r, v->items[i], true))
                return false;
        return true;
    }
    diag_error(r->diag, v->place,
               "%s in a spec; expected None, the name of a mesh axis, or a tuple of such names",
               value_describe(v, found, sizeof found));
    return false;
}

static bool read_entries(struct reader *r, const struct value *list)
{
    for (size_t i = 0; i < list->nitems; i++) {
        if (list->kind == VALUE_CALL && list->keys[i]) {
            diag_error(r->diag, list->items[i]->place,
                       "'%.60s=' in a spec; expected an entry for each dimension", list->keys[i]);
            return false;
        }
        if (!add_entry(r, list->items[i]->place) || !fill_entry(r, list->items[i], false))
            return false;
    }
    return true;
}

/* Read a kind such as ColumnWise; false without a report: no such kind. */
static bool read_kind(struct reader *r, const struct value *v, bool *is_kind)
{
    const char *name = value_last_name(v);
    size_t k = 0;

    while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].name, name) != 0)
        k++;
    *is_kind = k < sizeof kinds / sizeof *kinds;
    for (size_t e = 0; *is_kind && e < 3 && kinds[k].entries[e]; e++) {
        const char *at = kinds[k].entries[e];
        size_t length;

        if (!add_entry(r, v->place))
            return false;
        for (const char *word; (word = words_next(&at, &length));)
            if (!add_word(r, word, length, v->place))
                return false;
    }
    return *is_kind;
}

static bool read_spec(struct reader *r, const struct value *v)
{
    const char *name;
    char found[VALUE_DESCRIPTION_MAX];
    const struct value *axes;
    bool is_kind;

    v = statements_resolve(r->statements, v);
    name = value_last_name(v);
    if (v->kind == VALUE_LIST ||
        (v->kind == VALUE_CALL && words_has("PartitionSpec P PS Ps", name)))
        return read_entries(r, v);
    if (v->kind == VALUE_CALL && words_has("resolve resolve_spec", name)) {
        axes = value_argument(v, "dynamic_axes", SIZE_MAX);
        if (!axes)
            axes = value_argument(v, "axes", 0);
        axes = statements_resolve(r->statements, axes);
        if (axes && axes->kind != VALUE_CALL) /* a call could lead back to itself */
            return read_spec(r, axes);
    }
    if (v->kind == VALUE_CALL && !strcmp(name, "NamedSharding")) {
        axes = statements_resolve(r->statements, value_argument(v, "spec", 1));
        if (axes && strcmp(value_last_name(axes), name) != 0)
            return read_spec(r, axes);
    }
    if (read_kind(r, v, &is_kind))
        return true;
    if (!is_kind)
        diag_error(
            r->diag, v->place,
            "%s is not a spec; expected PartitionSpec(...) with an entry for each dimension, "
            "or one of eformer's kinds such as ColumnWise, RowWise or Replicated",
            value_describe(v, found, sizeof found));
    return false;
}

bool rules_spec_read(struct rules_spec *out, const struct import_rules *rules,
                     const struct statements *statements, const struct value *value,
                     struct diag *diag)
{
    struct reader r = {out, rules, statements, diag};

    out->nentries = 0;
    return read_spec(&r, value);
}

bool rules_spec_read_entry(struct rules_spec *out, const struct import_rules *rules,
                           const struct statements *statements, const struct value *value,
                           struct diag *diag)
{
    struct reader r = {out, rules, statements, diag};

    out->nentries = 0;
    return add_entry(&r, value->place) && fill_entry(&r, value, false);
}

void rules_spec_add_field(struct text *out, const struct import_rules *rules, const char *field)
{
    const struct shd_axis_value *value =
        shd_partition_axis_find(rules->partition_axis, field, SHD_MODE_TRAINING);
    size_t n = 0;

    for (size_t a = 0; value && value->kind != SHD_AXIS_IS_NONE && a < value->naxes; a++)
        for (size_t m = 0; value->axes[a] && m < rules->naxes; m++)
            if (!strcmp(rules->axes[m], value->axes[a]))
                text_addf(out, "%s%s", n++ ? ", " : "[", rules->axes[m]);
    if (n > 0)
        text_add(out, "]");
}
