// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "trainer/dist/job/peers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { LINE_MAX_BYTES = 1 << 16 };
static const int64_t SUSPICION = CLOCK_SEC; // time to wait for a better cause

static void show_line(struct run *r, int rank, int stream, const char *line, size_t n)
{
    AUTO_BUF tagged = {0};
    buf_fmt(&tagged, "[1,%d]<%s>:", rank, stream == 0 ? "stdout" : "stderr");
    buf_add(&tagged, line, n);
    buf_char(&tagged, '\n');
    r->job->sink.text(r->job->sink.ctx, stream + 1, tagged.data, tagged.len);
}

// Shows whole lines only, so that lines of different ranks do not mix. stream: 0 or 1.
static void show_text(struct run *r, int rank, buf *lines, int stream, const char *bytes, size_t n)
{
    if (r->failed) // later output is not shown
        return;
    buf_add(lines, bytes, n);
    size_t shown = 0;
    for (const char *end; (end = memchr(lines->data + shown, '\n', lines->len - shown));) {
        size_t length = (size_t)(end - lines->data) - shown;
        show_line(r, rank, stream, lines->data + shown, length);
        shown += length + 1;
    }
    buf_consume(lines, shown);
    if (lines->len > LINE_MAX_BYTES) {
        show_line(r, rank, stream, lines->data, lines->len);
        buf_clear(lines);
    }
}

static void show_rest(struct run *r, int rank)
{
    struct rank *k = &r->ranks[rank];
    for (int stream = 0; stream < 2; stream++) {
        buf *lines[] = {&k->said[stream], &k->printed[stream]};
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
            if (lines[i]->len && !r->failed)
                show_line(r, rank, stream, lines[i]->data, lines[i]->len);
            buf_clear(lines[i]);
        }
    }
}

void ranks_show_rest(struct run *r)
{
    for (int rank = 0; rank < r->job->np; rank++)
        show_rest(r, rank);
}

// Blocks for messages, since a rank reads them at once. Answers of PMI are small, and the rank
// asked for them: if the rank does not read one, we do not wait.
static int send_here(struct run *r, int rank, enum channel c, const char *bytes, size_t n, err *e)
{
    int fd = launch_fd(&r->launch, rank, c);
    int flags = MSG_NOSIGNAL | (c == CHANNEL_PMI ? MSG_DONTWAIT : 0);
    while (fd >= 0 && n > 0) {
        ssize_t sent = send(fd, bytes, n, flags);
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0; // the end of the rank is noticed elsewhere
        if (sent < 0 && errno != EINTR)
            return err_errno(e, errno, "rank %d does not take what it is sent", rank);
        bytes += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

static int relay(struct peer *host, int rank, enum channel c, const char *bytes, size_t n)
{
    while (n > 0) {
        size_t piece = n < RELAY_MOST ? n : RELAY_MOST;
        if (peer_relay(host, rank, c, bytes, piece, NULL))
            return 0; // the loss of the executor is noticed and reported elsewhere
        bytes += piece;
        n -= piece;
    }
    return 0;
}

static int send_to(struct run *r, int rank, enum channel c, const char *bytes, size_t n, err *e)
{
    struct rank *k = &r->ranks[rank];
    return k->host ? relay(k->host, rank, c, bytes, n) : send_here(r, rank, c, bytes, n, e);
}

static int say_pmi(void *ctx, int rank, const char *line, size_t n, err *e)
{
    return send_to(ctx, rank, CHANNEL_PMI, line, n, e);
}

void ranks_init(struct run *r)
{
    r->ranks = mem_array((size_t)r->job->np, sizeof *r->ranks);
    int slots = r->options->executors ? r->options->slots : 0;
    stall_init(&r->stall, r->job->np, r->options->stall_check, r->options->stall_shutdown);
    r->pmi = pmi_new(r->job->np, slots, (struct pmi_answers){r, say_pmi});
}

void ranks_done(struct run *r)
{
    pmi_free(r->pmi);
    stall_free(&r->stall);
    for (int i = 0; i < r->job->np; i++) {
        struct rank *k = &r->ranks[i];
        buf *all[] = {&k->in, &k->said[0], &k->said[1], &k->printed[0], &k->printed[1]};
        for (size_t j = 0; j < ARRAY_LEN(all); j++)
            buf_done(all[j]);
    }
    buf_done(&r->suspicion.failure);
    free(r->ranks);
}

int run_lose(struct run *r, int rank, const err *why)
{
    if (!r->failed) {
        r->lost = true;
        r->lost_rank = rank;
    }
    return run_fail(r, why);
}

int run_fail(struct run *r, const err *why)
{
    if (!r->failed)
        r->why = *why;
    r->failed = true;
    return -1;
}

static void suspect(struct run *r, const err *why)
{
    if (!r->suspicion.there)
        r->suspicion = (struct suspicion){true, clock_mono(), *why, -1, -1, {0}};
}

static void look_for_stalls(struct run *r)
{
    AUTO_BUF text = {0}, line = {0};
    enum stall_verdict verdict = stall_look(&r->stall, clock_mono(), &text);
    if (verdict == STALL_END)
        RUN_FAIL(r, ERR_TIMEOUT, "%s", buf_cstr(&text));
    if (verdict != STALL_WARN || r->failed)
        return;
    buf_fmt(&line, "firesteel-worker: %s\n", buf_cstr(&text));
    r->job->sink.text(r->job->sink.ctx, 2, line.data, line.len);
}

// No better cause came.
static void convict(struct run *r)
{
    r->result->failed_rank = r->suspicion.rank;
    buf_add(&r->result->failure, buf_cstr(&r->suspicion.failure), r->suspicion.failure.len);
    run_lose(r, r->suspicion.gone, &r->suspicion.why);
}

void ranks_look(struct run *r)
{
    look_for_stalls(r);
    if (r->suspicion.there && !r->failed &&
        (clock_mono() > r->suspicion.since + SUSPICION || r->gone == r->job->np))
        convict(r);
}

// The others get the state from rank 0.
static int send_commit(struct run *r, err *e)
{
    const buf *commit = &r->elastic->commit;
    char head[MESSAGE_HEADER];
    if (!commit->len)
        return 0;
    return message_head(MESSAGE_COMMIT, commit->len, head, e) ||
                   send_to(r, 0, CHANNEL_LINK, head, sizeof head, e) ||
                   send_to(r, 0, CHANNEL_LINK, commit->data, commit->len, e)
               ? -1
               : 0;
}

// Sends place and function, now that the rank is ready.
static int send_job(struct run *r, int rank, err *e)
{
    const struct driver_options *o = r->options;
    char head[MESSAGE_HEADER + PLACE_SIZE];
    struct place place = o->executors ? place_of(rank, r->job->np, o->slots, o->slots)
                                      : place_of(rank, r->job->np, 0, o->cores);
    if (message_head(MESSAGE_JOB, PLACE_SIZE + r->job->function_n, head, e))
        return err_wrap(e, "the function and what it brings along");
    place.generation = r->elastic ? r->elastic->generation : 0;
    place.shares = r->shares;
    place.bucket = o->bucket;
    place_put(&place, head + MESSAGE_HEADER);
    r->started++;
    if (rank == 0 && r->elastic && send_commit(r, e))
        return -1;
    return send_to(r, rank, CHANNEL_LINK, head, sizeof head, e) ||
                   send_to(r, rank, CHANNEL_LINK, r->job->function, r->job->function_n, e)
               ? -1
               : 0;
}

void ranks_share_not(struct run *r, const char *why)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "firesteel-worker: the ranks cannot share memory, so they use MPI: %s\n", why);
    r->job->sink.text(r->job->sink.ctx, 2, line.data, line.len);
    r->shares = false;
}

