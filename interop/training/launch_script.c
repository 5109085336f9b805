/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "training/launch_script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "shell/expand.h"

/* A script being read, and the command that the script launches. */
struct script {
    struct import_job *job;
    const struct launch_system *system;
    struct text launched; /* words of the command, a line each, behind an empty line */
    struct place place;
    bool offered;   /* options come from variables that no command uses */
    size_t doubted; /* the last word that follows an option which is not known; 0: none */
};

bool launch_script_is_option(const struct launch_system *system, const struct shell *s, size_t word)
{
    const char *text = shell_words_text(&s->words, word);

    return !strncmp(text, "--", 2) ||
           (system->argparse && text[0] == '-' && isalpha((unsigned char)text[1]));
}

/* ---- doubts ---- */

static const char *why_unknown(const char *from)
{
    size_t brace = from[0] == '$' && from[1] == '{';
    const char *rest = from + 1 + brace + shell_name_length(from + 1 + brace);

    rest += !strncmp(rest, "[@]", 3) || !strncmp(rest, "[*]", 3) ? 3 : 0;
    if (from[0] == '`' || (from[0] == '$' && from[1] == '(') ||
        (brace && *rest && !strchr("}:?-=+", *rest)))
        return "needs a shell to evaluate, and no shell is run";
    if (from[0] == '<')
        return "is a placeholder";
    return from[0] == '$' ? "is not set in this file" : "is not known here";
}

/* Report a condition, or a part of a word, that is not known; `what` is its text. */
static void report_doubt(const struct script *script, const struct shell *s,
                         struct shell_origin origin, const char *what)
{
    const char *from = s->text + origin.at;
    char *name = shell_deciding(s, origin);
    size_t length = origin.doubt == SHELL_UNKNOWN ? shell_unknown_length(from) : strlen(what);
    const char *text = origin.doubt == SHELL_UNKNOWN ? from : what;
    const char *why =
        origin.doubt == SHELL_UNKNOWN ? why_unknown(from) : "is set under an unknown condition";
    struct text remedy = TEXT_INIT;

    if (name)
        text_addf(&remedy, "add --set %s=VALUE", name);
    diag_error(s->diag, shell_place_at(s, origin.at), "'%.*s' %s; %s",
               (int)(length < 40 ? length : 40), text, why,
               name ? text_get(&remedy) : script->system->printed);
    text_fini(&remedy);
    free(name);
}

/* Report an option of a command that may not be run, or that is run in a loop. */
static void report_under(const struct shell *s, size_t word, const char *option)
{
    const struct shell_origin origin = {.at = 0, .cause = s->under, .doubt = SHELL_MAYBE};
    char *name = shell_deciding(s, origin);
    struct text remedy = TEXT_INIT;

    if (name)
        text_addf(&remedy, "decide the condition with --set %s=VALUE", name);
    else
        text_add(&remedy, "expected the command outside of it");
    diag_error(s->diag, shell_place_at(s, shell_words_at(&s->words, word, 0)),
               "%s belongs to a command under a condition or in a loop; %s", option,
               text_get(&remedy));
    text_fini(&remedy);
    free(name);
}

/* Report the first doubt in a part of a word; false: no doubt. */
static bool report_part(const struct script *script, const struct shell *s, size_t word,
                        size_t first, size_t end)
{
    size_t at = shell_words_doubt(&s->words, word, first, end);

    if (at == end)
        return false;
    report_doubt(script, s, shell_words_origin(&s->words, word, at),
                 shell_words_text(&s->words, word) + first);
    return true;
}

/* ---- options ---- */

/* Whether a flag is turned off by its name, as by --no-enable-prefix-caching. */
static bool is_negated(const struct launch_system *system, const char *name)
{
    return system->argparse && !strncmp(name, "--no-", 5);
}

/* The only row with a name that begins so; NULL: none, or several. */
static const struct import_option *find_begun(const struct import_option *options, const char *name)
{
    const struct import_option *found = NULL;
    size_t length, n = strlen(name);

    for (; n > 2 && options->name; options++)
        for (const char *at = options->name, *one; (one = words_next(&at, &length));)
            if (length > n && !strncmp(one, name, n)) {
                if (found && found != options)
                    return NULL;
                found = options;
            }
    return found;
}

/* Whether a name is one of the words, or begins with one that ends in '-'; or is the beginning of
 * one, which argparse takes for the whole. */
