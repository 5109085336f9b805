/* Tests shd/sharding.h: specs bound to meshes, slices, replica groups and texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/sharding.h>

#include "../support/tap.h"

static struct shd_mesh *mesh; /* dp=2, tp=4, one=1 */

/* Bind the text of a spec. */
static int bind(struct shd_sharding *out, const char *text, size_t rank, struct shd_error *err)
{
    struct shd_spec *spec;
    int status = shd_spec_parse(&spec, text, err);

    if (status)
        return status;
    status = shd_sharding_bind(out, mesh, spec, rank, err);
    shd_spec_destroy(spec);
    return status;
}

static void test_bind_table(void)
{
    static const struct {
        const char *spec;
        size_t rank;
        int64_t shape[3];
        int bound;
        int checked;
        const char *text;
    } cases[] = {
        {"[]", 0, {0}, SHD_OK, SHD_OK, "[]"},
        {"[dp, tp]", 2, {2, 4}, SHD_OK, SHD_OK, "[{dp}, {tp}]"},
        {"[[tp, dp]]", 3, {8, 1, 1}, SHD_OK, SHD_OK, "[{tp,dp}, {}, {}]"},
        {"[null, [dp, one]]", 2, {3, 4}, SHD_OK, SHD_OK, "[{}, {dp,one}]"},
        {"[dp]", 1, {3}, SHD_OK, SHD_EINDIVISIBLE, "[{dp}]"},
        {"[[dp, tp]]", 1, {4}, SHD_OK, SHD_EINDIVISIBLE, "[{dp,tp}]"},
        {"[dp]", 1, {0}, SHD_OK, SHD_OK, "[{dp}]"},
        {"[null]", 0, {0}, SHD_ESPECLONG, 0, NULL},
        {"[dp, null]", 1, {8}, SHD_ESPECLONG, 0, NULL},
        {"[x]", 1, {8}, SHD_ENOAXIS, 0, NULL},
        {"[x, dp]", 1, {8}, SHD_ENOAXIS, 0, NULL},
        {"[dp, dp]", 2, {8, 8}, SHD_EDUPAXIS, 0, NULL},
        {"[[tp, tp]]", 2, {8, 8}, SHD_EDUPAXIS, 0, NULL},
        {"[[dp, tp], tp]", 1, {8}, SHD_EDUPAXIS, 0, NULL},
        {"[x, x]", 1, {8}, SHD_EDUPAXIS, 0, NULL},
        {"[]", SHD_RANK_MAX + 1, {0}, SHD_ERANGE, 0, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_sharding sharding = {.rank = 77};
        struct shd_error err = {0};
        char text[64];
        int status = bind(&sharding, cases[i].spec, cases[i].rank, &err);

        ok(status == cases[i].bound, "bind %s to rank %zu: %s", cases[i].spec, cases[i].rank,
           shd_status_name(status));
        if (status) {
            ok(sharding.rank == 77 && err.text[0], "bind %s: output untouched", cases[i].spec);
            continue;
        }
        ok(shd_sharding_check(&sharding, cases[i].shape, NULL) == cases[i].checked, "check %s",
           cases[i].spec);
        shd_sharding_print(&sharding, text, sizeof(text));
        ok(!strcmp(text, cases[i].text), "print %s: %s", cases[i].spec, text);
    }
}

static void test_slices(void)
{
    const int64_t shape[] = {16, 8};
    struct shd_sharding sharding;
    int64_t extent[2];
    int64_t offset[2];

    ok(!bind(&sharding, "[[tp, dp]]", 2, NULL), "slices: bind");
    ok(shd_sharding_nshards(&sharding, 0) == 8 && shd_sharding_nshards(&sharding, 1) == 1,
       "slices: number");
    shd_sharding_shard_shape(&sharding, shape, extent);
    ok(extent[0] == 2 && extent[1] == 8, "slices: extents");
    ok(shd_sharding_index(&sharding, 0, 5) == 3, "slices: the first axis is the major digit");
    shd_sharding_offset(&sharding, shape, 5, offset);
    ok(offset[0] == 6 && offset[1] == 0, "slices: offset");
    ok(shd_sharding_axes(&sharding) == 3, "axes");
    ok(!shd_sharding_is_replicated(&sharding), "replicated: no");
    ok(!bind(&sharding, "[one]", 2, NULL) && shd_sharding_is_replicated(&sharding),
       "replicated: an axis of size 1");
}

static void test_replica_groups(void)
{
    static const struct {
        const char *what;
        const char *spec;
        int64_t shape[2];
        int32_t ngroups;
        int32_t groups[8];
        int32_t replicas[8];
    } cases[] = {
        {"none", "[]", {8, 8}, 1, {0}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"major", "[dp]", {8, 8}, 2, {0, 0, 0, 0, 1, 1, 1, 1}, {0, 1, 2, 3, 0, 1, 2, 3}},
        {"minor", "[null, tp]", {8, 8}, 4, {0, 1, 2, 3, 0, 1, 2, 3}, {0, 0, 0, 0, 1, 1, 1, 1}},
        {"swapped", "[[tp, dp]]", {8, 8}, 8, {0, 1, 2, 3, 4, 5, 6, 7}, {0}},
        {"empty dimension", "[tp]", {0, 8}, 1, {0}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"empty and not",
         "[tp, dp]",
         {0, 8},
         2,
         {0, 0, 0, 0, 1, 1, 1, 1},
         {0, 1, 2, 3, 0, 1, 2, 3}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_sharding sharding;
        int32_t groups[8];
        int32_t replicas[8];

        if (!ok(!bind(&sharding, cases[i].spec, 2, NULL), "replicas, %s: bind", cases[i].what))
            continue;
        ok(shd_sharding_replica_groups(&sharding, cases[i].shape, groups, replicas) ==
               cases[i].ngroups,
           "replicas, %s: number", cases[i].what);
        ok(!memcmp(groups, cases[i].groups, sizeof(groups)) &&
               !memcmp(replicas, cases[i].replicas, sizeof(replicas)),
           "replicas, %s: ids", cases[i].what);
        ok(shd_sharding_replica_groups(&sharding, cases[i].shape, NULL, NULL) == cases[i].ngroups,
           "replicas, %s: only the number", cases[i].what);
    }
}

static void test_values(void)
{
    struct shd_sharding a;
    struct shd_sharding b;
    struct shd_spec *spec = NULL;
    char text[64];

    memset(&a, 0xff, sizeof(a));
    memset(&b, 0, sizeof(b));
    ok(!bind(&a, "[[tp, dp]]", 2, NULL) && !bind(&b, "[[tp, dp], null]", 2, NULL) &&
           !memcmp(&a, &b, sizeof(a)),
       "value: equal shardings are equal bytes");
    ok(shd_sharding_equal(&a, &b), "equal: the same");
    b.partial = 4;
    ok(!shd_sharding_equal(&a, &b), "equal: partial counts");
    shd_sharding_print(&b, text, sizeof(text));
    ok(!strcmp(text, "[{tp,dp}, {}] partial sum over {one}"), "print: partial");
    ok(!bind(&b, "[[dp, tp]]", 2, NULL) && !shd_sharding_equal(&a, &b), "equal: order counts");

    ok(!shd_sharding_spec(&spec, &a, NULL), "spec: made");
    shd_spec_print(spec, SHD_SPEC_YAML, text, sizeof(text));
    ok(!strcmp(text, "[[tp, dp], null]"), "spec: as many entries as dimensions");
    shd_spec_destroy(spec);

    shd_sharding_init(&a, mesh, 2);
    ok(!bind(&b, "[]", 2, NULL) && shd_sharding_equal(&a, &b), "init: replicated");
}

static void test_simplify(void)
{
    const char *names[] = {"a", "one", "b"};
    const int32_t sizes[] = {2, 1, 4};
    struct shd_sharding s, plain, want;
    struct shd_mesh *small;

    if (shd_mesh_create(&small, names, sizes, 3, NULL) != SHD_OK)
        return;
    shd_sharding_init(&s, small, 2);
    s.dims[0] = (struct shd_dim_axes){2, {1, 0}};
    s.dims[1] = (struct shd_dim_axes){1, {1}};
    s.partial = 1u << 2;
    s.partial_op = SHD_MAX;
    shd_sharding_init(&want, small, 2);
    want.dims[0] = (struct shd_dim_axes){1, {0}};
    want.partial = 1u << 2;
    want.partial_op = SHD_MAX;
    shd_sharding_simplify(&plain, &s);
    ok(shd_sharding_equal(&plain, &want), "simplify: axes of size 1 are gone");
    shd_sharding_simplify(&s, &s);
    ok(shd_sharding_equal(&s, &want), "simplify: in place");
    shd_mesh_destroy(small);
}

int main(void)
{
    const char *const names[] = {"dp", "tp", "one"};
    const int32_t sizes[] = {2, 4, 1};

    plan(0);
    test_simplify();
    if (!ok(!shd_mesh_create(&mesh, names, sizes, 3, NULL), "mesh"))
        return done();
    test_bind_table();
    test_slices();
    test_replica_groups();
    test_values();
    shd_mesh_destroy(mesh);
    return done();
}
