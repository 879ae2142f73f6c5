// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/jupyter.h"
#include "script/journal/plain.h"
#include "script/journal/stale/stale.h"
#include "script/journal/text.h"
#include "tests/unit/journal/sample.h"

#include <sys/stat.h>
#include <unistd.h>

static fold *sample_fold(void)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = journal_file(tap_dir(), run);
    fold *f = fold_file(file, NULL, &e);
    CHECK_OK(f, e);
    return f;
}

static void check_output(const struct output *o, const char *want)
{
    err e = {0};
    AUTO_BUF text = {0};
    CHECK_OK(output_text(o, NULL, 0, &text, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

static void event(fold *f, const char *text)
{
    err e = {0};
    AUTO_JSON *j = json_parse(text, strlen(text), &e);
    CHECK_OK(j, e);
    CHECK_OK(fold_event(f, j, &e) == 0, e);
}

TEST(an_expected_document_is_not_read_again)
{
    err e = {0};
    static const char same[] = "-- %%\nx = 1\n",
                      record[] = "{\"type\":\"run\",\"seq\":1,\"run\":\"a\",\"cells\":[\"one\"],"
                                 "\"notebook\":\"-- %%\\nx = 1\\n\"}";
    for (int is_same = 0; is_same < 2; is_same++) {
        const char *text = is_same ? same : "-- %%\nx = 2\n";
        notebook *nb = notebook_parse(text, strlen(text), &e);
        CHECK_OK(nb, e);
        fold *f = fold_new();
        fold_expect(f, nb);
        event(f, record);
        CHECK_INT(fold_notebook(f) == nb, is_same);
        CHECK_STR(notebook_cell(fold_notebook(f), 0)->source, "x = 1");
        CHECK(fold_cell_by_id(f, "one", NULL) != NULL);
        fold_free(f);
    }
}

TEST(a_run_is_what_its_events_say)
{
    fold *f = sample_fold();
    CHECK_INT(fold_state(f), RUN_FAILED);
    CHECK_INT(fold_exit(f), 1);
    CHECK_INT(fold_seq(f), 1 + sizeof sample_events / sizeof *sample_events);
    CHECK_INT(fold_count(f), 4);
    CHECK_INT(fold_corrupt(f), 0);
    CHECK(fold_duration(f) > 0 && fold_started(f) <= fold_last(f));
    const struct run_cell *one = fold_cell_by_id(f, "one", NULL);
    CHECK_INT(one->state, STATE_OK);
    CHECK_INT(one->count, 1);
    CHECK(one->started && one->ended >= one->started);
    CHECK_INT(one->n_outputs, 4);
    check_output(&one->outputs[0], "100%\nd\u00e9j\u00e0 vu\n");
    check_output(&one->outputs[1], "warning\n");
    CHECK_STR(one->outputs[1].name, "stderr");
    check_output(&one->outputs[2], "NAME    STATUS\npod-a   Running\n");
    CHECK(!one->outputs[2].live);
    check_output(&one->outputs[3], "42\n");
    CHECK(one->outputs[3].result);
    const struct run_cell *two = fold_cell_by_id(f, "two", NULL);
    CHECK_INT(two->state, STATE_FAILED);
    check_output(&two->outputs[0], "line 1: no\n  in f\n  in the cell\n");
    CHECK_INT(fold_cell_by_id(f, "three", NULL)->state, STATE_CANCELLED);
    fold_free(f);
}

TEST(the_ledger_knows_what_is_left)
{
    fold *f = sample_fold();
    CHECK_INT(fold_ledger_count(f), 1);
    const struct ledger_entry *l = fold_ledger(f, 0);
    CHECK_STR(l->what, "create Pod a");
    CHECK(l->outcome && !l->failed && ledger_left_over(l));
    CHECK_STR(json_str(l->result, "uid"), "u1");
    event(f, "{\"type\":\"ledger\",\"entry\":1,\"phase\":\"undone\"}");
    CHECK_INT(fold_left_overs(f), 0);
    fold_free(f);
}

TEST(a_result_takes_the_place_of_what_was_announced)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"ledger\",\"entry\":2,\"phase\":\"intent\",\"undo\":true}");
    event(f, "{\"type\":\"ledger\",\"entry\":2,\"phase\":\"partial\",\"made\":{\"name\":\"a\"}}");
    const struct ledger_entry *l = fold_ledger(f, 1);
    CHECK_STR(json_str(l->made, "name"), "a");
    event(f, "{\"type\":\"ledger\",\"entry\":2,\"phase\":\"outcome\",\"result\":{\"name\":\"a\"}}");
    CHECK(!l->made && l->result); // one copy for each effect of a long run
    event(f, "{\"type\":\"ledger\",\"entry\":2,\"phase\":\"failed\"}");
    CHECK(ledger_left_over(l)); // done again and failed early: the first one is still there
    event(f, "{\"type\":\"ledger\",\"entry\":2,\"phase\":\"partial\",\"made\":null}");
    CHECK(!ledger_left_over(l)); // taken back
    fold_free(f);
}

TEST(a_cell_that_runs_again_starts_anew)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\",\"count\":3}");
    const struct run_cell *one = fold_cell_by_id(f, "one", NULL);
    CHECK_INT(one->n_outputs, 0);
    CHECK_INT(one->state, STATE_RUNNING);
    CHECK_INT(one->count, 3);
    event(f, "{\"type\":\"update\",\"id\":1,\"rows\":[{\"uid\":\"c\"}]}"); // about a display that
                                                                           // is gone: no harm
    fold_free(f);
}

