/* What all layouts of a search have in common (attempt.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/margin.h"
#include "search/attempt.h"
#include "search/own_layout.h"

/* Print the scenario without the settings that every layout has of its own, because settings are
 * added to these maps and do not replace them. */
static void print_subject(struct text *out, const struct scenario *scenario)
{
    struct scenario base = *scenario;

    base.pipeline = (struct scenario_pipeline){.schedule = scenario->pipeline.schedule};
    base.context = (struct scenario_context){.documents = scenario->context.documents};
    base.zero.stage = 0;
    base.zero.axes.n = 0;
    base.zero.prefetch = 1;
    scenario_print(&base, out);
}

/* Whether layers of a type take no less than those of another type of the model, in any respect:
 * with rotary positions than without, and attending to all tokens than to some. */
static bool is_dearer(const struct scenario_model *m, enum scenario_layer_type type)
{
    enum scenario_layer_type to_all =
        scenario_layer_is_plain(type) ? SCENARIO_LAYER_FULL_PLAIN : SCENARIO_LAYER_FULL;

    if (!scenario_layer_attends(type))
        return false;
    return (type < SCENARIO_LAYER_FULL_PLAIN &&
            scenario_lists_type(m, (enum scenario_layer_type)(type + SCENARIO_LAYER_FULL_PLAIN))) ||
           (type == to_all &&
            (scenario_lists_type(m, (enum scenario_layer_type)(to_all + SCENARIO_LAYER_WINDOW)) ||
             scenario_lists_type(m, (enum scenario_layer_type)(to_all + SCENARIO_LAYER_CHUNK))));
}

/* The types of layers that pieces are read for; none where layers are of one type. */
static void find_types(struct subject *s)
{
    const struct scenario_model *m = s->model;
    uint32_t ndifferent = 0;

    for (unsigned type = 0; type < SCENARIO_NLAYER_TYPES; type++) {
        if (!scenario_lists_type(m, (enum scenario_layer_type)type))
            continue;
        ndifferent++;
        if (!is_dearer(m, (enum scenario_layer_type)type))
            s->types[s->ntypes++] = (enum scenario_layer_type)type;
    }
    if (ndifferent < 2)
        s->ntypes = 0;
}

int subject_init(struct subject *out, const struct trial *trial, int64_t devices,
                 const struct space_range *ranges, size_t nranges,
                 const struct subject_filter *filter, struct shd_error *err)
{
    int status;

    *out = (struct subject){.text = TEXT_INIT, .model = &trial->scenario->model};
    find_types(out);
    if (!trial->hardware)
        return shd_error_set(err, SHD_EINVAL,
                             "the scenario names no cluster; expected 'hardware: NAME' with a "
                             "NAME from 'shardsim show hardware'");
    if (scenario_offload_option(trial->scenario))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "search does not support %s: the bounds do not model its transfers; "
                             "remove the option, or use 'shardsim plan' for each layout",
                             scenario_offload_option(trial->scenario));
    if (nranges > SPACE_RANGES_MAX)
        return shd_error_set(err, SHD_ERANGE, "more than %d --range", SPACE_RANGES_MAX);
    status = space_init(&out->space, trial->scenario, devices, err);
    if (status != SHD_OK)
        return status;
    out->cluster = *trial->hardware;
    if (out->space.devices != shd_mesh_size(trial->mesh))
        status =
            hardware_lay_out(&out->cluster, out->space.devices, trial->scenario->slices, NULL, err);
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < nranges; i++)
        out->space.ranges[i] = ranges[i];
    out->space.nranges = nranges;
    if (filter)
        out->filter = *filter;
    out->has_own = own_layout_find(&out->own, &out->space, trial);
    subject_suppose(out, 1, 1 - hardware_margin(&out->cluster));
    out->margin = hardware_margin(&out->cluster);
    print_subject(&out->text, trial->scenario);
    return out->text.failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the scenario") : SHD_OK;
}

void subject_suppose(struct subject *subject, double links, double memory)
{
    subject->links = links;
    subject->memory = memory;
    subject->margin = 0;
    subject->supposed = subject->cluster;
    hardware_suppose(&subject->supposed, links, memory);
    subject->hardware = &subject->supposed;
}

void subject_fini(struct subject *subject)
{
    text_fini(&subject->text);
}
