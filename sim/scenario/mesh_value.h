/* scenario/mesh_value.h - the mesh of a scenario in messages.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_MESH_VALUE_H
#define SCENARIO_MESH_VALUE_H

#include "scenario/value_reader.h"

bool mesh_has(const struct scenario *scenario, const char *axis);

/* Append "mesh (dp=2, tp=4)", or "mesh of strategy 'x' (...)" if the file has several
 * strategies. */
void mesh_describe(const struct scenario *scenario, struct text *out);

/* Append ", which 'batch' stands for," if the file has the name `of` instead of the axis; else
 * nothing. */
void mesh_describe_source(const char *axis, const char *of, struct text *out);

/* Report an axis that is not in the mesh, listing the mesh.  `of`: the name in the file that stands
 * for the axis, often the axis itself. */
void mesh_report_no_axis(struct reader *r, struct place place, const char *axis, const char *of);

#endif /* SCENARIO_MESH_VALUE_H */
