/* Reads lists of EasyDeL and eformer: patterns that are searched for in the names of parameters,
 * with the spec of the first match.  The file's mesh and PartitionAxis count, if given.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/create_mesh.h>

#include "base/escape.h"
#include "rules/list.h"
#include "rules/spec.h"

#define EXAMPLE "('mlp/up_proj/kernel', PartitionSpec('fsdp', 'tp'))"

struct reader {
    struct import_rules *rules;
    struct statements statements;
    struct diag *diag;
};

/* ---- the mesh ---- */

/* The list that a file binds to one of two names, "sharding_axis_dims" or "axis_dims". */
static const struct value *find_list(const struct reader *r, const char *name, const char *other)
{
    const struct value *v = statements_find(&r->statements, NULL, name);
    char found[VALUE_DESCRIPTION_MAX];

    if (!v)
        v = statements_find(&r->statements, NULL, other);
    if (!v || (v->kind == VALUE_LIST && v->nitems > 0 && v->nitems <= SHD_MESH_AXES_MAX))
        return v;
    diag_error(r->diag, v->place, "%s is %s; expected a list for the axes of the mesh", name,
               value_describe(v, found, sizeof found));
    return NULL;
}

/* Names of axes if the file has none: EasyDeL's for five sizes, those of earlier releases for
 * four. */
static const char *const *default_names(size_t n)
{
    static const char *const earlier[] = {"dp", "fsdp", "tp", "sp"};

    return n == SHD_DEFAULT_MESH_AXES ? shd_default_mesh_names() : n == 4 ? earlier : NULL;
}

static void read_mesh(struct reader *r)
{
    const struct value *dims = find_list(r, "sharding_axis_dims", "axis_dims");
    const struct value *names = find_list(r, "sharding_axis_names", "axis_names");
    size_t n = dims ? dims->nitems : names ? names->nitems : SHD_DEFAULT_MESH_AXES;
    const char *const *defaults = default_names(n);
    const char *axes[SHD_MESH_AXES_MAX];
    int64_t sizes[SHD_MESH_AXES_MAX];
    struct place place = dims ? dims->place : names ? names->place : r->rules->end;

    if ((names && names->nitems != n) || (!names && !defaults) ||
        (!dims && n != SHD_DEFAULT_MESH_AXES)) {
        if (!r->rules->request.mesh)
            diag_error(r->diag, place,
                       "%zu sizes but %zu names of mesh axes; expected equal numbers, or --mesh",
                       dims ? n : 0, names ? names->nitems : 0);
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct value *name = names ? names->items[i] : NULL;
        const struct value *size = dims ? dims->items[i] : NULL;

        if ((name && name->kind != VALUE_TEXT) || (size && size->kind != VALUE_INT)) {
            diag_error(r->diag, name && name->kind != VALUE_TEXT ? name->place : size->place,
                       "expected the %s of a mesh axis",
                       name && name->kind != VALUE_TEXT ? "name" : "size");
            return;
        }
        axes[i] = name ? name->text : defaults[i];
        sizes[i] = size ? size->number : shd_default_mesh_dims()[i];
    }
    if (r->diag->nerrors == 0)
        import_rules_mesh(r->rules, axes, sizes, n, place, r->diag);
}

/* ---- PartitionAxis ---- */

/* The call of a function `name`: the value itself, or a call in its arguments. */
static const struct value *find_call(const struct value *v, const char *name)
{
    const struct value *found = NULL;

    if (v->kind != VALUE_CALL)
        return NULL;
    if (!strcmp(value_last_name(v), name))
        return v;
    for (size_t i = 0; !found && i < v->nitems; i++)
        found = find_call(v->items[i], name);
    return found;
}

