// SPDX-License-Identifier: MIT
#pragma once
#include "base/err.h"

// Loads libarchive, for an error that says what is missing. Any thread.
int archive_late(err *e);
