/* stages.h - a graph cut into the stages of a pipeline.
 *
 * Every node belongs to one stage, 0 to nstages - 1.  Values of the forward phase go from a stage
 * to a later one, gradients back.  A parameter lies in the first stage that reads it; a later stage
 * that reads it, too (tied embeddings), is given a copy once a step, and gives back its sum of
 * gradients.
 *
 * Thread class: as the graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_STAGES_H
#define GRAPH_STAGES_H

#include "graph/graph.h"

/* The stage that a forward node is asked to be in, by its name; -1: nothing is asked. */
typedef int64_t (*graph_stage_fn)(void *arg, const char *name);

/* Give every node of the forward phase its stage, before there is a backward one: what is asked
 * for, else the last stage of what the node reads; inputs and parameters the first of their
 * readers.  What reads nothing but these is made in each stage that reads it (stage_copies.h), so
 * that nodes get other numbers.  Errors stay in the graph: SHD_EINVAL where a node reads a later stage's, or a stage has
 * nothing to do. */
void graph_set_stages(struct graph *graph, uint32_t nstages, graph_stage_fn asked, void *arg);

/* Mark the nodes of the backward phase of which only gradients of parameters come: what a schedule
 * that splits the backward phase does later (`weights`).  SHD_ENOMEM stays in the graph. */
void graph_mark_weights(struct graph *graph);

#endif /* GRAPH_STAGES_H */
