/* Parsing partition specs (spec_parse.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "spec_parse.h"

#include <stdlib.h>
#include <string.h>

static const char white[] = " \t\r\n";
static const char special[] = " \t\r\n,[](){}'\"\\#:";

static bool is_none(const char *word, size_t length)
{
    static const char *const words[] = {"None", "null", "Null", "NULL", "~"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == length && !memcmp(word, words[i], length))
            return true;
    }
    return false;
}

bool spec_parse_is_plain(const char *name)
{
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p < ' ')
            return false;
    }
    return name[0] != '\0' && name[strcspn(name, special)] == '\0' && !is_none(name, strlen(name));
}

static int fail(const struct spec_parse *parse, const char *what, struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL, "partition spec, column %zu: %s",
                         (size_t)(parse->at - parse->text) + 1, what);
}

static void skip_white(struct spec_parse *parse)
{
    parse->at += strspn(parse->at, white);
}

/* The bracket that closes the list that starts here; 0 if no list starts. */
static char closing(const struct spec_parse *parse)
{
    return *parse->at == '(' ? ')' : *parse->at == '[' ? ']' : '\0';
}

/* Read a quoted name.  A backslash makes the next character literal. */
static int read_quoted(struct spec_parse *parse, struct shd_error *err)
{
    char quote = *parse->at;
    const char *p = parse->at + 1;

    while (*p && *p != quote) {
        if (*p == '\\' && p[1])
            p++;
        *parse->end++ = *p++;
    }
    if (!*p)
        return fail(parse, "a quote is not closed", err);
    parse->at = p + 1;
    return SHD_OK;
}

/* Read the name of an axis, or a word for none, which adds no axis. */
static int read_name(struct spec_parse *parse, bool none_allowed, struct shd_error *err)
{
    char *name = parse->end;

    if (*parse->at == '\'' || *parse->at == '"') {
        int status = read_quoted(parse, err);

        if (status)
            return status;
    } else {
        size_t length = strcspn(parse->at, special);

        if (length == 0)
            return fail(parse, "an axis name, none or a list was expected", err);
        if (is_none(parse->at, length)) {
            if (!none_allowed)
                return fail(parse, "none among the axes of one entry", err);
            parse->at += length;
            return SHD_OK;
        }
        memcpy(name, parse->at, length);
        parse->end += length;
        parse->at += length;
    }
    *parse->end++ = '\0';
    parse->axes[parse->naxes++] = name;
    return SHD_OK;
}

static int read_entry(struct spec_parse *parse, struct shd_error *err);

/* Read a list from its opening bracket on: of entries (depth 0), or of the names of one entry
 * (depth 1). */
static int read_list(struct spec_parse *parse, int depth, struct shd_error *err)
{
    char close = closing(parse);

    parse->at++;
    for (skip_white(parse); *parse->at != close; skip_white(parse)) {
        int status = depth == 0 ? read_entry(parse, err) : read_name(parse, false, err);

        if (status)
            return status;
        skip_white(parse);
        if (*parse->at == ',')
            parse->at++;
        else if (*parse->at != close)
            return fail(parse, close == ')' ? "',' or ')' was expected" : "',' or ']' was expected",
                        err);
    }
    parse->at++;
    return SHD_OK;
}

static int read_entry(struct spec_parse *parse, struct shd_error *err)
{
    struct shd_spec_entry *entry = &parse->entries[parse->nentries++];
    size_t first = parse->naxes;
    int status = closing(parse) ? read_list(parse, 1, err) : read_name(parse, true, err);

    *entry = (struct shd_spec_entry){parse->axes + first, parse->naxes - first};
    return status;
}

static void skip_constructor(struct spec_parse *parse)
{
    static const char *const names[] = {"PartitionSpec", "P"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);

        if (!strncmp(parse->at, names[i], length) && parse->at[length] == '(') {
            parse->at += length;
            return;
        }
    }
}

int spec_parse_run(struct spec_parse *parse, const char *text, struct shd_error *err)
{
    size_t size = strlen(text) + 1; /* each entry and each name takes at least a character of the
                                       text */

    parse->text = text;
    parse->at = text;
    parse->entries = calloc(size, sizeof(*parse->entries));
    parse->axes = calloc(size, sizeof(*parse->axes));
    parse->names = malloc(2 * size);
    parse->end = parse->names;
    if (!parse->entries || !parse->axes || !parse->names)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partition spec");

    skip_white(parse);
    skip_constructor(parse);
    if (!closing(parse))
        return fail(parse, "'P(', '(' or '[' was expected", err);

    int status = read_list(parse, 0, err);

    if (status)
        return status;
    skip_white(parse);
    return *parse->at ? fail(parse, "something follows the spec", err) : SHD_OK;
}

void spec_parse_fini(struct spec_parse *parse)
{
    free(parse->entries);
    free(parse->axes);
    free(parse->names);
}
