/* Tests cmd/explain/schedule.h: every algorithm is drawn, and ends with every result complete.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cmd/explain/schedule.h"
#include "../support/tap.h"

/* The number of empty cells of the last grid that should have a result. */
static uint32_t empty_cells(const struct figure *f)
{
    const struct figure_grid *g = &f->grids[f->ngrids - 1];
    uint32_t n = 0;

    for (size_t i = 0; i < (size_t)g->nrows * g->ncolumns; i++)
        n += !g->cells[i].nparts || !*f->parts[g->cells[i].first].text;
    return n;
}

static void test_all(void)
{
    for (size_t a = 0; coll_algos[a]; a++)
        for (uint32_t n = 1; n <= 9; n++) {
            const struct coll_algo *algo = coll_algos[a];
            bool rooted = algo->kind == COLL_GATHER || algo->kind == COLL_REDUCE ||
                          algo->kind == COLL_SEND_RECV || algo->kind == COLL_BARRIER;
            struct shd_error err;
            struct figure f;
            int status;

            figure_init(&f);
            status = schedule_draw(&f, algo, n, false, &err);
            if (!coll_serves(algo, n))
                ok(status == SHD_EINVAL, "%s/%s does not serve %u", coll_kind_name(algo->kind),
                   algo->name, n);
            else
                ok(status == SHD_OK && (rooted || empty_cells(&f) == 0),
                   "%s/%s over %u: results are whole", coll_kind_name(algo->kind), algo->name, n);
            figure_fini(&f);
        }
}

static void test_sums(void)
{
    struct shd_error err;
    struct figure f;
    char all[32];
    uint32_t wrong = 0;

    figure_init(&f);
    ok(schedule_draw(&f, coll_find(COLL_ALL_REDUCE, "ring"), 5, false, &err) == SHD_OK,
       "ring of 5");
    for (size_t i = 0; i < 25; i++) { /* by member and element */
        snprintf(all, sizeof all, "a%zu..e%zu", i % 5, i % 5);
        wrong += strcmp(f.parts[f.grids[f.ngrids - 1].cells[i].first].text, all) != 0;
    }
    ok(wrong == 0, "every element ends as the sum of all");
    ok(strstr(f.notes[f.nnotes - 1], " 40 elements") != NULL, "2 (n - 1) elements come to each");
    figure_fini(&f);
}

static void test_bad(void)
{
    struct shd_error err;
    struct figure f;

    figure_init(&f);
    ok(schedule_draw(&f, coll_algos[0], 0, false, &err) == SHD_ERANGE, "no members");
    ok(schedule_draw(&f, coll_algos[0], SCHEDULE_MEMBERS_MAX + 1, false, &err) == SHD_ERANGE,
       "too many members");
    figure_fini(&f);
}

int main(void)
{
    plan(0);
    test_all();
    test_sums();
    test_bad();
    return done();
}
