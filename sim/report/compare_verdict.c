/* The verdict of a comparison (compare_verdict.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_verdict.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"
#include "report/compare_value.h"

#define NOTABLE 0.05 /* what differs by less is no reason for anything, and no price */

static double number(const struct compare_rows *rows, size_t row, enum figure_id id)
{
    return rows->rows[row].values[id].number;
}

static bool known(const struct compare_rows *rows, size_t row, enum figure_id id)
{
    return rows->rows[row].values[id].known;
}

static bool all_have(const struct compare_rows *rows, enum figure_id id)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (!known(rows, i, id))
            return false;
    return true;
}

/* The row of the least value but `but`; nresults: there is none that is right and fits. */
static size_t least(const struct compare_rows *rows, enum figure_id id, size_t but)
{
    size_t n = rows->compare->nresults, best = n;

    for (size_t i = 0; i < n; i++)
        if (i != but && rows->rows[i].good && known(rows, i, id) &&
            (best == n || number(rows, i, id) < number(rows, best, id)))
            best = i;
    return best;
}

static void add_name(const struct compare_rows *rows, size_t row, struct text *out)
{
    size_t from = out->length;

    compare_add_name(rows, row, out);
    escape_from(out, from);
}

static void add_amount(const struct compare_rows *rows, size_t row, enum figure_id id,
                       struct text *out)
{
    const struct figure_value *v = &rows->rows[row].values[id];

    text_add(out, figure_table[id].unit == FIGURE_BYTES ? units_print_bytes(v->whole).text
                                                        : units_print_seconds(v->number).text);
}

/* "34 % less": of a against b, where a is no more. */
static void add_percent(double a, double b, const char *word, struct text *out)
{
    if (b <= 0 || a >= b)
        text_addf(out, "no %s", word);
    else
        text_addf(out, "%.*f %% %s", 1 - a / b < 0.1 ? 1 : 0, 100 * (1 - a / b), word);
}

/* ---- why, and at what price ---- */

struct aspect {
    enum figure_id id;
    const char *is; /* "it waits 3 ms for communication" */
};

/* Where a step's time may go besides computations, which every strategy has. */
static const struct aspect modelled_parts[] = {
    {FIGURE_MODELLED_EXPOSED, "exposed communication"},
    {FIGURE_MODELLED_WAITING, "waiting for other devices"}};
static const struct aspect replayed_parts[] = {
    {FIGURE_REPLAYED_BUSY, "work"},
    {FIGURE_REPLAYED_EXPOSED, "exposed communication"},
    {FIGURE_REPLAYED_WAITING, "waiting for other devices"}};

/* How much less of a part the winner has; 0 where the part of either is unknown. */
static double saved_of(const struct compare_rows *rows, size_t winner, size_t second,
                       enum figure_id id)
{
    if (!known(rows, winner, id) || !known(rows, second, id))
        return 0;
    return number(rows, second, id) - number(rows, winner, id);
}

/* Name the parts that make at least a quarter of the gap, in the order of `parts`; the rest of the
 * gap is due to computations, unless `parts` has these. */
static void add_why(const struct compare_rows *rows, size_t winner, size_t second,
                    const struct aspect *parts, size_t n, double gap, struct text *out)
{
    bool has_work = parts[0].id == FIGURE_REPLAYED_BUSY;
    double rest = gap;
    size_t told = 0;

    for (size_t i = 0; i < n; i++) {
        double saved = saved_of(rows, winner, second, parts[i].id);

        rest -= saved;
        if (saved <= 0 || saved < gap / 4)
            continue;
        text_addf(out, "%s its %s takes ", told++ ? " and" : ", as", parts[i].is);
        add_amount(rows, winner, parts[i].id, out);
        text_add(out, " instead of ");
        add_amount(rows, second, parts[i].id, out);
    }
    if (told == 0 || (!has_work && rest >= gap / 4))
        text_addf(out, "%s its computations take less time", told ? " and" : ", as");
}

/* For a winner that no strategy beats in memory or in bytes received. */
static const char no_price[] = ". It needs no more memory and moves no more bytes.";

