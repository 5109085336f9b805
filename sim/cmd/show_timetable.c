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
#include "cmd/show/timetables.h"
#include "timetable/timetable.h"

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

/* Whether a name must be the only one: a scenario, or "all". */
static bool is_alone(const char *name)
{
    return timetables_is_file(name) || strcmp(name, "all") == 0;
}

static void take_name(const struct args_value *v)
{
    struct timetables *o = v->at;

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
    struct timetables *o = input;

    o->has_times = args_given(line, "times");
    if (!o->name || (!timetables_is_file(o->name) && (!o->sizes.nranks || !o->sizes.nmicrobatches)))
        args_error(line, "expected a scenario's file, or the name of a schedule, --ranks and "
                         "--microbatches");
    if (timetables_is_file(o->name) &&
        (o->sizes.nranks || o->sizes.nmicrobatches || o->sizes.stages_per_rank))
        args_error(line, "ranks, stages and microbatches are those of the scenario; --set "
                         "changes them");
    if (!timetables_is_file(o->name) && (o->chosen.nsets > 0 || o->chosen.strategy))
        args_error(line, "--set and --strategy are for a scenario's file, not for '%s'", o->name);
}

#define AT(field) ARGS_AT(struct timetables, field)

static const struct args_row rows[] = {
    {"ranks", 'r', "N", args_count, AT(sizes.nranks), 1, INT32_MAX, "Ranks of the pipeline"},
    {"stages", 0, NULL, NULL, 0, 0, 0, 0, NULL},
    {"microbatches", 'm', "N", args_count, AT(sizes.nmicrobatches), 1, INT32_MAX,
     "Microbatches of the batch"},
    {"per-rank", 'v', "N", args_count, AT(sizes.stages_per_rank), 1, INT32_MAX,
     "Stages that each rank holds. If not given: 2 where a schedule is made for several, else 1"},
    {"set", 's', "KEY=VALUE", args_list, ARGS_LIST(struct timetables, chosen.sets, chosen.nsets), 0,
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
    .own = {.rows = rows, .word = {.take = take_name}},
    .parts = {{&common_canvas, offsetof(struct timetables, canvas)}},
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

static int run(int argc, char **argv)
{
    struct timetables o = {.times = TIMETABLE_TIMES_UNIT};

    args_parse(&args, argc, argv, &o);
    return timetables_run(&o);
}

const struct cmd show_timetable = {"timetable", "a pipeline's schedule: who is busy when", run};
