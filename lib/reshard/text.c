/* Describing plans in words (shd/reshard.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard_figures.h>

#include <inttypes.h>
#include <string.h>

#include "print.h"

/* Append bytes as in "1536 B (1.50 KiB)". */
static void add_bytes(struct print *print, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t u = 0;

    print_add(print, "%" PRIu64 " B", bytes);
    if (bytes < 1024)
        return;
    for (; value >= 1024; u++)
        value /= 1024;
    print_add(print, " (%.*f %s)", value < 10 ? 2 : 1, value, units[u]);
}

static void add_axes(struct print *print, const struct shd_mesh *mesh, const uint8_t *axes,
                     size_t naxes)
{
    for (size_t i = 0; i < naxes; i++)
        print_add(print, "%s%s", i > 0 ? "," : "", shd_mesh_axis_name(mesh, axes[i]));
}

static void add_sharding(struct print *print, const struct shd_sharding *sharding)
{
    char text[512];

    shd_sharding_print(sharding, text, sizeof(text));
    print_add(print, "%s", text);
}

static void add_step(struct print *print, const struct shd_reshard_step *step)
{
    bool cross = !shd_mesh_equal(step->from.mesh, step->to.mesh);

    print_add(print, "%s", shd_reshard_kind_name(step->kind));
    if (step->dim >= 0)
        print_add(print, " of dimension %d", step->dim);
    if (step->dim2 >= 0)
        print_add(print, " to %d", step->dim2);
    if (step->naxes > 0) {
        print_add(print, " over ");
        add_axes(print, step->from.mesh, step->axes, step->naxes);
    }
    print_add(print, cross ? ", across meshes, to " : " to ");
    add_sharding(print, &step->to);
    if (cross) {
        char mesh[256];

        shd_mesh_print(step->to.mesh, mesh, sizeof(mesh));
        print_add(print, " on %s", mesh);
    }
    print_add(print, ": ");
    if (step->received_bytes == 0 && step->naxes == 0)
        print_add(print, "local");
    else
        add_bytes(print, step->received_bytes);
}

size_t shd_reshard_step_print(const struct shd_reshard_step *step, char *buf, size_t size)
{
    if (!step || (!buf && size > 0))
        return 0;

    struct print print;

    print_init(&print, buf, size);
    add_step(&print, step);
    return print.length;
}

static void add_distance(struct print *print, uint64_t bytes, uint64_t least)
{
    if (bytes == least)
        print_add(print, "equal to the lower bound");
    else if (least == 0)
        print_add(print, "where no bound above 0 B is known");
    else
        print_add(print, "%.3f times the lower bound, %" PRIu64 " B", (double)bytes / (double)least,
                  least);
}

static void add_tiers(struct print *print, const struct shd_reshard_bound *bound,
                      const struct shd_reshard_figures *figures)
{
    for (size_t t = 0; t < figures->ntiers; t++) {
        if (figures->group_devices[t] == 0)
            continue;
        print_add(print, "into groups of %d: ", (int)figures->group_devices[t]);
        add_bytes(print, figures->entering_bytes[t]);
        if (t < bound->ntiers && bound->entering_bytes[t] > 0) {
            print_add(print, ", ");
            add_distance(print, figures->entering_bytes[t], bound->entering_bytes[t]);
        }
        print_add(print, "\n");
    }
    if (figures->ntiers > 0)
        print_add(print, "time: %.3g s, modelled\n", figures->seconds);
}

size_t shd_reshard_describe(const struct shd_reshard_plan *plan,
                            const struct shd_reshard_bound *bound,
                            const struct shd_reshard_figures *figures, char *buf, size_t size)
{
    if (!plan || !bound || !figures || (!buf && size > 0))
        return 0;

    struct print print;

    print_init(&print, buf, size);
    if (plan->nsteps == 0)
        print_add(&print, "nothing to do: every device has its new shard\n");
    for (size_t i = 0; i < plan->nsteps; i++) {
        print_add(&print, "step %zu: ", i + 1);
        add_step(&print, &plan->steps[i]);
        print_add(&print, "\n");
    }
    print_add(&print, "received: ");
    add_bytes(&print, figures->received_bytes);
    print_add(&print, " by all devices, ");
    add_distance(&print, figures->received_bytes, bound->received_bytes);
    print_add(&print, "\none device: receives up to ");
    add_bytes(&print, figures->largest_received_bytes);
    print_add(&print, ", sends up to ");
    add_bytes(&print, figures->largest_sent_bytes);
    print_add(&print, ", needs ");
    add_bytes(&print, figures->peak_bytes);
    print_add(&print, " at once\nmessages: %" PRIu64 "\n", figures->nmessages);
    add_tiers(&print, bound, figures);
    return print.length;
}
