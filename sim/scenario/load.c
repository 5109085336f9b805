/* Loading scenario files: collecting the strategies, listed and swept, and reading each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/file_kind.h"
#include "scenario/scenario.h"
#include "scenario/serving_checks.h"
#include "scenario/strategy_reader.h"
#include "scenario/sweep_strategies.h"

/* Check the version; false if this program cannot read the file. */
static bool check_version(const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *node = yaml_find(root, "version");
    int64_t version = SCENARIO_VERSION;

    if (!node) {
        diag_error(diag, root->place, "no version; expected 'version: %d' at the top",
                   SCENARIO_VERSION);
        return true;
    }
    if (yaml_read_int(node, &version) && version == SCENARIO_VERSION)
        return true;
    diag_error(diag, node->place, "version is %s; expected %d", yaml_describe(node).text,
               SCENARIO_VERSION);
    return version == SCENARIO_VERSION;
}

/* Check the list of strategies; false if none can be read. */
static bool check_strategies(const struct yaml_node *node, struct diag *diag)
{
    if (node->kind != YAML_LIST || node->nitems == 0) {
        diag_error(diag, node->place, "strategies is %s; expected a list of at least one map",
                   node->nitems == 0 && node->kind == YAML_LIST ? "empty"
                                                                : yaml_describe(node).text);
        return false;
    }
    if (node->nitems > SCENARIO_STRATEGIES_MAX) {
        diag_error(diag, node->place, "%zu strategies; expected at most %d", node->nitems,
                   SCENARIO_STRATEGIES_MAX);
        return false;
    }
    for (size_t i = 0; i < node->nitems; i++)
        if (node->items[i]->kind != YAML_MAP) {
            diag_error(diag, node->items[i]->place,
                       "a strategy is %s; expected a map with a name, such as {name: tensor}",
                       yaml_describe(node->items[i]).text);
            return false;
        }
    return true;
}

/* The strategies of a file: the listed ones, then those of the sweep.  A file without either is a
 * single strategy. */
struct strategies {
    const struct yaml_node *listed; /* NULL: none */
    struct sweep sweep;
    struct scenario_choice choice; /* strategies to read, by name */
};

static size_t count_strategies(const struct strategies *all)
{
    return (all->listed ? all->listed->nitems : 0) + all->sweep.nstrategies;
}

static const struct yaml_node *strategy_at(const struct strategies *all, size_t i)
{
    size_t nlisted = all->listed ? all->listed->nitems : 0;

    return i < nlisted ? all->listed->items[i] : all->sweep.strategies[i - nlisted];
}

static bool is_chosen(const struct strategies *all, const char *name)
{
    for (size_t i = 0; name && i < all->choice.nnames; i++)
        if (scenario_is_called(name, all->choice.names[i]) ||
            scenario_is_called(all->choice.names[i], name))
            return true;
    return all->choice.nnames == 0;
}

/* The name of a listed strategy, or NULL. */
static const char *strategy_name(const struct yaml_node *strategy)
{
    const struct yaml_node *name = yaml_find(strategy, "name");

    return name && name->kind == YAML_TEXT ? name->text : NULL;
}

/* Read a strategy that was not chosen, for its name only (needed in messages); its faults are not
 * reported.  If its name cannot be read, however, it may be the chosen one: its faults are reported
 * then, and true is returned. */
static bool read_unchosen(struct reader *r, const struct yaml_node *root,
                          const struct yaml_node *strategy)
{
    struct diag own = DIAG_INIT, *diag = r->diag;
    const char *name = strategy_name(strategy);
    bool unnamed;

    r->diag = &own;
    read_scenario(r, root, strategy, NULL, 0);
    unnamed = !name || !r->scenario->strategy || strcmp(name, r->scenario->strategy) != 0;
    if (unnamed)
        diag_append(diag, &own);
    else if (own.no_memory)
        diag_no_memory(diag);
    diag_fini(&own);
    return unnamed;
}

static void check_names(const struct strategies *all, struct diag *diag)
{
    for (size_t i = 0; i < count_strategies(all); i++) {
        const char *name = strategy_name(strategy_at(all, i));

        for (size_t k = 0; k < i && name; k++) {
            const char *other = strategy_name(strategy_at(all, k));

            if (!other || strcmp(other, name) != 0)
                continue;
            diag_error(diag, yaml_find(strategy_at(all, i), "name")->place,
                       "strategy '%.60s' appears twice, first on line %d; expected another name",
                       name, strategy_at(all, k)->place.line);
            break;
        }
    }
}

