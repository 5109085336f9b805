/* Join the calls of several ranks to collectives (traces.h).
 *
 * First a step of the job is chosen.  Then the calls of a group's members are matched, the first of
 * each, the second, and so on.  Finally equal collectives are counted together, and collectives of
 * disjoint groups become one collective with several groups, as compilers write them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/traces.h"

#define NO_GROUP UINT32_MAX /* of a message, which has a pair instead */

/* A collective of one group, or a message of one pair. */
struct joined {
    const struct traces_call *call; /* the call of one member */
    uint64_t bytes, times;
    uint32_t group;
    int32_t pair[2]; /* sender and receiver of a message */
    uint32_t order;  /* order of the first among all */
};

struct join {
    const struct traces *traces;
    struct capture *capture;
    const struct traces_call **calls; /* of the step: by group, then rank, then order */
    struct joined *joined;
    uint64_t *hashes; /* of the capture's lists of groups */
    int32_t *used;    /* by device: its list, as a member or sender; used_to: as a receiver */
    int32_t *used_to;
    bool *traced;     /* by device */
    bool *sends;      /* by trace: has sent messages */
    bool *messages;   /* by group of the traces: some messages were sent in it */
    uint32_t *begins; /* by member of the current group: index of its first call */
    uint32_t ncalls, njoined, nhashes;
    uint64_t nuneven, ndiffering;
    struct shd_error *err;
};

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for what was traced");
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* ---- the calls of the step, group by group ---- */

/* Order calls by group.  Calls are stored rank by rank in their order, so addresses give both. */
static int by_group(const void *a, const void *b)
{
    const struct traces_call *x = *(const struct traces_call *const *)a;
    const struct traces_call *y = *(const struct traces_call *const *)b;

    return x->group != y->group ? compare(x->group, y->group)
                                : compare((uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)y);
}

static int pick_calls(struct join *j, int64_t step)
{
    const struct traces *traces = j->traces;
    uint64_t outside = 0;

    for (uint32_t i = 0; i < traces->ncalls; i++) {
        const struct traces_call *call = &traces->calls[i];

        if (call->step == step)
            j->calls[j->ncalls++] = call;
        outside += call->step == TRACES_NO_STEP && step != TRACES_NO_STEP;
        j->sends[call->rank] |= call->op->sends;
    }
    qsort(j->calls, j->ncalls, sizeof *j->calls, by_group);
    return outside
               ? capture_note(j->capture, j->err, "Not counted: %llu calls outside of the steps.",
                              (unsigned long long)outside)
               : SHD_OK;
}

static void add_joined(struct join *j, const struct traces_call *call, uint64_t bytes)
{
    j->joined[j->njoined++] = (struct joined){.call = call,
                                              .bytes = bytes,
                                              .times = 1,
                                              .group = call->group,
                                              .order = (uint32_t)(call - j->traces->calls)};
}

/* Add a message, counted at its sender.  It counts at its receiver only if the sender's trace is
 * missing, and the receiver's trace has no sent messages by which spread.h could infer it. */
static void add_message(struct join *j, const struct traces_call *call)
{
    int32_t own = j->traces->ranks[call->rank].rank;
    struct joined *added;

    if (call->op->receives && (j->traced[call->other] || j->sends[call->rank]))
        return;
    add_joined(j, call, call->bytes);
    added = &j->joined[j->njoined - 1];
    added->group = NO_GROUP;
    added->pair[0] = call->op->sends ? own : call->other;
    added->pair[1] = call->op->sends ? call->other : own;
}

/* Join the i-th calls of all members: calls[begins[m] + i] up to begins[m + 1]. */
static void add_side_by_side(struct join *j, uint32_t nmembers, uint32_t i)
{
    const struct traces_call *first = NULL;
    uint128 sum = 0;
    uint64_t n = 0;
    bool differing = false, uneven = false;

    for (uint32_t m = 0; m < nmembers; m++) {
        const struct traces_call *call;

        if (j->begins[m] + i >= j->begins[m + 1]) {
            differing = true;
            continue;
        }
        call = j->calls[j->begins[m] + i];
        first = first ? first : call;
        differing |= call->op->kind != first->op->kind;
        uneven |= call->bytes != first->bytes;
        sum += call->bytes;
        n++;
    }
    j->ndiffering += differing;
    j->nuneven += uneven && !differing;
    add_joined(j, first, (uint64_t)((sum + n - 1) / n));
}

