// SPDX-License-Identifier: MIT
// run.artifact: size and digest of a file that a run made.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/files/digested.h"

#include <errno.h>
#include <sys/stat.h>

static int artifact_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *file = json_str_or(args, "file", "");
    AUTO_FREE char *path = path_join(call_cwd(c), file);
    char hex[SHA256_HEX];
    int64_t size;
    struct stat st;
    if (stat(path, &st) < 0)
        return err_errno(e, errno, "run.artifact %s", file);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "run.artifact %s: %s", file,
            S_ISDIR(st.st_mode) ? "it is a folder: name its files, or pack it"
                                : "it is no regular file");
    if (files_digest(c, file, path, &size, hex, e))
        return err_wrap(e, "run.artifact %s", file);
    *result = cJSON_CreateObject();
    json_set_str(*result, "path", file);
    json_set_int(*result, "size", size);
    json_set_str(*result, "sha256", hex);
    return 0;
}

const struct binding artifact_bindings[] = {
    {.name = "run.artifact", .effect = EFFECT_PURE, .start = artifact_start}, {0}};
