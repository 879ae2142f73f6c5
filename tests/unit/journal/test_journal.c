// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/reader.h"
#include "tests/unit/journal/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *file_of(const char *run)
{
    return journal_file(tap_dir(), run);
}

TEST(records_are_numbered_and_stamped)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run);
    reader *r = reader_open(file, &e);
    CHECK_OK(r, e);
    cJSON *record;
    int64_t seq = 0, mono = 0;
    int result;
    while ((result = reader_next(r, &record, &e)) == 1) {
        CHECK_INT(json_int_or(record, "seq", 0), ++seq);
        CHECK_INT(reader_line_number(r), seq);
        CHECK(json_int_or(record, "mono", 0) >= mono);
        CHECK_INT(strlen(json_str_or(record, "wall", "")), strlen("2026-01-02T03:04:05.000006Z"));
        mono = json_int_or(record, "mono", 0);
        cJSON_Delete(record);
    }
    CHECK_OK(result == 0, e);
    CHECK_INT(seq, 1 + (int64_t)ARRAY_LEN(sample_events));
    CHECK(!reader_torn(r));
    reader_close(r);
}

TEST(the_folder_is_private_and_ignored)
{
    AUTO_FREE char *run = sample_write(), *file = file_of(run);
    AUTO_FREE char *dir = path_join(tap_dir(), ".firesteel"),
                   *ignore = path_join(dir, ".gitignore");
    struct stat st;
    CHECK_INT(stat(dir, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    CHECK_INT(stat(file, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK(st.st_size > 0 && st.st_blocks * 512 < 64 << 10); // what was reserved is given back
    CHECK(path_exists(ignore));
}

TEST(names_of_runs)
{
    AUTO_FREE char *name = journal_run_name("a b/../c", 1767323045 * INT64_C(1000000000));
    CHECK(str_starts(name, "a-b-..-c-20260102-030405-"));
    AUTO_FREE char *hidden = journal_run_name(".x", 0);
    CHECK(str_starts(hidden, "-x-"));
}

TEST(a_torn_last_line_is_cut_off_and_the_run_goes_on)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run);
    struct stat st;
    CHECK_INT(stat(file, &st), 0);
    CHECK_INT(truncate(file, st.st_size - 3), 0);
    reader *r = reader_open(file, &e);
    cJSON *record;
    size_t n = 0;
    while (reader_next(r, &record, &e) == 1) {
        n++;
        cJSON_Delete(record);
    }
    CHECK_INT(n, ARRAY_LEN(sample_events));
    CHECK(reader_torn(r));
    journal *j = journal_continue(tap_dir(), run, NULL, &e);
    CHECK_OK(j, e);
    CHECK_INT(journal_seq(j), n);
    sample_append(j, "{\"type\":\"resumed\",\"pid\":1}");
    reader_close(r);
    r = reader_open(file, &e);
    int more;
    while ((more = reader_next(r, &record, &e)) == 1) {
        if (reader_line_number(r) == n + 1)
            CHECK_STR(json_str(record, "type"), "resumed");
        cJSON_Delete(record);
    }
    CHECK_OK(more == 0, e);
    CHECK_INT(reader_line_number(r), n + 1);
    reader_close(r);
    journal_close(j);
}

TEST(damage_in_the_middle_is_reported_with_its_line)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(file, &text, 0, &e) == 0, e);
    char *third = strchr(strchr(text.data, '\n') + 1, '\n') + 1;
    third[4] = '\0';
    CHECK_OK(path_write(file, text.data, text.len, 0600, &e) == 0, e);
    reader *r = reader_open(file, &e);
    cJSON *record;
    size_t good = 0, bad = 0;
    int result;
    while ((result = reader_next(r, &record, &e)) != 0) {
        good += result > 0;
        bad += result < 0;
        if (result < 0) {
            CHECK_INT(e.code, ERR_CORRUPT);
            CHECK_HAS(e.text, "line 3 is damaged");
        }
        cJSON_Delete(record);
    }
    CHECK_INT(bad, 1);
    CHECK_INT(good, ARRAY_LEN(sample_events));
    reader_close(r);
}

