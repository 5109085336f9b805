/* Tests trees/import.h: safetensors headers, indexes, configs of Hugging Face, and lists of
 * arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/tap.h"
#include "trees/import.h"

static struct shd_tree *new_tree(void)
{
    struct shd_tree *tree = NULL;

    if (shd_tree_create(&tree, NULL) != SHD_OK)
        abort();
    return tree;
}

/* The reported errors as text; the caller frees it. */
static char *messages(struct diag *diag)
{
    struct text out = TEXT_INIT;

    text_add(&out, "");
    diag_print(diag, &out);
    diag_fini(diag);
    return out.data ? text_take(&out) : strdup("");
}

/* ---- safetensors headers ---- */

static int read_header(struct shd_tree *tree, const char *json, uint64_t announced,
                       struct diag *diag)
{
    size_t length = strlen(json);
    char bytes[2048];

    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(announced >> 8 * i & 0xff);
    memcpy(bytes + 8, json, length);
    return import_safetensors(tree, "x.safetensors", bytes, length + 8, diag);
}

static void test_safetensors(void)
{
    static const char *json =
        "{\"__metadata__\":{\"format\":\"pt\"},\"a.w\":{\"dtype\":\"BF16\",\"shape\":[2,3],"
        "\"data_offsets\":[0,12]},\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]}} "
        " ";
    struct diag errors = DIAG_INIT;
    struct shd_tree *tree = new_tree();
    const struct shd_leaf *leaf;

    ok(read_header(tree, json, strlen(json), &errors) == SHD_OK && shd_tree_count(tree) == 2,
       "safetensors: two arrays, and no metadata");
    leaf = shd_tree_leaf(tree, 0);
    ok(!strcmp(leaf->name, "a.w") && leaf->dtype == SHD_BF16 && leaf->rank == 2 &&
           leaf->shape[1] == 3 && shd_tree_leaf(tree, 1)->rank == 0,
       "safetensors: names, types and shapes");
    shd_tree_destroy(tree);
    diag_fini(&errors);
}

