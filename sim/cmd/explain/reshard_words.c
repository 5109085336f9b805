/* How an array gets from one sharding to another, in words and as JSON (reshard_words.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/reshard_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "cmd/explain/reshard_steps.h"

#define PLAN_TEXT_MAX 16384 /* bytes of a plan in words; a longer one is cut */
#define WAYS_TOLD 12        /* listed plans of those tried: a screenful */

static void add_head(const struct reshard_question *q, struct text *out, size_t width)
{
    char mesh[2][256], layout[2][256], shape[128];
    struct text t = TEXT_INIT;

    shd_mesh_print(q->mesh, mesh[0], sizeof mesh[0]);
    shd_mesh_print(q->to_mesh, mesh[1], sizeof mesh[1]);
    shd_sharding_print(&q->from, layout[0], sizeof layout[0]);
    shd_sharding_print(&q->to, layout[1], sizeof layout[1]);
    shd_shape_print(shape, sizeof shape, q->shape, q->rank);
    text_addf(&t, "%s of shape %s on mesh %s, %d devices: from %s to %s", shd_dtype_name(q->dtype),
              shape, mesh[0], (int)shd_mesh_size(q->mesh), layout[0], layout[1]);
    if (q->to_mesh != q->mesh)
        text_addf(&t, " on mesh %s, devices %d to %d", mesh[1],
                  (int)shd_mesh_device_id(q->to_mesh, 0),
                  (int)shd_mesh_device_id(q->to_mesh, shd_mesh_size(q->to_mesh) - 1));
    wrap_join(out, width, 0, 0, &t);
}

/* Lines of `text`, wrapped. */
static void add_lines(struct text *out, size_t width, char *text)
{
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        wrap_add(out, width, 0, 4, line);
    }
}

/* Measure the plan, and find the lower bound of any method. */
static int measure(struct shd_reshard_figures *figures, struct shd_reshard_bound *bound,
                   const struct reshard_question *q, const struct shd_reshard_plan *plan,
                   struct shd_error *err)
{
    int status = shd_reshard_bound(bound, &q->from, &q->to, q->shape, q->dtype, &q->opts, err);

    if (status == SHD_EUNSUPPORTED) /* links are not supported: compute the bound without them */
        status = shd_reshard_bound(bound, &q->from, &q->to, q->shape, q->dtype, NULL, err);
    return status == SHD_OK ? shd_reshard_measure(figures, plan, q->shape, &q->opts, err) : status;
}

static int add_plan(const struct reshard_question *q, const struct shd_reshard_plan *plan,
                    struct text *out, size_t width, struct shd_error *err)
{
    const struct reshard_steps steps = {plan, q->shape, q->hardware};
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    char *text;
    int status = measure(&figures, &bound, q, plan, err);

    if (status != SHD_OK)
        return status;
    text = malloc(PLAN_TEXT_MAX);
    if (!text)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the plan's text");
    shd_reshard_describe(plan, &bound, &figures, text, PLAN_TEXT_MAX);
    add_lines(out, width, text);
    free(text);
    if (q->hardware)
        reshard_steps_text(&steps, out, width);
    return SHD_OK;
}

static bool alike(const struct shd_reshard_plan *a, const struct shd_reshard_plan *b)
{
    if (a->nsteps != b->nsteps)
        return false;
    for (size_t s = 0; s < a->nsteps; s++)
        if (a->steps[s].kind != b->steps[s].kind ||
            !shd_sharding_equal(&a->steps[s].to, &b->steps[s].to))
            return false;
    return true;
}

/* Whether memory ruled a plan out: the plan is better than the chosen one, which is the best that
 * fits the memory allowed, and needs more memory. */
static bool is_ruled_out(const struct shd_reshard_figures *way,
                         const struct shd_reshard_figures *taken)
{
    bool better =
        taken->ntiers ? way->seconds < taken->seconds : way->received_bytes < taken->received_bytes;

    return better && way->peak_bytes > taken->peak_bytes;
}

