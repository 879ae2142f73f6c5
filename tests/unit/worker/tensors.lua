-- SPDX-License-Identifier: MIT
-- Tensors in a trainer file: arithmetic, comparison, statistics and shapes, compared with NumPy's results
-- (golden_tensors.py prints them). firesteel-worker runs it.
local nn, data = require "nn", require "data"

local cases = require "cases"
local test, same, near, fails = cases.test, cases.same, cases.near, cases.fails

local function shape(t) return table.concat(t.shape, "x") end

local function wave(f, start, step, ...)
  local list, n = {}, 1
  for _, size in ipairs { ... } do n = n * size end
  for i = 1, n do list[i] = f(start + step * (i - 1)) end
  return data.tensor(list):reshape { ... }
end

local a, b = wave(math.sin, 0.3, 0.7, 4, 5), wave(math.cos, 0.1, 0.4, 5)
local c, d = wave(math.cos, 0.2, 0.9, 4, 1), wave(math.sin, 0.5, 1.1, 2, 3, 4)

-- The shape of NumPy's result, and the sum of its numbers by 1, 2, 3, …
local numpy = {
  ["a + b"] = { "4x5", 96.3768157 },
  ["a - c"] = { "4x5", 78.8191316 },
  ["a * a"] = { "4x5", 102.515348 },
  ["b / c"] = { "4x5", -75.9676968 },
  ["abs(a) ^ 1.5"] = { "4x5", 114.744184 },
  ["2 - a"] = { "4x5", 422.771798 },
  ["maximum"] = { "4x5", 43.3690992 },
  ["less"] = { "4x5", 83 },
  ["exp"] = { "4x5", 261.061646 },
  ["log"] = { "4x5", -155.041004 },
  ["sqrt"] = { "4x5", 158.55624 },
  ["tanh"] = { "4x5", -1.92867057 },
  ["sigmoid"] = { "4x5", 104.376043 },
  ["clip"] = { "4x5", -20.0082577 },
  ["a @ a.T"] = { "4x4", 11.1227049 },
  ["a @ b"] = { "4", -3.80697 },
  ["b @ a.T"] = { "4", -3.80697 },
  ["d.T"] = { "4x3x2", 11.5019133 },
  ["d transposed 1 2 0"] = { "3x4x2", -25.097752 },
  ["d sum 1"] = { "2x4", 5.57569131 },
  ["d mean 0"] = { "3x4", -6.23514944 },
  ["d std 2"] = { "2x3", 13.190368 },
  ["d max 1"] = { "2x4", 29.587733 },
  ["d min -1"] = { "2x3", -18.4509342 },
  ["d argmax 1"] = { "2x4", 30 },
  ["a std 0"] = { "5", 9.05615687 },
  ["concatenate"] = { "4x11", -62.6785683 },
  ["columns"] = { "4x2", 4.85420504 },
  ["d columns"] = { "2x2x4", -7.59797077 },
  ["take"] = { "3x5", 15.4102544 },
  ["std"] = { "", 0.69818151 },
  ["d + row"] = { "2x3x4", 230.605442 },
}

local function weight(t)
  local sum, flat = 0, t:reshape { -1 }
  for i = 0, #flat - 1 do sum = sum + flat[i] * (i + 1) end
  return sum
end

local ops = nn.ops
local mine = {
  ["a + b"] = a + b, ["a - c"] = a - c, ["a * a"] = a * a, ["b / c"] = b / c, ["abs(a) ^ 1.5"] = a:abs() ^ 1.5, ["2 - a"] = 2 - a,
  maximum = a:maximum(c), less = a:less(c), exp = a:exp(), log = a:abs():log(), sqrt = ops.sqrt(ops.abs(a)), tanh = a:tanh(),
  sigmoid = a:sigmoid(), clip = a:clip(-0.5, 0.25), ["a @ a.T"] = a:matmul(a:transpose()), ["a @ b"] = a:matmul(b),
  ["b @ a.T"] = ops.matmul(b, a:transpose()), ["d.T"] = d:transpose(), ["d transposed 1 2 0"] = d:transpose { 1, 2, 0 },
  ["d sum 1"] = d:sum(1), ["d mean 0"] = d:mean(0), ["d std 2"] = d:std(2), ["d max 1"] = d:max(1), ["d min -1"] = d:min(-1),
  ["d argmax 1"] = d:argmax(1), ["a std 0"] = a:std(0), concatenate = ops.concatenate({ a, c, a * 2 }, 1), columns = a:columns(1, 3) * c,
  ["d columns"] = d:columns(1), take = a:take { 3, 0, -1 }, std = ops.full({ 1 }, a:std()):reshape {}, ["d + row"] = d + wave(math.cos, 0.1, 0.4, 3, 1),
}

