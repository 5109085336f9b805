/* shd/graph.h - write down a computation, ask for shardings, run it on a mesh and verify it.
 *
 * A graph has named dimensions, inputs, parameters and ops; a value is a number.  Dimensions are
 * given as text, "b,s,d".  An einsum or a reduction sums over what its result's dimensions lack;
 * elementwise functions broadcast.  Backward is derived.  Data are pseudo-random numbers that
 * depend on an array's name only.
 *
 * Building keeps the first error and makes every later call a no-op that returns SHD_GRAPH_NONE;
 * shd_graph_status() tells, and so does shd_graph_run().
 *
 * Thread class: a graph is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_GRAPH_H
#define SHD_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/sharding.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_graph; /* opaque */

#define SHD_GRAPH_NONE (-1)

/* An empty graph; free it with shd_graph_destroy().  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_graph_create(struct shd_graph **out, struct shd_error *err);
SHD_API void shd_graph_destroy(struct shd_graph *graph); /* NULL is allowed */

/* SHD_OK, or the first error of the building calls. */
SHD_API int shd_graph_status(const struct shd_graph *graph, struct shd_error *err);

/* Name a dimension. */
SHD_API void shd_graph_dim(struct shd_graph *graph, const char *name, int64_t size);

/* Arrays from outside, and those that are learned.  Names are letters, digits, '_' and '.'. */
SHD_API int32_t shd_graph_input(struct shd_graph *graph, const char *name, enum shd_dtype dtype,
                                const char *dims);
SHD_API int32_t shd_graph_param(struct shd_graph *graph, const char *name, enum shd_dtype dtype,
                                const char *dims);

/* The product of two values. */
SHD_API int32_t shd_graph_einsum(struct shd_graph *graph, const char *name, int32_t a, int32_t b,
                                 const char *dims);

/* An elementwise function by its name: "gelu" of a; "add" of a and b; "scale" of a by `scalar`.
 * `b` is SHD_GRAPH_NONE where there is no second operand. */
SHD_API int32_t shd_graph_map(struct shd_graph *graph, const char *name, const char *function,
                              int32_t a, int32_t b, double scalar);

SHD_API int32_t shd_graph_reduce(struct shd_graph *graph, const char *name, enum shd_reduce_op op,
                                 int32_t a, const char *dims);

/* A place where a sharding may be asked for by name; the value goes on from here. */
SHD_API int32_t shd_graph_constraint(struct shd_graph *graph, const char *name, int32_t a);

/* A line as in the `graph:` section of a scenario, "h[b,s,f] = gelu(einsum(x, w))", for all other
 * functions: softmax, norms, attention, slices.  Inputs, parameters, constraints and the left sides
 * of lines are known in it by name; its left side is a place, too. */
SHD_API int32_t shd_graph_line(struct shd_graph *graph, const char *line);

/* Make a value a result. */
SHD_API void shd_graph_output(struct shd_graph *graph, const char *name, int32_t value);

/* Add the loss, which is the sum of each result times as many random numbers, and the gradients
 * of all parameters and of the inputs.  Nothing can be added afterwards. */
SHD_API void shd_graph_backward(struct shd_graph *graph);

/* How an input, a parameter or a place is to be sharded: "[dp, null, tp]" or "P('dp', None, 'tp')".
 * Gradients are sharded as what they belong to. */
struct shd_graph_spec {
    const char *name;
    const char *spec;
};

struct shd_graph_opts {
    double tolerance;        /* of max |a-b| / max |b|, besides the bounds; 0: none */
    uint64_t memory_bytes;   /* of each device; 0: no limit */
    const int *stop_request; /* as in shd_run_opts */
};

#define SHD_GRAPH_OPTS_INIT \
    {                       \
        0, 0, NULL          \
    }

/* What was counted, by position in the mesh, and verified: results against the unsharded
 * computation in float64, each element within an error bound of its own, and each step against what
 * it was given. */
struct shd_graph_stats {
    int32_t ndevices;
    uint64_t *received_bytes;
    uint64_t *sent_bytes;
    uint64_t *peak_bytes;
    uint64_t *flops;
    uint32_t ncollectives;
    double error; /* the largest |a-b| / bound of all results and gradients; infinity where one is
                   * not finite and the other is not the same */
    int within;   /* all bounds, and the tolerance */
};

/* Partition, execute on a thread for each device, and verify; `specs` may be NULL when there are
 * none, `opts` NULL for the defaults.  Numbers that are wrong are no error: look at `within`.
 *
 * SHD_ENOMESH (mesh is NULL), SHD_ENOTFOUND (a spec for a name that the graph lacks),
 * SHD_EINDIVISIBLE, the statuses of specs and of shd_run(), and the graph's own.  `stats` may be
 * NULL; it is zeros after an error, and is freed with shd_graph_stats_fini() either way. */
SHD_API SHD_MUST_CHECK int shd_graph_run(struct shd_graph *graph, const struct shd_mesh *mesh,
                                         const struct shd_graph_spec *specs, size_t nspecs,
                                         const struct shd_graph_opts *opts,
                                         struct shd_graph_stats *stats, struct shd_error *err);

SHD_API void shd_graph_stats_fini(struct shd_graph_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* SHD_GRAPH_H */
