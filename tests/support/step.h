/* step.h - a graph that is partitioned, planned, run, and its results collected, for tests of the
 * rooms from partition to walk.
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

/* Partition, plan and execute; false with a diagnostic if a step failed.  Call step_fini() in both
 * cases. */
bool step_init(struct step *out, const struct partition_request *request);
void step_fini(struct step *step);

/* Element `i` of the whole array of a result. */
double step_value(const struct step *step, uint32_t result, int64_t i);

/* The number of the result with a name; PROGRAM_NONE if there is none. */
uint32_t step_result(const struct step *step, const char *name);

/* Count the reshard steps of a kind, in one phase or (phase -1) in all. */
int step_count(const struct program *program, enum shd_reshard_kind kind, int phase);

/* Whether all results of two runs of one program have the same bits. */
bool step_same_bits(const struct collect *a, const struct collect *b);

/* The first disagreement between a plan and a run of one program; NULL if there is none. */
const char *step_disagreement(const struct record *planned, const struct record *executed);

#endif /* STEP_H */
