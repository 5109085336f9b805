/* Differences between two baselines, in words.
 *
 * Arrays and collectives of equal name are compared in pairs, in their order; those without a
 * partner are new or gone.  Parameters are reported first, because changed rules are rules of
 * parameters.  An optimizer state changes with its parameter and is reported in the parameter's
 * line, unless `all` messages are wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "check/baseline.h"
#include "check/baseline_given.h"
#include "check/baseline_lines.h"

#define AXES_MAX 256

/* Parts of "gradient of head/kernel and 3 more", as traffic.h names arrays that are moved
 * together. */
#define AND " and "
#define MORE " more"

/* Kinds of messages, and how many each kind may have unless all are wanted.  A kind may use lines
 * that other kinds leave over. */
enum part { ARRAYS, COLLECTIVES, TOTALS, NPARTS };
static const size_t shares[NPARTS] = {4, 3, 4};

struct differ {
    struct diag *changes;
    const struct baseline *was, *is;
    struct place place;
    bool folds; /* report optimizer states in the lines of their parameters */
};

/* "12 more", "3 fewer" */
static void add_more(struct text *out, uint128 was, uint128 is)
{
    text_addf(out, "%s %s", UINT128_DIGITS(is > was ? is - was : was - is),
              is > was ? "more" : "fewer");
}

static void say(struct differ *d, struct place place, const struct text *text)
{
    if (text->failed)
        diag_no_memory(d->changes);
    else
        diag_error(d->changes, place, "%s", text_get(text));
}

/* ---- arrays ---- */

/* Next axis named in a sharding's text, "[{dp}, {fsdp,tp}]"; NULL at the end. */
static const char *next_axis(const char *text, size_t *length)
{
    text += strspn(text, "[]{}, ");
    *length = strcspn(text, "[]{}, ");
    return *length ? text : NULL;
}

static bool names_axis(const char *text, const char *axis, size_t length)
{
    size_t n;

    for (const char *a = text; (a = next_axis(a, &n)) != NULL; a += n)
        if (n == length && !strncmp(a, axis, n))
            return true;
    return false;
}

/* Add axes named in `in` but not in `not_in`: ", no longer sharded over tp" */
static void add_axes(struct text *out, const char *words, const char *in, const char *not_in)
{
    size_t n, found = 0;

    for (const char *a = in; (a = next_axis(a, &n)) != NULL; a += n)
        if (!names_axis(not_in, a, n))
            text_addf(out, "%s%.*s", found++ ? "," : words, (int)n, a);
}

static bool is_parameter(const struct baseline_array *a)
{
    return !strcmp(a->kind, "parameter");
}

/* Whether an array is optimizer state of a parameter: "opt/m/NAME". */
static bool is_state_of(const struct baseline_array *a, const struct baseline_array *param)
{
    const char *name = strncmp(a->name, "opt/", 4) != 0 ? NULL : strchr(a->name + 4, '/');

    return name && !strcmp(name + 1, param->name);
}

/* Candidates for changed arrays: those of `list` without `equal` have changed. */
struct changed {
    const struct baseline_array *list;
    size_t n;
    const bool *equal;
};

/* Whether an array's change is reported in the line of its parameter. */
static bool is_folded(const struct differ *d, const struct changed *c,
                      const struct baseline_array *a)
{
    for (size_t i = 0; d->folds && i < c->n; i++)
        if (!c->equal[i] && is_parameter(&c->list[i]) && is_state_of(a, &c->list[i]))
            return true;
    return false;
}

static void add_states(struct text *out, const struct differ *d, const struct changed *c,
                       const struct baseline_array *param)
{
    size_t n = 0;

    for (size_t i = 0; d->folds && i < c->n; i++)
        n += !c->equal[i] && is_state_of(&c->list[i], param);
    if (n > 0)
        text_addf(out, "; also %zu optimizer state%s of it", n, n == 1 ? "" : "s");
}

