/* explain_links.h - shardsim explain collective --hardware: its time on a cluster's links.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_EXPLAIN_LINKS_H
#define CMD_EXPLAIN_EXPLAIN_LINKS_H

#include <stdbool.h>

#include "coll/coll.h"
#include "command/canvas.h"

/* Options as given on the command line; NULL: not given. */
struct explain_links {
    enum coll_kind kind;
    const char *hardware, *mesh, *devices, *axes, *bytes, *slices;
    bool json;
};

/* Print the answer; returns the exit status. */
int explain_links(const struct explain_links *asked, const struct canvas *canvas);

#endif /* CMD_EXPLAIN_EXPLAIN_LINKS_H */
