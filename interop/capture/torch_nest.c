/* Find the nesting of events from their times (torch_trace.h): a sweep with a stack, thread by
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "capture/torch_own.h"

#define DEPTH_MAX 512 /* enclosing events examined for a call */

struct nest {
    struct torch_trace *trace;
    const struct torch_event **stack; /* of the current thread */
    uint32_t depth;
};

static int by_time(const void *a, const void *b)
{
    const struct torch_event *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->role > y->role) - (x->role < y->role);
}

static void take_place(struct torch_call *call, const struct torch_event *around)
{
    static const char engine[] = "autograd::engine::evaluate_function: ";
    struct json_piece name = around->name;

    if (json_piece_begins(name, engine))
        name = (struct json_piece){name.at + sizeof engine - 1, name.length - sizeof engine + 1};
    call->backward |= around->role == TORCH_BACKWARD || json_piece_has(name, "backward");
    if (!call->where.length)
        call->where = name;
}

/* Complete an op's sizes from a label inside it. */
static void take_sizes(struct torch_call *call, const struct torch_call *label)
{
    if (call->element_bytes == TORCH_UNKNOWN)
        call->element_bytes = label->element_bytes;
    if (call->in_elements == TORCH_UNKNOWN && call->out_elements == TORCH_UNKNOWN)
        call->in_elements = label->in_elements;
}

/* A record inside one of a library's own name is the same collective: the inner one counts if it is
 * known. */
static void look_at_own(struct torch_call *call, struct torch_call *own,
                        const struct torch_event *around)
{
    if (!torch_own_is_known(own))
        take_place(call, around);
    if (torch_own_is_known(call))
        own->counted = false;
    else
        call->counted = false;
}

/* Examine the events around a call, the innermost first. */
static void look_around(struct nest *n, const struct torch_event *event)
{
    struct torch_call *calls = n->trace->calls, *call = &calls[event->call];

    call->counted = true;
    for (uint32_t i = n->depth; i-- > 0 && n->depth - i <= DEPTH_MAX;) {
        const struct torch_event *around = n->stack[i];

        switch (around->role) {
        case TORCH_SCOPE:
        case TORCH_BACKWARD:
            take_place(call, around);
            break;
        case TORCH_FUNCTIONAL:
            if (!call->group_name.length)
                call->group_name = calls[around->call].group_name;
            break;
        case TORCH_GROUP_CALL:
            call->counted = false;
            break;
        case TORCH_OWN:
            look_at_own(call, &calls[around->call], around);
            break;
        case TORCH_OP:
            if (event->role == TORCH_LABEL)
                take_sizes(&calls[around->call], call);
            if (event->role == TORCH_GROUP_CALL)
                calls[around->call].counted = false;
            else
                call->counted = false;
            break;
        default:
            break;
        }
    }
}

static void sweep(struct nest *n)
{
    const struct torch_event *events = n->trace->events;

    for (uint32_t i = 0; i < n->trace->nevents; i++) {
        const struct torch_event *event = &events[i];

        while (n->depth && (n->stack[n->depth - 1]->thread != event->thread ||
                            n->stack[n->depth - 1]->end <= event->begin))
            n->depth--;
        if (event->role >= TORCH_OWN)
            look_around(n, event);
        if (event->role != TORCH_STEP && event->role < TORCH_LABEL)
            n->stack[n->depth++] = event;
    }
}

/* ---- labels of other threads ---- */

#define LABELS_AHEAD_MAX 1024 /* how many labels an op may precede its own label by */

static int by_call_begin(const void *a, const void *b)
{
    const struct torch_call *x = *(struct torch_call *const *)a;
    const struct torch_call *y = *(struct torch_call *const *)b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x > y) - (x < y);
}

/* The first free label from `from` on with the op's kind and size. */
static struct torch_call *own_label(struct torch_call **labels, uint32_t from, uint32_t n,
                                    const struct torch_call *op)
{
    for (uint32_t i = from; i < n && i - from < LABELS_AHEAD_MAX; i++)
        if (!labels[i]->taken && labels[i]->op->kind == op->op->kind &&
            labels[i]->in_elements == op->in_elements)
            return labels[i];
    return NULL;
}

