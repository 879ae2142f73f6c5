-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # Store sales with an embedding network
-- Horovod's Rossmann example from end to end: seven tables become 36 features, categories are embedded, the
-- network learns the logarithm of each day's sales, and the test set's predictions go to submission.csv.
-- Nothing but this machine is needed:
--
--     firesteel run recipes/21-sales.lua
--
-- The tables are made by a seeded generator, unless `folder` has the real ones: train.csv, test.csv, store.csv,
-- store_states.csv, state_names.csv, googletrend.csv and weather.csv, as fast.ai's rossmann.tgz holds them.

-- %% tags=["parameters"]
folder = ""                       -- with the real tables; "": they are made
stores = 20                       -- of those that are made; the real ones have 1115
epochs = 3                        -- the original: 100, at a rate of 0.0001
learning_rate = 0.001             -- for each rank
batch_size = 100
np = 1                            -- ranks
seed = 1

-- %% [markdown]
-- ## The tables
-- A store's sales are its own level, times factors of weekday, promotion, season, holidays, a near competitor's
-- opening, weather and trend, times noise of 6 %. Stores close on Sundays and holidays. A network that has found
-- all of it can come near 0.06; what a mean of store and weekday lacks is promotion, season and trend.

-- %% The generator file="tables.lua"
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

-- %% Tables timeout="10m"
if folder == "" then
  fs.mkdir "tables"
  trainer.run { "tables.lua", args = { "--stores=" .. stores, "--seed=" .. seed } }
end
from = folder == "" and "tables" or folder

-- %% [markdown]
-- ## Features
-- As the original prepares them, joins and all; a day that a join cannot place is an error. Categories become codes
-- that train and test share, 0 for what is missing; continuous columns are standardised.

-- %% The features file="features.lua"
local data = require "data"
local args = require "args" { from = "tables", out = "features" }
local started = os.clock()
local function csv(name, types) return data.csv { ("%s/%s.csv"):format(args.from, name), types = types } end

local categorical = { "Store", "State", "DayOfWeek", "Year", "Month", "Day", "Week", "CompetitionMonthsOpen", "Promo2Weeks", "StoreType",
  "Assortment", "PromoInterval", "CompetitionOpenSinceYear", "Promo2SinceYear", "Events", "Promo", "StateHoliday", "SchoolHoliday" }
local continuous = { "CompetitionDistance", "Max_TemperatureC", "Mean_TemperatureC", "Min_TemperatureC", "Max_Humidity", "Mean_Humidity",
  "Min_Humidity", "Max_Wind_SpeedKm_h", "Mean_Wind_SpeedKm_h", "CloudCover", "trend", "trend_DE", "BeforePromo", "AfterPromo",
  "AfterStateHoliday", "BeforeStateHoliday", "BeforeSchoolHoliday", "AfterSchoolHoliday" }

-- The stores, with the days on which a competitor opened and Promo2 began.
local store = csv("store"):join(csv "store_states", "Store")
  :fillna { CompetitionOpenSinceYear = 1900, CompetitionOpenSinceMonth = 1, Promo2SinceYear = 1900, Promo2SinceWeek = 1 }
  :with("CompetitionSince", { "CompetitionOpenSinceYear", "CompetitionOpenSinceMonth" }, function(year, month)
    return year > 1900 and data.days(("%04d-%02d-15"):format(year, month)) or nil
  end)
  :with("Promo2Since", { "Promo2SinceYear", "Promo2SinceWeek" }, function(year, week)
    return year > 1900 and data.days(("%04d-01-01"):format(year)) + (week - 1) * 7 or nil
  end)

-- Google's trend by week and state, and of all Germany.
local trends = csv("googletrend")
  :with("State", { "file" }, function(file)
    local state = file:match "Rossmann_DE_(.*)"
    return state == "NI" and "HB,NI" or state or "DE"
  end)
  :with("Date", { "week" }, function(week) return data.days(week:match "^%S+") end, "date")
  :expand_date("Date", { "Year", "Week" }):select { "State", "Year", "Week", "trend" }
local germany = trends:filter({ "State" }, function(state) return state == "DE" end):drop "State":rename { trend = "trend_DE" }
local weather = csv("weather"):join(csv("state_names"):rename { StateName = "file" }, "file", { how = "inner" }):drop "file"

