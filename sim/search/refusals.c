/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/refusals.h"

#include <stdio.h>
#include <string.h>

/* The entry for a reason: its own, an unused one, or the rarest reason's, which is the last. */
static size_t place_of(const struct refusals *r, const char *why)
{
    size_t i = 0;

    while (i < REFUSALS_MAX - 1 && r->reasons[i].n > 0 &&
           strncmp(r->reasons[i].why, why, sizeof r->reasons[i].why - 1) != 0)
        i++;
    return i;
}

void refusals_add(struct refusals *refusals, size_t n, const char *why)
{
    size_t at = place_of(refusals, why);
    struct refusals_reason reason = refusals->reasons[at];

    refusals->n += n;
    reason.n += n;
    snprintf(reason.why, sizeof reason.why, "%s", why);
    for (; at > 0 && refusals->reasons[at - 1].n < reason.n; at--)
        refusals->reasons[at] = refusals->reasons[at - 1];
    refusals->reasons[at] = reason;
}

void refusals_join(struct refusals *refusals, const struct refusals *others)
{
    for (size_t i = 0; i < REFUSALS_MAX && others->reasons[i].n > 0; i++)
        refusals_add(refusals, others->reasons[i].n, others->reasons[i].why);
}

void refusals_tell(struct text *out, const struct refusals *refusals)
{
    for (size_t i = 0; i < REFUSALS_TOLD && refusals->reasons[i].n > 0; i++) {
        text_add(out, i == 0 ? ": " : "; ");
        if (refusals->reasons[0].n < refusals->n)
            text_addf(out, "%zu: ", refusals->reasons[i].n);
        text_add(out, refusals->reasons[i].why);
    }
}

void refusals_json(struct json_out *out, const struct refusals *refusals)
{
    json_out_key_array(out, "refusals");
    for (size_t i = 0; i < REFUSALS_MAX && refusals->reasons[i].n > 0; i++) {
        json_out_begin_object(out);
        json_out_key_uint(out, "layouts", refusals->reasons[i].n);
        json_out_key_string(out, "because", refusals->reasons[i].why);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}
