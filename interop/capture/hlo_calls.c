/* hlo_calls.c - which computations a statement calls, and how often: loops, conditionals, fusions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/array.h"
#include "capture/hlo_reader.h"
#include "capture/sums.h"

#define NOTED_MAX                                                                 \
    8 /* loops, and conditionals, that get a note each; the others are counted in \
         one note */

/* The computation of a name, which must stand before the current one; HLO_NO_NUMBER: none. */
static uint32_t find_callee(const struct reader *r, struct hlo_piece name)
{
    uint32_t callee = hlo_names_find(&r->names, name, 0);

    return callee != HLO_NO_NUMBER && callee + 1 < r->ncomputations ? callee : HLO_NO_NUMBER;
}

static int add_call(struct reader *r, struct hlo_piece name, uint64_t times, uint32_t choice)
{
    uint32_t callee = find_callee(r, name);

    if (callee == HLO_NO_NUMBER)
        return hlo_fault(
            r, SHD_EINVAL,
            "calls a computation that is not defined before; is this the module's whole text?");
    if (!array_make_room32(&r->calls, r->ncalls, sizeof *r->calls))
        return hlo_fault(r, SHD_ENOMEM, "");
    r->calls[r->ncalls++] = (struct call){callee, times, choice};
    return SHD_OK;
}

