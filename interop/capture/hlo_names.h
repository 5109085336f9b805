/* hlo_names.h - map names of computations and instructions to numbers.
 *
 * Names are pieces of the text and are not copied.  Scopes separate equal names in different
 * computations.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_NAMES_H
#define CAPTURE_HLO_NAMES_H

#include "base/map.h"
#include "capture/hlo_text.h"

#define HLO_NO_NUMBER UINT32_MAX

struct hlo_name {
    struct hlo_piece name;
    uint32_t scope, number;
};

struct hlo_names {
    struct hlo_name *items;
    uint32_t n;
    struct map index; /* of items */
};

void hlo_names_fini(struct hlo_names *names);

/* Set the number of a name, adding the name if new.  False: no memory. */
bool hlo_names_put(struct hlo_names *names, struct hlo_piece name, uint32_t scope, uint32_t number);

/* The number of a name; HLO_NO_NUMBER: unknown name. */
uint32_t hlo_names_find(const struct hlo_names *names, struct hlo_piece name, uint32_t scope);

#endif /* CAPTURE_HLO_NAMES_H */
