/* A module is read in one pass from the first line to the last: a computation stands before those
 * that call it.  Then each gets how often a step does it, from the entry back to the first, and its
 * collectives go to the capture.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "capture/hlo.h"

#include <stdlib.h>
#include <string.h>

#include "capture/hlo_groups.h"
#include "capture/hlo_ops.h"
#include "capture/hlo_text.h"
#include "capture/sums.h"

/* Groups that are not told: one of all. */
static const char no_groups[] = "{}";
static const struct hlo_piece all_devices = {no_groups, no_groups + sizeof no_groups - 1};

/* Bytes of a computation and what it calls stop here: they only tell branches apart. */
#define BYTES_MAX ((uint128)1 << 120)

struct call {
    uint32_t callee;
    uint64_t times;
    uint32_t
        choice; /* calls of one conditional share a number, and one of them is taken; 0: none */
};

struct computation {
    struct hlo_piece name;
    uint32_t first_call, end_call;
    uint32_t first_collective, end_collective;
    bool has_bound; /* as the condition of a loop: goes on while less than ... */
    uint64_t bound;
    bool less_than;
    uint128 bytes; /* that it and what it calls receive, once */
    uint64_t times;
};

struct reader {
    struct capture *capture;
    const struct hlo_request *request;
    const char *file;
    struct diag *diag;
    int line; /* where the statement begins */
    struct hlo_devices devices;
    struct computation *computations;
    uint32_t ncomputations, computations_room;
    struct call *calls;
    uint32_t ncalls, calls_room;
    uint32_t nchoices;
    uint32_t entry; /* number + 1; 0: none seen */
    bool inside;    /* a computation */
};

bool hlo_is_module(const char *text, size_t length)
{
    struct hlo_piece piece = {text, text + length};

    return hlo_take_word(&piece, "HloModule");
}

static int fault(struct reader *r, int status, const char *message)
{
    diag_failure(r->diag, (struct place){r->file, r->line, 1}, status, "%s", message);
    return status;
}

static int grow(struct reader *r, void **items, uint32_t *room, uint32_t n, size_t size)
{
    uint32_t wanted = *room ? *room * 2 : 64;
    void *more;

    if (n < *room)
        return SHD_OK;
    more = *room > UINT32_MAX / 2 ? NULL : reallocarray(*items, wanted, size);
    if (!more)
        return fault(r, SHD_ENOMEM, "");
    *items = more;
    *room = wanted;
    return SHD_OK;
}

/* ---- the module's first line ---- */

static int32_t module_number(struct hlo_piece attributes, const char *key)
{
    struct hlo_piece value;
    uint64_t number;

    return hlo_attribute(attributes, key, &value) && hlo_take_number(&value, &number) &&
                   number >= 1 && number <= CAPTURE_DEVICES_MAX
               ? (int32_t)number
               : 1;
}

static int read_module(struct reader *r, struct hlo_piece line)
{
    struct hlo_piece name;
    int64_t stated;

    (void)hlo_take_word(&line, "HloModule");
    if (!hlo_take_name(&line, &name))
        return fault(r, SHD_EINVAL, "a module without a name");
    (void)hlo_take(&line, ',');
    r->devices.replicas = module_number(line, "replica_count");
    r->devices.partitions = module_number(line, "num_partitions");
    stated = (int64_t)r->devices.replicas * r->devices.partitions;
    if (stated > CAPTURE_DEVICES_MAX)
        return fault(r, SHD_EINVAL, "a module of more devices than can be read, 1048576");
    if (r->request->devices && stated == 1)
        r->devices.partitions = r->request->devices;
    else if (r->request->devices && r->request->devices != stated)
        return fault(r, SHD_EINVAL,
                     "this module is of another number of devices (replica_count times "
                     "num_partitions) than was asked for");
    r->capture->ndevices = r->devices.replicas * r->devices.partitions;
    r->capture->title = hlo_copy(name);
    return r->capture->title ? SHD_OK : fault(r, SHD_ENOMEM, "");
}

/* ---- computations ---- */

static int find_computation(const struct reader *r, struct hlo_piece name)
{
    for (uint32_t i = r->ncomputations; i-- > 0;) {
        struct hlo_piece own = r->computations[i].name;

        if (own.end - own.at == name.end - name.at &&
            !memcmp(own.at, name.at, (size_t)(name.end - name.at)))
            return (int)i;
    }
    return -1;
}

