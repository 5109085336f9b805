/* search/space.h - all layouts of a model's step over a number of devices.
 *
 * A layout is one value for each choice; the choices are rows of a table (space_choices.c), with the
 * usual names of their values. dp follows from tp, pp and cp: the devices that they leave.
 * Ranges keep a choice to some values or forbid some.
 *
 * dp may be two axes of the mesh.  Along the inner axis, neighbouring replicas hold a layer's experts
 * together (ep), or ZeRO's shards (shards); along the outer axis, groups of these neighbours are
 * replicas of each other (space_inner()).
 *
 * Layouts are ordered by the loops that list them; the order is the same on every machine and
 * breaks ties between equally good layouts.
 *
 * Thread class: immutable once made; pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"
#include "scenario/scenario.h"
#include "search/recompute_choice.h"
#include "timetable/timetable.h"

enum space_choice {
    SPACE_TP,
    SPACE_PP,
    SPACE_CP,
    SPACE_DP, /* devices left by tp, pp and cp; can be ranged, too */
    SPACE_EP, /* expert parallelism: replicas times the axes of SPACE_FOLD */
    SPACE_VIRTUAL,
    SPACE_SCHEDULE, /* number among the searched schedules of timetable_schedules[] */
    SPACE_SPLIT,
    SPACE_MICROBATCH,
    SPACE_RECOMPUTE,
    SPACE_SP,
    SPACE_ZERO,
    SPACE_SHARDS, /* devices that ZeRO shards over: divides dp, or dp x cp; 1 without ZeRO */
    SPACE_ORDER,
    SPACE_METHOD,   /* of context parallelism */
    SPACE_PRODUCTS, /* how the operands of matmuls are rounded (FP8 ...) */
    SPACE_FOLD,     /* axes besides the replicas' that experts are sharded over */
    SPACE_NCHOICES
};

/* Layers of each stage: as even as possible; as the scenario lists them; or even, with fewer in the
 * last stage, by the number of layers that take as long as the head (space_light()). */
enum space_split { SPACE_SPLIT_EVEN, SPACE_SPLIT_GIVEN, SPACE_SPLIT_LIGHT, SPACE_NSPLITS };

enum space_method { SPACE_RING, SPACE_ALL_TO_ALL, SPACE_NMETHODS };

/* Bits of SPACE_FOLD.  Experts folded over tp are whole; others are sharded over tp by their widths.  Megatron
 * Core calls this parallel folding (arXiv 2504.14960). */
enum space_fold { SPACE_FOLD_CP = 1, SPACE_FOLD_TP = 2, SPACE_NFOLDS = 4 };

/* Values by choice.  The microbatch is the number of sequences that a replica processes at a time;
 * the order is a number for space_order(). */
struct layout {
    int32_t value[SPACE_NCHOICES];
};

#define SPACE_AXES 4    /* pp, dp, cp, tp */
#define SPACE_ORDERS 24 /* of these */

/* The axes of an order from the outermost in, as choices. */
const uint8_t *space_order(int32_t order);

struct space_range {
    enum space_choice choice;
    int32_t least, most;
    bool forbids; /* values from `least` to `most` are forbidden; false: all other values are */
};

#define SPACE_RANGES_MAX 64

/* Sizes that all layouts share. */
struct space {
    int64_t devices, layers, heads, kv_heads, mlp_dim, vocab, seq, batch;
    int64_t experts;            /* of a layer; 0: no experts, and the next four sizes mean
                                   nothing */
    int64_t first_dense, every; /* layers without experts: the first, then all but every
                                   `every`-th */
    int64_t expert_dim, shared_dim; /* widths; shared_dim 0: no shared expert */
    bool mlps;                      /* layers of type mlp, whatever layers have experts */
    int64_t states, state_keys;     /* heads of layers with a state, and of their keys; 0: none */
    bool in_order;                  /* layers without attention take tokens in their order */
    bool names_recompute;           /* the scenario names values to recompute */
    int64_t head_layers; /* flops of the LM head in units of a layer's matmuls, rounded */
    size_t nstages;                 /* stages that the scenario lists layers for; 0: none */
    const int64_t *stage_layers;    /* not owned */
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges;
};

/* The space of a scenario's model on `devices` devices (0: as many as its mesh has).  The scenario
 * must outlive the space.  SHD_EUNSUPPORTED: the model is no decoder, or the step has no update. */
SHD_MUST_CHECK int space_init(struct space *out, const struct scenario *scenario, int64_t devices,
                              struct shd_error *err);

/* Read "tp=8", "tp=1..8" or "recompute=full".  SHD_EINVAL, SHD_ENOTFOUND. */
SHD_MUST_CHECK int space_parse_range(struct space_range *out, const char *text, bool forbids,
                                     struct shd_error *err);

/* Layouts that differ only in ZeRO's stage, in the devices that ZeRO shards over, and in the order of
 * the mesh's axes.  Up to nine of ten layouts of a space differ from another in these alone. */
struct space_set {
    struct layout layout; /* without these choices */
    uint32_t nmembers;    /* at least 1 */
};

/* List the sets of a space in the order of their layouts, an array for free().  SHD_ENOMEM. */
SHD_MUST_CHECK int space_list_sets(struct space_set **out, size_t *n, const struct space *space,
                                   struct shd_error *err);

/* How many members the set of a layout has. */
uint32_t space_members(const struct space *space, const struct layout *layout);

/* List the members of a layout's set in their order, an array for free().  SHD_ENOMEM. */
SHD_MUST_CHECK int space_list_members(struct layout **out, uint32_t *n, const struct space *space,
                                      const struct layout *layout, struct shd_error *err);

