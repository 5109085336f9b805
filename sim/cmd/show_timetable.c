/* shardsim show timetable - when each rank of a pipeline does which action, and how long ranks are
 * idle.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/common.h"
#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/command.h"
#include "model/pipeline.h"
#include "report/timetable_table.h"
#include "timetable/timetable.h"

struct request {
    struct canvas canvas;
    const char *name;                  /* a schedule, a scenario's file, or "all" */
    const char *names[TIMETABLES_MAX]; /* all schedules asked for, `name` first */
    size_t nnames;
    struct chosen chosen;         /* of a scenario */
    struct timetable_sizes sizes; /* stages_per_rank 0: the schedule's own */
    struct timetable_times times;
    bool has_times; /* else those are of all stages of a rank */
};

/* The names of times, longest first. */
enum { TIME_PAIR, TIME_F, TIME_B, TIME_I, TIME_W, NTIMES };
static const char *const time_names[NTIMES] = {"FB", "F", "B", "I", "W"};

static const char *parse_time(double given[NTIMES], const char *s)
{
    for (int i = 0; i < NTIMES; i++) {
        size_t length = strlen(time_names[i]);
        char *end;

        if (strncmp(s, time_names[i], length) != 0 || s[length] != '=')
            continue;
        s += length + 1;
        if (!isdigit((unsigned char)*s) && *s != '.')
            return NULL;
        given[i] = strtod(s, &end);
        return end;
    }
    return NULL;
}

static void take_times(const struct args_value *v)
{
    struct timetable_times *out = v->at;
    double given[NTIMES] = {[TIME_F] = NAN, [TIME_B] = NAN, [TIME_I] = NAN, [TIME_W] = NAN};
    const char *s = v->arg;

    while (s && *s) {
        s = parse_time(given, s);
        if (s && *s && (*s != ',' || !s[1]))
            s = NULL;
        else if (s && *s)
            s++;
    }
    if (!s || !*v->arg)
        args_error(v->line, "--times is '%s'; expected e.g. F=1,B=2 of F, B, I, W and FB", v->arg);
    out->forward = isnan(given[TIME_F]) ? 1 : given[TIME_F];
    if (isnan(given[TIME_I]))
        given[TIME_I] = isnan(given[TIME_B]) ? 1 : given[TIME_B] / 2;
    if (isnan(given[TIME_W]))
        given[TIME_W] = isnan(given[TIME_B]) ? 1 : fmax(given[TIME_B] - given[TIME_I], 0);
    out->backward_input = given[TIME_I];
    out->backward_weight = given[TIME_W];
    out->backward = isnan(given[TIME_B]) ? given[TIME_I] + given[TIME_W] : given[TIME_B];
    out->overlapped = given[TIME_PAIR];
}

/* Names of schedules are letters, digits, '-' and '_'. */
static bool is_file(const char *name)
{
    return strpbrk(name, "./") != NULL;
}

/* Whether a name must be the only one: a scenario, or "all". */
static bool is_alone(const char *name)
{
    return is_file(name) || strcmp(name, "all") == 0;
}

static void take_name(const struct args_value *v)
{
    struct request *o = v->at;

    if (o->nnames == TIMETABLES_MAX)
        args_error(v->line, "at most %d schedules in one drawing", TIMETABLES_MAX);
    if (o->nnames > 0 && (is_alone(o->name) || is_alone(v->arg)))
        args_error(v->line, "only names of schedules go together; '%s' stands alone",
                   is_alone(v->arg) ? v->arg : o->name);
    o->names[o->nnames++] = v->arg;
    o->name = o->names[0];
}

static void check(const struct args_line *line, void *input)
{
    struct request *o = input;

    o->has_times = args_given(line, "times");
    if (!o->name || (!is_file(o->name) && (!o->sizes.nranks || !o->sizes.nmicrobatches)))
        args_error(line, "expected a scenario's file, or the name of a schedule, --ranks and "
                         "--microbatches");
    if (is_file(o->name) && (o->sizes.nranks || o->sizes.nmicrobatches || o->sizes.stages_per_rank))
        args_error(line, "ranks, stages and microbatches are those of the scenario; --set "
                         "changes them");
    if (!is_file(o->name) && (o->chosen.nsets > 0 || o->chosen.strategy))
        args_error(line, "--set and --strategy are for a scenario's file, not for '%s'", o->name);
}

