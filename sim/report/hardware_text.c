/* The figures of clusters in words (hardware_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/hardware_text.h"

#include <inttypes.h>
#include <math.h>

#include "base/escape.h"
#include "base/units.h"
#include "base/wrap.h"
#include "hardware/traits.h"

static void add_flops(struct text *out, double flops_per_s)
{
    text_addf(out, "%.4g TFLOP/s", flops_per_s / 1e12);
}

static void add_bytes(struct text *out, double bytes)
{
    text_add(out, units_print_bytes((uint128)(bytes + 0.5)).text);
}

static void add_rate(struct text *out, double bytes_per_s)
{
    text_add(out, units_print_rate(bytes_per_s).text);
}

static void add_seconds(struct text *out, double seconds)
{
    text_add(out, units_print_seconds(seconds).text);
}

static void add_line(struct text *out, size_t width, struct text *line)
{
    escape_from(line, 0);
    wrap_join(out, width, 0, 4, line);
}

void hardware_row(const struct hardware *h, struct text *out, size_t width)
{
    struct text line = TEXT_INIT;

    text_addf(&line, "%s: ", h->name);
    add_flops(&line, hardware_flops_per_s(h, SHD_BF16));
    text_add(&line, " bfloat16, ");
    add_bytes(&line, h->memory_bytes);
    text_add(&line, " at ");
    add_rate(&line, h->memory_bytes_per_s);
    for (int t = 0; t < h->ntiers; t++) {
        text_addf(&line, ", %s ", h->tiers[t].name);
        add_rate(&line, h->tiers[t].bytes_per_s);
    }
    add_line(out, width, &line);
}

/* From which number of operations on a byte of memory on the units are what bounds, and what that
 * is for a product with a matrix of weights: each weight is used twice for each row of the batch.
 */
static void add_compute(const struct hardware *h, struct text *out, size_t width)
{
    struct text line = TEXT_INIT;

    for (int d = 0; d < SHD_NDTYPES; d++) {
        double flops = h->flops_per_s[d], intensity = flops / h->memory_bytes_per_s;

        if (flops <= 0)
            continue;
        text_addf(&line, "%s: ", shd_dtype_name((enum shd_dtype)d));
        add_flops(&line, flops);
        text_addf(&line, "; memory-bound below %.4g operations/byte", intensity);
        text_addf(&line, " (weights: below %.4g rows",
                  intensity * (double)shd_dtype_size((enum shd_dtype)d) / 2);
        if (shd_dtype_size((enum shd_dtype)d) == 2)
            text_addf(&line, "; of a byte each %.4g", intensity / 2);
        text_add(&line, ")");
        add_line(out, width, &line);
    }
}

static void add_tier(const struct hardware *h, const struct hardware_tier *tier, struct text *t)
{
    double ways = tier->torus ? 2 : 1;

    text_addf(t, "%s: ", tier->name);
    add_rate(t, tier->bytes_per_s);
    if (tier->torus) {
        text_add(t, " a link one way, torus of ");
        for (int d = 0; d < tier->ndims; d++)
            text_addf(t, "%s%" PRId64, d ? " x " : "", tier->dims[d]);
        if (tier->wrap_multiple > 0)
            text_addf(t, " (axes that are a multiple of %" PRId64 " are rings)",
                      tier->wrap_multiple);
    } else if (tier->devices > 0) {
        text_addf(t, " into a device, %" PRId64 " devices", tier->devices);
    } else {
        text_add(t, " into a device, between all");
    }
    text_addf(t, "; efficiency %.3g, latency ", tier->efficiency);
    add_seconds(t, tier->latency_s);
    text_addf(t, ", %s ", tier->torus ? "hop" : "step");
    add_seconds(t, tier->step_s);
    text_addf(t, "; %.4g bfloat16 operations per byte%s",
              hardware_flops_per_s(h, SHD_BF16) / (ways * tier->bytes_per_s),
              tier->torus ? " by a ring, both ways" : "");
}

static void add_kernels(const struct hardware *h, struct text *t)
{
    const struct hardware_kernels *k = &h->kernels;

    text_add(t, "kernels: launch ");
    add_seconds(t, k->launch_s);
    text_addf(t, "; efficiency: matmuls %.3g, attention %.3g, its gradient %.3g, memory %.3g",
              k->matmul_efficiency, k->attention_efficiency, k->attention_backward_efficiency,
              k->memory_efficiency);
    if (k->units && k->tile_m && k->tile_n)
        text_addf(t, "; %" PRId64 " units with tiles of %" PRId64 " x %" PRId64, k->units,
                  k->tile_m, k->tile_n);
    for (size_t i = 0; h->fitted[i]; i++)
        text_addf(t, "%s%s", i ? ", " : "; fitted: ", h->fitted[i]);
}

