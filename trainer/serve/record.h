// SPDX-License-Identifier: MIT
// Records requests and their answers as training data: JSON lines in files of a folder, of a
// bounded size: a full file is followed by another, and the oldest one is removed. Any thread may
// write.
//   FOLDER/HOST-000001.jsonl   {"time", "model", "seconds", "request": {…}, "answer": {…}}
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct record record;
// Makes the folder, and begins a new file after the existing ones.
record *record_open(const char *folder, int64_t file_bytes, size_t files, err *e);
void record_close(record *r); // NULL is fine
// request and answer are JSON. A line is written as a whole.
int record_add(record *r, const char *model, int64_t ns, const char *request, size_t request_n,
    const char *answer, size_t answer_n, err *e);
