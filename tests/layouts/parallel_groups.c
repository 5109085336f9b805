/* Tests shd/parallel_groups.h: groups of each kind, up to a billion ranks, without storage per
 * rank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/parallel_groups.h>

#include <sys/resource.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static void test_no_storage(void)
{
    const struct shd_parallel_sizes sizes = {8, 5, 5};
    struct shd_parallel_group group;
    struct rusage before, after;
    struct shd_parallel p;

    getrusage(RUSAGE_SELF, &before);
    shd_parallel_init(&p, 1000000000, 999999999, false);
    ok(shd_parallel_create_groups(&p, &sizes, NULL) == SHD_OK, "a world of 10^9");
    ok(shd_parallel_group(&group, &p, SHD_PARALLEL_PIPELINE, NULL) == SHD_OK && group.rank == 4 &&
           shd_parallel_member(&group, 0) == 999999999 - 160,
       "the pipeline of its last rank");
    getrusage(RUSAGE_SELF, &after);
    ok(after.ru_maxrss - before.ru_maxrss < 65536, "nothing is stored per rank");
    shd_parallel_destroy_groups(&p);
}

static void test_groups(void)
{
    static const char *const of_8[] = {"0,2,4,6;1,3,5,7", "0;1;2;3;4;5;6;7", "0;1;2;3;4;5;6;7",
                                       "0,1;2,3;4,5;6,7"};
    static const char *const of_16[] = {
        "0,8;1,9;2,10;3,11;4,12;5,13;6,14;7,15", "0,4;1,5;2,6;3,7;8,12;9,13;10,14;11,15",
        "0,2;1,3;4,6;5,7;8,10;9,11;12,14;13,15", "0,1;2,3;4,5;6,7;8,9;10,11;12,13;14,15"};
    static const char *const of_12[] = {"0;1;2;3;4;5;6;7;8;9;10;11", "0,4,8;1,5,9;2,6,10;3,7,11",
                                        "0,2;1,3;4,6;5,7;8,10;9,11", "0,1;2,3;4,5;6,7;8,9;10,11"};
    static const struct {
        int32_t world;
        struct shd_parallel_sizes sizes;
        const char *const *groups;
    } rows[] = {{8, {2, 1, 1}, of_8}, {16, {2, 2, 2}, of_16}, {12, {2, 3, 2}, of_12}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_parallel p;
        char text[256];

        shd_parallel_init(&p, rows[i].world, 0, false);
        ok(shd_parallel_create_groups(&p, &rows[i].sizes, NULL) == SHD_OK, "a world of %d",
           (int)rows[i].world);
        for (int k = 0; k < SHD_PARALLEL_NKINDS; k++)
            ok(!strcmp(groups_text(text, sizeof text, &p.groups[k]), rows[i].groups[k]),
               "%s groups", shd_parallel_kind_name((enum shd_parallel_kind)k));
        shd_parallel_destroy_groups(&p);
    }
}

/* The groups of rank 5 of 16 with sizes 2, 2 and 2. */
static void test_getters(void)
{
    static const int32_t members[SHD_PARALLEL_NKINDS][2] = {{5, 13}, {1, 5}, {5, 7}, {4, 5}};
    static const int32_t ranks[SHD_PARALLEL_NKINDS] = {0, 1, 0, 1};
    const struct shd_parallel_sizes sizes = {2, 2, 2};
    struct shd_parallel p;
    int32_t n = -1;

    shd_parallel_init(&p, 16, 5, false);
    ok(!shd_parallel_is_initialized(&p) && shd_parallel_create_groups(&p, &sizes, NULL) == SHD_OK &&
           shd_parallel_is_initialized(&p),
       "initialized");
    for (int i = 0; i < SHD_PARALLEL_NKINDS; i++) {
        enum shd_parallel_kind kind = (enum shd_parallel_kind)i;
        const char *name = shd_parallel_kind_name(kind);
        struct shd_parallel_group group;

        ok(shd_parallel_group(&group, &p, kind, NULL) == SHD_OK && group.size == 2 &&
               group.rank == ranks[i] && shd_parallel_member(&group, 0) == members[i][0] &&
               shd_parallel_member(&group, 1) == members[i][1],
           "%s: the group", name);
        ok(shd_parallel_world_size(&n, &p, kind, NULL) == SHD_OK && n == 2, "%s: its size", name);
        ok(shd_parallel_rank(&n, &p, kind, NULL) == SHD_OK && n == ranks[i], "%s: the rank", name);
    }
    ok(shd_parallel_source_rank(&n, &p, NULL) == SHD_OK && n == 4, "the source rank");
    shd_parallel_destroy_groups(&p);
}

