/* links.h - a collective on the links of a cluster: the tiers that it spans, the bytes that each
 * tier carries, and its time.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_LINKS_H
#define CMD_EXPLAIN_LINKS_H

#include "base/json_out.h"
#include "base/text.h"
#include "hardware/hardware.h"

struct links_question {
    const struct hardware *hardware; /* laid out for the mesh */
    const struct shd_mesh *mesh;
    uint8_t axes[SHD_MESH_AXES_MAX]; /* along which the group lies */
    size_t naxes;
    enum coll_kind kind;
    double operand_bytes; /* IN of one member (coll/coll.h) */
};

/* The answer. */
struct links_answer {
    struct hardware_group group;
    struct hardware_collective collective;
    double array_bytes;            /* of the result for all-gather and gather; else of the
                                      operand */
    double latency_s, bandwidth_s; /* time independent of the size, and time proportional to the
                                      size */
    const char *bound;             /* "latency", "bandwidth", "host", "nothing" */
    /* Array bytes per time, and bytes that a ring must send per time; 0: no time passes. */
    double algorithm_bytes_per_s, bus_bytes_per_s;
    double equal_operand_bytes; /* operand for which latency and bandwidth take equal time; 0:
                                   none */
    /* Bandwidth time on a torus without the factor (n-1)/n, the usual estimate; 0: the group is on
     * no torus. */
    double long_ring_s;
};

void links_answer(struct links_answer *out, const struct links_question *question);

/* The answer in words and numbers, in lines of `width` where possible; and as a JSON object. */
void links_text(const struct links_answer *answer, const struct links_question *question,
                struct text *out, size_t width);
void links_json(const struct links_answer *answer, const struct links_question *question,
                struct json_out *out);

#endif /* CMD_EXPLAIN_LINKS_H */