for name, want in pairs(numpy) do
  test("integers of every size come back from files as they are, and are trained with", function()
  local path = os.tmpname() .. ".npy"
  for _, dtype in ipairs { "i64", "i32", "i16", "u8" } do
    local t = data.tensor({ { 0 }, { 1 }, { 2 } }, { dtype = dtype })
    data.save(path, t)
    for _, options in ipairs { { mmap = false }, { mmap = true } } do
      local back = data.npy(path, options)
      same(back.dtype, dtype)
      same(back, t)
      local m = nn.Sequential { nn.Embedding { 3, 4 }, nn.Flatten {}, nn.Dense { 3, activation = "softmax" }, seed = 1 }
      m:compile { loss = "sparse_categorical_crossentropy" }
      m:fit { back, back:reshape { -1 }, verbose = 0 }
    end
  end
  os.remove(path)
end)

test("NumPy's " .. name, function()
    same(shape(mine[name]), want[1], "shape")
    near(weight(mine[name]), want[2], 1e-5 * math.max(1, math.abs(want[2])))
  end)
end

test("numbers on both sides, and unary minus", function()
  same(tostring(data.tensor { 1, 2 } * 2 + 1), "[3, 5]")
  same(tostring(1 / data.tensor { 2, 4 }), "[0.5, 0.25]")
  same(tostring(-data.tensor { 1, -2 }), "[-1, 2]")
  same(tostring(2 ^ data.tensor { 3, 0 }), "[8, 1]")
end)

test("integers stay integers where they can", function()
  local i = data.tensor({ 7, -3 }, { dtype = "i64" })
  same((i + 1).dtype, "i64")
  same((i * i)[0], 49)
  same((i + 0.5).dtype, "f32")
  same((i / 2)[0], 3.5)
  same(i:abs()[1], 3)
  same(i:mean(0):item(), 2.0)
  same(i:sum(0):item(), 4)
  same((i + data.tensor { 0.5, 0.5 })[1], -2.5)
  local big = data.tensor({ 9007199254740993 }, { dtype = "i64" }) -- 2^53 + 1 is no double
  same((big + 1)[0], 9007199254740994)
  same(big == data.tensor({ 9007199254740992 }, { dtype = "i64" }), false)
  same(i:cast("f32").dtype, "f32")
  same(data.tensor { 2.9, -2.9 }:cast("i64")[1], -2)
  fails("cast: 300 at index 0 is no u8", ops.cast, data.tensor { 300 }, "u8")
  fails("cast: nan at index 0 is no i64", ops.cast, data.tensor { 0 / 0 }, "i64")
end)

test("small integers: i32 and u8", function()
  local i = data.tensor({ 7, -3 }, { dtype = "i32" })
  same(i.dtype, "i32")
  same((i + 1).dtype, "i64")
  same(i[1], -3)
  same(tostring(i * 2), "[14, -6]")
  same(ops.concatenate({ i, i }).dtype, "i32")
  same(ops.concatenate({ i, i:cast "i64" }).dtype, "i64")
  same(i:argmax(), 0)
  same(data.tensor({ { 1, 2 } }, { dtype = "u8" }):cast("i32")[0][1], 2)
  same(i == i:cast "f32", true)
  fails("cast: 2.14748e+09 at index 0 is no i32", data.tensor, { 1 << 31 }, { dtype = "i32" })
  fails("cast: 256 at index 1 is no u8", data.tensor, { 1, 256 }, { dtype = "u8" })
  fails("dtype i32, but there are numbers with a fraction", data.tensor, { 1.5 }, { dtype = "i32" })
end)

test("comparisons: all numbers one by one, and the whole", function()
  local x, y = data.tensor { 1, 2, 3 }, data.tensor { 1, 5, 3 }
  same(tostring(x:equal(y)), "[1, 0, 1]")
  same(x:equal(y).dtype, "u8")
  near(x:equal(y):mean(), 2 / 3, 1e-12)
  same(x == y, false)
  same(x == data.tensor { 1, 2, 3 }, true)
  same(x == x:reshape { 3, 1 }, false)
  same(data.tensor { 0 / 0 } == data.tensor { 0 / 0 }, false)
  same(data.tensor { 1 } < 2, true)
  same(2 <= data.tensor { 1 }, false)
  fails("< compares tensors of one number; a:less(b) compares all numbers one by one", function() return x < y end)
  same(tostring(x:greater_equal(2)), "[0, 1, 1]")
end)

