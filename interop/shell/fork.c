/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "shell/fork.h"

#include <string.h>

static void copy(struct shell *s, struct shell_state *to, const struct shell_state *from)
{
    if (shell_spend(s, shell_state_bytes(from) / 16)) /* copying is cheap: bytes are not examined */
        shell_state_copy(to, from);
    else
        *to = (struct shell_state){.failed = true};
}

void shell_fork_open(struct shell *s, struct shell_fork *f, uint16_t cause)
{
    *f = (struct shell_fork){.cause = cause, .under = s->under};
    copy(s, &f->before, &s->state);
}

void shell_fork_begin(struct shell *s, struct shell_fork *f, bool last)
{
    f->sure = last && !f->any;
    s->under = f->sure ? f->under : f->cause;
}

/* if [ -z "$TP" ]; then TP=1; fi equals ${TP:=1}: the default is followed. */
static void keep_default(struct shell *s, struct shell_fork *f)
{
    const char *name = s->causes[f->cause].name;
    struct shell_variable *v = name ? shell_state_find(&s->state, name, strlen(name)) : NULL;

    if (!v || !v->set || f->keeps)
        return;
    f->keeps = true;
    shell_words_add(&f->kept, &v->value);
}

void shell_fork_end(struct shell *s, struct shell_fork *f, bool empty)
{
    if (s->leave == SHELL_EXITS) {
        s->leave = SHELL_STAYS;
        shell_state_fini(&s->state);
    } else {
        if (s->leave != SHELL_STAYS && !f->sure) {
            s->leave = SHELL_STAYS;
            s->doubtful = true;
        }
        if (empty)
            keep_default(s, f);
        if (f->any)
            shell_state_merge(&f->after, &s->state, f->cause);
        else
            f->after = s->state;
        f->any = true;
    }
    s->under = f->under;
    copy(s, &s->state, &f->before);
}

static void put_kept(struct shell *s, struct shell_fork *f)
{
    const char *name = s->causes[f->cause].name;
    struct shell_variable *v = shell_state_find(&s->state, name, strlen(name));

    if (!v || v->given)
        return;
    shell_words_fini(&v->value);
    v->value = f->kept;
    v->set = true;
    f->kept = (struct shell_words){.count = 0};
}

void shell_fork_close(struct shell *s, struct shell_fork *f, bool closed)
{
    if (closed && !f->any)
        s->leave = SHELL_EXITS;
    if (!closed && f->any)
        shell_state_merge(&f->after, &s->state, f->cause);
    if (f->any) {
        shell_state_fini(&s->state);
        s->state = f->after;
    }
    if (f->keeps)
        put_kept(s, f);
    shell_words_fini(&f->kept);
    shell_state_fini(&f->before);
}

void shell_fork_apart(struct shell *s, struct shell_fork *f)
{
    *f = (struct shell_fork){.under = s->under};
    copy(s, &f->before, &s->state);
}

void shell_fork_back(struct shell *s, struct shell_fork *f)
{
    shell_state_fini(&s->state);
    s->state = f->before;
    s->leave = SHELL_STAYS;
}

void shell_keep_state(struct shell *s, struct shell_state *to)
{
    *to = (struct shell_state){.failed = true};
    if (s->skipping == 0 && shell_spend(s, shell_state_bytes(&s->state) / 16))
        shell_state_copy(to, &s->state);
    else
        to->failed = false;
}

void shell_settle(struct shell *s, struct shell_state *before, bool doubtful)
{
    if (s->doubtful)
        shell_state_merge(&s->state, before, s->cause);
    else
        shell_state_fini(before);
    s->doubtful = doubtful;
}