static int hear_ready(struct run *r, int rank, const message *m, err *e)
{
    struct rank *k = &r->ranks[rank];
    if (k->ready)
        return err_set(e, ERR_INVALID, "rank %d said twice that it is ready", rank);
    bool waits = r->shares || r->started < r->ready; // also if only this rank cannot map it
    k->ready = true;
    r->ready++;
    if (m->n && r->shares) {
        AUTO_BUF why = {0};
        buf_fmt(&why, "rank %d: %.*s", rank, (int)m->n, m->body);
        ranks_share_not(r, buf_cstr(&why));
    }
    if (!waits)
        return send_job(r, rank, e);
    for (int i = 0; i < r->job->np && r->ready == r->job->np; i++)
        if (send_job(r, i, e))
            return -1;
    return 0;
}

static void rank_failed(struct run *r, int rank, const message *m)
{
    const char *end = memchr(m->body, '\n', m->n);
    int length = (int)(end ? end - m->body : (ptrdiff_t)m->n);
    bool follows = m->kind == MESSAGE_BEREFT;
    if (r->failed || (follows && r->suspicion.there))
        return;
    err why;
    err_set(&why, ERR_FAILED, "rank %d failed: %.*s", rank, length, m->body);
    if (follows) {
        suspect(r, &why);
        r->suspicion.rank = rank;
        buf_add(&r->suspicion.failure, m->body, m->n);
        return;
    }
    r->result->failed_rank = rank;
    buf_add(&r->result->failure, m->body, m->n);
    run_fail(r, &why);
}

static int hear_commit(struct run *r, int rank, const message *m, err *e)
{
    if (!r->elastic || rank != 0)
        return err_set(
            e, ERR_INVALID, "rank %d sent a commit; only rank 0 of an elastic job may", rank);
    elastic_commit(r->elastic, m->body, m->n);
    AUTO_BUF answer = {0};
    bool newcomers = driver_places(r->driver, r->elastic) > r->job->np;
    message_put(&answer, MESSAGE_COMMITTED, &(char){newcomers}, 1);
    return send_to(r, rank, CHANNEL_LINK, answer.data, answer.len, e);
}

