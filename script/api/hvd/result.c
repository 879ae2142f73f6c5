// SPDX-License-Identifier: MIT
#include "script/api/hvd/result.h"

#include "base/data/digest.h"
#include "base/str.h"

#include <string.h>

enum { MOST = 5 << 20 }; // more than a worker tells

static void check_digest(struct hvd_result *r, const char *digest)
{
    char hex[SHA256_HEX];
    sha256_hex(r->packed.data, r->packed.len, hex);
    if (str_eq(digest, hex))
        r->whole = true;
    else
        err_set(&r->damage, ERR_INVALID, "what the ranks returned came damaged");
}

void hvd_result_event(struct hvd_result *r, const cJSON *event)
{
    if (!str_eq(json_str(event, "event"), "result") || r->damage.code || r->whole)
        return;
    const char *data = json_str_or(event, "data", "");
    int64_t part = json_int_or(event, "part", 0), of = json_int_or(event, "of", 0);
    if (part != r->next + 1 || r->packed.len > MOST) {
        err_set(&r->damage, ERR_INVALID,
            "what the ranks returned came with gaps: part %lld follows part %lld (a log that was "
            "rotated?)",
            (long long)part, (long long)r->next);
        return;
    }
    r->next = part;
    if (base64_decode(&r->packed, data, strlen(data), &r->damage) == 0 && part == of)
        check_digest(r, json_str(event, "sha256"));
}

int hvd_result_check(const struct hvd_result *r, err *e)
{
    if (r->damage.code)
        return err_set(e, r->damage.code, "%s", r->damage.text);
    if (!r->whole)
        return err_set(e, ERR_FAILED, "the job ended without the results of its ranks");
    return 0;
}

char *hvd_result_text(const struct hvd_result *r)
{
    buf text = {0};
    base64_encode(&text, r->packed.data, r->packed.len);
    return buf_take(&text);
}

void hvd_result_done(struct hvd_result *r)
{
    buf_done(&r->packed);
}

int hvd_result_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    const char *output = json_str_or(recorded, "output", "");
    if (!json_str(recorded, "packed"))
        return VERDICT_NO;
    call_output(c, "stdout", output, strlen(output));
    return VERDICT_YES;
}
