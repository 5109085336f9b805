/* rules/rules.h - reads another system's sharding rules for parameters, and writes them as a
 * scenario.
 *
 * A reader (EasyDeL's and eformer's lists of patterns, T5X's logical axis rules) fills a struct
 * import_rules: the mesh, and the rules in the library's form, each with its place.  Then
 * rules_layout.h finds the spec of each parameter of a model by its name in the other system, and
 * rules_print.c writes the specs as a scenario, with a comment on top that lists the rules and the
 * parameters of each.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/partition_axis.h>
#include <shd/rules.h>

#include "base/diag.h"
#include "base/text.h"
#include "rules/names.h"

#define IMPORT_RULES_MAX 1024 /* several times what people write */

/* Options of the command line; NULL and 0 if not given. */
struct import_request {
    const char *from;  /* the source's name */
    const char *model; /* a published model, or a map like `model:` of a scenario */
    const char *mesh;  /* "dp:1,fsdp:-1,tp:2" */
    int64_t devices, batch, seq;
    int64_t min_elements; /* least size of an array that rules with patterns shard */
    enum names_system names;
};

struct import_rule {
    struct place place;      /* of its pattern or name; line 0: the list is built in */
    struct place spec_place; /* of its spec */
    char *name;              /* the pattern, or the name of a logical axis */
    char *spec;              /* as Python would print it */
    struct text given;       /* parameters with a spec from this rule, for a comment */
    bool found;              /* the pattern matches some name, perhaps after another pattern */
};

struct import_rules {
    struct import_request request;
    size_t naxes;
    char *axes[SHD_MESH_AXES_MAX];
    int64_t sizes[SHD_MESH_AXES_MAX]; /* devices; -1: not known yet */
    struct shd_rules *patterns;       /* either `patterns` or `logical` is set, in the order of
                                         `list` */
    struct shd_logical_rules *logical;
    size_t nrules;
    struct import_rule *list;
    struct shd_partition_axis *partition_axis; /* NULL: of T5X */
    struct text batch_axes, seq_axes;          /* as scenarios write them, "[fsdp, dp]" */
    struct text model;                         /* a map in a scenario's form; empty: unknown */
    int64_t batch, seq, source, microbatches;  /* 0: not given */
    struct text told;                          /* lines of comments */
    struct place end;                          /* where missing values are reported */
};

void import_rules_init(struct import_rules *rules, const struct import_request *request);
void import_rules_fini(struct import_rules *rules);

/* Set the mesh: the request's mesh if it has one, else these axes; one size may be -1 and takes the
 * remaining devices.  Faults are reported at `place`, or in "--mesh". */
void import_rules_mesh(struct import_rules *rules, const char *const *axes, const int64_t *sizes,
                       size_t naxes, struct place place, struct diag *diag);

/* The number of the axis with a name; -1 with a report. */
int import_rules_axis(const struct import_rules *rules, const char *name, struct place place,
                      struct diag *diag);

/* Add a rule to `list`, with copies of name and spec; the caller adds the rule to `patterns` or
 * `logical`.  False with a report. */
bool import_rules_add(struct import_rules *rules, struct place place, struct place spec_place,
                      const char *name, const struct shd_spec_entry *entries, size_t nentries,
                      struct diag *diag);

/* Read a whole text, which ends with a NUL at `length`.  Faults are reported. */
void import_easydel(struct import_rules *rules, struct place first, const char *text, size_t length,
                    struct diag *diag);
void import_t5x(struct import_rules *rules, struct place first, const char *text, size_t length,
                struct diag *diag);

/* Write the scenario of the rules; nothing if there were faults. */
void import_rules_print(struct import_rules *rules, struct text *out, struct diag *diag);

#endif /* RULES_RULES_H */
