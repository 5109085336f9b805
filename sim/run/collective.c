/* Executing collectives: checking calls, meeting, moving and pulling (collective.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/collective.h"

#include <inttypes.h>
#include <stdlib.h>

#include "kern/kern.h"
#include "run/device.h"
#include "run/fused.h"
#include "run/mismatch.h"
#include "run/move.h"
#include "run/tally.h"
#include "run/view.h"

/* ---- before ---- */

/* Check the arguments of one caller, whatever the other members call. */
static int check_arguments(const struct coll_call *call, struct shd_error *err)
{
    if ((unsigned)call->dtype >= SHD_NDTYPES)
        return shd_error_set(err, SHD_EINVAL, "%s of %d, which is not a valid element type",
                             coll_kind_name(call->kind), (int)call->dtype);
    if ((unsigned)call->red > SHD_MIN)
        return shd_error_set(err, SHD_EINVAL, "%s by %d, which is not a reduction",
                             coll_kind_name(call->kind), (int)call->red);
    return SHD_OK;
}

static int choose_algo(const struct shd_device *dev, struct coll_call *call, struct shd_error *err)
{
    uint32_t nmembers = call->seat.group->nmembers;

    if (!call->algo)
        call->algo = dev->run->algos[call->kind];
    if (!coll_serves(call->algo, nmembers))
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "algorithm %s of %s does not support groups of %" PRIu32 " devices",
                             call->algo->name, coll_kind_name(call->kind), nmembers);
    if (call->algo->reduces && call->dtype >= SHD_NCOMPUTE_DTYPES)
        return shd_error_set(err, SHD_EUNSUPPORTED, "%s cannot reduce %s",
                             coll_kind_name(call->kind), shd_dtype_name(call->dtype));
    return SHD_OK;
}

static int check_permute(const struct coll_call *call, struct shd_error *err)
{
    uint32_t nmembers = call->seat.group->nmembers;

    if (!call->source)
        return shd_error_set(err, SHD_EINVAL, "permute has no sources");
    for (uint32_t m = 0; m < nmembers; m++) {
        if (call->source[m] >= nmembers && call->source[m] != COLL_NOBODY)
            return shd_error_set(err, SHD_EINVAL,
                                 "permute names member %" PRIu32 " in a group of %" PRIu32,
                                 call->source[m], nmembers);
    }
    return SHD_OK;
}

/* Check that a member's operand and result have memory. */
static int check_memory(const struct coll_call *call, struct shd_error *err)
{
    struct coll_shape shape = move_shape(call);
    uint32_t member = call->seat.member;
    bool no_operand = !call->in.base && coll_in_count(call->kind, &shape, member) > 0;
    bool no_result = !call->out.base && coll_out_count(call->kind, &shape, member) > 0;

    if (no_operand || no_result)
        return shd_error_set(err, SHD_EINVAL, "%s of %" PRIu64 " %s without memory for its %s",
                             coll_kind_name(call->kind), call->count, shd_dtype_name(call->dtype),
                             no_operand ? "operand" : "result");
    return SHD_OK;
}

static int check_call(const struct coll_call *call, struct shd_error *err)
{
    uint32_t nmembers = call->seat.group->nmembers;
    int status;
    bool apart = call->kind == COLL_ALL_TO_ALL || call->kind == COLL_PERMUTE;

    if (call->count > UINT64_MAX / nmembers / shd_dtype_size(call->dtype))
        return shd_error_set(err, SHD_ERANGE, "%s of %" PRIu64 " elements is too large",
                             coll_kind_name(call->kind), call->count);
    if (call->root >= nmembers)
        return shd_error_set(err, SHD_EINVAL,
                             "%s has root %" PRIu32 " in a group of %" PRIu32 " devices",
                             coll_kind_name(call->kind), call->root, nmembers);
    status = check_memory(call, err);
    if (status != SHD_OK)
        return status;
    if (apart && call->count > 0 && call->in.base == call->out.base)
        return shd_error_set(err, SHD_EINVAL, "%s in place", coll_kind_name(call->kind));
    return call->kind == COLL_PERMUTE ? check_permute(call, err) : SHD_OK;
}

/* Reserve the transport buffer: host memory that stands for network buffers, not device memory. */
static int reserve_tmp(struct shd_device *dev, const struct coll_call *call, struct shd_error *err)
{
    struct coll_shape shape = move_shape(call);
    uint64_t bytes;

    if (!call->algo->tmp_count)
        return SHD_OK;
    bytes = call->algo->tmp_count(&shape) * shd_dtype_size(call->dtype);
    if (bytes <= dev->tmp_bytes)
        return SHD_OK;
    free(dev->tmp);
    dev->tmp = malloc(bytes);
    dev->tmp_bytes = dev->tmp ? bytes : 0;
    if (!dev->tmp)
        return shd_error_set(err, SHD_ENOMEM,
                             "no memory for a transport buffer of %" PRIu64 " bytes", bytes);
    return SHD_OK;
}

