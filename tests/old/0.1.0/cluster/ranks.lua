print "a file of the image"
