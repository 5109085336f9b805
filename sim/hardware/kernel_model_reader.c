/* Reading the models of a cluster's file (kernel_model_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_model_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/kernel_work.h"
#include "hardware/shipped.h"

#define LIKELY_MOST 1000 /* hundredths of a logarithm: a factor of 22,000 */
#define LOG2_MOST 64
#define ROWS_MOST 1e15

static const struct yaml_node *need(const struct yaml_node *map, const char *key,
                                    enum yaml_kind kind, struct diag *diag)
{
    static const char *const kinds[] = {[YAML_TEXT] = "a value", [YAML_LIST] = "a list",
                                        [YAML_MAP] = "a map"};
    const struct yaml_node *node = yaml_find(map, key);

    if (node && node->kind == kind)
        return node;
    if (node)
        diag_error(diag, node->place, "%s of a measured kernel is %s; expected %s", key,
                   yaml_describe(node).text, kinds[kind]);
    else
        diag_error(diag, map->place, "a measured kernel has no '%s'; expected %s", key, kinds[kind]);
    return NULL;
}

/* The number of a word; `n`: it is none of them, which is told. */
static int read_word(const struct yaml_node *map, const char *key, const char *const *words, int n,
                     struct diag *diag)
{
    const struct yaml_node *node = need(map, key, YAML_TEXT, diag);

    for (int i = 0; node && i < n; i++)
        if (!strcmp(node->text, words[i]))
            return i;
    if (node)
        diag_error(diag, node->place, "%s of a measured kernel is %s; expected for example %s", key,
                   yaml_describe(node).text, words[0]);
    return n;
}

static void read_constants(struct kernel_model *out, const struct yaml_node *map, struct diag *diag)
{
    const struct kernel_form *form = &kernel_model_forms[out->kernel];
    const struct yaml_node *constants = need(map, "constants", YAML_MAP, diag);

    for (int i = 0; constants && i < kernel_model_nconstants(form); i++) {
        const struct kernel_constant *c = &form->constants[i];
        const struct yaml_node *value = yaml_find(constants, c->name);

        if (!value)
            diag_error(diag, constants->place, "constants of %s have no '%s'",
                       kernel_kinds[out->kernel], c->name);
        else if (value->kind != YAML_TEXT || !yaml_read_double(value, &out->constants[i]) ||
                 out->constants[i] < c->least || out->constants[i] > c->most)
            diag_error(diag, value->place, "%s of a measured kernel is %s; expected a number from %g to %g",
                       c->name, yaml_describe(value).text, c->least, c->most);
    }
}

static bool read_axis(struct kernel_model *out, int axis, const struct yaml_node *pair)
{
    double first;
    int64_t points;

    if (pair->kind != YAML_LIST || pair->nitems != 2 || pair->items[0]->kind != YAML_TEXT ||
        pair->items[1]->kind != YAML_TEXT || !yaml_read_double(pair->items[0], &first) ||
        !yaml_read_int(pair->items[1], &points) || first < 0 || first > LOG2_MOST || points < 1 ||
        points > KERNEL_POINTS_MAX)
        return false;
    out->grid.first[axis] = first;
    out->grid.points[axis] = points;
    return true;
}

/* The number of points; 0: a fault, which is told. */
static int64_t read_axes(struct kernel_model *out, const struct yaml_node *map, struct diag *diag)
{
    int naxes = kernel_model_naxes(&kernel_model_forms[out->kernel]);
    const struct yaml_node *axes = need(map, "axes", YAML_LIST, diag);
    int64_t n = 1;

    if (axes && axes->nitems != (size_t)naxes) {
        diag_error(diag, axes->place, "axes of %s are %zu; expected %d",
                   kernel_kinds[out->kernel], axes->nitems, naxes);
        return 0;
    }
    for (int a = 0; axes && a < naxes; a++) {
        bool right = read_axis(out, a, axes->items[a]);

        n *= right ? out->grid.points[a] : 0;
        if (n >= 1 && n <= KERNEL_POINTS_MAX)
            continue;
        diag_error(diag, axes->items[a]->place,
                   "an axis of %s is not the log2 of a size, 0 to %d, and a number of points, at "
                   "most %d in all",
                   kernel_kinds[out->kernel], LOG2_MOST, KERNEL_POINTS_MAX);
        return 0;
    }
    return axes ? n : 0;
}