static void check_refused(const char *text, const char *words)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "x.jsonl");
    CHECK_OK(path_write(file, text, strlen(text), 0600, &e) == 0, e);
    reader *r = reader_open(file, &e);
    cJSON *record;
    CHECK_INT(reader_next(r, &record, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_HAS(e.text, words);
    CHECK_INT(reader_next(r, &record, &e), -1);
    reader_close(r);
}

TEST(a_newer_version_and_what_is_no_journal_are_refused)
{
    check_refused("{\"type\":\"run\",\"format\":2}\n",
        "newer firesteel (journal format 2; this one reads 1)");
    check_refused("{\"type\":\"state\"}\n", "not a journal");
    check_refused("{}\n", "not a journal");
}

TEST(one_writer_at_a_time)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run);
    CHECK(!journal_is_written(file));
    journal *j = journal_continue(tap_dir(), run, NULL, &e);
    CHECK_OK(j, e);
    CHECK(journal_is_written(file));
    AUTO_BUF before = {0}, after = {0};
    CHECK_OK(path_read(file, &before, 0, &e) == 0, e);
    CHECK(!journal_continue(tap_dir(), run, NULL, &e));
    CHECK_INT(e.code, ERR_CONFLICT);
    CHECK_OK(path_read(file, &after, 0, &e) == 0, e);
    CHECK(before.len > 0 && after.len == before.len); // a refused writer changes nothing
    AUTO_FREE char *pid = str_fmt("(process %d)", (int)getpid());
    CHECK_HAS(e.text, pid);
    journal_close(j);
    CHECK(!journal_is_written(file));
}

TEST(runs_are_found_by_name_beginning_and_age)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(tap_dir(), ".firesteel");
    CHECK_OK(path_make_dirs(dir, 0700, &e) == 0, e);
    static const char *const runs[] = {
        "b-20260102-000000-aaaa", "a-20260103-000000-bbbb", "a-20260101-000000-cccc"};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        AUTO_FREE char *file = file_of(runs[i]);
        CHECK_OK(path_write(file, "", 0, 0600, &e) == 0, e);
    }
    char **list = journal_list(tap_dir(), &e);
    CHECK_INT(strv_len(list), 3);
    CHECK_STR(list[0], runs[1]);
    CHECK_STR(list[2], runs[2]);
    strv_free(list);
    AUTO_FREE char *newest = journal_find(tap_dir(), NULL, &e),
                   *by_start = journal_find(tap_dir(), "b", &e);
    CHECK_STR(newest, runs[1]);
    CHECK_STR(by_start, runs[0]);
    const char *const names[] = {"n-2026-ab1c", "n-2025-ab1c", "n-2025-ff00", "ff00-2024-1111"};
    size_t hits;
    CHECK_INT(journal_match(names, 3, "ff00", &hits), 2);
    CHECK_INT(hits, 1);
    CHECK_INT(journal_match(names, 4, "ff00", &hits), 3); // a beginning comes first
    CHECK_INT(hits, 1);
    CHECK_INT(journal_match(names, 4, "2026-ab1c", &hits), 0);
    CHECK_INT(hits, 1);
    journal_match(names, 4, "ab1c", &hits);
    CHECK_INT(hits, 2);
    journal_match(names, 4, "b1c", &hits); // a part is a whole one
    CHECK_INT(hits, 0);
    CHECK(!journal_find(tap_dir(), "a", &e));
    CHECK_HAS(e.text, "2 runs start with a");
    CHECK(!journal_find(tap_dir(), "c", &e));
    CHECK_HAS(e.text, "there is no run c");
    CHECK(!journal_find("/nonexistent", NULL, &e));
    CHECK(!journal_find(tap_dir(), "", &e));
    CHECK_INT(e.code, ERR_USAGE);
}

TEST(secrets_do_not_reach_the_file)
{
    err e = {0};
    mask *m = mask_new();
    mask_add(m, "hunter2-hunter2", 15);
    journal *j =
        journal_create(&(struct journal_spec){.folder = tap_dir(), .name = "s", .mask = m}, &e);
    CHECK_OK(j, e);
    sample_append(j, "{\"type\":\"stream\",\"text\":\"is hunter2-hunter2\"}");
    AUTO_BUF text = {0};
    CHECK_OK(path_read(journal_path(j), &text, 0, &e) == 0, e);
    CHECK_HAS(text.data, "is [secret]");
    CHECK(!strstr(text.data, "hunter2"));
    journal_close(j);
    mask_free(m);
}