/* Join the calls [begin, end) of one group. */
static void join_group(struct join *j, uint32_t begin, uint32_t end)
{
    uint32_t nmembers = 0, most = 0, n = begin;

    /* Take out messages, and move the other calls up. */
    for (uint32_t i = begin; i < end; i++) {
        if (j->calls[i]->op->sends || j->calls[i]->op->receives)
            add_message(j, j->calls[i]);
        else
            j->calls[n++] = j->calls[i];
    }
    for (uint32_t i = begin; i < n; i++)
        if (i == begin || j->calls[i]->rank != j->calls[i - 1]->rank)
            j->begins[nmembers++] = i;
    j->begins[nmembers] = n;
    for (uint32_t m = 0; m < nmembers; m++) {
        uint32_t own = j->begins[m + 1] - j->begins[m];

        most = own > most ? own : most;
    }
    for (uint32_t i = 0; i < most; i++)
        add_side_by_side(j, nmembers, i);
}

static void join_groups(struct join *j)
{
    for (uint32_t begin = 0, i = 0; i < j->ncalls; i++)
        if (i + 1 == j->ncalls || j->calls[i + 1]->group != j->calls[begin]->group) {
            join_group(j, begin, i + 1);
            begin = i + 1;
        }
}

/* ---- merging equal collectives ---- */

static int compare_calls(const struct joined *x, const struct joined *y)
{
    const struct traces_call *a = x->call, *b = y->call;
    int order = compare(a->op->kind, b->op->kind);

    order = order ? order : compare(a->phase, b->phase);
    order = order ? order : compare(a->where, b->where);
    order = order ? order : compare(x->bytes, y->bytes);
    order = order ? order : compare(a->npieces, b->npieces);
    order = order ? order : compare(a->async, b->async);
    return order ? order : strcmp(a->op->op, b->op->op);
}

static int by_what_and_who(const void *a, const void *b)
{
    const struct joined *x = a, *y = b;
    int order = compare_calls(x, y);

    order = order ? order : compare(x->group, y->group);
    order = order ? order : compare((uint64_t)x->pair[0], (uint64_t)y->pair[0]);
    order = order ? order : compare((uint64_t)x->pair[1], (uint64_t)y->pair[1]);
    return order ? order : compare(x->order, y->order);
}

/* Merge equal collectives of the same group, and count them. */
static void count(struct join *j)
{
    uint32_t last = 0;

    qsort(j->joined, j->njoined, sizeof *j->joined, by_what_and_who);
    for (uint32_t i = 1; i < j->njoined; i++) {
        struct joined *kept = &j->joined[last], *next = &j->joined[i];

        if (!compare_calls(kept, next) && kept->group == next->group &&
            kept->pair[0] == next->pair[0] && kept->pair[1] == next->pair[1])
            kept->times++;
        else
            j->joined[++last] = *next;
    }
    j->njoined = j->njoined ? last + 1 : 0;
}

/* Compare groups by what all groups of one collective share: size, name and stride. */
static int compare_groups(const struct traces *traces, uint32_t a, uint32_t b)
{
    const struct traces_group *x = &traces->groups[a], *y = &traces->groups[b];
    int order = compare(x->n, y->n);

    order = order ? order : compare(x->name, y->name);
    if (!order && x->n > 1)
        order = compare((uint64_t)(x->ids[1] - x->ids[0]), (uint64_t)(y->ids[1] - y->ids[0]));
    return order;
}

/* An item to sort, with the traces that its group refers to. */
struct item {
    struct joined joined;
    const struct traces *traces;
};

static int compare_items(const struct item *x, const struct item *y)
{
    int order = compare_calls(&x->joined, &y->joined);

    order = order ? order : compare(x->joined.times, y->joined.times);
    order = order ? order : compare(x->joined.group == NO_GROUP, y->joined.group == NO_GROUP);
    if (!order && x->joined.group != NO_GROUP)
        order = compare_groups(x->traces, x->joined.group, y->joined.group);
    return order;
}

static int by_list(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_items(x, y);

    return order ? order : compare(x->joined.order, y->joined.order);
}

/* ---- into the capture ---- */

static uint32_t members(const struct join *j, const struct joined *joined, const int32_t **ids)
{
    const struct traces_group *group;

    if (joined->group == NO_GROUP) {
        *ids = joined->pair;
        return 2;
    }
    group = &j->traces->groups[joined->group];
    *ids = group->ids;
    return group->n;
}

