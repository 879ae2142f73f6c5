// SPDX-License-Identifier: MIT
// Watches, logs and waits, through all kinds of trouble with a connection.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/logs/tail.h"
#include "k8s/client/watch/wait.h"
#include "k8s/client/watch/watch.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <unistd.h>

// The reports of callbacks on the loop's thread, a word or a line each.
struct story {
    pthread_mutex_t lock;
    buf text;
    struct fake *fake;
    const char *ns;
    size_t most;
    struct tail_spec spec;
    watch *watch;
    tail *tail;
    bool ended, tells_away, table, looks;
    size_t whole;
};

static void tell(struct story *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&s->lock);
    buf_vfmt(&s->text, fmt, args);
    pthread_mutex_unlock(&s->lock);
    va_end(args);
}

// Waits until everything wanted was reported, or something else was.
static bool has_reported(struct story *s, const char *want)
{
    bool is = false, may_be = true;
    for (int i = 0; i < 6000 && may_be && !is; i++) {
        usleep(10000);
        pthread_mutex_lock(&s->lock);
        is = strcmp(buf_cstr(&s->text), want) == 0;
        may_be = strncmp(buf_cstr(&s->text), want, s->text.len) == 0;
        pthread_mutex_unlock(&s->lock);
    }
    return is;
}

static void on_event(void *arg, enum watch_change change, const cJSON *object)
{
    static const char *const names[] = {"+", "~", "-"};
    tell(arg, "%s%s ", names[change], json_path_str(object, "metadata.name"));
}

// The row of an object, as the server prints it.
static void on_row(void *arg, enum watch_change change, const cJSON *object)
{
    struct story *s = arg;
    const cJSON *cells = watch_cells(s->watch);
    on_event(arg, change, object);
    tell(s, "%s/%s ", json_str_or(object, "kind", "?"),
        cells ? cJSON_GetArrayItem(cells, 1)->valuestring : "-");
}

static void on_columns(void *arg, const cJSON *definitions)
{
    tell(arg, "[%d] ", definitions ? cJSON_GetArraySize(definitions) : -1);
}

static void on_synced(void *arg)
{
    tell(arg, "synced ");
}

static void on_more(void *arg, size_t n)
{
    tell(arg, "(%zu) ", n);
}

static void on_away(void *arg, const err *reason)
{
    struct story *s = arg;
    err cause = {0};
    watch_cause(s->watch, reason, &cause);
    CHECK(cause.code == reason->code);
    if (s->tells_away && reason->code == ERR_NONE)
        tell(s, "back\n");
    else if (s->tells_away)
        tell(s, "%s (%s)\n", reason->text, cause.text);
}

static const struct watch_ops watch_callbacks = {
    .event = on_event, .synced = on_synced, .away = on_away, .more = on_more};

static const struct watch_ops row_callbacks = {
    .event = on_row, .synced = on_synced, .away = on_away, .columns = on_columns};

// "!": the whole object.
static void on_look(void *arg, enum watch_change change, const cJSON *object)
{
    on_event(arg, change, object);
    tell(arg, "%s%s ", json_str_or(object, "kind", "?"), json_get(object, "spec") ? "!" : "");
}

static bool wants_object(void *arg, const cJSON *cells)
{
    return str_starts(cells->child->valuestring, "s");
}

static const struct watch_ops look_callbacks = {
    .event = on_look, .synced = on_synced, .away = on_away, .wants_object = wants_object};

