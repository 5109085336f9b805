/* A command is read and run at once, from left to right; what is not taken is read and skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "import/shell.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/shell_expand.h"
#include "import/shell_fork.h"
#include "import/shell_test.h"

#define ROUND_BYTES 64 /* what a round of a loop or a call costs, beside its text */

static enum shell_tri run_list(struct shell *s);
static enum shell_tri run_command(struct shell *s);
static void run_script(struct shell *s);

static const char *here(const struct shell *s)
{
    return s->in.bytes + s->in.at;
}

static enum shell_tri unsure(struct shell *s)
{
    s->cause = SHELL_UNNAMED;
    return SHELL_UNSURE;
}

/* ---- variables ---- */

/* What is not known in a value is known once the variable is. */
static void blame(struct shell *s, struct shell_words *value, const char *name, uint32_t at)
{
    for (size_t i = 0; i < value->count; i++)
        for (size_t j = 0; j < value->list[i].length; j++) {
            struct shell_origin origin = shell_words_origin(value, i, j);
            char *known = origin.doubt == SHELL_UNKNOWN ? shell_deciding(s, origin) : NULL;

            if (origin.doubt == SHELL_UNKNOWN && !known)
                shell_words_blame(value, i, j, shell_cause_add(s, at, name, SHELL_UNSURE));
            free(known);
        }
}

/* Take a value, which is freed, for a variable. */
static void set_variable(struct shell *s, const char *name, size_t length,
                         struct shell_words *value, uint32_t at)
{
    struct shell_variable *v =
        s->skipping > 0 ? NULL : shell_state_add(&s->state, name, length);

    if (!v || v->given || value->failed) {
        if (value->failed)
            diag_no_memory(s->diag);
        shell_words_fini(value);
        return;
    }
    blame(s, value, v->name, at);
    shell_words_fini(&v->value);
    v->value = *value;
    v->set = true;
    *value = (struct shell_words){.count = 0};
}

static void set_word(struct shell *s, const char *name, size_t length,
                     const struct shell_words *from, size_t word, size_t first)
{
    struct shell_words value = {.count = 0};

    shell_words_open(&value, shell_words_at(from, word, first));
    shell_words_put_part(&value, from, word, first, from->list[word].length, SHELL_SURE, 0);
    shell_words_close(&value);
    set_variable(s, name, length, &value, shell_words_at(from, word, 0));
}

static void set_unknown(struct shell *s, const char *name, size_t length, uint32_t at)
{
    struct shell_words value = {.count = 0};

    shell_words_put(&value, '?', (struct shell_origin){at, 0, SHELL_UNKNOWN, false});
    shell_words_close(&value);
    set_variable(s, name, length, &value, at);
}

static void unset_variable(struct shell *s, const char *name, size_t length)
{
    struct shell_variable *v = shell_state_find(&s->state, name, length);

    if (v && !v->given && s->skipping == 0)
        v->set = false;
}

/* How long "NAME=" or "NAME+=" is; 0: it is none. */
static size_t assignment_length(const char *text)
{
    size_t n = shell_name_length(text), more = text[n] == '+';

    return n > 0 && text[n + more] == '=' ? n + more + 1 : 0;
}

/* NAME=WORD or NAME+=WORD: one word, of an array the first. */
static void read_one(struct shell *s, struct shell_words *value, const struct shell_words *before)
{
    struct shell_words word = {.count = 0};

    shell_words_open(&word, shell_origin(s, s->in.at).at);
    if (before && before->count > 0)
        shell_words_put_part(&word, before, 0, 0, before->list[0].length, SHELL_SURE, 0);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    shell_words_join(&word);
    shell_words_add(value, &word);
    shell_words_fini(&word);
    for (size_t i = 1; before && i < before->count; i++) {
        shell_words_open(value, before->list[i].at);
        shell_words_put_part(value, before, i, 0, before->list[i].length, SHELL_SURE, 0);
        shell_words_close(value);
    }
}

static void assign(struct shell *s, size_t length)
{
    const char *name = here(s);
    uint32_t from = shell_origin(s, s->in.at).at;
    bool more = name[length - 2] == '+', used;
    size_t named = length - 1 - more;
    struct shell_words value = {.count = 0}, before = {.count = 0};
    struct shell_variable *v = shell_state_find(&s->state, name, named);

    used = v && v->used;
    if (more && v && v->set && shell_spend(s, v->value.bytes.length))
        shell_words_add(&before, &v->value);
    s->in.at += length;
    if (*here(s) == '(') {
        shell_words_add(&value, &before);
        shell_read_array(s, &value);
    } else {
        read_one(s, &value, more && v && v->set ? &before : NULL);
    }
    shell_words_fini(&before);
    set_variable(s, name, named, &value, from);
    v = shell_state_find(&s->state, name, named);
    if (v)
        v->used = used; /* what it is made of itself is no use */
}

/* How long "NAME[...]=" or "NAME[...]+=" is; 0: it is none. */
static size_t element_length(const char *text)
{
    size_t n = shell_name_length(text), m = n;

    if (n == 0 || text[n] != '[')
        return 0;
    m += strcspn(text + n, "]= \t\n;|&()<>\"'");
    if (text[m] != ']')
        return 0;
    m += text[m + 1] == '+' ? 2 : 1;
    return text[m] == '=' ? m + 1 : 0;
}

/* A list of which one element is changed is not known any more. */
static void assign_element(struct shell *s, size_t length)
{
    struct shell_words value = {.count = 0};
    const char *name = here(s);
    uint32_t at = shell_origin(s, s->in.at).at;

    s->in.at += length;
    shell_read_word(s, &value, SHELL_WHOLE);
    shell_words_fini(&value);
    set_unknown(s, name, shell_name_length(name), at);
}

