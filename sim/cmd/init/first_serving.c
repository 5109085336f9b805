/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/init/first_serving.h"

#include <inttypes.h>
#include <math.h>

#include "base/nearest.h"
#include "cmd/init/first_text.h"
#include "hardware/hardware.h"
#include "scenario/published_types.h"
#include "servers/serving.h"
#include "trial/largest.h"

#define NODE 8             /* devices of most nodes: tensor parallelism is no wider */
#define MEMORY 0.9         /* of a device, that servers take by default */
#define SEQUENCES_MOST 256 /* of a replica: more than servers take by default on small devices */

struct tried {
    int64_t tp, batch;
    struct first_figures figures;
};

/* The model to serve, with the types in which it was published. */
struct served_model {
    struct scenario_model sizes;
    struct text products;  /* options of that section; empty: none */
    const char *otherwise; /* what of the types is planned in another way; NULL: nothing */
    bool predicts;         /* the config has modules for further tokens */
};

/* Whether heads, and experts or their widths, divide. */
static bool divides(const struct scenario_model *m, int64_t devices, int64_t tp)
{
    int64_t heads = m->kv_heads > 0 ? m->kv_heads : m->heads;

    return devices % tp == 0 && m->heads % tp == 0 && (heads % tp == 0 || tp % heads == 0) &&
           m->d_ff % tp == 0;
}

static bool deals_experts(const struct scenario_model *m, int64_t devices)
{
    return m->moe.experts > 0 && m->moe.experts % devices == 0;
}

/* The layout as a server has it: replicas of experts that do not divide are copies. */
static struct serving layout_of(const struct scenario_model *m, int64_t devices, int64_t tp)
{
    bool dealt = deals_experts(m, devices);

    return (struct serving){.copies = dealt ? 1 : devices / tp,
                            .devices = dealt ? devices : tp,
                            .parts = dealt ? devices / tp : 1,
                            .cache_parts = 1,
                            .experts = dealt ? devices : 1,
                            .dense = SERVING_INSIDE,
                            .shared = SERVING_INSIDE,
                            .model = *m};
}

static void write_why(struct text *out, const struct first_asked *asked,
                      const struct scenario_model *m, int64_t tp, int64_t batch)
{
    if (tp > 1)
        text_addf(out, "# Heads and widths are sharded over %" PRId64 " devices, inside a node.\n",
                  tp);
    if (deals_experts(m, asked->devices))
        text_add(out, "# Experts are sharded over all devices.\n");
    if (asked->devices > tp)
        text_addf(out, "# The batch is sharded over %" PRId64 " replicas.\n", asked->devices / tp);
    text_addf(out,
              "# One decode step: a new token for each of %" PRId64 " sequences%s.\n"
              "# batch.seq: the context length, the tokens in the KV cache.\n",
              batch,
              asked->batch > 0 ? ""
                               : ",\n"
                                 "# the most whose KV cache fits");
}

static void write_types(struct text *out, const struct served_model *m)
{
    if (m->products.length > 0)
        text_add(out, "# products: the published types of the weights.\n");
    if (m->otherwise)
        text_addf(out, "# Differs from the published types: %s.\n", m->otherwise);
    if (m->predicts)
        text_add(out,
                 "# Multi-token prediction modules (MTP) are omitted: serving steps have none.\n");
}

static void write_scenario(struct text *out, const struct first_asked *asked,
                           const struct served_model *m, int64_t tp, int64_t batch,
                           struct diag *diag)
{
    struct serving v = layout_of(&m->sizes, asked->devices, tp);
    struct import_job job;

    import_job_init(&job);
    job.size = asked->from ? asked->from : asked->model;
    v.from_config = asked->from != NULL;
    v.products = text_get(&m->products);
    v.memory = MEMORY;
    job.batch = batch;
    job.seq = asked->seq;
    job.end = (struct place){asked->file, 1, 1};
    serving_print(&job, &v, diag);
    first_write_head(out, asked);
    write_why(out, asked, &m->sizes, tp, batch);
    write_types(out, m);
    text_add(out, text_get(&job.scenario));
    out->failed |= job.scenario.failed;
    import_job_fini(&job);
}

