/* Reader of compiled XLA modules (hlo.h).
 *
 * A module is read in one pass from the first statement to the last: a computation stands before
 * its callers.  Then, from the entry back to the first computation, each gets its runs per step,
 * and its collectives go to the capture.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "capture/hlo.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/hlo_ops.h"
#include "capture/hlo_reader.h"
#include "capture/sums.h"

/* An empty list of groups means one group of all devices. */
static const char no_groups[] = "{}";
static const struct hlo_piece all_devices = {no_groups, no_groups + sizeof no_groups - 1};

/* Cap on the bytes of a computation with its callees, which only serve to compare branches. */
#define BYTES_MAX ((uint128)1 << 120)

bool hlo_is_module(const char *text, size_t length)
{
    struct hlo_piece piece = {text, text + length};

    return hlo_take_word(&piece, "HloModule");
}

/* ---- the module's first line ---- */

/* Read a number of devices, 1 if missing; false: out of range. */
static bool module_number(int32_t *out, struct hlo_piece attributes, const char *key)
{
    struct hlo_piece value;
    uint64_t number = 1;

    if (hlo_attribute(attributes, key, &value) &&
        (!hlo_take_number(&value, &number) || number < 1 || number > CAPTURE_DEVICES_MAX))
        return false;
    *out = (int32_t)number;
    return true;
}

static int read_module(struct reader *r, struct hlo_piece line)
{
    struct hlo_piece name, value;
    int64_t stated;

    (void)hlo_take_word(&line, "HloModule");
    if (!hlo_take_name(&line, &name))
        return hlo_fault(r, SHD_EINVAL, "a module without a name");
    (void)hlo_take(&line, ',');
    r->is_scheduled = hlo_attribute(line, "is_scheduled", &value) && hlo_take_word(&value, "true");
    if (!module_number(&r->lists.devices.replicas, line, "replica_count") ||
        !module_number(&r->lists.devices.partitions, line, "num_partitions"))
        return hlo_fault(r, SHD_EINVAL,
                         "replica_count and num_partitions are whole numbers from 1 to 1048576");
    stated = (int64_t)r->lists.devices.replicas * r->lists.devices.partitions;
    if (stated > CAPTURE_DEVICES_MAX)
        return hlo_fault(r, SHD_EINVAL, "a module of more than 1048576 devices");
    r->is_counted = r->request->devices || hlo_attribute(line, "replica_count", &value) ||
                    hlo_attribute(line, "num_partitions", &value);
    if (r->request->devices && stated == 1)
        r->lists.devices.partitions = r->request->devices;
    else if (r->request->devices && r->request->devices != stated)
        return hlo_fault(r, SHD_EINVAL,
                         "the module's number of devices (replica_count times num_partitions) "
                         "differs from --devices");
    r->capture->ndevices = r->lists.devices.replicas * r->lists.devices.partitions;
    r->capture->title = hlo_copy(name);
    return r->capture->title ? SHD_OK : hlo_fault(r, SHD_ENOMEM, "");
}

/* ---- computations ---- */

/* Begin a computation at "%name (parameters) -> result", "ENTRY %name ..." or the name alone,
 * without the brace. */
static int begin_computation(struct reader *r, struct hlo_piece head)
{
    bool entry = hlo_take_word(&head, "ENTRY");
    struct hlo_piece name;

    if (!hlo_take_name(&head, &name))
        return hlo_fault(r, SHD_EINVAL, "a computation without a name");
    if (!array_make_room32(&r->computations, r->ncomputations, sizeof *r->computations) ||
        !hlo_names_put(&r->names, name, 0, r->ncomputations))
        return hlo_fault(r, SHD_ENOMEM, "");
    r->computations[r->ncomputations] =
        (struct computation){.first_call = r->ncalls,
                             .end_call = r->ncalls,
                             .first_collective = r->capture->ncollectives,
                             .end_collective = r->capture->ncollectives,
                             .is_reached = entry};
    r->ncomputations++;
    hlo_slices_begin(&r->slices);
    if (entry)
        r->entry = r->ncomputations;
    r->inside = true;
    return SHD_OK;
}

static uint128 least(uint128 a, uint128 b)
{
    return a < b ? a : b;
}

