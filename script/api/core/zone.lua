-- SPDX-License-Identifier: MIT
-- Time zones by name, from the machine's database (TZif files, RFC 8536): how far a zone is from UTC at a time.
local core = ...
local FOLDER = "/usr/share/zoneinfo/"
local DAY = 86400

-- The second block of a file, with times of 64 bits, and the rule of the time after its last change.
local function parsed(bytes)
  local function header(at)
    local magic, version, utc, std, leap, times, types, chars = (">c4c1xxxxxxxxxxxxxxxI4I4I4I4I4I4"):unpack(bytes, at)
    return { good = magic == "TZif" and version >= "2", utc = utc, std = std, leap = leap, times = times, types = types, chars = chars }
  end
  local first = header(1)
  if not first.good then return nil end
  local at = 45 + first.times * 5 + first.types * 6 + first.chars + first.leap * 8 + first.std + first.utc
  local h = header(at)
  at = at + 44
  local zone = { changes = {}, kinds = {} }
  local kinds = at + h.times * 9
  local names = kinds + h.types * 6
  for i = 0, h.types - 1 do
    local offset, _, name = (">i4BB"):unpack(bytes, kinds + i * 6)
    zone.kinds[i] = { offset = offset, name = (">z"):unpack(bytes, names + name) }
  end
  for i = 0, h.times - 1 do
    zone.changes[i + 1] = { at = (">i8"):unpack(bytes, at + i * 8), kind = zone.kinds[bytes:byte(at + h.times * 8 + i)] }
  end
  zone.rule = bytes:sub(kinds + h.types * 6 + h.chars + h.leap * 12 + h.std + h.utc):match "^\n([^\n]*)\n"
  return zone
end

-- "-1", "+5:30", "3" → seconds
local function hours(text)
  local sign, h, m, s = text:match "^([+-]?)(%d+):?(%d*):?(%d*)$"
  if not h then return nil end
  local all = tonumber(h) * 3600 + (tonumber(m) or 0) * 60 + (tonumber(s) or 0)
  return sign == "-" and -all or all
end

-- "M3.5.0/2": 2 o'clock on the fifth (the last) Sunday of March → seconds since 1970 as that zone's clocks count them
local function moment(text, year)
  local month, week, weekday, clock = text:match "^M(%d+)%.(%d)%.(%d)/?(.*)$"
  if not month then return nil end
  local first = time.parse(("%04d-%02d-01T00:00:00Z"):format(year, tonumber(month)))
  local day = first + ((weekday - os.date("!*t", first).wday + 1) % 7 + (week - 1) * 7) * DAY
  if os.date("!*t", day).month ~= tonumber(month) then day = day - 7 * DAY end
  return day + (clock == "" and 7200 or hours(clock))
end

-- "CET-1CEST…" → "CET", "-1CEST…"; a name in brackets is without them: "<+0330>-3:30"
local function name_in(rule)
  local name, rest = rule:match "^<([%w+-]+)>(.*)$"
  if not name then name, rest = rule:match "^(%a+)(.*)$" end
  return name, rest
end

-- The offset and its name by a rule as POSIX writes it: "CET-1CEST,M3.5.0,M10.5.0/3"; west of Greenwich is positive there.
local function by_rule(rule, at)
  local name, behind = name_in(rule)
  if not name then return nil end
  local standard, rest = behind:match "^([+-]?[%d:]+)(.*)$"
  if not standard then return nil end
  standard = -hours(standard)
  if rest == "" then return standard, name end
  local summer_name, times = name_in(rest)
  local summer, from, to = (times or ""):match "^([^,]*),([^,]+),([^,]+)$"
  if not summer then return nil end
  summer = summer == "" and standard + 3600 or -hours(summer)
  local year = os.date("!*t", at + standard).year
  local begins, ends = moment(from, year), moment(to, year)
  if not begins or not ends then return nil end
  begins, ends = begins - standard, ends - summer
  local is_summer
  if begins < ends then is_summer = at >= begins and at < ends else is_summer = at >= begins or at < ends end
  if is_summer then return summer, summer_name end
  return standard, name
end

-- A zone's offset from UTC in seconds at a time (seconds since 1970), and what it is called; nil: the machine does not know it.
local function offset_of(zone, at)
  local changes = zone.changes
  local last = changes[#changes]
  if zone.rule and zone.rule ~= "" and (not last or at >= last.at) then return by_rule(zone.rule, at) end
  local low, high = 0, #changes
  while low < high do
    local middle = (low + high + 1) // 2
    if changes[middle].at <= at then low = middle else high = middle - 1 end
  end
  local kind = low > 0 and changes[low].kind or zone.kinds[0]
  return kind.offset, kind.name
end

-- zone("Europe/Berlin") → function(at): the offset in seconds and its name ("CEST"), or nil; nil where there is no such zone here.
function core.zone(name)
  if name == "UTC" or name == "Etc/UTC" then return function() return 0, "UTC" end end
  if not name:find "^%w[%w/_+-]*$" then return nil end
  local file = io.open(FOLDER .. name, "rb")
  local bytes = file and file:read "a"
  if file then file:close() end
  local ok, zone = pcall(parsed, bytes or "")
  if not ok or not zone then return nil end
  return function(at) return offset_of(zone, at) end
end
