/* scenario/mesh.h - the mesh of a scenario, where its axes are named in messages.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_MESH_H
#define SCENARIO_MESH_H

#include "scenario/value.h"

bool mesh_has(const struct scenario *scenario, const char *axis);

/* "mesh (dp=2, tp=4)", or "mesh of strategy 'x' (...)" where there are several. */
void mesh_describe(const struct scenario *scenario, struct text *out);

/* ", which 'batch' stands for," where the file says something else, `of`, than the axis; else
 * "". */
void mesh_describe_source(const char *axis, const char *of, struct text *out);

/* Report an axis that is not in the mesh, with what there is.  `of`: the name in the file that
 * stands for it, often itself. */
void mesh_report_no_axis(struct reader *r, struct place place, const char *axis, const char *of);

#endif /* SCENARIO_MESH_H */