test("nan goes through everything but comparisons", function()
  local x = data.tensor { 0 / 0, 1 }
  for _, name in ipairs { "maximum", "minimum", "add" } do
    local one = ops[name](x, 0)
    if one[0] == one[0] then error(name) end
    one = ops[name](data.tensor { 0, 0 }, x)
    if one[0] == one[0] then error(name .. " on the right") end
  end
  for _, name in ipairs { "max", "min", "sum", "mean", "std" } do
    local whole, along = x[name](x), x[name](x, 0):item()
    if whole == whole or along == along then error(name) end
  end
end)

test("shapes that do not fit are told", function()
  fails("add: shapes (4, 5) and (4,) do not fit together", function() return a + a:sum(1) end)
  fails("multiply: shapes (4, 5) and (2, 3, 4) do not fit together", function() return a * d end)
  fails("matmul: shapes (4, 5) and (4, 5) do not fit together", a.matmul, a, a)
  fails("concatenate: shapes (4, 5) and (4, 1) do not fit along axis 0", ops.concatenate, { a, c }, 0)
  fails("sum: a tensor of shape (4, 5) has no axis 2", a.sum, a, 2)
  fails("transpose: an axis is named twice", a.transpose, a, { 0, 0 })
  fails("columns: a tensor of shape (5,) has no columns", b.columns, b, 1)
  fails("take: row 4 is out of range: the tensor has 4 rows", a.take, a, { 4 })
  fails("add: a tensor goes with a tensor or a number, not with a string", function() return a + "1" end)
  fails("max: of a tensor of shape (0, 5) there is none", function() return a:slice(0, 0):max(0) end)
  fails("clip: from 1 to 0 there is nothing", a.clip, a, 1, 0)
end)

test("integers are taken together exactly", function()
  local least, most = math.mininteger, math.maxinteger
  local t = data.tensor({ { most, 1 << 53 }, { 1, (1 << 53) + 1 }, { least, -7 } }, { dtype = "i64" })
  same(tostring(t:max(0)), ("[%d, %d]"):format(most, (1 << 53) + 1))
  same(tostring(t:min(0)), ("[%d, -7]"):format(least))
  same(tostring(t:argmax(0)), "[0, 1]")
  fails("sum: a sum of integers has more than 64 bits", t.sum, t, 1)
  fails("sum: a sum of integers has more than 64 bits", t.sum, t:slice(0, 2))
  same(t:columns(1, 2):sum(0):item(), (1 << 54) - 6)
  same(t:slice(1, 3):columns(0, 1):sum(0):item(), least + 1)
  same(t:columns(1, 2):argmax(), 1)
  same(data.tensor({ (1 << 53) + 1, -(1 << 53) }, { dtype = "i64" }):sum(), 1.0)
  same(tostring(data.tensor({ { 200, 100 } }, { dtype = "u8" }):sum(1)), "[300]")
  same(tostring(t:columns(1, 2):reshape { 3 }:clip(0, 1 << 60)), ("[%d, %d, 0]"):format(1 << 53, (1 << 53) + 1))
end)

test("a tensor without numbers has none along an axis", function()
  for _, name in ipairs { "sum", "mean", "std", "max", "argmax" } do
    same(shape(ops.zeros({ 0, 5, 1 << 40 })[name](ops.zeros { 0, 5, 1 << 40 }, 1)), "0x1099511627776")
  end
  same(shape(ops.zeros({ 0, 4 }):sum(0)), "4")
  fails("of memory, but only", ops.zeros { 0, 1 << 50 }.sum, ops.zeros { 0, 1 << 50 }, 0)
  fails("does not fit into memory", ops.zeros, { 0, 1 << 40, 1 << 40 })
  local none = ops.zeros { 0 }
  fails("does not fit into memory", none.reshape, none, { 0, 1 << 40, 1 << 40 })
end)

test("columns are a view, and views go into arithmetic as they are", function()
  local t = data.tensor { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }
  same(tostring(t:columns(1, 3):reshape { -1 }), "[2, 3, 5, 6, 8, 9]")
  same(tostring(t:columns(-1)), "[[3],\n [6],\n [9]]")
  same(tostring(t:slice(0, 3, 2) + t:columns(0, 1):slice(0, 3, 2)), "[[2, 3, 4],\n [14, 15, 16]]")
  same(tostring(t:columns(1, 2):transpose()), "[[2, 5, 8]]")
  same(t:columns(0, 2):sum(), 27.0)
  same(tostring(t:columns(0, 2):copy():reshape { 6 }), "[1, 2, 4, 5, 7, 8]")
end)

