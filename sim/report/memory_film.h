/* memory_film.h - a device's memory by use, from op to op of a step, to be drawn.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_MEMORY_FILM_H
#define REPORT_MEMORY_FILM_H

#include "draw/figure.h"
#include "draw/stack.h"
#include "program/moments.h"

#define MEMORY_LARGEST_MAX 6 /* arrays named */

/* Arrays of one name, alive at the peak, summed over layers and microbatches. */
struct memory_alike {
    char *name;
    enum program_use use;
    uint32_t count;
    uint128 bytes;
};

/* A walk through the step, and the storage of its drawing. */
struct memory_film {
    const struct program *program;
    uint32_t rank;
    struct program_memory peak;
    struct program_moments moments;
    uint128 *bytes;  /* [moment][kind], as struct stack's */
    uint32_t *alive; /* [buffer] copies alive now, each of one microbatch */
    struct memory_alike *alikes;
    size_t nalikes;
    bool found;               /* the peak was passed, and `alikes` is set */
    struct stack_span *spans; /* room for all moments */
    size_t nspans;
    struct figure texts; /* text storage of the drawing */
    bool failed;
    struct stack_kind kinds[PROGRAM_NUSES];
    const char *notes[MEMORY_LARGEST_MAX + 5];
};

/* Walk through a rank's step; false: no memory.  End with memory_film_fini() in any case. */
bool memory_film_init(struct memory_film *out, const struct program *program, uint32_t rank);
void memory_film_fini(struct memory_film *film);

struct memory_wish {
    const char *scenario, *strategy; /* of the title; "": no strategy's name */
    bool chosen;                     /* no rank was given: the rank with the highest peak is drawn */
    uint64_t limit_bytes, max_bytes; /* limits.memory; the end of the scale; 0: none */
};

/* Make the drawing; its texts belong to the film.  `film->texts.failed`: no memory. */
void memory_film_stack(struct stack *out, struct memory_film *film, const struct memory_wish *wish);

#endif /* REPORT_MEMORY_FILM_H */
