// SPDX-License-Identifier: MIT
// What a trainer reads of its data is told once for each file, so that its run can be compared with
// another one.
#include "base/clock.h"
#include "base/digest.h"
#include "base/filestate.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/worker/state.h"

#include <sys/stat.h>

// Files above this size, and all after so many bytes, have their date instead of a digest: a
// training shall not wait for that.
enum { DIGESTED_MAX = 64 << 20, DIGESTED_ALL = 256 << 20 };

void worker_tell_read(worker *w, const char *path)
{
    struct stat st;
    char hex[SHA256_HEX];
    bool listens = w->link ? w->place.rank == 0 : w->options.event != NULL;
    if (!listens || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    if (!w->told)
        w->told = hashmap_new();
    if (!filestate_add(w->told, path, &st))
        return;
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", "read");
    json_set_str(event, "path", path);
    json_set_int(event, "size", st.st_size);
    json_set_int(event, "mtime", st.st_mtim.tv_sec * CLOCK_SEC + st.st_mtim.tv_nsec);
    bool small = st.st_size <= DIGESTED_MAX && w->digested + st.st_size <= DIGESTED_ALL;
    if (small && sha256_file(path, hex, NULL) == 0) {
        json_set_str(event, "sha256", hex);
        w->digested += st.st_size;
    }
    worker_event(w, event);
}

void worker_tell_read_in(worker *w, const char *folder, const char *name)
{
    AUTO_FREE char *plain = str_fmt("%s/%s", folder, name);
    AUTO_FREE char *packed = str_fmt("%s.gz", plain);
    struct stat st;
    worker_tell_read(w, stat(packed, &st) == 0 ? packed : plain);
}
