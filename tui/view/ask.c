// SPDX-License-Identifier: MIT
// A question of the kernel: an effect to be allowed, or a text that a cell wants.
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/utf8.h"
#include "tui/view/dialog.h"

#include <string.h>

struct ask_view {
    view head;
    int64_t ask;
    buf answer;
};

static const cJSON *question(const struct ask_view *v)
{
    const bench *b = v->head.bench;
    return b->ask && json_int_or(b->ask, "ask", 0) == v->ask ? b->ask : NULL;
}

static bool has_choice(const cJSON *q, const char *value)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_get(q, "choices"))
    {
        if (cJSON_IsString(c) && str_eq(c->valuestring, value))
            return true;
    }
    return false;
}

static void draw(view *view_, grid *g, rect area)
{
    struct ask_view *v = (struct ask_view *)view_;
    const cJSON *q = question(v);
    rect rest;
    bool free_text = q && !json_get(q, "choices");
    if (!q) {
        dialog_draw(g, area, "Question", "It has been answered.", "Esc closes", NULL);
        return;
    }
    AUTO_BUF keys = {0};
    if (free_text)
        buf_str(&keys, "Enter answers, Esc leaves it open");
    else
        buf_fmt(&keys, "%s%sn no   Esc later", has_choice(q, "yes") ? "y yes, once   " : "",
            has_choice(q, "always") ? "a always in this place   " : "");
    dialog_draw(g, area, free_text ? "The cell asks" : "May this cell do it?",
        json_str_or(q, "question", ""), buf_cstr(&keys), free_text ? &rest : NULL);
    if (!free_text)
        return;
    int x = grid_print(g, rest, rest.x, rest.y, LOOK_ACCENT, "> ");
    const char *words = buf_cstr(&v->answer);
    for (const char *c = words; json_bool_or(q, "secret", false) && *c;)
        x += grid_print(g, rest, rest.x + x, rest.y, (style){0}, "*"),
            c += grapheme_len(c, strlen(c));
    if (!json_bool_or(q, "secret", false))
        x += grid_put(g, rest, rest.x + x, rest.y, words, v->answer.len, (style){0});
    grid_set_cursor(g, rest.x + x, rest.y);
}

static void answer(struct ask_view *v, const char *value)
{
    bench *b = v->head.bench;
    int64_t ask = v->ask;
    AUTO_FREE char *copy = mem_strdup(value);
    if (question(v) && json_get(b->ask, "choices") && !has_choice(b->ask, value))
        return;
    if (question(v))
        remote_answer(b, ask, copy);
    cJSON_Delete(STEAL(b->ask));
    view_pop(&v->head);
}

static bool act(view *view_, enum action a)
{
    struct ask_view *v = (struct ask_view *)view_;
    bench *b = v->head.bench;
    if (a == ACT_BACK && question(v))
        bench_say(b, "the cell waits for an answer");
    if (a == ACT_INTERRUPT) {
        remote_interrupt(b);
        view_pop(view_);
        return true;
    }
    return false;
}

static void type(view *view_, key k)
{
    struct ask_view *v = (struct ask_view *)view_;
    const cJSON *q = question(v);
    uint32_t c = key_character(k);
    char words[4];
    if (!q)
        view_pop(view_);
    else if (json_get(q, "choices") && (c == 'y' || c == 'a' || c == 'n'))
        answer(v, c == 'y' ? "yes" : c == 'a' ? "always" : "no");
    else if (json_get(q, "choices"))
        return;
    else if (k == FK_ENTER)
        answer(v, buf_cstr(&v->answer));
    else if (k == FK_BACKSPACE && v->answer.len) {
        v->answer.len = grapheme_len_before(v->answer.data, v->answer.len) > v->answer.len
                            ? 0
                            : v->answer.len - grapheme_len_before(v->answer.data, v->answer.len);
        v->answer.data[v->answer.len] = '\0';
    } else if (c)
        buf_add(&v->answer, words, utf8_encode(c, words));
}

static void done(view *view_)
{
    buf_done(&((struct ask_view *)view_)->answer);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops ask_view_ops = {.name = "question",
    .keys = &keys,
    .overlay = true,
    .draw = draw,
    .act = act,
    .type = type,
    .done = done};

void ask_push(bench *b)
{
    struct ask_view *v = view_push(b, &ask_view_ops, sizeof *v);
    v->ask = json_int_or(b->ask, "ask", 0);
    free(b->select); // the cell that asks is what there is to look at
    b->select = mem_strdup(json_str(b->ask, "cell"));
}
