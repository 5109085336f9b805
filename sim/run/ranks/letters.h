/* letters.h - letters of other ranks: their memory, and who gets them (ranks.h).
 *
 * A letter that comes before there is a listener for its session is kept, one of a session that is
 * over is dropped.
 *
 * Thread class: internally locked; letters are received by one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_LETTERS_H
#define RUN_RANKS_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/ranks/ranks.h"

struct envelope {
    uint64_t session;
    uint64_t bytes; /* of data behind the envelope */
};

struct letter {
    struct ranks_parcel
        parcel; /* transport header of the letter; its peer field names the sender */
    struct letter *next;
    uint64_t room;                         /* capacity for data behind the envelope */
    _Alignas(16) struct envelope envelope; /* followed directly by the data */
    _Alignas(16) char data[];
};

/* A letter with room for data; NULL: no memory. */
struct letter *letter_room(uint64_t bytes);

/* Give a letter back for reuse. */
void letter_done(struct letter *letter);

/* Deliver, keep or drop a letter that has come. */
void letters_receive(struct letter *letter);

/* Deliver letters that came before their listener, in order of arrival. */
void letters_deliver_early(void);

/* Begin to deliver the letters of a session. */
void letters_listen(uint64_t session, ranks_deliver_fn deliver, void *arg);

/* Whether anybody listens. */
bool letters_are_wanted(void);

/* Free all letters that were given back or kept. */
void letters_fini(void);

#endif /* RUN_RANKS_LETTERS_H */