/* End a computation: add up its bytes, with those of the costliest branch of each conditional. */
static void end_computation(struct reader *r)
{
    struct computation *c = &r->computations[r->ncomputations - 1];
    uint128 branch = 0;
    uint32_t choice = 0;

    c->slice_bytes = hlo_slices_bytes(&r->slices);
    c->root_slice_bytes = r->slices.root_bytes;
    c->end_call = r->ncalls;
    c->end_collective = r->capture->ncollectives;
    c->moves = c->first_collective < c->end_collective;
    for (uint32_t i = c->first_collective; i < c->end_collective; i++)
        c->bytes =
            least(BYTES_MAX, c->bytes + sums_collective(r->capture, &r->capture->collectives[i]));
    for (uint32_t i = c->first_call; i < c->end_call; i++) {
        const struct call *call = &r->calls[i];
        uint128 callee = r->computations[call->callee].bytes;

        c->moves |= r->computations[call->callee].moves;
        callee = call->times && callee > BYTES_MAX / call->times ? BYTES_MAX : callee * call->times;
        if (call->choice != choice)
            branch = 0;
        choice = call->choice;
        if (choice && callee <= branch)
            continue;
        c->bytes = least(BYTES_MAX, c->bytes + callee - branch);
        branch = choice ? callee : 0;
    }
    r->inside = false;
}

/* ---- collectives ---- */

static enum hlo_ids ids_of(const struct hlo_op *op, struct hlo_piece attributes)
{
    struct hlo_piece value;
    bool channel = hlo_attribute(attributes, "channel_id", &value);

    if (hlo_attribute(attributes, "use_global_device_ids", &value) && hlo_take_word(&value, "true"))
        return HLO_DEVICES;
    if (!channel)
        return HLO_REPLICAS;
    return op->any_channel ? HLO_PARTITIONS : HLO_REPLICAS_WITH_PARTS;
}

/* Source of an instruction: metadata={op_name="jit(f)/dot_general" ...}. False: none given. *out is
 * NULL if there is no memory. */
static bool source_of(char **out, struct hlo_piece attributes)
{
    static const char key[] = "op_name=\"";
    struct hlo_piece value, inside;
    const char *at;

    if (!hlo_attribute(attributes, "metadata", &value) || !hlo_take_bracket(&value, &inside))
        return false;
    at = memmem(inside.at, (size_t)(inside.end - inside.at), key, sizeof key - 1);
    if (!at)
        return false;
    at += sizeof key - 1;
    value = (struct hlo_piece){at, at};
    while (value.end < inside.end && *value.end != '"')
        value.end++;
    *out = hlo_copy(value);
    return true;
}

/* Whether a list is empty: "{}". */
static bool is_empty_list(struct hlo_piece value)
{
    struct hlo_piece inside;

    if (!hlo_take_bracket(&value, &inside))
        return false;
    hlo_skip(&inside);
    return inside.at == inside.end;
}

static int read_groups(uint32_t *out, struct reader *r, const struct hlo_op *op,
                       struct hlo_piece attributes)
{
    struct hlo_piece value = all_devices;
    enum hlo_ids ids = ids_of(op, attributes);
    struct shd_error err;
    int status;

    if (op->pairs) {
        if (!hlo_attribute(attributes, "source_target_pairs", &value) &&
            hlo_attribute(attributes, "frontend_attributes", &value)) {
            struct hlo_piece inside = value;

            (void)hlo_take_bracket(&value, &inside);
            if (!hlo_attribute(inside, "_xla_send_recv_source_target_pairs", &value))
                value = all_devices;
            (void)hlo_take(&value, '"');
        }
        status = hlo_pairs(out, &r->lists, value, ids, &err);
    } else {
        (void)hlo_attribute(attributes, "replica_groups", &value);
        if (!r->is_counted && is_empty_list(value))
            return hlo_fault(
                r, SHD_EINVAL,
                "a group of all devices, but replica_count and num_partitions do not give their "
                "number; add --devices=N");
        status = hlo_groups(out, &r->lists, value, ids, &err);
    }
    return status == SHD_OK ? SHD_OK : hlo_fault(r, status, err.text);
}

static int read_collective(struct reader *r, const struct hlo_op *op, struct hlo_piece name,
                           struct hlo_piece shape, struct hlo_piece attributes)
{
    struct capture_collective c = {.kind = op->kind, .op = op->op, .line = r->line, .times = 1};
    const struct capture_groups *groups;
    struct hlo_piece slices;
    struct shd_error err;
    bool has_where;
    int status = read_groups(&c.groups, r, op, attributes);

