/* Reading config.json files by family of models (family.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/family.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "base/words.h"
#include "scenario/family_reader.h"
#include "scenario/table.h"
#include "scenario/value_reader.h"

/* ---- the family ---- */

/* Print the values of model_type, as "llama, mistral and t5". */
static void print_types(struct text *out)
{
    size_t left = 0, n = 0;

    for (size_t f = 0; f < family_count; f++)
        for (size_t t = 0; family_table[f].types[t]; t++)
            left++;
    for (size_t f = 0; f < family_count; f++)
        for (size_t t = 0; family_table[f].types[t]; t++, n++)
            text_addf(out, "%s%s",
                      n == 0        ? ""
                      : --left == 1 ? " and "
                                    : ", ",
                      family_table[f].types[t]);
}

/* Why a model is known and not modelled; NULL if it is not known. */
static const char *find_refusal(const char *type)
{
    for (size_t i = 0; i < family_refusal_count; i++)
        if (words_has(family_refusals[i].types, type))
            return family_refusals[i].why;
    return NULL;
}

static const struct family_row *find_family(const char **out, const struct yaml_node *root,
                                            struct diag *diag)
{
    const struct yaml_node *type = yaml_find(root, "model_type");
    const char *word = type && type->kind == YAML_TEXT ? type->text : "", *why;
    struct text known = TEXT_INIT;

    for (size_t f = 0; f < family_count; f++)
        for (size_t t = 0; family_table[f].types[t]; t++)
            if (!strcmp(family_table[f].types[t], word)) {
                *out = family_table[f].types[t];
                return &family_table[f];
            }
    why = *word ? find_refusal(word) : NULL;
    print_types(&known);
    diag_error(diag, type ? type->place : root->place,
               "model_type is %s%s%s; supported types are %s",
               type ? yaml_describe(type).text : "missing", why ? ", which is not modelled: " : "",
               why ? why : "", text_get(&known));
    text_fini(&known);
    return NULL;
}

/* ---- options ---- */

/* The option of a path such as "moe.top_k". */
static const struct option *find_option(const char *path)
{
    char section[OPTION_PATH_MAX];
    size_t n = strcspn(path, ".");

    memcpy(section, path, n);
    section[n] = '\0';
    return option_find(section, path + n + 1);
}

/* Set an option by a node, which messages call `key`. */
static void set(struct reader *r, const struct option *option, const char *key,
                const struct yaml_node *node)
{
    struct option named = *option;

    named.section = NULL;
    named.key = key;
    option->type->read(r, &named, node);
}

/* Set options by text in a scenario's own words, one after the other: later ones win. */
static bool set_words(struct reader *r, const char *words)
{
    struct text list = TEXT_INIT;
    struct yaml_doc *doc;
    const struct yaml_node *root;
    size_t before = r->diag->nerrors;

    text_addf(&list, "[%s]", words); /* each "key: value" is a map of its own */
    if (list.failed)
        diag_no_memory(r->diag);
    else if (yaml_doc_parse(&doc, (struct place){"family", 1, 1}, text_get(&list), list.length,
                            r->diag) == SHD_OK) {
        root = yaml_doc_root(doc);
        for (size_t i = 0; i < root->nitems; i++) {
            const struct yaml_node *map = root->items[i];

            set(r, find_option(map->keys[0]->text), map->keys[0]->text, map->items[0]);
        }
        yaml_doc_destroy(doc);
    }
    text_fini(&list);
    return r->diag->nerrors == before && !r->diag->no_memory;
}

static void *field(struct reader *r, const struct option *option)
{
    return (char *)r->scenario + option->offset;
}

/* Whether the field of an option is still 0. */
static bool is_unset(struct reader *r, const struct option *option)
{
    static const int64_t zero;

    return !memcmp(field(r, option), &zero, option->type->size);
}

/* ---- keys ---- */

static bool tell_words(const struct family_reader *c, const struct family_key *key,
                       const struct yaml_node *node)
{
    struct text words = TEXT_INIT;

    for (const struct family_word *w = key->words; w->theirs; w++)
        text_addf(&words, "%s%s", w == key->words ? "" : w[1].theirs ? ", " : " or ", w->theirs);
    diag_error(c->diag, node->place, "%s is %s; expected %s%s%s", key->key,
               yaml_describe(node).text, text_get(&words), key->why ? ": " : "",
               key->why ? key->why : "");
    text_fini(&words);
    return false;
}