struct price {
    enum figure_id id;
    const char *is, *needs, *more; /* "1.30x the peak memory", "needs 2.6 % more memory than" */
};
static const struct price prices[] = {
    {FIGURE_PEAK_MOST, "peak memory", "needs", "more memory"},
    {FIGURE_RECEIVED_MOST, "bytes received", "receives", "more bytes"}};
#define NPRICES (sizeof prices / sizeof prices[0])

/* "needs 2.6 % more memory than Y (640 KiB instead of 624 KiB)". */
static void add_surplus(const struct compare_rows *rows, size_t winner, size_t than,
                        const struct price *price, struct text *out)
{
    double a = number(rows, winner, price->id), b = number(rows, than, price->id);
    double percent = b > 0 ? 100 * (a / b - 1) : INFINITY;

    text_addf(out, "%s ", price->needs);
    if (percent < 0.1)
        text_add(out, "less than 0.1 % ");
    else if (percent < 100)
        text_addf(out, "%.*f %% ", percent < 10 ? 1 : 0, percent);
    text_addf(out, "%s than ", price->more);
    add_name(rows, than, out);
    text_add(out, " (");
    add_amount(rows, winner, price->id, out);
    text_add(out, " instead of ");
    add_amount(rows, than, price->id, out);
    text_add(out, ")");
}

/* Say what the winner needs notably more of than the second; returns how many things. */
static size_t add_costs(const struct compare_rows *rows, size_t winner, size_t second,
                        bool *is_told, struct text *out)
{
    size_t told = 0;

    for (size_t i = 0; i < NPRICES; i++) {
        double a = number(rows, winner, prices[i].id), b = number(rows, second, prices[i].id);

        is_told[i] = b > 0 && a > b * (1 + NOTABLE);
        if (!is_told[i])
            continue;
        text_addf(out, "%s%.2fx the %s (", told++ ? ", and " : ". It costs ", a / b, prices[i].is);
        add_amount(rows, winner, prices[i].id, out);
        text_add(out, " a device)");
    }
    if (number(rows, winner, FIGURE_DEVICES) > number(rows, second, FIGURE_DEVICES))
        text_addf(out, "%s%.0f devices instead of %.0f", told++ ? ", and " : ". It costs ",
                  number(rows, winner, FIGURE_DEVICES), number(rows, second, FIGURE_DEVICES));
    return told;
}

/* Say what the winner needs more of than the second, or else than the strategy that needs least. */
static void add_price(const struct compare_rows *rows, size_t winner, size_t second,
                      const char *none, struct text *out)
{
    bool is_told[NPRICES];
    size_t told = add_costs(rows, winner, second, is_told, out), surplus = 0;

    for (size_t i = 0; i < NPRICES; i++) {
        size_t than = second;

        if (number(rows, winner, prices[i].id) <= number(rows, second, prices[i].id))
            than = least(rows, prices[i].id, SIZE_MAX);
        if (is_told[i] || number(rows, winner, prices[i].id) <= number(rows, than, prices[i].id))
            continue;
        text_add(out, surplus++ ? ", and " : ". It ");
        add_surplus(rows, winner, than, &prices[i], out);
    }
    text_add(out, told + surplus ? "." : none);
}

/* A step in fewer microbatches is another step: what is won by that is not won by the layout. */
static void add_microbatches(const struct compare_rows *rows, size_t winner, size_t second,
                             struct text *out)
{
    double a = number(rows, winner, FIGURE_MICROBATCHES);
    double b = number(rows, second, FIGURE_MICROBATCHES);

    if (a < b || a > b)
        text_addf(out, " Their steps have %.0f and %.0f microbatches: not only the layouts differ.",
                  a, b);
}

/* ---- on which figure the verdict rests ---- */

/* Number of strategies whose steps tie with a row's. */
static size_t count_ties(const struct compare_rows *rows, enum figure_id id, size_t winner)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++)
        n += i != winner && rows->rows[i].good && compare_is_tie(rows, id, winner, i);
    return n;
}

static void add_ties(const struct compare_rows *rows, enum figure_id id, size_t winner,
                     struct text *out)
{
    add_name(rows, winner, out);
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (i != winner && rows->rows[i].good && compare_is_tie(rows, id, winner, i)) {
            text_add(out, ", ");
            add_name(rows, i, out);
        }
}

