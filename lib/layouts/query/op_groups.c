/* Ops on process groups: tensor, pipeline, context and data groups, as ezpz makes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/parallel_groups.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/answer.h"
#include "question/read_field.h"

#define VIEWS_MAX 16 /* for a larger world only the views of some ranks are listed */

/* Kinds in the order in which the original creates their groups, with their keys in answers. */
static const struct kind_key {
    enum shd_parallel_kind kind;
    const char *key;
    const char *size_key;
    const char *groups_key;
} kind_keys[] = {
    {SHD_PARALLEL_DATA, "dp", "dp_size", "dp_groups"},
    {SHD_PARALLEL_TENSOR, "tp", "tp_size", "tp_groups"},
    {SHD_PARALLEL_PIPELINE, "pp", "pp_size", "pp_groups"},
    {SHD_PARALLEL_CONTEXT, "cp", "cp_size", "cp_groups"},
};

enum { NKEYS = sizeof kind_keys / sizeof kind_keys[0] };

/* Read in.world_size and in.rank.  The original at HEAD pretends to have a tensor group. */
static int read_process(struct shd_parallel *out, const json_t *in, struct shd_error *err)
{
    int64_t world, rank;
    const char *version;
    int status = read_int(&world, in, "world_size", 0, err);

    if (status == SHD_OK)
        status = read_int(&rank, in, "rank", 0, err);
    if (status == SHD_OK)
        status = read_string(&version, in, "source_version", "seed", err);
    if (status != SHD_OK)
        return status;
    if (world < 0 || world > INT32_MAX || rank < 0 || rank > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL, "rank %lld is not in a world of %lld",
                             (long long)rank, (long long)world);
    shd_parallel_init(out, (int32_t)world, (int32_t)rank, !strcmp(version, "head"));
    return SHD_OK;
}

static int read_sizes(struct shd_parallel_sizes *out, const json_t *in, struct shd_error *err)
{
    int status = read_int(&out->tensor, in, "tensor_parallel_size", 1, err);

    if (status == SHD_OK)
        status = read_int(&out->pipeline, in, "pipeline_parallel_size", 1, err);
    if (status == SHD_OK)
        status = read_int(&out->context, in, "context_parallel_size", 1, err);
    return status;
}

static void write_ranks(struct json_out *out, const struct shd_parallel_group *group)
{
    json_out_begin_array(out);
    for (int32_t m = 0; m < group->size; m++)
        json_out_int(out, shd_parallel_member(group, m));
    json_out_end_array(out);
}

static int write_view(struct json_out *out, const struct shd_parallel *p,
                      const struct kind_key *key, struct shd_error *err)
{
    struct shd_parallel_group group;
    int32_t source;
    int status = shd_parallel_group(&group, p, key->kind, err);

    if (status == SHD_OK)
        status = shd_parallel_source_rank(&source, p, err);
    if (status != SHD_OK)
        return status;
    json_out_key_object(out, key->key);
    json_out_key(out, "ranks");
    write_ranks(out, &group);
    json_out_key_int(out, "rank", group.rank);
    json_out_key_int(out, "world_size", group.size);
    if (key->kind == SHD_PARALLEL_TENSOR)
        json_out_key_int(out, "src_rank", source);
    json_out_end_object(out);
    return SHD_OK;
}

static int write_rank(struct json_out *out, const struct shd_parallel *p, int32_t rank,
                      struct shd_error *err)
{
    struct shd_parallel view = *p;
    int status = SHD_OK;

    view.rank = rank;
    json_out_begin_object(out);
    json_out_key_int(out, "rank", rank);
    json_out_key_bool(out, "initialized", shd_parallel_is_initialized(&view));
    for (size_t k = 0; status == SHD_OK && k < NKEYS; k++)
        status = write_view(out, &view, &kind_keys[k], err);
    json_out_end_object(out);
    return status;
}

/* Write the views of each rank; for a large world of the first two, the last two, and those at a
 * third and at half of it. */
