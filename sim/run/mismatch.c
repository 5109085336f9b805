/* Comparing the calls of a group's members (mismatch.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/mismatch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Room for the description of a call; two of them and the words around them fit an error's text.
 */
#define TEXT_MAX 96

static const char *const red_names[] = {
    [SHD_SUM] = "sum", [SHD_MEAN] = "mean", [SHD_MAX] = "max", [SHD_MIN] = "min"};

static const char *kind_name(enum coll_kind kind)
{
    return kind == CALL_EXCHANGE ? "exchange" : coll_kind_name(kind);
}

void call_print(char *buf, size_t size, const struct coll_call *call)
{
    bool sends = call->seat.member == 0;

    if (call->kind == COLL_SEND_RECV)
        snprintf(buf, size, "%s device %" PRId32 "%s%s%s", sends ? "send to" : "receive from",
                 call->seat.group->members[sends ? 1 : 0], call->where ? " (" : "",
                 call->where ? call->where : "", call->where ? ")" : "");
    else if (call->where)
        snprintf(buf, size, "%s (%s)", kind_name(call->kind), call->where);
    else
        snprintf(buf, size, "%s", kind_name(call->kind));
}

static bool same_sources(const struct coll_call *a, const struct coll_call *b)
{
    return a->source == b->source ||
           (a->source && b->source &&
            !memcmp(a->source, b->source, a->seat.group->nmembers * sizeof(*a->source)));
}

static bool same_red(const struct coll_call *a, const struct coll_call *b)
{
    return !a->algo || !a->algo->reduces || a->red == b->red;
}

static bool same_call(const struct coll_call *a, const struct coll_call *b)
{
    return a->kind == b->kind && a->algo == b->algo && a->count == b->count &&
           a->dtype == b->dtype && a->root == b->root && same_red(a, b) && same_sources(a, b);
}

/* Describe a member's call, including everything in which it differs from the other member's call
 * of the same kind. */
static void describe(char *buf, const struct coll_call *call, const struct coll_call *other)
{
    int length = snprintf(buf, TEXT_MAX, "%s of %" PRIu64 " %s", kind_name(call->kind), call->count,
                          call->kind == CALL_EXCHANGE ? "(tag)" : shd_dtype_name(call->dtype));
    char *end = buf + length;
    size_t room = TEXT_MAX - (size_t)length;

    if (call->kind != other->kind)
        return;
    if (call->algo != other->algo)
        snprintf(end, room, " by %s", call->algo->name);
    else if (!same_red(call, other))
        snprintf(end, room, " to their %s", red_names[call->red]);
    else if (call->root != other->root)
        snprintf(end, room, " with root %" PRIu32, call->root);
    else if (!same_sources(call, other))
        snprintf(end, room, " with other sources");
}

int mismatch_check(const struct run_group *group, struct shd_error *err)
{
    const struct coll_call *first = group->calls[0];
    char theirs[TEXT_MAX];
    char firsts[TEXT_MAX];
    uint32_t m = 1;

    while (m < group->nmembers && same_call(group->calls[m], first))
        m++;
    if (m == group->nmembers)
        return SHD_OK;
    describe(theirs, group->calls[m], first);
    describe(firsts, first, group->calls[m]);
    return shd_error_set(err, SHD_EMISMATCH,
                         "device %" PRId32 " calls %s where device %" PRId32 " calls %s%s%.60s%s",
                         group->members[m], theirs, group->members[0], firsts,
                         first->where ? " (" : "", first->where ? first->where : "",
                         first->where ? ")" : "");
}