// In a child process, so that the limit concerns nobody else; a file at its limit stands for a full
// disk.
static int fill_up(const char *folder)
{
    err e = {0};
    signal(SIGXFSZ, SIG_IGN);
    journal *j = journal_create(&(struct journal_spec){.folder = folder, .name = "full"}, &e);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){8 << 10, 8 << 10});
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "type", "stream");
    json_set_str(event, "text", "some text that is appended until there is no room");
    int written = 0;
    while (j && journal_append(j, event, NULL, &e))
        written++;
    cJSON_Delete(event);
    struct stat st;
    stat(journal_path(j), &st);
    AUTO_BUF text = {0};
    path_read(journal_path(j), &text, 0, NULL);
    bool whole = text.len > 0 && text.data[text.len - 1] == '\n';
    journal_close(j);
    return written > 20 && whole && strstr(e.text, "cannot write the journal") ? 0 : 1;
}

static void check_in_child(int (*work)(const char *folder))
{
    const char *folder = tap_dir(); // before the fork, so that it is removed here
    pid_t pid = fork();
    if (pid == 0)
        _exit(work(folder));
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_write_that_fails_leaves_whole_lines)
{
    check_in_child(fill_up);
}

static atomic_int failing_syncs;                       // the next so many fail
static atomic_int begun_syncs, done_syncs, slow_syncs; // the next so many take a while

// These are called instead of the C library's. Linux reports a failed write-back once, to one call.
int fdatasync(int fd)
{
    atomic_fetch_add(&begun_syncs, 1);
    if (atomic_load(&slow_syncs) > 0) {
        atomic_fetch_sub(&slow_syncs, 1);
        usleep(200000);
    }
    atomic_fetch_add(&done_syncs, 1);
    if (atomic_load(&failing_syncs) == 0)
        return (int)syscall(SYS_fdatasync, fd);
    atomic_fetch_sub(&failing_syncs, 1);
    errno = EIO;
    return -1;
}

static atomic_int folders_synced;

int fsync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        atomic_fetch_add(&folders_synced, 1);
    return (int)syscall(SYS_fsync, fd);
}

static journal *create(void)
{
    err e = {0};
    journal *j = journal_create(&(struct journal_spec){.folder = tap_dir(), .name = "s"}, &e);
    CHECK_OK(j, e);
    return j;
}

static const char *append(journal *j, const char *text, err *e)
{
    AUTO_JSON *event = json_parse(text, strlen(text), NULL);
    return journal_append(j, event, NULL, e);
}

TEST(a_sync_that_failed_in_the_background_is_not_forgotten)
{
    err e = {0};
    journal *j = create();
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    failing_syncs = 1;
    sample_append(j, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"ok\"}");
    while (failing_syncs)
        usleep(1000);
    for (int i = 0; i < 2; i++) { // the disk takes all that follows, but that one may be lost
        e.code = ERR_NONE;
        CHECK(!append(j, "{\"type\":\"ledger\",\"entry\":2}", &e));
        CHECK_HAS(e.text, "Input/output error");
    }
    CHECK_INT(journal_check(j, &e), -1);
    CHECK_HAS(e.text, "may be lost");
    CHECK_INT(journal_seq(j), 2);
    sample_append(j, "{\"type\":\"end\",\"exit\":1}"); // a last word, which is not relied on
    CHECK_INT(journal_seq(j), 3);
    journal_close(j);
}

TEST(an_entry_that_is_done_again_waits_for_no_sync)
{
    journal *j = create();
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    slow_syncs = 1;
    int done = done_syncs;
    sample_append(j, "{\"type\":\"ledger\",\"entry\":2,\"repeats\":true}");
    CHECK_INT(done_syncs, done);
    sample_append(j, "{\"type\":\"ledger\",\"entry\":3}"); // with everything before it
    CHECK(done_syncs > done);
    CHECK_INT(slow_syncs, 0);
    journal_close(j);
}

TEST(the_entries_of_a_group_share_one_sync)
{
    err e = {0};
    journal *j = create();
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    begun_syncs = 0;
    journal_group(j);
    for (int i = 0; i < 5; i++)
        sample_append(j, "{\"type\":\"ledger\",\"entry\":2}");
    CHECK_INT(begun_syncs, 0);
    CHECK_OK(journal_commit(j, NULL, &e), e);
    CHECK_INT(begun_syncs, 1);
    journal_group(j);
    sample_append(j, "{\"type\":\"stream\",\"cell\":\"a\",\"name\":\"stdout\",\"text\":\"x\"}");
    CHECK_OK(journal_commit(j, NULL, &e), e);
    CHECK_INT(begun_syncs, 1); // nobody waits for these
    journal_close(j);
}