/* List all layouts, an array for free().  SHD_ENOMEM. */
SHD_MUST_CHECK int space_list(struct layout **out, size_t *n, const struct space *space,
                              struct shd_error *err);

/* A count (of the model, the batch or the devices) that axes of a layout must divide. */
struct space_division {
    const char *what; /* as a scenario names it */
    int64_t whole, parts;
    enum space_choice by; /* choice whose value is `parts`; SPACE_NCHOICES: a product of several */
};
#define SPACE_DIVISIONS_MAX 11

/* List the counts that axes of these sizes must divide, with as many replicas as the devices allow;
 * returns their number. */
size_t space_divisions(struct space_division out[SPACE_DIVISIONS_MAX], const struct space *space,
                       int64_t tp, int64_t pp, int64_t cp);

/* Whether the ranges allow a choice to have a value. */
bool space_allows(const struct space *space, enum space_choice choice, int64_t value);

/* Whether a range keeps a choice to some values. */
bool space_is_ranged(const struct space *space, enum space_choice choice);

/* Whether a search tries a value that is a word: rare values only if their choice has a range. */
bool space_tries(const struct space *space, enum space_choice choice, int32_t value);

/* Whether the ranges allow all values of a layout. */
bool space_has(const struct space *space, const struct layout *layout);

/* Whether there is a layout at all. */
bool space_any(const struct space *space);

/* The first order of the mesh's axes, from number `order` on, that a layout may have with all its
 * other values; -1: none.  Orders that differ only in the place of axes with one device are equal;
 * only the first of them is listed. */
int32_t space_next_order(const struct space *space, const struct layout *layout, int32_t order);

/* Most sequences of a microbatch in a model with experts; more are tried only if the microbatch has
 * a range. */
int64_t space_most_sequences(const struct space *space, const struct layout *layout);

int64_t space_microbatches(const struct space *space, const struct layout *layout);

/* Layers before stage `stage` of `nstages` with a light last stage: as even as possible, with the
 * head counted as `head_layers` layers of the last stage. */
int64_t space_light(const struct space *space, int64_t nstages, int64_t stage);

/* Number of the first n layers that have experts; n in a model without experts. */
int64_t space_usual(const struct space *space, int64_t n);

/* Whether all layers are alike. */
bool space_is_uniform(const struct space *space);

/* The schedule of a layout's pipeline, and the sizes of its timetable. */
const struct timetable_schedule *space_schedule(const struct layout *layout);

/* The searched schedule of a value of SPACE_SCHEDULE; NULL: past the last. */
const struct timetable_schedule *space_schedule_of(int32_t value);
struct timetable_sizes space_sizes(const struct space *space, const struct layout *layout);

/* Replicas among the devices that hold a layer's experts together; 1: experts are sharded over no
 * replicas. */
int32_t space_expert_replicas(const struct layout *layout);

/* The axes that experts are sharded over, as in a spec: "ep", "[ep, cp]"; NULL: experts are whole. */
const char *space_expert_axes(const struct layout *layout);

/* Size of the mesh axis inside dp: the replicas that hold a layer's experts together, else the
 * replicas that hold ZeRO's parts together if there are several groups of them, else 1. */
int32_t space_inner(const struct layout *layout);

/* Which of dp and the axis inside it ZeRO shards over, or both and cp; experts, which the inner axis
 * shards already, are sharded by the outer axis alone. */
enum space_zero_axes { SPACE_ZERO_OUTER, SPACE_ZERO_INNER, SPACE_ZERO_BOTH, SPACE_ZERO_CONTEXT };

enum space_zero_axes space_zero_axes(const struct layout *layout);

/* Distance in devices between neighbours along an axis; for dp along its inner axis. */
int64_t space_stride(const struct layout *layout, enum space_choice axis);

const char *space_choice_name(enum space_choice choice);
const char *space_choice_help(enum space_choice choice);

/* Prefix of a choice's number in space_print(), "t" of "t8"; NULL: the values are words. */
const char *space_choice_letter(enum space_choice choice);

/* Whether the schedule is the default for the layout's number of stages per rank. */
bool space_is_implied(const struct layout *layout);

/* The word of a value; NULL: past the last word, or the values are numbers. */
const char *space_word(enum space_choice choice, int32_t value);

/* Append the choices that a search of the space covers, and those that it does not. */
void space_tell_extent(struct text *searched, struct text *unsearched, const struct space *space);

/* A value as text: its word, or its number. */
void space_print_value(struct text *out, enum space_choice choice, int32_t value);

/* A layout in the field's words: "t8 p16 d32 v6 mb1 Interleaved1F1B ...". */
void space_print(struct text *out, const struct layout *layout);

/* A layout's sizes above 1 and ZeRO's stage alone: "t8 d32 z3/8". */
void space_print_mesh(struct text *out, const struct layout *layout);

/* Split n layouts' names, space_print(): words that all names have go to `common`; the other words
 * of each name, in their order, go to `names`, which are empty texts. */
void space_print_apart(struct text *common, struct text *names, const struct layout *const *layouts,
                       size_t n);

/* Explain the words of space_print(). */
void space_print_key(struct text *out);

/* A layout as a sentence: "8 devices of tensor parallelism, 32 data-parallel replicas, ...". */
void space_tell(struct text *out, const struct layout *layout);

/* In how many choices two layouts differ, dp aside; *which is the last of these choices. */
int space_differs(const struct layout *a, const struct layout *b, enum space_choice *which);

#endif /* SEARCH_SPACE_H */
