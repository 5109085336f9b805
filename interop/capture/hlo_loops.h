/* hlo_loops.h - derive a loop's trip count from its condition and its body.
 *
 * A loop can be counted if its condition compares an item of its state with a number, its body adds
 * a number to that item, and the item's value before the loop is a number.  The numbers must be
 * constants, possibly behind copies, conversions, tuples, and fusions.  The other side of the
 * comparison may be an item that the body does not change.
 *
 * Only instructions that such numbers depend on are kept.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_LOOPS_H
#define CAPTURE_HLO_LOOPS_H

#include "capture/hlo_names.h"

struct hlo_statement {
    struct hlo_piece name, opcode, operands, attributes;
};

struct hlo_loops {
    struct hlo_kept *kept;
    uint32_t
        *roots; /* by computation: number of its root among kept instructions; HLO_NO_NUMBER: not
                   kept */
    uint32_t nkept, nroots;
    struct hlo_names names;
    const struct hlo_names *computations; /* all in scope 0 */
};

void hlo_loops_fini(struct hlo_loops *loops);

/* Keep an instruction of a computation; computations come in ascending order.  False: no memory. */
bool hlo_loops_keep(struct hlo_loops *loops, uint32_t computation,
                    const struct hlo_statement *statement, bool is_root);

struct hlo_count {
    uint64_t trips;
    int64_t start, step, bound;
    const char *relation; /* between item and bound while the loop runs: "less than" */
};

/* Count the rounds of the loop `statement` in a computation.  False: its numbers are unknown. */
bool hlo_loops_count(struct hlo_count *out, const struct hlo_loops *loops, uint32_t computation,
                     const struct hlo_statement *statement);

#endif /* CAPTURE_HLO_LOOPS_H */
