/* How far to trust modelled steps (trust.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/trust.h"

#include <inttypes.h>

#include "base/wrap.h"
#include "cost/kernel_trust.h"
#include "hardware/hardware.h"
#include "hardware/traits.h"

#define NOTABLE 0.005 /* a share that is told */

/* ---- a step ---- */

struct trust modelled_trust(const struct record *record)
{
    struct trust trust;

    trust_of(&trust, record->program, record->modelled->hardware);
    return trust;
}

/* The times of an unmeasured cluster are assumptions of its file.  A measured cluster with the same
 * devices tells how far assumptions may be from real software. */
static void print_unmeasured(struct text *out, const struct record *record)
{
    const char *measured = hardware_measured_like(record->modelled->hardware, &out->failed);

    if (program_serves(record->program))
        text_add(out, "  trust       not validated: no measured serving steps on this cluster\n");
    else if (measured)
        text_addf(out, "  trust       not validated; measured steps of this GPU: %s\n", measured);
    else
        text_add(out, "  trust       not validated: no measured steps of this cluster\n");
}

static void print_extrapolated(struct text *out, const struct trust *trust)
{
    struct text sentence = TEXT_INIT;

    text_add(&sentence, "extrapolated: ");
    trust_print_beyond(&sentence, trust->beyond);
    text_add(&sentence, "; accuracy unknown");
    text_add(out, "  trust       ");
    wrap_join(out, 80, 14, 14, &sentence);
}

/* ---- its kernels ---- */

/* A part's share of the time and its errors: "matmuls 62 %: 3.8 % (15 %)"; the first part says
 * which is what. */
static void print_kernels_part(struct text *out, int kind, const struct kernel_trust_part *part)
{
    bool first = out->length == 0;

    text_addf(out, "%s %.0f %%%s: %.1f %%%s (%s%.0f %%)",
              kind == KERNEL_TRUST_PRODUCTS ? "matmuls" : kernel_trust_names[kind],
              100 * part->share, first ? " of the time" : "", 100 * part->median,
              first ? " error, as for similar measured kernels" : "",
              first ? "nine of ten within " : "", 100 * part->p90);
    if (part->beyond > NOTABLE)
        text_addf(out, ", but %.0f %% of it is at sizes not measured", 100 * part->beyond);
    text_add(out, "; ");
}

static void print_kernels(struct text *out, const struct record *record)
{
    struct text sentence = TEXT_INIT;
    struct kernel_trust trust;
    struct shd_error err;

    if (kernel_trust_of(&trust, record->program, record->modelled->hardware, &err) != SHD_OK) {
        out->failed = true;
        return;
    }
    if (!trust.measured)
        return;
    for (int k = 0; k < KERNEL_TRUST_NKINDS; k++)
        if (trust.parts[k].share > NOTABLE)
            print_kernels_part(&sentence, k, &trust.parts[k]);
    text_addf(&sentence, "host and unmeasured kernels %.0f %%", 100 * trust.rest);
    text_add(out, "  kernels     ");
    wrap_join(out, 80, 14, 14, &sentence);
}

static void write_kernels(struct json_out *out, const struct record *record)
{
    struct kernel_trust trust;
    struct shd_error err;

    if (kernel_trust_of(&trust, record->program, record->modelled->hardware, &err) != SHD_OK) {
        out->text->failed = true;
        return;
    }
    if (!trust.measured)
        return;
    json_out_key_object(out, "kernels");
    for (int k = 0; k < KERNEL_TRUST_NKINDS; k++) {
        const struct kernel_trust_part *part = &trust.parts[k];

        if (part->share <= 0)
            continue;
        json_out_key_flat_object(out, kernel_trust_names[k]);
        json_out_key_double(out, "share", part->share);
        json_out_key_double(out, "median_error", part->median);
        json_out_key_double(out, "p90_error", part->p90);
        json_out_key_double(out, "extrapolated_share", part->beyond);
        json_out_end_object(out);
    }
    json_out_key_double(out, "unmeasured_share", trust.rest);
    json_out_end_object(out);
}

void trust_text(struct text *out, const struct record *record)
{
    struct trust trust = modelled_trust(record);

    if (!trust.set) {
        print_unmeasured(out, record);
    } else if (trust.claim >= 0) {
        text_addf(out,
                  "  trust       expected error at most %.1f %%, in nine of ten cases: %" PRId64
                  " similar\n"
                  "              measured steps of '%s', cross-validated\n",
                  100 * trust.claim, trust.rows, trust.set->set);
    } else if (trust.beyond == 0) {
        text_addf(out,
                  "  trust       accuracy unknown: only %" PRId64
                  " similar measured step%s of '%s', %.1f %% error\n",
                  trust.set->rows, trust.set->rows == 1 ? "" : "s", trust.set->set,
                  100 * trust.set->mape);
    } else {
        print_extrapolated(out, &trust);
    }
    print_kernels(out, record);
}

static void write_beyond(struct json_out *out, uint32_t beyond)
{
    json_out_key_array(out, "extrapolated_in");
    for (int t = 0; t < TRAIT_NTRAITS; t++)
        if (beyond >> t & 1)
            json_out_string(out, hardware_traits[t].text);
    json_out_end_array(out);
}

void trust_json(struct json_out *out, const struct record *record)
{
    struct trust trust = modelled_trust(record);

    json_out_key_bool(out, "extrapolated", trust.claim < 0);
    write_beyond(out, trust.beyond);
    write_kernels(out, record);
}

/* ---- several steps ---- */

void trust_text_of_all(struct text *out, const struct trust_of_all *trust)
{
    text_add(out, "Against measured steps: ");
    if (!trust->measured) {
        text_add(out, "not validated: no measured serving steps on this cluster.");
    } else if (trust->claim >= 0) {
        text_addf(out,
                  "expected error of steps at most %.1f %%, in nine of ten cases: at least %" PRId64
                  " similar measured steps for each, cross-validated.",
                  100 * trust->claim, trust->rows);
    } else if (trust->beyond == 0) {
        text_addf(out, "accuracy unknown: some have only %" PRId64 " similar measured steps.",
                  trust->rows);
    } else {
        text_add(out, "extrapolated in ");
        trust_print_beyond(out, trust->beyond);
        text_add(out, "; accuracy unknown.");
    }
}

void trust_json_of_all(struct json_out *out, const struct trust_of_all *trust)
{
    json_out_key(out, "expected_error");
    if (trust->claim >= 0)
        json_out_double(out, trust->claim);
    else
        json_out_null(out);
    json_out_key_bool(out, "validated", trust->measured);
    json_out_key_bool(out, "extrapolated", trust->claim < 0);
    write_beyond(out, trust->beyond);
}
