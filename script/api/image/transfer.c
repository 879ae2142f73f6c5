// SPDX-License-Identifier: MIT
#include "script/api/image/transfer.h"

#include "base/clock.h"

#define PROGRESS "application/vnd.firesteel.progress+json"

static const int64_t short_transfer = CLOCK_SEC / 2, turn = CLOCK_SEC / 5;

static double megabytes(int64_t bytes)
{
    return (double)bytes / 1e6;
}

static cJSON *bundle(const struct transfer *t)
{
    const struct image_progress *p = &t->progress;
    double elapsed = (double)(clock_mono() - t->began) / CLOCK_SEC;
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s: %.1f of %.1f MB", t->label, megabytes(p->done), megabytes(p->total));
    cJSON *data = cJSON_CreateObject(), *rich = json_object_at(data, PROGRESS);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set_str(rich, "label", t->label);
    json_set_str(rich, "unit", "bytes");
    json_set_int(rich, "done", p->done);
    json_set_int(rich, "total", p->total);
    json_set(rich, "elapsed", cJSON_CreateNumber(elapsed));
    return data;
}

// On the loop's thread while bytes move; the call's thread then waits.
static void moved(struct image_progress *p)
{
    struct transfer *t = (struct transfer *)p; // its first member
    int64_t now = clock_mono();
    if (now - t->began < short_transfer || now - t->shown < turn)
        return;
    t->shown = now;
    if (t->display)
        display_replace(t->display, bundle(t));
    else
        t->display = call_display(t->call, bundle(t), true);
}

void transfer_begin(struct transfer *t, call *c, const char *label)
{
    *t = (struct transfer){
        .progress = {.moved = moved}, .call = c, .label = label, .began = clock_mono()};
}

void transfer_end(struct transfer *t)
{
    if (t->display)
        display_close(t->display, bundle(t));
    t->display = NULL;
}
