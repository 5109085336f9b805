/* Reads T5X's logical axis rules: a gin file with its PjitPartitioner, or a list of pairs in
 * Python.  Included files are not read: their names may determine the model, and are listed in a
 * comment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "rules/list.h"
#include "rules/spec.h"

#define EXAMPLE "('mlp', 'model')"

struct reader {
    struct import_rules *rules;
    struct statements statements;
    struct diag *diag;
};

/* ---- values ---- */

/* The whole number of at least 1 that a parameter is bound to; 0: not bound, or None. */
static int64_t find_count(const struct reader *r, const char *owner, const char *parameter)
{
    const struct value *v = statements_find(&r->statements, owner, parameter);
    char found[VALUE_DESCRIPTION_MAX];

    if (!v || v->kind == VALUE_NONE || v->kind == VALUE_NAME ||
        (v->kind == VALUE_INT && v->number == 0))
        return 0;
    if (v->kind == VALUE_INT && v->number >= 1 && v->number <= INT32_MAX)
        return v->number;
    diag_error(r->diag, v->place, "%s is %s; expected a whole number of at least 1", parameter,
               value_describe(v, found, sizeof found));
    return 0;
}

/* The number of a key in a dict; 0: no such key. */
static int64_t count_of_key(const struct value *dict, const char *key)
{
    for (size_t i = 0; dict && dict->kind == VALUE_DICT && i + 1 < dict->nitems; i += 2)
        if (dict->items[i]->kind == VALUE_TEXT && !strcmp(dict->items[i]->text, key) &&
            dict->items[i + 1]->kind == VALUE_INT && dict->items[i + 1]->number > 0 &&
            dict->items[i + 1]->number <= INT32_MAX)
            return dict->items[i + 1]->number;
    return 0;
}

/* ---- the mesh ---- */

/* Devices that hold a model together: the product of a submesh, or num_partitions. */
static int64_t find_partitions(const struct reader *r)
{
    const struct value *submesh =
        statements_find(&r->statements, "PjitPartitioner", "model_parallel_submesh");
    int64_t n = 1;

    if (!submesh || submesh->kind == VALUE_NONE || submesh->kind == VALUE_NAME)
        return find_count(r, "PjitPartitioner", "num_partitions");
    for (size_t i = 0; submesh->kind == VALUE_LIST && i < submesh->nitems; i++) {
        const struct value *size = submesh->items[i];

        if (size->kind != VALUE_INT || size->number < 1 || size->number > INT32_MAX / n) {
            diag_error(r->diag, size->place,
                       "an extent of the submesh; expected whole numbers of at least 1, for "
                       "example (2, 2, 1, 1)");
            return 0;
        }
        n *= size->number;
    }
    if (submesh->kind != VALUE_LIST || submesh->nitems == 0) {
        diag_error(r->diag, submesh->place,
                   "expected the extents of the submesh, for example (2, 2, 1, 1)");
        return 0;
    }
    return n;
}

static void read_mesh(struct reader *r)
{
    static const char *const axes[] = {"data", "model"};
    int64_t sizes[] = {-1, r->rules->request.mesh ? 1 : find_partitions(r)};

    if (sizes[1] == 0 && r->diag->nerrors == 0)
        diag_error(r->diag, r->rules->end,
                   "no mesh; expected PjitPartitioner.num_partitions or model_parallel_submesh, or "
                   "--mesh data:4,model:2");
    if (r->diag->nerrors == 0)
        import_rules_mesh(r->rules, axes, sizes, 2, r->rules->end, r->diag);
}

/* ---- rules ---- */

static void read_rule(struct reader *r, struct shd_logical_rules *out, const struct value *item)
{
    const struct value *pair[2];
    struct rules_spec spec;
    struct shd_error err;

    if (!rules_list_pair(pair, &r->statements, item, EXAMPLE, r->diag) ||
        !rules_spec_read_entry(&spec, r->rules, &r->statements, pair[1], r->diag) ||
        !import_rules_add(r->rules, pair[0]->place, pair[1]->place, pair[0]->text, spec.entries, 1,
                          r->diag))
        return;
    if (shd_logical_rules_add(out, pair[0]->text, &spec.entries[0], &err) != SHD_OK)
        diag_no_memory(r->diag);
}

static void read_list(struct reader *r, struct shd_logical_rules *out, const struct value *list)
{
    if (!rules_list_check(list, r->diag))
        return;
    for (size_t i = 0; i < list->nitems && !diag_is_full(r->diag); i++)
        read_rule(r, out, list->items[i]);
}

static void report_dims(const struct reader *r, int64_t of_activations, int status,
                        const struct shd_error *err)
{
    const struct value *v = statements_find(&r->statements, "standard_logical_axis_rules",
                                            of_activations > 2 ? "activation_partitioning_dims"
                                                               : "parameter_partitioning_dims");

    diag_failure(r->diag, v ? v->place : r->rules->end, status, "%s", err->text);
}

