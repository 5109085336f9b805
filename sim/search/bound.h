/* search/bound.h - what a layout's step takes at the least, from its pieces: arithmetic alone.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_BOUND_H
#define SEARCH_BOUND_H

#include "search/pieces.h"

/* Bytes of the fullest device, with what the runtime keeps besides, are no fewer.  `layers` NULL:
 * activations do not count. */
double bound_memory(const struct subject *subject, const struct layout *layout,
                    const struct piece *replicas, const struct piece *layers);

/* Seconds of the step are no fewer. */
double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers);

#endif /* SEARCH_BOUND_H */
