/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/ranks/letters.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/wait.h"

/* Letters that need more room are not kept for reuse: they were for a single message of a
 * pipeline. */
#define SPARE_BYTES_MAX (UINT64_C(1) << 20)

static struct letters {
    pthread_mutex_t lock; /* guards the following fields */
    struct letter *spare; /* freed letters for reuse */
    struct letter *early; /* letters of sessions without a listener yet, the oldest first */
    uint64_t session;
    ranks_deliver_fn deliver; /* NULL: nobody listens */
    void *arg;
    bool delivering;
    _Atomic uint32_t delivered; /* event: a letter was delivered */
} letters = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    pthread_mutex_lock(&letters.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&letters.lock);
}

/* ---- memory ---- */

/* Take a spare letter with enough room, or NULL.  Called with the lock held. */
static struct letter *take_spare(uint64_t bytes)
{
    struct letter **at = &letters.spare, *letter;

    while ((letter = *at) && letter->room < bytes)
        at = &letter->next;
    if (letter)
        *at = letter->next;
    return letter;
}

struct letter *letter_room(uint64_t bytes)
{
    struct letter *letter;
    uint64_t room = bytes < 1024 ? 1024 : bytes;

    lock();
    letter = take_spare(bytes);
    unlock();
    if (letter || room > SIZE_MAX - sizeof *letter)
        return letter;
    letter = malloc(sizeof *letter + room);
    if (letter)
        letter->room = room;
    return letter;
}

void letter_done(struct letter *letter)
{
    if (letter->room > SPARE_BYTES_MAX) {
        free(letter);
        return;
    }
    lock();
    letter->next = letters.spare;
    letters.spare = letter;
    unlock();
}

void ranks_put_back(const void *letter)
{
    if (letter)
        letter_done((struct letter *)((uintptr_t)letter - offsetof(struct letter, data)));
}

static void free_list(struct letter **list)
{
    while (*list) {
        struct letter *letter = *list;

        *list = letter->next;
        free(letter);
    }
}

void letters_fini(void)
{
    free_list(&letters.spare);
    free_list(&letters.early);
}

/* ---- sessions ---- */

uint64_t ranks_new_session(void)
{
    static _Atomic uint64_t nsessions;

    return atomic_fetch_add(&nsessions, 1) + 1;
}

void letters_listen(uint64_t session, ranks_deliver_fn deliver, void *arg)
{
    lock();
    letters.session = session;
    letters.deliver = deliver;
    letters.arg = arg;
    unlock();
}

void ranks_close(void)
{
    lock();
    letters.deliver = NULL;
    while (letters.delivering) {
        uint32_t seen = atomic_load(&letters.delivered);

        unlock();
        wait_event(&letters.delivered, seen, 1000000);
        lock();
    }
    unlock();
}

bool letters_are_wanted(void)
{
    bool wanted;

    lock();
    wanted = letters.deliver != NULL;
    unlock();
    return wanted;
}

/* ---- delivery ---- */

/* Deliver a letter.  Called with the lock held, which is released while the listener reads. */
static void hand_over(struct letter *letter)
{
    ranks_deliver_fn deliver = letters.deliver;
    void *arg = letters.arg;

    letters.delivering = true;
    unlock();
    if (!deliver(arg, letter->parcel.peer, letter->data, letter->envelope.bytes))
        letter_done(letter);
    lock();
    letters.delivering = false;
    if (!letters.deliver)
        wait_signal(&letters.delivered);
}

static bool is_for(const struct letter *letter, uint64_t session)
{
    return letter->envelope.session == session;
}

void letters_deliver_early(void)
{
    struct letter **at = &letters.early;

    lock();
    while (letters.deliver && *at) {
        struct letter *letter = *at;

        if (letter->envelope.session > letters.session) {
            at = &letter->next;
            continue;
        }
        *at = letter->next;
        if (!is_for(letter, letters.session)) {
            free(letter);
            continue;
        }
        hand_over(letter);
        at = &letters.early; /* the list may have changed */
    }
    unlock();
}

/* Called with the lock held. */
static void keep_early(struct letter *letter)
{
    struct letter **end = &letters.early;

    while (*end)
        end = &(*end)->next;
    letter->next = NULL;
    *end = letter;
}

void letters_receive(struct letter *letter)
{
    lock();
    if (letters.deliver && is_for(letter, letters.session) && !letters.early)
        hand_over(letter);
    else if (letter->envelope.session < letters.session ||
             (is_for(letter, letters.session) && !letters.deliver))
        free(letter);
    else
        keep_early(letter);
    unlock();
}
