-- SPDX-License-Identifier: MIT
-- Medians and ratios with intervals that are exact for any continuous distribution, and need no chance themselves. With few
-- values an interval cannot be as sure as one would like: it says how sure it is.
local core = ...
local EXACT = 4e6 -- steps that counting the distribution of U may take

core.statistics = {}
local statistics = core.statistics

local function sorted(values)
  local list = table.move(values, 1, #values, 1, {})
  table.sort(list)
  return list
end

local function middle(list)
  local n = #list
  return n % 2 == 1 and list[n // 2 + 1] or (list[n // 2] + list[n // 2 + 1]) / 2
end

-- The largest k for which P(X < k) is at most `tail`, from 1 on, and 1 − 2 P(X < k); p(i) = P(X = i).
local function rank_of(p, tail, most)
  local below, k = p(0), 1
  while k < most and below + p(k) <= tail do
    below = below + p(k)
    k = k + 1
  end
  return k, 1 - 2 * below
end

-- The median and its interval between two order statistics: the number of values below the true median is binomial with
-- p = 1/2 (David and Nagaraja, "Order Statistics", 3rd edition, 7.1). → { median, low, high, confidence, n }
function statistics.median(values, confidence)
  local list, n = sorted(values), #values
  if n == 0 then return nil end
  local log, at = n * math.log(0.5), 0 -- 0.5 ^ n is 0 for many values
  local function p(i)
    while at < i do
      log = log + math.log((n - at) / (at + 1))
      at = at + 1
    end
    return math.exp(log)
  end
  local k, sure = rank_of(p, (1 - confidence) / 2, (n + 1) // 2)
  return { median = middle(list), low = list[k], high = list[n + 1 - k], confidence = math.max(0, sure), n = n }
end

-- P(U = 0 …) up to the middle, of the statistic of Mann and Whitney for `few` and `many` values: the coefficients of Gauss's
-- binomial (1 − x^(many + 1)) … (1 − x^(many + few)) / ((1 − x) … (1 − x^few)), in parts of their sum.
local function distribution(few, many)
  local half, p = few * many // 2, { [0] = 1.0 }
  for u = 1, half do p[u] = 0.0 end
  for i = 1, few do
    for u = half, many + i, -1 do p[u] = p[u] - p[u - many - i] end
    for u = i, half do p[u] = p[u] + p[u - i] end
    for u = 0, half do p[u] = p[u] * i / (many + i) end
  end
  return p
end

local function normal_rank(m, n, confidence)
  local low, high = 0, 10 -- the quantile of the normal distribution, by its tail
  local function tail(z) -- Abramowitz and Stegun 26.2.17
    local t = 1 / (1 + 0.2316419 * z)
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
      * t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  end
  for _ = 1, 60 do
    local mid = (low + high) / 2
    if tail(mid) > (1 - confidence) / 2 then low = mid else high = mid end
  end
  return math.max(1, math.floor(m * n / 2 - low * math.sqrt(m * n * (m + n + 1) / 12)))
end

-- By which factor a is above b: the median of all quotients of a value of each (Hodges and Lehmann, of logarithms), and its
-- interval between two of them, by the distribution of U (Moses; Hollander, Wolfe, Chicken, "Nonparametric Statistical
-- Methods", 3rd edition, 4.2 and 4.3; as R's wilcox.test). All values are above 0. → { ratio, low, high, confidence }
function statistics.ratio(a, b, confidence)
  local logs = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(b) do logs[#logs + 1] = math.log(x) - math.log(y) end
  end
  if #logs == 0 then return nil end
  table.sort(logs)
  local m, n, k, sure = #a, #b, nil, confidence
  local few = math.min(m, n)
  if few * m * n <= EXACT then
    local all = distribution(few, math.max(m, n))
    k, sure = rank_of(function(i) return all[i] end, (1 - confidence) / 2, (m * n + 1) // 2)
  else
    k = normal_rank(m, n, confidence)
  end
  return { ratio = math.exp(middle(logs)), low = math.exp(logs[k]), high = math.exp(logs[#logs + 1 - k]), confidence = math.max(0, sure) }
end
