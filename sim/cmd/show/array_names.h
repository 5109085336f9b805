/* array_names.h - every array of a scenario that a rule or constraint can name: its shape,
 * its sharding, and the origin of the sharding.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_ARRAY_NAMES_H
#define CMD_SHOW_ARRAY_NAMES_H

#include "base/text.h"
#include "trial/trial.h"

/* Arrays that differ only in their layer. */
struct array_name {
    const char *kind;
    struct text name, shape, sharding, by;
    uint64_t bytes; /* of one array on one device */
    uint32_t count;
};

struct array_names {
    struct array_name *rows;
    size_t n, room;
    size_t *index; /* [2 * room], by hash: number of a row + 1; 0: free */
    bool failed;
};

/* Collect the arrays of a built trial; with `all` also arrays that no rule can name.  Sets `failed`
 * if memory runs out.  End with array_names_fini() in any case. */
void array_names_init(struct array_names *out, const struct trial *trial, bool all);
void array_names_fini(struct array_names *names);

void array_names_text(const struct array_names *names, size_t columns, struct text *out);
void array_names_json(const struct array_names *names, struct text *out);

#endif /* CMD_SHOW_ARRAY_NAMES_H */
