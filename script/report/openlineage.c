// SPDX-License-Identifier: MIT
#include "script/report/openlineage.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/lineage.h"

#include <stdio.h>
#include <string.h>

#define PRODUCER "urn:firesteel:" FIRESTEEL_VERSION
#define FACETS   "https://openlineage.io/spec/facets/"
#define EVENT    "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
// Our own facets, besides the standard ones, use the general schema of facets.
#define OWN_RUN "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"

enum { UUID_SIZE = 37 };

// The same run has the same id each time: a UUID version 8 (RFC 9562) from the digest of its name.
static void uuid_of(const char *run, char out[UUID_SIZE])
{
    char hex[SHA256_HEX];
    sha256_hex(run, strlen(run), hex);
    hex[12] = '8';
    hex[16] = "89ab"[hex[16] % 4];
    snprintf(
        out, UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static cJSON *add_facet(cJSON *facets, const char *name, const char *schema)
{
    cJSON *facet = json_object_at(facets, name);
    json_set_str(facet, "_producer", PRODUCER);
    json_set_str(facet, "_schemaURL", schema);
    return facet;
}

static void copy(cJSON *to, const char *name, const cJSON *value)
{
    if (value)
        json_set(to, name, cJSON_Duplicate(value, true));
}

static void add_engine(cJSON *facets, const cJSON *lineage)
{
    cJSON *engine = add_facet(facets, "processing_engine",
        FACETS "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet");
    const cJSON *versions = json_get(lineage, "versions");
    json_set_str(engine, "version", json_str_or(versions, "firesteel", FIRESTEEL_VERSION));
    json_set_str(engine, "name", "firesteel");
}

static void add_own(cJSON *facets, const cJSON *lineage)
{
    static const char *const told[] = {"run", "state", "source", "command", "git", "seed",
        "parameters", "versions", "cells", "from"};
    cJSON *own = add_facet(facets, "firesteel_run", OWN_RUN);
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        copy(own, told[i], json_get(lineage, told[i]));
}

static void add_error(cJSON *facets, const fold *f)
{
    const char *said = fold_message(f) ? fold_message(f)
                       : fold_error(f) ? fold_error(f)->text
                                       : NULL;
    if (!said)
        return;
    cJSON *error = add_facet(facets, "errorMessage",
        FACETS "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet");
    json_set_str(error, "message", said);
    json_set_str(error, "programmingLanguage", "Lua");
}

static cJSON *new_run(const fold *f, const cJSON *lineage, bool ended)
{
    char uuid[UUID_SIZE];
    cJSON *run = cJSON_CreateObject(), *facets = json_object_at(run, "facets");
    uuid_of(fold_run(f) ? fold_run(f) : "", uuid);
    json_set_str(run, "runId", uuid);
    add_engine(facets, lineage);
    add_own(facets, lineage);
    if (ended && fold_state(f) != RUN_OK)
        add_error(facets, f);
    return run;
}

static cJSON *new_job(const fold *f, const cJSON *lineage)
{
    const char *source = json_str(fold_first(f), "notebook");
    cJSON *job = cJSON_CreateObject(), *facets = json_object_at(job, "facets");
    AUTO_FREE char *namespace_ =
        str_fmt("firesteel://%s", json_str_or(fold_first(f), "host", "localhost"));
    json_set_str(job, "namespace", namespace_);
    json_set_str(
        job, "name", json_str_or(lineage, "path", json_str_or(lineage, "notebook", "notebook")));
    cJSON *type =
        add_facet(facets, "jobType", FACETS "2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet");
    json_set_str(type, "processingType", "BATCH");
    json_set_str(type, "integration", "FIRESTEEL");
    json_set_str(type, "jobType", "NOTEBOOK");
    if (source) {
        cJSON *code = add_facet(
            facets, "sourceCode", FACETS "1-0-1/SourceCodeJobFacet.json#/$defs/SourceCodeJobFacet");
        json_set_str(code, "language", "lua");
        json_set_str(code, "sourceCode", source);
    }
    return job;
}

// Names datasets as Naming.md says: files by path; images and objects by where they are.
static void name_thing(cJSON *dataset, const cJSON *thing, const char *cwd)
{
    const char *kind = json_str_or(thing, "kind", ""), *name = json_str_or(thing, "name", "?");
    bool file = str_eq(kind, "file");
    AUTO_FREE char *path = file && *name != '/' ? str_fmt("%s/%s", cwd, name) : mem_strdup(name);
    AUTO_FREE char *object = str_fmt("%s/%s", json_str_or(thing, "namespace", "default"), name);
    json_set_str(dataset, "namespace",
        file                    ? "file"
        : str_eq(kind, "image") ? "oci"
                                : "kubernetes");
    json_set_str(dataset, "name", str_eq(kind, "object") ? object : path);
}

static cJSON *new_datasets(const cJSON *things, const char *cwd)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *thing;
    cJSON_ArrayForEach(thing, things)
    {
        cJSON *dataset = cJSON_CreateObject();
        name_thing(dataset, thing, cwd);
        cJSON *version = add_facet(json_object_at(dataset, "facets"), "version",
            FACETS "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet");
        json_set_str(version, "datasetVersion", json_str(thing, "key"));
        cJSON_AddItemToArray(list, dataset);
    }
    return list;
}

static void put_event(
    const fold *f, const cJSON *lineage, const char *type, int64_t wall, bool ended, buf *out)
{
    AUTO_JSON *event = cJSON_CreateObject();
    AUTO_JSON *none = cJSON_CreateArray();
    AUTO_BUF when = {0};
    const char *cwd = json_str_or(fold_first(f), "cwd", "");
    clock_rfc3339(&when, wall, CLOCK_MICROS);
    json_set_str(event, "eventTime", buf_cstr(&when));
    json_set_str(event, "eventType", type);
    json_set_str(event, "producer", PRODUCER);
    json_set_str(event, "schemaURL", EVENT);
    json_set(event, "run", new_run(f, lineage, ended));
    json_set(event, "job", new_job(f, lineage));
    json_set(event, "inputs", new_datasets(json_get(lineage, "used"), cwd));
    json_set(event, "outputs", new_datasets(ended ? json_get(lineage, "made") : none, cwd));
    json_print(out, event);
    buf_char(out, '\n');
}

void openlineage_write(const fold *f, buf *out)
{
    AUTO_JSON *lineage = lineage_of(f);
    enum run_state state = fold_state(f);
    put_event(f, lineage, "START", fold_started(f), false, out);
    if (state == RUN_RUNNING)
        return;
    bool aborted = state == RUN_INTERRUPTED || state == RUN_STOPPED || state == RUN_KILLED;
    put_event(f, lineage,
        state == RUN_OK ? "COMPLETE"
        : aborted       ? "ABORT"
                        : "FAIL",
        fold_last(f), true, out);
}
