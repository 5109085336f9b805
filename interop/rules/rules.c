/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/rules.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shd/create_mesh.h>

#include "base/array.h"
#include "base/nearest.h"

void import_rules_init(struct import_rules *rules, const struct import_request *request)
{
    *rules = (struct import_rules){.request = *request};
}

void import_rules_fini(struct import_rules *rules)
{
    for (size_t a = 0; a < rules->naxes; a++)
        free(rules->axes[a]);
    for (size_t r = 0; r < rules->nrules; r++) {
        free(rules->list[r].name);
        free(rules->list[r].spec);
        text_fini(&rules->list[r].given);
    }
    free(rules->list);
    shd_rules_destroy(rules->patterns);
    shd_logical_rules_destroy(rules->logical);
    shd_partition_axis_destroy(rules->partition_axis);
    text_fini(&rules->batch_axes);
    text_fini(&rules->seq_axes);
    text_fini(&rules->model);
    text_fini(&rules->told);
}

/* ---- the mesh ---- */

/* Names that need no quotes in a scenario. */
static bool is_axis_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return length > 0 && length < 60 && !isdigit((unsigned char)*name);
}

static void add_axis(struct import_rules *rules, const char *name, size_t length, int64_t size,
                     struct place place, struct diag *diag)
{
    if (!is_axis_name(name, length)) {
        diag_error(diag, place,
                   "'%.*s' is not the name of a mesh axis; expected letters, digits and _",
                   (int)(length < 60 ? length : 60), name);
        return;
    }
    for (size_t a = 0; a < rules->naxes; a++)
        if (strlen(rules->axes[a]) == length && !strncmp(rules->axes[a], name, length)) {
            diag_error(diag, place, "the mesh has two axes '%s'", rules->axes[a]);
            return;
        }
    if (rules->naxes == SHD_MESH_AXES_MAX) {
        diag_error(diag, place, "the mesh has more than %d axes", SHD_MESH_AXES_MAX);
        return;
    }
    if (size != -1 && (size < 1 || size > INT32_MAX)) {
        diag_error(diag, place,
                   "axis '%.*s' has %" PRId64 " devices; expected at least 1, or -1 for the "
                   "remaining devices",
                   (int)length, name, size);
        return;
    }
    rules->axes[rules->naxes] = strndup(name, length);
    if (!rules->axes[rules->naxes])
        diag_no_memory(diag);
    else
        rules->sizes[rules->naxes++] = size;
}

/* "dp:1,fsdp:-1" or "{dp: 1, fsdp: -1}". */
static void parse_mesh(struct import_rules *rules, const char *text, struct diag *diag)
{
    const char *at = text;

    while (*at && diag->nerrors == 0) {
        size_t length = strcspn(at, ":=,}"), skip = strspn(at, " {,}");
        struct place place;
        char *end;
        long long size;

        if (skip > 0) {
            at += skip;
            continue;
        }
        place = (struct place){"--mesh", 1, (int)(at - text) + 1};
        errno = 0;
        size = at[length] == ':' || at[length] == '=' ? strtoll(at + length + 1, &end, 10) : 0;
        if (size == 0 || errno || (*end && !strchr(" ,}", *end))) {
            diag_error(diag, place,
                       "expected axes with their devices, such as --mesh dp:1,fsdp:-1,tp:2");
            return;
        }
        add_axis(rules, at, length, size, place, diag);
        at = end;
    }
    if (rules->naxes == 0 && diag->nerrors == 0)
        diag_error(diag, (struct place){"--mesh", 1, 1}, "a mesh without axes");
}

static void fill_mesh(struct import_rules *rules, struct place place, struct diag *diag)
{
    int32_t sizes[SHD_MESH_AXES_MAX];
    int64_t devices = rules->request.devices;
    bool open = false;
    struct shd_error err;
    int status;

    for (size_t a = 0; a < rules->naxes; a++)
        open |= rules->sizes[a] < 0;
    if (devices == 0 && open) {
        diag_error(diag, place,
                   "how many devices? the mesh leaves that open; expected --devices N");
        return;
    }
    if (devices == 0) {
        devices = 1;
        for (size_t a = 0; a < rules->naxes && devices <= INT32_MAX; a++)
            devices *= rules->sizes[a];
        if (devices > INT32_MAX) {
            diag_error(diag, place, "the mesh has too many devices");
            return;
        }
    }
    status = shd_mesh_dims_fill(sizes, rules->sizes, rules->naxes, (int32_t)devices, &err);
    if (status != SHD_OK) {
        diag_failure(diag, place, status, "%s", err.text);
        return;
    }
    for (size_t a = 0; a < rules->naxes; a++)
        rules->sizes[a] = sizes[a];
}

void import_rules_mesh(struct import_rules *rules, const char *const *axes, const int64_t *sizes,
                       size_t naxes, struct place place, struct diag *diag)
{
    size_t before = diag->nerrors;

    if (rules->request.mesh) {
        place = (struct place){"--mesh", 1, 1};
        parse_mesh(rules, rules->request.mesh, diag);
    } else {
        for (size_t a = 0; a < naxes; a++)
            add_axis(rules, axes[a], strlen(axes[a]), sizes[a], place, diag);
    }
    if (diag->nerrors == before)
        fill_mesh(rules, place, diag);
}

int import_rules_axis(const struct import_rules *rules, const char *name, struct place place,
                      struct diag *diag)
{
    struct text all = TEXT_INIT;
    struct nearest near;

    for (size_t a = 0; a < rules->naxes; a++)
        if (!strcmp(rules->axes[a], name))
            return (int)a;
    nearest_init(&near, name);
    for (size_t a = 0; a < rules->naxes; a++) {
        nearest_add(&near, rules->axes[a]);
        text_addf(&all, "%s%s", a ? ", " : "", rules->axes[a]);
    }
    diag_error(diag, place,
               "the mesh has no axis '%.60s'; expected one of %s, or another mesh by --mesh%s",
               name, text_get(&all), nearest_hint(&near).text);
    text_fini(&all);
    return -1;
}

/* ---- the list ---- */

static void print_entry(struct text *out, const struct shd_spec_entry *entry)
{
    if (entry->naxes == 0)
        text_add(out, "None");
    if (entry->naxes > 1)
        text_add(out, "(");
    for (size_t a = 0; a < entry->naxes; a++)
        text_addf(out, "%s'%s'", a ? ", " : "", entry->axes[a]);
    if (entry->naxes > 1)
        text_add(out, ")");
}

bool import_rules_add(struct import_rules *rules, struct place place, struct place spec_place,
                      const char *name, const struct shd_spec_entry *entries, size_t nentries,
                      struct diag *diag)
{
    bool room = array_make_room(&rules->list, rules->nrules, sizeof *rules->list);
    struct text spec = TEXT_INIT;
    char *copy = strdup(name), *printed;

    for (size_t e = 0; e < nentries; e++) {
        text_add(&spec, e ? ", " : "");
        print_entry(&spec, &entries[e]);
    }
    text_add(&spec, "");
    printed = text_take(&spec);
    text_fini(&spec);
    if (!room || !copy || !printed) {
        free(copy);
        free(printed);
        diag_no_memory(diag);
        return false;
    }
    rules->list[rules->nrules++] =
        (struct import_rule){place, spec_place, copy, printed, TEXT_INIT, false};
    return true;
}