static bool is_of(const char *words, const char *name, bool shortened)
{
    size_t length, n = strlen(name);

    for (const char *one; (one = words_next(&words, &length));)
        if ((length == n && !strncmp(one, name, n)) ||
            (one[length - 1] == '-' && !strncmp(one, name, length)) ||
            (shortened && length > n && !strncmp(one, name, n)))
            return true;
    return false;
}

/* How many words follow an option. */
enum arity { NO_WORD, ONE_WORD, ALL_WORDS };

static enum arity arity_of(const struct launch_system *system, const struct import_option *option,
                           const char *name)
{
    bool shortened = !strncmp(name, "--", 2) && !(option && words_has(option->name, name));

    if (option && option->type == IMPORT_LIST)
        return ALL_WORDS;
    if (option && option->type == IMPORT_FLAG && !option->refused)
        return NO_WORD;
    if (!system->bare || words_has(system->valued, name))
        return ONE_WORD;
    if (words_has(system->lists, name))
        return ALL_WORDS;
    return is_of(system->bare, name, shortened) ? NO_WORD : ONE_WORD;
}

/* The row of an option of which a part is given, as --speculative-config.method. */
static const struct import_option *find_part(const struct import_option *options, const char *name)
{
    struct text whole = TEXT_INIT;
    const struct import_option *option;

    text_add_bytes(&whole, name, strcspn(name, "."));
    option = import_option_find(options, text_get(&whole));
    text_fini(&whole);
    return option;
}

/* The row of an option, whose name gets dashes for underscores where the system reads both. */
static const struct import_option *find_option(const struct launch_system *system,
                                               struct text *name)
{
    const struct import_option *option;
    char *c = name->data;

    for (size_t i = 0; system->argparse && i < name->length && c[i] != '.'; i++)
        if (c[i] == '_')
            c[i] = '-';
    option = import_option_find(system->options, text_get(name));
    if (!option && is_negated(system, text_get(name))) {
        struct text plain = TEXT_INIT;

        text_addf(&plain, "--%s", text_get(name) + 5);
        option = import_option_find(system->options, text_get(&plain));
        name->failed |= plain.failed;
        text_fini(&plain);
    }
    if (!option && system->argparse && strchr(text_get(name), '.'))
        option = find_part(system->options, text_get(name));
    return option || !system->argparse ? option : find_begun(system->options, text_get(name));
}

/* Note a word that is neither an option nor a value, and may stand for options. */
static void read_other(struct script *script, const struct shell *s, size_t word)
{
    size_t length = s->words.list[word].length;
    struct shell_origin origin = shell_words_origin(&s->words, word, 0);
    const char *from = s->text + origin.at;
    char *name;

    if (length != 1 || origin.doubt != SHELL_UNKNOWN)
        return;
    name = shell_deciding(s, origin);
    if (name && !strcmp(why_unknown(from), "is not set in this file"))
        text_addf(&script->job->unknown, " $%s", name);
    else
        report_doubt(script, s, origin, "");
    free(name);
}

/* Set an option to the value in a word, from a byte on. */
static void set_value(struct script *script, const struct shell *s,
                      const struct import_option *option, const char *name, size_t word,
                      size_t byte)
{
    if (option->type != IMPORT_QUIET &&
        report_part(script, s, word, byte, s->words.list[word].length))
        return;
    import_job_set(script->job, script->system->options, option, name,
                   shell_words_text(&s->words, word) + byte,
                   shell_place_at(s, shell_words_at(&s->words, word, byte)), s->diag);
}

/* The words that may be the value of the option in `word`, whose name has `length` bytes: after
 * `=`, or the words up to the next option. */
struct values {
    size_t first, end, byte; /* words; first byte of the value in the first word */
};

static struct values values_of(const struct script *script, const struct shell *s, size_t word,
                               size_t length)
{
    struct values v = {word, word + 1, length + 1};

    if (shell_words_text(&s->words, word)[length] == '=')
        return v;
    v = (struct values){word + 1, word + 1, 0};
    while (v.end < s->words.count && !launch_script_is_option(script->system, s, v.end))
        v.end++;
    return v;
}

/* Set an option that takes several values. */
static void set_list(struct script *script, const struct shell *s,
                     const struct import_option *option, const char *name, size_t word,
                     const struct values *v)
{
    struct text all = TEXT_INIT;
    bool known = true;

    for (size_t i = v->first; i < v->end && known; i++) {
        size_t byte = i == v->first ? v->byte : 0;

        known = !report_part(script, s, i, byte, s->words.list[i].length);
        text_addf(&all, "%s%s", i == v->first ? "" : " ", shell_words_text(&s->words, i) + byte);
    }
    if (known)
        import_job_set(script->job, script->system->options, option, name,
                       v->end > v->first ? text_get(&all) : NULL,
                       shell_place_at(s, shell_words_at(&s->words, word, 0)), s->diag);
    text_fini(&all);
}

