-- a function on two ranks of this machine, Horovod's way; results in their order

-- %% Ranks here
function hello(word)
  hvd.init()
  print(("%s from rank %d of %d"):format(word, hvd.rank(), hvd.size()))
  return hvd.rank(), hvd.allreduce(hvd.rank(), { op = hvd.Sum })
end
result = hvd.run(hello, { args = { "hello" }, np = 2 })
result:ranks()
