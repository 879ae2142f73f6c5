// SPDX-License-Identifier: MIT
// Long work that cells do now. Each event has all of its state, and the last one says that it is
// over, so nothing is kept of it but the newest.
#include "base/mem.h"
#include "tui/bench/bench_private.h"

const cJSON *slot_works(const struct slot *s)
{
    return s->works;
}

static void settle(struct slot *s)
{
    if (s->works && !s->works->child) {
        cJSON_Delete(s->works);
        s->works = NULL;
    }
    s->version++;
}

void works_event(bench *b, const cJSON *event)
{
    struct slot *s = slot_by_id(b, json_str(event, "cell"), NULL);
    if (!s)
        return;
    if (!s->works)
        s->works = cJSON_CreateArray();
    int64_t id = json_int_or(event, "id", 0);
    cJSON *was = s->works->child;
    while (was && json_int_or(was, "id", 0) != id)
        was = was->next;
    bool ended = json_bool_or(event, "ended", false);
    if (was && ended)
        cJSON_Delete(cJSON_DetachItemViaPointer(s->works, was));
    else if (was)
        cJSON_ReplaceItemViaPointer(s->works, was, cJSON_Duplicate(event, true));
    else if (!ended)
        cJSON_AddItemToArray(s->works, cJSON_Duplicate(event, true));
    settle(s);
}

void works_forget(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++)
        if (b->slots[i]->works) {
            cJSON_Delete(STEAL(b->slots[i]->works));
            settle(b->slots[i]);
        }
}
