/* trust.h - the expected error of modelled steps: from similar measured steps (cost/traits.h), or
 * the traits in which a step is extrapolated.
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

/* The known error of a record's modelled step. */
struct trust modelled_trust(const struct record *record);

/* The line `trust` of a step, and its keys in an object. */
void trust_text(struct text *out, const struct record *record);
void trust_json(struct json_out *out, const struct record *record);

/* A sentence on several steps, and its keys in an object. */
void trust_text_of_all(struct text *out, const struct trust_of_all *trust);
void trust_json_of_all(struct json_out *out, const struct trust_of_all *trust);

#endif /* REPORT_TRUST_H */
