/* trust.h - how far modelled steps may be off: against measured steps that are like them
 * (cost/traits.h), or in what they are extrapolated.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TRUST_H
#define REPORT_TRUST_H

#include "base/json_out.h"
#include "base/text.h"
#include "cost/traits.h"
#include "program/record.h"

/* What is known of the error of a record's modelled step. */
struct trust modelled_trust(const struct record *record);

/* The line `trust` of a step, and its keys in an object. */
void trust_text(struct text *out, const struct record *record);
void trust_json(struct json_out *out, const struct record *record);

/* A sentence on several steps, and its keys in an object. */
void trust_text_of_all(struct text *out, const struct trust_of_all *trust);
void trust_json_of_all(struct json_out *out, const struct trust_of_all *trust);

#endif /* REPORT_TRUST_H */