static size_t count_arguments(const struct shell *s)
{
    char name[24];
    size_t n = 0;
    const struct shell_variable *v;

    do {
        size_t length = (size_t)snprintf(name, sizeof name, "%zu", ++n);

        v = shell_state_find(&s->state, name, length);
    } while (v && v->set);
    return n - 1;
}

/* The words from `first` on become the arguments $1, $2, ... */
static void set_arguments(struct shell *s, const struct shell_words *words, size_t first)
{
    char name[24];
    size_t before = count_arguments(s), n = words->count - first;

    for (size_t i = 0; i < n || i < before; i++) {
        size_t length = (size_t)snprintf(name, sizeof name, "%zu", i + 1);
        struct shell_variable *v = shell_state_find(&s->state, name, length);

        if (v)
            v->given = v->set = false;
        if (i < n)
            set_word(s, name, length, words, first + i, 0);
    }
}

/* All arguments, a word each. */
static void get_arguments(const struct shell *s, struct shell_words *out)
{
    char name[24];
    size_t n = count_arguments(s);

    for (size_t i = 0; i < n; i++) {
        const struct shell_variable *v = shell_state_find(
            &s->state, name, (size_t)snprintf(name, sizeof name, "%zu", i + 1));

        shell_words_add(out, &v->value);
    }
}

/* ---- lines, and texts of several lines ---- */

static bool is_shallow(struct shell *s)
{
    if (s->nested < SHELL_NESTED_MAX)
        return true;
    shell_report(s, s->in.at,
                 "commands are nested over 64 deep; expected the command with its values");
    s->in.at += strlen(here(s));
    return false;
}

/* A word is read as another text: of a script in a string, or behind <<END. */
static void run_text(struct shell *s, const struct shell_words *words, size_t word, bool apart)
{
    const struct shell_word *w = &words->list[word];
    char *bytes = malloc(w->length + 1);
    struct shell_origin *origins = calloc(w->length + 1, sizeof *origins);
    struct shell_text outer = s->in;
    size_t nfunctions = s->nfunctions;
    struct shell_fork fork;

    if (bytes && origins && is_shallow(s) && shell_spend(s, w->length + 1)) {
        s->nested++;
        memcpy(bytes, shell_words_text(words, word), w->length + 1);
        for (size_t i = 0; i <= w->length; i++)
            origins[i] = shell_words_origin(words, word, i < w->length || i == 0 ? i : i - 1);
        s->in = (struct shell_text){bytes, 0, origins};
        if (apart)
            shell_fork_apart(s, &fork);
        run_script(s);
        if (apart)
            shell_fork_back(s, &fork);
        s->in = outer;
        s->nested--;
        while (s->nfunctions > nfunctions)
            free(s->functions[--s->nfunctions].name);
    } else if (!bytes || !origins) {
        diag_no_memory(s->diag);
    }
    free(bytes);
    free(origins);
}

/* The text up to a line that is `end`, which is passed. */
static void read_here_text(struct shell *s, const struct shell_here *h)
{
    struct shell_words out = {.count = 0};
    size_t length = strlen(h->end), from = s->in.at;
    bool runs = h->script && s->skipping == 0;

    shell_words_open(&out, shell_origin(s, s->in.at).at);
    while (*here(s) && !shell_is_over(s)) {
        const char *line = here(s) + (h->tabs ? strspn(here(s), "\t") : 0);
        size_t n = strcspn(line, "\n"), next = (size_t)(line - s->in.bytes) + n;

        n -= n > 0 && line[n - 1] == '\r';
        if (n == length && !strncmp(line, h->end, length)) {
            s->in.at = next + (s->in.bytes[next] == '\n');
            break;
        }
        next += s->in.bytes[next] == '\n';
        while (runs && s->in.at < next && !shell_is_over(s))
            if (h->quoted) {
                shell_words_put(&out, *here(s), shell_origin(s, s->in.at));
                s->in.at++;
            } else {
                shell_read_quoted(s, &out, "$`\\");
            }
        s->in.at = s->in.at < next ? next : s->in.at;
        if (!*here(s))
            shell_report(s, from, "a text that does not end, behind << on the line before");
    }
    shell_words_close(&out);
    shell_words_join(&out);
    if (runs && !out.failed)
        run_text(s, &out, 0, true);
    shell_words_fini(&out);
}

/* The end of a line, and the texts that were announced on it. */
static void take_line_end(struct shell *s)
{
    struct shell_here texts[SHELL_HERE_TEXTS_MAX];
    size_t n = s->nhere;

    s->in.at++;
    memcpy(texts, s->here, sizeof texts);
    s->nhere = 0;
    for (size_t i = 0; i < n; i++) {
        if (texts[i].end)
            read_here_text(s, &texts[i]);
        free(texts[i].end);
    }
}

static void skip_lines(struct shell *s)
{
    for (;;) {
        shell_skip_gap(s);
        if (*here(s) != '\n')
            return;
        take_line_end(s);
    }
}

/* ---- < and > ---- */

static void read_here_end(struct shell *s)
{
    struct shell_words word = {.count = 0};
    struct text end = TEXT_INIT;
    bool tabs = *here(s) == '-', quoted = false;

    s->in.at += tabs;
    shell_skip_gap(s);
    shell_words_open(&word, shell_origin(s, s->in.at).at);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    for (size_t i = 0; i < word.list[0].length && !word.failed; i++)
        quoted |= shell_words_origin(&word, 0, i).quoted;
    if (s->nhere == SHELL_HERE_TEXTS_MAX) {
        shell_report(s, s->in.at, "over 8 texts for one line");
    } else {
        text_add(&end, word.failed ? "" : shell_words_text(&word, 0));
        s->here[s->nhere++] = (struct shell_here){text_take(&end), tabs, quoted, false};
    }
    shell_words_fini(&word);
}

