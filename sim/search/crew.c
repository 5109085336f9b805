/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/crew.h"

#include <stdlib.h>

#include "base/pack.h"
#include "search/pieces.h"

/* What a task begins with. */
struct head {
    int64_t devices;
    double links, memory; /* of a subject, as in subject_suppose() */
    int32_t kind;         /* enum attempt_kind; WHOLE: to be planned */
    uint32_t nlayouts;
};

void crew_ask(struct text *out, const struct subject *subject, enum attempt_kind kind, uint32_t n)
{
    const struct head head = {subject->space.devices, subject->links, subject->memory,
                              (int32_t)kind, n};

    pack_bytes(out, &head, sizeof head);
}

void crew_ask_plan(struct text *out, const struct subject *subject, const struct layout *layout)
{
    crew_ask(out, subject, ATTEMPT_WHOLE, 1);
    pack_bytes(out, layout, sizeof *layout);
}

void crew_take_plan(const struct text *answer, struct plan *plan, struct shd_error *err)
{
    struct unpack from;

    unpack_init(&from, text_get(answer), answer->length);
    unpack_bytes(&from, plan, sizeof *plan);
    unpack_bytes(&from, err, sizeof *err);
}

static int plan_one(const struct subject *subject, struct unpack *from, struct text *answer)
{
    struct shd_error err = {.status = SHD_OK};
    struct layout layout;
    struct plan plan;
    int status;

    unpack_bytes(from, &layout, sizeof layout);
    status = plan_layout(&plan, subject, &layout, &err);
    pack_bytes(answer, &plan, sizeof plan);
    pack_bytes(answer, &err, sizeof err);
    return status;
}

static int build(const struct subject *subject, const struct head *head, struct unpack *from,
                 struct text *answer)
{
    size_t n = head->nlayouts;
    struct layout *layouts = calloc(n, sizeof *layouts);
    struct piece *pieces = calloc(n, sizeof *pieces);
    int status = SHD_ENOMEM;

    if (layouts && pieces) {
        unpack_bytes(from, layouts, n * sizeof *layouts);
        status = pieces_build_apart(pieces, subject, layouts, head->nlayouts,
                                    (enum attempt_kind)head->kind);
        pack_bytes(answer, pieces, n * sizeof *pieces);
    }
    free(layouts);
    free(pieces);
    return status;
}

int crew_work(void *arg, const void *task, size_t bytes, struct text *answer)
{
    const struct crew *crew = arg;
    struct subject subject;
    struct shd_error err;
    struct unpack from;
    struct head head;
    int status;

    if (!crew->trial)
        return 1;
    unpack_init(&from, task, bytes);
    unpack_bytes(&from, &head, sizeof head);
    status = subject_init(&subject, crew->trial, head.devices, crew->ranges, crew->nranges, &err);
    if (status == SHD_OK) {
        if (head.links != 1 || head.memory != 1)
            subject_suppose(&subject, head.links, head.memory);
        status = head.kind == ATTEMPT_WHOLE ? plan_one(&subject, &from, answer)
                                            : build(&subject, &head, &from, answer);
    }
    subject_fini(&subject);
    return status != SHD_OK;
}
