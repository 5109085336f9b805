/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/sum.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/reader.h"

struct sum {
    const char *at;
    const struct shell_state *state;
    const char *culprit;
    size_t culprit_length;
    int depth;
    bool failed;
};

/* Of two operators with the same beginning the longer comes first. */
static const struct operator{
    const char *name;
    int rank;
} operators[] = {
    {"**", 8}, {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<<", 5},
    {">>", 5}, {"<", 4},  {">", 4},  {"+", 6},  {"-", 6},  {"*", 7},  {"/", 7},  {"%", 7},
};

static int64_t fail(struct sum *sum)
{
    sum->failed = true;
    return 0;
}

static void skip_spaces(struct sum *sum)
{
    while (shell_is_space(*sum->at))
        sum->at++;
}

/* Read a text that is a whole number in decimal digits. */
static bool read_whole(int64_t *out, const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    *out = number;
    return end != text && !*end && !errno && !shell_is_space(*text) &&
           (text[0] != '0' || !text[1]); /* 010 is 8 in a shell */
}

static int64_t read_variable(struct sum *sum)
{
    size_t length = shell_name_length(sum->at);
    const struct shell_variable *v = shell_state_find(sum->state, sum->at, length);
    int64_t value = 0;

    if (!v || !v->set || v->value.count == 0 ||
        shell_words_doubt(&v->value, 0, 0, v->value.list[0].length) < v->value.list[0].length) {
        sum->culprit = sum->at;
        sum->culprit_length = length;
        return fail(sum);
    }
    sum->at += length;
    return read_whole(&value, shell_words_text(&v->value, 0)) ? value : fail(sum);
}

static int64_t read_number(struct sum *sum)
{
    size_t length = strspn(sum->at, "0123456789");
    struct text digits = TEXT_INIT;
    int64_t value = 0;

    text_add_bytes(&digits, sum->at, length);
    sum->at += length;
    if (isalpha((unsigned char)*sum->at) || *sum->at == '#' || *sum->at == '_' ||
        !read_whole(&value, text_get(&digits)))
        fail(sum);
    text_fini(&digits);
    return value;
}

static const struct operator*next_operator(const struct sum *sum)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t length = strlen(operators[i].name);

        if (!strncmp(sum->at, operators[i].name, length))
            return sum->at[length] == '=' ? NULL : &operators[i]; /* += assigns */
    }
    return NULL;
}

static int64_t power(struct sum *sum, int64_t base, int64_t exponent)
{
    int64_t out = 1;

    if (exponent < 0 || exponent > 63)
        return fail(sum);
    while (exponent-- > 0)
        if (__builtin_mul_overflow(out, base, &out))
            return fail(sum);
    return out;
}

static int64_t compare(const char *name, int64_t a, int64_t b)
{
    switch (name[0]) {
    case '|':
        return a || b;
    case '&':
        return a && b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return name[1] ? a <= b : a < b;
    default:
        return name[1] ? a >= b : a > b;
    }
}

static int64_t apply(struct sum *sum, const struct operator*o, int64_t a, int64_t b)
{
    int64_t out = 0;
    bool over = false;

    if (o->rank < 5)
        return compare(o->name, a, b);
    if (o->rank == 5)
        return a < 0 || b < 0 || b > 62 || (o->name[0] == '<' && a > INT64_MAX >> b) ? fail(sum)
               : o->name[0] == '<'                                                  ? a << b
                                                                                    : a >> b;
    if (o->rank == 8)
        return power(sum, a, b);
    if (o->name[0] == '/' || o->name[0] == '%') {
        if (b == 0 || (a == INT64_MIN && b == -1))
            return fail(sum);
        return o->name[0] == '/' ? a / b : a % b;
    }
    over = o->name[0] == '+'   ? __builtin_add_overflow(a, b, &out)
           : o->name[0] == '-' ? __builtin_sub_overflow(a, b, &out)
                               : __builtin_mul_overflow(a, b, &out);
    return over ? fail(sum) : out;
}

static int64_t read_sum(struct sum *sum, int rank);

/* Read a number, a variable, a sum in brackets, or one of these after a sign. */
static int64_t read_operand(struct sum *sum)
{
    char c;
    int64_t value;

    skip_spaces(sum);
    c = *sum->at;
    if (sum->failed || ++sum->depth > 100 || !c)
        return fail(sum);
    if (c == '(') {
        sum->at++;
        value = read_sum(sum, 0);
        if (*sum->at != ')')
            return fail(sum);
        sum->at++;
    } else if ((c == '-' || c == '+' || c == '!') && sum->at[1] != c) {
        sum->at++;
        value = read_operand(sum);
        if (c == '-' && __builtin_sub_overflow(0, value, &value))
            return fail(sum);
        value = c == '!' ? !value : value;
    } else {
        value = isdigit((unsigned char)c)          ? read_number(sum)
                : shell_name_length(sum->at) > 0 ? read_variable(sum)
                                                 : fail(sum);
    }
    sum->depth--;
    return value;
}

/* Read a sum with operators of at least `rank`, from left to right within a rank, except powers. */
static int64_t read_sum(struct sum *sum, int rank)
{
    int64_t value = read_operand(sum);

    for (;;) {
        const struct operator*o;
        int64_t right;

        skip_spaces(sum);
        o = next_operator(sum);
        if (sum->failed || !o || o->rank < rank)
            return value;
        sum->at += strlen(o->name);
        if (++sum->depth > 100)
            return fail(sum);
        right = read_sum(sum, o->rank == 8 ? 8 : o->rank + 1);
        sum->depth--;
        value = sum->failed ? 0 : apply(sum, o, value, right);
    }
}

bool shell_sum(int64_t *out, const char *text, const struct shell_state *state,
               const char **culprit, size_t *length)
{
    struct sum sum = {.at = text, .state = state};
    int64_t value = read_sum(&sum, 0);

    *culprit = sum.culprit;
    *length = sum.culprit_length;
    if (sum.failed || *sum.at)
        return false;
    *out = value;
    return true;
}
