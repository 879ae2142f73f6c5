// SPDX-License-Identifier: MIT
// A question of the kernel: about an effect to be allowed, or for a text that a cell needs. Esc
// puts it off: the question stays open, and A shows it again.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/questions.h"
#include "tui/bench/remote.h"
#include "tui/bench/views.h"
#include "tui/part/dialog.h"
#include "tui/part/line.h"

#include <string.h>

static const char nobody_waits[] = "It waits for no answer any more: Esc closes this.";

// What "always" allows beside what is asked for: of this class, in the place that is shown.
static const char lasting[] = "all of this class here until the last terminal leaves";

struct ask_view {
    view head;
    int64_t ask;
    line *answer;
    struct scroll scroll;
};

static const cJSON *question(const struct ask_view *v)
{
    return question_by_id(v->head.bench, v->ask);
}

static bool is_text(const cJSON *q)
{
    return !json_get(q, "choices");
}

// The choice that begins with this character; NULL when there is none.
static const char *choice_of(const cJSON *q, uint32_t c)
{
    const cJSON *choice;
    cJSON_ArrayForEach(choice, json_get(q, "choices"))
    {
        if (cJSON_IsString(choice) && (uint32_t)(unsigned char)*choice->valuestring == c)
            return choice->valuestring;
    }
    return NULL;
}

static void choice_keys(const cJSON *q, bool brief, buf *out)
{
    static const struct {
        const char *choice, *words;
    } known[] = {{"yes", "yes, once"}, {"always", "always in this place"}};
    const cJSON *choice;
    cJSON_ArrayForEach(choice, json_get(q, "choices"))
    {
        if (!cJSON_IsString(choice) || !*choice->valuestring)
            continue; // no key chooses it
        const char *words = choice->valuestring;
        bool lasts = choice_of(q, 'a') != NULL;
        for (size_t i = 0; i < ARRAY_LEN(known) && !brief && lasts; i++)
            if (str_eq(words, known[i].choice))
                words = known[i].words;
        buf_fmt(out, "%c %s%s", *choice->valuestring, words, brief ? "  " : "   ");
    }
    buf_str(out, "Esc later");
}

// The cell that asks, as its title row shows it.
static char *title_of(bench *b, const cJSON *q)
{
    size_t at;
    if (!slot_by_id(b, json_str(q, "cell"), &at))
        return mem_strdup(json_get(q, "effect") ? "May this be done?" : "A question");
    AUTO_BUF name = {0};
    if (!is_text(q) && !choice_of(q, 'a')) // not for always: a person's own key asks
        return mem_strdup("Do this?");
    slot_name(b, at, &name);
    return is_text(q) ? str_fmt("%s asks", buf_cstr(&name))
                      : str_fmt("%s: may it do this?", buf_cstr(&name));
}

static void add_row(
    struct dialog_row *rows, size_t *n, const char *label, const char *words, style look)
{
    if (words && *words)
        rows[(*n)++] = (struct dialog_row){label, words, look};
}

// The details, each in a row of its own: {class, context, namespace, sandbox, objects}.
static size_t effect_rows(const cJSON *effect, const char *context, struct dialog_row *rows)
{
    const char *class = json_str(effect, "class");
    bool bad = str_eq(class, "destructive");
    const cJSON *object;
    size_t n = 0, first;
    add_row(rows, &n, "effect", class, bad ? LOOK_ERROR : LOOK_WARN);
    add_row(rows, &n, "context", context, (style){0});
    add_row(rows, &n, "namespace", json_str(effect, "namespace"), (style){0});
    first = n;
    cJSON_ArrayForEach(object, json_get(effect, "objects"))
    {
        add_row(rows, &n, n == first ? "objects" : "",
            cJSON_IsString(object) ? object->valuestring : json_str(object, "name"),
            bad ? LOOK_ERROR : LOOK_BOLD);
    }
    return n;
}

