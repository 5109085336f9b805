/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/assign.h"
#include "shell/expand.h"
#include "shell/sum.h"

enum shell_tri shell_and(enum shell_tri a, enum shell_tri b)
{
    if (a == SHELL_NO || b == SHELL_NO)
        return SHELL_NO;
    return a == SHELL_YES && b == SHELL_YES ? SHELL_YES : SHELL_UNSURE;
}

enum shell_tri shell_not(enum shell_tri a)
{
    return a == SHELL_UNSURE ? a : a == SHELL_YES ? SHELL_NO : SHELL_YES;
}

enum shell_tri shell_or(enum shell_tri a, enum shell_tri b)
{
    return shell_not(shell_and(shell_not(a), shell_not(b)));
}

static enum shell_tri tri(bool holds)
{
    return holds ? SHELL_YES : SHELL_NO;
}

/* ---- patterns ---- */

struct pattern {
    const struct shell_words *words;
    size_t word;
};

static char pattern_byte(const struct pattern *p, size_t at, bool *quoted)
{
    *quoted = shell_words_origin(p->words, p->word, at).quoted;
    return shell_words_text(p->words, p->word)[at];
}

/* Length of [...] from its first byte; *has: `c` is in the set; 0: the set does not end. */
static size_t match_set(const struct pattern *p, size_t from, char c, bool *has)
{
    const char *text = shell_words_text(p->words, p->word);
    size_t length = p->words->list[p->word].length, at = from + 1;
    bool no = at < length && (text[at] == '!' || text[at] == '^');
    size_t first = at + no;

    *has = false;
    for (at = first; at < length && (text[at] != ']' || at == first); at++)
        if (at + 2 < length && text[at + 1] == '-' && text[at + 2] != ']') {
            *has |= text[at] <= c && c <= text[at + 2];
            at += 2;
        } else {
            *has |= text[at] == c;
        }
    *has ^= no;
    return at < length ? at + 1 - from : 0;
}

/* How many bytes of the pattern match one byte of the text; 0: no match. */
static size_t match_one(const struct pattern *p, size_t at, char c)
{
    bool quoted, has;
    char byte = pattern_byte(p, at, &quoted);
    size_t length;

    if (!quoted && byte == '?')
        return 1;
    length = !quoted && byte == '[' ? match_set(p, at, c, &has) : 0;
    if (length > 0)
        return has ? length : 0;
    return byte == c;
}

/* If the rest does not match, the last star takes one byte more. */
static bool match(const struct pattern *p, const char *text)
{
    size_t length = p->words->list[p->word].length, at = 0, star = length, n;
    const char *after = NULL;
    bool quoted;

    while (*text) {
        if (at < length && pattern_byte(p, at, &quoted) == '*' && !quoted) {
            star = at++;
            after = text;
        } else if (at < length && (n = match_one(p, at, *text)) > 0) {
            at += n;
            text++;
        } else if (after) {
            at = star + 1;
            text = ++after;
        } else {
            return false;
        }
    }
    while (at < length && pattern_byte(p, at, &quoted) == '*' && !quoted)
        at++;
    return at == length;
}

/* ---- doubts ---- */

static bool is_known(const struct shell_words *words, size_t word)
{
    size_t length = words->list[word].length;

    return shell_words_doubt(words, word, 0, length) == length;
}

/* Leave a condition undecided because of a word in doubt. */
static enum shell_tri unsure(struct shell *s, const struct shell_words *words, size_t word,
                             enum shell_tri is_empty)
{
    size_t at = shell_words_doubt(words, word, 0, words->list[word].length);
    struct shell_origin origin = shell_words_origin(words, word, at);
    char *name = shell_deciding(s, origin);
    const struct shell_variable *v =
        name ? shell_state_find(&s->state, name, strlen(name)) : NULL;

    s->cause = shell_cause_add(s, origin.at, name, v && v->set ? SHELL_UNSURE : is_empty);
    free(name);
    return SHELL_UNSURE;
}

enum shell_tri shell_match(struct shell *s, const struct shell_words *words, size_t word,
                           const struct shell_words *patterns, size_t pattern)
{
    const struct pattern p = {patterns, pattern};
    bool quoted;

    if (patterns->list[pattern].length == 1 && pattern_byte(&p, 0, &quoted) == '*' && !quoted)
        return SHELL_YES;
    if (!is_known(words, word))
        return unsure(s, words, word, SHELL_UNSURE);
    if (!is_known(patterns, pattern))
        return unsure(s, patterns, pattern, SHELL_UNSURE);
    return tri(shell_spend(s, words->list[word].length + patterns->list[pattern].length) &&
               match(&p, shell_words_text(words, word)));
}

/* ---- tests ---- */

