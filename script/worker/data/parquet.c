// SPDX-License-Identifier: MIT
// Parquet files are read by pyarrow, in a process of its own: parquet.py writes them as CSV, which
// data.lua then reads.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "script/embed.h"
#include "script/worker/tensor/arrays.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program_text(void)
{
    const struct lua_source *source = worker_sources;
    while (strcmp(source->name, "parquet") != 0)
        source++;
    return source->text;
}

// Reads until the other end is closed; the process is killed when this one is asked to stop.
static int read_messages(int fd, pid_t child, const atomic_bool *stop, buf *out, err *e)
{
    enum { INTERVAL = 100, KEEP = 4096 };
    char bytes[1024];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (stop && atomic_load(stop)) {
            kill(child, SIGKILL);
            return err_set(e, ERR_CANCELLED, "interrupted");
        }
        if (poll(&p, 1, INTERVAL) <= 0)
            continue;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n == 0)
            return 0;
        if (n > 0 && out->len < KEEP)
            buf_add(out, bytes, (size_t)n);
        if (n < 0 && errno != EINTR)
            return err_errno(e, errno, "cannot read what python3 says");
    }
}

static int judge(const char *path, int status, const buf *said, err *e)
{
    enum { NO_PYARROW = 3 };
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    AUTO_FREE char *text = str_trim(buf_cstr(said), said->len);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PYARROW)
        return err_set(e, ERR_NOT_FOUND,
            "%s: a Parquet file is read by pyarrow, which python3 does not have (pip install "
            "pyarrow); or write it as .csv or .npz%s%s",
            path, *text ? ": " : "", text);
    return err_set(e, ERR_FAILED, "%s: %s", path, *text ? text : "python3 was killed");
}

static int run_python(const char *const *argv, const char *path, const atomic_bool *stop, err *e)
{
    int ends[2], status = 0;
    pid_t child;
    AUTO_BUF said = {0};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(e, errno, "cannot make a pipe");
    AUTO_FD from = ends[0];
    struct spawn_fd fds[] = {{ends[1], STDERR_FILENO}};
    struct spawn_spec spec = {.argv = argv, .fds = fds, .fd_n = 1, .death_signal = SIGKILL};
    int started = spawn(&spec, &child, e);
    close(ends[1]);
    if (started < 0)
        return err_wrap(e, "%s: a Parquet file is read by python3 with pyarrow", path);
    int result = read_messages(from, child, stop, &said, e);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return result < 0 ? -1 : judge(path, status, &said, e);
}

// unpack_parquet(path, parent, {column, …}) → a new folder in `parent` with table.csv in it
int unpack_parquet(lua_State *L)
{
    enum { COLUMNS_MAX = 10000, FIXED = 5 };
    err e;
    const char *path = luaL_checkstring(L, 1), *parent = luaL_checkstring(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 3);
    luaL_argcheck(L, n <= COLUMNS_MAX, 3, "too many columns");
    const char **argv = lua_newuserdatauv(L, ((size_t)n + FIXED + 1) * sizeof *argv, 0);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 3, i + 1);
        argv[FIXED + i] = luaL_checkstring(L, -1);
        lua_pop(L, 1); // the list holds it
    }
    argv[FIXED + n] = NULL;
    worker_tell_read(worker_of(L), path);
    char *folder = path_make_temp(parent, "firesteel-parquet-", &e);
    if (!folder)
        raise_err(L, &e);
    char *target = path_join(folder, "table.csv");
    const char *fixed[FIXED] = {"python3", "-c", program_text(), path, target};
    memcpy(argv, fixed, sizeof fixed);
    int status = run_python(argv, path, worker_of(L)->options.stop, &e);
    if (status < 0)
        path_remove(folder, NULL);
    else
        lua_pushstring(L, folder);
    free(folder);
    free(target);
    if (status < 0)
        raise_err(L, &e);
    return 1;
}

// remove(path): a folder that unpack_parquet made
int remove_folder(lua_State *L)
{
    path_remove(luaL_checkstring(L, 1), NULL);
    return 0;
}
