/* Tests capture/sums.h, capture/rows.h and capture/hlo_ops.h on made-up captures: how much each
 * device receives, from which devices, in how many rows; and the bytes of each op of an HLO
 * module.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include "capture/hlo_ops.h"
#include "capture/hlo_text.h"
#include "capture/rows.h"
#include "capture/sums.h"
#include "../support/tap.h"

enum { NDEVICES = 6 };

static void must(bool good)
{
    if (!good)
        abort();
}

/* Lists of groups.  List 0: all six devices; list 1: groups of three, two and one; list 2: pairs,
 * two in a row and one of a device with itself. */
static void make_groups(struct capture *c)
{
    static const struct {
        uint32_t ngroups, first[5];
        int32_t ids[8];
        bool pairs;
    } lists[] = {
        {1, {0, 6}, {0, 1, 2, 3, 4, 5}, false},
        {3, {0, 3, 5, 6}, {1, 0, 2, 4, 5, 3}, false},
        {3, {0, 2, 4, 6}, {0, 1, 1, 2, 4, 4}, true},
    };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        uint32_t number, nids = lists[i].first[lists[i].ngroups];
        struct capture_groups *g;

        must(capture_add_groups(&number, c, lists[i].ngroups, nids, NULL) == SHD_OK);
        g = &c->groups[number];
        g->ngroups = lists[i].ngroups;
        g->pairs = lists[i].pairs;
        memcpy(g->first, lists[i].first, (g->ngroups + 1) * sizeof *g->first);
        memcpy(g->ids, lists[i].ids, nids * sizeof *g->ids);
    }
}

/* One collective, and the bytes that each device receives in a step. */
static const struct {
    enum coll_kind kind;
    uint32_t groups;
    uint64_t bytes, times;
    uint64_t received[NDEVICES];
    int32_t from; /* the only sender to the last member of the first group; -1: all other members
                   * send; -2: not checked */
} cases[] = {
    /* Rings of six: all-reduce receives twice 5/6 of the bytes, all-gather 5 times, reduce-scatter
     * 5/6. */
    {COLL_ALL_REDUCE, 0, 600, 1, {1000, 1000, 1000, 1000, 1000, 1000}, -1},
    {COLL_ALL_GATHER, 0, 600, 2, {6000, 6000, 6000, 6000, 6000, 6000}, -1},
    {COLL_REDUCE_SCATTER, 0, 600, 1, {500, 500, 500, 500, 500, 500}, -1},
    {COLL_REDUCE_SCATTER, 0, 7, 1, {6, 6, 6, 6, 6, 5}, -2},
    {COLL_ALL_TO_ALL, 0, 600, 3, {1500, 1500, 1500, 1500, 1500, 1500}, -1},
    /* Groups of three and two: the first member, device 1, gets the elements that do not divide. */
    {COLL_ALL_REDUCE, 1, 600, 1, {800, 800, 800, 0, 600, 600}, -1},
    {COLL_ALL_REDUCE, 1, 1, 1, {1, 2, 1, 0, 1, 1}, -1},
    {COLL_BROADCAST, 1, 600, 1, {600, 0, 600, 0, 0, 600}, 1},
    {COLL_BROADCAST, 0, 10, 1, {0, 10, 10, 10, 10, 10}, 0},
    {COLL_SCATTER, 1, 600, 1, {200, 0, 200, 0, 0, 300}, 1},
    {COLL_GATHER, 1, 600, 2, {0, 2400, 0, 0, 1200, 0}, -2},
    {COLL_REDUCE, 0, 600, 1, {3000, 0, 0, 0, 0, 0}, -2},
    {COLL_PERMUTE, 2, 600, 4, {0, 2400, 2400, 0, 0, 0}, 0},
};

/* Whether the matrix of one collective is right: its rows add up to the received bytes, no device
 * receives from itself, and only the expected senders send. */
