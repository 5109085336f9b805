/* traits.h - what a program does, in the words in which a cluster's file says what was measured.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_TRAITS_H
#define COST_TRAITS_H

#include "hardware/hardware.h"
#include "program/program.h"

struct traits {
    uint32_t mask; /* bit t: enum hardware_trait t */
    double parameters;
    int64_t devices;
    int64_t length; /* of sequences; 0: the step has none */
    struct hardware_near near;
};

void traits_of(struct traits *out, const struct program *program, const struct hardware *hardware);

/* What is known of the error of a step. */
struct trust {
    const struct hardware_validation *set; /* the set that is most like it; NULL: none */
    uint32_t beyond; /* bit t: the step has trait t, and no step of the set had; 0: none, but then
                        the set's steps may be too few to claim anything */
    int64_t rows;    /* measured steps that the claim is from */
    double claim;    /* nine of ten errors are smaller, as a fraction of the step; negative: no
                        claim is made */
};

void trust_of(struct trust *out, const struct program *program, const struct hardware *hardware);

/* What is known of the error of several steps together: that of the step of which least is known.
 * Begins as zeros. */
struct trust_of_all {
    uint32_t nsteps;
    bool measured;   /* the cluster has measured steps that all of them can be compared with */
    uint32_t beyond; /* traits that some step has and no step of its set had */
    double claim;    /* the largest; negative: for some step no claim is made */
    int64_t rows;    /* measured steps that the claims are from, the fewest */
};

void trust_join(struct trust_of_all *all, const struct trust *trust);

/* Append the traits `beyond` of steps: "experts, ZeRO 3". */
struct text;
void trust_print_beyond(struct text *out, uint32_t beyond);

#endif /* COST_TRAITS_H */
