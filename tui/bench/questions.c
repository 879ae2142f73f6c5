// SPDX-License-Identifier: MIT
#include "tui/bench/questions.h"

#include "base/clock.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/views.h"

enum { PAUSE_MS = 400 };

static cJSON *find(const bench *b, int64_t ask)
{
    cJSON *q = b->asks->child;
    while (q && json_int_or(q, "ask", 0) != ask)
        q = q->next;
    return q;
}

const cJSON *question_by_id(const bench *b, int64_t ask)
{
    return find(b, ask);
}

bool question_of_cell(const bench *b, const char *id)
{
    const cJSON *q;
    cJSON_ArrayForEach(q, b->asks)
    {
        if (str_eq(json_str(q, "cell"), id))
            return true;
    }
    return false;
}

void question_put_off(bench *b, int64_t ask, const char *draft)
{
    cJSON *q = find(b, ask);
    if (!q)
        return;
    json_set_bool(q, "later", true);
    json_set_str(q, "draft", draft);
}

bool question_answer(bench *b, int64_t ask, const char *value)
{
    if (!remote_ready(b, false))
        return false;
    remote_answer(b, ask, value);
    questions_close(b, ask);
    return true;
}

void questions_add(bench *b, const cJSON *event)
{
    cJSON_AddItemToArray(b->asks, cJSON_Duplicate(event, true));
}

void questions_close(bench *b, int64_t ask)
{
    cJSON *q = find(b, ask);
    if (q)
        cJSON_Delete(cJSON_DetachItemViaPointer(b->asks, q));
}

void questions_forget(bench *b)
{
    cJSON_Delete(b->asks);
    b->asks = cJSON_CreateArray();
}

// If a question appeared while somebody types, the typing would answer it. So it waits for a pause,
// and for the end of a dialog or of editing; not in a new cell in which nothing is typed yet.
static bool may_interrupt(const bench *b)
{
    return !b->top->ops->overlay && (view_mode(b->top) != MODE_EDIT || b->untouched);
}

static int64_t pause_left(const bench *b)
{
    int64_t left = b->typed_at + PAUSE_MS * CLOCK_MS - clock_mono();
    return left > 0 ? left : 0;
}

static cJSON *next_question(const bench *b, bool again)
{
    cJSON *q = b->asks->child;
    while (q && json_bool_or(q, "later", false) && !again)
        q = q->next;
    return q;
}

int questions_wait_ms(const bench *b)
{
    bool due = !b->incoming && may_interrupt(b) && next_question(b, false);
    return due ? (int)(pause_left(b) / CLOCK_MS) + 1 : -1;
}

bool questions_offer(bench *b, bool again)
{
    cJSON *q = next_question(b, again);
    if (!q || b->incoming || (!again && (!may_interrupt(b) || pause_left(b) > 0)))
        return q != NULL;
    bool read = json_bool_or(q, "later", false) || !json_get(q, "choices");
    json_set_bool(q, "later", false);
    ask_push(b, json_int_or(q, "ask", 0), again && read);
    if (json_str(q, "cell"))
        bench_select_asking(b, json_str(q, "cell"));
    return true;
}
