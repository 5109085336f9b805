/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/crew.h"

#include <stdlib.h>

#include "base/pack.h"
#include "search/layout_pieces.h"
#include "search/task.h"

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

static int build(const struct subject *subject, const struct task_head *head, struct unpack *from,
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
    struct task_head head;
    int status;

    if (!crew->trial)
        return 1;
    unpack_init(&from, task, bytes);
    unpack_bytes(&from, &head, sizeof head);
    status = subject_init(&subject, crew->trial, head.devices, crew->ranges, crew->nranges,
                          crew->filter, &err);
    if (status == SHD_OK) {
        subject_suppose(&subject, head.links, head.memory);
        status = head.kind == ATTEMPT_WHOLE ? plan_one(&subject, &from, answer)
                                            : build(&subject, &head, &from, answer);
    }
    subject_fini(&subject);
    return status != SHD_OK;
}