TEST(a_cell_that_is_cancelled_in_the_queue_did_not_run_again)
{
    fold *f = sample_fold();
    const struct run_cell *one = fold_cell_by_id(f, "one", NULL);
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"queued\",\"mono\":90000000000}");
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"cancelled\",\"mono\":91000000000}");
    CHECK_INT(one->state, STATE_CANCELLED);
    CHECK_INT(one->mono_end - one->mono_start, 0);
    CHECK_INT(one->n_outputs, 4); // what it had left stays
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\",\"mono\":92000000000}");
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"cancelled\",\"mono\":95000000000}");
    CHECK_INT(one->mono_end - one->mono_start, 3000000000);
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\",\"mono\":96000000000}");
    event(f, "{\"type\":\"queued\",\"cells\":[\"one\"],\"mono\":97000000000}"); // while it runs
    CHECK_INT(one->state, STATE_QUEUED);
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"cancelled\",\"mono\":98000000000}");
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"cancelled\",\"ms\":3000,\"mono\":"
             "99000000000}");
    CHECK_INT(one->mono_end - one->mono_start, 3000000000);
    fold_free(f);
}

TEST(what_is_cleared_is_dropped_and_the_rest_stays)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"cleared\",\"cell\":\"one\"}");
    event(f, "{\"type\":\"cleared\",\"cell\":\"nobody\"}");
    const struct run_cell *one = fold_cell_by_id(f, "one", NULL);
    CHECK_INT(one->n_outputs, 0);
    CHECK_INT(one->state, STATE_OK);
    CHECK_INT(one->count, 1);
    CHECK(fold_cell_by_id(f, "two", NULL)->n_outputs > 0);
    fold_free(f);
}

static void check_states(const fold *f)
{
    size_t n[STATE_STALE + 1] = {0};
    for (size_t i = 0; i < fold_count(f); i++)
        n[fold_cell(f, i)->state]++;
    for (enum cell_state state = STATE_IDLE; state <= STATE_STALE; state++)
        CHECK_INT(fold_in_state(f, state), n[state]);
}

TEST(cells_in_each_state_are_counted)
{
    fold *f = sample_fold();
    check_states(f);
    CHECK(!fold_running(f));
    event(f, "{\"type\":\"state\",\"cell\":\"two\",\"state\":\"queued\"}");
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\",\"count\":3}");
    check_states(f);
    CHECK_STR(fold_running(f)->id, "one");
    CHECK_INT(fold_in_state(f, STATE_QUEUED), 1);
    event(f, "{\"type\":\"stream\",\"cell\":\"one\",\"name\":\"stdout\",\"text\":\"x\"}");
    event(f, "{\"type\":\"edited\",\"rev\":2,\"change\":\"delete\",\"cell\":\"one\"}");
    check_states(f); // it runs on, but is no cell of the document
    CHECK(!fold_running(f));
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"ok\"}");
    event(f, "{\"type\":\"state\",\"cell\":\"nobody knows it\",\"state\":\"running\",\"count\":4}");
    check_states(f);
    CHECK_STR(fold_running(f)->id, "nobody knows it");
    event(f, "{\"type\":\"edited\",\"rev\":3,\"change\":\"insert\",\"cell\":\"one\",\"source\":"
             "\"x\"}");
    check_states(f);
    event(f, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"failed\"}");
    check_states(f);
    fold_free(f);
}

TEST(edits_are_followed)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"edited\",\"rev\":2,\"change\":\"insert\",\"cell\":\"new\",\"after\":"
             "\"one\",\"source\":\"x\",\"marker\":\"New\"}");
    CHECK_INT(fold_count(f), 5);
    CHECK_STR(fold_cell(f, 2)->id, "new");
    event(f,
        "{\"type\":\"edited\",\"rev\":3,\"change\":\"move\",\"cell\":\"new\",\"after\":\"three\"}");
    CHECK_STR(fold_cell(f, 4)->id, "new");
    event(f, "{\"type\":\"edited\",\"rev\":4,\"change\":\"move\",\"cell\":\"new\"}");
    CHECK_STR(fold_cell(f, 0)->id, "new");
    event(f,
        "{\"type\":\"edited\",\"rev\":4,\"change\":\"move\",\"cell\":\"three\",\"after\":\"one\"}");
    CHECK_STR(fold_cell(f, 3)->id, "three"); // upwards, to the middle
    event(f,
        "{\"type\":\"edited\",\"rev\":4,\"change\":\"move\",\"cell\":\"one\",\"after\":\"three\"}");
    CHECK_STR(fold_cell(f, 3)->id, "one"); // and downwards
    event(f, "{\"type\":\"edited\",\"rev\":5,\"change\":\"edit\",\"cell\":\"one\",\"source\":"
             "\"print(2)\"}");
    CHECK_INT(fold_cell_by_id(f, "one", NULL)->n_outputs, 4); // the id keeps the outputs
    event(f, "{\"type\":\"edited\",\"rev\":6,\"change\":\"delete\",\"cell\":\"one\"}");
    CHECK(!fold_cell_by_id(f, "one", NULL));
    AUTO_BUF text = {0};
    notebook_print(fold_notebook(f), &text);
    CHECK_HAS(text.data, "-- %% New\nx\n");
    fold_free(f);
}

