/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/saving.h"

#include "cost/plan.h"

struct saving_totals trial_totals(const struct record *record)
{
    return (struct saving_totals){
        .received_bytes = record_received(record),
        .peak_bytes = record_balance_of(record, record->peak_bytes).max,
        .flops = record_sum(record, record->flops),
    };
}

/* The number of ways to cut an op, and so the time of a search, grows exponentially with the axes:
 * with fourteen axes a layer takes half a minute, too long for a remark. */
#define SAVING_AXES_MAX 8

/* A search holds several placements of all ops beside the program: of more ops than these, those of
 * some 300 layers, a remark would double what the plan itself takes. */
#define SAVING_OPS_MAX 50000

int trial_saving(struct saving *out, const struct trial *trial, struct shd_error *err)
{
    struct partition_request request = trial_request(trial);
    struct program *program;
    struct record *planned;
    int status;

    out->known = false;
    if (request.placement != PARTITION_FOLLOW || trial->scenario->price != SCENARIO_PRICE_BYTES ||
        trial->scenario->nmesh > SAVING_AXES_MAX || trial->program->nops > SAVING_OPS_MAX)
        return SHD_OK;
    request.placement = PARTITION_SEARCH;
    status = partition_build(&program, &request, err);
    if (status != SHD_OK) /* a remark on another placement does not refuse the one asked for */
        return status == SHD_ENOMEM || status == SHD_EINTERNAL ? status : SHD_OK;
    status = plan_create(&planned, program, err);
    if (status == SHD_OK) {
        out->known = true;
        out->now = trial_totals(trial->record);
        out->searched = trial_totals(planned);
        record_destroy(planned);
    }
    program_destroy(program);
    return status;
}