static void begin_watch(void *arg)
{
    static const struct resource pods = {
        .group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
    struct story *s = arg;
    s->watch = watch_open(s->fake->client,
        &(struct watch_spec){
            .resource = &pods, .ns = s->ns, .most = s->most, .table = s->table, .whole = s->whole},
        s->looks   ? &look_callbacks
        : s->table ? &row_callbacks
                   : &watch_callbacks,
        s);
}

static void end_watch(void *arg)
{
    struct story *s = arg;
    watch_close(s->watch);
    s->ended = true;
}

static void check_told(struct story s, const char *want)
{
    s.fake = fake_open(false);
    pthread_mutex_init(&s.lock, NULL);
    loop_post(s.fake->loop, begin_watch, &s);
    bool told = has_reported(&s, want);
    loop_post(s.fake->loop, end_watch, &s);
    fake_close(s.fake);
    CHECK_STR(buf_cstr(&s.text), want);
    CHECK(told);
    buf_done(&s.text);
}

static void check_watch(const char *ns, const char *want)
{
    check_told((struct story){.ns = ns}, want);
}

static void check_rows(const char *ns, const char *want)
{
    check_told((struct story){.ns = ns, .table = true}, want);
}

static char *counted(const char *what)
{
    struct fake *f = fake_open(false);
    AUTO_BUF text = {0};
    CHECK_OK(client_text(f->client, &f->patience, "/_counts", &text, &f->e) == 0, f->e);
    AUTO_JSON *counts = json_parse(text.data, text.len, NULL);
    const cJSON *value = json_get(counts, what);
    char *found = cJSON_IsString(value) ? mem_strdup(value->valuestring) : json_to_str(value);
    fake_close(f);
    return found;
}

TEST(a_watch_goes_on_from_its_bookmark)
{
    check_watch("w-resume", "+a synced +b ~a ");
    AUTO_FREE char *versions = counted("from w-resume");
    CHECK_STR(versions, "10,15");
}

TEST(a_list_of_many_pages_keeps_those_of_all)
{
    check_watch("w-paged", "+p0 +p1 +p2 +p3 +p4 +p5 synced ");
}

TEST(what_is_beyond_the_most_is_counted_and_takes_the_place_of_what_goes)
{
    check_told((struct story){.ns = "w-most", .most = 2}, "+a synced +b (1) (2) -a (1) +c (0) ");
    check_told((struct story){.ns = "w-paged", .most = 4}, "+p0 +p1 +p2 +p3 (1) (2) synced ");
}

TEST(rows_come_as_the_server_prints_them)
{
    check_rows("w-table", "[2] +a Pod/v10 synced +b Pod/v11 ~a Pod/v12 -b Pod/v16 ");
    AUTO_FREE char *versions = counted("from w-table");
    CHECK_STR(versions, "10,15"); // the bookmark of a Table counts
}

TEST(other_columns_tell_all_rows_anew)
{
    check_rows("w-other", "[2] +a Pod/v10 synced [3] ~a Pod/v10 synced ");
}

TEST(of_rows_with_metadata_alone_the_objects_that_are_wanted_are_read)
{
    check_told((struct story){.ns = "w-sick", .table = true, .looks = true},
        "+a Pod +s1 Pod +s-gone Pod ~s1 Pod! +b Pod +s2 Pod ~s2 Pod! synced ~b Pod! ");
    AUTO_FREE char *whole = counted("Object w-sick");
    CHECK_STR(whole, "null");
}

TEST(where_many_objects_are_wanted_the_list_has_them)
{
    AUTO_BUF want = {0};
    for (int round = 0; round < 2; round++) {
        buf_fmt(&want, "%ca Pod%s ", "+~"[round], round ? "!" : "");
        for (int i = 0; i < 17; i++)
            buf_fmt(&want, "%cs%d Pod%s ", "+~"[round], i, round ? "!" : "");
    }
    buf_str(&want, "+b Pod! +s17 Pod! synced ");
    check_told((struct story){.ns = "w-ill", .table = true, .looks = true}, buf_cstr(&want));
    AUTO_FREE char *bare = counted("Metadata w-ill");
    CHECK_STR(bare, "1");
}

TEST(the_first_objects_of_a_list_are_whole_where_it_is_asked_for)
{
    check_told((struct story){.ns = "w-whole", .table = true, .looks = true, .whole = 1},
        "+a Pod! +b Pod! +c Pod +s1 Pod ~s1 Pod! synced ");
    AUTO_FREE char *pages = counted("Metadata w-whole");
    CHECK_STR(pages, "1");
}

TEST(where_a_look_fails_a_new_list_begins)
{
    struct story busy = {.ns = "w-busy", .table = true, .looks = true, .tells_away = true};
    check_told(busy,
        "+a Pod +s1 Pod ~s1 Pod! +b Pod +s-once Pod "
        "watch pods in namespace w-busy: the server is busy (the server is busy)\nback\n"
        "~s1 Pod! ~s-once Pod! synced ");
    check_told((struct story){.ns = "w-torn-look", .table = true, .looks = true},
        "+a Pod +s-once Pod ~s-once Pod! synced ");
    AUTO_FREE char *pages = counted("Metadata w-torn-look");
    CHECK_STR(pages, "4"); // two lists of two
}

TEST(where_objects_may_be_listed_but_not_read_the_list_has_them)
{
    check_told((struct story){.ns = "w-barred", .table = true, .looks = true},
        "+a Pod +b Pod +s1 Pod ~a Pod! ~b Pod! ~s1 Pod! synced ");
    AUTO_FREE char *whole = counted("Object w-barred");
    CHECK_STR(whole, "2"); // pages
}

TEST(a_server_without_tables_has_its_objects_watched)
{
    check_rows("w-plain", "[-1] +a Pod/- synced +b Pod/- ");
    check_rows("w-refused", "[-1] +a Pod/- synced ");
}

// The list waits ten seconds, so that rows which come and go do not cost a list each.
TEST(rows_that_a_list_frees_are_filled)
{
    check_told((struct story){.ns = "w-refill", .most = 2},
        "+a +b (1) synced -a -b synced (0) +c synced ");
}

// A watch reports the server's behaviour within a bounded time, and asks it ever more rarely.
static void check_nowhere(const char *ns, const char *how)
{
    struct story s = {
        .fake = fake_open(false), .ns = ns, .tells_away = true, .lock = PTHREAD_MUTEX_INITIALIZER};
    bool told = false;
    loop_post(s.fake->loop, begin_watch, &s);
    for (int i = 0; i < 3000 && !told; i++) {
        usleep(10000);
        pthread_mutex_lock(&s.lock);
        told = strstr(buf_cstr(&s.text), how) != NULL;
        pthread_mutex_unlock(&s.lock);
    }
    loop_post(s.fake->loop, end_watch, &s);
    fake_close(s.fake);
    CHECK_HAS(buf_cstr(&s.text), how);
    CHECK_HAS(buf_cstr(&s.text), "127.0.0.1");
    CHECK(!strstr(buf_cstr(&s.text), "back"));
    buf_done(&s.text);
}

TEST(watches_that_lead_nowhere_are_told)
{
    check_nowhere("w-storm", "too old");
    AUTO_FREE char *storm = counted("from w-storm");
    CHECK(strlen(storm) < strlen("10,") * 12);
    check_nowhere("w-closing", "ends every watch at once");
    check_nowhere("again", "goes on with its list for ever");
}

TEST(after_410_a_new_list_tells_what_came_and_went)
{
    check_watch("w-gone", "+a synced +b -a synced +c ");
}

// Who knows objects by their names must not take the end of the old one for that of the new one.
TEST(a_name_given_again_meanwhile_ends_before_it_begins)
{
    check_watch("w-again", "+a synced -a +a synced ");
}

TEST(a_cut_watch_goes_on_without_a_new_list)
{
    check_watch("w-cut", "+a synced +b -a ");
}

TEST(half_a_frame_is_no_frame)
{
    check_watch("w-torn", "+a synced +b -b ");
}

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    if (kind != LOG_AWAY) // its text is the system's
        tell(arg, "%s\n", text);
}