#define ARRAY(type, shape, offsets) \
    "{\"a\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_bad_safetensors(void)
{
    static const struct {
        const char *what, *json;
        int64_t more; /* bytes announced beyond the end of the file */
        const char *says;
    } cases[] = {
        {"cut", "{}", 1, "1:1: error: the file ends inside its header"},
        {"huge", "{}", INT64_MAX - 100, "1:1: error: a header of"},
        {"not JSON", "[1]", 0, "1:9: error: this is not a safetensors header"},
        {"broken", "{\"a\": {", 0, "x.safetensors:1:"},
        {"not a map", "{\"a\": 3}", 0, "1:15: error: 'a' is not a map"},
        {"without shape", "{\"a\": {\"dtype\": \"F32\"}}", 0, "'a' has no shape"},
        {"unknown type", ARRAY("F33", "[1]", "[0,4]"), 0, "the type of 'a' is 'F33'"},
        {"negative extent", ARRAY("F32", "[-1]", "[0,4]"), 0, "an extent of 'a' is '-1'"},
        {"not a shape", ARRAY("F32", "4", "[0,4]"), 0, "the shape of 'a' is '4'"},
        {"overflow", ARRAY("F32", "[4294967296,4294967296]", "[0,4]"), 0, "'a': "},
        {"offsets that do not fit", ARRAY("F32", "[2]", "[0,4]"), 0,
         "'a' has 4 bytes, but type and shape need 8"},
        {"offsets backwards", ARRAY("F32", "[1]", "[8,4]"), 0, "the offsets of 'a'"},
        {"twice", "{\"a\": {}, \"a\": {}}", 0, "x.safetensors:1:"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag errors = DIAG_INIT;
        struct shd_tree *tree = new_tree();
        int status = read_header(tree, cases[i].json,
                                 strlen(cases[i].json) + (uint64_t)cases[i].more, &errors);
        char *text = messages(&errors);

        ok(status < 0 && strstr(text, cases[i].says), "safetensors: %s", cases[i].what);
        if (!strstr(text, cases[i].says))
            diag("%s", text);
        free(text);
        shd_tree_destroy(tree);
    }
}

/* ---- configs and lists ---- */

static int read_yaml(struct shd_tree *tree, const char *text, bool is_config, struct diag *diag)
{
    struct yaml_doc *doc = NULL;
    int status = yaml_doc_parse(&doc, (struct place){"f", 1, 1}, text, strlen(text), diag);

    if (status == SHD_OK)
        status = is_config ? import_config(tree, yaml_doc_root(doc), diag)
                           : import_list(tree, yaml_doc_root(doc), diag);
    yaml_doc_destroy(doc);
    return status;
}

#define LLAMA3                                                                                  \
    "hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32, num_attention_heads: " \
    "32, "                                                                                      \
    "num_key_value_heads: 8, vocab_size: 128256"
#define SMALL                                                                                \
    "hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4, " \
    "num_key_value_heads: 2, vocab_size: 100"

/* The numbers of arrays and parameters are those of the models' cards and modules. */
static void test_families(void)
{
    static const struct {
        const char *what, *config;
        size_t count;
        int64_t nelements;
        const char *name;
        int64_t shape[2];
    } cases[] = {
        {"Llama 3 8B",
         "{model_type: llama, torch_dtype: bfloat16, " LLAMA3 "}",
         291,
         8030261248,
         "model.layers.31.self_attn.k_proj.weight",
         {1024, 4096}},
        {"Mistral 7B",
         "{model_type: mistral, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: "
         "32, "
         "num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 32000}",
         291,
         7241732096,
         "lm_head.weight",
         {32000, 4096}},
        {"Mixtral 8x7B",
         "{model_type: mixtral, hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: "
         "32, "
         "num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 32000, num_local_experts: "
         "8}",
         995,
         46702792704,
         "model.layers.3.block_sparse_moe.experts.7.w2.weight",
         {4096, 14336}},
        {"Qwen3 30B A3B",
         "{model_type: qwen3_moe, hidden_size: 2048, intermediate_size: 6144, "
         "moe_intermediate_size: 768, num_hidden_layers: 48, num_attention_heads: 32, "
         "num_key_value_heads: 4, head_dim: 128, num_experts: 128, num_experts_per_tok: 8, "
         "vocab_size: 151936, tie_word_embeddings: false}",
         18867,
         30532122624,
         "model.layers.47.mlp.experts.127.down_proj.weight",
         {2048, 768}},
        {"gpt-oss 20B",
         "{model_type: gpt_oss, hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 24, "
         "num_attention_heads: 64, num_key_value_heads: 8, head_dim: 64, num_local_experts: 32, "
         "num_experts_per_tok: 4, vocab_size: 201088, tie_word_embeddings: false}",
         411,
         20914757184,
         "model.layers.0.mlp.experts.gate_up_proj_bias",
         {32, 5760}},
        {"Phi 3 mini",
         "{model_type: phi3, hidden_size: 3072, intermediate_size: 8192, num_hidden_layers: 32, "
         "num_attention_heads: 32, num_key_value_heads: 32, vocab_size: 32064, "
         "tie_word_embeddings: false}",
         195,
         3821079552,
         "model.layers.0.self_attn.qkv_proj.weight",
         {9216, 3072}},
        {"OLMo 2 7B",
         "{model_type: olmo2, hidden_size: 4096, intermediate_size: 11008, num_hidden_layers: 32, "
         "num_attention_heads: 32, num_key_value_heads: 32, vocab_size: 100352, "
         "tie_word_embeddings: false}",
         355,
         7298617344,
         "model.layers.0.self_attn.q_norm.weight",
         {4096}},
        {"Pythia 70M",
         "{model_type: gpt_neox, hidden_size: 512, intermediate_size: 2048, num_hidden_layers: 6, "
         "num_attention_heads: 8, vocab_size: 50304, tie_word_embeddings: false}",
         76,
         70426624,
         "embed_out.weight",
         {50304, 512}},
        {"StarCoder2 3B",
         "{model_type: starcoder2, hidden_size: 3072, intermediate_size: 12288, num_hidden_layers: "
         "30, num_attention_heads: 24, num_key_value_heads: 2, vocab_size: 49152}",
         483,
         3030371328,
         "model.layers.0.mlp.c_fc.weight",
         {12288, 3072}},
        {"Falcon 7B",
         "{model_type: falcon, hidden_size: 4544, num_hidden_layers: 32, num_attention_heads: 71, "
         "vocab_size: 65024, multi_query: true}",
         195,
         6921720704,
         "transformer.h.31.self_attention.query_key_value.weight",
         {4672, 4544}},
        {"Falcon 40B",
         "{model_type: falcon, hidden_size: 8192, num_hidden_layers: 60, num_attention_heads: 128, "
         "num_kv_heads: 8, new_decoder_architecture: true, vocab_size: 65024}",
         483,
         41303293952,
         "transformer.h.0.ln_mlp.weight",
         {8192}},
        {"Command R",
         "{model_type: cohere, hidden_size: 8192, intermediate_size: 22528, num_hidden_layers: 40, "
         "num_attention_heads: 64, num_key_value_heads: 64, vocab_size: 256000}",
         322,
         34980831232,
         "model.layers.0.input_layernorm.weight",
         {8192}},
        {"Qwen2 0.5B",
         "{model_type: qwen2, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, "
         "num_attention_heads: 14, num_key_value_heads: 2, vocab_size: 151936, "
         "tie_word_embeddings: true}",
         290,
         494032768,
         "model.layers.0.self_attn.k_proj.bias",
         {128}},
        {"Gemma 2B",
         "{model_type: gemma, hidden_size: 2048, intermediate_size: 16384, num_hidden_layers: 18, "
         "num_attention_heads: 8, num_key_value_heads: 1, head_dim: 256, vocab_size: 256000}",
         164,
         2506172416,
         "model.layers.0.self_attn.k_proj.weight",
         {256, 2048}},
        {"Gemma 2 2B",
         "{model_type: gemma2, hidden_size: 2304, intermediate_size: 9216, num_hidden_layers: 26, "
         "num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256, vocab_size: 256000}",
         288,
         2614341888,
         "model.layers.0.post_feedforward_layernorm.weight",
         {2304}},
        {"GPT-2",
         "{model_type: gpt2, n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024, "
         "vocab_size: 50257}",
         148,
         124439808,
         "transformer.h.11.attn.c_attn.weight",
         {768, 2304}},
        {"T5 small",
         "{model_type: t5, d_model: 512, d_kv: 64, d_ff: 2048, num_layers: 6, "
         "num_heads: 8, vocab_size: 32128}",
         131,
         60506624,
         "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
         {32, 8}},
        {"DeepSeek V3, without the module that predicts further tokens",
         "{model_type: deepseek_v3, hidden_size: 7168, intermediate_size: 18432, "
         "moe_intermediate_size: 2048, num_hidden_layers: 61, num_attention_heads: 128, "
         "num_key_value_heads: 128, vocab_size: 129280, qk_nope_head_dim: 128, "
         "qk_rope_head_dim: 64, v_head_dim: 128, kv_lora_rank: 512, q_lora_rank: 1536, "
         "n_routed_experts: 256, n_shared_experts: 1, num_experts_per_tok: 8, n_group: 8, "
         "topk_group: 4, first_k_dense_replace: 3}",
         45337,
         671026404352,
         "model.layers.3.mlp.experts.255.down_proj.weight",
         {7168, 2048}},
        {"Llama with biases and tied head",
         "{model_type: llama, attention_bias: true, mlp_bias: true, tie_word_embeddings: "
         "true, " SMALL "}",
         34,
         0,
         "model.layers.1.mlp.down_proj.bias",
         {64}},
        {"Qwen3",
         "{model_type: qwen3, " SMALL "}",
         25,
         0,
         "model.layers.0.self_attn.q_norm.weight",
         {128}},
        {"positions that no plan has, of which names are none",
         "{model_type: llama, rope_scaling: {rope_type: odd}, layer_types: [odd], " SMALL "}",
         21,
         0,
         "model.norm.weight",
         {64}},
        {"gated T5",
         "{model_type: t5, feed_forward_proj: gated-gelu, tie_word_embeddings: false, "
         "num_layers: 1}",
         29,
         0,
         "encoder.block.0.layer.1.DenseReluDense.wi_1.weight",
         {2048, 512}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag errors = DIAG_INIT;
        struct shd_tree *tree = new_tree();
        size_t leaf = 0;
        int status = read_yaml(tree, cases[i].config, true, &errors);
        int64_t n = shd_tree_nelements(tree);

        ok(status == SHD_OK && shd_tree_count(tree) == cases[i].count &&
               (cases[i].nelements == 0 || n == cases[i].nelements),
           "%s: %zu arrays, %" PRId64 " parameters", cases[i].what, shd_tree_count(tree), n);
        ok(shd_tree_find(&leaf, tree, cases[i].name, NULL) == SHD_OK &&
               !memcmp(shd_tree_leaf(tree, leaf)->shape, cases[i].shape,
                       shd_tree_leaf(tree, leaf)->rank * sizeof(int64_t)),
           "%s: %s", cases[i].what, cases[i].name);
        diag_fini(&errors);
        shd_tree_destroy(tree);
    }
}

static void test_bad_yaml(void)
{
    static const struct {
        const char *what, *text;
        bool is_config;
        const char *says;
    } cases[] = {
        {"unknown family", "{model_type: lama, " SMALL "}", true,
         "f:1:14: error: model_type is 'lama'"},
        {"types of 8 bits", "{model_type: llama, quantization_config: {a: fp8}, " SMALL "}", true,
         "f:1:42: error: quantization_config: 8 bits and fewer are not supported"},
        {"no family", "{" SMALL "}", true, "model_type is missing"},
        {"a size missing", "{model_type: llama, hidden_size: 64}", true,
         "'num_hidden_layers' is missing"},
        {"a size of 0", "{model_type: gpt2, n_layer: 0}", true, "f:1:29: error: n_layer is '0'"},
        {"too many layers", "{model_type: gpt2, n_layer: 100000000}", true,
         "expected a whole number from 1 to 65536"},
        {"heads that do not divide", "{model_type: gpt2, n_embd: 100, n_head: 3}", true,
         "3 heads do not divide 100"},
        {"a flag that is none", "{model_type: gpt2, tie_word_embeddings: perhaps}", true,
         "expected true or false"},
        {"an unknown type", "{model_type: gpt2, torch_dtype: float33}", true, "torch_dtype is"},
        {"not a map", "[1]", true, "expected a map"},
        {"a word", "hello", false, "expected a map of names to shapes"},
        {"a number for an array", "[3]", false, "f:1:2: error: an array is '3'"},
        {"no shape", "{a: {dtype: f32}}", false, "an array has no shape"},
        {"no name", "[{shape: [1]}]", false, "an array has no name"},
        {"a bad extent", "{a: [2, x]}", false, "f:1:9: error: an extent of 'a' is 'x'"},
        {"a bad type", "[[a, [1], f33]]", false,
         "f:1:11: error: 'f33' is not a type; expected a type"},
        {"a name twice", "[[a, [1]], [a, [1]]]", false, "the name 'a' is in the tree twice"},
        {"too large", "{a: [9223372036854775807, 9]}", false, "f:1:2: error:"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag errors = DIAG_INIT;
        struct shd_tree *tree = new_tree();
        int status = read_yaml(tree, cases[i].text, cases[i].is_config, &errors);
        char *text = messages(&errors);

        ok(status < 0 && strstr(text, cases[i].says), "bad: %s", cases[i].what);
        if (!strstr(text, cases[i].says))
            diag("%s", text);
        free(text);
        shd_tree_destroy(tree);
    }
}

static void test_list(void)
{
    static const char *const texts[] = {
        "{b/w: [2, 3], a: {shape: [4], dtype: bf16}}",
        "[[b/w, [2, 3]], [a, [4], bf16]]",
        "[{name: b/w, shape: [2, 3]}, {name: a, shape: [4], dtype: bfloat16}]",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct diag errors = DIAG_INIT;
        struct shd_tree *tree = new_tree();

        ok(read_yaml(tree, texts[i], false, &errors) == SHD_OK && shd_tree_count(tree) == 2 &&
               !strcmp(shd_tree_leaf(tree, 0)->name, "b/w") &&
               shd_tree_leaf(tree, 0)->dtype == SHD_F32 &&
               shd_tree_leaf(tree, 1)->dtype == SHD_BF16,
           "list: form %zu", i + 1);
        diag_fini(&errors);
        shd_tree_destroy(tree);
    }
}

/* ---- files ---- */

static void put(const char *dir, const char *name, const char *json, bool has_length)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "wb");
    if (!file)
        abort();
    for (int i = 0; has_length && i < 8; i++)
        fputc((int)(strlen(json) >> 8 * i & 0xff), file);
    fputs(json, file);
    fclose(file);
}

static void drop(const char *dir, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

static void expect(const char *path, size_t count, const char *says, const char *what)
{
    struct diag errors = DIAG_INIT;
    struct shd_tree *tree = NULL;
    int status = import_model(&tree, path, &errors);
    char *text = messages(&errors);

    if (says)
        ok(status < 0 && !tree && strstr(text, says), "files: %s", what);
    else
        ok(status == SHD_OK && tree && shd_tree_count(tree) == count, "files: %s", what);
    if (says ? !strstr(text, says) : status != SHD_OK)
        diag("%s", text);
    free(text);
    shd_tree_destroy(tree);
}

static void test_files(void)
{
    char dir[] = "import-test-XXXXXX", path[512];

    if (!mkdtemp(dir))
        abort();
    expect(dir, 0, "has no model.safetensors.index.json", "an empty directory");
    put(dir, "config.json", "{\"model_type\": \"gpt2\"}", false);
    expect(dir, 148, NULL, "a directory with a config");
    put(dir, "a.safetensors", ARRAY("F32", "[2]", "[0,8]"), true);
    put(dir, "b.safetensors", "{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        true);
    put(dir, "model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"a.safetensors\", \"b\": \"b.safetensors\"}}", false);
    expect(dir, 2, NULL, "an index comes before a config");
    put(dir, "model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"a.safetensors\", \"c\": \"b.safetensors\"}}", false);
    expect(dir, 0, "no file contains 'c'", "an index with a missing array");
    put(dir, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../a.safetensors\"}}",
        false);
    expect(dir, 0, "expected the name of a .safetensors file", "an index that leads elsewhere");
    put(dir, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"z.safetensors\"}}", false);
    expect(dir, 0, "z.safetensors: error: cannot be opened", "an index of a file that is missing");
    snprintf(path, sizeof(path), "%s/a.safetensors", dir);
    expect(path, 1, NULL, "one safetensors file");
    put(dir, "a.safetensors", "abc", false);
    expect(path, 0, "ends inside its header", "a file of three bytes");
    expect("nowhere/at/all.yaml", 0, "nowhere/at/all.yaml", "no such file");
    drop(dir, "a.safetensors");
    drop(dir, "b.safetensors");
    drop(dir, "model.safetensors.index.json");
    drop(dir, "config.json");
    rmdir(dir);
}

int main(void)
{
    plan(0);
    test_safetensors();
    test_bad_safetensors();
    test_families();
    test_bad_yaml();
    test_list();
    test_files();
    return done();
}