/* Add the standard rules, which use the axes data and model; `more` are in the list already. */
static void add_standard(struct reader *r, const struct shd_logical_rules *more)
{
    int64_t of_params = find_count(r, "standard_logical_axis_rules", "parameter_partitioning_dims");
    int64_t of_activations =
        find_count(r, "standard_logical_axis_rules", "activation_partitioning_dims");
    struct import_rule *own = r->rules->list;
    size_t nown = r->rules->nrules, nstandard;
    struct shd_error err;
    int status;

    status = shd_logical_rules_standard(&r->rules->logical, of_activations ? of_activations : 1,
                                        of_params ? of_params : 1, more, &err);
    if (status != SHD_OK) {
        report_dims(r, of_activations, status, &err);
        return;
    }
    /* The file's rules come last. */
    r->rules->list = NULL;
    r->rules->nrules = 0;
    nstandard = shd_logical_rules_count(r->rules->logical) - nown;
    for (size_t i = 0; i < nstandard + nown; i++) {
        struct place place = i < nstandard ? (struct place){NULL, 0, 0} : own[i - nstandard].place;
        struct place axes = i < nstandard ? r->rules->end : own[i - nstandard].spec_place;

        if (!import_rules_add(r->rules, place, axes, shd_logical_rules_name(r->rules->logical, i),
                              shd_logical_rules_axes(r->rules->logical, i), 1, r->diag))
            break;
    }
    for (size_t i = 0; i < nown; i++) {
        free(own[i].name);
        free(own[i].spec);
    }
    free(own);
    text_addf(&r->rules->told,
              "# standard_logical_axis_rules(activation_partitioning_dims=%" PRId64
              ", parameter_partitioning_dims=%" PRId64 ")\n",
              of_activations ? of_activations : 1, of_params ? of_params : 1);
}

/* The standard rules need the axes data and model. */
static void check_standard_axes(struct reader *r)
{
    (void)(import_rules_axis(r->rules, "data", r->rules->end, r->diag) >= 0 &&
           import_rules_axis(r->rules, "model", r->rules->end, r->diag) >= 0);
}

static void read_standard(struct reader *r)
{
    const struct value *more =
        statements_find(&r->statements, "standard_logical_axis_rules", "additional_rules");
    struct shd_logical_rules *additional = NULL;

    check_standard_axes(r);
    if (more && more->kind == VALUE_LIST) {
        if (shd_logical_rules_create(&additional, NULL) != SHD_OK)
            diag_no_memory(r->diag);
        else
            read_list(r, additional, more);
    }
    if (r->diag->nerrors == 0)
        add_standard(r, additional);
    shd_logical_rules_destroy(additional);
}

/* Whether the file is gin: it binds a dotted name, or includes. */
static bool is_gin(const struct statements *statements)
{
    for (size_t i = 0; i < statements->count; i++)
        if (statements->list[i].include || strchr(statements->list[i].name, '.'))
            return true;
    return false;
}

/* Whether the rules are the standard rules: by name, or in a gin file by default. */
static bool is_standard(const struct reader *r, const struct value *rules)
{
    if (!rules || rules->kind == VALUE_NONE)
        return is_gin(&r->statements);
    return !strcmp(value_last_name(rules), "standard_logical_axis_rules");
}

static void read_rules(struct reader *r)
{
    const struct value *list = statements_find(&r->statements, NULL, "logical_axis_rules");
    char found[VALUE_DESCRIPTION_MAX];

    if (is_standard(r, list)) {
        read_standard(r);
        return;
    }
    if (!list)
        list = rules_list_find(&r->statements, EXAMPLE, r->rules->end, r->diag);
    if (list && list->kind != VALUE_LIST)
        diag_error(r->diag, list->place,
                   "logical_axis_rules is %s; expected a list of pairs such as %s, or "
                   "@partitioning.standard_logical_axis_rules()",
                   value_describe(list, found, sizeof found), EXAMPLE);
    else if (list && shd_logical_rules_create(&r->rules->logical, NULL) != SHD_OK)
        diag_no_memory(r->diag);
    else if (list)
        read_list(r, r->rules->logical, list);
}

/* ---- the model and the batch ---- */

/* T5X's own files for published models. */
static const struct {
    const char *file, *size;
} known[] = {
    {"t5_1_1/small.gin", "t5-v1.1-small"},
    {"t5_1_1/base.gin", "t5-v1.1-base"},
    {"t5_1_1/large.gin", "t5-v1.1-large"},
    {"t5_1_1/xl.gin", "t5-v1.1-xl"},
    {"t5_1_1/xxl.gin", "t5-v1.1-xxl"},
    {"t5_1_0/small.gin", "t5-small"},
    {"t5_1_0/base.gin", "t5-base"},
    {"t5_1_0/large.gin", "t5-large"},
    {"t5_1_0/3B.gin", "t5-3b"},
    {"t5_1_0/11B.gin", "t5-11b"},
};