TEST(a_cell_that_comes_back_has_what_it_had_left)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"display\",\"cell\":\"one\",\"id\":70,\"live\":true,\"data\":{\"text/"
             "plain\":\"a\"}}");
    size_t outputs = fold_cell_by_id(f, "one", NULL)->n_outputs;
    event(f, "{\"type\":\"edited\",\"rev\":2,\"change\":\"delete\",\"cell\":\"one\"}");
    CHECK(!fold_cell_by_id(f, "one", NULL) && !fold_display(f, 70));
    event(f, "{\"type\":\"update\",\"id\":70,\"data\":{\"text/plain\":\"b\"}}");
    event(
        f, "{\"type\":\"stream\",\"cell\":\"of no document\",\"name\":\"stdout\",\"text\":\"x\"}");
    CHECK_STR(fold_cell(f, fold_count(f) - 1)->id, "of no document");
    event(f, "{\"type\":\"edited\",\"rev\":3,\"change\":\"insert\",\"cell\":\"one\",\"source\":"
             "\"print(1)\",\"marker\":\"\"}");
    CHECK_STR(fold_cell(f, 0)->id, "one");
    CHECK_INT(fold_cell(f, 0)->n_outputs, outputs);
    CHECK_INT(fold_cell(f, 0)->count, 1);
    CHECK_STR(json_str(fold_display(f, 70)->data, "text/plain"), "b");
    fold_free(f);
}

// Deletes or inserts the cells c0…c(n-1), each at the top.
static void each_cell(fold *f, const char *change, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *edit = str_fmt("{\"type\":\"edited\",\"rev\":%zu,\"change\":\"%s\","
                                       "\"cell\":\"c%zu\",\"source\":\"\",\"marker\":\"\"}",
            i + 2, change, i);
        event(f, edit);
    }
}

TEST(cells_that_come_back_have_all_they_had_left_but_for_what_memory_allows)
{
    enum { MANY = 300, BIG = 1 << 20 };
    fold *f = sample_fold();
    each_cell(f, "insert", MANY);
    AUTO_FREE char *words = mem_alloc(BIG + 1);
    memset(words, 'x', BIG);
    for (size_t i = 0; i < MANY; i++) {
        AUTO_FREE char *runs = str_fmt(
            "{\"type\":\"state\",\"cell\":\"c%zu\",\"state\":\"running\",\"count\":%zu}", i, i + 1);
        AUTO_FREE char *prints =
            str_fmt("{\"type\":\"stream\",\"cell\":\"c%zu\",\"name\":\"stdout\",\"text\":\"%s\"}",
                i, i < MANY - 100 ? "a" : words);
        event(f, runs);
        if (i % 2 == 0) // a cell without outputs has its number
            event(f, prints);
    }
    each_cell(f, "delete", MANY - 100);
    each_cell(f, "insert", MANY - 100);
    for (size_t i = 0; i < MANY - 100; i++) {
        AUTO_FREE char *id = str_fmt("c%zu", i);
        CHECK_INT(fold_cell_by_id(f, id, NULL)->count, i + 1);
        CHECK_INT(fold_cell_by_id(f, id, NULL)->n_outputs, i % 2 == 0);
    }
    each_cell(f, "delete", MANY); // the last of them take 50 MB
    size_t kept = fold_gone_count(f);
    CHECK(kept > 50 && kept < 100);
    CHECK_STR(fold_gone(f, kept - 1)->id, "c299");
    fold_free(f);
}

TEST(displays_are_found_wherever_their_cell_went)
{
    fold *f = sample_fold();
    event(f,
        "{\"type\":\"edited\",\"rev\":2,\"change\":\"move\",\"cell\":\"one\",\"after\":\"three\"}");
    event(f, "{\"type\":\"display\",\"cell\":\"two\",\"id\":70,\"data\":{\"text/plain\":\"a\"}}");
    event(f, "{\"type\":\"display\",\"cell\":\"of no document\",\"id\":71,\"data\":{}}");
    CHECK_STR(fold_display_cell(f, 1)->id, "one");
    CHECK_STR(fold_display_cell(f, 70)->id, "two");
    CHECK_STR(fold_display_cell(f, 71)->id, "of no document");
    event(f, "{\"type\":\"update\",\"id\":70,\"data\":{\"text/plain\":\"b\"}}");
    CHECK_STR(json_str(fold_display(f, 70)->data, "text/plain"), "b");
    CHECK_INT(fold_display(f, 70)->updates, 1);
    event(f, "{\"type\":\"edited\",\"rev\":3,\"change\":\"move\",\"cell\":\"two\"}");
    CHECK_STR(fold_display_cell(f, 70)->id, "two");
    size_t at;
    CHECK(fold_cell_by_id(f, "two", &at) && at == 0);
    event(f, "{\"type\":\"cleared\",\"cell\":\"two\"}");
    CHECK(!fold_display(f, 70) && !fold_display_cell(f, 70));
    CHECK_INT(fold_cell_by_id(f, "two", NULL)->n_outputs, 0);
    CHECK_INT(fold_cell_by_id(f, "two", NULL)->state, STATE_FAILED);
    event(f, "{\"type\":\"edited\",\"rev\":4,\"change\":\"delete\",\"cell\":\"one\"}");
    CHECK(!fold_display(f, 1));
    fold_free(f);
}

