/* modelled.h - a step's time on a stated cluster: how long it takes, where the time goes, what
 * limits it, and how far to trust the model.
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
    double mfu; /* flops of the unsharded step, with nothing skipped by a mask or repeated */
    double hfu; /* these flops and the repeated ones */
    double compute_s, exposed_s, bubble_s, update_s; /* of the busiest device; with the time that
                                                        is exposed to the host they add up to the
                                                        step */
    double tokens_per_s;                             /* negative: not known */
    double memory_bytes; /* of the fullest device: the program's peak and the runtime's own
                            memory */
    bool fits;
    double expected_error; /* nine of ten are smaller, as a fraction of the step, of measured steps
                              like it (cost/traits.h); negative: none were */
};

/* Whether the step fits in the memory of the cluster's devices beside the runtime's own memory;
 * true without a cluster.  modelled_fits(): and in that of its hosts, too. */
bool modelled_device_fits(const struct record *record);
bool modelled_fits(const struct record *record);

/* Warn, below the line on a device's memory, if hardly any memory is left. */
void modelled_print_full(struct text *out, const struct hardware *hardware, double bytes);

/* Figures of a record with a modelled step of `tokens` tokens (0: unknown). */
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

/* What most of a step's time goes to: in a word ("memory"), and in a sentence. */
struct modelled_bound {
    const char *word, *what;
    double share; /* of the step */
};
struct modelled_bound modelled_bound_of(const struct record *record);

/* Print for people.  `limit_bytes` is the scenario's own memory limit (0: none); the one verdict on
 * memory is by the limit that binds.  `serves`: the first lines are those of serving.h. */
void modelled_text(struct text *out, const struct record *record, uint64_t tokens,
                   uint64_t limit_bytes, bool serves);

/* The value of time.modelled, with the record's figures. */
struct figures;
void modelled_json(struct json_out *out, const struct record *record,
                   const struct figures *figures);

#endif /* REPORT_MODELLED_H */
