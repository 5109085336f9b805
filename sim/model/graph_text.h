/* graph_text.h - building graph nodes from the lines of a scenario's `graph:` section.
 *
 * A line is NAME[dims] = expression (model/expr.h).  Arrays are named by dims; wherever an array is
 * used the dims may be repeated after its name, and are then checked.  A product or a sum takes the
 * dims of its result from the brackets after it, else from the left side of the line.  Arrays of
 * different dims broadcast in elementwise functions.  A value whose dims differ in order from the
 * left side is transposed.  The name on the left side is also a place for which a sharding
 * constraint may be given.
 *
 * Thread class: pure functions except for the graph and diag that they extend.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_GRAPH_TEXT_H
#define MODEL_GRAPH_TEXT_H

#include "base/diag.h"
#include "base/text.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* Add a scenario's dims, inputs, parameters, ops and outputs.  Errors go to `diag` with line and
 * column; some of them also stay in the graph. */
void graph_text_build(struct graph *graph, const struct scenario *scenario, struct diag *diag);

/* Add one line to a graph.  It may use the graph's inputs, parameters and constraints by name.
 * Returns the node of its left side; an error, with its column, stays in the graph. */
uint32_t graph_text_add(struct graph *graph, const char *line);

/* Print all functions with their arguments, one a line, for people. */
void graph_text_print_help(struct text *out);

#endif /* MODEL_GRAPH_TEXT_H */