static void diff_array(struct differ *d, const struct changed *c, const struct baseline_array *was,
                       const struct baseline_array *is)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s '%s' ", is->kind, is->name);
    if (strcmp(was->sharding, is->sharding) != 0) {
        text_addf(&t, "is sharded as %s, was %s", is->sharding, was->sharding);
        add_axes(&t, ", no longer sharded over ", was->sharding, is->sharding);
        add_axes(&t, ", now sharded over ", is->sharding, was->sharding);
        text_add(&t, "; ");
    }
    text_addf(&t, "has %s bytes on a device", UINT128_DIGITS(is->bytes));
    if (is->bytes != was->bytes) {
        text_add(&t, ", ");
        add_more(&t, was->bytes, is->bytes);
    }
    if (is->count != was->count)
        text_addf(&t, "; appears %s times, was %s", UINT128_DIGITS(is->count),
                  UINT128_DIGITS(was->count));
    add_states(&t, d, c, is);
    say(d, is->place.file ? is->place : d->place, &t);
    text_fini(&t);
}

static void tell_array(struct differ *d, const struct changed *c, const struct baseline_array *a,
                       const char *what)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s '%s', %s with %s bytes on a device, %s", a->kind, a->name, a->sharding,
              UINT128_DIGITS(a->bytes), what);
    add_states(&t, d, c, a);
    say(d, a->place.file ? a->place : d->place, &t);
    text_fini(&t);
}

static bool is_same_array(const struct baseline_array *a, const struct baseline_array *b)
{
    return !strcmp(a->kind, b->kind) && !strcmp(a->name, b->name);
}

/* First old array, not yet taken, of the same name and kind; with `exact`, also equal in sharding,
 * count and bytes. */
static size_t find_array(const struct differ *d, const bool *taken, const struct baseline_array *is,
                         bool exact)
{
    for (size_t i = 0; i < d->was->narrays; i++) {
        const struct baseline_array *was = &d->was->arrays[i];

        if (taken[i] || !is_same_array(was, is))
            continue;
        if (!exact || (!strcmp(was->sharding, is->sharding) && was->count == is->count &&
                       was->bytes == is->bytes))
            return i;
    }
    return d->was->narrays;
}

/* Report changes of the parameters, or of all arrays that are not parameters. */
static void diff_some(struct differ *d, bool *taken, const struct changed *c, bool parameters)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t at;

        if (c->equal[i] || is_parameter(&c->list[i]) != parameters)
            continue;
        at = find_array(d, taken, &c->list[i], false);
        if (at < d->was->narrays)
            taken[at] = true;
        if (is_folded(d, c, &c->list[i]))
            continue;
        if (at < d->was->narrays)
            diff_array(d, c, &d->was->arrays[at], &c->list[i]);
        else
            tell_array(d, c, &c->list[i], "is new");
    }
}

static void tell_gone(struct differ *d, const bool *taken, bool parameters)
{
    const struct changed gone = {d->was->arrays, d->was->narrays, taken};

    for (size_t i = 0; i < gone.n; i++)
        if (!taken[i] && is_parameter(&gone.list[i]) == parameters &&
            !is_folded(d, &gone, &gone.list[i]))
            tell_array(d, &gone, &gone.list[i], "is gone");
}

static void diff_arrays(struct differ *d, bool *taken, bool *same)
{
    const struct changed changed = {d->is->arrays, d->is->narrays, same};

    for (size_t i = 0; i < d->is->narrays; i++) {
        size_t at = find_array(d, taken, &d->is->arrays[i], true);

        same[i] = at < d->was->narrays;
        if (same[i])
            taken[at] = true;
    }
    for (int parameters = 1; parameters >= 0; parameters--) {
        diff_some(d, taken, &changed, parameters);
        tell_gone(d, taken, parameters);
    }
}

/* ---- collectives ---- */

static void add_collective(struct text *out, const struct baseline_collective *c)
{
    text_addf(out, "%s %s over %s at %s", c->phase, c->op, c->axes, c->where);
}

