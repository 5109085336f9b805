/* What all layouts of a search have in common (attempt.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

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

int subject_init(struct subject *out, const struct trial *trial, int64_t devices,
                 const struct space_range *ranges, size_t nranges,
                 const struct subject_filter *filter, struct shd_error *err)
{
    int status;

    *out = (struct subject){.text = TEXT_INIT, .model = &trial->scenario->model};
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