/* How long what says that something is redirected is, without its file: "2>", "&>>"; 0: nothing. */
static size_t redirect_length(const char *text)
{
    size_t n = *text == '&' ? 1 : strspn(text, "0123456789"), m = strspn(text + n, "<>");

    if (m == 0 || (*text == '&' && text[n] != '>'))
        return 0;
    return n + (m > 3 ? 3 : m);
}

static void read_redirect(struct shell *s, size_t length)
{
    struct shell_words file = {.count = 0};
    const char *op = here(s) + length;
    bool text = length >= 2 && op[-1] == '<' && op[-2] == '<' && (length < 3 || op[-3] != '<');

    s->in.at += length;
    if (text) {
        read_here_end(s);
        return;
    }
    s->in.at += *op == '&' || *op == '|';
    shell_skip_gap(s);
    if (*here(s) == '(')
        shell_skip_brackets(s, '(', ')');
    else
        shell_read_word(s, &file, SHELL_WHOLE);
    shell_words_fini(&file);
}

static void read_redirects(struct shell *s)
{
    size_t length;

    for (shell_skip_gap(s); (length = redirect_length(here(s))) > 0; shell_skip_gap(s))
        read_redirect(s, length);
}

/* ---- words with a meaning ---- */

static bool at_word(const struct shell *s, const char *word)
{
    size_t n = strlen(word);
    char c;

    if (strncmp(here(s), word, n) != 0)
        return false;
    c = here(s)[n];
    return !c || shell_is_space(c) || strchr(";|&()<>", c);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

/* A list of commands ends before one of these. */
static bool at_closing(const struct shell *s)
{
    static const char *const closings[] = {"then", "elif", "else", "fi",  "do",
                                           "done", "esac", "}",    NULL};

    for (size_t i = 0; closings[i]; i++)
        if (at_word(s, closings[i]))
            return true;
    return *here(s) == ')' || !strncmp(here(s), ";;", 2) || !strncmp(here(s), ";&", 2);
}

static bool expect(struct shell *s, const char *word)
{
    struct text what = TEXT_INIT;
    bool is = at_word(s, word);

    if (is) {
        s->in.at += strlen(word);
    } else if (!shell_is_over(s)) {
        text_addf(&what, "expected '%s' here", word);
        shell_report(s, s->in.at, text_get(&what));
        s->in.at += strlen(here(s)); /* what follows is of another command */
    }
    text_fini(&what);
    return is;
}

/* ---- branches ---- */

struct branches {
    struct shell_fork fork;
    enum shell_tri reached; /* whether none of those before was taken */
    bool open, closed;
    size_t count;
};

static void skip_list(struct shell *s)
{
    s->skipping++;
    run_list(s);
    s->skipping--;
}

/* The commands of a branch, where the condition and that none before was taken say so. */
static void run_branch(struct shell *s, struct branches *b, enum shell_tri condition)
{
    enum shell_tri holds = shell_and(b->reached, condition), is_empty;

    if (s->skipping > 0 || s->leave != SHELL_STAYS || holds == SHELL_NO) {
        skip_list(s);
    } else if (holds == SHELL_YES) {
        run_list(s);
    } else {
        if (!b->open)
            shell_fork_open(s, &b->fork, s->cause);
        b->open = true;
        is_empty = s->causes[b->fork.cause].is_empty;
        b->closed |= condition == SHELL_YES;
        shell_fork_begin(s, &b->fork, b->closed);
        run_list(s);
        shell_fork_end(s, &b->fork,
                       (b->count == 0 && is_empty == SHELL_YES) ||
                           (b->count == 1 && is_empty == SHELL_NO && condition == SHELL_YES));
    }
    b->reached = shell_and(b->reached, shell_not(condition));
    b->count++;
}

static void close_branches(struct shell *s, struct branches *b)
{
    if (b->open)
        shell_fork_close(s, &b->fork, b->closed);
}

static enum shell_tri run_if(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};

    do {
        uint16_t under = s->under;
        enum shell_tri condition;

        s->in.at += at_word(s, "if") ? 2 : 4;
        if (b.reached == SHELL_UNSURE)
            s->under = b.fork.cause;
        s->skipping += b.reached == SHELL_NO;
        condition = run_list(s);
        s->skipping -= b.reached == SHELL_NO;
        s->under = under;
        if (!expect(s, "then"))
            break;
        run_branch(s, &b, condition);
    } while (at_word(s, "elif"));
    if (at_word(s, "else")) {
        s->in.at += 4;
        run_branch(s, &b, SHELL_YES);
    }
    close_branches(s, &b);
    expect(s, "fi");
    return unsure(s);
}

/* Whether one of the patterns before ")" matches. */
static enum shell_tri read_patterns(struct shell *s, const struct shell_words *word)
{
    enum shell_tri out = SHELL_NO;

    for (;;) {
        struct shell_words pattern = {.count = 0};

        shell_skip_gap(s);
        shell_words_open(&pattern, shell_origin(s, s->in.at).at);
        shell_read_word(s, &pattern, SHELL_WHOLE);
        shell_words_close(&pattern);
        shell_words_join(&pattern);
        if (s->skipping == 0 && !pattern.failed && out != SHELL_YES)
            out = shell_or(out, shell_match(s, word, 0, &pattern, 0));
        shell_words_fini(&pattern);
        shell_skip_gap(s);
        if (*here(s) != '|')
            return out;
        s->in.at++;
    }
}

static enum shell_tri run_case(struct shell *s)
{
    struct branches b = {.reached = SHELL_YES};
    struct shell_words word = {.count = 0};