static void tell_collective(struct differ *d, const struct baseline_collective *c, bool is_new)
{
    struct text t = TEXT_INIT;

    add_collective(&t, c);
    text_addf(&t, " is %s, %s time%s on %s bytes: %s %s bytes received over %s",
              is_new ? "new" : "gone", UINT128_DIGITS(c->count), c->count == 1 ? "" : "s",
              UINT128_DIGITS(c->operand_bytes), UINT128_DIGITS(c->received_bytes),
              is_new ? "more" : "fewer", c->axes);
    say(d, d->place, &t);
    text_fini(&t);
}

static void add_change(struct text *out, const char *what, uint128 was, uint128 is)
{
    if (was != is)
        text_addf(out, "; %s %s, was %s", what, UINT128_DIGITS(is), UINT128_DIGITS(was));
}

static void diff_collective(struct differ *d, const struct baseline_collective *was,
                            const struct baseline_collective *is)
{
    struct text t = TEXT_INIT;

    add_collective(&t, is);
    text_addf(&t, " receives %s bytes", UINT128_DIGITS(is->received_bytes));
    if (is->received_bytes != was->received_bytes) {
        text_add(&t, ", ");
        add_more(&t, was->received_bytes, is->received_bytes);
        text_addf(&t, " over %s", is->axes);
    }
    if (strcmp(was->where, is->where) != 0)
        text_addf(&t, "; was at %s", was->where);
    add_change(&t, "times", was->count, is->count);
    add_change(&t, "operand bytes", was->operand_bytes, is->operand_bytes);
    add_change(&t, "result bytes", was->result_bytes, is->result_bytes);
    add_change(&t, "groups", was->groups, is->groups);
    add_change(&t, "devices in a group", was->group_size, is->group_size);
    say(d, d->place, &t);
    text_fini(&t);
}

/* Degrees of similarity at which two collectives are paired. */
enum likeness { ALL_THE_SAME, OF_ONE_NAME, OF_ONE_FIRST_ARRAY, NLIKENESSES };

/* Length of a collective's place without " and 3 more". */
static size_t first_array(const char *where)
{
    size_t n = strlen(where), end = n;

    if (n < strlen(MORE) || strcmp(where + n - strlen(MORE), MORE) != 0)
        return n;
    n -= strlen(MORE);
    while (n > 0 && where[n - 1] >= '0' && where[n - 1] <= '9')
        n--;
    return n >= strlen(AND) && !strncmp(where + n - strlen(AND), AND, strlen(AND)) ? n - strlen(AND)
                                                                                   : end;
}

static bool is_equal_collective(const struct baseline_collective *a,
                                const struct baseline_collective *b)
{
    return a->groups == b->groups && a->group_size == b->group_size && a->count == b->count &&
           a->operand_bytes == b->operand_bytes && a->result_bytes == b->result_bytes &&
           a->received_bytes == b->received_bytes;
}

static bool is_like(const struct baseline_collective *a, const struct baseline_collective *b,
                    enum likeness likeness)
{
    size_t n = first_array(a->where);

    if (strcmp(a->phase, b->phase) != 0 || strcmp(a->op, b->op) != 0 ||
        strcmp(a->axes, b->axes) != 0)
        return false;
    if (likeness == OF_ONE_FIRST_ARRAY)
        return n == first_array(b->where) && !strncmp(a->where, b->where, n);
    return !strcmp(a->where, b->where) && (likeness != ALL_THE_SAME || is_equal_collective(a, b));
}

static size_t find_collective(const struct differ *d, const bool *taken,
                              const struct baseline_collective *is, enum likeness likeness)
{
    for (size_t i = 0; i < d->was->ncollectives; i++)
        if (!taken[i] && is_like(&d->was->collectives[i], is, likeness))
            return i;
    return d->was->ncollectives;
}

