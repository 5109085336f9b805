/* baseline.h - what a scenario's strategies were when they were accepted, as text that reviews well
 * in a diff: YAML with a line for each array and each collective, sorted, in whole numbers.
 *
 * Numbers in names of layers are replaced by '*', and what is then alike is one line with a count.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_BASELINE_H
#define STORE_BASELINE_H

#include <stdbool.h>

#include <shd/error.h>

#include "base/diag.h"
#include "base/text.h"
#include "base/uint128.h"
#include "program/record.h"

#define BASELINE_VERSION 1 /* of the form of these files; another is refused */

/* A parameter, an input, or a value with a constraint. */
struct baseline_array {
    char *kind, *name;
    char *sharding;     /* "[{dp}, {}]" */
    uint128 count;      /* layers that have it */
    uint128 bytes;      /* of a device's shard */
    struct place place; /* of the rule that says so; no part of the baseline */
};

/* Collectives that are alike; bytes received by all devices, all `count` times. */
struct baseline_collective {
    char *phase, *op, *axes, *where;
    uint128 groups, group_size, count, operand_bytes, result_bytes, received_bytes;
};

struct baseline_totals {
    uint128 received_bytes, received_bytes_most;       /* all devices; one of them */
    uint128 peak_memory_bytes, peak_memory_bytes_most; /* likewise */
    uint128 flops, flops_most;
};

/* A modelled step on the cluster that the scenario names.  It is computed from the program and the
 * cluster's file alone, so that every machine comes to the same but for the rounding of floating
 * point, for which BASELINE_CLOSE is allowed. */
struct baseline_modelled {
    uint128 step_ns;      /* 0: no cluster is named, or the baseline is older than this */
    uint128 memory_bytes; /* of the fullest device, with what its runtime keeps */
};
#define BASELINE_CLOSE 0.001 /* a fraction */

/* An option of the scenario that is not as by default. */
struct baseline_given {
    char *key, *value;
    struct place place; /* no part of the baseline */
};

struct baseline {
    char *name; /* of the strategy */
    char *mesh;
    struct place mesh_place; /* no part of the baseline */
    bool has_given;          /* false: of an older one, which has neither these nor a step */
    struct baseline_given *given;
    size_t ngiven;
    struct baseline_modelled modelled;
    struct baseline_totals totals;
    struct baseline_array *arrays;
    size_t narrays;
    struct baseline_collective *collectives;
    size_t ncollectives;
    char **findings; /* of lint, accepted */
    size_t nfindings;
};

struct baseline_file {
    struct baseline *list;
    size_t count;
};

/* The totals and collectives of a record; arrays and findings are added by the caller, in any
 * order, and baseline_sort() comes last.  SHD_ENOMEM.  Free with baseline_fini() either way. */
SHD_MUST_CHECK int baseline_init(struct baseline *out, const char *strategy,
                                 const struct record *record, struct shd_error *err);
SHD_MUST_CHECK int baseline_add_array(struct baseline *baseline, const char *kind, const char *name,
                                      const char *sharding, uint64_t bytes, struct place place);
SHD_MUST_CHECK int baseline_add_given(struct baseline *baseline, const char *key, const char *value,
                                      struct place place);
SHD_MUST_CHECK int baseline_add_finding(struct baseline *baseline, const char *finding);
/* Of a record that has a modelled step; others leave it alone. */
void baseline_set_modelled(struct baseline *baseline, const struct record *record);
/* Where the modelled step is as it was but for rounding, take it as it was. */
void baseline_keep_close(struct baseline *is, const struct baseline *was);
void baseline_sort(struct baseline *baseline);
void baseline_fini(struct baseline *baseline);

/* `of` is the scenario's file, for the comment on top. */
void baseline_print(const struct baseline *list, size_t count, const char *of, struct text *out);

/* Whether a file begins with that comment: only such a file is ever replaced or removed. */
bool baseline_is_own(const struct text *text);

/* What baseline_print() wrote.  Errors go to `diag`. */
SHD_MUST_CHECK int baseline_parse(struct baseline_file *out, const char *path,
                                  const struct text *text, struct diag *diag);
void baseline_file_fini(struct baseline_file *file);

struct baseline *baseline_find(const struct baseline_file *file, const char *strategy);

/* Say in words what is not as it was, the cause first: what was given, the mesh, arrays, then
 * collectives, then totals and findings.  Each has the place of its rule or option, or else
 * `place`.  Unless `all` are wanted, of arrays and what follows about ten are told, and how many
 * more there are. */
void baseline_diff(struct diag *changes, const struct baseline *was, const struct baseline *is,
                   struct place place, bool all);

/* Options of the layout that are not as they were: why there is a difference, but none by
 * themselves. */
void baseline_causes(struct diag *causes, const struct baseline *was, const struct baseline *is,
                     struct place place);

/* Whether two figures of a model are the same but for rounding. */
bool baseline_is_close(uint128 a, uint128 b);

/* One sentence on whether the layout is worse or better than it was, by the modelled step, by what
 * all devices receive and by the largest peak memory and flops of a device: "worse: total received
 * +12.0 % (1.20 GiB, was 1.07 GiB)".  A longer step is worse, whatever else is less.  Where another
 * model, batch, step or cluster is given, that is said instead. */
void baseline_verdict(struct text *out, const struct baseline *was, const struct baseline *is);

#endif /* STORE_BASELINE_H */
