/* sides.h - strategies tried for a comparison side by side, for `compare`, `report` and `trace`.
 *
 * Either all strategies are executed or none, so that no column is half empty: all are planned on
 * request, or if not all fit on this machine.  A strategy over its own memory limit is only
 * planned.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_SIDES_H
#define COMMAND_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "command/work.h"
#include "report/compare.h"

struct sides {
    struct work *work;  /* prepared */
    bool plan;          /* nothing is executed */
    const char *memory; /* of devices, as in struct trial; NULL: the default */
    int64_t limit_ns;   /* of wall time, for the rounds that make replayed steps steady */
    /* After sides_try(): */
    struct compare compare;
    struct result *results;
    struct compare_skipped *skipped;
    struct works *works;
};

/* Try all strategies of the work; a strategy that could not be tried is reported and left out.
 * `base` is the item that the others are compared with.  Returns the exit status; below CMD_USAGE
 * there are results, if any strategy could be tried.  End with sides_fini(), before work_fini(). */
int sides_try(struct sides *sides, size_t base);
void sides_fini(struct sides *sides);

/* If no strategy fits its memory, print changes that make the strategy with the least need fit.
 * Returns the exit status. */
int sides_tell_fit(struct sides *sides);

#endif /* COMMAND_SIDES_H */
