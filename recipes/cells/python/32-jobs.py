# a function on ranks that are pods of plain Jobs: no operator, no Spark
# after: image
# lua: jobs
