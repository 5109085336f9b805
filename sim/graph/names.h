/* names.h - a set of names, that are found in a time which does not grow with their number.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Begins as zeros: an empty set.  Names are the caller's, and outlive it. */
struct graph_names {
    const char **slots;
    uint32_t nslots, n; /* slots: 0 or a power of two, of which at most half are taken */
};

void graph_names_fini(struct graph_names *names);
bool graph_names_has(const struct graph_names *names, const char *name);

/* Add a name that the set does not have; false: no memory. */
bool graph_names_add(struct graph_names *names, const char *name);

#endif /* GRAPH_NAMES_H */