/* Append the known parts of words, separated by spaces; a part with an unknown byte is left out. */
static void add_known(struct text *out, const struct shell *s, const struct values *v)
{
    for (size_t i = v->first; i < v->end; i++) {
        const char *text = shell_words_text(&s->words, i);
        size_t at = i == v->first ? v->byte : 0, n;

        for (; text[at]; at += n + (text[at + n] == ' ')) {
            bool known = true;

            n = strcspn(text + at, " ");
            for (size_t b = at; b < at + n; b++)
                known &= shell_words_origin(&s->words, i, b).doubt != SHELL_UNKNOWN;
            if (n == 0 || !known)
                continue;
            text_add(out, out->length > 0 ? " " : "");
            text_add_bytes(out, text + at, n);
        }
    }
}

/* Set a hint.  A hint that may not be given is ignored; of its possible values the known ones
 * count. */
static void set_hint(struct script *script, const struct shell *s,
                     const struct import_option *option, const char *name, size_t word,
                     size_t length, struct values v)
{
    bool sure =
        shell_words_doubt(&s->words, word, 0, length) == length && s->under == 0 && !s->doubtful;
    struct text known = TEXT_INIT;

    if (v.byte == 0 && v.end > v.first + 1)
        v.end = v.first + 1;
    if (sure)
        add_known(&known, s, &v);
    import_job_set(script->job, script->system->options, option, name,
                   sure ? text_get(&known) : NULL,
                   shell_place_at(s, shell_words_at(&s->words, word, 0)), s->diag);
    text_fini(&known);
}

/* Whether an option is certainly given; a doubt is reported. */
static bool is_given(const struct script *script, const struct shell *s,
                     const struct import_option *option, size_t word, size_t length,
                     const char *name)
{
    size_t at = shell_words_doubt(&s->words, word, 0, length);

    if (at < length) {
        report_doubt(script, s, shell_words_origin(&s->words, word, at), name);
        return false;
    }
    if (s->under > 0 || s->doubtful) {
        report_under(s, word, strchr(option->name, ' ') ? name : option->name);
        return false;
    }
    return true;
}

/* Whether a quiet option was left out before: by its name, or by another with its prefix. */
static bool is_named(const struct script *script, const struct import_option *option,
                     const char *name)
{
    return option->name[strlen(option->name) - 1] == '-'
               ? script->job->said[option - script->system->options]
               : words_has(text_get(&script->job->left_out), name);
}

/* Take the option in a word, with a name of `length` bytes, and its value if any. */
static void take_option(struct script *script, const struct shell *s,
                        const struct import_option *option, const char *name, size_t word,
                        size_t length, bool follows)
{
    struct place place = shell_place_at(s, shell_words_at(&s->words, word, 0));
    struct values values = values_of(script, s, word, length);
    bool off = is_negated(script->system, name) && !words_has(option->name, name);

    script->job->name_place = place;
    if (off && option->type != IMPORT_FLAG) {
        text_addf(&script->job->left_out, " %s", name);
    } else if (option->type == IMPORT_HINT) {
        set_hint(script, s, option, name, word, length, values);
    } else if (option->type == IMPORT_QUIET) {
        if (!is_named(script, option, name))
            import_job_set(script->job, script->system->options, option, name, NULL, place,
                           s->diag);
    } else if (!is_given(script, s, option, word, length, name)) {
        return;
    } else if (option->type == IMPORT_LIST) {
        set_list(script, s, option, name, word, &values);
    } else if (shell_words_text(&s->words, word)[length] == '=') {
        set_value(script, s, option, name, word, length + 1);
    } else if (option->type == IMPORT_FLAG || !follows) {
        import_job_set(script->job, script->system->options, option, name, off ? "false" : NULL,
                       place, s->diag);
    } else {
        set_value(script, s, option, name, word + 1, 0);
    }
}

/* The word after an option and its values; one without values may have its default spelled out. */
static size_t end_of_option(const struct script *script, const struct shell *s, size_t word,
                            size_t length, enum arity arity)
{
    struct values values = values_of(script, s, word, length);
    const char *first = values.end > word + 1 ? shell_words_text(&s->words, word + 1) : "";
    bool spelled =
        script->system->bare && (!strcasecmp(first, "true") || !strcasecmp(first, "false"));

    if (values.first == word || arity == ALL_WORDS)
        return values.end;
    return word + 1 + (values.end > word + 1 && (arity == ONE_WORD || spelled));
}

