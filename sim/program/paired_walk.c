/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "program/paired_walk.h"

struct program_paired_walk program_paired_walk_begin(const struct program *program, uint32_t rank,
                                                     bool interleaves)
{
    return (struct program_paired_walk){.parts = {program_walk_begin(program, rank)},
                                        .interleaves = interleaves};
}

/* The next action of a part of a pair; false, and nothing is changed: the part is over. */
static bool next_of_part(struct program_paired_walk *w, uint32_t part, struct program_action *out)
{
    struct program_walk next = w->parts[part];

    if (!program_walk_next(&next, out) || next.turn >= w->ends[part])
        return false;
    w->parts[part] = next;
    return true;
}

/* Begin a pair if the action that follows is the first of one. */
static void enter_pair(struct program_paired_walk *w)
{
    const struct program *program = w->parts[0].program;
    struct program_walk next = w->parts[0];
    struct program_action action;
    uint32_t turn;

    if (!program_walk_next(&next, &action) || !action.begins)
        return;
    turn = next.turn;
    if (program->turns[turn].paired == 0)
        return;
    w->parts[1] = program_walk_begin(program, next.rank);
    w->parts[1].turn = turn + 1;
    w->ends[0] = turn + 1;
    w->ends[1] = turn + 1 + program->turns[turn].paired;
    w->at = 0;
}

/* Go on behind a pair. */
static void leave_pair(struct program_paired_walk *w)
{
    const struct program *program = w->parts[0].program;
    uint32_t rank = w->parts[0].rank;

    w->parts[0] = program_walk_begin(program, rank);
    w->parts[0].turn = w->ends[1];
    w->ends[0] = w->ends[1] = 0;
}

bool program_paired_walk_next(struct program_paired_walk *w, struct program_action *out)
{
    const struct program_op *op;

    if (w->ends[1] == 0 && w->interleaves)
        enter_pair(w);
    if (w->ends[1] == 0)
        return program_walk_next(&w->parts[0], out);
    if (!next_of_part(w, w->at, out)) {
        w->at = !w->at;
        if (!next_of_part(w, w->at, out)) {
            leave_pair(w);
            return program_paired_walk_next(w, out);
        }
    }
    op = &w->parts[0].program->ops[out->op];
    if (op->kind == PROGRAM_ROWS && program_communicates(op))
        w->at = !w->at;
    return true;
}
