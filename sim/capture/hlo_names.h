/* hlo_names.h - numbers by name, for the computations of a module and the instructions of each.
 *
 * Names are pieces of the text, of which nothing is copied.  A scope tells apart the same name in
 * several computations.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_NAMES_H
#define CAPTURE_HLO_NAMES_H

#include "capture/hlo_text.h"

#define HLO_NO_NUMBER UINT32_MAX

struct hlo_name {
    struct hlo_piece name; /* name.at is NULL: a free slot */
    uint32_t scope, number;
};

/* Open addressing, at most half full. */
struct hlo_names {
    struct hlo_name *slots;
    size_t nslots; /* a power of two */
    size_t n;
};

void hlo_names_fini(struct hlo_names *names);

/* Add a name, or give the one that is there another number.  False: no memory. */
bool hlo_names_put(struct hlo_names *names, struct hlo_piece name, uint32_t scope, uint32_t number);

/* HLO_NO_NUMBER: there is none of this name. */
uint32_t hlo_names_find(const struct hlo_names *names, struct hlo_piece name, uint32_t scope);

#endif /* CAPTURE_HLO_NAMES_H */
