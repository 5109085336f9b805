/* Tests a scenario with other settings, planned (trial/variant.h): refused by the reader or by its
 * shardings, too big by a byte, or fitting; and the search for the largest value that fits
 * (trial/largest.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/variant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/margin.h"
#include "../support/tap.h"
#include "trial/largest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- variants ---- */

static const char small[] = "version: 1\nmesh: {dp: 2, tp: 2}\nhardware: h100-sxm\n"
                            "model: {kind: mlp, d_model: 64, d_ff: 256, layers: 2}\n"
                            "batch: {size: 8, seq: 8}\nstep: [forward, backward]\n"
                            "params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]\n"
                            "axes: {batch: dp}\n";

static struct text base = TEXT_INIT;

static struct variant_ask ask_for(const char *set)
{
    struct variant_ask ask = {.name = "<test>", .text = &base};

    if (set)
        text_add(variant_set(&ask), set);
    return ask;
}

/* The variant with one more setting (NULL: none). */
static struct variant with(const char *set, enum variant_extent extent)
{
    struct variant_ask ask = ask_for(set);
    struct variant v = {.file = NULL};
    struct shd_error err = {.text = ""};

    ask.extent = extent;
    ok(variant_init(&v, &ask, &err) == SHD_OK, "%s: no failure", set ? set : "as it is");
    return v;
}

