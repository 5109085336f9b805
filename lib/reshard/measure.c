/* reshard/measure.c - the cost of a plan, summed over its steps and devices.
 *
 * Visits all devices in every step, and the boxes that each of them fetches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard_figures.h>

#include <stdlib.h>

#include "mesh_parts.h"
#include "source.h"
#include "step.h"

/* A plan being measured, and its current step. */
struct measuring {
    struct shd_reshard_figures figures;
    const struct shd_reshard_plan *plan;
    const struct shd_reshard_step *step;
    const int64_t *shape;
    const struct shd_reshard_opts *opts; /* NULL: no links */
    uint64_t *sent;                      /* bytes, by position in the plan's first mesh */
    uint64_t *sent_now;                  /* bytes of the current step */
};

/* A device's bytes and messages received in one step. */
struct received {
    uint64_t bytes[SHD_LINK_TIERS_MAX]; /* by the tier of the links that they come over */
    uint64_t nmessages[SHD_LINK_TIERS_MAX];
};

/* The tier of links between two device ids; the last tier joins all devices. */
static size_t tier_between(const struct measuring *m, int32_t a, int32_t b)
{
    size_t t = 0;

    while (t + 1 < m->opts->ntiers &&
           a / m->opts->tiers[t].ndevices != b / m->opts->tiers[t].ndevices)
        t++;
    return t;
}

/* Count bytes that device `a` gets from device `b` as entering each group that contains `a` but not
 * `b`. */
static void add_entering(struct measuring *m, int32_t a, int32_t b, uint64_t bytes)
{
    for (size_t t = 0; t < m->opts->ntiers; t++) {
        int32_t n = m->opts->tiers[t].ndevices;

        if (n > 0 && a / n != b / n)
            m->figures.entering_bytes[t] += bytes;
    }
}

/* ---- boxes ---- */

/* Measure the boxes that a position fetches. */
static void fetch_all(struct measuring *m, int32_t position, struct received *received)
{
    const struct shd_reshard_step *step = m->step;
    int64_t n = shd_reshard_fetch_count(step, m->shape, position);

    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;
        uint64_t bytes;

        shd_reshard_fetch(step, m->shape, position, i, &box);
        if (box.own)
            continue;
        bytes = shd_fetch_bytes(&box, step->to.rank, m->plan->dtype);
        m->figures.nmessages++;
        m->sent_now[box.source] += bytes;
        if (!m->opts)
            continue;

        int32_t id = shd_mesh_device_id(step->to.mesh, position);
        int32_t source = shd_mesh_device_id(step->from.mesh, box.source);
        size_t tier = tier_between(m, id, source);

        received->bytes[tier] += bytes;
        received->nmessages[tier]++;
        add_entering(m, id, source, bytes);
    }
}

/* ---- collectives ---- */

/* How many members a collective's group has within one group of `ndevices` devices, from the axes
 * alone.  False if the axes do not suffice: ids differ from positions, or an axis neither stays
 * within groups of `ndevices` nor spans whole ones.  Along other axes, whose neighbours are
 * `ndevices` or more apart, each coordinate is in another group. */
static bool members_near_by_axes(uint64_t *out, const struct shd_reshard_step *step,
                                 int32_t ndevices)
{
    const struct shd_mesh *mesh = step->from.mesh;
    bool plain = !mesh->ids;
    uint64_t near = 1;

    for (size_t i = 0; i < step->naxes; i++) {
        int32_t stride = mesh->strides[step->axes[i]];
        int32_t size = mesh->sizes[step->axes[i]];

        if (stride >= ndevices)
            continue;
        if (ndevices % stride != 0 || (stride * size) % ndevices != 0)
            plain &= ndevices % (stride * size) == 0;
        near *= (uint64_t)(ndevices / stride < size ? ndevices / stride : size);
    }
    *out = near;
    return plain;
}

