/* Writing fitted constants into a cluster's file (write.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/yaml.h"
#include "cost/traits.h"
#include "hardware/traits.h"

/* A replacement for bytes from..end of the file. */
struct edit {
    size_t from, end;
    struct text text;
};

struct edits {
    struct edit *items;
    size_t n;
    bool failed;
};

static struct text *add_edit(struct edits *edits, size_t from, size_t end)
{
    if (!array_make_room(&edits->items, edits->n, sizeof *edits->items)) {
        edits->failed = true;
        return NULL;
    }
    edits->items[edits->n] = (struct edit){from, end, TEXT_INIT};
    return &edits->items[edits->n++].text;
}

/* ---- places ---- */

/* The byte at which a line begins, counted from 1; the text's length if there are fewer lines. */
static size_t line_start(const struct text *text, int line)
{
    const char *at = text_get(text);

    for (int i = 1; i < line && at; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at ? (size_t)(at - text_get(text)) : text->length;
}

/* The byte of a place, whose column counts characters. */
static size_t byte_of(const struct text *text, struct place place)
{
    size_t at = line_start(text, place.line);

    for (int column = 1; column < place.column && at < text->length; column++)
        for (at++; ((unsigned char)text->data[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

/* The node of a constant; NULL: not in the file. */
static const struct yaml_node *node_of(const struct yaml_node *root, const char *path)
{
    const struct yaml_node *node = root;
    char *copy = strdup(path), *rest = copy;

    for (char *part; node && copy && (part = strtok_r(rest, ".", &rest));)
        if (node->kind == YAML_LIST) {
            unsigned long i = strtoul(part, NULL, 10);

            node = i < node->nitems ? node->items[i] : NULL;
        } else {
            node = node->kind == YAML_MAP ? yaml_find(node, part) : NULL;
        }
    free(copy);
    return node;
}

/* ---- edits ---- */

static void edit_constant(struct edits *edits, const struct text *text,
                          const struct yaml_node *root, const struct constant *constant,
                          const char *place, struct diag *diag)
{
    const struct yaml_node *node = node_of(root, constant->path);
    size_t at = node ? byte_of(text, node->place) : 0;
    struct text *value;

    if (!node) {
        diag_error(diag, (struct place){.file = place},
                   "lacks %s, which is to be fitted; expected an initial value", constant->path);
        return;
    }
    if (strncmp(text->data + at, node->text, strlen(node->text)) != 0) {
        diag_error(diag, node->place, "%s is in quotes; expected an unquoted value",
                   constant->path);
        return;
    }
    value = add_edit(edits, at, at + strlen(node->text));
    if (value)
        constant_print(value, constant, constant->value);
}

/* Find the bytes of a top-level key and its value; the end of the file if the key is missing. */
static void find_section(size_t *from, size_t *end, const struct text *text,
                         const struct yaml_node *root, const char *key)
{
    *from = *end = text->length;
    for (size_t i = 0; i < root->nitems; i++) {
        if (strcmp(root->keys[i]->text, key) != 0)
            continue;
        *from = line_start(text, root->keys[i]->place.line);
        /* Its lines are indented, or items of a list. */
        for (*end = line_start(text, root->keys[i]->place.line + 1);
             *end < text->length && strchr(" -\n", text->data[*end]);) {
            const char *next = strchr(text->data + *end, '\n');

            *end = next ? (size_t)(next - text->data) + 1 : text->length;
        }
    }
}

static bool is_among(const struct constants *constants, const char *path)
{
    for (size_t i = 0; i < constants->n; i++)
        if (!strcmp(constants->items[i].path, path))
            return true;
    return false;
}

static void edit_fitted(struct edits *edits, const struct text *text, const struct yaml_node *root,
                        const struct constants *constants)
{
    const struct yaml_node *old = yaml_find(root, "fitted");
    struct text *section;
    size_t from, end;

    find_section(&from, &end, text, root, "fitted");
    section = add_edit(edits, from, end);
    if (!section)
        return;
    text_add(section, "fitted:\n");
    for (size_t i = 0; old && i < old->nitems; i++)
        if (!is_among(constants, old->items[i]->text)) {
            text_add(section, "  - ");
            yaml_print_string(section, old->items[i]->text);
            text_add(section, "\n");
        }
    for (size_t i = 0; i < constants->n; i++)
        text_addf(section, "  - %s\n", constants->items[i].path);
}

/* The range of models and devices that a set covers, and what its steps had. */
struct range {
    double parameters_least, parameters_most;
    int64_t devices_least, devices_most, length_least, length_most;
    uint32_t traits;
};

static struct range range_of(const struct samples *samples, size_t set)
{
    struct range r = {INFINITY, 0, INT64_MAX, 0, INT64_MAX, 0, 0};
    struct traits t;

    for (size_t i = 0; i < samples->n; i++) {
        const struct sample *s = &samples->items[i];

        if (s->set != set)
            continue;
        r.parameters_least = fmin(r.parameters_least, s->parameters);
        r.parameters_most = fmax(r.parameters_most, s->parameters);
        traits_of(&t, s->step->trial.program, s->hardware);
        r.devices_least = t.devices < r.devices_least ? t.devices : r.devices_least;
        r.devices_most = t.devices > r.devices_most ? t.devices : r.devices_most;
        r.length_least = t.length < r.length_least ? t.length : r.length_least;
        r.length_most = t.length > r.length_most ? t.length : r.length_most;
        r.traits |= t.mask;
    }
    return r;
}

static void add_set(struct text *out, const struct samples *samples, const struct fit *fit,
                    size_t set)
{
    struct range r = range_of(samples, set);

    text_add(out, "  - set: ");
    yaml_print_string(out, samples->sets[set].name);
    text_addf(out, "\n    rows: %zu\n    mape: %.4f\n    cross_validated_mape: %.4f\n",
              samples->sets[set].n, fit->sets[set].mape,
              isnan(fit->sets[set].cross_validated_mape) ? fit->sets[set].mape
                                                         : fit->sets[set].cross_validated_mape);
    text_addf(out, "    parameters_least: %.0f\n    parameters_most: %.0f\n", r.parameters_least,
              r.parameters_most);
    text_addf(out, "    devices_least: %" PRId64 "\n    devices_most: %" PRId64 "\n",
              r.devices_least, r.devices_most);
    text_addf(out, "    length_least: %" PRId64 "\n    length_most: %" PRId64 "\n    with: [",
              r.length_least, r.length_most);
    for (int t = 0, n = 0; t < TRAIT_NFILE; t++)
        if (r.traits >> t & 1)
            text_addf(out, "%s%s", n++ ? ", " : "", hardware_traits[t].word);
    text_add(out, "]\n");
}

/* Copy the file's entries about sets that were not used now, unchanged. */
static void keep_others(struct text *out, const struct text *text, const struct yaml_node *root,
                        const struct samples *samples, size_t section_end)
{
    const struct yaml_node *list = yaml_find(root, "validation");

    for (size_t i = 0; list && list->kind == YAML_LIST && i < list->nitems; i++) {
        const struct yaml_node *name = yaml_find(list->items[i], "set");
        size_t from = line_start(text, list->items[i]->place.line);
        size_t end =
            i + 1 < list->nitems ? line_start(text, list->items[i + 1]->place.line) : section_end;
        bool again = false;

        for (size_t set = 0; set < samples->nsets; set++)
            again |= !strcmp(samples->sets[set].name, name->text);
        if (!again)
            text_add_bytes(out, text->data + from, end - from);
    }
}

static void edit_validation(struct edits *edits, const struct text *text,
                            const struct yaml_node *root, const struct samples *samples,
                            const struct fit *fit)
{
    struct text body = TEXT_INIT, *section;
    size_t from, end;

    find_section(&from, &end, text, root, "validation");
    keep_others(&body, text, root, samples, end);
    for (size_t set = 0; set < samples->nsets; set++)
        if (!samples->sets[set].hardware)
            add_set(&body, samples, fit, set);
    section = body.length > 0 ? add_edit(edits, from, end) : NULL;
    if (section) {
        text_add(section, "validation:\n");
        text_join(section, &body);
    }
    text_fini(&body);
}

/* ---- the whole file ---- */

static int compare(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

static void apply(struct text *out, const struct text *text, struct edits *edits)
{
    size_t at = 0;

    qsort(edits->items, edits->n, sizeof *edits->items, compare);
    for (size_t i = 0; i < edits->n; i++) {
        text_add_bytes(out, text->data + at, edits->items[i].from - at);
        if (edits->items[i].from == text->length && text->data[text->length - 1] != '\n' && at > 0)
            text_add_char(out, '\n');
        at = edits->items[i].end;
        text_join(out, &edits->items[i].text);
    }
    text_add_bytes(out, text->data + at, text->length - at);
}

int write_hardware(struct text *out, const struct text *text, const char *place,
                   const struct constants *constants, const struct samples *samples,
                   const struct fit *fit, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct yaml_doc *doc = NULL;
    struct edits edits = {.items = NULL};
    int status =
        yaml_doc_parse(&doc, (struct place){place, 1, 1}, text_get(text), text->length, diag);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < constants->n; i++)
        edit_constant(&edits, text, yaml_doc_root(doc), &constants->items[i], place, diag);
    edit_validation(&edits, text, yaml_doc_root(doc), samples, fit);
    edit_fitted(&edits, text, yaml_doc_root(doc), constants);
    if (diag->nerrors == before && !edits.failed)
        apply(out, text, &edits);
    if (edits.failed || out->failed)
        diag_no_memory(diag);
    for (size_t i = 0; i < edits.n; i++)
        text_fini(&edits.items[i].text);
    free(edits.items);
    yaml_doc_destroy(doc);
    return diag_status(diag, before);
}