/* Plan a layout.  A layout that is refused has infinite bytes; SHD_ENOMEM. */
static int plan(struct first_figures *out, const struct first_asked *asked,
                const struct served_model *m, int64_t tp, int64_t batch)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = asked->file, .text = &text};
    struct diag diag = DIAG_INIT;
    int status = SHD_OK;

    write_scenario(&text, asked, m, tp, batch, &diag);
    *out = (struct first_figures){.bytes = INFINITY};
    if (diag.no_memory)
        status = SHD_ENOMEM;
    else if (diag.nerrors == 0)
        status = first_plan(out, asked, &ask, NULL);
    diag_fini(&diag);
    text_fini(&text);
    return status;
}

/* The most sequences that fit, twice as many at a time, from one a replica; the least if none
 * does. */
static int fill(struct tried *t, const struct first_asked *asked, const struct served_model *m)
{
    int64_t replicas = asked->devices / t->tp;
    struct largest l = {.most = SEQUENCES_MOST, .tries = SEQUENCES_MOST};
    int status = SHD_OK;

    t->batch = asked->batch > 0 ? asked->batch : replicas;
    t->figures.bytes = INFINITY;
    if (asked->batch > 0)
        return asked->batch % replicas ? SHD_OK : plan(&t->figures, asked, m, t->tp, t->batch);
    for (int64_t n; status == SHD_OK && l.fails == 0 && (n = largest_next(&l)) > 0;) {
        struct first_figures figures;

        status = plan(&figures, asked, m, t->tp, n * replicas);
        largest_tell(&l, n, figures.bytes - figures.limit_bytes);
        if (n == 1 || l.fits == n) {
            t->batch = n * replicas;
            t->figures = figures;
        }
    }
    return status;
}

/* Whether a layout is better: it fits, or makes more tokens a second. */
static bool is_better(const struct tried *t, const struct tried *than)
{
    if (first_fits(&t->figures) != first_fits(&than->figures))
        return first_fits(&t->figures);
    if (!first_fits(&t->figures))
        return t->figures.bytes < than->figures.bytes;
    return (double)t->batch / t->figures.step_s > (double)than->batch / than->figures.step_s;
}

/* Read the sizes and types of the model that is asked for. */
static int read_model(struct served_model *out, const struct first_asked *asked, struct diag *diag)
{
    struct scenario_model named = {.from = (char *)asked->from}, trained = {.mtp = 0};
    struct nearest nearest;
    size_t n;
    int status = first_read(&trained, asked, "forward", diag);

    nearest_init(&nearest, asked->model);
    if (!asked->from && scenario_find_model(&n, asked->model, &nearest))
        named.size = (int64_t)n + 1;
    if (status == SHD_OK)
        status = first_read(&out->sizes, asked, "decode", diag);
    out->predicts = trained.mtp > 0;
    named.layers = out->sizes.layers;
    if (status == SHD_OK)
        status = scenario_model_products(&out->products, &out->otherwise, &named, diag);
    return status;
}

/* On a cluster without a rate of 4 bits weights alone are of 4 bits, as in engines there. */
static int fit_types(struct served_model *m, const struct first_asked *asked, struct diag *diag)
{
    struct hardware *hardware;
    int status = hardware_find(&hardware, asked->hardware, NULL, (struct place){NULL, 0, 0}, diag);

    if (status != SHD_OK)
        return status;
    if (!(hardware->flops_per_s[SHD_F4E2M1] > 0) && published_types_alone(&m->products))
        m->otherwise = "the cluster has no rate of 4-bit matmuls: only weights are in 4 bits, "
                       "matmuls in model.dtype";
    hardware_destroy(hardware);
    return SHD_OK;
}

int first_serving_write(struct text *out, struct first_figures *need,
                        const struct first_asked *asked, struct diag *diag)
{
    struct tried best = {.figures = {.bytes = INFINITY}};
    struct served_model model = {.products = TEXT_INIT};
    struct variant_ask ask = {.name = asked->file, .text = out};
    int status = read_model(&model, asked, diag);

    if (status == SHD_OK)
        status = fit_types(&model, asked, diag);
    for (int64_t tp = 1; tp <= NODE && status == SHD_OK; tp *= 2) {
        struct tried t = {.tp = tp};

        if (!divides(&model.sizes, asked->devices, tp))
            continue;
        status = fill(&t, asked, &model);
        if (status == SHD_OK && (best.tp == 0 || is_better(&t, &best)))
            best = t;
    }
    if (status == SHD_OK) {
        text_clear(out);
        write_scenario(out, asked, &model, best.tp, best.batch, diag);
        status = diag->nerrors > 0 ? SHD_EINVAL : first_plan(&best.figures, asked, &ask, diag);
        *need = best.figures;
    }
    text_fini(&model.products);
    return status;
}