static bool read_word(struct reader *r, const struct family_reader *c, const struct family_key *key,
                      const struct yaml_node *node)
{
    const char *text = node ? node->text : key->standard;
    bool flag;

    if (node && node->kind != YAML_TEXT)
        return tell_words(c, key, node);
    if (node && yaml_read_bool(node, &flag)) /* in any case of letters */
        text = flag ? "true" : "false";
    for (const struct family_word *w = key->words; w->theirs; w++)
        if (!strcmp(w->theirs, text))
            return set_words(r, w->ours);
    return node ? tell_words(c, key, node) : false;
}

static bool read_function(struct reader *r, const struct family_reader *c,
                          const struct family_key *key)
{
    double value = 0;

    if (!family_read_number(&value, c, c->root, key->key))
        return false;
    if (key->form == FAMILY_INVERSE)
        value = 1 / value;
    else
        value = key->form == FAMILY_SQRT ? sqrt(value) : 1 / sqrt(value);
    memcpy(field(r, find_option(key->option)), &value, sizeof(value));
    return true;
}

/* A list of layers: the first ones, in their order. */
static bool read_prefix(struct reader *r, const struct family_reader *c,
                        const struct family_key *key, const struct yaml_node *node)
{
    int64_t layer, n = (int64_t)node->nitems;

    for (int64_t i = 0; node->kind == YAML_LIST && i < n; i++)
        if (!yaml_read_int(node->items[i], &layer) || layer != i)
            n = -1;
    if (node->kind != YAML_LIST || n < 0) {
        diag_error(c->diag, node->place,
                   "%s: expected the first layers, such as [0, 1]; dense layers elsewhere are not "
                   "modelled",
                   key->key);
        return false;
    }
    if (n > 0)
        memcpy(field(r, find_option(key->option)), &n, sizeof(n));
    return true;
}

/* Words for layers: those without experts come first. */
static bool read_dense(struct reader *r, const struct family_reader *c,
                       const struct family_key *key, const struct yaml_node *node)
{
    int64_t dense = 0;

    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++) {
        const struct yaml_node *word = node->items[i];
        bool is_dense = word->kind == YAML_TEXT && !strcmp(word->text, "dense");

        if (is_dense && dense == (int64_t)i) {
            dense++;
        } else if (is_dense || word->kind != YAML_TEXT || strcmp(word->text, "sparse") != 0) {
            diag_error(c->diag, word->place,
                       "%s has %s; expected dense layers first, then sparse layers; other orders "
                       "are not modelled",
                       key->key, yaml_describe(word).text);
            return false;
        }
    }
    if (node->kind != YAML_LIST || (int64_t)node->nitems < c->model->layers) {
        diag_error(c->diag, node->place, "%s: expected a list of %" PRId64 " words", key->key,
                   c->model->layers);
        return false;
    }
    memcpy(field(r, find_option(key->option)), &dense, sizeof(dense));
    return true;
}

/* Options here have one number for what configs say of two kinds of layers. */
static bool read_same(const struct family_reader *c, const struct family_key *key,
                      const struct yaml_node *node)
{
    double value = 1, other = 1;

    if (!family_read_number(&value, c, c->root, key->key) ||
        !family_read_number(&other, c, c->root, key->standard))
        return false;
    if (value == other)
        return true;
    diag_error(c->diag, node ? node->place : c->root->place,
               "%s is %g, and %s is %g; expected one number: %s", key->key, value, key->standard,
               other, key->why);
    return false;
}

/* Whether a key is read in this config. */
static bool applies(const struct family_reader *c, const struct family_key *key)
{
    bool wanted, is = false;
    const struct yaml_node *node;

    if (!key->when)
        return true;
    wanted = key->when[0] != '!';
    node = family_find(c->root, key->when + !wanted);
    return (node && yaml_read_bool(node, &is) && is) == wanted;
}