static int write_views(struct json_out *out, const struct shd_parallel *p, struct shd_error *err)
{
    const int32_t n = p->world_size, some[] = {0, 1, n / 3, n / 2, n - 2, n - 1};
    bool all = n <= VIEWS_MAX;
    int32_t nviews = all ? n : (int32_t)(sizeof some / sizeof some[0]);
    int status = SHD_OK;

    json_out_key_array(out, "ranks");
    for (int32_t i = 0; status == SHD_OK && i < nviews; i++)
        status = write_rank(out, p, all ? i : some[i], err);
    json_out_end_array(out);
    return status;
}

static int answer_initialize(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_parallel_sizes sizes;
    struct shd_parallel p = {0};
    int status = read_process(&p, in, err);

    if (status == SHD_OK)
        status = read_sizes(&sizes, in, err);
    if (status == SHD_OK)
        status = shd_parallel_create_groups(&p, &sizes, err);
    if (status == SHD_OK)
        status = check_ranks_listed(p.world_size, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        for (size_t k = 0; k < NKEYS; k++) {
            const struct shd_groups *groups = &p.groups[kind_keys[k].kind];

            json_out_key_int(out, kind_keys[k].size_key, groups->nmembers);
            json_out_key(out, kind_keys[k].groups_key);
            write_groups(out, groups, 0);
        }
        status = write_views(out, &p, err);
        json_out_end_object(out);
    }
    shd_parallel_destroy_groups(&p);
    return status;
}

/* The kind of "get_tensor_parallel_rank", with the remainder "rank" in *rest; -1 for other names.
 */
static int parse_getter(const char *name, const char **rest)
{
    static const char middle[] = "_parallel_";

    for (int k = 0; !strncmp(name, "get_", 4) && k < SHD_PARALLEL_NKINDS; k++) {
        const char *kind = shd_parallel_kind_name((enum shd_parallel_kind)k);
        size_t length = strlen(kind);

        if (strncmp(name + 4, kind, length) != 0 ||
            strncmp(name + 4 + length, middle, sizeof middle - 1) != 0)
            continue;
        *rest = name + 4 + length + sizeof middle - 1;
        return k;
    }
    return -1;
}

/* Answer a getter of a kind; a group is written as its ranks. */
static int answer_kind(const struct shd_parallel *p, enum shd_parallel_kind kind, const char *what,
                       struct json_out *out, struct shd_error *err)
{
    struct shd_parallel_group group;
    int32_t number = 0;
    int status;

    if (!strcmp(what, "group") || !strcmp(what, "ranks")) {
        status = shd_parallel_group(&group, p, kind, err);
        if (status == SHD_OK)
            write_ranks(out, &group);
        return status;
    }
    if (!strcmp(what, "world_size"))
        status = shd_parallel_world_size(&number, p, kind, err);
    else if (!strcmp(what, "rank"))
        status = shd_parallel_rank(&number, p, kind, err);
    else if (!strcmp(what, "src_rank") && kind == SHD_PARALLEL_TENSOR)
        status = shd_parallel_source_rank(&number, p, err);
    else
        status = shd_error_set(err, SHD_EUNSUPPORTED, "there is no getter '...%.60s'", what);
    if (status == SHD_OK)
        json_out_int(out, number);
    return status;
}

/* Answer a getter by its name in the original. */
static int answer_getter(const struct shd_parallel *p, const char *name, struct json_out *out,
                         struct shd_error *err)
{
    const char *what;
    int kind = parse_getter(name, &what);

    if (kind >= 0)
        return answer_kind(p, (enum shd_parallel_kind)kind, what, out, err);
    if (strcmp(name, "tensor_parallel_is_initialized") != 0)
        return shd_error_set(err, SHD_EUNSUPPORTED, "there is no getter '%.100s'", name);
    json_out_bool(out, shd_parallel_is_initialized(p));
    return SHD_OK;
}

static int answer_uninitialised(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_parallel p;
    const char *getter;
    int status = read_process(&p, in, err);

    if (status == SHD_OK)
        status = read_string(&getter, in, "getter", "", err);
    return status == SHD_OK ? answer_getter(&p, getter, out, err) : status;
}

