// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold_private.h"
#include "script/journal/replay.h"
#include "script/journal/text.h"
#include "tests/unit/journal/sample.h"

#include <stdio.h>
#include <string.h>

// What a person sees of a state, as a text.
static char *seen(const fold *f)
{
    buf out = {0};
    buf_fmt(&out, "%s %d %zu %llu\n", run_state_name(fold_state(f)), fold_exit(f),
        fold_left_overs(f), (unsigned long long)fold_seq(f));
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        buf_fmt(&out, "%s %s %ld %lld\n", c->id, cell_state_name(c->state), c->count,
            (long long)(c->mono_end - c->mono_start));
        for (size_t k = 0; k < c->n_outputs; k++) {
            output_text(&c->outputs[k], NULL, 0, &out, NULL);
            buf_fmt(&out, "%s\n", c->outputs[k].live ? "live" : "");
        }
    }
    AUTO_JSON *results = fold_results(f);
    json_print(&out, results);
    notebook_print(fold_notebook(f), &out);
    return buf_take(&out);
}

static replay *open_all(const char *path)
{
    err e = {0};
    replay *r = replay_open(path, &e);
    CHECK_OK(r, e);
    while (replay_look(r, 1000))
        ;
    return r;
}

// The state after so many whole lines, by the one fold over a journal.
static char *plainly(const char *text, size_t lines)
{
    fold *f = fold_new();
    for (size_t i = 0; i < lines; i++) {
        size_t n = strcspn(text, "\n");
        AUTO_JSON *j = json_parse(text, n, NULL);
        fold_event(f, j, NULL);
        text += n + 1;
    }
    char *words = seen(f);
    fold_free(f);
    return words;
}

TEST(every_time_is_as_the_fold_has_it_in_any_order)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *path = journal_file(tap_dir(), run);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(path, &text, 1 << 20, &e) == 0, e);
    replay *r = open_all(path);
    size_t n = replay_count(r);
    CHECK_INT(n, 1 + ARRAY_LEN(sample_events));
    for (size_t round = 0; round < 200; round++) {
        size_t at = round * 7919 % n;
        AUTO_FREE char *want = plainly(buf_cstr(&text), at + 1);
        AUTO_FREE char *is = seen(replay_at(r, at));
        CHECK_STR(is, want);
    }
    replay_free(r);
}

TEST(a_copy_goes_its_own_way)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *path = journal_file(tap_dir(), run);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(path, &text, 1 << 20, &e) == 0, e);
    const char *line = buf_cstr(&text);
    fold *f = fold_new();
    for (size_t i = 1; *line; i++) {
        size_t n = strcspn(line, "\n");
        AUTO_JSON *j = json_parse(line, n, NULL);
        fold *copy = fold_copy(f);
        fold_event(f, j, NULL);
        fold_event(copy, j, NULL);
        AUTO_FREE char *want = plainly(buf_cstr(&text), i), *a = seen(f), *b = seen(copy);
        CHECK_STR(a, want);
        CHECK_STR(b, want);
        CHECK(fold_weight(copy) > 0);
        fold_free(i % 2 ? f : copy);
        f = i % 2 ? copy : f;
        line += n + 1;
    }
    fold_free(f);
}

TEST(steps_stop_at_what_changes)
{
    AUTO_FREE char *run = sample_write(), *path = journal_file(tap_dir(), run);
    replay *r = open_all(path);
    size_t last = replay_count(r) - 1, at = last, cells = 0, all = 0;
    while (at) {
        at = replay_step(r, at, -1, true);
        cells++;
    }
    for (at = 0; at < last; all++)
        at = replay_step(r, at, 1, false);
    CHECK_INT(cells, 6); // three ends, two beginnings, the run itself
    CHECK_INT(all, 16);
    CHECK_INT(replay_step(r, last, 1, false), last);
    CHECK_INT(replay_step(r, 0, -1, true), 0);
    CHECK(replay_time(r, 0) > 0 && replay_time(r, last) >= replay_time(r, 0));
    CHECK_INT(replay_find(r, replay_time(r, 0) - CLOCK_SEC), 0);
    CHECK_INT(replay_find(r, replay_time(r, last) + CLOCK_SEC), last);
    replay_free(r);
}

static char *journal_of(const char *const *lines, size_t n)
{
    err e = {0};
    AUTO_FREE char *folder = str_fmt("%s/.firesteel", tap_dir());
    path_make_dirs(folder, 0700, NULL);
    AUTO_BUF text = {0};
    for (size_t i = 0; i < n; i++)
        buf_fmt(&text, "%s\n", lines[i]);
    char *path = journal_file(tap_dir(), "nb-20260102-030405-1a2b");
    CHECK_OK(path_write(path, text.data, text.len, 0600, &e) == 0, e);
    return path;
}

#define RUN                                                                                        \
    "{\"type\":\"run\",\"format\":1,\"run\":\"nb\",\"notebook\":\"-- %% A id=\\\"a\\\"\\n"         \
    "1\\n\\n-- %% B id=\\\"b\\\"\\n2\\n\",\"seq\":1}"

