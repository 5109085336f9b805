/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_own.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define WORD_BYTES_MAX 128 /* of a name in which words are looked for */

/* Words without underscores, and the name of the collective in the table of torch_ops.c.  The
 * kernels of the all-reduce that vLLM, SGLang and TensorRT-LLM share are cross_device_reduce_*. */
static const struct {
    const char *word, *op;
} words[] = {
    {"allreduce", "all_reduce"}, {"crossdevicereduce", "all_reduce"},
    {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},
};

/* Steps around a collective, which move nothing between devices. */
static const char *const around[] = {"copyin", "copyout", "wait",     "register",
                                     "init",   "dispose", "finalize", "workspace"};

/* Fusions whose arguments are not the collective's operand. */
static const char *const fused[] = {"matmul", "gemm", "linear", "moe"};

struct plain {
    char text[WORD_BYTES_MAX];
};

/* The beginning of a name without underscores and, for `any_case`, in lower case. */
static struct plain plain_of(struct json_piece name, bool any_case)
{
    struct plain plain = {""};
    size_t n = 0;

    for (size_t i = 0; i < name.length && n + 1 < sizeof plain.text; i++)
        if (name.at[i] != '_')
            plain.text[n++] = any_case ? (char)tolower((unsigned char)name.at[i]) : name.at[i];
    return plain;
}

static bool has_any(const struct plain *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(name->text, list[i]))
            return true;
    return false;
}

/* The only word of a name, by its number; COUNT(words): several collectives; -1: none. */
static int word_of(const struct plain *name)
{
    int found = -1;

    for (size_t i = 0; i < COUNT(words); i++) {
        if (!strstr(name->text, words[i].word))
            continue;
        if (found >= 0 && strcmp(words[found].op, words[i].op) != 0)
            return COUNT(words);
        found = (int)i;
    }
    return found;
}

bool torch_own_is(struct json_piece name)
{
    struct plain plain = plain_of(name, false);

    return word_of(&plain) >= 0 && !has_any(&plain, around, COUNT(around));
}

const struct torch_op *torch_own_op(struct json_piece name)
{
    struct plain plain = plain_of(name, false);
    int word = word_of(&plain);

    if (word < 0 || word == COUNT(words) || has_any(&plain, fused, COUNT(fused)))
        return NULL;
    return torch_op_find((struct json_piece){words[word].op, strlen(words[word].op)});
}

/* ---- sizes ---- */

/* The operand and the result of a gather or a scatter: the smaller array is the shard. */
static void take_shard_and_whole(struct torch_call *call, int64_t a, int64_t b)
{
    int64_t part = a < b ? a : b, whole = a < b ? b : a;

    if (part < 1 || whole % part)
        return;
    call->in_elements = call->op->kind == COLL_ALL_GATHER ? part : whole;
    call->out_elements = call->op->kind == COLL_ALL_GATHER ? whole : part;
}

void torch_own_sizes(const struct torch_arrays *arrays, struct torch_call *call)
{
    const struct torch_argument *each[TORCH_ARGUMENTS_MAX];
    bool copies = json_piece_has(call->name, "_copy"); /* (buffer, operand) */
    uint32_t n = 0;

    for (uint32_t i = 0; i < arrays->n; i++) {
        const struct torch_argument *a = &arrays->arguments[i];

        if (a->is_array)
            each[n++] = a;
        if (a->word.length && json_piece_begins(a->word, "[")) /* ranks: TensorRT-LLM's */
            call->group_ranks = a->word;
        else if (a->word.length && !a->is_number)
            call->group_name = a->word;
    }
    if (n == 0 || !call->op)
        return;
    call->element_bytes = each[0]->is_bytes ? 1 : each[0]->element_bytes;
    if (call->op->kind == COLL_ALL_REDUCE)
        call->in_elements = each[copies && n > 1 ? 1 : 0]->elements;
    else if (n == 1)
        call->in_elements = each[0]->elements;
    else if (call->op->kind == COLL_ALL_TO_ALL && each[0]->elements == each[1]->elements)
        call->in_elements = each[0]->elements;
    else if (call->op->kind != COLL_ALL_TO_ALL && n == 2 &&
             each[0]->element_bytes == each[1]->element_bytes)
        take_shard_and_whole(call, each[0]->elements, each[1]->elements);
}

