/* cmd/init/first_text.h - writes the scenario of a layout, with comments that say why each line is
 * there.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_FIRST_TEXT_H
#define CMD_INIT_FIRST_TEXT_H

#include "cmd/init/first.h"
#include "scenario/draft.h"
#include "search/space.h"

/* Write the comments on top, and the keys up to the cluster. */
void first_write_head(struct text *out, const struct first_asked *asked);

/* Add the model's keys. */
void first_write_model(struct draft *out, const struct first_asked *asked);

/* Write the scenario of a step of training, whose cluster and sizes are known.  A layout has the
 * axes in the order of the space's first, and attention's ring. */
void first_write_text(struct text *out, const struct first_asked *asked, const struct layout *l);

#endif /* CMD_INIT_FIRST_TEXT_H */
