/* Fields of requests (trace_fields.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/trace_fields.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/hash.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS INT64_C(1000000)
#define US_NS INT64_C(1000)
#define NAME_MAX_BYTES 32
#define NUMBER_MAX_BYTES 64
#define TIME_MAX 8e18 /* ns since 1970 are within this range, too */

/* The first name of each field is the one that messages suggest.  A number called timestamp is in
 * seconds in the CSV of BurstGPT and in milliseconds in the JSON lines of Mooncake. */
static const struct trace_name names[] = {
    {"arrival", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, false},
    {"timestamp", TRACE_ARRIVAL, SECOND_NS, MS_NS, false},
    {"arrivalms", TRACE_ARRIVAL, MS_NS, MS_NS, true},
    {"timestampms", TRACE_ARRIVAL, MS_NS, MS_NS, true},
    {"arrivals", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, true},
    {"timestamps", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, true},
    {"arrivalus", TRACE_ARRIVAL, US_NS, US_NS, true},
    {"timestampus", TRACE_ARRIVAL, US_NS, US_NS, true},
    {"arrivalns", TRACE_ARRIVAL, 1, 1, true},
    {"timestampns", TRACE_ARRIVAL, 1, 1, true},
    {"arrivaltimes", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, true},
    {"arrivaltimems", TRACE_ARRIVAL, MS_NS, MS_NS, true},
    {"arrivaltimeus", TRACE_ARRIVAL, US_NS, US_NS, true},
    {"arrivaltimens", TRACE_ARRIVAL, 1, 1, true},
    {"arrivaltime", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, false},
    {"arrivedat", TRACE_ARRIVAL, SECOND_NS, SECOND_NS, false},
    {"prompttokens", TRACE_PROMPT, 0, 0, false},
    {"contexttokens", TRACE_PROMPT, 0, 0, false},
    {"requesttokens", TRACE_PROMPT, 0, 0, false},
    {"inputtokens", TRACE_PROMPT, 0, 0, false},
    {"inputlength", TRACE_PROMPT, 0, 0, false},
    {"promptlen", TRACE_PROMPT, 0, 0, false},
    {"numprefilltokens", TRACE_PROMPT, 0, 0, false},
    {"outputtokens", TRACE_OUTPUT, 0, 0, false},
    {"generatedtokens", TRACE_OUTPUT, 0, 0, false},
    {"responsetokens", TRACE_OUTPUT, 0, 0, false},
    {"outputlength", TRACE_OUTPUT, 0, 0, false},
    {"outputlen", TRACE_OUTPUT, 0, 0, false},
    {"numdecodetokens", TRACE_OUTPUT, 0, 0, false},
    {"hashids", TRACE_BLOCKS, 0, 0, false},
};

const struct trace_name *trace_find_name(struct json_piece name)
{
    char plain[NAME_MAX_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < name.length; i++) {
        if (!isalnum((unsigned char)name.at[i]))
            continue;
        if (n + 1 == sizeof plain)
            return NULL;
        plain[n++] = (char)tolower((unsigned char)name.at[i]);
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i].name, plain))
            return &names[i];
    return NULL;
}

const char *trace_field_name(enum trace_field field)
{
    static const char *const told[TRACE_NFIELDS] = {
        "arrival (or timestamp)", "prompt_tokens (or input_length, ContextTokens, Request tokens)",
        "output_tokens (or output_length, GeneratedTokens, Response tokens)", "hash_ids"};

    return told[field];
}

/* ---- values ---- */

/* Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March,
 * so that the leap day is the last of its year. */
static int64_t days_to(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return 365 * y + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

static int days_in(int year, int month)
{
    return (int)(days_to(month < 12 ? year : year + 1, month % 12 + 1, 1) -
                 days_to(year, month, 1));
}

/* The offset of a time zone at the end of a date: none, "Z", "+02:00". */
static bool parse_zone(int64_t *out_s, const char *text)
{
    int hours, minutes, used = 0;

    *out_s = 0;
    if (!*text || !strcmp(text, "Z"))
        return true;
    if (sscanf(text, "%*1[+-]%2d:%2d%n", &hours, &minutes, &used) != 2 || text[used] ||
        hours > 23 || minutes > 59)
        return false;
    *out_s = (text[0] == '-' ? -60 : 60) * (60 * hours + minutes);
    return true;
}

/* "2023-11-16 18:17:03.9799600", with T for the space, and a zone behind it. */
static bool parse_date(int64_t *out_ns, const char *text)
{
    int year, month, day, hour, minute, second, used = 0;
    int64_t ns = 0, zone_s;

    if (sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
               &second, &used) != 6 ||
        used == 0 || year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 ||
        day > days_in(year, month) || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 60)
        return false;
    text += used;
    if (*text == '.') {
        int64_t unit = SECOND_NS;

        for (text++; isdigit((unsigned char)*text); text++) {
            unit /= 10;
            ns += unit * (*text - '0');
        }
    }
    if (!parse_zone(&zone_s, text))
        return false;
    ns += (days_to(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone_s) *
          SECOND_NS;
    *out_ns = ns;
    return true;
}

static bool parse_number(double *out, const char *text)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    *out = decimal_read(text, &end);
    return end != text && !*end && isfinite(*out);
}