/* "%name (parameters) -> result {" or "ENTRY %name ...". */
static int begin_computation(struct reader *r, struct hlo_piece line)
{
    bool entry = hlo_take_word(&line, "ENTRY");
    struct hlo_piece name;
    int status;

    if (!hlo_take_name(&line, &name))
        return fault(r, SHD_EINVAL, "a computation without a name");
    status = grow(r, (void **)&r->computations, &r->computations_room, r->ncomputations,
                  sizeof *r->computations);
    if (status != SHD_OK)
        return status;
    r->computations[r->ncomputations] =
        (struct computation){.name = name,
                             .first_call = r->ncalls,
                             .end_call = r->ncalls,
                             .first_collective = r->capture->ncollectives,
                             .end_collective = r->capture->ncollectives};
    r->ncomputations++;
    if (entry)
        r->entry = r->ncomputations;
    r->inside = true;
    return SHD_OK;
}

static uint128 least(uint128 a, uint128 b)
{
    return a < b ? a : b;
}

/* When all of it was read: its bytes, with those of the costliest branch of each choice. */
static void end_computation(struct reader *r)
{
    struct computation *c = &r->computations[r->ncomputations - 1];
    uint128 branch = 0;
    uint32_t choice = 0;

    c->end_call = r->ncalls;
    c->end_collective = r->capture->ncollectives;
    for (uint32_t i = c->first_collective; i < c->end_collective; i++)
        c->bytes =
            least(BYTES_MAX, c->bytes + sums_collective(r->capture, &r->capture->collectives[i]));
    for (uint32_t i = c->first_call; i < c->end_call; i++) {
        const struct call *call = &r->calls[i];
        uint128 callee = r->computations[call->callee].bytes;

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

/* ---- calls ---- */

static int add_call(struct reader *r, struct hlo_piece name, uint64_t times, uint32_t choice)
{
    int callee = find_computation(r, name);
    int status;

    if (callee < 0 || (uint32_t)callee + 1 == r->ncomputations)
        return fault(r, SHD_EINVAL,
                     "calls a computation that does not stand before it; is this the whole text of "
                     "the module?");
    status = grow(r, (void **)&r->calls, &r->calls_room, r->ncalls, sizeof *r->calls);
    if (status != SHD_OK)
        return status;
    r->calls[r->ncalls++] = (struct call){(uint32_t)callee, times, choice};
    return SHD_OK;
}

/* The computations that an attribute names: "%f", or "{%f, %g}". */
static int add_calls(struct reader *r, struct hlo_piece attributes, const char *key, uint64_t times,
                     uint32_t choice)
{
    struct hlo_piece value, list, name;
    int status = SHD_OK;

    if (!hlo_attribute(attributes, key, &value))
        return SHD_OK;
    if (!hlo_take_bracket(&value, &list))
        return hlo_take_name(&value, &name) ? add_call(r, name, times, choice) : SHD_OK;
    while (status == SHD_OK && hlo_take_name(&list, &name)) {
        status = add_call(r, name, times, choice);
        (void)hlo_take(&list, ',');
    }
    return status;
}

/* "known_trip_count":{"n":"4"}, in a string or not. */
static bool known_trips(struct hlo_piece attributes, uint64_t *trips)
{
    static const char key[] = "known_trip_count";
    struct hlo_piece rest;

    rest.at = memmem(attributes.at, (size_t)(attributes.end - attributes.at), key, sizeof key - 1);
    rest.end = attributes.end;
    if (!rest.at)
        return false;
    while (rest.at < rest.end && (*rest.at < '0' || *rest.at > '9'))
        rest.at++;
    return hlo_take_number(&rest, trips);
}

static int read_while(struct reader *r, struct hlo_piece attributes, struct hlo_piece name)
{
    struct hlo_piece value, condition;
    uint64_t trips = r->request->trips ? r->request->trips : 1;
    const struct computation *c = NULL;
    struct shd_error err;
    int number, status = SHD_OK;

    if (hlo_attribute(attributes, "condition", &value) && hlo_take_name(&value, &condition)) {
        number = find_computation(r, condition);
        c = number < 0 ? NULL : &r->computations[number];
    }
    if (known_trips(attributes, &trips)) {
        /* as the compiler found it */
    } else if (!r->request->trips && c && c->has_bound && c->less_than) {
        trips = c->bound;
        status = capture_note(r->capture, &err,
                              "Loop %.*s tells no count: it is taken to go from 0 to %llu, as its "
                              "condition says.",
                              (int)(name.end - name.at), name.at, (unsigned long long)trips);
    } else {
        status = capture_note(r->capture, &err,
                              "Loop %.*s tells no count: it is taken to go round %llu times; "
                              "--trips=N says how often.",
                              (int)(name.end - name.at), name.at, (unsigned long long)trips);
    }
    if (status != SHD_OK)
        return fault(r, status, err.text);
    status = add_calls(r, attributes, "body", trips, 0);
    return status == SHD_OK ? add_calls(r, attributes, "condition", trips, 0) : status;
}

static int read_conditional(struct reader *r, struct hlo_piece attributes)
{
    static const char *const keys[] = {"branch_computations", "true_computation",
                                       "false_computation"};
    uint32_t choice = ++r->nchoices;
    int status = SHD_OK;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == SHD_OK; i++)
        status = add_calls(r, attributes, keys[i], 1, choice);
    return status;
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

/* What the instruction was made of: metadata={op_name="jit(f)/dot_general" ...}.  False: it does
 * not say.  *out is NULL where there is no memory for it. */
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
        status = hlo_pairs(out, r->capture, value, ids, &r->devices, &err);
    } else {
        (void)hlo_attribute(attributes, "replica_groups", &value);
        status = hlo_groups(out, r->capture, value, ids, &r->devices, &err);
    }
    return status == SHD_OK ? SHD_OK : fault(r, status, err.text);
}

