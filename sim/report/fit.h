/* fit.h - changes that would make a step fit into a device's memory.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_FIT_H
#define REPORT_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/text.h"
#include "report/saving.h"

#define FIT_SETS_MAX 4    /* values that one change sets */
#define FIT_SET_BYTES 256 /* of "mesh.tp=8": names have at most SCENARIO_NAME_MAX */
#define FIT_CHANGES_MAX 12

/* Values of the scenario to change, in the syntax of --set, and the totals of the changed step. */
struct fit_change {
    char sets[FIT_SETS_MAX][FIT_SET_BYTES];
    uint32_t nsets;
    int32_t ndevices;
    struct saving_totals totals;
};

struct fit {
    bool wanted;                                /* the step does not fit; else the other fields are
                                                   not set */
    struct fit_change changes[FIT_CHANGES_MAX]; /* changes that make the step fit, cheapest first */
    uint32_t nchanges;
    struct fit_change
        least;       /* if no change fits: the change with the least need; nsets 0: none needs less */
    uint32_t nplans; /* number of changed scenarios that were planned */
    bool cut;        /* not all changes were planned */
};

/* A table of a report. */
void fit_text(const struct fit *fit, struct text *out);

/* The changes in one line without a newline: "would fit with -s recompute=full (1.20 GiB), or
 * ...". */
void fit_sentence(const struct fit *fit, struct text *out);

/* "the limit is 80 bytes (no unit means bytes); was 80GiB meant?" if a limit in bytes is
 * so small that a unit must have been forgotten; else nothing. */
void fit_unit(uint64_t limit_bytes, struct text *out);

/* {"changes": [{"set", "devices", "peak_bytes", "received_bytes", "flops"}], "least", "plans",
 * "all_planned"}. */
void fit_json(const struct fit *fit, struct json_out *out);

#endif /* REPORT_FIT_H */
