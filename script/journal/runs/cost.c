// SPDX-License-Identifier: MIT
#include "script/journal/runs/cost.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double HOUR = 3600, MIB = 1 << 20, GIB = 1 << 30;
static const double SURE = 30;    // s; use is measured each 15 s: of a shorter pod it says little
static const double SPARE = 1.25; // what is advised leaves a quarter more than was used
enum { SWEPT_MOST = 2000 };

// What one pod asked for and used, or several together.
struct sum {
    double cpu, memory, peak_cpu, peak_memory;
    bool measured;
};

static double number_at(const cJSON *object, const char *path)
{
    const cJSON *value = json_path(object, path);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static double since_of(const cJSON *pod)
{
    return number_at(pod, "since");
}

static double until_of(const cJSON *pod, double now)
{
    const cJSON *until = json_get(pod, "until");
    return fmax(since_of(pod), cJSON_IsNumber(until) ? until->valuedouble : now);
}

static void add(struct sum *s, const cJSON *pod)
{
    s->cpu += number_at(pod, "cpu") / 1000;
    s->memory += number_at(pod, "memory");
    s->peak_cpu += number_at(pod, "peak.cpu") / 1000;
    s->peak_memory += number_at(pod, "peak.memory");
    s->measured |= json_get(pod, "peak") != NULL;
}

// The pods that ran at a time, together.
static struct sum sum_at(const cJSON *pods, double at, double now)
{
    struct sum s = {0};
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (since_of(pod) <= at && at < fmax(until_of(pod, now), since_of(pod) + 0.001))
            add(&s, pod);
    }
    return s;
}

// At the time when most was asked for. It is one of those at which a pod began.
static struct sum largest(const cJSON *pods, double now)
{
    struct sum most = {0};
    const cJSON *pod;
    int i = 0;
    cJSON_ArrayForEach(pod, pods)
    {
        struct sum s = sum_at(pods, since_of(pod), now);
        bool more = s.cpu > most.cpu || (s.cpu == most.cpu && s.memory > most.memory) ||
                    (s.cpu == most.cpu && s.memory == most.memory && s.measured);
        if (more)
            most = s;
        if (++i == SWEPT_MOST)
            break;
    }
    return most;
}

// ---- sentences

void cost_memory(double bytes, buf *out)
{
    if (bytes >= GIB)
        buf_fmt(out, "%.3g GiB", bytes / GIB);
    else
        buf_fmt(out, "%.0f MiB", ceil(bytes / MIB));
}

static double decimals(double value)
{
    double unit = value < 0.1 ? 1000 : value < 10 ? 100 : 10;
    return round(value * unit) / unit;
}

// "2 CPU and 2 GiB"; without units "0.4 and 600 MiB" behind it.
static void say_pair(double cpu, double memory, bool unit, buf *out)
{
    if (cpu > 0)
        buf_fmt(out, "%g%s", decimals(cpu), unit ? " CPU" : "");
    if (cpu > 0 && memory > 0)
        buf_str(out, " and ");
    if (memory > 0)
        cost_memory(memory, out);
}

// What would have been enough is 1/4 or 1/2 of what was asked for; 1: all of it, or more. Where
// nothing was asked for, nothing stands against less.
static int divisor(double asked, double used)
{
    double share = asked > 0 ? used * SPARE / asked : 0;
    return share <= 0.25 ? 4 : share <= 0.5 ? 2 : 1;
}

static void say_advice(const struct sum *s, buf *out)
{
    static const char *const words[] = {[2] = "half", [4] = "a quarter"};
    int cpu = divisor(s->cpu, s->peak_cpu), memory = divisor(s->memory, s->peak_memory);
    int both = cpu < memory ? cpu : memory;
    if (s->memory > 0 && s->peak_memory > s->memory)
        buf_str(out, ": more memory than it asked for, so its node may evict it");
    else if (both > 1)
        buf_fmt(out, ": %s would do", words[both]);
    else if (cpu > 1 && s->cpu > 0)
        buf_fmt(out, ": %s of the CPU would do", words[cpu]);
    else if (memory > 1 && s->memory > 0)
        buf_fmt(out, ": %s of the memory would do", words[memory]);
}

static void say(const struct sum *s, double seconds, buf *out)
{
    bool asked = s->cpu > 0 || s->memory > 0;
    buf_str(out, "asked for ");
    if (asked)
        say_pair(s->cpu, s->memory, true, out);
    else
        buf_str(out, "nothing");
    if (!s->measured) {
        buf_str(out, "; what it used was not measured");
        return;
    }
    buf_str(out, ", used ");
    say_pair(s->peak_cpu, s->peak_memory, !asked || s->cpu == 0, out);
    if (asked && seconds >= SURE)
        say_advice(s, out);
}

