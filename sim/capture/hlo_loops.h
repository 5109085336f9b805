/* hlo_loops.h - how often a loop of a module goes round, from its condition and its body.
 *
 * A loop counts if its condition compares an item of its state with a number, its body adds a
 * number to that item, and the item's value before the loop is a number: all of them constants,
 * also behind copies, conversions, tuples, and the fusions that a compiler wraps them in.  The
 * other side of the comparison may be an item that the body hands on as it is.
 *
 * Kept are the instructions of which such numbers are made.
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
        *roots; /* by computation: number of the kept instruction that is its root; HLO_NO_NUMBER */
    uint32_t nkept, nroots;
    struct hlo_names names;
    const struct hlo_names *computations; /* all in scope 0 */
};

void hlo_loops_fini(struct hlo_loops *loops);

/* Keep an instruction of computation `computation`, which is not below that of any kept before.
 * False: no memory. */
bool hlo_loops_keep(struct hlo_loops *loops, uint32_t computation,
                    const struct hlo_statement *statement, bool is_root);

struct hlo_count {
    uint64_t trips;
    int64_t start, step, bound;
    const char *relation; /* of the item and the bound, while it goes on: "less than" */
};

/* Count the rounds of the loop that `statement`, of computation `computation`, is.  False: its
 * numbers are not told. */
bool hlo_loops_count(struct hlo_count *out, const struct hlo_loops *loops, uint32_t computation,
                     const struct hlo_statement *statement);

#endif /* CAPTURE_HLO_LOOPS_H */