/* How many members of a position's group, including itself, are in its group of `ndevices` devices;
 * with ndevices 0 that group is the whole mesh. */
static uint64_t members_near(const struct measuring *m, int32_t position, int32_t ndevices)
{
    const struct shd_reshard_step *step = m->step;
    const struct shd_mesh *mesh = step->from.mesh;
    int32_t id = shd_mesh_device_id(mesh, position);
    uint64_t n = reshard_group_size(step);
    uint64_t found;

    if (ndevices == 0)
        return n;
    if (members_near_by_axes(&found, step, ndevices))
        return found;
    found = 0;
    for (uint64_t member = 0; member < n; member++) {
        int32_t coords[SHD_MESH_AXES_MAX];
        uint64_t rest = member;

        shd_mesh_coords(mesh, position, coords);
        for (size_t i = 0; i < step->naxes; i++) {
            uint64_t size = (uint64_t)mesh->sizes[step->axes[i]];

            coords[step->axes[i]] = (int32_t)(rest % size);
            rest /= size;
        }
        found +=
            shd_mesh_device_id(mesh, shd_mesh_position(mesh, coords)) / ndevices == id / ndevices;
    }
    return found;
}

/* Measure what a member of a collective receives and sends.  All other members are assumed to send
 * equal shares of that, although chunks may differ by one element. */
static void gather_all(struct measuring *m, int32_t position, struct received *received)
{
    uint64_t bytes = shd_reshard_step_received(m->step, m->shape, m->plan->dtype, position);
    uint64_t others = reshard_group_size(m->step) - 1;
    uint64_t times = m->step->kind == SHD_RESHARD_ALL_REDUCE ? 2 : 1;
    uint64_t near = 1;

    m->figures.nmessages += times * others;
    m->sent_now[position] += shd_reshard_step_sent(m->step, m->shape, m->plan->dtype, position);
    for (size_t t = 0; m->opts && t < m->opts->ntiers; t++) {
        uint64_t with = members_near(m, position, m->opts->tiers[t].ndevices);
        uint64_t until = t + 1 == m->opts->ntiers ? others + 1 : with;

        received->bytes[t] = bytes / others * (until - near);
        received->nmessages[t] = received->bytes[t] > 0;
        m->figures.entering_bytes[t] += bytes / others * (others + 1 - with);
        near = with;
    }
}

/* ---- time ---- */

/* The rounds of a collective, each of which costs one latency: log2 of the number of members,
 * rounded up; twice that for an all-reduce. */
static double rounds_of(const struct shd_reshard_step *step)
{
    double rounds = 0;

    for (uint64_t n = reshard_group_size(step) - 1; n > 0; n /= 2)
        rounds++;
    return step->kind == SHD_RESHARD_ALL_REDUCE ? 2 * rounds : rounds;
}

/* The time for a device's receives in a step; the public header defines the model. */
static double seconds_of(const struct measuring *m, const struct received *received)
{
    double transfer = 0;
    double latency = 0;

    for (size_t t = 0; t < m->opts->ntiers; t++) {
        const struct shd_link_tier *tier = &m->opts->tiers[t];
        double s = (double)received->bytes[t] / tier->bytes_per_s;

        transfer = s > transfer ? s : transfer;
        if (received->nmessages[t] == 0)
            continue;
        if (reshard_is_collective(m->step))
            latency = rounds_of(m->step) * tier->latency_s;
        else
            latency += (double)received->nmessages[t] * tier->latency_s;
    }
    return latency + transfer;
}

/* The least time of the device that sends the most in a step, over the fastest links. */
static double sending_seconds(const struct measuring *m, int32_t nsources)
{
    double fastest = 0;
    uint64_t most = 0;

    for (size_t t = 0; t < m->opts->ntiers; t++)
        fastest = m->opts->tiers[t].bytes_per_s > fastest ? m->opts->tiers[t].bytes_per_s : fastest;
    for (int32_t p = 0; p < nsources; p++)
        most = m->sent_now[p] > most ? m->sent_now[p] : most;
    return (double)most / fastest;
}