    s->in.at += 4;
    shell_skip_gap(s);
    shell_words_open(&word, shell_origin(s, s->in.at).at);
    shell_read_word(s, &word, SHELL_WHOLE);
    shell_words_close(&word);
    shell_words_join(&word);
    skip_lines(s);
    if (word.failed || !expect(s, "in")) {
        shell_words_fini(&word);
        return unsure(s);
    }
    for (skip_lines(s); *here(s) && !at_word(s, "esac") && !shell_is_over(s); skip_lines(s)) {
        enum shell_tri condition;

        s->in.at += *here(s) == '(';
        condition = read_patterns(s, &word);
        if (!expect(s, ")"))
            break;
        run_branch(s, &b, condition);
        if (*here(s) == ';') {
            if (here(s)[1] == '&' || here(s)[2] == '&')
                shell_report(s, s->in.at, "a case that goes on with the next; expected ;;");
            s->in.at += here(s)[1] == ';' && here(s)[2] == '&' ? 3 : 2;
        }
    }
    close_branches(s, &b);
    expect(s, "esac");
    shell_words_fini(&word);
    return unsure(s);
}

/* ---- loops ---- */

/* One round, from `body` on: the commands up to "done", which is passed. */
static void run_round(struct shell *s, size_t body, bool skip)
{
    s->in.at = body;
    s->skipping += skip;
    run_list(s);
    s->skipping -= skip;
    if (shell_spend(s, skip ? 0 : s->in.at - body + ROUND_BYTES))
        expect(s, "done");
    if (s->leave == SHELL_CONTINUES)
        s->leave = SHELL_STAYS;
}

/* Whether another round follows. */
static bool goes_round(struct shell *s)
{
    bool stays = s->leave == SHELL_STAYS;

    if (s->leave == SHELL_BREAKS)
        s->leave = SHELL_STAYS;
    return stays && !shell_is_over(s);
}

/* A loop of which it is not known how often: what a round leaves may change the next. */
static void run_unsure(struct shell *s, size_t from, size_t body, const char *name, size_t length,
                       uint16_t cause)
{
    for (int round = 0; round < 3 && !shell_is_over(s); round++) {
        struct shell_fork fork;

        shell_fork_open(s, &fork, cause);
        shell_fork_begin(s, &fork, false);
        s->rehearsing += round < 2;
        if (length > 0)
            set_unknown(s, name, length, shell_origin(s, from).at);
        run_round(s, body, false);
        s->rehearsing -= round < 2;
        if (s->leave == SHELL_BREAKS)
            s->leave = SHELL_STAYS;
        shell_fork_end(s, &fork, false);
        shell_fork_close(s, &fork, false);
    }
}

/* What was changed in a loop or a function that may have been left early is in doubt. */
static void settle(struct shell *s, struct shell_state *before, bool doubtful)
{
    if (s->doubtful)
        shell_state_merge(&s->state, before, s->cause);
    else
        shell_state_fini(before);
    s->doubtful = doubtful;
}

static void copy_state(struct shell *s, struct shell_state *to)
{
    *to = (struct shell_state){.failed = true};
    if (s->skipping == 0 && shell_spend(s, shell_state_bytes(&s->state)))
        shell_state_copy(to, &s->state);
    else
        to->failed = false;
}

/* The words behind "in", or the arguments; false: an arithmetic one, whose rounds are not known. */
static bool read_for_words(struct shell *s, struct shell_words *words)
{
    if (!strncmp(here(s), "((", 2)) {
        shell_skip_brackets(s, '(', ')');
        return false;
    }
    skip_lines(s);
    if (!at_word(s, "in")) {
        get_arguments(s, words);
        return true;
    }
    s->in.at += 2;
    for (shell_skip_gap(s); !shell_ends_word(s) && !shell_is_over(s); shell_skip_gap(s)) {
        shell_read_word(s, words, SHELL_PARTED);
        shell_words_close(words);
    }
    return true;
}

/* The cause of doubt of any of the words; 0: they are known. */
static uint16_t doubt_of(struct shell *s, const struct shell_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        size_t length = words->list[i].length, at = shell_words_doubt(words, i, 0, length);
        struct shell_origin origin = shell_words_origin(words, i, at);
        char *name;
        uint16_t cause;

        if (at == length)
            continue;
        name = shell_deciding(s, origin);
        cause = shell_cause_add(s, origin.at, name, SHELL_UNSURE);
        free(name);
        return cause;
    }
    return 0;
}

static void run_rounds(struct shell *s, size_t body, const char *name, size_t length,
                       const struct shell_words *words)
{
    struct shell_state before;
    bool doubtful = s->doubtful;

    copy_state(s, &before);
    s->doubtful = false;
    if (words->count == 0)
        run_round(s, body, true);
    for (size_t i = 0; i < words->count; i++) {
        set_word(s, name, length, words, i, 0);
        run_round(s, body, false);
        if (!goes_round(s))
            break;
    }
    settle(s, &before, doubtful);
}

static enum shell_tri run_for(struct shell *s)
{
    struct shell_words words = {.count = 0};
    size_t from = s->in.at, length, body;
    const char *name;
    uint16_t cause;
    bool known;

    s->in.at += at_word(s, "for") ? 3 : 6;
    shell_skip_gap(s);
    name = here(s);
    length = shell_name_length(name);
    s->in.at += length;
    shell_skip_gap(s);
    known = read_for_words(s, &words);
    cause = known ? doubt_of(s, &words) : SHELL_UNNAMED;
    shell_skip_gap(s);
    s->in.at += *here(s) == ';';
    skip_lines(s);
    if (expect(s, "do")) {
        body = s->in.at;
        if (s->skipping > 0)
            run_round(s, body, true);
        else if (cause > 0)
            run_unsure(s, from, body, name, length, cause);
        else
            run_rounds(s, body, name, length, &words);
    }
    if (words.failed)
        diag_no_memory(s->diag);
    shell_words_fini(&words);
    return unsure(s);
}

static enum shell_tri run_while(struct shell *s)
{
    bool until = at_word(s, "until"), doubtful = s->doubtful;
    size_t from = s->in.at, condition = from + 5;
    struct shell_state before;

