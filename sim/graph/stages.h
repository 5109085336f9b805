/* stages.h - divide a graph into the stages of a pipeline.
 *
 * Every node belongs to one stage, 0 to nstages - 1.  Values of the forward phase go to later
 * stages, gradients go back.  A parameter lies in the first stage that reads it; a later stage that
 * reads it too (tied embeddings) receives a copy once a step, and sends back its sum of gradients.
 *
 * Thread class: as the graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_STAGES_H
#define GRAPH_STAGES_H

#include "graph/graph.h"

/* The stage asked for a forward node, by its name; -1: none. */
typedef int64_t (*graph_stage_fn)(void *arg, const char *name);

/* Give every node of the forward phase its stage, before there is a backward phase: the stage asked
 * for, else the last stage of the node's operands; an input or parameter the first stage of its
 * readers.  A value that depends only on inputs and parameters is copied into each stage that reads
 * it (stage_copies.h), which renumbers nodes.  Errors stay in the graph: SHD_EINVAL if a node reads
 * a value of a later stage, or a stage has no work. */
void graph_set_stages(struct graph *graph, uint32_t nstages, graph_stage_fn asked, void *arg);

/* Mark the nodes of the backward phase on which only gradients of parameters depend (`weights`): a
 * schedule that splits the backward phase runs them later.  SHD_ENOMEM stays in the graph. */
void graph_mark_weights(struct graph *graph);

#endif /* GRAPH_STAGES_H */
