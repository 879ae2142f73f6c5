// SPDX-License-Identifier: MIT
// The doctor's checks that need no program: environment, terminal, folders, what happens at logout.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/login.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/config/config.h"
#include "cli/host.h"
#include "cli/places.h"
#include "cli/verbs/doctor.h"
#include "tui/term/facts.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 80, LEAST_ROWS = 24 };
static const double SLOW_MS = 100;

static void look_at_type(struct doctor *d)
{
    struct term_facts facts;
    const struct terminfo own = {d->cli->terminfo, cli_getenv(d->cli, "TERMINFO")};
    err e = {0};
    const char *type = cli_getenv(d->cli, "TERM"), *direct = cli_getenv(d->cli, "COLORTERM");
    if (!d->cli->out_tty) {
        doctor_found(d, "terminal", HEALTH_OK, NULL,
            "standard output is none: verbs print plain text, the workbench needs one");
        return;
    }
    if (term_facts(type, &own, &facts, &e) < 0 || !facts.screen) {
        doctor_found(d, "terminal", HEALTH_FAIL,
            "export TERM=xterm-256color, or install its entry (Debian: ncurses-term)",
            "TERM=%s: %s", type ? type : "", e.code ? e.text : "it cannot place its cursor");
        return;
    }
    bool all = facts.colors >= 1 << 24 || str_eq(direct, "truecolor") || str_eq(direct, "24bit");
    doctor_found(d, "terminal", HEALTH_OK, NULL, "%s", type);
    if (cli_getenv(d->cli, "NO_COLOR"))
        doctor_found(d, "colours", HEALTH_OK, NULL, "none, as NO_COLOR says");
    else if (facts.colors < 8)
        doctor_found(d, "colours", HEALTH_WARN,
            "export TERM=xterm-256color, if the terminal has them", "none, says terminfo");
    else
        doctor_found(d, "colours", HEALTH_OK, NULL, all ? "24 bit" : "%d", facts.colors);
    const char *wanted = cli_getenv(d->cli, "FIRESTEEL_MOUSE");
    if (str_eq(wanted, "off"))
        doctor_found(d, "mouse", HEALTH_OK, NULL, "left to the terminal, as FIRESTEEL_MOUSE says");
    else if (!facts.mouse)
        doctor_found(d, "mouse", HEALTH_WARN, "another TERM, if the terminal has one; keys do all",
            "terminfo knows none for %s", type);
    else
        doctor_found(d, "mouse", HEALTH_OK, NULL, "on; --no-mouse leaves it to the terminal");
}

