// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(buf_grows_and_stays_terminated)
{
    AUTO_BUF b = {0};
    CHECK_STR(buf_cstr(&b), "");
    for (int i = 0; i < 1000; i++)
        buf_fmt(&b, "%d,", i);
    CHECK_INT(b.len, 3890);
    CHECK_INT(strlen(b.data), b.len);
    buf_consume(&b, 3886);
    CHECK_STR(b.data, "999,");
}

TEST(err_keeps_its_own_text_when_wrapped)
{
    err e = {0};
    CHECK_INT(err_errno(&e, ENOENT, "open %s", "x"), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    err_wrap(&e, "cell %d", 3);
    CHECK_STR(e.text, "cell 3: open x: No such file or directory");
    err_set(&e, ERR_FAILED, "%s again", e.text);
    CHECK_HAS(e.text, "directory again");
    CHECK_INT(err_exit_code(ERR_REFUSED), 3);
}

// Fails with a timeout, or says what it makes of one.
static int reads_its_error(bool fails, err *e)
{
    ERR_GUARD(e);
    if (fails)
        err_set(e, ERR_TIMEOUT, "late");
    return e->code == ERR_TIMEOUT ? err_wrap(e, "it is") : 0;
}

TEST(an_err_that_nobody_wants_is_read_all_the_same)
{
    err e = {0}, none = {0};
    CHECK_INT(reads_its_error(true, NULL), -1);
    CHECK_INT(reads_its_error(false, NULL), 0);
    CHECK_INT(reads_its_error(true, &e), -1);
    CHECK_STR(e.text, "it is: late");
    CHECK_INT(err_give(&e, &none), 0);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK_INT(err_give(NULL, &e), -1);
    CHECK_INT(err_give(&none, &e), -1);
    CHECK_STR(none.text, "it is: late");
    err_clear(&e);
    err_clear(NULL);
    CHECK_INT(
        err_set(NULL, ERR_FAILED, "x") + err_errno(NULL, ENOENT, "x") + err_wrap(NULL, "x"), -3);
    CHECK(!e.code && !*e.text);
}

// What a process that has no memory for `size` bytes says; *status: how it ended.
static char *said_without_memory(size_t size, int *status)
{
    int ends[2];
    AUTO_BUF said = {0};
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {512 << 20, 512 << 20};
        setrlimit(RLIMIT_AS, &limit);
        dup2(ends[1], STDERR_FILENO);
        free(mem_resize(NULL, size, 1));
        _exit(0);
    }
    close(ends[1]);
    CHECK(fd_read_all(ends[0], &said, 1 << 16, NULL) == 0);
    close(ends[0]);
    CHECK(waitpid(pid, status, 0) == pid);
    return buf_take(&said);
}

TEST(without_memory_a_program_ends_with_the_limit_in_its_words)
{
    int status;
    if (TAP_SANITIZED)
        SKIP("a sanitizer takes all address space there is");
    AUTO_FREE char *said = said_without_memory((size_t)1 << 30, &status);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK_HAS(said, "firesteel: out of memory (1073741824 bytes more): the address space is ");
    CHECK_HAS(said, "limited to 512 MiB (ulimit -v), and ");
    AUTO_FREE char *none = said_without_memory(1 << 20, &status);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_STR(none, "");
}

TEST(an_error_names_the_limit_that_was_reached)
{
    err e = {0};
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    AUTO_FREE char *files = str_fmt("open x: Too many open files (the open files are limited to "
                                    "%llu (ulimit -n))",
        (unsigned long long)limit.rlim_cur);
    err_errno(&e, EMFILE, "open x");
    CHECK_STR(e.text, files);
    err_errno(&e, EAGAIN, "read x");
    CHECK_STR(e.text, "read x: Resource temporarily unavailable");
    err_start(&e, EAGAIN, "cannot start a thread");
    CHECK_HAS(e.text, "cannot start a thread: Resource temporarily unavailable (");
}

