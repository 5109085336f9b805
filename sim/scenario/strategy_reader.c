/* Reading one strategy of a scenario file (scenario/strategy_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/strategy_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "scenario/graph_file.h"
#include "scenario/option_checks.h"
#include "scenario/published.h"
#include "scenario/resolve.h"
#include "scenario/rule_values.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

/* ---- the text that provides a scenario's tokens ---- */

#define BYTE_VALUES 256 /* the least vocabulary for a model of bytes */

/* Whether a text has fewer bytes than a step needs: the tokens of all sequences, and one byte more
 * for the last label. 128 bits, as the file may contain any sizes. */
static bool is_too_short(const struct scenario *s, uint64_t nbytes)
{
    int64_t encoded = s->model.kind == SCENARIO_T5 ? s->batch.source : 0;
    unsigned __int128 tokens =
        (unsigned __int128)(uint64_t)s->batch.size * (uint64_t)(s->batch.seq + encoded);

    return s->batch.size > 0 && s->batch.seq > 0 && nbytes < tokens + 1;
}

/* Open the file of `data:`, if any.  Reports a file that cannot be read or is too short for a step,
 * and a vocabulary too small for bytes.  Free the file with file_bytes_destroy(). */
static void data_load(struct reader *r)
{
    struct scenario *s = r->scenario;
    struct scenario_data *data = &s->data;
    struct place place = scenario_place(s, "data");
    struct shd_error err;
    uint64_t nbytes;
    int status;

    if (!data->path)
        return;
    status = file_bytes_create(&data->bytes, data->path, &err);
    if (status != SHD_OK) {
        diag_failure(r->diag, place, status, "'%s': %s", data->path, err.text);
        return;
    }
    nbytes = file_bytes_count(data->bytes);
    if (is_too_short(s, nbytes))
        diag_error(r->diag, place,
                   "'%s' has %" PRIu64 " bytes; expected more than a step's tokens, %" PRId64
                   " x %" PRId64,
                   data->path, nbytes, s->batch.size, s->batch.seq);
    if (s->model.vocab > 0 && s->model.vocab < BYTE_VALUES)
        diag_error(r->diag, scenario_place(s, "model.vocab"),
                   "a vocabulary of %" PRId64 " is too small for byte tokens of a text; expected "
                   "at least %d",
                   s->model.vocab, BYTE_VALUES);
}

/* Keys at the top of a file or strategy that are not options. */
struct other_keys {
    const struct option_section *keys;
    size_t count;
};

static const struct option_section strategy_keys[] = {{"name", "of the strategy"},
                                                      {"prefill", "the prefill's options"}};

static bool is_in(const struct other_keys *other, const char *word)
{
    for (size_t i = 0; i < other->count; i++)
        if (strcmp(other->keys[i].key, word) == 0)
            return true;
    return false;
}

static void read_option(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    r->scenario->places[option_id(option)] = node->place;
    option->type->read(r, option, node);
}

/* Whether a key contains its value because no space follows the ':', such as 'mesh:{dp'. */
static bool has_joined_value(const struct yaml_node *key)
{
    const char *colon = key->quoted ? NULL : strchr(key->text, ':');

    return colon && colon[1];
}

/* Mark the options that an unknown key probably meant: one option, or a section with all its
 * options. */
static void note_meant(struct reader *r, const char *section, const char *best)
{
    for (size_t i = 0; best && i < option_count; i++) {
        const struct option *option = &option_table[i];

        r->meant[i] |= (option_is_in(option, section) && strcmp(option->key, best) == 0) ||
                       (!section && option_is_in(option, best));
    }
    if (best && !section && strcmp(best, "mesh") == 0)
        r->mesh_unknown = true;
}

static void report_unknown(struct reader *r, const struct yaml_node *key, const char *section,
                           const struct other_keys *other)
{
    struct nearest nearest;

    if (has_joined_value(key)) {
        diag_error(r->diag, key->place, "unknown key %s; expected a space after the ':' of a key",
                   yaml_describe(key).text);
        return;
    }
    nearest_init(&nearest, key->text);
    option_offer(&nearest, section);
    for (size_t i = 0; other && i < other->count; i++)
        nearest_add(&nearest, other->keys[i].key);
    note_meant(r, section, nearest.best);
    diag_error(r->diag, key->place, "unknown key %s%s%s; expected an option of a scenario%s",
               yaml_describe(key).text, section ? " in " : "", section ? section : "",
               nearest.best ? nearest_hint(&nearest).text : "; 'shardsim show options' lists all");
}

#define KEYS_SHOWN 8 /* of a section's options in a message */

