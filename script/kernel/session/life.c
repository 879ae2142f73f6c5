// SPDX-License-Identifier: MIT
#include "script/kernel/session/life.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/glances.h"
#include "script/kernel/port/works.h"
#include "script/kernel/process/guard.h"
#include "script/kernel/process/sandbox.h"
#include "script/kernel/session/file/document.h"
#include "script/kernel/session/room.h"
#include "script/kernel/session/running.h"
#include "script/protocol/message.h"

enum {
    DRAIN_MS = 2000,           // time for clients to take the last events
    READ_MS = 30 * 1000,       // time for followed logs to be read to where they are
    AGAIN_MS = 15 * 60 * 1000, // until a kernel whose time is over, but which something holds, is
                               // checked again
};

void life_begin(kernel *k)
{
    err e = {0};
    if (k->started_all || k->stopping || !k->options->headless)
        return;
    k->started_all = true;
    if (running_queue_all(k, &e) < 0) {
        cJSON *event = message_new(MESSAGE_error);
        json_set_str(event, "name", failure_name(FAILURE_REFUSED));
        json_set_str(event, "message", e.text);
        json_set_int(event, "exit", err_exit_code(e.code));
        size_t first;
        const notebook *nb = document_notebook(k->document);
        if (gate_check_notebook(k->effects->gate, nb, &first, NULL) < 0)
            json_set_str(event, "at", notebook_cell(nb, first)->id);
        port_emit(k->port, event);
        life_end(k, err_exit_code(e.code), e.text);
    }
}

const char *life_held(const kernel *k)
{
    if (asks_open_now(k->asks))
        return "a question is open";
    if (running_busy(k))
        return "a cell runs";
    if (displays_keep(k->displays))
        return "a port is forwarded";
    if (!document_saved(k->document))
        return "there is unsaved text";
    // With lifetime 0, live displays keep the kernel.
    return !k->lifetime_ns && displays_live(k->displays) ? "something is live" : NULL;
}

int64_t life_unused_ns(const kernel *k)
{
    return k->unused_since ? clock_mono() - k->unused_since : 0;
}

static void on_unused(void *arg)
{
    kernel *k = arg;
    if (life_unused_ns(k) >= k->lifetime_ns && !life_held(k)) {
        AUTO_BUF why = {0};
        buf_str(&why, "nobody has used it for ");
        duration_age(&why, k->lifetime_ns);
        life_end(k, 0, k->lifetime_ns ? buf_cstr(&why) : NULL);
        return;
    }
    life_settle(k);
}

// The time counts from when the last client left, or the last cell ended.
void life_settle(kernel *k)
{
    works_attend(k->works, server_users(k->server) > 0);
    if (k->options->headless || k->stopping)
        return;
    if (!k->unused_timer)
        k->unused_timer = loop_timer_new(k->loop, on_unused, k);
    loop_timer_stop(k->unused_timer);
    bool looked_at = server_users(k->server) > 0;
    displays_attend(k->displays, looked_at || running_busy(k), looked_at);
    if (looked_at || running_busy(k)) {
        k->unused_since = 0;
        return;
    }
    if (!k->unused_since) {
        k->unused_since = clock_mono();
        room_look_soon(k);
    }
    int64_t left = k->lifetime_ns - life_unused_ns(k);
    loop_timer_start(k->unused_timer, left > 0 ? (uint64_t)(left / CLOCK_MS) + 1 : AGAIN_MS, 0);
}

void life_client_gone(kernel *k, bool owner)
{
    works_attend(k->works, server_users(k->server) > 0);
    if (k->stopping)
        return;
    if (k->options->headless) {
        if (owner && !k->options->detach)
            life_shutdown(k);
        return;
    }
    if (k->options->bound && owner) {
        k->discards = true;
        if (k->wedged)
            life_abandon(k, failure_exit(FAILURE_INTERRUPTED));
        else
            life_shutdown(k);
        return;
    }
    if (server_users(k->server) == 0)
        gate_forget(k->effects->gate);
    // A kernel that no client has greeted holds nothing. After a restart, though, clients still
    // have to come back.
    bool ends = k->greeted ? !k->lifetime_ns : !k->options->recover;
    if (ends && owner && server_clients(k->server) == 0 && !life_held(k))
        life_end(k, 0, NULL);
    else
        life_settle(k);
}

void life_shutdown(kernel *k)
{
    if (k->stopping)
        return;
    if (running_busy(k) || k->started_all)
        running_interrupt(k, FAILURE_INTERRUPTED);
    if (!k->started_all && !running_busy(k))
        life_end(k, k->options->headless ? failure_exit(FAILURE_INTERRUPTED) : 0, NULL);
    else if (!k->options->headless)
        k->end_when_idle = true;
}

static const char *outcome(int exit_code)
{
    switch (exit_code) {
    case 0:
        return "ok";
    case 2:
        return "usage";
    case 3:
        return "refused";
    case 4:
        return "timeout";
    case 130:
        return "interrupted";
    case GUARD_RESTART:
        return "stopped";
    }
    return "failed";
}