TEST(what_is_said_of_a_whole_table_stands_below_it)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"display\",\"cell\":\"one\",\"id\":80,\"live\":true,\"data\":{\"text/"
             "plain\":\"old\","
             "\"t\":{\"columns\":[\"NAME\"],\"rows\":[{\"uid\":\"a\",\"cells\":[\"pod-a\"]}]}}}");
    event(
        f, "{\"type\":\"update\",\"id\":80,\"table\":{\"more\":2,\"note\":\"5s old\",\"rows\":1}}");
    AUTO_BUF text = {0}, later = {0};
    output_text(fold_display(f, 80), "", 0, &text, NULL);
    CHECK_STR(text.data, "NAME\npod-a\n… and 2 more rows are not shown\n-- 5s old --\n");
    event(f, "{\"type\":\"update\",\"id\":80,\"table\":{\"more\":1,\"note\":null}}");
    output_text(fold_display(f, 80), "", 0, &later, NULL);
    CHECK_STR(later.data, "NAME\npod-a\n… and 1 more row is not shown\n");
    fold_free(f);
}

TEST(a_resumed_run_is_the_same_run)
{
    fold *f = sample_fold();
    event(f, "{\"type\":\"resumed\",\"seq\":22,\"mono\":5,\"pid\":2,\"host\":\"h\",\"notebook\":\"-"
             "- %% First id=\\\"one\\\"\\nx\\n\"}");
    CHECK_INT(fold_state(f), RUN_RUNNING);
    CHECK_INT(fold_exit(f), -1);
    CHECK_INT(fold_count(f), 1);
    CHECK_INT(fold_cell(f, 0)->n_outputs, 0);
    CHECK_INT(fold_ledger_count(f), 1);
    event(f, "{\"type\":\"end\",\"mono\":1000000005,\"exit\":0,\"outcome\":\"ok\"}");
    CHECK_INT(fold_state(f), RUN_OK);
    CHECK(fold_duration(f) > 1000000000);
    fold_free(f);
}

static void recorded(fold *f, const char *cell_id, const char *rest)
{
    AUTO_FREE char *text = str_fmt("{\"type\":\"recorded\",\"cell\":\"%s\",%s}", cell_id, rest);
    event(f, text);
}

static char *results_text(const fold *f)
{
    AUTO_JSON *results = fold_results(f);
    return json_to_str(results);
}

TEST(what_cells_recorded_counts_until_they_run_again)
{
    fold *f = fold_new();
    recorded(f, "a", "\"kind\":\"metric\",\"name\":\"loss\",\"value\":3,\"step\":1");
    recorded(f, "a", "\"kind\":\"metric\",\"name\":\"loss\",\"value\":\"nan\",\"step\":2");
    recorded(f, "a", "\"kind\":\"metric\",\"name\":\"loss\",\"value\":2,\"step\":3");
    recorded(f, "b", "\"kind\":\"tag\",\"name\":\"t\",\"value\":true");
    recorded(f, "b", "\"kind\":\"param\",\"name\":\"p\",\"value\":\"x\"");
    AUTO_FREE char *all = results_text(f);
    CHECK_HAS(all, "\"loss\":{\"value\":2,\"step\":3,\"n\":3,\"min\":2,\"max\":3}");
    CHECK_HAS(all, "\"params\":{\"p\":\"x\"}");
    event(f, "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\"}");
    AUTO_FREE char *later = results_text(f);
    CHECK_HAS(later, "\"metrics\":{}");
    CHECK_HAS(later, "\"tags\":{\"t\":true}");
    fold_free(f);
}