bool torch_own_is_known(const struct torch_call *call)
{
    return call->op && (call->role != TORCH_OWN || call->in_elements != TORCH_UNKNOWN);
}

/* ---- kernels ---- */

/* The collective of a kernel's name, by the number of its word; -1: none or several.  Inductor
 * names its kernels after the ops around: triton_poi_fused_all_gather_... */
static int word_of_kernel(struct json_piece name)
{
    struct plain plain = plain_of(name, true);
    int word = word_of(&plain);

    if (word == COUNT(words) ||
        (json_piece_begins(name, "triton_") && json_piece_has(name, "_fused_")))
        return -1;
    return word;
}

bool torch_own_is_kernel(struct json_piece name)
{
    return word_of_kernel(name) >= 0;
}

bool torch_own_add_kernel(struct torch_trace *trace, struct json_piece name, int64_t record)
{
    int word = word_of_kernel(name);
    const struct torch_op *op;

    if (word < 0)
        return true;
    op = torch_op_find((struct json_piece){words[word].op, strlen(words[word].op)});
    if (!torch_trace_grow(trace, &trace->kernels, trace->nkernels, sizeof *trace->kernels))
        return false;
    trace->kernels[trace->nkernels++] = (struct torch_kernel){record, op->kind, name};
    return true;
}

static int by_record(const void *a, const void *b)
{
    const struct torch_call *x = *(struct torch_call *const *)a;
    const struct torch_call *y = *(struct torch_call *const *)b;

    return (x->record > y->record) - (x->record < y->record);
}

static int compare_record(const void *key, const void *item)
{
    int64_t record = *(const int64_t *)key;
    const struct torch_call *call = *(struct torch_call *const *)item;

    return (record > call->record) - (record < call->record);
}

/* Count kernels of a kind without a call.  Counted calls without a kernel may be theirs: of each
 * pair one is the other's. */
static bool count_kind(struct torch_trace *trace, enum coll_kind kind, uint64_t nlone,
                       struct json_piece name)
{
    struct shd_error err;
    uint64_t ncalls = 0;

    for (uint32_t i = 0; i < trace->ncalls; i++)
        ncalls += trace->calls[i].counted && trace->calls[i].op &&
                  trace->calls[i].op->kind == kind && !trace->calls[i].launches;
    if (nlone <= ncalls)
        return true;
    trace->traces->nlone += nlone - ncalls;
    return !torch_trace_failed(
        trace, traces_add_word(&trace->traces->lone, trace->traces, name, &err), &err);
}

bool torch_own_count_kernels(struct torch_trace *trace)
{
    struct torch_call **sorted = calloc((size_t)trace->ncalls + 1, sizeof *sorted);
    uint64_t nlone[COLL_NKINDS] = {0};
    struct json_piece names[COLL_NKINDS];
    bool ok = true;

    if (!sorted) {
        diag_no_memory(trace->diag);
        return false;
    }
    for (uint32_t i = 0; i < trace->ncalls; i++)
        sorted[i] = &trace->calls[i];
    qsort(sorted, trace->ncalls, sizeof *sorted, by_record);
    for (uint32_t i = 0; i < trace->nkernels; i++) {
        const struct torch_kernel *kernel = &trace->kernels[i];
        struct torch_call **of =
            kernel->record == TORCH_UNKNOWN
                ? NULL
                : bsearch(&kernel->record, sorted, trace->ncalls, sizeof *sorted, compare_record);

        if (of)
            (*of)->launches = true;
        nlone[kernel->kind] += !of;
        names[kernel->kind] = of ? names[kernel->kind] : kernel->name;
    }
    for (int kind = 0; kind < COLL_NKINDS && ok; kind++)
        ok = !nlone[kind] || count_kind(trace, (enum coll_kind)kind, nlone[kind], names[kind]);
    free(sorted);
    return ok;
}
