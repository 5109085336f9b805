/* tree_picture.h - a model's parameters on a mesh as bars: the size of each, and of its shard on a
 * device.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_TREE_PICTURE_H
#define CMD_SHOW_TREE_PICTURE_H

#include "cmd/show/tree_layout.h"

/* Draw as an SVG document.  Arrays of equal layers with one spec are one row; of very many rows
 * those with the most bytes on a device are drawn.  SHD_ENOMEM. */
SHD_MUST_CHECK int tree_picture(struct text *out, const struct tree_layout *layout,
                                struct shd_error *err);

#endif /* CMD_SHOW_TREE_PICTURE_H */
