// SPDX-License-Identifier: MIT
#include "script/api/spark/command.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"

#include <string.h>
#include <unistd.h>

enum { DEFAULTS_MAX = 1 << 20 };

static char *program_in(const char *folder)
{
    AUTO_FREE char *program = path_join(folder, "spark-submit");
    return !path_is_dir(program) && access(program, X_OK) == 0 ? STEAL(program) : NULL;
}

static char *below(const char *folder, const char *more)
{
    AUTO_FREE char *bin = folder && *folder ? path_join(folder, more) : NULL;
    return bin ? program_in(bin) : NULL;
}

static char *in_path(const char *path)
{
    char **folders = strv_split(path ? path : "", ':'), *found = NULL;
    for (char **f = folders; *f && !found; f++)
        found = **f ? program_in(*f) : NULL;
    strv_free(folders);
    return found;
}

// $SPARK_HOME, the venv that is active, one beside the program or the notebook, PATH.
char *spark_program(call *c, err *e)
{
    const char *const *env = call_env(c);
    const char *home = env_get(env, "SPARK_HOME");
    char *found = below(home, "bin");
    if (home && *home && !found) {
        err_set(e, ERR_NOT_FOUND, "SPARK_HOME is %s, but there is no bin/spark-submit", home);
        return NULL;
    }
    const struct {
        const char *folder, *more;
    } venvs[] = {{env_get(env, "VIRTUAL_ENV"), "bin"}, {call_cwd(c), ".venv/bin"},
        {call_cwd(c), "venv/bin"}, {call_paths(c)->notebook_dir, ".venv/bin"},
        {call_paths(c)->notebook_dir, "venv/bin"}};
    for (size_t i = 0; !found && i < ARRAY_LEN(venvs); i++)
        found = below(venvs[i].folder, venvs[i].more);
    if (!found)
        found = in_path(env_get(env, "PATH"));
    if (!found)
        err_set(e, ERR_NOT_FOUND,
            "there is no spark-submit: neither $SPARK_HOME/bin nor a virtual environment (.venv "
            "beside the notebook) nor PATH has it; `pip install pyspark` brings it");
    return found;
}

static char **set_default(char **env, const char *name, const char *value)
{
    return env_get((const char *const *)env, name) ? env : env_set(env, name, value);
}

// In a virtual environment its Python runs the program, as if the environment were active. On other
// machines there is no such path: spark-submit would hand it on to them.
static char **use_venv(char **env, const char *program, bool elsewhere, bool pod)
{
    AUTO_FREE char *bin = path_dirname(program);
    AUTO_FREE char *mark = path_join(bin, "../pyvenv.cfg");
    AUTO_FREE char *python = path_join(bin, "python3");
    const char *path = env_get((const char *const *)env, "PATH");
    if (!path_exists(mark))
        return env;
    AUTO_FREE char *first = str_fmt("%s%s%s", bin, path ? ":" : "", path ? path : "");
    env = env_set(env, "PATH", first);
    if (pod)
        return env;
    return set_default(env, elsewhere ? "PYSPARK_DRIVER_PYTHON" : "PYSPARK_PYTHON", python);
}

static const char *text_of(const cJSON *v, char **owned)
{
    free(*owned);
    *owned = cJSON_IsString(v) ? NULL : json_to_str(v);
    return cJSON_IsString(v) ? v->valuestring : *owned;
}

char **spark_use_venv(char **env, const char *program)
{
    return use_venv(env, program, false, false);
}

// `env` of the cell: for spark-submit and what it starts, and through settings for processes on
// other machines.
static char **given_env(char **env, const cJSON *given, cJSON *conf, bool elsewhere, bool pod)
{
    AUTO_FREE char *owned = NULL;
    const cJSON *v;
    cJSON_ArrayForEach(v, given)
    {
        const char *value = text_of(v, &owned);
        AUTO_FREE char *executor = str_fmt("spark.executorEnv.%s", v->string);
        AUTO_FREE char *driver = str_fmt("spark.kubernetes.driverEnv.%s", v->string);
        env = env_set(env, v->string, value);
        if (elsewhere && !json_get(conf, executor))
            json_set_str(conf, executor, value);
        if (pod && !json_get(conf, driver))
            json_set_str(conf, driver, value);
    }
    return env;
}

static char **environment(
    call *c, const cJSON *args, cJSON *conf, bool elsewhere, bool pod, const char *program)
{
    const struct call_cluster *cluster = call_cluster(c);
    char **env = use_venv(strv_dup(call_env(c)), program, elsewhere, pod);
    if (elsewhere) // the gate was passed: the kubeconfig is the real one
        env = env_set(env, "KUBECONFIG", cluster ? cluster->kubeconfig : NULL);
    return given_env(env, json_get(args, "env"), conf, elsewhere, pod);
}

static bool holds_secret(call *c, const cJSON *texts)
{
    const cJSON *t;
    cJSON_ArrayForEach(t, texts)
    {
        if (cJSON_IsString(t) && call_is_secret(c, t->valuestring))
            return true;
    }
    return false;
}