/* Report a section with a plain value: "zero: 3". */
static void report_no_map(struct reader *r, const struct option_section *section,
                          const struct yaml_node *node)
{
    struct text keys = TEXT_INIT;
    size_t n = 0;

    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section->key) && ++n <= KEYS_SHOWN)
            text_addf(&keys, "%s%s", n > 1 ? ", " : "", option_table[i].key);
    r->diag->no_memory |= keys.failed;
    diag_error(r->diag, node->place, "%s is %s; expected a map of its options: %s%s", section->key,
               yaml_describe(node).text, text_get(&keys), n > KEYS_SHOWN ? " and more" : "");
    text_fini(&keys);
}

static void read_section(struct reader *r, const struct option_section *section,
                         const struct yaml_node *node)
{
    r->scenario->places[option_section_id(section)] = node->place;
    if (node->kind != YAML_MAP) {
        report_no_map(r, section, node);
        return;
    }
    for (size_t i = 0; i < node->nitems; i++) {
        const struct option *option = option_find(section->key, node->keys[i]->text);
        if (option)
            read_option(r, option, node->items[i]);
        else
            report_unknown(r, node->keys[i], section->key, NULL);
    }
}

/* Read the top level of the file or of a strategy. */
static void read_top(struct reader *r, const struct yaml_node *node, const struct other_keys *other)
{
    for (size_t i = 0; i < node->nitems; i++) {
        const struct yaml_node *key = node->keys[i];
        const struct option_section *section = option_find_section(key->text);
        const struct option *option = option_find(NULL, key->text);
        if (is_in(other, key->text))
            continue;
        if (section)
            read_section(r, section, node->items[i]);
        else if (option)
            read_option(r, option, node->items[i]);
        else
            report_unknown(r, key, NULL, other);
    }
    rules_check_sources(r, node);
}

static void read_defaults(struct reader *r)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        struct place place = {"default", 1, 1};
        struct yaml_doc *doc;
        if (!option->standard)
            continue;
        if (yaml_doc_parse(&doc, place, option->standard, strlen(option->standard), r->diag) < 0)
            return;
        option->type->read(r, option, yaml_doc_root(doc));
        yaml_doc_destroy(doc);
    }
}

static void read_set(struct reader *r, const struct set_value *set)
{
    if (!set->doc)
        return;
    const struct yaml_node *node = yaml_doc_root(set->doc);
    struct yaml_node key = {
        .kind = YAML_TEXT, .quoted = true, .place = set->place, .text = set->entry};
    if (set->section) {
        read_section(r, set->section, node);
    } else if (set->entry) {
        r->scenario->places[option_id(set->option)] = node->place;
        set->option->type->read_entry(r, set->option, &key, node);
    } else {
        read_option(r, set->option, node);
    }
}

/* Half of a strategy is called NAME/prefill or NAME/decode. */
static void name_half(struct reader *r)
{
    const char *half = r->half == SCENARIO_PREFILL ? "prefill" : "decode";
    char *whole = r->scenario->strategy;

    if (asprintf(&r->scenario->strategy, "%s%s%s", whole ? whole : "", whole ? "/" : "", half) <
        0) {
        r->scenario->strategy = NULL;
        value_no_memory(r);
    }
    free(whole);
}

static void read_strategy_name(struct reader *r, const struct yaml_node *strategy)
{
    const struct yaml_node *name = strategy ? yaml_find(strategy, "name") : NULL;

    if (name)
        r->scenario->strategy = value_read_name(r, "a strategy's name", name);
    else if (strategy)
        diag_error(r->diag, strategy->place, "a strategy without a name; expected 'name: ...'");
    if (!r->scenario->strategy && r->half == SCENARIO_WHOLE) {
        r->scenario->strategy = strdup(SCENARIO_DEFAULT_STRATEGY);
        if (!r->scenario->strategy)
            value_no_memory(r);
    }
    if (r->half != SCENARIO_WHOLE)
        name_half(r);
}

/* The file name without directories and extension. */
static char *stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    if (strcmp(name, "<stdin>") == 0)
        return strdup("stdin");
    if (name[0] == '\0')
        return strdup("scenario");
    return strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static bool is_given(const struct scenario *s, const char *section, const char *key)
{
    return s->places[option_id(option_find(section, key))].file != NULL;
}

/* Derive the kind of model from a graph section, and the heads' width from their number. */
static void derive_model(struct reader *r)
{
    struct scenario *s = r->scenario;
    struct scenario_model *m = &s->model;
    struct place graph = s->places[option_section_id(option_find_section("graph"))];

    if (graph.file && !is_given(s, "model", "kind")) {
        m->kind = SCENARIO_GRAPH;
        s->places[option_id(option_find("model", "kind"))] = graph;
    }
    published_apply(r);
    if (m->kv_heads == 0)
        m->kv_heads = m->heads > 0 ? m->heads : 1;
    if (m->head_dim == 0)
        m->head_dim = m->heads > 0 && m->d_model % m->heads == 0 ? m->d_model / m->heads : 0;
    if (m->decoder_layers == 0)
        m->decoder_layers = m->layers;
    if (s->batch.source == 0)
        s->batch.source = s->batch.seq;
    m->place = scenario_place(s, m->kind == SCENARIO_GRAPH ? "graph" : "model");
}

