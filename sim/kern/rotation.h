/* kern/rotation.h - the table of a rotary embedding: by which angles pairs of elements turn.
 *
 * At position p pair i turns by the angle p * frequencies[i].  Pair i is elements (i, i + npairs),
 * or (2i, 2i + 1) if interleaved; elements from 2 * npairs on are no pairs and stay as they are.
 *
 * Thread class: immutable values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ROTATION_H
#define KERN_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

struct kern_rotation {
    int64_t npairs;
    bool interleaved;
    double factor;       /* of the pairs that are turned */
    double theta;        /* frequencies are theta^(-i / npairs); 0: of another kind */
    double *frequencies; /* [npairs], radians a position; not owned */
};

#endif /* KERN_ROTATION_H */