/* Whether no member is in list `list` yet; if so, add all members to it. */
static bool use(struct join *j, const struct joined *joined, int32_t list)
{
    const int32_t *ids;
    uint32_t n = members(j, joined, &ids);

    if (joined->group == NO_GROUP) {
        if (j->used[ids[0]] == list || j->used_to[ids[1]] == list)
            return false;
        j->used[ids[0]] = j->used_to[ids[1]] = list;
        return true;
    }
    for (uint32_t i = 0; i < n; i++)
        if (j->used[ids[i]] == list)
            return false;
    for (uint32_t i = 0; i < n; i++)
        j->used[ids[i]] = list;
    return true;
}

static bool same_groups(const struct capture_groups *a, const struct capture_groups *b)
{
    return a->ngroups == b->ngroups && a->pairs == b->pairs &&
           (a->name == b->name || (a->name && b->name && !strcmp(a->name, b->name))) &&
           !memcmp(a->first, b->first, ((size_t)a->ngroups + 1) * sizeof *a->first) &&
           !memcmp(a->ids, b->ids, a->first[a->ngroups] * sizeof *a->ids);
}

/* Number of the list of groups of items [0, n); added to the capture if new. */
static int add_groups(uint32_t *out, struct join *j, const struct item *items, uint32_t n)
{
    const struct joined *first = &items[0].joined;
    uint32_t name = first->group == NO_GROUP ? 0 : j->traces->groups[first->group].name, at = 0;
    struct capture_groups *groups;
    const int32_t *ids;
    uint64_t hash;
    int status =
        capture_add_groups(out, j->capture, n, (size_t)n * members(j, first, &ids), j->err);

    if (status != SHD_OK)
        return status;
    groups = &j->capture->groups[*out];
    groups->pairs = first->group == NO_GROUP;
    for (uint32_t g = 0; g < n; g++) {
        uint32_t size = members(j, &items[g].joined, &ids);

        memcpy(groups->ids + at, ids, size * sizeof *ids);
        at += size;
        groups->first[g + 1] = at;
    }
    if (name) {
        groups->name = strdup(j->traces->words[name]);
        if (!groups->name)
            return no_memory(j->err);
    }
    hash = hash_bytes(hash_bytes(HASH_BEGIN, &name, sizeof name), groups->ids, at * sizeof *ids);
    for (uint32_t i = 0; i < *out; i++)
        if (j->hashes[i] == hash && same_groups(&j->capture->groups[i], groups)) {
            capture_drop_groups(j->capture);
            *out = i;
            return SHD_OK;
        }
    j->hashes[*out] = hash;
    return SHD_OK;
}

/* Add a list with one group, without a collective. */
static int add_hint(struct join *j, const struct traces_group *group)
{
    struct capture_groups *added;
    uint32_t number;
    int status = capture_add_groups(&number, j->capture, 1, group->n, j->err);

    if (status != SHD_OK)
        return status;
    added = &j->capture->groups[number];
    added->first[1] = group->n;
    memcpy(added->ids, group->ids, group->n * sizeof *group->ids);
    if (group->name) {
        added->name = strdup(j->traces->words[group->name]);
        status = added->name ? SHD_OK : no_memory(j->err);
    }
    return status;
}

static bool is_known(const struct join *j, const struct traces_group *group)
{
    for (uint32_t i = 0; i < j->capture->ngroups; i++)
        if (j->capture->groups[i].name && group->name &&
            !strcmp(j->capture->groups[i].name, j->traces->words[group->name]))
            return true;
    return false;
}

/* Add groups without collectives that help to infer the mesh: groups along an axis of the job's own
 * mesh, and groups in which messages were sent. */
static int add_hints(struct join *j)
{
    const struct traces *t = j->traces;
    int status = SHD_OK;

    for (uint32_t i = 0; i < t->ncalls; i++)
        if (t->calls[i].op->sends && j->capture->ntraced)
            j->messages[t->calls[i].group] = true;
    for (uint32_t i = 0; i < t->ngroups && status == SHD_OK; i++) {
        const struct traces_group *group = &t->groups[i];
        bool on_mesh = group->name && !strncmp(t->words[group->name], "mesh_", 5);

        if ((on_mesh || j->messages[i]) && group->ids[group->n - 1] < j->capture->ndevices &&
            !is_known(j, group))
            status = add_hint(j, group);
    }
    return status;
}

static int copy_word(char **out, const struct traces *traces, uint32_t word, struct shd_error *err)
{
    *out = word ? strdup(traces->words[word]) : NULL;
    return word && !*out ? no_memory(err) : SHD_OK;
}

