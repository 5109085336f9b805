/* search/space.h - all the ways in which a step of a model can be laid out over so many devices.
 *
 * A layout is one value for each choice; the choices are rows of a table (space.c), with the words
 * that people use for their values.  dp follows from the others: the devices that are left.  Ranges
 * keep a choice to some values or forbid some.
 *
 * The replicas' axis may be two of the mesh: neighbours among them hold a layer's experts together
 * (ep), or the parts that ZeRO cuts (shards), and groups of these do the same (space_inner()).
 *
 * Layouts have an order: that of the loops that list them, which is the same on every machine, and
 * decides between layouts that are as good as each other.
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
#include "timetable/timetable.h"

enum space_choice {
    SPACE_TP,
    SPACE_PP,
    SPACE_CP,
    SPACE_DP, /* what the others leave; it can be ranged, too */
    SPACE_EP, /* divides dp */
    SPACE_VIRTUAL,
    SPACE_SCHEDULE, /* of those of timetable_schedules[] that are searched */
    SPACE_SPLIT,
    SPACE_MICROBATCH,
    SPACE_RECOMPUTE,
    SPACE_SP,
    SPACE_ZERO,
    SPACE_SHARDS, /* devices that ZeRO's parts are sharded over, divides dp; 1 without ZeRO */
    SPACE_ORDER,
    SPACE_NCHOICES
};

/* How many layers each stage has: as even as can be, or as the scenario has it. */
enum space_split { SPACE_SPLIT_EVEN, SPACE_SPLIT_GIVEN, SPACE_NSPLITS };

/* SPACE_GIVEN: the values that the scenario names. */
enum space_recompute { SPACE_NONE, SPACE_SELECTIVE, SPACE_FULL, SPACE_GIVEN, SPACE_NRECOMPUTES };

/* Values by choice.  Of the microbatch: sequences that a replica does at a time; of the order: a
 * number of space_order(). */
struct layout {
    int32_t value[SPACE_NCHOICES];
};

#define SPACE_AXES 4 /* pp, dp, cp, tp */

/* The axes of an order from the outermost in, as choices. */
const uint8_t *space_order(int32_t order);

struct space_range {
    enum space_choice choice;
    int32_t least, most;
    bool forbids; /* these values, else all others */
};

#define SPACE_RANGES_MAX 64

/* What does not change from layout to layout. */
struct space {
    int64_t devices, layers, heads, kv_heads, mlp_dim, vocab, seq, batch;
    int64_t experts;            /* of a layer; 0: there are none, and what follows means nothing */
    int64_t first_dense, every; /* layers without: the first, and all but each every-th */
    int64_t expert_dim, shared_dim; /* widths; shared 0: there is none */
    bool names_recompute;           /* the scenario names values to compute again */
    size_t nstages;                 /* that the scenario gives layers to; 0: none */
    const int64_t *stage_layers;    /* not owned */
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges;
};

/* The space of a scenario's model on so many devices (0: as many as its mesh has).
 * The scenario is to outlive it.  SHD_EUNSUPPORTED: a model that is no decoder, or a step without
 * an update. */
SHD_MUST_CHECK int space_init(struct space *out, const struct scenario *scenario, int64_t devices,
                              struct shd_error *err);

/* Read "tp=8", "tp=1..8" or "recompute=full".  SHD_EINVAL, SHD_ENOTFOUND. */
SHD_MUST_CHECK int space_parse_range(struct space_range *out, const char *text, bool forbids,
                                     struct shd_error *err);

/* List all layouts, an array for free().  SHD_ENOMEM. */
SHD_MUST_CHECK int space_list(struct layout **out, size_t *n, const struct space *space,
                              struct shd_error *err);

/* A count of the model, of the batch or of devices that axes of a layout divide. */
struct space_division {
    const char *what; /* as a scenario says it */
    int64_t whole, parts;
    enum space_choice by; /* whose value the parts are; SPACE_NCHOICES: a product of several */
};
#define SPACE_DIVISIONS_MAX 9

/* All that such axes divide, with as many replicas as there is room for; returns how many. */
size_t space_divisions(struct space_division out[SPACE_DIVISIONS_MAX], const struct space *space,
                       int64_t tp, int64_t pp, int64_t cp);

/* Whether the ranges allow a choice to have a value. */
bool space_allows(const struct space *space, enum space_choice choice, int64_t value);

/* Whether the ranges allow all that a layout has. */
bool space_has(const struct space *space, const struct layout *layout);

/* Whether there is a layout at all. */
bool space_any(const struct space *space);

/* The first order of the mesh's axes, from this number on, that a layout may have besides all else
 * that it has; -1: none.  Of orders that are the same, as axes of one device are anywhere, only the
 * first is listed. */
int32_t space_next_order(const struct space *space, const struct layout *layout, int32_t order);

/* Sequences of a microbatch, of a model with experts: more tokens a device are tried only if the
 * microbatch has a range. */
int64_t space_most_sequences(const struct space *space, const struct layout *layout);

int64_t space_microbatches(const struct space *space, const struct layout *layout);

/* How many of the first n layers have experts; of a model without any: n. */
int64_t space_usual(const struct space *space, int64_t n);

/* Whether all layers are alike. */
bool space_is_uniform(const struct space *space);

/* The schedule of a layout's pipeline, and the sizes of its timetable. */
const struct timetable_schedule *space_schedule(const struct layout *layout);
struct timetable_sizes space_sizes(const struct space *space, const struct layout *layout);

/* Replicas that are an axis of the mesh inside dp: those that hold a layer's experts together, else
 * those that hold ZeRO's parts, if there are more groups of them than one; else 1. */
int32_t space_inner(const struct layout *layout);

/* Which of dp and the axis inside it ZeRO cuts over; experts, which the inner one cuts already, are
 * cut by the outer one alone. */
enum space_zero_axes { SPACE_ZERO_OUTER, SPACE_ZERO_INNER, SPACE_ZERO_BOTH };

enum space_zero_axes space_zero_axes(const struct layout *layout);

/* How far apart, in devices, neighbours along an axis are; of dp those of the inner axis. */
int64_t space_stride(const struct layout *layout, enum space_choice axis);

const char *space_choice_name(enum space_choice choice);
const char *space_choice_help(enum space_choice choice);

/* A value as people write it. */
void space_print_value(struct text *out, enum space_choice choice, int32_t value);

/* A layout in the field's words: "t8 p16 d32 v6 mb1 Interleaved1F1B ...". */
void space_print(struct text *out, const struct layout *layout);

/* Its sizes above 1 and ZeRO's stage alone: "t8 d32 z3/8". */
void space_print_mesh(struct text *out, const struct layout *layout);

/* Of n layouts' names, space_print(), what all have: these words go to `common`, and a name without
 * them, the others' words in their order, to each of `names`, which are empty texts. */
void space_print_apart(struct text *common, struct text *names, const struct layout *const *layouts,
                       size_t n);

/* What the words of space_print() say. */
void space_print_key(struct text *out);

/* The same as a sentence: "8 devices of tensor parallelism, 32 data-parallel replicas, ...". */
void space_tell(struct text *out, const struct layout *layout);

/* How many choices differ, dp aside; the last of them in *which. */
int space_differs(const struct layout *a, const struct layout *b, enum space_choice *which);

#endif /* SEARCH_SPACE_H */