/* Check one op of a sequence: ["init", tensor, pipeline, context], ["destroy"], [getter]. */
static int check_op(const json_t *op, struct shd_error *err)
{
    const char *name = json_string_value(json_array_get(op, 0));
    size_t most = name && !strcmp(name, "init") ? 4 : 1;

    if (!name)
        return shd_error_set(err, SHD_ETYPE, "an op is a list that starts with its name");
    if (json_array_size(op) > most)
        return shd_error_set(err, SHD_EINVAL, "the op '%.60s' takes at most %zu numbers", name,
                             most - 1);
    for (size_t i = 1; i < json_array_size(op); i++) {
        const json_t *size = json_array_get(op, i);

        if (!json_is_integer(size))
            return shd_error_set(err, SHD_ETYPE, "'init' takes whole numbers");
        if (json_integer_value(size) < INT32_MIN || json_integer_value(size) > INT32_MAX)
            return shd_error_set(err, SHD_ERANGE, "'init' has %lld ranks",
                                 (long long)json_integer_value(size));
    }
    return SHD_OK;
}

static int run_op(struct shd_parallel *p, const json_t *op, struct json_out *out,
                  struct shd_error *err)
{
    const char *name = json_string_value(json_array_get(op, 0));
    struct shd_parallel_sizes sizes = SHD_PARALLEL_SIZES_INIT;
    int64_t *const into[] = {&sizes.tensor, &sizes.pipeline, &sizes.context};
    int status = SHD_OK;

    if (!strcmp(name, "init")) {
        for (size_t i = 0; i < 3 && i + 1 < json_array_size(op); i++)
            *into[i] = json_integer_value(json_array_get(op, i + 1));
        status = shd_parallel_create_groups(p, &sizes, err);
    } else if (!strcmp(name, "destroy")) {
        shd_parallel_destroy_groups(p);
    } else {
        return answer_getter(p, name, out, err);
    }
    if (status == SHD_OK)
        json_out_null(out);
    return status;
}

/* The exception that the original raises for a status of the library. */
static const char *exception_of(const struct shd_parallel *p, const json_t *op, int status)
{
    if (status != SHD_EINVAL || shd_parallel_is_initialized(p) || p->world_size < 1 ||
        p->rank >= p->world_size)
        return "AssertionError";
    for (size_t i = 1; i < json_array_size(op); i++)
        if (json_integer_value(json_array_get(op, i)) == 0)
            return "ZeroDivisionError";
    return "RuntimeError";
}

static int write_step(struct json_out *out, struct shd_parallel *p, const json_t *op,
                      struct shd_error *no_memory)
{
    struct text body = TEXT_INIT;
    struct json_out value;
    struct shd_error err;
    int status;

    json_out_init_text(&value, &body, JSON_OUT_COMPACT);
    status = run_op(p, op, &value, &err);
    if (status == SHD_OK && json_out_fini(&value) != SHD_OK)
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for the answer");
    if (status == SHD_ENOMEM) {
        text_fini(&body);
        *no_memory = err;
        return status;
    }
    json_out_begin_object(out);
    if (status == SHD_OK) {
        json_out_key(out, "out");
        json_out_raw(out, text_get(&body), body.length);
    } else {
        answer_error(out, exception_of(p, op, status), err.text);
    }
    json_out_end_object(out);
    text_fini(&body);
    return SHD_OK;
}

/* Answer a sequence of ops.  A failed op has its error as answer, and the sequence continues. */
static int answer_sequence(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const json_t *ops = json_object_get(in, "ops");
    struct shd_parallel p = {0};
    int status = read_process(&p, in, err);

    for (size_t i = 0; i < json_array_size(ops) && status == SHD_OK; i++)
        status = check_op(json_array_get(ops, i), err);
    if (status != SHD_OK)
        return status;
    json_out_begin_array(out);
    for (size_t i = 0; i < json_array_size(ops) && status == SHD_OK; i++)
        status = write_step(out, &p, json_array_get(ops, i), err);
    json_out_end_array(out);
    shd_parallel_destroy_groups(&p);
    return status;
}

#define PROCESS_FIELDS                                                                             \
    {"world_size", "whole number", "0", "Ranks of the world; 0: there is no world."},              \
        {"rank", "whole number", "0", "The rank that asks."},                                      \
    {                                                                                              \
        "source_version", "text", "\"seed\"",                                                      \
            "head: before initialization a tensor group of one rank is pretended; anything else: " \
            "asking for it is an error."                                                           \
    }

