/* saving.h - one line on the layout with the fewest bytes, found by a search: its saving, and its
 * price.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_SAVING_H
#define REPORT_SAVING_H

#include <stdbool.h>

#include "base/json_out.h"
#include "base/text.h"
#include "base/uint128.h"

struct saving_totals {
    uint128 received_bytes; /* of all devices */
    uint128 peak_bytes;     /* of the device with most */
    uint128 flops;          /* of all devices */
};

struct saving {
    bool known; /* a search was made */
    struct saving_totals now, searched;
};

/* "2.53 MiB instead of 3.50 MiB received (28 % less), peak memory 12 % more, work the same";
 * without a line's end. */
void saving_text(const struct saving *saving, struct text *out);

/* {"received_bytes", "peak_bytes", "flops"} of the step by search. */
void saving_json(const struct saving *saving, struct json_out *out);

#endif /* REPORT_SAVING_H */