// ---- hours

struct hours {
    double cpu, memory, gpu;
};

static bool is_gpu(const char *device)
{
    return strcasestr(device, "gpu") || strcasestr(device, "/mig-");
}

static struct hours hours_of(const cJSON *pods, double now)
{
    struct hours h = {0};
    const cJSON *pod, *device;
    cJSON_ArrayForEach(pod, pods)
    {
        double hours = (until_of(pod, now) - since_of(pod)) / HOUR;
        double cpu = number_at(pod, "cpu"), memory = number_at(pod, "memory");
        h.cpu += hours * (cpu > 0 ? cpu : number_at(pod, "peak.cpu")) / 1000;
        h.memory += hours * (memory > 0 ? memory : number_at(pod, "peak.memory")) / GIB;
        cJSON_ArrayForEach(device, json_get(pod, "devices"))
        {
            if (is_gpu(device->string) && cJSON_IsNumber(device))
                h.gpu += hours * device->valuedouble;
        }
    }
    return h;
}

static double rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

static void set(cJSON *to, const char *name, double value)
{
    if (value > 0)
        json_set(to, name, cJSON_CreateNumber(rounded(value)));
}

// The longest life of any of them, in seconds.
static double longest(const cJSON *pods, double now)
{
    double most = 0;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        most = fmax(most, until_of(pod, now) - since_of(pod));
    }
    return most;
}

cJSON *cost_of(const cJSON *pods, double now)
{
    if (!pods || !pods->child)
        return NULL;
    struct sum s = largest(pods, now);
    struct hours h = hours_of(pods, now);
    cJSON *cost = cJSON_CreateObject();
    AUTO_BUF text = {0};
    say(&s, longest(pods, now), &text);
    json_set_int(cost, "pod_count", cJSON_GetArraySize(pods));
    set(cost, "cpu_hours", h.cpu);
    set(cost, "memory_hours", h.memory);
    set(cost, "gpu_hours", h.gpu);
    set(cost, "asked_cpu", s.cpu);
    set(cost, "asked_memory", s.memory);
    set(cost, "peak_cpu", s.peak_cpu);
    set(cost, "peak_memory", s.peak_memory);
    json_set_str(cost, "pod_use", buf_cstr(&text));
    return cost;
}

// ---- by role

static const char *role_of(const cJSON *pod)
{
    return json_str_or(pod, "role", "pod");
}

// The largest of a role: each of its pods is meant to be as large.
static struct sum largest_of(const cJSON *pods, const char *role, double now, int *n, double *lived)
{
    struct sum most = {0};
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        struct sum one = {0};
        if (!str_eq(role_of(pod), role))
            continue;
        add(&one, pod);
        ++*n;
        *lived = fmax(*lived, until_of(pod, now) - since_of(pod));
        most.cpu = fmax(most.cpu, one.cpu);
        most.memory = fmax(most.memory, one.memory);
        most.peak_cpu = fmax(most.peak_cpu, one.peak_cpu);
        most.peak_memory = fmax(most.peak_memory, one.peak_memory);
        most.measured |= one.measured;
    }
    return most;
}

static bool is_first(const cJSON *pods, const cJSON *pod)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, pods)
    {
        if (one == pod)
            return true;
        if (str_eq(role_of(one), role_of(pod)))
            return false;
    }
    return true;
}

static void print_hours(const cJSON *pods, double now, buf *out)
{
    struct hours h = hours_of(pods, now);
    buf_fmt(out, "  %.2g CPU hours, %.2g GiB hours", h.cpu, h.memory);
    if (h.gpu > 0)
        buf_fmt(out, ", %.2g GPU hours", h.gpu);
    buf_char(out, '\n');
}

void cost_print(const cJSON *pods, double now, buf *out)
{
    const cJSON *pod;
    if (!pods || !pods->child)
        return;
    cJSON_ArrayForEach(pod, pods)
    {
        int n = 0;
        double lived = 0;
        if (!is_first(pods, pod))
            continue;
        struct sum s = largest_of(pods, role_of(pod), now, &n, &lived);
        buf_fmt(out, "  %d %s%s: %s", n, role_of(pod), n == 1 ? "" : "s", n == 1 ? "" : "each ");
        say(&s, lived, out);
        buf_char(out, '\n');
    }
    print_hours(pods, now, out);
}
