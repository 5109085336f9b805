/* scenario/graph_file.h - the file that has the values of arrays of `graph:`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_GRAPH_FILE_H
#define SCENARIO_GRAPH_FILE_H

#include "scenario/value_reader.h"

/* Open the file of `graph.values`, if any, and find the arrays that take their values from it.
 * Reports what is not in it, and what has other elements than the array: another number of them, in
 * another order, or of another kind.  Free the file with array_file_destroy(). */
void graph_file_load(struct reader *r);

#endif /* SCENARIO_GRAPH_FILE_H */
