/* scenario/option.h - one option of a scenario file: a key, and the type of its value.
 *
 * A type implements all operations on its values: reading, printing, freeing and describing.  Code
 * that has an option calls its type through these pointers; the types do not know the table of
 * options.
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
struct reader; /* scenario/value_reader.h */
struct scenario;

struct schema_keyword; /* scenario/schema_part.h */

struct value_type {
    const char *expected; /* for messages: what a value must be, followed by range and words */
    size_t size;          /* of the field, for values that may be copied; 0: for others */
    void (*print_range)(const struct option *option, struct text *out); /* NULL: no range */
    void (*read)(struct reader *r, const struct option *option, const struct yaml_node *node);
    /* Replace or add one entry of a map, as for --set mesh.tp=4; NULL for other types. */
    void (*read_entry)(struct reader *r, const struct option *option,
                       const struct yaml_node *key, const struct yaml_node *node);
    void (*print)(const struct scenario *scenario, const struct option *option, struct text *out);
    void (*clear)(struct scenario *scenario, const struct option *option); /* NULL: owns nothing */
    /* The JSON Schema keywords of such a value, up to one without a key; NULL: none. */
    const struct schema_keyword *keywords;
    /* Write those that depend on the option into an open object; NULL: none. */
    void (*schema)(const struct option *option, struct json_out *out);
};

struct option {
    const char *section; /* NULL: top level */
    const char *key;
    const struct value_type *type;
    bool required;
    unsigned sized; /* bit k: for models of kind k, `size` or `from` provide it */
    unsigned kinds; /* bit k: the option exists for models of kind k; 0: for all */
    bool trait;     /* its default is that of the kind, of `size` or of `from` */
    size_t offset;  /* in struct scenario; 0 for types bound to one field */
    int64_t min;    /* of integers */
    int64_t max;    /* of integers and other numbers */
    const char *const *words; /* of a word type, in the order of its enum; NULL-terminated */
    const char *standard; /* default value as YAML; NULL: required, or see the help */
    const char *unit;     /* NULL: none */
    const char *help;
};

/* Room for the longest "section.key" and a NUL; tests/scenario/scenario.c checks the table against it. */
#define OPTION_PATH_MAX 64

/* The path of an option: "model.d_ff". */
struct option_path {
    char text[OPTION_PATH_MAX];
};

struct option_path option_path(const struct option *option);

/* Whether an option belongs to a section (NULL: the top level). */
bool option_is_in(const struct option *option, const char *section);

/* Whether models of a kind have the option. */
bool option_is_of(const struct option *option, unsigned kind);

/* Describe valid values, such as "a whole number from 1 to 65536". */
void option_expect(const struct option *option, struct text *out);

#endif /* SCENARIO_OPTION_H */
