/* Ops on a host's part of arrays and batches, as T5X chunks them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include <shd/chunk.h>
#include <shd/partitioner.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/read_layout.h"
#include "layouts/query/write_layout.h"
#include "question/answer.h"
#include "question/read_field.h"

/* Read processes by position. */
static int read_processes(int32_t **out, const json_t *in, const struct shd_mesh *mesh,
                          struct shd_error *err)
{
    int64_t *list = NULL;
    int32_t *processes = NULL;
    size_t n;
    int status = read_ints(&list, &n, in, "process_of_device", err);

    if (status == SHD_OK && n != (size_t)shd_mesh_size(mesh))
        status = shd_error_set(err, SHD_EINVAL, "%zu processes are given for %d devices", n,
                               (int)shd_mesh_size(mesh));
    if (status == SHD_OK) {
        processes = malloc((n + 1) * sizeof *processes);
        if (!processes)
            status = shd_error_set(err, SHD_ENOMEM, "no memory for %zu processes", n);
    }
    for (size_t i = 0; status == SHD_OK && i < n; i++) {
        if (list[i] < INT32_MIN || list[i] > INT32_MAX)
            status =
                shd_error_set(err, SHD_ERANGE, "a process has the number %lld", (long long)list[i]);
        else
            processes[i] = (int32_t)list[i];
    }
    free(list);
    if (status == SHD_OK)
        *out = processes;
    else
        free(processes);
    return status;
}

/* Read the chunker of in.host_index, or else of in.process_index. */
static int read_chunker(struct shd_chunker *out, struct shd_mesh **mesh, const json_t *in,
                        struct shd_error *err)
{
    int32_t *processes = NULL;
    int64_t host;
    int status = read_named_mesh(mesh, in, "axis_names", "axis", err);

    if (status == SHD_OK)
        status = read_int(&host, in, "process_index", 0, err);
    if (status == SHD_OK)
        status = read_int(&host, in, "host_index", host, err);
    if (status == SHD_OK)
        status = read_processes(&processes, in, *mesh, err);
    if (status == SHD_OK)
        status = shd_chunker_init(out, *mesh, processes, host, err);
    free(processes);
    return status;
}

static void write_by_axis(struct json_out *out, const char *key, const struct shd_mesh *mesh,
                          const int32_t *numbers)
{
    json_out_key_object(out, key);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        json_out_key_int(out, shd_mesh_axis_name(mesh, a), numbers[a]);
    json_out_end_object(out);
}