static const char *read_includes(struct reader *r)
{
    const char *size = NULL;

    for (size_t i = 0; i < r->statements.count; i++) {
        const struct value *v = r->statements.list[i].value;

        if (!r->statements.list[i].include || v->kind != VALUE_TEXT)
            continue;
        text_add(&r->rules->told, "# Included and not read: ");
        escape_add(&r->rules->told, v->text);
        text_add(&r->rules->told, "\n");
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            size_t n = strlen(v->text), m = strlen(known[k].file);

            if (text_ends_with(v->text, known[k].file) && (n == m || v->text[n - m - 1] == '/'))
                size = known[k].size;
        }
    }
    return size;
}

/* The activation of an mlp, gated or not; NULL: an unknown one. */
static const char *activation_of(const struct value *v)
{
    const char *first = v->kind == VALUE_LIST && v->nitems > 0 && v->items[0]->kind == VALUE_TEXT
                            ? v->items[0]->text
                            : "";
    bool gated =
        v->nitems == 2 && v->items[1]->kind == VALUE_TEXT && !strcmp(v->items[1]->text, "linear");

    if (!strcmp(first, "gelu"))
        return gated ? "geglu" : v->nitems == 1 ? "gelu" : NULL;
    if (!strcmp(first, "relu"))
        return v->nitems == 1 ? "relu" : NULL;
    if (!strcmp(first, "silu") || !strcmp(first, "swish"))
        return gated ? "swiglu" : v->nitems == 1 ? "silu" : NULL;
    return NULL;
}

/* Append the sizes in T5Config, which override those of the included file. */
static void add_sizes(struct reader *r, struct text *out)
{
    static const struct {
        const char *theirs, *ours;
    } sizes[] = {
        {"num_encoder_layers", "layers"}, {"num_decoder_layers", "decoder_layers"},
        {"emb_dim", "d_model"},           {"mlp_dim", "d_ff"},
        {"num_heads", "heads"},           {"head_dim", "head_dim"},
        {"vocab_size", "vocab"},
    };
    const struct value *v;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = find_count(r, "T5Config", sizes[i].theirs);

        if (n > 0)
            text_addf(out, ", %s: %" PRId64, sizes[i].ours, n);
    }
    v = statements_find(&r->statements, "T5Config", "mlp_activations");
    if (v && activation_of(v))
        text_addf(out, ", activation: %s", activation_of(v));
    else if (v)
        diag_error(r->diag, v->place,
                   "no such activations; expected ('gelu', 'linear'), ('silu', 'linear') or "
                   "('relu',)");
    v = statements_find(&r->statements, "T5Config", "logits_via_embedding");
    if (v && v->kind == VALUE_BOOL)
        text_addf(out, ", tied: %s", v->number ? "true" : "false");
}

static void read_model(struct reader *r)
{
    const struct value *lengths = statements_find(&r->statements, NULL, "TASK_FEATURE_LENGTHS");
    const char *size = read_includes(r);
    struct text more = TEXT_INIT;

    add_sizes(r, &more);
    if (size)
        text_addf(&r->rules->model, "{size: %s%s, dtype: bfloat16}", size, text_get(&more));
    else if (more.length > 0)
        text_addf(&r->rules->model, "{kind: t5%s, dtype: bfloat16}", text_get(&more));
    r->rules->model.failed |= more.failed;
    text_fini(&more);
    r->rules->batch = find_count(r, NULL, "BATCH_SIZE");
    if (r->rules->batch == 0)
        r->rules->batch = find_count(r, "DatasetConfig", "batch_size");
    r->rules->microbatches = find_count(r, "Trainer", "num_microbatches");
    r->rules->seq = count_of_key(lengths, "targets");
    r->rules->source = count_of_key(lengths, "inputs");
}

/* Find the axes of batches and sequences by the rules. */
static void read_inputs(struct reader *r)
{
    static const char *const names[] = {"batch", "length"};
    struct text *out[] = {&r->rules->batch_axes, &r->rules->seq_axes};
    struct shd_spec *spec = NULL;
    struct shd_error err;
    int status = shd_logical_rules_spec(&spec, r->rules->logical, names, 2, &err);

    if (status != SHD_OK) {
        diag_failure(r->diag, r->rules->end, status, "%s", err.text);
        return;
    }
    for (size_t e = 0; e < 2; e++) {
        for (size_t a = 0; a < shd_spec_naxes(spec, e); a++)
            text_addf(out[e], "%s%s", a ? ", " : "[", shd_spec_axis(spec, e, a));
        if (shd_spec_naxes(spec, e) > 0)
            text_add(out[e], "]");
    }
    shd_spec_destroy(spec);
}

void import_t5x(struct import_rules *rules, struct place first, const char *text, size_t length,
                struct diag *diag)
{
    struct reader r = {.rules = rules, .diag = diag};

    rules->end = first;
    rules->request.names = NAMES_T5X;
    statements_read(&r.statements, first, text, length, diag);
    if (diag->nerrors == 0)
        read_mesh(&r);
    if (diag->nerrors == 0)
        read_rules(&r);
    if (diag->nerrors == 0)
        read_model(&r);
    if (diag->nerrors == 0)
        read_inputs(&r);
    statements_fini(&r.statements);
}