TEST(a_group_is_written_at_once)
{
    err e = {0};
    size_t n = 0;
    struct stat before, within, after;
    journal *j = create();
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    stat(journal_path(j), &before);
    journal_group(j);
    sample_append(j, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"ok\"}");
    sample_append(j, "{\"type\":\"state\",\"cell\":\"two\",\"state\":\"running\"}");
    stat(journal_path(j), &within);
    CHECK_INT(within.st_size, before.st_size);
    const char *lines = journal_commit(j, &n, &e);
    CHECK_OK(lines, e);
    stat(journal_path(j), &after);
    CHECK_INT(after.st_size, before.st_size + (off_t)n);
    CHECK_HAS(lines, "\"two\"");
    CHECK_OK(journal_sync(j, &e) == 0, e); // the group asked for one, which may not have begun
    begun_syncs = 0;
    journal_group(j);
    sample_append(j, "{\"type\":\"state\",\"cell\":\"two\",\"state\":\"ok\"}");
    sample_append(j, "{\"type\":\"end\",\"exit\":0}"); // it waits for nothing
    CHECK_INT(begun_syncs, 1);
    failing_syncs = 1;
    CHECK(!append(j, "{\"type\":\"end\",\"exit\":0}", &e));
    lines = journal_commit(j, &n, &e);
    CHECK(lines && n > 0 && lines[n - 1] == '\n');
    stat(journal_path(j), &within);
    CHECK_INT(within.st_size, after.st_size + (off_t)n);
    journal_close(j);
}

// Of a group's lines the file takes the first and a half.
static int fill_up_with_a_group(const char *folder)
{
    static const char line[] = "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\"}";
    err e = {0};
    struct stat st;
    AUTO_BUF before = {0}, after = {0};
    signal(SIGXFSZ, SIG_IGN);
    journal *j = journal_create(&(struct journal_spec){.folder = folder, .name = "group"}, &e);
    bool good = j && append(j, line, &e) && stat(journal_path(j), &st) == 0;
    if (!good)
        return 1;
    path_read(journal_path(j), &before, 0, &e);
    journal_group(j);
    for (int i = 0; i < 3; i++)
        good = good && append(j, line, &e);
    rlim_t limit = (rlim_t)(st.st_size + st.st_size * 3 / 2);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, RLIM_INFINITY});
    good = good && !journal_commit(j, NULL, &e) && strstr(e.text, "cannot write the journal");
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    path_read(journal_path(j), &after, 0, &e);
    good = good && str_eq(buf_cstr(&before), buf_cstr(&after)) && journal_seq(j) == 1;
    good = good && append(j, line, &e) && journal_seq(j) == 2; // what comes next is whole
    buf_clear(&after);
    path_read(journal_path(j), &after, 0, &e);
    good = good && str_starts(buf_cstr(&after), buf_cstr(&before)) &&
           str_starts(buf_cstr(&after) + before.len, "{\"type\":\"state\"") &&
           strstr(buf_cstr(&after) + before.len, "\"seq\":2,");
    journal_close(j);
    return good ? 0 : 1;
}

TEST(a_group_that_is_written_in_part_is_cut_off)
{
    check_in_child(fill_up_with_a_group);
}

TEST(a_group_that_is_not_on_the_disk_is_cut_off)
{
    err e = {0};
    journal *j = create();
    AUTO_FREE char *file = mem_strdup(journal_path(j));
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    uint64_t seq = journal_seq(j);
    AUTO_BUF before = {0}, after = {0};
    CHECK_OK(path_read(file, &before, 0, &e) == 0, e);
    failing_syncs = 1;
    journal_group(j);
    sample_append(j, "{\"type\":\"ledger\",\"entry\":2}");
    sample_append(j, "{\"type\":\"ledger\",\"entry\":3}");
    CHECK(!journal_commit(j, NULL, &e));
    CHECK_HAS(e.text, "cannot write the journal");
    CHECK_INT(journal_seq(j), seq);
    CHECK_OK(path_read(file, &after, 0, &e) == 0, e);
    CHECK_INT(after.len, before.len);
    CHECK_STR(buf_cstr(&after), buf_cstr(&before));
    sample_append(j, "{\"type\":\"end\",\"exit\":1}"); // a run's last words
    journal_close(j);
}

// A sync under way may have begun before the record was written.
TEST(a_sync_under_way_is_not_the_one_that_is_waited_for)
{
    journal *j = create();
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    begun_syncs = done_syncs = 0;
    slow_syncs = 2;
    sample_append(j, "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"ok\"}");
    while (!begun_syncs)
        usleep(1000);
    sample_append(j, "{\"type\":\"ledger\",\"entry\":2}");
    CHECK_INT(done_syncs, 2);
    journal_close(j);
}