static bool is_measured(const struct compare_rows *rows, size_t row)
{
    return known(rows, row, FIGURE_MODELLED_ERROR);
}

/* Say that modelled steps which differ by less than the model's error have no winner; name the
 * shortest nevertheless. */
static void add_modelled_ties(const struct compare_rows *rows, size_t winner, struct text *out)
{
    double percent = 100 * compare_modelled_error(rows, winner);

    add_ties(rows, FIGURE_MODELLED_STEP, winner, out);
    text_add(out, " have the fastest modelled steps, within the model's error of each other (");
    if (is_measured(rows, winner))
        text_addf(out, "%.1f %%", percent);
    else
        text_addf(out,
                  "not validated on this cluster; on validated clusters errors reached %.0f %%",
                  percent);
    text_add(out, "): none wins by time. The shortest is ");
}

static void by_modelled(const struct compare_rows *rows, struct text *out)
{
    size_t winner = least(rows, FIGURE_MODELLED_STEP, SIZE_MAX);
    size_t second = least(rows, FIGURE_MODELLED_STEP, winner);
    double gap =
        number(rows, second, FIGURE_MODELLED_STEP) - number(rows, winner, FIGURE_MODELLED_STEP);
    bool tie = count_ties(rows, FIGURE_MODELLED_STEP, winner) > 0;

    if (tie)
        add_modelled_ties(rows, winner, out);
    add_name(rows, winner, out);
    text_add(out, tie ? ": " : " has the fastest modelled step: ");
    add_amount(rows, winner, FIGURE_MODELLED_STEP, out);
    text_add(out, " a step, ");
    add_percent(number(rows, winner, FIGURE_MODELLED_STEP),
                number(rows, second, FIGURE_MODELLED_STEP), "less", out);
    text_add(out, " than ");
    add_name(rows, second, out);
    text_add(out, " (");
    add_amount(rows, second, FIGURE_MODELLED_STEP, out);
    text_add(out, ")");
    if (gap > 0)
        add_why(rows, winner, second, modelled_parts,
                sizeof modelled_parts / sizeof modelled_parts[0], gap, out);
    add_price(rows, winner, second, no_price, out);
    add_microbatches(rows, winner, second, out);
}

/* Steps of different batches compare by the time of a token. */
static void by_token(const struct compare_rows *rows, struct text *out)
{
    enum figure_id id = FIGURE_MODELLED_TOKENS;
    size_t n = rows->compare->nresults, winner = 0, second = n;
    double error;

    for (size_t i = 1; i < n; i++)
        winner = number(rows, i, id) > number(rows, winner, id) ? i : winner;
    for (size_t i = 0; i < n; i++)
        if (i != winner && (second == n || number(rows, i, id) > number(rows, second, id)))
            second = i;
    error = fmax(compare_modelled_error(rows, winner), compare_modelled_error(rows, second));
    text_add(out, ". By the modelled time of a token, ");
    add_name(rows, winner, out);
    text_addf(out, " is the fastest: %s, ", units_print_seconds(1 / number(rows, winner, id)).text);
    add_percent(number(rows, second, id), number(rows, winner, id), "less", out);
    text_add(out, " than ");
    add_name(rows, second, out);
    text_addf(out, " (%s)", units_print_seconds(1 / number(rows, second, id)).text);
    if (number(rows, winner, id) <= (1 + error) * number(rows, second, id))
        text_addf(out, ", within the model's error of %.1f %%", 100 * error);
    text_add(out, ".");
}

