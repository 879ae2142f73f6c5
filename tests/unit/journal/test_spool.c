// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "script/journal/file/syncer.h"
#include "tests/support/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void append(spool *s, const char *text, int64_t wall)
{
    err e = {0};
    CHECK_OK(spool_append(s, text, strlen(text), wall, &e) == 0, e);
}

static void check_read(spool *s, uint64_t from, uint64_t to, const char *want)
{
    err e = {0};
    AUTO_BUF out = {0};
    CHECK_OK(spool_read(s, from, to, &out, &e) == 0, e);
    CHECK_STR(buf_cstr(&out), want);
}

// 3000 lines of 100 bytes, one append each, a second apart.
static void fill(spool *s)
{
    for (int i = 0; i < 3000; i++) {
        char line[101];
        snprintf(line, sizeof line, "%-99d\n", i);
        append(s, line, i * INT64_C(1000000000));
    }
}

TEST(ranges_are_read_while_it_is_written)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(tap_dir(), "run");
    spool *w = spool_create(dir, "out-1", &e);
    CHECK_OK(w, e);
    append(w, "one\ntwo\nthr", 1);
    spool *r = spool_open(dir, "out-1", &e);
    CHECK_OK(r, e);
    check_read(r, 4, 8, "two\n");
    CHECK_INT(spool_lines(r), 2);
    append(w, "ee\n", 2);
    CHECK_INT(spool_size(r), 14);
    CHECK_INT(spool_lines(r), 3);
    check_read(r, 8, 1000, "three\n");
    check_read(r, 1000, 2000, "");
    spool_close(r);
    spool_close(w);
}

TEST(what_a_syncer_takes_over_is_closed)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "journal");
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600), before = dup(fd);
    close(before);
    syncer *by = syncer_open(fd, &e);
    CHECK_OK(by, e);
    for (int i = 0; i < 20; i++) {
        spool *s = spool_create(tap_dir(), "taken", &e);
        CHECK_OK(s, e);
        append(s, "a\n", 1);
        spool_end(s, by);
        spool_discard(spool_open(tap_dir(), "taken", &e));
    }
    CHECK_OK(syncer_wait(by, &e) == 0, e);
    syncer_close(by);
    int after = dup(fd);
    CHECK_INT(after, before);
    close(after);
    close(fd);
}

TEST(lines_are_found_through_the_index)
{
    err e = {0};
    spool *s = spool_create(tap_dir(), "big", &e);
    CHECK_OK(s, e);
    fill(s);
    for (uint64_t line = 0; line < 3000; line += 7) {
        uint64_t offset;
        CHECK_OK(spool_find_line(s, line, &offset, &e) == 0, e);
        CHECK_INT(offset, line * 100);
    }
    uint64_t offset;
    CHECK_INT(spool_find_line(s, 3001, &offset, &e), -1);
    CHECK_HAS(e.text, "only 3000 lines");
    spool_close(s);
}

// An entry marks the start of an append, which may be within a line.
TEST(a_line_is_found_whose_middle_has_an_entry)
{
    err e = {0};
    uint64_t offset;
    AUTO_BUF text = {0};
    spool *s = spool_create(tap_dir(), "middle", &e);
    CHECK_OK(s, e);
    buf_str(&text, "first\n");
    for (int i = 0; i < 70000; i++)
        buf_char(&text, 'a');
    append(s, buf_cstr(&text), 1);
    append(s, "a\nthird\n", 2);
    CHECK_OK(spool_find_line(s, 1, &offset, &e) == 0, e);
    CHECK_INT(offset, 6);
    CHECK_OK(spool_find_line(s, 2, &offset, &e) == 0, e);
    CHECK_INT(offset, 70008);
    spool_close(s);
}

TEST(without_its_index_a_spool_is_read_as_well)
{
    err e = {0};
    AUTO_BUF text = {0};
    AUTO_FREE char *index = str_fmt("%s/bare.idx", tap_dir());
    spool *w = spool_create(tap_dir(), "bare", &e);
    CHECK_OK(w, e);
    fill(w);
    spool_close(w);
    CHECK(unlink(index) == 0);
    spool *s = spool_open(tap_dir(), "bare", &e);
    CHECK_OK(s, e);
    uint64_t offset;
    CHECK_OK(spool_find_line(s, 2999, &offset, &e) == 0, e);
    CHECK_INT(offset, 299900);
    CHECK_INT(spool_line_at(s, 299950), 2999);
    CHECK_INT(spool_lines(s), 3000);
    CHECK_OK(spool_read(s, 299900, 400000, &text, &e) == 0, e);
    CHECK_INT(text.len, 100);
    spool_close(s);
}

TEST(an_offset_says_in_which_line_it_is)
{
    err e = {0};
    spool *s = spool_create(tap_dir(), "lines", &e);
    CHECK_OK(s, e);
    fill(s);
    for (uint64_t offset = 0; offset < 300000; offset += 37)
        CHECK_INT(spool_line_at(s, offset), offset / 100);
    CHECK_INT(spool_line_at(s, 300000), 3000);
    CHECK_INT(spool_line_at(s, 999999), 3000);
    spool_close(s);
}

TEST(a_spool_goes_on_after_a_crash)
{
    err e = {0};
    spool *s = spool_create(tap_dir(), "x", &e);
    CHECK_OK(s, e);
    fill(s);
    spool_close(s);
    AUTO_FREE char *file = path_join(tap_dir(), "x"), *index = path_join(tap_dir(), "x.idx");
    CHECK_INT(truncate(file, 70050), 0); // behind it stand index entries
    CHECK_INT(truncate(index, 24 * 4 + 5), 0);
    s = spool_create(tap_dir(), "x", &e);
    CHECK_OK(s, e);
    CHECK_INT(spool_size(s), 70050);
    CHECK_INT(spool_lines(s), 700);
    append(s, "!\nlast\n", 1);
    uint64_t offset;
    CHECK_OK(spool_find_line(s, 701, &offset, &e) == 0, e);
    check_read(s, offset, offset + 5, "last\n");
    for (uint64_t line = 0; line < 3000; line++) { // no old entry leads astray
        char text[101];
        snprintf(text, sizeof text, "%-99d\n", (int)line);
        append(s, text, 2);
        CHECK_OK(spool_find_line(s, 702 + line, &offset, &e) == 0, e);
        CHECK_INT(offset, 70057 + line * 100);
    }
    spool_close(s);
}

TEST(names_stay_in_their_folder)
{
    err e = {0};
    CHECK(!spool_create(tap_dir(), "../x", &e));
    CHECK(!spool_open(tap_dir(), "", &e));
    CHECK(!spool_open(tap_dir(), "none", &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
}

TEST(a_link_in_a_spools_place_is_not_written_through)
{
    err e = {0};
    AUTO_FREE char *mine = path_join(tap_dir(), "mine"), *dir = path_join(tap_dir(), "run"),
                   *link = path_join(dir, "out-1"), *index = path_join(dir, "out-2.idx");
    CHECK_OK(path_write(mine, "mine", 4, 0600, &e) == 0, e);
    CHECK(mkdir(dir, 0700) == 0 && symlink(mine, link) == 0 && symlink(mine, index) == 0);
    CHECK(!spool_create(dir, "out-1", &e));
    CHECK(!spool_create(dir, "out-2", &e));
    CHECK(!spool_open(dir, "out-1", &e));
    CHECK(chmod(dir, 0770) == 0 && !spool_create(dir, "out-3", &e));
    CHECK_INT(e.code, ERR_FORBIDDEN);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(mine, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), "mine");
}

int main(void)
{
    return tap_run();
}
