/* The result of a search as JSON (outcome.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/outcome.h"

#include "report/figures.h"

static const struct search_plan *best_of(const struct search *s, size_t rank)
{
    return &s->plans[s->best[rank]];
}

void outcome_json_layout(struct json_out *out, const struct layout *layout)
{
    json_out_key_flat_object(out, "layout");
    for (int c = 0; c < SPACE_NCHOICES; c++) {
        struct text value = TEXT_INIT;

        space_print_value(&value, (enum space_choice)c, layout->value[c]);
        json_out_key(out, space_choice_name((enum space_choice)c));
        if (text_get(&value)[0] >= '0' && text_get(&value)[0] <= '9' && c != SPACE_SCHEDULE)
            json_out_uint(out, (uint64_t)layout->value[c]);
        else
            json_out_string(out, text_get(&value));
        text_fini(&value);
    }
    json_out_end_object(out);
}

void outcome_json_figures(struct json_out *out, const struct modelled_figures *plan)
{
    struct figures figures = {.good = false};

    figures_set_modelled(&figures, plan);
    figures_json(out, &figures, FIGURE_MODELLED, false);
}

static void write_plan(struct json_out *out, const struct search *s, const struct search_plan *plan)
{
    static const char *const states[] = {
        [VARIANT_REFUSED] = "refused", [VARIANT_TOO_BIG] = "too_big", [VARIANT_FITS] = "planned"};
    const struct search_item *item = &s->items[plan->item];
    const struct modelled_figures *f = &plan->plan.figures;

    json_out_begin_object(out);
    outcome_json_layout(out, &item->layout);
    json_out_key_string(out, "state", states[plan->plan.state]);
    json_out_key_double(out, "bound_seconds", item->bound_s);
    json_out_key_double(out, "bound_bytes", item->bound_bytes);
    if (plan->plan.state != VARIANT_REFUSED) {
        outcome_json_figures(out, f);
        json_out_key_double(out, "tokens_per_device_second",
                            f->tokens_per_s / (double)s->subject->space.devices);
    }
    json_out_end_object(out);
}

static void write_case(struct json_out *out, const struct sensitivity_case *c)
{
    json_out_begin_object(out);
    json_out_key_string(out, "case", c->name);
    json_out_key_uint(out, "devices", (uint64_t)c->devices);
    if (c->any) {
        outcome_json_layout(out, &c->layout);
        json_out_key_double(out, "step_seconds", c->figures.step_s);
        json_out_key_double(out, "proven_seconds", c->proven_s);
    }
    if (c->before_s > 0)
        json_out_key_double(out, "before_seconds", c->before_s);
    json_out_end_object(out);
}

static void write_sensitivity(struct json_out *out, const struct sensitivity *sensitivity)
{
    json_out_key_array(out, "sensitivity");
    for (size_t k = 0; k < sensitivity->n; k++)
        write_case(out, &sensitivity->cases[k]);
    json_out_end_array(out);
}

static void write_neighbours(struct json_out *out, const struct search_outcome *r)
{
    json_out_key_array(out, "neighbours");
    for (size_t k = 0; k < r->nneighbours; k++) {
        const struct search_neighbour *n = &r->neighbours[k];

        json_out_begin_object(out);
        json_out_key_string(out, "choice", space_choice_name(n->choice));
        json_out_key(out, "plan");
        write_plan(out, r->search, &r->search->plans[r->search->items[n->item].plan]);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

/* Write the rule that leaves a family empty. */
static void write_rule(struct json_out *out, const struct family *f)
{
    if (f->undivided) {
        json_out_key_string(out, "undivided", f->undivided);
        json_out_key_uint(out, "whole", (uint64_t)f->whole);
        json_out_key_uint(out, "parts", (uint64_t)f->parts);
        json_out_key_string(out, "by", f->by);
    } else if (f->range) {
        json_out_key_string(out, "tried_with_range", f->range);
    }
}

