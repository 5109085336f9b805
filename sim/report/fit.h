/* fit.h - what would make a step fit into the memory of a device that it does not fit into.
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

/* Values of the scenario, as --set takes them, and what the step comes to with them. */
struct fit_change {
    char sets[FIT_SETS_MAX][FIT_SET_BYTES];
    uint32_t nsets;
    int32_t ndevices;
    struct saving_totals totals;
};

struct fit {
    bool wanted;                                /* the step does not fit: the rest is set */
    struct fit_change changes[FIT_CHANGES_MAX]; /* that make it fit, the cheapest first */
    uint32_t nchanges;
    struct fit_change
        least;       /* where there are none: the one that needs least; nsets 0: none less */
    uint32_t nplans; /* of changed scenarios that were made for it */
    bool cut;        /* there were more to make than are made */
};

/* A table of a report. */
void fit_text(const struct fit *fit, struct text *out);

/* The same in one line, without its end: "would fit with -s recompute=full (1.20 GiB), or ...". */
void fit_sentence(const struct fit *fit, struct text *out);

/* "the limit is 80 bytes, as a number without a unit is; was 80GiB meant?" where a limit in bytes
 * is so small that its unit must have been forgotten; else nothing. */
void fit_unit(uint64_t limit_bytes, struct text *out);

/* {"changes": [{"set", "devices", "peak_bytes", "received_bytes", "flops"}], "least", "plans",
 * "all_planned"}. */
void fit_json(const struct fit *fit, struct json_out *out);

#endif /* REPORT_FIT_H */
