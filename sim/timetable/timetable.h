/* timetable.h - the actions of each rank of a pipeline, in order: a schedule as data.
 *
 * A model is split into stages 0..nstages-1; a stage is on one rank, and a rank may hold several. A
 * batch is split into microbatches.  An action is a phase of one stage for one microbatch; each rank
 * does its actions strictly in order, one at a time, and waits until the inputs of an action have
 * arrived (walk.h has the dependencies).  A timetable holds no times and no sizes: its
 * readers (walk.h, drawings, programs) have them.
 *
 * Thread class: a timetable is immutable once built; schedules are constants.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIMETABLE_TIMETABLE_H
#define TIMETABLE_TIMETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

enum timetable_kind {
    TIMETABLE_FORWARD,
    TIMETABLE_BACKWARD,        /* gradients of inputs and of weights */
    TIMETABLE_BACKWARD_INPUT,  /* of inputs only: the stage before waits for them */
    TIMETABLE_BACKWARD_WEIGHT, /* of weights only: no action waits for them */
};
#define TIMETABLE_KINDS 4

struct timetable_action {
    uint32_t stage;
    uint32_t microbatch;
    uint8_t kind; /* enum timetable_kind */
    /* This forward and the next full backward are one overlapped pair: the transfers of each overlap
     * the computation of the other.  Readers that ignore the flag run the two in sequence. */
    bool overlapped;
};

/* Free with timetable_destroy(). */
struct timetable {
    uint32_t nranks;
    uint32_t nstages;
    uint32_t nmicrobatches;
    uint32_t *rank_of_stage; /* [nstages] */
    /* Rank r does actions[first[r]] to actions[first[r + 1] - 1], in this order. */
    size_t *first; /* [nranks + 1] */
    struct timetable_action *actions;
};

/* The sizes that a schedule is built for; each is at least 1. */
struct timetable_sizes {
    uint32_t nranks;          /* p */
    uint32_t stages_per_rank; /* v */
    uint32_t nmicrobatches;   /* m */
};

/* Duration of an action of one stage, in any unit; a backward that is not split takes
 * `backward`. */
struct timetable_times {
    double forward, backward, backward_input, backward_weight;
    /* Duration of an overlapped pair, whose results are both ready when the pair ends.  0: the
     * forward is done first, then the backward, and each result is ready when its own action
     * ends. */
    double overlapped;
};

/* Forward, input and weight gradient take one unit each, as the papers count. */
#define TIMETABLE_TIMES_UNIT \
    {                        \
        1, 2, 1, 1, 0        \
    }

/* The bubble in closed form: how long a rank is idle between the first action of any rank and the
 * last, in the times of one stage.  If ranks have different work (overlapped pairs that take less
 * time than one action after the other), the idle time is that of the rank with the least work. */
struct timetable_bubble {
    const char *formula; /* in p, v, m and the times F, B, I, W and FB (an overlapped pair) */
    const char *where;   /* its condition in words; "" if it holds for all accepted sizes */
    double (*idle)(const struct timetable_sizes *sizes, const struct timetable_times *times);
    bool (*holds)(const struct timetable_sizes *sizes, const struct timetable_times *times);
};

struct timetable_row;

/* Properties of a schedule. */
enum timetable_flag {
    TIMETABLE_V_SHAPED = 1, /* rank r holds stages r and 2p - 1 - r; else all s with s mod p = r */
    TIMETABLE_ANY_STAGES = 2, /* a rank may hold any number of stages; else `stages_per_rank` */
    TIMETABLE_IN_ROUNDS = 4,  /* microbatches go in rounds: floor(m / p) of them divide m */
    TIMETABLE_FILLED = 8,     /* microbatches must not be fewer than stages */
    TIMETABLE_SPLITS = 16,    /* weight gradients may be made later than input gradients */
    TIMETABLE_OVERLAPS = 32,  /* has overlapped pairs */
    /* Whether `search` tries the schedule: always, or never, because another schedule is better at
     * everything.  With neither flag, only where schedules have a range. */
    TIMETABLE_USUAL = 64,
    TIMETABLE_UNSEARCHED = 128,
    /* Systems that have the schedule: Megatron-LM selects schedules by the number of stages,
     * torchtitan by the names used here, which are PyTorch's. */
    TIMETABLE_IN_MEGATRON = 256,
    TIMETABLE_IN_TORCHTITAN = 512,
};

#define TIMETABLE_OTHER_NAMES_MAX 3

/* A schedule is a file that ends in a constant of this type, and a row of table.h; no other place
 * lists schedules. */