local function capped(days, most) return math.max(0, math.min(most, days)) end
local function prepare(name)
  return csv(name, { StateHoliday = "category", Date = "date" })
    :with("StateHoliday", { "StateHoliday" }, function(kind) return kind ~= "0" end)
    :expand_date("Date", { "Year", "Month", "Week", "Day" })
    :join(store, "Store")
    :join(trends, { "State", "Year", "Week" }):join(germany, { "Year", "Week" })
    :join(weather, { "State", "Date" })
    :with("CompetitionMonthsOpen", { "Date", "CompetitionSince" }, function(day, since)
      return since and capped(day - since, 720) // 30 | 0 or 0
    end)
    :with("Promo2Weeks", { "Date", "Promo2Since" }, function(day, since) return since and capped(day - since, 175) // 7 | 0 or 0 end)
end
local train, test = prepare "train", prepare "test"

-- Days since and until promotions and holidays, over training and test set.
local columns = { "Id", "Date", "Sales", table.unpack(categorical) }
table.move(continuous, 1, 12, #columns + 1, columns)      -- those after the twelfth are made below
local all = data.concat {
  train:with("Id", train.Store * 0):select(columns),
  test:with("Sales", test.Store * 0):select(columns),
}
all = all:sort_values { "Store", "Date" }
local by_store = all:groupby "Store"
for _, name in ipairs { "Promo", "StateHoliday", "SchoolHoliday" } do
  all = all:with("Before" .. name, by_store:elapsed(name, "Date", { backward = true })):with("After" .. name, by_store:elapsed(name, "Date"))
end
all = all:categorize(categorical)

-- Days without sales are left out; the year before the test set's days validates.
local days, year = test:stats "Date", 365
local parts = {
  train = all:filter({ "Sales", "Date" }, function(sales, day) return sales > 0 and (day < days.min - year or day >= days.max - year) end),
  val = all:filter({ "Sales", "Date" }, function(sales, day) return sales > 0 and day >= days.min - year and day < days.max - year end),
  test = all:filter({ "Id" }, function(id) return id > 0 end):sort_values { "Id" },
}
local sizes, most = {}, parts.train.Sales:max()
for i, name in ipairs(categorical) do sizes[i] = #all:categories(name) + 1 end
for name, part in pairs(parts) do
  data.save(("%s/%s_codes.npy"):format(args.out, name), part:codes(categorical))
  data.save(("%s/%s_numbers.npy"):format(args.out, name), part:numbers { standardize = true, table.unpack(continuous) })
  data.save(("%s/%s_%s.npy"):format(args.out, name, name == "test" and "ids" or "sales"), name == "test" and part.Id or part.Sales)
end
data.save(args.out .. "/about.npz", { sizes = data.tensor(sizes, { dtype = "i64" }), most = data.tensor { most } })

-- What a forecast must beat: the mean of the store on this weekday, else of the store.
local means = parts.train:groupby({ "Store", "DayOfWeek" }):agg { Expected = { "Sales", "mean" } }
local whole = parts.train:groupby("Store"):agg { Whole = { "Sales", "mean" } }
local guess = parts.val:join(means, { "Store", "DayOfWeek" }, { how = "left" }):join(whole, "Store")
  :with("Error", { "Sales", "Expected", "Whole" }, function(sales, expected, store) return ((sales - (expected or store)) / sales) ^ 2 end)
print(("%d rows to train, %d to validate, %d to predict; prepared in %.1f s of processor time"):format(
  #parts.train, #parts.val, #parts.test, os.clock() - started))
print(("RMSPE of the mean of store and weekday: %.4f"):format(math.sqrt(guess.Error:mean())))

-- %% Prepare timeout="10m"
fs.mkdir "features"
job = trainer.run { "features.lua", args = { "--from=" .. from } }
baseline = tonumber(job.output:match "weekday: ([%d.]+)")

-- %% [markdown]
-- ## The network
-- As in the original: an embedding of 10 numbers for each category, the continuous columns through a normalisation,
-- four wide layers with L2, dropout, and a sigmoid that reaches 1.2 times the logarithm of the greatest sales.

-- %% The network file="network.lua"
local nn = require "nn"
local network = {
  columns = { "Store", "State", "DayOfWeek", "Year", "Month", "Day", "Week", "CompetitionMonthsOpen", "Promo2Weeks", "StoreType", "Assortment",
    "PromoInterval", "CompetitionOpenSinceYear", "Promo2SinceYear", "Events", "Promo", "StateHoliday", "SchoolHoliday" },
}

-- sizes: how many codes each category has; numbers: of the continuous columns; most: the greatest sales.
function network.model(sizes, numbers, most)
  local inputs, embedded = {}, {}
  for i, name in ipairs(network.columns) do
    inputs[i] = nn.Input { 1, name = name }
    embedded[i] = nn.Embedding { sizes[i], 10, name = "emb_" .. name } (inputs[i])
  end
  local continuous = nn.Input { numbers, name = "continuous" }
  inputs[#inputs + 1] = continuous
  local x = nn.Concatenate {} { nn.Flatten {} (nn.Concatenate {} (embedded)), nn.BatchNormalization {} (continuous) }
  for _, units in ipairs { 1000, 1000, 1000, 500 } do
    x = nn.Dense { units, activation = "relu", kernel_regularizer = nn.L2 { 0.00005 } } (x)
  end
  x = nn.Dense { 1, name = "sales" } (nn.Dropout { 0.5 } (x))
  return nn.Model { inputs = inputs, outputs = nn.Rescaling { 1.2 * math.log(most) } (nn.Activation { "sigmoid" } (x)) }
end

-- The competition's measure, of logarithms.
function network.exp_rmspe(y_true, y_pred)
  local sales = y_true:reshape { -1 }:exp()
  return math.sqrt((((sales - y_pred:reshape { -1 }:exp()) / sales) ^ 2):mean())
end

-- The inputs of one part of the data: a column of codes each, then the numbers.
function network.inputs(codes, numbers)
  local list = {}
  for i in ipairs(network.columns) do list[i] = codes:columns(i - 1, i) end
  list[#list + 1] = numbers
  return list
end

return network

-- %% The trainer file="sales.lua"
local hvd, nn, data = require "hvd", require "nn", require "data"
local args = require "args" { epochs = 3, learning_rate = 0.001, batch_size = 100, seed = 1, from = "features" }

local function train(args)
  local network = require "network"
  hvd.init()
  local function array(name) return data.npy(("%s/%s.npy"):format(args.from, name), { mmap = true }) end
  local function part(name)                                           -- every size-th row
    local function mine(what) return array(name .. what):shard(hvd.rank(), hvd.size()) end
    return network.inputs(mine "_codes", mine "_numbers"), mine "_sales":log()
  end
  local about = data.npz(args.from .. "/about.npz")
  local x, y = part "train"
  local model = network.model(about.sizes:totable(), array "train_numbers".shape[2], about.most:item())
  local rate = args.learning_rate * hvd.size()
  model:compile {
    optimizer = hvd.DistributedOptimizer(nn.Adam { rate, epsilon = 1e-3 }),
    loss = "mae", metrics = { exp_rmspe = network.exp_rmspe },
  }
  local callbacks = {
    hvd.BroadcastGlobalVariablesCallback(0),
    hvd.MetricAverageCallback(),
    hvd.LearningRateWarmupCallback { initial_lr = rate, warmup_epochs = math.min(5, args.epochs), verbose = hvd.rank() == 0 and 1 or 0 },
    nn.ReduceLROnPlateau { monitor = "val_exp_rmspe", mode = "min", patience = 10 },
    nn.EarlyStopping { monitor = "val_exp_rmspe", mode = "min", patience = 20 },
    nn.TerminateOnNaN {},
  }
  if hvd.rank() == 0 then
    model:summary()
    table.insert(callbacks, nn.ModelCheckpoint { "sales.safetensors", monitor = "val_exp_rmspe", mode = "min", save_best_only = true })
  end
  local history = model:fit {
    x, y, batch_size = args.batch_size, epochs = args.epochs, seed = args.seed, callbacks = callbacks,
    steps_per_epoch = math.max(1, #array "train_sales" // (args.batch_size * hvd.size())),
    validation_data = { part "val" }, verbose = hvd.rank() == 0 and 2 or 0,
  }
  if hvd.rank() == 0 then return history.history.val_exp_rmspe, nn.read_checkpoint "sales.safetensors" end
end

local network = require "network"
local errors, checkpoint = hvd.run(train, { args = { args } }):rank(0)
print(("Best RMSPE: %f"):format(math.min(table.unpack(errors))))

local function array(name) return data.npy(("%s/test_%s.npy"):format(args.from, name)) end
local sales = nn.load(checkpoint):predict(network.inputs(array "codes", array "numbers")):exp()
data.save("submission.csv", data.frame { { "Id", array "ids" }, { "Sales", sales } })
print(("Saved %d predictions to submission.csv"):format(#sales))

-- %% Train timeout="60m"
job = trainer.run { "sales.lua", np = np, args = { "--epochs=" .. epochs, "--learning-rate=" .. learning_rate,
  "--batch-size=" .. batch_size, "--seed=" .. seed } }
rmspe = tonumber(job.output:match "Best RMSPE: ([%d.]+)")

-- %% How good is it?
-- Horovod's example prints its best RMSPE, as this does, and its authors publish none. Its network comes from fast.ai's version
-- of the entity embeddings that were third in Kaggle's competition (Guo and Berkhahn, arXiv 1604.06737). So the measure here is
-- the mean of store and weekday; with `folder`, Kaggle's own tables, the number can be laid beside a run of the original.
print(("RMSPE %.4f; mean of store and weekday %.4f"):format(rmspe, baseline))
expect(rmspe):at_most(0.9 * baseline)
expect(fs.read "submission.csv"):contains "Id,Sales"
