/* Checking one strategy against its baseline (check_strategy.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/strategy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "hardware/hardware.h"
#include "command/command.h"
#include "model/lint.h"
#include "program/rows.h"
#include "report/host.h"
#include "report/modelled.h"
#include "report/result.h"

static uint64_t shard_bytes(const struct graph *graph, uint32_t node, const struct shd_sharding *s)
{
    int64_t shape[GRAPH_RANK_MAX], local[GRAPH_RANK_MAX];
    uint64_t bytes = shd_dtype_size(graph->nodes[node].dtype);

    graph_shape(graph, node, shape);
    shd_sharding_shard_shape(s, shape, local);
    for (uint32_t d = 0; d < graph->nodes[node].rank; d++)
        bytes *= (uint64_t)local[d];
    return bytes;
}

static const char *kind_of(enum graph_op op)
{
    return op == GRAPH_PARAM ? "parameter" : op == GRAPH_INPUT ? "input" : "constraint";
}

/* Add an array, with the place of the rule that shards it; an optimizer state without a rule has
 * the place of its parameter's. */
static int add_array(struct baseline *now, const struct trial *t, uint32_t n)
{
    const struct graph_node *node = &t->graph->nodes[n];
    const struct shd_sharding *s = t->shardings.nodes[n];
    bool follows = !t->shardings.rules[n] && node->state_of != GRAPH_NONE;
    const struct scenario_rule *rule = t->shardings.rules[follows ? node->state_of : n];
    size_t size = shd_sharding_print(s, NULL, 0) + 1;
    char *sharding = malloc(size);
    int status = SHD_ENOMEM;

    if (sharding) {
        shd_sharding_print(s, sharding, size);
        status = baseline_add_array(now, kind_of(node->op), node->name, sharding,
                                    shard_bytes(t->graph, n, s),
                                    rule ? rule->spec_place : (struct place){NULL, 0, 0});
    }
    free(sharding);
    return status;
}

/* Parameters, inputs, and what constraints ask for in the forward pass: the backward follows. */
static int add_arrays(struct baseline *now, const struct trial *t)
{
    int status = SHD_OK;

    for (uint32_t n = 0; n < t->graph->nnodes && status == SHD_OK; n++) {
        enum graph_op op = t->graph->nodes[n].op;
        bool is_asked = op == GRAPH_CONSTRAINT && t->graph->nodes[n].phase == GRAPH_FORWARD;

        if (t->shardings.nodes[n] && (op == GRAPH_PARAM || op == GRAPH_INPUT || is_asked))
            status = add_array(now, t, n);
    }
    return status;
}

static const char *result_kind(enum program_result_kind kind)
{
    static const char *const kinds[] = {[PROGRAM_OUTPUT] = "result ",
                                        [PROGRAM_LOSS] = "",
                                        [PROGRAM_GRADIENT] = "gradient of ",
                                        [PROGRAM_NEXT] = "next "};

    return kinds[kind];
}

/* Note that what was just added to `wrong` is of a kind. */
static void set_kind(struct check_strategy *c, enum outcome_kind kind)
{
    if (c->wrong.nerrors > 0 && c->wrong_kind == OUTCOME_PASSED)
        c->wrong_kind = kind;
}

static void find_wrong_numbers(struct check_strategy *c, const struct work_item *item)
{
    const struct record *r = item->trial.record;

    for (uint32_t i = 0; r->verified && i < r->nchecks; i++) {
        const struct record_check *check = &r->checks[i];

        if (check->error > 1)
            diag_error(&c->wrong, item->scenario->place,
                       "%s%s differs from the unsharded computation: error %.3g of its bound",
                       result_kind(check->kind), check->name, check->error);
        else if (record_check_matches(r, check) && !record_check_ok(r, check))
            diag_error(&c->wrong, item->scenario->place,
                       "%s%s has %" PRIu64 " elements " RESULT_NONFINITE, result_kind(check->kind),
                       check->name, record_check_nonfinite(check));
        else if (!record_check_ok(r, check))
            diag_error(&c->wrong, item->scenario->place,
                       "%s%s differs from the unsharded computation: error %.1e, tolerance %.0e",
                       result_kind(check->kind), check->name, check->relative, r->tolerance);
    }
    if (r->verified && r->step.error > 1)
        diag_error(
            &c->wrong, item->scenario->place,
            "%s for %s differs from the op applied to its own inputs: error %.3g of its bound",
            program_step_name(&r->program->ops[r->step_op]), r->program->ops[r->step_op].name,
            r->step.error);
    set_kind(c, OUTCOME_WRONG);
}