static void test_refused(void)
{
    static const struct {
        const char *set;
        int status;
        bool read; /* the reader takes the scenario */
        const char *message;
    } cases[] = {
        {"model.layers=0", SHD_EINVAL, false, "layers"},
        {"no.such=1", SHD_EINVAL, false, "no.such"},
        {"params=[[up/kernel, [nowhere]], [.*, []]]", SHD_EINVAL, false, "nowhere"},
        {"mesh.tp=3", SHD_EINDIVISIBLE, true, "256"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct variant v = with(cases[i].set, VARIANT_PLANNED);
        struct variant_ask ask = ask_for(cases[i].set);
        struct shd_error err = {.text = ""};

        ok(v.outcome == VARIANT_REFUSED && v.status == cases[i].status, "%s: refused: %d",
           cases[i].set, v.status);
        ok((v.file != NULL) == cases[i].read && !v.trial.program, "%s: as far as it came",
           cases[i].set);
        ok(strstr(diag_first(&v.errors, ""), cases[i].message) != NULL, "%s: why: %s", cases[i].set,
           diag_first(&v.errors, ""));
        variant_fini(&v);
        ok(variant_need(&v, &ask, &err) == cases[i].status && strstr(err.text, cases[i].message),
           "%s: an error where the variant is needed", cases[i].set);
    }
}

/* A limit of the peak itself fits, one byte less does not, and the difference is told. */
static void test_limit(void)
{
    struct variant whole = with(NULL, VARIANT_PLANNED), v;
    uint64_t peak = (uint64_t)program_peak_bytes(whole.trial.program);
    const struct hardware *h = whole.trial.hardware;
    char set[64];

    ok(whole.outcome == VARIANT_FITS && whole.room_bytes == h->memory_bytes &&
           whole.need_bytes == (double)peak + h->reserved_bytes,
       "without a limit: the device's memory, and what the runtime keeps of it");
    for (int less = 0; less < 2; less++) {
        snprintf(set, sizeof set, "limits.memory=%" PRIu64, peak - (uint64_t)less);
        v = with(set, VARIANT_PLANNED);
        ok(v.outcome == (less ? VARIANT_TOO_BIG : VARIANT_FITS) &&
               v.need_bytes - v.room_bytes == less,
           "a limit of %d bytes less than the peak", less);
        variant_fini(&v);
    }
    variant_fini(&whole);
}

/* What a device has decides where there is no limit, with a margin if that is kept free. */
static void test_margin(void)
{
    for (int margin = 0; margin < 2; margin++) {
        struct variant_ask ask = ask_for("batch={size: 43000, seq: 1024}");
        struct variant v;

        ask.margin = margin != 0;
        if (variant_init(&v, &ask, NULL) != SHD_OK)
            exit(99);
        ok(v.outcome == (margin ? VARIANT_TOO_BIG : VARIANT_FITS), "%s margin: %s",
           margin ? "with a" : "without", margin ? "too big" : "fits");
        ok(v.room_bytes ==
               (margin ? hardware_room(v.trial.hardware) : v.trial.hardware->memory_bytes),
           "and what there is");
        variant_fini(&v);
    }
}

static void test_extent(void)
{
    struct variant read = with(NULL, VARIANT_READ), laid = with(NULL, VARIANT_LAID),
                   built = with(NULL, VARIANT_BUILT);

    ok(read.file && !read.trial.mesh, "read: no mesh yet");
    ok(laid.trial.graph && !laid.trial.program, "laid out: no program yet");
    ok(built.trial.program && !built.trial.record, "built: no record yet");
    ok(variant_plan(&built, false, NULL) == SHD_OK && built.trial.record &&
           built.outcome == VARIANT_FITS,
       "and planned behind that");
    ok(built.trial.scenario->planned, "nothing of it will be executed");
    variant_fini(&read);
    variant_fini(&laid);
    variant_fini(&built);
}

/* ---- the largest value ---- */

/* Look for `largest` among the values up to `most` from a value that is known, if it is not 0. */
static void look(const char *what, struct largest l, int64_t known, int64_t largest, int tries,
                 bool refused)
{
    int64_t value = known;
    int n = 0;

    if (known > 0)
        largest_tell(&l, known, (double)(known - largest) - 0.5);
    for (; (value = largest_next(&l)) > 0 && n < 1000; n++)
        largest_tell(&l, value,
                     refused && value > largest ? INFINITY : (double)(value - largest) - 0.5);
    ok(l.fits == (largest < l.most ? largest : l.most) && largest_is_exact(&l),
       "%s: %" PRId64 " of %" PRId64, what, l.fits, largest);
    ok(n <= tries, "%s: in %d tries, at most %d", what, n, tries);
}

static void test_largest(void)
{
    struct largest l = {.most = 1 << 20, .tries = 60};
    int64_t seen[8] = {0};

    for (int straight = 0; straight < 2; straight++) {
        l.straight = straight;
        look("the least alone", l, 0, 1, 2 + straight, false);
        look("none", l, 0, 0, 1, false);
        look("some", l, 0, 1000, straight ? 4 : 11 + 9, false);
        look("all", l, 0, 1 << 20, straight ? 4 : 22, false);
        look("more than all", l, 0, 1 << 21, straight ? 4 : 22, false);
        look("from a value that fits", l, 700, 1000, straight ? 4 : 12, false);
        look("from a value that does not fit", l, 5000, 1000, straight ? 4 : 14, false);
        look("from a value that does not fit fit, to 0", l, 5000, 0, straight ? 4 : 14, false);
        look("too large values are refused", l, 700, 1000, 40, true);
    }
    l = (struct largest){.most = 100, .tries = 60};
    for (int i = 0; i < 8 && (seen[i] = largest_next(&l)) > 0; i++)
        largest_tell(&l, seen[i], (double)seen[i] - 20.5);
    ok(!memcmp(seen, (int64_t[]){1, 2, 4, 8, 16, 32, 24, 20}, sizeof seen),
       "doubled while it fits, then halved");
    l = (struct largest){.most = 100, .tries = 5};
    largest_tell(&l, 16, 0);
    largest_tell(&l, 32, 1);
    for (int n = 0; n < 3; n++)
        largest_tell(&l, largest_next(&l), 1);
    ok(largest_next(&l) == 0 && !largest_is_exact(&l) && l.fails == 18,
       "no more tries than were asked for");
    l = (struct largest){.most = 0, .fits = 4, .fails = 8};
    largest_tell(&l, 16, -1);
    ok(l.fits == 16 && l.fails == 0, "a fitting value above a failed value replaces both");
}

int main(void)
{
    plan(0);
    text_add(&base, small);
    test_refused();
    test_limit();
    test_margin();
    test_extent();
    test_largest();
    text_fini(&base);
    return done();
}
