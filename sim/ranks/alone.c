/* Ranks in builds without MPI: one process (ranks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"
#include "ranks/ranks.h"

int ranks_begin(struct shd_error *err)
{
    (void)err;
    return SHD_OK;
}

void ranks_end(int exit_status)
{
    (void)exit_status;
}

bool ranks_launched(void)
{
    return false;
}

int ranks_count(void)
{
    return 1;
}

int ranks_me(void)
{
    return 0;
}

int ranks_here(void)
{
    return 1;
}

uint64_t ranks_new_session(void)
{
    return 1;
}

int ranks_post(int to, uint64_t session, const struct ranks_part *parts, uint32_t nparts)
{
    (void)to, (void)session, (void)parts, (void)nparts;
    return SHD_OK;
}

void ranks_listen(uint64_t session, ranks_deliver_fn deliver, void *arg)
{
    (void)session, (void)deliver, (void)arg;
}

void ranks_put_back(const void *letter)
{
    (void)letter;
}

void ranks_close(void)
{
}

void ranks_start(struct ranks_parcel *parcel)
{
    (void)parcel;
}

void ranks_finish(const struct ranks_parcel *parcel)
{
    (void)parcel;
}

uint32_t ranks_new_tags(void)
{
    return 0;
}

void ranks_merge(void *data, uint64_t bytes, enum ranks_merge how)
{
    (void)data, (void)bytes, (void)how;
}

void ranks_wait(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns)
{
    wait_event(event, seen, limit_ns);
}

void ranks_go_on(void)
{
}

void ranks_expect(void)
{
}

void ranks_expect_no_more(void)
{
}

void ranks_abort(const char *why)
{
    fprintf(stderr, "shardsim: error: %s\n", why);
    _Exit(3);
}