static bool right_matrix(const struct capture *c, const uint128 *received, size_t i)
{
    uint128 matrix[NDEVICES * NDEVICES] = {0};
    const struct capture_groups *g = &c->groups[cases[i].groups];
    int32_t last = g->ids[g->first[1] - 1];
    bool right = true;

    must(sums_matrix(matrix, c, NULL) == SHD_OK);
    for (int32_t to = 0; to < NDEVICES; to++) {
        uint128 sum = 0;

        for (int32_t from = 0; from < NDEVICES; from++)
            sum += matrix[to * NDEVICES + from];
        right &= sum == received[to] && matrix[to * NDEVICES + to] == 0;
    }
    for (uint32_t k = 0; cases[i].from == -1 && k + 1 < g->first[1] && cases[i].bytes > 1; k++)
        right &= matrix[last * NDEVICES + g->ids[k]] * (g->first[1] - 1) == received[last];
    if (cases[i].from >= 0)
        right &= matrix[last * NDEVICES + cases[i].from] == received[last];
    return right;
}

static void test_sums(void)
{
    uint128 all = 0;
    struct capture together;

    capture_init(&together);
    together.ndevices = NDEVICES;
    make_groups(&together);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct capture_collective collective = {.kind = cases[i].kind,
                                                      .op = coll_kind_name(cases[i].kind),
                                                      .times = cases[i].times,
                                                      .bytes = cases[i].bytes,
                                                      .npieces = 1,
                                                      .groups = cases[i].groups};
        uint128 received[NDEVICES] = {0}, sum = 0;
        struct capture c;
        bool right = true;

        capture_init(&c);
        c.ndevices = NDEVICES;
        make_groups(&c);
        must(capture_add(&c, &collective, NULL) == SHD_OK &&
             capture_add(&together, &collective, NULL) == SHD_OK);
        must(sums_by_device(received, &c, NULL) == SHD_OK);
        for (int d = 0; d < NDEVICES; d++) {
            right &= received[d] == cases[i].received[d];
            sum += cases[i].received[d];
        }
        all += sum;
        ok(right && sums_total(&c) == sum && sums_collective(&c, &c.collectives[0]) == sum &&
               sums_count(&c, coll_kind_name(cases[i].kind)) == cases[i].times &&
               sums_count(&c, "none") == 0,
           "%s, row %zu: what each device receives", coll_kind_name(cases[i].kind), i);
        ok(right_matrix(&c, received, i), "%s, row %zu: from whom", coll_kind_name(cases[i].kind),
           i);
        capture_fini(&c);
    }
    ok(sums_total(&together) == all && sums_count(&together, "all-reduce") == 3,
       "all collectives together: the sum of their bytes");
    capture_fini(&together);
}

/* ---- rows ---- */

static void add(struct capture *c, const char *where, uint64_t bytes, enum capture_phase phase,
                uint32_t groups, uint64_t npieces)
{
    const struct capture_collective collective = {.kind = COLL_ALL_REDUCE,
                                                  .op = "all-reduce",
                                                  .where = where ? strdup(where) : NULL,
                                                  .times = 2,
                                                  .bytes = bytes,
                                                  .npieces = npieces,
                                                  .phase = phase,
                                                  .groups = groups};

    must(capture_add(c, &collective, NULL) == SHD_OK);
}

/* Collectives that agree in phase, op, bytes, groups and arrays share a row; each difference makes
 * a row of its own. */
static void test_rows(void)
{
    static const char *const names[] = {"a", "b"};
    static const int32_t sizes[] = {2, 3};
    struct shd_mesh *mesh = NULL;
    struct capture c;
    struct rows rows;

    capture_init(&c);
    c.ndevices = NDEVICES;
    make_groups(&c);
    add(&c, "x", 600, CAPTURE_FORWARD, 0, 1);
    add(&c, "x", 600, CAPTURE_FORWARD, 0, 1);
    add(&c, "y", 600, CAPTURE_FORWARD, 0, 1);
    add(&c, NULL, 600, CAPTURE_FORWARD, 0, 1);
    add(&c, "x", 6, CAPTURE_FORWARD, 0, 1);
    add(&c, "x", 600, CAPTURE_BACKWARD, 0, 1);
    add(&c, "x", 600, CAPTURE_FORWARD, 1, 1);
    add(&c, "x", 600, CAPTURE_FORWARD, 0, 2);
    add(&c, NULL, 600, CAPTURE_FORWARD, 0, 1);
    must(shd_mesh_create(&mesh, names, sizes, 2, NULL) == SHD_OK);
    if (ok(rows_init(&rows, &c, mesh, NULL, NULL) == SHD_OK && rows.nrows == 7,
           "rows: what is alike"))
        ok(rows.rows[0].count == 4 && rows.rows[0].instructions == 2 &&
               rows.rows[0].received_bytes == 4 * 6000 && rows.rows[0].follows &&
               rows.rows[0].axes == 3 && rows.rows[2].count == 4 && !rows.rows[5].follows &&
               rows.received_bytes == sums_total(&c) && rows.seconds == 0,
           "rows: their counts, bytes and axes");
    rows_fini(&rows);
    shd_mesh_destroy(mesh);
    capture_fini(&c);
}

