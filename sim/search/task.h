/* search/task.h - the tasks of a rank in a search (crew.h) and their answers: the number of
 * devices, the assumed fractions of the cluster, and layouts.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_TASK_H
#define SEARCH_TASK_H

#include "search/layout_plan.h"

/* The head of a task. */
struct task_head {
    int64_t devices;
    double links, memory; /* of the subject, as in subject_suppose() */
    int32_t kind;         /* enum attempt_kind; ATTEMPT_WHOLE: plan a layout */
    uint32_t nlayouts;
};

/* Begin a task to build pieces of a kind; the caller packs the n layouts behind the head.  The
 * answer is n `struct piece`. */
void task_ask(struct text *out, const struct subject *subject, enum attempt_kind kind, uint32_t n);

/* Write a task to plan a layout, and read its answer; `err` says why the layout was refused. */
void task_ask_plan(struct text *out, const struct subject *subject, const struct layout *layout);
void task_take_plan(const struct text *answer, struct plan *plan, struct shd_error *err);

#endif /* SEARCH_TASK_H */
