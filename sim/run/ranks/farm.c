/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/ranks/farm.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/wait.h"
#include "run/ranks/ranks.h"

/* How often a waiting thread checks whether it must stop, since a signal wakes no thread. */
#define LOOK_NS 20000000

enum word {
    WORD_READY,  /* to rank 0: `value` hands are ready for tasks */
    WORD_TASK,   /* from rank 0 */
    WORD_ANSWER, /* to rank 0, with the status */
    WORD_STOP,   /* to rank 0: this rank was asked to stop */
    WORD_END     /* from rank 0, with the exit status */
};

/* Head of a letter; the bytes of a task or answer follow. */
struct head {
    uint32_t word;
    int32_t value;
    uint64_t round, task;
};

/* A task waiting for a hand of this rank. */
struct task {
    struct task *next;
    struct head head;
    size_t bytes;
    char data[];
};

struct answer {
    bool there;
    int status, from; /* from: the rank that answered */
    struct text text;
};

struct rank {
    uint32_t nhands; /* 0: not ready yet */
    uint32_t nhas;   /* tasks at the rank */
    uint64_t ndone;
};

struct farm {
    struct farm_crew crew;
    uint64_t session;
    int nranks, me;
    _Atomic uint32_t event; /* moves when a task, an answer, or the end has come */
    bool told_stop;         /* guarded by the lock, as all fields below */
    pthread_mutex_t lock;

    /* Rank 0: the current round. */
    const struct farm_round *round; /* NULL: none */
    uint64_t number;
    size_t next; /* next task to hand out */
    struct answer *answers;
    struct rank *ranks;

    /* Other ranks. */
    struct task *queue, **queue_end;
    bool over;
    int exit_status;
};

static void lock(struct farm *farm)
{
    pthread_mutex_lock(&farm->lock);
}

static void unlock(struct farm *farm)
{
    pthread_mutex_unlock(&farm->lock);
}

static bool is_stopped(const struct farm *farm)
{
    return farm->crew.stop && __atomic_load_n(farm->crew.stop, __ATOMIC_RELAXED);
}

static void stop(struct farm *farm)
{
    if (farm->crew.stop)
        __atomic_store_n(farm->crew.stop, 1, __ATOMIC_RELAXED);
}

static void post(const struct farm *farm, int to, struct head head, const char *data, size_t bytes)
{
    const struct ranks_part parts[] = {{&head, sizeof head}, {data, bytes}};

    if (ranks_post(to, farm->session, parts, 2) != SHD_OK)
        ranks_abort("no memory for a task of another rank");
}

/* ---- rank 0: handing out ---- */

static bool has_tasks(const struct farm *farm)
{
    return farm->round && farm->next < farm->round->ntasks && !is_stopped(farm);
}

/* Hand out tasks to the idle hands of a rank.  Called with the lock held. */
static void hand_out(struct farm *farm, int to)
{
    struct rank *rank = &farm->ranks[to];

    while (rank->nhas < rank->nhands && has_tasks(farm)) {
        size_t task = farm->next++;
        struct text text = TEXT_INIT;

        farm->round->ask(farm->round->arg, task, &text);
        if (text.failed)
            ranks_abort("no memory for a task of another rank");
        rank->nhas++;
        post(farm, to, (struct head){WORD_TASK, 0, farm->number, task}, text_get(&text),
             text.length);
        text_fini(&text);
    }
}

/* Called with the lock held. */
static void keep_answer(struct farm *farm, int from, const struct head *head, struct text *text)
{
    struct answer *answer;

    farm->ranks[from].ndone++;
    if (!farm->round || head->round != farm->number || farm->answers[head->task].there) {
        text_fini(text); /* a late answer of a round that ended early */
        return;
    }
    answer = &farm->answers[head->task];
    *answer = (struct answer){true, head->value, from, *text};
}

static void deliver_to_first(struct farm *farm, int from, const struct head *head, const char *data,
                             size_t bytes)
{
    struct text text = TEXT_INIT;

    lock(farm);
    switch ((enum word)head->word) {
    case WORD_READY:
        farm->ranks[from].nhands = (uint32_t)head->value;
        break;
    case WORD_ANSWER:
        text_add_bytes(&text, data, bytes);
        farm->ranks[from].nhas--;
        keep_answer(farm, from, head, &text);
        break;
    case WORD_STOP:
        stop(farm);
        break;
    default:
        break;
    }
    hand_out(farm, from);
    unlock(farm);
    wait_signal(&farm->event);
}

/* ---- rank 0: a round ---- */

static int work_on(const struct farm *farm, size_t task, struct text *answer)
{
    struct text asked = TEXT_INIT;
    int status;

    farm->round->ask(farm->round->arg, task, &asked);
    answer->failed |= asked.failed;
    status =
        asked.failed ? 0 : farm->crew.work(farm->crew.arg, text_get(&asked), asked.length, answer);
    text_fini(&asked);
    return status;
}

