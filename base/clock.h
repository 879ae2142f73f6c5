// SPDX-License-Identifier: MIT
// Times and durations: nanoseconds since 1970 (wall) or since boot (mono), and their spellings. A
// module that decides by the time takes it as an argument; its caller reads it here.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define CLOCK_MS  INT64_C(1000000)
#define CLOCK_SEC INT64_C(1000000000)

int64_t clock_wall(void);   // CLOCK_REALTIME, ns
int64_t clock_mono(void);   // CLOCK_MONOTONIC, ns
int64_t clock_thread(void); // processor time of this thread, ns

// Times from outside can be any number: these functions stop at the ends of the type, 292 years
// from now, instead of wrapping around. Callers treat a deadline that far away as none.
int64_t clock_of_seconds(double seconds); // ns; 0 if seconds is NaN
int64_t clock_add(int64_t ns, int64_t more);

// RFC 3339 in UTC: "2026-01-02T03:04:05Z"; with micros "….000006Z" (Kubernetes MicroTime); with
// nanos "….000000006Z" (log stamps).
enum clock_precision { CLOCK_SECONDS, CLOCK_MICROS, CLOCK_NANOS };
void clock_rfc3339(buf *out, int64_t wall_ns, enum clock_precision precision);
// Parses RFC 3339 with any fraction and any offset.
int clock_parse_rfc3339(const char *text, int64_t *wall_ns, err *e);

// "90s", "10m", "1h30m", "250ms", "1.5s": Go's durations; a bare number is refused with a hint.
int duration_parse(const char *text, int64_t *ns, err *e);
// "350ms", "2.1s", "1m30s", "2h05m": for people.
void duration_format(buf *out, int64_t ns);
// "5s", "2m10s", "3h5m", "4d": kubectl's ages (k8s.io/apimachinery duration.HumanDuration).
void duration_age(buf *out, int64_t ns);
// For people: "just now", "5 min ago", "2 days ago".
void duration_ago(buf *out, int64_t ns);
