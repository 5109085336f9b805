/* timetable.h - what each rank of a pipeline does, in which order: a schedule as data.
 *
 * A model is split into stages 0..nstages-1; a stage is on one rank, and a rank may hold several.
 * A batch is cut into microbatches.  An action is a phase of one stage for one microbatch; each
 * rank does its actions strictly in order, one at a time, and waits where what an action needs is
 * not there yet (walk.h says who waits for whom).  A timetable holds no times and no sizes: those
 * are its readers' (walk.h, drawings, programs).
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
    TIMETABLE_BACKWARD_INPUT,  /* of inputs only: what the stage before waits for */
    TIMETABLE_BACKWARD_WEIGHT, /* of weights only: nobody waits for it */
};
#define TIMETABLE_KINDS 4

struct timetable_action {
    uint32_t stage;
    uint32_t microbatch;
    uint8_t kind; /* enum timetable_kind */
    /* This forward and the full backward that follows it are done as one, the transfers of each
     * beside the computation of the other.  Who does not know of it does one after the other. */
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

/* What a schedule is asked with; each at least 1. */
struct timetable_sizes {
    uint32_t nranks;          /* p */
    uint32_t stages_per_rank; /* v */
    uint32_t nmicrobatches;   /* m */
};

/* How long an action of one stage takes, in any unit; a backward that is not split takes
 * `backward`. */
struct timetable_times {
    double forward, backward, backward_input, backward_weight;
    /* Of an overlapped pair, both of which are there when it ends; 0: the forward, then the
     * backward, each there when it ends itself. */
    double overlapped;
};

/* Forward, input and weight gradient take one unit each, as the papers count. */
#define TIMETABLE_TIMES_UNIT \
    {                        \
        1, 2, 1, 1, 0        \
    }

/* The bubble in closed form: how long a rank is idle between the first action of any rank and the
 * last, in the times of one stage.  Where ranks have different work (pairs that overlap in less
 * time than one after the other), it is that of the rank that has least. */
struct timetable_bubble {
    const char *formula; /* in p, v, m and the times F, B, I, W and FB, the overlapped pair's */
    const char *where;   /* what it holds for, in words; "" for all that the schedule takes */
    double (*idle)(const struct timetable_sizes *sizes, const struct timetable_times *times);
    bool (*holds)(const struct timetable_sizes *sizes, const struct timetable_times *times);
};

struct timetable_row;

/* What is true of a schedule. */
enum timetable_flag {
    TIMETABLE_V_SHAPED = 1, /* rank r holds stages r and 2p - 1 - r; else those with s mod p = r */
    TIMETABLE_ANY_STAGES = 2, /* a rank may hold any number of stages; else `stages_per_rank` */
    TIMETABLE_IN_ROUNDS = 4,  /* microbatches go in rounds: floor(m / p) of them divide m */
    TIMETABLE_FILLED = 8,     /* it takes at least as many microbatches as there are stages */
    TIMETABLE_SPLITS = 16,    /* weights' gradients may be made later than inputs' */
    TIMETABLE_OVERLAPS = 32,  /* it has pairs that are done as one */
    /* Whether `search` has it: always, or never, as another is better at everything; else where
     * schedules have a range. */
    TIMETABLE_USUAL = 64,
    TIMETABLE_UNSEARCHED = 128,
    /* Which systems have it: Megatron-LM knows schedules by the number of stages, torchtitan by the
     * names that they have here, which are PyTorch's. */
    TIMETABLE_IN_MEGATRON = 256,
    TIMETABLE_IN_TORCHTITAN = 512,
};

#define TIMETABLE_OTHER_NAMES_MAX 3

/* A schedule is a file that ends in one of these, and a row of table.h: nobody else lists them. */
struct timetable_schedule {
    const char *name;         /* as written in scenarios and questions */
    const char *desc;         /* one line for people */
    const char *source;       /* where it is from: authors and arXiv number */
    uint32_t stages_per_rank; /* that it is made for, where nothing else is said */
    unsigned flags;           /* enum timetable_flag */
    uint32_t ahead; /* of timetable_ahead(); 0: the order is another, and nothing is known */
    struct timetable_bubble bubble;
    /* What it is called elsewhere, for "did you mean"; no name here begins so. */
    const char *other_names[TIMETABLE_OTHER_NAMES_MAX];
    /* What the flags do not say of the sizes that it takes, as timetable_check(); NULL: nothing. */
    int (*check)(const struct timetable_sizes *sizes, struct shd_error *err);
    void (*order)(struct timetable_row *row); /* add a rank's actions (row.h) */
};

/* In the order of their invention, ended by NULL. */
extern const struct timetable_schedule *const timetable_schedules[];

/* The schedule of a name, in which case, '-' and '_' count nothing; SHD_ENOTFOUND says which name
 * may have been meant. */
SHD_MUST_CHECK int timetable_find(const struct timetable_schedule **out, const char *name,
                                  struct shd_error *err);

/* The same among those of a system, of which one flag tells; SHD_EUNSUPPORTED names them. */
SHD_MUST_CHECK int timetable_find_in(const struct timetable_schedule **out, const char *name,
                                     enum timetable_flag flag, const char *system,
                                     struct shd_error *err);

/* The first schedule of a flag that is made for so many stages a rank; NULL: there is none. */
const struct timetable_schedule *timetable_made_for(enum timetable_flag flag, int64_t nstages);

/* Whether one is: where a rank may hold any number, for those from `stages_per_rank` on. */
bool timetable_is_made_for(const struct timetable_schedule *schedule, int64_t nstages);

/* Add the names of the schedules that have all flags of one set and none of another: "A, B" and,
 * before the last of several, `last`, such as " or ". */
void timetable_names(struct text *out, unsigned all, unsigned none, const char *last);

/* SHD_EINVAL or SHD_EINDIVISIBLE: what of sizes, each at least 1, does not fit a schedule, what was
 * expected, and the nearest that does. */
SHD_MUST_CHECK int timetable_check(const struct timetable_schedule *schedule,
                                   const struct timetable_sizes *sizes, struct shd_error *err);

/* Microbatches that a rank takes through one of its stages before it takes any through the next, at
 * most: a round, as near above p as divides them evenly, or all of fewer than p. */
uint32_t timetable_round(const struct timetable_schedule *schedule,
                         const struct timetable_sizes *sizes);

/* Forwards of a rank before its first backward: those of all its stages but the last in the first
 * round, its own, and schedule->ahead for each rank behind it; at most all.  Where nothing is known
 * there are at least those of one microbatch. */
uint64_t timetable_ahead(const struct timetable_schedule *schedule,
                         const struct timetable_sizes *sizes, uint32_t rank);

#define TIMETABLE_STAGES_MAX (1U << 24)
#define TIMETABLE_ACTIONS_MAX                                           \
    (1U << 27) /* 1.5 GiB; 1,024 ranks of 4,096 microbatches are 2^23.6 \
                */
/* Stages times microbatches, each of which has at most three actions. */
#define TIMETABLE_PLACES_MAX (TIMETABLE_ACTIONS_MAX / 3)

/* Build the timetable of a schedule: time and memory are linear in its actions.  The statuses of
 * timetable_check(); SHD_EINVAL where a size is 0; SHD_ERANGE beyond the limits above; SHD_ENOMEM. */
SHD_MUST_CHECK int timetable_build(struct timetable **out,
                                   const struct timetable_schedule *schedule,
                                   const struct timetable_sizes *sizes, struct shd_error *err);

void timetable_destroy(struct timetable *timetable); /* NULL is allowed */

/* How many actions all ranks have. */
size_t timetable_nactions(const struct timetable *timetable);

/* "F", "B", "I" or "W". */
const char *timetable_kind_letter(enum timetable_kind kind);

#define TIMETABLE_ACTION_TEXT_MAX 24

/* "3F0": stage 3, forward, microbatch 0.  Into buf; returns buf. */
const char *timetable_print_action(char *buf, size_t size, const struct timetable_action *action);

#endif /* TIMETABLE_TIMETABLE_H */
