/* The op on pipeline schedules: the order of each rank's actions, and the resulting figures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/limits.h"
#include "query/query.h"
#include "question/read_field.h"
#include "timetable/timetable.h"
#include "timetable/walk.h"

static int read_size(uint32_t *out, const json_t *in, const char *key, struct shd_error *err)
{
    int64_t value;
    int status = read_int(&value, in, key, 1, err);

    if (status != SHD_OK)
        return status;
    if (value < 1 || value > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL, "'%s' is %lld; expected at least 1 and at most %d",
                             key, (long long)value, INT32_MAX);
    *out = (uint32_t)value;
    return SHD_OK;
}

static int read_sizes(struct timetable_sizes *out, const json_t *in, struct shd_error *err)
{
    int status = read_size(&out->nranks, in, "pp", err);

    if (status == SHD_OK)
        status = read_size(&out->stages_per_rank, in, "stages_per_rank", err);
    if (status == SHD_OK)
        status = read_size(&out->nmicrobatches, in, "microbatches", err);
    return status;
}

/* Read in.times {"F", "B", "I", "W", "FB"}; by default one unit each, and two for a backward. */
static int read_times(struct timetable_times *out, const json_t *in, struct shd_error *err)
{
    const struct timetable_times unit = TIMETABLE_TIMES_UNIT;
    const json_t *times = json_object_get(in, "times");
    int status;

    if (times && !json_is_object(times))
        return shd_error_set(err, SHD_ETYPE, "'times' must be an object");
    status = read_number(&out->forward, times, "F", unit.forward, err);
    if (status == SHD_OK)
        status = read_number(&out->backward, times, "B", unit.backward, err);
    if (status == SHD_OK)
        status = read_number(&out->backward_input, times, "I", unit.backward_input, err);
    if (status == SHD_OK)
        status = read_number(&out->backward_weight, times, "W", unit.backward_weight, err);
    if (status == SHD_OK)
        status = read_number(&out->overlapped, times, "FB", unit.overlapped, err);
    return status;
}

/* Check the number of actions in an answer: three for each stage and microbatch. */
static int check_size(const struct timetable_sizes *s, struct shd_error *err)
{
    uint128 n = (uint128)s->nranks * s->stages_per_rank * s->nmicrobatches * 3;

    if (n > LIMIT_LISTED_ELEMENTS)
        return shd_error_set(err, SHD_ERANGE,
                             "%u ranks, %u stages per rank and %u microbatches have too many "
                             "actions to list",
                             (unsigned)s->nranks, (unsigned)s->stages_per_rank,
                             (unsigned)s->nmicrobatches);
    return SHD_OK;
}

/* Write an action, or two that overlap, in PyTorch's notation; returns how many. */
static size_t write_action(struct json_out *out, const struct timetable_action *a)
{
    char first[TIMETABLE_ACTION_TEXT_MAX], second[TIMETABLE_ACTION_TEXT_MAX];
    struct text pair = TEXT_INIT;

    timetable_print_action(first, sizeof first, a);
    if (!a->overlapped) {
        json_out_string(out, first);
        return 1;
    }
    timetable_print_action(second, sizeof second, a + 1);
    text_addf(&pair, "(%s;%s)OVERLAP_F_B", first, second);
    json_out_join(out, &pair);
    return 2;
}

static void write_order(struct json_out *out, const struct timetable *t)
{
    json_out_key_array(out, "order");
    for (uint32_t r = 0; r < t->nranks; r++) {
        json_out_begin_array(out);
        for (size_t i = t->first[r]; i < t->first[r + 1];)
            i += write_action(out, &t->actions[i]);
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

static void write_counts(struct json_out *out, const char *key, const uint32_t *counts, size_t n)
{
    json_out_key_array(out, key);
    for (size_t i = 0; i < n; i++)
        json_out_int(out, counts[i]);
    json_out_end_array(out);
}

static void write_answer(struct json_out *out, const struct timetable *t,
                         const struct timetable_walk *walk)
{
    json_out_begin_object(out);
    write_order(out, t);
    json_out_key_double(out, "makespan", walk->makespan);
    json_out_key_double(out, "bubble_fraction", walk->bubble);
    write_counts(out, "peak_live_until_I_or_B", walk->live_until_input, t->nranks);
    write_counts(out, "peak_live_until_W_or_B", walk->live_until_weight, t->nranks);
    json_out_end_object(out);
}

static int answer_schedule(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const struct timetable_schedule *schedule = NULL;
    struct timetable *timetable = NULL;
    struct timetable_times times;
    struct timetable_sizes sizes;
    struct timetable_walk walk;
    const char *name;
    int status = read_string(&name, in, "schedule", "", err);

    if (status == SHD_OK)
        status = timetable_find(&schedule, name, err);
    if (status == SHD_OK)
        status = read_sizes(&sizes, in, err);
    if (status == SHD_OK)
        status = read_times(&times, in, err);
    if (status == SHD_OK)
        status = check_size(&sizes, err);
    if (status == SHD_OK)
        status = timetable_build(&timetable, schedule, &sizes, err);
    if (status == SHD_OK)
        status = timetable_walk(&walk, timetable, &times, err);
    if (status == SHD_OK) {
        write_answer(out, timetable, &walk);
        timetable_walk_fini(&walk);
    }
    timetable_destroy(timetable);
    return status;
}

const struct query_op query_pipeline_ops[] = {
    {.name = "pipeline.schedule",
     .answer = answer_schedule,
     .about = "The order of forward and backward passes on each pipeline rank, with makespan and "
              "bubble without communication.",
     .in = QUERY_FIELDS(
         {"schedule", "text", NULL,
          "Name of the schedule ('shardsim show timetable all' lists them)."},
         {"pp", "whole number from 1 to 2147483647", "1", "Ranks of the pipeline."},
         {"stages_per_rank", "whole number from 1 to 2147483647", "1", "Stages of each rank."},
         {"microbatches", "whole number from 1 to 2147483647", "1", "Microbatches."},
         {"times", "object", "{}", "Duration of an action, in any unit."},
         {"times.F", "number", "1", "Forward."}, {"times.B", "number", "2", "Backward."},
         {"times.I", "number", "1", "Backward of inputs."},
         {"times.W", "number", "1", "Backward of weights."},
         {"times.FB", "number", "their sum", "An overlapped forward and backward."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"order", "list of lists", NULL,
          "The actions of each rank: stage, letter, microbatch, for example '1F0'; an overlapped "
          "pair is '(0F1;0B0)OVERLAP_F_B'."},
         {"makespan", "number", NULL, "Time of the whole schedule."},
         {"bubble_fraction", "number", NULL,
          "Pipeline bubble: the fraction of makespan in which ranks are idle."},
         {"peak_live_until_I_or_B", "list of whole numbers", NULL,
          "For each rank the peak number of microbatches in flight from F to I or B."},
         {"peak_live_until_W_or_B", "list of whole numbers", NULL,
          "For each rank the peak number of microbatches in flight from F to W or B."}),
     .errors = "not-found",
     .question = "{'schedule': '1F1B', 'pp': 2, 'microbatches': 3}",
     .reply = "'out':{'order':[['0F0','0F1','0B0','0F2','0B1','0B2'],['1F0','1B0','1F1','1B1','1F2'"
              ",'1B2']],'makespan':12.0,'bubble_fraction':0.25,'peak_live_until_I_or_B':[2,1],'"
              "peak_live_until_W_or_B':[2,1]}"},
    {.name = NULL}};