/* Add one collective for items that are equal but for their groups. */
static int add_collective(struct join *j, const struct item *items, uint32_t n)
{
    const struct joined *first = &items[0].joined;
    const struct traces_call *call = first->call;
    struct capture_collective c = {.kind = call->op->kind,
                                   .op = call->op->op,
                                   .line = call->line,
                                   .times = first->times,
                                   .bytes = first->bytes,
                                   .npieces = call->npieces,
                                   .async = call->async,
                                   .phase = call->phase};
    int status = add_groups(&c.groups, j, items, n);

    if (status != SHD_OK)
        return status;
    c.name = strdup(call->op->name);
    status = c.name ? copy_word(&c.where, j->traces, call->where, j->err) : no_memory(j->err);
    if (status != SHD_OK) {
        free(c.name);
        return status;
    }
    return capture_add(j->capture, &c, j->err);
}

/* A range of items that form a single collective. */
struct list {
    uint32_t begin, n, order;
};

static int by_order(const void *a, const void *b)
{
    const struct list *x = a, *y = b;

    return compare(x->order, y->order);
}

/* Split equal items [begin, end) into lists of disjoint groups. */
static void add_lists(struct join *j, const struct item *items, uint32_t begin, uint32_t end,
                      struct list *lists, uint32_t *nlists)
{
    while (begin < end) {
        struct list *list = &lists[(*nlists)++];

        *list = (struct list){.begin = begin, .order = items[begin].joined.order};
        while (begin < end && use(j, &items[begin].joined, (int32_t)*nlists)) {
            list->n++;
            begin++;
        }
    }
}

static int add_collectives(struct join *j)
{
    struct item *items = calloc((size_t)j->njoined + 1, sizeof *items);
    struct list *lists = calloc((size_t)j->njoined + 1, sizeof *lists);
    int status = items && lists ? SHD_OK : no_memory(j->err);
    uint32_t nlists = 0;

    for (uint32_t i = 0; i < j->njoined && status == SHD_OK; i++)
        items[i] = (struct item){j->joined[i], j->traces};
    if (status == SHD_OK)
        qsort(items, j->njoined, sizeof *items, by_list);
    for (uint32_t begin = 0, i = 0; i < j->njoined && status == SHD_OK; i++)
        if (i + 1 == j->njoined || compare_items(&items[begin], &items[i + 1])) {
            add_lists(j, items, begin, i + 1, lists, &nlists);
            begin = i + 1;
        }
    if (status == SHD_OK)
        qsort(lists, nlists, sizeof *lists, by_order);
    for (uint32_t i = 0; i < nlists && status == SHD_OK; i++)
        status = add_collective(j, items + lists[i].begin, lists[i].n);
    free(items);
    free(lists);
    return status;
}

/* ---- notes on assumptions ---- */

static int note_ranks(struct join *j)
{
    struct capture *capture = j->capture;
    uint32_t n = j->traces->nranks;

    if ((int32_t)n == capture->ndevices)
        return n == 1 ? SHD_OK
                      : capture_note(capture, j->err, "The traces of all %u ranks were read.", n);
    capture->traced = calloc(n, sizeof *capture->traced);
    if (!capture->traced)
        return no_memory(j->err);
    for (int32_t d = 0; d < capture->ndevices; d++)
        if (j->traced[d])
            capture->traced[capture->ntraced++] = d;
    return SHD_OK;
}

/* Note what `fmt` says of n, if n is not 0 and nothing failed before. */
static SHD_PRINTF(4, 5) void note(struct join *j, int *status, uint64_t n, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (n > 0 && *status == SHD_OK)
        *status = capture_notev(j->capture, j->err, fmt, args);
    va_end(args);
}

