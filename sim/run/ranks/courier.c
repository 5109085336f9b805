/* The courier: communication of a rank (ranks.h), with the thread that drives it while no other
 * thread waits.
 *
 * Only the holder of the lock `wheel` may use the wire.  A thread that posts takes the wheel, if
 * free, just to start its message.  A thread that waits for another rank takes the wheel for each
 * of its looks, so that its message need not be handed over between threads, which would take
 * longer than a short message.  The courier looks while no thread waits, and for all waiting
 * threads but the one that looks itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "base/thread.h"
#include "base/wait.h"
#include "run/ranks/letters.h"
#include "run/ranks/wire.h"

/* Letters have a tag of their own. */
#define LETTER_TAG (RANKS_TAG_PIECES + 1)

/* Polling while a thread waits: first looks that yield the core between them, then sleeps that grow
 * from the first to the last.  A thread that looks for itself makes more looks, since it has
 * nothing else to do; if each rank has a core, it first keeps the core for some microseconds, less
 * than it takes to get the core back. */
#define EAGER_LOOKS 50
#define OWN_EAGER_LOOKS 1000
#define OWN_BUSY_LOOKS 20
#define FIRST_SLEEP_NS 20000
#define LAST_SLEEP_NS 500000
/* Sleep between looks while no thread waits. */
#define IDLE_SLEEP_NS 2000000

/* How often each rank sends a sign of life, and how long a rank may be silent. */
#define BEAT_NS (INT64_C(400) * 1000000)
#define SILENCE_NS (INT64_C(3000) * 1000000)
/* Time for the launcher to start all ranks, which are silent before. */
#define START_NS (INT64_C(60) * 1000000000)
/* Time for the last messages of a rank that left to arrive. */
#define LEFT_NS (INT64_C(1000) * 1000000)
/* Looks between two reads of the clock. */
#define LOOKS_A_CLOCK 16
/* Most time between two looks that counts as silence: if it was longer, the whole machine stood
 * still. */
#define LOOK_MAX_NS (INT64_C(200) * 1000000)

/* In place of a peer. */
#define ALL_RANKS (-1)

/* Session of letters to the courier itself; others begin at 1. */
#define SESSION_COURIER 0
enum word { WORD_BEAT, WORD_LEFT };

struct name {
    char host[64];
    int64_t pid;
};

static struct courier {
    const struct wire *wire;
    pthread_t thread;
    int count, me;
    struct name *names;
    bool has_core; /* at least as many cores as ranks on this machine */

    pthread_mutex_t wheel; /* its holder may use the wire; taken before the lock */
    pthread_mutex_t lock;
    struct ranks_parcel *asked, **asked_end; /* to be started; guarded by the lock */

    _Atomic uint32_t event;   /* moves when something is requested */
    _Atomic uint32_t arrived; /* moves when a parcel is done */
    _Atomic int nexpect;
    _Atomic bool driven; /* a waiting thread looks for itself */
    _Atomic uint32_t next_tag;
    _Atomic bool ending; /* this rank wants to leave */