#define SIZES_FIELDS                                                                   \
    {"tensor_parallel_size", "whole number", "1", "Ranks of a tensor group."},         \
        {"pipeline_parallel_size", "whole number", "1", "Ranks of a pipeline group."}, \
    {                                                                                  \
        "context_parallel_size", "whole number", "1", "Ranks of a context group."      \
    }

#define GROUPS_FIELDS                                                                           \
    {"KIND_size", "whole number", NULL, "Ranks of a group; kinds are dp, tp, pp and cp."},      \
        {"KIND_groups", "list of lists", NULL, "Ranks of each group."},                         \
    {                                                                                           \
        "ranks", "list of objects", NULL,                                                       \
            "The groups of each rank (of over 16 only six are listed): rank, initialized, and " \
            "for each kind the ranks, its rank there and world_size; for tp also src_rank."     \
    }

const struct query_op query_groups_ops[] = {
    {.name = "ezpz.initialize_tensor_parallel",
     .answer = answer_initialize,
     .about = "The process groups of tensor, pipeline, context and data parallelism, as ezpz makes "
              "them.",
     .in = QUERY_FIELDS(PROCESS_FIELDS, SIZES_FIELDS),
     .gives = "object",
     .out = QUERY_FIELDS(GROUPS_FIELDS),
     .errors = "indivisible",
     .question = "{'world_size': 4, 'tensor_parallel_size': 2}",
     .reply = "'out':{'dp_size':2,'dp_groups':[[0,2],[1,3]],'tp_size':2,'tp_groups':[[0,1],[2,3]],."
              "..,'ranks':[{'rank':0,'initialized':true,'dp':{'ranks':[0,2],'rank':0,'world_size':"
              "2},...},...]}"},
    {.name = "ezpz.initialize_without_dist",
     .answer = answer_initialize,
     .about = "As ezpz.initialize_tensor_parallel, but without a world: an error unless world_size "
              "is given.",
     .in = QUERY_FIELDS(PROCESS_FIELDS, SIZES_FIELDS),
     .gives = "as ezpz.initialize_tensor_parallel",
     .errors = "indivisible",
     .question = "{'tensor_parallel_size': 2}",
     .reply = "'err':{'kind':'invalid','message':'the world of processes is not initialized'}"},
    {.name = "ezpz.sequence",
     .answer = answer_sequence,
     .about = "Calls of a single process, in order; a failed call answers with its error, and the "
              "next call follows.",
     .in = QUERY_FIELDS(PROCESS_FIELDS, {"ops", "list of lists", "[]",
                                         "[\"init\", tensor, pipeline, context], [\"destroy\"], or "
                                         "[getter] as in ezpz.uninitialised_getter."}),
     .gives = "list of objects",
     .out = QUERY_FIELDS(
         {"out", "anything", NULL, "The result of the call; null for init and destroy."},
         {"err", "object", NULL, "Or 'kind', the name of Python's exception, and 'message'."}),
     .question = "{'world_size': 4, 'rank': 3, 'ops': [['init', 2], ['get_tensor_parallel_rank'], "
                 "['get_data_parallel_group'], ['destroy'], ['get_data_parallel_rank']]}",
     .reply = "'out':[{'out':null},{'out':1},{'out':[1,3]},{'out':null},{'err':{'kind':'"
              "AssertionError','message':'data parallel group is not initialized'}}]"},
    {.name = "ezpz.uninitialised_getter",
     .answer = answer_uninitialised,
     .about = "What a getter returns before groups are initialized.",
     .in = QUERY_FIELDS(
         {"getter", "text", NULL,
          "get_KIND_parallel_WHAT with KIND tensor, pipeline, context or data, WHAT group, ranks, "
          "rank, world_size or (tensor only) src_rank; or tensor_parallel_is_initialized."},
         PROCESS_FIELDS),
     .gives = "whole number, boolean or list of ranks",
     .errors = "no-mesh",
     .question = "{'getter': 'get_tensor_parallel_rank', 'world_size': 8, 'rank': 5, "
                 "'source_version': 'head'}",
     .reply = "'out':0"},
    {.name = NULL}};
