/* The table of functions through which a run speaks to the other ranks (over_ranks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/over_ranks.h"

#include "run/ranks/chain.h"
#include "run/ranks/meet.h"
#include "run/ranks/remote.h"
#include "run/ranks/span.h"
#include "run/device.h"

static bool is_here(const struct away *away, int32_t position)
{
    return spread_has(remote_of(away)->spread, position);
}

static void share(const struct away *away, void *rows, uint64_t row_bytes)
{
    spread_merge_rows(remote_of(away)->spread, rows, row_bytes);
}

static void expect(struct away *away, bool begins)
{
    (void)away;
    if (begins)
        ranks_expect();
    else
        ranks_expect_no_more();
}

static void *join(struct away *away, struct run_group *group)
{
    struct span *span = span_create(remote_of(away), group);

    if (span)
        remote_claim(span);
    return span;
}

static void leave(void *kept)
{
    struct span *span = kept;

    chain_destroy(span->chain);
    span_destroy(span);
}

static const struct away_calls calls = {
    .is_here = is_here,
    .start = remote_start,
    .end = remote_end,
    .share = share,
    .call_off = remote_call_off,
    .is_stuck = remote_is_stuck,
    .tell_end = remote_tell_end,
    .send = remote_send,
    .expect = expect,
    .join = join,
    .leave = leave,
    .meet = meet_ranks,
};

int run_over_ranks(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                   const struct shd_run_opts *opts, const struct spread *spread,
                   struct shd_run_stats *stats, struct shd_error *err)
{
    struct remote remote;
    int status;

    if (!spread)
        return shd_run(mesh, fn, arg, opts, stats, err);
    remote_init(&remote, spread, &calls);
    status = run_devices(mesh, fn, arg, opts, NULL, &remote.away, stats, err);
    remote_fini(&remote);
    return status;
}
