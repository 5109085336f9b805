/* Writes another system's rules as a scenario: on top a comment with the rules and the parameters
 * of each; then the mesh, the model, and a rule for each parameter by its name here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "model/model.h"
#include "rules/layout.h"
#include "scenario/scenario.h"

#define BATCH_OF_DEVICE 8 /* sequences, if not given */
#define SEQ_DEFAULT 4096
#define SEQ_DEFAULT_T5 512

struct printer {
    struct import_rules *rules;
    struct scenario_file *file;         /* a scenario of the model alone */
    const struct scenario_model *model; /* in it */
    struct graph *graph;
    struct rules_layout layout;
    struct text *out;
    struct diag *diag;
};

/* ---- the model ---- */

/* Report the faults of a model: in --model at their place, in the file's model at `end`. */
static void append_faults(struct diag *diag, const struct diag *own, bool asked, struct place end)
{
    static const int before = (int)sizeof "model: " - 1;

    for (size_t i = 0; i < own->nmessages; i++) {
        const struct diag_message *m = &own->messages[i];
        struct place place = {"--model", 1, m->column > before ? m->column - before : 1};

        diag_error(diag, asked && m->line == 1 ? place : end, "%s", m->text);
    }
    if (own->no_memory)
        diag_no_memory(diag);
}

static void load_model(struct printer *p)
{
    const struct import_rules *r = p->rules;
    struct text text = TEXT_INIT;
    struct diag own = DIAG_INIT;

    text_addf(&text,
              "model: %s\nversion: 1\nname: import\nmesh: {one: 1}\nbatch: {size: 1, seq: %" PRId64
              "}\nstep: [forward]\nparams: [[.*, []]]\n",
              text_get(&r->model), r->seq > 0 ? r->seq : 1);
    if (text.failed)
        diag_no_memory(p->diag);
    else if (scenario_parse(&p->file, "--model", text_get(&text), text.length, NULL, 0, &own) ==
             SHD_OK)
        p->model = &p->file->scenarios[0].model;
    append_faults(p->diag, &own, r->request.model != NULL, r->end);
    diag_fini(&own);
    text_fini(&text);
}

/* The request's model, or else the file's. */
static void choose_model(struct import_rules *rules, struct diag *diag)
{
    const char *asked = rules->request.model;

    if (asked) {
        text_clear(&rules->model);
        text_addf(&rules->model, *asked == '{' ? "%s" : "{size: %s, dtype: bfloat16}", asked);
    }
    if (rules->model.failed)
        diag_no_memory(diag);
    else if (rules->model.length == 0)
        diag_error(
            diag, rules->end,
            "no model for the rules; expected --model with a published size such as llama3-8b "
            "('shardsim show options model.size' lists sizes), or a map such as --model '{size: "
            "llama3-8b, layers: 4}'");
}

static void choose_sizes(struct import_rules *r, const struct scenario_model *model)
{
    bool t5 = model->kind == SCENARIO_T5;
    int64_t devices = 1;

    for (size_t a = 0; a < r->naxes; a++)
        devices *= r->sizes[a];
    if (r->request.batch > 0)
        r->batch = r->request.batch;
    if (r->request.seq > 0)
        r->seq = r->source = r->request.seq;
    if (r->batch == 0)
        r->batch = devices * BATCH_OF_DEVICE;
    if (r->seq == 0)
        r->seq = t5 ? SEQ_DEFAULT_T5 : SEQ_DEFAULT;
    if (model->positions > 0 && r->seq > model->positions)
        r->seq = model->positions;
    if (r->source == 0)
        r->source = r->seq;
    if (!t5)
        r->source = 0;
}

/* ---- comments ---- */

#define COMMENT_WIDTH 100