/* ---- ops of modules ---- */

/* The operand bytes of one of `members` members, and the number of arrays; -1: the shape does not
 * fit the op. */
static void test_ops(void)
{
    static const struct {
        const char *op, *shape;
        uint32_t members;
        int64_t bytes, npieces;
    } ops[] = {
        {"all-reduce", "f32[16]", 4, 64, 1},
        {"all-reduce", "(f32[16], bf16[8])", 4, 80, 2},
        {"all-gather", "f32[16]", 4, 16, 1},
        {"all-gather", "f32[15]", 4, 15, 1},
        {"all-gather", "u8[15]", 4, -1, 0},
        {"all-gather", "f32[16]", 0, -1, 0},
        {"all-gather-start", "(f32[4], f32[16])", 4, 16, 1},
        {"all-gather-start", "f32[16]", 4, -1, 0},
        {"reduce-scatter", "f32[16]", 4, 256, 1},
        {"reduce-scatter-start", "((f32[64]), f32[16])", 4, 256, 1},
        {"all-to-all", "(f32[4], f32[4])", 4, 32, 2},
        {"all-to-all-start", "(f32[4], f32[8])", 4, 32, 1},
        {"ragged-all-to-all", "f32[8]", 4, 32, 1},
        {"ragged-all-to-all-start", "(f32[4], f32[8])", 4, 32, 1},
        {"collective-broadcast", "f32[8]", 4, 32, 1},
        {"collective-broadcast-start", "(f32[4], f32[8])", 4, 32, 1},
        {"collective-permute", "f32[8]", 2, 32, 1},
        {"collective-permute-start", "(f32[4], f32[8], u32[])", 2, 32, 1},
        {"collective-permute-start", "f32[8]", 2, 32, 1},
        {"send", "(f32[8], u32[], token[])", 2, 32, 1},
        {"all-reduce", "f32[281474976710656]", 4, INT64_C(1) << 50, 1},
        {"all-reduce", "f32[281474976710657]", 4, -1, 0},
        {"reduce-scatter", "f32[70368744177664]", 4, INT64_C(1) << 50, 1},
        {"reduce-scatter", "f32[70368744177665]", 4, -1, 0},
        {"all-reduce", "", 4, -1, 0},
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        struct hlo_piece name = {ops[i].op, ops[i].op + strlen(ops[i].op)};
        struct hlo_piece shape = {ops[i].shape, ops[i].shape + strlen(ops[i].shape)};
        const struct hlo_op *op = hlo_op_find(name);
        uint64_t bytes = 0, npieces = 0;
        int status = op ? hlo_op_bytes(&bytes, &npieces, op, shape, ops[i].members) : SHD_ENOTFOUND;

        ok(ops[i].bytes < 0 ? status == SHD_EINVAL
                            : status == SHD_OK && bytes == (uint64_t)ops[i].bytes &&
                                  npieces == (uint64_t)ops[i].npieces,
           "%s of %s, %u members", ops[i].op, ops[i].shape, ops[i].members);
    }
    ok(!hlo_op_find((struct hlo_piece){"add", &"add"[3]}), "what does not communicate is no op");
}

int main(void)
{
    plan(0);
    test_sums();
    test_rows();
    test_ops();
    return done();
}
