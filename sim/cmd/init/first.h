/* cmd/init/first.h - the layout of the first scenario that `shardsim init` writes: a short step
 * that fits.
 *
 * Simple layouts are compared: expert parallelism, the ZeRO stage, the amount of recomputation, and
 * the microbatch.  Long sequences are sharded over several devices.  In these, tensor parallelism
 * is added only as needed for the batch to divide and for any to fit.  Each layout is estimated
 * from plans of few layers, because time and memory grow linearly with the layers; then the best is
 * planned whole.  A short search (search_first()) then looks for a shorter step, with stages and
 * tensor parallelism where they pay.  With experts the search comes first, and the simple layouts
 * only if it finds none.  No clock is read: the answer is always the same.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_FIRST_H
#define CMD_INIT_FIRST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "export/export.h"
#include "trial/variant.h"

/* The request. */
struct first_asked {
    const char *model; /* name of a published model or, for comments, of a config */
    const char *from;  /* path of the config, relative to the scenario; NULL: no config */
    const char *hardware;
    const struct hardware *cluster;     /* of that name */
    const struct export_target *target; /* layouts are those that it can express; NULL: any */
    bool insists;         /* on the target; else, if it lacks the model, layouts are any */
    const char *software; /* that runs the job; NULL: the cluster's */
    const char *products; /* a recipe of low-precision matmuls; NULL: none */
    const char *file;     /* the scenario's name in comments and messages */
    long devices, batch, seq;
    bool serves;                        /* a step of serving, else of training; `batch` may be 0 */
    const struct scenario_model *sizes; /* NULL: not read yet */
    bool fills; /* layouts may use the margin of memory (hardware/margin.h): none keeps it */
};

/* Figures of a plan. */
struct first_figures {
    double step_s;
    double bytes, limit_bytes; /* of a device; infinite bytes: the scenario was refused */
};

bool first_fits(const struct first_figures *figures);

/* Read the requested model as part of a scenario with one kind of step ("decode").  SHD_OK; else
 * `diag` says why the model is refused. */
SHD_MUST_CHECK int first_read(struct scenario_model *out, const struct first_asked *asked,
                              const char *step, struct diag *diag);

/* Plan a scenario.  SHD_OK; else `diag` says why the scenario is refused; with `diag` NULL only
 * SHD_ENOMEM is a failure. */
SHD_MUST_CHECK int first_plan(struct first_figures *out, const struct first_asked *asked,
                              struct variant_ask *ask, struct diag *diag);

/* Devices that long sequences of a batch (0: of any size) are sharded over; 1: these are short. */
long first_context(long devices, long seq, long batch);

/* Whether a batch divides over the replicas of some layout: of all devices that share no sequence,
 * or of these divided by a TP size within a node and a number of stages. */
bool first_divides(long devices, long batch, long seq);

/* Write the scenario of the best layout that fits: with a margin of memory, else without; or, if
 * none fits, of one that saves memory.
 * SHD_OK; else `diag` says why the written scenario cannot be planned. */
SHD_MUST_CHECK int first_write(struct text *out, struct first_figures *need,
                               const struct first_asked *asked, struct diag *diag);

#endif /* CMD_INIT_FIRST_H */