// What changes, a row for each line.
static void diff_rows(char *diff, struct dialog_row *rows, size_t *n)
{
    for (char *at = diff, *next; at && *at; at = next) {
        size_t length = strcspn(at, "\n");
        next = at + length + (at[length] == '\n');
        at[length] = '\0';
        style look = *at == '+'   ? LOOK_GOOD
                     : *at == '-' ? LOOK_ERROR
                     : *at == '@' ? LOOK_DIM
                                  : (style){0};
        rows[(*n)++] = (struct dialog_row){NULL, at, look};
    }
}

// Without the names of the two files, which are none.
static char *diff_of(const cJSON *effect)
{
    const char *diff = json_str(effect, "diff"), *at = diff ? strstr(diff, "@@") : NULL;
    return mem_strdup(at ? at : diff);
}

static size_t lines_of(const char *words)
{
    size_t n = 1;
    for (; words && *words; words++)
        n += *words == '\n';
    return n;
}

// The question's text ends with the class and place of the effect, for clients that show only the
// text; here they have rows of their own.
static char *question_words(const cJSON *q)
{
    const char *all = json_str_or(q, "question", "");
    const char *end = json_get(q, "effect") ? strstr(all, "? (") : NULL;
    return mem_strndup(all, end ? (size_t)(end + 1 - all) : strlen(all));
}

// A question as a dialog, with the strings that the dialog borrows.
struct asked {
    struct dialog dialog;
    struct dialog_row *rows;
    char *title, *context, *words, *diff;
    buf keys, brief;
};

static void asked_of(const struct ask_view *v, const cJSON *q, struct asked *a)
{
    const cJSON *effect = json_get(q, "effect");
    char *diff = diff_of(effect);
    size_t most = 6 + (size_t)cJSON_GetArraySize(json_get(effect, "objects")) + lines_of(diff),
           n = 0;
    *a = (struct asked){.rows = mem_array(most, sizeof *a->rows),
        .diff = diff,
        .title = title_of(v->head.bench, q),
        .context = str_fmt("%s%s", json_str_or(effect, "context", ""),
            json_bool_or(effect, "sandbox", false) ? " (the run's own sandbox)" : ""),
        .words = question_words(q)};
    add_row(a->rows, &n, NULL, a->words, (style){0});
    n += effect_rows(effect, a->context, a->rows + n);
    if (effect && choice_of(q, 'a'))
        add_row(a->rows, &n, "a", lasting, LOOK_DIM);
    diff_rows(a->diff, a->rows, &n);
    if (is_text(q))
        buf_str(&a->keys, "Enter answers   Esc later");
    else
        choice_keys(q, false, &a->keys);
    if (!is_text(q))
        choice_keys(q, true, &a->brief);
    a->dialog = (struct dialog){.title = a->title,
        .rows = a->rows,
        .n = n,
        .keys = buf_cstr(&a->keys),
        .short_keys = a->brief.len ? buf_cstr(&a->brief) : NULL,
        .frame = str_eq(json_str(effect, "class"), "destructive") ? LOOK_ERROR : LOOK_ACCENT,
        .input = is_text(q),
        .waits = !view_takes_keys(&v->head),
        .scroll = &v->scroll};
}

static void asked_done(struct asked *a)
{
    buf_done(&a->keys);
    buf_done(&a->brief);
    free(a->rows);
    free(a->title);
    free(a->context);
    free(a->words);
    free(a->diff);
}

static void draw_question(const struct ask_view *v, const cJSON *q, grid *g, rect area)
{
    struct asked a;
    asked_of(v, q, &a);
    rect input = dialog_show(g, area, &a.dialog);
    asked_done(&a);
    if (!is_text(q))
        return;
    int x = grid_print(g, input, input.x, input.y, LOOK_ACCENT, "> ");
    line_draw(v->answer, g, (rect){input.x + x, input.y, input.w - x, 1},
        json_bool_or(q, "secret", false));
}

static unsigned mode(const view *view_)
{
    const cJSON *q = question((const struct ask_view *)view_);
    return q && is_text(q) ? MODE_LINE : MODE_VIEW;
}