    /* Guarded by the wheel: */
    struct ranks_parcel *letters, *flights; /* in flight: outgoing letters; all other messages */
    _Atomic bool busy;                      /* one of the two is not empty */
    int64_t looked_ns, beat_ns;
    uint32_t nlooks;
    struct peer {
        int64_t silent_ns, left_ns; /* time since the rank was heard, and since it left */
        bool left;
    } * peers; /* by rank */
    int nleft;
    bool started; /* the wire has begun */
    int told;     /* file descriptor of the original standard error, which the rank may have
                     closed since */
} courier = {
    .wire = WIRE,
    .count = 1,
    .told = 2,
    .wheel = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

bool ranks_launched(void)
{
    return courier.started;
}

int ranks_count(void)
{
    return courier.count;
}

int ranks_me(void)
{
    return courier.me;
}

int ranks_here(void)
{
    int n = 0;

    for (int r = 0; r < courier.count && courier.names; r++)
        n += !strcmp(courier.names[r].host, courier.names[courier.me].host);
    return n > 0 ? n : 1;
}

void ranks_abort(const char *why)
{
    dprintf(courier.told, "shardsim: error: %s\n", why);
    if (courier.started)
        courier.wire->abort(3);
    _exit(3);
}

static void lose(int rank, const char *how)
{
    char why[256];

    snprintf(why, sizeof why, "rank %d (process %" PRId64 " on %s) %s: the job ends", rank,
             courier.names[rank].pid, courier.names[rank].host, how);
    ranks_abort(why);
}

/* ---- requests ---- */

static void push(void);

static void lock(void)
{
    pthread_mutex_lock(&courier.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&courier.lock);
}

void ranks_start(struct ranks_parcel *parcel)
{
    atomic_store(&parcel->done, parcel->bytes == 0);
    parcel->next = NULL;
    if (parcel->bytes == 0)
        return;
    lock();
    *courier.asked_end = parcel;
    courier.asked_end = &parcel->next;
    unlock();
    push();
}

int ranks_post(int to, uint64_t session, const struct ranks_part *parts, uint32_t nparts)
{
    uint64_t bytes = 0;
    struct letter *letter;

    for (uint32_t i = 0; i < nparts; i++)
        bytes += parts[i].bytes;
    letter = letter_room(bytes);
    if (!letter)
        return SHD_ENOMEM;
    letter->envelope = (struct envelope){session, bytes};
    letter->parcel = (struct ranks_parcel){.how = RANKS_SEND,
                                           .peer = to,
                                           .tag = LETTER_TAG,
                                           .data = &letter->envelope,
                                           .bytes = sizeof letter->envelope + bytes};
    bytes = 0;
    for (uint32_t i = 0; i < nparts; i++) {
        if (parts[i].bytes > 0)
            memcpy(letter->data + bytes, parts[i].data, parts[i].bytes);
        bytes += parts[i].bytes;
    }
    ranks_start(&letter->parcel);
    return SHD_OK;
}

void ranks_finish(const struct ranks_parcel *parcel)
{
    for (;;) {
        uint32_t seen = atomic_load(&courier.arrived);

        if (atomic_load(&parcel->done))
            break;
        ranks_wait(&courier.arrived, seen, -1);
    }
}

uint32_t ranks_new_tags(void)
{
    return atomic_fetch_add(&courier.next_tag, RANKS_TAGS_EACH) % RANKS_TAGS;
}

void ranks_send(struct ranks_parcel *parcel, int to, uint32_t tag, const void *data, uint64_t bytes)
{
    *parcel = (struct ranks_parcel){
        .how = RANKS_SEND, .peer = to, .tag = tag, .data = (void *)(uintptr_t)data, .bytes = bytes};
    ranks_start(parcel);
}

void ranks_receive(struct ranks_parcel *parcel, int from, uint32_t tag, void *data, uint64_t bytes)
{
    *parcel = (struct ranks_parcel){
        .how = RANKS_RECEIVE, .peer = from, .tag = tag, .data = data, .bytes = bytes};
    ranks_start(parcel);
}

void ranks_merge(void *data, uint64_t bytes, enum ranks_how how)
{
    struct ranks_parcel parcel = {.how = how, .peer = ALL_RANKS, .data = data, .bytes = bytes};

    if (courier.count == 1)
        return;
    ranks_start(&parcel);
    ranks_finish(&parcel);
}

void ranks_expect(void)
{
    if (atomic_fetch_add(&courier.nexpect, 1) == 0)
        wait_signal(&courier.event);
}

void ranks_expect_no_more(void)
{
    atomic_fetch_sub(&courier.nexpect, 1);
}

/* ---- received letters ---- */

void ranks_listen(uint64_t session, ranks_deliver_fn deliver, void *arg)
{
    letters_listen(session, deliver, arg);
    wait_signal(&courier.event);
}

static void hear(const struct letter *letter)
{
    struct peer *peer = &courier.peers[letter->parcel.peer];

    if (letter->data[0] == WORD_LEFT && !peer->left) {
        peer->left = true;
        courier.nleft++;
    }
}

static void receive(struct letter *letter)
{
    courier.peers[letter->parcel.peer].silent_ns = 0;
    if (letter->envelope.session == SESSION_COURIER) {
        hear(letter);
        letter_done(letter);
        return;
    }
    letters_receive(letter);
}

/* Receive a letter: a single message of envelope and data. */
static bool look_for_letter(void)
{
    uint64_t bytes;
    int from;
    struct letter *letter;

    if (!courier.wire->look(LETTER_TAG, &from, &bytes))
        return false;
    letter = letter_room(bytes);
    if (!letter)
        ranks_abort("no memory for a message of another rank");
    letter->parcel.peer = from;
    courier.wire->take(&letter->envelope, bytes);
    receive(letter);
    return true;
}

/* ---- starting requests ---- */

_Static_assert(offsetof(struct letter, data) ==
                   offsetof(struct letter, envelope) + sizeof(struct envelope),
               "header and payload form one message");

/* Bytes of a parcel that go at once: all, but for a long merge. */
static uint64_t part_bytes(const struct ranks_parcel *parcel)
{
    return parcel->bytes < WIRE_MERGE_MAX ? parcel->bytes : WIRE_MERGE_MAX;
}

static void start(struct ranks_parcel *p)
{
    if (p->how == RANKS_SEND)
        courier.wire->send(&p->request, p->data, p->bytes, p->peer, (int)p->tag);
    else if (p->how == RANKS_RECEIVE)
        courier.wire->receive(&p->request, p->data, p->bytes, p->peer, (int)p->tag);
    else
        courier.wire->merge(&p->request, p->data, part_bytes(p), p->how);
}

static void put_on(struct ranks_parcel **list, struct ranks_parcel *parcel)
{
    parcel->next = *list;
    *list = parcel;
}

static bool start_what_is_asked(void)
{
    struct ranks_parcel *parcels;
    bool any;

    lock();
    parcels = courier.asked;
    courier.asked = NULL;
    courier.asked_end = &courier.asked;
    unlock();
    any = parcels != NULL;
    while (parcels) {
        struct ranks_parcel *parcel = parcels;

        parcels = parcel->next;
        start(parcel);
        put_on(parcel->tag == LETTER_TAG ? &courier.letters : &courier.flights, parcel);
    }
    return any;
}

/* ---- completing requests ---- */

/* Whether a parcel has landed; a merge goes on with its next part. */
static bool has_landed(struct ranks_parcel *p)
{
    if (!courier.wire->is_done(&p->request))
        return false;
    if (p->how == RANKS_SEND || p->how == RANKS_RECEIVE || p->bytes <= WIRE_MERGE_MAX)
        return true;
    p->data = (char *)p->data + WIRE_MERGE_MAX;
    p->bytes -= WIRE_MERGE_MAX;
    start(p);
    return false;
}

/* Take a parcel that has landed off a list, from *at on; NULL: there is none. */
static struct ranks_parcel *take_landed(struct ranks_parcel ***at)
{
    struct ranks_parcel *parcel;

    while ((parcel = **at) && !has_landed(parcel))
        *at = &parcel->next;
    if (parcel)
        **at = parcel->next;
    return parcel;
}

static bool look_after_letters(void)
{
    struct ranks_parcel **at = &courier.letters, *parcel;
    bool any = false;

    while ((parcel = take_landed(&at))) {
        letter_done((struct letter *)parcel);
        any = true;
    }
    return any;
}

static bool look_after_flights(void)
{
    struct ranks_parcel **at = &courier.flights, *parcel;
    bool any = false;

    while ((parcel = take_landed(&at))) {
        atomic_store(&parcel->done, true);
        any = true;
    }
    if (any)
        wait_signal(&courier.arrived);
    return any;
}

/* ---- signs of life ---- */

static void say(int to, enum word word)
{
    char said = (char)word;
    const struct ranks_part part = {&said, sizeof said};

    if (ranks_post(to, SESSION_COURIER, &part, 1) != SHD_OK)
        ranks_abort("no memory for a message to another rank");
}

/* Rank 0 watches all ranks, and they watch rank 0; higher ranks wait longer before they report a
 * loss. */
static bool listens_to(int rank)
{
    return rank != courier.me && (courier.me == 0 || rank == 0);
}

/* Whether this rank needs another one: it listens, or is in an operation with that one or with all.
 */
static bool needs(int rank)
{
    for (const struct ranks_parcel *p = courier.flights; p; p = p->next)
        if (p->peer == rank || p->peer == ALL_RANKS)
            return true;
    return letters_are_wanted();
}

static void look_for_silence(void)
{
    int64_t now_ns = wait_clock_ns(), passed_ns = now_ns - courier.looked_ns;

    courier.looked_ns = now_ns;
    if (passed_ns > LOOK_MAX_NS)
        passed_ns = LOOK_MAX_NS;
    for (int r = 0; r < courier.count; r++) {
        struct peer *peer = &courier.peers[r];

        peer->silent_ns += passed_ns;
        peer->left_ns += peer->left ? passed_ns : 0;
        if (peer->left_ns > LEFT_NS && needs(r))
            lose(r, "exited before the other ranks finished");
        if (listens_to(r) && !peer->left && peer->silent_ns > SILENCE_NS + courier.me * BEAT_NS / 4)
            lose(r, "has not answered for 3 s");
    }
    if (now_ns - courier.beat_ns < BEAT_NS)
        return;
    courier.beat_ns = now_ns;
    for (int r = 0; r < courier.count; r++)
        if (listens_to(r))
            say(r, WORD_BEAT);
}

/* ---- looking ---- */

static void note_busy(void)
{
    atomic_store(&courier.busy, courier.letters || courier.flights);
}

/* Start requests, without delivering letters: the caller may hold locks that a listener needs. */
static void push(void)
{
    if (pthread_mutex_trylock(&courier.wheel)) {
        wait_signal(&courier.event); /* the holder looks again, or the courier does */
        return;
    }
    (void)start_what_is_asked();
    note_busy();
    pthread_mutex_unlock(&courier.wheel);
}

void ranks_go_on(void)
{
    if (atomic_load(&courier.busy))
        wait_signal(&courier.event);
}

/* Make progress until an event has moved on from `seen` (NULL: as much as possible).  Returns
 * whether anything was done; false if another thread is looking. */
static bool look(const _Atomic uint32_t *event, uint32_t seen)
{
    bool any;

    if (pthread_mutex_trylock(&courier.wheel))
        return false;
    any = start_what_is_asked();
    any |= look_after_flights();
    letters_deliver_early();
    while (!(event && wait_has_moved(event, seen)) && look_for_letter())
        any = true;
    /* No thread waits for letters to be sent, and a test costs as much as a send: so test rarely.
     */
    if (!any || courier.nlooks % LOOKS_A_CLOCK == 0)
        any |= look_after_letters();
    if (courier.nlooks++ % LOOKS_A_CLOCK == 0)
        look_for_silence();
    note_busy();
    pthread_mutex_unlock(&courier.wheel);
    return any;
}

/* Sleep time after `nidle` looks without progress. */
static int64_t sleep_after(uint32_t nidle)
{
    int64_t sleep_ns = FIRST_SLEEP_NS * (int64_t)(1 + nidle / 16);

    return sleep_ns < LAST_SLEEP_NS ? sleep_ns : LAST_SLEEP_NS;
}

static void drive(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns)
{
    int64_t end_ns = limit_ns < 0 ? INT64_MAX : wait_clock_ns() + limit_ns;
    uint32_t nidle = 0;

    while (!wait_has_moved(event, seen) && (limit_ns < 0 || wait_clock_ns() < end_ns)) {
        uint32_t asked = atomic_load(&courier.event);

        if (look(event, seen))
            nidle = 0;
        else if (++nidle < OWN_BUSY_LOOKS && courier.has_core)
            continue;
        else if (nidle < OWN_EAGER_LOOKS)
            sched_yield();
        else
            wait_event(&courier.event, asked, sleep_after(nidle - OWN_EAGER_LOOKS));
    }
}

/* Wait for an event.  One waiting thread looks for itself, and so for all waiting threads; when its
 * event has come, the courier looks for the others. */
void ranks_wait(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns)
{
    bool drives;

    atomic_fetch_add(&courier.nexpect, 1);
    drives = !atomic_exchange(&courier.driven, true);
    if (drives) {
        drive(event, seen, limit_ns);
        atomic_store(&courier.driven, false);
    } else {
        wait_event(event, seen, limit_ns);
    }
    if (atomic_fetch_sub(&courier.nexpect, 1) > 1 && drives)
        wait_signal(&courier.event);
}

/* ---- the thread ---- */

/* Returns how many looks in vain there were since something was asked. */
static uint32_t rest(uint32_t seen, uint32_t nidle)
{
    bool waited_for = atomic_load(&courier.nexpect) > 0;
    int64_t sleep_ns = IDLE_SLEEP_NS;

    if (!atomic_load(&courier.driven) && (waited_for || atomic_load(&courier.busy))) {
        if (waited_for && nidle < EAGER_LOOKS) {
            sched_yield();
            return nidle;
        }
        sleep_ns = sleep_after(nidle < EAGER_LOOKS ? 0 : nidle - EAGER_LOOKS);
    }
    wait_event(&courier.event, seen, sleep_ns);
    return wait_has_moved(&courier.event, seen) ? 0 : nidle;
}

static bool all_has_gone(void)
{
    bool asked;

    if (!atomic_load(&courier.ending) || courier.nleft < courier.count - 1)
        return false;
    lock();
    asked = courier.asked != NULL;
    unlock();
    return !asked && !atomic_load(&courier.busy);
}

static void work(void)
{
    uint32_t nidle = 0;

    while (!all_has_gone()) {
        uint32_t seen = atomic_load(&courier.event);

        if (look(NULL, 0))
            nidle = 0;
        else
            nidle = rest(seen, nidle + 1);
    }
}

static void learn_names(void)
{
    struct name me = {.pid = getpid()};

    if (gethostname(me.host, sizeof me.host - 1))
        me.host[0] = '\0';
    courier.wire->gather(&me, courier.names, sizeof me);
}

static bool allocate(void)
{
    size_t n = (size_t)courier.count;

    courier.names = calloc(n, sizeof *courier.names);
    courier.peers = calloc(n, sizeof *courier.peers);
    return courier.names && courier.peers;
}

static void *courier_main(void *ready)
{
    const char *why = courier.wire->begin(&courier.count, &courier.me);

    system_make_prompt("courier");
    if (why)
        ranks_abort(why);
    if (!allocate())
        ranks_abort("no memory for the table of ranks");
    learn_names();
    courier.has_core = sysconf(_SC_NPROCESSORS_ONLN) >= ranks_here();
    courier.looked_ns = courier.beat_ns = wait_clock_ns();
    courier.started = true;
    wait_signal(ready);
    if (courier.count > 1)
        work();
    courier.wire->end();
    return NULL;
}

/* What the launchers of Open MPI, MPICH and Slurm tell each process. */
static bool is_launched(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
                                            "PMIX_RANK"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

int ranks_begin(struct shd_error *err)
{
    _Atomic uint32_t ready = 0;
    int64_t began_ns;

    if (!courier.wire || !is_launched())
        return SHD_OK;
    courier.asked_end = &courier.asked;
    courier.told = dup(2);
    if (thread_start(&courier.thread, courier_main, &ready))
        return shd_error_set(err, SHD_ESYSTEM,
                             "could not start the progress thread for other ranks");
    began_ns = wait_clock_ns();
    while (!wait_has_moved(&ready, 0)) {
        wait_event(&ready, 0, START_NS);
        if (!wait_has_moved(&ready, 0) && wait_clock_ns() - began_ns > START_NS)
            ranks_abort("the other ranks did not connect within 60 s");
    }
    return SHD_OK;
}

void ranks_end(void)
{
    if (!courier.started)
        return;
    for (int r = 0; r < courier.count; r++)
        if (r != courier.me)
            say(r, WORD_LEFT);
    atomic_store(&courier.ending, true);
    wait_signal(&courier.event);
    pthread_join(courier.thread, NULL);
    courier.started = false;
    letters_fini();
    free(courier.names);
    free(courier.peers);
    courier.count = 1;
}
