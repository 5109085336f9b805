/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/sensitivity.h"

/* Most nodes to take away until the remaining devices have a layout. */
#define NODES_MOST 1024

static const struct {
    const char *name;
    double links, memory;
    bool node; /* one node less */
} cases[SENSITIVITY_NCASES] = {{"links 10 % slower", 0.9, 1, false},
                               {"half the memory", 1, 0.5, false},
                               {"a node less", 1, 1, true}};

/* Find the best layout of a subject; none if nothing divides or fits. */
static int find_best(struct sensitivity_case *out, const struct subject *subject,
                     const struct search_opts *opts, struct shd_error *err)
{
    struct search found;
    int status = search_run(&found, subject, opts, err);

    if (status == SHD_ENOTFOUND)
        return SHD_OK;
    if (status != SHD_OK)
        return status;
    out->devices = subject->space.devices;
    out->any = found.nbest > 0;
    out->proven_s = found.proven;
    if (out->any) {
        const struct search_plan *best = &found.plans[found.best[0]];

        out->layout = found.items[best->item].layout;
        out->figures = best->plan.figures;
    }
    search_fini(&found);
    return SHD_OK;
}

static int plan_before(struct sensitivity_case *out, const struct subject *subject,
                       const struct layout *before, struct shd_error *err)
{
    struct plan plan;
    int status = plan_layout(&plan, subject, before, err);

    if (status == SHD_OK && plan.state == VARIANT_FITS)
        out->before_s = plan.figures.step_s;
    return status;
}

static int find_case(struct sensitivity_case *out, const struct trial *trial,
                     const struct subject *asked, const struct layout *before, size_t k,
                     const struct search_opts *opts, struct shd_error *err)
{
    int64_t node = trial->hardware->tiers[0].devices, devices = asked->space.devices;
    int status = SHD_OK;

    *out = (struct sensitivity_case){.name = cases[k].name};
    if (cases[k].node && node <= 0)
        return SHD_OK;
    for (int tries = 0; status == SHD_OK && out->devices == 0 && tries < NODES_MOST; tries++) {
        struct subject subject;

        devices -= cases[k].node ? node : 0;
        if (devices <= 0)
            break;
        status = subject_init(&subject, trial, devices, asked->space.ranges, asked->space.nranges,
                              &asked->filter, err);
        if (status == SHD_OK) {
            subject_suppose(&subject, cases[k].links, cases[k].memory * subject.memory);
            status = find_best(out, &subject, opts, err);
        }
        if (status == SHD_OK && !cases[k].node)
            status = plan_before(out, &subject, before, err);
        subject_fini(&subject);
        if (!cases[k].node)
            break;
    }
    return status;
}

int sensitivity_find(struct sensitivity *out, const struct trial *trial,
                     const struct subject *asked, const struct layout *before,
                     const struct search_opts *opts, struct shd_error *err)
{
    struct search_opts own = *opts;

    own.journal = NULL;
    own.ntop = 1;
    out->n = 0;
    for (size_t k = 0; k < SENSITIVITY_NCASES; k++) {
        int status = find_case(&out->cases[k], trial, asked, before, k, &own, err);

        if (status != SHD_OK)
            return status;
        out->n++;
        if (own.stop && __atomic_load_n(own.stop, __ATOMIC_RELAXED))
            break;
    }
    return SHD_OK;
}