static void write_family(struct json_out *out, const struct search *s, const struct family *f)
{
    static const char *const states[] = {[FAMILY_FITS] = "planned",
                                         [FAMILY_TOO_BIG] = "too_big",
                                         [FAMILY_OPEN] = "not_found",
                                         [FAMILY_REFUSED] = "refused",
                                         [FAMILY_NONE] = "none"};

    json_out_begin_object(out);
    json_out_key_string(out, "family", f->name);
    json_out_key_string(out, "state", states[f->state]);
    if (f->state == FAMILY_FITS) {
        json_out_key(out, "plan");
        write_plan(out, s, &s->plans[s->items[f->item].plan]);
    } else if (f->item != UINT32_MAX) {
        outcome_json_layout(out, &s->items[f->item].layout);
        json_out_key_double(out, "bound_seconds", s->items[f->item].bound_s);
        json_out_key_double(out, "bound_bytes", s->items[f->item].bound_bytes);
    }
    write_rule(out, f);
    json_out_end_object(out);
}

static void write_families(struct json_out *out, const struct search_outcome *r)
{
    json_out_key_array(out, "families");
    for (size_t k = 0; k < r->families.n; k++)
        write_family(out, r->search, &r->families.of[k]);
    json_out_end_array(out);
}

/* Null if no such step of the cluster was measured. */
static void write_expected_error(struct json_out *out, const struct search *s)
{
    double error = s->nbest ? best_of(s, 0)->plan.figures.expected_error : -1;

    json_out_key(out, "expected_error");
    if (error >= 0)
        json_out_double(out, error);
    else
        json_out_null(out);
}

/* Write how many of the best layouts tie with the first within the model's error. */
static void write_ties(struct json_out *out, const struct search_outcome *r)
{
    if (r->search->nbest == 0 || r->search->within_s > 0)
        return;
    json_out_key_double(out, "tie_within", r->error);
    json_out_key_uint(out, "ties", outcome_count_ties(r));
}

static void write_proof(struct json_out *out, const struct search_outcome *r)
{
    const struct search *s = r->search;
    struct text searched = TEXT_INIT, unsearched = TEXT_INIT;

    space_tell_extent(&searched, &unsearched, &s->subject->space);
    json_out_key_bool(out, "exact", s->nbest > 0 && outcome_proof(r) != PROOF_OPEN);
    json_out_key_string(out, "searched", text_get(&searched));
    json_out_key_string(out, "not_searched", text_get(&unsearched));
    if (s->subject->filter.system)
        json_out_key_string(out, "for", s->subject->filter.system);
    text_fini(&searched);
    text_fini(&unsearched);
}

void outcome_json(struct json_out *out, const struct search_outcome *r)
{
    const struct search *s = r->search;

    json_out_begin_object(out);
    json_out_key_string(out, "schema", "shardsim.search/2");
    json_out_key(out, "cut_short");
    if (r->cut_short)
        json_out_string(out, r->cut_short);
    else
        json_out_null(out);
    json_out_key_string(out, "hardware", s->subject->hardware->name);
    json_out_key_uint(out, "devices", (uint64_t)s->subject->space.devices);
    json_out_key_double(out, "memory_margin", s->subject->margin);
    json_out_key_uint(out, "layouts", s->nlayouts);
    json_out_key_uint(out, "too_big", s->ntoo_big);
    if (s->within_s > 0)
        json_out_key_uint(out, "too_slow", s->ntoo_slow);
    json_out_key_uint(out, "refused", s->refusals.n);
    if (s->subject->filter.system)
        json_out_key_uint(out, "inexpressible", s->nunsaid);
    refusals_json(out, &s->refusals);
    json_out_key_uint(out, "plans", s->nplans);
    json_out_key_double(out, s->within_s > 0 ? "proven_bytes" : "proven_seconds", s->proven);
    write_proof(out, r);
    write_expected_error(out, s);
    write_ties(out, r);
    json_out_key_array(out, "best");
    for (size_t k = 0; k < s->nbest && k < r->ntop; k++)
        write_plan(out, s, best_of(s, k));
    json_out_end_array(out);
    json_out_key_array(out, "planned");
    for (size_t k = 0; k < s->nplans; k++)
        write_plan(out, s, &s->plans[k]);
    json_out_end_array(out);
    write_neighbours(out, r);
    write_families(out, r);
    if (r->sensitivity)
        write_sensitivity(out, r->sensitivity);
    json_out_end_object(out);
}
