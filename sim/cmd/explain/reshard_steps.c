/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/reshard_steps.h"

#include "base/units.h"
#include "base/wrap.h"
#include "cmd/explain/links.h"
#include "hardware/reshard.h"

/* The question that gives a step's time as a collective; false: the step is no collective. */
static bool question_of(struct links_question *out, const struct reshard_steps *s,
                        const struct shd_reshard_step *step)
{
    struct hardware_transfer transfer;

    if (!hardware_transfer_of_array(&transfer, s->hardware, step, s->shape, s->plan->dtype))
        return false;
    *out = (struct links_question){.hardware = s->hardware,
                                   .mesh = step->from.mesh,
                                   .kind = transfer.kind,
                                   .operand_bytes = transfer.operand_bytes};
    out->naxes = shd_reshard_step_axes(step, out->axes);
    return true;
}

static double seconds_of(const struct reshard_steps *s, const struct shd_reshard_step *step)
{
    return hardware_reshard_seconds(s->hardware, step, s->shape, s->plan->dtype);
}

static bool is_local(const struct shd_reshard_step *step)
{
    return step->kind == SHD_RESHARD_SLICE || step->kind == SHD_RESHARD_MASK;
}

/* ---- text ---- */

static void add_collective(struct text *out, const struct links_question *q)
{
    struct links_answer a;

    links_answer(&a, q);
    text_addf(out, ", as %s of %s a member over ", coll_kind_name(q->kind),
              units_print_bytes((uint128)q->operand_bytes).text);
    for (size_t i = 0; i < q->naxes; i++)
        text_addf(out, "%s%s", i ? "," : "", shd_mesh_axis_name(q->mesh, q->axes[i]));
    text_addf(out, " (%lld members", (long long)a.group.members);
    for (int p = 0; p < a.collective.nparts; p++)
        text_addf(out, "%s%s", p ? " and " : ", ",
                  q->hardware->tiers[a.collective.parts[p].tier].name);
    text_addf(out, "), bound by %s", a.bound);
}

void reshard_steps_text(const struct reshard_steps *s, struct text *out, size_t width)
{
    for (size_t i = 0; i < s->plan->nsteps; i++) {
        const struct shd_reshard_step *step = &s->plan->steps[i];
        struct links_question q;
        struct text t = TEXT_INIT;

        text_addf(&t, "step %zu on %s: %s", i + 1, s->hardware->name,
                  units_print_seconds(seconds_of(s, step)).text);
        if (question_of(&q, s, step))
            add_collective(&t, &q);
        else
            text_add(&t, is_local(step) ? ", a copy in each device's memory"
                                        : ", messages between the meshes");
        wrap_add(out, width, 0, 4, text_get(&t));
        out->failed |= t.failed;
        text_fini(&t);
    }
}

/* ---- JSON ---- */

static void write_sharding(struct json_out *out, const char *key, const struct shd_sharding *s)
{
    char words[512];

    shd_sharding_print(s, words, sizeof words);
    json_out_key_string(out, key, words);
}

static void write_axes(struct json_out *out, const struct shd_reshard_step *step)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_reshard_step_axes(step, axes);

    json_out_key_flat_array(out, "axes");
    for (size_t i = 0; i < naxes; i++)
        json_out_string(out, shd_mesh_axis_name(step->from.mesh, axes[i]));
    json_out_end_array(out);
}

static void write_time(struct json_out *out, const struct reshard_steps *s,
                       const struct shd_reshard_step *step)
{
    struct links_question q;
    struct links_answer a;

    json_out_key_double(out, "seconds", seconds_of(s, step));
    if (!question_of(&q, s, step))
        return;
    links_answer(&a, &q);
    json_out_key(out, "collective");
    links_json(&a, &q, out);
}

void reshard_steps_json(const struct reshard_steps *s, struct json_out *out)
{
    json_out_begin_array(out);
    for (size_t i = 0; i < s->plan->nsteps; i++) {
        const struct shd_reshard_step *step = &s->plan->steps[i];

        json_out_begin_object(out);
        json_out_key_string(out, "kind", shd_reshard_kind_name(step->kind));
        write_axes(out, step);
        write_sharding(out, "from", &step->from);
        write_sharding(out, "to", &step->to);
        json_out_key_uint(out, "received_bytes", step->received_bytes);
        if (s->hardware)
            write_time(out, s, step);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}