TEST(which_branch_was_first_makes_no_difference)
{
    static const char *const told[] = {
        "\"branch\":\"#10\",\"kind\":\"metric\",\"name\":\"m\",\"value\":10",
        "\"branch\":\"#2\",\"kind\":\"metric\",\"name\":\"m\",\"value\":2",
        "\"branch\":\"#10-b\",\"kind\":\"metric\",\"name\":\"m\",\"value\":5",
        "\"branch\":\"#10-b/x\",\"kind\":\"metric\",\"name\":\"m\",\"value\":4"};
    for (size_t turn = 0; turn < ARRAY_LEN(told); turn++) {
        fold *f = fold_new();
        for (size_t i = 0; i < ARRAY_LEN(told); i++)
            recorded(f, "a", told[(turn + i) % ARRAY_LEN(told)]);
        AUTO_FREE char *all = results_text(f);
        CHECK_HAS(all, "\"value\":5");
        CHECK_HAS(all, "\"n\":4,\"min\":2,\"max\":10}");
        AUTO_JSON *branches = fold_branches(f);
        CHECK_INT(json_int_or(json_path(branches, "a.#2.metrics.m"), "value", 0), 2);
        recorded(f, "a", "\"kind\":\"metric\",\"name\":\"m\",\"value\":7");
        recorded(f, "a", told[turn]);
        AUTO_FREE char *own = results_text(f);
        CHECK_HAS(own, "\"value\":7");
        event(f, "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\"}");
        AUTO_JSON *none = fold_branches(f);
        CHECK(!none->child);
        fold_free(f);
    }
}

static void ended(fold *f, int seq, const char *id, const char *used)
{
    AUTO_FREE char *text =
        str_fmt("{\"type\":\"state\",\"seq\":%d,\"cell\":\"%s\",\"state\":\"ok\",\"used\":{%s}}",
            seq, id, used);
    event(f, text);
}

static const char *moved(const fold *f, const char *id)
{
    return fold_moved(f, fold_cell_by_id(f, id, NULL));
}

TEST(what_a_cell_read_may_have_moved_since)
{
    fold *f = fold_new();
    event(f, "{\"type\":\"document\",\"text\":\"-- %%\\nx = 1\\n\\n-- %%\\ny = "
             "x\\n\",\"cells\":[\"a\",\"b\"]}");
    ended(f, 1, "a", "\"writes\":{\"x\":\"1\",\"t\":\"\"}");
    ended(f, 2, "b", "\"reads\":[\"x\",\"print\"],\"writes\":{\"y\":\"1\"}");
    CHECK(!moved(f, "a"));
    CHECK(!moved(f, "b"));
    ended(f, 3, "a", "\"writes\":{\"x\":\"1\",\"t\":\"\"}"); // to the same value
    CHECK(!moved(f, "b"));
    ended(f, 4, "a", "\"writes\":{\"x\":\"2\",\"t\":\"\"}");
    CHECK_STR(moved(f, "b"), "x");
    ended(f, 5, "b", "\"reads\":[\"x\",\"t\"],\"writes\":{\"x\":\"3\"}"); // by itself
    CHECK(!moved(f, "b"));
    ended(f, 6, "a", "\"writes\":{\"t\":\"\"}"); // a value without a digest
    CHECK_STR(moved(f, "b"), "t");
    fold_free(f);
}

TEST(what_has_moved_may_be_a_field_of_the_library)
{
    fold *f = fold_new();
    event(f, "{\"type\":\"document\",\"text\":\"-- %%\\nx = 1\\n\\n-- %%\\ny = "
             "x:trim()\\n\",\"cells\":[\"a\",\"b\"]}");
    ended(f, 1, "b", "\"reads\":[\"x\"]");
    ended(f, 2, "a", "\"writes\":{\"y\":\"1\",\"math.half\":\"\",\"string.trim\":\"\"}");
    CHECK_STR(moved(f, "b"), "string.trim");
    ended(f, 3, "b", "\"reads\":[\"x\"]");
    CHECK(!moved(f, "b"));
    fold_free(f);
}

static bool edited(void *arg, const char *id, const char *hash)
{
    return str_eq(id, arg);
}

static void check_stale(const fold *f, const struct stale_now *now, const char *expected)
{
    AUTO_JSON *found = stale_find(f, now);
    AUTO_BUF text = {0};
    const cJSON *one;
    cJSON_ArrayForEach(one, found)
        buf_fmt(&text, "%s: %s\n", one->string, json_str_or(one, "why", "?"));
    CHECK_STR(buf_cstr(&text), expected);
}

TEST(what_a_stale_cell_has_given_is_stale)
{
    fold *f = fold_new();
    event(f,
        "{\"type\":\"document\",\"text\":\"-- %% A\\n\\n-- %% B\\n\\n-- %% C "
        "file=\\\"f\\\"\\n\\n-- %% D\\n\\n-- %% E\\n\",\"cells\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}");
    ended(f, 1, "a", "\"writes\":{\"x\":\"1\",\"t\":\"\"}");
    ended(f, 2, "b", "\"reads\":[\"x\"],\"writes\":{\"y\":\"1\"}");
    ended(f, 3, "c", "\"reads\":[\"y\"]");
    ended(f, 4, "d", "\"reads\":[\"z\"],\"random\":true");
    ended(f, 5, "e", "\"reads\":[\"z\"],\"random\":true");
    recorded(f, "e", "\"kind\":\"input\",\"name\":\"f\",\"value\":{\"size\":1}");
    check_stale(f, &(struct stale_now){0}, "");
    check_stale(f, &(struct stale_now){.edited = edited, .arg = (char *)"a"},
        "a: its text has changed\nb: A is stale\nc: B is stale\ne: C is stale\n");
    check_stale(f, &(struct stale_now){.edited = edited, .arg = (char *)"d"},
        "d: its text has changed\ne: D is stale\n"); // the numbers that it drew
    AUTO_JSON *outside = cJSON_CreateObject(), *params = cJSON_CreateObject();
    json_set_str(outside, "b", "data.csv has changed");
    json_set_bool(params, "z", true);
    check_stale(f, &(struct stale_now){.outside = outside},
        "b: data.csv has changed\nc: B is stale\ne: C is stale\n");
    check_stale(f, &(struct stale_now){.params = params}, "d: z has changed\ne: z has changed\n");
    ended(f, 6, "d", "\"unknown\":true");
    ended(f, 7, "a", "\"writes\":{\"x\":\"2\",\"t\":\"\"}");
    check_stale(f, &(struct stale_now){0},
        "b: x has changed\nc: B is stale\ne: C is stale\nd: B is stale\n");
    check_stale(f, &(struct stale_now){.from_top = true},
        "b: x has changed\nc: B is stale\nd: B is stale\ne: D is stale\n");
    ended(
        f, 8, "b", "\"reads\":[\"x\"],\"writes\":{\"y\":\"1\"}"); // it holds again, with the same y
    check_stale(f, &(struct stale_now){0}, "");
    fold_free(f);
}