static void on_done(void *arg, const err *e)
{
    tell(arg, "done %s\n", err_name(e->code));
}

static const struct tail_ops tail_callbacks = {.line = on_line, .done = on_done};

static void begin_tail(void *arg)
{
    struct story *s = arg;
    err e;
    s->tail = tail_open(s->fake->client, &s->spec, &tail_callbacks, s, &e);
}

static void end_tail(void *arg)
{
    struct story *s = arg;
    tail_close(s->tail);
    s->ended = true;
}

static void check_follow_of(const struct tail_spec *spec, const char *want)
{
    struct story s = {.fake = fake_open(false), .lock = PTHREAD_MUTEX_INITIALIZER, .spec = *spec};
    loop_post(s.fake->loop, begin_tail, &s);
    bool told = has_reported(&s, want);
    if (spec->labels) // it would go on
        loop_post(s.fake->loop, end_tail, &s);
    fake_close(s.fake);
    CHECK_STR(buf_cstr(&s.text), want);
    CHECK(told);
    buf_done(&s.text);
}

static void check_follow(const char *pod, const char *want)
{
    check_follow_of(
        &(struct tail_spec){.ns = "default", .pod = pod, .follow = true, .tail = -1}, want);
}

TEST(a_log_goes_on_after_a_cut_without_a_line_twice)
{
    check_follow("resume", "one\ntwo\ntwo again\nthree\ndone none\n");
}

TEST(a_gap_is_told_with_its_size)
{
    check_follow("gap", "one\n-- gap: lines of 4.0s may be missing here --\nfive\ndone none\n");
}

TEST(a_fresh_pod_s_log_is_waited_for)
{
    check_follow("fresh", "one\ndone none\n");
}

TEST(half_a_line_is_told_when_it_is_whole)
{
    check_follow("half", "one\ntwo\ndone none\n");
    check_follow("endless", "one\ndone none\n");
}

// Two answers broke off at the same place.
TEST(half_a_line_is_not_the_last_one)
{
    check_follow("unfinished", "one\ntwo\ndone none\n");
    check_follow("again", "one\ntwo\nthree\ndone none\n");
}

TEST(half_a_line_that_was_told_is_not_told_again)
{
    check_follow("told", "one\ntwo\nthree\ndone none\n");
}

