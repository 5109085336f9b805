/* modelled.h - a step's time on a stated cluster: what it takes, what it is spent on, what bounds
 * it, and how far to trust it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_MODELLED_H
#define REPORT_MODELLED_H

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* Figures of a modelled step.  Fractions are of the cluster's peak rate for the type of the step's
 * products, or of the step. */
struct modelled_figures {
    double step_s;
    double mfu; /* the unsharded step's flops, nothing skipped for a mask or done again */
    double hfu; /* these and what is done again */
    double compute_s, exposed_s, bubble_s, update_s; /* of the busiest device; they add up to
                                                        the step */
    double tokens_per_s;                             /* 0: not known */
    double memory_bytes; /* of the fullest device: what the program has at its peak, and what the
                            runtime keeps besides */
    bool fits;
    double expected_error; /* a fraction of the step, as the cluster's file has it for such steps;
                              negative: not known */
};

/* Whether the record's devices have room in the memory of those of the cluster, beside what their
 * runtime needs; true where none is named. */
bool modelled_fits(const struct record *record);

/* A line of warning, below that of the memory that a device needs, where hardly any is left. */
void modelled_print_full(struct text *out, const struct hardware *hardware, double bytes);

/* Of a record that has a modelled step of so many tokens (0: not known). */
void modelled_figures_of(struct modelled_figures *out, const struct record *record,
                         uint64_t tokens);

/* Exposed time by the axes that the transfers run along. */
struct modelled_exposed {
    uint32_t axes; /* a bit for each of the program's mesh; 0: between stages */
    double seconds;
};
#define MODELLED_EXPOSED_MAX 16
uint32_t modelled_exposed_of(struct modelled_exposed out[MODELLED_EXPOSED_MAX],
                             const struct record *record);

/* For people; `limit_bytes` is the scenario's own limit of memory, 0: none, so that there is one
 * verdict, by the limit that binds. */
void modelled_text(struct text *out, const struct record *record, uint64_t tokens,
                   uint64_t limit_bytes);

/* The value of time.modelled. */
void modelled_json(struct json_out *out, const struct record *record, uint64_t tokens);

#endif /* REPORT_MODELLED_H */