/* Read an option and its value, after `=` or in the next word; returns the word after both.
 * Unknown options before the launcher's name belong to another program. */
static size_t read_option(struct script *script, const struct shell *s, size_t word, bool ours)
{
    const char *text = shell_words_text(&s->words, word);
    size_t length = strcspn(text, "="), next, doubt;
    const struct import_option *option;
    struct text name = TEXT_INIT;
    enum arity arity;

    text_add_bytes(&name, text, length);
    option = find_option(script->system, &name);
    arity = arity_of(script->system, option, text_get(&name));
    next = end_of_option(script, s, word, length, arity);
    doubt = shell_words_doubt(&s->words, word, 0, length);
    if (name.failed)
        diag_no_memory(s->diag);
    else if (doubt < length && shell_words_origin(&s->words, word, doubt).doubt == SHELL_UNKNOWN)
        report_doubt(script, s, shell_words_origin(&s->words, word, doubt), "");
    else if (option)
        take_option(script, s, option, text_get(&name), word, length,
                    arity != NO_WORD && next > word + 1);
    else if (ours)
        import_job_unknown(script->job, script->system->options, text_get(&name),
                           shell_place_at(s, shell_words_at(&s->words, word, 0)), s->diag);
    if (!option && ours && next > word + 1)
        script->doubted = next - 1;
    text_fini(&name);
    return next;
}

/* ---- commands ---- */

/* Take a word that belongs to no option: behind the program it is the value of one that may be
 * given so, but for a variable that is not set, which may stand for options. */
static void read_word(struct script *script, const struct shell *s, size_t word, size_t program)
{
    const struct launch_system *system = script->system;
    const struct import_option *option =
        system->positional ? import_option_find(system->options, system->positional) : NULL;
    bool unset = s->words.list[word].length == 1 &&
                 shell_words_origin(&s->words, word, 0).doubt == SHELL_UNKNOWN;

    if (!option || word < program || (unset && word > program))
        read_other(script, s, word);
    else if (script->job->said[option - system->options])
        diag_error(s->diag, shell_place_at(s, shell_words_at(&s->words, word, 0)),
                   "'%.60s' follows no option, and %s is already given; expected one of the two",
                   shell_words_text(&s->words, word), option->name);
    else
        set_value(script, s, option, option->name, word, 0);
}

/* Where nothing else is the value that a command needs, it follows an option that is not known, and
 * that then takes none. */
static void read_doubted(struct script *script, const struct shell *s)
{
    const struct launch_system *system = script->system;
    const struct import_option *option =
        system->positional ? import_option_find(system->options, system->positional) : NULL;

    if (option && script->doubted > 0 && !script->job->said[option - system->options])
        set_value(script, s, option, option->name, script->doubted, 0);
}

/* The word after an option that the nodes of a server have each in their own way; the same word: it
 * is no such option. */
static size_t skip_by_node(const struct script *script, const struct shell *s, size_t word)
{
    const struct launch_system *system = script->system;
    const char *text = shell_words_text(&s->words, word);
    size_t length = strcspn(text, "="), next = word;
    struct text name = TEXT_INIT;
    const struct import_option *option;

    if (!system->by_node || !launch_script_is_option(system, s, word))
        return word;
    text_add_bytes(&name, text, length);
    option = find_option(system, &name);
    if (words_has(system->by_node, text_get(&name)))
        next = end_of_option(script, s, word, length, arity_of(system, option, text_get(&name)));
    text_fini(&name);
    return next;
}

/* Add the words of a command, a line each, by which it is compared with others: those of a server's
 * nodes, from the program on, without the options in which nodes differ. */
static void add_words(struct text *out, const struct script *script, const struct shell *s,
                      size_t program)
{
    for (size_t i = script->system->by_node ? program : 0; i < s->words.count;) {
        size_t next = skip_by_node(script, s, i);

        if (next == i)
            text_addf(out, "%s\n", shell_words_text(&s->words, next++));
        i = next;
    }
}

/* A script may launch one command, even twice, or once a node; of two different commands the right
 * one is unknown. */
