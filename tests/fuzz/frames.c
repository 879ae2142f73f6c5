// SPDX-License-Identifier: MIT
// The streams of an API server: watch frames cut anywhere, the objects in them as people see them,
// lists that are read entry by entry, and the stamps of log lines.
#include "k8s/client/text/frames.h"

#include "base/json/tabletext.h"
#include "base/str.h"
#include "k8s/client/connect/status.h"
#include "k8s/client/describe/describe.h"
#include "k8s/client/logs/logs.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/jsonpath.h"
#include "k8s/client/watch/listing.h"
#include "k8s/client/watch/table.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void look_at(const cJSON *object)
{
    err e;
    AUTO_BUF text = {0};
    struct pod_row row;
    pod_row(object, &row);
    state_of(object);
    state_reached(object, "RUNNING");
    describe(&text, object,
        &(struct describe_more){
            .events = json_get(object, "items"), .related = json_get(object, "items")},
        0);
    status_object_error(object, "fuzz", "nobody", &e);
    jsonpath_is(object, json_str_or(object, "message", "{.a[*].b}"), "c", &e);
    object_sick(object, 0, &text);
    cJSON *table = table_from_server(object, "", "Pod", true, true, 0);
    cJSON *list = table_from_list(object, true);
    tabletext_print(table, 0, &text);
    tabletext_print(list, 0, &text);
    cJSON_Delete(table);
    cJSON_Delete(list);
}

static int on_line(void *arg, const char *line, size_t n)
{
    size_t *told = arg, text;
    int64_t stamp;
    log_stamp(line, n, &stamp, &text);
    if (n == 0 || text > n)
        abort();
    *told += n;
    cJSON *frame = json_parse(line, n, NULL);
    look_at(json_get(frame, "object"));
    cJSON_Delete(frame);
    return 0;
}

static int on_entry(void *arg, cJSON *entry)
{
    json_print(arg, entry);
    cJSON_Delete(entry);
    return 0;
}

// Bytes of a list give the same, however they are cut.
static void read_list(enum listing_form form, const char *bytes, size_t n, size_t step, buf *out)
{
    listing *l = listing_new(form, 1 << 16, on_entry, out);
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i += step)
        result = listing_feed(l, bytes + i, i + step < n ? step : n - i, NULL);
    cJSON *head = listing_head(l), *frame = result == 0 ? listing_end(l, NULL) : NULL;
    json_print(out, frame);
    cJSON_Delete(head);
    cJSON_Delete(frame);
    listing_free(l);
}

static void read_lists(const char *bytes, size_t n, size_t step)
{
    for (int form = LISTING_WHOLE; form <= LISTING_SHOWN; form++) {
        AUTO_BUF whole = {0}, pieces = {0};
        read_list(form, bytes, n, n ? n : 1, &whole);
        read_list(form, bytes, n, step, &pieces);
        if (whole.len != pieces.len || memcmp(buf_cstr(&whole), buf_cstr(&pieces), whole.len) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t whole = 0, pieces = 0, step = n ? bytes[0] % 7 + 1u : 1;
    struct frames a = {0}, b = {.limit = 16, .split = true};
    frames_feed(&a, (const char *)bytes, n, on_line, &whole, NULL);
    frames_end(&a, on_line, &whole);
    for (size_t i = 0; i < n; i += step)
        frames_feed(
            &b, (const char *)bytes + i, i + step < n ? step : n - i, on_line, &pieces, NULL);
    frames_end(&b, on_line, &pieces);
    read_lists((const char *)bytes, n, step);
    if (pieces < whole / 2) // each piece may lose only a '\r'
        abort();
    frames_done(&a);
    frames_done(&b);
    return 0;
}