static bool read_key(struct reader *r, const struct family_reader *c, const struct family_key *key)
{
    const struct yaml_node *node = family_find(c->root, key->key);
    size_t before = r->diag->nerrors;

    if (!applies(c, key))
        return true;
    if (key->form != FAMILY_PREFIX && key->form != FAMILY_DENSE &&
        !family_find_equal(&node, c, key->key))
        return false;
    if (!node && key->form == FAMILY_NEEDED && is_unset(r, find_option(key->option))) {
        diag_error(c->diag, c->root->place, "'%s' is missing", key->key);
        return false;
    }
    if (!node && !key->standard)
        return true;
    switch (key->form) {
    case FAMILY_VALUE:
    case FAMILY_NEEDED:
        set(r, find_option(key->option), key->key, node);
        return r->diag->nerrors == before;
    case FAMILY_WORDS:
        return read_word(r, c, key, node);
    case FAMILY_PREFIX:
        return read_prefix(r, c, key, node);
    case FAMILY_DENSE:
        return read_dense(r, c, key, node);
    case FAMILY_SAME:
        return read_same(c, key, node);
    default:
        return read_function(r, c, key);
    }
}

static bool read_keys(struct reader *r, const struct family_reader *c)
{
    bool good = true;

    for (size_t k = 0; k < sizeof(c->row->keys) / sizeof(c->row->keys[0]); k++)
        for (const struct family_key *key = c->row->keys[k]; key && key->key; key++)
            good = read_key(r, c, key) && good;
    return good;
}

/* ---- keys that are not known ---- */

/* Keys of all families that no row of one has. */
#define COMMON_KEYS                                                                           \
    "torch_dtype dtype quantization_config rope_theta rope_scaling rope_parameters "          \
    "sliding_window sliding_window_pattern use_sliding_window max_window_layers layer_types " \
    "attention_chunk_size no_rope_layers no_rope_layer_interval partial_rotary_factor "       \
    "full_attention_interval full_attn_idxs attn_layer_indices block_auto_adjust_ff_dim "     \
    "block_multiple_of position_embedding_type mamba_d_head mamba_expand "                    \
    "hybrid_override_pattern layers_block_type attn_type_list mamba_d_ssm key_multiplier "    \
    "attention_in_multiplier attention_out_multiplier ssm_in_multiplier ssm_multipliers "     \
    "mlp_multipliers linear_attn_config"

static bool is_key_of(const struct family_row *row, const char *word)
{
    for (size_t k = 0; k < sizeof(row->keys) / sizeof(row->keys[0]); k++)
        for (const struct family_key *key = row->keys[k]; key && key->key; key++)
            if (!strcmp(key->key, word))
                return true;
    return words_has(COMMON_KEYS, word);
}

static bool is_key_of_any(const char *word)
{
    for (size_t f = 0; f < family_count; f++)
        if (is_key_of(&family_table[f], word))
            return true;
    return false;
}

/* Report a key that is one letter from a key of the family which the config lacks. */
static bool check_slip(const struct family_reader *c, const struct yaml_node *key)
{
    struct nearest near;

    if (is_key_of_any(key->text))
        return true;
    nearest_init(&near, key->text);
    for (size_t k = 0; k < sizeof(c->row->keys) / sizeof(c->row->keys[0]); k++)
        for (const struct family_key *row = c->row->keys[k]; row && row->key; row++)
            if (!yaml_find(c->root, row->key))
                nearest_add(&near, row->key);
    if (!nearest_is_slip(&near))
        return true;
    diag_error(c->diag, key->place, "unknown key '%.40s'%s", key->text, nearest_hint(&near).text);
    return false;
}

static bool check_slips(const struct family_reader *c)
{
    bool good = true;

    for (size_t i = 0; i < c->root->nitems; i++)
        good = check_slip(c, c->root->keys[i]) && good;
    return good;
}

/* ---- what follows from the keys ---- */

/* Report a fault of an option at the family's key for it. */
static bool fault(const struct family_reader *c, const char *option, const char *what)
{
    const struct yaml_node *node = NULL;
    const char *name = option;

    for (size_t k = 0; k < sizeof(c->row->keys) / sizeof(c->row->keys[0]); k++)
        for (const struct family_key *key = c->row->keys[k]; !node && key && key->key; key++)
            if (key->option && !strcmp(key->option, option)) {
                name = key->key;
                node = family_find(c->root, name);
            }
    diag_error(c->diag, node ? node->place : c->root->place, "%s: %s", name, what);
    return false;
}

