/* reshard.plan and reshard.run: moving an array from one sharding to another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shd/reshard_figures.h>

#include "kern/convert.h"
#include "program/record.h"
#include "program/shard.h"
#include "query/limits.h"
#include "query/moves.h"
#include "query/query.h"
#include "question/read_field.h"
#include "run/walk/walk.h"

struct reshard_question {
    struct shd_mesh *mesh;
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    enum shd_dtype dtype;
    bool pads; /* uneven shards are padded to the longest; otherwise they have their own lengths */
    struct shd_reshard_plan plan;
    struct program *program;
};

static void fini(struct reshard_question *q)
{
    program_destroy(q->program);
    shd_mesh_destroy(q->mesh);
}

/* Read the names of mesh axes over which the source has partial sums. */
static int read_partial(struct reshard_question *q, const json_t *in, struct shd_error *err)
{
    const json_t *names = json_object_get(in, "partial");

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        int axis = name ? shd_mesh_find_axis(q->mesh, name) : -1;

        if (axis < 0)
            return shd_error_set(err, SHD_ENOAXIS, "'%.60s' in 'partial' is not a mesh axis",
                                 name ? name : "?");
        if (shd_sharding_axes(&q->from) >> axis & 1)
            return shd_error_set(err, SHD_EDUPAXIS,
                                 "axis '%s' is both in the spec and in 'partial'", name);
        q->from.partial |= (uint16_t)(1u << axis);
    }
    return SHD_OK;
}

static const char *const uneven_words[] = {"refuse", "chunk", "pad"};

/* Read the treatment of dimensions that do not divide: an index into uneven_words. */
static int read_uneven(int *out, const json_t *in, struct shd_error *err)
{
    const json_t *value = json_object_get(in, "uneven");
    const char *word = value ? json_string_value(value) : uneven_words[0];

    for (*out = 0; *out < 3 && word; ++*out)
        if (!strcmp(word, uneven_words[*out]))
            return SHD_OK;
    return shd_error_set(err, SHD_EINVAL, "'uneven' is %s%.60s%s; expected refuse, chunk or pad",
                         word ? "'" : "", word ? word : "no text", word ? "'" : "");
}

static int read_side(struct shd_sharding *out, const struct reshard_question *q, const json_t *in,
                     const char *key, bool uneven, struct shd_error *err)
{
    struct shd_error why;
    int status = read_sharding_spec(out, json_object_get(in, key), q->mesh, q->rank, err);

    if (status != SHD_OK)
        return status;
    status = shd_sharding_check(out, q->shape, &why);
    if (status == SHD_EINDIVISIBLE && !uneven)
        return shd_error_set(err, status, "%s; or set 'uneven' to chunk or pad", why.text);
    out->uneven = status == SHD_EINDIVISIBLE;
    return shd_sharding_check(out, q->shape, err);
}

static int read_question(struct reshard_question *q, const json_t *in, struct shd_error *err)
{
    int uneven = 0;
    int status = read_mesh(&q->mesh, in, "mesh", err);

    if (status == SHD_OK)
        status = read_shape(q->shape, &q->rank, in, "shape", err);
    if (status == SHD_OK)
        status = read_dtype(&q->dtype, in, "dtype", err);
    if (status == SHD_OK)
        status = read_uneven(&uneven, in, err);
    q->pads = uneven == 2;
    if (status == SHD_OK)
        status = read_side(&q->from, q, in, "from", uneven > 0, err);
    if (status == SHD_OK)
        status = read_side(&q->to, q, in, "to", uneven > 0, err);
    return status == SHD_OK ? read_partial(q, in, err) : status;
}

static int add_array(struct reshard_question *q, const struct shd_sharding *sharding,
                     struct program_op *op, struct shd_error *err)
{
    int status =
        program_add_buffer(&op->outputs[0], q->program, "array", q->dtype, q->shape, sharding, err);

    return status == SHD_OK ? program_add_op(q->program, op, err) : status;
}