test("new tensors", function()
  same(tostring(ops.zeros { 2, 2 }), "[[0, 0],\n [0, 0]]")
  same(shape(ops.ones_like(d)), "2x3x4")
  same(ops.full({ 3 }, 2.5):sum(), 7.5)
  same(shape(a:sum(1, true)), "4x1")
  same(shape(ops.zeros {}), "")
end)

test("softmax and a least-squares fit by hand", function()
  local e = (a - a:max(1, true)):exp()
  local p = e / e:sum(1, true)
  near((p:sum(1) - 1):abs():max(), 0, 1e-6)
  -- y = 2x - 1 by gradient descent
  local x = ops.concatenate({ wave(math.sin, 0, 1, 50, 1), ops.ones { 50, 1 } })
  local y, w = x:matmul(data.tensor { { 2 }, { -1 } }), ops.zeros { 2, 1 }
  for _ = 1, 200 do w = w - x:transpose():matmul(x:matmul(w) - y) * 0.02 end
  near(w[0][0], 2, 1e-4)
  near(w[1][0], -1, 1e-4)
end)

-- Sizes that do not fill the pieces that products are made of, beside sums by hand; numbers that floats add exactly.
test("products of large matrices, and of what is no number", function()
  local function numbers(rows, columns, by)
    local list = {}
    for i = 1, rows * columns do list[i] = (i * by) % 7 - 3 end
    return data.tensor(list):reshape { rows, columns }
  end
  for _, s in ipairs { { 3, 600, 70 }, { 300, 33, 65 }, { 257, 1100, 1 }, { 1, 5000, 64 }, { 100, 1, 100 }, { 19, 20, 21 } } do
    local a, b = numbers(s[1], s[2], 5), numbers(s[2], s[3], 3)
    local c, left, right = a:matmul(b), a:totable(), b:totable()
    for _, at in ipairs { { 1, 1 }, { s[1], s[3] }, { s[1] // 2 + 1, s[3] // 2 + 1 }, { s[1], 1 } } do
      local sum = 0
      for k = 1, s[2] do sum = sum + left[at[1]][k] * right[k][at[2]] end
      same(c:totable()[at[1]][at[2]], sum + 0.0, table.concat(s, " "))
    end
    same(c, b:transpose():matmul(a:transpose()):transpose())
    same(a:columns(1):matmul(b:slice(1)), c - a:columns(0, 1):matmul(b:slice(0, 1))) -- rows with gaps
  end
  local nothing = ops.full({ 40, 40 }, 0 / 0):matmul(ops.zeros { 40, 40 })
  same(nothing:equal(nothing):sum(), 0)
end)

test("statistics of many numbers are those of each", function()
  local list, sum, squares, most, where = {}, 0, 0, -math.huge, nil
  for i = 1, 5003 do
    list[i] = (i * 7919 % 4001) / 8
    sum = sum + list[i]
    if list[i] > most then most, where = list[i], i - 1 end
  end
  for _, n in ipairs(list) do squares = squares + (n - sum / 5003) ^ 2 end
  local t = data.tensor(list)
  near(t:sum(), sum, 1e-9)
  near(t:mean(), sum / 5003, 1e-9)
  near(t:std(), math.sqrt(squares / 5003), 1e-9)
  same(t:max(), most)
  same(t:argmax(), where)
  local wide = t:slice(0, 5000):reshape { 10, 500 }
  for axis = 0, 1 do
    near((wide:sum(axis) - wide:transpose():sum(1 - axis)):abs():max(), 0, 1e-9)
    near((wide:std(axis) - wide:transpose():std(1 - axis)):abs():max(), 0, 1e-4)
    same(wide:max(axis), wide:transpose():max(1 - axis))
    same(wide:argmax(axis), wide:transpose():argmax(1 - axis))
  end
  same(wide:columns(3, 400):sum(0), wide:sum(0):slice(3, 400))
end)

test("sums and extremes of integers are integers", function()
  local big = data.tensor({ (1 << 60) + 1, 3, -7 }, { dtype = "i64" })
  same(math.type(big:sum()), "integer")
  same(big:sum(), (1 << 60) - 3)
  same(big:max(), (1 << 60) + 1)
  same(math.type(big:min()), "integer")
  same(big:min(), -7)
  same(math.type(big:mean()), "float")
  same(math.type(big:cast("f32"):max()), "float")
  same(math.type(data.tensor({ 1, 0 }, { dtype = "u8" }):sum()), "integer")
end)

cases.run()