static void add_way(const struct shd_reshard_plan *way, const struct shd_reshard_figures *figures,
                    const struct shd_reshard_figures *taken, bool chosen, struct text *out,
                    size_t width)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s ", chosen ? "*" : " ");
    for (size_t s = 0; s < way->nsteps; s++)
        text_addf(&t, "%s%s", s ? ", " : "", shd_reshard_kind_name(way->steps[s].kind));
    text_addf(&t, ": %s received, %s sent by the busiest, %s needed",
              units_print_bytes(figures->received_bytes).text,
              units_print_bytes(figures->largest_sent_bytes).text,
              units_print_bytes(figures->peak_bytes).text);
    if (figures->ntiers)
        text_addf(&t, ", %s", units_print_seconds(figures->seconds).text);
    if (is_ruled_out(figures, taken))
        text_add(&t, "; ruled out by its memory (--memory)");
    wrap_join(out, width, 0, 4, &t);
}

/* The plans that were tried, each once; the chosen one is marked. */
static int add_ways(const struct reshard_question *q, const struct shd_reshard_plan *plan,
                    struct text *out, size_t width, struct shd_error *err)
{
    struct shd_reshard_plan *ways = calloc(WAYS_TOLD, sizeof *ways);
    struct shd_reshard_figures taken;
    size_t n = 0;
    int status;

    if (!ways)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the alternatives");
    status = shd_reshard_measure(&taken, plan, q->shape, &q->opts, err);
    text_add(out, "alternatives (* is chosen):\n");
    for (size_t i = 0; n < WAYS_TOLD && status == SHD_OK; i++) {
        struct shd_reshard_figures figures;
        bool told = false;

        status =
            shd_reshard_candidate(&ways[n], i, &q->from, &q->to, q->shape, q->dtype, &q->opts, err);
        for (size_t k = 0; k < n && status == SHD_OK; k++)
            told |= alike(&ways[k], &ways[n]);
        if (told || status != SHD_OK)
            continue;
        status = shd_reshard_measure(&figures, &ways[n], q->shape, &q->opts, err);
        if (status == SHD_OK)
            add_way(&ways[n], &figures, &taken, alike(&ways[n], plan), out, width);
        n++;
    }
    free(ways);
    return status == SHD_ENOTFOUND ? SHD_OK : status;
}

int reshard_words(struct text *out, const struct reshard_question *q,
                  const struct shd_reshard_plan *plan, size_t width, struct shd_error *err)
{
    int status;

    add_head(q, out, width);
    status = add_plan(q, plan, out, width, err);
    if (status == SHD_OK && plan->nsteps > 0)
        status = add_ways(q, plan, out, width, err);
    return status;
}

int reshard_json(struct text *text, const struct reshard_question *q,
                 const struct shd_reshard_plan *plan, struct shd_error *err)
{
    const struct reshard_steps steps = {plan, q->shape, q->hardware};
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    struct json_out out;
    int status = measure(&figures, &bound, q, plan, err);

    if (status != SHD_OK)
        return status;
    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    if (q->hardware) {
        json_out_key_string(&out, "hardware", q->hardware->name);
    }
    json_out_key(&out, "steps");
    reshard_steps_json(&steps, &out);
    json_out_key_uint(&out, "received_bytes", figures.received_bytes);
    json_out_key_uint(&out, "bound_bytes", bound.received_bytes);
    json_out_key_uint(&out, "largest_received_bytes", figures.largest_received_bytes);
    json_out_key_uint(&out, "largest_sent_bytes", figures.largest_sent_bytes);
    json_out_key_uint(&out, "peak_bytes", figures.peak_bytes);
    json_out_key_uint(&out, "messages", figures.nmessages);
    if (figures.ntiers > 0) {
        json_out_key_double(&out, "seconds", figures.seconds);
    }
    json_out_end_object(&out);
    json_out_newline(&out);
    return json_out_fini(&out) == SHD_OK ? SHD_OK
                                         : shd_error_set(err, SHD_ENOMEM, "no memory for JSON");
}
