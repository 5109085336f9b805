/* DualPipeV - a V of stages in which forwards overlap with backwards of other microbatches.
 *
 * Rank r holds stages r and 2p - 1 - r.  In the steady state a rank runs a forward of one stage and
 * a backward of the other as one pair, so that the transfers of each action (above all the
 * transfers of experts) hide behind the computation of the other.  Towards the end backwards are
 * split, and weight gradients fill the gaps.
 *
 * DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.2.1 (DualPipe), cut in
 * half into a V by DeepSeek and Sea AI Lab, https://github.com/deepseek-ai/DualPipe: the eight
 * steps below are the steps of that repository, and its README has the bubble, with PP = 2p.  Two
 * stages a rank; at least as many microbatches as stages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/row.h"
#include "timetable/table.h"

/* Forwards and backwards done so far by one of a rank's two stages. */
struct progress {
    uint32_t stage;
    uint32_t forwards, backwards;
};

/* A rank whose order is being written: its stages on the way down and up.  Input gradients among
 * the row's actions from `owed` on still lack their weight gradients. */
struct worker {
    struct timetable_row *row;
    struct progress down, up;
    size_t owed;
};

static void add_forward(struct worker *w, struct progress *at)
{
    timetable_add(w->row, TIMETABLE_FORWARD, at->stage, at->forwards++);
}

static void add_backward(struct worker *w, struct progress *at, bool split)
{
    timetable_add(w->row, split ? TIMETABLE_BACKWARD_INPUT : TIMETABLE_BACKWARD, at->stage,
                  at->backwards++);
}

static void add_pair(struct worker *w, struct progress *forward, struct progress *backward)
{
    const struct timetable_action f = {.stage = forward->stage, .microbatch = forward->forwards++};
    const struct timetable_action b = {.stage = backward->stage,
                                       .microbatch = backward->backwards++};

    timetable_add_overlapped(w->row, &f, &b);
}

/* Add the weight gradient of the earliest input gradient that still lacks one, if any. */
static void add_weight(struct worker *w)
{
    while (w->owed < w->row->nactions) {
        const struct timetable_action *a = &w->row->actions[w->owed++];

        if (a->kind == TIMETABLE_BACKWARD_INPUT) {
            timetable_add(w->row, TIMETABLE_BACKWARD_WEIGHT, a->stage, a->microbatch);
            return;
        }
    }
}

/* Steps 1 to 3: forwards; once the first gradients arrive, split backwards of `up` as well. */
static void begin(struct worker *w, uint32_t behind)
{
    for (uint32_t i = 0; i < 2 * behind; i++)
        add_forward(w, &w->down);
    for (uint32_t i = 0; i <= w->row->rank; i++) {
        add_forward(w, &w->down);
        add_forward(w, &w->up);
    }
    for (uint32_t i = 0; i < behind; i++) {
        add_backward(w, &w->up, true);
        add_weight(w);
        add_forward(w, &w->up);
    }
}

/* Steps 4 and 5: overlapped pairs; step 5 has no forwards of `down` left. */
static void overlap(struct worker *w, uint32_t behind)
{
    uint32_t n = w->row->sizes.nmicrobatches - 2 * w->row->sizes.nranks + w->row->rank + 1;

    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 && behind == 0) { /* not as a pair, to make the gradient sooner */
            add_forward(w, &w->down);
            add_backward(w, &w->up, false);
        } else {
            add_pair(w, &w->down, &w->up);
        }
        add_pair(w, &w->up, &w->down);
    }
    for (uint32_t i = 0; i < behind; i++) {
        add_backward(w, &w->up, false);
        add_pair(w, &w->up, &w->down);
    }
}

/* Steps 6 to 8: backwards, split from the middle of step 6 on. */
static void end(struct worker *w, uint32_t behind)
{
    uint32_t n = w->row->rank + 1; /* backwards of each stage in step 6 */

    for (uint32_t i = 0; i < n; i++) {
        add_backward(w, &w->up, 2 * i + 1 > n);
        add_backward(w, &w->down, 2 * i + 2 > n);
    }
    for (uint32_t i = 0; i < behind; i++) {
        add_weight(w);
        add_backward(w, &w->down, true);
    }
    for (uint32_t i = 0; i < n; i++)
        add_weight(w);
}

static void order(struct timetable_row *row)
{
    uint32_t behind = row->sizes.nranks - 1 - row->rank; /* ranks after this one */
    struct worker w = {.row = row,
                       .down = {.stage = row->rank},
                       .up = {.stage = 2 * row->sizes.nranks - 1 - row->rank}};

    begin(&w, behind);
    overlap(&w, behind);
    end(&w, behind);
}

static double idle(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    /* If a pair's actions run one after the other, the next stage waits for the forward only. */
    double pair = times->overlapped > 0 ? times->overlapped : times->backward;

    return (sizes->nranks - 1) * (pair + times->backward - 3 * times->backward_weight);
}

static bool holds(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    (void)sizes;
    return timetable_even(times) &&
           (times->overlapped == 0 || (times->overlapped >= times->backward &&
                                       times->overlapped <= times->forward + times->backward));
}

const struct timetable_schedule timetable_dualpipev = {
    .name = "DualPipeV",
    .desc = "a V in which forwards overlap with backwards of other microbatches",
    .source = "DeepSeek-AI, arXiv:2412.19437",
    .stages_per_rank = 2,
    .flags = TIMETABLE_V_SHAPED | TIMETABLE_FILLED | TIMETABLE_SPLITS | TIMETABLE_OVERLAPS |
             TIMETABLE_IN_TORCHTITAN,
    .bubble = {"(p-1)(FB+B-3W)",
               "F = I = W, B <= FB <= F+B; FB is B if the two of a pair run in sequence", idle,
               holds},
    .order = order,
};