TEST(err_texts_are_utf8)
{
    err e = {0};
    err_set(&e, ERR_FAILED, "%s", "caf\xe9 \xc3");
    CHECK_STR(e.text, "caf\xef\xbf\xbd \xef\xbf\xbd");
    err_errno(&e, ENOENT, "open %s", "\xff");
    CHECK_HAS(e.text, "open \xef\xbf\xbd: No such");
    for (int before = 0; before < 4; before++) { // cut at every place of a character of four bytes
        AUTO_BUF text = {0};
        buf_add(&text, "xxx", (size_t)before);
        for (int i = 0; i < 300; i++)
            buf_str(&text, "\xf0\x9f\x94\xa5");
        err_set(&e, ERR_FAILED, "%s", buf_cstr(&text));
        CHECK(utf8_valid(e.text, strlen(e.text)) && strlen(e.text) > 990);
        CHECK(!strstr(e.text, "\xef\xbf\xbd"));
        err_wrap(&e, "%s", buf_cstr(&text));
        CHECK(utf8_valid(e.text, strlen(e.text)) && !strstr(e.text, "\xef\xbf\xbd"));
    }
    AUTO_BUF bad = {0}; // each byte of which becomes three
    for (int i = 0; i < 2000; i++)
        buf_char(&bad, '\xff');
    err_set(&e, ERR_FAILED, "%s", buf_cstr(&bad));
    CHECK(utf8_valid(e.text, strlen(e.text)) && strlen(e.text) > 990);
    CHECK(str_ends(e.text, STR_CUT));
}

static void check_header(const char *text, const char *want)
{
    size_t n = 0;
    const char *found = secret_of_header(text, &n);
    AUTO_FREE char *value = found ? mem_strndup(found, n) : NULL;
    CHECK_STR(value ? value : "none", want);
}

TEST(credentials_of_headers_are_found)
{
    check_header("-H \"Authorization: Bearer abc.def\" x", "abc.def");
    check_header("authorization: Basic dTpw", "dTpw");
    check_header("Proxy-Authorization: token", "token");
    check_header("curl -H 'X-Api-Key: abc' -o x", "abc");
    check_header("PRIVATE-TOKEN:  abc", "abc");
    check_header("a bearer abc, b", "abc,");
    check_header("Content-Type: text/plain", "none");
    check_header("it is a forbearer abc", "none");
    check_header("Bearer", "none");
    check_header("Authorization: ", "none");
}

TEST(texts_are_made_short_with_a_mark)
{
    CHECK_STR(str_short("abc", 3).text, "abc");
    CHECK_STR(str_short("abcd", 3).text, "abc" STR_CUT);
    CHECK_STR(str_short("a\xc3\xa4", 2).text, "a" STR_CUT);
    CHECK_STR(str_short("a\xff", 4).text, "a" UTF8_REPLACEMENT);
    CHECK_STR(str_short("", 0).text, "");
    CHECK_STR(str_short_line("ab\ncd", 9).text, "ab" STR_CUT);
    CHECK_STR(str_short_line("ab", 9).text, "ab");
    AUTO_BUF lots = {0};
    for (int i = 0; i < 2000; i++)
        buf_char(&lots, 'x');
    CHECK_INT(strlen(str_short(lots.data, 5000).text), STR_SHORT + strlen(STR_CUT));
    char fit[8];
    str_fit(fit, sizeof fit, "1234567");
    CHECK_STR(fit, "1234567");
    str_fit(fit, sizeof fit, "12345678");
    CHECK_STR(fit, "1234" STR_CUT);
    AUTO_FREE char *last = str_last("ab\xc3\xa4"
                                    "cd",
                       6, 3),
                   *all = str_last("abc", 3, 3);
    CHECK_STR(last, STR_CUT "cd");
    CHECK_STR(all, "abc");
    err e = {0};
    err_set(&e, ERR_FAILED, "%s", lots.data);
    CHECK(strlen(e.text) == sizeof e.text - 1 && str_ends(e.text, STR_CUT));
    err_wrap(&e, "%s", lots.data);
    CHECK(strlen(e.text) == sizeof e.text - 1 && str_ends(e.text, STR_CUT));
    lots.data[sizeof e.text - 1] = '\0';
    err_set(&e, ERR_FAILED, "%s", lots.data);
    CHECK(strlen(e.text) == sizeof e.text - 1 && !str_ends(e.text, STR_CUT));
}

