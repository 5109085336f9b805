/* Values that are file paths, kept and printed relative to the scenario file's directory, or names
 * of shipped files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/supposed.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static char **field_of(struct scenario *scenario, const struct option *option)
{
    return (char **)(void *)((char *)scenario + option->offset);
}

/* A path resolved against the directory of the file that contains it; absolute paths are unchanged.
 * Standard input and --set have no directory. */
static char *resolve(const char *file, const char *path)
{
    const char *slash = path[0] == '/' ? NULL : strrchr(file, '/');
    size_t length = slash ? (size_t)(slash - file) + 1 : 0;
    char *whole = malloc(length + strlen(path) + 1);

    if (!whole)
        return NULL;
    memcpy(whole, file, length);
    memcpy(whole + length, path, strlen(path) + 1);
    return whole;
}

static void clear(struct scenario *scenario, const struct option *option)
{
    free(*field_of(scenario, option));
    *field_of(scenario, option) = NULL;
}

/* Whether a text is the name of a shipped cluster rather than a path. */
static bool is_name(const char *text)
{
    size_t length = supposed_name_length(text);

    return !memchr(text, '/', length) && (length < 5 || memcmp(text + length - 5, ".yaml", 5) != 0);
}

static void keep(struct reader *r, const struct option *option, const struct yaml_node *node,
                 bool may_be_name)
{
    char *path = NULL, *whole = NULL;

    if (!yaml_is_null(node)) {
        path = value_read_name(r, option->key, node);
        if (!path)
            return;
        whole = resolve(may_be_name && is_name(path) ? "" : node->place.file, path);
        free(path);
        if (!whole) {
            value_no_memory(r);
            return;
        }
    }
    clear(r->scenario, option);
    *field_of(r->scenario, option) = whole;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    keep(r, option, node, false);
}

static void read_cluster(struct reader *r, const struct option *option,
                         const struct yaml_node *node)
{
    keep(r, option, node, true);
}

/* Override a figure of the cluster.  The override becomes part of the cluster's name, which is
 * printed, planned with and compared. */
static void read_cluster_entry(struct reader *r, const struct option *option,
                               const struct yaml_node *key, const struct yaml_node *node)
{
    char **field = field_of(r->scenario, option), *value;
    struct text name = TEXT_INIT;

    if (!*field) {
        diag_error(r->diag, key->place,
                   "hardware.%.60s without a cluster; expected hardware=NAME first, a name from "
                   "'shardsim show hardware'",
                   key->text);
        return;
    }
    value = value_read_name(r, option->key, node);
    if (!value)
        return;
    text_addf(&name, "%s%s%s=%s", *field, *supposed_first(*field) ? SUPPOSED_AND : SUPPOSED_WITH,
              key->text, value);
    free(value);
    if (name.length > SCENARIO_NAME_MAX) {
        diag_error(r->diag, key->place,
                   "hardware with all its overrides has %zu bytes; expected at most %d: change a "
                   "copy of the cluster's file",
                   name.length, SCENARIO_NAME_MAX);
        text_fini(&name);
        return;
    }
    free(*field);
    *field = text_take(&name);
    if (!*field)
        value_no_memory(r);
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const char *path = *(char *const *)(const void *)((const char *)scenario + option->offset);

    if (path)
        yaml_print_string(out, path);
    else
        text_add(out, "null");
}

static const struct schema_keyword keywords[] = {
    {"anyOf", "[{\"type\": \"null\"}, " SCHEMA_A_NAME "]"}, {NULL, NULL}};

const struct value_type value_file = {
    .expected = "the path of a file, or null",
    .read = read,
    .print = print,
    .clear = clear,
    .keywords = keywords,
};

const struct value_type value_cluster = {
    .expected = "the name of a cluster, the path of a file, or null",
    .read = read_cluster,
    .read_entry = read_cluster_entry,
    .print = print,
    .clear = clear,
    .keywords = keywords,
};
