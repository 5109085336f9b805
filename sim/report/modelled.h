/* modelled.h - a step on a stated cluster: its time and the parts of it, its bottleneck, and how far
 * to trust the model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_MODELLED_H
#define REPORT_MODELLED_H

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* Figures of a modelled step.  Fractions are of the cluster's peak rate for the type of the step's
 * matmuls, or of the step. */
struct modelled_figures {
    double step_s;
    double mfu; /* flops of the unsharded step, with nothing skipped by a mask or repeated: causal
                   attention in full, as PaLM (arXiv:2204.02311, appendix B) counts it */
    double mfu_causal_half; /* with half the flops of causal attention, as Megatron-LM's
                               num_floating_point_operations() */
    double hfu; /* these flops and the repeated ones */
    double compute_s, exposed_s, bubble_s, update_s; /* of the busiest device; with the time that
                                                        is exposed to the host they add up to the
                                                        step */
    double tokens_per_s;                             /* negative: not known */
    double memory_bytes; /* of the fullest device: the program's peak and the runtime's own
                            memory */
    bool fits;
    double expected_error; /* 90th percentile of the errors of similar measured steps, as a fraction
                              of the step (cost/traits.h); negative: none were measured */
};

/* Whether the step fits in the memory of the cluster's devices beside the runtime's own memory;
 * true without a cluster.  modelled_fits(): in the hosts' memory as well. */
bool modelled_device_fits(const struct record *record);
bool modelled_fits(const struct record *record);

/* Warn, below the line on a device's memory, if hardly any memory is left. */
void modelled_print_full(struct text *out, const struct hardware *hardware, double bytes);

/* Figures of a record with a modelled step of `tokens` tokens (0: unknown). */
void modelled_figures_of(struct modelled_figures *out, const struct record *record,
                         uint64_t tokens);

/* Exposed time by the axes that the transfers run along. */
struct modelled_exposed {
    uint32_t axes; /* bit mask of the program's mesh axes; 0: between stages */
    double seconds;
};
#define MODELLED_EXPOSED_MAX 16
uint32_t modelled_exposed_of(struct modelled_exposed out[MODELLED_EXPOSED_MAX],
                             const struct record *record);

/* The bottleneck of a step: in a word ("memory"), and in a sentence. */
struct modelled_bound {
    const char *word, *what;
    double share; /* of the step */
};
struct modelled_bound modelled_bound_of(const struct record *record);

/* Print as text.  `limit_bytes` is the scenario's own memory limit (0: none); the verdict on memory
 * uses the smaller limit.  `serves`: begin with the lines of serving.h. */
void modelled_text(struct text *out, const struct record *record, uint64_t tokens,
                   uint64_t limit_bytes, bool serves);

/* The value of time.modelled, with the record's figures. */
struct figures;
void modelled_json(struct json_out *out, const struct record *record,
                   const struct figures *figures);

#endif /* REPORT_MODELLED_H */
