/* The values of step and algorithms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

#define ALGORITHMS_MAX 256 /* entries of the map; far more than there are kinds of collectives */

/* The phases by name; those of serving stand alone. */
static bool *phase_of(struct scenario_step *step, const char *name)
{
    const struct {
        const char *name;
        bool *phase;
    } phases[] = {{"forward", &step->forward},
                  {"backward", &step->backward},
                  {"update", &step->update},
                  {"prefill", &step->prefill},
                  {"decode", &step->decode}};

    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
        if (!strcmp(phases[i].name, name))
            return phases[i].phase;
    return NULL;
}

/* Add a phase; false if it is unknown or repeated. */
static bool add_phase(struct scenario_step *step, const struct yaml_node *node)
{
    bool *phase = node->kind == YAML_TEXT ? phase_of(step, node->text) : NULL;

    if (!phase || *phase)
        return false;
    *phase = true;
    return true;
}

/* Report an element of the list of phases. */
static void report_phase(struct reader *r, const struct yaml_node *node)
{
    static const char *const phases[] = {"forward", "backward", "update", "prefill", "decode"};
    struct nearest near;

    nearest_init(&near, node->kind == YAML_TEXT ? node->text : "");
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
        nearest_add(&near, phases[i]);
    if (near.best && !strcmp(near.best, node->text))
        near.best = NULL; /* a valid phase, so a repetition: no hint */
    diag_error(
        r->diag, node->place,
        "%s in step; expected forward, backward and update, once each, or prefill or decode%s",
        yaml_describe(node).text, nearest_hint(&near).text);
}

/* Whether phases make a step: forward and what follows it, or one phase of serving; or both of a
 * strategy that is read as two. */
static bool is_step(const struct scenario_step *step, enum scenario_half half)
{
    if (step->prefill || step->decode)
        return (half != SCENARIO_WHOLE || !(step->prefill && step->decode)) && !step->forward &&
               !step->backward && !step->update;
    return step->forward;
}

static void read_step(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_step step = {.forward = false};
    const struct yaml_node *wrong = node->kind == YAML_MAP ? node : NULL;

    if (node->kind == YAML_TEXT && !add_phase(&step, node))
        wrong = node;
    for (size_t i = 0; node->kind == YAML_LIST && !wrong && i < node->nitems; i++)
        if (!add_phase(&step, node->items[i]))
            wrong = node->items[i];
    if (!wrong && !is_step(&step, r->half))
        wrong = node;
    step.forward = true;
    if (!wrong)
        r->scenario->step = step;
    else if (wrong != node)
        report_phase(r, wrong);
    else
        value_error(r, option, node);
}

static void print_step(const struct scenario *scenario, const struct option *option,
                       struct text *out)
{
    (void)option;
    if (scenario->step.prefill || scenario->step.decode)
        text_add(out, scenario->step.decode ? "[decode]" : "[prefill]");
    else
        text_addf(out, "[forward%s%s]", scenario->step.backward ? ", backward" : "",
                  scenario->step.update ? ", update" : "");
}

const struct value_type value_step = {
    .expected = "[forward] or [forward, backward] or [forward, backward, update], or in serving "
                "[prefill] or [decode] or [prefill, decode]",
    .read = read_step,
    .print = print_step,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf", "[{\"enum\": [\"forward\", \"prefill\", \"decode\"]}, {\"enum\": "
                  "[[\"prefill\"], [\"decode\"], [\"prefill\", \"decode\"]]}, {\"type\": "
                  "\"array\", \"items\": {\"enum\": "
                  "[\"forward\", \"backward\", \"update\"]}, \"contains\": {\"const\": "
                  "\"forward\"}, \"uniqueItems\": true, \"anyOf\": [{\"contains\": {\"const\": "
                  "\"backward\"}}, {\"not\": {\"contains\": {\"const\": \"update\"}}}]}]"}),
};

static void clear_algorithms(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->nalgorithms; i++) {
        free(scenario->algorithms[i].kind);
        free(scenario->algorithms[i].name);
    }
    free(scenario->algorithms);
    scenario->algorithms = NULL;
    scenario->nalgorithms = 0;
}

static struct scenario_algorithm *find_or_add_algorithm(struct reader *r,
                                                        const struct yaml_node *key)
{
    struct scenario *s = r->scenario;

    for (size_t i = 0; i < s->nalgorithms; i++)
        if (strcmp(s->algorithms[i].kind, key->text) == 0)
            return &s->algorithms[i];
    return value_append(r, &s->algorithms, &s->nalgorithms, sizeof(s->algorithms[0]),
                        ALGORITHMS_MAX, key);
}

static void read_algorithms_entry(struct reader *r, const struct option *option,
                                  const struct yaml_node *key, const struct yaml_node *node)
{
    char *kind = value_read_name(r, "a kind of collective", key);
    char *name = value_read_name(r, "an algorithm", node);
    struct scenario_algorithm *algorithm = NULL;

    (void)option;
    if (kind && name)
        algorithm = find_or_add_algorithm(r, key);
    if (!algorithm) {
        free(kind);
        free(name);
        return;
    }
    free(algorithm->kind);
    free(algorithm->name);
    *algorithm = (struct scenario_algorithm){kind, name, key->place, node->place};
}

static void print_algorithms(const struct scenario *scenario, const struct option *option,
                             struct text *out)
{
    (void)option;
    text_add_char(out, '{');
    for (size_t i = 0; i < scenario->nalgorithms; i++) {
        text_add(out, i ? ", " : "");
        yaml_print_string(out, scenario->algorithms[i].kind);
        text_add(out, ": ");
        yaml_print_string(out, scenario->algorithms[i].name);
    }
    text_add_char(out, '}');
}

const struct value_type value_algorithms = {
    .expected = "a map of collectives to algorithms, such as {all-reduce: ring}",
    .read = value_read_map,
    .read_entry = read_algorithms_entry,
    .print = print_algorithms,
    .clear = clear_algorithms,
    .keywords = SCHEMA_KEYWORDS({"type", "\"object\""}, {"additionalProperties", SCHEMA_A_NAME}),
};
