// SPDX-License-Identifier: MIT
// Files are written whole, whatever is in their place; folders belong to us alone.
#include "base/mem.h"
#include "base/os/filestate.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static mode_t mode_of(const char *path)
{
    struct stat st;
    CHECK_INT(lstat(path, &st), 0);
    return st.st_mode;
}

static void check_text(const char *path, const char *want)
{
    err e = {0};
    AUTO_BUF text = {0};
    CHECK_OK(path_read(path, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

static size_t entries_of(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; // . and ..
}

static atomic_int umask_calls;

// This is called instead of the C library's umask: calling it, even only to read the mask, changes
// it for all threads.
mode_t umask(mode_t mask)
{
    umask_calls++;
    return (mode_t)syscall(SYS_umask, mask);
}

static void *write_often(void *arg)
{
    err e = {0};
    for (int i = 0; i < 50; i++)
        if (path_write(arg, "x", 1, 0666, &e) < 0)
            return (void *)"it could not be written";
    return NULL;
}

TEST(the_umask_counts_and_stays_what_it_is)
{
    mode_t before = umask(027);
    pthread_t threads[4];
    char *paths[ARRAY_LEN(threads)];
    void *problem = NULL;
    umask_calls = 0;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        paths[i] = str_fmt("%s/f%zu", tap_dir(), i);
        CHECK_INT(pthread_create(&threads[i], NULL, write_often, paths[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *said;
        pthread_join(threads[i], &said);
        problem = problem ? problem : said;
    }
    int calls = umask_calls;
    mode_t after = umask(before);
    CHECK(!problem);
    CHECK_INT(calls, 0);
    CHECK_INT(after, 027);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        CHECK_INT(mode_of(paths[i]) & 07777, 0640);
        free(paths[i]);
    }
    CHECK_INT(entries_of(tap_dir()), ARRAY_LEN(threads)); // and no temporary file is left
}

TEST(our_own_files_replace_files_only)
{
    err e = {0};
    AUTO_FREE char *link = path_join(tap_dir(), "link"), *pipe = path_join(tap_dir(), "pipe"),
                   *folder = path_join(tap_dir(), "folder"), *file = path_join(tap_dir(), "file");
    CHECK_OK(path_write(file, "one", 3, 0600, &e) == 0, e);
    CHECK(symlink("file", link) == 0 && mkfifo(pipe, 0600) == 0 && mkdir(folder, 0700) == 0);
    const struct {
        const char *path, *kind;
    } others[] = {{link, "a symbolic link"}, {pipe, "a named pipe"}, {folder, "a folder"}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        mode_t before = mode_of(others[i].path);
        CHECK_INT(path_write(others[i].path, "two", 3, 0600, &e), -1);
        CHECK_HAS(e.text, others[i].path);
        CHECK_HAS(e.text, others[i].kind);
        CHECK_INT(mode_of(others[i].path), before);
    }
    check_text(file, "one");
}

// A device of our own, if a test might replace the system's.
static char *device(const char *name, unsigned minor_number)
{
    char *path = str_fmt("%s/%s", tap_dir(), name);
    if (mknod(path, S_IFCHR | 0666, makedev(1, minor_number)) == 0)
        return path;
    free(path);
    if (geteuid() == 0)
        SKIP("no device can be made here");
    return str_fmt("/dev/%s", name);
}

TEST(a_device_is_written_into)
{
    err e = {0};
    AUTO_FREE char *null = device("null", 3), *full = device("full", 7),
                   *link = path_join(tap_dir(), "to-null");
    CHECK(symlink(null, link) == 0);
    CHECK_OK(path_update(link, "x", 1, 0644, &e) == 0, e);
    CHECK_OK(path_update(null, "x", 1, 0644, &e) == 0, e);
    CHECK(S_ISLNK(mode_of(link)) && S_ISCHR(mode_of(null)));
    CHECK_INT(path_update(full, "x", 1, 0644, &e), -1);
    CHECK_INT(e.code, ERR_NO_SPACE);
}

TEST(a_pipe_is_written_into_when_it_is_read)
{
    err e = {0};
    AUTO_FREE char *pipe = path_join(tap_dir(), "pipe");
    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_INT(path_update(pipe, "x", 1, 0644, &e), -1); // and does not wait
    CHECK_HAS(e.text, "nobody reads from it");
    AUTO_FD reader = open(pipe, O_RDONLY | O_NONBLOCK);
    char got[8] = "";
    CHECK_OK(path_update(pipe, "words", 5, 0644, &e) == 0, e);
    CHECK_INT(read(reader, got, sizeof got), 5);
    CHECK_STR(got, "words");
    CHECK(S_ISFIFO(mode_of(pipe)));
}

TEST(a_socket_and_a_link_to_nothing_are_refused)
{
    err e = {0};
    AUTO_FREE char *socket_path = path_join(tap_dir(), "sock"),
                   *link = path_join(tap_dir(), "link"), *nothing = path_join(tap_dir(), "nothing");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(path_update(socket_path, "x", 1, 0644, &e), -1);
    CHECK_HAS(e.text, "it is a socket");
    CHECK(S_ISSOCK(mode_of(socket_path)) && symlink("nothing", link) == 0);
    CHECK_INT(path_update(link, "x", 1, 0644, &e), -1);
    CHECK_HAS(e.text, "a symbolic link to nothing, which is not there");
    CHECK(S_ISLNK(mode_of(link)) && !path_exists(nothing));
}

TEST(standard_output_is_gone_on_with)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "out");
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), out = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(kept >= 0 && out >= 0 && write(out, "before ", 7) == 7);
    dup2(out, STDOUT_FILENO);
    int result = path_update("/dev/stdout", "after", 5, 0644, &e);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(out);
    CHECK_OK(result == 0, e);
    check_text(file, "before after");
}

TEST(a_private_file_is_private_whatever_it_was)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "f");
    CHECK_OK(path_write(file, "x", 1, 0644, &e) == 0 && chmod(file, 0755) == 0, e);
    CHECK_OK(path_update(file, "y", 1, 0666, &e) == 0, e);
    CHECK_INT(mode_of(file) & 07777, 0755);
    CHECK_OK(path_update(file, "secret", 6, 0600, &e) == 0, e);
    CHECK_INT(mode_of(file) & 07777, 0700);
}