/* Do one of the remaining tasks; false: none left. */
static bool take_task(struct farm *farm)
{
    struct head head = {WORD_ANSWER, 0, farm->number, 0};
    struct text text = TEXT_INIT;
    bool any;

    lock(farm);
    any = has_tasks(farm);
    head.task = any ? farm->next++ : 0;
    unlock(farm);
    if (!any)
        return false;
    head.value = work_on(farm, head.task, &text);
    lock(farm);
    keep_answer(farm, 0, &head, &text);
    unlock(farm);
    wait_signal(&farm->event);
    return true;
}

static void *work_until_none(void *arg)
{
    while (take_task(arg))
        ;
    return NULL;
}

/* Take the answers that are next in order; returns the first nonzero status of take(), or
 * SHD_ENOMEM. */
static int take_answers(struct farm *farm, size_t *ntaken)
{
    const struct farm_round *round = farm->round;
    int status = 0;

    while (*ntaken < round->ntasks && status == 0) {
        struct answer *answer = &farm->answers[*ntaken];
        bool there;

        lock(farm);
        there = answer->there;
        unlock(farm);
        if (!there)
            break;
        if (answer->from > 0 && answer->status != 0 && !is_stopped(farm)) {
            text_clear(&answer->text);
            answer->status = work_on(farm, *ntaken, &answer->text);
        }
        status = answer->text.failed
                     ? SHD_ENOMEM
                     : round->take(round->arg, *ntaken, answer->status, &answer->text);
        text_fini(&answer->text);
        ++*ntaken;
    }
    return status;
}

/* Run a round: the calling thread works too, and takes answers between its tasks. */
static int go_round(struct farm *farm, size_t *ntaken)
{
    int status = 0;

    while (*ntaken < farm->round->ntasks && status == 0 && !is_stopped(farm)) {
        uint32_t seen = atomic_load(&farm->event);
        bool worked = take_task(farm);
        size_t before = *ntaken;

        status = take_answers(farm, ntaken);
        if (!worked && *ntaken == before)
            wait_event(&farm->event, seen, LOOK_NS);
    }
    return status;
}

static int start_hands(pthread_t *hands, int n, void *(*run)(void *), struct farm *farm)
{
    int started = 0;

    while (started < n && thread_start(&hands[started], run, farm) == 0)
        started++;
    return started;
}

static void join_hands(const pthread_t *hands, int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(hands[i], NULL);
}

static void open_round(struct farm *farm, const struct farm_round *round, struct answer *answers)
{
    lock(farm);
    farm->round = round;
    farm->answers = answers;
    farm->number++;
    farm->next = 0;
    for (int r = 1; r < farm->nranks; r++)
        hand_out(farm, r);
    unlock(farm);
}

/* Stop handing out tasks; this rank's hands finish theirs. */
static void close_round(struct farm *farm)
{
    lock(farm);
    farm->next = farm->round->ntasks;
    unlock(farm);
}

int farm_run(struct farm *farm, const struct farm_round *round, size_t *ntaken,
             struct shd_error *err)
{
    size_t nhands = (size_t)farm->crew.nhands, taken = 0;
    struct answer *answers = calloc(round->ntasks + 1, sizeof *answers);
    pthread_t *hands = calloc(nhands, sizeof *hands);
    int more = (int)(nhands < round->ntasks ? nhands : round->ntasks) - 1;
    int status = SHD_ENOMEM;

    if (answers && hands) {
        if (farm->nranks > 1)
            ranks_expect();
        open_round(farm, round, answers);
        more = start_hands(hands, more, work_until_none, farm);
        status = go_round(farm, &taken);
        close_round(farm);
        join_hands(hands, more);
        lock(farm);
        farm->round = NULL;
        unlock(farm);
        if (farm->nranks > 1)
            ranks_expect_no_more();
        for (size_t i = 0; i < round->ntasks; i++)
            text_fini(&answers[i].text);
    }
    free(answers);
    free(hands);
    if (ntaken)
        *ntaken = taken;
    return status == SHD_ENOMEM ? shd_error_set(err, SHD_ENOMEM, "no memory for a task") : SHD_OK;
}

/* ---- other ranks ---- */

static void deliver_to_other(struct farm *farm, const struct head *head, const char *data,
                             size_t bytes)
{
    struct task *task;

    if (head->word == WORD_END) {
        lock(farm);
        farm->over = true;
        farm->exit_status = head->value;
        unlock(farm);
        stop(farm); /* current tasks are no longer wanted */
    } else if (head->word == WORD_TASK) {
        task = malloc(sizeof *task + bytes);
        if (!task)
            ranks_abort("no memory for a task of rank 0");
        *task = (struct task){.head = *head, .bytes = bytes};
        memcpy(task->data, data, bytes);
        lock(farm);
        *farm->queue_end = task;
        farm->queue_end = &task->next;
        unlock(farm);
    }
    wait_signal(&farm->event);
}

