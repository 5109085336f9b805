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
        args_error(v->line, "too many schedules; expected at most %d in a drawing",
                   TIMETABLES_MAX);
    if (o->nnames > 0 && (is_alone(o->name) || is_alone(v->arg)))
        args_error(v->line,
                   "'%s' cannot be combined with other arguments; only names of schedules can",
                   is_alone(v->arg) ? v->arg : o->name);
    o->names[o->nnames++] = v->arg;
    o->name = o->names[0];
}

static void check(const struct args_line *line, void *input)
{
    struct timetables *o = input;

    o->has_times = args_given(line, "times");
    if (!o->name || (!timetables_is_file(o->name) && (!o->sizes.nranks || !o->sizes.nmicrobatches)))
        args_error(
            line,
            "expected a scenario file, or the name of a schedule with --ranks and --microbatches");
    if (timetables_is_file(o->name) &&
        (o->sizes.nranks || o->sizes.nmicrobatches || o->sizes.stages_per_rank))
        args_error(line,
                   "the scenario sets ranks, stages and microbatches; change them with --set");
    if (!timetables_is_file(o->name) && (o->chosen.nsets > 0 || o->chosen.strategy))
        args_error(line, "--set and --strategy need a scenario file; '%s' is a schedule", o->name);
}

#define AT(field) ARGS_AT(struct timetables, field)

static const struct args_row rows[] = {
    {"ranks", 'r', "N", args_count, AT(sizes.nranks), 1, INT32_MAX, "Ranks of the pipeline"},
    {"stages", 0, NULL, NULL, 0, 0, 0, 0, NULL},
    {"microbatches", 'm', "N", args_count, AT(sizes.nmicrobatches), 1, INT32_MAX,
     "Number of microbatches"},
    {"per-rank", 'v', "N", args_count, AT(sizes.stages_per_rank), 1, INT32_MAX,
     "Stages per rank (default: 2 for schedules with several stages, else 1)"},
    {"set", 's', "KEY=VALUE", args_list, ARGS_LIST(struct timetables, chosen.sets, chosen.nsets), 0,
     CHOSEN_SETS_MAX,
     "With a scenario: override a key, e.g. --set pipeline.schedule=ZBH1; repeatable"},
    {"strategy", 'S', "NAME", args_text, AT(chosen.strategy), 0, 0,
     "With a scenario: the strategy to draw"},
    {"times", 't', "TIMES", take_times, AT(times), 0, 0,
     "Times of a stage for one microbatch, e.g. F=1,B=2: F forward (1), B backward (I + W), I "
     "input gradient (1), W weight gradient (1), FB overlapped forward and backward (0: one after "
     "the other). B alone is split evenly into I and W. Default: F, I and W of all stages of a "
     "rank sum to 1 each, so that every schedule has equal work"},
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
    .help = "Draw the timetable of a pipeline schedule: the microbatch on each rank over time, the "
            "total time, the bubble beside its formula, and the microbatches in flight at the "
            "peak. Schedules are \f; 'all' prints a table of all. Several schedules share one time "
            "scale.\vExamples:\n"
            "  The bubble of 1F1B:\n"
            "    shardsim show timetable 1F1B --ranks 4 --microbatches 8\n"
            "  Two stages per rank, a backward as long as three forwards, as a picture:\n"
            "    shardsim show timetable Interleaved1F1B -r 4 -m 8 -v 2 -t F=1,B=3 -o a.svg\n"
            "  Three schedules for a slide, on one time scale:\n"
            "    shardsim show timetable 1F1B Interleaved1F1B ZBH1 -r 4 -m 8 -o three.svg\n"
            "  The timetable of a scenario's pipeline:\n"
            "    shardsim show timetable scenarios/train_pipeline.yaml --strategy 1f1b\n"
            "  Which schedule has the smallest bubble?\n"
            "    shardsim show timetable all --ranks 4 --microbatches 8\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct timetables o = {.times = TIMETABLE_TIMES_UNIT};

    args_parse(&args, argc, argv, &o);
    return timetables_run(&o);
}

const struct cmd show_timetable = {"timetable", "timetable of a pipeline schedule", run};
