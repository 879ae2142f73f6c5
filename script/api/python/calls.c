// SPDX-License-Identifier: MIT
#include "script/api/python/calls.h"

#include "base/str.h"
#include "script/api/python/cell.h"

void calls_answer(struct session *s, cJSON *content)
{
    cJSON *line = session_order("answer");
    json_set(line, "content", content);
    session_send(s, line);
}

cJSON *calls_refused(const cJSON *asked, const char *kind, const char *why)
{
    cJSON *answer = cJSON_CreateObject(), *error = json_object_at(answer, "error");
    json_set_int(answer, "id", json_int_or(asked, "id", 0));
    json_set_str(error, "kind", kind);
    json_set_str(error, "message", why);
    return answer;
}

void calls_take(struct session *s, const cJSON *line)
{
    const cJSON *asked = json_get(line, "content");
    struct run *r = s->run;
    if (!r || !*r->id)
        calls_answer(s, calls_refused(asked, "error",
                            "no cell runs: a thread that an earlier cell has left cannot call "
                            "firesteel between cells"));
    else if (r->stops)
        calls_answer(s, calls_refused(asked, "interrupted", "the cell was interrupted"));
    else if (r->wanted)
        calls_answer(s, calls_refused(asked, "error", "calls are done one after the other"));
    else {
        r->wanted = cJSON_Duplicate(asked, true);
        run_wake(r);
    }
}