static void settle(view *view_, rect area)
{
    struct ask_view *v = (struct ask_view *)view_;
    const cJSON *q = question(v);
    struct asked a;
    if (!q) {
        dialog_settle_text(area, nobody_waits, &v->scroll);
        return;
    }
    asked_of(v, q, &a);
    dialog_settle(area, &a.dialog, &v->scroll);
    asked_done(&a);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct ask_view *v = (const struct ask_view *)view_;
    const cJSON *q = question(v);
    if (q)
        draw_question(v, q, g, area);
    else
        dialog_draw(g, area, "Question", nobody_waits, false, &v->scroll);
}

static void answer(struct ask_view *v, const char *value)
{
    if (question_answer(v->head.bench, v->ask, value))
        view_pop(&v->head);
}

// Without what was typed before the question took keys, an answer is not the one that was meant.
static void answer_text(struct ask_view *v)
{
    if (!v->head.missed) {
        answer(v, line_text(v->answer));
        return;
    }
    v->head.missed = false;
    bench_complain(v->head.bench,
        "keys that came before the question could be read are not in the answer; "
        "complete it, then Enter sends it");
}

static bool act(view *view_, enum action a)
{
    struct ask_view *v = (struct ask_view *)view_;
    bench *b = v->head.bench;
    const cJSON *q = question(v);
    if (a == ACT_BACK && q) {
        question_put_off(b, v->ask, is_text(q) ? line_text(v->answer) : NULL);
        bench_say(b, "it waits for an answer: A asks again");
    } else if (a == ACT_INTERRUPT) {
        question_put_off(b, v->ask, NULL); // the question goes with its cell
        remote_interrupt(b);
        view_pop(view_);
        return true;
    } else if (a == ACT_ACCEPT) {
        if (q && is_text(q))
            answer_text(v);
        return true;
    }
    if (!q && a != ACT_BACK) {
        view_pop(view_);
        return true;
    }
    if (q && is_text(q))
        return scroll_act(&v->scroll, a) ||
               line_act(v->answer, a, bench_clipboard(b), json_bool_or(q, "secret", false));
    uint32_t c = a == ACT_YES ? 'y' : a == ACT_ALWAYS ? 'a' : a == ACT_DENY ? 'n' : 0;
    if (c && choice_of(q, c))
        answer(v, choice_of(q, c));
    return c || scroll_act(&v->scroll, a);
}

static bool type(view *view_, key k)
{
    struct ask_view *v = (struct ask_view *)view_;
    const cJSON *q = question(v);
    uint32_t c = key_character(k);
    if (!q)
        view_pop(view_);
    else if (is_text(q))
        line_type(v->answer, k);
    else if (c && choice_of(q, c))
        answer(v, choice_of(q, c));
    else
        return false;
    return true;
}

static bool paste(view *view_, const char *words, size_t n)
{
    struct ask_view *v = (struct ask_view *)view_;
    const cJSON *q = question(v);
    bool taken = q && is_text(q);
    if (taken)
        line_paste(v->answer, words, n);
    return taken;
}

static void hint(const view *view_, buf *out)
{
    const cJSON *q = question((const struct ask_view *)view_);
    if (q && is_text(q))
        buf_str(out, "Enter answers  Esc later");
    else if (q)
        choice_keys(q, true, out);
    else
        buf_str(out, "Esc closes");
}

static void done(view *view_)
{
    line_free(((struct ask_view *)view_)->answer);
}

void ask_push(bench *b, int64_t ask, bool known)
{
    struct ask_view *v = view_push(b, &ask_view_ops, sizeof *v);
    v->head.known = known;
    v->ask = ask;
    v->answer = line_new("");
    line_set(v->answer, json_str_or(question(v), "draft", ""));
}

static const struct binding bindings[] = {
    {MODE_VIEW, "y", ACT_YES},
    {MODE_VIEW, "a", ACT_ALWAYS},
    {MODE_VIEW, "n", ACT_DENY},
    {MODE_VIEW, "j", ACT_ROW_NEXT},
    {MODE_VIEW | MODE_LINE, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "k", ACT_ROW_PREVIOUS},
    {MODE_VIEW | MODE_LINE, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW | MODE_LINE, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW | MODE_LINE, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW | MODE_LINE, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops ask_view_ops = {.name = "question",
    .keys = &keys,
    .overlay = true,
    .asks = true,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .hint = hint,
    .done = done};
