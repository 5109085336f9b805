/* scenario/family_reader.h - the parts of reading a config.json (family.h): what differs from layer
 * to layer, and rotary positions.
 *
 * Thread class: confined to the reading thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_FAMILY_READER_H
#define SCENARIO_FAMILY_READER_H

#include "base/diag.h"
#include "scenario/family_table.h"

/* What a model without experts has in their options. */
#define FAMILY_NO_EXPERTS                                                               \
    {                                                                                   \
        .scale = 1, .groups = 1, .kept = 1, .every = 1, .top_k = 1, .renormalize = true \
    }

struct family_reader {
    const struct yaml_node *root; /* a map */
    const struct family_row *row;
    struct scenario_model *model; /* its sizes are read before layers and positions are */
    int64_t seq;
    struct diag *diag;
};

/* The value of a key of a map, or, with a dot, of a map in it; NULL if it is missing or null. */
const struct yaml_node *family_find(const struct yaml_node *map, const char *key);

/* Replace a list of equal values, one a layer, by the value; other nodes stay.  False after an
 * error: values differ. */
bool family_find_equal(const struct yaml_node **node, const struct family_reader *c,
                       const char *key);

/* Read a key of a map: a number above 0, a flag, or a whole number of at least 0.  *out stays as it
 * is if the key is missing or null.  False after an error. */
bool family_read_number(double *out, const struct family_reader *c, const struct yaml_node *map,
                        const char *key);
bool family_read_flag(bool *out, const struct family_reader *c, const char *key);
bool family_read_count(int64_t *out, const struct family_reader *c, const struct yaml_node *map,
                       const char *key);

/* Set the factors of a model's parts, of which the width of heads is known.  False after an
 * error. */
bool family_read_factors(const struct family_reader *c);

/* Set model.layers of a family whose layers are one part each.  False after an error. */
bool family_count_alone(const struct family_reader *c);

/* Set what layers attend to, and which have rotary positions: model.window, chunk and layer_types.
 * False after an error. */
bool family_read_layers(const struct family_reader *c);

/* Set model.rope.  False after an error. */
bool family_read_rope(const struct family_reader *c);

#endif /* SCENARIO_FAMILY_READER_H */
