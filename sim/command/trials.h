/* trials.h - scenarios tried, as `run` and `plan` do: a record each, printed as text or JSON.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_TRIALS_H
#define COMMAND_TRIALS_H

#include "base/screen.h"
#include "command/save.h"
#include "command/work.h"

struct trials {
    enum record_mode mode;
    struct work work; /* of work_init() */
    struct save save;
    bool json, verbose;
    int repeats, nthreads; /* 0: the default, as in struct trial */
    const char *memory;    /* NULL: the default */
    const char *outputs;   /* the file for the outputs of the one strategy; NULL: none */
    enum screen_colour colour;
    /* Of trials_run(): */
    struct screen screen;
    uint32_t nfits; /* strategies for which changes to fit were searched */
};

/* Go through all strategies of all files; returns the exit status. */
int trials_run(struct trials *trials);

#endif /* COMMAND_TRIALS_H */