TEST(an_end_that_is_not_on_the_disk_is_none)
{
    err e = {0};
    journal *j = create();
    CHECK_OK(journal_sync(j, &e) == 0, e);
    failing_syncs = 1;
    CHECK(!append(j, "{\"type\":\"end\",\"exit\":0}", &e));
    CHECK_HAS(e.text, "Input/output error");
    AUTO_BUF text = {0};
    CHECK_OK(path_read(journal_path(j), &text, 0, &e) == 0, e);
    CHECK_INT(text.len, 0);
    sample_append(j, "{\"type\":\"end\",\"exit\":1}");
    journal_close(j);
}

TEST(a_new_journal_has_its_entry_on_the_disk_before_the_ledger)
{
    folders_synced = 0;
    journal *j = create();
    CHECK_INT(folders_synced, 1); // the working folder, for .firesteel
    sample_append(j, "{\"type\":\"ledger\",\"entry\":1}");
    CHECK_INT(folders_synced, 2); // and .firesteel, for the journal
    journal_close(j);
}

TEST(of_one_second_the_first_record_tells_the_newest)
{
    err e = {0};
    AUTO_FD dir = hidden_make(tap_dir(), &e);
    CHECK_OK(dir >= 0, e);
    static const char *const runs[][2] = {{"a-20260102-000000-bbbb", "00.000002"},
        {"a-20260102-000000-aaaa", "00.000001"}, {"b-20260102-000000-0000", "00.000003"},
        {"a-20260102-000000-cccc", NULL}, {"a-20260101-235959-ffff", "59.000009"}};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        AUTO_FREE char *file = file_of(runs[i][0]);
        AUTO_FREE char *text =
            str_fmt("{\"type\":\"run\",\"format\":1,\"seq\":1,\"wall\":\"2026-01-02T00:00:%sZ\"}\n",
                runs[i][1]);
        CHECK_OK(path_write(file, text, runs[i][1] ? strlen(text) : 0, 0600, &e) == 0, e);
    }
    static const int order[] = {2, 0, 1, 3, 4}; // one without a record has hardly begun
    char **list = journal_list(tap_dir(), &e);
    CHECK_INT(strv_len(list), ARRAY_LEN(order));
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        CHECK_STR(list[i], runs[order[i]][0]);
    strv_free(list);
    AUTO_FREE char *newest = journal_find(tap_dir(), NULL, &e);
    CHECK_STR(newest, runs[2][0]);
}

TEST(a_folder_that_others_may_write_is_not_used)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run),
                   *dir = path_join(tap_dir(), ".firesteel");
    CHECK_INT(chmod(dir, 0777), 0);
    CHECK(!journal_create(&(struct journal_spec){.folder = tap_dir(), .name = "s"}, &e));
    CHECK_INT(e.code, ERR_FORBIDDEN);
    CHECK_HAS(e.text, dir);
    CHECK(!journal_continue(tap_dir(), run, NULL, &e));
    CHECK_INT(e.code, ERR_FORBIDDEN);
    CHECK(!reader_open(file, &e));
    CHECK_INT(e.code, ERR_FORBIDDEN);
    CHECK(!journal_list(tap_dir(), &e));
    CHECK_HAS(e.text, "chmod go-w");
    CHECK_INT(chmod(dir, 0700), 0);
    reader *r = reader_open(file, &e);
    CHECK_OK(r, e);
    reader_close(r);
}

TEST(links_below_the_folder_are_not_followed)
{
    err e = {0};
    AUTO_FREE char *run = sample_write(), *file = file_of(run),
                   *away = path_join(tap_dir(), "away");
    CHECK(rename(file, away) == 0 && symlink(away, file) == 0);
    CHECK(!reader_open(file, &e));
    CHECK(!journal_continue(tap_dir(), run, NULL, &e));
    AUTO_FREE char *dir = path_join(tap_dir(), ".firesteel"),
                   *moved = path_join(tap_dir(), "moved");
    CHECK(rename(dir, moved) == 0 && symlink("moved", dir) == 0);
    CHECK(!journal_create(&(struct journal_spec){.folder = tap_dir(), .name = "s"}, &e));
    CHECK_HAS(e.text, "is a symbolic link");
}

int main(void)
{
    return tap_run();
}