/* Append the names of a rule's parameters, as many on a line as fit. */
static void add_given(struct text *out, const char *given, size_t used)
{
    while (*given) {
        size_t n = strcspn(given, ",") + (strchr(given, ',') != NULL);

        if (used + 1 + n > COMMENT_WIDTH && used > 8) {
            text_add(out, "\n#       ");
            used = 8;
        }
        text_add_char(out, ' ');
        text_add_bytes(out, given, n);
        used += 1 + n;
        given += n + (given[n] == ' ');
    }
}

static void add_rule_comment(struct text *out, const struct import_rules *rules,
                             const struct import_rule *rule)
{
    bool pattern = rules->patterns != NULL;
    size_t from = out->length;

    if (rule->place.line > 0)
        text_addf(out, "#   line %d: '", rule->place.line);
    else
        text_add(out, "#   standard: '");
    escape_add(out, rule->name);
    text_add(out, pattern ? "' -> P(" : "' -> ");
    escape_add(out, rule->spec);
    text_add(out, pattern ? "):" : ":");
    if (rule->given.length > 0)
        add_given(out, text_get(&rule->given), out->length - from);
    else if (pattern)
        text_add(out, rule->found ? " nothing, earlier rules match the same names"
                                  : " nothing, no name of the model matches");
    else
        text_add(out, " no parameters");
    text_add(out, "\n");
}

static void add_comments(const struct printer *p)
{
    const struct import_rules *r = p->rules;

    text_addf(p->out,
              "# Written by 'shardsim import --from %s'.\n"
              "# Not set by the rules, so chosen here: batch, optimizer, element types.\n",
              r->request.from);
    text_add(p->out, text_get(&r->told));
    text_add(p->out, "# Rules, their specs, and the parameters that each rule shards:\n");
    for (size_t i = 0; i < r->nrules; i++)
        add_rule_comment(p->out, r, &r->list[i]);
}

/* ---- rules ---- */

/* The parameter with the most frequent spec of a kind; *others: the kind has more specs. */
static const struct rules_layout_param *find_usual(const struct rules_layout *l, size_t kind,
                                                   bool *others)
{
    const struct rules_layout_param *usual = &l->list[kind];

    *others = false;
    for (size_t i = kind + 1; i < l->count; i++) {
        if (l->list[i].kind != kind || l->list[i].alike != i)
            continue;
        *others = true;
        if (l->list[i].nalike > usual->nalike)
            usual = &l->list[i];
    }
    return usual;
}

/* Write a rule whose pattern matches this name alone; '*' becomes any number. */
static void add_param(const struct printer *p, const char *name,
                      const struct rules_layout_param *param)
{
    text_add(p->out, "  - ['^");
    for (; *name; name++) {
        if (*name == '*')
            text_add(p->out, "\\d+");
        else
            text_add_char(p->out, *name);
    }
    text_addf(p->out, "$', %s] # %s", param->spec, param->theirs);
    if (param->small)
        text_addf(p->out, ", of fewer than %" PRId64 " elements", p->rules->request.min_elements);
    if (param->part)
        text_addf(p->out, "; %s", param->part);
    text_add(p->out, "\n");
}

static void add_params(const struct printer *p)
{
    const struct rules_layout *l = &p->layout;

    text_add(p->out, "params: # the name here, the spec; as they call it\n");
    for (size_t i = 0; i < l->count; i++) {
        const struct rules_layout_param *usual;
        bool others;

        if (l->list[i].kind != i)
            continue;
        usual = find_usual(l, i, &others);
        for (size_t j = i; others && j < l->count; j++)
            if (l->list[j].kind == i && l->list[j].alike != usual->alike)
                add_param(p, l->list[j].ours, &l->list[j]);
        add_param(p, usual->any, usual);
    }
}

static bool is_sharded(const struct import_rules *rules, const struct text *axes)
{
    for (size_t a = 0; a < rules->naxes; a++)
        if (rules->sizes[a] > 1 && strstr(text_get(axes), rules->axes[a]))
            return true;
    return false;
}

