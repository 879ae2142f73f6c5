// SPDX-License-Identifier: MIT
// sh runs commands on this machine; file.write writes a cell's text to a file. Both are local. On a
// resume, a command that declares files is verified by its exit code and their hashes, and a text
// by its content. A command that declares no files cannot be verified, and is repeated.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/core/process.h"
#include "script/kernel/effects/binding.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 60 }; // most bytes of a command in messages

// The words as an array that borrows them; ERR_USAGE when there are none.
static const char **read_words(const cJSON *args, err *e)
{
    const cJSON *list = json_get(args, "words");
    const char *command = json_str(args, "command");
    int n = list ? cJSON_GetArraySize(list) : 3;
    if (!command && n == 0) {
        err_set(e, ERR_USAGE, "sh: there is no command");
        return NULL;
    }
    const char **words = mem_array((size_t)n + 1, sizeof *words);
    if (!list) {
        words[0] = "sh";
        words[1] = "-c";
        words[2] = command ? command : "";
        return words;
    }
    int i = 0;
    for (const cJSON *word = list->child; word; word = word->next) {
        if (!cJSON_IsString(word)) {
            err_set(e, ERR_USAGE, "sh: word %d of the command is not a string", i + 1);
            free(words);
            return NULL;
        }
        words[i++] = word->valuestring;
    }
    return words;
}

// The first line of the command, shortened.
static char *title(const cJSON *args)
{
    const char *given = json_str(args, "title"), *command = json_str(args, "command");
    AUTO_BUF text = {0};
    if (given || command)
        buf_str(&text, given ? given : command);
    else
        for (const cJSON *w = json_get(args, "words") ? json_get(args, "words")->child : NULL; w;
             w = w->next)
            buf_fmt(&text, "%s%s", text.len ? " " : "", cJSON_IsString(w) ? w->valuestring : "?");
    return mem_strdup(str_short_line(buf_cstr(&text), SHOWN).text);
}

static char **environment(call *c, const cJSON *args)
{
    call_note_programs(c);
    char **env = strv_dup(call_env(c));
    const cJSON *extra = json_get(args, "env");
    for (const cJSON *v = extra ? extra->child : NULL; v; v = v->next) {
        AUTO_FREE char *value = cJSON_IsString(v) ? mem_strdup(v->valuestring)
                                : cJSON_IsNull(v) ? NULL
                                                  : json_to_str(v);
        env = env_set(env, v->string, value);
    }
    return env;
}

static char *folder(call *c, const cJSON *args)
{
    return path_join(call_cwd(c), json_str_or(args, "cwd", "."));
}

static bool declares_files(const cJSON *args)
{
    return cJSON_GetArraySize(json_get(args, "inputs")) > 0 ||
           cJSON_GetArraySize(json_get(args, "outputs")) > 0;
}

// Nobody computes with it.
static bool is_only_shown(call *c, const cJSON *args)
{
    return json_bool_or(args, "shown", false) && !call_is_captured(c);
}

// files: of the inputs, taken. Output that is only shown, and that a resume need not show again, is
// not part of the result.
static cJSON *shell_result(
    call *c, const struct process_result *r, const char *at, const cJSON *args, cJSON *files)
{
    cJSON *result = cJSON_CreateObject();
    json_set_int(result, "code", r->code);
    if (r->signal)
        json_set_int(result, "signal", r->signal);
    if (!is_only_shown(c, args) || declares_files(args))
        call_said(result, "output", buf_cstr(&r->output), r->left_out);
    process_hash_files(c, files, at, json_get(args, "outputs"));
    json_set(result, "files", files);
    json_set_str(result, "cwd", json_str(args, "cwd"));
    return result;
}

static int check_exit(const cJSON *args, const struct process_result *r, err *e)
{
    AUTO_FREE char *what = title(args);
    if (r->code == 0 || !json_bool_or(args, "check", true))
        return 0;
    if (r->signal)
        return err_set(e, ERR_FAILED, "`%s` was ended by signal %d (%s)", what, r->signal,
            strsignal(r->signal));
    return err_set(e, ERR_FAILED, "`%s` exited with %d (check = false allows that)", what, r->code);
}

// The declared inputs: name -> hash.
static cJSON *hash_inputs(call *c, const cJSON *args, const char *at)
{
    cJSON *files = cJSON_CreateObject();
    process_hash_files(c, files, at, json_get(args, "inputs"));
    process_record_inputs(c, json_str(args, "cwd"), files);
    return files;
}

