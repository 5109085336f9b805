/* scenario/option.h - one option of a scenario file: a key, and the type of its value.
 *
 * A type knows all that is done to a value: how it is read, printed, freed and described.  Whoever
 * has an option asks its type, by these pointers; the types do not know the table of options.
 *
 * Thread class: immutable data and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_OPTION_H
#define SCENARIO_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/text.h"
#include "base/yaml.h"

struct option;
struct reader; /* scenario/value.h */
struct scenario;

struct value_type {
    const char *expected; /* what a value must be, for messages; range and words come behind */
    void (*print_range)(const struct option *option, struct text *out); /* NULL: has no range */
    void (*read)(struct reader *r, const struct option *option, const struct yaml_node *node);
    /* Replace or add one entry of a map, NULL for other types: --set mesh.tp=4. */
    void (*read_entry)(struct reader *r, const struct option *option,
                       const struct yaml_node *key, const struct yaml_node *node);
    void (*print)(const struct scenario *scenario, const struct option *option, struct text *out);
    void (*clear)(struct scenario *scenario, const struct option *option); /* NULL: owns nothing */
    /* The keywords of a JSON Schema for such a value, into an open object; scenario/schema_part.h
     * has the definitions that it may refer to. */
    void (*schema)(const struct option *option, struct json_out *out);
};

struct option {
    const char *section; /* NULL: at the top */
    const char *key;
    const struct value_type *type;
    bool required;
    unsigned sized; /* bit k: of models of kind k `size` or `from` say it, too */
    unsigned kinds; /* bit k: an option of models of kind k; 0: of all */
    size_t offset;  /* in struct scenario; 0 for the types that stand for one field */
    int64_t min;    /* of whole numbers */
    int64_t max;    /* of whole and other numbers */
    const char *const *words; /* of a word, in the order of its enum; ends with NULL */
    const char *standard; /* what it is when not given, as YAML; NULL: required, or see the help */
    const char *unit;     /* NULL: none */
    const char *help;
};

/* Room for the longest "section.key" and its end; tests/scenario.c holds the table to it. */
#define OPTION_PATH_MAX 64

/* "model.d_ff" into buf; returns buf. */
const char *option_path(const struct option *option, char *buf, size_t size);

/* Whether an option is one of a section, NULL: of the top. */
bool option_is_in(const struct option *option, const char *section);

/* Whether models of a kind have this option. */
bool option_is_of(const struct option *option, unsigned kind);

/* What a value must be: "a whole number from 1 to 65536". */
void option_expect(const struct option *option, struct text *out);

#endif /* SCENARIO_OPTION_H */
