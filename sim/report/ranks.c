/* The stages and the memory of each rank of a pipeline (ranks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/ranks.h"

#include "base/units.h"
#include "report/table.h"

#define RANKS_TOLD_MAX 16 /* rows that fit on a screen beside the rest */

/* ---- figures ---- */

/* The last part of the backward phase that a stage has. */
static enum program_part last_part(const struct program *program, uint32_t stage)
{
    for (uint32_t s = 0; s < program->nsegments; s++)
        if (program->segments[s].part == PROGRAM_WEIGHTS && program->segments[s].stage == stage)
            return PROGRAM_WEIGHTS;
    return PROGRAM_BACKWARD;
}

/* Most microbatches that are under way on a rank at once, counted for each of its stages: their
 * forward is done and what is made of it in the backward phase is not. */
static uint32_t most_alive(const struct program *program, uint32_t rank)
{
    uint32_t alive = 0, most = 0;

    for (uint32_t t = program->first_turn[rank]; t < program->first_turn[rank + 1]; t++) {
        const struct program_segment *s = &program->segments[program->turns[t].segment];

        alive += s->part == PROGRAM_FORWARD;
        most = alive > most ? alive : most;
        alive -= alive > 0 && s->part != PROGRAM_FORWARD && s->part < PROGRAM_UPDATE &&
                 s->part == last_part(program, s->stage);
    }
    return most;
}

/* ---- text ---- */

/* "0", "0,7", or "0,8...56" of many. */
static void add_stages(struct table *table, const struct program *program, uint32_t rank)
{
    struct text text = TEXT_INIT;
    uint32_t n = 0, last = 0;

    for (uint32_t s = 0; s < program->nstages; s++) {
        if (program->rank_of_stage[s] != rank)
            continue;
        if (n < 2)
            text_addf(&text, "%s%u", n ? "," : "", s);
        last = s;
        n++;
    }
    if (n > 2)
        text_addf(&text, "%s%u", n > 3 ? "..." : ",", last);
    table_add(table, "%s", text_get(&text));
    table->failed |= text.failed;
    text_fini(&text);
}

static void add_rank(struct table *table, const struct program *program, uint32_t rank)
{
    static const enum program_use uses[] = {PROGRAM_PARAMETERS, PROGRAM_GRADIENTS,
                                            PROGRAM_OPTIMIZER, PROGRAM_ACTIVATIONS};
    struct program_memory memory;

    program_memory(&memory, program, rank);
    table_add(table, "%u", rank);
    add_stages(table, program, rank);
    table_add(table, "%u", most_alive(program, rank));
    table_add(table, "%s", units_print_bytes(memory.peak_bytes).text);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        table_add(table, "%s", units_print_bytes(memory.uses[uses[i]]).text);
}

static void add_bubble(const struct program *program, struct text *out)
{
    double bubble;

    if (program_bubble(&bubble, program, NULL) == SHD_OK)
        text_addf(
            out,
            "  bubble %.1f %% of the microbatches' time on average, measured in flops, without\n"
            "  transfers\n",
            100 * bubble);
    else
        out->failed = true;
}

void ranks_text(const struct program *program, size_t columns, struct text *out)
{
    static const char *const heads[] = {"rank",       "stages",    "alive",     "peak",
                                        "parameters", "gradients", "optimizer", "activations"};
    uint32_t most = program_peak_rank(program), n = program->nranks;
    struct table table;

    table_init(&table, "rlrrrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_add(&table, "%s", heads[i]);
    for (uint32_t rank = 0; rank < n; rank++)
        if (n <= RANKS_TOLD_MAX || rank == 0 || rank == most || rank == n - 1)
            add_rank(&table, program, rank);
    text_add(out,
             "\n"
             "ranks         of the pipeline, each at its peak; alive: microbatches in flight\n");
    table_print_within(&table, 2, columns, out);
    if (n > RANKS_TOLD_MAX)
        text_addf(out, "  (the first, the last, and the one with most of %u)\n", n);
    add_bubble(program, out);
    table_fini(&table);
}

/* ---- JSON ---- */

void ranks_kinds_json(const struct program_memory *memory, struct json_out *out)
{
    json_out_begin_flat_object(out);
    for (int use = 0; use < PROGRAM_NUSES; use++) {
        json_out_key_uint(out, program_use_name((enum program_use)use), memory->uses[use]);
    }
    json_out_end_object(out);
}

static void rank_json(const struct program *program, uint32_t rank, struct json_out *out)
{
    struct program_memory memory;

    program_memory(&memory, program, rank);
    json_out_begin_object(out);
    json_out_key_uint(out, "rank", rank);
    json_out_key_flat_array(out, "stages");
    for (uint32_t s = 0; s < program->nstages; s++)
        if (program->rank_of_stage[s] == rank)
            json_out_uint(out, s);
    json_out_end_array(out);
    json_out_key_uint(out, "microbatches_alive", most_alive(program, rank));
    json_out_key_uint(out, "peak_bytes", memory.peak_bytes);
    json_out_key(out, "by_kind");
    ranks_kinds_json(&memory, out);
    json_out_end_object(out);
}

void ranks_json(const struct program *program, struct json_out *out)
{
    json_out_begin_array(out);
    for (uint32_t rank = 0; rank < program->nranks; rank++)
        rank_json(program, rank, out);
    json_out_end_array(out);
}
