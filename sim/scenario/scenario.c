/* Freeing and querying scenarios (scenario/scenario.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_file.h"
#include "base/file.h"
#include "scenario/recompute_policies.h"
#include "scenario/table.h"

static void fini(struct scenario *scenario)
{
    file_bytes_destroy(scenario->data.bytes);
    array_file_destroy(scenario->graph.values);
    for (size_t i = 0; i < option_count; i++) {
        const struct value_type *type = option_table[i].type;
        if (type->clear)
            type->clear(scenario, &option_table[i]);
    }
    free(scenario->strategy);
}

void scenario_file_destroy(struct scenario_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->nscenarios; i++)
        fini(&file->scenarios[i]);
    free(file->scenarios);
    free(file->path);
    free(file);
}

void scenario_file_plan(struct scenario_file *file)
{
    for (size_t i = 0; i < file->nscenarios; i++)
        file->scenarios[i].planned = true;
}

struct place scenario_place(const struct scenario *scenario, const char *option)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *row = &option_table[i];
        if (strcmp(option_path(row).text, option) != 0)
            continue;
        if (scenario->places[i].file)
            return scenario->places[i];
        return row->section ? scenario_place(scenario, row->section) : scenario->place;
    }
    const struct option_section *section = option_find_section(option);
    if (section && scenario->places[option_section_id(section)].file)
        return scenario->places[option_section_id(section)];
    return scenario->place;
}

/* The option, or section, whose path is at the beginning of a text and before a ':'; or before a
 * space, if the path has a point. */
static bool begins_with_option(char path[OPTION_PATH_MAX], const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_.");

    if (length == 0 || length >= OPTION_PATH_MAX)
        return false;
    memcpy(path, text, length);
    path[length] = '\0';
    if (text[length] != ':' && !(text[length] == ' ' && strchr(path, '.')))
        return false;
    for (size_t i = 0; i < option_count; i++)
        if (!strcmp(option_path(&option_table[i]).text, path))
            return true;
    return option_find_section(path) != NULL;
}

struct place scenario_blamed(const struct scenario *scenario, const char *text,
                             struct place otherwise)
{
    char path[OPTION_PATH_MAX];

    for (const char *at = text; at; at = at ? at + strlen(": ") : NULL) {
        if (begins_with_option(path, at))
            return scenario_place(scenario, path);
        at = strstr(at, ": ");
    }
    return otherwise;
}

int32_t scenario_axis_size(const struct scenario *scenario, const char *axis)
{
    for (size_t i = 0; i < scenario->nmesh; i++)
        if (axis && !strcmp(scenario->mesh[i].name, axis))
            return scenario->mesh[i].size;
    return 1;
}

int scenario_mesh(struct shd_mesh **out, const struct scenario *scenario, struct shd_error *err)
{
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];

    for (size_t i = 0; i < scenario->nmesh; i++) {
        names[i] = scenario->mesh[i].name;
        sizes[i] = scenario->mesh[i].size;
    }
    return shd_mesh_create(out, names, sizes, scenario->nmesh, err);
}

const struct scenario_logical *scenario_find_logical(const struct scenario *scenario,
                                                     const char *name)
{
    for (size_t i = 0; i < scenario->nlogical; i++)
        if (strcmp(scenario->logical[i].name, name) == 0)
            return &scenario->logical[i];
    return NULL;
}

bool scenario_has_axis(const struct scenario_axis_list *axes, const char *name)
{
    for (size_t i = 0; i < axes->n; i++)
        if (name && !strcmp(axes->names[i], name))
            return true;
    return false;
}

const struct scenario_algorithm *scenario_find_algorithm(const struct scenario *scenario,
                                                         const char *kind)
{
    for (size_t i = 0; i < scenario->nalgorithms; i++)
        if (strcmp(scenario->algorithms[i].kind, kind) == 0)
            return &scenario->algorithms[i];
    return NULL;
}

const char *scenario_kind_name(enum scenario_kind kind)
{
    return option_find("model", "kind")->words[kind];
}

enum shd_dtype scenario_type(const struct scenario *scenario, enum scenario_type type)
{
    if (type == SCENARIO_TYPE_PARAMETERS || type == SCENARIO_TYPE_SOFTWARE)
        type = scenario->types.parameters;
    return type == SCENARIO_TYPE_COMPUTE ? scenario->model.dtype : (enum shd_dtype)type;
}

const char *scenario_software_name(enum scenario_software software)
{
    return option_find(NULL, "software")->words[software];
}

const char *scenario_optimizer_name(enum scenario_optimizer_kind kind)
{
    return option_find("optimizer", "kind")->words[kind];
}

const char *scenario_base_name(enum scenario_base base)
{
    return option_find("lora", "base")->words[base];
}

const char *scenario_routing_name(enum scenario_routing routing)
{
    return option_find("moe", "routing")->words[routing];
}

const char *scenario_drop_name(enum scenario_drop drop)
{
    return option_find("moe", "drop")->words[drop];
}

const char *scenario_activation_name(enum scenario_activation activation)
{
    return option_find("model", "activation")->words[activation];
}

bool scenario_is_gated(enum scenario_activation activation)
{
    return activation == SCENARIO_SWIGLU || activation == SCENARIO_GEGLU ||
           activation == SCENARIO_GEGLU_EXACT || activation == SCENARIO_SWIGLU_CLAMPED;
}

bool scenario_gates_results(const struct scenario_model *model)
{
    return model->moe.experts > 0 && !model->moe.gates_input;
}

bool scenario_has_values(const struct scenario_values *values)
{
    return values->all || values->npatterns > 0;
}

bool scenario_policy_offloads(const struct scenario *scenario)
{
    return scenario->recompute.policy && scenario->recompute.policy->offloads;
}

const char *scenario_offload_option(const struct scenario *scenario)
{
    const struct scenario_offload *o = &scenario->offload;

    if (scenario_has_values(&o->activations))
        return "offload.activations";
    if (scenario_policy_offloads(scenario))
        return "recompute";
    if (o->optimizer > 0)
        return "offload.optimizer";
    return o->parameters ? "offload.parameters" : NULL;
}