TEST(a_line_that_is_cut_within_its_stamp_is_none)
{
    check_follow("stump", "one\ndone none\n");
}

// A kubelet that dies ends the answer in order, and then the pod may be over.
TEST(an_answer_in_order_is_not_the_end)
{
    check_follow("dies", "one\ntwo\nthree\ndone none\n");
}

TEST(stamps_that_go_back_lose_and_double_nothing)
{
    check_follow("mixed", "a\nb\nc\nd\ndone none\n");
}

TEST(the_end_of_a_run_that_was_cut_is_read_from_the_previous_log)
{
    check_follow(
        "runs", "one\ntwo\n-- the container was started again (restart 1) --\nthree\ndone none\n");
}

// Its first run was over before the watch told of it.
TEST(of_a_pod_that_comes_later_no_run_is_left_out)
{
    check_follow_of(
        &(struct tail_spec){.ns = "l-late", .labels = "a=b", .follow = true, .tail = -1},
        "one\ntwo\n-- the container was started again (restart 1) --\nthree\n");
}

TEST(a_run_that_was_over_before_its_first_line_could_be_read_is_not_left_out)
{
    check_follow("missed",
        "one\ntwo\n-- the container was started again (restart 1) --\nthree\ndone none\n");
}

// What was told is of the present run already.
TEST(a_restart_that_the_pod_tells_late_doubles_and_loses_nothing)
{
    check_follow("ahead", "three\nfour\n-- the lines above are of the container's present run "
                          "(restart 1); those of the run before follow --\none\ntwo\n"
                          "-- the container was started again (restart 1) --\nfive\ndone none\n");
    check_follow("ahead-swept", "three\nfour\n-- gap: the log of the run before cannot be read any "
                                "more --\n-- the container was started again (restart 1) --\nfive\n"
                                "done none\n");
    check_follow("not-ahead",
        "one\ntwo\n-- the container was started again (restart 1) --\nthree\ndone none\n");
}

TEST(a_run_that_the_pod_tells_of_at_its_end_is_not_left_out)
{
    check_follow("end-late",
        "three\n-- the lines above are of the container's present run (restart "
        "1); those of the run before follow --\none\ntwo\n"
        "-- the container was started again (restart 1) --\ndone none\n");
}

TEST(the_end_of_a_run_whose_pod_tells_late_is_found_in_its_log)
{
    check_follow("part-ahead", "one\ntwo\n-- the container was started again (restart 1) --\n"
                               "three\nfour\ndone none\n");
    check_follow("part-late", "one\ntwo\nmore\n"
                              "-- the container was started again (restart 1) --\nthree\nfour\n"
                              "done none\n");
}

TEST(the_end_of_a_run_that_is_lost_by_a_late_pod_is_told)
{
    check_follow("part-swept", "one\n-- gap: lines of 3.0s may be missing here --\nthree\n"
                               "-- gap: the container was started again before its pod said so: "
                               "lines at the end of the run before may be missing here --\n"
                               "-- the container was started again (restart 1) --\nfour\n"
                               "done none\n");
}

TEST(a_gap_is_none_of_another_run)
{
    check_follow("rotated", "one\n-- the container was started again (restart 1) --\ntwo\n"
                            "-- gap: lines of 4.0s may be missing here --\nfive\ndone none\n");
    check_follow("older", "one\n-- gap: lines of 4.0s may be missing here --\nfive\ndone none\n");
}

TEST(another_pod_of_the_name_is_not_taken_for_this_one)
{
    check_follow("renamed",
        "one\n-- gap: the pod is gone: its last lines may be missing here --\ndone none\n");
}

// It says them with status 200, where lines should be.
TEST(what_a_kubelet_says_instead_of_a_log_is_no_line)
{
    check_follow("swept", "one\n-- gap: the log of the run before cannot be read any more --\n"
                          "-- the container was started again (restart 1) --\nthree\ndone none\n");
    check_follow("excuse", "one\ntwo\ndone none\n");
}

TEST(what_a_kubelet_says_instead_of_the_last_line_is_not_the_end)
{
    check_follow("hasty", "one\ntwo\ndone none\n");
}

TEST(an_empty_answer_is_not_an_empty_log)
{
    check_follow(
        "blank", "one\n-- the container was started again (restart 1) --\nthree\ndone none\n");
    check_follow("silent", "done none\n");
}

TEST(an_end_that_never_comes_is_told)
{
    check_follow("endings", "one\n-- gap: lines at the end may be missing here --\ndone none\n");
}