/* What serving does otherwise; nothing is written of a cluster whose file does not say. */
static void add_serving(const struct hardware_serving *s, struct text *t)
{
    const struct {
        const char *what;
        double seconds, share;
    } items[] = {{"launch", s->launch_s, 0},
                 {"the host's part of a step", s->step_s, 0},
                 {"products", 0, s->matmul_efficiency},
                 {"attention", 0, s->attention_efficiency},
                 {"the memory's rate", 0, s->memory_efficiency},
                 {"exchanges in one step", s->direct_s, 0}};
    const char *between = "serving: ";

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (items[i].seconds <= 0 && items[i].share <= 0)
            continue;
        text_addf(t, "%s%s ", between, items[i].what);
        if (items[i].share > 0)
            text_addf(t, "%.3g", items[i].share);
        else
            add_seconds(t, items[i].seconds);
        between = ", ";
    }
    if (s->attention_half_queries > 0)
        text_addf(t, "%shalf of attention's rate at %.3g queries", between,
                  s->attention_half_queries);
}

static void add_validation(const struct hardware_validation *v, struct text *t)
{
    text_addf(t,
              "validated: %s, %" PRId64
              " rows: step times within %.1f %% (%.1f %% cross-validated), models of %.3g to %.3g "
              "parameters on %" PRId64 " to %" PRId64 " devices",
              v->set, v->rows, 100 * v->mape, 100 * v->cross_validated_mape, v->parameters_least,
              v->parameters_most, v->devices_least, v->devices_most);
    text_addf(t, " and sequences of %" PRId64 " to %" PRId64, v->length_least, v->length_most);
    for (int k = 0; k < TRAIT_NFILE; k++)
        if (v->traits >> k & 1)
            text_addf(t, ", %s", hardware_traits[k].text);
    if (v->software)
        text_addf(t, "; %s", v->software);
    text_addf(t, "; nine of ten errors are within %.1f %%", 100 * v->claim);
}

/* A kind whose types are names: how many, and the least and the largest of their errors. */
static void add_named(const struct kernel_models *models, enum kernel_kind kind, struct text *t)
{
    double least = INFINITY, most = 0;
    int n = 0;

    for (size_t i = 0; i < models->n; i++) {
        const struct kernel_model *m = &models->items[i];

        if (m->kernel != kind)
            continue;
        least = fmin(least, m->error.median);
        most = fmax(most, m->error.median);
        n++;
    }
    if (n > 0)
        text_addf(t, ", %s (%d) %.1f to %.1f %%", kernel_kinds[kind], n, 100 * least, 100 * most);
}

/* The models of measured kernels, with the median of their errors. */
static void add_models(const struct kernel_models *models, struct text *t)
{
    const char *between = "measured kernels, median error on held-out shapes: ";

    for (size_t i = 0; models && i < models->n; i++) {
        const struct kernel_model *m = &models->items[i];

        if (*m->name)
            continue;
        text_addf(t, "%s%s", between, kernel_kinds[m->kernel]);
        if (m->type != KERNEL_ANY_TYPE)
            text_addf(t, " %s", kernel_types[m->type]);
        text_addf(t, " %.1f %%", 100 * m->error.median);
        between = ", ";
    }
    for (int k = KERNEL_FIRST_NAMED; models && k < KERNEL_NKERNELS; k++)
        add_named(models, (enum kernel_kind)k, t);
    if (models && models->no_slower_than)
        text_addf(t, "; no kernel is slower than by the models of %s", models->no_slower_name);
}

void hardware_figures(const struct hardware *h, struct text *out, size_t width)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s: %s", h->name, h->source);
    add_line(out, width, &t);
    add_compute(h, out, width);
    text_add(&t, "memory: ");
    add_bytes(&t, h->memory_bytes);
    text_add(&t, " at ");
    add_rate(&t, h->memory_bytes_per_s);
    text_add(&t, ", of which the runtime uses ");
    add_bytes(&t, h->reserved_bytes);
    text_addf(&t, " and %.3g of the memory in use", h->fragmentation);
    add_line(out, width, &t);
    add_kernels(h, &t);
    add_line(out, width, &t);
    for (int i = 0; i < h->ntiers; i++) {
        add_tier(h, &h->tiers[i], &t);
        add_line(out, width, &t);
    }
    add_serving(&h->serving, &t);
    if (t.length > 0)
        add_line(out, width, &t);
    add_models(h->models, &t);
    if (t.length > 0)
        add_line(out, width, &t);
    for (int i = 0; i < h->nvalidations; i++) {
        add_validation(&h->validations[i], &t);
        add_line(out, width, &t);
    }
    if (h->nvalidations == 0)
        text_add(out, "not validated against published step times\n");
}
