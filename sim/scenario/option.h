/* scenario/option.h - the options of a scenario file, as one table.
 *
 * The parser, the canonical print and the help text all read this table.  To add an option: a field
 * in scenario.h and a row here.  To add a type of values: a row in value.c.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_OPTION_H
#define SCENARIO_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nearest.h"
#include "base/text.h"

enum option_type {
    OPTION_NAME,   /* char *, owned */
    OPTION_INT,    /* int64_t or uint64_t, in min..max */
    OPTION_NUMBER, /* double, above 0 and at most max; null is 0 */
    OPTION_BOOL,
    OPTION_BYTES, /* uint64_t; null is 0 */
    OPTION_RATE,  /* uint64_t bytes a second, at least 1 */
    OPTION_TIME,  /* int64_t ns */
    OPTION_WORD,  /* an enum: the place in `words` */
    OPTION_MESH,
    OPTION_STEP,
    OPTION_PARAMS,
    OPTION_PARTITION_AXIS,
    OPTION_AXES,
    OPTION_CONSTRAINTS,
    OPTION_ALGORITHMS,
    OPTION_ROPE,
    OPTION_DIMS,   /* of `graph:` */
    OPTION_ARRAYS, /* struct scenario_arrays */
    OPTION_OPS,
    OPTION_OUTPUTS,
    OPTION_NTYPES
};

struct option {
    const char *section; /* NULL: at the top */
    const char *key;
    enum option_type type;
    bool required;
    unsigned kinds; /* bit k: an option of models of kind k; 0: of all */
    size_t offset; /* in struct scenario; 0 for the types that stand for one field */
    int64_t min;   /* of OPTION_INT */
    int64_t max;   /* of OPTION_INT, OPTION_NUMBER */
    const char *const *words; /* of OPTION_WORD; ends with NULL */
    const char *standard; /* what it is when not given, as YAML; NULL: required, or see the help */
    const char *unit;     /* NULL: none */
    const char *help;
};

struct option_section {
    const char *key;
    const char *help;
};

/* Keys at the top of a file that are no options: version, strategies, sweep. */
extern const struct option_section option_file_keys[];
extern const size_t option_file_key_count;

extern const struct option option_table[];
extern const size_t option_count;
extern const struct option_section option_sections[];
extern const size_t option_section_count;

#define OPTION_PATH_MAX 64

/* The row of a section (NULL: the top) and key, or NULL. */
const struct option *option_find(const char *section, const char *key);
const struct option_section *option_find_section(const char *key);

/* Where a row's and a section's value has its place in struct scenario's `places`. */
size_t option_id(const struct option *option);
size_t option_section_id(const struct option_section *section);

/* "model.d_ff" into buf; returns buf. */
const char *option_path(const struct option *option, char *buf, size_t size);

/* Offer all keys of a section, or of the top with its sections, as what was meant. */
void option_offer(struct nearest *nearest, const char *section);

/* Whether models of a kind have this option. */
bool option_is_of(const struct option *option, unsigned kind);

/* What a value must be: "a whole number from 1 to 65536". */
void option_expect(const struct option *option, struct text *out);

#endif /* SCENARIO_OPTION_H */