TEST(utf8_accepts_and_refuses_as_rfc3629)
{
    CHECK_INT(utf8_len("\xf0\x9f\x94\xa5", 4), 4);
    CHECK_INT(utf8_len("\xc0\x80", 2), 0);         // overlong
    CHECK_INT(utf8_len("\xed\xa0\x80", 3), 0);     // surrogate
    CHECK_INT(utf8_len("\xf4\x90\x80\x80", 4), 0); // beyond U+10FFFF
    CHECK_INT(utf8_len("\xe2\x82", 2), 0);
    AUTO_BUF out = {0};
    utf8_clean(&out, "a\xff\xe2\x82z", 5);
    CHECK_STR(out.data, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
    buf_clear(&out);
    utf8_clean(&out, "a\0z", 3);
    CHECK_STR(buf_cstr(&out), "a\xef\xbf\xbdz");
    CHECK_INT(utf8_partial("a\xe2\x82", 3), 2);
    CHECK_INT(utf8_partial("a\xe2\x82\xac", 4), 0);
    CHECK_INT(utf8_partial("\xff", 1), 0);
}

TEST(base64_goes_both_ways)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        AUTO_BUF text = {0}, back = {0};
        base64_encode(&text, pairs[i][0], strlen(pairs[i][0]));
        CHECK_STR(buf_cstr(&text), pairs[i][1]);
        CHECK_INT(base64_decode(&back, buf_cstr(&text), text.len, NULL), 0);
        CHECK_STR(buf_cstr(&back), pairs[i][0]);
    }
    static const char *const wrong[] = {"Zg=", "Z", "Zg==Zg==", "Z!==", "===="};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_BUF back = {0};
        err e = {0};
        CHECK_INT(base64_decode(&back, wrong[i], strlen(wrong[i]), &e), -1);
        CHECK_HAS(e.text, "not base64");
    }
}

TEST(strings)
{
    int64_t v;
    CHECK(str_to_int("-42", &v) && v == -42);
    CHECK(!str_to_int("4x", &v) && !str_to_int("", &v) && !str_to_int(" 4", &v));
    CHECK(!str_to_int("9223372036854775808", &v));
    CHECK_INT(str_distance("epoch", "epochs"), 1);
    CHECK_INT(str_distance("kitten", "sitting"), 3);
    CHECK_INT(str_distance("rnu", "run"), 1);
    CHECK_INT(str_distance("Runing", "RUNNING"), 1);
    static const char *const names[] = {"pods", "jobs", "x", NULL};
    CHECK_STR(str_nearest("pds", names), "pods");
    CHECK_STR(str_nearest("opds", names), "pods");
    CHECK(!str_nearest("foo", names) && !str_nearest("y", names) && !str_nearest("", names));
    char **parts = strv_split("a,,b", ',');
    CHECK_INT(strv_len(parts), 3);
    CHECK_STR(parts[1], "");
    strv_free(parts);
}

