/* Drawing timetables of pipelines (timetables.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show/timetables.h"

#include <string.h>

#include "command/command.h"
#include "model/pipeline.h"
#include "report/timetable_table.h"
#include "timetable/timetable.h"

static int walk(struct timetable_walked *out, const struct timetables *o, const char *name)
{
    const struct timetable_schedule *schedule;
    struct timetable_sizes sizes;
    struct timetable_times times;
    struct shd_error err;

    if (timetable_find(&schedule, name, &err) != SHD_OK)
        return cmd_failure("timetable", &err);
    sizes = timetable_sizes_for(&o->sizes, schedule);
    /* All schedules do the same work, so that their drawings share a unit of time. */
    times = o->has_times ? o->times : timetable_divided(&o->times, sizes.stages_per_rank);
    if (timetable_walked_init(out, schedule, &sizes, &times, &err) != SHD_OK)
        return cmd_failure("timetable", &err);
    return CMD_OK;
}

static int draw(const struct timetables *o, const struct timetable_walked *walked, size_t n)
{
    struct timetable_lanes lanes;
    struct shd_error err;
    int status = n == 1 ? timetable_lanes_init(&lanes, walked, &err)
                        : timetable_lanes_init_many(&lanes, walked, n, &err);

    if (status != SHD_OK)
        return cmd_failure("timetable", &err);
    status = canvas_draw_lanes(&o->canvas, &lanes.lanes);
    timetable_lanes_fini(&lanes);
    return status;
}

static int show_schedules(const struct timetables *o, const char *const *names, size_t n)
{
    struct timetable_walked walked[TIMETABLES_MAX];
    size_t nwalked = 0;
    int status = CMD_OK;

    while (status == CMD_OK && nwalked < n) {
        status = walk(&walked[nwalked], o, names[nwalked]);
        nwalked += status == CMD_OK;
    }
    if (status == CMD_OK)
        status = draw(o, walked, n);
    while (nwalked > 0)
        timetable_walked_fini(&walked[--nwalked]);
    return status;
}

/* ---- the timetable of a scenario ---- */

static int show_chosen(struct timetables *o)
{
    struct pipeline pipeline;
    int status;

    o->chosen.path = o->name;
    status = chosen_load(&o->chosen);
    if (status == CMD_OK && !o->chosen.trial.timetable) {
        status = cmd_wrong(o->name, "the strategy has no pipeline; expected pipeline.axis");
    } else if (status == CMD_OK) {
        pipeline = pipeline_of(o->chosen.trial.scenario);
        o->name = pipeline.schedule;
        o->sizes = (struct timetable_sizes){pipeline.nranks, (uint32_t)pipeline.stages_per_rank,
                                            pipeline.nmicrobatches};
        status = show_schedules(o, &o->name, 1);
    }
    chosen_fini(&o->chosen);
    return status;
}

/* ---- all of them ---- */

static int show_all(const struct timetables *o)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status;

    if (timetable_table(&text, &o->sizes, &o->times, o->canvas.style.width, &err) == SHD_OK)
        status = canvas_put(&o->canvas, &text);
    else
        status = cmd_failure("timetable", &err);
    text_fini(&text);
    return status;
}

bool timetables_is_file(const char *name)
{
    return strpbrk(name, "./") != NULL;
}

int timetables_run(struct timetables *o)
{
    const char *output = o->canvas.output;

    if (timetables_is_file(o->name))
        return show_chosen(o);
    if (strcmp(o->name, "all") != 0)
        return show_schedules(o, o->names, o->nnames);
    if (output && strcmp(output + strlen(output) - 4, ".txt") != 0)
        return cmd_wrong("timetable", "a table cannot be a picture; expected --output FILE.txt");
    return show_all(o);
}
