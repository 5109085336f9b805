/* first_scenario.h - a user's first scenario, from a few options or answers: it is planned before it
 * is written, and its comments say what to change.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_FIRST_SCENARIO_H
#define CMD_INIT_FIRST_SCENARIO_H

#include <stdbool.h>

#include <shd/error.h>

#include "export/export.h"

#define FIRST_SIZE_MAX (1L << 30) /* of devices, batch and sequence */

struct first_scenario {
    const char *model;                      /* a published model, or the name of the file `config` */
    const char *config, *hardware, *output; /* config: path of a config.json; NULL: none */
    const struct export_target *target;     /* layouts are those that it can express; NULL: any */
    const char *products;     /* a recipe of low-precision matmuls; NULL: none */
    long devices, batch, seq; /* 0: not given */
    bool serve;               /* a decode step; else a training step */
    bool force;
    bool named;       /* the model was given */
    bool asks;        /* asks on a terminal: no option but the output was given */
    char *answers[3]; /* storage of hardware, output and config, if owned */
};

/* Take a published model by its name, or a config.json by its path.  SHD_ENOTFOUND, SHD_ENOMEM. */
SHD_MUST_CHECK int first_scenario_model(struct first_scenario *first, const char *name,
                                        struct shd_error *err);

/* Fill in a batch and a sequence that were not given, and check both.  SHD_EINDIVISIBLE,
 * SHD_EINVAL. */
SHD_MUST_CHECK int first_scenario_settle(struct first_scenario *first, struct shd_error *err);

/* Write the scenario; returns the exit status. */
int first_scenario_run(struct first_scenario *first);

#endif /* CMD_INIT_FIRST_SCENARIO_H */