/* Pair old and new collectives, the most similar first, then report those without a partner. */
static void diff_collectives(struct differ *d, bool *taken, bool *paired)
{
    for (enum likeness like = ALL_THE_SAME; like < NLIKENESSES; like++)
        for (size_t i = 0; i < d->is->ncollectives; i++) {
            size_t at = paired[i] ? d->was->ncollectives
                                  : find_collective(d, taken, &d->is->collectives[i], like);

            if (at == d->was->ncollectives)
                continue;
            taken[at] = paired[i] = true;
            if (like != ALL_THE_SAME)
                diff_collective(d, &d->was->collectives[at], &d->is->collectives[i]);
        }
    for (size_t i = 0; i < d->is->ncollectives; i++)
        if (!paired[i])
            tell_collective(d, &d->is->collectives[i], true);
    for (size_t i = 0; i < d->was->ncollectives; i++)
        if (!taken[i])
            tell_collective(d, &d->was->collectives[i], false);
}

/* ---- the whole ---- */

static void add_percent(struct text *out, double was, double is)
{
    text_addf(out, " (%+.1f %%)", 100 * (is - was) / was);
}

static void diff_count(struct differ *d, const char *what, const char *unit, uint128 was,
                       uint128 is)
{
    struct text t = TEXT_INIT;

    if (was == is)
        return;
    text_addf(&t, "%s: %s%s, ", what, UINT128_DIGITS(is), unit);
    add_more(&t, was, is);
    if (was > 0)
        add_percent(&t, (double)was, (double)is);
    say(d, d->place, &t);
    text_fini(&t);
}

static uint128 bytes_over(const struct baseline *b, const char *axes)
{
    uint128 sum = 0;

    for (size_t i = 0; i < b->ncollectives; i++)
        if (!strcmp(b->collectives[i].axes, axes))
            sum += b->collectives[i].received_bytes;
    return sum;
}

static void diff_axes_of(struct differ *d, const struct baseline *of, const struct baseline *not_of)
{
    char what[AXES_MAX + 32];

    for (size_t i = 0; i < of->ncollectives; i++) {
        const char *axes = of->collectives[i].axes;
        bool seen = not_of && bytes_over(not_of, axes) > 0;

        for (size_t k = 0; k < i && !seen; k++)
            seen = !strcmp(of->collectives[k].axes, axes);
        snprintf(what, sizeof what, "received over %.*s", AXES_MAX, axes);
        if (!seen)
            diff_count(d, what, " bytes", bytes_over(d->was, axes), bytes_over(d->is, axes));
    }
}

/* Print modelled figures rounded, with units; counted figures exactly. */
static void diff_figure(struct differ *d, enum figure_id id)
{
    const struct figure_row *f = &figure_table[id];
    const struct figure_value *was = &d->was->figures.values[id];
    const struct figure_value *is = &d->is->figures.values[id];
    struct text t = TEXT_INIT;

    if (baseline_has_same(d->was, d->is, id))
        return;
    if (f->origin != FIGURE_MODELLED) {
        diff_count(d, f->label, f->unit == FIGURE_BYTES ? " bytes" : "", was->whole, is->whole);
        return;
    }
    text_addf(&t, "%s: ", f->label);
    figure_add_number(&t, id, is->whole, is->number);
    text_add(&t, ", was ");
    figure_add_number(&t, id, was->whole, was->number);
    add_percent(&t, was->number, is->number);
    say(d, d->place, &t);
    text_fini(&t);
}

static void diff_figures(struct differ *d)
{
    enum figure_id id;

    for (int rank = 1; (id = figure_kept(rank)) < NFIGURES; rank++) {
        diff_figure(d, id);
        if (id == FIGURE_RECEIVED) {
            diff_axes_of(d, d->is, NULL);
            diff_axes_of(d, d->was, d->is);
        }
    }
}

static bool has_finding(const struct baseline *b, const char *finding)
{
    for (size_t i = 0; i < b->nfindings; i++)
        if (!strcmp(b->findings[i], finding))
            return true;
    return false;
}

/* Report accepted findings that are gone; lint reports new ones at their own places. */
static void diff_findings(struct differ *d)
{
    for (size_t i = 0; i < d->was->nfindings; i++)
        if (!has_finding(d->is, d->was->findings[i]))
            diag_error(d->changes, d->place, "an accepted finding is gone: %s",
                       d->was->findings[i]);
}

