// SPDX-License-Identifier: MIT
#include "script/report/junit.h"

#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/text.h"
#include "script/report/page/page.h"

#include <string.h>

struct junit {
    const fold *fold;
    const notebook *nb;
    const char *spool_dir;
    char *file, *class;
    bool numbered;   // do line numbers refer to the notebook's file?
    int shift;       // number of lines that given parameters added, which the file does not have
    size_t injected; // the cell with these parameters, if there is one
    long broken;     // the cell that is reported for the end of the run although it did not fail;
                     // -1: none
    hashmap *names;  // how often each name was used
};

// U+FFFE or U+FFFF in UTF-8, which are no characters.
static bool is_none(const char *s)
{
    return str_starts(s, "\xef\xbf\xbe") || str_starts(s, "\xef\xbf\xbf");
}

// Text and attribute values. XML 1.0 allows no other control characters, nor the two noncharacters.
static void escaped(const char *s, buf *out)
{
    for (; *s; s++) {
        if (is_none(s)) {
            buf_str(out, UTF8_REPLACEMENT);
            s += 2;
            continue;
        }
        switch (*s) {
        case '&':
            buf_str(out, "&amp;");
            break;
        case '<':
            buf_str(out, "&lt;");
            break;
        case '>':
            buf_str(out, "&gt;");
            break;
        case '"':
            buf_str(out, "&quot;");
            break;
        default:
            if ((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t')
                buf_char(out, *s);
        }
    }
}

static void attribute(buf *out, const char *name, const char *value)
{
    buf_fmt(out, " %s=\"", name);
    escaped(value ? value : "", out);
    buf_char(out, '"');
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static const struct output *error_of(const struct run_cell *c)
{
    for (size_t i = c ? c->n_outputs : 0; i-- > 0;)
        if (c->outputs[i].kind == OUTPUT_ERROR)
            return &c->outputs[i];
    return NULL;
}

static const struct run_cell *run_of(const struct junit *j, size_t i)
{
    return fold_cell_by_id(j->fold, notebook_cell(j->nb, i)->id, NULL);
}

static bool is_case(const struct junit *j, size_t i)
{
    return notebook_counts(j->nb, i);
}

// The result of a cell. A refusal, and a reason outside of the cells that ended the run, are
// errors: the test could not be made.
enum verdict { PASSED, FAILED, ERROR, SKIPPED };

static enum verdict verdict_of(const struct junit *j, size_t i)
{
    const struct run_cell *c = run_of(j, i);
    const struct output *error = error_of(c);
    if ((long)i == j->broken)
        return ERROR;
    if (c && c->state == STATE_FAILED)
        return error && str_eq(error->name, "refused") ? ERROR : FAILED;
    return c && c->state == STATE_OK ? PASSED : SKIPPED;
}

// Equal names get numbers, in the order of the cells.
static void print_name(struct junit *j, size_t i, buf *out)
{
    AUTO_FREE char *name = notebook_cell_title(j->nb, i);
    AUTO_FREE char *unique = mem_strdup(name);
    size_t used = 0;
    hashmap_get(j->names, name, strlen(name), &used);
    for (size_t taken; hashmap_get(j->names, unique, strlen(unique), &taken);) {
        free(unique);
        unique = str_fmt("%s (%zu)", name, ++used);
    }
    hashmap_set(j->names, name, strlen(name), used ? used : 1);
    hashmap_set(j->names, unique, strlen(unique), used ? used : 1);
    attribute(out, "name", unique);
}

// The line to look at: the line that failed, else the cell's own.
static void print_place(const struct junit *j, size_t i, buf *out)
{
    const cell *c = notebook_cell(j->nb, i);
    const struct output *error = error_of(run_of(j, i));
    int64_t line = error ? json_int_or(error->data, "line", 0) : 0;
    attribute(out, "file", j->file);
    if (!j->numbered || !c->line)
        return;
    int64_t at = line ? c->first_line + line - 1 : c->line;
    buf_fmt(out, " line=\"%lld\"", (long long)(i > j->injected ? at - j->shift : at));
}

static const char *end_message(const fold *f)
{
    const char *said = fold_message(f) ? fold_message(f)
                       : fold_error(f) ? fold_error(f)->text
                                       : NULL;
    return said                               ? said
           : fold_state(f) == RUN_KILLED      ? "the run was killed: its journal has no end"
           : fold_state(f) == RUN_RUNNING     ? "the run goes on"
           : fold_state(f) == RUN_INTERRUPTED ? "interrupted"
                                              : run_state_name(fold_state(f));
}

// The tag that leaves a cell out when all run; NULL: none.
static const char *skip_tag(const cell *c)
{
    return cell_has_tag(c, "skip-execution") ? "skip-execution"
           : cell_has_tag(c, "skip")         ? "skip"
                                             : NULL;
}

static void print_verdict(const struct junit *j, size_t i, enum verdict v, buf *out)
{
    const struct output *error = error_of(run_of(j, i));
    const char *tag = v == FAILED ? "failure" : "error";
    AUTO_BUF text = {0};
    if (error)
        output_text(error, j->spool_dir, 0, &text, NULL);
    if (v == SKIPPED) {
        const cell *skipped = notebook_cell(j->nb, i);
        const char *when = page_left_out(j->fold, skipped->id), *tag_of = skip_tag(skipped);
        AUTO_FREE char *why = when     ? str_fmt("not run: when=\"%s\"", when)
                              : tag_of ? str_fmt("not run: tags=[\"%s\"]", tag_of)
                                       : str_fmt("not run: %s", end_message(j->fold));
        bool nothing = !when && !tag_of && fold_state(j->fold) == RUN_OK;
        buf_str(out, "      <skipped");
        attribute(out, "message", nothing ? "nothing to run" : why);
        buf_str(out, "/>\n");
    } else if (v != PASSED) {
        buf_fmt(out, "      <%s", tag);
        attribute(out, "message", error ? error->text : end_message(j->fold));
        attribute(out, "type", error ? error->name : run_state_name(fold_state(j->fold)));
        buf_char(out, '>');
        escaped(text.len ? buf_cstr(&text) : end_message(j->fold), out);
        buf_fmt(out, "</%s>\n", tag);
    }
}

// What the cell printed: to standard error, or everything else.
static void print_outputs(const struct junit *j, size_t i, bool err_stream, buf *out)
{
    const struct run_cell *c = run_of(j, i);
    const char *tag = err_stream ? "system-err" : "system-out";
    AUTO_BUF text = {0};
    for (size_t k = 0; c && k < c->n_outputs; k++) {
        const struct output *o = &c->outputs[k];
        bool is_err = o->kind == OUTPUT_STREAM && str_eq(o->name, "stderr");
        if (o->kind != OUTPUT_ERROR && is_err == err_stream)
            output_text(o, j->spool_dir, 0, &text, NULL);
    }
    if (!text.len)
        return;
    buf_fmt(out, "      <%s>", tag);
    escaped(text.data, out);
    buf_fmt(out, "</%s>\n", tag);
}

static void print_case(struct junit *j, size_t i, buf *out)
{
    const struct run_cell *c = run_of(j, i);
    bool ran = c && c->ended && c->started;
    buf_str(out, "    <testcase");
    print_name(j, i, out);
    attribute(out, "classname", j->class);
    buf_fmt(out, " time=\"%.3f\"", ran ? seconds(c->mono_end - c->mono_start) : 0.0);
    print_place(j, i, out);
    buf_str(out, ">\n");
    print_verdict(j, i, verdict_of(j, i), out);
    print_outputs(j, i, false, out);
    print_outputs(j, i, true, out);
    buf_str(out, "    </testcase>\n");
}

static void property(buf *out, const char *prefix, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    AUTO_FREE char *whole = str_fmt("%s%s", prefix, name);
    buf_str(out, "      <property");
    attribute(out, "name", whole);
    attribute(out, "value", value);
    buf_str(out, "/>\n");
}

static void properties(buf *out, const char *prefix, const cJSON *object)
{
    for (const cJSON *p = object ? object->child : NULL; p; p = p->next) {
        AUTO_FREE char *value = cJSON_IsString(p) ? mem_strdup(p->valuestring) : json_to_str(p);
        property(out, prefix, p->string, value);
    }
}

// Parameters, also those that cells recorded; the last value of each metric; and tags: a dashboard
// can draw metrics and filter by the rest.
static void print_recorded(const fold *f, buf *out)
{
    AUTO_JSON *results = fold_results(f), *last = cJSON_CreateObject();
    const cJSON *m;
    properties(out, "parameter.", json_get(results, "params"));
    cJSON_ArrayForEach(m, json_get(results, "metrics"))
        json_set(last, m->string, cJSON_Duplicate(json_get(m, "value"), true));
    properties(out, "metric.", last);
    properties(out, "tag.", json_get(results, "tags"));
}

static void print_properties(const struct junit *j, buf *out)
{
    const cJSON *first = fold_first(j->fold), *cluster = fold_cluster(j->fold);
    buf_str(out, "    <properties>\n");
    property(out, "", "run", fold_run(j->fold));
    property(out, "", "outcome", run_state_name(fold_state(j->fold)));
    property(out, "", "context", json_str(cluster, "context"));
    property(out, "", "namespace", json_str(cluster, "namespace"));
    properties(out, "version.", json_get(first, "versions"));
    print_recorded(j->fold, out);
    buf_str(out, "    </properties>\n");
}

static void print_counts(const struct junit *j, buf *out)
{
    size_t n[4] = {0}, all = 0;
    for (size_t i = 0; i < notebook_count(j->nb); i++)
        if (is_case(j, i))
            n[verdict_of(j, i)]++, all++;
    attribute(out, "name", j->file);
    buf_fmt(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\"",
        all, n[FAILED], n[ERROR], n[SKIPPED], seconds(fold_duration(j->fold)));
}

// The run ended badly, and no cell failed: finds the cell that the run had reached.
static long find_broken(const struct junit *j)
{
    const cJSON *named = fold_error(j->fold) ? json_get(fold_error(j->fold)->data, "at") : NULL;
    long first = -1;
    for (size_t i = 0; i < notebook_count(j->nb); i++) {
        const struct run_cell *c = run_of(j, i);
        if (!is_case(j, i))
            continue;
        if (cJSON_IsString(named) && str_eq(named->valuestring, notebook_cell(j->nb, i)->id))
            return (long)i;
        if (c && c->state == STATE_FAILED)
            return -1;
        if (first < 0 && (!c || c->state != STATE_OK))
            first = (long)i;
    }
    return fold_state(j->fold) == RUN_OK ? -1 : first;
}

static void find_injected(struct junit *j)
{
    const cJSON *given = json_get(fold_last_start(j->fold), "given");
    j->injected = notebook_count(j->nb);
    for (size_t i = 0; given && given->child && i + 1 < notebook_count(j->nb); i++) {
        if (!cell_has_tag(notebook_cell(j->nb, i), "injected-parameters"))
            continue;
        j->injected = i;
        j->shift = notebook_cell(j->nb, i + 1)->line - notebook_cell(j->nb, i)->line;
    }
}

// As seen from the working folder.
static void name_file(struct junit *j)
{
    const char *path = json_str_or(fold_first(j->fold), "path", "notebook");
    const char *cwd = json_str_or(fold_first(j->fold), "cwd", "");
    size_t n = strlen(cwd);
    bool below = n && str_starts(path, cwd) && path[n] == '/';
    j->file = below ? mem_strdup(path + n + 1) : path_basename(path);
    j->class = mem_strdup(j->file);
    j->numbered = !str_ends(path, ".ipynb");
    char *dot = strrchr(j->class, '.');
    if (dot && dot != j->class)
        *dot = '\0';
}

static void print_suite(struct junit *j, buf *out)
{
    AUTO_BUF when = {0};
    clock_rfc3339(&when, fold_started(j->fold), CLOCK_SECONDS);
    buf_str(out, "  <testsuite");
    print_counts(j, out);
    // XML Schema's JUnit wants UTC without its Z.
    buf_fmt(out, " timestamp=\"%.19s\"", buf_cstr(&when));
    attribute(out, "hostname", json_str_or(fold_first(j->fold), "host", "localhost"));
    buf_str(out, " id=\"0\" package=\"firesteel\">\n");
    print_properties(j, out);
    for (size_t i = 0; i < notebook_count(j->nb); i++)
        if (is_case(j, i))
            print_case(j, i, out);
    buf_str(out, "    <system-out></system-out>\n    <system-err>");
    escaped(fold_state(j->fold) == RUN_OK ? "" : end_message(j->fold), out);
    buf_str(out, "</system-err>\n  </testsuite>\n");
}

void junit_print(const fold *f, const char *spool_dir, buf *out)
{
    struct junit j = {
        .fold = f, .nb = fold_notebook(f), .spool_dir = spool_dir, .names = hashmap_new()};
    name_file(&j);
    find_injected(&j);
    j.broken = find_broken(&j);
    buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    print_counts(&j, out);
    buf_str(out, ">\n");
    print_suite(&j, out);
    buf_str(out, "</testsuites>\n");
    hashmap_free(j.names);
    free(j.file);
    free(j.class);
}
