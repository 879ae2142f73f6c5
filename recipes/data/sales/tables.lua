-- SPDX-License-Identifier: MIT
-- Seven tables of store sales as Kaggle's Rossmann competition and fast.ai's rossmann.tgz have them, made by a seeded generator
-- (recipes 21 and 24): tables.lua --out=tables --stores=20 --seed=1
local data = require "data"
local args = require "args" { out = "tables", stores = 20, seed = 1 }
math.randomseed(args.seed)

local function text_of(day)
  local d = data.date(day)
  return ("%04d-%02d-%02d"):format(d.year, d.month, d.day)
end
local function weekday(day) return (day + 3) % 7 + 1 end              -- 1 is Monday
local function normal()                                               -- Box and Muller 1958
  return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end
local function pick(list) return list[math.random(#list)] end
local function table_file(name, titles)
  local file = assert(io.open(args.out .. "/" .. name .. ".csv", "w"))
  file:write(titles, "\n")
  return function(...) file:write(table.concat({ ... }, ","), "\n") end, function() file:close() end
end

local first, test, last = data.days "2013-01-01", data.days "2015-08-01", data.days "2015-09-17"
local states = { BW = "BadenWuerttemberg", BY = "Bayern", BE = "Berlin", HE = "Hessen", ["HB,NI"] = "Niedersachsen",
  NW = "NordrheinWestfalen", SN = "Sachsen", SH = "SchleswigHolstein" }
local codes = {}
for code in pairs(states) do codes[#codes + 1] = code end
table.sort(codes)
local function quoted(text) return text:find(",", 1, true) and '"' .. text .. '"' or text end

local write, close = table_file("state_names", "StateName,State")
for _, code in ipairs(codes) do write(states[code], quoted(code)) end
close()

local heat = {}                                                       -- of each state and day
write, close = table_file("weather", "file,Date,Max_TemperatureC,Mean_TemperatureC,Min_TemperatureC,Max_Humidity,Mean_Humidity,"
  .. "Min_Humidity,Max_Wind_SpeedKm_h,Mean_Wind_SpeedKm_h,CloudCover,Events")
for k, code in ipairs(codes) do
  heat[code] = {}
  for day = first, last do
    local mean = math.floor(9 - 10 * math.cos(2 * math.pi * (day - first - 20) / 365.25) + 0.3 * k + 3 * normal())
    local cloud, wind, wet = math.random(0, 8), math.random(5, 25), math.random(50, 90)
    local events = cloud < 6 and "" or mean < 1 and "Snow" or cloud == 8 and "Fog-Rain" or "Rain"
    heat[code][day] = mean
    write(states[code], text_of(day), mean + math.random(2, 6), mean, mean - math.random(2, 6), wet + math.random(10), wet,
      wet - math.random(20), wind + math.random(15), wind, math.random() < 0.05 and "" or cloud, events)
  end
end
close()

local trend = {}                                                      -- of each state and week
write, close = table_file("googletrend", "file,week,trend")
for k = 0, #codes do
  local code = k == 0 and "" or codes[k] == "HB,NI" and "_NI" or "_" .. codes[k]
  trend[k] = {}
  for sunday = data.days "2012-12-02", last + 7, 7 do
    local value = math.floor(62 + 15 * math.sin(2 * math.pi * (sunday - first) / 365.25) + (sunday - first) / 90 + 4 * normal())
    trend[k][sunday] = value
    write("Rossmann_DE" .. code, text_of(sunday) .. " - " .. text_of(sunday + 6), value)
  end
end
close()

local shops = {}
local states_of, close_states = table_file("store_states", "Store,State")
write, close = table_file("store", "Store,StoreType,Assortment,CompetitionDistance,CompetitionOpenSinceMonth,"
  .. "CompetitionOpenSinceYear,Promo2,Promo2SinceWeek,Promo2SinceYear,PromoInterval")
for s = 1, args.stores do
  local shop = { level = 6000 * math.exp(0.35 * normal()), kind = pick { "a", "a", "b", "c", "d" }, k = math.random(#codes),
    promo = 1.2 + 0.25 * math.random(), growth = 0.05 * normal(), near = math.floor(10 ^ (1.5 + 2.8 * math.random())) // 10 * 10 }
  if math.random() < 0.7 then shop.month, shop.year = math.random(12), math.random(2008, 2015) end
  shop.rival = shop.year and data.days(("%04d-%02d-15"):format(shop.year, shop.month))
  if math.random() < 0.5 then shop.week, shop.since = math.random(1, 48), math.random(2011, 2014) end
  shops[s] = shop
  states_of(s, quoted(codes[shop.k]))
  write(s, shop.kind, pick { "a", "b", "c" }, shop.near > 0 and shop.near or "", shop.month or "", shop.year or "", shop.week and 1 or 0,
    shop.week or "", shop.since or "", shop.week and pick { '"Jan,Apr,Jul,Oct"', '"Feb,May,Aug,Nov"', '"Mar,Jun,Sept,Dec"' } or "")
end
close()
close_states()

local holidays = {}                                                   -- "a" public, "b" Easter, "c" Christmas
for _, day in ipairs { "2013-03-29", "2013-04-01", "2014-04-18", "2014-04-21", "2015-04-03", "2015-04-06" } do holidays[data.days(day)] = "b" end
for year = 2013, 2015 do
  for day, kind in pairs { ["01-01"] = "a", ["05-01"] = "a", ["10-03"] = "a", ["12-25"] = "c", ["12-26"] = "c" } do
    holidays[data.days(year .. "-" .. day)] = kind
  end
end
local by_weekday = { a = { 1.2, 1.0, 0.95, 0.95, 1.05, 1.0 }, b = { 1.0, 1.0, 1.0, 1.0, 1.0, 0.95 },
  c = { 1.25, 1.05, 0.95, 0.9, 1.05, 0.8 }, d = { 1.15, 1.0, 1.0, 0.95, 1.0, 1.1 } }

local function sales_of(shop, day, promo, school)
  local date, code = data.date(day), codes[shop.k]
  local f = by_weekday[shop.kind][weekday(day)] or 0.9                -- type b sells on Sundays
  f = f * (1 + 0.09 * math.sin(2 * math.pi * (date.yday - 80) / 365.25)) * (1 + shop.growth * (day - first) / 365)
  if promo == 1 then f = f * shop.promo end
  if school == 1 then f = f * 1.05 end
  if date.month == 12 and date.day < 25 then f = f * (1.1 + 0.008 * date.day) end
  if shop.rival and day >= shop.rival and shop.near < 1000 then f = f * 0.88 end
  if heat[code][day] > 22 then f = f * 0.95 end
  return math.floor(shop.level * f * (trend[shop.k][day + 7 - weekday(day)] / 65) ^ 0.15 * math.exp(0.06 * normal()))
end

local id = 0
local train, close_train = table_file("train", "Store,DayOfWeek,Date,Sales,Customers,Open,Promo,StateHoliday,SchoolHoliday")
local later, close_later = table_file("test", "Id,Store,DayOfWeek,Date,Open,Promo,StateHoliday,SchoolHoliday")
for day = last, first, -1 do
  local promo = weekday(day) <= 5 and (day - first) // 7 % 2 == 0 and 1 or 0
  local date, holiday = data.date(day), holidays[day] or "0"
  local school = (date.month == 8 or holiday ~= "0" or date.month == 12 and date.day > 21) and 1 or 0
  for s, shop in ipairs(shops) do
    local open = (holiday == "0" and (weekday(day) < 7 or shop.kind == "b")) and 1 or 0
    if day >= test then
      id = id + 1
      later(id, s, weekday(day), text_of(day), open, promo, holiday, school)
    else
      local sales = open == 1 and sales_of(shop, day, promo, school) or 0
      train(s, weekday(day), text_of(day), sales, math.floor(sales / (8 + s % 3)), open, promo, holiday, school)
    end
  end
end
close_train()
close_later()
print(("made the tables of %d stores in the folder %s"):format(args.stores, args.out))
