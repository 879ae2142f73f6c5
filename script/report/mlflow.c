// SPDX-License-Identifier: MIT
#include "script/report/mlflow.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/text/utf8.h"
#include "script/report/export.h"
#include "script/report/page/page.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MOST = 250, PARAM_MOST = 6000, ID_DIGITS = 18, RUN_DIGITS = 32 };

struct mlflow {
    const fold *fold;
    const char *spool_dir;
    char *dir, *experiment_id, *run_id; // dir: absolute
    char *place;                        // DIR/EXPERIMENT/RUN
    char ***notes;
};

__attribute__((format(printf, 2, 3))) static void note(struct mlflow *m, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    *m->notes = strv_add(*m->notes, buf_cstr(&text));
}

// MLflow's names are parts of paths: letters and digits of any script, "_-. :/", and no part "." or
// ".." (mlflow/utils/validation.py). At most `most` bytes; new.
static char *name_of(const char *name, size_t most)
{
    buf out = {0};
    size_t n = strlen(name), len;
    for (const char *p = name; *p; p += len) {
        uint32_t c = utf8_decode(p, n - (size_t)(p - name), &len);
        bool start = p == name || p[-1] == '/';
        bool fine = point_is_alnum(c) || (c < 0x80 && strchr("_- :", *p)) ||
                    (*p == '.' && !start) || (*p == '/' && !start && p[1]);
        size_t bytes = fine ? len : 1;
        if (out.len + bytes > most)
            break;
        buf_add(&out, fine ? p : "_", bytes);
    }
    if (out.len && out.data[out.len - 1] == '/')
        out.data[out.len - 1] = '_'; // the mark of a cut
    return out.data ? buf_take(&out) : mem_strdup("_");
}

static bool is_fine(const char *name)
{
    AUTO_FREE char *safe = name_of(name, NAME_MOST);
    return str_eq(safe, name);
}

// The members, those first whose names stay as they are, so that none of these has to change for
// another. New.
static const cJSON **in_order(const cJSON *members, size_t *n)
{
    const cJSON **list = mem_array((size_t)cJSON_GetArraySize(members) + 1, sizeof *list), *item;
    *n = 0;
    for (int fine = 1; fine >= 0; fine--)
        cJSON_ArrayForEach(item, members) if (is_fine(item->string) == fine) list[(*n)++] = item;
    return list;
}

// A file name below m->place/folder that no other name has, new.
static char *file_of(struct mlflow *m, const char *folder, const char *name)
{
    enum { NUMBER = 8 };
    AUTO_FREE char *stem = name_of(name, NAME_MOST - NUMBER);
    char *safe = name_of(name, NAME_MOST), *path = str_fmt("%s/%s/%s", m->place, folder, safe);
    bool same = str_eq(safe, name);
    for (int i = 2; !same && path_exists(path); i++) {
        free(safe);
        free(path);
        safe = str_fmt("%s_%d", stem, i);
        path = str_fmt("%s/%s/%s", m->place, folder, safe);
    }
    if (!same)
        note(m, "%s: \"%s\" is called \"%s\" there", folder, name, safe);
    free(safe);
    return path;
}

// file:// and the path; characters that a URI must not have are percent-encoded.
static char *uri_of(const char *path)
{
    buf uri = {0};
    buf_str(&uri, "file://");
    for (const char *p = path; *p; p++)
        if (isalnum((unsigned char)*p) || strchr("/-_.~", *p))
            buf_char(&uri, *p);
        else
            buf_fmt(&uri, "%%%02X", (unsigned char)*p);
    return buf_take(&uri);
}

static int put(
    struct mlflow *m, const char *folder, const char *name, const char *text, size_t n, err *e)
{
    AUTO_FREE char *path = file_of(m, folder, name), *parent = path_dirname(path);
    return path_make_dirs(parent, 0777, e) < 0 ? -1 : path_write(path, text, n, 0644, e);
}

static int put_yaml(const char *folder, const cJSON *meta, err *e)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *path = path_join(folder, "meta.yaml");
    yaml_print(&text, meta);
    return path_make_dirs(folder, 0777, e) < 0
               ? -1
               : path_write(path, buf_cstr(&text), text.len, 0644, e);
}

// Text on one line, as MLflow's files demand.
static char *line_of(const cJSON *value)
{
    char *text = cJSON_IsString(value) ? mem_strdup(value->valuestring) : json_to_str(value);
    for (char *p = text; *p; p++)
        *p = *p == '\n' || *p == '\r' ? ' ' : *p;
    return text;
}

static int put_params(struct mlflow *m, const cJSON *params, err *e)
{
    size_t n_params;
    AUTO_FREE const cJSON **list = in_order(params, &n_params);
    for (size_t i = 0; i < n_params; i++) {
        const cJSON *p = list[i];
        AUTO_FREE char *text = line_of(p);
        size_t n = strlen(text), most = n;
        if (n > PARAM_MOST) {
            note(m, "the parameter %s is cut to %d bytes, MLflow's limit", p->string, PARAM_MOST);
            for (most = PARAM_MOST; (text[most] & 0xc0) == 0x80;)
                most--;
        }
        if (put(m, "params", p->string, text, most, e) < 0)
            return -1;
    }
    return 0;
}

