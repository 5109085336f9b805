/* All schedules of pipelines beside each other (timetable_table.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/timetable_table.h"

#include "base/wrap.h"
#include "report/table.h"

struct timetable_sizes timetable_sizes_for(const struct timetable_sizes *asked,
                                           const struct timetable_schedule *schedule)
{
    struct timetable_sizes sizes = *asked;

    if (sizes.stages_per_rank == 0)
        sizes.stages_per_rank = schedule->stages_per_rank;
    return sizes;
}

/* Times of a stage if a rank's work is cut into `n` stages. */
struct timetable_times timetable_divided(const struct timetable_times *t, double n)
{
    return (struct timetable_times){t->forward / n, t->backward / n, t->backward_input / n,
                                    t->backward_weight / n, t->overlapped / n};
}

static void add_row(struct table *table, const struct timetable_walked *w)
{
    const struct timetable_bubble *b = &w->schedule->bubble;
    double n = w->sizes.stages_per_rank, least, idle;
    uint32_t most = 0;

    for (uint32_t r = 0; r < w->sizes.nranks; r++)
        most = w->walk.live_until_weight[r] > most ? w->walk.live_until_weight[r] : most;
    table_add(table, "%s", w->schedule->name);
    table_add(table, "%u", (unsigned)w->sizes.stages_per_rank);
    table_add(table, "%.6g", w->walk.makespan);
    timetable_walked_idle(&least, &idle, w);
    table_add(table, "%.6g", idle);
    table_add(table, "%.1f %%", 100 * w->walk.bubble);
    table_add(table, "%.6g", most / n);
    if (b->holds(&w->sizes, &w->times))
        table_add(table, "%s = %.6g", b->formula, b->idle(&w->sizes, &w->times));
    else
        table_add(table, "%s", b->formula);
}

/* A row for each schedule that takes the sizes, a sentence for each that does not. */
static int add_all(struct table *table, struct text *others, const struct timetable_sizes *asked,
                   const struct timetable_times *all, size_t width, struct shd_error *err)
{
    for (size_t i = 0; timetable_schedules[i]; i++) {
        const struct timetable_schedule *schedule = timetable_schedules[i];
        struct timetable_sizes sizes = timetable_sizes_for(asked, schedule);
        struct timetable_times times;
        struct timetable_walked walked;
        int status;

        if (!(schedule->flags & TIMETABLE_ANY_STAGES)) /* their number cannot be chosen */
            sizes.stages_per_rank = schedule->stages_per_rank;
        times = timetable_divided(all, sizes.stages_per_rank);
        status = timetable_walked_init(&walked, schedule, &sizes, &times, err);
        if (status == SHD_ENOMEM)
            return status;
        if (status == SHD_OK) {
            add_row(table, &walked);
            timetable_walked_fini(&walked);
        } else {
            wrap_add(others, width, 0, 2, err->text);
        }
    }
    return SHD_OK;
}

int timetable_table(struct text *out, const struct timetable_sizes *sizes,
                    const struct timetable_times *times, size_t width, struct shd_error *err)
{
    struct text others = TEXT_INIT;
    struct table table;
    int status;

    table_init(&table, "lrrrrrl");
    table_heads(&table, "schedule|stages|time|idle||alive|idle by formula");
    status = add_all(&table, &others, sizes, times, width, err);
    if (status == SHD_OK) {
        text_addf(out, "%u ranks, %u microbatches\n\n", (unsigned)sizes->nranks,
                  (unsigned)sizes->nmicrobatches);
        table_print(&table, 0, out);
        text_add(out, "\n");
        text_join(out, &others);
        wrap_add(out, width, 0, 0,
                 "Times are for all stages of a rank, so that schedules have equal work. Formulas "
                 "use the times of one stage (p ranks), and are left out where their conditions do "
                 "not hold. Alive: maximum of microbatches in flight on a rank until their weight "
                 "gradient, each weighted by the fraction of the rank's stages that holds it.");
    }
    table_fini(&table);
    text_fini(&others);
    return status;
}
