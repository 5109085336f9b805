/* Tests report/result.h on a made-up record that was verified and measured: sums over all results,
 * including the first, and each fault with its place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

enum { NRESULTS = 4 };

static void must(bool good)
{
    if (!good)
        abort();
}

/* Two devices fill an array of 6 x 4, which four results name. */
static struct program *new_program(struct shd_mesh **mesh)
{
    static const char *const name = "d", *const names[NRESULTS] = {"y", "loss", "w", "w"};
    static const int64_t shape[] = {6, 4};
    const int32_t n = 2;
    struct shd_sharding sharding;
    struct program_op op = {.kind = PROGRAM_FILL, .name = "layers/0/y", .noutputs = 1, .times = 1};
    struct program *program;

    must(shd_mesh_create(mesh, &name, &n, 1, NULL) == SHD_OK);
    program = program_create(*mesh);
    must(program != NULL);
    shd_sharding_init(&sharding, *mesh, 2);
    sharding.dims[0] = (struct shd_dim_axes){1, {0}};
    must(program_add_buffer(&op.outputs[0], program, "y", SHD_F32, shape, &sharding, NULL) ==
             SHD_OK &&
         program_add_op(program, &op, NULL) == SHD_OK);
    for (int i = 0; i < NRESULTS; i++)
        must(program_add_result(program, PROGRAM_OUTPUT, names[i], op.outputs[0], NULL) == SHD_OK);
    return program;
}

static void set_checks(struct record *r)
{
    static const enum program_result_kind kinds[NRESULTS] = {PROGRAM_OUTPUT, PROGRAM_LOSS,
                                                             PROGRAM_GRADIENT, PROGRAM_NEXT};
    static const struct record_check checks[NRESULTS] = {
        {.error = 0.25,
         .at = 23,
         .relative = 1e-3,
         .unsharded = 2e-3,
         .nopen = 1,
         .nopen_first = 10},
        {.error = 0.5, .at = 9, .relative = 4e-3, .unsharded = 3e-3, .nopen = 2, .nopen_first = 20},
        {.error = 0.125,
         .at = 4,
         .relative = 3e-3,
         .unsharded = 4e-3,
         .nopen = 3,
         .nopen_first = 30},
        {.error = 0.0625,
         .at = 0,
         .relative = 2e-3,
         .unsharded = 5e-3,
         .nopen = 4,
         .nopen_first = 40},
    };

    for (int i = 0; i < NRESULTS; i++) {
        r->checks[i] = checks[i];
        r->checks[i].kind = kinds[i];
        r->checks[i].name = r->program->results[i].name;
    }
    r->nchecks = NRESULTS;
    r->verified = true;
    r->nsteps = 12;
}

/* Whether the printed text has `want` from the line that begins with `begin` up to an empty
 * line. */
static void tells(const struct record *r, const char *begin, const char *want, const char *what)
{
    const struct result result = {
        .scenario = "s", .strategy = "default", .what = "an x", .record = r, .columns = 80};
    struct text text = TEXT_INIT;
    char found[2048] = "";
    const char *at;

    must(result_text(&result, &text, NULL) == SHD_OK);
    at = strstr(text_get(&text), begin);
    if (at) {
        const char *end = strstr(at + 1, "\n\n");
        size_t length = end ? (size_t)(end - at) : strlen(at) - 1;

        snprintf(found, sizeof found, "%.*s", (int)length, at);
    }
    if (!ok(!strcmp(found, want), "%s", what))
        diag("%s", found);
    text_fini(&text);
}

static void test_measured(struct record *r)
{
    r->repeats = 1;
    r->step_ns = r->first_step_ns = 7000000;
    tells(r, "\nmeasured",
          "\nmeasured      7.00 ms a step on this machine, whose cores all devices share",
          "measured once");
    r->repeats = 4;
    r->step_ns = 5000000;
    r->fastest_step_ns = 4000000;
    r->cpu_ns = 9000000;
    tells(r, "\nmeasured",
          "\nmeasured      5.00 ms a step on this machine, whose cores all devices share\n"
          "              (median of 3; fastest 4.00 ms, the first one 7.00 ms; CPU 9.00 ms)",
          "measured four times");
}

