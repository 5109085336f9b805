/* Table of all algorithms; the first of a kind is its default.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct coll_algo *const coll_algos[] = {
    &coll_all_reduce_direct,
    &coll_all_reduce_ring,
    &coll_all_reduce_halving_doubling,
    &coll_all_reduce_recursive_doubling,
    &coll_all_reduce_two_level,
    &coll_all_gather_direct,
    &coll_all_gather_ring,
    &coll_all_gather_bruck,
    &coll_all_gather_recursive_doubling,
    &coll_reduce_scatter_direct,
    &coll_reduce_scatter_ring,
    &coll_reduce_scatter_recursive_halving,
    &coll_all_to_all_direct,
    &coll_all_to_all_bruck,
    &coll_all_to_all_pairwise,
    &coll_permute_direct,
    &coll_broadcast_direct,
    &coll_broadcast_tree,
    &coll_gather_direct,
    &coll_gather_tree,
    &coll_scatter_direct,
    &coll_scatter_tree,
    &coll_reduce_direct,
    &coll_reduce_tree,
    &coll_send_recv_direct,
    &coll_barrier_direct,
    NULL,
};

const struct coll_algo *coll_find(enum coll_kind kind, const char *name)
{
    for (size_t i = 0; coll_algos[i]; i++) {
        if (coll_algos[i]->kind == kind && (!name || !strcmp(coll_algos[i]->name, name)))
            return coll_algos[i];
    }
    return NULL;
}

const char *coll_names(enum coll_kind kind, char buf[COLL_NAMES_MAX])
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; coll_algos[i]; i++)
        if (coll_algos[i]->kind == kind && used < COLL_NAMES_MAX)
            used += (size_t)snprintf(buf + used, COLL_NAMES_MAX - used, "%s%s", used ? ", " : "",
                                     coll_algos[i]->name);
    return buf;
}

const char *coll_kind_names(char buf[COLL_NAMES_MAX])
{
    size_t used = 0;

    for (int k = 0; k < COLL_NKINDS && used < COLL_NAMES_MAX; k++)
        used += (size_t)snprintf(buf + used, COLL_NAMES_MAX - used, "%s%s", used ? ", " : "",
                                 coll_kind_name((enum coll_kind)k));
    return buf;
}

struct nearest_text coll_kind_hint(const char *name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (int k = 0; k < COLL_NKINDS; k++)
        nearest_add(&near, coll_kind_name((enum coll_kind)k));
    return nearest_hint(&near);
}

struct nearest_text coll_algo_hint(enum coll_kind kind, const char *name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; coll_algos[i]; i++)
        if (coll_algos[i]->kind == kind)
            nearest_add(&near, coll_algos[i]->name);
    return nearest_hint(&near);
}