static bool is_first(struct script *script, const struct shell *s, size_t program)
{
    struct place place = shell_place_at(s, shell_words_at(&s->words, 0, 0));
    struct text words = TEXT_INIT;
    bool same;

    if (script->offered || script->launched.length == 0) {
        text_add(&script->launched, "\n");
        add_words(&script->launched, script, s, program);
        script->place = script->offered ? script->place : place;
        return true;
    }
    text_add(&words, "\n");
    add_words(&words, script, s, program);
    same = !strcmp(text_get(&words), text_get(&script->launched));
    text_fini(&words);
    if (!same)
        diag_error(s->diag, place,
                   "a second, different command of %s after line %d; expected a file with one "
                   "command",
                   script->system->name, script->place.line);
    return false;
}

/* Read a command with options; words that may stand for options count, too. */
static void read_command(void *context, struct shell *s)
{
    struct script *script = context;
    const struct launch_system *system = script->system;
    size_t program;

    if (!system->find(s, &program) || !is_first(script, s, program))
        return;
    script->job->launched |= !script->offered;
    if (system->read_words)
        system->read_words(script->job, s, program);
    for (size_t i = system->argparse ? program : 0; i < s->words.count && !diag_is_full(s->diag);)
        if (launch_script_is_option(system, s, i))
            i = read_option(script, s, i, i >= program);
        else
            read_word(script, s, i++, program);
    read_doubted(script, s);
}

/* Note a variable of a sum: where its value changes, options change whose values are sums. */
static void note_operand(void *context, struct shell *s, const struct shell_variable *v)
{
    struct script *script = context;
    struct text name = TEXT_INIT;
    struct place place;

    if (v->value.count != 1 ||
        shell_words_doubt(&v->value, 0, 0, v->value.list[0].length) < v->value.list[0].length)
        return;
    place = shell_place_at(s, shell_words_at(&v->value, 0, 0));
    text_addf(&name, "$%s", v->name);
    import_job_note(script->job, text_get(&name), shell_words_text(&v->value, 0), place, place,
                    s->diag);
    text_fini(&name);
}

/* ---- the whole ---- */

void launch_script_add_known(struct text *out, const struct shell *s)
{
    add_known(out, s, &(struct values){0, s->words.count, 0});
}

static void report_nothing(const struct script *script, const struct shell *s)
{
    if (s->leave == SHELL_EXITS && s->left_line > 0)
        diag_error(s->diag, script->job->end,
                   "the script exits on line %d before it launches anything; add --set VAR=VALUE "
                   "for the variables that it tests",
                   s->left_line);
    else
        diag_error(s->diag, script->job->end,
                   "no command of %s found; expected a command such as %s", script->system->name,
                   script->system->example);
}

/* Variables without a command are meant for another file: take the options in them. */
static void offer_variables(struct script *script, struct shell *s)
{
    struct text names = TEXT_INIT;

    script->offered = true;
    shell_offer_variables(s, &names);
    if (names.length > 0)
        text_addf(&script->job->notes,
                  "# The file has no command: the options are read from its variables%s.\n",
                  text_get(&names));
    text_fini(&names);
    if (script->launched.length == 0 && s->diag->nerrors == 0)
        report_nothing(script, s);
    else if (script->system->take_variables)
        script->system->take_variables(script->job, s);
}

static void give_variables(struct import_job *job, struct shell *s)
{
    for (size_t i = 0; i < job->ngiven; i++)
        if (!shell_give(s, job->given[i]))
            diag_error(s->diag, (struct place){NULL, 0, 0},
                       "--set %.60s: expected NAME=VALUE, NAME a variable of the script or the "
                       "number of an argument",
                       job->given[i]);
}

/* Where the last line of a text begins its end: what is missing is told there. */
static uint32_t end_of(const char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    return (uint32_t)length;
}

void launch_script_read(struct import_job *job, const struct launch_system *system,
                        struct place first, const char *text, struct diag *diag)
{
    struct script script = {.job = job, .system = system};
    struct shell s;

    if (!shell_reader_init(&s, first, text, diag))
        return;
    text_init(&script.launched);
    give_variables(job, &s);
    for (size_t i = 0; i < job->nfiles; i++)
        if (!shell_add_file(&s, job->files[i].path, job->files[i].text))
            break;
    shell_run(&s, read_command, note_operand, &script);
    job->end = shell_place_at(&s, end_of(text));
    if (script.launched.length == 0 && diag->nerrors == 0)
        offer_variables(&script, &s);
    shell_check_given(&s);
    text_add(&job->unread, text_get(&s.unread));
    job->unread_at = shell_place_at(&s, s.unread_at);
    if (script.launched.failed)
        diag_no_memory(diag);
    text_fini(&script.launched);
    shell_reader_fini(&s);
}
