// SPDX-License-Identifier: MIT
#include "k8s/client/state/workflow.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <zlib.h>

#define GROUP "argoproj.io/"
enum { GZIP_WINDOW = 16 + MAX_WBITS, PIECE = 64 << 10, MOST = 32 << 20 };

// A whole gzip stream. Returns 0; or -1: it is damaged, cut, or becomes too large.
static int inflate_gzip(const buf *packed, buf *text)
{
    z_stream s = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->len};
    if (inflateInit2(&s, GZIP_WINDOW) != Z_OK)
        return -1;
    AUTO_FREE char *piece = mem_alloc(PIECE);
    int status;
    do {
        s.next_out = (Bytef *)piece;
        s.avail_out = PIECE;
        status = inflate(&s, Z_NO_FLUSH);
        buf_add(text, piece, PIECE - s.avail_out);
    } while (status == Z_OK && text->len <= MOST);
    inflateEnd(&s);
    return status == Z_STREAM_END && text->len <= MOST ? 0 : -1;
}

int workflow_unpack(cJSON *object, err *e)
{
    cJSON *status = (cJSON *)json_get(object, "status");
    const char *packed = json_str(status, "compressedNodes");
    if (!packed || !*packed || !str_starts(json_str_or(object, "apiVersion", GROUP), GROUP))
        return 0;
    AUTO_BUF bytes = {0}, text = {0};
    if (base64_decode(&bytes, packed, strlen(packed), NULL) != 0 ||
        inflate_gzip(&bytes, &text) != 0)
        return err_set(e, ERR_INVALID,
            "status.compressedNodes of %s, which has its steps, is no gzip in base64",
            json_path_str(object, "metadata.name"));
    AUTO_JSON *nodes = json_parse(buf_cstr(&text), text.len, e);
    if (!nodes)
        return err_wrap(e, "status.compressedNodes");
    if (!cJSON_IsObject(nodes))
        return err_set(e, ERR_INVALID, "status.compressedNodes holds no object");
    cJSON_DeleteItemFromObjectCaseSensitive(status, "compressedNodes");
    json_set(status, "nodes", STEAL(nodes));
    return 0;
}