struct test {
    struct shell *s;
    const struct shell_words *words;
    size_t at, end;
    bool twice;
    int depth;
};

static bool is_word(const struct test *t, size_t word, const char *text)
{
    return word < t->end && !strcmp(shell_words_text(t->words, word), text) &&
           is_known(t->words, word) && (!t->twice || !shell_words_origin(t->words, word, 0).quoted);
}

/* Whether a word is empty. */
static enum shell_tri test_empty(struct test *t, size_t word, enum shell_tri is_empty)
{
    size_t length = t->words->list[word].length;

    for (size_t i = 0; i < length; i++)
        if (shell_words_origin(t->words, word, i).doubt == SHELL_SURE)
            return SHELL_NO;
    return length == 0 ? SHELL_YES : unsure(t->s, t->words, word, is_empty);
}

static enum shell_tri test_set(struct test *t, size_t word)
{
    const char *name = shell_words_text(t->words, word);
    const struct shell_variable *v = shell_state_find(&t->s->state, name, strlen(name));

    if (v && v->set)
        return SHELL_YES;
    t->s->cause =
        shell_cause_add(t->s, shell_words_at(t->words, word, 0), name, SHELL_NO);
    return SHELL_UNSURE;
}

/* Decide -z WORD, -n WORD, -v NAME; other tests ask for files. */
static enum shell_tri test_one(struct test *t)
{
    size_t word = t->at + 1;
    char which = shell_words_text(t->words, t->at)[1];

    t->at += 2;
    if (which == 'z')
        return test_empty(t, word, SHELL_YES);
    if (which == 'n')
        return shell_not(test_empty(t, word, SHELL_NO));
    if (which == 'v' && is_known(t->words, word))
        return test_set(t, word);
    t->s->cause = shell_cause_add(t->s, shell_words_at(t->words, word - 1, 0), NULL, SHELL_UNSURE);
    return SHELL_UNSURE;
}

static enum shell_tri compare_numbers(struct test *t, const char *how)
{
    static const char *const names[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    int64_t a = 0, b = 0;
    const char *culprit;
    size_t length, i = 0;
    bool both;

    if (!is_known(t->words, t->at))
        return unsure(t->s, t->words, t->at, SHELL_UNSURE);
    if (!is_known(t->words, t->at + 2))
        return unsure(t->s, t->words, t->at + 2, SHELL_UNSURE);
    both = shell_sum(&a, shell_words_text(t->words, t->at), &t->s->state, &culprit, &length) &&
           shell_sum(&b, shell_words_text(t->words, t->at + 2), &t->s->state, &culprit, &length);
    if (!both) {
        t->s->cause =
            shell_cause_add(t->s, shell_words_at(t->words, t->at, 0), NULL, SHELL_UNSURE);
        return SHELL_UNSURE;
    }
    while (i < 5 && strcmp(names[i], how) != 0)
        i++;
    return tri(i == 0   ? a == b
               : i == 1 ? a != b
               : i == 2 ? a < b
               : i == 3 ? a <= b
               : i == 4 ? a > b
                        : a >= b);
}

static enum shell_tri compare_words(struct test *t)
{
    const struct shell_words *w = t->words;