    if (status != SHD_OK)
        return status;
    if (op->pairs && hlo_attribute(attributes, "slice_sizes", &slices))
        return hlo_fault(r, SHD_EINVAL,
                         "an in-place collective-permute of operand slices is not supported");
    c.async = strcmp(op->op, op->name) != 0;
    groups = &r->capture->groups[c.groups];
    if ((op->result_is_gathered || op->result_is_scattered) && !capture_groups_equal_size(groups))
        return hlo_fault(r, SHD_EINVAL,
                         "groups of different sizes are not valid for this collective");
    status =
        hlo_op_bytes(&c.bytes, &c.npieces, op, shape, op->pairs ? 2 : capture_group_size(groups));
    if (status != SHD_OK)
        return hlo_fault(r, status, "the collective's shape is invalid or does not fit its groups");
    c.name = hlo_copy(name);
    has_where = source_of(&c.where, attributes);
    c.phase = c.where && strstr(c.where, "transpose(") ? CAPTURE_BACKWARD : CAPTURE_FORWARD;
    if (!c.name || (has_where && !c.where)) {
        free(c.name);
        free(c.where);
        return hlo_fault(r, SHD_ENOMEM, "");
    }
    status = capture_add(r->capture, &c, &err);
    return status == SHD_OK ? SHD_OK : hlo_fault(r, status, err.text);
}

/* ---- detecting unpartitioned modules ---- */

static bool contains(struct hlo_piece piece, const char *word)
{
    return memmem(piece.at, (size_t)(piece.end - piece.at), word, strlen(word)) != NULL;
}

/* Whether a custom call is one that XLA's partitioner removes. */
static bool asks_partitioner(struct hlo_piece attributes)
{
    static const char *const targets[] = {"\"Sharding\"", "\"SPMDFullToShardShape\"",
                                          "\"SPMDShardToFullShape\"", "\"xla.sdy."};
    struct hlo_piece value;

    if (!hlo_attribute(attributes, "custom_call_target", &value))
        return false;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if ((size_t)(value.end - value.at) >= strlen(targets[i]) &&
            !memcmp(value.at, targets[i], strlen(targets[i])))
            return true;
    return false;
}

/* Whether an instruction has a tiled sharding: {devices=[2,1]<=[2]}, axes of a mesh, {mesh['x'=2],
 * [{'x'}, {}]}, or Shardy's [{"x"}, {}]. */
static bool is_tiled(struct hlo_piece attributes)
{
    struct hlo_piece value, inside;

    if (contains(attributes, "sharding={") && hlo_attribute(attributes, "sharding", &value) &&
        hlo_take_bracket(&value, &inside) &&
        (contains(inside, "devices=[") || contains(inside, "{'")))
        return true;
    return contains(attributes, "xla.sdy.sharding=") && contains(attributes, "{\\\"");
}

/* Look for signs that a module is not partitioned.  After partitioning only parameters and their
 * copies keep their shardings; a scheduled module has been through all of XLA's passes. */
static void look_for_shardings(struct reader *r, const struct hlo_statement *statement)
{
    if (!r->asks_line && asks_partitioner(statement->attributes))
        r->asks_line = r->line;
    if (r->is_scheduled || r->asks_line || !is_tiled(statement->attributes))
        return;
    if (hlo_equal(statement->opcode, "parameter") || hlo_equal(statement->opcode, "copy"))
        r->sharded_line = r->sharded_line ? r->sharded_line : r->line;
    else
        r->asks_line = r->line;
}

static void refuse_unpartitioned(struct reader *r)
{
    int line = r->asks_line;

    if (!line && r->capture->ncollectives == 0)
        line = r->sharded_line;
    if (!line)
        return;
    r->line = line;
    (void)hlo_fault(
        r, SHD_EINVAL,
        "this module is not partitioned yet, so its collectives are unknown; expected the text "
        "after compilation, jax.jit(f).lower(...).compile().as_text()");
}

/* ---- instructions ---- */