static int note_counts(struct join *j)
{
    const struct traces *t = j->traces;
    int status = SHD_OK;

    note(j, &status, t->nguessed,
         "%llu calls do not name their process group (gloo's never do): the first group with the "
         "size that the arrays imply is assumed, else the first group; the choice is ambiguous.",
         (unsigned long long)t->nguessed);
    note(j, &status, t->ntensor,
         "%llu calls of an engine's own collectives do not name their process group: the first "
         "group named for tensor parallelism is assumed.",
         (unsigned long long)t->ntensor);
    note(j, &status, t->nsized,
         "%llu calls give the size of their process group by their arrays, but not its ranks: %s "
         "are assumed.",
         (unsigned long long)t->nsized,
         t->mesh ? "the ranks along an axis of --mesh of the same size, else neighbours"
                 : "neighbours; name the axes with --mesh");
    note(j, &status, t->nall,
         "%llu calls name neither their process group nor its size: all %d ranks are assumed.",
         (unsigned long long)t->nall, t->world);
    note(j, &status, t->nnameless,
         "Not counted: %llu NCCL kernels without sizes and without a traced call of a collective.",
         (unsigned long long)t->nnameless);
    note(j, &status, t->nlone,
         "Not counted: %llu kernels of collectives, such as '%.60s', without a traced call (as in "
         "CUDA graphs): their sizes are unknown.",
         (unsigned long long)t->nlone, t->nlone ? t->words[t->lone] : "");
    note(j, &status, t->is_reached,
         "The number of ranks is not in the trace: %d are assumed, from groups and arrays; change "
         "it with --devices=N.",
         t->world);
    note(j, &status, t->nuntyped,
         "%llu calls lack an element type: 4 bytes per element are assumed.",
         (unsigned long long)t->nuntyped);
    note(j, &status, t->nunknown, "Not counted: %llu calls of unknown kinds, such as '%s'.",
         (unsigned long long)t->nunknown, t->nunknown ? t->words[t->unknown] : "");
    note(j, &status, t->npeerless, "Not counted: %llu messages without a peer rank.",
         (unsigned long long)t->npeerless);
    note(j, &status, j->nuneven,
         "%llu collectives have operands of different sizes on their members: the mean is counted.",
         (unsigned long long)j->nuneven);
    note(j, &status, j->ndiffering,
         "%llu calls are missing, or of another kind, in the trace of a member of their group: the "
         "first member's trace is counted.",
         (unsigned long long)j->ndiffering);
    return status;
}

/* ---- */

static int make_room(struct join *j, size_t ndevices)
{
    size_t n = (size_t)j->traces->ncalls + 1;

    j->calls = calloc(n, sizeof *j->calls);
    j->joined = calloc(n, sizeof *j->joined);
    j->hashes = calloc(n, sizeof *j->hashes);
    j->used = calloc(ndevices, sizeof *j->used);
    j->used_to = calloc(ndevices, sizeof *j->used_to);
    j->traced = calloc(ndevices, sizeof *j->traced);
    j->messages = calloc((size_t)j->traces->ngroups + 1, sizeof *j->messages);
    j->sends = calloc((size_t)j->traces->nranks + 1, sizeof *j->sends);
    j->begins = calloc((size_t)j->traces->nranks + 1, sizeof *j->begins);
    return j->calls && j->joined && j->hashes && j->used && j->used_to && j->traced && j->sends &&
                   j->messages && j->begins
               ? SHD_OK
               : no_memory(j->err);
}

static void free_room(struct join *j)
{
    free(j->calls);
    free(j->joined);
    free(j->hashes);
    free(j->used);
    free(j->used_to);
    free(j->traced);
    free(j->sends);
    free(j->messages);
    free(j->begins);
}

static int join(struct join *j, const struct traces_request *request)
{
    int64_t step;
    int status = make_room(j, (size_t)j->capture->ndevices);

    if (status == SHD_OK)
        status = traces_choose_step(&step, j->capture, j->traces, request->step, j->err);
    if (status != SHD_OK)
        return status;
    for (uint32_t i = 0; i < j->traces->nranks; i++)
        j->traced[j->traces->ranks[i].rank] = true;
    status = pick_calls(j, step);
    if (status != SHD_OK)
        return status;
    join_groups(j);
    count(j);
    status = add_collectives(j);
    if (status == SHD_OK)
        status = note_ranks(j);
    if (status == SHD_OK)
        status = add_hints(j);
    return status == SHD_OK ? note_counts(j) : status;
}

int traces_join(struct capture *out, const struct traces *traces,
                const struct traces_request *request, struct diag *diag)
{
    struct shd_error err;
    struct join j = {.traces = traces, .capture = out, .err = &err};
    size_t before = diag->nerrors;
    int status;

    out->ndevices = traces->world;
    if (request->devices && request->devices != traces->world) {
        diag_error(diag, (struct place){traces->ranks[0].file, 0, 0},
                   "this trace is of a job of %d ranks, but --devices is %d", traces->world,
                   request->devices);
        return diag_status(diag, before);
    }
    status = join(&j, request);
    if (status != SHD_OK)
        diag_failure(diag, (struct place){traces->ranks[0].file, 0, 0}, status, "%s", err.text);
    free_room(&j);
    return diag_status(diag, before);
}