static void read_correction(struct kernel_model *out, const struct yaml_node *map, int64_t n,
                            struct diag *diag)
{
    const struct yaml_node *node = need(map, "correction", YAML_TEXT, diag);
    const char *at = node ? node->text : "";
    int64_t count = 0;

    out->correction = node ? malloc((size_t)n * sizeof *out->correction) : NULL;
    if (node && !out->correction)
        diag_no_memory(diag);
    for (char *end; out->correction && count <= n; at = end) {
        long value = strtol(at, &end, 10);

        if (end == at)
            break;
        if (value < -LIKELY_MOST || value > LIKELY_MOST)
            count = n + 1;
        else if (count++ < n)
            out->correction[count - 1] = (float)((double)value * KERNEL_HUNDREDTH);
    }
    if (out->correction && (count != n || at[strspn(at, " \n")]))
        diag_error(diag, node->place,
                   "correction of %s: expected %" PRId64 " whole numbers from -%d to %d",
                   kernel_kinds[out->kernel], n, LIKELY_MOST, LIKELY_MOST);
}

/* Read a list of `n` numbers of at least 0; false: the node is no such list. */
static bool read_numbers(double *out, const struct yaml_node *list, size_t n)
{
    bool right = list->kind == YAML_LIST && list->nitems == n;

    for (size_t i = 0; right && i < n; i++)
        right = list->items[i]->kind == YAML_TEXT && yaml_read_double(list->items[i], &out[i]) &&
                out[i] >= 0;
    return right;
}

static void read_sizes(struct kernel_model *out, const struct yaml_node *map, struct diag *diag)
{
    const struct kernel_form *form = &kernel_model_forms[out->kernel];
    const struct yaml_node *sizes = need(map, "sizes", YAML_MAP, diag);

    for (int i = 0; sizes && i < kernel_model_nmeasures(form); i++) {
        const struct yaml_node *pair = yaml_find(sizes, form->measures[i].name);
        double range[2];

        if (pair && read_numbers(range, pair, 2)) {
            out->least[i] = range[0];
            out->most[i] = range[1];
            continue;
        }
        diag_error(diag, pair ? pair->place : sizes->place,
                   "sizes of %s: expected the measured minimum and maximum %s, for example [1, 64]",
                   kernel_kinds[out->kernel], form->measures[i].name);
    }
}

static bool read_error(struct kernel_error *out, const struct yaml_node *list)
{
    double numbers[3];

    if (!read_numbers(numbers, list, 3) || numbers[0] > ROWS_MOST)
        return false;
    *out =
        (struct kernel_error){.rows = (int64_t)numbers[0], .median = numbers[1], .p90 = numbers[2]};
    return true;
}

static void read_errors(struct kernel_model *out, const struct yaml_node *map, struct diag *diag)
{
    const struct yaml_node *error = need(map, "error", YAML_LIST, diag);
    const struct yaml_node *by_size = *out->name ? NULL : need(map, "by_size", YAML_LIST, diag);
    bool right = by_size && by_size->nitems == KERNEL_CLASSES;

    if (error && !read_error(&out->error, error))
        diag_error(diag, error->place,
                   "error of a measured kernel: expected rows, median and 90th percentile, for "
                   "example [250, 0.03, 0.1]");
    for (size_t i = 0; right && i < KERNEL_CLASSES; i++)
        right = read_error(&out->by_size[i], by_size->items[i]);
    if (by_size && !right)
        diag_error(diag, by_size->place,
                   "by_size of a measured kernel: expected %d lists, each like error",
                   KERNEL_CLASSES);
}

/* A shipped cluster whose file has a list; NULL: the name is of none. */
static const struct shipped_file *file_with_list(const struct yaml_node *name)
{
    const struct shipped_file *file = name->kind == YAML_TEXT ? shipped_find(name->text) : NULL;

    for (const char *const *line = file ? file->lines : NULL; line && *line; line++)
        if (!strcmp(*line, KERNEL_MODELS_KEY ":\n"))
            return file;
    return NULL;
}