static void find_unfit(struct check_strategy *c, const struct work_item *item,
                       const struct record *modelled)
{
    uint64_t limit = item->trial.memory_limit_bytes;
    struct units_text needs = units_print_bytes(program_peak_bytes(item->trial.program));

    if (!trial_fits(&item->trial))
        diag_error(&c->wrong, scenario_place(item->scenario, "limits.memory"),
                   "does not fit: a device needs %s, and limits.memory is %s; make it fit "
                   "('shardsim plan' lists changes), or remove the limit",
                   needs.text, units_print_bytes(limit).text);
    else if (!host_fits(modelled))
        diag_error(
            &c->wrong, scenario_place(item->scenario, scenario_offload_option(item->scenario)),
            "does not fit: a node needs %s of host memory, and the cluster has %s; offload less, "
            "or use another cluster",
            units_print_bytes(host_node_bytes(modelled)).text,
            units_print_bytes((uint128)modelled->modelled->hardware->host.memory_bytes).text);
    else if (!modelled_fits(modelled))
        diag_error(&c->wrong, scenario_place(item->scenario, "hardware"),
                   "does not fit: a device needs %s beside the runtime's own, and the cluster has "
                   "%s; make it fit (see 'shardsim plan'), or use another cluster",
                   needs.text,
                   units_print_bytes((uint128)modelled->modelled->hardware->memory_bytes).text);
    set_kind(c, OUTCOME_DOES_NOT_FIT);
}

static bool is_accepted(const struct baseline *was, const char *finding)
{
    for (size_t i = 0; was && i < was->nfindings; i++)
        if (!strcmp(was->findings[i], finding))
            return true;
    return false;
}

static void find_idle_axes(struct diag *findings, const struct work_item *item)
{
    const struct program *program = item->trial.program;
    struct program_work work;

    program_work(&work, program);
    for (size_t a = 0; a < shd_mesh_naxes(program->asked_mesh); a++)
        if (work.axes[a].idle)
            model_lint_idle_axis(findings, item->scenario,
                                 shd_mesh_axis_name(program->asked_mesh, a), work.axes[a].times);
}

static int find_findings(struct check_strategy *c, const struct work_item *item,
                         uint64_t whole_bytes, const struct check_before *before,
                         struct diag *changes)
{
    struct diag findings = DIAG_INIT;
    int status = model_lint(&findings, item->scenario, item->trial.graph, &item->trial.shardings,
                            whole_bytes);

    find_idle_axes(&findings, item);
    if (before->unplanned)
        diag_append(&findings, before->unplanned);
    for (size_t i = 0; i < findings.nmessages && status == SHD_OK; i++) {
        const struct diag_message *m = &findings.messages[i];

        status = baseline_add_finding(&c->now, m->text);
        if (!is_accepted(before->was, m->text))
            diag_error(changes, (struct place){m->file, m->line, m->column}, "lint: %s", m->text);
    }
    diag_fini(&findings);
    return status;
}

/* Tell whether another version of shardsim may be why figures differ.  Of one version, a file that
 * is as it was may still name files that are not. */
static void tell_version(struct check_strategy *c, const struct baseline *was, struct place place)
{
    bool is_same = baseline_says_same(was, &c->now);
    bool by_other = was->by && strcmp(was->by, PACKAGE_VERSION) != 0;

    if (is_same && by_other) {
        c->changed_kind = OUTCOME_TOOL_CHANGED;
        diag_error(&c->changes, place,
                   "this file is unchanged since shardsim %.20s wrote the baseline: the difference "
                   "comes from shardsim " PACKAGE_VERSION,
                   was->by);
    } else if (by_other) {
        diag_error(&c->changes, place,
                   "shardsim %.20s wrote the baseline; this is " PACKAGE_VERSION
                   ": part of the difference may come from the version",
                   was->by);
    } else if (is_same) {
        diag_error(&c->changes, place,
                   "this file is unchanged; a file named in it may differ, e.g. the cluster's "
                   "or the model's");
    }
}

/* Tell the changes after a sentence that says whether the strategy got worse.  The sentence has no
 * line: forges show it at the rule that changed first. */
static void tell_changes(struct check_strategy *c, const struct baseline *was,
                         const struct diag *changes, struct place place)
{
    struct text verdict = TEXT_INIT;

    if (changes->nerrors > 0) {
        baseline_verdict(&verdict, was, &c->now);
        diag_error(&c->changes, (struct place){place.file, 0, 0}, "%s%s", text_get(&verdict),
                   c->wrong.nerrors ? "" : "; 'shardsim check --update' accepts it");
        tell_version(c, was, (struct place){place.file, 0, 0});
        baseline_causes(&c->changes, was, &c->now, place);
    }
    diag_append(&c->changes, changes);
    if (verdict.failed)
        diag_no_memory(&c->changes);
    text_fini(&verdict);
}

/* Plan an executed strategy if the plan is needed: where routers decide how many bytes are sent, a
 * processor that rounds differently may change the counts, so the plan's assumed figures are
 * compared; and only a plan has the modelled step.  NULL if the record suffices. */
static int find_plan(struct record **out, const struct work_item *item, struct shd_error *err)
{
    const struct record *record = item->trial.record;
    bool is_wanted =
        program_assumes_rows(item->trial.program) || (item->trial.hardware && !record->modelled);

    *out = NULL;
    return is_wanted ? trial_make_plan(&item->trial, out, err) : SHD_OK;
}

struct adder {
    struct baseline *now;
    const struct scenario *scenario;
};

static int add_given(void *arg, const char *option, const char *value)
{
    const struct adder *a = arg;

    return baseline_add_given(a->now, option, value, scenario_place(a->scenario, option));
}