    if (t->twice)
        return shell_match(t->s, w, t->at, w, t->at + 2);
    if (is_known(w, t->at + 2) && w->list[t->at + 2].length == 0)
        return test_empty(t, t->at, SHELL_YES);
    if (!is_known(w, t->at))
        return unsure(t->s, w, t->at, SHELL_UNSURE);
    if (!is_known(w, t->at + 2))
        return unsure(t->s, w, t->at + 2, SHELL_UNSURE);
    return tri(!strcmp(shell_words_text(w, t->at), shell_words_text(w, t->at + 2)));
}

/* Decide WORD = WORD, WORD -eq WORD and the like; false: no such test comes next. */
static bool test_two(struct test *t, enum shell_tri *out)
{
    static const char *const numbers[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    const char *how = t->at + 2 < t->end ? shell_words_text(t->words, t->at + 1) : "";

    if (!strcmp(how, "=") || !strcmp(how, "==")) {
        *out = compare_words(t);
    } else if (!strcmp(how, "!=")) {
        *out = shell_not(compare_words(t));
        if (*out == SHELL_UNSURE)
            shell_cause_change(t->s, true);
    } else if (!strcmp(how, "=~") || !strcmp(how, "<") || !strcmp(how, ">") ||
               !strcmp(how, "-nt") || !strcmp(how, "-ot") || !strcmp(how, "-ef")) {
        *out = SHELL_UNSURE;
        t->s->cause =
            shell_cause_add(t->s, shell_words_at(t->words, t->at, 0), NULL, SHELL_UNSURE);
    } else {
        size_t i = 0;

        while (i < 6 && strcmp(numbers[i], how) != 0)
            i++;
        if (i == 6)
            return false;
        *out = compare_numbers(t, how);
    }
    t->at += 3;
    return true;
}

static enum shell_tri test_or(struct test *t);

static enum shell_tri test_primary(struct test *t)
{
    enum shell_tri out;
    const char *word;

    if (t->at >= t->end || ++t->depth > SHELL_NESTED_MAX)
        return SHELL_NO;
    if (test_two(t, &out))
        return out;
    if (is_word(t, t->at, "!")) {
        t->at++;
        out = shell_not(test_primary(t));
        if (out == SHELL_UNSURE)
            shell_cause_change(t->s, true);
        return out;
    }
    if (is_word(t, t->at, "(")) {
        t->at++;
        out = test_or(t);
        t->at += is_word(t, t->at, ")");
        return out;
    }
    word = shell_words_text(t->words, t->at);
    if (word[0] == '-' && word[1] && !word[2] && t->at + 1 < t->end && is_known(t->words, t->at))
        return test_one(t);
    return shell_not(test_empty(t, t->at++, SHELL_NO));
}

/* The cause of a part without effect is not kept. */
static enum shell_tri test_and(struct test *t)
{
    enum shell_tri out = test_primary(t);

    while (is_word(t, t->at, "&&") || (!t->twice && is_word(t, t->at, "-a"))) {
        t->at++;
        out = shell_and(out, test_primary(t));
        shell_cause_change(t->s, false);
    }
    return out;
}

static enum shell_tri test_or(struct test *t)
{
    enum shell_tri out = test_and(t);

    while (is_word(t, t->at, "||") || (!t->twice && is_word(t, t->at, "-o"))) {
        t->at++;
        out = shell_or(out, test_and(t));
        shell_cause_change(t->s, false);
    }
    return out;
}

enum shell_tri shell_test(struct shell *s, const struct shell_words *words, size_t first,
                          size_t end, bool twice)
{
    struct test t = {.s = s, .words = words, .at = first, .end = end, .twice = twice};
    uint16_t before = s->cause;
    enum shell_tri out = test_or(&t);

    if (t.at < end || t.depth > SHELL_NESTED_MAX) { /* too many words make the test false */
        for (size_t i = first; i < end; i++)
            if (!is_known(words, i))
                return unsure(s, words, i, SHELL_UNSURE);
        out = SHELL_NO;
    }
    if (out != SHELL_UNSURE)
        s->cause = before;
    return out;
}

/* ---- [[ ... ]] and ((...)) ---- */

static void skip_lines(struct shell *s)
{
    for (shell_skip_gap(s); *shell_here(s) == '\n'; shell_skip_gap(s))
        s->in.at++;
}

static void put_operator(struct shell *s, struct shell_words *out, size_t length)
{
    for (size_t i = 0; i < length; i++, s->in.at++)
        shell_words_put(out, *shell_here(s), shell_origin(s, s->in.at));
    shell_words_close(out);
}

static void read_test_word(struct shell *s, struct shell_words *out)
{
    bool regex = out->count > 0 && !strcmp(shell_words_text(out, out->count - 1), "=~");

    shell_words_open(out, shell_origin(s, s->in.at).at);
    if (regex)
        while (*shell_here(s) && !shell_is_space(*shell_here(s)) && !shell_is_over(s))
            shell_read_part(s, out, SHELL_WHOLE);
    else
        shell_read_word(s, out, SHELL_WHOLE);
    shell_words_close(out);
}

enum shell_tri shell_read_test(struct shell *s)
{
    struct shell_words words = {.count = 0};
    enum shell_tri out = SHELL_NO;

    s->in.at += 2;
    for (skip_lines(s); *shell_here(s) && !shell_at_word(s, "]]") && !shell_is_over(s);
         skip_lines(s)) {
        if (!strncmp(shell_here(s), "&&", 2) || !strncmp(shell_here(s), "||", 2))
            put_operator(s, &words, 2);
        else if (strchr("()<>;&|", *shell_here(s)))
            put_operator(s, &words, 1);
        else
            read_test_word(s, &words);
    }
    shell_expect(s, "]]");
    if (s->skipping == 0 && !words.failed)
        out = shell_test(s, &words, 0, words.count, true);
    shell_words_fini(&words);
    return out;
}

enum shell_tri shell_run_sum(struct shell *s)
{
    size_t from = s->in.at;
    int64_t value = 0;
    uint16_t cause;
    bool known = shell_read_sum(s, &value, &cause);

    if (known)
        return value ? SHELL_YES : SHELL_NO;
    if (s->skipping == 0)
        shell_forget_assigned(s, from, s->in.at);
    s->cause = cause;
    return SHELL_UNSURE;
}
