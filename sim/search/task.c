/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/task.h"

#include "base/pack.h"

void task_ask(struct text *out, const struct subject *subject, enum attempt_kind kind, uint32_t n)
{
    const struct task_head head = {subject->space.devices, subject->links, subject->memory,
                                   (int32_t)kind, n};

    pack_bytes(out, &head, sizeof head);
}

void task_ask_plan(struct text *out, const struct subject *subject, const struct layout *layout)
{
    task_ask(out, subject, ATTEMPT_WHOLE, 1);
    pack_bytes(out, layout, sizeof *layout);
}

void task_take_plan(const struct text *answer, struct plan *plan, struct shd_error *err)
{
    struct unpack from;

    unpack_init(&from, text_get(answer), answer->length);
    unpack_bytes(&from, plan, sizeof *plan);
    unpack_bytes(&from, err, sizeof *err);
}