/* Tell rank 0, once, that this rank was asked to stop. */
static void tell_stop(struct farm *farm)
{
    bool tells;

    lock(farm);
    tells = is_stopped(farm) && !farm->over && !farm->told_stop;
    farm->told_stop |= tells;
    unlock(farm);
    if (tells)
        post(farm, 0, (struct head){.word = WORD_STOP}, NULL, 0);
}

/* Wait for the next task of this rank; NULL: no more. */
static struct task *next_task(struct farm *farm)
{
    struct task *task = NULL;
    bool over = false;

    while (!task && !over) {
        uint32_t seen = atomic_load(&farm->event);

        tell_stop(farm);
        lock(farm);
        over = farm->over;
        task = over ? NULL : farm->queue;
        if (task) {
            farm->queue = task->next;
            if (!farm->queue)
                farm->queue_end = &farm->queue;
        }
        unlock(farm);
        if (!task && !over)
            ranks_wait(&farm->event, seen, LOOK_NS);
    }
    return task;
}

static void *serve(void *arg)
{
    struct farm *farm = arg;
    struct task *task;

    while ((task = next_task(farm))) {
        struct text answer = TEXT_INIT;
        struct head head = task->head;

        head.word = WORD_ANSWER;
        head.value = farm->crew.work(farm->crew.arg, task->data, task->bytes, &answer);
        if (answer.failed)
            ranks_abort("no memory for the answer to a task");
        post(farm, 0, head, text_get(&answer), answer.length);
        text_fini(&answer);
        free(task);
    }
    return NULL;
}

int farm_serve(struct farm *farm)
{
    size_t n = (size_t)farm->crew.nhands;
    pthread_t *hands = calloc(n, sizeof *hands);
    int more;

    if (!hands)
        ranks_abort("no memory for the threads of a farm");
    more = start_hands(hands, (int)n - 1, serve, farm);
    post(farm, 0, (struct head){.word = WORD_READY, .value = more + 1}, NULL, 0);
    serve(farm);
    join_hands(hands, more);
    free(hands);
    return farm->exit_status;
}

/* ---- beginning and end ---- */

/* A ranks_deliver_fn. */
static bool deliver(void *arg, int from, const void *letter, uint64_t bytes)
{
    struct farm *farm = arg;
    const struct head *head = letter;
    const char *data = (const char *)letter + sizeof *head;

    if (farm->me == 0)
        deliver_to_first(farm, from, head, data, bytes - sizeof *head);
    else
        deliver_to_other(farm, head, data, bytes - sizeof *head);
    return false;
}

struct farm *farm_create(const struct farm_crew *crew)
{
    struct farm *farm = calloc(1, sizeof *farm);
    int nranks = ranks_count();

    if (farm)
        farm->ranks = calloc((size_t)nranks, sizeof *farm->ranks);
    if (!farm || !farm->ranks) {
        free(farm);
        if (nranks > 1)
            ranks_abort("no memory for the tasks of ranks");
        return NULL;
    }
    farm->crew = *crew;
    farm->nranks = nranks;
    farm->me = ranks_me();
    farm->queue_end = &farm->queue;
    pthread_mutex_init(&farm->lock, NULL);
    farm->session = ranks_new_session();
    if (nranks > 1)
        ranks_listen(farm->session, deliver, farm);
    return farm;
}

void farm_destroy(struct farm *farm, int exit_status)
{
    if (!farm)
        return;
    for (int r = 1; farm->me == 0 && r < farm->nranks; r++)
        post(farm, r, (struct head){.word = WORD_END, .value = exit_status}, NULL, 0);
    if (farm->nranks > 1)
        ranks_close();
    while (farm->queue) {
        struct task *next = farm->queue->next;

        free(farm->queue);
        farm->queue = next;
    }
    pthread_mutex_destroy(&farm->lock);
    free(farm->ranks);
    free(farm);
}

size_t farm_hands(struct farm *farm)
{
    size_t n = (size_t)farm->crew.nhands;

    lock(farm);
    for (int r = 1; r < farm->nranks; r++)
        n += farm->ranks[r].nhands;
    unlock(farm);
    return n;
}

void farm_tell(const struct farm *farm, struct text *out)
{
    for (int r = 0; r < farm->nranks; r++)
        text_addf(out, r == 0 ? "%" PRIu64 " tasks on rank %d" : ", %" PRIu64 " on rank %d",
                  farm->ranks[r].ndone, r);
}