static void by_replayed(const struct compare_rows *rows, size_t winner, struct text *out)
{
    size_t second = least(rows, FIGURE_REPLAYED_STEP, winner);
    double gap =
        number(rows, second, FIGURE_REPLAYED_STEP) - number(rows, winner, FIGURE_REPLAYED_STEP);

    add_name(rows, winner, out);
    text_add(out, " has the fastest replayed step: ");
    add_amount(rows, winner, FIGURE_REPLAYED_STEP, out);
    text_add(out, " a step, ");
    add_percent(number(rows, winner, FIGURE_REPLAYED_STEP),
                number(rows, second, FIGURE_REPLAYED_STEP), "less", out);
    text_add(out, " than ");
    add_name(rows, second, out);
    text_add(out, ", more than noise");
    add_why(rows, winner, second, replayed_parts, sizeof replayed_parts / sizeof replayed_parts[0],
            gap, out);
    add_price(rows, winner, second, no_price, out);
    add_microbatches(rows, winner, second, out);
}

/* The good strategies that have the same values as a row in some columns. */
struct equals {
    enum figure_id ids[2];
    size_t nids;
    size_t row;
};

static bool is_equal(const struct compare_rows *rows, const struct equals *e, size_t row)
{
    for (size_t k = 0; k < e->nids; k++) {
        double a = number(rows, row, e->ids[k]), b = number(rows, e->row, e->ids[k]);

        if (!known(rows, row, e->ids[k]) || a < b || a > b)
            return false;
    }
    return rows->rows[row].good;
}

static size_t count_equals(const struct compare_rows *rows, const struct equals *e)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++)
        n += is_equal(rows, e, i);
    return n;
}

/* "a, b and c" */
static void add_equals(const struct compare_rows *rows, const struct equals *e, struct text *out)
{
    size_t n = count_equals(rows, e), told = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        if (!is_equal(rows, e, i))
            continue;
        text_add(out, told == 0 ? "" : told + 1 < n ? ", " : " and ");
        add_name(rows, i, out);
        told++;
    }
}

/* Among strategies that receive the same bytes, name the strategies with the least of another
 * figure, unless all are equal. If one of them lacks the figure (a step without a pipeline has no
 * bubble), none is named. */
static void add_least(const struct compare_rows *rows, const struct equals *same, enum figure_id id,
                      const char *what, struct text *out)
{
    struct equals best = {{same->ids[0], id}, 2, same->row};

    for (size_t i = 0; i < rows->compare->nresults; i++) {
        if (!is_equal(rows, same, i))
            continue;
        if (!known(rows, i, id))
            return;
        if (number(rows, i, id) < number(rows, best.row, id))
            best.row = i;
    }
    if (count_equals(rows, &best) == count_equals(rows, same))
        return;
    text_addf(out, " The least %s of these: ", what);
    add_equals(rows, &best, out);
    text_add(out, ", ");
    compare_add_value(out, rows, best.row, id);
    text_add(out, ".");
}

/* Whether all strategies are right, and have the same in every figure that is counted or
 * modelled. */
static bool are_same(const struct compare_rows *rows)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        for (enum figure_id id = 0; id < NFIGURES; id++) {
            struct equals first = {{id}, 1, 0};

            if (!rows->rows[i].good)
                return false;
            if (figure_table[id].kept && known(rows, 0, id) != known(rows, i, id))
                return false;
            if (figure_table[id].kept && known(rows, 0, id) && !is_equal(rows, &first, i))
                return false;
        }
    return rows->compare->nresults > 1;
}

static void tell_same(const struct compare_rows *rows, struct text *out)
{
    const struct equals all = {{0}, 0, 0};

    add_equals(rows, &all, out);
    text_add(out, " have equal figures: ");
    if (known(rows, 0, FIGURE_MODELLED_STEP)) {
        add_amount(rows, 0, FIGURE_MODELLED_STEP, out);
        text_add(out, " a step, modelled; ");
    }
    add_amount(rows, 0, FIGURE_RECEIVED_MOST, out);
    text_add(out, " received and ");
    add_amount(rows, 0, FIGURE_PEAK_MOST, out);
    text_add(out, " of memory per device. They are probably the same layout.");
}