TEST(a_folder_of_ours_is_made_private_and_opened)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "a/b");
    CHECK_INT(folder_open(tap_dir(), "a/b", false, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    AUTO_FD made = folder_open(tap_dir(), "a/b", true, &e);
    CHECK_OK(made >= 0, e);
    CHECK_INT(mode_of(path) & 07777, 0700);
    AUTO_FD again = folder_open(tap_dir(), "a/b", true, &e),
            looked = folder_open_path(path, 2, false, &e);
    CHECK_OK(again >= 0 && looked >= 0, e);
}

TEST(a_folder_that_others_may_write_is_refused)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "a");
    CHECK(mkdir(path, 0700) == 0);
    static const mode_t open_modes[] = {0777, 0770, 0702, 01777};
    for (size_t i = 0; i < ARRAY_LEN(open_modes); i++) {
        CHECK_INT(chmod(path, open_modes[i]), 0);
        CHECK_INT(folder_open(tap_dir(), "a/b", true, &e), -1);
        CHECK_INT(e.code, ERR_FORBIDDEN);
        CHECK_HAS(e.text, path);
        CHECK_HAS(e.text, "chmod go-w");
    }
    CHECK_INT(chmod(path, 0755), 0);
    AUTO_FD fd = folder_open(tap_dir(), "a", false, &e);
    CHECK_OK(fd >= 0, e);
    CHECK_INT(chmod(tap_dir(), 0777), 0); // the folder above may be anybody's
    AUTO_FD other = folder_open(tap_dir(), "a", false, &e);
    CHECK_OK(other >= 0, e);
}

