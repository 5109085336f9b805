/* report.h - the figures of a served trace under each policy, as tables, CSV or JSON.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_REPORT_H
#define SERVING_REPORT_H

#include "base/text.h"
#include "cost/traits.h"
#include "serving/figures.h"

enum serving_format { SERVING_TABLE, SERVING_CSV, SERVING_JSON };

struct serving_row {
    const struct serving_policy *policy;
    struct serving_figures figures;
    struct serving_counts counts;
    uint64_t nserved, nrefused, nsteps;
    int64_t ndevices;
};

struct serving_report {
    const char *name, *cluster; /* of the scenario and its strategy */
    const struct request_trace *trace;
    const struct serving_row *rows;
    size_t nrows;
    uint32_t concurrency; /* requests in the system at most; 0: any number */
    uint32_t nreplicas, nprefill;
    struct serving_limits limits;
    struct serving_draft draft;
    struct serving_goal goal;
    uint32_t ngroups;      /* groups of devices that share sequences, in a decode replica */
    bool together;         /* groups run collectives together, hence step in lockstep */
    uint64_t cache_tokens; /* of a group */
    double token_bytes;
    bool apart; /* the prefill has devices of its own */
    uint32_t nplans;
    struct trust_of_all trust; /* expected error of the planned steps */
    double margin;             /* fraction of a device's memory that is kept free */
    double error;              /* largest interpolation error of a step's time, as a fraction */
};

/* `columns` is the width of lines. */
void serving_report_print(struct text *out, const struct serving_report *report,
                          enum serving_format format, size_t columns);

#endif /* SERVING_REPORT_H */