/* ---- totals ---- */

static void measure_step(struct measuring *m, int32_t nsources)
{
    int32_t n = shd_mesh_size(m->step->to.mesh);
    double seconds = 0;

    if (m->step->kind == SHD_RESHARD_SLICE || m->step->kind == SHD_RESHARD_MASK)
        return;
    for (int32_t p = 0; p < nsources; p++)
        m->sent_now[p] = 0;
    for (int32_t p = 0; p < n; p++) {
        struct received received = {{0}, {0}};

        if (reshard_is_collective(m->step))
            gather_all(m, p, &received);
        else
            fetch_all(m, p, &received);
        if (m->opts) {
            double s = seconds_of(m, &received);

            seconds = s > seconds ? s : seconds;
        }
    }
    for (int32_t p = 0; p < nsources; p++)
        m->sent[p] += m->sent_now[p];
    if (m->opts) {
        double s = sending_seconds(m, nsources);

        m->figures.seconds += s > seconds ? s : seconds;
    }
}

static void find_largest_received(struct measuring *m, const struct shd_mesh *mesh)
{
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        uint64_t bytes = shd_reshard_received(m->plan, m->shape, shd_mesh_device_id(mesh, p));

        if (bytes > m->figures.largest_received_bytes)
            m->figures.largest_received_bytes = bytes;
    }
}

double reshard_asked_seconds(const struct shd_reshard_plan *plan, const int64_t *shape,
                             const struct shd_reshard_opts *opts)
{
    double seconds = 0;

    for (size_t i = 0; i < plan->nsteps; i++)
        seconds += opts->seconds(opts->seconds_arg, &plan->steps[i], shape, plan->dtype);
    return seconds;
}

int shd_reshard_measure(struct shd_reshard_figures *out, const struct shd_reshard_plan *plan,
                        const int64_t *shape, const struct shd_reshard_opts *opts,
                        struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, plan, shape))
        return SHD_EINVAL;
    if (plan->nsteps > SHD_RESHARD_STEPS_MAX || (plan->nsteps > 0 && !plan->steps[0].from.mesh))
        return shd_error_set(err, SHD_EINVAL,
                             "argument 'plan' is NULL; expected one of shd_reshard_build()");

    struct measuring m = {.plan = plan, .shape = shape};
    int32_t n = plan->nsteps > 0 ? shd_mesh_size(plan->steps[0].from.mesh) : 0;

    m.opts = opts && opts->ntiers > 0 ? opts : NULL;
    m.figures.received_bytes = plan->received_bytes;
    m.figures.peak_bytes = plan->peak_bytes;
    m.figures.ntiers = m.opts ? m.opts->ntiers : 0;
    for (size_t t = 0; t < m.figures.ntiers; t++)
        m.figures.group_devices[t] = opts->tiers[t].ndevices;
    m.sent = calloc((size_t)n * 2 + 1, sizeof(*m.sent));
    if (!m.sent)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the bytes sent by %d devices", (int)n);
    m.sent_now = m.sent + n;
    for (size_t i = 0; i < plan->nsteps; i++) {
        m.step = &plan->steps[i];
        measure_step(&m, n);
    }
    for (int32_t p = 0; p < n; p++) {
        if (m.sent[p] > m.figures.largest_sent_bytes)
            m.figures.largest_sent_bytes = m.sent[p];
    }
    if (plan->nsteps > 0) {
        find_largest_received(&m, plan->steps[0].from.mesh);
        if (plan->steps[plan->nsteps - 1].to.mesh != plan->steps[0].from.mesh)
            find_largest_received(&m, plan->steps[plan->nsteps - 1].to.mesh);
    }
    free(m.sent);
    if (opts && opts->seconds)
        m.figures.seconds = reshard_asked_seconds(plan, shape, opts);
    *out = m.figures;
    return SHD_OK;
}