static void metric_line(const cJSON *point, int64_t place, buf *out)
{
    const cJSON *value = json_get(point, "value");
    buf_fmt(out, "%" PRId64 " ", json_int_or(point, "wall", 0) / CLOCK_MS);
    double number;
    if (json_number(value, &number))
        buf_fmt(out, "%.17g", number);
    else
        buf_str(out, cJSON_GetStringValue(value));
    buf_fmt(out, " %" PRId64 "\n", json_int_or(point, "step", place));
}

static int put_metrics(struct mlflow *m, err *e)
{
    AUTO_JSON *history = fold_history(m->fold);
    const cJSON *p;
    size_t n;
    AUTO_FREE const cJSON **list = in_order(history, &n);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF text = {0};
        int64_t place = 0; // for a value without a step: after the others
        cJSON_ArrayForEach(p, list[i])
        {
            metric_line(p, place, &text);
            place = json_int_or(p, "step", place) + 1;
        }
        if (put(m, "metrics", list[i]->string, text.data, text.len, e) < 0)
            return -1;
    }
    return 0;
}

static int put_tag(struct mlflow *m, const char *name, const char *text, err *e)
{
    return text ? put(m, "tags", name, text, strlen(text), e) : 0;
}

static int put_tags(struct mlflow *m, const cJSON *tags, err *e)
{
    AUTO_JSON *record = page_record(m->fold), *origin = fold_origin(m->fold);
    const cJSON *t;
    size_t n;
    AUTO_FREE const cJSON **list = in_order(tags, &n);
    int result = put_tag(m, "mlflow.runName", fold_run(m->fold), e);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *text = line_of(list[i]);
        result = result < 0 ? -1 : put_tag(m, list[i]->string, text, e);
    }
    cJSON_ArrayForEach(t, record)
    {
        AUTO_FREE char *name = str_fmt("firesteel.%s", t->string);
        result = result < 0 ? -1 : put_tag(m, name, t->valuestring, e);
    }
    if (result == 0)
        result = put_tag(m, "mlflow.source.git.commit", json_path_str(origin, "git.commit"), e);
    if (result == 0)
        result = put_tag(m, "mlflow.source.name", json_str(fold_first(m->fold), "path"), e);
    return result < 0 ? -1 : put_tag(m, "mlflow.source.type", "NOTEBOOK", e);
}

static int copy_file(const char *from, const char *to, err *e)
{
    AUTO_FD in = open(from, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *folder = path_dirname(to);
    if (in < 0)
        return err_errno(e, errno, "%s", from);
    if (path_make_dirs(folder, 0777, e) < 0)
        return -1;
    AUTO_FD out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out < 0)
        return err_errno(e, errno, "%s", to);
    for (;;) {
        char bytes[1 << 16];
        ssize_t n = read(in, bytes, sizeof bytes);
        if (n < 0 && errno != EINTR)
            return err_errno(e, errno, "%s", from);
        if (n == 0)
            return 0;
        if (n > 0 && fd_write_all(out, bytes, (size_t)n, e) < 0)
            return err_wrap(e, "%s", to);
    }
}

// Copies an artifact. A file that has changed since a cell recorded it is left out, with a note.
static int put_artifact(struct mlflow *m, const cJSON *a, err *e)
{
    char hex[SHA256_HEX];
    const char *path = json_str_or(a, "path", ""), *cwd = json_str(fold_first(m->fold), "cwd");
    AUTO_FREE char *from = path_join(cwd, path);
    err why = {0};
    if (sha256_file(from, hex, &why) < 0) {
        note(m, "the artifact %s is not there any more: %s", a->string, why.text);
        return 0;
    }
    if (!str_eq(hex, json_str(a, "sha256"))) {
        note(m, "the artifact %s is left out: %s has changed since", a->string, from);
        return 0;
    }
    AUTO_FREE char *to = file_of(m, "artifacts", a->string);
    return copy_file(from, to, e);
}