/* The input of reading a file's strategies. */
struct reading {
    struct scenario_file *file;
    const struct yaml_node *root;
    const struct set_value *sets;
    size_t nsets;
    struct diag *diag;
    bool replay; /* the file's own values were read before */
};

/* The list of phases in a strategy's `step`; NULL: not a list. */
static const struct yaml_node *step_of(const struct reading *in, const struct yaml_node *strategy)
{
    const struct yaml_node *step = strategy ? yaml_find(strategy, "step") : NULL;

    for (size_t i = in->nsets; i-- > 0;)
        if (in->sets[i].doc && in->sets[i].option && !in->sets[i].section &&
            !strcmp(in->sets[i].option->key, "step"))
            return yaml_doc_root(in->sets[i].doc);
    return step ? step : yaml_find(in->root, "step");
}

/* Whether a strategy serves both phases, which makes two of it. */
static bool is_pair(const struct reading *in, const struct yaml_node *strategy)
{
    const struct yaml_node *step = step_of(in, strategy);

    return step && step->kind == YAML_LIST && step->nitems == 2 &&
           step->items[0]->kind == YAML_TEXT && step->items[1]->kind == YAML_TEXT &&
           !strcmp(step->items[0]->text, "prefill") && !strcmp(step->items[1]->text, "decode");
}

/* Read one strategy, or half of one, at the end of the file's. */
static struct scenario *read_next(struct reading *in, const struct yaml_node *strategy,
                                  enum scenario_half half, bool swept)
{
    struct scenario *scenario = &in->file->scenarios[in->file->nscenarios++];
    struct reader r = {.scenario = scenario, .diag = in->diag, .replay = in->replay, .half = half};

    scenario->swept = swept;
    read_scenario(&r, in->root, strategy, in->sets, in->nsets);
    in->replay = true;
    return scenario;
}

/* Report what differs for the prefill in a file of which no strategy has one. */
static void check_prefill(const struct reading *in, const struct strategies *all)
{
    const struct yaml_node *own = yaml_find(in->root, "prefill");

    for (size_t i = 0; own && i < count_strategies(all); i++)
        if (is_pair(in, strategy_at(all, i)))
            own = NULL;
    if (own)
        diag_error(in->diag, own->place,
                   "prefill options without a prefill; expected step: [prefill, decode]");
}

/* Read every strategy completely, so that each reports its own faults.  Faults in the file's own
 * values recur for each strategy, and are kept once. */
static void read_strategies(struct reading *in, const struct strategies *all)
{
    size_t n = count_strategies(all), nwhole = n ? n : 1;

    in->file->scenarios = calloc(2 * nwhole, sizeof(*in->file->scenarios));
    if (!in->file->scenarios) {
        diag_no_memory(in->diag);
        return;
    }
    for (size_t i = 0; i < nwhole && !diag_is_full(in->diag); i++) {
        const struct yaml_node *strategy = n ? strategy_at(all, i) : NULL;
        bool swept = i + all->sweep.nstrategies >= nwhole && n > 0;
        struct reader r = {.diag = in->diag, .replay = in->replay};
        struct scenario *prefill, *decode;

        if (n && !is_chosen(all, strategy_name(strategy))) {
            r.scenario = &in->file->scenarios[in->file->nscenarios++];
            r.scenario->swept = swept;
            in->replay |= read_unchosen(&r, in->root, strategy);
        } else if (is_pair(in, strategy)) {
            prefill = read_next(in, strategy, SCENARIO_PREFILL, swept);
            decode = read_next(in, strategy, SCENARIO_DECODE, swept);
            decode->prefill = prefill;
            check_halves(prefill, decode, in->diag);
        } else {
            read_next(in, strategy, SCENARIO_WHOLE, swept);
        }
    }
    if (n) {
        check_names(all, in->diag);
        check_prefill(in, all);
    }
}

static void read_sets(struct scenario_file *file, const struct yaml_node *root,
                      const struct strategies *all, const char *const *sets, size_t nsets,
                      struct diag *diag)
{
    struct set_value *values = calloc(nsets + 1, sizeof(*values));

    if (!values) {
        diag_no_memory(diag);
        return;
    }
    set_parse(values, sets, nsets, diag);
    read_strategies(&(struct reading){file, root, values, nsets, diag, false}, all);
    set_fini(values, nsets);
    free(values);
}