#define AT(field) ARGS_AT(struct request, field)

static const struct args_row rows[] = {
    {"ranks", 'r', "N", args_count, AT(sizes.nranks), 1, INT32_MAX, "Ranks of the pipeline"},
    {"stages", 0, NULL, NULL, 0, 0, 0, 0, NULL},
    {"microbatches", 'm', "N", args_count, AT(sizes.nmicrobatches), 1, INT32_MAX,
     "Microbatches of the batch"},
    {"per-rank", 'v', "N", args_count, AT(sizes.stages_per_rank), 1, INT32_MAX,
     "Stages that each rank holds. If not given: 2 where a schedule is made for several, else 1"},
    {"set", 's', "KEY=VALUE", args_list, ARGS_LIST(struct request, chosen.sets, chosen.nsets), 0,
     CHOSEN_SETS_MAX,
     "Of a scenario: override a value, e.g. --set pipeline.schedule=ZBH1; may be given several "
     "times"},
    {"strategy", 'S', "NAME", args_text, AT(chosen.strategy), 0, 0,
     "Of a scenario: the strategy whose schedule is drawn"},
    {"times", 't', "TIMES", take_times, AT(times), 0, 0,
     "What a stage takes for a microbatch, as F=1,B=2: forward (1), backward (I + W), of the input "
     "only (1), of the weights only (1), and FB, an overlapped pair (0: a forward, then a "
     "backward). B alone is halved into I and W. If not given, all stages of a rank together take "
     "1, 1 and 1, so that every schedule has the same work"},
    {0}};

static void list_schedules(struct text *out)
{
    timetable_names(out, 0, 0, " and ");
}

static const struct args args = {
    .own = {rows, {.take = take_name}},
    .parts = {{&common_canvas, offsetof(struct request, canvas)}},
    .operands = "SCHEDULE...|SCENARIO",
    .more = list_schedules,
    .check = check,
    .help =
        "Draw a pipeline's timetable: which rank works on which microbatch when, and where it is "
        "idle; then the time of all, the bubble beside its formula, and how many microbatches are "
        "alive at the peak. Schedules are \f; 'all' is a table of them. Several are drawn one "
        "below "
        "another on one scale of time.\v"
        "Examples:\n"
        "  Where are ranks idle?\n"
        "    shardsim show timetable 1F1B --ranks 4 --microbatches 8\n"
        "  Two stages a rank, a backward of three forwards, as a picture:\n"
        "    shardsim show timetable Interleaved1F1B -r 4 -m 8 -v 2 -t F=1,B=3 -o a.svg\n"
        "  Three of them for a slide, on one scale of time:\n"
        "    shardsim show timetable 1F1B Interleaved1F1B ZBH1 -r 4 -m 8 -o three.svg\n"
        "  What do the ranks of a scenario's pipeline do when?\n"
        "    shardsim show timetable scenarios/train_pipeline.yaml --strategy 1f1b\n"
        "  Which schedule is idle least?\n"
        "    shardsim show timetable all --ranks 4 --microbatches 8\n\n" ARGS_EXIT_STATUS("")};

/* ---- one schedule ---- */

static int walk(struct timetable_walked *out, const struct request *o, const char *name)
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

static int draw(const struct request *o, const struct timetable_walked *walked, size_t n)
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

static int show_schedules(const struct request *o, const char *const *names, size_t n)
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

static int show_chosen(struct request *o)
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

static int show_all(const struct request *o)
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

static int run(int argc, char **argv)
{
    struct request o = {.times = TIMETABLE_TIMES_UNIT};

    canvas_init(&o.canvas);
    args_parse(&args, argc, argv, &o);
    if (is_file(o.name))
        return show_chosen(&o);
    if (strcmp(o.name, "all") != 0)
        return show_schedules(&o, o.names, o.nnames);
    if (o.canvas.output && strcmp(o.canvas.output + strlen(o.canvas.output) - 4, ".txt") != 0)
        return cmd_wrong("timetable", "a table cannot be a picture; expected --output FILE.txt");
    return show_all(&o);
}

const struct cmd show_timetable = {"timetable", "a pipeline's schedule: who is busy when", run};