/* A count of tokens; some tables write it with a fraction of 0. */
static bool parse_tokens(int64_t *out, const char *text)
{
    double value;

    if (!parse_number(&value, text) || value > TRACE_TOKENS_MAX || floor(value) < value)
        return false;
    *out = (int64_t)value;
    return true;
}

static void take_arrival(struct trace_reading *r, struct trace_row *row,
                         const struct trace_name *name, int64_t unit_ns, const char *text,
                         struct place place)
{
    row->is_date = parse_date(&row->values[TRACE_ARRIVAL], text);
    if (row->is_date)
        return;
    if (!parse_number(&row->time, text) || row->time > TIME_MAX)
        diag_error(r->diag, place,
                   "'%s' is not an arrival time; expected a number of at least 0, or a date such "
                   "as 2023-11-16 18:17:03.97",
                   text);
    else if (r->times.unit_ns && r->times.unit_ns != unit_ns)
        diag_error(r->diag, place,
                   "this arrival time has another unit, by its name, than previous ones");
    r->times.unit_ns = unit_ns;
    r->times.named = name->is_unit_named;
}

void trace_take_value(struct trace_reading *r, struct trace_row *row, const struct trace_name *name,
                      int64_t unit_ns, struct json_piece value, struct place place)
{
    char text[NUMBER_MAX_BYTES] = "";
    size_t length = value.length < sizeof text ? value.length : sizeof text - 1;

    memcpy(text, value.at, length);
    text[length] = '\0';
    if (length < value.length)
        text[0] = '~'; /* too long for a number */
    row->has[name->field] = true;
    if (name->field == TRACE_ARRIVAL)
        take_arrival(r, row, name, unit_ns, text, place);
    else if (!parse_tokens(&row->values[name->field], text))
        diag_error(r->diag, place,
                   "'%s' is not a number of tokens; expected a whole number up to %u", text,
                   TRACE_TOKENS_MAX);
}

void trace_skip_field(struct trace_reading *r, struct json_piece name)
{
    for (size_t i = 0; i < r->nskipped; i++)
        if (r->skipped[i].length == name.length && !memcmp(r->skipped[i].at, name.at, name.length))
            return;
    if (name.length > 0 && r->nskipped < TRACE_SKIPPED_MAX)
        r->skipped[r->nskipped++] = name;
}

/* ---- requests ---- */

bool trace_add_block(struct trace_reading *r, int64_t id)
{
    struct request_trace *t = r->trace;
    uint64_t hash = hash_bytes(HASH_BEGIN, &id, sizeof id);
    struct map_walk walk = map_find(&r->known, hash);
    uint32_t number;

    while ((number = map_next(&walk)) != MAP_NONE)
        if (r->ids[number] == id)
            break;
    if (number == MAP_NONE) {
        number = t->nids;
        if (!array_make_room32(&r->ids, number, sizeof *r->ids) ||
            !map_add(&r->known, hash, number))
            return false;
        r->ids[t->nids++] = id;
    }
    if (!array_make_room32(&t->blocks, t->nblocks, sizeof *t->blocks))
        return false;
    t->blocks[t->nblocks++] = number;
    return true;
}

void trace_add_row(struct trace_reading *r, const struct trace_row *row, uint32_t block,
                   struct place place)
{
    struct request_trace *t = r->trace;

    for (int f = 0; f < TRACE_BLOCKS; f++)
        if (!row->has[f]) {
            diag_error(r->diag, place, "the request has no %s", trace_field_name(f));
            return;
        }
    if (row->values[TRACE_PROMPT] == 0 || row->values[TRACE_OUTPUT] == 0) {
        t->nempty++;
        t->nblocks = block;
        return;
    }
    if (t->nrequests == TRACE_REQUESTS_MAX) {
        diag_error(r->diag, place, "there are more than %u requests", TRACE_REQUESTS_MAX);
        return;
    }
    if (!array_make_room32(&t->requests, t->nrequests, sizeof *t->requests) ||
        !trace_times_add(&r->times, t->nrequests, row->time, row->is_date)) {
        diag_no_memory(r->diag);
        return;
    }
    t->requests[t->nrequests++] =
        (struct trace_request){.arrival_ns = row->is_date ? row->values[TRACE_ARRIVAL] : 0,
                               .prompt = (uint32_t)row->values[TRACE_PROMPT],
                               .output = (uint32_t)row->values[TRACE_OUTPUT],
                               .block = block,
                               .nblocks = t->nblocks - block};
}