/* Check the experts that tokens choose from, and the layers that have them. */
static bool check_experts(const struct family_reader *c)
{
    const struct scenario_moe *moe = &c->model->moe;

    if (moe->top_k > moe->experts)
        return fault(c, "moe.top_k", "expected at most the number of experts");
    if (moe->experts % moe->groups != 0)
        return fault(c, "moe.groups", "expected a divisor of the number of experts");
    if (moe->kept > moe->groups || moe->experts / moe->groups * moe->kept < moe->top_k)
        return fault(c, "moe.kept",
                     "expected at most all groups, with at least top_k experts in the kept groups");
    if (moe->first_dense >= c->model->layers)
        return fault(c, "moe.first_dense", "no layer is left for experts; expected fewer");
    return true;
}

/* Experts as wide as an mlp unless a key says otherwise, and shared ones by their joint width. */
static bool derive_experts(const struct family_reader *c)
{
    struct scenario_moe *moe = &c->model->moe;

    if (moe->experts == 0 && c->row->layers & FAMILY_SHARED_MLP) {
        c->model->d_ff = moe->shared_d_ff;
        moe->shared_d_ff = 0;
        moe->top_k = 1;
    }
    if (moe->experts == 0)
        return true;
    if (moe->d_ff == 0)
        moe->d_ff = c->model->d_ff;
    if (moe->shared_d_ff > 0 && moe->shared == 0)
        moe->shared = 1;
    return check_experts(c);
}

/* LFM2's layers have two thirds of the config's width, rounded up. */
static bool adjust_width(const struct family_reader *c)
{
    int64_t multiple = 256;
    bool adjusted = true;

    if (!(c->row->layers & FAMILY_CONV))
        return true;
    if (!family_read_flag(&adjusted, c, "block_auto_adjust_ff_dim") ||
        !family_read_count(&multiple, c, c->root, "block_multiple_of"))
        return false;
    if (adjusted && multiple > 0)
        c->model->d_ff = (2 * c->model->d_ff / 3 + multiple - 1) / multiple * multiple;
    return true;
}

#define STATE_WIDTH_MOST 65536 /* of option linear.value_dim */

/* Mamba-2's own models say twice how wide their states are.  Nemotron-H's module does not read
 * `expand`. */
static bool check_expand(const struct family_reader *c)
{
    const struct scenario_linear *l = &c->model->linear;
    int64_t expand = 2, wide = l->value_heads * l->value_dim;

    if (c->row->layers & FAMILY_ALONE)
        return true;
    if (!family_read_count(&expand, c, c->root, "expand"))
        return false;
    if (expand * c->model->d_model == wide)
        return true;
    diag_error(c->diag, c->root->place,
               "num_heads times head_dim is %" PRId64 "; expected expand times hidden_size, "
               "%" PRId64,
               wide, expand * c->model->d_model);
    return false;
}

/* The width of Mamba-2's heads: all together are `mamba_expand` times as wide as the model. */
static bool derive_state(const struct family_reader *c)
{
    struct scenario_linear *l = &c->model->linear;
    const struct yaml_node *node = family_find(c->root, "mamba_d_head");
    bool beside = c->row->layers & FAMILY_BESIDE;
    int64_t expand = 2, given, wide, ssm = 0;

    if (!(c->row->layers & FAMILY_MAMBA))
        return true;
    if (l->value_heads < 1 || l->key_heads < 1)
        return fault(c, l->key_heads < 1 ? "linear.key_heads" : "linear.value_heads",
                     "expected at least 1");
    if (l->value_dim > 0)
        return check_expand(c);
    if (beside && !yaml_find(c->root, "mamba_d_ssm"))
        ssm = 1024; /* of Falcon-H1's module */
    if (!family_read_count(&expand, c, c->root, "mamba_expand") ||
        (beside && !family_read_count(&ssm, c, c->root, "mamba_d_ssm")))
        return false;
    if (ssm == 0)
        ssm = expand * c->model->d_model;
    wide = ssm / l->value_heads;
    if (wide < 1 || wide > STATE_WIDTH_MOST || ssm % l->value_heads != 0)
        return fault(c, "linear.value_heads",
                     beside ? "expected a divisor of mamba_d_ssm, or of mamba_expand times "
                              "hidden_size"
                            : "expected a divisor of mamba_expand times hidden_size");
    if (node && !(node->kind == YAML_TEXT && !strcmp(node->text, "auto")) &&
        (!yaml_read_int(node, &given) || given != wide)) {
        diag_error(c->diag, node->place,
                   "mamba_d_head is %s; expected %" PRId64 ", %smamba_expand times hidden_size, "
                   "over mamba_n_heads",
                   yaml_describe(node).text, wide, beside ? "mamba_d_ssm, or " : "");
        return false;
    }
    l->value_dim = wide;
    return true;
}