static int put_artifacts(struct mlflow *m, const cJSON *artifacts, err *e)
{
    size_t n;
    AUTO_FREE const cJSON **list = in_order(artifacts, &n);
    AUTO_BUF page = {0}, text = {0};
    AUTO_FREE char *folder = path_join(m->place, "artifacts");
    if (path_make_dirs(folder, 0777, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (put_artifact(m, list[i], e) < 0)
            return -1;
    if (export_run(m->fold, m->spool_dir, EXPORT_HTML, 0, &page, e) < 0)
        return -1;
    notebook_print(fold_notebook(m->fold), &text);
    if (put(m, "artifacts", "report.html", buf_cstr(&page), page.len, e) < 0)
        return -1;
    return put(m, "artifacts", "notebook.lua", buf_cstr(&text), text.len, e);
}

// As mlflow.entities.RunStatus has them.
static int status_of(enum run_state state)
{
    enum { RUNNING = 1, FINISHED = 3, FAILED = 4, KILLED = 5 };
    return state == RUN_OK                                                           ? FINISHED
           : state == RUN_RUNNING                                                    ? RUNNING
           : state == RUN_KILLED || state == RUN_INTERRUPTED || state == RUN_STOPPED ? KILLED
                                                                                     : FAILED;
}

static int put_run(const struct mlflow *m, err *e)
{
    AUTO_JSON *meta = cJSON_CreateObject();
    AUTO_FREE char *folder = path_join(m->place, "artifacts"), *uri = uri_of(folder);
    bool runs = fold_state(m->fold) == RUN_RUNNING;
    json_set_str(meta, "artifact_uri", uri);
    json_set(
        meta, "end_time", runs ? cJSON_CreateNull() : json_new_int(fold_last(m->fold) / CLOCK_MS));
    json_set_str(meta, "entry_point_name", "");
    json_set_str(meta, "experiment_id", m->experiment_id);
    json_set_str(meta, "lifecycle_stage", "active");
    json_set_str(meta, "run_id", m->run_id);
    json_set_str(meta, "run_uuid", m->run_id);
    json_set_str(meta, "run_name", fold_run(m->fold));
    json_set_str(meta, "source_name", "");
    json_set_int(meta, "source_type", 4);
    json_set_str(meta, "source_version", "");
    json_set_int(meta, "start_time", fold_started(m->fold) / CLOCK_MS);
    json_set_int(meta, "status", status_of(fold_state(m->fold)));
    json_array_at(meta, "tags");
    json_set_str(meta, "user_id", json_str_or(fold_first(m->fold), "user", "unknown"));
    return put_yaml(m->place, meta, e);
}

static int put_experiment(const struct mlflow *m, const char *name, err *e)
{
    AUTO_JSON *meta = cJSON_CreateObject();
    AUTO_FREE char *folder = path_join(m->dir, m->experiment_id), *uri = uri_of(folder);
    AUTO_FREE char *file = path_join(folder, "meta.yaml");
    if (path_exists(file))
        return 0;
    json_set_str(meta, "artifact_location", uri);
    json_set_int(meta, "creation_time", clock_wall() / CLOCK_MS);
    json_set_str(meta, "experiment_id", m->experiment_id);
    json_set_int(meta, "last_update_time", clock_wall() / CLOCK_MS);
    json_set_str(meta, "lifecycle_stage", "active");
    json_set_str(meta, "name", name);
    return put_yaml(folder, meta, e);
}

// A number computed from the name: digits only, as MLflow's are. New.
static char *experiment_of(const char *name)
{
    char hex[SHA256_HEX];
    sha256_hex(name, strlen(name), hex);
    hex[15] = '\0';
    return str_fmt(
        "%0*" PRIu64, ID_DIGITS, (uint64_t)strtoull(hex, NULL, 16) % 1000000000000000000);
}

static char *run_id_of(const fold *f)
{
    char hex[SHA256_HEX];
    AUTO_FREE char *all = str_fmt("%s\n%s\n%" PRId64, fold_run(f) ? fold_run(f) : "",
        json_str_or(fold_first(f), "host", ""), fold_started(f));
    sha256_hex(all, strlen(all), hex);
    return mem_strndup(hex, RUN_DIGITS);
}

static char *notebook_name(const fold *f)
{
    char *name = path_basename(json_str_or(fold_first(f), "path", "notebook"));
    char *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    return name;
}

// Writes the run's own meta.yaml last: until then MLflow does not see the run.
static int write_all(struct mlflow *m, const char *experiment, err *e)
{
    AUTO_JSON *results = fold_results(m->fold);
    if (path_make_dirs(m->place, 0777, e) < 0 || path_remove(m->place, e) < 0 ||
        put_experiment(m, experiment, e) < 0 || put_params(m, json_get(results, "params"), e) < 0 ||
        put_metrics(m, e) < 0 || put_tags(m, json_get(results, "tags"), e) < 0 ||
        put_artifacts(m, json_get(results, "artifacts"), e) < 0)
        return -1;
    return put_run(m, e);
}

// Makes the store, but no folder above it: a mistyped path should be an error.
static int make_store(const char *dir, err *e)
{
    AUTO_FREE char *above = path_dirname(dir);
    if (!path_is_dir(above))
        return err_set(e, ERR_NOT_FOUND,
            "cannot make the store %s: the folder %s is not there; make it, or name another", dir,
            above);
    return path_make_dirs(dir, 0777, e);
}

int mlflow_write(const fold *f, const char *spool_dir, const char *dir, const char *experiment,
    char **place, char ***notes, err *e)
{
    struct mlflow m = {.fold = f, .spool_dir = spool_dir, .notes = notes};
    AUTO_FREE char *own = notebook_name(f);
    const char *name = experiment ? experiment : own;
    int result = make_store(dir, e);
    m.dir = result == 0 ? path_absolute(dir, e) : NULL;
    if (!m.dir)
        return -1;
    m.experiment_id = experiment_of(name);
    m.run_id = run_id_of(f);
    m.place = str_fmt("%s/%s/%s", m.dir, m.experiment_id, m.run_id);
    result = write_all(&m, name, e);
    *place = m.place;
    free(m.dir);
    free(m.experiment_id);
    free(m.run_id);
    return result;
}
