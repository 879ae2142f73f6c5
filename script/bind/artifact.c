// SPDX-License-Identifier: MIT
// run.artifact: size and digest of a file that a run made.
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "script/bind/bindings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// Reads the open file to its end; a long one can be interrupted.
static int digest(call *c, int fd, int64_t *size, char hex[SHA256_HEX], err *e)
{
    enum { CHUNK = 1 << 16 };
    AUTO_FREE char *chunk = mem_array(CHUNK, 1);
    uint8_t sum[SHA256_SIZE];
    sha256 h;
    ssize_t n;
    *size = 0;
    sha256_init(&h);
    while ((n = read(fd, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR)) {
        if (canceller_is_cancelled(call_canceller(c)))
            return err_set(e, ERR_CANCELLED, "interrupted");
        if (n < 0)
            continue;
        sha256_update(&h, chunk, (size_t)n);
        *size += n;
    }
    if (n < 0)
        return err_errno(e, errno, "cannot be read");
    sha256_final(&h, sum);
    digest_hex(sum, hex);
    return 0;
}

static int artifact_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *file = json_str_or(args, "file", "");
    AUTO_FREE char *path = path_join(call_cwd(c), file);
    char hex[SHA256_HEX];
    int64_t size;
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // a pipe must not block
    if (fd < 0)
        return err_errno(e, errno, "run.artifact %s", file);
    int status = -1;
    if (fstat(fd, &st) < 0)
        err_errno(e, errno, "cannot be read");
    else if (S_ISDIR(st.st_mode))
        err_set(e, ERR_USAGE, "it is a folder: name its files, or pack it");
    else if (!S_ISREG(st.st_mode))
        err_set(e, ERR_USAGE, "it is no regular file");
    else
        status = digest(c, fd, &size, hex, e);
    close(fd);
    if (status)
        return err_wrap(e, "run.artifact %s", file);
    *result = cJSON_CreateObject();
    json_set_str(*result, "path", file);
    json_set_int(*result, "size", size);
    json_set_str(*result, "sha256", hex);
    return 0;
}

const struct binding artifact_bindings[] = {
    {.name = "run.artifact", .effect = EFFECT_PURE, .start = artifact_start}, {0}};
