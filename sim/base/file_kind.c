/* Guessing the kind of a file from its first bytes (base/file_kind.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/file_kind.h"

#include <ctype.h>
#include <string.h>

#define LOOKED_AT_MAX                                                          \
    ((size_t)64 << 10) /* bytes of a file: what tells its kind is near the top \
                        */

static const struct {
    const char *name;
    const char *reader; /* what reads such a file, a phrase for messages */
} kinds[] = {
    [FILE_UNKNOWN] = {"a file of unknown kind", ""},
    [FILE_CLUSTER] = {"the file of a cluster", "a scenario names it: 'hardware: FILE'"},
    [FILE_CONFIG] = {"the config.json of a model",
                     "a scenario names it: 'model: {kind: llama3, from: FILE}'"},
    [FILE_GIN] = {"a gin file of T5X", "'shardsim import --from t5x FILE' makes a scenario of it"},
    [FILE_MEGATRON] = {"a command with options of Megatron-LM",
                       "'shardsim import --from megatron FILE' makes a scenario of it"},
    [FILE_MODULE] = {"the text of a compiled XLA module", "'shardsim replay FILE' reads it"},
    [FILE_NCCL] = {"the output of nccl-tests", "'shardsim calibrate --collectives FILE' reads it"},
    [FILE_PAGE] = {"an HTML page", "a browser opens it"},
    [FILE_PYTHON] = {"a Python program", "python3 runs it"},
    [FILE_RESULT] = {"a result that --json printed",
                     "to compare results use --save and 'shardsim runs'"},
    [FILE_RULES] = {"a list of partition rules",
                    "'shardsim import --from easydel FILE' makes a scenario of it"},
    [FILE_RUNS] = {"a database of kept runs",
                   "'shardsim runs --file=FILE' reads it; '--save=FILE' of a command adds a run to it"},
    [FILE_SCENARIO] = {"a scenario", "'shardsim plan FILE' reads it"},
    [FILE_SERVER] = {"a command of a server",
                     "'shardsim import --from vllm FILE', or sglang, makes a scenario of it"},
    [FILE_STEPS] = {"a list of measured steps, one JSON object per line",
                    "'shardsim calibrate --steps FILE' reads it"},
    [FILE_TORCHTITAN] = {"a file of options of torchtitan",
                         "'shardsim import --from torchtitan FILE' makes a scenario of it"},
    [FILE_TITAN_PYTHON] = {"a configuration of torchtitan in Python",
                           "torchtitan writes its result as JSON with --debug.save_config_file "
                           "FILE; 'shardsim import --from torchtitan FILE' reads the JSON"},
    [FILE_TRACE] = {"a trace", "https://ui.perfetto.dev opens it, and 'shardsim replay FILE' "
                               "counts the collectives of a PyTorch trace"},
};

/* The first part of a text, which is searched. */
struct head {
    const char *text;
    size_t length;
};

static bool has(struct head head, const char *word)
{
    return memmem(head.text, head.length, word, strlen(word)) != NULL;
}

static bool begins(struct head head, const char *word)
{
    return head.length >= strlen(word) && !memcmp(head.text, word, strlen(word));
}

/* Whether some line begins with a word. */
static bool has_line(struct head head, const char *word)
{
    for (;;) {
        const char *end;

        if (begins(head, word))
            return true;
        end = head.length ? memchr(head.text, '\n', head.length) : NULL;
        if (!end)
            return false;
        head.length -= (size_t)(end + 1 - head.text);
        head.text = end + 1;
    }
}

static bool has_any_line(struct head head, const char *const *words)
{
    for (; *words; words++)
        if (has_line(head, *words))
            return true;
    return false;
}

/* The kind of a text that starts with '{' or '['. */
static enum file_kind guess_json(struct head head)
{
    if (has(head, "\"schema\": \"shardsim."))
        return FILE_RESULT;
    if (has(head, "\"parallelism\"") && has(head, "\"training\""))
        return FILE_TORCHTITAN;
    if (has(head, "\"traceEvents\"") || has(head, "-chakra."))
        return FILE_TRACE;
    return has(head, "\"model_type\"") || has(head, "\"hidden_size\"") ? FILE_CONFIG : FILE_UNKNOWN;
}

static enum file_kind guess_lines(struct head head)
{
    static const char *const of_clusters[] = {"rates:", "tiers:", NULL};
    static const char *const of_scenarios[] = {"mesh:", "model:", "graph:", "strategies:", NULL};
    static const char *const of_torchtitan[] = {"[parallelism]", "[training]", "[model]", NULL};
    static const char *const of_titan[] = {"from torchtitan", "import torchtitan", NULL};
    static const char *const of_python[] = {"import jax", "import torch", "from jax",
                                            "from torch", "def ",         NULL};

    if (has_line(head, "version:") && has_any_line(head, of_scenarios))
        return FILE_SCENARIO;
    if (has_line(head, "version:") && has_any_line(head, of_clusters))
        return FILE_CLUSTER;
    if (has_any_line(head, of_torchtitan))
        return FILE_TORCHTITAN;
    if (has_line(head, "from __gin__") || has(head, "PjitPartitioner"))
        return FILE_GIN;
    if (has_any_line(head, of_titan) || has(head, "Trainer.Config("))
        return FILE_TITAN_PYTHON;
    if (has(head, "get_partition_rules") || has(head, "partition_rules ="))
        return FILE_RULES;
    if (has(head, "vllm serve") || has(head, "vllm.entrypoints") || has(head, "sglang"))
        return FILE_SERVER;
    if (has_any_line(head, of_python))
        return FILE_PYTHON;
    return has(head, "--tensor-model-parallel-size") || has(head, "--num-layers") ? FILE_MEGATRON
                                                                                  : FILE_UNKNOWN;
}

enum file_kind file_kind_guess(const char *text, size_t length)
{
    struct head head = {text, length < LOOKED_AT_MAX ? length : LOOKED_AT_MAX};

    if (begins(head, "SQLite format 3"))
        return FILE_RUNS;
    while (head.length && isspace((unsigned char)*head.text)) {
        head.text++;
        head.length--;
    }
    if (begins(head, "HloModule"))
        return FILE_MODULE;
    if (begins(head, "<!DOCTYPE") || begins(head, "<html"))
        return FILE_PAGE;
    if (begins(head, "{") || begins(head, "[{") || begins(head, "[\n"))
        return guess_json(head);
    return guess_lines(head);
}

bool file_kind_refuse(struct diag *diag, const char *path, const char *text, size_t length,
                      enum file_kind wanted)
{
    enum file_kind kind = file_kind_guess(text, length);

    if (kind == wanted || kind == FILE_UNKNOWN)
        return false;
    diag_error(diag, (struct place){path, 1, 1}, "this is %s; expected %s; %s", kinds[kind].name,
               kinds[wanted].name, kinds[kind].reader);
    return true;
}