/* ---- meeting ---- */

/* Bytes of the larger of operand and result, at the member where it is largest. */
static uint64_t largest_bytes(const struct coll_call *call)
{
    bool gathers = call->kind == COLL_ALL_GATHER || call->kind == COLL_GATHER;

    return call->count * shd_dtype_size(call->dtype) * (gathers ? call->seat.group->nmembers : 1);
}

static void move_all(const struct run_group *group)
{
    struct coll_shape shape = move_shape(group->calls[0]);
    uint32_t nsteps = group->calls[0]->algo->nsteps(&shape);
    struct tally tally;

    tally_init(&tally, group, true);
    for (uint32_t s = 0; s < nsteps; s++) {
        for (uint32_t m = 0; m < group->nmembers; m++)
            move_step(group, &shape, m, s, &tally);
    }
    tally_flush(&tally);
}

static enum group_way choose_way(const struct run_group *group)
{
    const struct coll_call *call = group->calls[0];
    const struct run *run = group->devices[0]->run;

    if (call->kind == CALL_EXCHANGE || run->opts.fuse_bytes < 0)
        return GROUP_BY_STEPS;
    if (fused_serves(call->algo))
        return GROUP_FUSED;
    return largest_bytes(call) <= run->fuse_bytes ? GROUP_BY_LAST : GROUP_BY_STEPS;
}

/* One member's arrival at its group. */
struct arrival {
    struct run_group *group;
    struct shd_device *dev;
};

uint32_t run_execute(struct run_group *group, uint32_t *ntasks)
{
    const struct run *run = group->devices[0]->run;
    struct fused_job *job = &group->job;

    if (group->way == GROUP_BY_LAST)
        move_all(group);
    if (group->way != GROUP_FUSED)
        return 0;
    fused_prepare(job, group, largest_bytes(group->calls[0]) <= run->fuse_bytes ? 1 : run->ncores);
    if (job->nthreads > 1) {
        *ntasks = job->ntasks;
        return job->nthreads;
    }
    for (uint32_t t = 0; t < job->ntasks; t++)
        fused_task(job, group, t);
    return 0;
}

/* Run by the last member to arrive, while all others wait. */
static uint32_t all_are_here(void *arg, uint32_t *ntasks)
{
    const struct arrival *a = arg;
    struct run_group *group = a->group;

    if (group->away)
        return a->dev->run->away->calls->meet(group, a->dev, ntasks);
    group->status = mismatch_check(group, &group->error);
    if (group->status != SHD_OK)
        return 0;
    group->way = choose_way(group);
    return run_execute(group, ntasks);
}

static void do_task(void *arg, uint32_t task)
{
    const struct run_group *group = ((const struct arrival *)arg)->group;

    fused_task(&group->job, group, task);
}

/* The member at the lowest position that cannot arrive any more; there is one unless the run was
 * called off. */
static const struct shd_device *find_missing(const struct run_group *group)
{
    const struct shd_device *missing = NULL;

    for (uint32_t m = 0; m < group->nmembers; m++) {
        const struct shd_device *dev = group->devices[m];

        if (atomic_load(&dev->state) != DEVICE_LIVE &&
            !(wait_is_blocked(&dev->record) && atomic_load(&dev->record.at) == &group->barrier) &&
            (!missing || dev->position < missing->position))
            missing = dev;
    }
    return missing;
}

int run_give_up(struct shd_device *dev, const struct coll_call *call, struct shd_error *err)
{
    const struct shd_device *missing = find_missing(call->seat.group);
    int verdict = atomic_load(&dev->run->board.called_off);
    bool ended = missing && atomic_load(&missing->state) == DEVICE_ENDED;

    call_print(dev->waits_in, sizeof(dev->waits_in), call);
    dev->gave_up = verdict == RUN_STUCK || verdict == RUN_OVER_LIMIT || (!verdict && ended)
                       ? SHD_ESTUCK
                       : SHD_ESTOPPED;
    if (verdict == RUN_STOP_REQUESTED)
        return shd_error_set(err, dev->gave_up, "stopped by request");
    if (!missing)
        return shd_error_set(err, dev->gave_up, "device %" PRId32 " waits forever in %s",
                             dev->position, dev->waits_in);
    return shd_error_set(
        err, dev->gave_up, "device %" PRId32 " waits in %s for device %" PRId32 ", which has %s",
        dev->position, dev->waits_in, missing->position, ended ? "ended" : "stopped");
}

int run_may_wait(const struct shd_device *dev, struct shd_error *err)
{
    if (!dev->gave_up)
        return SHD_OK;
    return shd_error_set(err, dev->gave_up, "device %" PRId32 " was stopped in %s before",
                         dev->position, dev->waits_in);
}

