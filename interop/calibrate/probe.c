/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "calibrate/probe.h"

#include <stdlib.h>

#include "cost/op_seconds.h"
#include "cost/works.h"
#include "run/walk/walk.h"

/* A walk_repeated_fn: take the times of all repeats but the first. */
static void take_repeat(void *arg, uint32_t repeat)
{
    struct probe *p = arg;

    if (repeat == 0)
        return;
    works_take(p->works, 0, p->ids, p->record, 0, 1);
    p->repeats++;
}

int probe_run(struct probe *out, const char *name, const char *scenario, uint32_t repeats,
              const int *stop_request, struct shd_error *err)
{
    struct probe p = {.works = works_create()};
    struct text text = TEXT_INIT;
    struct variant_ask ask = {
        .name = name, .text = &text, .extent = VARIANT_BUILT, .executes = true};
    struct walk_opts opts = {.repeats = repeats,
                             .stop_request = stop_request,
                             .repeated = take_repeat,
                             .repeated_arg = &p};
    int status = p.works ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for times");

    text_add(&text, scenario);
    if (status == SHD_OK)
        status = variant_need(&p.variant, &ask, err);
    if (status == SHD_OK)
        status = record_create(&p.record, p.variant.trial.program, RECORD_EXECUTED, true, err);
    if (status == SHD_OK)
        status = works_number(&p.ids, p.works, p.variant.trial.program, err);
    if (status == SHD_OK)
        status = walk_run(p.record, &opts, err);
    if (status == SHD_OK)
        *out = p;
    else
        probe_fini(&p);
    text_fini(&text);
    return status;
}

void probe_fini(struct probe *probe)
{
    record_destroy(probe->record);
    free(probe->ids);
    works_destroy(probe->works);
    variant_fini(&probe->variant);
    *probe = (struct probe){.repeats = 0};
}

bool probe_op(const struct probe *probe, uint32_t op, struct hardware_work *work, double *seconds)
{
    const struct op_seconds of = {.program = probe->variant.trial.program};

    if (op < probe->variant.trial.program->first_op || probe->ids[op] == WORKS_NONE ||
        !op_seconds_work(work, &of, op, 0))
        return false;
    *seconds = (double)works_least(probe->works, probe->ids[op], 0, 1) * 1e-9;
    return *seconds >= 0;
}
