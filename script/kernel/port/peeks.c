// SPDX-License-Identifier: MIT
// Peeks: the displays that one client has for itself (displays.h).
#include "base/mem.h"
#include "script/kernel/port/displays_private.h"
#include "script/kernel/port/logdisplay.h"

// The most peeks of a client; another one drops the oldest.
enum { PEEKS = 16 };

// A peek that cannot be ended yet is ended later by display_on_end.
void peeks_unwant(display *d)
{
    d->unwanted = true;
    if (d->ended)
        displays_drop(d);
    else if (displays_is_endable(d))
        displays_end_one(d);
}

// The list has the newest first.
void peeks_make_room(displays *all, int64_t client)
{
    size_t n = 0;
    display *oldest = NULL;
    for (display *d = all->first; d; d = d->next)
        if (d->client == client && !d->unwanted)
            oldest = d, n++;
    if (n > PEEKS)
        peeks_unwant(oldest);
}

int64_t displays_add_peek(displays *all, int64_t client, const char *in_cell, cJSON *data)
{
    display *d = mem_alloc(sizeof *d);
    *d = (display){.all = all,
        .id = displays_next_id(all),
        .client = client,
        .cell = mem_strdup(in_cell),
        .held = true,
        .ended = true,
        .data = data,
        .sent_uids = hashset_new()};
    displays_enter(d, NULL);
    return d->id;
}

static display *find_peek(const displays *all, int64_t client, int64_t id)
{
    display *d = displays_find(all, id);
    return d && d->client && d->client == client && !d->unwanted ? d : NULL;
}

const char *displays_peek_cell(const displays *all, int64_t client, int64_t id)
{
    const display *d = find_peek(all, client, id);
    return d ? d->cell : NULL;
}

void displays_pin(displays *all, int64_t client, int64_t id)
{
    display *d = find_peek(all, client, id);
    if (!d)
        return;
    cJSON *data = d->log   ? log_display_bundle(d->log)
                  : d->now ? d->now(d->on_end_arg)
                           : STEAL(d->data);
    d->client = 0;
    displays_tell_anew(d, data);
    displays_emit(all, id, d->cell, NULL, data, d->ended ? NULL : "live");
    if (d->ended)
        displays_drop(d);
}

static display *first_without_client(
    const displays *all, bool (*is_there)(void *arg, int64_t client), void *arg)
{
    display *d = all->first;
    while (d && (!d->client || d->unwanted || is_there(arg, d->client)))
        d = d->next;
    return d;
}

void displays_drop_peeks(displays *all, bool (*is_there)(void *arg, int64_t client), void *arg)
{
    for (display *d; (d = first_without_client(all, is_there, arg));)
        peeks_unwant(d); // others may end with it
}