TEST(path_parts)
{
    AUTO_FREE char *a = path_dirname("/a/b/"), *b = path_basename("/a/b/"), *c = path_dirname("x"),
                   *d = path_dirname("/x"), *e = path_join("a/", "b"), *f = path_join("a", "/b");
    CHECK_STR(a, "/a");
    CHECK_STR(b, "b");
    CHECK_STR(c, ".");
    CHECK_STR(d, "/");
    CHECK_STR(e, "a/b");
    CHECK_STR(f, "/b");
    static const char *const plain[][2] = {{"./mod.lua", "mod.lua"}, {"/a//b/./c/", "/a/b/c"},
        {"/a/x/../b", "/a/b"}, {"/../a", "/a"}, {"x/..", "."}, {"../../a/../b", "../../b"},
        {"/", "/"}, {"", "."}, {"a/..b", "a/..b"}, {"/a/..", "/"}};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        AUTO_FREE char *is = path_plain(plain[i][0]);
        CHECK_STR(is, plain[i][1]);
    }
    CHECK(path_is_below("a/..b/c") && !path_is_below("a/../b") && !path_is_below("/a"));
    CHECK(!path_is_below("..") && !path_is_below(""));
}

TEST(path_write_replaces_whole_files)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "f");
    CHECK_OK(path_write(file, "one", 3, 0600, &e) == 0, e);
    CHECK_OK(path_write(file, "second", 6, 0600, &e) == 0, e);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(file, &text, 0, &e) == 0, e);
    CHECK_STR(text.data, "second");
    struct stat st;
    CHECK(stat(file, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK_INT(path_read(file, &text, 3, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(path_read("", &text, 0, &e), -1);
    CHECK_STR(e.text, "the name of the file is empty");
    CHECK_INT(path_write("/nowhere/at/all", "x", 1, 0600, &e), -1);
    CHECK_HAS(e.text, "/nowhere/at/all");
}

TEST(who_reads_a_file_that_is_replaced_has_the_old_one)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "f");
    CHECK_OK(path_write(file, "one", 3, 0600, &e) == 0, e);
    AUTO_FD reader = open(file, O_RDONLY | O_CLOEXEC);
    CHECK_OK(path_write(file, "second", 6, 0600, &e) == 0, e);
    AUTO_BUF text = {0};
    CHECK_OK(fd_read_all(reader, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), "one");
}

TEST(path_update_keeps_what_a_file_is)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "mine"), *link = path_join(tap_dir(), "to-mine"),
                   *fresh = path_join(tap_dir(), "fresh");
    struct stat st;
    CHECK_OK(path_write(file, "one", 3, 0600, &e) == 0, e);
    CHECK(chmod(file, 0640) == 0 && symlink("mine", link) == 0);
    CHECK_OK(path_update(link, "two", 3, 0644, &e) == 0, e);
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(stat(file, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(file, &text, 0, &e) == 0, e);
    CHECK_STR(text.data, "two");
    CHECK_OK(path_update(fresh, "x", 1, 0600, &e) == 0, e);
    CHECK(stat(fresh, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
}

TEST(a_path_is_absolute_before_its_file_exists)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "./not-yet"), *absolute = path_absolute(path, &e),
                   *want = path_join(tap_dir(), "not-yet"),
                   *nowhere = path_absolute("/no/such/place", &e);
    CHECK_STR(absolute, want);
    CHECK(!nowhere);
    CHECK_HAS(e.text, "/no/such/place");
}

TEST(path_remove_does_not_follow_links)
{
    err e = {0};
    AUTO_FREE char *tree = path_join(tap_dir(), "t/u"), *link = path_join(tap_dir(), "t/u/l"),
                   *kept = path_join(tap_dir(), "kept"), *top = path_join(tap_dir(), "t");
    CHECK_OK(path_make_dirs(tree, 0700, &e) == 0, e);
    CHECK_OK(path_make_dirs(kept, 0700, &e) == 0, e);
    CHECK(symlink(kept, link) == 0);
    CHECK_OK(path_remove(top, &e) == 0, e);
    CHECK(!path_exists(top) && path_exists(kept));
    CHECK_OK(path_remove(top, &e) == 0, e);
}

