/* Parsing --set values (scenario/set.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

/* Usual axis names, suggested for options such as a degree of parallelism. */
static const char *const axes[] = {"mesh.tp", "mesh.dp", "mesh.fsdp",
                                   "mesh.pp", "mesh.cp", "mesh.ep"};

const char *scenario_nearest_option(const char *key, char *buf, size_t size)
{
    struct option_path paths[SCENARIO_OPTIONS_MAX];
    struct nearest nearest;

    nearest_init(&nearest, key);
    for (size_t i = 0; i < option_count; i++) {
        paths[i] = option_path(&option_table[i]);
        nearest_add(&nearest, paths[i].text);
    }
    for (size_t i = 0; i < option_section_count; i++)
        nearest_add(&nearest, option_sections[i].key);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        nearest_add(&nearest, axes[i]);
    snprintf(buf, size, "%s", nearest.best ? nearest.best : "");
    return buf;
}

static void report_unknown(struct diag *diag, struct place place, const char *key)
{
    char near[OPTION_PATH_MAX];

    if (*scenario_nearest_option(key, near, sizeof near))
        diag_error(diag, place, "no option '%.60s'; did you mean '%s'?", key, near);
    else
        diag_error(diag, place, "no option '%.60s'; 'shardsim show options' lists all", key);
}

/* Select an entry of the option, if its type has entries. */
static void set_entry(struct set_value *value, const char *entry)
{
    value->entry = strdup(entry);
    if (!value->entry || !value->option->type->read_entry)
        value->option = NULL;
}

/* Find "mesh", "model", "model.d_ff", "mesh.tp", "graph.dims.b": a section, an option, or its
 * entry. */
static bool find_target(struct set_value *value, char *key)
{
    char *dot = strchr(key, '.');

    if (dot)
        *dot = '\0';
    value->section = option_find_section(key);
    if (!value->section) {
        value->option = option_find(NULL, key);
        if (value->option && dot)
            set_entry(value, dot + 1);
    } else if (dot) {
        char *second = strchr(dot + 1, '.');
        if (second)
            *second = '\0';
        value->option = option_find(key, dot + 1);
        value->section = NULL;
        if (value->option && second)
            set_entry(value, second + 1);
        if (second)
            *second = '.';
    }
    if (dot)
        *dot = '.';
    return value->option || value->section;
}

static void parse_one(struct set_value *value, const char *set, struct diag *diag)
{
    const char *equals = strchr(set, '=');
    size_t length = equals ? (size_t)(equals - set) : strlen(set);
    char *key = strndup(set, length);
    struct place first = value->place;

    if (!key) {
        diag_no_memory(diag);
        return;
    }
    if (!equals) {
        diag_error(diag, value->place,
                   "'%.60s' has no '='; expected KEY=VALUE, for example batch.size=8", key);
    } else if (!find_target(value, key)) {
        report_unknown(diag, value->place, key);
    } else {
        first.column += (int)length + 1;
        int status = yaml_doc_parse(&value->doc, first, equals + 1, strlen(equals + 1), diag);
        (void)status; /* a failure was reported, and leaves doc NULL */
    }
    free(key);
}

void set_parse(struct set_value *values, const char *const *sets, size_t nsets, struct diag *diag)
{
    for (size_t i = 0; i < nsets; i++) {
        values[i] = (struct set_value){.place = {"--set", (int)i + 1, 1}};
        parse_one(&values[i], sets[i], diag);
    }
}

void set_fini(struct set_value *values, size_t nvalues)
{
    for (size_t i = 0; i < nvalues; i++) {
        yaml_doc_destroy(values[i].doc);
        free(values[i].entry);
    }
}
