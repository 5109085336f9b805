/* Interpreting the scalars of a YAML tree, and writing strings as YAML.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "base/yaml.h"

#define DESCRIBE_BYTES_MAX 60 /* of a text in a message: enough to find it again */

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static bool is_plain(const struct yaml_node *node)
{
    return node->kind == YAML_TEXT && !node->quoted;
}

static bool is_null_word(const char *text)
{
    return text[0] == '\0' || strcmp(text, "~") == 0 || is_one_of(text, "null", "Null", "NULL");
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

static size_t sign(const char *text)
{
    return *text == '-' || *text == '+';
}

static bool is_int_word(const char *text)
{
    text += sign(text);
    return digits(text) > 0 && text[digits(text)] == '\0';
}

/* [-+]? ( digits [. digits?] | . digits ) ( [eE] [-+]? digits )? */
static bool is_number_word(const char *text)
{
    text += sign(text);
    size_t nwhole = digits(text);
    size_t nfraction = 0;
    text += nwhole;
    if (*text == '.') {
        nfraction = digits(text + 1);
        text += 1 + nfraction;
    }
    if (nwhole + nfraction == 0)
        return false;
    if (*text == 'e' || *text == 'E')
        return is_int_word(text + 1);
    return *text == '\0';
}

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
    for (size_t i = 0; i < map->nitems; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
    return is_plain(node) && is_null_word(node->text);
}

bool yaml_read_int(const struct yaml_node *node, int64_t *out)
{
    if (!is_plain(node) || !is_int_word(node->text))
        return false;
    errno = 0;
    intmax_t value = strtoimax(node->text, NULL, 10);
    if (errno != 0 || value < INT64_MIN || value > INT64_MAX)
        return false;
    *out = value;
    return true;
}

bool yaml_read_double(const struct yaml_node *node, double *out)
{
    if (!is_plain(node) || !is_number_word(node->text))
        return false;
    double value = strtod(node->text, NULL);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}

bool yaml_read_bool(const struct yaml_node *node, bool *out)
{
    if (!is_plain(node))
        return false;
    bool is_true = is_one_of(node->text, "true", "True", "TRUE");
    if (!is_true && !is_one_of(node->text, "false", "False", "FALSE"))
        return false;
    *out = is_true;
    return true;
}

struct yaml_description yaml_describe(const struct yaml_node *node)
{
    struct yaml_description out;

    if (node->kind == YAML_LIST) {
        snprintf(out.text, sizeof out.text, "a list");
    } else if (node->kind == YAML_MAP) {
        snprintf(out.text, sizeof out.text, "a map");
    } else if (yaml_is_null(node)) {
        snprintf(out.text, sizeof out.text, "null");
    } else {
        size_t length = strlen(node->text);
        size_t shown = utf8_cut(node->text, length, DESCRIBE_BYTES_MAX);
        snprintf(out.text, sizeof out.text, "'%.*s%s'", (int)shown, node->text,
                 shown < length ? "..." : "");
    }
    return out;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_./+-", c));
}

/* Whether some YAML reader takes a word for something other than a string. */
static bool is_special_word(const char *text)
{
    static const char *const words[] = {
        "true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no", "No", "NO",
        "on",   "On",   "ON",   "off",   "Off",   "OFF",   "y",   "Y",   "n",   "N",
    };

    if (is_null_word(text))
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Whether every reader takes a text for a string: a word that begins with a letter or '_'. */
static bool can_be_plain(const char *text)
{
    if (is_special_word(text) || strchr("0123456789.+-/", text[0]))
        return false;
    for (const char *c = text; *c; c++)
        if (!is_word(*c))
            return false;
    return true;
}

/* Whether every character may appear in single quotes, which have no escapes. */
static bool can_be_single_quoted(const char *text)
{
    size_t length = strlen(text);

    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t n = utf8_next(text + at, length - at, &code);
        if (n == 0 || escape_is_needed(code) || escape_ends_command(text, at))
            return false;
        at += n;
    }
    return true;
}

static void print_single_quoted(struct text *out, const char *text)
{
    text_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            text_add_char(out, '\'');
        text_add_char(out, *text);
    }
    text_add_char(out, '\'');
}

void yaml_print_quoted(struct text *out, const char *text)
{
    size_t length = strlen(text);

    text_add_char(out, '"');
    for (size_t at = 0; at < length;) {
        uint32_t code = 0xfffd; /* for bytes that are not UTF-8 */
        size_t n = utf8_next(text + at, length - at, &code);
        if (code == '"' || code == '\\')
            text_addf(out, "\\%c", (char)code);
        else if (escape_is_needed(code) || escape_ends_command(text, at))
            text_addf(out, "\\U%08X", (unsigned)code);
        else if (n == 0)
            text_add(out, "\xef\xbf\xbd");
        else
            text_add_bytes(out, text + at, n);
        at += n ? n : 1;
    }
    text_add_char(out, '"');
}

void yaml_print_string(struct text *out, const char *string)
{
    if (can_be_plain(string))
        text_add(out, string);
    else if (can_be_single_quoted(string))
        print_single_quoted(out, string);
    else
        yaml_print_quoted(out, string);
}