/* Build a program with one argument and the steps to its new sharding. */
static int build(struct reshard_question *q, struct kern_source source, struct shd_error *err)
{
    struct program_op op = {.kind = PROGRAM_FILL, .noutputs = 1, .name = "array", .source = source};
    struct shd_sharding from, to;
    int status;

    if (q->dtype >= SHD_NCOMPUTE_DTYPES && q->from.partial)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "arrays of %s are moved, not summed; expected no axis in 'partial'",
                             shd_dtype_name(q->dtype));
    shd_sharding_simplify(&from, &q->from);
    shd_sharding_simplify(&to, &q->to);
    status = shd_reshard_build(&q->plan, &from, &to, q->shape, q->dtype, err);
    if (status != SHD_OK)
        return status;
    q->program = program_create(q->mesh);
    if (!q->program)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    status = add_array(q, &from, &op, err);
    if (status == SHD_OK)
        q->program->buffers[op.outputs[0]].argument = true;
    for (size_t s = 0; s < q->plan.nsteps && status == SHD_OK; s++) {
        op = (struct program_op){.kind = PROGRAM_RESHARD,
                                 .name = "reshard",
                                 .why = "the array is asked for in another sharding",
                                 .ninputs = 1,
                                 .noutputs = 1,
                                 .inputs = {op.outputs[0]},
                                 .reshard = q->plan.steps[s]};
        status = add_array(q, &q->plan.steps[s].to, &op, err);
        if (status == SHD_OK)
            program_make_step_room(q->program, &q->program->ops[q->program->nops - 1]);
    }
    if (status == SHD_OK)
        status = program_add_result(q->program, PROGRAM_OUTPUT, "array", op.outputs[0], err);
    if (status != SHD_OK)
        return status;
    program_set_lifetimes(q->program);
    return program_set_order(q->program, 1, NULL, err);
}

/* Write the steps in words, and their costs compared with the lower bounds for any method. */
static int write_figures(struct json_out *out, const struct reshard_question *q,
                         struct shd_error *err)
{
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    char words[1024];
    int status = shd_reshard_bound(&bound, &q->from, &q->to, q->shape, q->dtype, NULL, err);

    if (status == SHD_OK)
        status = shd_reshard_measure(&figures, &q->plan, q->shape, NULL, err);
    if (status != SHD_OK)
        return status;
    json_out_key_uint(out, "bound_bytes", bound.received_bytes);
    json_out_key_uint(out, "largest_sent_bytes", figures.largest_sent_bytes);
    json_out_key_uint(out, "peak_bytes", figures.peak_bytes);
    json_out_key_uint(out, "messages", figures.nmessages);
    json_out_key_array(out, "steps");
    for (size_t s = 0; s < q->plan.nsteps; s++) {
        shd_reshard_step_print(&q->plan.steps[s], words, sizeof words);
        json_out_string(out, words);
    }
    json_out_end_array(out);
    return SHD_OK;
}

static int answer_plan(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct reshard_question q = {.mesh = NULL};
    struct kern_source whole_numbers = {.seed = 1, .modulus = 5};
    int status = read_question(&q, in, err);

    if (status == SHD_OK)
        status = build(&q, whole_numbers, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        status = moves_write(out, q.program, err);
        if (status == SHD_OK)
            status = write_figures(out, &q, err);
        json_out_end_object(out);
    }
    fini(&q);
    return status;
}

/* The shards of the result on each device. */
struct shards {
    const struct program_buffer *buffer;
    char *bytes; /* [device][shard] */
};

static void keep_shard(void *arg, int32_t position, const void *const *shards)
{
    const struct shards *s = arg;

    memcpy(s->bytes + (size_t)position * s->buffer->bytes, shards[0], s->buffer->bytes);
}

/* Write consecutive elements of a device's shard. */
static void write_run(struct json_out *out, const struct shards *s, int32_t device, uint64_t at,
                      uint64_t count)
{
    size_t size = shd_dtype_size(s->buffer->dtype);
    double value[KERN_LANES];

    for (uint64_t i = 0; i < count; i++) {
        kern_load_f64(s->buffer->dtype,
                      s->bytes + (size_t)device * s->buffer->bytes + (at + i) * size, 1, 1, value);
        json_out_double(out, value[0]);
    }
}