/* Whether an unknown opcode looks like a collective. */
static bool sounds_like_one(struct hlo_piece opcode)
{
    static const char *const words[] = {"all-", "collective-", "reduce-scatter", "ragged-all"};
    size_t length = (size_t)(opcode.end - opcode.at);

    if (length > 7 &&
        (!memcmp(opcode.end - 5, "-done", 5) || !memcmp(opcode.end - 7, "-update", 7)))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (length >= strlen(words[i]) && !memcmp(opcode.at, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Read an instruction that is no collective, loop or conditional. */
static int read_other(struct reader *r, const struct hlo_statement *statement)
{
    struct hlo_piece opcode = statement->opcode, attributes = statement->attributes;

    if (sounds_like_one(opcode))
        return hlo_fault(r, SHD_EINVAL, "an unknown kind of collective");
    /* XLA writes an async-start of one instruction as that: fusion-start, call-start. */
    if (!hlo_equal(opcode, "async-start") && opcode.end - opcode.at > 6 &&
        !memcmp(opcode.end - 6, "-start", 6))
        opcode.end -= 6;
    if (hlo_equal(opcode, "call"))
        return hlo_add_calls(r, attributes, "to_apply", 1, 0);
    if (hlo_equal(opcode, "custom-call"))
        return hlo_add_calls(r, attributes, "called_computations", 1, 0);
    if (hlo_equal(opcode, "async-start"))
        return hlo_add_calls(r, attributes, "calls", 1, 0);
    return hlo_equal(opcode, "fusion") ? hlo_add_moving_call(r, attributes, "calls") : SHD_OK;
}

/* Split "name = shape opcode(operands), attributes". */
static bool split(struct hlo_statement *out, struct hlo_piece *shape, struct hlo_piece line)
{
    struct hlo_piece inside;

    if (!hlo_take_name(&line, &out->name) || !hlo_take(&line, '='))
        return false;
    hlo_skip(&line);
    *shape = line;
    if (line.at < line.end && *line.at == '(')
        (void)hlo_take_bracket(&line, &inside);
    else
        hlo_take_until_blank(&line);
    shape->end = line.at;
    if (!hlo_take_name(&line, &out->opcode) || !hlo_take_bracket(&line, &out->operands))
        return false;
    (void)hlo_take(&line, ',');
    out->attributes = line;
    return true;
}

static int read_instruction(struct reader *r, struct hlo_piece line)
{
    bool is_root = hlo_take_word(&line, "ROOT");
    struct hlo_statement statement;
    struct hlo_piece shape;
    const struct hlo_op *op;
    uint64_t sliced;

    if (!split(&statement, &shape, line))
        return hlo_fault(
            r, SHD_EINVAL,
            "not an instruction; expected 'NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES'");
    if (!hlo_loops_keep(&r->loops, r->ncomputations - 1, &statement, is_root))
        return hlo_fault(r, SHD_ENOMEM, "");
    look_for_shardings(r, &statement);
    op = hlo_op_find(statement.opcode);
    sliced = hlo_equal(statement.opcode, "fusion") ? hlo_callee_slice(r, statement.attributes) : 0;
    if (!hlo_slices_see(&r->slices, &statement, shape, is_root, op && op->kind == COLL_ALL_REDUCE,
                        sliced))
        return hlo_fault(r, SHD_ENOMEM, "");
    if (hlo_equal(statement.opcode, "while"))
        return hlo_read_while(r, &statement);
    if (hlo_equal(statement.opcode, "conditional"))
        return hlo_read_conditional(r, &statement);
    return op ? read_collective(r, op, statement.name, shape, statement.attributes)
              : read_other(r, &statement);
}

/* ---- statements ---- */

/* Whether a line belongs to the tables of file names and stack frames in compiled modules. */
static bool is_of_table(struct hlo_piece line)
{
    static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations",
                                        "StackFrames"};

    if (line.at < line.end && *line.at >= '0' && *line.at <= '9')
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (hlo_take_word(&line, names[i]))
            return true;
    return false;
}

static int read_outside(struct reader *r, struct hlo_piece line)
{
    if (hlo_is_module(line.at, (size_t)(line.end - line.at)))
        return r->capture->title
                   ? hlo_fault(r, SHD_EINVAL, "a second module; expected one in a file")
                   : read_module(r, line);
    if (!r->capture->title)
        return hlo_fault(r, SHD_EINVAL, "expected 'HloModule NAME' before anything else");
    if (hlo_is_head(&line))
        return begin_computation(r, line);
    return is_of_table(line)
               ? SHD_OK
               : hlo_fault(r, SHD_EINVAL,
                           "expected a computation, 'NAME {' or 'NAME (PARAMETERS) -> SHAPE {'");
}

static int read_statement(struct reader *r, struct hlo_piece line)
{
    if (!r->inside)
        return read_outside(r, line);
    if (*line.at == '}') {
        end_computation(r);
        return SHD_OK;
    }
    return read_instruction(r, line);
}

static void count_lines(struct reader *r, const char *to)
{
    for (; r->counted_to < to; r->counted_to++)
        r->line += *r->counted_to == '\n';
}

/* ---- runs per step ---- */

static bool multiply(uint64_t *out, uint64_t a, uint64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Of the calls from `first` on that belong to one conditional, the call that moves most bytes; *end
 * is behind the last of them. */
static uint32_t taken(const struct reader *r, uint32_t first, uint32_t *end)
{
    uint32_t best = first, i = first + 1;

    for (; r->calls[first].choice && i < *end && r->calls[i].choice == r->calls[first].choice; i++)
        if (r->computations[r->calls[i].callee].bytes >
            r->computations[r->calls[best].callee].bytes)
            best = i;
    *end = i;
    return best;
}

static int add_times(struct reader *r, uint64_t times, const struct call *call)
{
    struct computation *callee = &r->computations[call->callee];

    if (!multiply(&times, times, call->times) ||
        __builtin_add_overflow(callee->times, times, &callee->times) ||
        callee->times > CAPTURE_TIMES_MAX)
        return hlo_fault(r, SHD_EINVAL, "nested loops have too many iterations");
    return SHD_OK;
}

/* Set the runs per step of all computations.  Callers stand behind their callees. */
static int set_times(struct reader *r)
{
    int status = SHD_OK;

    r->computations[r->entry - 1].times = 1;
    for (uint32_t i = r->ncomputations; i-- > 0 && status == SHD_OK;) {
        const struct computation *c = &r->computations[i];
        uint32_t end;

        for (uint32_t k = c->first_call; c->times && k < c->end_call && status == SHD_OK; k = end) {
            end = c->end_call;
            status = add_times(r, c->times, &r->calls[taken(r, k, &end)]);
        }
        for (uint32_t k = c->first_collective; k < c->end_collective; k++)
            r->capture->collectives[k].times = c->times;
    }
    return status;
}

/* Note that collectives of computations without a known caller are left out.  Callers stand behind
 * their callees. */
static int note_uncalled(struct reader *r)
{
    uint32_t n = 0;

    for (uint32_t i = r->ncomputations; i-- > 0;) {
        const struct computation *c = &r->computations[i];

        for (uint32_t k = c->first_call; c->is_reached && k < c->end_call; k++)
            r->computations[r->calls[k].callee].is_reached = true;
        n += c->is_reached ? 0 : c->end_collective - c->first_collective;
    }
    return n == 0 ? SHD_OK
                  : hlo_note(r,
                             "Not counted: %u collectives in computations that no instruction "
                             "calls.",
                             n);
}

/* Remove collectives that no step runs. */
static void drop_unused(struct capture *capture)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < capture->ncollectives; i++) {
        struct capture_collective *c = &capture->collectives[i];

        if (c->times) {
            capture->collectives[n++] = *c;
        } else {
            free(c->name);
            free(c->where);
        }
    }
    capture->ncollectives = n;
}

static void read_statements(struct reader *r, struct hlo_piece text)
{
    int status = SHD_OK;

    while (!diag_is_full(r->diag) && status != SHD_ENOMEM) {
        struct hlo_piece statement = hlo_take_statement(&text, r->inside);

        count_lines(r, statement.at);
        if (statement.at == statement.end)
            break;
        status = read_statement(r, statement);
        if (!r->capture->title)
            break;
    }
}

static void finish(struct reader *r, size_t before)
{
    if (r->diag->nerrors == before && r->inside)
        (void)hlo_fault(r, SHD_EINVAL, "the text ends inside a computation");
    if (r->diag->nerrors == before && !r->entry)
        (void)hlo_fault(r, SHD_EINVAL, "a module without an ENTRY computation");
    if (r->diag->nerrors == before)
        refuse_unpartitioned(r);
    if (r->diag->nerrors == before && !r->diag->no_memory && set_times(r) == SHD_OK &&
        hlo_note_others(r) == SHD_OK)
        (void)note_uncalled(r);
}

int hlo_read(struct capture *out, const char *file, const char *text, size_t length,
             const struct hlo_request *request, struct diag *diag)
{
    struct reader r = {.capture = out,
                       .request = request,
                       .file = file,
                       .diag = diag,
                       .line = 1,
                       .counted_to = text,
                       .lists = {.capture = out, .devices = {1, 1}}};
    size_t before = diag->nerrors;

    r.loops.computations = &r.names;
    read_statements(&r, (struct hlo_piece){text, text + length});
    finish(&r, before);
    drop_unused(out);
    free(r.computations);
    free(r.calls);
    hlo_loops_fini(&r.loops);
    hlo_slices_fini(&r.slices);
    hlo_names_fini(&r.names);
    hlo_names_fini(&r.lists.numbers);
    return diag_status(diag, before);
}
