// SPDX-License-Identifier: MIT
#include "script/jupyter/wire.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define DELIMITER "<IDS|MSG>"
#define VERSION   "5.4"

enum { KEY_BYTES = 32 };
enum { SIGNED = 4 }; // header, parent_header, metadata, content

void wire_init(wire *w)
{
    random_hex(w->key, KEY_BYTES);
    random_hex(w->session, (sizeof w->session - 1) / 2);
}

void wire_done(struct wire_message *m)
{
    cJSON_Delete(m->header);
    cJSON_Delete(m->parent);
    cJSON_Delete(m->metadata);
    cJSON_Delete(m->content);
    *m = (struct wire_message){0};
}

static void sign(const wire *w, const struct wire_frame parts[SIGNED], char hex[SHA256_HEX])
{
    uint8_t mac[SHA256_SIZE];
    AUTO_BUF all = {0};
    *hex = '\0';
    if (!*w->key)
        return;
    for (size_t i = 0; i < SIGNED; i++)
        buf_add(&all, parts[i].data, parts[i].n);
    hmac_sha256(w->key, strlen(w->key), buf_cstr(&all), all.len, mac);
    digest_hex(mac, hex);
}

static char *text_of(const cJSON *object)
{
    return object ? json_to_str(object) : mem_strdup("{}");
}

void wire_pack(const wire *w, const struct wire_outgoing *m, char *frames[WIRE_FRAMES])
{
    AUTO_JSON *header = cJSON_CreateObject();
    json_set_str(header, "msg_id", m->id);
    json_set_str(header, "session", w->session);
    json_set_str(header, "username", "firesteel");
    json_set_str(header, "date", m->date);
    json_set_str(header, "msg_type", m->type);
    json_set_str(header, "version", VERSION);
    json_set_str(header, "subshell_id", m->subshell);
    char *parts[SIGNED] = {
        text_of(header), text_of(m->parent), text_of(m->metadata), text_of(m->content)};
    struct wire_frame signed_[SIGNED];
    char hex[SHA256_HEX];
    for (size_t i = 0; i < SIGNED; i++)
        signed_[i] = (struct wire_frame){parts[i], strlen(parts[i])};
    sign(w, signed_, hex);
    frames[0] = mem_strdup(DELIMITER);
    frames[1] = mem_strdup(hex);
    memcpy(frames + 2, parts, sizeof parts);
}

static bool is_frame(const struct wire_frame *f, const char *text)
{
    return f->n == strlen(text) && memcmp(f->data, text, f->n) == 0;
}

static int check(const wire *w, const struct wire_frame *signature,
    const struct wire_frame parts[SIGNED], err *e)
{
    char hex[SHA256_HEX];
    sign(w, parts, hex);
    if (*w->key &&
        (signature->n != SHA256_HEX - 1 || !digest_equal(signature->data, hex, signature->n)))
        return err_set(e, ERR_INVALID, "its signature is not made with the session's key");
    return 0;
}

int wire_unpack(
    const wire *w, const struct wire_frame *frames, size_t n, struct wire_message *out, err *e)
{
    *out = (struct wire_message){0};
    size_t at = 0;
    while (at < n && !is_frame(&frames[at], DELIMITER))
        at++;
    if (at == n)
        return err_set(e, ERR_INVALID, "it has no %s", DELIMITER);
    if (n - at < 2 + SIGNED)
        return err_set(e, ERR_INVALID, "it has %zu frames, and needs %d", n - at, 2 + SIGNED);
    const struct wire_frame *parts = &frames[at + 2];
    if (check(w, &frames[at + 1], parts, e) < 0)
        return -1;
    cJSON **const targets[SIGNED] = {&out->header, &out->parent, &out->metadata, &out->content};
    static const char *const names[SIGNED] = {"header", "parent header", "metadata", "content"};
    for (size_t i = 0; i < SIGNED; i++) {
        *targets[i] = json_parse(parts[i].data, parts[i].n, e);
        if (*targets[i])
            continue;
        wire_done(out);
        return err_wrap(e, "its %s", names[i]);
    }
    out->identities = at;
    return 0;
}