static void look_at_size(struct doctor *d)
{
    struct winsize size = {0};
    if (!d->cli->out_tty || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    bool fits = size.ws_col >= LEAST_COLUMNS && size.ws_row >= LEAST_ROWS;
    doctor_found(d, "size", fits ? HEALTH_OK : HEALTH_WARN,
        fits ? NULL : "make the window larger: views are made for 80 columns and 24 rows", "%dx%d",
        size.ws_col, size.ws_row);
}

static void look_at_locale(struct doctor *d)
{
    const char *said = host_locale_named(d->cli);
    if (d->cli->locale)
        doctor_found(d, "locale", HEALTH_OK, NULL, "%s, since %s is not installed here",
            d->cli->locale, said);
    else if (!setlocale(LC_CTYPE, ""))
        doctor_found(d, "locale", HEALTH_WARN, "export LC_ALL=C.UTF-8, or make it: locale-gen",
            "%s is not installed", said ? said : "it");
    else if (!d->cli->utf8)
        doctor_found(d, "locale", HEALTH_WARN, "export LC_ALL=C.UTF-8",
            "%s has %s: what is not ASCII is shown as ?", said ? said : "none is set, which",
            nl_langinfo(CODESET));
    else
        doctor_found(d, "locale", HEALTH_OK, NULL, "%s, UTF-8", said ? said : "default");
}

static void look_at_folders(struct doctor *d)
{
    err e = {0};
    AUTO_FREE char *runtime = cli_runtime_dir(d->cli, &e);
    AUTO_FREE char *state = runtime ? cli_state_dir(d->cli, &e) : NULL;
    AUTO_FREE char *images = state ? cli_images_dir(d->cli, &e) : NULL;
    const char *closed = !images                ? NULL
                         : !place_takes(state)  ? state
                         : !place_takes(images) ? images
                                                : NULL;
    if (closed)
        doctor_found(d, "folders", HEALTH_FAIL,
            "make it, writable for you; or XDG_STATE_HOME, XDG_DATA_HOME name others",
            "%s can be neither made nor written", closed);
    else if (images)
        doctor_found(d, "folders", HEALTH_OK, NULL, "%s, %s, %s", runtime, state, images);
    else
        doctor_found(d, "folders", HEALTH_FAIL,
            "as it says; or FIRESTEEL_RUNTIME_DIR, XDG_STATE_HOME, XDG_DATA_HOME name others", "%s",
            e.text);
}

// The time that a record of the journal takes in this folder, in milliseconds: a lock, and some
// bytes with their sync. Returns both; -1: the folder cannot be written.
static int time_disk(const char *folder, double *lock, double *sync)
{
    AUTO_FREE char *path = path_join(folder, ".firesteel-doctor-XXXXXX");
    AUTO_FD fd = mkostemp(path, O_CLOEXEC);
    char bytes[4096] = {0};
    if (fd < 0)
        return -1;
    unlink(path);
    int64_t begun = clock_mono();
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    int64_t taken = clock_mono();
    if (!locked || write(fd, bytes, sizeof bytes) != sizeof bytes || fsync(fd))
        return -1;
    *lock = (double)(taken - begun) / (double)CLOCK_MS;
    *sync = (double)(clock_mono() - taken) / (double)CLOCK_MS;
    return 0;
}

static void look_at_disk(struct doctor *d)
{
    double lock, sync;
    if (time_disk(d->cli->cwd, &lock, &sync) < 0) {
        doctor_found(d, "disk", HEALTH_WARN,
            "run notebooks with --cwd, in a folder on a local disk",
            "%s takes no journal: it cannot be written, locked or synced", d->cli->cwd);
        return;
    }
    bool slow = lock > SLOW_MS || sync > SLOW_MS;
    doctor_found(d, "disk", slow ? HEALTH_WARN : HEALTH_OK,
        slow ? "run notebooks with --cwd, in a folder on a local disk" : NULL,
        "%s: a lock takes %.1f ms, an fsync %.1f ms%s", d->cli->cwd, lock, sync,
        slow ? "; each effect of a cell waits for two of these" : "");
}

static void look_at_login(struct doctor *d)
{
    AUTO_BUF remedy = {0};
    enum login_end end = login_end_here(&remedy);
    const char *reason = login_end_reason(end);
    if (reason)
        doctor_found(d, "linger", HEALTH_WARN, buf_cstr(&remedy), "%s", reason);
    else if (end == LOGIN_NO_SYSTEMD)
        doctor_found(d, "linger", HEALTH_OK, NULL, "no systemd: nothing ends with a login");
    else if (end == LOGIN_LINGERS)
        doctor_found(d, "linger", HEALTH_OK, NULL, "on: kernels outlive the login");
    else
        doctor_found(
            d, "linger", HEALTH_OK, NULL, "not needed: logind leaves processes alone at a logout");
}

static void look_at_settings(struct doctor *d)
{
    AUTO_FREE char *path = config_path(d->cli);
    struct settings *s = config_read(d->cli);
    const cJSON *one;
    cJSON_ArrayForEach(one, s->faults)
    {
        int64_t line = json_int_or(one, "line", 0);
        AUTO_FREE char *place = line ? str_fmt("line %lld: ", (long long)line) : mem_strdup("");
        doctor_found(d, "settings", HEALTH_WARN, "edit it: :config in the workbench opens it",
            "%s: %s%s", path ? path : "config.yaml", place, json_str_or(one, "text", ""));
    }
    if (!s->faults->child && path && path_exists(path))
        doctor_found(d, "settings", HEALTH_OK, NULL, "%s", path);
    else if (!s->faults->child)
        doctor_found(
            d, "settings", HEALTH_OK, NULL, "the usual ones; :config makes a file for yours");
    settings_free(s);
}

void doctor_look(struct doctor *d)
{
    look_at_settings(d);
    look_at_type(d);
    look_at_size(d);
    look_at_locale(d);
    look_at_folders(d);
    look_at_disk(d);
    look_at_login(d);
}