static void emit_end(kernel *k)
{
    cJSON *event = message_new(MESSAGE_end);
    json_set_int(event, "exit", k->exit == GUARD_RESTART ? 0 : k->exit);
    json_set_str(event, "outcome", outcome(k->exit));
    json_set_str(event, "message", k->last_words);
    json_set(event, "ms", cJSON_CreateNumber((double)(clock_mono() - k->started) / CLOCK_MS));
    json_set_int(event, "ok", k->counts.ok);
    json_set_int(event, "failed", k->counts.failed);
    json_set_int(event, "cancelled", k->counts.cancelled);
    if (effects_in_sandbox(k->effects))
        ledger_forget_left(k->effects->ledger);
    json_set_int(event, "left", (int64_t)ledger_left(k->effects->ledger));
    if (!k->options->headless && !k->discards && !document_saved(k->document))
        json_set_bool(event, "unsaved", true);
    port_emit(k->port, event);
    port_flush(k->port);
}

static void stop_loop(void *arg)
{
    kernel *k = arg;
    loop_stop(k->loop);
}

static void after_sandbox(void *arg)
{
    kernel *k = arg;
    k->sandbox = NULL;
    server_drain(k->server, DRAIN_MS, stop_loop, k);
}

// A run ends well only if its journal does: the record of the end must be on the disk.
static void fail_by_journal(kernel *k)
{
    if (k->exit != 0)
        return;
    k->exit = 1;
    free(k->last_words);
    k->last_words = mem_strdup(port_error(k->port)->text);
}

static bool end_is_kept(kernel *k)
{
    uint64_t before = journal_seq(port_journal(k->port));
    emit_end(k);
    return journal_seq(port_journal(k->port)) > before;
}

static void end_journal(kernel *k)
{
    port_flush(k->port);
    if (port_error(k->port)->code)
        fail_by_journal(k);
    if (end_is_kept(k))
        return;
    fail_by_journal(k); // this changes how the run ends
    k->unended = !end_is_kept(k);
}

static void after_looks(void *arg)
{
    kernel *k = arg;
    displays_end(k->displays);
    k->effects->over = true;
    end_journal(k);
    sandbox_stop(k->sandbox, after_sandbox, k);
}

static void after_checks(void *arg)
{
    kernel *k = arg;
    glances_stop(k->effects->glances, after_looks, k);
}

static void after_actions(void *arg)
{
    kernel *k = arg;
    checks_stop(k->checks, after_checks, k);
}

static void finished(void *arg)
{
    kernel *k = arg;
    life_end(k, k->exit, k->last_words);
}

static void finish_after(kernel *k, uint64_t ms, void (*next)(void *arg))
{
    loop_timer_free(STEAL(k->finish_timer));
    k->finish_timer = loop_timer_new(k->loop, next, k);
    loop_timer_start(k->finish_timer, ms, 0);
}

// All awaited displays have ended. The caller may still be inside the function that ends the last
// one, so a timer of 0 ms finishes the run from the loop.
static void on_drained(void *arg)
{
    finish_after(arg, 0, finished);
}

static void drain(void *arg)
{
    kernel *k = arg;
    finish_after(k, READ_MS, finished);
    displays_drain(k->displays, NULL, on_drained, k);
}

void life_finish(kernel *k, int exit_code, const char *message)
{
    if (k->finishing || k->stopping)
        return;
    k->finishing = true;
    k->exit = exit_code;
    k->last_words = mem_strdup(message);
    if (exit_code != 0) {
        drain(k);
        return;
    }
    int64_t now = clock_mono();
    if (k->last_deadline) {
        int64_t left = k->last_deadline > now ? (k->last_deadline - now) / CLOCK_MS : 0;
        finish_after(k, (uint64_t)left, drain);
    }
    displays_drain(k->displays, k->last_cell, on_drained, k);
}

static void after_lookups(void *arg)
{
    kernel *k = arg;
    actions_stop(k->actions, after_actions, k);
}

void life_end(kernel *k, int exit_code, const char *message)
{
    if (k->stopping)
        return;
    char *last_words = mem_strdup(message);
    k->stopping = true;
    k->exit = exit_code;
    free(k->last_words);
    k->last_words = last_words;
    loop_timer_free(STEAL(k->finish_timer));
    if (exit_code != GUARD_RESTART) // nothing changes the document any more: others may open it
        document_lock_release(STEAL(k->lock));
    running_say_state(k, exit_code == GUARD_RESTART ? "restarting" : "stopping", NULL);
    lookups_stop(k->lookups, after_lookups, k);
}

void life_abandon(kernel *k, int exit_code)
{
    if (k->stopping)
        return;
    k->abandoned = k->running != NULL;
    if (k->running)
        running_abandon(k);
    life_end(k, exit_code, "the cell that ran could not be interrupted");
}

void life_restart(kernel *k)
{
    bool sandboxed = effects_in_sandbox(k->effects);
    AUTO_FREE char *note = str_fmt("%s%s", journal_path(port_journal(k->port)),
        !sandboxed               ? ""
        : k->effects->plain_pods ? KERNEL_NOTE_PROCESSES
                                 : KERNEL_NOTE_SANDBOX);
    guard_leave_note(note);
    if (k->running)
        life_abandon(k, GUARD_RESTART);
    else
        life_end(k, GUARD_RESTART, NULL);
}
