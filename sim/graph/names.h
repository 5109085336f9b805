/* names.h - a set of names as a hash table.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros are an empty set.  Names are the caller's, and must outlive the set. */
struct graph_names {
    const char **slots;
    uint32_t nslots, n; /* nslots: 0 or a power of two; at most half are taken */
};

void graph_names_fini(struct graph_names *names);
bool graph_names_has(const struct graph_names *names, const char *name);

/* Add a name that is not in the set; false: no memory. */
bool graph_names_add(struct graph_names *names, const char *name);

#endif /* GRAPH_NAMES_H */
