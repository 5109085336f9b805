/* value_marks.h - which values of the forward phase a list of patterns names.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_VALUE_MARKS_H
#define MODEL_VALUE_MARKS_H

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* Set marks[node] of computed values of the forward phase whose names match a pattern, and of the
 * further results of their ops; other marks stay.  A pattern that matches none is reported at its
 * place, as one of the option `what`.  False: patterns could not be searched for, which was
 * reported. */
bool value_marks_add(bool *marks, const struct graph *graph, const char *what,
                     const struct scenario_rule *rules, size_t nrules, struct diag *diag);

/* The same for one pattern, the first `length` bytes of a text, that may match none: *found says
 * whether it does. */
bool value_marks_try(bool *marks, bool *found, const struct graph *graph, const char *pattern,
                     size_t length, struct diag *diag);

#endif /* MODEL_VALUE_MARKS_H */
