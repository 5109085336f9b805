/* search/task.h - what a rank is asked to do of a search (crew.h), and what it answers: on how many
 * devices, of which part of the cluster, and of which layouts.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_TASK_H
#define SEARCH_TASK_H

#include "search/plan.h"

/* What a task begins with. */
struct task_head {
    int64_t devices;
    double links, memory; /* of a subject, as in subject_suppose() */
    int32_t kind;         /* enum attempt_kind; WHOLE: to be planned */
    uint32_t nlayouts;
};

/* Begin a task of pieces of a kind, whose n layouts are to be packed behind it.  The answer is as
 * many `struct piece`. */
void task_ask(struct text *out, const struct subject *subject, enum attempt_kind kind, uint32_t n);

/* A task to plan a layout, and its answer; `err` says why it was refused. */
void task_ask_plan(struct text *out, const struct subject *subject, const struct layout *layout);
void task_take_plan(const struct text *answer, struct plan *plan, struct shd_error *err);

#endif /* SEARCH_TASK_H */