/* The name of such a cluster; NULL: it is none, which is told. */
static const char *name_of(const struct yaml_node *node, const char *key, struct diag *diag)
{
    const struct shipped_file *file = file_with_list(node);

    if (!file)
        diag_error(diag, node->place,
                   "%s is %s; expected %sthe name of a shipped cluster with a list", key,
                   yaml_describe(node).text, !strcmp(key, KERNEL_MODELS_KEY) ? "a list, or " : "");
    return file ? file->name : NULL;
}

/* False: the type is none, which is told. */
static bool read_type(struct kernel_model *out, const struct yaml_node *map, struct diag *diag)
{
    const struct yaml_node *node;

    if (out->kernel < KERNEL_FIRST_NAMED) {
        int type = read_word(map, "type", kernel_types, KERNEL_NTYPES, diag);

        out->type = (enum kernel_type)type;
        return type < KERNEL_NTYPES;
    }
    node = need(map, "type", YAML_TEXT, diag);
    if (node && (strlen(node->text) == 0 || strlen(node->text) >= sizeof out->name)) {
        diag_error(diag, node->place, "type of %s is %s; expected a name of 1 to %d bytes",
                   kernel_kinds[out->kernel], yaml_describe(node).text, KERNEL_NAME_MAX - 1);
        return false;
    }
    if (node) {
        memcpy(out->name, node->text, strlen(node->text) + 1);
        out->type = kernel_model_type_of_name(out->name);
    }
    return node;
}

static void read_model(struct kernel_models *out, const struct yaml_node *map, struct diag *diag)
{
    const struct yaml_node *no_slower = yaml_find(map, KERNEL_NO_SLOWER_KEY);
    struct kernel_model *c = &out->items[out->n];
    int kernel;
    int64_t n;

    if (map->kind != YAML_MAP) {
        diag_error(diag, map->place, "a measured kernel is %s; expected a map", yaml_describe(map).text);
        return;
    }
    if (no_slower) {
        out->no_slower_name = name_of(no_slower, KERNEL_NO_SLOWER_KEY, diag);
        return;
    }
    kernel = read_word(map, "kernel", kernel_kinds, KERNEL_NKERNELS, diag);
    if (kernel == KERNEL_NKERNELS)
        return;
    *c = (struct kernel_model){.kernel = (enum kernel_kind)kernel};
    if (!read_type(c, map, diag))
        return;
    out->n++;
    read_constants(c, map, diag);
    n = read_axes(c, map, diag);
    if (n > 0)
        read_correction(c, map, n, diag);
    read_sizes(c, map, diag);
    read_errors(c, map, diag);
    if (!*c->name)
        out->of[c->kernel][c->type] = c;
}

static void read_list(struct hardware *out, const struct yaml_node *list, struct diag *diag)
{
    struct kernel_models *models = calloc(1, sizeof *models);

    if (out->kernels.units == 0)
        diag_error(diag, list->place,
                   KERNEL_MODELS_KEY
                   " of a device without kernels.units; expected its units (SMs)");
    if (models)
        models->items = calloc(list->nitems + 1, sizeof *models->items);
    if (!models || !models->items)
        diag_no_memory(diag);
    for (int t = 0; models && out->ntiers > 0 && t < KERNEL_NTYPES; t++)
        models->peaks[t] = kernel_work_peaks(out, (enum kernel_type)t);
    for (size_t i = 0; models && models->items && i < list->nitems && !diag_is_full(diag); i++)
        read_model(models, list->items[i], diag);
    out->models = models;
}

void kernel_models_read(struct hardware *out, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *node = yaml_find(root, KERNEL_MODELS_KEY);

    if (node && node->kind == YAML_LIST)
        read_list(out, node, diag);
    else if (node)
        out->models_of = name_of(node, KERNEL_MODELS_KEY, diag);
    out->links_apart = out->models_of != NULL;
}