TEST(links_lead_to_the_root_and_not_below_it)
{
    err e = {0};
    AUTO_FREE char *root = path_join(tap_dir(), "root"), *link = path_join(tap_dir(), "link"),
                   *inner = path_join(tap_dir(), "root/a"), *real = path_join(tap_dir(), "real");
    CHECK(mkdir(root, 0700) == 0 && mkdir(real, 0700) == 0 && symlink("root", link) == 0);
    AUTO_FD fd = folder_open(link, "b", true, &e);
    CHECK_OK(fd >= 0, e);
    CHECK(symlink(real, inner) == 0);
    CHECK_INT(folder_open(root, "a", true, &e), -1);
    CHECK_HAS(e.text, "root/a is a symbolic link, which is not followed there");
    CHECK_INT(folder_file(fd, "none", O_RDONLY, 0), -1);
    CHECK_INT(errno, ENOENT);
    CHECK(symlinkat("/etc/passwd", fd, "file") == 0 && mkfifoat(fd, "pipe", 0600) == 0);
    CHECK_INT(folder_file(fd, "file", O_RDONLY, 0), -1);
    CHECK_INT(errno, ELOOP);
    CHECK_INT(folder_file(fd, "pipe", O_RDONLY, 0), -1); // and is not waited for
    CHECK_INT(errno, EINVAL);
}

TEST(a_folder_of_somebody_else_is_refused)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "a");
    CHECK(mkdir(path, 0755) == 0);
    if (chown(path, 65534, 65534) < 0)
        SKIP("a folder of somebody else needs the right to give one away");
    CHECK_INT(folder_open(tap_dir(), "a", true, &e), -1);
    CHECK_INT(e.code, ERR_FORBIDDEN);
    CHECK_HAS(e.text, "a belongs to another user (uid 65534; you are uid ");
}

static atomic_int files_synced, folders_synced;

// This is called instead of the C library's fsync.
int fsync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0)
        *(S_ISDIR(st.st_mode) ? &folders_synced : &files_synced) += 1;
    return (int)syscall(SYS_fsync, fd);
}

TEST(what_is_written_is_on_the_disk_with_its_entry)
{
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "f");
    for (int i = 1; i <= 2; i++) { // also if another file is there
        files_synced = folders_synced = 0;
        CHECK_OK(path_write(file, "text", 4, 0600, &e) == 0, e);
        CHECK_INT(files_synced, 1);
        CHECK_INT(folders_synced, 1);
    }
}

TEST(a_file_counts_once_in_each_state)
{
    AUTO_FREE char *path = str_fmt("%s/rows.csv", tap_dir());
    hashmap *read = hashmap_new();
    struct stat st;
    CHECK_INT(path_write(path, "1,2\n", 4, 0600, NULL), 0);
    CHECK_INT(stat(path, &st), 0);
    CHECK(filestate_add(read, path, &st));
    CHECK(!filestate_add(read, path, &st));
    CHECK(filestate_add(read, "by/another/name", &st));
    st.st_mtim.tv_nsec ^= 1;
    CHECK(filestate_add(read, path, &st));
    CHECK(!filestate_add(read, path, &st));
    hashmap_free(read);
}

enum { SEAL_EXEC = 0x20, NOEXEC_SEAL = 8 }; // newer than many headers

static enum host { ANY_HOST, STRICT_HOST, OLD_HOST } host;

// This is called instead of the C library's: with vm.memfd_noexec=2, and before Linux 6.3.
int memfd_create(const char *name, unsigned flags)
{
    if (host == STRICT_HOST && !(flags & NOEXEC_SEAL))
        return errno = EACCES, -1;
    if (host == OLD_HOST && (flags & NOEXEC_SEAL))
        return errno = EINVAL, -1;
    return (int)syscall(SYS_memfd_create, name, flags);
}

TEST(a_file_in_memory_is_no_program_and_can_be_had_on_any_host)
{
    err e;
    AUTO_FD test = (int)syscall(SYS_memfd_create, "test", NOEXEC_SEAL);
    for (host = ANY_HOST; host <= OLD_HOST; host++) {
        bool seals = test >= 0 && host != OLD_HOST;
        if (host == STRICT_HOST && test < 0)
            continue;
        AUTO_BUF text = {0};
        AUTO_FD fd = fd_memory("test");
        CHECK(fd >= 0);
        CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        CHECK_INT(fcntl(fd, F_GET_SEALS) & SEAL_EXEC, seals ? SEAL_EXEC : 0);
        CHECK_OK(fd_write_all(fd, "text", 4, &e) == 0 && lseek(fd, 0, SEEK_SET) == 0, e);
        CHECK_OK(fd_read_all(fd, &text, 0, &e) == 0, e);
        CHECK_STR(buf_cstr(&text), "text");
        CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL), 0);
        CHECK_INT(ftruncate(fd, 0), -1);
    }
    host = ANY_HOST;
}

int main(void)
{
    return tap_run();
}
