/* baseline.h - the accepted state of a scenario's strategies, as text that reviews well in a diff:
 * YAML, sorted, with a line for each array and each collective, in whole numbers.
 *
 * Layer numbers in names are replaced by '*'; lines that become equal are one line with a count.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_BASELINE_H
#define CHECK_BASELINE_H

#include <stdbool.h>

#include <shd/error.h>

#include "base/diag.h"
#include "base/text.h"
#include "base/uint128.h"
#include "program/record.h"
#include "report/figures.h"

#define BASELINE_VERSION 2 /* format of baseline files; version 1 is read, too */

/* A parameter, an input, or a value with a constraint. */
struct baseline_array {
    char *kind, *name;
    char *sharding;     /* "[{dp}, {}]" */
    uint128 count;      /* layers that have the array */
    uint128 bytes;      /* of a device's shard */
    struct place place; /* of the rule that shards the array; not kept in the baseline */
};

/* A set of equal collectives. received_bytes: by all devices, of all `count` collectives. */
struct baseline_collective {
    char *phase, *op, *axes, *where;
    uint128 groups, group_size, count, operand_bytes, result_bytes, received_bytes;
};

/* Modelled figures are computed from the program and the cluster's file alone, so every machine
 * gets the same within floating-point rounding. */
#define BASELINE_CLOSE 0.001 /* relative difference */

/* An option of the scenario with a value other than its default. */
struct baseline_given {
    char *key, *value;
    struct place place; /* not kept in the baseline */
};

/* A part of the layout as its file writes it: an axis of a mesh or a rule of a scenario, an option
 * of a launch script. */
struct baseline_line {
    char *key, *value;
    struct place key_place, place; /* of the key, and of the value; not kept in the baseline */
};

struct baseline {
    char *name; /* of the strategy */
    const char *by; /* version of shardsim that wrote the baseline, owned by the file; NULL: unknown */
    char *mesh;
    struct place mesh_place; /* not kept in the baseline */
    bool has_given;          /* false: an old baseline, without given options and modelled step */
    struct baseline_given *given;
    size_t ngiven;
    bool has_lines;              /* false: a baseline of an older shardsim, without lines */
    struct baseline_line *lines; /* in the order of the file */
    size_t nlines;
    struct figures figures; /* only figures with a rank in baselines */
    struct baseline_array *arrays;
    size_t narrays;
    struct baseline_collective *collectives;
    size_t ncollectives;
    char **findings; /* accepted findings of lint */
    size_t nfindings;
};

struct baseline_file {
    struct baseline *list;
    size_t count;
    int version; /* of its format */
    char *by;    /* version of shardsim that wrote the file; NULL: unknown */
    char **words; /* "devices=64": settings given for a script */
    size_t nwords;
};

/* Take figures and collectives from a record.  The caller then adds arrays and findings in any
 * order and ends with baseline_sort().  SHD_ENOMEM.  Free with baseline_fini() either way. */
SHD_MUST_CHECK int baseline_init(struct baseline *out, const char *strategy,
                                 const struct record *record, struct shd_error *err);
SHD_MUST_CHECK int baseline_add_array(struct baseline *baseline, const char *kind, const char *name,
                                      const char *sharding, uint64_t bytes, struct place place);
SHD_MUST_CHECK int baseline_add_given(struct baseline *baseline, const char *key, const char *value,
                                      struct place place);
SHD_MUST_CHECK int baseline_add_line(struct baseline *baseline, const char *key, const char *value,
                                     struct place key_place, struct place place);
SHD_MUST_CHECK int baseline_add_finding(struct baseline *baseline, const char *finding);
/* Take the figures of a record's modelled step, possibly another record than for the other
 * figures; does nothing without a modelled step. */
void baseline_set_modelled(struct baseline *baseline, const struct record *record);
/* Keep the old modelled step if the new one differs by rounding only. */
void baseline_keep_close(struct baseline *is, const struct baseline *was);
void baseline_sort(struct baseline *baseline);
void baseline_fini(struct baseline *baseline);

/* The head of a baseline file: the name of the scenario's file, the version of shardsim that writes
 * the file, and the settings given for a script. */
struct baseline_head {
    const char *of, *by;
    const char *const *words;
    size_t nwords;
};
void baseline_print(const struct baseline *list, size_t count, const struct baseline_head *head,
                    struct text *out);

/* Whether a file begins with baseline_print()'s heading; only such files are replaced or
 * removed. */
bool baseline_is_own(const struct text *text);

/* Read what baseline_print() wrote.  Errors go to `diag`. */
SHD_MUST_CHECK int baseline_parse(struct baseline_file *out, const char *path,
                                  const struct text *text, struct diag *diag);
void baseline_file_fini(struct baseline_file *file);

struct baseline *baseline_find(const struct baseline_file *file, const char *strategy);

/* Describe the differences, causes first: given options, the mesh, arrays, then collectives,
 * totals and findings.  Messages on options, the mesh and arrays have the place of the option or
 * rule; messages on consequences have no line.  Unless
 * `all` is set, about ten messages on arrays, collectives and totals are given, and the number
 * of the rest. */
void baseline_diff(struct diag *changes, const struct baseline *was, const struct baseline *is,
                   struct place place, bool all);

/* Describe changed lines, then changed options of the layout: possible causes of a difference, not
 * differences themselves. */
void baseline_causes(struct diag *causes, const struct baseline *was, const struct baseline *is,
                     struct place place);

/* Whether all lines and given options are equal; false if `was` has none stored. */
bool baseline_says_same(const struct baseline *was, const struct baseline *is);

/* Whether a figure is equal in two baselines (modelled figures: within BASELINE_CLOSE), or missing in
 * either. */
bool baseline_has_same(const struct baseline *a, const struct baseline *b, enum figure_id id);

/* One sentence on whether the layout became worse or better, judged by the modelled step, bytes
 * received by all devices, and the largest peak memory and flops of a device: "worse: total
 * received +12.0 % (1.20 GiB, was 1.07 GiB)".  A longer step is worse, whatever else shrinks.  If
 * the model, sequence length, step or cluster changed, the sentence says so without a judgement; if
 * only the number of sequences changed, modelled steps are compared per token. */
void baseline_verdict(struct text *out, const struct baseline *was, const struct baseline *is);

#endif /* CHECK_BASELINE_H */