static int shell_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE const char **words = read_words(args, e);
    if (!words)
        return -1;
    AUTO_FREE char *at = folder(c, args);
    char **env = environment(c, args);
    const char *input = json_str(args, "input");
    struct process_spec spec = {.argv = words,
        .env = (const char *const *)env,
        .cwd = at,
        .input = input,
        .input_n = input ? strlen(input) : 0,
        .quiet = json_bool_or(args, "quiet", false),
        .data = !is_only_shown(c, args)};
    struct process_result r;
    AUTO_JSON *files = hash_inputs(c, args, at); // before running: the command may change them
    int done = process_run(c, &spec, &r, e);
    strv_free(env);
    if (done == 0)
        done = check_exit(args, &r, e);
    if (done == 0)
        *result = shell_result(c, &r, at, args, STEAL(files));
    buf_done(&r.output);
    return done;
}

static int shell_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    AUTO_FREE char *at = folder(c, args);
    if (!declares_files(args))
        return VERDICT_REPEAT;
    int verdict = process_verify(c, at, recorded, json_bool_or(args, "quiet", false));
    if (verdict == VERDICT_YES)
        cJSON_Delete(hash_inputs(c, args, at)); // the cell has them as inputs, as when it ran
    return verdict;
}

static void shell_describe(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *what = title(args);
    about->what = str_fmt("run `%s`", what);
}

// Appended text is synced before the ledger records it; after an error, the part that was written
// is removed.
static int append_to(const char *path, const char *text, mode_t mode, err *e)
{
    struct stat was;
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, mode);
    if (fd < 0 || fstat(fd, &was) < 0)
        return err_errno(e, errno, "cannot append to %s", path);
    bool is_file = S_ISREG(was.st_mode);
    if (is_file && !(mode & 077) && fchmod(fd, was.st_mode & 07700) < 0)
        return err_errno(e, errno, "cannot make %s private", path);
    if (!is_file)
        fcntl(fd, F_SETFL, O_APPEND);
    err why = {0};
    if (fd_write_all(fd, text, strlen(text), &why) == 0 && is_file && fsync(fd) < 0)
        err_errno(&why, errno, "cannot sync");
    if (!why.code)
        return 0;
    if (is_file && ftruncate(fd, was.st_size) < 0)
        err_wrap(&why, "part of it stays");
    return err_set(e, why.code, "cannot append to %s: %s", path, why.text);
}

// If a template filled in a secret, only this user may read the file.
static int write_text(
    call *c, const char *path, const char *text, bool append, char hex[SHA256_HEX], err *e)
{
    struct stat st;
    mode_t mode = call_is_secret(c, text) ? 0600 : 0666;
    int done =
        append ? append_to(path, text, mode, e) : path_update(path, text, strlen(text), mode, e);
    if (done < 0)
        return -1;
    if (append && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return sha256_file(path, hex, e);
    sha256_hex(text, strlen(text), hex);
    return 0;
}

static int file_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *name = json_str(args, "path"), *text = json_str(args, "text");
    if (!name || !*name || !text)
        return err_set(e, ERR_USAGE, "file.write needs a path and a text");
    AUTO_FREE char *path = path_join(call_cwd(c), name);
    bool append = json_bool_or(args, "append", false), there = path_exists(path);
    AUTO_FREE char *parent = path_dirname(path);
    if (path_make_dirs(parent, 0777, e) < 0)
        return err_wrap(e, "cannot write %s", name);
    char hex[SHA256_HEX];
    if (write_text(c, path, text, append, hex, e) < 0)
        return -1;
    *result = cJSON_CreateObject();
    json_set_str(*result, "path", name);
    json_set_str(*result, "sha256", hex);
    json_set_str(*result, "verb", append ? "Appended to" : there ? "Overwrote" : "Wrote");
    return 0;
}

static int file_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    char hex[SHA256_HEX], wanted[SHA256_HEX];
    const char *text = json_str_or(args, "text", "");
    AUTO_FREE char *path = path_join(call_cwd(c), json_str_or(args, "path", ""));
    sha256_hex(text, strlen(text), wanted);
    // If there is only an intent: was the file written before the kernel died?
    const char *expected = recorded                              ? json_str(recorded, "sha256")
                           : json_bool_or(args, "append", false) ? NULL
                                                                 : wanted;
    if (!expected || sha256_file(path, hex, NULL) < 0 || !str_eq(hex, expected))
        return VERDICT_NO;
    *result = cJSON_CreateObject();
    json_set_str(*result, "path", json_str(args, "path"));
    json_set_str(*result, "sha256", hex);
    json_set_str(*result, "verb", "Kept");
    return VERDICT_YES;
}

static void file_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("write %s", json_str_or(args, "path", "a file"));
}

const struct binding shell_bindings[] = {
    {.name = "sh",
        .effect = EFFECT_LOCAL,
        .said = said_output,
        .start = shell_start,
        .verify = shell_verify,
        .describe = shell_describe},
    {.name = "file.write",
        .effect = EFFECT_LOCAL,
        .start = file_start,
        .verify = file_verify,
        .describe = file_describe},
    {0},
};