static int read_collective(struct reader *r, const struct hlo_op *op, struct hlo_piece name,
                           struct hlo_piece shape, struct hlo_piece attributes)
{
    struct capture_collective c = {.kind = op->kind, .op = op->op, .line = r->line, .times = 1};
    const struct capture_groups *groups;
    struct shd_error err;
    bool has_where;
    int status = read_groups(&c.groups, r, op, attributes);

    if (status != SHD_OK)
        return status;
    c.async = strcmp(op->op, op->name) != 0;
    groups = &r->capture->groups[c.groups];
    if ((op->result_is_gathered || op->result_is_scattered) && !capture_groups_equal_size(groups))
        return fault(r, SHD_EINVAL, "groups of different sizes, which this collective cannot have");
    status =
        hlo_op_bytes(&c.bytes, &c.npieces, op, shape, op->pairs ? 2 : capture_group_size(groups));
    if (status != SHD_OK)
        return fault(r, status,
                     "the shape of this collective cannot be read, or does not fit its groups");
    c.name = hlo_copy(name);
    has_where = source_of(&c.where, attributes);
    c.phase = c.where && strstr(c.where, "transpose(") ? CAPTURE_BACKWARD : CAPTURE_FORWARD;
    if (!c.name || (has_where && !c.where)) {
        free(c.name);
        free(c.where);
        return fault(r, SHD_ENOMEM, "");
    }
    status = capture_add(r->capture, &c, &err);
    return status == SHD_OK ? SHD_OK : fault(r, status, err.text);
}

/* ---- instructions ---- */

/* "constant(4)" and "compare(a, b), direction=LT": what a loop's condition is made of. */
static void read_condition(struct computation *c, struct hlo_piece opcode,
                           struct hlo_piece operands, struct hlo_piece attributes)
{
    struct hlo_piece value;
    uint64_t number;

    if (hlo_equal(opcode, "constant") && hlo_take_number(&operands, &number)) {
        c->less_than = c->less_than && !c->has_bound; /* two constants tell nothing */
        c->bound = number;
        c->has_bound = true;
    }
    if (hlo_equal(opcode, "compare") && hlo_attribute(attributes, "direction", &value))
        c->less_than = hlo_take_word(&value, "LT");
}

/* "[ROOT] %name = shape opcode(operands), attributes" */
static int read_instruction(struct reader *r, struct hlo_piece line)
{
    struct hlo_piece name, shape, opcode, operands;
    const struct hlo_op *op;

    (void)hlo_take_word(&line, "ROOT");
    if (!hlo_take_name(&line, &name) || !hlo_take(&line, '='))
        return SHD_OK; /* not an instruction: nothing that we look for */
    hlo_skip(&line);
    shape = line;
    if (line.at < line.end && *line.at == '(')
        (void)hlo_take_bracket(&line, &operands);
    else
        (void)hlo_take_until(&line, ' ');
    shape.end = line.at;
    if (!hlo_take_name(&line, &opcode) || !hlo_take_bracket(&line, &operands))
        return SHD_OK;
    (void)hlo_take(&line, ',');
    if (hlo_equal(opcode, "while"))
        return read_while(r, line, name);
    if (hlo_equal(opcode, "conditional"))
        return read_conditional(r, line);
    op = hlo_op_find(opcode);
    if (op)
        return read_collective(r, op, name, shape, line);
    read_condition(&r->computations[r->ncomputations - 1], opcode, operands, line);
    /* Fusions and the functions of a reduce compute: what they call need not be looked for. */
    if (hlo_equal(opcode, "call"))
        return add_calls(r, line, "to_apply", 1, 0);
    if (hlo_equal(opcode, "custom-call"))
        return add_calls(r, line, "called_computations", 1, 0);
    return hlo_equal(opcode, "async-start") ? add_calls(r, line, "calls", 1, 0) : SHD_OK;
}

/* ---- statements ---- */