static void test_again(void)
{
    const struct shd_parallel_sizes two = {2, 1, 1}, all = {100, 1, 1}, three = {3, 1, 1};
    const struct shd_parallel_sizes context = {2, 1, 3};
    struct shd_parallel p;
    struct shd_error err;
    int32_t n;

    shd_parallel_init(&p, 8, 3, false);
    shd_parallel_destroy_groups(&p);
    ok(shd_parallel_create_groups(&p, &three, &err) == SHD_EINDIVISIBLE &&
           !strcmp(err.text, "8 is not divisible by 3") && !shd_parallel_is_initialized(&p),
       "sizes that do not divide leave nothing");
    ok(shd_parallel_create_groups(&p, &context, &err) == SHD_EINDIVISIBLE &&
           !strcmp(err.text, "8 is not divisible by 3"),
       "the context size is looked at by itself");
    ok(shd_parallel_create_groups(&p, &two, NULL) == SHD_OK &&
           !strcmp(shd_mesh_axis_name(p.mesh, SHD_PARALLEL_DATA), "dp") &&
           !strcmp(shd_mesh_axis_name(p.mesh, SHD_PARALLEL_PIPELINE), "pp") &&
           !strcmp(shd_mesh_axis_name(p.mesh, SHD_PARALLEL_CONTEXT), "cp") &&
           !strcmp(shd_mesh_axis_name(p.mesh, SHD_PARALLEL_TENSOR), "tp"),
       "create: axes by name");
    ok(shd_parallel_create_groups(&p, &two, &err) == SHD_EINVAL &&
           !strcmp(err.text, "data parallel group is already initialized"),
       "not twice");
    shd_parallel_destroy_groups(&p);
    shd_parallel_destroy_groups(&p);
    ok(!shd_parallel_is_initialized(&p), "destroyed, twice");
    ok(shd_parallel_create_groups(&p, &all, NULL) == SHD_OK &&
           shd_parallel_world_size(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_OK && n == 8,
       "again, with more tensor ranks than there are");
    shd_parallel_destroy_groups(&p);
}

static void test_bad(void)
{
    static const struct {
        int32_t world, rank;
        struct shd_parallel_sizes sizes;
        int status;
    } rows[] = {
        {0, 0, {1, 1, 1}, SHD_EINVAL},
        {8, 8, {1, 1, 1}, SHD_EINVAL},
        {8, -1, {1, 1, 1}, SHD_EINVAL},
        {8, 0, {0, 1, 1}, SHD_EINVAL},
        {8, 0, {1, 0, 1}, SHD_EINVAL},
        {8, 0, {1, 1, 0}, SHD_EINVAL},
        {8, 0, {-2, 1, 1}, SHD_EINVAL},
        {8, 0, {-3, 1, 1}, SHD_EINDIVISIBLE},
        {8, 0, {-2, -1, 1}, SHD_EINVAL},
        {8, 0, {2, 3, 1}, SHD_EINDIVISIBLE},
        {8, 0, {2, 1, 3}, SHD_EINDIVISIBLE},
        {8, 0, {1, 16, 1}, SHD_EINDIVISIBLE},
        {8, 0, {8, INT64_MAX, 1}, SHD_EINDIVISIBLE},
        {8, 0, {INT64_MIN, 1, 1}, SHD_EINDIVISIBLE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_parallel p;

        shd_parallel_init(&p, rows[i].world, rows[i].rank, false);
        ok(shd_parallel_create_groups(&p, &rows[i].sizes, NULL) == rows[i].status &&
               !shd_parallel_is_initialized(&p),
           "refused: world %d, rank %d, sizes %lld/%lld/%lld", (int)rows[i].world,
           (int)rows[i].rank, (long long)rows[i].sizes.tensor, (long long)rows[i].sizes.pipeline,
           (long long)rows[i].sizes.context);
    }
}

static void test_uninitialized(void)
{
    struct shd_parallel p;
    struct shd_parallel_group group;
    struct shd_error err;
    int32_t n = -1;

    shd_parallel_init(&p, 8, 5, false);
    ok(shd_parallel_group(&group, &p, SHD_PARALLEL_CONTEXT, &err) == SHD_ENOMESH &&
           !strcmp(err.text, "context parallel group is not initialized"),
       "no group before it is created");
    ok(shd_parallel_world_size(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_ENOMESH &&
           shd_parallel_rank(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_ENOMESH &&
           shd_parallel_source_rank(&n, &p, NULL) == SHD_ENOMESH && n == -1,
       "nor sizes and ranks");
    shd_parallel_init(&p, 8, 5, true);
    ok(shd_parallel_world_size(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_OK && n == 1 &&
           shd_parallel_rank(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_OK && n == 0 &&
           shd_parallel_source_rank(&n, &p, NULL) == SHD_OK && n == 5,
       "but a tensor group of one may be pretended");
    ok(shd_parallel_world_size(&n, &p, SHD_PARALLEL_DATA, NULL) == SHD_ENOMESH &&
           shd_parallel_group(&group, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_ENOMESH,
       "nothing else");

    const struct shd_parallel_sizes two = {2, 1, 1}, negative = {2, -1, -1};

    ok(shd_parallel_create_groups(&p, &negative, &err) == SHD_EINVAL &&
           !strncmp(err.text, "parallel sizes must be at least 1", 33),
       "negative sizes are reported");
    ok(shd_parallel_create_groups(&p, &two, NULL) == SHD_OK, "created");
    shd_parallel_destroy_groups(&p);
    ok(shd_parallel_world_size(&n, &p, SHD_PARALLEL_TENSOR, NULL) == SHD_OK && n == 1,
       "and pretended again when they are gone");
    shd_parallel_init(&p, 0, 0, false);
    ok(shd_parallel_create_groups(&p, &two, &err) == SHD_EINVAL &&
           !strcmp(err.text, "the world of processes is not initialized"),
       "a world first");
}

int main(void)
{
    plan(0);
    test_no_storage();
    test_groups();
    test_getters();
    test_again();
    test_bad();
    test_uninitialized();
    return done();
}
