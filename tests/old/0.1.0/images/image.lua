-- %% A file file="note.txt" language="text"
-- a file of the image
-- %% A small image
small = image.build { worker = false, add = { "note.txt" }, tag = "old/small:1", env = { COLOUR = "blue" }, cmd = { "/work/note.txt" }, workdir = "/work" }
print(small.digest)
