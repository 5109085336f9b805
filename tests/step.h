/* step.h - a graph partitioned, planned, run and collected: what tests of the middle of the house
 * look at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>

#include "partition/partition.h"
#include "program/record.h"
#include "trial/collect.h"

struct step {
    struct program *program;
    struct record *planned, *executed;
    struct collect results;
};

/* Partition, plan and execute; false, told by diag, when something failed.  End it with step_fini()
 * either way. */
bool step_init(struct step *out, const struct partition_request *request);
void step_fini(struct step *step);

/* Element `i` of the whole array of a result. */
double step_value(const struct step *step, uint32_t result, int64_t i);

/* The result of a name; PROGRAM_NONE when there is none. */
uint32_t step_result(const struct step *step, const char *name);

/* Reshard steps of a kind, in one phase or (phase -1) in all. */
int step_count(const struct program *program, enum shd_reshard_kind kind, int phase);

/* All bits of all results are equal in two runs of one program. */
bool step_same_bits(const struct collect *a, const struct collect *b);

/* What a plan and a run of one program do not agree on; NULL: they agree. */
const char *step_disagreement(const struct record *planned, const struct record *executed);

#endif /* STEP_H */
