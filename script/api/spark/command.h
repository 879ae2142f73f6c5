// SPDX-License-Identifier: MIT
// How spark-submit is found and called: the program, its environment and its words. Settings that
// hold a secret go through a file that only this user can read, since words stand in the list of
// processes.
#pragma once
#include "script/kernel/effects/binding.h"

struct spark_command {
    char *program; // spark-submit's path
    char **env;
    char **words; // the whole command line
    char *folder; // holds the file of settings; NULL: there is none
};
// args: as the cell gave them ({"app", "options": […], "args": […], "conf", "env"}); master and
// conf as they are to be. elsewhere: the application's processes run on other machines, and get
// `env` through settings; driver_pod: its driver, too. Errors: ERR_NOT_FOUND (no spark-submit, no
// such program to run), ERR_USAGE.
int spark_command(call *c, const cJSON *args, const char *master, cJSON *conf, bool elsewhere,
    bool driver_pod, struct spark_command *out, err *e);
// Appends the text of spark-defaults.conf, as spark-submit with this environment finds it.
void spark_defaults(const char *const *env, buf *out);
// spark-submit's path; new. Errors: ERR_NOT_FOUND.
char *spark_program(call *c, err *e);
// The environment as if the virtual environment that has it were active, on this machine. Takes
// env.
char **spark_use_venv(char **env, const char *program);
void spark_command_done(call *c, struct spark_command *s); // removes the file
// Is the program a file of this machine, and not "local:///…", "s3a://…"?
bool spark_is_here(const char *app);