/* Join labels of other threads to their ops.  Gloo labels work on its own thread, later than the op
 * that requested it; for a list of arrays only the label has the type. */
static bool join_labels(struct torch_trace *trace)
{
    struct torch_call **sorted = calloc(2 * (size_t)trace->ncalls + 1, sizeof *sorted);
    struct torch_call **labels = sorted ? sorted + trace->ncalls : NULL;
    uint32_t n = 0, nlabels = 0, next = 0;

    if (!sorted)
        return false;
    for (uint32_t i = 0; i < trace->ncalls; i++) {
        struct torch_call *call = &trace->calls[i];

        if (call->op && call->role == TORCH_LABEL)
            labels[nlabels++] = call;
        else if (call->op && call->role == TORCH_OP)
            sorted[n++] = call;
    }
    qsort(sorted, n, sizeof *sorted, by_call_begin);
    qsort(labels, nlabels, sizeof *labels, by_call_begin);
    for (uint32_t i = 0; i < n; i++) {
        struct torch_call *label;

        while (next < nlabels && labels[next]->begin < sorted[i]->begin)
            next++;
        label = own_label(labels, next, nlabels, sorted[i]);
        if (label) {
            label->taken = true;
            take_sizes(sorted[i], label);
        }
    }
    free(sorted);
    return true;
}

/* ---- kinds of records ---- */

/* Count labels only if there are no ops and group calls, kernels only if there are no labels
 * either.
 */
static void drop_echoes(struct torch_trace *trace)
{
    enum torch_role last = TORCH_KERNEL;

    for (uint32_t i = 0; i < trace->ncalls; i++)
        if (trace->calls[i].op && trace->calls[i].role >= TORCH_OP)
            last = trace->calls[i].role < last ? trace->calls[i].role : last;
    last = last < TORCH_GROUP_CALL ? TORCH_GROUP_CALL : last;
    for (uint32_t i = 0; i < trace->ncalls; i++)
        trace->calls[i].counted &= trace->calls[i].role <= last;
}

/* ---- steps ---- */

static int by_begin(const void *a, const void *b)
{
    const struct torch_event *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* "ProfilerStep#12" */
static int64_t step_number(struct json_piece name)
{
    int64_t number = 0;

    for (size_t i = sizeof "ProfilerStep#" - 1; i < name.length; i++)
        if (name.at[i] < '0' || name.at[i] > '9' || number > INT32_MAX)
            return TRACES_NO_STEP;
        else
            number = number * 10 + (name.at[i] - '0');
    return number;
}

/* Set the step of each call: the step running when the call begins, on any thread. */
static bool find_steps(struct torch_trace *trace)
{
    struct torch_event *steps = calloc((size_t)trace->nevents + 1, sizeof *steps);
    uint32_t n = 0;

    if (!steps)
        return false;
    for (uint32_t i = 0; i < trace->nevents; i++)
        if (trace->events[i].role == TORCH_STEP)
            steps[n++] = trace->events[i];
    qsort(steps, n, sizeof *steps, by_begin);
    for (uint32_t i = 0; i < trace->ncalls; i++) {
        struct torch_call *call = &trace->calls[i];
        uint32_t from = 0, to = n; /* the last that begins at or before the call */

        while (from < to) {
            uint32_t mid = from + (to - from) / 2;

            if (steps[mid].begin <= call->begin)
                from = mid + 1;
            else
                to = mid;
        }
        if (from && call->begin < steps[from - 1].end)
            call->step = step_number(steps[from - 1].name);
    }
    free(steps);
    return true;
}

bool torch_nest(struct torch_trace *trace)
{
    struct nest nest = {.trace = trace};

    nest.stack = calloc((size_t)trace->nevents + 1, sizeof *nest.stack);
    if (!nest.stack)
        return false;
    if (trace->nevents)
        qsort(trace->events, trace->nevents, sizeof *trace->events, by_time);
    sweep(&nest);
    free(nest.stack);
    drop_echoes(trace);
    return join_labels(trace) && find_steps(trace);
}