TEST(files_lead_from_cell_to_cell)
{
    fold *f = fold_new();
    event(f, "{\"type\":\"document\",\"text\":\"-- %% A\\n\\n-- %% B\\n\\n-- %% C\\n\\n-- %% "
             "D\\n\",\"cells\":[\"a\",\"b\",\"c\",\"d\"]}");
    ended(f, 1, "a", "\"reads\":[]");
    recorded(f, "a", "\"kind\":\"output\",\"name\":\"f\",\"value\":{\"sha256\":\"1\"}");
    ended(f, 2, "b", "\"reads\":[]");
    recorded(f, "b", "\"kind\":\"input\",\"name\":\"./f\",\"value\":{\"sha256\":\"1\"}");
    ended(f, 3, "c", "\"reads\":[]");
    recorded(f, "c", "\"kind\":\"output\",\"name\":\"x/../f\",\"value\":{\"sha256\":\"3\"}");
    ended(f, 4, "d", "\"reads\":[]");
    check_stale(f, &(struct stale_now){0}, ""); // C has written it, but below B
    check_stale(f, &(struct stale_now){.edited = edited, .arg = (char *)"a"},
        "a: its text has changed\nb: A is stale\nc: A is stale\n");
    ended(f, 5, "a", "\"reads\":[]");
    recorded(f, "a", "\"kind\":\"output\",\"name\":\"f\",\"value\":{\"sha256\":\"1\"}");
    check_stale(f, &(struct stale_now){0}, ""); // the same again
    recorded(f, "a", "\"kind\":\"output\",\"name\":\"f\",\"value\":{\"sha256\":\"2\"}");
    check_stale(f, &(struct stale_now){0}, "b: ./f has changed\n");
    fold_free(f);
}

TEST(a_trainings_metrics_are_the_runs)
{
    fold *f = fold_new();
    event(f, "{\"type\":\"display\",\"cell\":\"a\",\"id\":1,\"data\":{"
             "\"application/vnd.firesteel.progress+json\":{\"history\":["
             "{\"epoch\":1,\"metrics\":{\"loss\":3,\"lr\":1}},"
             "{\"epoch\":2,\"metrics\":{\"loss\":1}}],\"evaluated\":{\"accuracy\":0.5}}}}");
    AUTO_FREE char *trained = results_text(f);
    CHECK_HAS(trained, "\"loss\":{\"value\":1,\"step\":2,\"n\":2,\"min\":1,\"max\":3}");
    CHECK_HAS(trained, "\"accuracy\":{\"value\":0.5,\"n\":1");
    recorded(f, "b", "\"kind\":\"metric\",\"name\":\"loss\",\"value\":7");
    AUTO_FREE char *told = results_text(f);
    CHECK_HAS(told, "\"loss\":{\"value\":7"); // what a cell says itself
    fold_free(f);
}

TEST(a_journal_cut_anywhere_still_folds)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = journal_file(tap_dir(), run);
    AUTO_FREE char *copy = path_join(tap_dir(), "cut.jsonl");
    AUTO_BUF text = {0};
    CHECK_OK(path_read(file, &text, 0, &e) == 0, e);
    CHECK_OK(path_write(copy, text.data, text.len, 0600, &e) == 0, e);
    size_t whole = 1 + sizeof sample_events / sizeof *sample_events;
    for (size_t n = text.len; n-- > 0;) {
        if (text.data[n] == '\n')
            whole--;
        CHECK_INT(truncate(copy, (off_t)n), 0);
        fold *f = fold_file(copy, NULL, &e);
        CHECK_OK(f, e);
        CHECK_INT(fold_seq(f), whole);
        CHECK_INT(fold_corrupt(f), 0);
        CHECK_INT(fold_state(f), RUN_RUNNING);
        fold_free(f);
    }
}