static int answer_chunker(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct shd_chunker chunker;
    int status = read_chunker(&chunker, &mesh, in, err);

    if (status == SHD_OK) {
        json_out_begin_object(out);
        write_by_axis(out, "num_chunks", mesh, chunker.nchunks);
        write_by_axis(out, "chunk_ids", mesh, chunker.chunk_ids);
        json_out_end_object(out);
    }
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_shard_id(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct shd_chunker chunker;
    const char **axes = NULL;
    int64_t id;
    size_t n;
    int status = read_chunker(&chunker, &mesh, in, err);

    if (status == SHD_OK)
        status = read_names_value(&axes, &n, json_object_get(in, "axes"), err);
    if (status == SHD_OK)
        status = shd_chunker_shard_id(&id, &chunker, axes, n, err);
    if (status == SHD_OK)
        json_out_int(out, id);
    free(axes);
    shd_mesh_destroy(mesh);
    return status;
}

static int answer_replica_id(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct shd_chunker chunker;
    const char **axes = NULL;
    size_t n;
    int status = read_chunker(&chunker, &mesh, in, err);

    if (status == SHD_OK)
        status = read_names_value(&axes, &n, json_object_get(in, "axes"), err);
    if (status == SHD_OK)
        json_out_int(out, shd_chunker_replica_id(&chunker, axes, n));
    free(axes);
    shd_mesh_destroy(mesh);
    return status;
}

static void write_chunk(struct json_out *out, const struct shd_chunk_info *info)
{
    json_out_begin_object(out);
    json_out_key_array(out, "slice");
    for (size_t d = 0; d < info->rank; d++) {
        if (info->whole[d])
            json_out_null(out);
        else
            write_ints(out, (const int64_t[]){info->start[d], info->stop[d]}, 2);
    }
    json_out_end_array(out);
    json_out_key_int(out, "replica_id", info->replica_id);
    json_out_end_object(out);
}

static int answer_chunk_info(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_mesh *mesh = NULL;
    struct shd_spec *spec = NULL;
    struct shd_chunker chunker;
    struct shd_chunk_info info;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    bool strict;
    int status = read_chunker(&chunker, &mesh, in, err);

    if (status == SHD_OK)
        status = read_shape(shape, &rank, in, "global_shape", err);
    if (status == SHD_OK)
        status = read_spec_value(&spec, json_object_get(in, "mesh_axes"), err);
    if (status == SHD_OK)
        status = read_bool(&strict, in, "strict", false, err);
    if (status == SHD_OK)
        status = shd_chunker_info(&info, &chunker, shape, rank, spec, strict, err);
    if (status == SHD_OK)
        write_chunk(out, &info);
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
    return status;
}

/* Read the partitioner of in.logical_axis_rules, on a hybrid mesh or not. */
static int read_partitioner(struct shd_partitioner **out, const json_t *in, struct shd_error *err)
{
    static const int64_t shape[] = {1, 1, 1}; /* any shape will do, but one is required */
    const json_t *value = json_object_get(in, "logical_axis_rules");
    struct shd_partitioner_opts opts = {.mesh = {.num_partitions = 1}};
    struct shd_logical_rules *rules = NULL;
    bool hybrid;
    int status = read_bool(&hybrid, in, "ici_and_dcn_given", false, err);

    if (status == SHD_OK)
        status = read_bool(&opts.strict, in, "strict", false, err);
    if (status == SHD_OK && value && !json_is_null(value) && !json_is_string(value))
        status = read_logical_rules(&rules, value, err);
    opts.rules = rules;
    if (status == SHD_OK && hybrid) {
        opts.mesh.ici = opts.mesh.dcn = shape;
        opts.mesh.nici = opts.mesh.ndcn = 3;
    }
    if (status == SHD_OK)
        status = shd_partitioner_create(out, &opts, err);
    shd_logical_rules_destroy(rules);
    return status;
}

/* The state of a question on data. */
struct data_question {
    struct shd_partitioner *partitioner;
    struct shd_mesh *mesh;
    struct shd_chunker chunker;
};

static int init_question(struct data_question *q, const json_t *in, struct shd_error *err)
{
    int status;

    *q = (struct data_question){.mesh = NULL};
    status = read_partitioner(&q->partitioner, in, err);
    return status == SHD_OK ? read_chunker(&q->chunker, &q->mesh, in, err) : status;
}

static void fini_question(struct data_question *q)
{
    shd_partitioner_destroy(q->partitioner);
    shd_mesh_destroy(q->mesh);
}

enum data_number { DATA_MESH_SIZE, DATA_SHARDS, DATA_SHARD_ID, DATA_NUMBERS };

static const char *const data_names[DATA_NUMBERS] = {"data_mesh_size", "data_shards",
                                                     "data_shard_id"};

static int find_number(int64_t *out, const struct data_question *q, enum data_number which,
                       struct shd_error *err)
{
    const struct shd_spec_entry *axes = shd_partitioner_data_axes(q->partitioner);

    switch (which) {
    case DATA_MESH_SIZE:
        return shd_data_mesh_size(out, q->mesh, axes, err);
    case DATA_SHARDS:
        return shd_data_shards(out, &q->chunker, axes, err);
    default:
        return shd_data_shard_id(out, &q->chunker, axes, err);
    }
}

static int answer_number(const json_t *in, struct json_out *out, enum data_number which,
                         struct shd_error *err)
{
    struct data_question q;
    int64_t number;
    int status = init_question(&q, in, err);

    if (status == SHD_OK)
        status = find_number(&number, &q, which, err);
    if (status == SHD_OK)
        json_out_int(out, number);
    fini_question(&q);
    return status;
}

static int answer_mesh_size(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_number(in, out, DATA_MESH_SIZE, err);
}

static int answer_shards(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_number(in, out, DATA_SHARDS, err);
}

static int answer_data_shard_id(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer_number(in, out, DATA_SHARD_ID, err);
}

/* Write the data layout.  Without a data axis the batch size is returned as given, even null, and
 * the numbers are null. */
static void write_layout(struct json_out *out, const json_t *in, const struct data_question *q,
                         const struct shd_data_layout *layout)
{
    bool sharded = shd_partitioner_data_axes(q->partitioner)->naxes > 0;

    json_out_begin_object(out);
    json_out_key(out, "batch_size");
    if (sharded)
        json_out_int(out, layout->batch_size);
    else
        answer_copy(out, json_object_get(in, "batch_size"));
    json_out_key_int(out, "shard_id", layout->shard_id);
    json_out_key_int(out, "num_shards", layout->num_shards);
    json_out_key_bool(out, "is_first_host_in_replica_set", layout->is_first_host_in_replica_set);
    for (enum data_number n = 0; n < DATA_NUMBERS; n++) {
        int64_t number;

        json_out_key(out, data_names[n]);
        if (find_number(&number, q, n, NULL) == SHD_OK)
            json_out_int(out, number);
        else
            json_out_null(out);
    }
    json_out_end_object(out);
}

static int answer_layout(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_data_layout layout;
    struct data_question q;
    int64_t batch_size;
    int status = init_question(&q, in, err);

    if (status == SHD_OK)
        status = read_int(&batch_size, in, "batch_size", 0, err);
    if (status == SHD_OK)
        status = shd_partitioner_data_layout(&layout, q.partitioner, &q.chunker, batch_size, err);
    if (status == SHD_OK)
        write_layout(out, in, &q, &layout);
    fini_question(&q);
    return status;
}

#define HOST_FIELDS                                                                                \
    {"axis_names", "names", NULL, "Names of the mesh's axes."},                                    \
        {"mesh_shape", "list of whole numbers", NULL, "Their sizes."},                             \
        {"process_of_device", "list of whole numbers", NULL,                                       \
         "The process of each device, row-major."},                                                \
        {"process_index", "whole number", "0", "The process that asks."},                          \
    {                                                                                              \
        "host_index", "whole number or null", "process_index", "The host whose view is asked for." \
    }

#define DATA_FIELDS                                                                     \
    HOST_FIELDS,                                                                        \
        {"logical_axis_rules", "logical rules or text", "\"default\"",                  \
         "Rules; only the rules of batch matter; a text or null: the standard rules."}, \
        {"ici_and_dcn_given", "boolean", "false",                                       \
         "The mesh is hybrid: data is over replica and data."},                         \
    {                                                                                   \
        "strict", "boolean", "false", "A negative batch is an error."                   \
    }

#define DATA_BATCH_FIELD                                     \
    {                                                        \
        "batch_size", "whole number or null", "null",        \
            "As in t5x.get_data_layout; has no effect here." \
    }

/* The second of two hosts, each with two devices of a mesh. */
#define HOST_QUESTION                                                                             \
    "{'axis_names': ['data', 'model'], 'mesh_shape': [2, 2], 'process_of_device': [0, 0, 1, 1], " \
    "'process_index': 1"

const struct query_op query_t5x_chunk_ops[] = {
    {.name = "t5x.data_mesh_size",
     .answer = answer_mesh_size,
     .about = "The devices along the axes that shard the batch.",
     .in = QUERY_FIELDS(DATA_FIELDS, DATA_BATCH_FIELD),
     .gives = "whole number",
     .errors = "duplicate-axis, axis-not-in-mesh",
     .question = HOST_QUESTION "}",
     .reply = "'out':2"},
    {.name = "t5x.data_shard_id",
     .answer = answer_data_shard_id,
     .about = "The host's shard of the data.",
     .in = QUERY_FIELDS(DATA_FIELDS, DATA_BATCH_FIELD),
     .gives = "whole number",
     .errors = "duplicate-axis, axis-not-in-mesh",
     .question = HOST_QUESTION "}",
     .reply = "'out':1"},
    {.name = "t5x.data_shards",
     .answer = answer_shards,
     .about = "The number of data shards, over all hosts.",
     .in = QUERY_FIELDS(DATA_FIELDS, DATA_BATCH_FIELD),
     .gives = "whole number",
     .errors = "duplicate-axis, axis-not-in-mesh",
     .question = HOST_QUESTION "}",
     .reply = "'out':2"},
    {.name = "t5x.get_data_layout",
     .answer = answer_layout,
     .about = "How a batch is split over hosts.",
     .in = QUERY_FIELDS(DATA_FIELDS, {"batch_size", "whole number or null", "null",
                                      "Sequences of all hosts; null: data_mesh_size."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"batch_size", "whole number or null", NULL, "Of all hosts."},
         {"shard_id", "whole number", NULL, "The host's shard."},
         {"num_shards", "whole number", NULL, "Shards."},
         {"is_first_host_in_replica_set", "boolean", NULL,
          "Whether this is the first host with the shard."},
         {"data_mesh_size", "whole number or null", NULL,
          "The answer of t5x.data_mesh_size; null if it is an error."},
         {"data_shards", "whole number or null", NULL, "The answer of t5x.data_shards."},
         {"data_shard_id", "whole number or null", NULL, "The answer of t5x.data_shard_id."}),
     .errors = "duplicate-axis, axis-not-in-mesh, indivisible",
     .question = HOST_QUESTION ", 'batch_size': 8}",
     .reply = "'out':{'batch_size':8,'shard_id':1,'num_shards':2,'is_first_host_in_replica_set':"
              "true,'data_mesh_size':2,'data_shards':2,'data_shard_id':1}"},
    {.name = "t5x.get_local_chunk_info",
     .answer = answer_chunk_info,
     .about = "The part of an array that a host holds.",
     .in = QUERY_FIELDS(HOST_FIELDS, {"global_shape", "shape", NULL, "Extents of the array."},
                        {"mesh_axes", "spec", NULL, "Its spec."},
                        {"strict", "boolean", "false",
                         "A dimension that does not divide into chunks is an error."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"slice", "list", NULL, "For each dimension [start, stop), or null for all of it."},
         {"replica_id", "whole number", NULL, "Which replica it is."}),
     .errors = "duplicate-axis, axis-not-in-mesh, indivisible",
     .question = HOST_QUESTION ", 'global_shape': [8, 6], 'mesh_axes': ['data']}",
     .reply = "'out':{'slice':[[4,8],null],'replica_id':0}"},
    {.name = "t5x.get_replica_id",
     .answer = answer_replica_id,
     .about = "The replica that a host holds of an array that is sharded along axes.",
     .in = QUERY_FIELDS(HOST_FIELDS, {"axes", "name or names", NULL, "The axes."}),
     .gives = "whole number",
     .errors = "duplicate-axis",
     .question = HOST_QUESTION ", 'axes': 'model'}",
     .reply = "'out':1"},
    {.name = "t5x.get_shard_id",
     .answer = answer_shard_id,
     .about = "The host's number among the chunks along axes, the first axis the most major.",
     .in = QUERY_FIELDS(HOST_FIELDS, {"axes", "name or names", NULL, "The axes."}),
     .gives = "whole number",
     .errors = "duplicate-axis, axis-not-in-mesh",
     .question = HOST_QUESTION ", 'axes': ['data', 'model']}",
     .reply = "'out':1"},
    {.name = "t5x.local_chunker",
     .answer = answer_chunker,
     .about = "The number of chunks of each mesh axis over hosts, and the chunk of one host.",
     .in = QUERY_FIELDS(HOST_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS({"num_chunks", "object", NULL, "Chunks along each axis."},
                         {"chunk_ids", "object", NULL, "The host's among them."}),
     .errors = "duplicate-axis",
     .question = HOST_QUESTION "}",
     .reply = "'out':{'num_chunks':{'data':2,'model':1},'chunk_ids':{'data':1,'model':0}}"},
    {.name = NULL}};