    copy_state(s, &before);
    s->doubtful = false;
    for (;;) {
        enum shell_tri holds;

        s->in.at = condition;
        holds = run_list(s);
        holds = until ? shell_not(holds) : holds;
        if (!expect(s, "do"))
            break;
        if (holds == SHELL_UNSURE && s->skipping == 0 && s->leave == SHELL_STAYS) {
            run_unsure(s, from, s->in.at, "", 0, s->cause);
            break;
        }
        run_round(s, s->in.at, holds != SHELL_YES);
        if (!goes_round(s) || holds != SHELL_YES || s->skipping > 0)
            break;
    }
    settle(s, &before, doubtful);
    return unsure(s);
}

/* ---- groups and functions ---- */

static enum shell_tri run_group(struct shell *s)
{
    enum shell_tri status;

    s->in.at++;
    status = run_list(s);
    expect(s, "}");
    return status;
}

static enum shell_tri run_apart(struct shell *s)
{
    struct shell_fork fork;
    enum shell_tri status;

    if (s->skipping == 0)
        shell_fork_apart(s, &fork);
    s->in.at++;
    status = run_list(s);
    if (s->skipping == 0)
        shell_fork_back(s, &fork);
    expect(s, ")");
    return status;
}

/* How long "NAME ()" is; 0: it is none. */
static size_t function_length(const char *text)
{
    size_t name = strcspn(text, " \t\r\n;|&()<>$\"'`\\={}"), n = name + strspn(text + name, " \t");

    if (name == 0 || text[n] != '(')
        return 0;
    n++;
    n += strspn(text + n, " \t");
    return text[n] == ')' ? n + 1 : 0;
}

/* The body is read and skipped; it is run where the name is a command. */
static enum shell_tri define(struct shell *s, const char *name, size_t length)
{
    struct text copy = TEXT_INIT;
    struct shell_text body;

    skip_lines(s);
    body = s->in;
    s->skipping++;
    run_command(s);
    s->skipping--;
    if (s->skipping > 0)
        return SHELL_YES;
    if (s->nfunctions == SHELL_FUNCTIONS_MAX) {
        shell_report(s, body.at, "over 100 functions; expected the command with its values");
        return SHELL_YES;
    }
    text_add_bytes(&copy, name, length);
    s->functions[s->nfunctions].body = body;
    s->functions[s->nfunctions].name = text_take(&copy);
    if (s->functions[s->nfunctions].name)
        s->nfunctions++;
    else
        diag_no_memory(s->diag);
    return SHELL_YES;
}

/* function NAME { or function NAME() { */
static enum shell_tri read_function(struct shell *s)
{
    const char *name;
    size_t length;

    s->in.at += strlen("function");
    shell_skip_gap(s);
    name = here(s);
    length = strcspn(name, " \t\r\n;|&()<>{}");
    s->in.at += length;
    shell_skip_gap(s);
    if (!strncmp(here(s), "()", 2))
        s->in.at += 2;
    return define(s, name, length);
}

/* The last of that name. */
static const struct shell_function *find_function(const struct shell *s, const char *name)
{
    for (size_t i = s->nfunctions; i-- > 0;)
        if (!strcmp(s->functions[i].name, name))
            return &s->functions[i];
    return NULL;
}

static enum shell_tri call(struct shell *s, const struct shell_function *f)
{
    struct shell_words arguments = {.count = 0};
    struct shell_text outer = s->in, body = f->body;
    struct shell_state before;
    bool doubtful = s->doubtful;
    enum shell_tri status;

    if (!shell_spend(s, ROUND_BYTES))
        return SHELL_UNSURE;
    copy_state(s, &before);
    s->doubtful = false;
    get_arguments(s, &arguments);
    set_arguments(s, &s->words, 1);
    s->in = body;
    status = run_command(s);
    shell_spend(s, s->in.at - body.at);
    s->in = outer;
    if (s->leave == SHELL_RETURNS) {
        s->leave = SHELL_STAYS;
        status = s->left_status == SHELL_UNSURE || s->doubtful ? unsure(s) : s->left_status;
    }
    set_arguments(s, &arguments, 0);
    shell_words_fini(&arguments);
    settle(s, &before, doubtful);
    return status;
}

/* ---- commands that change the shell ---- */

static enum shell_tri leave(struct shell *s, const char *word)
{
    s->leave = !strcmp(word, "exit")     ? SHELL_EXITS
               : !strcmp(word, "return") ? SHELL_RETURNS
               : !strcmp(word, "break")  ? SHELL_BREAKS
                                         : SHELL_CONTINUES;
    s->left_status = s->words.count < 2                                ? SHELL_UNSURE
                     : !strcmp(shell_words_text(&s->words, 1), "0")    ? SHELL_YES
                     : shell_words_doubt(&s->words, 1, 0, 1) == 1      ? SHELL_NO
                                                                       : SHELL_UNSURE;
    s->left_line = shell_place_at(s, shell_words_at(&s->words, 0, 0)).line;
    return SHELL_YES;
}

/* Variables that get what only a shell knows. */
static enum shell_tri set_all_unknown(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);

        for (size_t n; *word; word += n > 0 ? n : 1) {
            n = shell_name_length(word);
            if (n > 0)
                set_unknown(s, word, n, shell_words_at(&s->words, i, 0));
        }
    }
    return unsure(s);
}

/* export "NAME=VALUE" */
static enum shell_tri declare(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i), *sign = strchr(word, '=');
        size_t length = shell_name_length(word);

        if (!sign || *word == '-')
            continue;
        if (length > 0 && word[length] == '=' &&
            shell_words_doubt(&s->words, i, 0, length) == length)
            set_word(s, word, length, &s->words, i, length + 1);
        else
            diag_error(s->diag, shell_place_at(s, shell_words_at(&s->words, i, 0)),
                       "a variable is set whose name is not known; expected NAME=VALUE");
    }
    return SHELL_YES;
}

static enum shell_tri unset_all(struct shell *s)
{
    for (size_t i = 1; i < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);

        unset_variable(s, word, strlen(word));
    }
    return SHELL_YES;
}