TEST(a_cell_alone_is_what_it_did_last)
{
    static const char *const lines[] = {RUN,
        "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\",\"count\":1,\"hash\":\"x\"}",
        "{\"type\":\"stream\",\"cell\":\"a\",\"name\":\"stdout\",\"text\":\"old\"}",
        "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"ok\"}",
        "{\"type\":\"state\",\"cell\":\"b\",\"state\":\"running\",\"count\":2}",
        "{\"type\":\"stream\",\"cell\":\"b\",\"name\":\"stdout\",\"text\":\"of b\"}",
        "damaged in the middle",
        "{\"cell\":\"a\",\"count\":3,\"state\":\"running\",\"type\":\"state\"}", // another order
        "{\"type\":\"display\",\"cell\":\"a\",\"id\":7,\"data\":{\"text/plain\":\"before\"}}",
        "{\"type\":\"update\",\"id\":7,\"data\":{\"text/plain\":\"after\"}}",
        "{\"type\":\"display\",\"cell\":\"b\",\"id\":8,\"data\":{\"text/plain\":\"late\"}}",
        "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"failed\"}"};
    AUTO_FREE char *path = journal_of(lines, ARRAY_LEN(lines));
    replay *r = open_all(path);
    CHECK_INT(replay_count(r), ARRAY_LEN(lines) - 1);
    fold *f = replay_outline(r);
    CHECK_INT(fold_count(f), 2);
    CHECK_INT(fold_cell(f, 0)->n_outputs, 0);
    CHECK(replay_add_cell(r, f, "a"));
    const struct run_cell *a = fold_cell_by_id(f, "a", NULL);
    CHECK_INT(a->count, 3);
    CHECK_INT(a->state, STATE_FAILED);
    CHECK_INT(a->n_outputs, 1);
    CHECK_STR(json_str(a->outputs[0].data, "text/plain"), "after");
    CHECK_INT(fold_cell_by_id(f, "b", NULL)->n_outputs, 0);
    CHECK(!replay_add_cell(r, f, "nobody"));
    fold_free(f);
    replay_free(r);
}

TEST(what_ran_before_a_resume_is_forgotten)
{
    static const char *const lines[] = {RUN,
        "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\",\"count\":1}",
        "{\"type\":\"state\",\"cell\":\"b\",\"state\":\"running\",\"count\":2}",
        "{\"type\":\"resumed\",\"notebook\":\"-- %% A id=\\\"a\\\"\\n1\\n\"}",
        "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\",\"count\":1}"};
    AUTO_FREE char *path = journal_of(lines, ARRAY_LEN(lines));
    replay *r = open_all(path);
    fold *f = replay_outline(r);
    CHECK(replay_add_cell(r, f, "a"));
    CHECK(!replay_add_cell(r, f, "b"));
    fold_free(f);
    replay_free(r);
}

// Cut at any byte it is what its whole lines say; and nobody writes it any more.
TEST(a_journal_that_is_cut_at_any_byte_opens)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *path = journal_file(tap_dir(), run);
    AUTO_FREE char *cut = journal_file(tap_dir(), "cut-20260102-030405-1a2b");
    AUTO_BUF text = {0};
    CHECK_OK(path_read(path, &text, 1 << 20, &e) == 0, e);
    size_t first = strcspn(buf_cstr(&text), "\n") + 1;
    for (size_t n = first; n <= text.len; n += 13) {
        CHECK_OK(path_write(cut, text.data, n, 0600, &e) == 0, e);
        size_t lines = 0;
        for (size_t i = 0; i < n; i++)
            lines += text.data[i] == '\n';
        replay *r = open_all(cut);
        CHECK_INT(replay_count(r), lines);
        CHECK_INT(replay_at(r, lines - 1)->state, n == text.len ? RUN_FAILED : RUN_KILLED);
        replay_free(r);
    }
    CHECK_OK(path_write(cut, text.data, first - 1, 0600, &e) == 0, e);
    CHECK(!replay_open(cut, &e)); // not even a run
    CHECK_INT(e.code, ERR_INVALID);
}

// Many times more journal than is kept: going back begins at a copy, and the copies have a bound.
TEST(a_long_journal_is_gone_back_in_by_copies)
{
    enum { UPDATES = 60000 };
    err e = {0};
    AUTO_FREE char *folder = str_fmt("%s/.firesteel", tap_dir());
    path_make_dirs(folder, 0700, NULL);
    AUTO_FREE char *path = journal_file(tap_dir(), "long-20260102-030405-1a2b");
    AUTO_BUF text = {0};
    buf_str(&text, RUN "\n{\"type\":\"display\",\"cell\":\"a\",\"id\":1,\"data\":{\"application/"
                       "vnd.firesteel.table+json\":{\"columns\":[\"N\"],\"rows\":[]}}}\n");
    for (int i = 0; i < UPDATES; i++)
        buf_fmt(&text,
            "{\"type\":\"update\",\"id\":1,\"rows\":[{\"uid\":\"u%d\",\"cells\":[\"%d %0200d\"]}],"
            "\"seq\":%d,\"wall\":\"2026-01-02T03:04:05.000000Z\"}\n",
            i % 50, i, i, i + 3);
    CHECK_OK(path_write(path, text.data, text.len, 0600, &e) == 0, e);
    replay *r = open_all(path);
    CHECK_INT(replay_count(r), UPDATES + 2);
    replay_at(r, UPDATES + 1);
    int64_t began = clock_mono();
    for (int i = 0; i < 20; i++) {
        size_t at = (size_t)(UPDATES + 1 - i * 2500);
        const fold *f = replay_at(r, at);
        CHECK_INT(f->seq, at + 1);
        AUTO_FREE char *want = str_fmt("%zu %0200d\n", at - 2, (int)at - 2);
        AUTO_BUF shown = {0};
        output_text(fold_display(f, 1), NULL, 0, &shown, NULL);
        CHECK(strstr(buf_cstr(&shown), want) != NULL);
    }
    double each = (double)(clock_mono() - began) / CLOCK_MS / 20;
    printf("# a step back in %zu MB: %.1f ms\n", text.len >> 20, each);
    replay_free(r);
}

int main(void)
{
    return tap_run();
}
