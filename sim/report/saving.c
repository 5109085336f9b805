/* Printing the saving of a search for the fewest bytes (saving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/saving.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define PERCENT_MAX 48 /* bytes: the 41 digits of a ratio of 128-bit sums, and " % more" */

/* "12 % more", "the same": to a whole percent, below 1 % to a tenth. */
static const char *print_change(char *buf, size_t size, uint128 was, uint128 now)
{
    double percent = was ? 100 * ((double)now / (double)was - 1) : 0;

    if (was == now)
        snprintf(buf, size, "the same");
    else if (!was)
        snprintf(buf, size, "more than none");
    else if (fabs(percent) < 0.05)
        snprintf(buf, size, "about the same");
    else
        snprintf(buf, size, "%.*f %% %s", fabs(percent) < 1 ? 1 : 0, fabs(percent),
                 percent < 0 ? "less" : "more");
    return buf;
}

void saving_text(const struct saving *saving, struct text *out)
{
    const struct saving_totals *now = &saving->now, *then = &saving->searched;
    char fewer[PERCENT_MAX], memory[PERCENT_MAX], work[PERCENT_MAX];

    if (then->received_bytes >= now->received_bytes) {
        text_add(out, "a search for the fewest bytes (placement: search) finds nothing better");
        return;
    }
    text_addf(
        out,
        "a search for the fewest bytes (placement: search) would receive %s, not %s (%s); peak "
        "memory would be %s, work %s",
        units_print_bytes(then->received_bytes).text, units_print_bytes(now->received_bytes).text,
        print_change(fewer, sizeof fewer, now->received_bytes, then->received_bytes),
        print_change(memory, sizeof memory, now->peak_bytes, then->peak_bytes),
        print_change(work, sizeof work, now->flops, then->flops));
}

void saving_json(const struct saving *saving, struct json_out *out)
{
    const struct saving_totals *then = &saving->searched;

    json_out_begin_flat_object(out);
    json_out_key_uint(out, "received_bytes", then->received_bytes);
    json_out_key_uint(out, "peak_bytes", then->peak_bytes);
    json_out_key_uint(out, "flops", then->flops);
    json_out_end_object(out);
}