int hlo_add_calls(struct reader *r, struct hlo_piece attributes, const char *key, uint64_t times,
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

/* The computation that an attribute names; HLO_NO_NUMBER: none that stands before. */
static uint32_t callee_of(const struct reader *r, struct hlo_piece attributes, const char *key)
{
    struct hlo_piece value, name;

    return hlo_attribute(attributes, key, &value) && hlo_take_name(&value, &name)
               ? find_callee(r, name)
               : HLO_NO_NUMBER;
}

uint64_t hlo_callee_slice(const struct reader *r, struct hlo_piece attributes)
{
    uint32_t callee = callee_of(r, attributes, "calls");

    return callee == HLO_NO_NUMBER ? 0 : r->computations[callee].root_slice_bytes;
}

/* A custom fusion of an all-reduce and its slices runs as a reduce-scatter (hlo_slices.h). */
static void scatter(struct reader *r, struct computation *c)
{
    for (uint32_t i = c->first_collective; c->slice_bytes > 0 && i < c->end_collective; i++) {
        struct capture_collective *collective = &r->capture->collectives[i];
        uint128 before = sums_collective(r->capture, collective);

        hlo_slices_scatter(r->capture, collective, c->slice_bytes);
        c->bytes = c->bytes - before + sums_collective(r->capture, collective);
    }
}

int hlo_add_moving_call(struct reader *r, struct hlo_piece attributes, const char *key)
{
    struct hlo_piece value, name;
    uint32_t callee = callee_of(r, attributes, key);

    if (callee == HLO_NO_NUMBER || !r->computations[callee].moves)
        return SHD_OK;
    if (hlo_attribute(attributes, "kind", &value) && hlo_take_word(&value, "kCustom"))
        scatter(r, &r->computations[callee]);
    (void)hlo_attribute(attributes, key, &value);
    return hlo_take_name(&value, &name) ? add_call(r, name, 1, 0) : SHD_OK;
}

/* Read "known_trip_count":{"n":"4"}, in a string or not. */
static bool known_trips(struct hlo_piece attributes, uint64_t *trips)
{
    static const char key[] = "known_trip_count";
    struct hlo_piece rest;

    rest.at = memmem(attributes.at, (size_t)(attributes.end - attributes.at), key, sizeof key - 1);
    rest.end = attributes.end;
    if (!rest.at)
        return false;
    rest.at += sizeof key - 1;
    while (rest.at < rest.end && *rest.at && strchr("\\\":={n ", *rest.at))
        rest.at++;
    return hlo_take_number(&rest, trips);
}

/* Note how often a loop goes round; `count` is NULL if the caller says it. */
static int note_loop(struct reader *r, struct hlo_piece name, const struct hlo_count *count)
{
    int length = (int)(name.end - name.at);

    if (r->nloops++ >= NOTED_MAX)
        return SHD_OK;
    if (!count)
        return hlo_note(r, "Loop %.*s has no known trip count: %llu is used (--trips).", length,
                        name.at, (unsigned long long)r->request->trips);
    return hlo_note(r,
                    "Loop %.*s has no known_trip_count: %llu, derived from its condition and body "
                    "(from %lld by %lld while %s %lld).",
                    length, name.at, (unsigned long long)count->trips, (long long)count->start,
                    (long long)count->step, count->relation, (long long)count->bound);
}

/* Derive a loop's trip count from its condition and body, if the text has no known_trip_count; else
 * take the caller's. */
static int count_trips(uint64_t *trips, struct reader *r, const struct hlo_statement *statement)
{
    struct hlo_count count;

    if (hlo_loops_count(&count, &r->loops, r->ncomputations - 1, statement)) {
        *trips = count.trips;
        return note_loop(r, statement->name, &count);
    }
    if (!r->request->trips)
        return hlo_fault(
            r, SHD_EINVAL,
            "the trip count of this loop is unknown: it has no known_trip_count, and its condition "
            "and body have no counter; add --trips=N");
    *trips = r->request->trips;
    return note_loop(r, statement->name, NULL);
}

static bool moves(const struct reader *r, struct hlo_piece attributes, const char *key)
{
    uint32_t callee = callee_of(r, attributes, key);

    return callee != HLO_NO_NUMBER && r->computations[callee].moves;
}

int hlo_read_while(struct reader *r, const struct hlo_statement *statement)
{
    struct hlo_piece attributes = statement->attributes;
    uint64_t trips = 1;
    int status = SHD_OK;

    if (!known_trips(attributes, &trips) &&
        (moves(r, attributes, "body") || moves(r, attributes, "condition")))
        status = count_trips(&trips, r, statement);
    if (status == SHD_OK)
        status = hlo_add_calls(r, attributes, "body", trips, 0);
    return status == SHD_OK ? hlo_add_calls(r, attributes, "condition",
                                            trips < UINT64_MAX ? trips + 1 : trips, 0)
                            : status;
}

/* Note that a conditional's branches differ: the text does not say which branch is taken. */
static int note_branches(struct reader *r, struct hlo_piece name, uint32_t first)
{
    bool differ = false;

    for (uint32_t i = first; i + 1 < r->ncalls && !differ; i++)
        differ = r->computations[r->calls[i].callee].bytes !=
                 r->computations[r->calls[i + 1].callee].bytes;
    if (!differ || r->nbranched++ >= NOTED_MAX)
        return SHD_OK;
    return hlo_note(r,
                    "Conditional %.*s: the branch that communicates most is counted; another "
                    "communicates less.",
                    (int)(name.end - name.at), name.at);
}

int hlo_note_others(struct reader *r)
{
    int status = SHD_OK;

    if (r->nloops > NOTED_MAX)
        status = hlo_note(r,
                          "%u more loops have no known trip count and are counted in the same "
                          "way.",
                          r->nloops - NOTED_MAX);
    if (status == SHD_OK && r->nbranched > NOTED_MAX)
        status =
            hlo_note(r, "%u more conditionals are counted by the branch that communicates most.",
                     r->nbranched - NOTED_MAX);
    return status;
}

int hlo_read_conditional(struct reader *r, const struct hlo_statement *statement)
{
    static const char *const keys[] = {"branch_computations", "true_computation",
                                       "false_computation"};
    uint32_t choice = ++r->nchoices, first = r->ncalls;
    int status = SHD_OK;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == SHD_OK; i++)
        status = hlo_add_calls(r, statement->attributes, keys[i], 1, choice);
    return status == SHD_OK ? note_branches(r, statement->name, first) : status;
}