/* Write a shard without padding, box by box. */
static void write_boxes(struct json_out *out, const struct shards *s, int32_t device)
{
    struct program_boxes boxes = program_boxes_begin(s->buffer, device);
    struct shd_box box;

    while (program_boxes_next(&boxes, &box)) {
        uint64_t count = 1;

        for (uint32_t d = 0; d < s->buffer->rank; d++)
            count *= (uint64_t)box.extent[d];
        write_run(out, s, device, (uint64_t)box.at, count);
    }
}

static void write_shards(struct json_out *out, const struct shards *s, bool pads, int32_t ndevices)
{

    json_out_begin_object(out);
    json_out_key_array(out, "shards");
    for (int32_t d = 0; d < ndevices; d++) {
        json_out_begin_array(out);
        if (pads)
            write_run(out, s, d, 0, program_buffer_count(s->buffer));
        else
            write_boxes(out, s, d);
        json_out_end_array(out);
    }
    json_out_end_array(out);
    json_out_end_object(out);
}

static int execute(struct reshard_question *q, struct json_out *out, struct shd_error *err)
{
    struct shards shards = {.buffer = &q->program->buffers[q->program->results[0].buffer]};
    struct walk_opts opts = {.finish = keep_shard, .finish_arg = &shards};
    struct record *record;
    int status = limits_check(q->program, 1, false, err);
    uint64_t nelements =
        (uint64_t)shd_mesh_size(q->mesh) * (shards.buffer->bytes / shd_dtype_size(q->dtype));

    if (status == SHD_OK && nelements > LIMIT_LISTED_ELEMENTS)
        status = shd_error_set(err, SHD_ERANGE, "%llu elements of all shards are too many to list",
                               (unsigned long long)nelements);
    if (status == SHD_OK)
        status = record_create(&record, q->program, RECORD_EXECUTED, false, err);
    if (status != SHD_OK)
        return status;
    shards.bytes = malloc((size_t)record->ndevices * shards.buffer->bytes + 1);
    if (!shards.bytes)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the shards");
    if (status == SHD_OK)
        status = walk_run(record, &opts, err);
    if (status == SHD_OK)
        write_shards(out, &shards, q->pads, record->ndevices);
    free(shards.bytes);
    record_destroy(record);
    return status;
}

/* Check that the dtype can represent each element's index exactly, or its sum over all partial
 * sums. */
static int check_range(const struct reshard_question *q, struct shd_error *err)
{
    static const uint64_t largest[SHD_NDTYPES] = {[SHD_F32] = UINT64_C(1) << 24,
                                                  [SHD_F64] = UINT64_C(1) << 53,
                                                  [SHD_BF16] = 256,
                                                  [SHD_F16] = 2048,
                                                  [SHD_I32] = INT32_MAX,
                                                  [SHD_I8] = INT8_MAX,
                                                  [SHD_U8] = UINT8_MAX,
                                                  [SHD_I16] = INT16_MAX,
                                                  [SHD_I64] = INT64_MAX,
                                                  [SHD_BOOL] = 1,
                                                  [SHD_F8E4M3] = 16,
                                                  [SHD_F8E5M2] = 8,
                                                  [SHD_F4E2M1] = 4};
    uint64_t bytes, nparts = (uint64_t)shd_mesh_size_along(q->mesh, q->from.partial);
    int status = shd_shape_bytes(&bytes, q->shape, q->rank, q->dtype, err);

    if (status == SHD_OK && bytes / shd_dtype_size(q->dtype) > largest[q->dtype] / nparts + 1)
        status = shd_error_set(err, SHD_ERANGE,
                               "elements are numbered from 0, and %s represents integers only up "
                               "to %" PRIu64 "; expected a smaller array or another dtype",
                               shd_dtype_name(q->dtype), largest[q->dtype]);
    return status;
}

