/* import/rules.h - rules of other systems that say how parameters are sharded, made a scenario.
 *
 * A reader (EasyDeL's and eformer's lists of patterns, T5X's logical axis rules) fills a struct
 * import_rules: the mesh, and the rules as the library wants them, each with its place.  Then
 * rules_layout.h finds what they say of the parameters of a model, by the names that these have
 * there, and rules_print.c writes that as a scenario, with the rules and what each gave on top.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_RULES_H
#define IMPORT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/partition_axis.h>
#include <shd/rules.h>

#include "base/diag.h"
#include "base/text.h"
#include "import/rules_names.h"

#define IMPORT_RULES_MAX 1024 /* several times what people write */

/* What the command line says; NULL and 0 where it says nothing. */
struct import_request {
    const char *from;  /* the source's name */
    const char *model; /* a published model, or a map as `model:` of scenarios has */
    const char *mesh;  /* "dp:1,fsdp:-1,tp:2" */
    int64_t devices, batch, seq;
    int64_t min_elements; /* of arrays that rules with patterns shard */
    enum names_system names;
};

struct import_rule {
    struct place place;      /* of its pattern or name; line 0: of a list that is built in */
    struct place spec_place; /* of what it says */
    char *name;              /* the pattern, or the name of a logical axis */
    char *spec;              /* as Python would print it */
    struct text given;       /* the parameters that it gave something, for a comment */
    bool found;              /* of a pattern: it is in some name, though others may come first */
};

struct import_rules {
    struct import_request request;
    size_t naxes;
    char *axes[SHD_MESH_AXES_MAX];
    int64_t sizes[SHD_MESH_AXES_MAX]; /* devices; -1 until it is known */
    struct shd_rules *patterns;       /* one of these two, in the order of `list` */
    struct shd_logical_rules *logical;
    size_t nrules;
    struct import_rule *list;
    struct shd_partition_axis *partition_axis; /* NULL: of T5X */
    struct text batch_axes, seq_axes;          /* as scenarios write them, "[fsdp, dp]" */
    struct text model;                         /* a map as scenarios have it; empty: not known */
    int64_t batch, seq, source, microbatches;  /* 0: not said */
    struct text told;                          /* lines of comments */
    struct place end;                          /* where what is missing is reported */
};

void import_rules_init(struct import_rules *rules, const struct import_request *request);
void import_rules_fini(struct import_rules *rules);

/* Set the mesh: the request's where it has one, else these axes, the size of one of which may be -1
 * and takes the devices that are left.  What is wrong is reported at `place`, or in "--mesh". */
void import_rules_mesh(struct import_rules *rules, const char *const *axes, const int64_t *sizes,
                       size_t naxes, struct place place, struct diag *diag);

/* The axis of a name, or -1 with a report. */
int import_rules_axis(const struct import_rules *rules, const char *name, struct place place,
                      struct diag *diag);

/* Add a rule to the list; to `patterns` or `logical` it is the caller's to add.  Name and spec are
 * copied.  False with a report. */
bool import_rules_add(struct import_rules *rules, struct place place, struct place spec_place,
                      const char *name, const struct shd_spec_entry *entries, size_t nentries,
                      struct diag *diag);

/* Readers of whole texts, which end with a NUL at `length`.  What is wrong is reported. */
void import_easydel(struct import_rules *rules, struct place first, const char *text, size_t length,
                    struct diag *diag);
void import_t5x(struct import_rules *rules, struct place first, const char *text, size_t length,
                struct diag *diag);

/* The scenario of what was read; nothing where there were faults. */
void import_rules_print(struct import_rules *rules, struct text *out, struct diag *diag);

#endif /* IMPORT_RULES_H */