static void read_file(struct scenario_file *file, const struct yaml_node *root,
                      const char *const *sets, size_t nsets, struct scenario_choice choice,
                      struct diag *diag)
{
    if (root->kind != YAML_MAP) {
        diag_error(diag, root->place, "the file is %s; expected a map that begins 'version: %d'",
                   yaml_describe(root).text, SCENARIO_VERSION);
        return;
    }
    struct strategies all = {.listed = yaml_find(root, "strategies"), .choice = choice};
    const struct yaml_node *sweep = yaml_find(root, "sweep");
    size_t nerrors = diag->nerrors;
    if (!check_version(root, diag) || (all.listed && !check_strategies(all.listed, diag)))
        return;
    if (sweep)
        sweep_init(&all.sweep, sweep, diag);
    if (count_strategies(&all) > SCENARIO_STRATEGIES_MAX)
        diag_error(diag, root->place, "%zu strategies with those of the sweep; expected at most %d",
                   count_strategies(&all), SCENARIO_STRATEGIES_MAX);
    else if (!sweep || count_strategies(&all) > 0 || diag->nerrors == nerrors)
        read_sets(file, root, &all, sets, nsets, diag);
    sweep_fini(&all.sweep);
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i]))
            return false;
    return true;
}

/* Parse YAML.  A text that is not YAML and has no version is some other kind of file: that is
 * reported before the YAML error. */
static int parse_yaml(struct yaml_doc **doc, const char *path, const char *text, size_t length,
                      struct diag *diag)
{
    struct place first = {path, 1, 1};
    struct diag own = DIAG_INIT;
    int status = yaml_doc_parse(doc, first, text, length, &own);

    if (status == SHD_EINVAL && !is_blank(text, length) &&
        memmem(text, length < 8 ? length : 8, "version:", 8) != text &&
        !memmem(text, length, "\nversion:", 9))
        diag_error(diag, first,
                   "not a scenario: no line begins with 'version:'; expected YAML, as 'shardsim "
                   "init' writes");
    diag_append(diag, &own);
    diag_fini(&own);
    return status;
}

/* The name of a file in places and messages. */
static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

int scenario_parse_chosen(struct scenario_file **out, const char *path, const char *text,
                          size_t length, const char *const *sets, size_t nsets,
                          struct scenario_choice choice, struct diag *diag)
{
    size_t nerrors = diag->nerrors;
    struct yaml_doc *doc = NULL;
    struct scenario_file *file = calloc(1, sizeof(*file));

    if (file)
        file->path = strdup(name_of(path));
    if (!file || !file->path) {
        free(file);
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    int status = SHD_EINVAL;
    if (!file_kind_refuse(diag, file->path, text, length, FILE_SCENARIO))
        status = parse_yaml(&doc, file->path, text, length, diag);
    if (status == SHD_OK) {
        read_file(file, yaml_doc_root(doc), sets, nsets, choice, diag);
        yaml_doc_destroy(doc);
        status = diag_status(diag, nerrors);
    }
    if (status == SHD_OK)
        *out = file;
    else
        scenario_file_destroy(file);
    return status;
}

int scenario_parse(struct scenario_file **out, const char *path, const char *text, size_t length,
                   const char *const *sets, size_t nsets, struct diag *diag)
{
    return scenario_parse_chosen(out, path, text, length, sets, nsets,
                                 (struct scenario_choice){NULL, 0}, diag);
}

int scenario_load(struct scenario_file **out, const char *path, const char *const *sets,
                  size_t nsets, struct diag *diag)
{
    return scenario_load_chosen(out, path, sets, nsets, (struct scenario_choice){NULL, 0}, diag);
}

int scenario_read(struct text *out, const char *path, struct diag *diag)
{
    struct shd_error err;
    int status = file_read(out, path, YAML_DOC_BYTES_MAX, &err);

    if (status != SHD_OK)
        diag_failure(diag, (struct place){name_of(path), 1, 1}, err.status, "%s", err.text);
    return status;
}

int scenario_load_chosen(struct scenario_file **out, const char *path, const char *const *sets,
                         size_t nsets, struct scenario_choice choice, struct diag *diag)
{
    struct text text = TEXT_INIT;
    int status = scenario_read(&text, path, diag);

    if (status == SHD_OK)
        status = scenario_parse_chosen(out, path, text_get(&text), text.length, sets, nsets, choice,
                                       diag);
    text_fini(&text);
    return status;
}