static int arrive(struct shd_device *dev, struct coll_call *call, struct shd_error *err)
{
    struct run_group *group = call->seat.group;
    struct arrival arrival = {group, dev};
    const struct wait_duty duty = {all_are_here, do_task, &arrival};
    int status = run_may_wait(dev, err);

    if (status != SHD_OK)
        return status;
    group->calls[call->seat.member] = call;
    if (!wait_arrive(&group->barrier, &dev->record, &duty))
        return run_give_up(dev, call, err);
    if (group->status == SHD_OK)
        return SHD_OK;
    if (dev->mismatch.status == SHD_OK)
        dev->mismatch = group->error;
    return shd_error_set(err, group->status, "%s", group->error.text);
}

/* ---- moving ---- */

static void walk(struct coll_call *call)
{
    struct run_group *group = call->seat.group;
    struct coll_shape shape = move_shape(call);
    uint32_t nsteps = call->algo->nsteps(&shape);
    struct tally tally;

    tally_init(&tally, group, false);
    for (uint32_t s = 0; s < nsteps; s++) {
        move_step(group, &shape, call->seat.member, s, &tally);
        if (s + 1 == nsteps) /* before any peer can be in another call, see tally_init() */
            tally_flush(&tally);
        wait_meet(&group->barrier); /* also after the last step: peers may still read IN or OUT */
    }
}

static void finish_mean(const struct coll_call *call)
{
    struct coll_shape shape = move_shape(call);
    uint64_t left = coll_out_count(call->kind, &shape, call->seat.member);
    struct view_cursor at;

    view_cursor_init(&at, &call->out, shd_dtype_size(call->dtype), 0);
    while (left > 0) {
        uint64_t n;
        void *out = view_cursor_span(&at, &n);

        n = n < left ? n : left;
        kern_scale(call->dtype, out, 1.0 / shape.nmembers, n);
        view_cursor_advance(&at, n);
        left -= n;
    }
}

/* Complete a member's call after all members have arrived.  Reading the group's fields is safe: the
 * group cannot start another call before this member arrives again. */
static void finish_call(struct coll_call *call)
{
    const struct run_group *group = call->seat.group;
    if (group->way == GROUP_FUSED)
        return;
    if (group->way == GROUP_BY_STEPS)
        walk(call);
    if (call->algo->reduces && call->red == SHD_MEAN)
        finish_mean(call);
}

int run_collective(struct shd_device *dev, struct coll_call *call, struct shd_error *err)
{
    struct coll_call mine = *call; /* peers read this copy; the caller's stays unchanged */
    uint64_t before = tally_received(dev);
    int status;

    mine.received_bytes = 0;
    status = check_arguments(&mine, err);
    if (status == SHD_OK)
        status = choose_algo(dev, &mine, err);
    if (status == SHD_OK)
        status = check_call(&mine, err);
    if (status == SHD_OK)
        status = reserve_tmp(dev, &mine, err);
    mine.tmp = dev->tmp;
    mine.away_bytes = 0;
    if (status == SHD_OK)
        status = arrive(dev, &mine, err);
    if (status != SHD_OK)
        return status;
    finish_call(&mine);
    call->received_bytes = tally_received(dev) - before + mine.away_bytes;
    return SHD_OK;
}

/* ---- pulling ---- */

int run_pull_phase(struct shd_device *dev, struct run_seat seat, const void *in, uint64_t in_bytes,
                   uint64_t tag, const char *where, run_pull_fn fn, void *arg,
                   uint64_t *received_bytes, struct shd_error *err)
{
    struct coll_call mine = {.kind = CALL_EXCHANGE, .seat = seat, .count = tag, .where = where};
    struct run_pull pull = {.dev = dev, .seat = seat};
    uint64_t before = tally_received(dev);
    int status;

    mine.in.base = (void *)in;
    mine.pulled_bytes = in_bytes;
    status = arrive(dev, &mine, err);
    if (status != SHD_OK)
        return status;
    status = fn(&pull, arg, err);
    wait_meet(&seat.group->barrier); /* peers may still be reading; also if fn failed */
    if (status == SHD_OK && received_bytes)
        *received_bytes = tally_received(dev) - before;
    return status;
}

uint32_t run_pull_member(const struct run_pull *pull, int32_t position)
{
    const struct run_group *group = pull->seat.group;
    uint32_t low = 0, high = group->nmembers;

    if (group->nmembers == (uint32_t)pull->dev->run->ndevices)
        return (uint32_t)position;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;

        if (group->members[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const void *run_pull_peer(const struct run_pull *pull, uint32_t member)
{
    return pull->seat.group->calls[member]->in.base;
}

void run_pull_count(struct run_pull *pull, uint32_t member, uint64_t bytes, bool right)
{
    if (!right)
        tally_bytes(pull->dev, pull->dev, bytes);
    else if (member != pull->seat.member)
        tally_bytes(pull->dev, pull->seat.group->devices[member], bytes);
}
