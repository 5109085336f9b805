/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <shd/match.h>

#include "base/file.h"
#include "command/conversion.h"

#define NUMBER_MAX ((int64_t)1 << 30)

bool check_is_script(const char *name)
{
    return !text_ends_with(name, ".yaml") && !text_ends_with(name, ".yml");
}

/* The system of a file's job, whose text goes to `text`; NULL: none. */
static const struct conversion_source *source_of(const char *path, struct text *text)
{
    struct shd_error err;

    return file_read(text, path, IMPORT_JOB_BYTES_MAX, &err) == SHD_OK
               ? conversion_source_guess(text_get(text), text->length)
               : NULL;
}

bool check_is_job(const char *path)
{
    struct text text = TEXT_INIT;
    bool is = source_of(path, &text) != NULL;

    text_fini(&text);
    return is;
}

bool check_say_kind(const char *path)
{
    struct text text = TEXT_INIT;
    struct diag diag = DIAG_INIT;
    bool told;

    (void)source_of(path, &text);
    told = file_kind_refuse(&diag, path, text_get(&text), text.length, FILE_SCENARIO);
    diag_write(&diag, stderr);
    diag_fini(&diag);
    text_fini(&text);
    return told;
}

bool check_launches(const char *path)
{
    struct text text = TEXT_INIT;
    const struct conversion_source *source = source_of(path, &text);
    bool launches = source && conversion_launches(source, path, &text);

    text_fini(&text);
    return launches;
}

/* ---- words ---- */

/* The length of what a word gives a value to: "hardware", or a variable: "set=NODES". */
static size_t key_length(const char *word)
{
    size_t name = strcspn(word, "=");

    return strncmp(word, "set=", 4) ? name : name + 1 + strcspn(word + name + 1, "=");
}

/* What follows a key of so many characters; "": nothing does. */
static const char *value_of(const char *word, size_t length)
{
    return word + length + (word[length] == '=');
}

static int64_t read_number(const char *word, const char *value, struct diag *diag)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (end != value && !*end && errno == 0 && number >= 1 && number <= NUMBER_MAX)
        return number;
    diag_error(diag, (struct place){NULL, 0, 0}, "--%.60s: expected a whole number from 1 to %lld",
               word, (long long)NUMBER_MAX);
    return 1;
}

static void read_word(struct check_script *s, struct conversion *o, const char *word,
                      struct diag *diag)
{
    size_t length = strcspn(word, "=");
    const char *value = value_of(word, length);
    const struct {
        const char *name;
        int64_t *number;
        const char **text;
    } fields[] = {
        {"devices", &o->request.devices, NULL}, {"batch", &o->request.batch, NULL},
        {"seq", &o->request.seq, NULL},         {"vocab", &o->vocab, NULL},
        {"model", NULL, &o->request.model},     {"hardware", NULL, &s->hardware},
        {"set", NULL, &o->given[o->ngiven]},    {"with", NULL, &o->with[o->nwith].path},
    };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) != length || strncmp(fields[i].name, word, length) != 0)
            continue;
        if (fields[i].number)
            *fields[i].number = read_number(word, value, diag);
        else
            *fields[i].text = value;
        o->ngiven += fields[i].text == &o->given[o->ngiven];
        o->nwith += fields[i].text == &o->with[o->nwith].path;
        return;
    }
    diag_error(diag, (struct place){NULL, 0, 0}, "--%.60s is not an option of a launch script",
               word);
}

static const char *file_of(const char *word, size_t length)
{
    const char *value = value_of(word, length), *slash = strrchr(value, '/');

    return slash ? slash + 1 : value;
}

/* Whether a word takes the place of another.  Scripts know other files by their names alone. */
static bool replaces(const char *word, const char *other)
{
    size_t length = key_length(word);

    return length == key_length(other) && !strncmp(word, other, length) &&
           (strncmp(word, "with=", 5) != 0 ||
            !strcmp(file_of(word, length), file_of(other, length)));
}

/* The last of the words that takes the place of another; NULL: none does. */
static const char *find_word(const char *const *words, size_t n, const char *other)
{
    while (n-- > 0)
        if (replaces(words[n], other))
            return words[n];
    return NULL;
}

size_t check_script_merge(const char **out, const char *const *kept, size_t nkept,
                          const char *const *given, size_t ngiven)
{
    size_t n = nkept;

    for (size_t i = 0; i < nkept; i++) {
        const char *word = find_word(given, ngiven, kept[i]);

        out[i] = word ? word : kept[i];
    }
    for (size_t i = 0; i < ngiven; i++)
        if (!find_word(kept, nkept, given[i]))
            out[n++] = given[i];
    return n;
}

/* Add a word as a line of its own, "--set NODES" with its value: it has no place in any file. */
static int add_word(struct baseline *lines, const char *word)
{
    const struct place nowhere = {NULL, 0, 0};
    size_t length = key_length(word);
    struct text key = TEXT_INIT;
    int status;

    text_addf(&key, "--%.*s", (int)length, word);
    status = baseline_add_line(lines, text_get(&key), value_of(word, length), nowhere, nowhere);
    text_fini(&key);
    return status;
}

/* ---- the file ---- */

struct taker {
    struct check_script *script;
    struct diag *diag;
};

static bool take_option(void *arg, const struct import_given *option)
{
    struct taker *t = arg;

    if (option->unplanned)
        diag_error(&t->script->unplanned, option->name_place, "%s cannot be planned: %s",
                   option->name, option->unplanned);
    if (!t->script->unplanned.no_memory &&
        baseline_add_line(&t->script->lines, option->name, option->value, option->name_place,
                          option->place) == SHD_OK)
        return true;
    diag_no_memory(t->diag);
    return false;
}

static void convert(struct check_script *s, struct conversion *o, struct diag *diag)
{
    struct taker taker = {s, diag};
    struct text file = TEXT_INIT;
    struct shd_error err;
    int status = file_read(&file, o->path, IMPORT_JOB_BYTES_MAX, &err);

    o->source = conversion_source_guess(text_get(&file), file.length);
    if (status != SHD_OK)
        diag_failure(diag, (struct place){o->path, 1, 1}, status, "%s", err.text);
    else if (!o->source)
        diag_error(diag, (struct place){o->path, 1, 1},
                   "neither a scenario (.yaml, .yml) nor a job of Megatron-LM, torchtitan, vLLM or "
                   "SGLang");
    else
        conversion_of_job(o, &file, &s->scenario, &(struct conversion_taker){take_option, &taker},
                          diag);
    text_fini(&file);
}

void check_script_init(struct check_script *out, const char *path, const char *const *words,
                       size_t nwords, struct diag *diag)
{
    struct conversion o = {.request = {.min_elements = SHD_MIN_SHARDING_ELEMENTS}, .path = path};

    *out = (struct check_script){.scenario = TEXT_INIT, .unplanned = DIAG_INIT};
    out->lines.has_lines = true;
    for (size_t i = 0; i < nwords; i++) {
        if (o.ngiven == IMPORT_GIVEN_MAX - 1 || o.nwith == IMPORT_FILES_MAX - 1) {
            diag_error(diag, (struct place){NULL, 0, 0}, "too many options of a launch script");
            return;
        }
        read_word(out, &o, words[i], diag);
        if (add_word(&out->lines, words[i]) != SHD_OK)
            diag_no_memory(diag);
    }
    if (diag->nerrors == 0 && !diag->no_memory)
        convert(out, &o, diag);
}

void check_script_fini(struct check_script *script)
{
    text_fini(&script->scenario);
    baseline_fini(&script->lines);
    diag_fini(&script->unplanned);
}