static enum shell_tri shift(struct shell *s)
{
    struct shell_words arguments = {.count = 0};
    const char *by = s->words.count > 1 ? shell_words_text(&s->words, 1) : "1";
    size_t n = *by >= '0' && *by <= '9' && !by[1] ? (size_t)(*by - '0') : 1;

    get_arguments(s, &arguments);
    if (n <= arguments.count)
        set_arguments(s, &arguments, n);
    shell_words_fini(&arguments);
    return SHELL_YES;
}

/* set -- WORD...; others are switches of the shell. */
static enum shell_tri set_words(struct shell *s)
{
    if (s->words.count > 1 && !strcmp(shell_words_text(&s->words, 1), "--"))
        set_arguments(s, &s->words, 2);
    return SHELL_YES;
}

static enum shell_tri eval(struct shell *s)
{
    struct shell_words text = {.count = 0};

    for (size_t i = 1; i < s->words.count; i++) {
        shell_words_open(&text, s->words.list[i].at);
        shell_words_put_part(&text, &s->words, i, 0, s->words.list[i].length, SHELL_SURE, 0);
        shell_words_close(&text);
    }
    shell_words_join(&text);
    if (text.count > 0 && !text.failed)
        run_text(s, &text, 0, false);
    shell_words_fini(&text);
    return unsure(s);
}

/* Another file, which is not read; those of a shell's start set no options. */
static enum shell_tri note_source(struct shell *s)
{
    static const char *const harmless[] = {"activate",      ".bashrc", ".profile",
                                           ".bash_profile", "conda.sh", NULL};
    const char *path = s->words.count > 1 ? shell_words_text(&s->words, 1) : "";
    const char *slash = strrchr(path, '/');
    struct place place = shell_place_at(s, shell_words_at(&s->words, 0, 0));

    if (!is_one_of(slash ? slash + 1 : path, harmless) && s->rehearsing == 0)
        text_addf(&s->unread, "%s%.100s (line %d)", s->unread.length > 0 ? ", " : "",
                  slash ? slash + 1 : path, place.line);
    return unsure(s);
}

/* ---- simple commands ---- */

/* The script in a command as sh -c SCRIPT, also behind others (srun ... bash -c SCRIPT). */
static size_t find_script(const struct shell *s)
{
    static const char *const shells[] = {"sh", "bash", "/bin/sh", "/bin/bash", NULL};
    bool is_shell = false;

    for (size_t i = 0; i + 1 < s->words.count; i++) {
        const char *word = shell_words_text(&s->words, i);
        size_t length = strlen(word);

        if (is_shell && length > 1 && word[0] == '-' && word[1] != '-' && word[length - 1] == 'c')
            return i + 1;
        is_shell |= is_one_of(word, shells);
    }
    return 0;
}

/* Whether the texts behind << are scripts for the command. */
static bool reads_script(const struct shell *s)
{
    static const char *const readers[] = {"sh", "bash", "sbatch", "/bin/sh", "/bin/bash", "ssh",
                                          NULL};

    for (size_t i = 0; i < s->words.count; i++)
        if (is_one_of(shell_words_text(&s->words, i), readers))
            return true;
    return false;
}

static enum shell_tri tell(struct shell *s, size_t nhere)
{
    static const char *const writers[] = {"echo", "printf", "cat",  "sed",   "grep", "awk",
                                          "trap", "mkdir",  "tee",  "ulimit", "cd",  "pip",
                                          "ls",   "rm",     "cp",   "which", NULL};
    size_t script = find_script(s);

    for (size_t i = nhere; i < s->nhere; i++)
        s->here[i].script = reads_script(s);
    if (script > 0) {
        struct shell_words words = s->words;

        s->words = (struct shell_words){.count = 0};
        run_text(s, &words, script, true);
        shell_words_fini(&s->words);
        s->words = words;
    } else if (!is_one_of(shell_words_text(&s->words, 0), writers) && s->rehearsing == 0) {
        s->on_command(s->context, s);
    }
    return unsure(s);
}

static enum shell_tri test_words(struct shell *s, const char *name)
{
    size_t end = s->words.count;

    if (*name == '[' && !strcmp(shell_words_text(&s->words, end - 1), "]"))
        end--;
    return shell_test(s, &s->words, 1, end, false);
}

/* What the command in shell->words does. */
static enum shell_tri execute(struct shell *s, size_t nhere)
{
    static const char *const true_ones[] = {"true", ":", "echo", "printf", NULL};
    static const char *const declaring[] = {"export",   "declare", "local",
                                            "readonly", "typeset", NULL};
    static const char *const leaving[] = {"exit", "return", "break", "continue", NULL};
    static const char *const reading[] = {"read", "mapfile", "readarray", "getopts", "let", NULL};
    const char *name = shell_words_text(&s->words, 0);
    const struct shell_function *f = find_function(s, name);

    if (f)
        return call(s, f);
    if (is_one_of(name, true_ones))
        return SHELL_YES;
    if (is_one_of(name, declaring))
        return declare(s);
    if (is_one_of(name, leaving))
        return leave(s, name);
    if (is_one_of(name, reading))
        return set_all_unknown(s);
    if (!strcmp(name, "[") || !strcmp(name, "test"))
        return test_words(s, name);
    if (!strcmp(name, "false"))
        return SHELL_NO;
    if (!strcmp(name, "unset"))
        return unset_all(s);
    if (!strcmp(name, "shift"))
        return shift(s);
    if (!strcmp(name, "set"))
        return set_words(s);
    if (!strcmp(name, "eval"))
        return eval(s);
    if (!strcmp(name, "source") || !strcmp(name, "."))
        return note_source(s);
    return tell(s, nhere);
}