/* Read the field of a keyword; false: the field has no effect here. */
static bool read_field(struct shd_axis_override *out, const struct reader *r, const char *keyword,
                       const struct value *v)
{
    struct shd_axis_value *value = &out->value;
    char found[VALUE_DESCRIPTION_MAX];

    out->field = keyword;
    if (shd_axis_field_find(keyword) < 0)
        return false;
    v = statements_resolve(&r->statements, v);
    *value = (struct shd_axis_value){.kind = SHD_AXIS_IS_NONE};
    if (v->kind == VALUE_TEXT) {
        *value = (struct shd_axis_value){SHD_AXIS_IS_NAME, 1, {v->text}};
    } else if (v->kind == VALUE_LIST && v->nitems <= SHD_AXIS_VALUE_MAX) {
        value->kind = SHD_AXIS_IS_TUPLE;
        for (size_t i = 0; i < v->nitems; i++)
            if (v->items[i]->kind == VALUE_TEXT)
                value->axes[value->naxes++] = v->items[i]->text;
    } else if (v->kind != VALUE_NONE) {
        diag_error(r->diag, v->place,
                   "%s is %s; expected None, the name of a mesh axis, or a tuple of such names",
                   keyword, value_describe(v, found, sizeof found));
    }
    return true;
}

static void read_partition_axis(struct reader *r)
{
    struct shd_axis_override overrides[SHD_NAXIS_FIELDS];
    const struct value *call = NULL;
    struct text unread = TEXT_INIT;
    size_t n = 0;
    struct shd_error err;
    int status;

    for (size_t i = r->statements.count; !call && i-- > 0;)
        call = find_call(r->statements.list[i].value, "PartitionAxis");
    for (size_t i = 0; call && i < call->nitems && n < SHD_NAXIS_FIELDS; i++) {
        if (call->keys[i] && read_field(&overrides[n], r, call->keys[i], call->items[i]))
            n++;
        else if (call->keys[i])
            text_addf(&unread, " %s", call->keys[i]);
    }
    if (*text_get(&unread)) {
        text_add(&r->rules->told, "# Ignored fields of PartitionAxis:");
        escape_add(&r->rules->told, text_get(&unread));
        text_add(&r->rules->told, "\n");
    }
    status = shd_partition_axis_create(&r->rules->partition_axis, overrides, n, &err);
    if (status != SHD_OK)
        diag_failure(r->diag, call ? call->place : r->rules->end, status, "%s", err.text);
    if (unread.failed)
        diag_no_memory(r->diag);
    text_fini(&unread);
}

/* ---- rules ---- */

static void read_rule(struct reader *r, const struct value *item)
{
    const struct value *pair[2];
    struct rules_spec spec;
    struct shd_spec *made = NULL;
    struct shd_error err;
    int status;

    if (!rules_list_pair(pair, &r->statements, item, EXAMPLE, r->diag) ||
        !rules_spec_read(&spec, r->rules, &r->statements, pair[1], r->diag) ||
        !import_rules_add(r->rules, pair[0]->place, pair[1]->place, pair[0]->text, spec.entries,
                          spec.nentries, r->diag))
        return;
    status = shd_spec_create(&made, spec.entries, spec.nentries, &err);
    if (status == SHD_OK)
        status = shd_rules_add(r->rules->patterns, pair[0]->text, made, &err);
    shd_spec_destroy(made);
    if (status != SHD_OK)
        diag_failure(r->diag, pair[0]->place, status,
                     "'%.60s' is not a pattern: %s; expected a regular expression of Python's re",
                     pair[0]->text, err.text);
}

static void read_rules(struct reader *r)
{
    const struct value *list = rules_list_find(&r->statements, EXAMPLE, r->rules->end, r->diag);
    struct shd_error err;

    if (!list || !rules_list_check(list, r->diag))
        return;
    if (shd_rules_create(&r->rules->patterns, &err) != SHD_OK) {
        diag_no_memory(r->diag);
        return;
    }
    for (size_t i = 0; i < list->nitems && !diag_is_full(r->diag); i++)
        read_rule(r, list->items[i]);
}

void import_easydel(struct import_rules *rules, struct place first, const char *text, size_t length,
                    struct diag *diag)
{
    struct reader r = {.rules = rules, .diag = diag};

    rules->end = first;
    statements_read(&r.statements, first, text, length, diag);
    if (diag->nerrors == 0)
        read_partition_axis(&r);
    if (diag->nerrors == 0)
        read_mesh(&r);
    if (diag->nerrors == 0)
        read_rules(&r);
    if (diag->nerrors == 0) {
        rules_spec_add_field(&rules->batch_axes, rules, "batch");
        rules_spec_add_field(&rules->seq_axes, rules, "sequence");
    }
    statements_fini(&r.statements);
}
