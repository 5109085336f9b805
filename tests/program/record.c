/* Tests program/record.h: records, their sums, verification and balance.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/record.h"

#include <math.h>
#include <stdlib.h>

#include "../support/tap.h"

/* A program of three empty ops and two results on a mesh of n devices. */
static struct program *new_program(struct shd_mesh **mesh, int32_t n)
{
    const char *const name = "d";
    const struct program_op op = {.kind = PROGRAM_FILL};
    struct program *program;

    if (shd_mesh_create(mesh, &name, &n, 1, NULL) != SHD_OK || !(program = program_create(*mesh)))
        abort();
    for (int i = 0; i < 3; i++)
        if (program_add_op(program, &op, NULL) != SHD_OK)
            abort();
    for (int i = 0; i < 2; i++)
        if (program_add_result(program, PROGRAM_OUTPUT, i ? "b" : "a", 0, NULL) != SHD_OK)
            abort();
    return program;
}

static void test_create(void)
{
    struct shd_mesh *mesh;
    struct program *program = new_program(&mesh, 2);
    struct record *r;
    uint128 sum = 0;

    if (!ok(record_create(&r, program, RECORD_EXECUTED, false, NULL) == SHD_OK, "create"))
        return;
    for (int i = 0; i < 6; i++)
        sum += r->op_received[i];
    for (int i = 0; i < 4; i++)
        sum += r->matrix[i];
    for (int d = 0; d < 2; d++)
        sum += r->received_bytes[d] + r->sent_bytes[d] + r->flops[d] + r->peak_bytes[d];
    ok(sum == 0 && r->ndevices == 2 && r->nrows == 2 && r->mode == RECORD_EXECUTED && !r->times &&
           !r->verified,
       "a new record is all zeros, without times; a row is a device");
    record_destroy(r);
    if (ok(record_create(&r, program, RECORD_EXECUTED, true, NULL) == SHD_OK, "create with times"))
        ok(r->times && r->times[5].end_ns == 0, "times, of each device and op");
    record_destroy(r);
    record_destroy(NULL);
    program_destroy(program);
    shd_mesh_destroy(mesh);
}

static void test_sums(void)
{
    struct shd_mesh *mesh;
    struct program *program = new_program(&mesh, 2);
    struct record *r;

    if (record_create(&r, program, RECORD_EXECUTED, false, NULL) != SHD_OK)
        abort();
    for (uint64_t i = 0; i < 6; i++)
        r->op_received[i] = UINT64_C(1) << (10 * i); /* rows are devices */
    r->received_bytes[0] = 5;
    r->received_bytes[1] = 7;
    ok(record_op_received(r, 1) == (UINT64_C(1) << 10) + (UINT64_C(1) << 40),
       "bytes received in one op, by all");
    ok(record_received(r) == 12, "bytes received in total");
    ok(!record_verified_ok(r), "without checks nothing is verified");
    r->nchecks = 2;
    r->checks[1].error = 1;
    r->checks[1].relative = 1e-4;
    ok(record_verified_ok(r), "an error equal to the bound");
    r->tolerance = 1e-4;
    ok(record_verified_ok(r), "an error equal to the tolerance");
    r->tolerance = 0.9e-4;
    ok(!record_verified_ok(r), "an error beyond the tolerance but within its bound");
    r->checks[1].zero = true;
    r->checks[1].relative = INFINITY;
    r->checks[1].most = r->checks[1].widest = 1e-9;
    ok(record_verified_ok(r), "no tolerance is asked of what is 0 but for rounding");
    r->checks[1].most = 2e-9;
    ok(!record_verified_ok(r), "an error above the widest bound, for elements without a bound");
    r->checks[1].most = 0;
    r->checks[1].error = 1.1;
    ok(!record_verified_ok(r), "an error beyond the bound");
    r->checks[1].error = 1;
    r->tolerance = 0;
    r->step.error = 1.1;
    ok(!record_verified_ok(r), "a step with an error beyond its bound");
    r->step.error = 0;
    r->checks[0].error = 1.1;
    ok(!record_verified_ok(r), "a result with an error beyond its bound");
    r->checks[0].error = NAN;
    ok(!record_verified_ok(r), "NaN is beyond the bound");
    r->checks[0].error = INFINITY;
    ok(!record_verified_ok(r), "so is infinity");
    record_destroy(r);
    program_destroy(program);
    shd_mesh_destroy(mesh);
}

static void test_large(void)
{
    struct shd_mesh *mesh;
    struct program *program = new_program(&mesh, RECORD_MATRIX_MAX + 1);
    struct record *r;

    if (ok(record_create(&r, program, RECORD_EXECUTED, false, NULL) == SHD_OK, "many devices"))
        ok(!r->matrix, "above a number of devices there is no matrix");
    record_destroy(r);
    if (ok(record_create(&r, program, RECORD_PLANNED, false, NULL) == SHD_OK, "planned")) {
        r->flops[0] = 3;
        ok(r->nrows == 1 && !r->op_received && record_row(r, 0).ndevices == RECORD_MATRIX_MAX + 1 &&
               record_row_of(r, RECORD_MATRIX_MAX) == 0,
           "devices with equal work share a row of a plan");
        ok(record_sum(r, r->flops) == 3 * (RECORD_MATRIX_MAX + 1),
           "a row counts for all of its devices");
    }
    record_destroy(r);
    program_destroy(program);
    shd_mesh_destroy(mesh);
}

static void test_balance(void)
{
    uint128 even[] = {3, 3, 3}, uneven[] = {1, 4, 4}, none[] = {0, 0, 0};
    struct shd_mesh *mesh;
    struct program *program = new_program(&mesh, 3);
    struct record_balance b;
    struct record *r;

    if (record_create(&r, program, RECORD_EXECUTED, false, NULL) != SHD_OK)
        abort();
    b = record_balance_of(r, even);
    ok(b.mean == 3 && b.max == 3 && b.ratio == 1 && b.slowest == 0, "balance: all equal");
    b = record_balance_of(r, uneven);
    ok(b.mean == 3 && b.max == 4 && b.ratio == 0.75 && b.slowest == 1,
       "balance: the lowest of those with the most");
    b = record_balance_of(r, none);
    ok(b.mean == 0 && b.max == 0 && b.ratio == 1 && b.slowest == 0, "balance: all 0");
    record_destroy(r);
    program_destroy(program);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_create();
    test_sums();
    test_large();
    test_balance();
    return done();
}
