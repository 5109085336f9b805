/* search_picture.h - pictures of searches, as SVG.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_PICTURE_H
#define SEARCH_SEARCH_PICTURE_H

#include "search/outcome.h"

/* Step time against memory of the planned layouts; at least one plan fits. */
void search_picture_front(struct text *out, const struct search_outcome *outcome);

/* Tokens a second of the best layouts against the number of devices, both ascending; n >= 1. */
void search_picture_scaling(struct text *out, const char *hardware, const double *devices,
                            const double *tokens_per_s, size_t n);

#endif /* SEARCH_SEARCH_PICTURE_H */