// A name or value of java.util.Properties.
static void add_property(buf *out, const char *text, bool is_name)
{
    for (const char *s = text; *s; s++) {
        if (*s == '\n' || *s == '\r') {
            buf_str(out, *s == '\n' ? "\\n" : "\\r");
            continue;
        }
        if (*s == '\\' || (is_name && strchr(" :=#!", *s)) || (s == text && *s == ' '))
            buf_char(out, '\\');
        buf_char(out, *s);
    }
}

void spark_defaults(const char *const *env, buf *out)
{
    const char *conf = env_get(env, "SPARK_CONF_DIR"), *home = env_get(env, "SPARK_HOME");
    AUTO_FREE char *folder = conf ? mem_strdup(conf) : home ? path_join(home, "conf") : NULL;
    AUTO_FREE char *file = folder ? path_join(folder, "spark-defaults.conf") : NULL;
    if (file && path_exists(file) && path_read(file, out, DEFAULTS_MAX, NULL) == 0)
        buf_char(out, '\n');
}

static int write_settings(call *c, struct spark_command *s, const cJSON *conf, err *e)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *owned = NULL;
    const cJSON *v;
    // The file of defaults is not read when there is another one: so it comes first in ours.
    spark_defaults((const char *const *)s->env, &text);
    cJSON_ArrayForEach(v, conf)
    {
        add_property(&text, v->string, true);
        buf_char(&text, '=');
        add_property(&text, text_of(v, &owned), false);
        buf_char(&text, '\n');
    }
    s->folder = call_temp(c, "spark", env_get((const char *const *)s->env, "TMPDIR"), e);
    if (!s->folder)
        return -1;
    AUTO_FREE char *file = path_join(s->folder, "spark.conf");
    if (path_write(file, text.data, text.len, 0600, e) < 0)
        return -1;
    s->words = strv_add(s->words, "--properties-file");
    s->words = strv_add(s->words, file);
    return 0;
}

static int add_settings(
    call *c, struct spark_command *s, const cJSON *args, const cJSON *conf, err *e)
{
    AUTO_FREE char *owned = NULL;
    const cJSON *v, *word;
    bool file = false;
    cJSON_ArrayForEach(word, json_get(args, "options"))
    {
        file |= cJSON_IsString(word) && str_eq(word->valuestring, "--properties-file");
    }
    if (holds_secret(c, conf)) {
        if (file)
            return err_set(e, ERR_USAGE,
                "spark.submit: a setting holds a secret, which then "
                "belongs into the properties_file");
        return write_settings(c, s, conf, e);
    }
    cJSON_ArrayForEach(v, conf)
    {
        AUTO_FREE char *word_of = str_fmt("%s=%s", v->string, text_of(v, &owned));
        s->words = strv_add(s->words, "--conf");
        s->words = strv_add(s->words, word_of);
    }
    return 0;
}

static void add_words(struct spark_command *s, const cJSON *words)
{
    AUTO_FREE char *owned = NULL;
    const cJSON *w;
    cJSON_ArrayForEach(w, words)
    {
        s->words = strv_add(s->words, text_of(w, &owned));
    }
}

bool spark_is_here(const char *app)
{
    return !strstr(app, ":/");
}

static int check_words(call *c, const cJSON *args, err *e)
{
    const char *app = json_str_or(args, "app", "");
    AUTO_FREE char *path = path_join(call_cwd(c), app);
    if (spark_is_here(app) && !path_exists(path))
        return err_set(
            e, ERR_NOT_FOUND, "spark.submit: there is no file %s in the working folder", app);
    if (holds_secret(c, json_get(args, "args")) || holds_secret(c, json_get(args, "options")))
        return err_set(e, ERR_USAGE,
            "spark.submit: an argument holds a secret, which everybody "
            "could read in the list of processes: give it in env");
    return 0;
}

int spark_command(call *c, const cJSON *args, const char *master, cJSON *conf, bool elsewhere,
    bool driver_pod, struct spark_command *out, err *e)
{
    *out = (struct spark_command){0};
    if (check_words(c, args, e) < 0 || !(out->program = spark_program(c, e)))
        return -1;
    out->env = environment(c, args, conf, elsewhere, driver_pod, out->program);
    out->words = strv_add(mem_array(1, sizeof *out->words), out->program);
    out->words = strv_add(out->words, "--master");
    out->words = strv_add(out->words, master);
    add_words(out, json_get(args, "options"));
    if (add_settings(c, out, args, conf, e) < 0)
        return -1;
    out->words = strv_add(out->words, json_str_or(args, "app", ""));
    add_words(out, json_get(args, "args"));
    return 0;
}

void spark_command_done(call *c, struct spark_command *s)
{
    call_drop_temp(c, s->folder);
    free(s->folder);
    free(s->program);
    strv_free(s->env);
    strv_free(s->words);
}