static int add_line(void *now, const char *key, const char *value, struct place key_place,
                    struct place place)
{
    return baseline_add_line(now, key, value, key_place, place);
}

static int find_lines(struct baseline *now, const struct work_item *item,
                      const struct baseline *lines)
{
    int status = SHD_OK;

    now->has_lines = true;
    if (!lines)
        return scenario_each_line(item->scenario, add_line, now);
    for (size_t i = 0; i < lines->nlines && status == SHD_OK; i++)
        status = baseline_add_line(now, lines->lines[i].key, lines->lines[i].value,
                                   lines->lines[i].key_place, lines->lines[i].place);
    return status;
}

static int find_given(struct baseline *now, const struct work_item *item)
{
    struct adder a = {now, item->scenario};
    int status;

    now->has_given = true;
    now->mesh_place = scenario_place(item->scenario, "mesh");
    status = scenario_each_given(item->scenario, add_given, &a);
    if (status == SHD_OK && item->trial.hardware)
        status = add_given(&a, "hardware", item->trial.hardware->name);
    return status;
}

/* An option that is no longer given may still stand in the scenario, with its default. */
static void place_given(struct baseline *was, const struct scenario *scenario)
{
    for (size_t i = 0; was && i < was->ngiven; i++)
        was->given[i].place = scenario_place(scenario, was->given[i].key);
}

/* Make the baseline of the strategy as it is now.  SHD_ENOMEM. */
static int find_now(struct check_strategy *c, const struct work_item *item,
                    const struct record *plan, const struct baseline *lines)
{
    bool by_plan = plan && program_assumes_rows(item->trial.program);
    struct shd_error err;
    int status =
        baseline_init(&c->now, item->scenario->strategy, by_plan ? plan : item->trial.record, &err);

    if (status == SHD_OK)
        status = find_given(&c->now, item);
    if (status == SHD_OK)
        status = find_lines(&c->now, item, lines);
    if (status == SHD_OK)
        status = add_arrays(&c->now, &item->trial);
    baseline_set_modelled(&c->now, plan ? plan : item->trial.record);
    return status;
}

/* Compare a strategy that was tried with its baseline. */
static int compare(struct check_strategy *c, const struct work_item *item,
                   const struct check_wish *wish, const struct check_before *before)
{
    const struct baseline *was = before->was;
    struct place place = item->scenario->place;
    struct diag changes = DIAG_INIT, lint = DIAG_INIT;
    int status = find_findings(c, item, wish->whole_bytes, before, &lint);

    baseline_sort(&c->now);
    if (was) {
        baseline_diff(&changes, was, &c->now, place, wish->verbose);
        diag_append(&changes, &lint);
        tell_changes(c, was, &changes, place);
        baseline_keep_close(&c->now, was);
    } else {
        if (c->wrong.nerrors == 0)
            diag_error(&c->changes, place, "has no baseline; 'shardsim check --update' writes it");
        diag_append(&c->changes, &lint);
    }
    diag_fini(&changes);
    diag_fini(&lint);
    return status;
}

int check_strategy_init(struct check_strategy *out, struct work *work, struct work_item *item,
                        enum record_mode mode, const struct check_wish *wish,
                        const struct check_before *before)
{
    struct place place = item->scenario->place;
    struct result result = {.record = NULL};
    struct baseline *was = before->was;
    struct record *plan = NULL;
    struct shd_error err;
    int status;

    *out = (struct check_strategy){.wrong = DIAG_INIT,
                                   .changes = DIAG_INIT,
                                   .wrong_kind = OUTCOME_PASSED,
                                   .changed_kind = was ? OUTCOME_CHANGED : OUTCOME_NEW};
    status = work_try(work, item, trial_fits(&item->trial) ? mode : RECORD_PLANNED, &result);
    if (status == CMD_INTERRUPTED || status == CMD_CANNOT)
        return status;
    if (!result.record) {
        diag_error(&out->wrong, place, "could not be executed; see standard error");
        set_kind(out, OUTCOME_NOT_RUN);
        return CMD_OK;
    }
    status = find_plan(&plan, item, &err);
    if (status != SHD_OK && status != SHD_ENOMEM) {
        diag_error(&out->wrong, place, "%s", err.text);
        set_kind(out, OUTCOME_NOT_RUN);
        record_destroy(plan);
        return CMD_OK;
    }
    if (status == SHD_OK) {
        find_wrong_numbers(out, item);
        find_unfit(out, item, plan ? plan : result.record);
        status = find_now(out, item, plan, before->lines);
    }
    place_given(was, item->scenario);
    if (status == SHD_OK)
        status = compare(out, item, wish, before);
    record_destroy(plan);
    if (status == SHD_OK)
        return CMD_OK;
    log_error(&work->log, "%s: no memory for the present state", place.file);
    return CMD_CANNOT;
}

void check_strategy_fini(struct check_strategy *strategy)
{
    baseline_fini(&strategy->now);
    diag_fini(&strategy->wrong);
    diag_fini(&strategy->changes);
}