TEST(clock_spells_and_reads_rfc3339)
{
    AUTO_BUF b = {0};
    clock_rfc3339(&b, INT64_C(1592496574000000728), CLOCK_NANOS);
    CHECK_STR(b.data, "2020-06-18T16:09:34.000000728Z");
    int64_t ns = 0;
    CHECK_INT(clock_parse_rfc3339(b.data, &ns, NULL), 0);
    CHECK_INT(ns, INT64_C(1592496574000000728));
    CHECK_INT(clock_parse_rfc3339("2020-06-18T18:09:34.5+02:00", &ns, NULL), 0);
    CHECK_INT(ns, INT64_C(1592496574500000000));
    CHECK_INT(clock_parse_rfc3339("2000-02-29T00:00:00Z", &ns, NULL), 0);
    static const char *const wrong[] = {"", "2020-06-18", "2020-13-18T00:00:00Z",
        "2020-06-18T16:09:34", "2020-06-18T16:09:34.Z", "2020-06-18T16:09:34Zx",
        "2026-02-31T00:00:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2026-11-31T00:00:00Z"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        CHECK_INT(clock_parse_rfc3339(wrong[i], &ns, NULL), -1);
}

TEST(every_day_s_time_is_read_as_it_was_spelt)
{
    for (int64_t day = -106000, ns; day <= 106000; day++) { // 1679 to 2260
        AUTO_BUF text = {0};
        int64_t at = (day * 86400 + (day % 86400 + 86400) % 86400) * CLOCK_SEC;
        clock_rfc3339(&text, at, CLOCK_SECONDS);
        if (clock_parse_rfc3339(buf_cstr(&text), &ns, NULL) != 0 || ns != at)
            tap_fail(__FILE__, __LINE__, "%s", buf_cstr(&text));
    }
}

TEST(durations)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"30s", 30 * CLOCK_SEC}, {"1h30m", 5400 * CLOCK_SEC}, {"250ms", 250 * CLOCK_MS},
        {"1.5s", 1500 * CLOCK_MS}, {"0s", 0}};
    int64_t ns = -1;
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK_OK(duration_parse(good[i].text, &ns, &e) == 0, e);
        CHECK_INT(ns, good[i].ns);
    }
    CHECK_INT(clock_of_seconds(1.5), 3 * CLOCK_SEC / 2);
    CHECK_INT(clock_of_seconds(INFINITY), INT64_MAX);
    CHECK_INT(clock_of_seconds(-1e300), INT64_MIN);
    CHECK_INT(clock_of_seconds(NAN), 0);
    CHECK_INT(clock_add(INT64_MAX - 1, CLOCK_SEC), INT64_MAX);
    CHECK_INT(clock_add(INT64_MIN + 1, -CLOCK_SEC), INT64_MIN);
    static const char *const wrong[] = {"", "10", "ten", "10x", "-5s", "99999999999h"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        CHECK_INT(duration_parse(wrong[i], &ns, &e), -1);
    static const struct {
        int64_t seconds;
        const char *text;
    } ages[] = {{119, "119s"}, {120, "2m"}, {130, "2m10s"}, {660, "11m"}, {3 * 3600 + 300, "3h5m"},
        {9 * 3600, "9h"}, {36 * 3600 + 1800, "36h"}, {48 * 3600, "2d"}, {50 * 3600, "2d2h"},
        {9 * 86400, "9d"}, {800 * 86400, "2y70d"}};
    for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
        AUTO_BUF b = {0};
        duration_age(&b, ages[i].seconds * CLOCK_SEC);
        CHECK_STR(b.data, ages[i].text);
    }
}

TEST(digests)
{
    char hex[SHA256_HEX];
    sha256_hex("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char digits[SHA256_SHORT];
    sha256_short("abc", 3, digits);
    CHECK_STR(digits, "ba7816bf8f01cfea");
    uint8_t mac[SHA256_SIZE]; // RFC 4231, test case 2
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, mac);
    digest_hex(mac, hex);
    CHECK_STR(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    digest_short(mac, digits);
    CHECK_STR(digits, "5bdcc146bf60754e");
}

int main(void)
{
    return tap_run();
}