/* The next statement: to the end of the line, or of the line in which its brackets close.  The
 * brace at the end of a computation's first line is not closed in it. */
static struct hlo_piece next_statement(struct reader *r, struct hlo_piece *text, int *line)
{
    struct hlo_piece statement;

    while (text->at < text->end && strchr(" \t\r\n", *text->at) && *text->at) {
        *line += *text->at == '\n';
        text->at++;
    }
    r->line = *line;
    if (r->inside && text->at < text->end && *text->at != '}') {
        statement = hlo_take_until(text, '\n');
    } else {
        statement.at = text->at;
        text->at = memchr(text->at, '\n', (size_t)(text->end - text->at));
        if (!text->at)
            text->at = text->end;
        statement.end = text->at;
    }
    for (const char *c = statement.at; c < statement.end; c++)
        *line += *c == '\n';
    return statement;
}

static bool begins_computation(struct hlo_piece line)
{
    while (line.end > line.at && strchr(" \t\r", line.end[-1]) && line.end[-1])
        line.end--;
    return line.end > line.at && line.end[-1] == '{' &&
           memmem(line.at, (size_t)(line.end - line.at), "->", 2);
}

static int read_statement(struct reader *r, struct hlo_piece line)
{
    if (!r->inside && hlo_is_module(line.at, (size_t)(line.end - line.at)))
        return r->capture->title ? fault(r, SHD_EINVAL, "a second module; expected one in a file")
                                 : read_module(r, line);
    if (!r->capture->title)
        return fault(r, SHD_EINVAL, "expected 'HloModule NAME' before anything else");
    if (!r->inside)
        return begins_computation(line) ? begin_computation(r, line) : SHD_OK;
    if (line.at < line.end && *line.at == '}') {
        end_computation(r);
        return SHD_OK;
    }
    return read_instruction(r, line);
}

/* ---- how often ---- */

static bool multiply(uint64_t *out, uint64_t a, uint64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* The call of a choice that is taken: of these, the one that moves most. */
static uint32_t taken(const struct reader *r, uint32_t call, uint32_t end)
{
    uint32_t best = call;

    for (uint32_t i = call; i < end && r->calls[i].choice == r->calls[call].choice; i++)
        if (r->computations[r->calls[i].callee].bytes >
            r->computations[r->calls[best].callee].bytes)
            best = i;
    return best;
}

static bool is_taken(const struct reader *r, const struct computation *c, uint32_t call)
{
    uint32_t first = call;

    if (!r->calls[call].choice)
        return true;
    while (first > c->first_call && r->calls[first - 1].choice == r->calls[call].choice)
        first--;
    return taken(r, first, c->end_call) == call;
}

/* Callers stand behind what they call. */
static int set_times(struct reader *r)
{
    r->computations[r->entry - 1].times = 1;
    for (uint32_t i = r->ncomputations; i-- > 0;) {
        const struct computation *c = &r->computations[i];

        for (uint32_t k = c->first_call; c->times && k < c->end_call; k++) {
            struct computation *callee = &r->computations[r->calls[k].callee];
            uint64_t times;

            if (!is_taken(r, c, k))
                continue;
            if (!multiply(&times, c->times, r->calls[k].times) ||
                __builtin_add_overflow(callee->times, times, &callee->times) ||
                callee->times > CAPTURE_TIMES_MAX)
                return fault(r, SHD_EINVAL, "loops that go round more often than can be counted");
        }
        for (uint32_t k = c->first_collective; k < c->end_collective; k++)
            r->capture->collectives[k].times = c->times;
    }
    return SHD_OK;
}

/* Take away what no step does. */
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

int hlo_read(struct capture *out, const char *file, const char *text, size_t length,
             const struct hlo_request *request, struct diag *diag)
{
    struct reader r = {.capture = out,
                       .request = request,
                       .file = file,
                       .diag = diag,
                       .line = 1,
                       .devices = {1, 1}};
    struct hlo_piece rest = {text, text + length};
    int line = 1, status = SHD_OK;
    size_t before = diag->nerrors;

    while (rest.at < rest.end && !diag_is_full(diag) && status != SHD_ENOMEM) {
        struct hlo_piece statement = next_statement(&r, &rest, &line);

        if (statement.at < statement.end)
            status = read_statement(&r, statement);
        if (!out->title)
            break;
    }
    if (diag->nerrors == before && r.inside)
        (void)fault(&r, SHD_EINVAL, "the text ends within a computation");
    if (diag->nerrors == before && !r.entry)
        (void)fault(&r, SHD_EINVAL, "a module without an ENTRY computation");
    if (diag->nerrors == before)
        (void)set_times(&r);
    drop_unused(out);
    free(r.computations);
    free(r.calls);
    return diag_status(diag, before);
}
