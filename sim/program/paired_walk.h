/* paired_walk.h - the actions of a rank with its overlapped pairs interleaved.
 *
 * A pair of a timetable is a forward of one microbatch and a backward of another, neither of which
 * reads what the other makes.  Interleaved, they take turns: each goes on until it has started to
 * move experts' rows, which then travel while the other computes (DeepSeek-V3, arXiv 2412.19437,
 * section 3.2.1).  The order is that of times on paper alone; an execution does one after the
 * other, with the same results.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_PAIRED_WALK_H
#define PROGRAM_PAIRED_WALK_H

#include "program/program.h"

struct program_paired_walk {
    struct program_walk parts[2]; /* [1]: of the pair's backward */
    uint32_t ends[2];             /* the turn at which each part of a pair ends; 0: no pair */
    uint32_t at;                  /* the part that goes on */
    bool interleaves;
};

/* Begin; without `interleaves` the order is that of program_walk_next(). */
struct program_paired_walk program_paired_walk_begin(const struct program *program, uint32_t rank,
                                                     bool interleaves);
bool program_paired_walk_next(struct program_paired_walk *walk,
                              struct program_action *out); /* false: the end */

#endif /* PROGRAM_PAIRED_WALK_H */