/* Derive the sizes that a config omits. */
static bool derive(const struct family_reader *c)
{
    struct scenario_model *m = c->model;

    if (m->kv_heads == 0)
        m->kv_heads = m->heads;
    if (m->head_dim == 0 && m->d_model % m->heads != 0) {
        diag_error(c->diag, c->root->place, "%" PRId64 " heads do not divide %" PRId64, m->heads,
                   m->d_model);
        return false;
    }
    if (m->head_dim == 0)
        m->head_dim = m->d_model / m->heads;
    if (m->d_ff == 0)
        m->d_ff = 4 * m->d_model <= INT32_MAX ? 4 * m->d_model : INT32_MAX;
    if (m->kind == SCENARIO_T5 && m->decoder_layers == 0)
        m->decoder_layers = m->layers;
    if (m->mla.kv_rank > 0 && m->mla.rope_dim % 2 != 0)
        return fault(c, "mla.rope_dim", "expected an even number: RoPE rotates pairs");
    return adjust_width(c) && derive_state(c) && derive_experts(c) && family_read_factors(c);
}

static bool read_dtype(struct family_config *out, const struct family_reader *c)
{
    const struct yaml_node *node = family_find(c->root, "torch_dtype");

    if (!node)
        node = family_find(c->root, "dtype");
    out->dtype = SHD_F32;
    if (!node ||
        (node->kind == YAML_TEXT && shd_dtype_parse(&out->dtype, node->text, NULL) == SHD_OK))
        return true;
    diag_error(c->diag, node->place, "torch_dtype is %s; expected a type such as bfloat16",
               yaml_describe(node).text);
    return false;
}

/* Weights stored in 8 bits or fewer have other sizes than torch_dtype implies.  A plan's types are
 * those of its training, whatever the published weights have. */
static bool check_quantization(const struct family_reader *c)
{
    const struct yaml_node *node = family_find(c->root, "quantization_config");

    if (!node || c->seq != FAMILY_ARRAYS)
        return true;
    diag_error(c->diag, node->place,
               "quantization_config: 8 bits and fewer are not supported here; remove it to take "
               "all arrays in torch_dtype");
    return false;
}

/* ---- the config ---- */

const struct yaml_node *family_text(const struct yaml_node *root)
{
    const struct yaml_node *text = yaml_find(root, "text_config");

    return text && text->kind == YAML_MAP && yaml_find(text, "model_type") ? text : root;
}

/* Whether what is asked for depends on what layers attend to: arrays do if some layers do not. */
static bool depends_on_layers(const struct family_reader *c)
{
    return c->seq != FAMILY_ARRAYS || (c->row->layers & (FAMILY_DELTA | FAMILY_KDA | FAMILY_MAMBA |
                                                         FAMILY_CONV | FAMILY_LIGHTNING)) != 0;
}

int family_read(struct family_config *out, const struct yaml_node *root, int64_t seq,
                struct diag *diag)
{
    struct scenario scratch = {.model = {.moe = FAMILY_NO_EXPERTS}};
    struct reader r = {.scenario = &scratch, .diag = diag};
    struct family_reader c = {.model = &scratch.model, .seq = seq, .diag = diag};
    struct family_config config;
    bool good;

    if (root->kind != YAML_MAP) {
        diag_error(diag, root->place, "expected a map");
        return SHD_EINVAL;
    }
    c.root = family_text(root);
    c.row = find_family(&config.type, c.root, diag);
    if (!c.row || !set_words(&r, c.row->ours))
        return SHD_EINVAL;
    good = check_slips(&c);
    good = read_keys(&r, &c) && good;
    good = read_dtype(&config, &c) && good;
    good = check_quantization(&c) && good;
    good = family_count_alone(&c) && good;
    if (!good || !derive(&c) || (seq != FAMILY_ARRAYS && !family_read_rope(&c)) ||
        (depends_on_layers(&c) && !family_read_layers(&c)))
        return SHD_EINVAL;
    scratch.model.text_alone = c.root != root;
    config.model = scratch.model;
    *out = config;
    return SHD_OK;
}