TEST(a_last_line_in_pieces_is_the_end)
{
    check_follow("pieces", "one\nxy\ndone none\n");
    AUTO_FREE char *readings = counted("log pieces");
    CHECK_STR(readings, "1");
}

// Its pieces have their own stamps, so a reading may begin in the middle of it.
TEST(half_of_a_long_line_is_not_told_again)
{
    check_follow("straddle", "long\ntwo\nthree\ndone none\n");
}

TEST(of_several_containers_the_default_one_is_read)
{
    check_follow("several", "one\ndone none\n");
}

static char *read_log(const char *pod, const char *grep, size_t limit, err *e)
{
    struct fake *f = fake_open(false);
    struct tail_text out;
    *e = (err){0};
    tail_read(f->client, &f->patience,
        &(struct tail_spec){.ns = "default", .pod = pod, .grep = grep, .tail = -1}, limit, &out, e);
    fake_close(f);
    AUTO_BUF text = {0};
    if (out.note)
        buf_fmt(&text, "(%s)\n", out.note);
    if (out.left_out)
        buf_fmt(&text, "%zu before\n", out.left_out);
    buf_add(&text, buf_cstr(&out.text), out.text.len);
    tail_text_done(&out);
    return buf_take(&text);
}

TEST(a_log_is_read_and_filtered)
{
    err e;
    AUTO_FREE char *all = read_log("plain", NULL, 1 << 20, &e);
    CHECK_STR(all, "one\ntwo\nthree\n");
    AUTO_FREE char *some = read_log("plain", "^t", 1 << 20, &e);
    CHECK_STR(some, "two\nthree\n");
    AUTO_FREE char *newest = read_log("plain", NULL, 6, &e);
    CHECK_STR(newest, "2 before\nthree\n");
    AUTO_FREE char *late = read_log("late", NULL, 1 << 20, &e);
    CHECK_STR(late, "one\n");
    AUTO_FREE char *several = read_log("several", NULL, 1 << 20, &e);
    CHECK_HAS(several, "(the log is that of container main of pod several, which also has side: ");
    CHECK_HAS(several, "reads all)\none\n");
    AUTO_FREE char *reread = read_log("reread", NULL, 1 << 20, &e);
    CHECK_STR(reread, "one\ntwo\nthree\n");
    AUTO_FREE char *long_one = read_log("mebibytes", NULL, 8 << 20, &e);
    CHECK_STR(long_one + strspn(long_one, "x\n"), "two\n");
    CHECK(strlen(long_one) > (2 << 20) - 100);
    free(read_log("removed", NULL, 1 << 20, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "default: unable to retrieve container logs for containerd://2595f837");
    free(read_log("plain", "(", 1 << 20, &e));
    CHECK_INT(e.code, ERR_USAGE);
    free(read_log("nobody", NULL, 1 << 20, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "pods \"nobody\" not found");
}

// The log is not there, and whether the pod is cannot be found out.
TEST(a_log_of_a_pod_that_cannot_be_asked_for_is_given_up)
{
    err e;
    free(read_log("unseen", NULL, 1 << 20, &e));
    CHECK_INT(e.code, ERR_UNAVAILABLE);
    CHECK_HAS(e.text, "the fake says 503");
    free(read_log("unseen-token", NULL, 1 << 20, &e));
    CHECK_INT(e.code, ERR_UNAUTHORIZED);
}

static int wait_in(const char *ns, const char *name, const char *words, int64_t ms, err *e)
{
    struct fake *f = fake_open(false);
    *e = (err){0};
    const struct resource *r = client_resource(f->client, &f->patience, "pods", e);
    CHECK_OK(r, *e);
    f->patience.deadline = clock_mono() + ms * CLOCK_MS;
    int result = wait_for(f->client, &f->patience,
        &(struct wait_spec){
            .resource = r, .ns = ns, .name = name, .judge = wait_judge, .arg = (char *)words},
        NULL, e);
    fake_close(f);
    return result;
}

TEST(waits_end_when_it_is_so_and_say_how_it_was_when_not)
{
    err e;
    CHECK_OK(wait_in("x", "a", "jsonpath={.status.phase}=Running", 5000, &e) == 0, e);
    CHECK_OK(wait_in("x", "nobody", "delete", 5000, &e) == 0, e);
    CHECK(wait_in("x", "a", "condition=Ready", 300, &e) != 0);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK_HAS(e.text, "wait for pod a");
    CHECK_HAS(e.text, "it is Running");
    CHECK(wait_in("x", "a", "nonsense", 5000, &e) != 0);
    CHECK_INT(e.code, ERR_USAGE);
}

int main(void)
{
    int result = tap_run();
    fake_end();
    return result;
}
