// SPDX-License-Identifier: MIT
// A small run, as a kernel would journal it, for the tests of writer, fold and export.
#pragma once
#include "script/journal/file/writer.h"
#include "tests/support/tap.h"

static const char sample_notebook[] = "-- %% [markdown]\n-- # Sample\n\n"
                                      "-- %% First id=\"one\"\nprint(1)\n\n"
                                      "-- %% Second id=\"two\"\nerror \"no\"\n\n"
                                      "-- %% Third id=\"three\"\nprint(3)\n";

static const char *const sample_events[] = {
    "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"queued\"}",
    "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"running\",\"count\":1}",
    "{\"type\":\"stream\",\"cell\":\"one\",\"name\":\"stdout\",\"text\":\"10%\\r\"}",
    "{\"type\":\"stream\",\"cell\":\"one\",\"name\":\"stdout\",\"text\":\"100%\\nd\u00e9j\u00e0 "
    "\"}",
    "{\"type\":\"stream\",\"cell\":\"one\",\"name\":\"stdout\",\"text\":\"vu\\n\"}",
    "{\"type\":\"stream\",\"cell\":\"one\",\"name\":\"stderr\",\"text\":\"warning\\n\"}",
    "{\"type\":\"display\",\"cell\":\"one\",\"id\":1,\"live\":true,\"data\":{\"text/"
    "plain\":\"none\","
    "\"application/"
    "vnd.firesteel.table+json\":{\"columns\":[\"NAME\",{\"name\":\"STATUS\"}],\"rows\":[]}}}",
    "{\"type\":\"update\",\"id\":1,\"rows\":[{\"uid\":\"a\",\"cells\":[\"pod-a\",\"Pending\"]},{"
    "\"uid\":\"b\",\"cells\":[\"pod-b\",\"Pending\"]}]}",
    "{\"type\":\"update\",\"id\":1,\"rows\":[{\"uid\":\"a\",\"cells\":[\"pod-a\",\"Running\"]},{"
    "\"uid\":\"b\",\"deleted\":true}]}",
    "{\"type\":\"ledger\",\"entry\":1,\"phase\":\"intent\",\"cell\":\"one\",\"source\":\"abc\","
    "\"ordinal\":1,\"binding\":\"k8s.create\","
    "\"effect\":\"cluster\",\"what\":\"create Pod a\",\"arguments\":\"def\"}",
    "{\"type\":\"ledger\",\"entry\":1,\"phase\":\"outcome\",\"result\":{\"uid\":\"u1\"}}",
    "{\"type\":\"display\",\"cell\":\"one\",\"id\":2,\"result\":true,\"data\":{\"text/"
    "plain\":\"42\"}}",
    "{\"type\":\"recorded\",\"cell\":\"one\",\"branch\":\"1\",\"kind\":\"child\",\"name\":"
    "\"trial\",\"value\":{\"state\":\"ok\"}}",
    "{\"type\":\"state\",\"cell\":\"one\",\"state\":\"ok\",\"ms\":3}",
    "{\"type\":\"state\",\"cell\":\"two\",\"state\":\"running\",\"count\":2}",
    "{\"type\":\"error\",\"cell\":\"two\",\"name\":\"error\",\"message\":\"no\",\"line\":1,"
    "\"traceback\":[\"in f\",\"in the cell\"]}",
    "{\"type\":\"state\",\"cell\":\"two\",\"state\":\"failed\",\"ms\":1}",
    "{\"type\":\"a-later-version-knows\",\"x\":1}",
    "{\"type\":\"state\",\"cell\":\"three\",\"state\":\"cancelled\"}",
    "{\"type\":\"update\",\"id\":1,\"closed\":true}",
    "{\"type\":\"end\",\"exit\":1,\"outcome\":\"failed\",\"ms\":5,\"ok\":1,\"failed\":1,"
    "\"cancelled\":1,\"left\":1}",
};

static void sample_append(journal *j, const char *text)
{
    err e = {0};
    cJSON *event = json_parse(text, strlen(text), &e);
    CHECK_OK(event, e);
    CHECK_OK(journal_append(j, event, NULL, &e), e);
    cJSON_Delete(event);
}

static cJSON *sample_first(const char *run)
{
    cJSON *first = cJSON_CreateObject();
    json_set_str(first, "type", "run");
    json_set_int(first, "format", JOURNAL_FORMAT);
    json_set_str(first, "run", run);
    json_set_str(first, "notebook", sample_notebook);
    json_set_str(first, "host", "here");
    json_set_int(json_object_at(first, "parameters"), "epochs", 3);
    return first;
}

// Writes the whole run below the case's folder; the caller owns the run's name.
static inline char *sample_write(void)
{
    err e = {0};
    journal *j = journal_create(&(struct journal_spec){.folder = tap_dir(), .name = "sample"}, &e);
    CHECK_OK(j, e);
    char *run = strdup(journal_run(j));
    cJSON *first = sample_first(run);
    CHECK_OK(journal_append(j, first, NULL, &e), e);
    cJSON_Delete(first);
    for (size_t i = 0; i < sizeof sample_events / sizeof *sample_events; i++)
        sample_append(j, sample_events[i]);
    journal_close(j);
    return run;
}
