/* Tests model/rotation.h against inverse frequencies of transformers 5.24 (ROPE_INIT_FUNCTIONS on a
 * LlamaConfig with heads of 16), which computes in float32; where llama3's factors are equal by its
 * formula.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "model/rotation.h"

#define PAIRS_MAX 8

static const struct {
    const char *what;
    struct scenario_rope rope;
    int64_t seq;
    double factor, frequencies[PAIRS_MAX]; /* up to a 0 */
} cases[] = {
    {"linear, of half a head",
     {.theta = 10000, .part = 0.5, .scaling = {.kind = SCENARIO_ROPE_LINEAR, .factor = 4}},
     32,
     1,
     {0.25, 0.0250000004, 0.00249999994, 0.000250000012}},
    {"dynamic, in short sequences",
     {.theta = 10000, .scaling = {.kind = SCENARIO_ROPE_DYNAMIC, .factor = 4, .original = 64}},
     32,
     1,
     {1, 0.316227764, 0.100000001, 0.0316227786, 0.00999999978, 0.00316227786, 0.00100000005,
      0.000316227786}},
    {"dynamic, in long sequences",
     {.theta = 10000, .scaling = {.kind = SCENARIO_ROPE_DYNAMIC, .factor = 4, .original = 64}},
     128,
     1,
     {1, 0.251273751, 0.0631385073, 0.0158650484, 0.0039864704, 0.0010016954, 0.000251699792,
      6.32455485e-05}},
    {"llama3",
     {.theta = 500000,
      .scaling =
          {.kind = SCENARIO_ROPE_LLAMA3, .factor = 8, .original = 8192, .low = 1, .high = 4}},
     32,
     1,
     {1, 0.193922758, 0.0376060307, 0.00729266508, 0.000524846022, 3.42810235e-05, 6.64786967e-06,
      1.28917316e-06}},
    {"yarn, with scales",
     {.theta = 10000,
      .scaling = {.kind = SCENARIO_ROPE_YARN,
                  .factor = 40,
                  .original = 4096,
                  .beta_fast = 32,
                  .beta_slow = 1,
                  .mscale = 0.707,
                  .mscale_all = 1}},
     32,
     0.921042355,
     {1, 0.316227764, 0.100000001, 0.0239147246, 0.00512499968, 0.000849862176, 2.49999994e-05,
      7.90569447e-06}},
    {"yarn, with bounds that are not rounded",
     {.theta = 150000,
      .scaling = {.kind = SCENARIO_ROPE_YARN, .factor = 32, .original = 4096, .untruncated = true}},
     32,
     1.34657359,
     {1, 0.225418001, 0.0508132726, 0.00679495931, 0.000456483918, 1.8188337e-05, 4.09997847e-06,
      9.24208962e-07}},
#define LONGROPE                                                     \
    {                                                                \
        .theta = 10000, .scaling = {                                 \
            .kind = SCENARIO_ROPE_LONGROPE,                          \
            .factor = 32,                                            \
            .original = 64,                                          \
            .nfactors = 8,                                           \
            .short_factors = {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}, \
            .long_factors = {1, 2, 3, 4, 5, 6, 7, 8.5}               \
        }                                                            \
    }
    {"longrope, in short sequences",
     LONGROPE,
     64,
     1.3540064,
     {1, 0.287479758, 0.0833333358, 0.0243252143, 0.00714285718, 0.00210818532, 0.000624999986,
      0.000186016332}},
    {"longrope, in long sequences",
     LONGROPE,
     65,
     1.3540064,
     {1, 0.158113882, 0.0333333351, 0.00790569466, 0.00200000009, 0.00052704633, 0.000142857141,
      3.72032664e-05}},
    {"llama3, with equal factors, and a wave just as long as the step (vLLM: stretched)",
     {.theta = 500000,
      .scaling = {.kind = SCENARIO_ROPE_LLAMA3,
                  .factor = 8,
                  .original = 8,
                  .low = 1.2732395447351628, /* 8 / (2 pi) */
                  .high = 1.2732395447351628}},
     32,
     1,
     {0.125, 0.0242403448, 0.00470075384, 0.000911583135, 0.000176776695, 3.42810235e-05,
      6.64786967e-06, 1.28917316e-06}},
};

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * want;
}

static void test_frequencies(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct graph *g = graph_create();
        const struct kern_rotation *r =
            g ? rotation_add(g, &cases[i].rope, 16, cases[i].seq, false) : NULL;
        bool good = r && near(r->factor, cases[i].factor) && r->npairs <= PAIRS_MAX;

        for (int64_t k = 0; good && k < r->npairs; k++)
            good = near(r->frequencies[k], cases[i].frequencies[k]);
        ok(good, "%s", cases[i].what);
        graph_destroy(g);
    }
}

/* Layers with a window may have a theta of their own, which is not scaled. */
static void test_local(void)
{
    struct scenario_rope rope = cases[3].rope;
    struct graph *g = graph_create();
    const struct kern_rotation *r;

    rope.local_theta = 100;
    r = g ? rotation_add(g, &rope, 4, 32, true) : NULL;
    ok(r && r->npairs == 2 && r->frequencies[0] == 1 && near(r->frequencies[1], 0.1) &&
           r->theta == 100,
       "a theta of layers with a window");
    graph_destroy(g);
    ok(near(rotation_score_factor(&cases[4].rope), 1.873854207), /* (0.1 ln 40 + 1)^2 */
       "yarn's factor of compressed attention's scores");
    ok(rotation_score_factor(&cases[5].rope) == 1, "none is given");
}

int main(void)
{
    plan(0);
    test_frequencies();
    test_local();
    return done();
}
