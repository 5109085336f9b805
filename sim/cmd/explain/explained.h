/* explained.h - a step that is explained: as an overview, op by op, or by its roofline.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_EXPLAINED_H
#define CMD_EXPLAIN_EXPLAINED_H

#include "command/canvas.h"
#include "command/chosen.h"

struct explained {
    struct canvas canvas;
    struct chosen chosen;
    const char *op, *device; /* numbers; NULL: all, 0 */
    bool values, roofline, json;
    bool collectives, ops, verbose;
};

/* Explain the chosen strategy, which is loaded, on the canvas; returns the exit status. */
int explained_put(struct explained *explained);

#endif /* CMD_EXPLAIN_EXPLAINED_H */