/* Whether the command's name is yet to come behind these words. */
static bool is_before_name(struct shell *s)
{
    static const char *const prefixes[] = {"exec", "time", "nohup", "command", "builtin", NULL};

    if (s->words.count != 1 || !is_one_of(shell_words_text(&s->words, 0), prefixes))
        return false;
    shell_words_clear(&s->words);
    return true;
}

static bool is_declaring(const struct shell *s)
{
    static const char *const declaring[] = {"export",   "declare", "local",
                                            "readonly", "typeset", NULL};

    return s->words.count > 0 && is_one_of(shell_words_text(&s->words, 0), declaring);
}

/* A command's words; those that are not known at all may be any. */
static void read_words(struct shell *s)
{
    bool begins = true;

    for (shell_skip_gap(s); !shell_is_over(s); shell_skip_gap(s)) {
        size_t assigned = begins ? assignment_length(here(s)) : 0;
        size_t element = begins ? element_length(here(s)) : 0;
        size_t redirected = redirect_length(here(s));

        if (redirected > 0) {
            read_redirect(s, redirected);
        } else if (assigned > 0) {
            assign(s, assigned);
        } else if (element > 0) {
            assign_element(s, element);
        } else if (shell_ends_word(s)) {
            return;
        } else {
            shell_read_word(s, &s->words, SHELL_PARTED);
            shell_words_close(&s->words);
            if (!is_before_name(s))
                begins &= s->words.count == 0 || is_declaring(s);
        }
    }
}

static enum shell_tri run_simple(struct shell *s)
{
    size_t nhere = s->nhere, from = s->in.at, length = function_length(here(s));
    const char *name = here(s);

    if (length > 0) {
        s->in.at += length;
        return define(s, name, strcspn(name, " \t("));
    }
    shell_words_clear(&s->words);
    read_words(s);
    if (s->in.at == from && !shell_is_over(s)) {
        shell_report(s, from, "a command was expected here, and none can begin so");
        s->in.at++;
    } else if (*here(s) == '(' && !shell_is_over(s)) {
        shell_report(s, s->in.at, "a bracket in a command, which a shell does not take; expected "
                                  "it in quotes");
        s->in.at++;
    }
    if (s->words.failed)
        diag_no_memory(s->diag);
    else if (s->skipping == 0 && s->words.count > 0 && !shell_is_over(s))
        return execute(s, nhere);
    /* NAME=$(COMMAND) has the status of the command. */
    return s->words.count == 0 && (memchr(name, '`', s->in.at - from) ||
                                   memmem(name, s->in.at - from, "$(", 2))
               ? unsure(s)
               : SHELL_YES;
}

/* ---- [[ ... ]] and ((...)) ---- */

static void put_operator(struct shell *s, struct shell_words *out, size_t length)
{
    for (size_t i = 0; i < length; i++, s->in.at++)
        shell_words_put(out, *here(s), shell_origin(s, s->in.at));
    shell_words_close(out);
}

static void read_test_word(struct shell *s, struct shell_words *out)
{
    bool regex = out->count > 0 && !strcmp(shell_words_text(out, out->count - 1), "=~");

    shell_words_open(out, shell_origin(s, s->in.at).at);
    if (regex)
        while (*here(s) && !shell_is_space(*here(s)) && !shell_is_over(s))
            shell_read_part(s, out, SHELL_WHOLE);
    else
        shell_read_word(s, out, SHELL_WHOLE);
    shell_words_close(out);
}

static enum shell_tri run_test(struct shell *s)
{
    struct shell_words words = {.count = 0};
    enum shell_tri out = SHELL_NO;

    s->in.at += 2;
    for (skip_lines(s); *here(s) && !at_word(s, "]]") && !shell_is_over(s); skip_lines(s)) {
        if (!strncmp(here(s), "&&", 2) || !strncmp(here(s), "||", 2))
            put_operator(s, &words, 2);
        else if (strchr("()<>;&|", *here(s)))
            put_operator(s, &words, 1);
        else
            read_test_word(s, &words);
    }
    expect(s, "]]");
    if (s->skipping == 0 && !words.failed)
        out = shell_test(s, &words, 0, words.count, true);
    shell_words_fini(&words);
    return out;
}

/* ((i++)) and ((N = 2)) change variables, to what is not followed. */
static void forget_assigned(struct shell *s, size_t from, size_t end)
{
    struct text inner = TEXT_INIT;
    const char *text;
    bool assigns = false;

    text_add_bytes(&inner, s->in.bytes + from, end - from);
    text = text_get(&inner);
    for (const char *c = text; *c; c++)
        assigns |= (*c == '=' && c[1] != '=' && (c == text || !strchr("=!<>", c[-1]))) ||
                   (c[0] == '+' && c[1] == '+') || (c[0] == '-' && c[1] == '-') ||
                   !strncmp(c, "<<=", 3) || !strncmp(c, ">>=", 3);
    for (size_t n = 0; assigns && *text; text += n > 0 ? n : 1) {
        n = shell_name_length(text);
        if (n > 0)
            set_unknown(s, text, n, shell_origin(s, from).at);
    }
    text_fini(&inner);
}

static enum shell_tri run_sum(struct shell *s)
{
    size_t from = s->in.at;
    int64_t value = 0;
    uint16_t cause;
    bool known = shell_read_sum(s, &value, &cause);

    if (known)
        return value ? SHELL_YES : SHELL_NO;
    if (s->skipping == 0)
        forget_assigned(s, from, s->in.at);
    s->cause = cause;
    return SHELL_UNSURE;
}

/* ---- commands, pipes, lists ---- */

static enum shell_tri run_compound(struct shell *s)
{
    if (!strncmp(here(s), "((", 2))
        return run_sum(s);
    if (*here(s) == '(')
        return run_apart(s);
    if (at_word(s, "{"))
        return run_group(s);
    if (at_word(s, "[["))
        return run_test(s);
    if (at_word(s, "if"))
        return run_if(s);
    if (at_word(s, "case"))
        return run_case(s);
    if (at_word(s, "for") || at_word(s, "select"))
        return run_for(s);
    if (at_word(s, "while") || at_word(s, "until"))
        return run_while(s);
    if (at_word(s, "function"))
        return read_function(s);
    return run_simple(s);
}

