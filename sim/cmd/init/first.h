/* cmd/init/first.h - the layout of the first scenario that `shardsim init` writes: a short step that
 * fits.
 *
 * Layouts of replicas are compared: experts over an axis of their own, ZeRO's stage, the amount of
 * recomputation, and sequences of a microbatch; and tensor parallelism, then stages, only as many
 * as needed for the batch to divide, and for any layout to fit.  Each layout is estimated from
 * plans of few layers, as a step's time and memory grow evenly with the layers; then the best is
 * planned whole. No clock is read: the answer is always the same.
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
#include "trial/variant.h"

/* The request. */
struct first_asked {
    const char *model; /* a published one; or a config's name, for comments */
    const char *from;  /* path of that config, as the scenario has it; NULL: none */
    const char *hardware;
    const char *file; /* the scenario's name in comments and messages */
    long devices, batch, seq;
    bool serves;                        /* a step of serving, else of training; `batch` may be 0 */
    const struct scenario_model *sizes; /* NULL: not read yet */
    bool fills; /* a layout may fill a device's memory: none keeps the margin (hardware/margin.h) */
};

/* Figures of a plan. */
struct first_figures {
    double step_s;
    double bytes, limit_bytes; /* of a device; infinite bytes: the scenario was refused */
};

bool first_fits(const struct first_figures *figures);

/* Write the comments on top, and the keys up to the cluster. */
void first_write_head(struct text *out, const struct first_asked *asked);

/* Read the model that is asked for, as a scenario with one kind of step ("decode") has it.  SHD_OK;
 * else `diag` says why it is refused. */
SHD_MUST_CHECK int first_read(struct scenario_model *out, const struct first_asked *asked,
                              const char *step, struct diag *diag);

/* Plan a scenario.  SHD_OK; else `diag` says why it is refused; without `diag` only SHD_ENOMEM is a
 * failure. */
SHD_MUST_CHECK int first_plan(struct first_figures *out, const struct first_asked *asked,
                              struct variant_ask *ask, struct diag *diag);

/* Whether a batch divides over the replicas of all devices, or of what some tensor parallelism
 * within a node and some stages leave of them. */
bool first_divides(long devices, long batch);

/* Write the scenario of the best layout that fits: with a margin of memory, else without; or, where
 * none fits, of one that saves memory.
 * SHD_OK; else `diag` says why what was written cannot be planned. */
SHD_MUST_CHECK int first_write(struct text *out, struct first_figures *need,
                               const struct first_asked *asked, struct diag *diag);

#endif /* CMD_INIT_FIRST_H */
