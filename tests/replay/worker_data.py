#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stands around a model in a trainer file: weights of rows and classes, schedules, data and its files."""
import glob
import json
import os
import struct
import zipfile
import zlib

from dialects import DIALECTS
from tap import BUILD, CACHE, SANITIZED, Skip, run, sh, unplaced

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")


def work(t, text, *args, **rest):
    """Runs a trainer file in a folder of its own."""
    folder = rest.pop("folder", None) or t.dir()
    with open(os.path.join(folder, "trainer.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    return sh(WORKER, *rest.pop("options", ()), "trainer.lua", *args, cwd=folder, **rest)


WEIGHTS = """
local hvd, nn, data = require "hvd", require "nn", require "data"
local function train(how)
  hvd.init()
  local rows, labels, counts = {}, {}, {}
  for i = 0, 599 do
    rows[i + 1] = { math.sin(i), math.cos(3 * i), math.sin(0.1 * i * i) }
    labels[i + 1], counts[i + 1] = i * i % 7 % 3, 0.2 + i % 5
  end
  local function mine(table, options) return data.tensor(table, options):shard(hvd.rank(), hvd.size()) end
  local x, y, w = mine(rows), mine(labels, { dtype = "i64" }), mine(counts)
  local model = nn.Sequential { nn.Dense { 16, activation = "tanh", input_dim = 3 }, nn.Dense { 3, activation = "softmax" } }
  model:compile { optimizer = hvd.DistributedOptimizer(nn.Adam { 0.01 }), loss = "sparse_categorical_crossentropy",
    metrics = { "accuracy", certain = function(_, y_pred) return y_pred:max() end } }
  local options = { x, y, batch_size = 60 // hvd.size(), epochs = 3, shuffle = false, verbose = 0,
    callbacks = { hvd.MetricAverageCallback() } }
  if how == "rows" then options.sample_weight = w end
  if how == "classes" then options.class_weight = { [0] = 0.5, [2] = 4 } end
  if how == "rows" then options.validation_data = { x, y, w } end
  local h = model:fit(options).history
  return { h.loss[3], h.accuracy[3], h.val_loss and h.val_loss[3] or 0, model:get_weights()[1]:sum() }
end
local np = tonumber(arg[1])
for _, how in ipairs { "plain", "rows", "classes" } do
  local first = hvd.run(train, { np = np, args = { how } })[1]
  print(("%.9f %.9f %.9f %.9f"):format(table.unpack(first)))
end
"""


def test_weights_of_rows_and_classes_are_the_same_on_ranks(t):
    said = []
    for np in ("1", "2", "3"):
        done = work(t, WEIGHTS, np)
        assert done.code == 0, done
        said.append([[float(v) for v in line.split()] for line in done.out.splitlines()])
    plain, rows, classes = said[0]
    assert abs(plain[0] - rows[0]) > 0.1 and abs(plain[0] - classes[0]) > 0.1, said[0]
    for other in said[1:]:
        for one, many in zip(said[0], other):
            assert all(abs(a - b) <= 2e-5 for a, b in zip(one, many)), (said[0], other)


def npy(descr, shape, data):
    """The bytes of a .npy file, as NumPy writes them."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def unpacked(blob):
    """descr, shape and data of a .npy file."""
    length = struct.unpack("<H", blob[8:10])[0]
    assert blob[:8] == b"\x93NUMPY\x01\x00" and (10 + length) % 64 == 0, blob[:100]
    header = eval(blob[10:10 + length])  # NumPy does this with ast.literal_eval
    assert not header["fortran_order"]
    return header["descr"], header["shape"], blob[10 + length:]


ARRAYS = """
local data = require "data"
local arrays = data.npz "in.npz"
print(arrays.x, arrays.y.dtype, arrays.y[1], #arrays.wide)
local mapped = data.npy("x.npy", { mmap = true })
print(mapped[1][0], mapped:slice(1):sum())
data.save("out.npz", { x = arrays.x, y = arrays.y })
data.save("small.npz", { zeros = data.tensor(setmetatable({}, { __len = function() return 1000 end, __index = function() return 0 end })) },
  { compressed = true })
data.save("out.npy", arrays.x:shard(0, 2))
print(select(2, pcall(data.npz, "broken.npz")))
print(select(2, pcall(data.npy, "nothing.npy")))
print(select(2, pcall(data.npy, "x.npy", { map = true })))
print(select(2, pcall(data.save, "x.txt", arrays.x)))
"""


def test_arrays_of_numpy_are_read_and_written(t):
    folder = t.dir()
    x = npy("<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4))
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", x)
        z.writestr("y.npy", npy("<i4", (2,), struct.pack("<2i", 5, -6)), zipfile.ZIP_STORED)
        with z.open("wide.npy", "w", force_zip64=True) as f:  # as NumPy does
            f.write(npy("<f8", (3,), struct.pack("<3d", 1, 2, 3)))
    for name, blob in (("x.npy", x), ("broken.npz", open(os.path.join(folder, "in.npz"), "rb").read()[:-30])):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(blob)
    done = work(t, ARRAYS, folder=folder)
    assert done.code == 0, done
    lines = unplaced(done.out).splitlines()
    assert lines[:3] == ["[[1, 2],", " [3, 4]]\ti32\t-6\t3", "3.0\t7.0"], done
    assert lines[3:] == ["broken.npz: no ZIP archive, or its end is missing", "cannot read nothing.npy: No such file or directory",
                         "data.npy: unknown option 'map'; did you mean mmap? known are: mmap",
                         "data.save: the path must end with .npy, .npz, .safetensors or .csv"], done
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as z:
        assert z.testzip() is None and sorted(z.namelist()) == ["x.npy", "y.npy"]
        assert unpacked(z.read("x.npy")) == ("<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4))
        assert unpacked(z.read("y.npy")) == ("<i4", (2,), struct.pack("<2i", 5, -6))
    with zipfile.ZipFile(os.path.join(folder, "small.npz")) as z:
        assert unpacked(z.read("zeros.npy")) == ("<f4", (1000,), bytes(4000))
    assert os.path.getsize(os.path.join(folder, "small.npz")) < 1000
    with open(os.path.join(folder, "out.npy"), "rb") as f:
        assert unpacked(f.read()) == ("<f4", (1, 2), struct.pack("<2f", 1, 2))


SAFETENSORS = """
local data = require "data"
local in_ = data.safetensors "in.safetensors"
local names = {}
for name, t in pairs(in_) do names[#names + 1] = ("%s %s %s"):format(name, t.dtype, t:sum()) end
table.sort(names)
print(table.concat(names, ", "))
in_.bytes = data.idx("bytes.idx")
data.save("out.safetensors", in_)
print(#data.safetensors("out.safetensors").bytes)
print(select(2, pcall(data.save, "x.safetensors", in_, { compressed = true })))
print(select(2, pcall(data.safetensors, "bytes.idx")))
print(select(2, pcall(data.safetensors, "nothing.safetensors")))
"""


def container(tensors, metadata=None):
    """A safetensors file: {name: (dtype, shape, bytes)}."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, blob) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(blob)]}
        at += len(blob)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(blob for _, _, blob in tensors.values())


def test_tensors_of_a_safetensors_file_are_read_and_written(t):
    folder = t.dir()
    given = {"half": ("BF16", [2], struct.pack("<2H", 0x3f80, 0x4000)), "w": ("F32", [1, 2], struct.pack("<2f", 3, 4)),
             "i": ("I64", [], struct.pack("<q", 9))}
    for name, blob in (("in.safetensors", container(given, {"format": "pt"})), ("bytes.idx", bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 255]))):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(blob)
    done = work(t, SAFETENSORS, folder=folder)
    assert done.code == 0, done
    lines = unplaced(done.out).splitlines()
    assert lines[:2] == ["half f32 3.0, i i64 9, w f32 7.0", "2"], done
    assert lines[2] == "data.save: a .safetensors file is never compressed" and lines[3].startswith("bytes.idx: "), done
    assert lines[4] == "cannot open nothing.safetensors: No such file or directory" or "nothing.safetensors: No such file" in lines[4], done
    with open(os.path.join(folder, "out.safetensors"), "rb") as f:
        length, = struct.unpack("<Q", f.read(8))
        header, blob = json.loads(f.read(length)), f.read()
    assert {name: (e["dtype"], e["shape"]) for name, e in header.items()} == {
        "bytes": ("U8", [2]), "half": ("F32", [2]), "i": ("I64", []), "w": ("F32", [1, 2])}, header
    at, end = header["bytes"]["data_offsets"]
    assert blob[at:end] == bytes([5, 255]), header


TRAIN = """Store,Date,Open,Distance,Type,Sales
1,2015-07-31,1,100,a,10.5
2,2015-07-31,1,,b,20
1,2015-08-01,0,300,a,0
3,2015-08-02,1,200,c,30
"""
TEST = """Id,Store,Date,Distance,Type
7,1,2015-08-03,400,b
8,2,2015-08-04,,d
"""
STORES = """Store,City
3,"Köln, Süd"
1,Ulm
2,Ulm
"""
FRAMES = """
local data = require "data"
local train = data.csv { "train.csv", types = { Store = "category" } }
local test = data.csv { "test.csv", like = train }
print(train)
print(table.concat(train.names, " "), #train, train.Sales:sum(), train:categories("Type")[3])
print(train:numbers { "Distance", "Sales", standardize = true })
print(train:numbers { "Distance", missing = -1 })
print(test:numbers { "Distance", standardize = true })
print(test:codes { "Store", "Type" })
print(test:codes "Id")
local open = train:filter(function(i) return train.Open[i] == 1 end)
print(#open, open.Date, data.date(open.Date[2]).day)
local joined = open:with("Month", function(i) return data.date(open.Date[i]).month end):join(data.csv "stores.csv", "Store")
print(table.concat(joined.names, " "), joined.Month, joined:codes "City")
data.save("joined.csv", joined)
data.save("submission.csv", data.frame { { "Id", test.Id }, { "Sales", data.tensor { { 0.1 }, { 2 } } } })
for _, wrong in ipairs {
  function() return train.Nothing end,
  function() data.csv "bad.csv" end,
  function() data.csv { "train.csv", kinds = {} } end,
  function() data.csv { "train.csv", types = { Type = "number" } } end,
  function() data.csv { "train.csv", types = { Type = "words" } } end,
  function() data.csv { "train.csv", columns = { "Nix" } } end,
  function() train:codes "Distance" end,
  function() train:categories "Sales" end,
  function() train:join(test, "Type") end,
  function() train:with("Short", data.tensor { 1 }) end,
  function() data.save("x.csv", { 1 }) end,
} do print((select(2, pcall(wrong)))) end
"""
SAID = """4 rows
Store                    category  3 categories
Date                     date      16647 to 16649, mean 16647.8, std 0.829156
Open                     number    0 to 1, mean 0.75, std 0.433013
Distance                 number    100 to 300, mean 200, std 81.6497, 1 missing
Type                     category  3 categories
Sales                    number    0 to 30, mean 15.125, std 11.1264
Store Date Open Distance Type Sales	4	60.5	c
[[-1.22474, -0.415678],
 [0, 0.438147],
 [1.22474, -1.35938],
 [0, 1.33691]]
[[100],
 [-1],
 [300],
 [200]]
[[2.44949],
 [0]]
[[1, 2],
 [2, 0]]
[7, 8]
3	[16647, 16647, 16649]	2
Store Date Open Distance Type Sales Month City	[7, 7, 8]	[2, 2, 1]
trainer.lua:19: the frame has no column 'Nothing'; it has Store, Date, Open, Distance, Type, Sales
trainer.lua:20: bad.csv:3:5: this record has 3 fields, but there are 2 columns
trainer.lua:21: data.csv: unknown option 'kinds'; known are: columns comment date_format decimal encoding false_values header like missing names path rank separator size skiprows thousands true_values types
trainer.lua:22: train.csv:2:20: "a" is no number, as column "Type" has
trainer.lua:23: unknown type "words" (known: auto, category, date, datetime, number)
trainer.lua:24: train.csv: there is no column "Nix"
trainer.lua:25: column 'Distance' has numbers that are no integers, or some are missing
trainer.lua:26: column 'Sales' is of numbers, it has no categories
trainer.lua:27: join: row 0 has 'a' in column 'Type', which the other frame has not
trainer.lua:28: with: column 'Short' must be a tensor of 4 numbers, or a function of the row
trainer.lua:29: data.save: a .csv file takes a frame: data.frame { { "Id", ids }, … }
"""


DIALECT = """
local data = require "data"
local ok, t = pcall(data.csv, { "0.csv", %s })
if not ok then print(t) return end
local all = {}
for i, name in ipairs(t.names) do
  local list, names = t:column(name):totable(), t:stats(name).kind == "category" and t:categories(name)
  for k, v in ipairs(list) do list[k] = names and names[v] or tostring(v) end
  all[i] = name .. "=" .. table.concat(list, "|")
end
print(table.concat(all, " "))
"""


def test_tables_of_other_dialects_are_those_that_pandas_reads(t):
    folder = t.dir()
    for blob, options, want in DIALECTS:
        with open(os.path.join(folder, "0.csv"), "wb") as f:
            f.write(blob)
        done = work(t, DIALECT % options, folder=folder)
        fails = "data.csv: " in want or "0.csv:" in want or want.startswith(('"', "column "))
        assert done.code == 0 and (want in done.out if fails else done.out == want + "\n"), (blob, options, want, done)


def test_a_column_that_is_nearly_of_numbers_says_which_field_is_not(t):
    folder = t.dir()
    with open(os.path.join(folder, "t.csv"), "w", encoding="utf-8") as f:
        f.write("hp,kind\n" + "".join(f"{n},{'abc'[n % 3]}\n" for n in range(40)) + "?,a\n")
    done = work(t, 'local t = require "data".csv "t.csv"\nprint(t:stats("hp").kind)\n'
                   'print(require "data".csv({ "t.csv", missing = { "?" } }):stats("hp").kind)\n', folder=folder)
    assert done.out == "category\nnumber\n", done
    assert done.err == ('data.csv: t.csv:42:1: "?" is no number, so column "hp" is of categories, though 40 of its 41 fields are numbers: '
                        'give it as missing, or types = { … = "category" }\n'), done


def test_times_have_parts_and_are_written_again(t):
    folder = t.dir()
    with open(os.path.join(folder, "t.csv"), "w", encoding="utf-8") as f:
        f.write("t\n2012-06-30 23:59:58\n1969-12-31 01:02:03\n")
    done = work(t, 'local data = require "data"\nlocal t = data.csv "t.csv"\nprint(t:stats("t").kind)\n'
                   'local p = t:expand_date("t", { "Year", "Month", "Day", "Hour", "Minute", "Second" })\n'
                   'for _, n in ipairs { "Year", "Month", "Day", "Hour", "Minute", "Second" } do io.write(table.concat(p:column(n):totable(), "|"), " ") end\n'
                   'data.save("o.csv", t)\n', folder=folder)
    assert done.out == "datetime\n2012|1969 6|12 30|31 23|1 59|2 58|3 ", done
    with open(os.path.join(folder, "o.csv"), encoding="utf-8") as f:
        assert f.read() == "t\n2012-06-30 23:59:58\n1969-12-31 01:02:03\n"


def test_a_double_that_no_float_holds_is_an_error(t):
    folder = t.dir()
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }".ljust(117) + b"\n"
    with open(os.path.join(folder, "a.npy"), "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<2d", 1, 1e300))
    done = work(t, 'print(pcall(require "data".npy, "a.npy"))', folder=folder)
    assert "a.npy: element 1 is 1e+300, and tensors are float32, which ends at 3.4e38" in done.out, done


def test_tables_become_numbers(t):
    folder = t.dir()
    for name, text in (("train", TRAIN), ("test", TEST), ("stores", STORES), ("bad", "a,b\n1,2\n1,2,3\n")):
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as f:
            f.write(text)
    done = work(t, FRAMES, folder=folder)
    assert done.code == 0, done
    got, want = done.out.splitlines(), SAID.splitlines()
    for a, b in zip(got, want):
        assert a == b, (a, b)
    assert len(got) == len(want), got[-3:]
    with open(os.path.join(folder, "joined.csv"), encoding="utf-8") as f:
        assert f.read() == ('Store,Date,Open,Distance,Type,Sales,Month,City\n1,2015-07-31,1,100,a,10.5,7,Ulm\n'
                            '2,2015-07-31,1,,b,20,7,Ulm\n3,2015-08-02,1,200,c,30,8,"Köln, Süd"\n')
    with open(os.path.join(folder, "submission.csv"), encoding="utf-8") as f:
        assert f.read() == "Id,Sales\n7,0.1\n8,2\n"


KNOWN = """
local data = require "data"
local train = data.csv { "train.csv", types = { s = "category" } }
print(data.csv { "test.csv", types = { s = "category" }, like = train }:codes "s", data.csv { "test.csv", like = train }:codes "s")
print((select(2, pcall(data.csv, { "test.csv", types = { s = "number" }, like = train }))))
print((select(2, pcall(function() data.csv { "train.csv", types = { Sx = "category" } } end))))
local big = data.csv "big.csv"
print(big.id.dtype, big.id[0], big.id, big:codes { "id" })
data.save("out.csv", big)
io.write(io.open("out.csv", "rb"):read "a")
print((select(2, pcall(function() data.save("inf.csv", data.frame { { "a", data.tensor { 1.5, math.huge } } }) end))))
"""


def test_tables_keep_what_is_known_and_written(t):
    folder = t.dir()
    for name, text in (("train", "s,v\nb,1\na,2\nc,3\n"), ("test", "s,v\nc,1\nz,5\na,2\n"),
                       ("big", '" id ",id,day\n" x",1234567890123456789,0001-02-03\ny ,12,2500-07-31\n')):
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as f:
            f.write(text)
    done = work(t, KNOWN, folder=folder)
    assert done.code == 0, done
    assert unplaced(done.out).splitlines() == [
        "[3, 0, 2]\t[3, 0, 2]", "data.csv: types says that column 's' is a number, but in like it is a category",
        'train.csv: types: there is no column "Sx"',
        "i64\t1234567890123456789\t[1234567890123456789, 12]\t[[1234567890123456789],", " [12]]",
        '" id ",id,day', '" x",1234567890123456789,0001-02-03', "y,12,2500-07-31",
        "data.save: row 1 of column 'a' is infinite, which a .csv file cannot hold"], done


SHARDS = """
local hvd, data = require "hvd", require "data"
local train = data.csv "train.csv"
local results = hvd.run(function()
  hvd.init()
  local mine = data.csv { "train.csv", rank = hvd.rank(), size = hvd.size() }
  local all = train:shard(hvd.rank(), hvd.size()) -- a frame travels to the ranks
  return #mine, mine.Sales:sum() == all.Sales:sum(), mine:stats("Sales").mean, #mine:categories "Type"
end, { np = 3 })
for rank = 0, 2 do print(results:rank(rank)) end
"""


def test_ranks_read_their_rows_of_a_table(t):
    folder = t.dir()
    with open(os.path.join(folder, "train.csv"), "w", encoding="utf-8") as f:
        f.write(TRAIN)
    done = work(t, SHARDS, folder=folder)
    assert done.out == "".join(f"{rows}\ttrue\t15.125\t3\n" for rows in (2, 1, 1)), done


EVENTS = """
local nn, data = require "nn", require "data"
local rows, labels = {}, {}
for i = 1, 64 do rows[i], labels[i] = { math.sin(i), math.cos(i) }, math.sin(i) end
local x, y = data.tensor(rows), data.tensor(labels)
local model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
model:compile { optimizer = nn.SGD { nn.optimizers.schedules.ExponentialDecay { 0.1, 8, 0.5 } }, loss = "mse", metrics = { "mae" } }
local board = nn.TensorBoard { "logs", update_freq = 3 }
local h = model:fit { x, y, batch_size = 16, epochs = 3, verbose = 0, validation_split = 0.25, callbacks = { board } }
for epoch = 1, 3 do print(h.history.loss[epoch], h.history.mae[epoch], h.history.val_loss[epoch]) end
local path = "model.safetensors"
model:save(path)
print(model.learning_rate, nn.load(path).learning_rate)
print(select(2, pcall(function() model.learning_rate = 1 end)))
print(select(2, pcall(nn.CosineDecay, { 0.1 })))
print(select(2, pcall(nn.SGD, { "fast" })))
print(select(2, pcall(nn.TensorBoard, { update_freq = "often" })))
"""


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def records(path):
    """The records of a TFRecord file, whose sums are checked."""
    with open(path, "rb") as f:
        blob = f.read()
    found = []
    while blob:
        n = struct.unpack("<Q", blob[:8])[0]
        body = blob[12:12 + n]
        assert blob[8:12] == masked(blob[:8]) and blob[12 + n:16 + n] == masked(body), path
        found.append(body)
        blob = blob[16 + n:]
    return found


def fields(blob):
    """(number, value) of each field of a protocol buffer's message."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = blob[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(blob):
        key = varint()
        n = {0: None, 1: 8, 5: 4, 2: -1}[key & 7]
        if n is None:
            found.append((key >> 3, varint()))
            continue
        n = varint() if n < 0 else n
        found.append((key >> 3, blob[at:at + n]))
        at += n
    return found


def scalars(path):
    """{tag: {step: value}} of an event file."""
    first, *rest = records(path)
    assert dict(fields(first))[3] == b"brain.Event:2"
    found = {}
    for record in rest:
        event = dict(fields(record))
        for number, value in fields(event[5]):
            value = dict(fields(value))
            assert number == 1
            found.setdefault(value[1].decode(), {})[event.get(2, 0)] = struct.unpack("<f", value[2])[0]
    return found


def event_files(t):
    folder = t.dir()
    done = work(t, EVENTS, folder=folder)
    assert done.code == 0, done
    files = [glob.glob(os.path.join(folder, "logs", part, "events.out.tfevents.*")) for part in ("train", "validation")]
    assert [len(part) for part in files] == [1, 1], files
    return done, files[0][0], files[1][0]


def close(found, want):
    assert sorted(found) == list(range(len(want))), found
    assert all(abs(found[i] - want[i]) < 1e-6 for i in range(len(want))), (found, want)


def test_event_files_hold_the_history(t):
    done, train, validation = event_files(t)
    loss, mae, val_loss = zip(*[[float(v) for v in line.split("\t")] for line in done.out.splitlines()[:3]])
    told = scalars(train)
    assert sorted(told) == ["batch_loss", "batch_mae", "epoch_learning_rate", "epoch_loss", "epoch_mae"], told
    close(told["epoch_loss"], loss)
    close(told["epoch_mae"], mae)
    close(told["epoch_learning_rate"], [0.1 * 0.5 ** (steps / 8) for steps in (3, 6, 9)])
    assert sorted(told["batch_loss"]) == [0, 3, 6]
    close(scalars(validation)["epoch_loss"], val_loss)
    rates, *wrong = unplaced(done.out).splitlines()[3:]
    assert all(abs(float(v) - 0.1 * 0.5 ** (9 / 8)) < 1e-12 for v in rates.split("\t")), rates
    assert wrong == [
        "the learning rate is that of a schedule, ExponentialDecay: it cannot be set",
        "CosineDecay: which decay_steps? nn.CosineDecay { initial_learning_rate, decay_steps, … }",
        "SGD: learning_rate must be a number or a schedule, as nn.CosineDecay { 0.1, 1000 }",
        'TensorBoard: update_freq must be "epoch", "batch" or a number of batches, got often'], wrong


READER = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1])
a.Reload()
for tag in sorted(a.Tags()["scalars"]):
    print(tag, *[f"{e.step}:{e.value:.6f}" for e in a.Scalars(tag)])
"""


def test_tensorboards_reader_opens_event_files(t):
    python = os.path.join(CACHE, "tensorboard", "bin", "python")
    if not os.path.exists(python):
        raise Skip("tests/support/tools installs tensorboard")
    _, train, _ = event_files(t)
    done = sh(python, "-c", READER, train)
    assert done.code == 0, done
    want = [" ".join([tag] + [f"{step}:{value:.6f}" for step, value in sorted(steps.items())]) for tag, steps in sorted(scalars(train).items())]
    assert unplaced(done.out).splitlines() == want, (done, want)


PICTURES = """
local nn, data = require "nn", require "data"
local set = data.images { "set", image_size = { 4, 5 }, shuffle = false }
print(table.concat(set.x.shape, "x"), set.x.dtype, set.y, table.concat(set.classes, " "), table.concat(set.paths, " "))
print(("%.4f"):format(set.x:max()))
local both = data.images { "set", image_size = { 4, 5 }, validation_split = 0.25, seed = 3, dtype = "u8", label_mode = "categorical", color_mode = "grayscale" }
print(table.concat(both.train.x.shape, "x"), both.train.x.dtype, table.concat(both.validation.y.shape, "x"))
print(table.concat(data.image("set/a/1.png", { image_size = { 2, 2 } }).shape, "x"))
local model = nn.Sequential { nn.Flatten { 4, 5, 3 }, nn.Dense { 2, activation = "softmax" } }
model:compile { optimizer = nn.SGD { 1e-5 }, loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
local h = model:fit { set, epochs = 2, verbose = 0, validation_data = set }
print(#h.history.val_accuracy, #data.images { "set", image_size = { 1, 1 }, rank = 1, size = 3 }.x)
print(select(2, pcall(data.images, "nowhere")))
print(select(2, pcall(data.images, { "set", color_mode = "cmyk" })))
print(select(2, pcall(data.images, { "set", validation_split = 0.1 })))
io.open("set/b/9.jpg", "w"):write("no picture"):close()
print(select(2, pcall(data.images, { "set" })))
"""


def png(width, height, pixel):
    """A PNG file of pixel(x, y) → (r, g, b)."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_pictures_in_folders_are_classes(t):
    folder = t.dir()
    for name, pixel in (("a/1", lambda x, y: (250, 0, 0)), ("a/2", lambda x, y: (10 * x, 0, 0)), ("b/1", lambda x, y: (0, 20 * y, 5)),
                        ("b/2", lambda x, y: (0, 255, 0))):
        os.makedirs(os.path.join(folder, "set", name[0]), exist_ok=True)
        with open(os.path.join(folder, "set", name + ".png"), "wb") as f:
            f.write(png(12, 9, pixel))
    done = work(t, PICTURES, folder=folder)
    if "reads no pictures" in done.err + done.out:
        raise Skip("libjpeg and libpng were not there when this was built")
    assert done.code == 0, done
    assert unplaced(done.out).splitlines() == [
        "4x4x5x3\tf32\t[0, 0, 1, 1]\ta b\ta/1.png a/2.png b/1.png b/2.png", "255.0000", "3x4x5x1\tu8\t1x2", "2x2x3", "2\t1",
        "cannot read the folder nowhere: No such file or directory",
        "data.images: color_mode must be grayscale, rgb or rgba, got 'cmyk'",
        "set: validation_split 0.1 of 4 pictures leaves none for one of the parts",
        "set/b/9.jpg: neither a PNG nor a JPEG"], done


LAZY = """
local nn, data = require "nn", require "data"
local function peak() return tonumber(io.open("/proc/self/status"):read("a"):match "VmHWM:%s*(%d+)") / 1024 end
local function trained(lazy, dtype)
  local set = data.images { "set", image_size = { 24, 32 }, validation_split = 0.2, seed = 3, lazy = lazy, dtype = dtype }
  local model = nn.Sequential { nn.Input { 24, 32, 3 }, nn.Conv2D { 4, 3, activation = "relu" }, nn.Flatten {},
    nn.Dense { 2, activation = "softmax" }, seed = 5 }
  model:compile { optimizer = "adam", loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
  local h = model:fit { set.train, epochs = 2, batch_size = 8, validation_data = set.validation, verbose = 0 }.history
  local loss = model:evaluate { set.validation, verbose = 0 }
  return ("%.9g %.9g %.9g %.9g %.0f"):format(h.loss[2], h.val_loss[2], loss, model:predict(set.train.x):sum(), set.train.x[3]:sum()), set, model
end
for _, dtype in ipairs { "f32", "u8" } do
  local now, later = trained(false, dtype), trained(true, dtype)
  print(now == later or now .. " / " .. later)
end
local _, set, model = trained(true)
local x = set.train.x
print(#x, table.concat(x.shape, "x"), x.dtype, table.concat(x[-1].shape, "x"), x:slice(1, 4)[0]:sum() == x[1]:sum())
print(select(2, pcall(function() return x:sum() end)))
print(select(2, pcall(function() return x[999] end)))
print(select(2, pcall(model.fit, model, { x, set.train.y, validation_split = 0.5 })))
print(select(2, pcall(model.train_on_batch, model, x, set.train.y)))
local many = data.images { "many", image_size = { 64, 64 }, lazy = true }
model = nn.Sequential { nn.Flatten { 64, 64, 3 }, nn.Dense { 2, activation = "softmax" } }
model:compile { optimizer = "sgd", loss = "sparse_categorical_crossentropy" }
model:fit { many, steps_per_epoch = 40, verbose = 0 }
print(#many.x, peak() < 200 or peak())          -- all of them have 940 MiB
io.open("set/b/3.png", "w"):write("no picture"):close()
print(select(2, pcall(trained, true)))
"""


TWO_AT_ONCE = """
local nn, data = require "nn", require "data"
local set = data.images { "set", image_size = { 24, 32 }, lazy = true, shuffle = false }
local x, sums, wrong, looks = set.x, {}, 0, 0
for i = 0, #x - 1 do sums[i] = x[i]:sum() end
local model = nn.Sequential { nn.Flatten { 24, 32, 3 }, nn.Dense { 2, activation = "softmax" }, seed = 5 }
model:compile { optimizer = nn.SGD { 0.0 }, loss = "sparse_categorical_crossentropy" }
local some = model:predict(x):sum(0)
local look = { on_batch_end = function(self, step)
  for i = step % 3, #x - 1, 3 do
    looks = looks + 1
    if x[i]:sum() ~= sums[i] then wrong = wrong + 1 end
  end
  if x:slice(0, 4)[3]:sum() ~= sums[3] or step % 4 == 0 and model:predict(x):sum(0) ~= some then wrong = wrong + 1 end
end }
model:fit { set, epochs = 15, batch_size = 4, verbose = 0, callbacks = { look } }
print(looks > 1000, wrong)
"""


def pictures(folder):
    """20 pictures in each of set/a and set/b."""
    for name in "ab":
        os.makedirs(os.path.join(folder, "set", name))
        for i in range(20):
            with open(os.path.join(folder, "set", name, f"{i}.png"), "wb") as f:
                f.write(png(40, 30, lambda x, y, i=i, name=name: (5 * x, 8 * y if name == "a" else 90, i * 12)))


def test_a_callback_decodes_pictures_while_the_next_batch_is_decoded(t):
    folder = t.dir()
    pictures(folder)
    done = work(t, TWO_AT_ONCE, folder=folder, timeout=180)
    if "reads no pictures" in done.err + done.out:
        raise Skip("libjpeg and libpng were not there when this was built")
    assert done.code == 0 and done.out == "true\t0\n", done


def test_pictures_are_decoded_while_the_batch_before_trains(t):
    folder = t.dir()
    pictures(folder)
    for name in "ab":
        os.makedirs(os.path.join(folder, "many", name))
        for i in range(10000):
            os.link(os.path.join(folder, "set", name, "1.png"), os.path.join(folder, "many", name, f"{i}.png"))
    done = work(t, LAZY, folder=folder, timeout=180)
    if "reads no pictures" in done.err + done.out:
        raise Skip("libjpeg and libpng were not there when this was built")
    lines = unplaced(done.out).splitlines()
    assert done.code == 0 and lines[:3] == ["true", "true", "32\t32x24x32x3\tf32\t24x32x3\ttrue"], done
    assert "have no 'sum'" in lines[3] and "out of range for 32 pictures" in lines[4] and "data.images has it" in lines[5], done
    assert "decode some of them" in lines[6] and (lines[7] == "20000\ttrue" or SANITIZED), done
    assert "set/b/3.png: neither a PNG nor a JPEG" in lines[8], done


PARQUET = """
local data = require "data"
local ok, t = pcall(data.parquet, { "t.parquet", columns = { "Sales", "Day", "Open", "Kind" }, types = { Kind = "category" } })
if not ok then print(t) os.exit(0) end
print(t.Sales, t.Day, t.Open, t:codes "Kind", table.concat(t:categories "Kind", " "), t.Sales.dtype)
print(#data.parquet { "t.parquet", columns = { "Sales" }, rank = 1, size = 2 })
print(select(2, pcall(data.parquet, { "t.parquet", columns = { "Nothing" } })))
print(select(2, pcall(data.parquet, "t.parquet")))
print((select(2, pcall(data.parquet, "trainer.lua"))))
local days = data.parquet { "days.parquet", types = { Kind = "category" } }
print(days.Sales, days:codes "Kind", table.concat(days:categories "Kind", " "), days.Year)
print(#data.parquet { "days.parquet", rank = 0, size = 2 }, (select(2, pcall(data.parquet, "empty"))), (select(2, pcall(data.parquet, "none"))))
"""
MAKE_PARQUET = """
import datetime, sys, pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({
    "Sales": pa.array([1.5, None, 2.0]), "Day": [datetime.date(1970, 1, d) for d in (2, 3, 4)], "Open": [True, False, True],
    "Kind": pa.array(["a", "b, c", "a"]).dictionary_encode(), "List": [[1], [], [2, 3]]}), "t.parquet")

import os
os.makedirs("empty")
for year, part, sales in (2015, "part-00000", [5.5, None]), (2014, "part-00001", [3, 4]), (2014, "part-00000", [1, 2]):
    os.makedirs(f"days.parquet/Year={year}", exist_ok=True)
    pq.write_table(pa.table({"Sales": pa.array(sales, pa.float32()), "Kind": ["a", None]}), f"days.parquet/Year={year}/{part}.snappy.parquet")
for name in "_SUCCESS", "Year=2014/.part-00000.snappy.parquet.crc":
    open(f"days.parquet/{name}", "w").write("x")
"""


def pyarrow(t):
    """(a folder with python3 in it, as a PATH; does it have pyarrow?)"""
    python = os.path.join(CACHE, "tensorboard", "bin", "python")
    has = sh(python, "-c", "import pyarrow").code == 0 if os.path.exists(python) else False
    return os.path.dirname(python), has


def test_parquet_is_read_where_pyarrow_is(t):
    path, has = pyarrow(t)
    if not has:
        raise Skip("tests/support/tools installs pyarrow")
    folder = t.dir()
    made = sh(os.path.join(path, "python"), "-c", MAKE_PARQUET, cwd=folder)
    assert made.code == 0, made
    temporary = t.dir()
    done = work(t, PARQUET, folder=folder, env={"PATH": path + ":" + os.environ["PATH"], "TMPDIR": temporary})
    lines = unplaced(done.out).splitlines()
    assert lines[:4] == ["[1.5, nan, 2]\t[1, 2, 3]\t[1, 0, 1]\t[1, 2, 1]\ta b, c\tf32", "1",
                         't.parquet: there is no column "Nothing"',
                         't.parquet: column "List" holds lists or records: name the others as columns'], done
    assert lines[4].startswith("trainer.lua: ") and "Parquet" in lines[4], done
    # a folder as Spark writes one: the files in the order of their names, and the one of their folder as a column
    assert lines[5:] == ["[1, 2, 3, 4, 5.5, nan]\t[1, 0, 1, 0, 1, 0]\ta\t[2014, 2014, 2014, 2014, 2015, 2015]",
                         "3\tempty: there is no Parquet file in this folder\tnone: No such file or directory"], done
    assert os.listdir(temporary) == [], os.listdir(temporary)


def test_parquet_without_pyarrow_says_so(t):
    folder = t.dir()
    programs = os.path.join(folder, "bin")
    os.mkdir(programs)
    done = work(t, PARQUET, folder=folder, env={"PATH": programs})
    assert "t.parquet: a Parquet file is read by python3 with pyarrow: " in done.out, done
    with open(os.path.join(programs, "python3"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho No module named pyarrow >&2\nexit 3\n")
    os.chmod(os.path.join(programs, "python3"), 0o755)
    done = work(t, PARQUET, folder=folder, env={"PATH": programs})
    assert "which python3 does not have (pip install pyarrow); or write it as .csv or .npz: No module named pyarrow" in done.out, done


run(globals())
