/* variant.h - a scenario with changed settings, read and planned like a file.  Its outcome: refused,
 * too big for a device's memory, or it fits.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_VARIANT_H
#define TRIAL_VARIANT_H

#include "base/text.h"
#include "trial/trial.h"

enum variant_outcome { VARIANT_REFUSED, VARIANT_TOO_BIG, VARIANT_FITS };

/* How far to go. */
enum variant_extent {
    VARIANT_PLANNED, /* the program is planned: trial_plan() */
    VARIANT_BUILT,   /* the program is built: trial_init() */
    VARIANT_LAID,    /* the graph is sharded: trial_lay() */
    VARIANT_READ     /* the scenario is read */
};

#define VARIANT_SETS_MAX 32 /* mesh axes, and equally many other settings */

struct variant_ask {
    const char *name;                   /* of the text, in messages: "<layout>" */
    const struct text *text;            /* the scenario; its first strategy is taken */
    struct text sets[VARIANT_SETS_MAX]; /* settings, as of --set */
    size_t nsets;
    enum variant_extent extent;
    bool executes; /* the program may be executed; else it is only planned */
    bool margin;   /* a part of a device's memory is kept free (hardware/margin.h) */
};

struct variant {
    struct scenario_file *file; /* NULL: the scenario itself was refused */
    struct trial trial;         /* as far as `extent` says; zeros if the variant was refused */
    int status;                 /* of trial_init(); SHD_OK: the variant was not refused */
    struct diag errors; /* why it was refused, with places in the text and in the settings */
    enum variant_outcome outcome;  /* of a planned variant, or VARIANT_REFUSED; ... */
    double need_bytes, room_bytes; /* ... of trial_need_bytes() and trial_room_bytes() */
};

/* Begin another setting: the caller adds "KEY=VALUE" to the text. */
struct text *variant_set(struct variant_ask *ask);

/* Free the settings, which variant_init() and variant_need() do, too. */
void variant_forget(struct variant_ask *ask);

/* Make a variant; a refusal is no failure.  On SHD_OK free the variant with variant_fini(); on
 * failure (SHD_ENOMEM, errors of trial_plan()) there is nothing to free. */
SHD_MUST_CHECK int variant_init(struct variant *out, struct variant_ask *ask,
                                struct shd_error *err);

/* Like variant_init(), but a refusal is a failure: its first message goes to `err`, without place. */
SHD_MUST_CHECK int variant_need(struct variant *out, struct variant_ask *ask,
                                struct shd_error *err);

/* Plan a variant of extent VARIANT_BUILT; the caller may have changed its cluster before.
 * Errors as trial_plan(). */
SHD_MUST_CHECK int variant_plan(struct variant *variant, bool margin, struct shd_error *err);

/* Zeros are allowed. */
void variant_fini(struct variant *variant);

#endif /* TRIAL_VARIANT_H */
