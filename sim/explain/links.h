/* links.h - a collective on the links of a cluster: what it spans, what each tier carries, how
 * long.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_LINKS_H
#define EXPLAIN_LINKS_H

#include "base/json_out.h"
#include "base/text.h"
#include "hardware/hardware.h"

struct links_question {
    const struct hardware *hardware; /* laid out for the mesh */
    const struct shd_mesh *mesh;
    uint8_t axes[SHD_MESH_AXES_MAX]; /* that the group goes along */
    size_t naxes;
    enum coll_kind kind;
    double operand_bytes; /* IN of one member (coll/coll.h) */
};

/* What comes out. */
struct links_answer {
    struct hardware_group group;
    struct hardware_collective collective;
    double array_bytes;            /* all-gather and gather: of the result; else of the operand */
    double latency_s, bandwidth_s; /* what does not depend on the size, and what grows with it */
    const char *bound;             /* "latency", "bandwidth", "host", "nothing" */
    /* The array by the time, and that by what a ring must send; 0: no time passes. */
    double algorithm_bytes_per_s, bus_bytes_per_s;
    double equal_operand_bytes; /* at which latency and bandwidth take as long; 0: at none */
    /* The bandwidth's time on a torus without the factor (n-1)/n, as one reckons by hand; 0: the
     * group is on no torus. */
    double long_ring_s;
};

void links_answer(struct links_answer *out, const struct links_question *question);

/* In words and numbers, in lines of `width` where that can be; and as one JSON object. */
void links_text(const struct links_answer *answer, const struct links_question *question,
                struct text *out, size_t width);
void links_json(const struct links_answer *answer, const struct links_question *question,
                struct json_out *out);

#endif /* EXPLAIN_LINKS_H */
