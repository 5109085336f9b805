/* Tests that a repeated step is reported as one step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "trial/trial.h"

#include "../support/tap.h"

static const char scenario[] = "version: 1\n"
                               "mesh: {tp: 4}\n"
                               "model: {kind: mlp, d_model: 16, d_ff: 32}\n"
                               "batch: {size: 2, seq: 8}\n"
                               "params:\n"
                               "  - [up/kernel, [null, tp]]\n"
                               "  - [down/kernel, [tp, null]]\n"
                               "transfers: {rate: 1GB/s, latency: 2us}\n";

static struct trial execute(const struct scenario_file *file, uint32_t repeats, int nthreads)
{
    struct trial t;
    struct diag diag = DIAG_INIT;

    if (trial_init(&t, &file->scenarios[0], &diag) != SHD_OK)
        exit(99);
    t.repeats = repeats;
    t.nthreads = nthreads;
    if (trial_execute(&t, NULL, NULL) != SHD_OK)
        exit(99);
    return t;
}

static bool same(const struct record *a, const struct record *b)
{
    size_t n = (size_t)a->ndevices, bytes = n * sizeof *a->flops;

    return !memcmp(a->received_bytes, b->received_bytes, bytes) &&
           !memcmp(a->sent_bytes, b->sent_bytes, bytes) && !memcmp(a->flops, b->flops, bytes) &&
           !memcmp(a->peak_bytes, b->peak_bytes, bytes) &&
           !memcmp(a->matrix, b->matrix, n * bytes) &&
           !memcmp(a->op_received, b->op_received, n * a->program->nops * sizeof *a->op_received);
}

static bool same_errors(const struct record *a, const struct record *b)
{
    for (uint32_t i = 0; i < a->nchecks; i++)
        if (a->checks[i].error != b->checks[i].error)
            return false;
    return a->nchecks == b->nchecks;
}

/* Whether each op that computes has the same time on all devices. */
static bool one_time(const struct record *r)
{
    for (uint32_t i = 0; i < r->program->nops; i++)
        for (int32_t d = 1; d < r->ndevices; d++)
            if (r->program->ops[i].kind == PROGRAM_KERNEL &&
                r->times[(size_t)d * r->program->nops + i].cpu_ns != r->times[i].cpu_ns)
                return false;
    return true;
}

/* Devices run one at a time, which leaves counts and verification unchanged. */
static void test_rounds(struct trial *t)
{
    struct record *r = t->record;
    uint64_t received = record_received(r), peak = r->peak_bytes[0], flops = r->flops[0];
    double error = r->checks[0].error;
    int64_t wall_ns = r->step_ns;
    bool good = true;

    ok(r->replay->repeats == 1 && r->replay->spread >= 0 && one_time(r),
       "one repeat: equal devices have one time, with a spread over them");
    ok(t->timing.nwalkers == 1 && timing_round_ns(&t->timing) > 0,
       "a round of equal devices is a walk of one");
    for (uint32_t round = 1; round <= 3; round++)
        good &= trial_time(t, round, NULL, NULL) == SHD_OK;
    ok(good && trial_replay(t, 3, NULL) == SHD_OK, "three rounds");
    ok(r->replay->repeats == 3 * (TIMING_ROUND_REPEATS - 1) && r->replay->spread >= 0 &&
           one_time(r),
       "only warm repeats count");
    ok(record_received(r) == received && r->peak_bytes[0] == peak && r->flops[0] == flops &&
           r->checks[0].error == error && r->step_ns == wall_ns && record_verified_ok(r),
       "devices that walk alone change no earlier figure");
}

int main(void)
{
    struct scenario_file *file;
    struct diag diag = DIAG_INIT;
    struct trial once, often, threaded;

    plan(0);
    if (scenario_parse(&file, "f.yaml", scenario, sizeof scenario - 1, NULL, 0, &diag) != SHD_OK)
        exit(99);
    once = execute(file, 0, 0);
    often = execute(file, 4, 1);
    threaded = execute(file, 1, 2);
    ok(record_received(once.record) > 0 && same(once.record, often.record),
       "bytes, flops and memory of four steps are those of one");
    ok(record_verified_ok(often.record) && same_errors(once.record, often.record),
       "the last step's results equal the first step's");
    ok(once.record->repeats == 1 && once.record->step_ns == once.record->first_step_ns &&
           once.record->step_ns == once.record->fastest_step_ns && once.record->step_ns > 0,
       "one step is the first and the fastest");
    ok(often.record->repeats == 4 && often.record->fastest_step_ns > 0 &&
           often.record->fastest_step_ns <= often.record->step_ns,
       "the fastest of several is not above the median");
    ok(once.record->replay && once.record->replay->transfers.latency_ns == 2000 &&
           once.record->replay->transfers.bytes_per_s == 1000000000,
       "it is replayed with the scenario's transfers");
    ok(!threaded.record->replay && same(once.record, threaded.record) &&
           same_errors(once.record, threaded.record),
       "with several threads in a kernel: the same, and not replayed");
    test_rounds(&once);
    trial_fini(&once);
    trial_fini(&often);
    trial_fini(&threaded);
    scenario_file_destroy(file);
    diag_fini(&diag);
    return done();
}
