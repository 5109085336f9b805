/* Compiling patterns and searching with them (shd/regex.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/regex.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8 /* required by pcre2.h: texts of bytes */
#include <pcre2.h>

#include "find.h"
#include "literal.h"
#include "python.h"
#include "texts.h"

/* Maximum matching steps of one search, about a second's worth.  Names of arrays take dozens of
 * steps. */
#define MATCH_LIMIT 10000000

#define NEST_LIMIT 500 /* nesting of groups, of which a look-behind is two */

struct shd_regex {
    pcre2_code *code;
    pcre2_match_context *context;
    struct regex_texts *texts; /* the alternatives, if the pattern is only a choice of texts;
                                  else NULL */
    char *literal;             /* a text in every matching string; NULL: none known */
    uint64_t pairs;            /* the regex_pairs() bits that every matching string has */
};

static int out_of_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
}

static int compile(struct shd_regex *regex, const char *pattern, struct shd_error *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    int error;
    PCRE2_SIZE offset;

    if (!context)
        return out_of_memory(err);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, NEST_LIMIT);
    regex->code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_ALT_CIRCUMFLEX, &error, &offset, context);
    pcre2_compile_context_free(context);
    if (regex->code)
        return SHD_OK;

    PCRE2_UCHAR text[120];

    pcre2_get_error_message(error, text, sizeof(text));
    return shd_error_set(err, SHD_EREGEX,
                         "%s, at position %zu of '%.60s', as PCRE2 reads the pattern", (char *)text,
                         (size_t)offset, pattern);
}

/* Prepare the accelerations.  JIT code makes searches ten times as fast, but takes as long to
 * generate as hundreds of searches without it.  So it is generated only for a pattern that is more
 * than a choice of texts.  Searches work without it, too, where PCRE2 cannot generate any. */
static void speed_up(struct shd_regex *regex, const char *pattern)
{
    regex->texts = regex_texts_create(pattern);
    if (regex->texts) {
        regex->pairs = regex_texts_pairs(regex->texts);
        return;
    }
    regex->literal = regex_literal_find(pattern);
    if (regex->literal)
        regex->pairs = regex_pairs(regex->literal, strlen(regex->literal));
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
}

int shd_regex_compile(struct shd_regex **out, const char *pattern, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, pattern))
        return SHD_EINVAL;

    char *translated;
    int status = regex_python_translate(&translated, pattern, err);

    if (status)
        return status;

    struct shd_regex *regex = calloc(1, sizeof(*regex));

    if (regex)
        regex->context = pcre2_match_context_create(NULL);
    if (!regex || !regex->context) {
        status = out_of_memory(err);
    } else {
        pcre2_set_match_limit(regex->context, MATCH_LIMIT);
        status = compile(regex, translated, err);
        if (!status)
            speed_up(regex, pattern);
    }
    free(translated);
    if (status)
        shd_regex_destroy(regex);
    else
        *out = regex;
    return status;
}

void shd_regex_destroy(struct shd_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->context);
    free(regex->texts);
    free(regex->literal);
    free(regex);
}

static size_t count_chars(const char *text, size_t nbytes)
{
    size_t n = 0;

    for (size_t i = 0; i < nbytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static int explain(int error, struct shd_error *err)
{
    if (error == PCRE2_ERROR_MATCHLIMIT || error == PCRE2_ERROR_HEAPLIMIT ||
        error == PCRE2_ERROR_DEPTHLIMIT)
        return shd_error_set(err, SHD_EREGEX, "the pattern went over its match limit");
    if (error == PCRE2_ERROR_NOMEMORY)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a search");
    return shd_error_set(err, SHD_EINVAL, "the text is not UTF-8");
}

/* Search with PCRE2; returns the result of pcre2_match(), below 0 for no match and for errors.  JIT
 * code has a small stack of its own; if that overflows the interpreter is used. */
static int run(const struct shd_regex *regex, const char *text, size_t length, uint32_t options,
               pcre2_match_data *data)
{
    int n = pcre2_match(regex->code, (PCRE2_SPTR)text, length, 0, options, data, regex->context);

    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(regex->code, (PCRE2_SPTR)text, length, 0, options | PCRE2_NO_JIT, data,
                        regex->context);
    return n;
}

void regex_finder_init(struct regex_finder *finder)
{
    *finder = (struct regex_finder){0};
}

void regex_finder_fini(struct regex_finder *finder)
{
    pcre2_match_data_free(finder->data);
}

void regex_finder_set_text(struct regex_finder *finder, const char *text)
{
    unsigned char bits = 0;
    size_t n = 0;

    for (; text[n]; n++)
        bits |= (unsigned char)text[n];
    finder->text = text;
    finder->length = n;
    finder->is_ascii = bits < 0x80;
    finder->pairs = finder->is_ascii ? regex_pairs(text, n) : UINT64_MAX;
}

int regex_find(bool *found, const struct shd_regex *regex, struct regex_finder *finder,
               struct shd_error *err)
{
    if (regex->pairs & ~finder->pairs) {
        *found = false;
        return SHD_OK;
    }
    if (regex->texts && finder->is_ascii) {
        *found = regex_texts_find(regex->texts, finder->text, finder->length);
        return SHD_OK;
    }
    if (regex->literal && finder->is_ascii && !strstr(finder->text, regex->literal)) {
        *found = false;
        return SHD_OK;
    }
    if (!finder->data)
        finder->data = pcre2_match_data_create(1, NULL);
    if (!finder->data)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a search");

    int n = run(regex, finder->text, finder->length, finder->is_ascii ? PCRE2_NO_UTF_CHECK : 0,
                finder->data);

    if (n < 0 && n != PCRE2_ERROR_NOMATCH)
        return explain(n, err);
    *found = n >= 0;
    return SHD_OK;
}

int shd_regex_search(struct shd_regex_match *out, const struct shd_regex *regex, const char *text,
                     struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, regex))
        return SHD_EINVAL;
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);

    if (!data)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a search");

    int n = run(regex, text, PCRE2_ZERO_TERMINATED, 0, data);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(data);
    int status = SHD_OK;

    if (n >= 0)
        *out = (struct shd_regex_match){true, count_chars(text, span[0]),
                                        count_chars(text, span[1]), span[0], span[1]};
    else if (n == PCRE2_ERROR_NOMATCH)
        *out = (struct shd_regex_match){0};
    else
        status = explain(n, err);
    pcre2_match_data_free(data);
    return status;
}