TEST(damaged_lines_are_counted_and_passed_over)
{
    err e = {0}, bad = {0};
    AUTO_FREE char *run = sample_write(), *file = journal_file(tap_dir(), run);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(file, &text, 0, &e) == 0, e);
    char *second = strchr(text.data, '\n') + 1;
    memset(second, 'x', 5);
    CHECK_OK(path_write(file, text.data, text.len, 0600, &e) == 0, e);
    fold *f = fold_file(file, &bad, &e);
    CHECK_OK(f, e);
    CHECK_INT(fold_corrupt(f), 1);
    CHECK_HAS(bad.text, "line 2 is damaged");
    CHECK_INT(fold_state(f), RUN_FAILED);
    fold_free(f);
}

TEST(lists_of_runs_need_no_outputs)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = journal_file(tap_dir(), run);
    fold *all = fold_file(file, NULL, &e), *most = fold_without_outputs(file, &e);
    CHECK_OK(all && most, e);
    AUTO_JSON *of_all = fold_results(all), *of_most = fold_results(most);
    CHECK(cJSON_Compare(of_all, of_most, true));
    CHECK_INT(fold_state(most), fold_state(all));
    CHECK_INT(fold_last(most), fold_last(all));
    CHECK_INT(fold_duration(most), fold_duration(all));
    CHECK_INT(fold_cell_by_id(most, "one", NULL)->state, STATE_OK);
    CHECK(fold_cell_by_id(most, "one", NULL)->n_outputs < 4);
    fold_free(all);
    fold_free(most);
}

TEST(what_trainings_reported_is_no_output)
{
    static const char text[] =
        "{\"type\":\"run\",\"format\":1,\"run\":\"r\",\"notebook\":\"\",\"seq\":1}\n"
        "{\"type\":\"display\",\"cell\":\"a\",\"id\":1,\"live\":true,\"data\":{"
        "\"application/vnd.firesteel.progress+json\":{\"history\":[]}},\"seq\":2}\n"
        "{\"type\":\"update\",\"id\":1,\"data\":{\"application/vnd.firesteel.progress+json\":{"
        "\"history\":[{\"epoch\":1,\"metrics\":{\"loss\":3}}]}},\"seq\":3}\n"
        "{\"type\":\"end\",\"state\":\"ok\",\"exit\":0,\"seq\":4}\n";
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "trained.jsonl");
    CHECK_OK(path_write(file, text, sizeof text - 1, 0600, &e) == 0, e);
    fold *f = fold_without_outputs(file, &e);
    CHECK_OK(f, e);
    AUTO_FREE char *trained = results_text(f);
    CHECK_HAS(trained, "\"loss\":{\"value\":3");
    fold_free(f);
}

TEST(how_long_a_killed_kernel_ran_counts_without_outputs)
{
    static const char text[] = "{\"type\":\"run\",\"format\":1,\"run\":\"r\",\"notebook\":\"\","
                               "\"wall\":\"2026-01-02T03:04:01Z\",\"seq\":1,\"mono\":1000}\n"
                               "{\"type\":\"stream\",\"cell\":\"a\",\"name\":\"stdout\",\"text\":"
                               "\"1\",\"wall\":\"2026-01-02T03:04:02Z\",\"seq\":2,\"mono\":"
                               "5000}\n"
                               "{\"type\":\"stream\",\"cell\":\"a\",\"name\":\"stdout\",\"text\":"
                               "\"2\",\"wall\":\"2026-01-02T03:04:03Z\",\"seq\":3,\"mono\":"
                               "9000}\n"
                               "{\"type\":\"resumed\",\"notebook\":\"\",\"wall\":\"2026-01-02T03:"
                               "04:04Z\",\"seq\":4,\"mono\":100}\n"
                               "{\"type\":\"end\",\"state\":\"ok\",\"exit\":0,\"wall\":\"2026-01-"
                               "02T03:04:05Z\",\"seq\":5,\"mono\":300}\n";
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "killed.jsonl");
    CHECK_OK(path_write(file, text, sizeof text - 1, 0600, &e) == 0, e);
    fold *f = fold_without_outputs(file, &e);
    CHECK_OK(f, e);
    CHECK_INT(fold_duration(f), 8000 + 200);
    fold_free(f);
}

