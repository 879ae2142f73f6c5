// SPDX-License-Identifier: MIT
// Kubernetes quantities: "500m", "1.5", "2Gi", "1e3", "128974848". Values are in thousandths, so
// that CPU shares and byte counts are both whole numbers.
#pragma once
#include "base/err.h"

#include <stdint.h>

// Thousandths, rounded up. Errors: ERR_INVALID with the text; ERR_LIMIT beyond 2^63 thousandths.
int quantity_parse(const char *text, int64_t *milli, err *e);
// The same in units of 10⁻⁹, in which processor time is measured: "1234567n".
int quantity_parse_nano(const char *text, int64_t *nano, err *e);
// Spark's sizes (JVM memory strings) in bytes: "512m" is MiB, "1g" GiB, "300" MiB.
int quantity_parse_jvm(const char *text, int64_t *bytes, err *e);