static void by_bytes(const struct compare_rows *rows, struct text *out)
{
    size_t winner = least(rows, FIGURE_RECEIVED_MOST, SIZE_MAX);
    size_t second = least(rows, FIGURE_RECEIVED_MOST, winner);
    const struct equals same = {{FIGURE_RECEIVED_MOST}, 1, winner};

    if (number(rows, winner, FIGURE_RECEIVED_MOST) < number(rows, second, FIGURE_RECEIVED_MOST)) {
        add_name(rows, winner, out);
        text_add(out, " receives the fewest bytes, ");
        add_amount(rows, winner, FIGURE_RECEIVED_MOST, out);
        text_add(out, " a device, ");
        add_percent(number(rows, winner, FIGURE_RECEIVED_MOST),
                    number(rows, second, FIGURE_RECEIVED_MOST), "fewer", out);
        text_add(out, " than ");
        add_name(rows, second, out);
        add_price(rows, winner, second, ".", out);
        return;
    }
    add_equals(rows, &same, out);
    text_add(out, " receive equal bytes, ");
    add_amount(rows, winner, FIGURE_RECEIVED_MOST, out);
    text_add(out, " a device.");
    add_least(rows, &same, FIGURE_PEAK_MOST, "peak memory", out);
    add_least(rows, &same, FIGURE_BUBBLE, "bubble", out);
}

/* Name the strategies whose times tie, and the strategy that moves the fewest bytes of all. */
static void by_noise(const struct compare_rows *rows, size_t winner, struct text *out)
{
    add_ties(rows, FIGURE_REPLAYED_STEP, winner, out);
    text_add(out, " have the fastest steps, within noise of each other: none wins by time. ");
    by_bytes(rows, out);
}

/* Nothing is right and fits: name the strategy that needs least memory. A list of changes that
 * would make it fit tells elsewhere how far it is from fitting. */
static void none_is_good(const struct compare_rows *rows, struct text *out)
{
    size_t nearest = 0;

    for (size_t i = 1; i < rows->compare->nresults; i++)
        if (number(rows, i, FIGURE_PEAK_MOST) < number(rows, nearest, FIGURE_PEAK_MOST))
            nearest = i;
    text_add(out, "no strategy is correct and fits; ");
    add_name(rows, nearest, out);
    text_add(out, " needs the least memory, ");
    add_amount(rows, nearest, FIGURE_PEAK_MOST, out);
    text_add(out, " a device.");
}

static size_t count_good(const struct compare_rows *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->compare->nresults; i++)
        n += rows->rows[i].good;
    return n;
}

/* Whether replayed steps decide: at least two can be compared. */
static bool is_replayed(const struct compare_rows *rows)
{
    size_t n = rows->compare->nresults, winner = compare_fastest(rows);

    return winner < n && least(rows, FIGURE_REPLAYED_STEP, winner) < n;
}

enum figure_id compare_verdict_column(const struct compare_rows *rows)
{
    if (rows->compare->nresults < 2 || !compare_same_model(rows))
        return NFIGURES;
    if (count_good(rows) < 2)
        return FIGURE_PEAK_MOST;
    if (all_have(rows, FIGURE_MODELLED_STEP))
        return FIGURE_MODELLED_STEP;
    return is_replayed(rows) ? FIGURE_REPLAYED_STEP : FIGURE_RECEIVED_MOST;
}

void compare_verdict(const struct compare_rows *rows, struct text *out)
{
    size_t ngood = count_good(rows), winner;

    if (rows->compare->nresults < 2)
        return;
    if (!compare_same_model(rows)) {
        compare_add_different(rows, out);
        if (compare_is_by_token(rows))
            by_token(rows, out);
        else
            text_add(out, ": no winner.");
        return;
    }
    if (ngood == 0) {
        none_is_good(rows, out);
        return;
    }
    if (ngood == 1) {
        add_name(rows, least(rows, FIGURE_PEAK_MOST, SIZE_MAX), out);
        text_add(out, " is the only strategy that is correct and fits.");
        return;
    }
    if (are_same(rows)) {
        tell_same(rows, out);
        return;
    }
    winner = compare_fastest(rows);
    switch (compare_verdict_column(rows)) {
    case FIGURE_MODELLED_STEP:
        by_modelled(rows, out);
        return;
    case FIGURE_REPLAYED_STEP:
        (count_ties(rows, FIGURE_REPLAYED_STEP, winner) ? by_noise : by_replayed)(rows, winner,
                                                                                  out);
        return;
    default:
        by_bytes(rows, out);
    }
}
