/* Fuzzes lines of questions with libFuzzer: each line that is not blank gets one line as its
 * answer, an object with an id and either `out` or `err`.
 *
 * The seeds are the golden questions in the folder SHARDSIM_GOLDEN, read at the start and inserted
 * by the mutator now and then, so that the corpus keeps none of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"

#define SEEDS_MAX 20000
#define SEED_BYTES_MAX 4000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static char *seeds[SEEDS_MAX];
static size_t nseeds;

static void must(int holds)
{
    if (!holds)
        abort();
}

/* Add the question of a line of golden data, without its answer. */
static void add_seed(const char *line)
{
    json_t *golden = json_loads(line, 0, NULL), *question;
    char *text;

    if (!golden || nseeds == SEEDS_MAX)
        return;
    question = json_pack("{s:i, s:O, s:O}", "id", 1, "op", json_object_get(golden, "op"), "in",
                         json_object_get(golden, "in"));
    text = question ? json_dumps(question, JSON_COMPACT) : NULL;
    if (text && strlen(text) <= SEED_BYTES_MAX)
        seeds[nseeds++] = text;
    else
        free(text);
    json_decref(question);
    json_decref(golden);
}

static void read_seeds(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    while (file && getline(&line, &room, file) > 0)
        add_seed(line);
    free(line);
    if (file)
        fclose(file);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = getenv("SHARDSIM_GOLDEN");
    char pattern[4096];
    glob_t files;

    (void)argc;
    (void)argv;
    snprintf(pattern, sizeof pattern, "%s/*/*.jsonl", folder ? folder : "");
    if (folder && glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++)
            read_seeds(files.gl_pathv[i]);
        globfree(&files);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    const char *golden = nseeds ? seeds[seed / 16 % nseeds] : "";

    if (*golden && (size < 16 || seed % 16 == 0) && strlen(golden) <= max_size) {
        size = strlen(golden);
        memcpy(data, golden, size);
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

/* Count the lines with a question, split as getline() does. */
static size_t count_questions(const uint8_t *data, size_t size)
{
    size_t n = 0;

    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t next = end ? (size_t)(end - data) + 1 : size;
        int asks = 0;

        for (; at < next; at++)
            asks |= !strchr(" \t\r\n", data[at]) || !data[at];
        n += asks != 0;
    }
    return n;
}

static size_t count_answers(char *text)
{
    size_t n = 0;

    for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text)) {
        json_t *answer = json_loads(line, 0, NULL);

        must(json_object_size(answer) == 2 && json_object_get(answer, "id") &&
             (json_object_get(answer, "out") ||
              json_string_value(json_object_get(json_object_get(answer, "err"), "message"))));
        json_decref(answer);
        n++;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *in, *out;
    char *answers = NULL;
    size_t length = 0;

    if (size == 0)
        return 0;
    in = fmemopen((void *)(uintptr_t)data, size, "r");
    out = open_memstream(&answers, &length);
    if (in && out) {
        must(query_serve(in, out, NULL, NULL) == SHD_OK);
        fflush(out);
        must(count_answers(answers) == count_questions(data, size));
    }
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    free(answers);
    return 0;
}