static void add_axes(const struct printer *p)
{
    const struct import_rules *r = p->rules;
    const char *open = "axes: {";

    if (r->batch_axes.length > 0) {
        text_addf(p->out, "%sbatch: %s", open, text_get(&r->batch_axes));
        open = ", ";
    }
    if (is_sharded(r, &r->seq_axes)) {
        text_addf(p->out, "%sseq: %s", open, text_get(&r->seq_axes));
        if (p->model->kind == SCENARIO_T5)
            text_addf(p->out, ", source: %s", text_get(&r->seq_axes));
        open = ", ";
    }
    if (*open == ',')
        text_add(p->out, "}\n");
}

/* Whether the model has a constraint on activations whose name ends with `end`. */
static bool has_place(const struct graph *g, const char *end)
{
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == GRAPH_CONSTRAINT && text_ends_with(g->nodes[i].name, end))
            return true;
    return false;
}

/* T5X's models constrain their activations by the same rules. */
static void add_constraints(const struct printer *p)
{
    static const struct {
        const char *place, *pattern, *names[4];
    } places[] = {
        {"attn/q", "attn/(q|kv)$", {"batch", "length", "heads", "kv"}},
        {"cross/q", "cross/(q|kv)$", {"batch", "length", "heads", "kv"}},
        {"mlp/hidden", "mlp/hidden$", {"batch", "length", "mlp", NULL}},
        {"/out", "(embed|layers/\\d+)/out$", {"batch", "length", "embed", NULL}},
    };

    if (!p->rules->logical)
        return;
    text_add(p->out, "constraints: # activations, by the same rules\n");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!has_place(p->graph, places[i].place))
            continue;
        text_addf(p->out, "  - ['%s', ", places[i].pattern);
        rules_layout_logical(p->out, p->rules, places[i].names, places[i].names[3] ? 4 : 3,
                             p->diag);
        text_add(p->out, "]\n");
    }
}

static void add_scenario(const struct printer *p)
{
    const struct import_rules *r = p->rules;

    text_addf(p->out, "version: 1\nname: %s\nmesh: {", r->request.from);
    for (size_t a = 0; a < r->naxes; a++)
        text_addf(p->out, "%s%s: %" PRId64, a ? ", " : "", r->axes[a], r->sizes[a]);
    text_addf(p->out, "}\nmodel: %s\nbatch: {size: %" PRId64 ", seq: %" PRId64, text_get(&r->model),
              r->batch, r->seq);
    if (r->source > 0)
        text_addf(p->out, ", source: %" PRId64, r->source);
    if (r->microbatches > 1)
        text_addf(p->out, ", microbatches: %" PRId64, r->microbatches);
    text_add(p->out, "}\nstep: [forward, backward, update]\noptimizer: {kind: adamw}\n"
                     "types: {parameters: float32} # and with them gradients and moments\n");
    add_params(p);
    add_axes(p);
    add_constraints(p);
}

void import_rules_print(struct import_rules *rules, struct text *out, struct diag *diag)
{
    struct printer p = {.rules = rules, .out = out, .diag = diag};

    if (diag->nerrors == 0)
        choose_model(rules, diag);
    if (diag->nerrors == 0 && !diag->no_memory)
        load_model(&p);
    if (p.model) {
        choose_sizes(rules, p.model);
        if (model_graph(&p.graph, &p.file->scenarios[0], diag) == SHD_OK)
            rules_layout_init(&p.layout, rules, &p.file->scenarios[0], p.graph, diag);
    }
    if (p.graph && diag->nerrors == 0 && !diag->no_memory) {
        add_comments(&p);
        add_scenario(&p);
    }
    for (size_t i = 0; i < rules->nrules; i++)
        if (rules->list[i].given.failed)
            diag_no_memory(diag);
    if (rules->told.failed || rules->batch_axes.failed || rules->seq_axes.failed)
        diag_no_memory(diag);
    rules_layout_fini(&p.layout);
    graph_destroy(p.graph);
    scenario_file_destroy(p.file);
}