struct timetable_schedule {
    const char *name;         /* as written in scenarios and questions */
    const char *desc;         /* one line for people */
    const char *source;       /* authors and arXiv number */
    uint32_t stages_per_rank; /* the default; the only number without TIMETABLE_ANY_STAGES */
    unsigned flags;           /* enum timetable_flag */
    uint32_t ahead;           /* for timetable_ahead(); 0: not the order of interleave.h */
    struct timetable_bubble bubble;
    /* Names used elsewhere, for "did you mean"; no `name` begins with one of them. */
    const char *other_names[TIMETABLE_OTHER_NAMES_MAX];
    /* Checks conditions on sizes beyond the flags, for timetable_check(); NULL: none. */
    int (*check)(const struct timetable_sizes *sizes, struct shd_error *err);
    void (*order)(struct timetable_row *row); /* add a rank's actions (row.h) */
};

/* In the order of their invention, ended by NULL. */
extern const struct timetable_schedule *const timetable_schedules[];

/* Find a schedule by name, ignoring case, '-' and '_'; SHD_ENOTFOUND suggests the name that may
 * have been meant. */
SHD_MUST_CHECK int timetable_find(const struct timetable_schedule **out, const char *name,
                                  struct shd_error *err);

/* Find a schedule by name among the schedules with a flag, which says that `system` has them;
 * SHD_EUNSUPPORTED names the schedules of the system. */
SHD_MUST_CHECK int timetable_find_in(const struct timetable_schedule **out, const char *name,
                                     enum timetable_flag flag, const char *system,
                                     struct shd_error *err);

/* The first schedule with a flag that is made for `nstages` stages a rank; NULL: none. */
const struct timetable_schedule *timetable_made_for(enum timetable_flag flag, int64_t nstages);

/* Whether a schedule is made for `nstages` stages a rank: `stages_per_rank`, or, if a rank may hold
 * any number, more. */
bool timetable_is_made_for(const struct timetable_schedule *schedule, int64_t nstages);

/* Add the names of the schedules that have all flags in `all` and none in `none`: "A, B", with
 * `last`, such as " or ", before the last of several. */
void timetable_names(struct text *out, unsigned all, unsigned none, const char *last);

/* Check sizes, each at least 1, for a schedule.  SHD_EINVAL or SHD_EINDIVISIBLE: the message says
 * which size does not fit and what was expected, or the nearest that fits. */
SHD_MUST_CHECK int timetable_check(const struct timetable_schedule *schedule,
                                   const struct timetable_sizes *sizes, struct shd_error *err);

/* Size of a round, the most microbatches that a rank takes through one of its stages before the
 * next stage: m / floor(m / p), or m if m < p or the schedule has no rounds. */
uint32_t timetable_round(const struct timetable_schedule *schedule,
                         const struct timetable_sizes *sizes);

/* Forwards of a rank before its first backward: one round of all its stages but the last, one
 * forward of the last stage, and schedule->ahead for each rank after it; at most all.  If
 * schedule->ahead is 0, a lower bound: one microbatch through the rank's stages. */
uint64_t timetable_ahead(const struct timetable_schedule *schedule,
                         const struct timetable_sizes *sizes, uint32_t rank);

#define TIMETABLE_STAGES_MAX (1U << 24)
#define TIMETABLE_ACTIONS_MAX                                           \
    (1U << 27) /* 1.5 GiB; 1,024 ranks of 4,096 microbatches are 2^23.6 \
                */
/* Stages times microbatches, each of which has at most three actions. */
#define TIMETABLE_PLACES_MAX (TIMETABLE_ACTIONS_MAX / 3)

/* Build the timetable of a schedule; time and memory are linear in its actions.  Returns the
 * statuses of timetable_check(); SHD_EINVAL if a size is 0; SHD_ERANGE beyond the limits above;
 * SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_build(struct timetable **out,
                                   const struct timetable_schedule *schedule,
                                   const struct timetable_sizes *sizes, struct shd_error *err);

void timetable_destroy(struct timetable *timetable); /* NULL is allowed */

/* Number of actions of all ranks. */
size_t timetable_nactions(const struct timetable *timetable);

/* "F", "B", "I" or "W". */
const char *timetable_kind_letter(enum timetable_kind kind);

#define TIMETABLE_ACTION_TEXT_MAX 24

/* "3F0": stage 3, forward, microbatch 0.  Into buf; returns buf. */
const char *timetable_print_action(char *buf, size_t size, const struct timetable_action *action);

#endif /* TIMETABLE_TIMETABLE_H */