static enum shell_tri run_command(struct shell *s)
{
    enum shell_tri status;

    shell_skip_gap(s);
    if (!is_shallow(s))
        return SHELL_NO;
    s->nested++;
    status = run_compound(s);
    read_redirects(s);
    s->nested--;
    return status;
}

static enum shell_tri run_pipeline(struct shell *s)
{
    bool no = at_word(s, "!");
    enum shell_tri status;

    s->in.at += no;
    status = run_command(s);
    while (*here(s) == '|' && here(s)[1] != '|' && !shell_is_over(s)) {
        struct shell_fork fork;
        bool runs = s->skipping == 0;

        s->in.at += here(s)[1] == '&' ? 2 : 1;
        skip_lines(s);
        if (runs)
            shell_fork_apart(s, &fork);
        run_command(s);
        if (runs)
            shell_fork_back(s, &fork);
        status = unsure(s);
    }
    if (no && status == SHELL_UNSURE)
        shell_cause_change(s, true);
    return no ? shell_not(status) : status;
}

/* The right side of && and ||, which is run where `need` holds. */
static enum shell_tri run_right(struct shell *s, enum shell_tri need, bool and)
{
    uint16_t cause = s->cause;
    struct shell_fork fork;
    enum shell_tri status;

    if (s->skipping > 0 || need == SHELL_YES)
        return run_pipeline(s);
    if (need == SHELL_NO) {
        s->skipping++;
        status = run_pipeline(s);
        s->skipping--;
        return status;
    }
    shell_fork_open(s, &fork, cause);
    shell_fork_begin(s, &fork, false);
    status = run_pipeline(s);
    shell_fork_end(s, &fork, s->causes[cause].is_empty == (and ? SHELL_YES : SHELL_NO));
    shell_fork_close(s, &fork, false);
    s->cause = cause;
    return status;
}

static enum shell_tri run_and_or(struct shell *s)
{
    enum shell_tri status = run_pipeline(s);

    for (shell_skip_gap(s); !shell_is_over(s); shell_skip_gap(s)) {
        bool and = !strncmp(here(s), "&&", 2), left = s->leave != SHELL_STAYS;
        enum shell_tri right;

        if (!and && strncmp(here(s), "||", 2) != 0)
            break;
        s->in.at += 2;
        skip_lines(s);
        s->skipping += left;
        right = run_right(s, and ? status : shell_not(status), and);
        s->skipping -= left;
        status = and ? shell_and(status, right) : shell_or(status, right);
        shell_cause_change(s, false);
    }
    return status;
}

/* Commands up to what closes them; the last one's status. */
static enum shell_tri run_list(struct shell *s)
{
    enum shell_tri status = SHELL_YES;

    for (;;) {
        bool left;

        skip_lines(s);
        left = s->leave != SHELL_STAYS;
        if (!*here(s) || at_closing(s) || shell_is_over(s) || (left && s->nested == 0))
            return status;
        if (*here(s) == ';' || *here(s) == '&') {
            s->in.at++;
            continue;
        }
        s->skipping += left;
        status = run_and_or(s);
        s->skipping -= left;
    }
}

/* All commands of a text. */
static void run_script(struct shell *s)
{
    while (*here(s) && !shell_is_over(s) && (s->leave == SHELL_STAYS || s->nested > 0)) {
        run_list(s);
        if (at_closing(s) && *here(s) && !shell_is_over(s)) {
            shell_report(s, s->in.at, "what ends here has no beginning");
            s->in.at++;
        }
    }
}

/* ---- for the caller ---- */

bool shell_give(struct shell *s, const char *assignment)
{
    const char *sign = strchr(assignment, '=');
    size_t length = sign ? (size_t)(sign - assignment) : 0;
    struct shell_variable *v;

    if (length == 0 || (shell_name_length(assignment) != length &&
                        strspn(assignment, "0123456789") != length))
        return false;
    v = shell_state_add(&s->state, assignment, length);
    if (!v)
        return true;
    shell_words_fini(&v->value);
    shell_words_open(&v->value, 0);
    for (const char *c = sign + 1; *c; c++)
        shell_words_put(&v->value, *c, (struct shell_origin){.at = 0});
    shell_words_close(&v->value);
    v->set = v->given = true;
    return true;
}

void shell_run(struct shell *s, void (*on_command)(void *context, struct shell *shell),
               void *context)
{
    s->on_command = on_command;
    s->context = context;
    run_script(s);
    if (s->state.failed && s->state.count == SHELL_VARIABLES_MAX)
        shell_report(s, s->in.at, "over 1000 variables; expected the command with its values");
    else if (s->state.failed && diag_status(s->diag, 0) == 0)
        diag_no_memory(s->diag);
}

void shell_offer_variables(struct shell *s, struct text *names)
{
    for (size_t i = 0; i < s->state.count && !shell_is_over(s); i++) {
        const struct shell_variable *v = &s->state.list[i];
        bool options = false;

        if (!v->set || v->used || v->given)
            continue;
        shell_words_clear(&s->words);
        shell_put_variable(s, &s->words, v);
        for (size_t j = 0; j < s->words.count; j++)
            options |= !strncmp(shell_words_text(&s->words, j), "--", 2);
        if (!options)
            continue;
        text_addf(names, " %s", v->name);
        s->on_command(s->context, s);
    }
}

void shell_check_given(struct shell *s)
{
    for (size_t i = 0; i < s->state.count; i++)
        if (s->state.list[i].given && !s->state.list[i].used)
            diag_error(s->diag, (struct place){s->file, 0, 0},
                       "--set %.60s: nothing in the file uses such a variable",
                       s->state.list[i].name);
}