TEST(who_has_printed_rows_need_not_keep_them)
{
    fold *f = sample_fold();
    fold_keep_rows(f, 2);
    event(f,
        "{\"type\":\"display\",\"cell\":\"one\",\"id\":79,\"data\":{\"text/plain\":\"a\",\"t\":"
        "{\"columns\":[\"NAME\"],\"rows\":[{\"uid\":\"a\"},{\"uid\":\"b\"},{\"uid\":\"c\"}],\"n\":"
        "1}}}");
    AUTO_FREE char *kept = json_to_str(fold_display(f, 79)->data);
    CHECK_STR(kept,
        "{\"text/plain\":\"a\",\"t\":{\"columns\":[\"NAME\"],\"rows\":[{\"uid\":\"a\"},{"
        "\"uid\":\"b\"}],\"n\":1}}");
    event(f, "{\"type\":\"display\",\"cell\":\"one\",\"id\":80,\"live\":true,\"data\":{\"text/"
             "plain\":\"\",\"t\":{\"columns\":[\"NAME\"],\"rows\":[]}}}");
    event(f, "{\"type\":\"update\",\"id\":80,\"rows\":[{\"uid\":\"a\"},{\"uid\":\"b\"},{\"uid\":"
             "\"c\"}]}");
    event(f, "{\"type\":\"update\",\"id\":80,\"rows\":[{\"uid\":\"a\",\"v\":1}]}");
    AUTO_FREE char *some = json_to_str(json_get(json_get(fold_display(f, 80)->data, "t"), "rows"));
    CHECK_STR(some, "[{\"uid\":\"a\",\"v\":1},{\"uid\":\"b\"}]");
    event(f,
        "{\"type\":\"update\",\"id\":80,\"closed\":true,\"data\":{\"text/plain\":\"\",\"t\":{"
        "\"columns\":[\"NAME\"],\"rows\":[{\"uid\":\"a\"},{\"uid\":\"b\"},{\"uid\":\"c\"}]}}}");
    AUTO_FREE char *all = json_to_str(json_get(json_get(fold_display(f, 80)->data, "t"), "rows"));
    CHECK_STR(all, "[{\"uid\":\"a\"},{\"uid\":\"b\"},{\"uid\":\"c\"}]");
    fold_free(f);
}

TEST(each_branch_has_a_series_of_its_own)
{
    fold *f = fold_new();
    event(f, "{\"type\":\"run\",\"seq\":1,\"run\":\"a\",\"notebook\":\"-- %%\\nx = 1\\n\"}");
    for (int i = 1; i <= 4; i++) {
        AUTO_FREE char *words =
            str_fmt("{\"type\":\"recorded\",\"seq\":%d,\"cell\":\"c\",\"branch\":\"%d\",\"kind\":"
                    "\"metric\",\"name\":\"loss\",\"value\":%d,\"step\":%d}",
                i + 1, i % 2, i, i);
        event(f, words);
    }
    CHECK_INT(fold_series_count(f), 2);
    struct fold_series s = fold_series(f, 1);
    CHECK_STR(s.name, "loss");
    CHECK_STR(s.branch, "0");
    CHECK_INT(s.n, 2);
    CHECK(s.points[1].value == 4 && s.points[1].step == 4);
    AUTO_JSON *history = fold_history(f);
    CHECK_INT(cJSON_GetArraySize(json_get(history, "loss")), 4);
    fold_free(f);
}

TEST(nonsense_is_no_crash)
{
    static const char *const events[] = {"{}", "{\"type\":5}", "{\"type\":\"state\"}",
        "{\"type\":\"state\",\"cell\":\"x\",\"state\":\"odd\"}", "{\"type\":\"stream\"}",
        "{\"type\":\"display\",\"cell\":\"x\"}",
        "{\"type\":\"update\",\"id\":0,\"rows\":[1,{},{\"uid\":5}]}",
        "{\"type\":\"update\",\"id\":0,\"rows\":{\"a\":1}}", "{\"type\":\"run\"}",
        "{\"type\":\"document\",\"text\":\"a\",\"cells\":[1]}", "{\"type\":\"ledger\"}",
        "{\"type\":\"recorded\"}",
        "{\"type\":\"recorded\",\"kind\":\"metric\",\"name\":\"x\",\"value\":\"y\"}",
        "{\"type\":\"end\"}", "{\"type\":\"error\",\"cell\":\"x\"}",
        "{\"type\":\"stream\",\"cell\":\"x\",\"spool\":\"s\",\"from\":9,\"to\":3}",
        "{\"type\":\"edited\",\"change\":\"insert\",\"cell\":\"z\",\"after\":\"none\"}",
        "{\"type\":\"edited\",\"change\":\"move\",\"cell\":\"z\",\"after\":\"z\"}"};
    fold *f = fold_new();
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        AUTO_JSON *j = json_parse(events[i], strlen(events[i]), NULL);
        CHECK(j);
        fold_event(f, j, NULL);
    }
    fold_free(f);
}

TEST(an_output_whose_spool_is_gone_is_still_a_valid_one_of_jupyter)
{
    err why = {0};
    fold *f = fold_new();
    event(f, "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\",\"count\":1}");
    event(f, "{\"type\":\"stream\",\"cell\":\"a\",\"spool\":\"gone\",\"from\":0,\"to\":9}");
    AUTO_JSON *outputs = jupyter_outputs(fold_cell_by_id(f, "a", NULL), tap_dir(), 0, &why);
    CHECK(why.code);
    CHECK_STR(json_path_str(outputs, "[0].output_type"), "stream");
    CHECK(cJSON_IsArray(json_path(outputs, "[0].text")));
    fold_free(f);
}

// What a terminal shows of HTML that came without a text.
TEST(entities_of_html_end_with_a_semicolon)
{
    AUTO_BUF out = {0};
    AUTO_JSON *data = cJSON_CreateObject();
    json_set_str(data, "text/html", "<p>&#65 x &#65; &#x42; &#x; &amp; a&b</p>");
    plain_stand_in(data, &out);
    CHECK_STR(buf_cstr(&out), "&#65 x A B &#x; & a&b");
}

int main(void)
{
    return tap_run();
}