static int answer_run(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct reshard_question q = {.mesh = NULL};
    struct kern_source index = {.index = true};
    int status = read_question(&q, in, err);

    if (status == SHD_OK)
        status = check_range(&q, err);
    if (status == SHD_OK)
        status = build(&q, index, err);
    if (status == SHD_OK)
        status = execute(&q, out, err);
    fini(&q);
    return status;
}

#define UNEVEN_FIELD                                                                           \
    {                                                                                          \
        "uneven", "text", "\"refuse\"",                                                        \
            "How to shard dimensions that do not divide: refuse; chunk: shards of the extent " \
            "divided by the number of shards, rounded up, the last ones shorter or empty; "    \
            "pad: equal shards, filled up with zeros."                                         \
    }

const struct query_op query_reshard_ops[] = {
    {.name = "reshard.plan",
     .answer = answer_plan,
     .about = "Plans a reshard of an array with the fewest bytes, and executes the plan.",
     .in = QUERY_FIELDS(
         {"mesh", "mesh", NULL, "Axes of the device mesh."},
         {"shape", "shape", NULL, "Extents of the array."},
         {"dtype", "dtype", "\"float32\"", "Type of its elements."},
         {"from", "spec", NULL, "Its sharding before."},
         {"to", "spec", NULL, "Its sharding after."},
         {"partial", "names", "[]", "Mesh axes over which the array holds partial sums."},
         UNEVEN_FIELD),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"received_bytes", "object", NULL, "total, and per_device, as planned."},
         {"collectives", "list of objects", NULL,
          "op, axes, count, received_bytes of all devices, where and why."},
         {"executed_received_bytes", "whole number", NULL,
          "Bytes received by all devices in an execution, counted at the copies."},
         {"bound_bytes", "whole number", NULL,
          "Lower bound on received bytes of any method, all devices together."},
         {"largest_sent_bytes", "whole number", NULL, "Bytes sent by the busiest sender."},
         {"peak_bytes", "whole number", NULL, "Peak memory of a device during the reshard."},
         {"messages", "whole number", NULL, "Messages from device to device."},
         {"steps", "list of texts", NULL, "The steps in words."}),
     .errors = "duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible",
     .question = "{'mesh': [['a', 2]], 'shape': [4, 4], 'from': ['a'], 'to': [null, 'a']}",
     .reply = "'out':{'received_bytes':{'total':32,'per_device':[16,16]},'collectives':[{'op':'all-"
              "to-all','axes':['a'],'count':1,'received_bytes':32,'where':'reshard','why':'the "
              "array is asked for in another "
              "sharding'}],'executed_received_bytes':32,'bound_bytes':32,'largest_sent_bytes':16,'"
              "peak_bytes':64,'messages':2,'steps':['all-to-all "
              "of dimension 0 to 1 over a to [{}, {a}]: 32 B']}"},
    {.name = "reshard.run",
     .answer = answer_run,
     .about =
         "Executes a reshard of an array with elements 0, 1, 2 ... (row-major), and returns the "
         "shards.",
     .in = QUERY_FIELDS(
         {"mesh", "mesh", NULL, "Axes of the device mesh."},
         {"shape", "shape", NULL, "Extents of the array."},
         {"dtype", "dtype", "\"float32\"", "Element type; must represent every element's number."},
         {"from", "spec", NULL, "Its sharding before."},
         {"to", "spec", NULL, "Its sharding after."},
         {"partial", "names", "[]",
          "Mesh axes over which the array holds partial sums, each with these elements."},
         UNEVEN_FIELD),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"shards", "list of lists", NULL, "The elements of each device's shard, row-major."}),
     .errors = "duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible",
     .question = "{'mesh': [['a', 2]], 'shape': [2, 4], 'from': ['a'], 'to': [null, 'a']}",
     .reply = "'out':{'shards':[[0.0,1.0,4.0,5.0],[2.0,3.0,6.0,7.0]]}"},
    {.name = NULL}};