static int hear_message(struct run *r, int rank, const message *m, err *e)
{
    struct rank *k = &r->ranks[rank];
    switch (m->kind) {
    case MESSAGE_READY:
        return hear_ready(r, rank, m, e);
    case MESSAGE_STDOUT:
    case MESSAGE_STDERR: {
        int stream = m->kind == MESSAGE_STDERR;
        show_text(r, rank, &k->said[stream], stream, m->body, m->n);
        return 0;
    }
    case MESSAGE_EVENT:
        if (!r->failed)
            r->job->sink.event(r->job->sink.ctx, rank, m->body, m->n);
        return 0;
    case MESSAGE_RESULT:
        show_rest(r, rank);
        if (k->done)
            return err_set(e, ERR_INVALID, "rank %d sent a second result", rank);
        buf_add(&r->result->results[rank], m->body, m->n);
        k->done = true;
        stall_done(&r->stall, rank, clock_mono());
        r->finished++;
        return 0;
    case MESSAGE_COMMIT:
        return hear_commit(r, rank, m, e);
    case MESSAGE_RESET:
        show_rest(r, rank);
        r->reset += r->elastic && !k->done;
        k->done = true;
        stall_done(&r->stall, rank, clock_mono());
        return 0;
    case MESSAGE_WAITS:
        stall_hear(&r->stall, rank, m->body, m->n, clock_mono());
        return 0;
    case MESSAGE_COUNTS:
        stall_count(&r->stall, rank, m->body, m->n);
        return 0;
    case MESSAGE_FAILURE:
    case MESSAGE_BEREFT:
        show_rest(r, rank);
        rank_failed(r, rank, m);
        return 0;
    case MESSAGE_EXIT:
        show_rest(r, rank);
        if (r->failed)
            return 0;
        r->result->exit_code = m->n == 4 ? (int)get_u32(m->body) : 1;
        return err_set(e, ERR_FAILED, "rank %d called os.exit(%d)", rank, r->result->exit_code);
    default:
        return err_set(
            e, ERR_INVALID, "rank %d sent %s, which is not for ranks", rank, message_name(m->kind));
    }
}

static int hear_link(struct run *r, int rank, const char *bytes, size_t n, err *e)
{
    buf *in = &r->ranks[rank].in;
    buf_add(in, bytes, n);
    size_t used = 0;
    int result = 0, there = 1;
    while (result == 0 && there > 0) {
        buf rest = {in->data + used, in->len - used, 0};
        message m;
        there = message_parse(&rest, &m, e);
        if (there > 0) {
            result = hear_message(r, rank, &m, e);
            used += MESSAGE_HEADER + m.n;
        }
    }
    if (there < 0) // the bytes after it cannot be parsed
        used = in->len;
    buf_consume(in, used);
    return there < 0 ? err_wrap(e, "rank %d", rank) : result;
}

void ranks_hear(struct run *r, int rank, enum channel channel, const char *bytes, size_t n)
{
    err why;
    struct rank *k = &r->ranks[rank];
    int result = 0;
    if (k->gone)
        return;
    if (channel == CHANNEL_LINK)
        result = hear_link(r, rank, bytes, n, &why);
    else if (channel == CHANNEL_STDOUT || channel == CHANNEL_STDERR)
        show_text(
            r, rank, &k->printed[channel == CHANNEL_STDERR], channel == CHANNEL_STDERR, bytes, n);
    else if (!r->failed)
        result = pmi_hear(r->pmi, rank, bytes, n, &why);
    // MPI aborts when it has lost a peer, so that peer may be the cause.
    if (result && channel == CHANNEL_PMI && why.code == ERR_FAILED)
        suspect(r, &why);
    else if (result)
        run_fail(r, &why);
}

// A rank that was killed is the cause of a failure. A rank that ended by itself, or by abort(), may
// only have lost a peer.
static bool is_cause(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT;
}

void ranks_gone(struct run *r, int rank, int status)
{
    struct rank *k = &r->ranks[rank];
    if (k->gone)
        return;
    show_rest(r, rank);
    k->gone = true;
    r->gone++;
    if (k->done || r->failed)
        return;
    AUTO_BUF how = {0};
    launch_describe(status, &how);
    err why;
    err_set(&why, ERR_FAILED, "rank %d %s before it had a result", rank, buf_cstr(&how));
    if (is_cause(status))
        run_lose(r, rank, &why);
    else if (!r->suspicion.there) {
        suspect(r, &why);
        r->suspicion.gone = rank;
    }
}

void ranks_stop(struct run *r)
{
    AUTO_BUF stop = {0};
    message_put(&stop, MESSAGE_STOP, NULL, 0);
    for (int i = 0; i < r->job->np; i++) {
        if (!r->ranks[i].gone)
            send_to(r, i, CHANNEL_LINK, stop.data, stop.len, NULL);
    }
}
