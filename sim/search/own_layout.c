/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/own_layout.h"

#include <string.h>

#include "model/axis_uses.h"

/* ---- roles of axes ---- */

static bool is_axis(const struct trial *trial, size_t axis, const char *name)
{
    return name && !strcmp(name, shd_mesh_axis_name(trial->mesh, axis));
}

/* SPACE_NCHOICES: none. */
static enum space_choice role_of(const struct trial *trial, size_t axis,
                                 const struct axis_uses *uses)
{
    if (is_axis(trial, axis, trial->scenario->pipeline.axis))
        return SPACE_PP;
    if (uses->batch)
        return SPACE_DP;
    if (uses->tokens)
        return SPACE_CP;
    return uses->widths ? SPACE_TP : SPACE_NCHOICES;
}

/* Multiply an axis into the values that it is part of. */
static void add_axis(struct layout *out, const struct trial *trial, size_t axis,
                     enum space_choice role, const struct axis_uses *uses)
{
    const struct scenario *s = trial->scenario;
    const char *name = shd_mesh_axis_name(trial->mesh, axis);
    int32_t size = shd_mesh_axis_size(trial->mesh, axis);
    bool by_rules = role == SPACE_DP && (uses->other || uses->widths);

    out->value[role] *= size;
    if (uses->experts) {
        out->value[SPACE_EP] *= size;
        out->value[SPACE_FOLD] |= role == SPACE_CP   ? SPACE_FOLD_CP
                                  : role == SPACE_TP ? SPACE_FOLD_TP
                                                     : 0;
    }
    if (by_rules)
        out->value[SPACE_ZERO] = 3;
    if (by_rules || (s->zero.stage > 0 && scenario_has_axis(&s->zero.axes, name)))
        out->value[SPACE_SHARDS] *= size;
    if (role == SPACE_TP)
        out->value[SPACE_SP] |= axis_uses_of(trial->graph, &trial->shardings, axis, true).tokens;
    if (role == SPACE_CP && !is_axis(trial, axis, s->context.axis))
        out->value[SPACE_METHOD] = SPACE_ALL_TO_ALL;
}

/* The axes of a role must be neighbours. */
static bool find_axes(struct layout *out, const struct trial *trial, uint8_t roles[SPACE_AXES],
                      size_t *nroles)
{
    *nroles = 0;
    for (size_t a = 0; a < shd_mesh_naxes(trial->mesh); a++) {
        struct axis_uses uses = axis_uses_of(trial->graph, &trial->shardings, a, false);
        enum space_choice role = role_of(trial, a, &uses);
        bool again = *nroles > 0 && roles[*nroles - 1] == role;

        if (shd_mesh_axis_size(trial->mesh, a) == 1)
            continue;
        if (role == SPACE_NCHOICES || (!again && memchr(roles, role, *nroles)))
            return false;
        if (!again)
            roles[(*nroles)++] = (uint8_t)role;
        add_axis(out, trial, a, role, &uses);
    }
    return true;
}

/* The order of the space in which these roles come one after the other; 0: none that it allows. */
static int32_t order_of(const struct space *space, const struct layout *layout,
                        const uint8_t *roles, size_t nroles)
{
    for (int32_t order = 0; (order = space_next_order(space, layout, order)) >= 0; order++) {
        size_t n = 0;

        for (int i = 0; i < SPACE_AXES; i++)
            n += n < nroles && space_order(order)[i] == roles[n];
        if (n == nroles)
            return order;
    }
    return 0;
}

/* ---- other choices ---- */

static int32_t recompute_of(const struct space *space, const struct scenario *s)
{
    if (space->names_recompute)
        return SPACE_GIVEN;
    return s->recompute.kind == SCENARIO_RECOMPUTE_FULL        ? SPACE_FULL
           : s->recompute.kind == SCENARIO_RECOMPUTE_SELECTIVE ? SPACE_SELECTIVE
                                                               : SPACE_NONE;
}

static void find_pipeline(struct layout *out, const struct trial *trial)
{
    const struct scenario_pipeline *p = &trial->scenario->pipeline;

    out->value[SPACE_VIRTUAL] =
        trial->timetable ? (int32_t)(trial->timetable->nstages / trial->timetable->nranks) : 1;
    out->value[SPACE_SPLIT] = p->nlayers > 0 ? SPACE_SPLIT_GIVEN : SPACE_SPLIT_EVEN;
    for (int32_t k = 0; p->schedule && space_schedule_of(k); k++)
        if (!strcmp(p->schedule, space_schedule_of(k)->name))
            out->value[SPACE_SCHEDULE] = k;
}

bool own_layout_find(struct layout *out, const struct space *space, const struct trial *trial)
{
    const struct scenario *s = trial->scenario;
    int64_t microbatches = s->batch.microbatches > 0 ? s->batch.microbatches : 1;
    uint8_t roles[SPACE_AXES] = {0};
    size_t nroles;

    *out = (struct layout){.value = {[SPACE_TP] = 1,
                                     [SPACE_PP] = 1,
                                     [SPACE_CP] = 1,
                                     [SPACE_DP] = 1,
                                     [SPACE_EP] = 1,
                                     [SPACE_SHARDS] = 1,
                                     [SPACE_ZERO] = (int32_t)s->zero.stage,
                                     [SPACE_RECOMPUTE] = recompute_of(space, s)}};
    if (shd_mesh_size(trial->mesh) != space->devices || !find_axes(out, trial, roles, &nroles))
        return false;
    if (out->value[SPACE_SHARDS] == 1)
        out->value[SPACE_ZERO] = 0;
    out->value[SPACE_ORDER] = order_of(space, out, roles, nroles);
    out->value[SPACE_MICROBATCH] = (int32_t)(space->batch / out->value[SPACE_DP] / microbatches);
    if (out->value[SPACE_PP] > 1)
        find_pipeline(out, trial);
    else
        out->value[SPACE_VIRTUAL] = 1;
    return true;
}
