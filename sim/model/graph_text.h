/* graph_text.h - the lines of a scenario's `graph:` section -> nodes of a graph.
 *
 * A line is NAME[dims] = expression (model/expr.h).  Arrays are named by dims; where an array is
 * used its dims may be written behind it and are checked.  A product or a sum takes the dims of its
 * result from the brackets behind it, else from the left side of the line.  Arrays of unlike dims
 * broadcast in elementwise functions.  What the left side has in another order is transposed.
 * The left side is also a place where a sharding may be asked for by that name.
 *
 * Thread class: pure functions but for the graph and diag they extend.
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

/* Add one line to a graph; inputs, parameters and places are known in it by their names.  Returns
 * the node of its left side; an error, with its column, stays in the graph. */
uint32_t graph_text_add(struct graph *graph, const char *line);

/* All functions with their arguments, one a line, for people. */
void graph_text_print_help(struct text *out);

#endif /* MODEL_GRAPH_TEXT_H */