/* Set defaults derived from other values. */
static void derive_defaults(struct reader *r)
{
    struct scenario *s = r->scenario;

    if (!s->name)
        s->name = stem(s->place.file);
    if (!s->name)
        value_no_memory(r);
    derive_model(r);
    if (r->half == SCENARIO_PREFILL) {
        s->step = (struct scenario_step){.forward = true, .prefill = true};
        s->decode.tokens = 1; /* what follows is the decode's */
        s->decode.draft = 0;
        s->decode.accepted = 0;
    }
    if (r->half == SCENARIO_DECODE)
        s->step = (struct scenario_step){.forward = true, .decode = true};
    if (r->half == SCENARIO_DECODE)
        s->decode.context += s->batch.seq;
    if (s->step.decode && s->steps == 1)
        s->steps = scenario_decode_steps(s);
}

/* Which steps there are is not the prefill's own. */
static void refuse_steps(struct reader *r, const struct yaml_node *own)
{
    static const char *const keys[] = {"step", "steps"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct yaml_node *node = yaml_find(own, keys[i]);

        if (node)
            diag_error(r->diag, node->place,
                       "prefill: %s: a prefill is one step and generates one token; remove it",
                       keys[i]);
    }
}

/* Read what differs for the prefill. */
static void read_prefill(struct reader *r, const struct yaml_node *of,
                         const struct other_keys *none)
{
    const struct yaml_node *own = of ? yaml_find(of, "prefill") : NULL;

    if (own && r->half == SCENARIO_WHOLE)
        diag_error(r->diag, own->place,
                   "prefill options without a prefill; expected step: [prefill, decode]");
    else if (own && r->half == SCENARIO_DECODE)
        return;
    else if (own && own->kind == YAML_MAP) {
        r->scenario->apart |= yaml_find(own, "mesh") != NULL;
        refuse_steps(r, own);
        read_top(r, own, none);
    } else if (own)
        diag_error(r->diag, own->place,
                   "prefill is %s; expected a map of options, for example {mesh: {tp: 4}}",
                   yaml_describe(own).text);
}

void read_scenario(struct reader *r, const struct yaml_node *file, const struct yaml_node *strategy,
                   const struct set_value *sets, size_t nsets)
{
    const struct other_keys of_file = {option_file_keys, option_file_key_count};
    const struct other_keys of_strategy = {strategy_keys, 2};
    const struct other_keys none = {NULL, 0};

    r->scenario->place = strategy ? strategy->place : file->place;
    read_strategy_name(r, strategy);
    read_defaults(r);
    read_top(r, file, &of_file);
    r->replay = false;
    if (strategy)
        read_top(r, strategy, &of_strategy);
    if (r->half != SCENARIO_WHOLE || !strategy)
        read_prefill(r, file, &none);
    read_prefill(r, strategy, &none);
    for (size_t i = 0; i < nsets; i++)
        read_set(r, &sets[i]);
    derive_defaults(r);
    data_load(r);
    graph_file_load(r);
    rules_settle(r);
    resolve_names(r);
    if (r->scenario->strategy)
        check_scenario(r);
}

/* Read only the parameter rules of a scenario. */
static void read_scenario_rules(struct reader *r, const struct yaml_node *node)
{
    static const char *const keys[] = {"rules", "params", "partition_axis"};

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        const struct option *option = option_find(NULL, keys[k]);
        const struct yaml_node *value = yaml_find(node, keys[k]);

        if (value)
            option->type->read(r, option, value);
    }
    rules_check_sources(r, node);
    rules_settle(r);
    resolve_names(r);
}

int scenario_read_rules(struct scenario_rule **rules, size_t *nrules, const struct yaml_node *node,
                        struct diag *diag)
{
    static const struct option option = {.key = "rules", .type = &value_params};
    struct scenario scenario = {0};
    struct reader reader = {.scenario = &scenario, .diag = diag, .mesh_unknown = true};
    size_t before = diag->nerrors;

    if (node->kind == YAML_MAP && (yaml_find(node, "params") || yaml_find(node, "rules")))
        read_scenario_rules(&reader, node);
    else
        option.type->read(&reader, &option, node);
    value_partition_axis.clear(&scenario, NULL);
    *rules = scenario.params;
    *nrules = scenario.nparams;
    return diag_status(diag, before);
}
