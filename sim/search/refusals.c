/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/refusals.h"

#include <stdio.h>
#include <string.h>

/* The place of a reason: its own, an unused one, or that of the rarest. */
static size_t place_of(const struct refusals *r, const char *why)
{
    size_t rarest = 0;

    for (size_t i = 0; i < REFUSALS_MAX; i++) {
        if (r->reasons[i].n == 0 || !strncmp(r->reasons[i].why, why, sizeof r->reasons[i].why - 1))
            return i;
        if (r->reasons[i].n < r->reasons[rarest].n)
            rarest = i;
    }
    return rarest;
}

void refusals_add(struct refusals *refusals, size_t n, const char *why)
{
    size_t at = place_of(refusals, why);

    refusals->n += n;
    refusals->reasons[at].n += n;
    snprintf(refusals->reasons[at].why, sizeof refusals->reasons[at].why, "%s", why);
}

const char *refusals_commonest(const struct refusals *refusals)
{
    size_t most = 0;

    for (size_t i = 1; i < REFUSALS_MAX; i++)
        if (refusals->reasons[i].n > refusals->reasons[most].n)
            most = i;
    return refusals->reasons[most].why;
}