static void test_verified(struct record *r)
{
    tells(r, "\nverified",
          "\nverified      ok: 4 arrays against the unsharded computation in float64, 12 ops,\n"
          "              each checked on its own inputs; largest error 0.5 of its bound\n"
          "              (loss[2,1]); 10 elements have no bound",
          "verified");
    r->beside_unsharded = true;
    must(record_train(r, 2, NULL) == SHD_OK);
    tells(r, "\nverified",
          "\nverified      ok: 4 arrays against the unsharded computation in float64, after\n"
          "              the first of 2 steps and after the last, 12 ops, each checked on\n"
          "              its own inputs; largest error 0.5 of its bound (loss[2,1]); after\n"
          "              the last step loss is off by 4.0e-03 of its largest element; 100\n"
          "              elements have no bound after the first step, 10 after the last;\n"
          "              loss is off by 4.0e-03 of its largest element, the unsharded step\n"
          "              in the same types by 3.0e-03",
          "verified, of several steps in 16 bits");
}

/* An array that is wrong, one whose error exceeds the tolerance, and the first wrong step. */
static void test_wrong(struct record *r)
{
    r->checks[0] = (struct record_check){.kind = PROGRAM_OUTPUT,
                                         .name = "y",
                                         .error = 4,
                                         .device = 1,
                                         .at = 13,
                                         .got = 1.5,
                                         .want = 1.25,
                                         .allowed = 0.0625};
    r->checks[3].relative = 0.5;
    r->tolerance = 0.01;
    r->step = (struct record_check){
        .error = 2, .device = 1, .at = 5, .got = 3, .want = 2, .allowed = 0.5};
    tells(r, "\n  wrong",
          "\n  wrong       result y[3,1] on device 1 is 1.5, not 1.25 within 6.2e-02: off by 4 of "
          "it\n"
          "  wrong       next w[0,0]: error 5.0e-01, tolerance 1e-02\n"
          "  first wrong fill for layers/0/y: y[1,1] of the shard on device 1 is 3, not 2 within "
          "5.0e-01: off by 2 of it",
          "wrong: which, where, and by how much");
    r->step.error = 0;
    r->tolerance = 0;
    set_checks(r);
    r->checks[1].nan = 1;
    tells(r, "\n  not finite",
          "\n  not finite  loss has elements that are infinite or not a number, also in the\n"
          "              unsharded step: the layout is not the reason; a lower optimizer.lr\n"
          "              or loss_scale may keep them finite",
          "not finite: one");
    r->checks[3].infinite = 3;
    tells(r, "\n  not finite",
          "\n  not finite  loss and 1 other array have elements that are infinite or not a\n"
          "              number, also in the unsharded step: the layout is not the reason;\n"
          "              a lower optimizer.lr or loss_scale may keep them finite",
          "not finite: two");
    ok(!record_verified_ok(r), "not finite: a loss and a state are no result to go on from");
    set_checks(r);
    r->checks[0].nan = 2;
    tells(r, "\n  not finite",
          "\n  not finite  result y has elements that are infinite or NaN, exactly as in the\n"
          "              unsharded step",
          "not finite: an output");
    ok(record_verified_ok(r), "not finite: an output is right where the unsharded one has none");
}

static void test_training(struct record *r)
{
    static const double losses[] = {3, 1, 2}, norms[] = {0.5, 0.25, 0.125};

    must(record_train(r, 3, NULL) == SHD_OK);
    memcpy(r->training.losses, losses, sizeof losses);
    memcpy(r->training.grad_norms, norms, sizeof norms);
    tells(r, "\nloss",
          "\nloss          3.0000 -> 2.0000 over 3 steps, the least 1.0000; norm of all\n"
          "              gradients 0.5 -> 0.125",
          "trained for three steps");
    r->training.nsteps = 1;
    tells(r, "\nloss", "\nloss          3.0000; norm of all gradients 0.5", "trained for one");
}

int main(void)
{
    struct shd_mesh *mesh;
    struct program *program;
    struct record *r;

    plan(0);
    program = new_program(&mesh);
    must(record_create(&r, program, RECORD_EXECUTED, false, NULL) == SHD_OK);
    set_checks(r);
    test_measured(r);
    test_verified(r);
    test_wrong(r);
    test_training(r);
    record_destroy(r);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    return done();
}
