// SPDX-License-Identifier: MIT
// The log of a row's pod, or the logs of many rows merged, over their table; and the same read anew
// with other options, in place of what is shown.
#pragma once
#include "base/json/json.h"
#include "tui/bench/view.h"

// What is to be read: {"display": of the table, "rows": [uid…], "with": {"since", "tail",
// "timestamps", "previous", "container"}}. Takes it. The log opens on top of the view that is on
// top now, or in its place when that shows a log.
void object_logs(bench *b, cJSON *wish);
// The wish with what was typed: "--since=5m --tail 100 -c NAME -p --timestamps", as kubectl spells
// it. -1: a notice says what is wrong.
int object_logs_options(bench *b, cJSON *wish, const char *words);
// What of the log is shown, for its title: "since 5m, previous, with times"; "" when it is all.
void object_logs_say(const cJSON *wish, buf *out);