/* Report changed options of the layout or, with `of_layout` false, of the workload and cluster. */
static void diff_given(struct differ *d, bool of_layout)
{
    struct text t = TEXT_INIT;

    for (size_t k = 0; k < d->was->ngiven + d->is->ngiven; k++) {
        struct baseline_change change;

        if (!baseline_given_change(&change, d->was, d->is, k, d->place) ||
            of_layout != !change.subject)
            continue;
        text_clear(&t);
        baseline_given_print(&t, &change);
        say(d, change.place, &t);
    }
    text_fini(&t);
}

void baseline_causes(struct diag *causes, const struct baseline *was, const struct baseline *is,
                     struct place place)
{
    struct differ d = {causes, was, is, place, false};

    baseline_lines_diff(causes, was, is, place);
    diff_given(&d, true);
}

bool baseline_says_same(const struct baseline *was, const struct baseline *is)
{
    bool same = was->has_lines && was->has_given && !baseline_lines_differ(was, is);

    for (size_t k = 0; k < was->ngiven + is->ngiven && same; k++) {
        struct baseline_change change;

        same = !baseline_given_change(&change, was, is, k, (struct place){NULL, 0, 0});
    }
    return same;
}

/* Choose how many messages of each part are printed. */
static void share_out(size_t told[NPARTS], const struct diag parts[NPARTS])
{
    size_t left = 0;

    for (int p = 0; p < NPARTS; p++) {
        told[p] = parts[p].nmessages < shares[p] ? parts[p].nmessages : shares[p];
        left += shares[p] - told[p];
    }
    for (int p = NPARTS - 1; p >= 0; p--) {
        size_t more = parts[p].nmessages - told[p];

        more = more < left ? more : left;
        told[p] += more;
        left -= more;
    }
}

static void tell_some(struct diag *changes, const struct diag parts[NPARTS], struct place place)
{
    size_t told[NPARTS], nmore = 0;

    share_out(told, parts);
    for (int p = 0; p < NPARTS; p++) {
        for (size_t i = 0; i < told[p]; i++) {
            const struct diag_message *m = &parts[p].messages[i];

            diag_error(changes, (struct place){m->file, m->line, m->column}, "%s", m->text);
        }
        nmore += parts[p].nerrors - told[p];
        if (parts[p].no_memory)
            diag_no_memory(changes);
    }
    if (nmore > 0)
        diag_error(changes, (struct place){place.file, 0, 0},
                   "and %zu more ('shardsim check -v' lists all)", nmore);
}

static void diff_parts(struct differ *d, struct diag parts[NPARTS], bool *marks)
{
    size_t narrays = d->was->narrays + d->is->narrays;

    d->changes = &parts[ARRAYS];
    diff_arrays(d, marks, marks + d->was->narrays);
    d->changes = &parts[COLLECTIVES];
    diff_collectives(d, marks + narrays, marks + narrays + d->was->ncollectives);
    d->changes = &parts[TOTALS];
    diff_figures(d);
    diff_findings(d);
}

void baseline_diff(struct diag *changes, const struct baseline *was, const struct baseline *is,
                   struct place place, bool all)
{
    struct differ d = {changes, was, is, {place.file, 0, 0}, !all}; /* effects have no line */
    struct diag parts[NPARTS] = {DIAG_INIT, DIAG_INIT, DIAG_INIT};
    size_t n = was->narrays + is->narrays + was->ncollectives + is->ncollectives;
    bool *marks = calloc(n + 1, sizeof *marks);

    if (!marks) {
        diag_no_memory(changes);
        return;
    }
    diff_given(&d, false);
    if (strcmp(was->mesh, is->mesh) != 0)
        diag_error(changes, is->mesh_place.file ? is->mesh_place : place, "mesh is %s, was %s",
                   is->mesh, was->mesh);
    diff_parts(&d, parts, marks);
    for (int p = 0; all && p < NPARTS; p++)
        diag_append(changes, &parts[p]);
    if (!all)
        tell_some(changes, parts, place);
    for (int p = 0; p < NPARTS; p++)
        diag_fini(&parts[p]);
    free(marks);
}
